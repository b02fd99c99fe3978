/* variation.c -- factors on a time, from named distributions. x is the factor, u uniform in [0, 1).
 *
 * Keys beside "distribution", what lh_variation's a and b are, and mean and variance:
 *   "none"                  x = 1.
 *   "lognormal"             "sigma" > 0, "mean" (1). a = zeta = ln(mean) - sigma^2/2, b = sigma;
 *                           variance mean^2 (exp(sigma^2) - 1).
 *   "shifted-exponential"   x = shift + Exp(rate): "shift" >= 0 (0), "rate" > 0 (1/(1 - shift),
 *                           which makes the mean 1, for a shift below 1). a = shift, b = rate;
 *                           mean shift + 1/rate, variance 1/rate^2.
 *   "pareto"                density ~ x^-(exponent + 1) from scale on: "exponent" > 1, "mean" (1).
 *                           a = exponent, b = scale = mean (a - 1)/a; variance
 *                           b^2 a/((a - 1)^2 (a - 2)), infinite for a <= 2.
 *   "gamma"                 "shape" > 0, "mean" (1). a = shape, b = scale = mean/shape;
 *                           variance a b^2.
 *   "normal"                cut off at 0 (only x >= 0 is drawn): "sigma" > 0, "mean" (1) >= 0, both
 *                           of the whole bell. a = mean, b = sigma; with t = -a/b, Q its upper tail
 *                           and h = phi(t)/Q(t): mean a + b h, variance b^2 (1 + t h - h^2).
 *   "uniform"               0 <= "low" < "high". a = low, b = high.
 *
 * Drawn by inversion of GSL's distribution functions: one uniform number gives one factor, and a
 * larger number a larger factor, so nothing is kept from draw to draw.
 */
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

#include "sim/platform/parts.h"

typedef struct distribution {
  const char *name;
  const char *const *keys;
  lh_status (*read)(lh_json node, lh_variation *variation);
  double (*draw)(const lh_variation *variation, double u);
  double (*mean)(const lh_variation *variation);
  double (*variance)(const lh_variation *variation);
  const char *a, *b; /* what they are, for people */
} distribution;

static lh_status above_zero(lh_json node, double *value)
{
  LH_TRY(lh_json_double(node, 0, INFINITY, value));
  if (!(*value > 0 && isfinite(*value)))
    return lh_json_fail(node, "found %g, allowed: a number above zero", *value);
  return LH_OK;
}

static lh_status mean_read(lh_json node, double *mean)
{
  *mean = 1;
  const lh_json value = lh_json_get(node, "mean");
  return lh_json_present(value) ? above_zero(value, mean) : LH_OK;
}

/* ---- none ------------------------------------------------------------------------------------ */

static lh_status none_read(lh_json node, lh_variation *variation)
{
  (void)node, (void)variation;
  return LH_OK;
}

static double none_draw(const lh_variation *variation, double u)
{
  (void)variation, (void)u;
  return 1;
}

static double none_mean(const lh_variation *variation)
{
  (void)variation;
  return 1;
}

static double none_variance(const lh_variation *variation)
{
  (void)variation;
  return 0;
}

/* ---- lognormal ------------------------------------------------------------------------------- */

static lh_status lognormal_read(lh_json node, lh_variation *v)
{
  double mean;
  LH_TRY(above_zero(lh_json_get(node, "sigma"), &v->b));
  LH_TRY(mean_read(node, &mean));
  v->a = log(mean) - v->b * v->b / 2;
  return LH_OK;
}

static double lognormal_draw(const lh_variation *v, double u)
{
  return gsl_cdf_lognormal_Pinv(u, v->a, v->b);
}

static double lognormal_mean(const lh_variation *v)
{
  return exp(v->a + v->b * v->b / 2);
}

static double lognormal_variance(const lh_variation *v)
{
  const double mean = lognormal_mean(v);
  return mean * mean * expm1(v->b * v->b);
}

/* ---- shifted exponential --------------------------------------------------------------------- */

