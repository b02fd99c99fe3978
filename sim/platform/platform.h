/* platform.h -- nodes, accelerators and the network between them: a JSON file, resolved.
 *
 * Everything is in base units. Links are one-directional; a full-duplex cable is two of them.
 * Routes are computed by the topology's own small function, on demand, so that 4,096 ranks need no
 * table of pairs. Nothing here includes SimGrid.
 *
 * The "platform" object of a scenario is {"file": "../../platforms/star.json", overrides...} or the
 * whole thing:
 *   {"schema": "longhaul/platform/1", "name", "nodes", "accelerators_per_node" (1),
 *    "device": name in platforms/devices, an object, or {"base": name, overrides...}; absent: ideal,
 *    "node_speed": relative compute speed, one number or one per node (1),
 *    "network": {"topology": "star" | "full-mesh" | "ring" | "fat-tree" | "torus" | "dragonfly" |
 *                            "regions" | "custom",
 *                "bandwidth", "latency" (0s) of one node's link, "flow_cap", "call_overhead",
 *                "message_overhead", "in_network_reduction", ... the topology's own keys},
 *    "fabric": {"kind": "switch" (default) | "full-mesh" | "pairs", "bandwidth", "latency" (0s),
 *               "duplex", "flow_cap", "in_network_reduction", ... the kind's own keys},
 *    "interfaces": {"count" (1), "serves": "shared" | "accelerator" | subsets, "striping" (false),
 *                   "through_fabric" (false)},
 *    "placement": "block" | "round-robin" | [the node of each rank],
 *    "variation": {"compute": {"distribution", ...}, "latency": {...}},
 *    "faults": [{"node" or "link", "from", "to", "bandwidth"}]}
 * The topologies' own keys are documented on top of their files, a fabric's in fabric.h. "network"
 * may be missing on one node, "fabric" on nodes of one accelerator.
 */
#ifndef LH_SIM_PLATFORM_H
#define LH_SIM_PLATFORM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"
#include "base/random.h"
#include "base/status.h"
#include "kernels/device.h"

#define LH_MAX_NODES 100000
#define LH_MAX_ACCELERATORS 16

typedef struct lh_link {
  char *name;           /* unique: "node-3.up", "region.eu-us" */
  double bandwidth_Bps; /* > 0 */
  double latency_s;     /* >= 0 */
  bool shared;          /* false: every flow gets the full rate (a non-blocking crossbar) */
} lh_link;

#define LH_ROUTE_MAX_LINKS 264 /* half of a 512-node ring, and both ends */

typedef struct lh_route {
  size_t links;
  size_t link[LH_ROUTE_MAX_LINKS]; /* indices into the platform's links, in order */
  double latency_s;                /* sum of the links' */
  double cap_Bps;                  /* most that one flow may carry; INFINITY: no cap */
} lh_route;

/* A named distribution of a factor on a time; what a, b, c are is in variation.c. */
typedef struct lh_variation {
  enum {
    LH_VARIATION_NONE,
    LH_VARIATION_LOGNORMAL,
    LH_VARIATION_SHIFTED_EXPONENTIAL,
    LH_VARIATION_PARETO,
    LH_VARIATION_GAMMA,
    LH_VARIATION_NORMAL,
    LH_VARIATION_UNIFORM
  } kind;
  double a, b, c; /* the distribution's own parameters, documented in variation.c */
} lh_variation;

/* Something that is worse for a while: from_s <= t < to_s. */
typedef struct lh_fault {
  enum { LH_FAULT_NODE_DOWN, LH_FAULT_LINK_BANDWIDTH } kind;
  size_t index;         /* the node, or the link in the platform's links */
  double from_s, to_s;  /* to_s is INFINITY when it never ends */
  double bandwidth_Bps; /* of the link meanwhile, > 0; 0 for a node that is down */
} lh_fault;

typedef struct lh_platform lh_platform;
struct lh_platform {
  char *name, *topology;                      /* topology: "none" when there is no network */
  size_t nodes, accelerators_per_node, ranks; /* ranks = nodes * accelerators_per_node */
  size_t *node_of_rank, *slot_of_rank;        /* (ranks) placement */
  lh_device_profile device;
  bool device_given;  /* false: "device" was absent, and the ideal one stands in */
  double *node_speed; /* (nodes) relative compute speed, 1 by default */
  size_t links;
  lh_link *link;                        /* (links) */
  double call_overhead_s;               /* fixed cost of one collective call */
  double message_overhead_s;            /* fixed cost of one message, beside its latency */
  bool network_reduces, fabric_reduces; /* in-network reduction */
  double network_cap_Bps;         /* most that one flow carries between nodes; INFINITY: any */
  lh_variation compute_variation; /* factor on a step's compute time */
  lh_variation latency_variation; /* factor on a message's latency */
  size_t faults;
  lh_fault *fault; /* (faults) in the order of the file */

  /* For this folder only. */
  const struct lh_topology *network; /* NULL: none */
  void *shape;                       /* the topology's own numbers, owned by it */
  struct lh_fabric *fabric;          /* NULL: nodes of one accelerator */
  struct lh_interfaces *interfaces;
};

/* Reads a platform object, with "file" resolved and overrides merged: a file is looked for in the
 * folder of the document that names it, then among the shipped platforms (`device_folder`/..), with
 * or without ".json". device_folder: where device names are looked up (platforms/devices).
 * Checks everything: zero nodes, negative rates, wrong units, a custom network that leaves ranks
 * unreachable. LH_EINVAL or LH_ENOMEM. *platform is freed with lh_platform_free; it keeps nothing
 * of the JSON. */
lh_status lh_platform_read(lh_json node, const char *device_folder, lh_platform **platform);
void lh_platform_free(lh_platform *platform); /* NULL is fine */

/* The way from one rank's accelerator to another's, src != dst. O(links of the route), nothing is
 * allocated. LH_EINVAL for a rank that does not exist or src == dst. */
lh_status lh_platform_route(const lh_platform *platform, size_t src_rank, size_t dst_rank,
                            lh_route *route);
bool lh_platform_same_node(const lh_platform *platform, size_t rank_a, size_t rank_b);

/* A factor >= 0 on a time: a function of (seed, purpose, step, index); 1 for LH_VARIATION_NONE.
 * Pure: nothing is allocated or remembered. */
double lh_variation_draw(const lh_variation *variation, uint64_t seed, lh_purpose purpose,
                         uint64_t step, uint64_t index);

/* For people: the resolved platform with SI units, bit and byte rates, and a drawing. */
lh_status lh_platform_print(const lh_platform *platform, FILE *out);
/* The same for programs: one object, base units in the names. */
lh_status lh_platform_print_json(const lh_platform *platform, FILE *out);
/* SimGrid XML (DTD 4.1): hosts "rank-0".., all links, one explicit route per ordered pair; flow
 * caps become links of their own that are not shared. LH_EUNSUPPORTED above 1,024 ranks. */
lh_status lh_platform_export_xml(const lh_platform *platform, FILE *out);

#endif
