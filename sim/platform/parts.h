/* parts.h -- the parts of a platform file beside its networks. */
#ifndef LH_SIM_PLATFORM_PARTS_H
#define LH_SIM_PLATFORM_PARTS_H

#include "sim/platform/platform.h"

/* "device": a name, an object, {"base": name, overrides...}, or absent. */
lh_status lh_platform_device_read(lh_platform *platform, lh_json node, const char *device_folder);

/* "placement": which node and which of its accelerators is rank 0, 1, ...
 *   "block"        node by node (default)
 *   "round-robin"  rank r is on node r modulo nodes
 *   [0, 1, 0, 1]   the node of each rank; every node as often as it has accelerators, which are
 *                  taken in order
 * Fills node_of_rank and slot_of_rank. */
lh_status lh_placement_read(lh_platform *platform, lh_json node);

/* "node_speed": one number above zero, or one per node; absent: 1. */
lh_status lh_node_speed_read(lh_platform *platform, lh_json node);

/* A distribution object of variation.c; absent: none. */
lh_status lh_variation_read(lh_json node, lh_variation *variation);
/* Mean and variance in closed form; the variance of a heavy tail is INFINITY. */
double lh_variation_mean(const lh_variation *variation);
double lh_variation_variance(const lh_variation *variation);
/* "lognormal (sigma 0.3, mean 1)"; returns buffer. */
const char *lh_variation_text(const lh_variation *variation, char *buffer, size_t size);

/* "faults": [{"node": 3, "from": "10s", "to": "20s"},
 *            {"link": "node-0.up", "from": "1s", "to": "2s", "bandwidth": "10Mbps"}]; without "to"
 * it never ends. */
lh_status lh_faults_read(lh_platform *platform, lh_json node);

#endif
