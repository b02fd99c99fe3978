/* fabric.c -- a node's inner network: switches and direct cables, the same links on every node. */
#include "sim/platform/fabric.h"

#include <math.h>
#include <stdlib.h>

#define MAX_SWITCHES 16

/* What one node gets; the kinds differ only in how they fill this. */
typedef struct fabric_plan {
  size_t switches;
  lh_cable_kind to_switch[MAX_SWITCHES];
  bool direct[LH_MAX_ACCELERATORS][LH_MAX_ACCELERATORS]; /* [a][b], a < b: a cable of their own */
  lh_cable_kind cable[LH_MAX_ACCELERATORS][LH_MAX_ACCELERATORS];
} fabric_plan;

typedef struct fabric_kind {
  const char *const *keys;
  lh_status (*plan)(lh_json fabric, size_t accelerators, fabric_plan *plan);
} fabric_kind;

/* ---- switch ---------------------------------------------------------------------------------- */

/* One of several parallel switches, or all of them as one when a flow may stripe. */
static lh_status plan_parallel(lh_json fabric, lh_json switches, fabric_plan *plan)
{
  lh_cable_kind kind = {0};
  bool striping;
  LH_TRY(lh_json_expect_array(switches));
  const size_t n = lh_json_size(switches);
  if (n < 1 || n > MAX_SWITCHES)
    return lh_json_fail(switches, "found a list of %zu, allowed: 1 to %d rates", n, MAX_SWITCHES);
  if (lh_json_present(lh_json_get(fabric, "bandwidth")))
    return lh_json_fail(lh_json_get(fabric, "bandwidth"),
                        "found beside switches, allowed: one of the two");
  LH_TRY(lh_json_quantity_or(lh_json_get(fabric, "latency"), LH_UNIT_S, 0, &kind.latency_s));
  LH_TRY(lh_duplex_read(fabric, &kind.half_duplex));
  LH_TRY(lh_json_bool_or(lh_json_get(fabric, "striping"), false, &striping));
  double sum_Bps = 0;
  for (size_t i = 0; i < n; i++) {
    double rate_Bps;
    LH_TRY(lh_rate_read(lh_json_at(switches, i), &rate_Bps));
    sum_Bps += rate_Bps;
    plan->to_switch[i] = kind;
    plan->to_switch[i].forth_Bps = plan->to_switch[i].back_Bps = rate_Bps;
  }
  plan->switches = striping ? 1 : n;
  if (striping)
    plan->to_switch[0].forth_Bps = plan->to_switch[0].back_Bps = sum_Bps;
  return LH_OK;
}

static lh_status plan_switch(lh_json fabric, size_t accelerators, fabric_plan *plan)
{
  (void)accelerators;
  const lh_json switches = lh_json_get(fabric, "switches"),
                striping = lh_json_get(fabric, "striping");
  if (lh_json_present(switches))
    return plan_parallel(fabric, switches, plan);
  if (lh_json_present(striping))
    return lh_json_fail(striping, "found without switches, allowed: only beside a list of them");
  plan->switches = 1;
  return lh_cable_kind_read(fabric, &plan->to_switch[0]);
}

/* ---- full mesh ------------------------------------------------------------------------------- */

