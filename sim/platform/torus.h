/* torus.h -- what the ring shares with the torus: it is one of one dimension. */
#ifndef LH_SIM_PLATFORM_TORUS_H
#define LH_SIM_PLATFORM_TORUS_H

#include "sim/platform/topology.h"

#define LH_TORUS_MAX_DIMENSIONS 6

typedef struct lh_torus_shape {
  size_t dimensions;
  size_t dims[LH_TORUS_MAX_DIMENSIONS];   /* node = x + dims[0] * (y + dims[1] * ...) */
  size_t stride[LH_TORUS_MAX_DIMENSIONS]; /* 1, dims[0], dims[0] * dims[1], ... */
  lh_cable *cable; /* (nodes * dimensions * ports): from a node to its next one in a dimension */
} lh_torus_shape;

/* dims (dimensions) multiply to the number of nodes. Cables are called after `axes`, a letter or a
 * word for each dimension: "node-3.x.forth". */
lh_status lh_torus_build(lh_platform *platform, lh_json network, size_t dimensions,
                         const size_t *dims, const char *const *axes, void **shape);
void lh_torus_route(const lh_platform *platform, lh_port src, lh_port dst, lh_route *route);
void lh_torus_free(void *shape);

#endif
