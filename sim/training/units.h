/* units.h -- a replica held in shards: gathered unit by unit when a pass needs it, its gradient reduced
 * unit by unit behind the backward pass.
 *
 * A unit is one layer; the layers outside the repeated ones (embedding, head) are one unit together, the
 * root. A unit of n elements is read as one vector, padded to a multiple of the S ranks of the shard
 * group: rank j holds elements j L .. (j+1) L - 1, L = ceil(n / S). Three streams, each in order: gathers,
 * reduce-scatters, and the all-reduces of shards over the replication group.
 *
 *     LH_TRY(lh_units_init(&units, t, &options));
 *     while (lh_trainer_next_step(t)) {
 *       LH_TRY(lh_units_gradient(&units));       units.gradients: the mean over ranks and micro-batches
 *       ...optimizer step on units.parameters...
 *       LH_TRY(lh_trainer_end_step(t, NULL));
 *     }
 *
 * Memory: shards of parameters and gradients; the gathered units in use or ahead of use; the gradients of
 * the unit in the backward pass, of the one on the wire, and of the root.
 * Source: PyTorch's fully_shard and FSDP1 as described in hsdp-adamw, sections 1 and 2, and fsdp.
 */
#ifndef LH_SIM_UNITS_H
#define LH_SIM_UNITS_H

#include "sim/training/trainer.h"

typedef struct lh_units_options {
  lh_group *shard, *replication; /* replication NULL: shards are not averaged here */
  size_t prefetch_units;         /* gathers that run ahead of the unit in use */
  bool reshard_after_forward; /* free a unit after its forward, gather it again for its backward */
  bool reshard_root;          /* the same for the root */
  bool keep_gradients; /* leave whole gradients to lh_units_reduce, after all micro-batches */
  lh_dtype parameter_wire, gradient_wire;
  double factor_before, factor_after; /* on gradients, before and after they are summed */
} lh_units_options;

/* Rows of a method's option table for members of these names in its struct `owner`. */
extern const char *const lh_shard_wires[];
#define LH_SHARDING_OPTIONS(owner)                                                                 \
  {.name = "parameter_wire",                                                                       \
   .type = LH_OPTION_DTYPE,                                                                        \
   .offset = offsetof(owner, parameter_wire),                                                      \
   .fallback = "\"bf16\"",                                                                         \
   .choices = lh_shard_wires,                                                                      \
   .help = "dtype of gathered parameters"},                                                        \
      {.name = "gradient_wire",                                                                    \
       .type = LH_OPTION_DTYPE,                                                                    \
       .offset = offsetof(owner, gradient_wire),                                                   \
       .fallback = "\"bf16\"",                                                                     \
       .choices = lh_shard_wires,                                                                  \
       .help = "dtype in which gradients are reduced"},                                            \
      {.name = "prefetch_units",                                                                   \
       .type = LH_OPTION_SIZE,                                                                     \
       .offset = offsetof(owner, prefetch_units),                                                  \
       .fallback = "1",                                                                            \
       .low = 0,                                                                                   \
       .high = INFINITY,                                                                           \
       .help = "gathers ahead of the unit in use"},                                                \
      {.name = "reshard_after_forward",                                                            \
       .type = LH_OPTION_BOOL,                                                                     \
       .offset = offsetof(owner, reshard_after_forward),                                           \
       .fallback = "true",                                                                         \
       .help = "free a unit after its forward, gather it again for its backward"},                 \
  {                                                                                                \
    .name = "reshard_root", .type = LH_OPTION_BOOL, .offset = offsetof(owner, reshard_root),       \
    .fallback = "false", .help = "the same for the unit of embedding and head"                     \
  }

typedef struct lh_shard_unit {
  size_t layers, *layer; /* in forward order */
  size_t elements, shard_elements;
  bool root;
  lh_tensor parameters, *gradients;    /* (L) this rank's shards: views */
  lh_tensor gathered, whole, incoming; /* (S L), (S L), (L): while they are needed */
  lh_pending *gather, *scatter, *average;
  size_t layers_entered, layers_done; /* of the pass in progress */
} lh_shard_unit;

typedef struct lh_units {
  lh_units_options options;
  lh_trainer *trainer;
  size_t ranks, position; /* of the shard group; of this rank in it */
  size_t n;
  lh_shard_unit *unit;                     /* in the order in which a forward pass enters them */
  size_t *unit_of;                         /* by layer */
  size_t *backward_order, *backward_place; /* units by place, places by unit */
  lh_shard_unit *on_the_wire;              /* its whole gradient is being reduced */
  lh_tensor parameters, gradients;         /* (sum of L): master shards, unit by unit */
  lh_tensor *shard_gradients;              /* (n) views, by unit */
  size_t pieces;
  lh_piece *piece;
  bool last_micro_batch, accumulates;
} lh_units;

/* For a method's check: 0 or a divisor of the accelerators of a node. `node` is the method's object. */
lh_status lh_units_check_shard_ranks(size_t shard_ranks, lh_json node, const lh_platform *platform);

/* Allocates the shards and sets the starting values; the trainer works in pieces from here on. Free with
 * lh_units_fini, also after a failure. */
lh_status lh_units_init(lh_units *units, lh_trainer *t, const lh_units_options *options);
void lh_units_fini(lh_units *units);

/* The step's micro-batches. Afterwards units->gradients is complete; under keep_gradients each unit's whole
 * gradient is, on this rank alone. */
lh_status lh_units_gradient(lh_units *units);
/* keep_gradients: sums the unit's whole gradients over the shard group into its shard, and frees them.
 * Blocks. */
lh_status lh_units_reduce(lh_units *units, lh_shard_unit *unit);

/* Scales the gradient to norm `limit` at most, the norm being that of the whole model: one number is summed
 * over the shard group. limit 0: nothing. */
lh_status lh_units_clip(lh_units *units, double limit);

#endif
