/* Matrix products against triple loops in double. Bound: a sum of k products has at most k roundings of
 * each term, in whatever order OpenBLAS adds (Higham, section 3.1), plus alpha, beta and the last sum. */
#include "kernel_case.h"
#include "kernels/cpu/cpu.h"

struct gemm_case {
  bool ta, tb;
  double alpha, beta;
};

static const struct gemm_case gemm_cases[] = {
    {false, false, 1, 0}, {true, false, 1, 1}, {false, true, -0.5, 0.25}, {true, true, 2, 1}};

static double at(const double *x, bool transposed, size_t rows, size_t columns, size_t i, size_t j)
{
  return transposed ? x[j * rows + i] : x[i * columns + j];
}

static void gemm_reference(const struct gemm_case *g, size_t m, size_t n, size_t k, const double *a,
                           const double *b, const double *c, double *want, double *magnitude)
{
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < n; j++) {
      double sum = 0, absolute = 0;
      for (size_t l = 0; l < k; l++) {
        const double term = at(a, g->ta, m, k, i, l) * at(b, g->tb, k, n, l, j);
        sum += term;
        absolute += fabs(term);
      }
      const double old = g->beta == 0 ? 0 : g->beta * c[i * n + j];
      want[i * n + j] = g->alpha * sum + old;
      magnitude[i * n + j] = fabs(g->alpha) * absolute + fabs(old);
    }
}

static void test_gemm(lh_device *dev, lh_dtype dtype, const struct gemm_case *g, size_t m, size_t n,
                      size_t k)
{
  guarded a = guarded_2d(dev, dtype, g->ta ? k : m, g->ta ? m : k);
  guarded b = guarded_2d(dev, dtype, g->tb ? n : k, g->tb ? k : n);
  guarded c = guarded_2d(dev, dtype, m, n);
  const double *av = guarded_draw(&a, 1, 1), *bv = guarded_draw(&b, 2, 1), *cv = numbers(m * n);
  if (g->beta != 0) /* else c stays poisoned: beta 0 must not read it */
    cv = guarded_draw(&c, 3, 1);
  REQUIRE_OK(lh_gemm(dev, g->ta, g->tb, g->alpha, &a.t, &b.t, g->beta, &c.t));

  double *want = numbers(m * n), *magnitude = numbers(m * n);
  gemm_reference(g, m, n, k, av, bv, cv, want, magnitude);
  compare("gemm", dtype, guarded_get(&c, "gemm"), want, magnitude, m * n, (double)k + 3);
  FREE(&a, &b, &c);
  forget_numbers();
}

static void test_batched(lh_device *dev, lh_dtype dtype)
{
  const size_t batch = 3, m = 5, n = 7, k = 4;
  guarded a = guarded_1d(dev, dtype, batch * m * k), b = guarded_1d(dev, dtype, batch * n * k);
  guarded c = guarded_1d(dev, dtype, batch * m * n);
  const double *av = guarded_draw(&a, 1, 1), *bv = guarded_draw(&b, 2, 1);
  a.t = lh_tensor_view(&a.t, 0, 3, (const size_t[]){batch, m, k});
  b.t = lh_tensor_view(&b.t, 0, 3, (const size_t[]){batch, n, k});
  c.t = lh_tensor_view(&c.t, 0, 3, (const size_t[]){batch, m, n});
  const struct gemm_case g = {.tb = true, .alpha = 1};
  REQUIRE_OK(lh_gemm(dev, g.ta, g.tb, g.alpha, &a.t, &b.t, g.beta, &c.t));
  const double *got = guarded_get(&c, "batched gemm");
  for (size_t i = 0; i < batch; i++) {
    double *want = numbers(m * n), *magnitude = numbers(m * n);
    gemm_reference(&g, m, n, k, av + i * m * k, bv + i * n * k, got, want, magnitude);
    compare("gemm", dtype, got + i * m * n, want, magnitude, m * n, (double)k + 3);
  }
  FREE(&a, &b, &c);
  forget_numbers();
}

