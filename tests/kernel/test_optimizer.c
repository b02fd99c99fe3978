/* Optimizers: the same sequence of rounded operations gives the same bits; the printed numbers of
 * zero1-adamw and hsdp-adamw; exact small cases. */
#include "kernel_case.h"

/* One rounding per operation, in either precision. */
struct arithmetic {
  lh_dtype dtype;
};

static double round_in(const struct arithmetic *a, double x)
{
  volatile double kept = x; /* double operations are themselves rounded once */
  return a->dtype == LH_F64 ? kept : (double)(float)kept;
}
#define R(x) round_in(&a, x)

/* Products of floats are exact in double, sums and quotients of floats are rounded twice, to 53 and
 * then 24 digits, which is innocent because 53 >= 2 * 24 + 2 (Figueroa 1995). */
static void adamw_reference(struct arithmetic a, size_t n, double *p, double *m, double *v,
                            const double *g, const lh_adamw_config *c, uint64_t step)
{
  const double keep = R(1 - c->learning_rate * c->weight_decay);
  const double b1 = R(1 - c->beta1), b2 = R(c->beta2), one_b2 = R(1 - c->beta2);
  const double c2 = R(sqrt((double)(1 - powl(c->beta2, step))));
  const double rate = R(c->learning_rate / (double)(1 - powl(c->beta1, step)));
  const double epsilon = R(c->epsilon);
  for (size_t i = 0; i < n; i++) {
    p[i] = R(p[i] * keep);
    m[i] = R(m[i] + R(b1 * R(g[i] - m[i])));
    v[i] = R(R(b2 * v[i]) + R(R(one_b2 * g[i]) * g[i]));
    const double den = R(R(R(sqrt(v[i])) / c2) + epsilon);
    p[i] = R(p[i] - R(rate * R(m[i] / den)));
  }
}

static void expect_equal(const char *what, const guarded *got, const double *want)
{
  const double *x = guarded_get(got, what);
  for (size_t i = 0; i < got->n; i++)
    CHECK(x[i] == want[i], "%s, element %zu of %zu: got %.17g, expected %.17g", what, i, got->n,
          x[i], want[i]);
}

static void test_adamw(lh_device *dev, lh_dtype dtype, size_t n)
{
  const lh_adamw_config config = {
      .learning_rate = 0.01, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.1};
  guarded p = guarded_1d(dev, dtype, n), m = guarded_1d(dev, dtype, n),
          v = guarded_1d(dev, dtype, n);
  guarded g = guarded_1d(dev, dtype, n);
  double *pv = guarded_draw(&p, 1, 2), *mv = guarded_draw(&m, 2, 0), *vv = guarded_draw(&v, 3, 0);
  for (uint64_t step = 1; step <= 3; step++) {
    const double *gv = guarded_draw(&g, 10 + step, 1);
    REQUIRE_OK(lh_adamw(dev, &p.t, &m.t, &v.t, &g.t, &config, step));
    adamw_reference((struct arithmetic){dtype}, n, pv, mv, vv, gv, &config, step);
  }
  expect_equal("adamw p", &p, pv);
  expect_equal("adamw m", &m, mv);
  expect_equal("adamw v", &v, vv);
  FREE(&p, &m, &v, &g);
  forget_numbers();
}

/* zero1-adamw, worked example: three parameters, the mean of two workers' gradients. The page prints
 * six decimals; float adds some 1e-7. */
static void test_zero1_example(lh_device *dev)
{
  static const double theta[3][3] = {{1.009000, -1.988000, 0.509500},
                                     {1.017986, -1.976013, 0.518989},
                                     {1.026956, -1.964040, 0.528465}};
  static const double moment[3][3] = {{-0.050000, -0.250000, -0.125000},
                                      {-0.093650, -0.473200, -0.236075},
                                      {-0.131587, -0.672282, -0.334619}};
  static const double second[3] = {0.033711, 0.878216, 0.217649};
  const lh_adamw_config config = {
      .learning_rate = 0.01, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .weight_decay = 0.1};
  FOR_DTYPES(dtype)
  {
    guarded p = guarded_1d(dev, dtype, 3), m = guarded_1d(dev, dtype, 3),
            v = guarded_1d(dev, dtype, 3);
    guarded g = guarded_1d(dev, dtype, 3);
    guarded_set(&p, (double[]){1, -2, 0.5});
    guarded_draw(&m, 1, 0), guarded_draw(&v, 1, 0);
    for (uint64_t step = 1; step <= 3; step++) {
      const double *x = guarded_get(&p, "theta");
      double mean[3];
      for (size_t i = 0; i < 3; i++)
        mean[i] = ((x[i] - (double[]){0, 1, 2}[i]) + 2 * (x[i] - (double[]){2, -1, 1}[i])) / 2;
      guarded_set(&g, mean);
      REQUIRE_OK(lh_adamw(dev, &p.t, &m.t, &v.t, &g.t, &config, step));
      const double *pv = guarded_get(&p, "theta"), *mv = guarded_get(&m, "m");
      for (size_t i = 0; i < 3; i++) {
        CHECK_NEAR(pv[i], theta[step - 1][i], 6e-7, "theta %zu after step %d", i, (int)step);
        CHECK_NEAR(mv[i], moment[step - 1][i], 6e-7, "m %zu after step %d", i, (int)step);
      }
    }
    const double *vv = guarded_get(&v, "v");
    for (size_t i = 0; i < 3; i++)
      CHECK_NEAR(vv[i], second[i], 6e-7, "v %zu after step 3", i);
    FREE(&p, &m, &v, &g);
    forget_numbers();
  }
}

