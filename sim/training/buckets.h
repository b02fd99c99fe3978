/* buckets.h -- a model's flat order cut into ranges that are exchanged as the backward pass completes them.
 *
 * Parameter tensors are walked from the last to the first; a bucket is closed when its size reaches the
 * limit, the first one's being small so that the exchange starts early.
 *
 * Source: PyTorch's DistributedDataParallel as described in hsdp-adamw, section 3, and zero1-adamw.
 * Differs: steady state from the first step on (PyTorch's first iteration has one bucket).
 */
#ifndef LH_SIM_BUCKETS_H
#define LH_SIM_BUCKETS_H

#include "models/model.h"

typedef struct lh_bucket {
  size_t first, elements; /* of the flat order */
  size_t lowest_layer;    /* whose gradient completes it */
} lh_bucket;

typedef struct lh_bucket_limits {
  double bytes, first_bytes; /* closed at this size; the same for the first */
  lh_dtype dtype;            /* that sizes are counted in */
  size_t align;              /* all borders are multiples of it */
} lh_bucket_limits;

/* Rows of a method's option table for members bucket_bytes and first_bucket_bytes of its struct. */
#define LH_BUCKET_OPTIONS(owner)                                                                   \
  {.name = "bucket",                                                                               \
   .type = LH_OPTION_QUANTITY,                                                                     \
   .offset = offsetof(owner, bucket_bytes),                                                        \
   .fallback = "\"25MiB\"",                                                                        \
   .unit = LH_UNIT_BYTES,                                                                          \
   .help = "a bucket is closed when it reaches this size"},                                        \
  {                                                                                                \
    .name = "first_bucket", .type = LH_OPTION_QUANTITY,                                            \
    .offset = offsetof(owner, first_bucket_bytes), .fallback = "\"1MiB\"", .unit = LH_UNIT_BYTES,  \
    .help = "the same for the first bucket"                                                        \
  }

/* In the order in which a backward pass completes them; the last element is padded to a multiple of
 * `align`. The caller frees *buckets. */
lh_status lh_buckets_make(const lh_layout *layout, const lh_bucket_limits *limits,
                          lh_bucket **buckets, size_t *n);

/* Where a parameter tensor starts in the flat order. */
size_t lh_parameter_start(const lh_layout *layout, size_t parameter);

#endif
