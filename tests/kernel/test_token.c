/* Embedding and cross-entropy against plain loops in double. */
#include "kernel_case.h"

static int32_t *draw_tokens(uint64_t seed, size_t n, size_t limit)
{
  int32_t *token = (int32_t *)(void *)numbers(n);
  for (size_t i = 0; i < n; i++)
    token[i] = (int32_t)(lh_draw(seed, LH_PURPOSE_SYNTHETIC, 1, i) % limit);
  return token;
}

/* The sums are of small integers, so they are exact in any order: equality. */
static void test_embedding(lh_device *dev, lh_dtype dtype, size_t n, size_t t, size_t v, size_t c)
{
  const int32_t *token = draw_tokens(9, n, v);
  guarded tokens = tokens_new(dev, token, n), y = guarded_2d(dev, dtype, n, c);
  guarded table = guarded_2d(dev, dtype, v, c), position = guarded_2d(dev, dtype, t, c);
  double *tv = numbers(v * c), *pv = numbers(t * c), *dyv = numbers(n * c);
  for (size_t i = 0; i < v * c; i++)
    tv[i] = (double)(i % 101) - 50;
  for (size_t i = 0; i < t * c; i++)
    pv[i] = (double)(i % 89) - 44;
  for (size_t i = 0; i < n * c; i++)
    dyv[i] = (double)(i % 7) - 3;
  guarded_set(&table, tv), guarded_set(&position, pv);
  REQUIRE_OK(lh_embedding_forward(dev, &y.t, &tokens.t, &table.t, &position.t));
  const double *got = guarded_get(&y, "embedding");
  for (size_t i = 0; i < n * c; i++) {
    const double want = tv[(size_t)token[i / c] * c + i % c] + pv[(i / c) % t * c + i % c];
    CHECK(got[i] == want, "embedding element %zu: got %g, expected %g", i, got[i], want);
  }
  REQUIRE_OK(lh_embedding_forward(dev, &y.t, &tokens.t, &table.t, NULL));
  got = guarded_get(&y, "embedding");
  for (size_t i = 0; i < n * c; i++)
    CHECK(got[i] == tv[(size_t)token[i / c] * c + i % c], "no position, element %zu: %g", i,
          got[i]);

  guarded dy = guarded_2d(dev, dtype, n, c);
  guarded_set(&dy, dyv); /* gradients are added to the values that table and position hold */
  REQUIRE_OK(lh_embedding_backward(dev, &table.t, &position.t, &dy.t, &tokens.t));
  for (size_t i = 0; i < n * c; i++) {
    tv[(size_t)token[i / c] * c + i % c] += dyv[i];
    pv[(i / c) % t * c + i % c] += dyv[i];
  }
  const double *dtable = guarded_get(&table, "dtable"),
               *dposition = guarded_get(&position, "dposition");
  for (size_t i = 0; i < v * c; i++)
    CHECK(dtable[i] == tv[i], "dtable %zu: got %g, expected %g", i, dtable[i], tv[i]);
  for (size_t i = 0; i < t * c; i++)
    CHECK(dposition[i] == pv[i], "dposition %zu: got %g, expected %g", i, dposition[i], pv[i]);
  FREE(&tokens, &y, &table, &position, &dy);
  forget_numbers();
}

static void test_bad_token(lh_device *dev)
{
  for (int bad = 0; bad < 2; bad++) {
    guarded tokens = tokens_new(dev, bad ? (int32_t[]){1, -1} : (int32_t[]){0, 5}, 2);
    guarded table = guarded_2d(dev, LH_F32, 5, 3), y = guarded_2d(dev, LH_F32, 2, 3);
    lh_loss loss = {0};
    CHECK(lh_embedding_forward(dev, &y.t, &tokens.t, &table.t, NULL) == LH_EINTERNAL, "case %d",
          bad);
    guarded logits = guarded_2d(dev, LH_F32, 2, 5);
    CHECK(lh_cross_entropy(dev, NULL, &logits.t, &tokens.t, 1, &loss) == LH_EINTERNAL, "case %d",
          bad);
    FREE(&tokens, &table, &y, &logits);
  }
  forget_numbers();
}

