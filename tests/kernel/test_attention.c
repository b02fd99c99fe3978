/* Causal attention against the textbook in double, gradients also against finite differences.
 *
 * Bound: a score is a sum of d products, an output a sum of t, both in any order: d + t roundings at
 * most, amplified by the size of the scores in the exponential, and some 20 around them. */
#include "kernel_case.h"

struct shape {
  size_t batch, heads, tokens, width; /* width of all heads together */
};

/* One head. q, k, v, out, dout and the gradients are (t,d) with the given row lengths. */
struct head {
  size_t t, d, wide, narrow;
  const double *q, *out, *dout; /* k and v follow q after width columns */
  size_t width;
};

static double score(const struct head *h, size_t i, size_t j, double *size)
{
  double s = 0;
  for (size_t l = 0; l < h->d; l++) {
    const double term = h->q[i * h->wide + l] * h->q[j * h->wide + h->width + l];
    s += term;
    *size += fabs(term) / sqrt((double)h->d);
  }
  return s / sqrt((double)h->d);
}

/* Row i of the probabilities; returns the log of the denominator; *size: of the scores. */
static double probabilities(const struct head *h, size_t i, double *p, double *size)
{
  double top = -INFINITY, sum = 0;
  *size = 0;
  for (size_t j = 0; j <= i; j++) {
    double one = 0;
    p[j] = score(h, i, j, &one);
    top = fmax(top, p[j]);
    *size = fmax(*size, one);
  }
  for (size_t j = 0; j <= i; j++)
    sum += exp(p[j] - top);
  for (size_t j = 0; j <= i; j++)
    p[j] = exp(p[j] - top) / sum;
  return top + log(sum);
}

static void head_forward(const struct head *h, double *out, double *out_size, double *lse,
                         double *lse_size)
{
  double *p = numbers(h->t);
  for (size_t i = 0; i < h->t; i++) {
    double size;
    lse[i] = probabilities(h, i, p, &size);
    lse_size[i] = 1 + size + fabs(lse[i]);
    for (size_t l = 0; l < h->d; l++)
      for (size_t j = 0; j <= i; j++) {
        const double term = p[j] * h->q[j * h->wide + 2 * h->width + l];
        out[i * h->narrow + l] += term;
        out_size[i * h->narrow + l] += fabs(term) * (1 + size);
      }
  }
}

static void head_backward(const struct head *h, double *dq, double *dq_size)
{
  double *p = numbers(h->t), *dp = numbers(h->t);
  const double scale = 1 / sqrt((double)h->d);
  for (size_t i = 0; i < h->t; i++) {
    double size, dot = 0, dot_size = 0;
    probabilities(h, i, p, &size);
    for (size_t l = 0; l < h->d; l++) {
      dot += h->dout[i * h->narrow + l] * h->out[i * h->narrow + l];
      dot_size += fabs(h->dout[i * h->narrow + l] * h->out[i * h->narrow + l]);
    }
    for (size_t j = 0; j <= i; j++) {
      double dp_size = 0;
      dp[j] = 0;
      for (size_t l = 0; l < h->d; l++) {
        const double v = h->q[j * h->wide + 2 * h->width + l], g = h->dout[i * h->narrow + l];
        dp[j] += g * v;
        dp_size += fabs(g * v);
        dq[j * h->wide + 2 * h->width + l] += p[j] * g;
        dq_size[j * h->wide + 2 * h->width + l] += p[j] * fabs(g) * (1 + size);
      }
      const double ds = p[j] * (dp[j] - dot) * scale;
      const double ds_size = p[j] * (dp_size + dot_size) * scale * (1 + size);
      for (size_t l = 0; l < h->d; l++) {
        const double q = h->q[i * h->wide + l], k = h->q[j * h->wide + h->width + l];
        dq[i * h->wide + l] += ds * k;
        dq_size[i * h->wide + l] += ds_size * fabs(k);
        dq[j * h->wide + h->width + l] += ds * q;
        dq_size[j * h->wide + h->width + l] += ds_size * fabs(q);
      }
    }
  }
}

static struct head head_at(const struct shape *s, const double *qkv, const double *out,
                           const double *dout, size_t b, size_t h)
{
  const size_t d = s->width / s->heads, narrow = b * s->tokens * s->width + h * d;
  return (struct head){.t = s->tokens,
                       .d = d,
                       .wide = 3 * s->width,
                       .narrow = s->width,
                       .width = s->width,
                       .q = qkv + b * s->tokens * 3 * s->width + h * d,
                       .out = out + narrow,
                       .dout = dout + narrow};
}

