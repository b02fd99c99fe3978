/* measure.h -- one collective on an otherwise idle cluster. */
#ifndef LH_SIM_MEASURE_H
#define LH_SIM_MEASURE_H

#include "sim/net/collective.h"

/* Virtual seconds from the start until the last member has finished. Opens the process's one engine
 * and leaves it behind, so call it in a process that ends (pool.h). `collective` is resolved: no auto.
 * LH_EINTERNAL when a member does not finish. */
lh_status lh_collective_measure_s(const lh_platform *platform, lh_flow_model flow_model,
                                  const lh_collective *collective, double *time_s);

/* LH_EINTERNAL for a time that cannot be: below the lower bound of its own algorithm and fabric, or
 * none for bytes that must travel. */
lh_status lh_collective_check_time(const lh_collective *collective, double lower_bound_s,
                                   double time_s);

#endif
