/* shape.h -- models that are costed but not computed: the exact list of parameter tensors, and a
 * program of operations whose shapes are priced on a device that only counts.
 *
 * A layer is a list of steps. The forward pass walks them in order, the backward pass in reverse;
 * a step's output is kept for the backward pass, and its bytes are counted as activations.
 *
 * Differs: attention of any form is priced as the fused causal operation, called twice where every
 * position sees every other; windows, masks and position biases cost nothing; an encoder-decoder
 * reads as many tokens as it writes; dropout is absent.
 */
#ifndef LH_MODELS_SHAPE_H
#define LH_MODELS_SHAPE_H

#include "models/model.h"

enum shape_architecture { SHAPE_DECODER, SHAPE_ENCODER, SHAPE_ENCODER_DECODER };
enum shape_norm { SHAPE_LAYER_NORM, SHAPE_RMS_NORM };
enum shape_gate { SHAPE_PLAIN, SHAPE_GATED, SHAPE_GATED_FUSED };
enum shape_positions { SHAPE_LEARNED, SHAPE_ROTARY, SHAPE_RELATIVE, SHAPE_NO_POSITIONS };
enum shape_query_norm { SHAPE_NO_QUERY_NORM, SHAPE_NORM_PER_HEAD, SHAPE_NORM_ALL_HEADS };

/* The architecture as the model object describes it; shape_read.c holds keys and defaults. */
typedef struct shape_config {
  size_t depth, width, heads, kv_heads, head_width, ff, vocabulary, context;
  size_t architecture, norm, gate, activation, positions, query_norm; /* the enums above */
  size_t relative_buckets;
  bool norm_weight, norm_bias, norm_after, final_norm;
  bool qkv_bias, attention_bias, ff_bias, head_bias, fused_qkv, tied;
  size_t image, patch, channels, classes; /* image > 0: reads patches, not tokens */
  bool patch_norm;                        /* a norm before and after the patch embedding */
} shape_config;

enum shape_step_kind {
  SHAPE_EMBED, /* table look-up; in: rows of the table */
  SHAPE_LINEAR,
  SHAPE_NORM,
  SHAPE_ROTATE, /* rotary positions on queries and keys, in place */
  SHAPE_ATTEND, /* in: columns of q, k and v together */
  SHAPE_ACTIVATE,
  SHAPE_MULTIPLY, /* gate times value */
  SHAPE_ADD,      /* joins the residual stream */
  SHAPE_LOSS      /* softmax and cross-entropy, over `in` classes */
};

typedef struct shape_step {
  enum shape_step_kind kind;
  size_t in, out; /* columns read and written */
  bool biased;
  bool positioned; /* SHAPE_EMBED: with learned positions */
  bool shared;     /* SHAPE_LINEAR: reads what another one reads, so input gradients are added */
  bool causal;     /* SHAPE_ATTEND */
  bool pooled;     /* one row per sequence */
} shape_step;

typedef struct lh_shape {
  shape_config config;
  lh_dtype compute;
  lh_layout *layout;
  size_t steps;
  shape_step *step;
  size_t *first;        /* (layers + 1): layer l has steps first[l] .. first[l + 1] - 1 */
  bool embedding_stays; /* its table serves again at the end of the pass */
} lh_shape;

extern const char *const lh_shape_keys[];
lh_status lh_shape_read(lh_json spec, shape_config *config);
/* Fills layout, steps and first. */
lh_status lh_shape_build(lh_shape *shape);
/* Rows that a step works on, for a batch of so many sequences and positions. */
size_t lh_shape_rows(const lh_shape *shape, const shape_step *step, size_t sequences,
                     size_t sequence_tokens);

#endif
