/* test_platform_variation.c -- draws against the closed forms of their distributions.
 *
 * n draws have a mean within 5 standard errors (one in two million fails by chance, and the draws
 * are fixed by their seed). The bound on the variance uses the fourth moment of the draws
 * themselves: its standard error is sqrt((m4 - v^2) / n).
 */
#include "sim/platform/parts.h"
#include "tests/unit/platform_case.h"

#define DRAWS 200000

static lh_variation variation_of(const char *json)
{
  char text[512];
  snprintf(text, sizeof text,
           "{'nodes': 2, 'network': {'topology': 'star', 'bandwidth': '1Gbps'},"
           "'variation': {'compute': %s}}",
           json);
  lh_platform *p = case_platform(text);
  const lh_variation variation = p->compute_variation;
  CHECK(p->latency_variation.kind == LH_VARIATION_NONE, "latency does not vary");
  lh_platform_free(p);
  return variation;
}

static void check_moments(const char *json, double mean, double variance)
{
  const lh_variation variation = variation_of(json);
  double sum = 0, lowest = INFINITY;
  double *x = malloc(DRAWS * sizeof *x);
  for (size_t i = 0; i < DRAWS; i++) {
    x[i] = lh_variation_draw(&variation, 7, LH_PURPOSE_COMPUTE_TIME, i / 100, i % 100);
    sum += x[i];
    lowest = fmin(lowest, x[i]);
  }
  const double got_mean = sum / DRAWS;
  double m2 = 0, m4 = 0;
  for (size_t i = 0; i < DRAWS; i++) {
    const double d2 = (x[i] - got_mean) * (x[i] - got_mean);
    m2 += d2 / DRAWS;
    m4 += d2 * d2 / DRAWS;
  }
  free(x);
  CHECK(lowest >= 0, "%s: drew %g", json, lowest);
  CHECK_NEAR(got_mean, mean, 5 * sqrt(variance / DRAWS), "%s: mean", json);
  CHECK_NEAR(m2, variance, 5 * sqrt((m4 - m2 * m2) / DRAWS), "%s: variance", json);
  CHECK_NEAR(lh_variation_mean(&variation), mean, 1e-12 * mean, "%s: stated mean", json);
  CHECK_NEAR(lh_variation_variance(&variation), variance, 1e-10 * variance, "%s: stated", json);
}

/* Mean and variance of a bell cut off at 0, by Simpson's rule over 12 standard deviations. */
static void cut_bell(double mean, double sigma, double *cut_mean, double *cut_variance)
{
  const size_t n = 200000; /* even */
  const double width = (mean + 12 * sigma) / (double)n;
  double m0 = 0, m1 = 0, m2 = 0;
  for (size_t i = 0; i <= n; i++) {
    const double x = width * (double)i, z = (x - mean) / sigma;
    const double weight = (i == 0 || i == n ? 1 : i % 2 ? 4 : 2) * exp(-z * z / 2);
    m0 += weight;
    m1 += weight * x;
    m2 += weight * x * x;
  }
  *cut_mean = m1 / m0;
  *cut_variance = m2 / m0 - *cut_mean * *cut_mean;
}

static void moments(void)
{
  double cut_mean, cut_variance;
  cut_bell(0.7, 0.9, &cut_mean, &cut_variance);
  check_moments("{'distribution': 'normal', 'sigma': 0.9, 'mean': 0.7}", cut_mean, cut_variance);
  check_moments("{'distribution': 'lognormal', 'sigma': 0.3}", 1, expm1(0.09));
  check_moments("{'distribution': 'lognormal', 'sigma': 0.8, 'mean': 2.5}", 2.5,
                6.25 * expm1(0.64));
  check_moments("{'distribution': 'shifted-exponential'}", 1, 1);
  check_moments("{'distribution': 'shifted-exponential', 'shift': 0.7}", 1, 0.09);
  check_moments("{'distribution': 'shifted-exponential', 'shift': 1.5, 'rate': 4}", 1.75, 1.0 / 16);
  /* b = (a - 1)/a; variance b^2 a/((a - 1)^2 (a - 2)) = 1/(a (a - 2)) */
  check_moments("{'distribution': 'pareto', 'exponent': 6}", 1, 1.0 / 24);
  check_moments("{'distribution': 'pareto', 'exponent': 9, 'mean': 3}", 3, 9.0 / 63);
  check_moments("{'distribution': 'gamma', 'shape': 4}", 1, 0.25);
  check_moments("{'distribution': 'gamma', 'shape': 0.5}", 1, 2);
  check_moments("{'distribution': 'gamma', 'shape': 90, 'mean': 1.2}", 1.2, 1.44 / 90);
  check_moments("{'distribution': 'uniform', 'low': 0.5, 'high': 2.3}", 1.4, 1.8 * 1.8 / 12);
  /* Cut off far out: as good as the whole bell, up to erfc(10/sqrt 2) ~ 1e-23. */
  check_moments("{'distribution': 'normal', 'sigma': 0.1}", 1, 0.01);
  /* Cut off at its middle: the half-normal, mean sqrt(2/pi), variance 1 - 2/pi. */
  check_moments("{'distribution': 'normal', 'sigma': 2, 'mean': 0}", 2 * sqrt(2 / M_PI),
                4 * (1 - 2 / M_PI));
}

static void heavy_tail(void)
{
  const lh_variation v = variation_of("{'distribution': 'pareto', 'exponent': 1.5}");
  CHECK(lh_variation_mean(&v) == 1 && lh_variation_variance(&v) == INFINITY, "mean 1, no variance");
  double least = INFINITY;
  for (size_t i = 0; i < 10000; i++)
    least = fmin(least, lh_variation_draw(&v, 3, LH_PURPOSE_LATENCY, 0, i));
  CHECK(least >= 1.0 / 3 && least < 1.0 / 3 + 1e-3, "scale (a - 1)/a: least %g", least);
}

static void keys_and_repetition(void)
{
  const lh_variation v = variation_of("{'distribution': 'gamma', 'shape': 2}");
  const double x = lh_variation_draw(&v, 1, LH_PURPOSE_COMPUTE_TIME, 5, 9);
  CHECK(x == lh_variation_draw(&v, 1, LH_PURPOSE_COMPUTE_TIME, 5, 9),
        "the same keys, another draw");
  CHECK(x != lh_variation_draw(&v, 2, LH_PURPOSE_COMPUTE_TIME, 5, 9), "seed");
  CHECK(x != lh_variation_draw(&v, 1, LH_PURPOSE_LATENCY, 5, 9), "purpose");
  CHECK(x != lh_variation_draw(&v, 1, LH_PURPOSE_COMPUTE_TIME, 6, 9), "step");
  CHECK(x != lh_variation_draw(&v, 1, LH_PURPOSE_COMPUTE_TIME, 5, 8), "index");
  const lh_variation none = variation_of("{'distribution': 'none'}");
  CHECK(lh_variation_draw(&none, 1, LH_PURPOSE_LATENCY, 2, 3) == 1, "none is 1");
  CHECK(lh_variation_mean(&none) == 1 && lh_variation_variance(&none) == 0, "none");
}

int main(void)
{
  moments();
  heavy_tail();
  keys_and_repetition();
  return check_report("platform variation");
}
