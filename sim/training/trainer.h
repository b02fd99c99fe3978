/* trainer.h -- what every method shares on one rank: parameters, gradients, micro-batches, learning
 * rate, clipping, recording, and when to stop. It does not communicate.
 *
 * One optimizer step of a method:
 *     while (lh_trainer_next_step(t)) {
 *       lh_trainer_gradient(t, hooks);      mean gradient over the micro-batches, into t->gradients
 *       ...exchange, optimizer step on t->parameters...
 *       lh_trainer_end_step(t);             record; evaluate when due
 *     }
 */
#ifndef LH_SIM_TRAINER_H
#define LH_SIM_TRAINER_H

#include "models/workload.h"
#include "sim/cluster/cluster.h"

typedef struct lh_run lh_run; /* the scenario that is running; shared by its ranks */
typedef struct lh_trainer lh_trainer;

struct lh_trainer {
  lh_rank *rank;
  lh_device *device;
  const lh_workload *workload;
  const lh_model *model;
  lh_run *run;
  lh_tensor parameters, gradients; /* flat (elements), allocated by lh_trainer_use_flat */
  lh_tensor *parameter_views, *gradient_views; /* one per layer, of the flat tensors */
  uint64_t step;                               /* the optimizer step in progress, from 1 */
  size_t micro_batches_done;                   /* index of the next micro-batch */
  lh_loss loss;                                /* of the step in progress */
  lh_batch batch;
};

uint64_t lh_trainer_seed(const lh_trainer *t);

/* Allocates flat parameters (started from the model's start or seed) and gradients. */
lh_status lh_trainer_use_flat(lh_trainer *t);

/* Begins the next optimizer step; false when the run is over (steps, tokens, virtual time or target
 * loss reached). All ranks stop after the same step. */
bool lh_trainer_next_step(lh_trainer *t);

/* Zeroes the gradients and adds the mean gradient of this step's micro-batches; `hooks` (may be
 * NULL) are called during the last micro-batch only. */
lh_status lh_trainer_gradient(lh_trainer *t, const struct lh_layer_hooks *hooks);

/* Ends the step: loss and bytes are recorded; when an evaluation is due it looks at `evaluated`
 * (flat parameters; NULL: t->parameters) for free. */
lh_status lh_trainer_end_step(lh_trainer *t, const lh_tensor *evaluated);
/* Learning rate of the step in progress for a base rate, by the run's schedule. */
double lh_trainer_learning_rate(const lh_trainer *t, double base);

#endif
