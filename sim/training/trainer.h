/* trainer.h -- what every method shares on one rank: parameters, gradients, micro-batches, learning
 * rate, clipping, recording, and when to stop. It does not communicate.
 *
 * The loop of a method:
 *     LH_TRY(lh_trainer_use_flat(t));
 *     while (lh_trainer_next_step(t)) {
 *       LH_TRY(lh_trainer_gradient(t, hooks));   the mean over the step's micro-batches
 *       ...exchange, optimizer step on t->parameters...
 *       LH_TRY(lh_trainer_end_step(t, NULL));    record; evaluate when due
 *     }
 */
#ifndef LH_SIM_TRAINER_H
#define LH_SIM_TRAINER_H

#include <math.h>

#include "models/workload.h"
#include "sim/cluster/cluster.h"
#include "sim/training/optimizer.h"
#include "sim/training/run.h"

/* Part of the model that a rank holds: `values` is a view without padding, elements offset .. of the
 * model's flat order. */
typedef struct lh_piece {
  lh_tensor values;
  size_t offset;
} lh_piece;

typedef struct lh_trainer {
  lh_rank *rank;
  lh_device *device;
  const lh_workload *workload;
  const lh_model *model;
  lh_run *run;
  lh_tensor parameters, gradients;             /* flat (elements) */
  lh_tensor *parameter_views, *gradient_views; /* one per layer, of the flat tensors */
  size_t step;                                 /* the optimizer step in progress, from 1 */
  size_t micro_batches_done;                   /* number of the next micro-batch of this rank */
  lh_loss loss;                                /* of the step in progress */
  lh_batch batch;
  lh_piece master; /* shown in dumps beside the parameters; values.dims 0: none. The method's. */
  struct {         /* where several ranks hold a replica together */
    const lh_piece *piece;
    size_t pieces, replica, ranks; /* ranks that hold it */
  } share;
  bool finished;
} lh_trainer;

/* `run` and `workload` are borrowed. Where the workload gives the time of a micro-batch, nothing else
 * on this rank's device takes time. Free with lh_trainer_fini, also after a failure. */
lh_status lh_trainer_init(lh_trainer *t, lh_rank *rank, const lh_workload *workload, lh_run *run);
void lh_trainer_fini(lh_trainer *t);

/* Allocates flat parameters, started as the model or the seed says (equal on every rank), and
 * gradients. 8 B/param in f32. */
lh_status lh_trainer_use_flat(lh_trainer *t);
/* The same in another dtype, and padded: `elements` is at least the model's. The views are of the
 * model's own. */
lh_status lh_trainer_use_flat_as(lh_trainer *t, lh_dtype dtype, size_t elements);

/* For methods whose masters are elsewhere: in the wider of the two wire dtypes (F64 under that precision), the
 * starting values rounded to it. */
lh_status lh_trainer_use_flat_for_wires(lh_trainer *t, lh_dtype gradient_wire,
                                        lh_dtype parameter_wire, size_t elements);

/* The piece that `slice` shows when it starts at element `first` of the padded flat order. */
lh_piece lh_trainer_piece(const lh_trainer *t, const lh_tensor *slice, size_t first);

/* For methods that shard: no flat tensors. The arrays of views are made, their entries are the method's
 * to set in its hooks: a model reads them where it uses them. `pieces` (borrowed) are what this rank
 * holds of copy number `replica`, of which `ranks` ranks together hold every element once. Dumps show
 * one piece with its offset; of several, the whole replica. After flat
 * tensors: what is shown and evaluated in their place. */
lh_status lh_trainer_use_pieces(lh_trainer *t, const lh_piece *pieces, size_t n, size_t replica,
                                size_t ranks);
/* Sets the pieces to the starting values. Free of virtual time and of device memory. */
lh_status lh_trainer_start_pieces(lh_trainer *t);

/* Begins the next optimizer step; false when the run is over (steps, tokens, virtual time or target
 * loss reached). All ranks stop after the same step. */
bool lh_trainer_next_step(lh_trainer *t);

/* One micro-batch: adds its gradient, times `scale`, to what the gradient views show, and its loss. */
lh_status lh_trainer_micro_batch(lh_trainer *t, double scale, const struct lh_layer_hooks *hooks);

/* Zeroes the gradients and adds the mean gradient of this step's micro-batches; `hooks` (may be NULL)
 * are called during the last micro-batch only: before it, a gradient is not complete. */
lh_status lh_trainer_gradient(lh_trainer *t, const struct lh_layer_hooks *hooks);

/* Ends the step: loss, bytes and dump are recorded; when an evaluation is due, rank 0 looks at
 * `evaluated` (flat; NULL: the parameters; ignored with pieces). All of it is free of virtual time. */
lh_status lh_trainer_end_step(lh_trainer *t, const lh_tensor *evaluated);

/* ---- the inner optimizer: what local methods and data-parallel ones do alike ------------------- */

typedef struct lh_inner_options {
  lh_optimizer_options optimizer;
  lh_schedule_options schedule;
  double clip_norm;
} lh_inner_options;

/* Three rows of a method's option table; `field` is its lh_inner_options. */
#define LH_INNER_OPTIONS(owner, field, optimizer_default)                                          \
  {.name = "optimizer",                                                                            \
   .type = LH_OPTION_PART,                                                                         \
   .offset = offsetof(owner, field.optimizer),                                                     \
   .fallback = optimizer_default,                                                                  \
   .parts = lh_optimizer_parts,                                                                    \
   .help = "the (inner) optimizer"},                                                               \
      {.name = "schedule",                                                                         \
       .type = LH_OPTION_PART,                                                                     \
       .offset = offsetof(owner, field.schedule),                                                  \
       .fallback = "{\"name\": \"constant\"}",                                                     \
       .parts = lh_schedule_parts,                                                                 \
       .help = "factor on the learning rate by step"},                                             \
  {                                                                                                \
    .name = "clip_norm", .type = LH_OPTION_DOUBLE, .offset = offsetof(owner, field.clip_norm),     \
    .fallback = "0", .low = 0, .high = INFINITY, .help = "largest norm of the gradient; 0: off"    \
  }

typedef struct lh_inner {
  lh_inner_options options;
  lh_optimizer optimizer;
} lh_inner;

lh_status lh_inner_init(lh_inner *inner, const lh_trainer *t, const lh_inner_options *options);
/* State for another tensor than t->parameters. */
lh_status lh_inner_init_for(lh_inner *inner, const lh_tensor *like,
                            const lh_inner_options *options);
void lh_inner_fini(lh_inner *inner);
/* Learning rate of the trainer's present step. */
double lh_inner_learning_rate(const lh_inner *inner, const lh_trainer *t);
/* Clips t->gradients and steps t->parameters along them. */
lh_status lh_inner_step(lh_inner *inner, lh_trainer *t);
/* Steps `parameters` along `gradients`; clips nothing. */
lh_status lh_inner_step_on(lh_inner *inner, lh_trainer *t, lh_tensor *parameters,
                           const lh_tensor *gradients);

#endif
