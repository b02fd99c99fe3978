/* predict.h -- how long a schedule takes on an idle network, without the engine. */
#ifndef LH_SIM_PREDICT_H
#define LH_SIM_PREDICT_H

#include "sim/net/schedule.h"

/* Sum over the rounds of the time of one round whose members all begin it together; rates are
 * max-min fair. Exact wherever a round's members do begin together. Overheads included. Of more than
 * some 30 different rounds, a spread of them is taken and scaled.
 * fluid: as the fluid timing counts it. */
lh_status lh_predict_s(const lh_platform *platform, const lh_schedule *schedule, bool fluid,
                       double *seconds);

/* No run of this schedule can be faster: for each link, all bytes over it at its rate; for each
 * member, its rounds one after another, each at least as long as its slowest step alone. */
lh_status lh_least_s(const lh_platform *platform, const lh_schedule *schedule, double *seconds);

/* LH_EUNSUPPORTED with the reason when `fluid` would be more than 1 % away from `exact`. */
lh_status lh_fluid_check(const lh_platform *platform, const lh_schedule *schedule);

#endif