static lh_status shifted_read(lh_json node, lh_variation *v)
{
  const lh_json shift = lh_json_get(node, "shift"), rate = lh_json_get(node, "rate");
  LH_TRY(lh_json_double_or(shift, 0, INFINITY, 0, &v->a));
  if (lh_json_present(rate))
    return above_zero(rate, &v->b);
  if (!(v->a < 1))
    return lh_json_fail(shift,
                        "found %g without a rate, allowed: a shift below 1, whose rate is "
                        "then 1/(1 - shift), or both",
                        v->a);
  v->b = 1 / (1 - v->a);
  return LH_OK;
}

static double shifted_draw(const lh_variation *v, double u)
{
  return v->a + gsl_cdf_exponential_Pinv(u, 1 / v->b);
}

static double shifted_mean(const lh_variation *v)
{
  return v->a + 1 / v->b;
}

static double shifted_variance(const lh_variation *v)
{
  return 1 / (v->b * v->b);
}

/* ---- pareto ---------------------------------------------------------------------------------- */

static lh_status pareto_read(lh_json node, lh_variation *v)
{
  const lh_json exponent = lh_json_get(node, "exponent");
  double mean;
  LH_TRY(above_zero(exponent, &v->a));
  if (!(v->a > 1))
    return lh_json_fail(exponent, "found %g, allowed: more than 1 (else the mean is infinite)",
                        v->a);
  LH_TRY(mean_read(node, &mean));
  v->b = mean * (v->a - 1) / v->a;
  return LH_OK;
}

static double pareto_draw(const lh_variation *v, double u)
{
  return gsl_cdf_pareto_Pinv(u, v->a, v->b);
}

static double pareto_mean(const lh_variation *v)
{
  return v->a * v->b / (v->a - 1);
}

static double pareto_variance(const lh_variation *v)
{
  if (v->a <= 2)
    return INFINITY;
  return v->b * v->b * v->a / ((v->a - 1) * (v->a - 1) * (v->a - 2));
}

/* ---- gamma ----------------------------------------------------------------------------------- */

static lh_status gamma_read(lh_json node, lh_variation *v)
{
  double mean;
  LH_TRY(above_zero(lh_json_get(node, "shape"), &v->a));
  LH_TRY(mean_read(node, &mean));
  v->b = mean / v->a;
  return LH_OK;
}

static double gamma_draw(const lh_variation *v, double u)
{
  return gsl_cdf_gamma_Pinv(u, v->a, v->b);
}

static double gamma_mean(const lh_variation *v)
{
  return v->a * v->b;
}

static double gamma_variance(const lh_variation *v)
{
  return v->a * v->b * v->b;
}

/* ---- normal ---------------------------------------------------------------------------------- */

static lh_status normal_read(lh_json node, lh_variation *v)
{
  LH_TRY(lh_json_double_or(lh_json_get(node, "mean"), 0, INFINITY, 1, &v->a));
  return above_zero(lh_json_get(node, "sigma"), &v->b);
}

/* The part of the upper tail that is left above 0, from its far end: exact where u is near 1. */
static double normal_draw(const lh_variation *v, double u)
{
  const double q = (1 - u) * gsl_cdf_ugaussian_Q(-v->a / v->b);
  return fmax(0, v->a + v->b * gsl_cdf_ugaussian_Qinv(q));
}

static double normal_hazard(const lh_variation *v)
{
  const double t = -v->a / v->b;
  return gsl_ran_ugaussian_pdf(t) / gsl_cdf_ugaussian_Q(t);
}

static double normal_mean(const lh_variation *v)
{
  return v->a + v->b * normal_hazard(v);
}

static double normal_variance(const lh_variation *v)
{
  const double h = normal_hazard(v);
  return v->b * v->b * (1 - v->a / v->b * h - h * h);
}

/* ---- uniform --------------------------------------------------------------------------------- */

static lh_status uniform_read(lh_json node, lh_variation *v)
{
  const lh_json high = lh_json_get(node, "high");
  LH_TRY(lh_json_double(lh_json_get(node, "low"), 0, INFINITY, &v->a));
  LH_TRY(lh_json_double(high, 0, INFINITY, &v->b));
  if (!(v->b > v->a && isfinite(v->b)))
    return lh_json_fail(high, "found %g, allowed: a number above low, which is %g", v->b, v->a);
  return LH_OK;
}

