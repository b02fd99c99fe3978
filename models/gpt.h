/* gpt.h -- a GPT as the two halves of its code see it: gpt.c reads and lays out, gpt_pass.c runs.
 *
 *     x   = token[t] + position                          embedding
 *     x   = x + W_proj attention(W_qkv norm1(x))          block0 .. block(depth - 1)
 *     x   = x + W_down gelu(W_up norm2(x))
 *     out = W_out norm(x)                                head; W_out is the token table if tied
 *
 * Source: Radford et al. 2019 (GPT-2): pre-norm, tanh GELU, learned positions, normal(0, 0.02)
 * weights with residual projections scaled by 1 / sqrt(2 depth).
 */
#ifndef LH_MODELS_GPT_H
#define LH_MODELS_GPT_H

#include "models/model.h"

/* Parameters of a block in their order inside its layer. */
enum gpt_slot {
  GPT_NORM1_WEIGHT,
  GPT_NORM1_BIAS,
  GPT_QKV_WEIGHT,
  GPT_QKV_BIAS,
  GPT_PROJECTION_WEIGHT,
  GPT_PROJECTION_BIAS,
  GPT_NORM2_WEIGHT,
  GPT_NORM2_BIAS,
  GPT_UP_WEIGHT,
  GPT_UP_BIAS,
  GPT_DOWN_WEIGHT,
  GPT_DOWN_BIAS,
  GPT_SLOTS
};
#define GPT_ABSENT SIZE_MAX

typedef struct lh_gpt {
  size_t depth, width, heads, vocabulary, context, ff; /* ff: columns inside the feed-forward */
  bool bias, tied;
  lh_dtype compute;
  const lh_layout *layout;
  size_t slot[GPT_SLOTS]; /* number inside the block's layer, or GPT_ABSENT */
  size_t token_table, position_table, norm_weight, norm_bias, output; /* numbers in the model */
} lh_gpt;

lh_status lh_gpt_pass(const void *self, lh_device *device, const lh_tensor *parameters,
                      lh_tensor *gradients, const lh_batch *batch, double scale,
                      const struct lh_layer_hooks *hooks, lh_loss *loss);

#endif
