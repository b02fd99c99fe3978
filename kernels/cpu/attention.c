/* Causal attention, one head at a time, in tiles of rows. Once per variant: see variants.h.
 *
 * A tile of TILE query rows needs scores against the keys up to its own last row only, so half of the
 * square is never computed. The scores of a tile fit the cache; the products are OpenBLAS's. Backward
 * computes them again instead of keeping them.
 */
#ifndef LH_VARIANT
#include <limits.h>
#include <math.h>

#include "kernels/check.h"
#include "kernels/cpu/blas.h"
#include "kernels/cpu/blocks.h"

enum { ATTENTION_TILE = 64 };

struct attention_shape {
  const lh_blas *blas;
  size_t batch, heads, tokens, width, head_width;
  double scale;
};

static struct attention_shape attention_shape(const lh_device *dev, const lh_tensor *out,
                                              size_t batch, size_t heads)
{
  const size_t c = lh_columns(out);
  return (struct attention_shape){.blas = dev->state,
                                  .batch = batch,
                                  .heads = heads,
                                  .tokens = lh_rows(out) / batch,
                                  .width = c,
                                  .head_width = c / heads,
                                  .scale = 1.0 / sqrt((double)(c / heads))};
}

#define LH_TEMPLATE "kernels/cpu/attention.c"
#include "kernels/cpu/variants.h"
#else

#if LH_REAL_BITS == 32
#define gemm_real gemm_f32
#else
#define gemm_real gemm_f64
#endif

/* c (m,n) = op(a) op(b) + keep * c; row lengths lda, ldb, ldc. */
static inline void NAME(product)(const lh_blas *blas, CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb,
                                 size_t m, size_t n, size_t k, const real *a, size_t lda,
                                 const real *b, size_t ldb, bool keep, real *c, size_t ldc)
{
  blas->gemm_real(CblasRowMajor, ta, tb, (int)m, (int)n, (int)k, 1, a, (int)lda, b, (int)ldb,
                  keep ? 1 : 0, c, (int)ldc);
}

/* Scores of one row over its `seen` keys become unnormalised probabilities, zero up to `end`. */
static real NAME(softmax_row)(real *s, size_t seen, size_t end, real scale, real *lse)
{
  const real top = scale * NAME(largest)(s, seen);
  ELEMENTWISE
  for (size_t j = 0; j < seen; j++)
    s[j] = NAME(exp)(scale * s[j] - top);
  for (size_t j = seen; j < end; j++)
    s[j] = 0;
  const real sum = NAME(sum)(s, seen);
  *lse = (real)((double)top + NAME(log)((double)sum));
  return 1 / sum;
}

static void NAME(head_forward)(const struct attention_shape *shape, real *scores, const real *q,
                               real *out, real *lse)
{
  const size_t c = shape->width, d = shape->head_width, ld = 3 * c;
  const real *k = q + c, *v = q + 2 * c;
  for (size_t first = 0; first < shape->tokens; first += ATTENTION_TILE) {
    const size_t left = shape->tokens - first;
    const size_t rows = left < ATTENTION_TILE ? left : ATTENTION_TILE, end = first + rows;
    real inverse[ATTENTION_TILE];
    NAME(product)
    (shape->blas, CblasNoTrans, CblasTrans, rows, end, d, q + first * ld, ld, k, ld, false, scores,
     end);
    for (size_t i = 0; i < rows; i++)
      inverse[i] = NAME(softmax_row)(scores + i * end, first + i + 1, end, (real)shape->scale,
                                     &lse[first + i]);
    NAME(product)
    (shape->blas, CblasNoTrans, CblasNoTrans, rows, d, end, scores, end, v, ld, false,
     out + first * c, c);
    for (size_t i = 0; i < rows; i++)
      for (size_t j = 0; j < d; j++)
        out[(first + i) * c + j] *= inverse[i];
  }
}

/* From raw scores s and dp = dout v^T of one row: s becomes probabilities p, dp becomes
 * p (dp - sum(dout out)) scale, the gradient of q k^T. */
static void NAME(backward_row)(real *s, real *dp, size_t seen, size_t end, real scale, real lse,
                               real dot)
{
  ELEMENTWISE
  for (size_t j = 0; j < seen; j++) {
    s[j] = NAME(exp)(scale * s[j] - lse);
    dp[j] = s[j] * (dp[j] - dot) * scale;
  }
  for (size_t j = seen; j < end; j++)
    s[j] = dp[j] = 0;
}

/* Tiles from the last to the first: the last one reaches all keys, so it writes dk and dv and the
 * others add. */