/* hsdp-adamw, worked example: p = 1, two steps, without and with decay; the page says 2e-7 in float. */
static void test_hsdp_example(lh_device *dev)
{
  enum { N = 15 };
  static const double g[2][N] = {{-.3125, 0, .28125, 0, .21875, .40625, .03125, .15625, -.8125,
                                  -.21875, -.1875, -.1875, -.75, .25, -.375},
                                 {-.1875, -.03125, .09375, -.34375, .25, .28125, -.25, -.28125,
                                  .1875, .09375, -.03125, -.1875, -.375, -.0625, -.3125}};
  static const double want[2][N] = {
      {1.00195749, 1.00074414, .99812894, 1.00074414, .99799875, .99802546, .99965533, .99932528,
       1.00148548, 1.00132258, 1.00178333, 1.00200000, 1.00193218, .99853053, 1.00199117},
      {1.00193748, 1.00072414, .99810895, 1.00072414, .99797876, .99800547, .99963534, .99930529,
       1.00146547, 1.00130257, 1.00176332, 1.00197999, 1.00191217, .99851054, 1.00197116}};
  for (int decayed = 0; decayed < 2; decayed++) {
    const lh_adamw_config config = {.learning_rate = 1e-3,
                                    .beta1 = 0.9,
                                    .beta2 = 0.999,
                                    .epsilon = 1e-8,
                                    .weight_decay = decayed ? 0.01 : 0};
    guarded p = guarded_1d(dev, LH_F32, N), m = guarded_1d(dev, LH_F32, N);
    guarded v = guarded_1d(dev, LH_F32, N), grad = guarded_1d(dev, LH_F32, N);
    REQUIRE_OK(lh_fill(dev, &p.t, 1));
    guarded_draw(&m, 1, 0), guarded_draw(&v, 1, 0);
    for (uint64_t step = 1; step <= 2; step++) {
      guarded_set(&grad, (double *)(uintptr_t)g[step - 1]);
      REQUIRE_OK(lh_adamw(dev, &p.t, &m.t, &v.t, &grad.t, &config, step));
    }
    const double *got = guarded_get(&p, "p");
    for (size_t i = 0; i < N; i++)
      CHECK_NEAR(got[i], want[decayed][i], 2e-7, "p %zu, decay %d", i, decayed);
    FREE(&p, &m, &v, &grad);
    forget_numbers();
  }
}

static void sgd_reference(struct arithmetic a, size_t n, double *p, double *b, const double *g,
                          const lh_sgd_config *c)
{
  const double lr = R(c->learning_rate), mu = R(c->momentum), wd = R(c->weight_decay);
  for (size_t i = 0; i < n; i++) {
    const double gi = wd == 0 ? g[i] : R(g[i] + R(wd * p[i]));
    double d = gi;
    if (mu != 0) {
      b[i] = c->first ? gi : R(R(mu * b[i]) + gi);
      d = c->nesterov ? R(gi + R(mu * b[i])) : b[i];
    }
    p[i] = R(p[i] - R(lr * d));
  }
}

