/* Norms against plain loops in double, gradients also against finite differences.
 *
 * Bound: a sum over c runs in at least 16 lanes, so it has at most c / 16 + 5 roundings; the formula
 * around it has some 10 more. The magnitude of (x - mean) rstd is (|x| + |mean|) rstd. */
#include "kernel_case.h"

static const double EPSILON = 1e-5;

/* Sums of the references are in extended precision, or double would be compared with its own noise. */
typedef long double real_sum;

struct row {
  double mean, rstd;
};

static struct row layer_row(const double *x, size_t c)
{
  real_sum sum = 0, variance = 0;
  for (size_t j = 0; j < c; j++)
    sum += x[j];
  const real_sum mean = sum / c;
  for (size_t j = 0; j < c; j++)
    variance += (x[j] - mean) * (x[j] - mean);
  return (struct row){(double)mean, (double)(1 / sqrtl(variance / c + EPSILON))};
}

static struct row rms_row(const double *x, size_t c)
{
  real_sum square = 0;
  for (size_t j = 0; j < c; j++)
    square += (real_sum)x[j] * x[j];
  return (struct row){0, (double)(1 / sqrtl(square / c + EPSILON))};
}

struct reference {
  double *y, *dx, *dgamma, *dbeta, *mean, *rstd;       /* values */
  double *y_, *dx_, *dgamma_, *dbeta_, *mean_, *rstd_; /* magnitudes */
};

/* Both norms in one: the RMS norm has mean 0 and no mean of t in its gradient. dx, dgamma and dbeta
 * come in with their starting values. */
static void reference(bool layer, size_t n, size_t c, const double *x, const double *g,
                      const double *b, const double *dy, struct reference *r)
{
  for (size_t i = 0; i < n; i++) {
    const double *xi = x + i * c, *dyi = dy + i * c;
    const struct row s = layer ? layer_row(xi, c) : rms_row(xi, c);
    real_sum t_mean = 0, th_mean = 0, t_size = 0, th_size = 0;
    r->mean[i] = s.mean;
    r->rstd[i] = s.rstd;
    for (size_t j = 0; j < c; j++) {
      const real_sum h = ((real_sum)xi[j] - s.mean) * s.rstd, t = (real_sum)dyi[j] * g[j];
      const double h_size = (fabs(xi[j]) + fabs(s.mean)) * s.rstd;
      r->mean_[i] += fabs(xi[j]) / (double)c;
      t_mean += layer ? t / (double)c : 0;
      t_size += layer ? fabsl(t) / (double)c : 0;
      th_mean += t * h / (double)c;
      th_size += fabsl(t) * h_size / (double)c;
      r->y[i * c + j] = (double)(h * g[j] + (b ? b[j] : 0));
      r->y_[i * c + j] = h_size * fabs(g[j]) + (b ? fabs(b[j]) : 0);
      r->dgamma[j] += (double)(dyi[j] * h);
      r->dgamma_[j] += fabs(dyi[j]) * h_size;
      r->dbeta[j] += dyi[j];
      r->dbeta_[j] += fabs(dyi[j]);
    }
    /* A relative error of the variance is amplified where the row's spread is small beside its size. */
    double spread = EPSILON, size = EPSILON;
    for (size_t j = 0; j < c; j++) {
      spread += (xi[j] - s.mean) * (xi[j] - s.mean) / (double)c;
      size += fabs(xi[j] - s.mean) * (fabs(xi[j]) + fabs(s.mean)) / (double)c;
    }
    r->rstd_[i] = s.rstd * (size / spread);
    for (size_t j = 0; j < c; j++) {
      const real_sum h = ((real_sum)xi[j] - s.mean) * s.rstd;
      const double h_size = (fabs(xi[j]) + fabs(s.mean)) * s.rstd;
      r->dx_[i * c + j] = fabs(r->dx[i * c + j]) +
                          s.rstd *
                              (fabs(dyi[j] * g[j]) + (double)t_size + h_size * (double)th_size) *
                              (size / spread);
      r->dx[i * c + j] += (double)(s.rstd * (dyi[j] * g[j] - t_mean - h * th_mean));
      r->y_[i * c + j] *= size / spread;
    }
  }
}

static struct reference reference_new(size_t n, size_t c)
{
  struct reference r;
  double **arrays[] = {&r.y,  &r.dx,  &r.dgamma,  &r.dbeta,  &r.mean,  &r.rstd,
                       &r.y_, &r.dx_, &r.dgamma_, &r.dbeta_, &r.mean_, &r.rstd_};
  for (size_t i = 0; i < 12; i++)
    *arrays[i] = numbers(n * c + n + c);
  return r;
}

