/* demo.h -- DeMo's replicator: share the k largest DCT coefficients per chunk of a momentum.
 *
 * For one tensor m (a momentum or residual of this replica, different on every one):
 *
 *     X <- DCT of m's chunks;  message <- the k coefficients of largest magnitude of each chunk
 *     m <- m - subtract * decode(message)              before the exchange
 *     all-gather of the indices and of the values over the group
 *     u <- decode(merge of all messages)               mean over the contributors of a coefficient
 *
 * Shapes:  m, u are one parameter tensor: 1-D, or 2-D and transformed in two dimensions.
 * Wire:    (index bytes + value bytes) * blocks * k per rank, in two all-gathers.
 * Memory:  the transform's bases, own message and all received ones: 12 N rho bytes per element for
 *          N ranks and kept fraction rho, counted while a tensor is in turn.
 * Source:  Peng, Quesnelle, Kingma 2024, arXiv:2411.19870; page demo, sections A to F.
 */
#ifndef LH_SIM_REPLICATORS_DEMO_H
#define LH_SIM_REPLICATORS_DEMO_H

#include <math.h>

#include "kernels/ops.h"
#include "sim/cluster/cluster.h"
#include "sim/training/options.h"

typedef struct lh_demo_options {
  size_t chunk, top_k;
  size_t merge; /* lh_merge */
  double subtract;
} lh_demo_options;

/* How a message travels. */
typedef struct lh_demo_wire {
  size_t index_bytes; /* 2, 4, 8; 0: as few as a chunk needs */
  lh_dtype value;     /* LH_BIT: the sign */
  bool signs;         /* values are replaced by their sign, whatever the wire */
} lh_demo_wire;

/* The rows of an option table for an lh_demo_options member `field` of struct `owner`. */
extern const char *const lh_demo_merges[];
#define LH_DEMO_OPTIONS(owner, field)                                                              \
  {.name = "chunk",                                                                                \
   .type = LH_OPTION_SIZE,                                                                         \
   .offset = offsetof(owner, field.chunk),                                                         \
   .fallback = "64",                                                                               \
   .low = 1,                                                                                       \
   .high = INFINITY,                                                                               \
   .help = "chunk length aimed at: the largest divisor not above it is taken"},                    \
      {.name = "top_k",                                                                            \
       .type = LH_OPTION_SIZE,                                                                     \
       .offset = offsetof(owner, field.top_k),                                                     \
       .fallback = "32",                                                                           \
       .low = 1,                                                                                   \
       .high = INFINITY,                                                                           \
       .help = "coefficients sent per chunk"},                                                     \
      {.name = "merge",                                                                            \
       .type = LH_OPTION_CHOICE,                                                                   \
       .offset = offsetof(owner, field.merge),                                                     \
       .fallback = "\"contributors\"",                                                             \
       .choices = lh_demo_merges,                                                                  \
       .help = "mean over the ranks that sent a coefficient, or over all"},                        \
  {                                                                                                \
    .name = "subtract", .type = LH_OPTION_DOUBLE, .offset = offsetof(owner, field.subtract),       \
    .fallback = "1.0", .low = 0, .high = 1,                                                        \
    .help = "share of the sent part taken off the momentum"                                        \
  }

/* One tensor's turn. */
typedef struct lh_demo_turn {
  const lh_demo_options *options;
  lh_demo_wire wire;
  lh_rank *rank;
  lh_group *group;
  lh_chunking chunking;
  size_t k;
  lh_tensor index, value;         /* own message (blocks * k) */
  lh_tensor all_index, all_value; /* (N * blocks * k) */
  lh_pending *index_pending, *value_pending;
} lh_demo_turn;

/* For tensors shaped like `like`. Buffers are allocated by begin and released by end. Free with
 * lh_demo_turn_fini, also after a failure. */
lh_status lh_demo_turn_init(lh_demo_turn *turn, const lh_demo_options *options, lh_demo_wire wire,
                            lh_rank *rank, lh_group *group, const lh_tensor *like);
void lh_demo_turn_fini(lh_demo_turn *turn);

/* Encodes m, takes what is sent off it and starts the two all-gathers. `scratch` is shaped like m. */
lh_status lh_demo_begin(lh_demo_turn *turn, lh_tensor *m, lh_tensor *scratch);
/* Waits for them and decodes the merged update into u. */
lh_status lh_demo_end(lh_demo_turn *turn, lh_tensor *u);

#endif
