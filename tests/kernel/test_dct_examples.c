/* DeMo's chunk lengths, bases and worked examples (its method page, sections A, B and the examples), and
 * the corners of the choice: ties, NaN, -0. */
#include "dct_case.h"

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

int main(void)
{
  lh_device *dev = open_device(&lh_backend_cpu);
  test_chunk_length();
  test_bases(dev);
  test_example_a(dev);
  test_example_b(dev);
  test_example_c(dev);
  test_example_e(dev);
  test_ties_and_nan(dev);
  lh_device_close(dev);
  return check_report("dct examples");
}
