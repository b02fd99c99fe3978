/* replicator.h -- what replicas exchange of their gradients each step: all, a compressed part, or nothing.
 *
 * For one tensor g at a time, `begin` takes it in and starts the exchange, `end` gives the merged update q
 * in its place:
 *
 *     full              q = mean of g over the group
 *     none              q = g
 *     demo, random,     m <- decay m + rate g      a residual of this replica
 *     striding          q = exchange(m), which takes what is sent off m; of one replica q = m, m <- 0
 *
 * Memory: the residual (4 B per element of the exchanged tensors), and a tensor's messages in turn.
 * Source: From et al. 2025, arXiv:2502.06728; page flexdemo, "Replicators".
 */
#ifndef LH_SIM_REPLICATORS_REPLICATOR_H
#define LH_SIM_REPLICATORS_REPLICATOR_H

#include "sim/replicators/demo.h"
#include "sim/replicators/rows.h"

enum {
  LH_REPLICATOR_FULL,
  LH_REPLICATOR_DEMO,
  LH_REPLICATOR_RANDOM,
  LH_REPLICATOR_STRIDING,
  LH_REPLICATOR_NONE
};
extern const lh_option_part lh_replicator_parts[];

typedef struct lh_replicator_choice {
  size_t kind; /* position in lh_replicator_parts */
  lh_demo_options demo;
  lh_rows_options rows;
} lh_replicator_choice;

/* "replicator" and what goes with it, in a method's options. */
typedef struct lh_replication_options {
  lh_replicator_choice replicator;
  double decay;
  size_t index_bytes;
  lh_dtype value_wire;
} lh_replication_options;

extern const char *const lh_value_wires[];
/* Four rows of a method's option table; `field` is its lh_replication_options. */
#define LH_REPLICATION_OPTIONS(owner, field, replicator_default)                                   \
  {.name = "replicator",                                                                           \
   .type = LH_OPTION_PART,                                                                         \
   .offset = offsetof(owner, field.replicator),                                                    \
   .fallback = replicator_default,                                                                 \
   .parts = lh_replicator_parts,                                                                   \
   .help = "what replicas exchange of their gradients"},                                           \
      {.name = "decay",                                                                            \
       .type = LH_OPTION_DOUBLE,                                                                   \
       .offset = offsetof(owner, field.decay),                                                     \
       .fallback = "0.999",                                                                        \
       .low = 0,                                                                                   \
       .high = 1,                                                                                  \
       .open_high = true,                                                                          \
       .help = "decay of the residual (beta)"},                                                    \
      {.name = "index_bytes",                                                                      \
       .type = LH_OPTION_SIZE,                                                                     \
       .offset = offsetof(owner, field.index_bytes),                                               \
       .fallback = "4",                                                                            \
       .low = 2,                                                                                   \
       .high = 8,                                                                                  \
       .help = "bytes of an index on the wire: 2, 4 or 8"},                                        \
  {                                                                                                \
    .name = "value_wire", .type = LH_OPTION_DTYPE, .offset = offsetof(owner, field.value_wire),    \
    .fallback = "\"f32\"", .choices = lh_value_wires, .help = "dtype of shared values on the wire" \
  }
/* For a method's check; `node` is its object. */
lh_status lh_replication_check(const lh_replication_options *options, lh_json node);
/* Does it keep a residual? */
bool lh_replicator_has_residual(const lh_replicator_choice *choice);

typedef struct lh_replicator_part lh_replicator_part;

typedef struct lh_replicator {
  const lh_replication_options *options;
  lh_rank *rank;
  lh_group *group;
  lh_dtype full_wire;
  bool sign_before;   /* what travels is replaced by its sign */
  lh_tensor residual; /* of all tensors, one after another */
  size_t n;
  lh_replicator_part *part;
} lh_replicator;

/* The members above `residual` are set by the caller; `like` (n): the tensors to be exchanged. Free with
 * lh_replicator_fini, also after a failure. */
lh_status lh_replicator_init(lh_replicator *r, const lh_tensor *like, size_t n);
void lh_replicator_fini(lh_replicator *r);

/* Takes tensor i's gradient in, times `rate` where there is a residual, and starts its exchange; steps count
 * from 1. g is scratch afterwards, not to be touched until lh_replicator_end where there is none. */
lh_status lh_replicator_begin(lh_replicator *r, size_t i, lh_tensor *g, double rate, uint64_t step);
/* Waits; q (g itself where there is no residual) becomes the merged update. */
lh_status lh_replicator_end(lh_replicator *r, size_t i, lh_tensor *q);

#endif
