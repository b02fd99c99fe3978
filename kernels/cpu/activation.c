/* Activations and their derivatives. Once per variant: see variants.h.
 *
 * GELU in its tanh form is x s(x) with s the logistic function of 2u, u = sqrt(2/pi) (x + 0.044715 x^3),
 * because (1 + tanh u) / 2 = 1 / (1 + e^-2u): no tanh is needed, and nothing cancels for negative x.
 */
#ifndef LH_VARIANT
#include "kernels/check.h"

#define LH_TEMPLATE "kernels/cpu/activation.c"
#include "kernels/cpu/variants.h"
#else

#define GELU_LINEAR ((real)1.5957691216057308)  /* 2 sqrt(2 / pi) */
#define GELU_CUBIC ((real)0.071354816272600250) /* 0.044715 times that */

/* An argument of e^-2u that is larger than this gives s = 0 within the range of normal numbers. */
#define LOGISTIC_LIMIT ((real)(LH_REAL_BITS == 32 ? 86 : 700))

static void NAME(relu_forward)(real *y, const real *x, size_t n)
{
  ELEMENTWISE
  for (size_t i = 0; i < n; i++)
    y[i] = x[i] < 0 ? 0 : x[i]; /* this way round, NaN stays */
}

static void NAME(relu_backward)(real *dx, const real *dy, const real *x, size_t n)
{
  ELEMENTWISE
  for (size_t i = 0; i < n; i++)
    dx[i] = x[i] <= 0 ? 0 : dy[i];
}

/* e^-z, bounded so that it stays finite; s = 1 / (1 + e), 1 - s = e s. */
static inline real NAME(falling)(real z)
{
  z = -z > LOGISTIC_LIMIT ? -LOGISTIC_LIMIT : z;
  return NAME(exp)(-z);
}

static void NAME(gelu_forward)(real *y, const real *x, size_t n)
{
  ELEMENTWISE
  for (size_t i = 0; i < n; i++) {
    const real v = x[i], z = v * (GELU_LINEAR + GELU_CUBIC * (v * v));
    y[i] = v / (1 + NAME(falling)(z));
  }
}

static void NAME(gelu_backward)(real *dx, const real *dy, const real *x, size_t n)
{
  ELEMENTWISE
  for (size_t i = 0; i < n; i++) {
    const real v = x[i], v2 = v * v;
    const real e = NAME(falling)(v * (GELU_LINEAR + GELU_CUBIC * v2));
    const real s = 1 / (1 + e), slope = GELU_LINEAR + 3 * GELU_CUBIC * v2;
    dx[i] = dy[i] * (s + v * slope * (e * s * s));
  }
}

static void NAME(silu_forward)(real *y, const real *x, size_t n)
{
  ELEMENTWISE
  for (size_t i = 0; i < n; i++)
    y[i] = x[i] / (1 + NAME(falling)(x[i]));
}

static void NAME(silu_backward)(real *dx, const real *dy, const real *x, size_t n)
{
  ELEMENTWISE
  for (size_t i = 0; i < n; i++) {
    const real e = NAME(falling)(x[i]), s = 1 / (1 + e);
    dx[i] = dy[i] * (s + x[i] * (e * s * s));
  }
}

static lh_status NAME(activation_forward)(lh_device *dev, lh_activation kind, lh_tensor *y,
                                          const lh_tensor *x)
{
  static void (*const table[])(real *, const real *, size_t) = {[LH_RELU] = NAME(relu_forward),
                                                                [LH_GELU] = NAME(gelu_forward),
                                                                [LH_SILU] = NAME(silu_forward)};
  (void)dev;
  table[kind](y->data, x->data, lh_tensor_elements(x));
  return LH_OK;
}

static lh_status NAME(activation_backward)(lh_device *dev, lh_activation kind, lh_tensor *dx,
                                           const lh_tensor *dy, const lh_tensor *x)
{
  static void (*const table[])(real *, const real *, const real *,
                               size_t) = {[LH_RELU] = NAME(relu_backward),
                                          [LH_GELU] = NAME(gelu_backward),
                                          [LH_SILU] = NAME(silu_backward)};
  (void)dev;
  table[kind](dx->data, dy->data, x->data, lh_tensor_elements(x));
  return LH_OK;
}

#undef GELU_LINEAR
#undef GELU_CUBIC
#undef LOGISTIC_LIMIT

void NAME(lh_cpu_activation)(lh_operations *ops);
void NAME(lh_cpu_activation)(lh_operations *ops)
{
  ops->activation_forward = NAME(activation_forward);
  ops->activation_backward = NAME(activation_backward);
}
#endif
