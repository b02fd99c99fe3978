#include "sim/net/fault_dates.h"

#include <math.h>
#include <stdlib.h>

/* The rate of a link at a date: the last fault of the file that covers it, else its own. */
static double bandwidth_at(const lh_platform *platform, size_t link, double date_s)
{
  double bandwidth_Bps = platform->link[link].bandwidth_Bps;
  for (size_t i = 0; i < platform->faults; i++) {
    const lh_fault *fault = &platform->fault[i];
    if (fault->kind == LH_FAULT_LINK_BANDWIDTH && fault->index == link && fault->from_s <= date_s &&
        date_s < fault->to_s)
      bandwidth_Bps = fault->bandwidth_Bps;
  }
  return bandwidth_Bps;
}

static int by_date(const void *a, const void *b)
{
  const lh_fault_date *first = a, *second = b;
  if (first->date_s != second->date_s)
    return first->date_s < second->date_s ? -1 : 1;
  return (first->link > second->link) - (first->link < second->link);
}

static void add(lh_fault_dates *dates, size_t link, double date_s)
{
  if (isfinite(date_s))
    dates->date[dates->n++] =
        (lh_fault_date){.date_s = date_s,
                        .link = link,
                        .bandwidth_Bps = bandwidth_at(dates->platform, link, date_s)};
}

lh_status lh_fault_dates_init(lh_fault_dates *dates, const lh_platform *platform)
{
  *dates = (lh_fault_dates){.platform = platform};
  if (platform->faults == 0)
    return LH_OK;
  dates->date = calloc(2 * platform->faults, sizeof *dates->date);
  if (!dates->date)
    return lh_fail(LH_ENOMEM, "network: no memory for %zu faults", platform->faults);
  for (size_t i = 0; i < platform->faults; i++)
    if (platform->fault[i].kind == LH_FAULT_LINK_BANDWIDTH) {
      add(dates, platform->fault[i].index, platform->fault[i].from_s);
      add(dates, platform->fault[i].index, platform->fault[i].to_s);
    }
  qsort(dates->date, dates->n, sizeof *dates->date, by_date);
  return LH_OK;
}

void lh_fault_dates_fini(lh_fault_dates *dates)
{
  free(dates->date);
  *dates = (lh_fault_dates){0};
}

double lh_fault_dates_next_s(const lh_fault_dates *dates)
{
  return dates->next < dates->n ? dates->date[dates->next].date_s : INFINITY;
}

bool lh_fault_dates_take(lh_fault_dates *dates, double now_s, size_t *link, double *bandwidth_Bps)
{
  if (!(lh_fault_dates_next_s(dates) <= now_s))
    return false;
  const lh_fault_date *date = &dates->date[dates->next++];
  *link = date->link;
  *bandwidth_Bps = date->bandwidth_Bps;
  return true;
}

double lh_node_up_s(const lh_platform *platform, size_t node, double now_s)
{
  double up_s = now_s;
  for (size_t i = 0; i < platform->faults; i++) { /* again from the start when one moved the date */
    const lh_fault *fault = &platform->fault[i];
    if (fault->kind == LH_FAULT_NODE_DOWN && fault->index == node && fault->from_s <= up_s &&
        up_s < fault->to_s) {
      up_s = fault->to_s;
      i = SIZE_MAX; /* wraps to 0 */
    }
  }
  return up_s;
}
