/* DeMo's transform, choice and merge: the same bits as a naive program of the rounding contract (section E
 * of its method page), the same numbers as a naive one in double. */
#include "dct_case.h"

/* ---- naive programs -------------------------------------------------------------------------- */

/* The rounding contract in float: sums in ascending order from 0, first along the height. */
static void naive_block(const lh_chunking *c, const float *fh, const float *fw, const double *x,
                        size_t block, float *coefficient)
{
  const size_t h = c->height, w = c->width, across = c->columns / w;
  const double *at = x + block / across * h * c->columns + block % across * w;
  float *t = (float *)numbers(h * w);
  for (size_t b = 0; b < h; b++)
    for (size_t l = 0; l < w; l++) {
      volatile float sum = 0, product;
      for (size_t j = 0; j < h; j++) {
        product = (float)at[j * c->columns + l] * fh[j * h + b];
        sum = sum + product;
      }
      t[b * w + l] = h == 1 ? (float)at[l] : sum;
    }
  for (size_t b = 0; b < h; b++)
    for (size_t d = 0; d < w; d++) {
      volatile float sum = 0, product;
      for (size_t l = 0; l < w; l++) {
        product = t[b * w + l] * fw[l * w + d];
        sum = sum + product;
      }
      coefficient[b * w + d] = sum;
    }
}

static void naive_double(const lh_chunking *c, const double *fh, const double *fw, const double *x,
                         size_t block, double *coefficient, double *size)
{
  const size_t h = c->height, w = c->width, across = c->columns / w;
  const double *at = x + block / across * h * c->columns + block % across * w;
  for (size_t b = 0; b < h; b++)
    for (size_t d = 0; d < w; d++) {
      long double sum = 0, absolute = 0;
      for (size_t j = 0; j < h; j++)
        for (size_t l = 0; l < w; l++) {
          const long double term =
              (long double)at[j * c->columns + l] * fh[j * h + b] * fw[l * w + d];
          sum += term;
          absolute += fabsl(term);
        }
      coefficient[b * w + d] = (double)sum;
      size[b * w + d] = (double)absolute;
    }
}

/* larger first, ties to the lower index, NaN largest; emitted in ascending index: by rank counting. */
static bool is_kept(const double *coefficient, size_t n, size_t i, size_t k)
{
  size_t before = 0;
  const double mine = isnan(coefficient[i]) ? INFINITY : fabs(coefficient[i]);
  for (size_t j = 0; j < n; j++) {
    const double other = isnan(coefficient[j]) ? INFINITY : fabs(coefficient[j]);
    const bool nan_first = isnan(coefficient[j]) && !isnan(coefficient[i]);
    const bool nan_last = !isnan(coefficient[j]) && isnan(coefficient[i]);
    if (nan_first || (!nan_last && (other > mine || (other == mine && j < i))))
      before++;
  }
  return before < k;
}

static void floats_of(const lh_tensor *t, float *out)
{
  const size_t n = lh_tensor_elements(t);
  double *values = numbers(n);
  REQUIRE_OK(lh_tensor_get(t, values, n));
  for (size_t i = 0; i < n; i++)
    out[i] = (float)values[i];
}

/* spike: all zero but one number in sixty, which gives coefficients of few different sizes (15 of them
 * share a size in chunks of 60), so that ties decide. */