static double uniform_draw(const lh_variation *v, double u)
{
  return gsl_cdf_flat_Pinv(u, v->a, v->b);
}

static double uniform_mean(const lh_variation *v)
{
  return (v->a + v->b) / 2;
}

static double uniform_variance(const lh_variation *v)
{
  return (v->b - v->a) * (v->b - v->a) / 12;
}

/* ---- the table ------------------------------------------------------------------------------- */

static const char *const none_keys[] = {"distribution", NULL};
static const char *const lognormal_keys[] = {"distribution", "sigma", "mean", NULL};
static const char *const shifted_keys[] = {"distribution", "shift", "rate", NULL};
static const char *const pareto_keys[] = {"distribution", "exponent", "mean", NULL};
static const char *const gamma_keys[] = {"distribution", "shape", "mean", NULL};
static const char *const normal_keys[] = {"distribution", "sigma", "mean", NULL};
static const char *const uniform_keys[] = {"distribution", "low", "high", NULL};

static const distribution distributions[] = {
    [LH_VARIATION_NONE] = {"none", none_keys, none_read, none_draw, none_mean, none_variance, "",
                           ""},
    [LH_VARIATION_LOGNORMAL] = {"lognormal", lognormal_keys, lognormal_read, lognormal_draw,
                                lognormal_mean, lognormal_variance, "zeta", "sigma"},
    [LH_VARIATION_SHIFTED_EXPONENTIAL] = {"shifted-exponential", shifted_keys, shifted_read,
                                          shifted_draw, shifted_mean, shifted_variance, "shift",
                                          "rate"},
    [LH_VARIATION_PARETO] = {"pareto", pareto_keys, pareto_read, pareto_draw, pareto_mean,
                             pareto_variance, "exponent", "scale"},
    [LH_VARIATION_GAMMA] = {"gamma", gamma_keys, gamma_read, gamma_draw, gamma_mean, gamma_variance,
                            "shape", "scale"},
    [LH_VARIATION_NORMAL] = {"normal", normal_keys, normal_read, normal_draw, normal_mean,
                             normal_variance, "mean", "sigma"},
    [LH_VARIATION_UNIFORM] = {"uniform", uniform_keys, uniform_read, uniform_draw, uniform_mean,
                              uniform_variance, "low", "high"},
};
#define DISTRIBUTIONS (sizeof distributions / sizeof *distributions)

lh_status lh_variation_read(lh_json node, lh_variation *variation)
{
  *variation = (lh_variation){.kind = LH_VARIATION_NONE};
  if (!lh_json_present(node))
    return LH_OK;
  LH_TRY(lh_json_expect_object(node));
  const char *names[DISTRIBUTIONS + 1] = {0};
  for (size_t i = 0; i < DISTRIBUTIONS; i++)
    names[i] = distributions[i].name;
  size_t kind;
  LH_TRY(lh_json_choice(lh_json_get(node, "distribution"), names, &kind));
  LH_TRY(lh_json_check_keys(node, distributions[kind].keys));
  variation->kind = (int)kind;
  return distributions[kind].read(node, variation);
}

double lh_variation_draw(const lh_variation *variation, uint64_t seed, lh_purpose purpose,
                         uint64_t step, uint64_t index)
{
  if (variation->kind == LH_VARIATION_NONE)
    return 1;
  return distributions[variation->kind].draw(variation,
                                             lh_draw_uniform(seed, purpose, step, index));
}

double lh_variation_mean(const lh_variation *variation)
{
  return distributions[variation->kind].mean(variation);
}

double lh_variation_variance(const lh_variation *variation)
{
  return distributions[variation->kind].variance(variation);
}

const char *lh_variation_text(const lh_variation *variation, char *buffer, size_t size)
{
  const distribution *kind = &distributions[variation->kind];
  if (variation->kind == LH_VARIATION_NONE)
    snprintf(buffer, size, "none");
  else
    snprintf(buffer, size, "%s (%s %g, %s %g): mean %.4g, standard deviation %.4g", kind->name,
             kind->a, variation->a, kind->b, variation->b, lh_variation_mean(variation),
             sqrt(lh_variation_variance(variation)));
  return buffer;
}
