/* Max-min fair rates by progressive filling: all rates grow together until a link is full or a flow
 * has its cap; those flows are then fixed and the rest goes on growing. Instead of growing, the
 * links' fair shares are taken smallest first from a heap: fixing flows never lowers the fair share
 * of another link, so a key that has become too small is put back once with its present value.
 */
#include <math.h>
#include <stdlib.h>

#include "sim/net/flow.h"

/* ---- a heap of keys --------------------------------------------------------------------------- */

static bool below(lh_share_key a, lh_share_key b)
{
  return a.rate_Bps < b.rate_Bps || (a.rate_Bps == b.rate_Bps && a.index < b.index);
}

static void sink(lh_share_key *key, size_t n, size_t place)
{
  const lh_share_key moving = key[place];
  for (;;) {
    size_t child = 2 * place + 1;
    if (child >= n)
      break;
    if (child + 1 < n && below(key[child + 1], key[child]))
      child++;
    if (!below(key[child], moving))
      break;
    key[place] = key[child];
    place = child;
  }
  key[place] = moving;
}

/* ---- who is touched ---------------------------------------------------------------------------- */

static bool reserve_reached(lh_flows *flows, size_t n)
{
  if (n <= flows->reached_capacity)
    return true;
  const size_t capacity = 2 * n + 64;
  lh_flow **reached = realloc(flows->reached, capacity * sizeof *reached);
  if (!reached)
    return false;
  flows->reached = reached;
  flows->reached_capacity = capacity;
  return true;
}

static void reach_link(lh_flows *flows, size_t link, size_t *links)
{
  if (!flows->link[link].shared || flows->link[link].seen == flows->pass)
    return;
  flows->link[link].seen = flows->pass;
  flows->reached_link[(*links)++] = link;
}

static void reach_flow(lh_flows *flows, lh_flow *flow, size_t *n)
{
  if (flow->seen == flows->pass)
    return;
  if (!reserve_reached(flows, *n + 1)) {
    flows->out_of_memory = true;
    return;
  }
  flow->seen = flows->pass;
  flow->fixed = false;
  flows->reached[(*n)++] = flow;
}

/* A link that never limits its flows' sum changes each of them, but joins none to another. */
static void reach_through(lh_flows *flows, size_t link, size_t *n)
{
  for (lh_crossing *c = flows->link[link].first; c; c = c->next)
    reach_flow(flows, c->flow, n);
}

/* Everything joined to the changed links: links into reached_link, flows into reached. */
static void reach_all(lh_flows *flows, size_t *links, size_t *n)
{
  flows->pass++;
  *links = *n = 0;
  for (size_t i = 0; i < flows->changes; i++) {
    flows->link[flows->changed[i]].changed = false;
    reach_link(flows, flows->changed[i], links);
    if (!flows->link[flows->changed[i]].shared)
      reach_through(flows, flows->changed[i], n);
  }
  flows->changes = 0;
  size_t next_link = 0, next_flow = 0;
  while (next_link < *links || next_flow < *n) {
    if (next_link < *links)
      reach_through(flows, flows->reached_link[next_link++], n);
    for (; next_flow < *n; next_flow++)
      for (size_t i = 0; i < flows->reached[next_flow]->crossings; i++)
        reach_link(flows, flows->reached[next_flow]->crossing[i].link, links);
  }
}

/* ---- filling ------------------------------------------------------------------------------------ */

/* One key for each link's fair share and each finite cap. */
static bool make_keys(lh_flows *flows, size_t links, size_t n, size_t *keys)
{
  if (links + n > flows->key_capacity) {
    const size_t capacity = 2 * (links + n);
    lh_share_key *key = realloc(flows->key, capacity * sizeof *key);
    if (!key)
      return false;
    flows->key = key;
    flows->key_capacity = capacity;
  }
  *keys = 0;
  for (size_t i = 0; i < links; i++) {
    lh_flow_link *link = &flows->link[flows->reached_link[i]];
    link->free_Bps = link->capacity_Bps;
    link->unfixed = link->crossings;
    link->used_Bps = 0.0;
    if (link->unfixed)
      flows->key[(*keys)++] = (lh_share_key){link->free_Bps / (double)link->unfixed, i};
  }
  for (size_t i = 0; i < n; i++) {
    const double cap_Bps = lh_flow_cap_Bps(flows, flows->reached[i]);
    if (isfinite(cap_Bps))
      flows->key[(*keys)++] = (lh_share_key){cap_Bps, links + i};
  }
  for (size_t place = *keys / 2; place-- > 0;)
    sink(flows->key, *keys, place);
  return true;
}

static void fix_flow(lh_flows *flows, lh_flow *flow, double rate_Bps, double now_s)
{
  flow->fixed = true;
  for (size_t i = 0; i < flow->crossings; i++) {
    lh_flow_link *link = &flows->link[flow->crossing[i].link];
    if (!link->shared)
      continue;
    link->free_Bps = fmax(0.0, link->free_Bps - rate_Bps);
    link->used_Bps += rate_Bps;
    link->unfixed--;
  }
  /* A rate that moved by roundings only has not changed: its date stays as it was computed. */
  if (fabs(rate_Bps - flow->rate_Bps) > 1e-13 * rate_Bps || flow->rate_Bps == 0.0)
    lh_flow_set_rate(flows, flow, rate_Bps, now_s);
}

static void fix_link(lh_flows *flows, lh_flow_link *link, double rate_Bps, double now_s)
{
  for (lh_crossing *c = link->first; c && link->unfixed; c = c->next)
    if (!c->flow->fixed)
      fix_flow(flows, c->flow, rate_Bps, now_s);
}

void lh_flows_share(lh_flows *flows, double now_s)
{
  size_t links, n, keys;
  reach_all(flows, &links, &n);
  if (!make_keys(flows, links, n, &keys)) {
    flows->out_of_memory = true;
    return;
  }
  double level_Bps = 0.0;
  while (keys) {
    lh_share_key *first = &flows->key[0];
    const size_t index = first->index;
    if (index >= links) {
      lh_flow *flow = flows->reached[index - links];
      if (!flow->fixed)
        fix_flow(flows, flow, first->rate_Bps, now_s);
    } else {
      lh_flow_link *link = &flows->link[flows->reached_link[index]];
      double share_Bps = link->unfixed ? link->free_Bps / (double)link->unfixed : 0.0;
      if (link->unfixed && share_Bps > first->rate_Bps * (1.0 + 1e-13)) {
        first->rate_Bps = share_Bps;
        sink(flows->key, keys, 0);
        continue;
      }
      if (link->unfixed) {
        if (fabs(share_Bps - level_Bps) <= 1e-13 * level_Bps)
          share_Bps = level_Bps; /* equal on paper: equal here, so that they end together */
        level_Bps = share_Bps;
        fix_link(flows, link, share_Bps, now_s);
      }
    }
    *first = flows->key[--keys];
    if (keys)
      sink(flows->key, keys, 0);
  }
}
