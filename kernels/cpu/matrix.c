/* Matrix products by OpenBLAS; bias by loops. Once per variant: see variants.h. */
#ifndef LH_VARIANT
#include <limits.h>

#include "kernels/check.h"
#include "kernels/cpu/blas.h"

#define LH_TEMPLATE "kernels/cpu/matrix.c"
#include "kernels/cpu/variants.h"
#else

#if LH_REAL_BITS == 32
#define gemm_real gemm_f32
#else
#define gemm_real gemm_f64
#endif

static lh_status NAME(gemm)(lh_device *dev, bool transpose_a, bool transpose_b, double alpha,
                            const lh_tensor *a, const lh_tensor *b, double beta, lh_tensor *c)
{
  const lh_blas *blas = dev->state;
  const size_t m = c->shape[c->dims - 2], n = lh_columns(c);
  const size_t k = transpose_a ? a->shape[a->dims - 2] : lh_columns(a);
  const size_t batch = c->dims == 3 ? c->shape[0] : 1;
  LH_EXPECT(m <= INT_MAX && n <= INT_MAX && k <= INT_MAX, "gemm: a side is beyond %d", INT_MAX);
  if (m == 0 || n == 0)
    return LH_OK;
  for (size_t i = 0; i < batch; i++)
    blas->gemm_real(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
                    transpose_b ? CblasTrans : CblasNoTrans, (int)m, (int)n, (int)k, (real)alpha,
                    (const real *)a->data + i * m * k, (int)(lh_columns(a) ? lh_columns(a) : 1),
                    (const real *)b->data + i * k * n, (int)(lh_columns(b) ? lh_columns(b) : 1),
                    (real)beta, (real *)c->data + i * m * n, (int)n);
  return LH_OK;
}

/* The bias goes in first, where the product's own clearing of y would be: it costs nothing. */
static lh_status NAME(linear_forward)(lh_device *dev, lh_tensor *y, const lh_tensor *x,
                                      const lh_tensor *w, const lh_tensor *bias)
{
  const lh_blas *blas = dev->state;
  const size_t n = lh_rows(x), in = w->shape[1], out = w->shape[0];
  LH_EXPECT(n <= INT_MAX && in <= INT_MAX && out <= INT_MAX, "linear: a side is beyond %d",
            INT_MAX);
  if (n == 0 || out == 0)
    return LH_OK;
  real *to = y->data;
  if (bias)
    for (size_t i = 0; i < n; i++)
      memcpy(to + i * out, bias->data, out * sizeof(real));
  blas->gemm_real(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)out, (int)in, 1, x->data,
                  (int)in, w->data, (int)in, bias ? 1 : 0, to, (int)out);
  return LH_OK;
}

/* Adds the rows of dy (n,out) to dbias in ascending order; four at a time keeps the sums in registers. */
static void NAME(add_rows)(real *dbias, const real *dy, size_t n, size_t out)
{
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const real *r = dy + i * out;
    for (size_t j = 0; j < out; j++)
      dbias[j] = (((dbias[j] + r[j]) + r[out + j]) + r[2 * out + j]) + r[3 * out + j];
  }
  for (; i < n; i++)
    for (size_t j = 0; j < out; j++)
      dbias[j] += dy[i * out + j];
}

static lh_status NAME(linear_backward)(lh_device *dev, lh_tensor *dx, lh_tensor *dw,
                                       lh_tensor *dbias, const lh_tensor *dy, const lh_tensor *x,
                                       const lh_tensor *w)
{
  const lh_blas *blas = dev->state;
  const size_t n = lh_rows(x), in = w->shape[1], out = w->shape[0];
  LH_EXPECT(n <= INT_MAX && in <= INT_MAX && out <= INT_MAX, "linear: a side is beyond %d",
            INT_MAX);
  if (n == 0 || in == 0 || out == 0)
    return LH_OK;
  if (dx)
    blas->gemm_real(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)n, (int)in, (int)out, 1,
                    dy->data, (int)out, w->data, (int)in, 0, dx->data, (int)in);
  blas->gemm_real(CblasRowMajor, CblasTrans, CblasNoTrans, (int)out, (int)in, (int)n, 1, dy->data,
                  (int)out, x->data, (int)in, 1, dw->data, (int)in);
  if (dbias)
    NAME(add_rows)(dbias->data, dy->data, n, out);
  return LH_OK;
}

#undef gemm_real

void NAME(lh_cpu_matrix)(lh_operations *ops);
void NAME(lh_cpu_matrix)(lh_operations *ops)
{
  ops->gemm = NAME(gemm);
  ops->linear_forward = NAME(linear_forward);
  ops->linear_backward = NAME(linear_backward);
}
#endif
