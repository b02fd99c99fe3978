/* Exact timing against the formulas of the textbooks, to 1e-6 relative, on a star of nodes with one
 * accelerator: a = 2 x 50 us of latency between two nodes, B = 125 MB/s.
 */
#include <stdint.h>

#include "tests/net/net_case.h"

static const double a = 100e-6, B = 125e6;

static size_t log2_down(size_t n)
{
  size_t k = 0;
  while (((size_t)2 << k) <= n)
    k++;
  return k;
}

static size_t log2_up(size_t n)
{
  return log2_down(n) + ((((size_t)1 << log2_down(n)) < n) ? 1 : 0);
}

/* Thakur, Rabenseifner, Gropp 2005, tables 1 and 2; a power of two p <= n and the fold beside it. */
static double ring_all_reduce(double n, double S)
{
  return 2 * (n - 1) * (a + S / n / B);
}
static double ring_half(double n, double S)
{
  return (n - 1) * (a + S / n / B);
}
static double fold(double n, double S)
{
  const size_t p = (size_t)1 << log2_down((size_t)n);
  return p == (size_t)n ? 0 : 2 * (a + S / B);
}
static double doubling_all_reduce(double n, double S)
{
  return (double)log2_down((size_t)n) * (a + S / B) + fold(n, S);
}
static double rabenseifner(double n, double S)
{
  const double k = (double)log2_down((size_t)n), p = ldexp(1, (int)k);
  return 2 * k * a + 2 * (p - 1) / p * S / B + fold(n, S);
}
static double bruck(double n, double S)
{
  return (double)log2_up((size_t)n) * a + (n - 1) / n * S / B;
}
static double binomial(double n, double S)
{
  return (double)log2_up((size_t)n) * (a + S / B);
}
static double dissemination(double n, double S)
{
  (void)S;
  return (double)log2_up((size_t)n) * a;
}
static double direct_half(double n, double S)
{
  return a + (n - 1) / n * S / B;
}
static double direct_all_reduce(double n, double S)
{
  return 2 * direct_half(n, S);
}
static double message(double n, double S)
{
  (void)n;
  return a + S / B;
}

static const struct form {
  lh_collective_kind kind;
  lh_algorithm algorithm;
  double (*seconds)(double n, double S);
} forms[] = {
    {LH_ALL_REDUCE, LH_RING, ring_all_reduce},
    {LH_REDUCE_SCATTER, LH_RING, ring_half},
    {LH_ALL_GATHER, LH_RING, ring_half},
    {LH_ALL_TO_ALL, LH_RING, ring_half},
    {LH_ALL_REDUCE, LH_HIERARCHICAL, ring_all_reduce}, /* one accelerator a node */
    {LH_REDUCE_SCATTER, LH_HIERARCHICAL, ring_half},
    {LH_ALL_GATHER, LH_HIERARCHICAL, ring_half},
    {LH_ALL_REDUCE, LH_RECURSIVE_DOUBLING, doubling_all_reduce},
    {LH_ALL_GATHER, LH_RECURSIVE_DOUBLING, bruck},
    {LH_BARRIER, LH_RECURSIVE_DOUBLING, dissemination},
    {LH_ALL_REDUCE, LH_RECURSIVE_HALVING_DOUBLING, rabenseifner},
    {LH_REDUCE_SCATTER, LH_RECURSIVE_HALVING_DOUBLING, bruck},
    {LH_BROADCAST, LH_BINOMIAL_TREE, binomial},
    {LH_REDUCE, LH_BINOMIAL_TREE, binomial},
    {LH_ALL_REDUCE, LH_DIRECT, direct_all_reduce},
    {LH_REDUCE_SCATTER, LH_DIRECT, direct_half},
    {LH_ALL_GATHER, LH_DIRECT, direct_half},
    {LH_ALL_TO_ALL, LH_DIRECT, direct_half},
    {LH_POINT_TO_POINT, LH_DIRECT, message},
    {LH_PAIRWISE_EXCHANGE, LH_DIRECT, message},
};
#define FORMS (sizeof forms / sizeof forms[0])