static void test_norm(lh_device *dev, lh_dtype dtype, bool layer, size_t n, size_t c, bool shifted)
{
  guarded x = guarded_2d(dev, dtype, n, c), y = guarded_2d(dev, dtype, n, c);
  guarded dy = guarded_2d(dev, dtype, n, c), dx = guarded_2d(dev, dtype, n, c);
  guarded gamma = guarded_1d(dev, dtype, c), beta = guarded_1d(dev, dtype, c);
  guarded dgamma = guarded_1d(dev, dtype, c), dbeta = guarded_1d(dev, dtype, c);
  guarded mean = guarded_1d(dev, dtype, n), rstd = guarded_1d(dev, dtype, n);
  const double *xv = guarded_draw(&x, 1, 2), *dyv = guarded_draw(&dy, 2, 1);
  const double *gv = guarded_draw(&gamma, 3, 1), *bv = guarded_draw(&beta, 4, 1);
  struct reference r = reference_new(n, c);
  memcpy(r.dx, guarded_draw(&dx, 5, 1), n * c * sizeof(double));
  memcpy(r.dgamma, guarded_draw(&dgamma, 6, 1), c * sizeof(double));
  memcpy(r.dbeta, guarded_draw(&dbeta, 7, 1), c * sizeof(double));
  for (size_t j = 0; j < c; j++) {
    r.dgamma_[j] = fabs(r.dgamma[j]);
    r.dbeta_[j] = fabs(r.dbeta[j]);
  }
  reference(layer, n, c, xv, gv, layer && shifted ? bv : NULL, dyv, &r);

  if (layer) {
    REQUIRE_OK(lh_layer_norm_forward(dev, &y.t, &mean.t, &rstd.t, &x.t, &gamma.t,
                                     shifted ? &beta.t : NULL, EPSILON));
    REQUIRE_OK(lh_layer_norm_backward(dev, &dx.t, &dgamma.t, shifted ? &dbeta.t : NULL, &dy.t, &x.t,
                                      &gamma.t, &mean.t, &rstd.t));
  } else {
    REQUIRE_OK(lh_rms_norm_forward(dev, &y.t, &rstd.t, &x.t, &gamma.t, EPSILON));
    REQUIRE_OK(lh_rms_norm_backward(dev, &dx.t, &dgamma.t, &dy.t, &x.t, &gamma.t, &rstd.t));
  }
  const double along = (double)c / 16 + 15, across = (double)n + along;
  const char *const name[2][5] = {
      {"rms norm y", "rms norm dx", "rms norm dgamma", "rms norm rstd", ""},
      {"layer norm y", "layer norm dx", "layer norm dgamma", "layer norm rstd", "layer norm mean"}};
  compare(name[layer][0], dtype, guarded_get(&y, "norm y"), r.y, r.y_, n * c, along);
  compare(name[layer][1], dtype, guarded_get(&dx, "norm dx"), r.dx, r.dx_, n * c, along);
  compare(name[layer][2], dtype, guarded_get(&dgamma, "norm dgamma"), r.dgamma, r.dgamma_, c,
          across);
  compare(name[layer][3], dtype, guarded_get(&rstd, "norm rstd"), r.rstd, r.rstd_, n, along);
  if (layer)
    compare(name[1][4], dtype, guarded_get(&mean, "norm mean"), r.mean, r.mean_, n, along);
  if (layer && shifted)
    compare("layer norm dbeta", dtype, guarded_get(&dbeta, "norm dbeta"), r.dbeta, r.dbeta_, c,
            across);
  FREE(&x, &y, &dy, &dx, &gamma, &beta, &dgamma, &dbeta, &mean, &rstd);
  forget_numbers();
}

/* sum(dy * y) as a function of x and gamma, in the double kernels. */
static double objective(lh_device *dev, bool layer, guarded *x, guarded *gamma, guarded *y,
                        guarded *mean, guarded *rstd, const double *dy)
{
  if (layer)
    REQUIRE_OK(
        lh_layer_norm_forward(dev, &y->t, &mean->t, &rstd->t, &x->t, &gamma->t, NULL, EPSILON));
  else
    REQUIRE_OK(lh_rms_norm_forward(dev, &y->t, &rstd->t, &x->t, &gamma->t, EPSILON));
  const double *yv = guarded_get(y, "norm y");
  double sum = 0;
  for (size_t i = 0; i < y->n; i++)
    sum += dy[i] * yv[i];
  return sum;
}

