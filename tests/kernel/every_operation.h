/* every_operation.h -- one call of every operation of ops.h, for tests that walk them all: the same calls
 * on every backend cost the same, and on every instruction set give the same bits. */
#ifndef LH_TESTS_EVERY_OPERATION_H
#define LH_TESTS_EVERY_OPERATION_H

#include "kernel_case.h"

enum { EVERY_ROWS = 70, EVERY_TOKENS = 35, EVERY_WIDTH = 66, EVERY_WORDS = 45, EVERY_K = 5 };

/* Inputs are drawn, so all numbers are defined; outputs are among them. */
struct every {
  lh_device *dev;
  lh_dtype dtype;
  guarded x, y, z, u;                 /* (n,c) */
  guarded wide, dwide;                /* (n,3c) */
  guarded weight, dweight;            /* (c,c) */
  guarded gamma, beta, dgamma, dbeta; /* (c) */
  guarded mean, rstd;                 /* (n) */
  guarded lse;                        /* (n * heads) */
  guarded table, logits;              /* (words,c), (n,words) */
  guarded tokens;
  guarded rows; /* as many as the weight has */
  guarded value, index;
  guarded four; /* (n,c) in four bits */
  lh_chunking chunking;
  lh_loss loss;
  double sum;
};

/* a, b, ... : the real tensors by order, for walking. */
#define EVERY_REAL(e)                                                                              \
  (guarded *[])                                                                                    \
  {                                                                                                \
    &(e)->x, &(e)->y, &(e)->z, &(e)->u, &(e)->wide, &(e)->dwide, &(e)->weight, &(e)->dweight,      \
        &(e)->gamma, &(e)->beta, &(e)->dgamma, &(e)->dbeta, &(e)->mean, &(e)->rstd, &(e)->lse,     \
        &(e)->table, &(e)->logits, &(e)->value, &(e)->four                                         \
  }
enum { EVERY_REALS = 19 };

static inline void every_init(struct every *e, lh_device *dev, lh_dtype dtype)
{
  const size_t n = EVERY_ROWS, c = EVERY_WIDTH;
  *e = (struct every){.dev = dev, .dtype = dtype};
  e->x = guarded_2d(dev, dtype, n, c), e->y = guarded_2d(dev, dtype, n, c);
  e->z = guarded_2d(dev, dtype, n, c), e->u = guarded_2d(dev, dtype, n, c);
  e->wide = guarded_2d(dev, dtype, n, 3 * c), e->dwide = guarded_2d(dev, dtype, n, 3 * c);
  e->weight = guarded_2d(dev, dtype, c, c), e->dweight = guarded_2d(dev, dtype, c, c);
  e->gamma = guarded_1d(dev, dtype, c), e->beta = guarded_1d(dev, dtype, c);
  e->dgamma = guarded_1d(dev, dtype, c), e->dbeta = guarded_1d(dev, dtype, c);
  e->mean = guarded_1d(dev, dtype, n), e->rstd = guarded_1d(dev, dtype, n);
  e->lse = guarded_1d(dev, dtype, n * 2);
  e->table = guarded_2d(dev, dtype, EVERY_WORDS, c);
  e->logits = guarded_2d(dev, dtype, n, EVERY_WORDS);
  int32_t tokens[EVERY_ROWS];
  for (int32_t i = 0; i < EVERY_ROWS; i++)
    tokens[i] = i * 7 % EVERY_WORDS;
  e->tokens = tokens_new(dev, tokens, n);
  e->rows = tokens_new(dev, tokens, c);
  REQUIRE_OK(lh_chunking_init(dev, &e->chunking, &e->x.t, 64));
  const size_t entries = e->chunking.blocks * EVERY_K;
  e->value = guarded_1d(dev, dtype, entries);
  e->four = guarded_1d(dev, dtype == LH_F64 ? LH_F64 : LH_FP4, n * c);
  e->index = tokens_new(dev, (int32_t *)(void *)numbers(entries), entries);
  for (size_t i = 0; i < EVERY_REALS; i++)
    guarded_draw(EVERY_REAL(e)[i], i, 1);
}

static inline void every_fini(struct every *e)
{
  for (size_t i = 0; i < EVERY_REALS; i++)
    lh_tensor_free(&EVERY_REAL(e)[i]->whole);
  FREE(&e->tokens, &e->rows, &e->index);
  lh_chunking_fini(&e->chunking);
}