static void test_sgd(lh_device *dev, lh_dtype dtype, size_t n)
{
  static const lh_sgd_config configs[] = {
      {.learning_rate = 0.1},
      {.learning_rate = 0.1, .weight_decay = 0.01},
      {.learning_rate = 0.1, .momentum = 0.9},
      {.learning_rate = 0.7, .momentum = 0.9, .nesterov = true},
      {.learning_rate = 0.1, .momentum = 0.5, .nesterov = true, .weight_decay = 0.1}};
  for (size_t k = 0; k < 5; k++) {
    guarded p = guarded_1d(dev, dtype, n), b = guarded_1d(dev, dtype, n),
            g = guarded_1d(dev, dtype, n);
    double *pv = guarded_draw(&p, 1, 2),
           *bv = numbers(n); /* b is poisoned: `first` must not read it */
    for (int step = 0; step < 3; step++) {
      lh_sgd_config config = configs[k];
      config.first = step == 0;
      const double *gv = guarded_draw(&g, 10 + (uint64_t)step, 1);
      REQUIRE_OK(lh_sgd(dev, &p.t, config.momentum != 0 ? &b.t : NULL, &g.t, &config));
      sgd_reference((struct arithmetic){dtype}, n, pv, bv, gv, &config);
    }
    expect_equal("sgd p", &p, pv);
    if (configs[k].momentum != 0)
      expect_equal("sgd buffer", &b, bv);
    FREE(&p, &b, &g);
    forget_numbers();
  }
}

static void test_gossip(lh_device *dev, lh_dtype dtype, size_t n)
{
  const struct arithmetic a = {dtype};
  guarded delta = guarded_1d(dev, dtype, n), phi = guarded_1d(dev, dtype, n);
  guarded md = guarded_1d(dev, dtype, n), mp = guarded_1d(dev, dtype, n);
  double *d = guarded_draw(&delta, 1, 1), *p = guarded_draw(&phi, 2, 1);
  const double *mdv = guarded_draw(&md, 3, 1), *mpv = guarded_draw(&mp, 4, 1);
  REQUIRE_OK(lh_gossip_momentum(dev, &delta.t, &phi.t, &md.t, &mp.t, 0.5, 0.7, 0.6));
  for (size_t i = 0; i < n; i++) {
    d[i] = R(R(R(0.5 * d[i]) + R(R(0.7) * mdv[i])) + R(R(0.6) * R(mpv[i] - p[i])));
    p[i] = R(p[i] + d[i]);
  }
  expect_equal("gossip delta", &delta, d);
  expect_equal("gossip phi", &phi, p);
  FREE(&delta, &phi, &md, &mp);
  forget_numbers();
}

static void test_corners(lh_device *dev)
{
  guarded p = guarded_1d(dev, LH_F32, 2), m = guarded_1d(dev, LH_F32, 2),
          v = guarded_1d(dev, LH_F32, 2);
  guarded g = guarded_1d(dev, LH_F32, 2);
  const lh_adamw_config config = {
      .learning_rate = 0.5, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};
  guarded_set(&p, (double[]){3, 3});
  guarded_draw(&m, 1, 0), guarded_draw(&v, 1, 0);
  guarded_set(&g, (double[]){0, NAN});
  REQUIRE_OK(lh_adamw(dev, &p.t, &m.t, &v.t, &g.t, &config, 1));
  const double *got = guarded_get(&p, "p");
  CHECK(got[0] == 3 && isnan(got[1]), "no gradient: no step; NaN stays visible: %g %g", got[0],
        got[1]);
  const lh_sgd_config plain = {.learning_rate = 1};
  guarded_set(&p, (double[]){INFINITY, 1});
  guarded_set(&g, (double[]){1, 1});
  REQUIRE_OK(lh_sgd(dev, &p.t, NULL, &g.t, &plain)); /* no decay: not 0 * infinity */
  got = guarded_get(&p, "p");
  CHECK(got[0] == INFINITY && got[1] == 0, "no decay touches nothing: %g %g", got[0], got[1]);
  lh_adamw_config amsgrad = config;
  amsgrad.amsgrad = true;
  CHECK(lh_adamw(dev, &p.t, &m.t, &v.t, &g.t, &amsgrad, 1) == LH_EUNSUPPORTED,
        "amsgrad is refused");
  CHECK(lh_adamw(dev, &p.t, &m.t, &v.t, &g.t, &config, 0) == LH_EINTERNAL, "steps count from 1");
  const lh_sgd_config momentum = {.learning_rate = 1, .momentum = 0.9};
  CHECK(lh_sgd(dev, &p.t, NULL, &g.t, &momentum) == LH_EINTERNAL, "momentum needs a buffer");
  FREE(&p, &m, &v, &g);
  forget_numbers();
}

int main(void)
{
  lh_device *dev = open_device(&lh_backend_cpu);
  FOR_DTYPES(dtype)
  for (size_t j = 0; j <= CASE_SIZES; j++) {
    const size_t n = j < CASE_SIZES ? case_sizes[j] : 70001;
    test_adamw(dev, dtype, n);
    test_sgd(dev, dtype, n);
    test_gossip(dev, dtype, n);
  }
  test_zero1_example(dev);
  test_hsdp_example(dev);
  test_corners(dev);
  lh_device_close(dev);
  return check_report("optimizer");
}
