/* torus.c -- a grid whose edges are joined: every node has a cable to the next one of each
 * dimension.
 *
 * Keys: "bandwidth", "latency", "duplex" of a cable; "dims": [4, 4, 2], which multiply to the
 * nodes, or "dimensions": 3, and the nodes are split into that many factors as equal as can be.
 * Routes go along x first, then y, ...: the shorter way round, forth when both are as long. A
 * dimension of 2 has two cables, one each way round. A node with several ports is in as many tori,
 * and a flow stays on the port it leaves by.
 */
#include "sim/platform/torus.h"

#include <stdlib.h>

static const char *const keys[] = {"bandwidth", "latency", "duplex", "dims", "dimensions", NULL};
static const char *const axes[LH_TORUS_MAX_DIMENSIONS] = {"x", "y", "z", "u", "v", "w"};

/* ---- size ------------------------------------------------------------------------------------ */

static lh_status dims_read(lh_json node, size_t nodes, size_t *dimensions, size_t *dims)
{
  LH_TRY(lh_json_expect_array(node));
  *dimensions = lh_json_size(node);
  if (*dimensions < 1 || *dimensions > LH_TORUS_MAX_DIMENSIONS)
    return lh_json_fail(node, "found a list of %zu, allowed: 1 to %d dimensions", *dimensions,
                        LH_TORUS_MAX_DIMENSIONS);
  LH_TRY(lh_sizes_read(node, 1, LH_MAX_NODES, *dimensions, dims));
  size_t product = 1;
  for (size_t d = 0; d < *dimensions && product <= nodes; d++)
    product *= dims[d];
  if (product != nodes)
    return lh_json_fail(node, "found dims that do not multiply to nodes, allowed: %zu in all",
                        nodes);
  return LH_OK;
}

/* The largest divisor of n whose power `dimensions` is at most n. */
static size_t balanced_divisor(size_t n, size_t dimensions)
{
  size_t best = 1;
  for (size_t f = 1; f <= n; f++) {
    size_t power = 1;
    for (size_t d = 0; d < dimensions && power <= n; d++)
      power *= f;
    if (power > n)
      break;
    if (n % f == 0)
      best = f;
  }
  return best;
}

static void dims_split(size_t nodes, size_t dimensions, size_t *dims)
{
  for (size_t d = 0; d < dimensions; d++) {
    dims[d] = balanced_divisor(nodes, dimensions - d);
    nodes /= dims[d];
  }
}

/* ---- building and walking -------------------------------------------------------------------- */

static lh_status add_cables(lh_platform *platform, const lh_cable_kind *kind,
                            const char *const *names, lh_torus_shape *torus)
{
  const size_t ports = platform->interfaces->ports;
  for (size_t node = 0; node < platform->nodes; node++)
    for (size_t d = 0; d < torus->dimensions; d++) {
      if (torus->dims[d] == 1)
        continue;
      for (size_t port = 0; port < ports; port++) {
        char near[80], stem[120];
        const lh_cable_kind bundle = lh_bundle(platform, port, kind);
        lh_port_name(platform, node, port, near, sizeof near);
        snprintf(stem, sizeof stem, "%s.%s", near, names[d]);
        LH_TRY(lh_cable_add(platform, &bundle, stem, "forth", "back",
                            &torus->cable[(node * torus->dimensions + d) * ports + port]));
      }
    }
  return LH_OK;
}

lh_status lh_torus_build(lh_platform *platform, lh_json network, size_t dimensions,
                         const size_t *dims, const char *const *names, void **shape)
{
  lh_torus_shape *torus = calloc(1, sizeof *torus);
  if (!(*shape = torus))
    return lh_fail(LH_ENOMEM, "torus: no memory");
  torus->dimensions = dimensions;
  size_t longest = 0, stride = 1;
  for (size_t d = 0; d < dimensions; d++) {
    torus->dims[d] = dims[d];
    torus->stride[d] = stride;
    stride *= dims[d];
    longest += dims[d] / 2;
  }
  if (longest > LH_ROUTE_MAX_LINKS - 2)
    return lh_json_fail(network,
                        "found %zu nodes whose longest way is %zu links, allowed: at most "
                        "%d links",
                        platform->nodes, longest, LH_ROUTE_MAX_LINKS - 2);
  const size_t cables = platform->nodes * dimensions * platform->interfaces->ports;
  if (!(torus->cable = calloc(cables, sizeof *torus->cable)))
    return lh_fail(LH_ENOMEM, "torus: no memory for %zu cables", cables);
  lh_cable_kind kind;
  LH_TRY(lh_cable_kind_read(network, &kind));
  return add_cables(platform, &kind, names, torus);
}

void lh_torus_route(const lh_platform *platform, lh_port src, lh_port dst, lh_route *route)
{
  const lh_torus_shape *torus = platform->shape;
  const size_t ports = platform->interfaces->ports;
  size_t node = src.node;
  for (size_t d = 0; d < torus->dimensions; d++) {
    const size_t n = torus->dims[d], stride = torus->stride[d];
    size_t at = node / stride % n;
    const size_t to = dst.node / stride % n, steps_forth = (to + n - at) % n;
    const bool forth = 2 * steps_forth <= n;
    while (at != to) {
      const size_t next = forth ? (at + 1) % n : (at + n - 1) % n;
      const size_t base = node - at * stride;
      const size_t owner = base + (forth ? at : next) * stride; /* of the cable between the two */
      const lh_cable *cable = &torus->cable[(owner * torus->dimensions + d) * ports + src.port];
      lh_route_push(platform, forth ? cable->forth : cable->back, route);
      node = base + next * stride;
      at = next;
    }
  }
}

void lh_torus_free(void *shape)
{
  lh_torus_shape *torus = shape;
  if (torus)
    free(torus->cable);
  free(torus);
}

static lh_status torus_build(lh_platform *platform, lh_json network, void **shape)
{
  const lh_json list = lh_json_get(network, "dims"), count = lh_json_get(network, "dimensions");
  size_t dimensions, dims[LH_TORUS_MAX_DIMENSIONS];
  if (lh_json_present(list) && lh_json_present(count))
    return lh_json_fail(count, "found beside dims, allowed: one of the two");
  if (lh_json_present(count)) {
    LH_TRY(lh_json_size_value(count, 1, LH_TORUS_MAX_DIMENSIONS, &dimensions));
    dims_split(platform->nodes, dimensions, dims);
  } else if (lh_json_present(list)) {
    LH_TRY(dims_read(list, platform->nodes, &dimensions, dims));
  } else {
    return lh_json_fail(list, "absent, allowed: dims such as [4, 4], or dimensions such as 2");
  }
  return lh_torus_build(platform, network, dimensions, dims, axes, shape);
}

static void torus_draw(const lh_platform *platform, FILE *out)
{
  const lh_torus_shape *torus = platform->shape;
  fprintf(out, "    dims ");
  for (size_t d = 0; d < torus->dimensions; d++)
    fprintf(out, "%s%zu", d ? " x " : "", torus->dims[d]);
  fprintf(out, "\n"
               "       |        |        |\n"
               "    - node-0 - node-1 - ... -  (x, and round again)\n"
               "       |        |        |\n"
               "      ...      ...      ...    (y, and round again)\n");
}

const lh_topology lh_torus = {.name = "torus",
                              .title = "a grid with joined edges, along x first",
                              .keys = keys,
                              .build = torus_build,
                              .route = lh_torus_route,
                              .free = lh_torus_free,
                              .draw = torus_draw,
                              .draw_from = 4};
