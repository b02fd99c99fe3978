/* Element-wise operations. Once per variant: see variants.h. */
#ifndef LH_VARIANT
#include "base/random.h"
#include "kernels/check.h"

#define LH_TEMPLATE "kernels/cpu/elementwise.c"
#include "kernels/cpu/variants.h"
#else

static lh_status NAME(fill)(lh_device *dev, lh_tensor *x_tensor, double value)
{
  (void)dev;
  const size_t n = lh_tensor_elements(x_tensor);
  real *x = x_tensor->data;
  for (size_t i = 0; i < n; i++)
    x[i] = (real)value;
  return LH_OK;
}

static lh_status NAME(axpby)(lh_device *dev, double alpha, const lh_tensor *x_tensor, double beta,
                             lh_tensor *y_tensor)
{
  (void)dev;
  const size_t n = lh_tensor_elements(y_tensor);
  const real *x = x_tensor->data, a = (real)alpha, b = (real)beta;
  real *y = y_tensor->data;
  if (beta == 0.0) {
    ELEMENTWISE
    for (size_t i = 0; i < n; i++)
      y[i] = a * x[i];
  } else { /* a factor of 1 changes no bit, so it needs no case of its own */
    ELEMENTWISE
    for (size_t i = 0; i < n; i++)
      y[i] = a * x[i] + b * y[i];
  }
  return LH_OK;
}

static lh_status NAME(add)(lh_device *dev, lh_tensor *y_tensor, const lh_tensor *a_tensor,
                           const lh_tensor *b_tensor)
{
  (void)dev;
  const size_t n = lh_tensor_elements(y_tensor);
  const real *a = a_tensor->data, *b = b_tensor->data;
  real *y = y_tensor->data;
  ELEMENTWISE
  for (size_t i = 0; i < n; i++)
    y[i] = a[i] + b[i];
  return LH_OK;
}

static lh_status NAME(subtract)(lh_device *dev, lh_tensor *y_tensor, const lh_tensor *a_tensor,
                                const lh_tensor *b_tensor)
{
  (void)dev;
  const size_t n = lh_tensor_elements(y_tensor);
  const real *a = a_tensor->data, *b = b_tensor->data;
  real *y = y_tensor->data;
  ELEMENTWISE
  for (size_t i = 0; i < n; i++)
    y[i] = a[i] - b[i];
  return LH_OK;
}

static lh_status NAME(multiply)(lh_device *dev, lh_tensor *y_tensor, const lh_tensor *a_tensor,
                                const lh_tensor *b_tensor)
{
  (void)dev;
  const size_t n = lh_tensor_elements(y_tensor);
  const real *a = a_tensor->data, *b = b_tensor->data;
  real *y = y_tensor->data;
  ELEMENTWISE
  for (size_t i = 0; i < n; i++)
    y[i] = a[i] * b[i];
  return LH_OK;
}

static lh_status NAME(scale)(lh_device *dev, lh_tensor *x_tensor, double alpha)
{
  (void)dev;
  const size_t n = lh_tensor_elements(x_tensor);
  const real a = (real)alpha;
  real *x = x_tensor->data;
  for (size_t i = 0; i < n; i++)
    x[i] *= a;
  return LH_OK;
}

static lh_status NAME(sign)(lh_device *dev, lh_tensor *y_tensor, const lh_tensor *x_tensor)
{
  (void)dev;
  const size_t n = lh_tensor_elements(y_tensor);
  const real *x = x_tensor->data;
  real *y = y_tensor->data;
  ELEMENTWISE
  for (size_t i = 0; i < n; i++) { /* NaN has no sign and stays NaN */
    const real v = x[i], negative = v < 0 ? -1 : v;
    y[i] = v > 0 ? 1 : negative;
  }
  return LH_OK;
}

/* grad += (a (x - s)) scale; the loss in ascending order. */
static lh_status NAME(quadratic)(lh_device *dev, lh_tensor *grad, const lh_tensor *x_tensor,
                                 const lh_tensor *a_tensor, const lh_tensor *s_tensor, double scale,
                                 double *loss)
{
  (void)dev;
  const size_t n = lh_tensor_elements(x_tensor);
  const real *x = x_tensor->data, *a = a_tensor->data, *s = s_tensor->data, f = (real)scale;
  real *g = grad->data;
  ELEMENTWISE
  for (size_t i = 0; i < n; i++)
    g[i] += (a[i] * (x[i] - s[i])) * f;
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) {
    const double d = (double)x[i] - (double)s[i];
    sum += 0.5 * (double)a[i] * d * d;
  }
  *loss += sum;
  return LH_OK;
}

/* Blocks of 1024; in a block sixteen lanes, element i in lane i mod 16, added by halves. */
static double NAME(block_squares)(const real *x, size_t n)
{
  double s[16] = {0};
  size_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (size_t j = 0; j < 16; j++)
      s[j] += (double)x[i + j] * (double)x[i + j];
  for (size_t j = 0; i + j < n; j++)
    s[j] += (double)x[i + j] * (double)x[i + j];
  for (size_t half = 8; half; half /= 2)
    for (size_t j = 0; j < half; j++)
      s[j] += s[j + half];
  return s[0];
}

static lh_status NAME(sum_squares)(lh_device *dev, const lh_tensor *x_tensor, double *sum)
{
  (void)dev;
  const size_t n = lh_tensor_elements(x_tensor);
  const real *x = x_tensor->data;
  double total = 0.0;
  for (size_t i = 0; i < n; i += 1024)
    total += NAME(block_squares)(x + i, n - i < 1024 ? n - i : 1024);
  *sum = total;
  return LH_OK;
}

/* The draws of lh_draw_normal with the mixing of (seed, purpose, stream) done once. */
static lh_status NAME(fill_normal)(lh_device *dev, lh_tensor *x_tensor, double deviation,
                                   uint64_t seed, uint64_t stream)
{
  (void)dev;
  const size_t n = lh_tensor_elements(x_tensor);
  const uint64_t key = lh_mix64(lh_mix64(lh_mix64(seed) ^ LH_PURPOSE_PARAMETERS) ^ stream);
  real *x = x_tensor->data;
  for (size_t i = 0; i < n; i++) {
    const double u = 1.0 - (double)(lh_mix64(key ^ (2 * i)) >> 11) * 0x1p-53;
    const double v = (double)(lh_mix64(key ^ (2 * i + 1)) >> 11) * 0x1p-53;
    x[i] = (real)(deviation * (sqrt(-2.0 * log(u)) * cos(2.0 * M_PI * v)));
  }
  return LH_OK;
}

void NAME(lh_cpu_elementwise)(lh_operations *ops);
void NAME(lh_cpu_elementwise)(lh_operations *ops)
{
  ops->fill = NAME(fill);
  ops->axpby = NAME(axpby);
  ops->add = NAME(add);
  ops->subtract = NAME(subtract);
  ops->multiply = NAME(multiply);
  ops->scale = NAME(scale);
  ops->sign = NAME(sign);
  ops->quadratic = NAME(quadratic);
  ops->sum_squares = NAME(sum_squares);
  ops->fill_normal = NAME(fill_normal);
}
#endif
