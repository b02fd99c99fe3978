/* Element-wise operations: every one is a fixed sequence of correctly rounded operations, so the tests
 * ask for equality with the same sequence, or with exact arithmetic. */
#include "kernel_case.h"

static double rounded(lh_dtype dtype, double x)
{
  return dtype == LH_F64 ? x : (double)(float)x;
}

static void expect_equal(const char *what, lh_dtype dtype, const guarded *y, const double *want)
{
  const double *got = guarded_get(y, what);
  for (size_t i = 0; i < y->n; i++)
    CHECK(got[i] == want[i], "%s (%s), element %zu of %zu: got %.9g, expected %.9g", what,
          lh_dtype_name(dtype), i, y->n, got[i], want[i]);
}

static void test_binary(lh_device *dev, lh_dtype dtype, size_t n)
{
  guarded a = guarded_1d(dev, dtype, n), b = guarded_1d(dev, dtype, n),
          y = guarded_1d(dev, dtype, n);
  const double *av = guarded_draw(&a, 1, 3), *bv = guarded_draw(&b, 2, 3);
  double *sum = numbers(n), *difference = numbers(n), *product = numbers(n);
  for (size_t i = 0; i < n; i++) {
    sum[i] = rounded(dtype, av[i] + bv[i]);
    difference[i] = rounded(dtype, av[i] - bv[i]);
    product[i] = rounded(dtype, av[i] * bv[i]); /* a product of floats is exact in double */
  }
  REQUIRE_OK(lh_add(dev, &y.t, &a.t, &b.t));
  expect_equal("add", dtype, &y, sum);
  REQUIRE_OK(lh_subtract(dev, &y.t, &a.t, &b.t));
  expect_equal("subtract", dtype, &y, difference);
  REQUIRE_OK(lh_multiply(dev, &y.t, &a.t, &b.t));
  expect_equal("multiply", dtype, &y, product);
  REQUIRE_OK(lh_subtract(dev, &a.t, &a.t, &b.t)); /* in place */
  expect_equal("subtract in place", dtype, &a, difference);
  FREE(&a, &b, &y);
  forget_numbers();
}

static void test_unary(lh_device *dev, lh_dtype dtype, size_t n)
{
  guarded x = guarded_1d(dev, dtype, n), y = guarded_1d(dev, dtype, n);
  double *xv = guarded_draw(&x, 1, 3), *want = numbers(n);
  for (size_t i = 0; i < n; i += 5)
    xv[i] = i % 2 ? -0.0 : 0.0;
  guarded_set(&x, xv);

  for (size_t i = 0; i < n; i++)
    want[i] = (xv[i] > 0) - (xv[i] < 0);
  REQUIRE_OK(lh_sign(dev, &y.t, &x.t));
  expect_equal("sign", dtype, &y, want);
  REQUIRE_OK(lh_copy(dev, &y.t, &x.t));
  expect_equal("copy", dtype, &y, xv);
  for (size_t i = 0; i < n; i++)
    want[i] = rounded(dtype, xv[i] * (double)(float)-0.625f);
  REQUIRE_OK(lh_scale(dev, &y.t, -0.625));
  expect_equal("scale", dtype, &y, want);
  for (size_t i = 0; i < n; i++)
    want[i] = rounded(dtype, 0.1);
  REQUIRE_OK(lh_fill(dev, &y.t, 0.1));
  expect_equal("fill", dtype, &y, want);
  FREE(&x, &y);
  forget_numbers();
}

/* Both products are rounded, then the sum; volatile keeps the compiler from anything else. */
static double axpby(lh_dtype dtype, double alpha, double x, double beta, double y)
{
  volatile double ax = rounded(dtype, rounded(dtype, alpha) * x);
  volatile double by = rounded(dtype, rounded(dtype, beta) * y);
  return beta == 0 ? ax : rounded(dtype, ax + by);
}

static void test_axpby(lh_device *dev, lh_dtype dtype, size_t n)
{
  static const double factors[] = {0, 1, -1, 0.1, 2.385};
  for (size_t ia = 0; ia < 5; ia++)
    for (size_t ib = 0; ib < 5; ib++) {
      guarded x = guarded_1d(dev, dtype, n), y = guarded_1d(dev, dtype, n);
      const double *xv = guarded_draw(&x, 1, 3), *yv = numbers(n);
      double *want = numbers(n);
      if (factors[ib] != 0) /* else y stays poisoned: beta 0 must not read it */
        yv = guarded_draw(&y, 2, 3);
      for (size_t i = 0; i < n; i++)
        want[i] = axpby(dtype, factors[ia], xv[i], factors[ib], yv[i]);
      REQUIRE_OK(lh_axpby(dev, factors[ia], &x.t, factors[ib], &y.t));
      expect_equal("axpby", dtype, &y, want);
      FREE(&x, &y);
      forget_numbers();
    }
}

/* Integers: the sum of squares is exact in any order. Then real numbers: n / 16 + 80 roundings at most. */
static void test_sum_squares(lh_device *dev, lh_dtype dtype, size_t n)
{
  guarded x = guarded_1d(dev, dtype, n);
  double *xv = numbers(n), sum;
  long long exact = 0;
  for (size_t i = 0; i < n; i++) {
    xv[i] = (double)(i % 1999) - 999;
    exact += (long long)xv[i] * (long long)xv[i];
  }
  guarded_set(&x, xv);
  REQUIRE_OK(lh_sum_squares(dev, &x.t, &sum));
  CHECK(sum == (double)exact, "sum of squares of %zu integers: %.17g, expected %lld", n, sum,
        exact);

  const double *drawn = guarded_draw(&x, 1, 1);
  long double want = 0;
  for (size_t i = 0; i < n; i++)
    want += (long double)drawn[i] * drawn[i];
  REQUIRE_OK(lh_sum_squares(dev, &x.t, &sum));
  CHECK_NEAR(sum, (double)want, (double)want * ((double)n / 1024 + 80) * DBL_EPSILON / 2,
             "sum of squares of %zu", n);
  FREE(&x);
  forget_numbers();
}

