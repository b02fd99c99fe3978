/* record.h -- inside of sim/training: what is remembered of a rank's steps. Free of virtual time. */
#ifndef LH_SIM_RECORD_H
#define LH_SIM_RECORD_H

#include "sim/training/trainer.h"

/* The run is over for this rank: its parameters count towards the spread of the replicas. A failure
 * costs the figure, not the run. */
void lh_record_end(lh_trainer *t);

#endif
