/* topology.h -- a network topology as a table entry, and what all of them are built from.
 *
 * A topology is one file with one entry: its keys, a function that reads them and makes the links,
 * and one that walks from one port to another. A port is where a node meets the network: one
 * interface, or several that stripe. A node has as many ports as interfaces.h says.
 */
#ifndef LH_SIM_TOPOLOGY_H
#define LH_SIM_TOPOLOGY_H

#include <assert.h>

#include "sim/platform/interfaces.h"
#include "sim/platform/platform.h"

typedef struct lh_port {
  size_t node, port;
} lh_port;

typedef struct lh_topology {
  const char *name;        /* as platform files spell it */
  const char *title;       /* one line for people */
  const char *const *keys; /* its own keys in "network", NULL-terminated */
  /* Adds links to the platform, whose nodes and interfaces are known, and keeps what `route` needs
   * in *shape, which `free` releases, also after a failed build. */
  lh_status (*build)(lh_platform *platform, lh_json network, void **shape);
  /* Appends the links from one node's port to another's; src.node != dst.node. Cannot fail: build
   * has refused networks whose routes are too long. */
  void (*route)(const lh_platform *platform, lh_port src, lh_port dst, lh_route *route);
  void (*free)(void *shape);
  void (*draw)(const lh_platform *platform, FILE *out);
  size_t draw_from; /* nodes; a drawing with "node-0 node-1 ... node-N" needs four */
} lh_topology;

extern const lh_topology lh_star, lh_full_mesh, lh_ring, lh_fat_tree, lh_torus, lh_dragonfly,
    lh_regions, lh_custom;
extern const lh_topology *const lh_topologies[]; /* NULL-terminated */

/* Reads "network": finds the topology, checks the keys, reads what is common, builds. */
lh_status lh_network_read(lh_platform *platform, lh_json network);

/* ---- links ----------------------------------------------------------------------------------- */

/* Appends a link; *index is its place. The name is copied. */
lh_status lh_link_add(lh_platform *platform, const char *name, double bandwidth_Bps,
                      double latency_s, bool shared, size_t *index);

/* Two directions between two places; the same link twice when half duplex. */
typedef struct lh_cable {
  size_t forth, back;
} lh_cable;

typedef struct lh_cable_kind {
  double forth_Bps, back_Bps;
  double latency_s; /* each way */
  bool half_duplex;
} lh_cable_kind;

/* Links STEM.FORTH and STEM.BACK, or STEM.link when half duplex. */
lh_status lh_cable_add(lh_platform *platform, const lh_cable_kind *kind, const char *stem,
                       const char *forth, const char *back, lh_cable *cable);
/* The cable of a port, which may bundle several interfaces: the rates times as many. */
lh_cable_kind lh_bundle(const lh_platform *platform, size_t port, const lh_cable_kind *kind);
/* The cable between a node's port and its switch: "node-3.up" and "node-3.down". */
lh_status lh_cable_to_port(lh_platform *platform, const lh_cable_kind *kind, lh_port port,
                           lh_cable *cable);
/* One cable per node and port, "node-3.up" and "node-3.down" ("node-3.nic-1.up" if there are
 * several ports), rates times the port's interfaces. *cables (nodes * ports) is malloced, the
 * caller's. */
lh_status lh_cables_to_nodes(lh_platform *platform, const lh_cable_kind *kind, lh_cable **cables);
/* "node-3", or "node-3.nic-1" if a node has several ports. Returns buffer. */
const char *lh_port_name(const lh_platform *platform, size_t node, size_t port, char *buffer,
                         size_t size);

static inline size_t lh_terminal(const lh_platform *platform, lh_port port)
{
  return port.node * platform->interfaces->ports + port.port;
}

static inline void lh_route_push(const lh_platform *platform, size_t link, lh_route *route)
{
  assert(route->links < LH_ROUTE_MAX_LINKS);
  route->link[route->links++] = link;
  route->latency_s += platform->link[link].latency_s;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A rate above zero, required, or with a fallback. */
lh_status lh_rate_read(lh_json node, double *rate_Bps);
lh_status lh_rate_read_or(lh_json node, double fallback_Bps, double *rate_Bps);
/* "duplex": "full" (default) or "half". */
lh_status lh_duplex_read(lh_json object, bool *half_duplex);
/* "bandwidth", "latency", "duplex" of a cable that is alike both ways. */
lh_status lh_cable_kind_read(lh_json object, lh_cable_kind *kind);
/* The same with "bandwidth_up" (forth: from the node) and "bandwidth_down" for each direction. */
lh_status lh_node_cable_kind_read(lh_json object, lh_cable_kind *kind);
/* Whole numbers low..high: one number stands for all n, or a list of exactly n. Into values (n). */
lh_status lh_sizes_read(lh_json node, size_t low, size_t high, size_t n, size_t *values);

/* "1 Gbps (125 MB/s)". Returns buffer. */
const char *lh_rate_text(double rate_Bps, char *buffer, size_t size);

#endif
