/* total.h -- one number summed over a group: norms of what is held in shards. */
#ifndef LH_SIM_TOTAL_H
#define LH_SIM_TOTAL_H

#include "sim/training/trainer.h"

/* *number <- its sum over the group, of which every member calls it. An f32 on the wire. Blocks. */
lh_status lh_total_over(lh_trainer *t, lh_group *group, double *number);

#endif
