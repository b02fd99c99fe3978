/* executor.h -- a schedule played out over the engine, without an actor per rank. */
#ifndef LH_SIM_EXECUTOR_H
#define LH_SIM_EXECUTOR_H

#include "sim/net/schedule.h"

/* Takes over the schedule, also when it fails. Starts after the platform's call overhead. fluid: as
 * lh_collective has it; the schedule's entry must offer it. LH_ENOMEM. */
lh_status lh_executor_start(lh_engine *engine, lh_schedule *schedule, bool fluid,
                            void (*member_done)(void *arg, size_t member), void *arg);

#endif