static void NAME(head_backward)(const struct attention_shape *shape, real *scores, real *dscores,
                                const real *q, const real *out, const real *dout, const real *lse,
                                real *dq)
{
  const size_t c = shape->width, d = shape->head_width, ld = 3 * c;
  const real *k = q + c, *v = q + 2 * c;
  real *dk = dq + c, *dv = dq + 2 * c;
  const size_t tiles = (shape->tokens + ATTENTION_TILE - 1) / ATTENTION_TILE;
  for (size_t tile = tiles; tile-- > 0;) {
    const size_t first = tile * ATTENTION_TILE, left = shape->tokens - first;
    const size_t rows = left < ATTENTION_TILE ? left : ATTENTION_TILE, end = first + rows;
    const bool adds = tile + 1 < tiles;
    NAME(product)
    (shape->blas, CblasNoTrans, CblasTrans, rows, end, d, q + first * ld, ld, k, ld, false, scores,
     end);
    NAME(product)
    (shape->blas, CblasNoTrans, CblasTrans, rows, end, d, dout + first * c, c, v, ld, false,
     dscores, end);
    for (size_t i = 0; i < rows; i++) {
      const size_t at = (first + i) * c;
      NAME(backward_row)
      (scores + i * end, dscores + i * end, first + i + 1, end, (real)shape->scale, lse[first + i],
       NAME(dot)(dout + at, out + at, d));
    }
    NAME(product)
    (shape->blas, CblasNoTrans, CblasNoTrans, rows, d, end, dscores, end, k, ld, false,
     dq + first * ld, ld);
    NAME(product)
    (shape->blas, CblasTrans, CblasNoTrans, end, d, rows, dscores, end, q + first * ld, ld, adds,
     dk, ld);
    NAME(product)
    (shape->blas, CblasTrans, CblasNoTrans, end, d, rows, scores, end, dout + first * c, c, adds,
     dv, ld);
  }
}

static lh_status NAME(attention_forward)(lh_device *dev, lh_tensor *out, lh_tensor *row_lse,
                                         const lh_tensor *qkv, size_t batch, size_t heads)
{
  const struct attention_shape shape = attention_shape(dev, out, batch, heads);
  const size_t t = shape.tokens;
  LH_EXPECT(t <= INT_MAX && 3 * shape.width <= INT_MAX, "attention: a side is beyond %d", INT_MAX);
  real *scores = lh_block_take(ATTENTION_TILE * t * sizeof(real));
  if (!scores)
    return lh_fail(LH_ENOMEM, "attention: no memory for %zu tokens", t);
  for (size_t b = 0; b < batch; b++)
    for (size_t h = 0; h < heads; h++)
      NAME(head_forward)
  (&shape, scores, (const real *)qkv->data + b * t * 3 * shape.width + h * shape.head_width,
   (real *)out->data + b * t * shape.width + h * shape.head_width,
   (real *)row_lse->data + (b * heads + h) * t);
  lh_block_give(scores);
  return LH_OK;
}

static lh_status NAME(attention_backward)(lh_device *dev, lh_tensor *dqkv, const lh_tensor *dout,
                                          const lh_tensor *out, const lh_tensor *row_lse,
                                          const lh_tensor *qkv, size_t batch, size_t heads)
{
  const struct attention_shape shape = attention_shape(dev, out, batch, heads);
  const size_t t = shape.tokens;
  LH_EXPECT(t <= INT_MAX && 3 * shape.width <= INT_MAX, "attention: a side is beyond %d", INT_MAX);
  real *scores = lh_block_take(2 * ATTENTION_TILE * t * sizeof(real));
  if (!scores)
    return lh_fail(LH_ENOMEM, "attention: no memory for %zu tokens", t);
  for (size_t b = 0; b < batch; b++)
    for (size_t h = 0; h < heads; h++) {
      const size_t wide = b * t * 3 * shape.width + h * shape.head_width;
      const size_t narrow = b * t * shape.width + h * shape.head_width;
      NAME(head_backward)
      (&shape, scores, scores + ATTENTION_TILE * t, (const real *)qkv->data + wide,
       (const real *)out->data + narrow, (const real *)dout->data + narrow,
       (const real *)row_lse->data + (b * heads + h) * t, (real *)dqkv->data + wide);
    }
  lh_block_give(scores);
  return LH_OK;
}

#undef gemm_real

void NAME(lh_cpu_attention)(lh_operations *ops);
void NAME(lh_cpu_attention)(lh_operations *ops)
{
  ops->attention_forward = NAME(attention_forward);
  ops->attention_backward = NAME(attention_backward);
}
#endif
