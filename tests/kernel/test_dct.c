/* DeMo's transform, choice and merge: the worked examples of the method page; the same bits as a naive
 * program of the rounding contract (its section E); the same numbers as a naive one in double. */
#include "kernel_case.h"

struct layout {
  size_t rows, columns; /* rows 0: a 1-D tensor of `columns` */
  size_t target;
};

static lh_tensor shaped(guarded *g, const struct layout *l)
{
  return l->rows ? lh_tensor_view_2d(&g->t, 0, l->rows, l->columns)
                 : lh_tensor_view_1d(&g->t, 0, l->columns);
}

/* ---- chunk lengths and bases ----------------------------------------------------------------- */

static void test_chunk_length(void)
{
  static const size_t known[][3] = {{1, 64, 1},       {2, 64, 2},      {61, 64, 61},
                                    {64, 64, 64},     {67, 64, 1},     {97, 64, 1},
                                    {100, 64, 50},    {127, 64, 1},    {130, 64, 26},
                                    {768, 64, 64},    {1000, 64, 50},  {3072, 64, 64},
                                    {11008, 64, 64},  {32000, 64, 64}, {32128, 64, 64},
                                    {50257, 64, 29},  {50304, 64, 64}, {128256, 64, 64},
                                    {12, 3, 3},       {12, 5, 4},      {100, 7, 5},
                                    {100, 26, 25},    {100, 101, 100}, {1000, 32, 25},
                                    {1000, 128, 125}, {50257, 32, 29}, {1000000007, 500000000, 1}};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    CHECK(lh_chunk_length(known[i][0], known[i][1]) == known[i][2],
          "chunk(%zu, %zu) is %zu, not %zu", known[i][0], known[i][1],
          lh_chunk_length(known[i][0], known[i][1]), known[i][2]);
  for (size_t n = 1; n < 600; n++)
    for (size_t target = 1; target < 130; target += 7) {
      size_t want = 1;
      for (size_t d = 1; d <= target; d++)
        want = n % d == 0 ? d : want;
      CHECK(lh_chunk_length(n, target) == want, "chunk(%zu, %zu)", n, target);
    }
}

/* The angle is reduced in whole numbers: a large angle costs the cosine its last digits. */
static double basis(size_t c, size_t n, size_t q)
{
  const size_t m = (2 * n + 1) * q % (4 * c);
  if (m == c || m == 3 * c) /* exactly 0, which cos would miss */
    return 0;
  return (double)(sqrtl((q ? 2.0L : 1.0L) / c) * cosl(acosl(-1) * m / (2.0L * c)));
}

static double *basis_table(size_t c)
{
  double *f = numbers(c * c);
  for (size_t n = 0; n < c; n++)
    for (size_t q = 0; q < c; q++)
      f[n * c + q] = basis(c, n, q);
  return f;
}

static void test_bases(lh_device *dev)
{
  static const size_t lengths[] = {1, 2, 3, 4, 6, 29, 50, 61, 64, 125};
  FOR_DTYPES(dtype)
  for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
    const size_t c = lengths[k];
    guarded like = guarded_1d(dev, dtype, c);
    lh_chunking chunking;
    REQUIRE_OK(lh_chunking_init(dev, &chunking, &like.t, c));
    double *f = numbers(c * c);
    REQUIRE_OK(lh_tensor_get(&chunking.basis_width, f, c * c));
    for (size_t n = 0; n < c; n++)
      for (size_t q = 0; q < c; q++) {
        const double want = basis(c, n, q);
        CHECK_NEAR(f[n * c + q], want, 2 * case_eps(dtype) * fabs(want), "F_%zu[%zu][%zu]", c, n,
                   q);
        CHECK((want == 0) == (f[n * c + q] == 0), "zeros of F_%zu[%zu][%zu]: %g", c, n, q,
              f[n * c + q]);
      }
    lh_chunking_fini(&chunking);
    FREE(&like);
    forget_numbers();
  }
}

/* ---- the worked examples --------------------------------------------------------------------- */

/* Encodes, keeps k, decodes the own message; everything as doubles. Freed by forget_numbers. */
struct message {
  size_t blocks, k;
  double *index, *value, *decoded;
};