static void test_encode(lh_device *dev, lh_dtype dtype, const struct layout *l, size_t top_k,
                        bool spike)
{
  const size_t n = l->rows ? l->rows * l->columns : l->columns;
  guarded x = guarded_1d(dev, dtype, n);
  double *xv = guarded_draw(&x, 8, 1);
  for (size_t i = 0; spike && i < n; i++)
    xv[i] = i % 60 == 7 ? 1 : 0;
  guarded_set(&x, xv);
  lh_tensor t = shaped(&x, l);
  lh_chunking c;
  REQUIRE_OK(lh_chunking_init(dev, &c, &t, l->target));
  const size_t e = c.block_elements, k = top_k < e ? top_k : e;
  guarded value = guarded_1d(dev, dtype, c.blocks * k);
  guarded index = tokens_new(dev, (int32_t *)numbers(c.blocks * k), c.blocks * k);
  REQUIRE_OK(lh_dct_top_k(dev, &t, &c, k, &index.t, &value.t));
  double *at = numbers(c.blocks * k);
  REQUIRE_OK(lh_tensor_get(&index.t, at, c.blocks * k));
  const double *got = guarded_get(&value, "values");

  float *fh = (float *)numbers(c.height * c.height), *fw = (float *)numbers(c.width * c.width);
  const double *dh = basis_table(c.height), *dw = basis_table(c.width);
  floats_of(&c.basis_height, fh);
  floats_of(&c.basis_width, fw);
  for (size_t block = 0; block < c.blocks; block++) {
    double *coefficient = numbers(e), *size = numbers(e);
    naive_double(&c, dh, dw, xv, block, coefficient, size);
    if (dtype == LH_F32) { /* the same bits as the contract's program, and its choice */
      float *exact = (float *)numbers(e);
      naive_block(&c, fh, fw, xv, block, exact);
      for (size_t i = 0; i < e; i++) {
        CHECK_NEAR(exact[i], coefficient[i],
                   size[i] * (double)(c.height + c.width + 4) * FLT_EPSILON / 2,
                   "the naive programs agree");
        coefficient[i] = exact[i];
      }
    }
    size_t taken = 0;
    for (size_t i = 0; i < e; i++) {
      if (!is_kept(coefficient, e, i, k))
        continue;
      const double bound =
          dtype == LH_F32 ? 0 : size[i] * (double)(c.height + c.width + 4) * DBL_EPSILON;
      CHECK((size_t)at[block * k + taken] == i,
            "(%zu, %zu) by %zu, block %zu, entry %zu: index %g, not %zu", l->rows, l->columns,
            l->target, block, taken, at[block * k + taken], i);
      CHECK_NEAR(got[block * k + taken], coefficient[i], bound,
                 "(%zu, %zu) by %zu, block %zu, entry %zu", l->rows, l->columns, l->target, block,
                 taken);
      taken++;
    }
  }
  lh_chunking_fini(&c);
  FREE(&x, &value, &index);
  forget_numbers();
}

/* Decode against the double sum over all coefficients of the merged messages. */
static void test_decode(lh_device *dev, lh_dtype dtype, const struct layout *l, size_t top_k,
                        size_t messages, lh_merge kind)
{
  const size_t n = l->rows ? l->rows * l->columns : l->columns;
  guarded y = guarded_1d(dev, dtype, n);
  lh_tensor t = shaped(&y, l);
  lh_chunking c;
  REQUIRE_OK(lh_chunking_init(dev, &c, &t, l->target));
  const size_t e = c.block_elements, k = top_k < e ? top_k : e, entries = messages * c.blocks * k;
  int32_t *at = (int32_t *)numbers(entries);
  guarded value = guarded_1d(dev, dtype, entries);
  const double *v = guarded_draw(&value, 3, 1);
  double *sum = numbers(c.blocks * e), *count = numbers(c.blocks * e);
  double *absolute = numbers(c.blocks * e);
  for (size_t m = 0, i = 0; m < messages; m++)
    for (size_t block = 0; block < c.blocks; block++)
      for (size_t j = 0; j < k; j++, i++) { /* distinct and ascending in a message */
        at[i] = (int32_t)(j * e / k + lh_draw(1, LH_PURPOSE_SYNTHETIC, m, i) % (e / k));
        sum[block * e + (size_t)at[i]] += v[i];
        absolute[block * e + (size_t)at[i]] += fabs(v[i]);
        count[block * e + (size_t)at[i]] += 1;
      }
  guarded index = tokens_new(dev, at, entries);
  REQUIRE_OK(lh_dct_merge_decode(dev, &t, &c, k, messages, kind, &index.t, &value.t));
  double *want = numbers(n), *size = numbers(n);
  const double *fh = basis_table(c.height), *fw = basis_table(c.width);
  for (size_t i = 0; i < n; i++) {
    const size_t row = i / c.columns, column = i % c.columns;
    const size_t block = row / c.height * (c.columns / c.width) + column / c.width;
    long double total = 0;
    for (size_t q = 0; q < e; q++) {
      const double number = count[block * e + q];
      const double divisor = kind == LH_MERGE_SUM_OVER_N ? (double)messages : number;
      if (number == 0)
        continue;
      const double f = fh[row % c.height * c.height + q / c.width] *
                       fw[column % c.width * c.width + q % c.width] / divisor;
      total += (long double)sum[block * e + q] * f;
      size[i] += absolute[block * e + q] * fabs(f);
    }
    want[i] = (double)total;
  }
  compare("dct decode", dtype, guarded_get(&y, "decoded"), want, size, n,
          (double)(c.height + c.width + messages) + 8);
  lh_chunking_fini(&c);
  FREE(&y, &value, &index);
  forget_numbers();
}