static lh_status plan_full_mesh(lh_json fabric, size_t accelerators, fabric_plan *plan)
{
  lh_cable_kind kind;
  LH_TRY(lh_cable_kind_read(fabric, &kind));
  for (size_t a = 0; a < accelerators; a++)
    for (size_t b = a + 1; b < accelerators; b++) {
      plan->direct[a][b] = true;
      plan->cable[a][b] = kind;
    }
  return LH_OK;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static lh_status read_pair(lh_json node, size_t accelerators, const lh_cable_kind *other,
                           fabric_plan *plan)
{
  static const char *const keys[] = {"between", "bandwidth", "latency", NULL};
  LH_TRY(lh_json_check_keys(node, keys));
  const lh_json between = lh_json_get(node, "between");
  LH_TRY(lh_json_expect_array(between));
  if (lh_json_size(between) != 2)
    return lh_json_fail(between, "found a list of %zu, allowed: two accelerators, such as [0, 1]",
                        lh_json_size(between));
  size_t a, b;
  LH_TRY(lh_json_size_value(lh_json_at(between, 0), 0, accelerators - 1, &a));
  LH_TRY(lh_json_size_value(lh_json_at(between, 1), 0, accelerators - 1, &b));
  if (a == b)
    return lh_json_fail(between, "found accelerator %zu twice, allowed: two different ones", a);
  const size_t low = a < b ? a : b, high = a < b ? b : a;
  if (plan->direct[low][high])
    return lh_json_fail(between, "found the pair [%zu, %zu] again, allowed: each pair once", a, b);
  lh_cable_kind *cable = &plan->cable[low][high];
  *cable = *other;
  plan->direct[low][high] = true;
  LH_TRY(lh_rate_read(lh_json_get(node, "bandwidth"), &cable->forth_Bps));
  cable->back_Bps = cable->forth_Bps;
  return lh_json_quantity_or(lh_json_get(node, "latency"), LH_UNIT_S, other->latency_s,
                             &cable->latency_s);
}

static lh_status plan_pairs(lh_json fabric, size_t accelerators, fabric_plan *plan)
{
  const lh_json pairs = lh_json_get(fabric, "pairs");
  plan->switches = 1;
  LH_TRY(lh_cable_kind_read(fabric, &plan->to_switch[0]));
  LH_TRY(lh_json_expect_array(pairs));
  for (size_t i = 0; i < lh_json_size(pairs); i++)
    LH_TRY(read_pair(lh_json_at(pairs, i), accelerators, &plan->to_switch[0], plan));
  return LH_OK;
}

/* ---- the table ------------------------------------------------------------------------------- */

#define COMMON_KEYS                                                                                \
  "kind", "bandwidth", "latency", "duplex", "flow_cap", "in_network_reduction", "call_overhead",   \
      "message_overhead"

static const char *const switch_keys[] = {COMMON_KEYS, "switches", "striping", NULL};
static const char *const full_mesh_keys[] = {COMMON_KEYS, NULL};
static const char *const pairs_keys[] = {COMMON_KEYS, "pairs", NULL};

const char *const lh_fabric_kinds[] = {"switch", "full-mesh", "pairs", NULL};
static const fabric_kind kinds[] = {
    {switch_keys, plan_switch}, {full_mesh_keys, plan_full_mesh}, {pairs_keys, plan_pairs}};

/* ---- links ----------------------------------------------------------------------------------- */

static void set_hops(lh_fabric *fabric, size_t src, size_t dst, size_t n, size_t first,
                     size_t second)
{
  fabric->hops[src][dst] = (unsigned char)n;
  fabric->hop[src][dst][0] = first - fabric->base;
  fabric->hop[src][dst][1] = n == 2 ? second - fabric->base : 0;
}

/* Paths of node 0; on the others all links lie links_per_node further on. */
static void set_paths(const fabric_plan *plan, size_t accelerators,
                      lh_cable to_switch[MAX_SWITCHES][LH_MAX_ACCELERATORS],
                      lh_cable cable[LH_MAX_ACCELERATORS][LH_MAX_ACCELERATORS], lh_fabric *fabric)
{
  for (size_t src = 0; src < accelerators; src++)
    for (size_t dst = 0; dst < accelerators; dst++) {
      if (src == dst)
        continue;
      if (src < dst && plan->direct[src][dst]) {
        set_hops(fabric, src, dst, 1, cable[src][dst].forth, 0);
      } else if (dst < src && plan->direct[dst][src]) {
        set_hops(fabric, src, dst, 1, cable[dst][src].back, 0);
      } else {
        const size_t plane = src % plan->switches;
        set_hops(fabric, src, dst, 2, to_switch[plane][src].forth, to_switch[plane][dst].back);
      }
    }
  fabric->has_own_links = plan->switches > 0;
  for (size_t slot = 0; fabric->has_own_links && slot < accelerators; slot++) {
    const size_t plane = slot % plan->switches;
    fabric->out[slot] = to_switch[plane][slot].forth - fabric->base;
    fabric->in[slot] = to_switch[plane][slot].back - fabric->base;
  }
}

static lh_status build_node(lh_platform *platform, const fabric_plan *plan, size_t node,
                            lh_fabric *fabric)
{
  const size_t accelerators = platform->accelerators_per_node;
  lh_cable to_switch[MAX_SWITCHES][LH_MAX_ACCELERATORS] = {0};
  lh_cable cable[LH_MAX_ACCELERATORS][LH_MAX_ACCELERATORS] = {0};
  char stem[80];
  for (size_t plane = 0; plane < plan->switches; plane++)
    for (size_t slot = 0; slot < accelerators; slot++) {
      if (plan->switches == 1)
        snprintf(stem, sizeof stem, "node-%zu.slot-%zu", node, slot);
      else
        snprintf(stem, sizeof stem, "node-%zu.switch-%zu.slot-%zu", node, plane, slot);
      LH_TRY(lh_cable_add(platform, &plan->to_switch[plane], stem, "out", "in",
                          &to_switch[plane][slot]));
    }
  for (size_t a = 0; a < accelerators; a++)
    for (size_t b = a + 1; b < accelerators; b++) {
      if (!plan->direct[a][b])
        continue;
      snprintf(stem, sizeof stem, "node-%zu.slot-%zu.slot-%zu", node, a, b);
      LH_TRY(lh_cable_add(platform, &plan->cable[a][b], stem, "forth", "back", &cable[a][b]));
    }
  if (node == 0)
    set_paths(plan, accelerators, to_switch, cable, fabric);
  return LH_OK;
}

/* Overheads hold for the whole platform: a network states them, a fabric only without one. */
static lh_status read_overhead(lh_json fabric, const char *key, bool has_network, double *seconds)
{
  const lh_json node = lh_json_get(fabric, key);
  if (!lh_json_present(node))
    return LH_OK;
  if (has_network)
    return lh_json_fail(node,
                        "found beside a network, allowed: network.%s, which holds for the "
                        "whole platform",
                        key);
  return lh_json_quantity(node, LH_UNIT_S, seconds);
}

lh_status lh_fabric_read(lh_platform *platform, lh_json node, lh_fabric *fabric)
{
  *fabric = (lh_fabric){.base = platform->links};
  size_t choice;
  LH_TRY(lh_json_expect_object(node));
  LH_TRY(lh_json_choice_or(lh_json_get(node, "kind"), lh_fabric_kinds, 0, &choice));
  const fabric_kind *kind = &kinds[choice];
  fabric->kind = lh_fabric_kinds[choice];
  LH_TRY(lh_json_check_keys(node, kind->keys));
  LH_TRY(lh_rate_read_or(lh_json_get(node, "flow_cap"), INFINITY, &fabric->cap_Bps));
  LH_TRY(
      lh_json_bool_or(lh_json_get(node, "in_network_reduction"), false, &platform->fabric_reduces));
  const bool has_network = platform->network != NULL;
  LH_TRY(read_overhead(node, "call_overhead", has_network, &platform->call_overhead_s));
  LH_TRY(read_overhead(node, "message_overhead", has_network, &platform->message_overhead_s));

  fabric_plan *plan = calloc(1, sizeof *plan);
  if (!plan)
    return lh_fail(LH_ENOMEM, "fabric: no memory");
  lh_status status = kind->plan(node, platform->accelerators_per_node, plan);
  for (size_t i = 0; status == LH_OK && i < platform->nodes; i++) {
    status = build_node(platform, plan, i, fabric);
    if (i == 0)
      fabric->links_per_node = platform->links - fabric->base;
  }
  free(plan);
  return status;
}

void lh_fabric_route(const lh_platform *platform, size_t node, size_t src_slot, size_t dst_slot,
                     lh_route *route)
{
  const lh_fabric *fabric = platform->fabric;
  const size_t first = fabric->base + node * fabric->links_per_node;
  for (size_t i = 0; i < fabric->hops[src_slot][dst_slot]; i++)
    lh_route_push(platform, first + fabric->hop[src_slot][dst_slot][i], route);
}

void lh_fabric_push_out(const lh_platform *platform, size_t node, size_t slot, lh_route *route)
{
  const lh_fabric *fabric = platform->fabric;
  lh_route_push(platform, fabric->base + node * fabric->links_per_node + fabric->out[slot], route);
}

void lh_fabric_push_in(const lh_platform *platform, size_t node, size_t slot, lh_route *route)
{
  const lh_fabric *fabric = platform->fabric;
  lh_route_push(platform, fabric->base + node * fabric->links_per_node + fabric->in[slot], route);
}
