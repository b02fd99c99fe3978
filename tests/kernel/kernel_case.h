/* kernel_case.h -- what the kernel tests share: guarded tensors, awkward numbers, measured errors.
 *
 * A guarded tensor lies between sentinels, so that a stray write is seen; outputs are poisoned with NaN,
 * so that a missing write is. References are written in the tests, in double. An error is measured in
 * units of eps * magnitude, where magnitude is the sum of the absolute values of the terms that make the
 * number: rounding can't do worse than (number of roundings) of these.
 */
#ifndef LH_TESTS_KERNEL_CASE_H
#define LH_TESTS_KERNEL_CASE_H

#include <float.h>
#include <stdbool.h>

#include "base/random.h"
#include "kernels/device.h"
#include "kernels/ops.h"
#include "kernels/tensor.h"
#include "tests/check.h"

/* ---- scratch numbers ------------------------------------------------------------------------- */

struct case_scratch {
  struct case_scratch *next;
  double values[];
};
static struct case_scratch *case_scratch;

static inline double *numbers(size_t n)
{
  struct case_scratch *made = calloc(1, sizeof *made + (n + 1) * sizeof(double));
  if (!made)
    abort();
  made->next = case_scratch;
  case_scratch = made;
  return made->values;
}

/* Frees all numbers handed out since the last call. */
static inline void forget_numbers(void)
{
  while (case_scratch) {
    struct case_scratch *next = case_scratch->next;
    free(case_scratch);
    case_scratch = next;
  }
}

/* Uniform in -scale..scale, as a float so that every storage holds it exactly. */
static inline double awkward(uint64_t seed, size_t i, double scale)
{
  return (float)(scale * (2.0 * lh_draw_uniform(seed, LH_PURPOSE_SYNTHETIC, 77, i) - 1.0));
}

/* ---- guarded tensors ------------------------------------------------------------------------- */

enum { GUARD = 37 };
#define SENTINEL (-1234.5)

typedef struct guarded {
  lh_tensor whole, t; /* t lies inside whole */
  size_t n;
} guarded;

static inline guarded guarded_2d(lh_device *dev, lh_dtype dtype, size_t rows, size_t columns)
{
  guarded g = {.n = rows * columns};
  REQUIRE_OK(lh_tensor_alloc_1d(dev, &g.whole, "test", dtype, g.n + 2 * GUARD));
  double *fill = numbers(g.n + 2 * GUARD);
  for (size_t i = 0; i < g.n + 2 * GUARD; i++)
    fill[i] = i < GUARD || i >= GUARD + g.n ? SENTINEL : NAN;
  REQUIRE_OK(lh_tensor_set(&g.whole, fill, g.n + 2 * GUARD));
  g.t = lh_tensor_view_2d(&g.whole, GUARD, rows, columns);
  return g;
}

static inline guarded guarded_1d(lh_device *dev, lh_dtype dtype, size_t n)
{
  guarded g = guarded_2d(dev, dtype, 1, n);
  g.t = lh_tensor_view_1d(&g.whole, GUARD, n);
  return g;
}

static inline double *guarded_set(guarded *g, double *values)
{
  REQUIRE_OK(lh_tensor_set(&g->t, values, g->n));
  return values;
}

/* Fills with awkward numbers and returns them. */
static inline double *guarded_draw(guarded *g, uint64_t seed, double scale)
{
  double *x = numbers(g->n);
  for (size_t i = 0; i < g->n; i++)
    x[i] = awkward(seed, i, scale);
  return guarded_set(g, x);
}

/* The numbers of an output; complains about a touched sentinel. */
static inline double *guarded_get(const guarded *g, const char *what)
{
  double *all = numbers(g->n + 2 * GUARD), *x = numbers(g->n);
  REQUIRE_OK(lh_tensor_get(&g->whole, all, g->n + 2 * GUARD));
  for (size_t i = 0; i < g->n + 2 * GUARD; i++)
    if (i < GUARD || i >= GUARD + g->n)
      CHECK(all[i] == SENTINEL, "%s: stray write %ld elements from the start, got %g", what,
            (long)i - GUARD, all[i]);
    else
      x[i - GUARD] = all[i];
  return x;
}

