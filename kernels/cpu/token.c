/* What tokens index: embedding rows and the target's logit. Once per variant: see variants.h. */
#ifndef LH_VARIANT
#include "kernels/check.h"
#include "kernels/cpu/blocks.h"

static lh_status expect_tokens(const char *operation, const int32_t *token, size_t n, size_t limit)
{
  for (size_t i = 0; i < n; i++)
    LH_EXPECT(token[i] >= 0 && (size_t)token[i] < limit, "%s: token %zu is %d, not in 0..%zu",
              operation, i, token[i], limit - 1);
  return LH_OK;
}

#define LH_TEMPLATE "kernels/cpu/token.c"
#include "kernels/cpu/variants.h"
#else

static lh_status NAME(embedding_forward)(lh_device *dev, lh_tensor *y, const lh_tensor *tokens,
                                         const lh_tensor *table, const lh_tensor *position)
{
  (void)dev;
  const size_t n = lh_rows(y), c = lh_columns(y), t = position ? lh_rows(position) : 1;
  const int32_t *token = tokens->data;
  LH_TRY(expect_tokens("embedding forward", token, n, lh_rows(table)));
  for (size_t i = 0; i < n; i++) {
    real *yi = (real *)y->data + i * c;
    const real *row = (const real *)table->data + (size_t)token[i] * c;
    if (!position) {
      memcpy(yi, row, c * sizeof(real));
      continue;
    }
    const real *place = (const real *)position->data + (i % t) * c;
    ELEMENTWISE
    for (size_t j = 0; j < c; j++)
      yi[j] = row[j] + place[j];
  }
  return LH_OK;
}

static lh_status NAME(embedding_backward)(lh_device *dev, lh_tensor *dtable, lh_tensor *dposition,
                                          const lh_tensor *dy, const lh_tensor *tokens)
{
  (void)dev;
  const size_t n = lh_rows(dy), c = lh_columns(dy), t = dposition ? lh_rows(dposition) : 1;
  const int32_t *token = tokens->data;
  LH_TRY(expect_tokens("embedding backward", token, n, lh_rows(dtable)));
  for (size_t i = 0; i < n; i++) {
    const real *dyi = (const real *)dy->data + i * c;
    real *row = (real *)dtable->data + (size_t)token[i] * c;
    ELEMENTWISE
    for (size_t j = 0; j < c; j++)
      row[j] += dyi[j];
    if (!dposition)
      continue;
    real *place = (real *)dposition->data + (i % t) * c;
    ELEMENTWISE
    for (size_t j = 0; j < c; j++)
      place[j] += dyi[j];
  }
  return LH_OK;
}

/* Loss of one row. The target is right if its logit is the largest and none before it is equal.
 * e (v) gets (softmax - onehot) * scale, or stays scratch when that is not wanted; e may be x. */
static double NAME(cross_entropy_row)(real *e, const real *x, size_t v, size_t target, bool wanted,
                                      real scale, size_t *correct)
{
  const real top = NAME(largest)(x, v), chosen = x[target];
  size_t first = target;
  for (size_t j = 0; chosen == top && j < target && first == target; j++)
    first = x[j] == top ? j : target;
  ELEMENTWISE
  for (size_t j = 0; j < v; j++)
    e[j] = NAME(exp)(x[j] - top);
  const real sum = NAME(sum)(e, v);
  *correct += chosen == top && first == target && sum == sum; /* a NaN is no smaller logit */
  if (wanted) {
    const real factor = scale / sum;
    ELEMENTWISE
    for (size_t j = 0; j < v; j++)
      e[j] *= factor;
    e[target] -= scale;
  }
  return NAME(log)((double)sum) - ((double)chosen - (double)top);
}

static lh_status NAME(cross_entropy)(lh_device *dev, lh_tensor *dlogits, const lh_tensor *logits,
                                     const lh_tensor *targets, double scale, lh_loss *loss)
{
  (void)dev;
  const size_t n = lh_rows(logits), v = lh_columns(logits);
  const int32_t *target = targets->data;
  LH_TRY(expect_tokens("cross-entropy", target, n, v));
  real *scratch = dlogits ? NULL : lh_block_take(v * sizeof(real));
  if (!dlogits && !scratch)
    return lh_fail(LH_ENOMEM, "cross-entropy: no memory for %zu logits", v);
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) {
    const real *x = (const real *)logits->data + i * v;
    real *e = dlogits ? (real *)dlogits->data + i * v : scratch;
    sum += NAME(cross_entropy_row)(e, x, v, (size_t)target[i], dlogits != NULL, (real)scale,
                                   &loss->correct);
  }
  loss->loss_sum += sum;
  loss->count += n;
  lh_block_give(scratch);
  return LH_OK;
}

void NAME(lh_cpu_token)(lh_operations *ops);
void NAME(lh_cpu_token)(lh_operations *ops)
{
  ops->embedding_forward = NAME(embedding_forward);
  ops->embedding_backward = NAME(embedding_backward);
  ops->cross_entropy = NAME(cross_entropy);
}
#endif