static void test_bad_index(lh_device *dev)
{
  guarded y = guarded_1d(dev, LH_F32, 8), value = guarded_1d(dev, LH_F32, 2);
  guarded index = tokens_new(dev, (int32_t[]){0, 4}, 2);
  guarded_set(&value, (double[]){1, 1});
  lh_chunking c;
  REQUIRE_OK(lh_chunking_init(dev, &c, &y.t, 4));
  CHECK(lh_dct_merge_decode(dev, &y.t, &c, 1, 1, LH_MERGE_CONTRIBUTORS, &index.t, &value.t) ==
            LH_EINTERNAL,
        "an index beyond the block is refused");
  CHECK(lh_dct_top_k(dev, &y.t, &c, 5, &index.t, &value.t) == LH_EINTERNAL, "k above the block");
  lh_chunking_fini(&c);
  FREE(&y, &value, &index);
  forget_numbers();
}

int main(void)
{
  static const struct layout layouts[] = {
      {0, 1, 64},   {0, 97, 64},   {0, 3, 64},     {0, 29, 64},   {0, 61, 64},
      {0, 100, 64}, {0, 192, 64},  {0, 1500, 64},  {4, 6, 3},     {29, 64, 64},
      {58, 64, 64}, {61, 3, 64},   {64, 97, 64},   {64, 64, 64},  {48, 61, 64},
      {97, 64, 64}, {50, 100, 64}, {128, 130, 64}, {7, 1100, 64}, {67, 71, 64}};
  lh_device *dev = open_device(&lh_backend_cpu);
  FOR_DTYPES(dtype)
  for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
    const bool small = layouts[i].rows * layouts[i].columns < 8000;
    if (small || dtype == LH_F32)
      test_encode(dev, dtype, &layouts[i], 1 + i * 3, false);
    test_decode(dev, dtype, &layouts[i], 1 + i, 3,
                i % 2 ? LH_MERGE_SUM_OVER_N : LH_MERGE_CONTRIBUTORS);
  }
  /* Groups of keys are passed over when k is well below their number: 64 x 64 has 256 of them. */
  for (size_t k = 1; k <= 256; k = k * 3 / 2 + 1) {
    test_encode(dev, LH_F32, &(struct layout){64, 64, 64}, k, false);
    test_encode(dev, LH_F32, &(struct layout){29, 64, 64}, k, false);
  }
  for (size_t k = 1; k <= 60; k++)
    test_encode(dev, LH_F32, &(struct layout){0, 120, 60}, k, true);
  for (size_t k = 1; k < 100; k += 7)
    test_encode(dev, LH_F32, &(struct layout){60, 60, 60}, k, true);
  test_bad_index(dev);
  print_errors();
  lh_device_close(dev);
  return check_report("dct");
}
