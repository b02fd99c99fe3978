#include "kernels/check.h"
#include "kernels/ops.h"

/* (batch, rows, columns) of an operand after op(). */
struct operand {
  size_t batch, rows, columns;
};

static struct operand operand(const lh_tensor *t, bool transpose)
{
  const size_t rows = t->shape[t->dims - 2], columns = t->shape[t->dims - 1];
  return (struct operand){.batch = t->dims == 3 ? t->shape[0] : 1,
                          .rows = transpose ? columns : rows,
                          .columns = transpose ? rows : columns};
}

lh_status lh_gemm(lh_device *dev, bool transpose_a, bool transpose_b, double alpha,
                  const lh_tensor *a, const lh_tensor *b, double beta, lh_tensor *c)
{
  LH_TRY(lh_expect_reals(dev, "gemm", LH_TENSORS(a, b, c)));
  LH_EXPECT((c->dims == 2 || c->dims == 3) && a->dims == c->dims && b->dims == c->dims,
            "gemm: %d-D times %d-D into %d-D, not all 2-D or all 3-D", a->dims, b->dims, c->dims);
  const struct operand oa = operand(a, transpose_a), ob = operand(b, transpose_b),
                       oc = operand(c, false);
  LH_EXPECT(oa.batch == oc.batch && ob.batch == oc.batch, "gemm: batches of %zu and %zu into %zu",
            oa.batch, ob.batch, oc.batch);
  LH_EXPECT(oa.rows == oc.rows && oa.columns == ob.rows && ob.columns == oc.columns,
            "gemm: (%zu, %zu) times (%zu, %zu) into (%zu, %zu)", oa.rows, oa.columns, ob.rows,
            ob.columns, oc.rows, oc.columns);

  const double flop =
      2.0 * (double)oc.batch * (double)oc.rows * (double)oc.columns * (double)oa.columns;
  const double old_c_bytes = beta == 0.0 ? 0.0 : (double)lh_tensor_bytes(c);
  lh_charge(dev, LH_OPERATION_GEMM, a->dtype, flop,
            lh_sum_bytes(LH_TENSORS(a, b, c)) + old_c_bytes);
  return LH_COMPUTE(dev, c, gemm, dev, transpose_a, transpose_b, alpha, a, b, beta, c);
}

/* x (n,in), w (out,in), y (n,out). */
static lh_status expect_linear(const char *operation, const lh_tensor *x, const lh_tensor *w,
                               const lh_tensor *y, const lh_tensor *bias)
{
  LH_EXPECT(w->dims == 2, "%s: weights are %d-D, not (out, in)", operation, w->dims);
  const size_t out = w->shape[0], in = w->shape[1];
  LH_EXPECT(lh_columns(x) == in && lh_columns(y) == out && lh_rows(x) == lh_rows(y),
            "%s: x (%zu, %zu), weights (%zu, %zu), y (%zu, %zu)", operation, lh_rows(x),
            lh_columns(x), out, in, lh_rows(y), lh_columns(y));
  LH_EXPECT(!bias || lh_tensor_elements(bias) == out, "%s: bias of %zu, not %zu", operation,
            lh_tensor_elements(bias), out);
  return LH_OK;
}

static double linear_flop(const lh_tensor *x, const lh_tensor *w)
{
  return 2.0 * (double)lh_rows(x) * (double)lh_tensor_elements(w);
}

lh_status lh_linear_forward(lh_device *dev, lh_tensor *y, const lh_tensor *x, const lh_tensor *w,
                            const lh_tensor *bias)
{
  LH_TRY(lh_expect_reals(dev, "linear forward", LH_TENSORS(y, x, w, bias)));
  LH_TRY(expect_linear("linear forward", x, w, y, bias));
  lh_charge(dev, LH_OPERATION_GEMM, x->dtype, linear_flop(x, w),
            lh_sum_bytes(LH_TENSORS(y, x, w, bias)));
  return LH_COMPUTE(dev, y, linear_forward, dev, y, x, w, bias);
}

lh_status lh_linear_backward(lh_device *dev, lh_tensor *dx, lh_tensor *dw, lh_tensor *dbias,
                             const lh_tensor *dy, const lh_tensor *x, const lh_tensor *w)
{
  LH_TRY(lh_expect_reals(dev, "linear backward", LH_TENSORS(dw, dbias, dy, x, w, dx)));
  LH_TRY(expect_linear("linear backward", x, w, dy, dbias));
  LH_EXPECT(lh_tensor_elements(dw) == lh_tensor_elements(w), "linear backward: dw of %zu, not %zu",
            lh_tensor_elements(dw), lh_tensor_elements(w));
  LH_EXPECT(!dx || lh_tensor_elements(dx) == lh_tensor_elements(x),
            "linear backward: dx of %zu, not %zu", dx ? lh_tensor_elements(dx) : 0,
            lh_tensor_elements(x));

  if (dx)
    lh_charge(dev, LH_OPERATION_GEMM, dy->dtype, linear_flop(x, w),
              lh_sum_bytes(LH_TENSORS(dx, dy, w)));
  lh_charge(dev, LH_OPERATION_GEMM, dy->dtype, linear_flop(x, w),
            lh_sum_bytes(LH_TENSORS(dw, dw, dy, x)));
  if (dbias)
    lh_charge(dev, LH_OPERATION_REDUCTION, dy->dtype, (double)lh_tensor_elements(dy),
              lh_sum_bytes(LH_TENSORS(dbias, dbias, dy)));
  return LH_COMPUTE(dev, dy, linear_backward, dev, dx, dw, dbias, dy, x, w);
}
