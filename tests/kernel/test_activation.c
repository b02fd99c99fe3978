/* Activations against the formulas of the papers in extended precision, derivatives also against
 * differences. Bound: the exponential is good to 2 ulp, and an argument of size z carries a relative
 * error of a few eps, which e^z turns into z of them; around it lie some ten roundings. */
#include "kernel_case.h"

static const char *const names[] = {[LH_RELU] = "relu", [LH_GELU] = "gelu", [LH_SILU] = "silu"};

static long double gelu_inner(long double x)
{
  return sqrtl(2.0L / acosl(-1.0L)) * (x + 0.044715L * x * x * x);
}

/* (1 + tanh u) / 2 and (1 - tanh u) / 2 without their cancellation. */
static long double upper(long double u)
{
  return 1 / (1 + expl(-2 * u));
}

static long double value(lh_activation kind, long double x)
{
  switch (kind) {
  case LH_RELU:
    return x > 0 ? x : 0;
  case LH_GELU:
    return x * upper(gelu_inner(x));
  default:
    return x / (1 + expl(-x));
  }
}

static long double slope(lh_activation kind, long double x)
{
  const long double u = gelu_inner(x), s = 1 / (1 + expl(-x));
  switch (kind) {
  case LH_RELU:
    return x > 0;
  case LH_GELU:
    return upper(u) +
           2 * x * upper(u) * upper(-u) * sqrtl(2.0L / acosl(-1.0L)) * (1 + 3 * 0.044715L * x * x);
  default:
    return s + x * s * (1 - s);
  }
}

static void test_kind(lh_device *dev, lh_dtype dtype, lh_activation kind, size_t n, double scale)
{
  guarded x = guarded_1d(dev, dtype, n), y = guarded_1d(dev, dtype, n);
  guarded dy = guarded_1d(dev, dtype, n), dx = guarded_1d(dev, dtype, n);
  double *xv = guarded_draw(&x, 1, scale);
  const double *dyv = guarded_draw(&dy, 2, 1);
  if (n > 2) {
    xv[1] = 0;
    guarded_set(&x, xv);
  }
  double *want = numbers(n), *dwant = numbers(n), *magnitude = numbers(n), *dmagnitude = numbers(n);
  for (size_t i = 0; i < n; i++) {
    const double z = 2 * fabs((double)gelu_inner(xv[i])) + fabs(xv[i]);
    want[i] = (double)value(kind, xv[i]);
    dwant[i] = dyv[i] * (double)slope(kind, xv[i]);
    magnitude[i] = fabs(want[i]) * (1 + z);
    /* The two terms of the derivative cancel near its zero. */
    const double s = 1 / (1 + exp(kind == LH_GELU ? -2 * (double)gelu_inner(xv[i]) : -xv[i]));
    dmagnitude[i] =
        fabs(dyv[i]) * (s + (1 + z) * z * s * (1 - s) * 3 + (kind == LH_RELU)) * (1 + z);
  }
  REQUIRE_OK(lh_activation_forward(dev, kind, &y.t, &x.t));
  REQUIRE_OK(lh_activation_backward(dev, kind, &dx.t, &dy.t, &x.t));
  char *what = (char *)(uintptr_t)names[kind];
  compare(what, dtype, guarded_get(&y, what), want, magnitude, n, 8);
  static const char *const dnames[] = {
      [LH_RELU] = "relu backward", [LH_GELU] = "gelu backward", [LH_SILU] = "silu backward"};
  compare(dnames[kind], dtype, guarded_get(&dx, dnames[kind]), dwant, dmagnitude, n, 8);

  const double *apart = guarded_get(&dx, dnames[kind]);
  REQUIRE_OK(lh_activation_backward(dev, kind, &dy.t, &dy.t, &x.t)); /* dx may be dy */
  const double *inside = guarded_get(&dy, dnames[kind]);
  for (size_t i = 0; i < n; i++)
    CHECK(apart[i] == inside[i], "%s in place, element %zu: %g beside %g", names[kind], i,
          inside[i], apart[i]);
  FREE(&x, &y, &dy, &dx);
  forget_numbers();
}

