#include "sim/net/flow.h"

#include <math.h>
#include <stdlib.h>

lh_status lh_flows_init(lh_flows *flows, const lh_platform *platform)
{
  *flows = (lh_flows){.links = platform->links};
  lh_agenda_init(&flows->agenda);
  flows->link = calloc(platform->links + 1, sizeof *flows->link);
  flows->changed = calloc(platform->links + 1, sizeof *flows->changed);
  flows->reached_link = calloc(platform->links + 1, sizeof *flows->reached_link);
  if (!flows->link || !flows->changed || !flows->reached_link) {
    lh_flows_fini(flows);
    return lh_fail(LH_ENOMEM, "network: no memory for %zu links", platform->links);
  }
  for (size_t l = 0; l < platform->links; l++) {
    flows->link[l].capacity_Bps = platform->link[l].bandwidth_Bps;
    flows->link[l].shared = platform->link[l].shared;
  }
  return LH_OK;
}

static void free_chain(lh_flow *flow)
{
  while (flow) {
    lh_flow *next = flow->next_unused;
    free(flow);
    flow = next;
  }
}

void lh_flows_fini(lh_flows *flows)
{
  for (size_t i = 0; i < flows->agenda.size; i++)
    free(flows->agenda.slot[i].entry); /* an entry is the first member of its flow */
  for (size_t n = 0; n <= LH_ROUTE_MAX_LINKS; n++)
    free_chain(flows->unused[n]);
  lh_agenda_fini(&flows->agenda);
  free(flows->link);
  free(flows->changed);
  free(flows->reached_link);
  free(flows->reached);
  free(flows->key);
  *flows = (lh_flows){0};
}

static lh_flow *take_unused(lh_flows *flows, size_t crossings)
{
  lh_flow *flow = flows->unused[crossings];
  if (flow)
    flows->unused[crossings] = flow->next_unused;
  else
    flow = malloc(sizeof *flow + crossings * sizeof flow->crossing[0]);
  return flow;
}

lh_status lh_flows_send(lh_flows *flows, double begin_s, const lh_route *route, double bytes,
                        double cap_Bps, void (*done)(void *arg), void *arg)
{
  const size_t crossings = route && bytes > 0.0 ? route->links : 0;
  lh_flow *flow = take_unused(flows, crossings);
  if (!flow)
    return lh_fail(LH_ENOMEM, "network: no memory for another flow");
  flow->running = false;
  flow->seen = 0;
  flow->bytes = bytes;
  flow->rate_Bps = 0.0;
  flow->since_s = begin_s;
  flow->cap_Bps = cap_Bps;
  flow->done = done;
  flow->arg = arg;
  flow->crossings = crossings;
  for (size_t i = 0; i < crossings; i++)
    flow->crossing[i] = (lh_crossing){.flow = flow, .link = route->link[i]};
  if (lh_agenda_put(&flows->agenda, &flow->entry, begin_s))
    return LH_OK;
  free(flow);
  return lh_fail(LH_ENOMEM, "network: no memory for another flow");
}

void lh_flows_mark(lh_flows *flows, size_t link)
{
  if (flows->link[link].changed)
    return;
  flows->link[link].changed = true;
  flows->changed[flows->changes++] = link;
}

double lh_flow_cap_Bps(const lh_flows *flows, const lh_flow *flow)
{
  double cap_Bps = flow->cap_Bps;
  for (size_t i = 0; i < flow->crossings; i++) {
    const lh_flow_link *link = &flows->link[flow->crossing[i].link];
    if (!link->shared && link->capacity_Bps < cap_Bps)
      cap_Bps = link->capacity_Bps;
  }
  return cap_Bps;
}

void lh_flow_set_rate(lh_flows *flows, lh_flow *flow, double rate_Bps, double now_s)
{
  flow->bytes = fmax(0.0, flow->bytes - flow->rate_Bps * (now_s - flow->since_s));
  flow->since_s = now_s;
  flow->rate_Bps = rate_Bps;
  const double left_s = flow->bytes > 0.0 ? flow->bytes / rate_Bps : 0.0;
  lh_agenda_move(&flows->agenda, &flow->entry, now_s + left_s);
}

static void enter_links(lh_flows *flows, lh_flow *flow)
{
  for (size_t i = 0; i < flow->crossings; i++) {
    lh_crossing *crossing = &flow->crossing[i];
    lh_flow_link *link = &flows->link[crossing->link];
    crossing->previous = NULL;
    crossing->next = link->first;
    if (link->first)
      link->first->previous = crossing;
    link->first = crossing;
    link->crossings++;
  }
}

