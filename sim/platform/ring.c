/* ring.c -- every node has a cable to the next one, the last to the first.
 *
 * Keys: "bandwidth", "latency", "duplex" of a cable. Routes go the shorter way round, clockwise
 * (0, 1, 2, ...) when both are as long. The longest way of 512 nodes is 256 links.
 */
#include "sim/platform/torus.h"

static const char *const keys[] = {"bandwidth", "latency", "duplex", NULL};
static const char *const axes[] = {"ring"};

static lh_status ring_build(lh_platform *platform, lh_json network, void **shape)
{
  return lh_torus_build(platform, network, 1, &platform->nodes, axes, shape);
}

static void ring_draw(const lh_platform *platform, FILE *out)
{
  fprintf(out,
          "    node-0 --- node-1 --- ... --- node-%zu\n"
          "       |                             |\n"
          "       +-----------------------------+\n",
          platform->nodes - 1);
}

const lh_topology lh_ring = {.name = "ring",
                             .title = "a cable from every node to the next",
                             .keys = keys,
                             .build = ring_build,
                             .route = lh_torus_route,
                             .free = lh_torus_free,
                             .draw = ring_draw,
                             .draw_from = 4};
