/* Layer norm and RMS norm, row by row. Once per variant: see variants.h. */
#ifndef LH_VARIANT
#include "kernels/check.h"

#define LH_TEMPLATE "kernels/cpu/norm.c"
#include "kernels/cpu/variants.h"
#else

static lh_status NAME(layer_norm_forward)(lh_device *dev, lh_tensor *y, lh_tensor *mean,
                                          lh_tensor *rstd, const lh_tensor *x,
                                          const lh_tensor *gamma, const lh_tensor *beta,
                                          double epsilon)
{
  (void)dev;
  const size_t n = lh_rows(x), c = lh_columns(x);
  const real *g = gamma->data, *b = beta ? beta->data : NULL;
  for (size_t i = 0; i < n; i++) {
    const real *xi = (const real *)x->data + i * c;
    real *yi = (real *)y->data + i * c;
    const real m = NAME(sum)(xi, c) / (real)c;
    const real variance = NAME(spread)(xi, m, c) / (real)c;
    const real r = 1 / (real)sqrt((double)(variance + (real)epsilon));
    if (b) {
      ELEMENTWISE
      for (size_t j = 0; j < c; j++)
        yi[j] = (xi[j] - m) * r * g[j] + b[j];
    } else {
      ELEMENTWISE
      for (size_t j = 0; j < c; j++)
        yi[j] = (xi[j] - m) * r * g[j];
    }
    ((real *)mean->data)[i] = m;
    ((real *)rstd->data)[i] = r;
  }
  return LH_OK;
}

/* With h = (x - mean) rstd and t = dy gamma: dx += rstd (t - mean(t) - h mean(t h)). */
static lh_status NAME(layer_norm_backward)(lh_device *dev, lh_tensor *dx, lh_tensor *dgamma,
                                           lh_tensor *dbeta, const lh_tensor *dy,
                                           const lh_tensor *x, const lh_tensor *gamma,
                                           const lh_tensor *mean, const lh_tensor *rstd)
{
  (void)dev;
  const size_t n = lh_rows(x), c = lh_columns(x);
  const real *g = gamma->data;
  real *dg = dgamma->data, *db = dbeta ? dbeta->data : NULL;
  for (size_t i = 0; i < n; i++) {
    const real *xi = (const real *)x->data + i * c, *dyi = (const real *)dy->data + i * c;
    real *dxi = (real *)dx->data + i * c;
    const real m = ((const real *)mean->data)[i], r = ((const real *)rstd->data)[i];

    lanes t_sum = {0}, th_sum = {0};
    size_t j = 0;
    for (; j + LANES <= c; j += LANES) {
      const lanes h = (LOAD(xi + j) - m) * r, t = LOAD(dyi + j) * LOAD(g + j);
      t_sum += t;
      th_sum += t * h;
    }
    LOAD_TAIL(x_tail, xi + j, c - j, m);
    LOAD_TAIL(t_tail, dyi + j, c - j, 0);
    LOAD_TAIL(g_tail, g + j, c - j, 0);
    t_tail *= g_tail;
    t_sum += t_tail;
    th_sum += t_tail * ((x_tail - m) * r);
    const real t_mean = NAME(fold)(&t_sum) / (real)c, th_mean = NAME(fold)(&th_sum) / (real)c;

    ELEMENTWISE
    for (j = 0; j < c; j++) {
      const real h = (xi[j] - m) * r;
      dg[j] += dyi[j] * h;
      dxi[j] += r * ((dyi[j] * g[j] - t_mean) - h * th_mean);
    }
    if (db) {
      ELEMENTWISE
      for (j = 0; j < c; j++)
        db[j] += dyi[j];
    }
  }
  return LH_OK;
}

static lh_status NAME(rms_norm_forward)(lh_device *dev, lh_tensor *y, lh_tensor *rstd,
                                        const lh_tensor *x, const lh_tensor *gamma, double epsilon)
{
  (void)dev;
  const size_t n = lh_rows(x), c = lh_columns(x);
  const real *g = gamma->data;
  for (size_t i = 0; i < n; i++) {
    const real *xi = (const real *)x->data + i * c;
    real *yi = (real *)y->data + i * c;
    const real square = NAME(dot)(xi, xi, c) / (real)c;
    const real r = 1 / (real)sqrt((double)(square + (real)epsilon));
    ELEMENTWISE
    for (size_t j = 0; j < c; j++)
      yi[j] = xi[j] * r * g[j];
    ((real *)rstd->data)[i] = r;
  }
  return LH_OK;
}

/* With h = x rstd and t = dy gamma: dx += rstd (t - h mean(t h)). */
static lh_status NAME(rms_norm_backward)(lh_device *dev, lh_tensor *dx, lh_tensor *dgamma,
                                         const lh_tensor *dy, const lh_tensor *x,
                                         const lh_tensor *gamma, const lh_tensor *rstd)
{
  (void)dev;
  const size_t n = lh_rows(x), c = lh_columns(x);
  const real *g = gamma->data;
  real *dg = dgamma->data;
  for (size_t i = 0; i < n; i++) {
    const real *xi = (const real *)x->data + i * c, *dyi = (const real *)dy->data + i * c;
    real *dxi = (real *)dx->data + i * c;
    const real r = ((const real *)rstd->data)[i];

    lanes th_sum = {0};
    size_t j = 0;
    for (; j + LANES <= c; j += LANES)
      th_sum += (LOAD(dyi + j) * LOAD(g + j)) * (LOAD(xi + j) * r);
    LOAD_TAIL(x_tail, xi + j, c - j, 0);
    LOAD_TAIL(t_tail, dyi + j, c - j, 0);
    LOAD_TAIL(g_tail, g + j, c - j, 0);
    th_sum += (t_tail * g_tail) * (x_tail * r);
    const real th_mean = NAME(fold)(&th_sum) / (real)c;

    ELEMENTWISE
    for (j = 0; j < c; j++) {
      const real h = xi[j] * r;
      dg[j] += dyi[j] * h;
      dxi[j] += r * (dyi[j] * g[j] - h * th_mean);
    }
  }
  return LH_OK;
}

void NAME(lh_cpu_norm)(lh_operations *ops);
void NAME(lh_cpu_norm)(lh_operations *ops)
{
  ops->layer_norm_forward = NAME(layer_norm_forward);
  ops->layer_norm_backward = NAME(layer_norm_backward);
  ops->rms_norm_forward = NAME(rms_norm_forward);
  ops->rms_norm_backward = NAME(rms_norm_backward);
}
#endif
