/* star.c -- every node's link ends at one switch.
 *
 * Keys: "bandwidth", or "bandwidth_up" and "bandwidth_down" (seen from the node); "latency";
 * "duplex"; "backbone_bandwidth" and "backbone_latency" (0s): one link inside the switch that all
 * flows share, whichever way they go. Without it the switch is not a bottleneck.
 */
#include <stdlib.h>

#include "sim/platform/topology.h"

struct star {
  lh_cable *node; /* (nodes * ports) */
  bool has_backbone;
  size_t backbone;
};

static const char *const keys[] = {"bandwidth", "bandwidth_up",       "bandwidth_down",   "latency",
                                   "duplex",    "backbone_bandwidth", "backbone_latency", NULL};

static lh_status star_build(lh_platform *platform, lh_json network, void **shape)
{
  struct star *star = calloc(1, sizeof *star);
  if (!(*shape = star))
    return lh_fail(LH_ENOMEM, "star: no memory");
  lh_cable_kind kind;
  LH_TRY(lh_node_cable_kind_read(network, &kind));
  LH_TRY(lh_cables_to_nodes(platform, &kind, &star->node));

  const lh_json bandwidth = lh_json_get(network, "backbone_bandwidth"),
                latency = lh_json_get(network, "backbone_latency");
  star->has_backbone = lh_json_present(bandwidth);
  if (!star->has_backbone && lh_json_present(latency))
    return lh_json_fail(latency, "found without backbone_bandwidth, allowed: both, or neither");
  if (!star->has_backbone)
    return LH_OK;
  double bandwidth_Bps, latency_s;
  LH_TRY(lh_rate_read(bandwidth, &bandwidth_Bps));
  LH_TRY(lh_json_quantity_or(latency, LH_UNIT_S, 0, &latency_s));
  return lh_link_add(platform, "backbone", bandwidth_Bps, latency_s, true, &star->backbone);
}

static void star_route(const lh_platform *platform, lh_port src, lh_port dst, lh_route *route)
{
  const struct star *star = platform->shape;
  lh_route_push(platform, star->node[lh_terminal(platform, src)].forth, route);
  if (star->has_backbone)
    lh_route_push(platform, star->backbone, route);
  lh_route_push(platform, star->node[lh_terminal(platform, dst)].back, route);
}

static void star_free(void *shape)
{
  struct star *star = shape;
  if (star)
    free(star->node);
  free(star);
}

static void star_draw(const lh_platform *platform, FILE *out)
{
  const struct star *star = platform->shape;
  fprintf(out,
          "    node-0   node-1   ...   node-%zu\n"
          "      |        |              |\n"
          "    %s\n",
          platform->nodes - 1,
          star->has_backbone ? "==== switch, one backbone ====" : "========== switch ==========");
}

const lh_topology lh_star = {.name = "star",
                             .title = "every node's link ends at one switch",
                             .keys = keys,
                             .build = star_build,
                             .route = star_route,
                             .free = star_free,
                             .draw = star_draw,
                             .draw_from = 4};