static inline guarded tokens_new(lh_device *dev, const int32_t *values, size_t n)
{
  guarded g = {.n = n};
  REQUIRE_OK(lh_tensor_alloc_1d(dev, &g.whole, "test", LH_I32, n));
  g.t = lh_tensor_view_1d(&g.whole, 0, n);
  REQUIRE_OK(lh_tensor_set_i32(&g.t, values, n));
  return g;
}

static inline void guarded_free(guarded *const *list, size_t n)
{
  for (size_t i = 0; i < n; i++)
    lh_tensor_free(&list[i]->whole);
}
#define FREE(...)                                                                                  \
  guarded_free((guarded *const[]){__VA_ARGS__},                                                    \
               sizeof((guarded *const[]){__VA_ARGS__}) / sizeof(guarded *))

/* ---- errors ---------------------------------------------------------------------------------- */

struct case_error {
  const char *what;
  double worst[2], bound[2]; /* float, double */
};
static struct case_error case_error[64];
static size_t case_errors;

static inline double case_eps(lh_dtype dtype)
{
  return dtype == LH_F64 ? DBL_EPSILON / 2 : FLT_EPSILON / 2;
}

static inline struct case_error *case_error_of(const char *what)
{
  for (size_t i = 0; i < case_errors; i++)
    if (strcmp(case_error[i].what, what) == 0)
      return &case_error[i];
  case_error[case_errors] = (struct case_error){.what = what};
  return &case_error[case_errors++];
}

/* |got - want| <= roundings * eps * magnitude, element by element; magnitude NULL: |want|. */
static inline void compare(const char *what, lh_dtype dtype, const double *got, const double *want,
                           const double *magnitude, size_t n, double roundings)
{
  struct case_error *row = case_error_of(what);
  const int wide = dtype == LH_F64;
  const double tiny = wide ? DBL_MIN : FLT_MIN;
  for (size_t i = 0; i < n; i++) {
    const double unit = case_eps(dtype) * (magnitude ? magnitude[i] : fabs(want[i])) + tiny;
    const double error = fabs(got[i] - want[i]) / unit;
    if (!(error <= roundings)) {
      CHECK(false, "%s (%s): element %zu of %zu: got %.9g, expected %.9g, off by %.3g, bound %.3g",
            what, lh_dtype_name(dtype), i, n, got[i], want[i], error, roundings);
      return;
    }
    if (error > row->worst[wide])
      row->worst[wide] = error;
  }
  if (roundings > row->bound[wide])
    row->bound[wide] = roundings;
}

static inline void print_errors(void)
{
  printf("%-36s %14s %14s   (worst error / largest bound, in eps * magnitude)\n", "", "f32", "f64");
  for (size_t i = 0; i < case_errors; i++)
    printf("%-36s %6.2f /%6.0f %6.2f /%6.0f\n", case_error[i].what, case_error[i].worst[0],
           case_error[i].bound[0], case_error[i].worst[1], case_error[i].bound[1]);
}

/* ---- devices --------------------------------------------------------------------------------- */

static inline lh_device *open_device(const lh_backend *backend)
{
  static lh_device_profile ideal;
  ideal = lh_device_profile_ideal();
  lh_device *dev;
  REQUIRE_OK(lh_device_open(backend, &ideal, &dev));
  return dev;
}

static const lh_dtype case_dtypes[] = {LH_F32, LH_F64};
#define FOR_DTYPES(dtype)                                                                          \
  for (size_t case_d_ = 0; case_d_ < 2; case_d_++)                                                 \
    for (lh_dtype dtype = case_dtypes[case_d_], *case_once_ = &dtype; case_once_; case_once_ = NULL)

/* Sizes around vector lengths and tails. */
static const size_t case_sizes[] = {1, 2, 31, 33, 97, 768};
enum { CASE_SIZES = sizeof case_sizes / sizeof case_sizes[0] };

#endif
