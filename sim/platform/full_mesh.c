/* full_mesh.c -- a cable of its own for every pair of nodes: one latency.
 *
 * Keys: "bandwidth", "latency", "duplex". A node with several ports is in as many meshes: port p of
 * a node is joined to port p of every other, and a flow stays on the port it leaves by.
 */
#include <stdlib.h>

#include "sim/platform/topology.h"

#define MAX_CABLES 2000000

struct full_mesh {
  lh_cable *cable; /* (pairs * ports): see pair_index */
};

static const char *const keys[] = {"bandwidth", "latency", "duplex", NULL};

/* a < b: the pairs (0, 1) (0, 2) ... (1, 2) ... in one row. */
static size_t pair_index(size_t nodes, size_t a, size_t b)
{
  return a * (2 * nodes - a - 1) / 2 + (b - a - 1);
}

static lh_status full_mesh_build(lh_platform *platform, lh_json network, void **shape)
{
  const size_t nodes = platform->nodes, ports = platform->interfaces->ports;
  const size_t cables = nodes * (nodes - 1) / 2 * ports;
  struct full_mesh *mesh = calloc(1, sizeof *mesh);
  if (!(*shape = mesh))
    return lh_fail(LH_ENOMEM, "full-mesh: no memory");
  if (cables > MAX_CABLES)
    return lh_json_fail(network,
                        "found a full mesh of %zu nodes, allowed: at most %d cables, not "
                        "%zu",
                        nodes, MAX_CABLES, cables);
  if (!(mesh->cable = calloc(cables + 1, sizeof *mesh->cable)))
    return lh_fail(LH_ENOMEM, "full-mesh: no memory for %zu cables", cables);
  lh_cable_kind kind;
  LH_TRY(lh_cable_kind_read(network, &kind));
  for (size_t a = 0; a < nodes; a++)
    for (size_t b = a + 1; b < nodes; b++)
      for (size_t port = 0; port < ports; port++) {
        char near[80], stem[120];
        const lh_cable_kind bundle = lh_bundle(platform, port, &kind);
        lh_port_name(platform, a, port, near, sizeof near);
        snprintf(stem, sizeof stem, "%s.node-%zu", near, b);
        LH_TRY(lh_cable_add(platform, &bundle, stem, "forth", "back",
                            &mesh->cable[pair_index(nodes, a, b) * ports + port]));
      }
  return LH_OK;
}

static void full_mesh_route(const lh_platform *platform, lh_port src, lh_port dst, lh_route *route)
{
  const struct full_mesh *mesh = platform->shape;
  const bool forth = src.node < dst.node;
  const size_t pair = forth ? pair_index(platform->nodes, src.node, dst.node)
                            : pair_index(platform->nodes, dst.node, src.node);
  const lh_cable *cable = &mesh->cable[pair * platform->interfaces->ports + src.port];
  lh_route_push(platform, forth ? cable->forth : cable->back, route);
}

static void full_mesh_free(void *shape)
{
  struct full_mesh *mesh = shape;
  if (mesh)
    free(mesh->cable);
  free(mesh);
}

static void full_mesh_draw(const lh_platform *platform, FILE *out)
{
  fprintf(out,
          "    node-0 ----- node-1\n"
          "       |   \\ /   |\n"
          "       |   / \\   |        %zu nodes, a cable for each pair\n"
          "     ...  ----- node-%zu\n",
          platform->nodes, platform->nodes - 1);
}

const lh_topology lh_full_mesh = {.name = "full-mesh",
                                  .title = "a cable of its own for every pair of nodes",
                                  .keys = keys,
                                  .build = full_mesh_build,
                                  .route = full_mesh_route,
                                  .free = full_mesh_free,
                                  .draw = full_mesh_draw,
                                  .draw_from = 4};