static void test_shape(lh_device *dev, lh_dtype dtype, struct shape s, double scale)
{
  const size_t n = s.batch * s.tokens, c = s.width;
  guarded qkv = guarded_2d(dev, dtype, n, 3 * c), out = guarded_2d(dev, dtype, n, c);
  guarded dqkv = guarded_2d(dev, dtype, n, 3 * c), dout = guarded_2d(dev, dtype, n, c);
  guarded lse = guarded_1d(dev, dtype, n * s.heads);
  const double *x = guarded_draw(&qkv, 1, scale), *dy = guarded_draw(&dout, 2, 1);
  REQUIRE_OK(lh_attention_forward(dev, &out.t, &lse.t, &qkv.t, s.batch, s.heads));
  REQUIRE_OK(
      lh_attention_backward(dev, &dqkv.t, &dout.t, &out.t, &lse.t, &qkv.t, s.batch, s.heads));

  double *y = numbers(n * c), *y_size = numbers(n * c), *dx = numbers(3 * n * c);
  double *dx_size = numbers(3 * n * c), *l = numbers(n * s.heads), *l_size = numbers(n * s.heads);
  for (size_t b = 0; b < s.batch; b++)
    for (size_t h = 0; h < s.heads; h++) {
      const struct head one = head_at(&s, x, y, dy, b, h);
      const size_t narrow = (size_t)(one.out - y), wide = (size_t)(one.q - x);
      const size_t row = (b * s.heads + h) * s.tokens;
      head_forward(&one, y + narrow, y_size + narrow, l + row, l_size + row);
      head_backward(&one, dx + wide, dx_size + wide);
    }
  const double bound = (double)(s.tokens + 2 * c / s.heads) + 20;
  compare("attention out", dtype, guarded_get(&out, "attention out"), y, y_size, n * c, bound);
  compare("attention log sums", dtype, guarded_get(&lse, "attention lse"), l, l_size, n * s.heads,
          bound);
  compare("attention dqkv", dtype, guarded_get(&dqkv, "attention dqkv"), dx, dx_size, 3 * n * c,
          2 * bound);
  FREE(&qkv, &out, &dqkv, &dout, &lse);
  forget_numbers();
}

/* Step 1e-5 on a smooth function of size 1: truncation 1e-10 times a third derivative, rounding 1e-11. */
static void test_differences(lh_device *dev)
{
  const size_t n = 2 * 5, c = 6;
  guarded qkv = guarded_2d(dev, LH_F64, n, 3 * c), out = guarded_2d(dev, LH_F64, n, c);
  guarded dqkv = guarded_2d(dev, LH_F64, n, 3 * c), dout = guarded_2d(dev, LH_F64, n, c);
  guarded lse = guarded_1d(dev, LH_F64, n * 2);
  double *x = guarded_draw(&qkv, 1, 1.5);
  const double *dy = guarded_draw(&dout, 2, 1);
  REQUIRE_OK(lh_attention_forward(dev, &out.t, &lse.t, &qkv.t, 2, 2));
  REQUIRE_OK(lh_attention_backward(dev, &dqkv.t, &dout.t, &out.t, &lse.t, &qkv.t, 2, 2));
  const double *got = guarded_get(&dqkv, "attention dqkv");
  for (size_t i = 0; i < 3 * n * c; i++) {
    double f[2] = {0, 0};
    const double kept = x[i], step = 1e-5;
    for (int side = 0; side < 2; side++) {
      x[i] = kept + (side ? step : -step);
      guarded_set(&qkv, x);
      REQUIRE_OK(lh_attention_forward(dev, &out.t, &lse.t, &qkv.t, 2, 2));
      const double *y = guarded_get(&out, "attention out");
      for (size_t j = 0; j < n * c; j++)
        f[side] += dy[j] * y[j];
    }
    x[i] = kept;
    CHECK_NEAR(got[i], (f[1] - f[0]) / (2 * step), 1e-8, "attention, input %zu", i);
  }
  FREE(&qkv, &out, &dqkv, &dout, &lse);
  forget_numbers();
}

/* A token sees nothing behind it: a NaN at the last position spoils the last row only. */
static void test_causal(lh_device *dev)
{
  const size_t t = 130, c = 8;
  guarded qkv = guarded_2d(dev, LH_F32, t, 3 * c), out = guarded_2d(dev, LH_F32, t, c);
  guarded lse = guarded_1d(dev, LH_F32, t);
  double *x = guarded_draw(&qkv, 1, 1);
  for (size_t j = 0; j < 3 * c; j++)
    x[(t - 1) * 3 * c + j] = 1e30; /* not NaN: 0 * NaN in a masked product would be NaN */
  guarded_set(&qkv, x);
  REQUIRE_OK(lh_attention_forward(dev, &out.t, &lse.t, &qkv.t, 1, 1));
  const double *far = guarded_get(&out, "attention out");
  for (size_t j = 0; j < 3 * c; j++)
    x[(t - 1) * 3 * c + j] = 0.25;
  guarded_set(&qkv, x);
  REQUIRE_OK(lh_attention_forward(dev, &out.t, &lse.t, &qkv.t, 1, 1));
  const double *near = guarded_get(&out, "attention out");
  for (size_t i = 0; i < (t - 1) * c; i++)
    CHECK(far[i] == near[i], "output %zu depends on a later token: %g, %g", i, far[i], near[i]);
  FREE(&qkv, &out, &lse);
  forget_numbers();
}

int main(void)
{
  static const struct shape shapes[] = {{1, 1, 1, 1},   {2, 1, 2, 3},   {1, 3, 31, 33},
                                        {2, 2, 33, 62}, {1, 1, 64, 16}, {1, 2, 65, 128},
                                        {1, 1, 97, 97}, {2, 2, 200, 64}};
  lh_device *dev = open_device(&lh_backend_cpu);
  FOR_DTYPES(dtype)
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    test_shape(dev, dtype, shapes[i], 1);
    test_shape(dev, dtype, shapes[i], 6); /* sharp: scores up to some 100 */
  }
  test_differences(dev);
  test_causal(dev);
  print_errors();
  lh_device_close(dev);
  return check_report("attention");
}
