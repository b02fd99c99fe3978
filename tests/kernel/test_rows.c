/* Rows by number against plain loops: numbers only move, so everything is equality. */
#include "kernel_case.h"

/* k different rows of n in an awkward order. */
static int32_t *some_rows(size_t n, size_t k)
{
  int32_t *row = (int32_t *)(void *)numbers(k);
  size_t *order = (size_t *)(void *)numbers(n);
  lh_draw_permutation(3, LH_PURPOSE_SYNTHETIC, n, n, order);
  for (size_t q = 0; q < k; q++)
    row[q] = (int32_t)order[q];
  return row;
}

static void expect_values(const char *what, const guarded *got, const double *want)
{
  const double *values = guarded_get(got, what);
  for (size_t i = 0; i < got->n; i++)
    if (!(values[i] == want[i])) {
      CHECK(false, "%s: element %zu of %zu: got %g, expected %g", what, i, got->n, values[i],
            want[i]);
      return;
    }
}

static void test_rows(lh_device *dev, lh_dtype dtype, size_t n, size_t length, size_t k)
{
  const int32_t *row = some_rows(n, k);
  guarded rows = tokens_new(dev, row, k);
  guarded x = guarded_2d(dev, dtype, n, length), part = guarded_2d(dev, dtype, k, length);
  double *xv = guarded_draw(&x, 5, 3), *want = numbers(k * length);
  for (size_t q = 0; q < k; q++)
    memcpy(want + q * length, xv + (size_t)row[q] * length, length * sizeof *want);
  REQUIRE_OK(lh_gather_rows(dev, &part.t, &x.t, &rows.t));
  expect_values("gather", &part, want);

  REQUIRE_OK(lh_zero_rows(dev, &x.t, length, &rows.t));
  for (size_t q = 0; q < k; q++)
    memset(xv + (size_t)row[q] * length, 0, length * sizeof *xv);
  expect_values("zero", &x, xv);

  double *pv = guarded_draw(&part, 6, 2);
  REQUIRE_OK(lh_scatter_rows(dev, &x.t, &part.t, &rows.t));
  for (size_t q = 0; q < k; q++)
    memcpy(xv + (size_t)row[q] * length, pv + q * length, length * sizeof *xv);
  expect_values("scatter", &x, xv);
  FREE(&rows, &x, &part);
  forget_numbers();
}

/* The kernel writes what the generator draws: the page's rows. */
static void test_draw(lh_device *dev)
{
  static const int32_t page[3][2] = {{0, 4}, {4, 5}, {1, 6}};
  for (uint64_t step = 1; step <= 3; step++) {
    guarded rows = tokens_new(dev, (int32_t[]){-1, -1}, 2);
    double got[2];
    REQUIRE_OK(lh_draw_rows(dev, &rows.t, 8, 42, step));
    REQUIRE_OK(lh_tensor_get(&rows.t, got, 2));
    CHECK(got[0] == page[step - 1][0] && got[1] == page[step - 1][1],
          "step %d: rows %g and %g, expected %d and %d", (int)step, got[0], got[1],
          page[step - 1][0], page[step - 1][1]);
    FREE(&rows);
  }
}

static void test_wrong_calls(lh_device *dev)
{
  guarded x = guarded_1d(dev, LH_F32, 12), part = guarded_1d(dev, LH_F32, 4);
  guarded odd = guarded_1d(dev, LH_F32, 5), longer = guarded_1d(dev, LH_F32, 10);
  guarded rows = tokens_new(dev, (int32_t[]){0, 5}, 2);
  guarded below = tokens_new(dev, (int32_t[]){0, -1}, 2),
          above = tokens_new(dev, (int32_t[]){6, 0}, 2);
  REQUIRE_OK(lh_gather_rows(dev, &part.t, &x.t, &rows.t));
  const lh_tensor *wrong[] = {&below.t, &above.t};
  for (size_t i = 0; i < 2; i++) {
    CHECK(lh_gather_rows(dev, &part.t, &x.t, wrong[i]) == LH_EINTERNAL, "gather, list %zu", i);
    CHECK(lh_scatter_rows(dev, &x.t, &part.t, wrong[i]) == LH_EINTERNAL, "scatter, list %zu", i);
    CHECK(lh_zero_rows(dev, &x.t, 2, wrong[i]) == LH_EINTERNAL, "zero, list %zu", i);
  }
  CHECK(lh_gather_rows(dev, &odd.t, &x.t, &rows.t) == LH_EINTERNAL, "5 elements, 2 rows");
  CHECK(lh_gather_rows(dev, &longer.t, &x.t, &rows.t) == LH_EINTERNAL, "12 in rows of 5");
  CHECK(lh_gather_rows(dev, &part.t, &x.t, &part.t) == LH_EINTERNAL, "a list of reals");
  CHECK(lh_zero_rows(dev, &x.t, 0, &rows.t) == LH_EINTERNAL, "rows of nothing");
  CHECK(lh_draw_rows(dev, &rows.t, 1, 42, 1) == LH_EINTERNAL, "2 rows of 1");
  FREE(&x, &part, &odd, &longer, &rows, &below, &above);
  forget_numbers();
}

/* What is moved is charged, not the tensor that it is taken from. */
static void test_cost(void)
{
  lh_device_profile profile = lh_device_profile_ideal();
  profile.launch_overhead_s = 0;
  profile.memory_bandwidth_Bps = 1;
  profile.memory_efficiency = 1;
  lh_device *dev;
  REQUIRE_OK(lh_device_open(&lh_backend_phantom, &profile, &dev));
  lh_tensor x = {0}, part = {0}, rows = {0};
  REQUIRE_OK(lh_tensor_alloc_1d(dev, &x, "test", LH_F32, 700));
  REQUIRE_OK(lh_tensor_alloc_1d(dev, &part, "test", LH_F32, 21));
  REQUIRE_OK(lh_tensor_alloc_1d(dev, &rows, "test", LH_I32, 3));
  const double list = 12, moved = 84;
  double before = lh_device_charged_s(dev);
  REQUIRE_OK(lh_gather_rows(dev, &part, &x, &rows));
  CHECK_NEAR(lh_device_charged_s(dev) - before, list + 2 * moved, 1e-9, "gather");
  before = lh_device_charged_s(dev);
  REQUIRE_OK(lh_scatter_rows(dev, &x, &part, &rows));
  CHECK_NEAR(lh_device_charged_s(dev) - before, list + 2 * moved, 1e-9, "scatter");
  before = lh_device_charged_s(dev);
  REQUIRE_OK(lh_zero_rows(dev, &x, 7, &rows));
  CHECK_NEAR(lh_device_charged_s(dev) - before, list + moved, 1e-9, "zero");
  before = lh_device_charged_s(dev);
  REQUIRE_OK(lh_draw_rows(dev, &rows, 100, 42, 1));
  CHECK_NEAR(lh_device_charged_s(dev) - before, list + 400, 1e-9, "draw");
  lh_tensor_free(&x), lh_tensor_free(&part), lh_tensor_free(&rows);
  lh_device_close(dev);
}

int main(void)
{
  lh_device *dev = open_device(&lh_backend_cpu);
  FOR_DTYPES(dtype)
  {
    test_rows(dev, dtype, 1, 1, 1);
    test_rows(dev, dtype, 97, 1, 10);
    test_rows(dev, dtype, 97, 1, 97);
    test_rows(dev, dtype, 31, 33, 5);
    test_rows(dev, dtype, 2, 768, 1);
  }
  test_draw(dev);
  test_wrong_calls(dev);
  lh_device_close(dev);
  test_cost();
  return check_report("rows");
}
