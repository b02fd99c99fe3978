/* dragonfly.c -- groups of routers, all joined inside a group, and groups all joined by long cables.
 *
 * Keys: "bandwidth" ("bandwidth_up", "bandwidth_down"), "latency", "duplex" of a node's cable;
 *   "groups" g, "routers" a in a group, "terminals" p at a router: all three, or none; then the
 *   smallest balanced one that is large enough (a = 2p, g = 2p^2 + 1);
 *   "global_links" (1) cables between two groups;
 *   "local_bandwidth", "local_latency", "global_bandwidth", "global_latency": those of the cables
 *   between routers (the node's cable, on average over up and down being the same).
 *
 * Kim, Dally, Scott, Abts 2008, with minimal routing: at most one local, one global, one local hop.
 * Group i's cables to the groups i + 1, i + 2, ... (round and round) are dealt to its routers in
 * blocks; of several between two groups the destination's number picks one.
 */
#include <stdlib.h>

#include "sim/platform/topology.h"

#define MAX_CABLES 4000000

struct dragonfly {
  size_t groups, routers, terminals; /* g, a, p */
  size_t global_links;               /* between two groups */
  size_t per_router;                 /* global cables at a router, at most */
  lh_cable *node;                    /* (nodes * ports) */
  lh_cable *local;                   /* (g * a * a) at [group][low router][high router] */
  lh_cable *global;                  /* (g * g * global_links) at [low group][high group][which] */
};

static const char *const keys[] = {"bandwidth",      "bandwidth_up",
                                   "bandwidth_down", "latency",
                                   "duplex",         "groups",
                                   "routers",        "terminals",
                                   "global_links",   "local_bandwidth",
                                   "local_latency",  "global_bandwidth",
                                   "global_latency", NULL};

static void size_balanced(size_t ports, struct dragonfly *fly)
{
  size_t p = 1;
  while (p * 2 * p * (2 * p * p + 1) < ports)
    p++;
  fly->terminals = p;
  fly->routers = 2 * p;
  fly->groups = 2 * p * p + 1;
}

static lh_status size_read(lh_json network, size_t ports, struct dragonfly *fly)
{
  const lh_json groups = lh_json_get(network, "groups"), routers = lh_json_get(network, "routers"),
                terminals = lh_json_get(network, "terminals");
  if (!lh_json_present(groups) && !lh_json_present(routers) && !lh_json_present(terminals)) {
    size_balanced(ports, fly);
  } else {
    LH_TRY(lh_json_size_value(groups, 1, 4096, &fly->groups));
    LH_TRY(lh_json_size_value(routers, 1, 4096, &fly->routers));
    LH_TRY(lh_json_size_value(terminals, 1, 4096, &fly->terminals));
  }
  const size_t places = fly->groups * fly->routers * fly->terminals;
  if (places < ports)
    return lh_json_fail(groups,
                        "found room for %zu ports (groups x routers x terminals), allowed: "
                        "at least %zu",
                        places, ports);
  LH_TRY(lh_json_size_or(lh_json_get(network, "global_links"), 1, 1024, 1, &fly->global_links));
  const size_t cables = (fly->groups - 1) * fly->global_links;
  fly->per_router = (cables + fly->routers - 1) / fly->routers;
  if (fly->groups * fly->routers * fly->routers > MAX_CABLES ||
      fly->groups * fly->groups * fly->global_links > MAX_CABLES)
    return lh_json_fail(network, "found a dragonfly of more than %d cables, allowed: less",
                        MAX_CABLES);
  return LH_OK;
}

static lh_status trunk_read(lh_json bandwidth, lh_json latency, const lh_cable_kind *node,
                            lh_cable_kind *trunk)
{
  *trunk = *node;
  LH_TRY(lh_rate_read_or(bandwidth, node->forth_Bps, &trunk->forth_Bps));
  if (!lh_json_present(bandwidth) && node->forth_Bps != node->back_Bps)
    return lh_json_fail(bandwidth, "absent, allowed: a rate, as bandwidth_up and bandwidth_down "
                                   "differ");
  trunk->back_Bps = trunk->forth_Bps;
  return lh_json_quantity_or(latency, LH_UNIT_S, node->latency_s, &trunk->latency_s);
}

static lh_cable *local_cable(const struct dragonfly *fly, size_t group, size_t low, size_t high)
{
  return &fly->local[(group * fly->routers + low) * fly->routers + high];
}

static lh_cable *global_cable(const struct dragonfly *fly, size_t low, size_t high, size_t which)
{
  return &fly->global[(low * fly->groups + high) * fly->global_links + which];
}

static lh_status add_local(lh_platform *platform, const lh_cable_kind *kind, struct dragonfly *fly)
{
  for (size_t group = 0; group < fly->groups; group++)
    for (size_t low = 0; low < fly->routers; low++)
      for (size_t high = low + 1; high < fly->routers; high++) {
        char stem[120];
        snprintf(stem, sizeof stem, "group-%zu.router-%zu.router-%zu", group, low, high);
        LH_TRY(lh_cable_add(platform, kind, stem, "forth", "back",
                            local_cable(fly, group, low, high)));
      }
  return LH_OK;
}

