/* custom.h -- the graph of a custom network and the ways through it. */
#ifndef LH_SIM_PLATFORM_CUSTOM_H
#define LH_SIM_PLATFORM_CUSTOM_H

#include "sim/platform/topology.h"

#define LH_CUSTOM_MAX_VERTICES 2048

typedef struct lh_custom_arc {
  size_t from, to, link;
} lh_custom_arc;

typedef struct lh_custom_given {
  size_t links;
  size_t *link; /* (links); NULL: no route is given */
} lh_custom_given;

typedef struct lh_custom_shape {
  size_t nodes, switches; /* vertices: nodes, then switches */
  char **switch_name;     /* (switches) */
  size_t arcs;
  lh_custom_arc *arc;     /* (arcs) in the order of the file */
  lh_custom_given *given; /* (nodes * nodes) at [from][to], or NULL */
  /* (nodes * vertices) at [to][at]: the arc to take, and how many links are left to go. */
  int *next_arc;
  int *links_left;
} lh_custom_shape;

lh_status lh_custom_add_arc(lh_custom_shape *custom, size_t from, size_t to, size_t link);
/* Fewest links, then least latency, then the arcs that come first. */
lh_status lh_custom_find_ways(const lh_platform *platform, lh_custom_shape *custom);
bool lh_custom_connected(const lh_custom_shape *custom, size_t from, size_t to);
size_t lh_custom_route_links(const lh_custom_shape *custom, size_t from, size_t to);
void lh_custom_route(const lh_platform *platform, lh_port src, lh_port dst, lh_route *route);
void lh_custom_free(void *shape);

#endif
