/* flows.h -- messages in flight under the `ideal` model: latency, then max-min fair sharing.
 *
 * A flow waits for its latency, then carries its bytes over the links of its route. Rates are
 * max-min fair: no flow can get more without taking from one that has as little or less. A flow
 * without links and bytes is a plain timer.
 *
 * Rates are only computed again for flows that can be touched: those joined to a changed link
 * through saturated or shared links. When a flow starts where there is room, or leaves a link that
 * held nobody back, nothing else changes and nothing else is looked at.
 *
 * Source: progressive filling, Bertsekas and Gallager 1992, "Data Networks", section 6.5.2.
 * Nothing here knows SimGrid: the engine asks for the next date and says what time it is.
 */
#ifndef LH_SIM_FLOWS_H
#define LH_SIM_FLOWS_H

#include "sim/net/agenda.h"
#include "sim/platform/platform.h"

typedef struct lh_flow lh_flow;

typedef struct lh_crossing lh_crossing;

typedef struct lh_flow_link {
  double capacity_Bps;
  bool shared;      /* false: a limit on each flow, not on their sum */
  double used_Bps;  /* sum of the rates of the flows on it */
  size_t crossings; /* flows on it */
  lh_crossing *first;
  bool changed;  /* waits for lh_flows_share */
  uint64_t seen; /* by which pass of lh_flows_share */
  double free_Bps;
  size_t unfixed;
} lh_flow_link;

/* A key in the order in which rates are settled: a link's fair share or a flow's own cap. */
typedef struct lh_share_key {
  double rate_Bps;
  size_t index; /* links first, then flows */
} lh_share_key;

typedef struct lh_flows {
  lh_agenda agenda;
  size_t links;
  lh_flow_link *link;
  lh_flow
      *unused[LH_ROUTE_MAX_LINKS + 1]; /* by number of links: no flow is ever freed before fini */
  size_t *changed;                     /* (changes) links to look at again */
  size_t changes;
  uint64_t pass;
  size_t *reached_link; /* (links) scratch of one pass */
  lh_flow **reached;    /* (reached_capacity) scratch of one pass */
  size_t reached_capacity;
  lh_share_key *key; /* (key_capacity) */
  size_t key_capacity;
  bool out_of_memory;
} lh_flows;

/* Copies the platform's links. */
lh_status lh_flows_init(lh_flows *flows, const lh_platform *platform);
void lh_flows_fini(lh_flows *flows);

/* A flow that begins at begin_s (>= now). route: NULL for a timer. After the last byte it comes out
 * of lh_flows_take. LH_ENOMEM. */
lh_status lh_flows_send(lh_flows *flows, double begin_s, const lh_route *route, double bytes,
                        double cap_Bps, void (*done)(void *arg), void *arg);

/* The date of the next thing to happen, INFINITY if there is none; settles all rates first. */
double lh_flows_next_s(lh_flows *flows, double now_s);
/* Takes one flow that has ended by now_s and says what to call; false: no more. */
bool lh_flows_take(lh_flows *flows, double now_s, void (**done)(void *arg), void **arg);

void lh_flows_set_bandwidth(lh_flows *flows, size_t link, double bandwidth_Bps);

#endif
