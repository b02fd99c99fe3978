#include "sim/net/bandwidth.h"

/* The factor is ways * (n - 1) / n; 0: it is 1 whatever n is. */
static const double ways[LH_COLLECTIVE_COUNT] = {
    [LH_ALL_REDUCE] = 2, [LH_REDUCE_SCATTER] = 1, [LH_ALL_GATHER] = 1, [LH_ALL_TO_ALL] = 1};

double lh_bus_factor(lh_collective_kind kind, size_t n)
{
  if (ways[kind] == 0.0 || n < 2)
    return 1.0;
  return ways[kind] * (double)(n - 1) / (double)n;
}

lh_status lh_implied_ranks(lh_collective_kind kind, double algorithm_Bps, double bus_Bps,
                           double *ranks)
{
  if (ways[kind] == 0.0)
    return lh_fail(LH_EINVAL, "%s: its bus bandwidth does not depend on the number of ranks",
                   lh_collective_names[kind]);
  const double ratio = bus_Bps / algorithm_Bps;
  if (!(algorithm_Bps > 0.0 && ratio >= 0.5 * ways[kind] && ratio < ways[kind]))
    return lh_fail(LH_EINVAL,
                   "%s: bus bandwidth is %g of algorithm bandwidth, allowed: %g or more, less than "
                   "%g",
                   lh_collective_names[kind], ratio, 0.5 * ways[kind], ways[kind]);
  *ranks = ways[kind] / (ways[kind] - ratio);
  return LH_OK;
}