static struct message send(lh_device *dev, const struct layout *l, size_t top_k, const double *x)
{
  guarded g = guarded_1d(dev, LH_F32, l->rows ? l->rows * l->columns : l->columns);
  guarded_set(&g, (double *)(uintptr_t)x);
  lh_tensor t = shaped(&g, l);
  lh_chunking c;
  REQUIRE_OK(lh_chunking_init(dev, &c, &t, l->target));
  struct message m = {.blocks = c.blocks, .k = top_k < c.block_elements ? top_k : c.block_elements};
  const size_t n = m.blocks * m.k;
  guarded value = guarded_1d(dev, LH_F32, n), index = tokens_new(dev, (int32_t *)numbers(n), n);
  guarded y = guarded_1d(dev, LH_F32, g.n);
  REQUIRE_OK(lh_dct_top_k(dev, &t, &c, m.k, &index.t, &value.t));
  REQUIRE_OK(lh_dct_merge_decode(dev, &y.t, &c, m.k, 1, LH_MERGE_CONTRIBUTORS, &index.t, &value.t));
  m.index = numbers(n);
  REQUIRE_OK(lh_tensor_get(&index.t, m.index, n));
  m.value = guarded_get(&value, "values");
  m.decoded = guarded_get(&y, "decoded");
  lh_chunking_fini(&c);
  FREE(&g, &value, &index, &y);
  return m;
}

static void near(const char *what, const double *got, const double *want, size_t n)
{
  for (size_t i = 0; i < n; i++) /* six printed digits, and float */
    CHECK_NEAR(got[i], want[i], 1.5e-6, "%s, element %zu", what, i);
}

/* Merges messages of one layout and decodes. */
static double *merge(lh_device *dev, const struct layout *l, size_t k, size_t messages,
                     lh_merge kind, const double *index, const double *value)
{
  const size_t n = l->rows ? l->rows * l->columns : l->columns;
  guarded y = guarded_1d(dev, LH_F32, n);
  lh_tensor t = shaped(&y, l);
  lh_chunking c;
  REQUIRE_OK(lh_chunking_init(dev, &c, &t, l->target));
  const size_t entries = messages * c.blocks * k;
  int32_t *whole = (int32_t *)numbers(entries);
  for (size_t i = 0; i < entries; i++)
    whole[i] = (int32_t)index[i];
  guarded at = tokens_new(dev, whole, entries), v = guarded_1d(dev, LH_F32, entries);
  guarded_set(&v, (double *)(uintptr_t)value);
  REQUIRE_OK(lh_dct_merge_decode(dev, &y.t, &c, k, messages, kind, &at.t, &v.t));
  double *got = guarded_get(&y, "merged");
  lh_chunking_fini(&c);
  FREE(&y, &at, &v);
  return got;
}

/* Example A: two workers, two steps of n = 8 in chunks of 4, one coefficient each. */
static void test_example_a(lh_device *dev)
{
  static const double g[2][2][8] = {{{1, 2, 3, 4, 4, -4, 4, -4}, {3, 1, -1, -3, 1, 1, 1, 2}},
                                    {{0, 1, 0, -1, 2, 2, -2, -2}, {2, 2, 1, -1, 0, 3, -1, 2}}};
  static const double index[2][4] = {{0, 3, 1, 0}, {1, 1, 1, 3}};
  static const double value[2][4] = {{.5, .739104, .446088, .25},
                                     {-.130433, .675392, .223044, -.342465}};
  static const double residual[2][2][8] = {
      {{-.15, -.05, .05, .15, .2, .082843, -.082843, -.2},
       {.008579, -.020711, .020711, -.008579, -.025, -.025, -.025, .075}},
      {{-.064640, .085345, .014655, -.035360, -.041421, .1, -.1, .041421},
       {.062859, .118955, .181045, .037141, .067695, .051299, .098751, .182255}}};
  static const double u[2][8] = {
      {.541421, .370711, .129289, -.041421, .325, -.357843, .607843, -.075},
      {.030251, .012530, -.012530, -.030251, .348551, .406486, -.406486, -.348551}};
  const struct layout l = {0, 8, 4};
  double m[2][8] = {{0}};
  for (int step = 0; step < 2; step++) {
    double all_index[4], all_value[4];
    for (int w = 0; w < 2; w++) {
      for (int i = 0; i < 8; i++)
        m[w][i] = (double)((float)(0.999f * (float)m[w][i]) + (float)(0.1f * (float)g[step][w][i]));
      const struct message sent = send(dev, &l, 1, m[w]);
      for (int i = 0; i < 8; i++)
        m[w][i] = (float)m[w][i] - (float)sent.decoded[i];
      memcpy(all_index + 2 * w, sent.index, 2 * sizeof(double));
      memcpy(all_value + 2 * w, sent.value, 2 * sizeof(double));
      near("A residual", m[w], residual[step][w], 8);
    }
    near("A index", all_index, index[step], 4);
    near("A value", all_value, value[step], 4);
    near("A u", merge(dev, &l, 1, 2, LH_MERGE_CONTRIBUTORS, all_index, all_value), u[step], 8);
  }
  forget_numbers();
}