/* Bound: e^(x - top) carries |x - top| roundings of its argument, the sum v / 16 + 5, and 10 around. */
static void test_cross_entropy(lh_device *dev, lh_dtype dtype, size_t n, size_t v, double scale)
{
  const int32_t *target = draw_tokens(5, n, v);
  guarded targets = tokens_new(dev, target, n);
  guarded logits = guarded_2d(dev, dtype, n, v), d = guarded_2d(dev, dtype, n, v);
  const double *x = guarded_draw(&logits, 1, scale), factor = 0.375;
  double *want = numbers(n * v), *size = numbers(n * v), loss_sum = 0, loss_size = 0;
  size_t correct = 0;
  for (size_t i = 0; i < n; i++) {
    const double *xi = x + i * v;
    long double top = -INFINITY, sum = 0;
    size_t best = 0;
    for (size_t j = 0; j < v; j++) {
      best = xi[j] > xi[best] ? j : best;
      top = fmaxl(top, xi[j]);
    }
    for (size_t j = 0; j < v; j++)
      sum += expl(xi[j] - top);
    for (size_t j = 0; j < v; j++) {
      const double p = (double)(expl(xi[j] - top) / sum), hit = j == (size_t)target[i];
      want[i * v + j] = (p - hit) * factor;
      size[i * v + j] = (p * (1 + fabs(xi[j]) + fabs((double)top)) + hit) * factor;
    }
    loss_sum += (double)(logl(sum) + top - xi[target[i]]);
    loss_size += (double)(fabsl(top) + fabs(xi[target[i]]) + 1);
    correct += best == (size_t)target[i];
  }
  lh_loss loss = {.loss_sum = 100, .count = 3, .correct = 2};
  REQUIRE_OK(lh_cross_entropy(dev, &d.t, &logits.t, &targets.t, factor, &loss));
  const double bound = (double)v / 16 + 16, got_loss = loss.loss_sum - 100;
  compare("cross-entropy dlogits", dtype, guarded_get(&d, "dlogits"), want, size, n * v, bound);
  loss_size += 200 * DBL_EPSILON / case_eps(dtype); /* the 100 it was added to */
  compare("cross-entropy loss", dtype, &got_loss, &loss_sum, &loss_size, 1, bound);
  CHECK(loss.count == n + 3 && loss.correct == correct + 2, "%zu of %zu right, expected %zu",
        loss.correct, loss.count, correct + 2);

  lh_loss evaluated = {0};
  REQUIRE_OK(lh_cross_entropy(dev, NULL, &logits.t, &targets.t, factor, &evaluated));
  CHECK(evaluated.correct == correct, "evaluation: %zu right, not %zu", evaluated.correct, correct);
  CHECK_NEAR(evaluated.loss_sum, got_loss, 1e-12 * (100 + loss_sum),
             "evaluation gives the same loss");
  const double *after = guarded_get(&logits, "logits");
  for (size_t i = 0; i < n * v; i++)
    CHECK(after[i] == x[i], "evaluation changes logit %zu", i);
  const double *apart = guarded_get(&d, "dlogits");
  REQUIRE_OK(lh_cross_entropy(dev, &logits.t, &logits.t, &targets.t, factor, &evaluated));
  const double *inside = guarded_get(&logits, "dlogits");
  for (size_t i = 0; i < n * v; i++)
    CHECK(apart[i] == inside[i], "in place, element %zu: %g beside %g", i, inside[i], apart[i]);
  FREE(&targets, &logits, &d);
  forget_numbers();
}

static void test_differences(lh_device *dev)
{
  const size_t n = 3, v = 11;
  const int32_t *target = draw_tokens(5, n, v);
  guarded targets = tokens_new(dev, target, n);
  guarded logits = guarded_2d(dev, LH_F64, n, v), d = guarded_2d(dev, LH_F64, n, v);
  double *x = guarded_draw(&logits, 1, 2);
  lh_loss loss = {0};
  REQUIRE_OK(lh_cross_entropy(dev, &d.t, &logits.t, &targets.t, 1, &loss));
  const double *got = guarded_get(&d, "dlogits");
  for (size_t i = 0; i < n * v; i++) {
    const double kept = x[i], step = 1e-5;
    lh_loss f[2] = {{0}};
    for (int side = 0; side < 2; side++) {
      x[i] = kept + (side ? step : -step);
      guarded_set(&logits, x);
      REQUIRE_OK(lh_cross_entropy(dev, NULL, &logits.t, &targets.t, 1, &f[side]));
    }
    x[i] = kept;
    CHECK_NEAR(got[i], (f[1].loss_sum - f[0].loss_sum) / (2 * step), 1e-9, "logit %zu", i);
  }
  FREE(&targets, &logits, &d);
  forget_numbers();
}

/* Equal logits: the first one counts as the largest; log v is the loss. A NaN spoils its row's loss. */
static void test_corners(lh_device *dev)
{
  guarded targets = tokens_new(dev, (int32_t[]){0, 1, 2}, 3),
          logits = guarded_2d(dev, LH_F32, 3, 4);
  guarded_set(&logits, (double[]){2, 2, 2, 2, 2, 2, 2, 2, 1, 2, 3, 0});
  lh_loss loss = {0};
  REQUIRE_OK(lh_cross_entropy(dev, NULL, &logits.t, &targets.t, 1, &loss));
  CHECK(loss.correct == 2, "%zu right: the first of equal logits and the largest", loss.correct);
  const double third = log(exp(-2) + exp(-1) + 1 + exp(-3));
  CHECK_NEAR(loss.loss_sum, 2 * log(4) + third, 1e-6, "loss of equal logits");
  guarded_set(&logits, (double[]){2, 2, 2, NAN, 2, NAN, 2, 2, 1, 2, 3, 0});
  loss = (lh_loss){0};
  REQUIRE_OK(lh_cross_entropy(dev, NULL, &logits.t, &targets.t, 1, &loss));
  CHECK(isnan(loss.loss_sum) && loss.correct == 1, "NaN: loss %g, %zu right", loss.loss_sum,
        loss.correct);
  FREE(&targets, &logits);
  forget_numbers();
}

int main(void)
{
  lh_device *dev = open_device(&lh_backend_cpu);
  FOR_DTYPES(dtype)
  {
    for (size_t j = 0; j < CASE_SIZES; j++) {
      test_embedding(dev, dtype, 2 * case_sizes[j], case_sizes[j], 1 + case_sizes[(j + 2) % 5],
                     case_sizes[(j + 1) % 5]);
      test_cross_entropy(dev, dtype, case_sizes[(j + 3) % 5], case_sizes[j], 3);
    }
    test_embedding(dev, dtype, 300, 100, 256, 130);
    test_cross_entropy(dev, dtype, 2, 50257, 30);
  }
  test_bad_token(dev);
  test_differences(dev);
  test_corners(dev);
  print_errors();
  lh_device_close(dev);
  return check_report("token");
}