static void check_group(void *arg)
{
  const size_t n = *(const size_t *)arg;
  const double sizes[] = {0, 1, (double)n - 1, (double)n, (double)n + 1, 100e6};
  const size_t N = sizeof sizes / sizeof sizes[0];
  lh_platform *platform = net_star(n, 125, 50);
  size_t *ranks = net_ranks(n);
  net_run *run = calloc(FORMS * N, sizeof *run);
  size_t runs = 0;
  for (size_t f = 0; f < FORMS; f++)
    for (size_t i = 0; i < N; i++)
      run[runs++].collective = (lh_collective){.kind = forms[f].kind,
                                               .algorithm = forms[f].algorithm,
                                               .timing = LH_TIMING_EXACT,
                                               .n = n,
                                               .ranks = ranks,
                                               .root = n / 3,
                                               .bytes = sizes[i]};
  net_run_series(platform, LH_FLOW_IDEAL, run, runs, NULL);
  for (size_t r = 0; r < runs; r++) {
    const struct form *form = &forms[r / N];
    const double S = sizes[r % N], expected = form->seconds((double)n, S);
    const lh_collective *c = &run[r].collective;
    double predicted, least;
    CHECK_NEAR(run[r].last_s, expected, 1e-6 * expected, "%s by %s, n = %zu, S = %g",
               lh_collective_names[c->kind], lh_algorithm_names[c->algorithm], n, S);
    REQUIRE_OK(lh_collective_predict_s(platform, c, &predicted));
    CHECK_NEAR(predicted, expected, 1e-6 * expected, "predicted: %s by %s, n = %zu, S = %g",
               lh_collective_names[c->kind], lh_algorithm_names[c->algorithm], n, S);
    REQUIRE_OK(lh_collective_lower_bound_s(platform, c, &least));
    CHECK(least <= run[r].last_s, "lower bound %.9g over %.9g: %s by %s, n = %zu, S = %g", least,
          run[r].last_s, lh_collective_names[c->kind], lh_algorithm_names[c->algorithm], n, S);
  }
  free(run);
  free(ranks);
  lh_platform_free(platform);
}

/* The double tree has no closed form, only bounds: its own from above, and from below the bytes that
 * an inner member must send: 2 S in an all-reduce (it hands up 1/2 + 1/2 and down 1), S otherwise
 * (a leaf of one tree is inside the other). With 64 pieces the ramps are short. */
static void check_double_tree(void *arg)
{
  const size_t n = *(const size_t *)arg;
  const double S = 1e9, H = (double)log2_down(n - 1);
  static const struct {
    lh_collective_kind kind;
    double share, ramps;
  } kinds[] = {{LH_ALL_REDUCE, 2, 2}, {LH_BROADCAST, 1, 1}, {LH_REDUCE, 1, 1}};
  lh_platform *platform = net_star(n, 125, 50);
  size_t *ranks = net_ranks(n);
  net_run run[3] = {0};
  for (size_t k = 0; k < 3; k++)
    run[k].collective = (lh_collective){.kind = kinds[k].kind,
                                        .algorithm = LH_DOUBLE_BINARY_TREE,
                                        .timing = LH_TIMING_EXACT,
                                        .n = n,
                                        .ranks = ranks,
                                        .root = n - 1,
                                        .bytes = S};
  net_run_series(platform, LH_FLOW_IDEAL, run, 3, NULL);
  for (size_t k = 0; k < 3; k++) {
    const double bytes_s = kinds[k].share * S / B, rounds = 64 + kinds[k].ramps * (H + 1);
    const double most_s = rounds * (a + bytes_s / 64);
    double predicted_s;
    REQUIRE_OK(lh_collective_predict_s(platform, &run[k].collective, &predicted_s));
    CHECK(run[k].last_s <= most_s * (1 + 1e-9), "%s, n = %zu: %g s, at most %g s",
          lh_collective_names[kinds[k].kind], n, run[k].last_s, most_s);
    /* Up to 3 members nobody is inside both ways. */
    CHECK(n < 7 || run[k].last_s >= bytes_s, "%s, n = %zu: %g s, at least %g s",
          lh_collective_names[kinds[k].kind], n, run[k].last_s, bytes_s);
    CHECK_NEAR(predicted_s, run[k].last_s, 0.05 * run[k].last_s, "predicted, n = %zu", n);
  }
  free(ranks);
  lh_platform_free(platform);
}

int main(void)
{
  static size_t sizes[] = {2, 3, 5, 6, 7, 12, 48, 100, 512};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    net_fork(check_group, &sizes[i]);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    net_fork(check_double_tree, &sizes[i]);
  return check_report("closed forms");
}
