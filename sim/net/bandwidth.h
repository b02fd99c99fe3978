/* bandwidth.h -- the two bandwidths by which collectives are compared.
 *
 * Algorithm bandwidth is payload over time. Bus bandwidth is that times a factor of the kind and the
 * number of members n, so that on links of one rate it is near that rate whatever n is:
 *
 *     all-reduce                                2 (n-1) / n
 *     reduce-scatter, all-gather, all-to-all      (n-1) / n
 *     everything else                           1
 *
 * Source: NVIDIA nccl-tests, doc/PERFORMANCE.md.
 */
#ifndef LH_SIM_BANDWIDTH_H
#define LH_SIM_BANDWIDTH_H

#include "sim/net/collective.h"

/* Bus bandwidth over algorithm bandwidth. 1 for n = 1. */
double lh_bus_factor(lh_collective_kind kind, size_t n);

/* How many members took part, going by a measured row: the n whose factor is bus over algorithm
 * bandwidth, as a real number. LH_EINVAL when no n fits, or the kind's factor does not depend on n. */
lh_status lh_implied_ranks(lh_collective_kind kind, double algorithm_Bps, double bus_Bps,
                           double *ranks);

#endif