static void test_differences(lh_device *dev, lh_activation kind)
{
  enum { N = 61 };
  const double step = 1e-6;
  guarded x = guarded_1d(dev, LH_F64, 2 * N), y = guarded_1d(dev, LH_F64, 2 * N);
  guarded at = guarded_1d(dev, LH_F64, N), one = guarded_1d(dev, LH_F64, N);
  guarded dx = guarded_1d(dev, LH_F64, N);
  double *both = numbers(2 * N), *ones = numbers(N);
  const double *xv = guarded_draw(&at, 3, 4);
  for (size_t i = 0; i < N; i++) {
    both[i] = xv[i] - step;
    both[N + i] = xv[i] + step;
    ones[i] = 1;
  }
  guarded_set(&x, both), guarded_set(&one, ones);
  REQUIRE_OK(lh_activation_forward(dev, kind, &y.t, &x.t));
  REQUIRE_OK(lh_activation_backward(dev, kind, &dx.t, &one.t, &at.t));
  const double *yv = guarded_get(&y, "y"), *got = guarded_get(&dx, "dx");
  for (size_t i = 0; i < N; i++) /* 1e-16 / 1e-6 of rounding, step^2 of truncation */
    CHECK_NEAR(got[i], (yv[N + i] - yv[i]) / (2 * step), 1e-8, "%s at %g", names[kind], xv[i]);
  FREE(&x, &y, &at, &one, &dx);
  forget_numbers();
}

/* Far out nothing overflows: f(x) -> x or 0, f'(x) -> 1 or 0. */
static void test_far(lh_device *dev, lh_dtype dtype, lh_activation kind)
{
  const double far[] = {-3e4, -200, -90, 90, 200, 3e4};
  guarded x = guarded_1d(dev, dtype, 6), y = guarded_1d(dev, dtype, 6),
          one = guarded_1d(dev, dtype, 6);
  guarded dx = guarded_1d(dev, dtype, 6);
  guarded_set(&x, (double *)(uintptr_t)far);
  guarded_set(&one, (double[]){1, 1, 1, 1, 1, 1});
  REQUIRE_OK(lh_activation_forward(dev, kind, &y.t, &x.t));
  REQUIRE_OK(lh_activation_backward(dev, kind, &dx.t, &one.t, &x.t));
  const double *yv = guarded_get(&y, "y"), *dxv = guarded_get(&dx, "dx");
  for (size_t i = 0; i < 6; i++) {
    CHECK_NEAR(yv[i], far[i] > 0 ? far[i] : 0, 1e-20, "%s(%g)", names[kind], far[i]);
    CHECK_NEAR(dxv[i], far[i] > 0, 1e-20, "%s'(%g)", names[kind], far[i]);
  }
  FREE(&x, &y, &one, &dx);
  forget_numbers();
}

static void test_nan(lh_device *dev, lh_activation kind)
{
  guarded x = guarded_1d(dev, LH_F32, 40), y = guarded_1d(dev, LH_F32, 40);
  double *xv = guarded_draw(&x, 1, 1);
  xv[3] = NAN;
  guarded_set(&x, xv);
  REQUIRE_OK(lh_activation_forward(dev, kind, &y.t, &x.t));
  const double *yv = guarded_get(&y, "y");
  for (size_t i = 0; i < 40; i++)
    CHECK(isnan(yv[i]) == (i == 3), "%s of NaN, element %zu is %g", names[kind], i, yv[i]);
  FREE(&x, &y);
  forget_numbers();
}

int main(void)
{
  lh_device *dev = open_device(&lh_backend_cpu);
  for (int kind = LH_RELU; kind <= LH_SILU; kind++) {
    FOR_DTYPES(dtype)
    {
      for (size_t j = 0; j < CASE_SIZES; j++)
        test_kind(dev, dtype, kind, case_sizes[j], 3);
      test_kind(dev, dtype, kind, 30011, 8);
      test_far(dev, dtype, kind);
    }
    if (kind != LH_RELU)
      test_differences(dev, kind);
    test_nan(dev, kind);
  }
  print_errors();
  lh_device_close(dev);
  return check_report("activation");
}