/* Central differences with step 1e-5: the error is step^2 times a third derivative, some 1e-9, plus
 * 1e-16 / 1e-5 of rounding. */
static void test_differences(lh_device *dev, bool layer)
{
  const size_t n = 2, c = 13;
  guarded x = guarded_2d(dev, LH_F64, n, c), y = guarded_2d(dev, LH_F64, n, c);
  guarded dy = guarded_2d(dev, LH_F64, n, c), dx = guarded_2d(dev, LH_F64, n, c);
  guarded gamma = guarded_1d(dev, LH_F64, c), dgamma = guarded_1d(dev, LH_F64, c);
  guarded mean = guarded_1d(dev, LH_F64, n), rstd = guarded_1d(dev, LH_F64, n);
  const double *dyv = guarded_draw(&dy, 2, 1);
  double *xv = guarded_draw(&x, 1, 2), *gv = guarded_draw(&gamma, 3, 1);
  guarded_draw(&dx, 4, 0), guarded_draw(&dgamma, 5, 0);
  objective(dev, layer, &x, &gamma, &y, &mean, &rstd, dyv);
  if (layer)
    REQUIRE_OK(lh_layer_norm_backward(dev, &dx.t, &dgamma.t, NULL, &dy.t, &x.t, &gamma.t, &mean.t,
                                      &rstd.t));
  else
    REQUIRE_OK(lh_rms_norm_backward(dev, &dx.t, &dgamma.t, &dy.t, &x.t, &gamma.t, &rstd.t));
  struct {
    guarded *at;
    double *values;
    const double *gradient;
  } inputs[] = {{&x, xv, guarded_get(&dx, "dx")}, {&gamma, gv, guarded_get(&dgamma, "dgamma")}};
  for (size_t k = 0; k < 2; k++)
    for (size_t i = 0; i < inputs[k].at->n; i++) {
      const double kept = inputs[k].values[i], step = 1e-5;
      double f[2];
      for (int s = 0; s < 2; s++) {
        inputs[k].values[i] = kept + (s ? step : -step);
        guarded_set(inputs[k].at, inputs[k].values);
        f[s] = objective(dev, layer, &x, &gamma, &y, &mean, &rstd, dyv);
      }
      inputs[k].values[i] = kept;
      guarded_set(inputs[k].at, inputs[k].values);
      CHECK_NEAR(inputs[k].gradient[i], (f[1] - f[0]) / (2 * step), 1e-7, "%s norm, input %zu, %zu",
                 layer ? "layer" : "rms", k, i);
    }
  FREE(&x, &y, &dy, &dx, &gamma, &dgamma, &mean, &rstd);
  forget_numbers();
}

static void test_nan(lh_device *dev)
{
  guarded x = guarded_2d(dev, LH_F32, 2, 40), y = guarded_2d(dev, LH_F32, 2, 40);
  guarded gamma = guarded_1d(dev, LH_F32, 40);
  guarded mean = guarded_1d(dev, LH_F32, 2), rstd = guarded_1d(dev, LH_F32, 2);
  double *xv = guarded_draw(&x, 1, 1);
  guarded_draw(&gamma, 2, 1);
  xv[7] = NAN;
  guarded_set(&x, xv);
  REQUIRE_OK(lh_layer_norm_forward(dev, &y.t, &mean.t, &rstd.t, &x.t, &gamma.t, NULL, EPSILON));
  const double *yv = guarded_get(&y, "norm y");
  for (size_t i = 0; i < 80; i++)
    CHECK(isnan(yv[i]) == (i < 40), "a NaN spoils its own row only, element %zu is %g", i, yv[i]);
  FREE(&x, &y, &gamma, &mean, &rstd);
  forget_numbers();
}

int main(void)
{
  lh_device *dev = open_device(&lh_backend_cpu);
  FOR_DTYPES(dtype)
  for (int layer = 0; layer < 2; layer++) {
    for (size_t j = 0; j < CASE_SIZES; j++)
      test_norm(dev, dtype, layer, case_sizes[(j + 3) % 5], case_sizes[j], j % 2 == 0);
    test_norm(dev, dtype, layer, 5, 40001, true);
  }
  test_differences(dev, true);
  test_differences(dev, false);
  test_nan(dev);
  print_errors();
  lh_device_close(dev);
  return check_report("norm");
}