/* y = x w^T + bias is gemm with c = bias; dx = dy w; dw += dy^T x; dbias += column sums. */
static void test_linear(lh_device *dev, lh_dtype dtype, size_t n, size_t in, size_t out,
                        bool biased)
{
  guarded x = guarded_2d(dev, dtype, n, in), w = guarded_2d(dev, dtype, out, in);
  guarded bias = guarded_1d(dev, dtype, out), y = guarded_2d(dev, dtype, n, out);
  guarded dx = guarded_2d(dev, dtype, n, in), dw = guarded_2d(dev, dtype, out, in);
  guarded dbias = guarded_1d(dev, dtype, out), dy = guarded_2d(dev, dtype, n, out);
  const double *xv = guarded_draw(&x, 1, 1), *wv = guarded_draw(&w, 2, 1);
  const double *biasv = guarded_draw(&bias, 3, 1), *dyv = guarded_draw(&dy, 4, 1);
  const double *dwv = guarded_draw(&dw, 5, 1), *dbiasv = guarded_draw(&dbias, 6, 1);
  double *want = numbers(n * out + n * in + out * in), *mag = numbers(n * out + n * in + out * in);
  double *c = numbers(n * out);

  REQUIRE_OK(lh_linear_forward(dev, &y.t, &x.t, &w.t, biased ? &bias.t : NULL));
  for (size_t i = 0; biased && i < n * out; i++)
    c[i] = biasv[i % out];
  gemm_reference(&(struct gemm_case){.tb = true, .alpha = 1, .beta = 1}, n, out, in, xv, wv, c,
                 want, mag);
  compare("linear forward", dtype, guarded_get(&y, "linear forward"), want, mag, n * out,
          (double)in + 3);

  REQUIRE_OK(lh_linear_backward(dev, &dx.t, &dw.t, biased ? &dbias.t : NULL, &dy.t, &x.t, &w.t));
  gemm_reference(&(struct gemm_case){.alpha = 1}, n, in, out, dyv, wv, NULL, want, mag);
  compare("linear backward dx", dtype, guarded_get(&dx, "dx"), want, mag, n * in, (double)out + 3);
  gemm_reference(&(struct gemm_case){.ta = true, .alpha = 1, .beta = 1}, out, in, n, dyv, xv, dwv,
                 want, mag);
  compare("linear backward dw", dtype, guarded_get(&dw, "dw"), want, mag, out * in, (double)n + 3);
  for (size_t j = 0; j < out; j++) {
    want[j] = dbiasv[j];
    mag[j] = fabs(dbiasv[j]);
    for (size_t i = 0; biased && i < n; i++) {
      want[j] += dyv[i * out + j];
      mag[j] += fabs(dyv[i * out + j]);
    }
  }
  compare("linear backward dbias", dtype, guarded_get(&dbias, "dbias"), want, mag, out,
          (double)n + 3);

  REQUIRE_OK(lh_linear_backward(dev, NULL, &dw.t, NULL, &dy.t, &x.t, &w.t)); /* dx not wanted */
  FREE(&x, &w, &bias, &y, &dx, &dw, &dbias, &dy);
  forget_numbers();
}

/* A processor with long vectors gets products written for them, whatever OpenBLAS thinks of it. */
static void test_core(lh_device *dev)
{
  const char *core = lh_cpu_blas_core(dev);
  printf("OpenBLAS uses its code for %s\n", core);
  if (lh_cpu_use_instruction_set(dev, "avx2"))
    CHECK(strcmp(core, "Prescott") != 0, "OpenBLAS uses code for %s on this processor", core);
  lh_cpu_use_instruction_set(dev, NULL);
}

int main(void)
{
  lh_device *dev = open_device(&lh_backend_cpu);
  test_core(dev);
  FOR_DTYPES(dtype)
  {
    for (size_t i = 0; i < sizeof gemm_cases / sizeof gemm_cases[0]; i++) {
      for (size_t j = 0; j < 5; j++)
        test_gemm(dev, dtype, &gemm_cases[i], case_sizes[j], case_sizes[(j + 2) % 5],
                  case_sizes[(j + 3) % 5]);
      test_gemm(dev, dtype, &gemm_cases[i], 65, 129, 768);
    }
    test_batched(dev, dtype);
    for (size_t j = 0; j < 5; j++)
      test_linear(dev, dtype, case_sizes[j], case_sizes[(j + 1) % 5], case_sizes[(j + 3) % 5],
                  j % 2 == 0);
    test_linear(dev, dtype, 130, 96, 200, true);
  }
  print_errors();
  lh_device_close(dev);
  return check_report("matrix");
}
