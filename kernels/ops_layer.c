#include "kernels/check.h"
#include "kernels/ops.h"

/* ---- activations ----------------------------------------------------------------------------- */

/* Flop per element, forward and backward; an exponential counts as 8. */
static const double activation_flop[][2] = {
    [LH_RELU] = {1, 1}, [LH_GELU] = {16, 27}, [LH_SILU] = {11, 16}};

lh_status lh_activation_forward(lh_device *dev, lh_activation kind, lh_tensor *y,
                                const lh_tensor *x)
{
  const size_t n = lh_tensor_elements(x);
  LH_TRY(lh_expect_vectors(dev, "activation forward", n, LH_TENSORS(x, y)));
  lh_charge(dev, LH_OPERATION_ACTIVATION, x->dtype, activation_flop[kind][0] * (double)n,
            lh_sum_bytes(LH_TENSORS(x, y)));
  return LH_COMPUTE(dev, x, activation_forward, dev, kind, y, x);
}

lh_status lh_activation_backward(lh_device *dev, lh_activation kind, lh_tensor *dx,
                                 const lh_tensor *dy, const lh_tensor *x)
{
  const size_t n = lh_tensor_elements(x);
  LH_TRY(lh_expect_vectors(dev, "activation backward", n, LH_TENSORS(x, dy, dx)));
  lh_charge(dev, LH_OPERATION_ACTIVATION, x->dtype, activation_flop[kind][1] * (double)n,
            lh_sum_bytes(LH_TENSORS(x, dy, dx)));
  return LH_COMPUTE(dev, x, activation_backward, dev, kind, dx, dy, x);
}

/* ---- attention ------------------------------------------------------------------------------- */

static lh_status expect_attention(const char *operation, const lh_tensor *out,
                                  const lh_tensor *row_lse, const lh_tensor *qkv, size_t batch,
                                  size_t heads)
{
  const size_t n = lh_rows(out), c = lh_columns(out);
  LH_EXPECT(lh_rows(qkv) == n && lh_columns(qkv) == 3 * c,
            "%s: qkv (%zu, %zu) for outputs (%zu, %zu), not (n, 3c) for (n, c)", operation,
            lh_rows(qkv), lh_columns(qkv), n, c);
  LH_EXPECT(batch > 0 && n % batch == 0, "%s: %zu rows in %zu sequences", operation, n, batch);
  LH_EXPECT(heads > 0 && c % heads == 0, "%s: %zu columns in %zu heads", operation, c, heads);
  LH_EXPECT(lh_tensor_elements(row_lse) == n * heads, "%s: %zu log sums, not %zu", operation,
            lh_tensor_elements(row_lse), n * heads);
  return LH_OK;
}

static double attention_flop(const lh_tensor *out, size_t batch)
{
  const double n = (double)lh_rows(out), c = (double)lh_columns(out);
  return 2.0 * n * (n / (double)batch) * c;
}

lh_status lh_attention_forward(lh_device *dev, lh_tensor *out, lh_tensor *row_lse,
                               const lh_tensor *qkv, size_t batch, size_t heads)
{
  LH_TRY(lh_expect_reals(dev, "attention forward", LH_TENSORS(qkv, out, row_lse)));
  LH_TRY(expect_attention("attention forward", out, row_lse, qkv, batch, heads));
  lh_charge(dev, LH_OPERATION_ATTENTION, qkv->dtype, attention_flop(out, batch),
            lh_sum_bytes(LH_TENSORS(qkv, out, row_lse)));
  return LH_COMPUTE(dev, qkv, attention_forward, dev, out, row_lse, qkv, batch, heads);
}

lh_status lh_attention_backward(lh_device *dev, lh_tensor *dqkv, const lh_tensor *dout,
                                const lh_tensor *out, const lh_tensor *row_lse,
                                const lh_tensor *qkv, size_t batch, size_t heads)
{
  LH_TRY(lh_expect_reals(dev, "attention backward", LH_TENSORS(qkv, dqkv, dout, out, row_lse)));
  LH_TRY(expect_attention("attention backward", out, row_lse, qkv, batch, heads));
  LH_TRY(expect_attention("attention backward", dout, row_lse, dqkv, batch, heads));
  lh_charge(dev, LH_OPERATION_ATTENTION, qkv->dtype, 2.5 * attention_flop(out, batch),
            lh_sum_bytes(LH_TENSORS(qkv, dqkv, dout, out, row_lse)));
  return LH_COMPUTE(dev, qkv, attention_backward, dev, dqkv, dout, out, row_lse, qkv, batch, heads);
}