static void leave_link(lh_flows *flows, lh_crossing *crossing, double rate_Bps)
{
  lh_flow_link *link = &flows->link[crossing->link];
  if (crossing->previous)
    crossing->previous->next = crossing->next;
  else
    link->first = crossing->next;
  if (crossing->next)
    crossing->next->previous = crossing->previous;
  const bool saturated = link->capacity_Bps - link->used_Bps <= LH_SATURATED * link->capacity_Bps;
  link->crossings--;
  link->used_Bps = link->crossings ? link->used_Bps - rate_Bps : 0.0;
  if (link->shared && saturated && link->crossings)
    lh_flows_mark(flows, crossing->link);
}

static bool none_faster(const lh_flow_link *link, const lh_flow *flow, double rate_Bps)
{
  for (const lh_crossing *c = link->first; c; c = c->next)
    if (c->flow != flow && c->flow->rate_Bps > rate_Bps)
      return false;
  return true;
}

/* The rate that the flow can have without changing anybody else's, where that is also its max-min
 * fair rate: it takes what is left on its tightest link and nobody there has more. Negative
 * otherwise. */
static double rate_beside_others(const lh_flows *flows, const lh_flow *flow)
{
  double rate_Bps = lh_flow_cap_Bps(flows, flow);
  const lh_flow_link *tightest = NULL;
  for (size_t i = 0; i < flow->crossings; i++) {
    const lh_flow_link *link = &flows->link[flow->crossing[i].link];
    if (!link->shared)
      continue;
    if (link->changed)
      return -1.0;
    const double left_Bps = link->capacity_Bps - link->used_Bps;
    if (left_Bps < rate_Bps) {
      rate_Bps = left_Bps;
      tightest = link;
    }
  }
  if (!tightest)
    return rate_Bps;
  if (rate_Bps <= LH_SATURATED * tightest->capacity_Bps || !none_faster(tightest, flow, rate_Bps))
    return -1.0;
  return rate_Bps;
}

static void begin(lh_flows *flows, lh_flow *flow, double now_s)
{
  flow->running = true;
  flow->since_s = now_s;
  enter_links(flows, flow);
  const double rate_Bps = rate_beside_others(flows, flow);
  if (rate_Bps >= 0.0) {
    for (size_t i = 0; i < flow->crossings; i++)
      flows->link[flow->crossing[i].link].used_Bps += rate_Bps;
    lh_flow_set_rate(flows, flow, rate_Bps, now_s);
    return;
  }
  lh_agenda_move(&flows->agenda, &flow->entry, INFINITY); /* until its rate is known */
  for (size_t i = 0; i < flow->crossings; i++)
    if (flows->link[flow->crossing[i].link].shared)
      lh_flows_mark(flows, flow->crossing[i].link);
}

static void end(lh_flows *flows, lh_flow *flow)
{
  if (flow->running)
    for (size_t i = 0; i < flow->crossings; i++)
      leave_link(flows, &flow->crossing[i], flow->rate_Bps);
  lh_agenda_remove(&flows->agenda, &flow->entry);
  flow->next_unused = flows->unused[flow->crossings];
  flows->unused[flow->crossings] = flow;
}

double lh_flows_next_s(lh_flows *flows, double now_s)
{
  if (flows->changes)
    lh_flows_share(flows, now_s);
  return lh_agenda_next_s(&flows->agenda);
}

bool lh_flows_take(lh_flows *flows, double now_s, void (**done)(void *arg), void **arg)
{
  /* Dates that are equal on paper differ by a few roundings: 8 units in the last place. */
  const double due_s = now_s * (1.0 + 8 * 0x1p-52);
  while (lh_agenda_next_s(&flows->agenda) <= due_s) {
    lh_flow *flow = (lh_flow *)lh_agenda_first(&flows->agenda);
    if (!flow->running && flow->crossings) {
      begin(flows, flow, now_s);
      continue;
    }
    *done = flow->done;
    *arg = flow->arg;
    end(flows, flow);
    return true;
  }
  return false;
}

void lh_flows_set_bandwidth(lh_flows *flows, size_t link, double bandwidth_Bps)
{
  flows->link[link].capacity_Bps = bandwidth_Bps;
  lh_flows_mark(flows, link);
}