static lh_status add_global(lh_platform *platform, const lh_cable_kind *kind, struct dragonfly *fly)
{
  for (size_t low = 0; low < fly->groups; low++)
    for (size_t high = low + 1; high < fly->groups; high++)
      for (size_t which = 0; which < fly->global_links; which++) {
        char stem[120];
        snprintf(stem, sizeof stem, "group-%zu.group-%zu.cable-%zu", low, high, which);
        LH_TRY(lh_cable_add(platform, kind, stem, "forth", "back",
                            global_cable(fly, low, high, which)));
      }
  return LH_OK;
}

static lh_status dragonfly_build(lh_platform *platform, lh_json network, void **shape)
{
  struct dragonfly *fly = calloc(1, sizeof *fly);
  if (!(*shape = fly))
    return lh_fail(LH_ENOMEM, "dragonfly: no memory");
  lh_cable_kind node, local, global;
  LH_TRY(lh_node_cable_kind_read(network, &node));
  LH_TRY(trunk_read(lh_json_get(network, "local_bandwidth"), lh_json_get(network, "local_latency"),
                    &node, &local));
  LH_TRY(trunk_read(lh_json_get(network, "global_bandwidth"),
                    lh_json_get(network, "global_latency"), &node, &global));
  LH_TRY(size_read(network, platform->nodes * platform->interfaces->ports, fly));
  fly->local = calloc(fly->groups * fly->routers * fly->routers, sizeof *fly->local);
  fly->global = calloc(fly->groups * fly->groups * fly->global_links, sizeof *fly->global);
  if (!fly->local || !fly->global)
    return lh_fail(LH_ENOMEM, "dragonfly: no memory for its cables");
  LH_TRY(lh_cables_to_nodes(platform, &node, &fly->node));
  LH_TRY(add_local(platform, &local, fly));
  return add_global(platform, &global, fly);
}

/* The router of `group` that holds cable `which` to `other`. */
static size_t gateway(const struct dragonfly *fly, size_t group, size_t other, size_t which)
{
  const size_t offset = (other + fly->groups - group - 1) % fly->groups;
  return (offset * fly->global_links + which) / fly->per_router;
}

static void push_local(const lh_platform *platform, size_t group, size_t from, size_t to,
                       lh_route *route)
{
  const struct dragonfly *fly = platform->shape;
  if (from < to)
    lh_route_push(platform, local_cable(fly, group, from, to)->forth, route);
  else if (from > to)
    lh_route_push(platform, local_cable(fly, group, to, from)->back, route);
}

static void push_global(const lh_platform *platform, size_t from, size_t to, size_t which,
                        lh_route *route)
{
  const struct dragonfly *fly = platform->shape;
  if (from < to)
    lh_route_push(platform, global_cable(fly, from, to, which)->forth, route);
  else
    lh_route_push(platform, global_cable(fly, to, from, which)->back, route);
}

static void dragonfly_route(const lh_platform *platform, lh_port src, lh_port dst, lh_route *route)
{
  const struct dragonfly *fly = platform->shape;
  const size_t s = lh_terminal(platform, src), d = lh_terminal(platform, dst);
  const size_t from = s / fly->terminals, to = d / fly->terminals; /* routers, over all groups */
  const size_t src_group = from / fly->routers, dst_group = to / fly->routers;
  lh_route_push(platform, fly->node[s].forth, route);
  if (src_group == dst_group) {
    push_local(platform, src_group, from % fly->routers, to % fly->routers, route);
  } else {
    const size_t which = d % fly->global_links;
    push_local(platform, src_group, from % fly->routers, gateway(fly, src_group, dst_group, which),
               route);
    push_global(platform, src_group, dst_group, which, route);
    push_local(platform, dst_group, gateway(fly, dst_group, src_group, which), to % fly->routers,
               route);
  }
  lh_route_push(platform, fly->node[d].back, route);
}

static void dragonfly_free(void *shape)
{
  struct dragonfly *fly = shape;
  if (fly) {
    free(fly->node);
    free(fly->local);
    free(fly->global);
  }
  free(fly);
}

static void dragonfly_draw(const lh_platform *platform, FILE *out)
{
  const struct dragonfly *fly = platform->shape;
  fprintf(out,
          "    group-0 ===== group-1 ===== ... group-%zu    all joined, %zu cable%s for each pair\n"
          "       |\n"
          "    router-0 ... router-%zu    in each group, all joined\n"
          "       |\n"
          "    %zu node port%s at each router, node-0 ... node-%zu in order\n",
          fly->groups - 1, fly->global_links, fly->global_links == 1 ? "" : "s", fly->routers - 1,
          fly->terminals, fly->terminals == 1 ? "" : "s", platform->nodes - 1);
}

const lh_topology lh_dragonfly = {.name = "dragonfly",
                                  .title = "joined groups of joined routers, minimal routing",
                                  .keys = keys,
                                  .build = dragonfly_build,
                                  .route = dragonfly_route,
                                  .free = dragonfly_free,
                                  .draw = dragonfly_draw};