/* ---- embedding ------------------------------------------------------------------------------- */

static lh_status expect_embedding(const char *operation, const lh_device *dev, const lh_tensor *y,
                                  const lh_tensor *tokens, const lh_tensor *table,
                                  const lh_tensor *position)
{
  LH_TRY(lh_expect_reals(dev, operation, LH_TENSORS(y, table, position)));
  LH_TRY(lh_expect_i32(dev, operation, tokens, lh_rows(y)));
  const size_t c = lh_columns(y);
  LH_EXPECT(lh_columns(table) == c, "%s: a table of %zu columns for %zu", operation,
            lh_columns(table), c);
  LH_EXPECT(!position || (lh_columns(position) == c && lh_rows(position) > 0),
            "%s: positions of %zu columns for %zu", operation, lh_columns(position), c);
  return LH_OK;
}

lh_status lh_embedding_forward(lh_device *dev, lh_tensor *y, const lh_tensor *tokens,
                               const lh_tensor *table, const lh_tensor *position)
{
  LH_TRY(expect_embedding("embedding forward", dev, y, tokens, table, position));
  const double added = position ? (double)lh_tensor_elements(y) : 0.0;
  lh_charge(dev, LH_OPERATION_EMBEDDING, y->dtype, added,
            lh_sum_bytes(LH_TENSORS(y, y, tokens, position)));
  return LH_COMPUTE(dev, y, embedding_forward, dev, y, tokens, table, position);
}

lh_status lh_embedding_backward(lh_device *dev, lh_tensor *dtable, lh_tensor *dposition,
                                const lh_tensor *dy, const lh_tensor *tokens)
{
  LH_TRY(expect_embedding("embedding backward", dev, dy, tokens, dtable, dposition));
  const double sums = (dposition ? 2.0 : 1.0) * (double)lh_tensor_elements(dy);
  lh_charge(dev, LH_OPERATION_EMBEDDING, dy->dtype, sums,
            lh_sum_bytes(LH_TENSORS(dy, dy, dy, tokens, dposition, dposition)));
  return LH_COMPUTE(dev, dy, embedding_backward, dev, dtable, dposition, dy, tokens);
}

/* ---- loss ------------------------------------------------------------------------------------ */

lh_status lh_cross_entropy(lh_device *dev, lh_tensor *dlogits, const lh_tensor *logits,
                           const lh_tensor *targets, double scale, lh_loss *loss)
{
  const size_t n = lh_tensor_elements(logits);
  LH_TRY(lh_expect_vectors(dev, "cross-entropy", n, LH_TENSORS(logits, dlogits)));
  LH_TRY(lh_expect_i32(dev, "cross-entropy", targets, lh_rows(logits)));
  LH_EXPECT(lh_columns(logits) > 0, "cross-entropy: logits without columns");
  lh_charge(dev, LH_OPERATION_CROSS_ENTROPY, logits->dtype, 12.0 * (double)n,
            lh_sum_bytes(LH_TENSORS(logits, dlogits, targets)));
  if (!dev->backend->computes) {
    loss->count += lh_rows(logits);
    return LH_OK;
  }
  return LH_COMPUTE(dev, logits, cross_entropy, dev, dlogits, logits, targets, scale, loss);
}

/* ---- given problems -------------------------------------------------------------------------- */

lh_status lh_quadratic(lh_device *dev, lh_tensor *grad, const lh_tensor *x, const lh_tensor *a,
                       const lh_tensor *s, double scale, double *loss)
{
  const size_t n = lh_tensor_elements(x);
  LH_TRY(lh_expect_vectors(dev, "quadratic", n, LH_TENSORS(x, grad, a, s)));
  lh_charge(dev, LH_OPERATION_ELEMENTWISE, x->dtype, 7.0 * (double)n,
            lh_sum_bytes(LH_TENSORS(x, grad, grad, a, s)));
  return LH_COMPUTE(dev, x, quadratic, dev, grad, x, a, s, scale, loss);
}