static void test_quadratic(lh_device *dev, lh_dtype dtype, size_t n)
{
  guarded x = guarded_1d(dev, dtype, n), a = guarded_1d(dev, dtype, n),
          s = guarded_1d(dev, dtype, n);
  guarded g = guarded_1d(dev, dtype, n);
  double *xv = numbers(n), *av = numbers(n), *sv = numbers(n), *want = numbers(n);
  double loss = 7, loss_want = 7;
  for (size_t i = 0; i < n; i++) { /* small integers: exact */
    xv[i] = (double)(i % 13);
    sv[i] = (double)(i % 7);
    av[i] = (double)(1 + i % 3);
    want[i] = 5 + av[i] * (xv[i] - sv[i]) * 0.5;
    loss_want += 0.5 * av[i] * (xv[i] - sv[i]) * (xv[i] - sv[i]);
  }
  guarded_set(&x, xv), guarded_set(&a, av), guarded_set(&s, sv);
  REQUIRE_OK(lh_fill(dev, &g.t, 5));
  REQUIRE_OK(lh_quadratic(dev, &g.t, &x.t, &a.t, &s.t, 0.5, &loss));
  expect_equal("quadratic", dtype, &g, want);
  CHECK(loss == loss_want, "quadratic loss %g, expected %g", loss, loss_want);
  FREE(&x, &a, &s, &g);
  forget_numbers();
}

/* The very numbers of lh_draw_normal, and the moments of a normal distribution within 4 sigma. */
static void test_fill_normal(lh_device *dev, lh_dtype dtype)
{
  enum { N = 20000 };
  guarded x = guarded_1d(dev, dtype, N);
  double *want = numbers(N), mean = 0, square = 0;
  for (size_t i = 0; i < N; i++)
    want[i] = rounded(dtype, 0.02 * lh_draw_normal(42, LH_PURPOSE_PARAMETERS, 3, i));
  REQUIRE_OK(lh_fill_normal(dev, &x.t, 0.02, 42, 3));
  expect_equal("fill normal", dtype, &x, want);
  const double *got = guarded_get(&x, "fill normal");
  for (size_t i = 0; i < N; i++) {
    mean += got[i] / 0.02 / N;
    square += got[i] * got[i] / (0.02 * 0.02) / N;
  }
  CHECK_NEAR(mean, 0, 4 / sqrt(N), "mean of the draws");
  CHECK_NEAR(square, 1, 4 * sqrt(2.0 / N), "variance of the draws");
  FREE(&x);
  forget_numbers();
}

static void test_nan(lh_device *dev)
{
  guarded x = guarded_1d(dev, LH_F32, 3), y = guarded_1d(dev, LH_F32, 3);
  double sum;
  guarded_set(&x, (double[]){1, NAN, -INFINITY});
  REQUIRE_OK(lh_sum_squares(dev, &x.t, &sum));
  CHECK(isnan(sum), "sum of squares with a NaN is %g", sum);
  REQUIRE_OK(lh_sign(dev, &y.t, &x.t));
  const double *got = guarded_get(&y, "sign");
  CHECK(got[0] == 1 && isnan(got[1]) && got[2] == -1, "signs %g %g %g", got[0], got[1], got[2]);
  FREE(&x, &y);
  forget_numbers();
}

static void test_wrong_calls(lh_device *dev)
{
  lh_device *other = open_device(&lh_backend_cpu);
  guarded x = guarded_1d(dev, LH_F32, 4), longer = guarded_1d(dev, LH_F32, 5);
  guarded wide = guarded_1d(dev, LH_F64, 4), far = guarded_1d(other, LH_F32, 4);
  const int32_t token[4] = {0};
  guarded whole = tokens_new(dev, token, 4);
  const lh_tensor none = {0};
  const lh_tensor *wrong[] = {&longer.t, &wide.t, &far.t, &whole.t, &none};
  for (size_t i = 0; i < 5; i++)
    CHECK(lh_add(dev, &x.t, &x.t, wrong[i]) == LH_EINTERNAL, "wrong operand %zu is refused", i);
  REQUIRE_OK(lh_fill(other, &far.t, 3));
  REQUIRE_OK(lh_copy(dev, &x.t, &far.t)); /* only a copy may come from another device */
  CHECK(guarded_get(&x, "copy")[3] == 3, "copied between devices");
  FREE(&x, &longer, &wide, &far, &whole);
  lh_device_close(other);
  forget_numbers();
}

int main(void)
{
  lh_device *dev = open_device(&lh_backend_cpu);
  FOR_DTYPES(dtype)
  {
    for (size_t j = 0; j <= CASE_SIZES; j++) {
      const size_t n = j < CASE_SIZES ? case_sizes[j] : 70001;
      test_binary(dev, dtype, n);
      test_unary(dev, dtype, n);
      test_axpby(dev, dtype, n);
      test_sum_squares(dev, dtype, n);
      test_quadratic(dev, dtype, n);
    }
    test_fill_normal(dev, dtype);
  }
  test_nan(dev);
  test_wrong_calls(dev);
  lh_device_close(dev);
  return check_report("elementwise");
}
