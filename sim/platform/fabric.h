/* fabric.h -- the network inside a node, alike on all nodes.
 *
 * Common keys: "kind" ("switch"), "bandwidth" and "latency" (0s) of one accelerator's link, "duplex",
 * "flow_cap", "in_network_reduction".
 *   "switch"     every accelerator has a link in and a link out: two are two latencies apart.
 *                "switches": ["1000Gbps", "800Gbps"] in place of bandwidth: parallel switches, each
 *                with a link of that rate to every accelerator; "striping": true lets one flow use
 *                them all as one link of the summed rate, else the flow of accelerator s takes
 *                switch s modulo their number.
 *   "full-mesh"  a cable for each pair: one latency.
 *   "pairs"      "pairs": [{"between": [0, 1], "bandwidth", "latency"}, ...] have a cable of their
 *                own (NVLink bridges); all other paths go through a switch with bandwidth and
 *                latency (the host).
 */
#ifndef LH_SIM_FABRIC_H
#define LH_SIM_FABRIC_H

#include "sim/platform/topology.h"

/* Links of node i are base + i * links_per_node + offset. */
typedef struct lh_fabric {
  const char *kind;
  size_t base, links_per_node;
  double cap_Bps; /* INFINITY: none */
  /* hops[src][dst] offsets, 1 or 2 of them; 0 on the diagonal. */
  unsigned char hops[LH_MAX_ACCELERATORS][LH_MAX_ACCELERATORS];
  size_t hop[LH_MAX_ACCELERATORS][LH_MAX_ACCELERATORS][2];
  /* Offsets of an accelerator's own links, for traffic that leaves the node through the fabric. */
  bool has_own_links; /* false: a full mesh has none */
  size_t out[LH_MAX_ACCELERATORS], in[LH_MAX_ACCELERATORS];
} lh_fabric;

extern const char *const lh_fabric_kinds[]; /* NULL-terminated */

lh_status lh_fabric_read(lh_platform *platform, lh_json node, lh_fabric *fabric);
void lh_fabric_route(const lh_platform *platform, size_t node, size_t src_slot, size_t dst_slot,
                     lh_route *route);
/* An accelerator's own link into or out of the fabric, for traffic from or to other nodes. */
void lh_fabric_push_out(const lh_platform *platform, size_t node, size_t slot, lh_route *route);
void lh_fabric_push_in(const lh_platform *platform, size_t node, size_t slot, lh_route *route);

#endif
