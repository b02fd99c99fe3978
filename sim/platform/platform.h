/* platform.h -- nodes, accelerators and the network between them: a JSON file, resolved.
 *
 * Everything is in base units. Links are one-directional; a full-duplex cable is two of them.
 * Routes are computed by the topology's own small function, on demand, so that 4,096 ranks need no
 * table of pairs. Nothing here includes SimGrid.
 *
 * The "platform" object of a scenario is {"file": "../../platforms/star.json", overrides...} or the
 * whole thing:
 *   {"schema": "longhaul/platform/1", "name", "nodes", "accelerators_per_node" (1),
 *    "device": name in platforms/devices, or an object,
 *    "network": {"topology": "star" | "full-mesh" | "ring" | "fat-tree" | "torus" | "dragonfly" |
 *                            "regions" | "custom",
 *                "bandwidth", "latency", "bandwidth_up" and "bandwidth_down" (asymmetric),
 *                "duplex": "full" | "half", "flow_cap", "backbone_bandwidth", "call_overhead",
 *                "message_overhead", "in_network_reduction", ... the topology's own keys},
 *    "fabric": {"kind": "switch" | "full-mesh" | "pairs" | ..., "bandwidth", "latency",
 *               "in_network_reduction", per-pair overrides},
 *    "interfaces": {"count", "serves": "shared" | "accelerator" | subsets, "striping"},
 *    "placement": "block" | "round-robin" | [...],
 *    "variation": {"compute": {"distribution", ...}, "latency": {...}},
 *    "faults": [...]}
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

typedef struct lh_link {
  char *name;           /* unique: "node-3.up", "region.eu-us" */
  double bandwidth_Bps; /* > 0 */
  double latency_s;     /* >= 0 */
  bool shared;          /* false: every flow gets the full rate (a non-blocking crossbar) */
} lh_link;

#define LH_ROUTE_MAX_LINKS 64

typedef struct lh_route {
  size_t links;
  size_t link[LH_ROUTE_MAX_LINKS]; /* indices into the platform's links, in order */
  double latency_s;                /* sum of the links' */
  double cap_Bps;                  /* most that one flow may carry; INFINITY: no cap */
} lh_route;

/* A named distribution with mean `mean` of its own unit, drawn through GSL. */
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

typedef struct lh_platform lh_platform;
struct lh_platform {
  char *name, *topology;
  size_t nodes, accelerators_per_node, ranks; /* ranks = nodes * accelerators_per_node */
  size_t *node_of_rank, *slot_of_rank;        /* placement */
  lh_device_profile device;
  double *node_speed; /* (nodes) relative compute speed, 1 by default */
  size_t links;
  lh_link *link;
  double call_overhead_s;               /* fixed cost of one collective call */
  double message_overhead_s;            /* fixed cost of one message, beside its latency */
  bool network_reduces, fabric_reduces; /* in-network reduction */
  lh_variation compute_variation;       /* factor on a step's compute time */
  lh_variation latency_variation;       /* factor on a message's latency */
  void *shape;                          /* the topology's own numbers, owned by it */
  lh_status (*route)(const lh_platform *platform, size_t src_rank, size_t dst_rank,
                     lh_route *route);
  void (*shape_free)(void *shape);
};

/* Reads a platform object (with "file" resolved against the node's folder and overrides merged).
 * device_folder: where device names are looked up. Checks everything: zero nodes, negative rates,
 * wrong units, a custom network that leaves ranks unreachable. *platform is freed with
 * lh_platform_free. */
lh_status lh_platform_read(lh_json node, const char *device_folder, lh_platform **platform);
void lh_platform_free(lh_platform *platform);

/* The way from one rank's accelerator to another's. src != dst. */
lh_status lh_platform_route(const lh_platform *platform, size_t src_rank, size_t dst_rank,
                            lh_route *route);
bool lh_platform_same_node(const lh_platform *platform, size_t rank_a, size_t rank_b);

/* A factor >= 0 on a time: drawn from (seed, purpose, step, index); 1 for LH_VARIATION_NONE. */
double lh_variation_draw(const lh_variation *variation, uint64_t seed, lh_purpose purpose,
                         uint64_t step, uint64_t index);

/* For people: the resolved platform with SI units, bit and byte rates; SimGrid XML (explicit
 * routes). */
lh_status lh_platform_print(const lh_platform *platform, FILE *out);
lh_status lh_platform_print_json(const lh_platform *platform, FILE *out);
lh_status lh_platform_export_xml(const lh_platform *platform, FILE *out);

#endif
