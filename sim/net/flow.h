/* flow.h -- what flows.c and share.c know about one flow; nobody else includes it. */
#ifndef LH_SIM_FLOW_H
#define LH_SIM_FLOW_H

#include "sim/net/flows.h"

/* A flow's place among the flows of one link. */
struct lh_crossing {
  lh_flow *flow;
  size_t link;
  struct lh_crossing *next, *previous;
};

struct lh_flow {
  lh_agenda_entry entry; /* first: the agenda's entries are flows */
  bool running;          /* false: its latency is not over yet */
  bool fixed;            /* inside lh_flows_share */
  uint64_t seen;
  double bytes;    /* left at since_s */
  double rate_Bps; /* since since_s */
  double since_s;
  double cap_Bps;
  void (*done)(void *arg);
  void *arg;
  lh_flow *next_unused;
  size_t crossings;
  lh_crossing crossing[];
};

/* A link with less than this part of its capacity left is saturated. */
#define LH_SATURATED 1e-9

void lh_flows_mark(lh_flows *flows, size_t link);
/* Gives every flow joined to a changed link its max-min fair rate, from now_s on. */
void lh_flows_share(lh_flows *flows, double now_s);
void lh_flow_set_rate(lh_flows *flows, lh_flow *flow, double rate_Bps, double now_s);
/* The flow's own cap, also through links that limit each flow. */
double lh_flow_cap_Bps(const lh_flows *flows, const lh_flow *flow);

#endif