static void test_example_b(lh_device *dev)
{
  const struct layout l = {0, 4, 4};
  static const double index[] = {0, 0, 1}, value[] = {1.2, 0.8, -0.9};
  static const double contributors[] = {-.087953, .256462, .743538, 1.087953};
  static const double over_n[] = {.137349, .252154, .414513, .529318};
  near("B contributors", merge(dev, &l, 1, 3, LH_MERGE_CONTRIBUTORS, index, value), contributors,
       4);
  near("B sum over n", merge(dev, &l, 1, 3, LH_MERGE_SUM_OVER_N, index, value), over_n, 4);
  forget_numbers();
}

static void test_example_c(lh_device *dev)
{
  static const double x[24] = {1, 2, 3, 4,  5, 7,   -1, .5, 1, .5, 2,   -2,
                               2, 2, 2, -3, 0, 3.5, 0,  1,  0, 1,  .25, 1.5};
  static const double coefficient[24] = {2.653614, -2,   -.288675,  2.245366, 0,     .288675,
                                         6.736097, -.25, -1.299038, 6.327849, -2.75, 1.876388,
                                         2.857738, 0,    -.577350,  2.041241, 0,     .577350,
                                         1.326807, -3.5, .721688,   -.918559, -3,    -.433013};
  static const double index[] = {0, 0, 0, 1}, value[] = {2.653614, 6.736097, 2.857738, -3.5};
  static const double row01[] = {1.083333, 1.083333, 1.083333, 2.75, 2.75, 2.75};
  static const double row23[] = {1.166667, 1.166667, 1.166667, -1.75, 0, 1.75};
  const struct layout l = {4, 6, 3};
  const struct message kept = send(dev, &l, 1, x);
  near("C index", kept.index, index, 4);
  near("C value", kept.value, value, 4);
  near("C row 0", kept.decoded, row01, 6);
  near("C row 1", kept.decoded + 6, row01, 6);
  near("C row 2", kept.decoded + 12, row23, 6);
  near("C row 3", kept.decoded + 18, row23, 6);
  const struct message all = send(dev, &l, 99, x); /* k above the block: everything, in order */
  CHECK(all.k == 6, "k is cut to the block, %zu", all.k);
  near("C coefficients", all.value, coefficient, 24);
  near("C round trip", all.decoded, x, 24);
  forget_numbers();
}

static void test_example_e(lh_device *dev)
{
  static const double x[] = {0, 1, 2, 3, 4, 5, 6, 7};
  static const double want[] = {9.8995, -6.4423, 0, -.67345, 0, -.20090, 0, -.050702};
  static const double identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
  const struct message m = send(dev, &(struct layout){0, 8, 8}, 8, x);
  for (size_t i = 0; i < 8; i++)
    CHECK_NEAR(m.value[i], want[i], 5e-5, "E, coefficient %zu", i);
  near("E identity", send(dev, &(struct layout){4, 4, 4}, 16, identity).value, identity, 16);
  forget_numbers();
}

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

/* ---- corners --------------------------------------------------------------------------------- */

/* With chunks of 1 the transform is the identity, so choices are made among given numbers: a chunk of
 * height 1 and width 1 holds one; use a width-2 transform of (a, a) = (sqrt(2) a, 0) for ties. */
static void test_ties_and_nan(lh_device *dev)
{
  static const double zero[8] = {0};
  const struct message m = send(dev, &(struct layout){0, 8, 8}, 3, zero);
  for (size_t i = 0; i < 3; i++)
    CHECK(m.index[i] == (double)i && m.value[i] == 0, "ties go to the lower index: entry %zu is %g",
          i, m.index[i]);
  static const double mixed[8] = {1, 1, NAN, 1, 5, 5, -7, -7};
  const struct message n = send(dev, &(struct layout){4, 2, 2}, 1, mixed); /* 2x2 blocks */
  CHECK(n.index[0] == 0 && isnan(n.value[0]), "a NaN is largest, the lowest one is kept: %g %g",
        n.index[0], n.value[0]);
  CHECK(n.index[1] == 2 && fabs(n.value[1] - 12) < 1e-5, "the block without NaN: %g %g", n.index[1],
        n.value[1]);
  const struct message o = send(dev, &(struct layout){0, 97, 64}, 1, (const double[97]){-0.0});
  CHECK(!signbit(o.value[0]), "a sum that starts from +0 does not give -0");
  double big[4096] = {0}; /* the grouped choice, with ties at the threshold all over */
  const struct message b = send(dev, &(struct layout){64, 64, 64}, 32, big);
  for (size_t i = 0; i < 32; i++)
    CHECK(b.index[i] == (double)i, "4096 ties: entry %zu is %g", i, b.index[i]);
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
  test_chunk_length();
  test_bases(dev);
  test_example_a(dev);
  test_example_b(dev);
  test_example_c(dev);
  test_example_e(dev);
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
  test_ties_and_nan(dev);
  test_bad_index(dev);
  print_errors();
  lh_device_close(dev);
  return check_report("dct");
}