/* Operation number i on e; LH_EINVAL past the last. */
static inline lh_status every_call(struct every *e, size_t i)
{
  lh_device *dev = e->dev;
  lh_tensor *x = &e->x.t, *y = &e->y.t, *z = &e->z.t, *u = &e->u.t;
  const lh_adamw_config adamw = {
      .learning_rate = .01, .beta1 = .9, .beta2 = .99, .epsilon = 1e-8, .weight_decay = .1};
  const lh_sgd_config sgd = {
      .learning_rate = .1, .momentum = .9, .nesterov = true, .weight_decay = .1};
  const lh_tensor *const in[] = {x, y, z};
  switch (i) {
  case 0:
    return lh_gemm(dev, false, true, 0.5, x, &e->weight.t, 1, y);
  case 1:
    return lh_linear_forward(dev, y, x, &e->weight.t, &e->beta.t);
  case 2:
    return lh_linear_backward(dev, u, &e->dweight.t, &e->dbeta.t, y, x, &e->weight.t);
  case 3:
    return lh_layer_norm_forward(dev, y, &e->mean.t, &e->rstd.t, x, &e->gamma.t, &e->beta.t, 1e-5);
  case 4:
    return lh_layer_norm_backward(dev, u, &e->dgamma.t, &e->dbeta.t, y, x, &e->gamma.t, &e->mean.t,
                                  &e->rstd.t);
  case 5:
    return lh_rms_norm_forward(dev, y, &e->rstd.t, x, &e->gamma.t, 1e-5);
  case 6:
    return lh_rms_norm_backward(dev, u, &e->dgamma.t, y, x, &e->gamma.t, &e->rstd.t);
  case 7:
  case 8:
  case 9:
    return lh_activation_forward(dev, (lh_activation)(i - 7), y, x);
  case 10:
  case 11:
  case 12:
    return lh_activation_backward(dev, (lh_activation)(i - 10), u, y, x);
  case 13:
    return lh_attention_forward(dev, y, &e->lse.t, &e->wide.t, EVERY_ROWS / EVERY_TOKENS, 2);
  case 14:
    return lh_attention_backward(dev, &e->dwide.t, u, y, &e->lse.t, &e->wide.t,
                                 EVERY_ROWS / EVERY_TOKENS, 2);
  case 15:
    return lh_embedding_forward(dev, y, &e->tokens.t, &e->table.t, &e->weight.t);
  case 16:
    return lh_embedding_backward(dev, &e->table.t, &e->weight.t, x, &e->tokens.t);
  case 17:
    return lh_cross_entropy(dev, &e->logits.t, &e->logits.t, &e->tokens.t, 0.25, &e->loss);
  case 18:
    return lh_fill(dev, y, 0.3);
  case 19:
    return lh_copy(dev, y, x);
  case 20:
    return lh_axpby(dev, 0.3, x, 0.7, z);
  case 21:
    return lh_add(dev, y, x, z);
  case 22:
    return lh_subtract(dev, y, x, z);
  case 23:
    return lh_multiply(dev, y, x, z);
  case 24:
    return lh_scale(dev, z, 1.1);
  case 25:
    return lh_sign(dev, u, z);
  case 26:
    return lh_sum_squares(dev, x, &e->sum);
  case 27:
    return lh_fill_normal(dev, y, 0.02, 5, 6);
  case 28:
    LH_TRY(lh_multiply(dev, u, u, u)); /* the second moment is not negative */
    return lh_adamw(dev, x, y, u, z, &adamw, 3);
  case 29:
    return lh_sgd(dev, x, y, z, &sgd);
  case 30:
    return lh_gossip_momentum(dev, x, y, z, u, .5, .7, .6);
  case 31:
    return lh_dct_top_k(dev, x, &e->chunking, EVERY_K, &e->index.t, &e->value.t);
  case 32:
    return lh_dct_merge_decode(dev, y, &e->chunking, EVERY_K, 1, LH_MERGE_CONTRIBUTORS, &e->index.t,
                               &e->value.t);
  case 33:
    return lh_round_to_wire(dev, z, LH_BF16);
  case 34:
    return lh_sum_in_order(dev, u, in, 3, true, LH_F16);
  case 35:
    return lh_quadratic(dev, u, x, y, z, 0.3, &e->sum);
  case 36:
    return lh_draw_rows(dev, &e->rows.t, EVERY_ROWS, 42, 3);
  case 37:
    return lh_gather_rows(dev, &e->dweight.t, x, &e->rows.t); /* as many rows as the weight has */
  case 38:
    return lh_scatter_rows(dev, y, &e->weight.t, &e->rows.t);
  case 39:
    return lh_zero_rows(dev, z, EVERY_WIDTH, &e->rows.t);
  case 40:
    return lh_quantise_fp4(dev, &e->four.t, z);
  default:
    return LH_EINVAL;
  }
}
enum { EVERY_OPERATIONS = 41 };

#endif
