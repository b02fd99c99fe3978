/* fault_dates.h -- the platform's faults in the order in which they happen. */
#ifndef LH_SIM_FAULT_DATES_H
#define LH_SIM_FAULT_DATES_H

#include "sim/platform/platform.h"

typedef struct lh_fault_date {
  double date_s;
  size_t link;
  double bandwidth_Bps; /* from date_s on */
} lh_fault_date;

typedef struct lh_fault_dates {
  const lh_platform *platform;
  size_t n, next;
  lh_fault_date *date; /* (n) ascending */
} lh_fault_dates;

/* Borrows the platform. Where faults of a link overlap, the later one in the file holds. */
lh_status lh_fault_dates_init(lh_fault_dates *dates, const lh_platform *platform);
void lh_fault_dates_fini(lh_fault_dates *dates);

/* INFINITY: no more. */
double lh_fault_dates_next_s(const lh_fault_dates *dates);
/* Takes the next change that is due by now_s; false: none. */
bool lh_fault_dates_take(lh_fault_dates *dates, double now_s, size_t *link, double *bandwidth_Bps);

/* From when on is the node up, now_s or later; INFINITY: never again. */
double lh_node_up_s(const lh_platform *platform, size_t node, double now_s);

#endif
