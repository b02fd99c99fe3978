/* bench_kernels.c -- how close the CPU kernels come to the machine, as ratios.
 *
 * Memory-bound operations: bytes they must move, over the rate of a copy of the same size. Compute-bound
 * ones: their flop rate over the SGEMM rate of a large square product. Shapes are those of a GPT block
 * of width 512, 8 sequences of 256 tokens. Each figure is the median of several repetitions, one thread.
 *
 * bench_kernels [instruction set]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/cpu/cpu.h"
#include "kernels/device.h"
#include "kernels/ops.h"

enum {
  BATCH = 8,
  TOKENS = 256,
  WIDTH = 512,
  HEADS = 8,
  WORDS = 256,
  ROWS = BATCH * TOKENS,
  REPEATS = 15
};

static void must(lh_status status)
{
  if (status != LH_OK) {
    fprintf(stderr, "%s\n", lh_fail_text());
    exit(1);
  }
}

static double now_s(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Median seconds of `statement`, after one warm-up. */
#define MEDIAN_S(seconds, statement)                                                               \
  do {                                                                                             \
    double median_[REPEATS];                                                                       \
    must(statement);                                                                               \
    for (int r_ = 0; r_ < REPEATS; r_++) {                                                         \
      const double start_ = now_s();                                                               \
      must(statement);                                                                             \
      median_[r_] = now_s() - start_;                                                              \
    }                                                                                              \
    qsort(median_, REPEATS, sizeof median_[0], ascending);                                         \
    (seconds) = median_[REPEATS / 2];                                                              \
  } while (0)

static lh_tensor matrix(lh_device *dev, size_t rows, size_t columns)
{
  lh_tensor t;
  must(lh_tensor_alloc(dev, &t, "bench", LH_F32, 2, (const size_t[]){rows, columns}));
  must(lh_fill_normal(dev, &t, 1, 1, rows * 31 + columns));
  return t;
}

/* ---- the machine ----------------------------------------------------------------------------- */

static double copy_Bps, gemm_flops;

static void measure_machine(lh_device *dev, const char *set)
{
  enum { N = 1024 };
  double s = 0;
  lh_tensor a = matrix(dev, N, N), b = matrix(dev, N, N), c = matrix(dev, N, N);
  printf("%s kernels, OpenBLAS for %s\n", set ? set : lh_cpu_instruction_set(0),
         lh_cpu_blas_core(dev));
  MEDIAN_S(s, lh_gemm(dev, false, false, 1, &a, &b, 0, &c));
  gemm_flops = 2.0 * N * N * N / s;
  MEDIAN_S(s, lh_copy(dev, &c, &a));
  copy_Bps = 8.0 * N * N / s;
  printf("SGEMM %d: %.1f GFLOP/s; copy of 4 MiB: %.1f GB/s\n\n", N, gemm_flops / 1e9,
         copy_Bps / 1e9);
  lh_tensor_free(&a), lh_tensor_free(&b), lh_tensor_free(&c);
}

static void print_bytes(const char *name, double bytes, double s)
{
  printf("%-28s %9.3f ms %8.1f GB/s   %.2f of copy\n", name, s * 1e3, bytes / s / 1e9,
         bytes / s / copy_Bps);
}

static void print_flop(const char *name, double flop, double s)
{
  printf("%-28s %9.3f ms %8.1f GFLOP/s %.2f of SGEMM\n", name, s * 1e3, flop / s / 1e9,
         flop / s / gemm_flops);
}

/* What an operation is charged is what it must move. */
#define BENCH_BYTES(name, call)                                                                    \
  do {                                                                                             \
    const double before_ = lh_device_total_bytes(dev);                                             \
    must(call);                                                                                    \
    const double bytes_ = lh_device_total_bytes(dev) - before_;                                    \
    double s_ = 0;                                                                                 \
    MEDIAN_S(s_, call);                                                                            \
    print_bytes(name, bytes_, s_);                                                                 \
    total_s += s_;                                                                                 \
  } while (0)

#define BENCH_FLOP(name, call)                                                                     \
  do {                                                                                             \
    const double before_ = lh_device_total_flop(dev);                                              \
    must(call);                                                                                    \
    const double flop_ = lh_device_total_flop(dev) - before_;                                      \
    double s_ = 0;                                                                                 \
    MEDIAN_S(s_, call);                                                                            \
    print_flop(name, flop_, s_);                                                                   \
    total_s += s_;                                                                                 \
  } while (0)

/* ---- a block of a GPT ------------------------------------------------------------------------ */

/* All operations of one block, forward and backward, and their sum against the model's flop: 6 per
 * parameter and token for the products, 12 t c / 2 * ... for the causal half of attention. */
static void bench_block(lh_device *dev)
{
  double total_s = 0;
  lh_tensor x = matrix(dev, ROWS, WIDTH), y = matrix(dev, ROWS, WIDTH),
            dy = matrix(dev, ROWS, WIDTH);
  lh_tensor qkv = matrix(dev, ROWS, 3 * WIDTH), dqkv = matrix(dev, ROWS, 3 * WIDTH);
  lh_tensor up = matrix(dev, ROWS, 4 * WIDTH), dup = matrix(dev, ROWS, 4 * WIDTH);
  lh_tensor act = matrix(dev, ROWS, 4 * WIDTH);
  lh_tensor w_qkv = matrix(dev, 3 * WIDTH, WIDTH), w_out = matrix(dev, WIDTH, WIDTH);
  lh_tensor w_up = matrix(dev, 4 * WIDTH, WIDTH), w_down = matrix(dev, WIDTH, 4 * WIDTH);
  lh_tensor g_qkv = matrix(dev, 3 * WIDTH, WIDTH), g_out = matrix(dev, WIDTH, WIDTH);
  lh_tensor g_up = matrix(dev, 4 * WIDTH, WIDTH), g_down = matrix(dev, WIDTH, 4 * WIDTH);
  lh_tensor b = matrix(dev, 1, 4 * WIDTH), gb = matrix(dev, 1, 4 * WIDTH);
  lh_tensor b1 = lh_tensor_view_1d(&b, 0, WIDTH), b3 = lh_tensor_view_1d(&b, 0, 3 * WIDTH);
  lh_tensor b4 = lh_tensor_view_1d(&b, 0, 4 * WIDTH), gb1 = lh_tensor_view_1d(&gb, 0, WIDTH);
  lh_tensor gb3 = lh_tensor_view_1d(&gb, 0, 3 * WIDTH), gb4 = lh_tensor_view_1d(&gb, 0, 4 * WIDTH);
  lh_tensor mean = matrix(dev, 1, ROWS), rstd = matrix(dev, 1, ROWS),
            lse = matrix(dev, HEADS, ROWS);

  for (int twice = 0; twice < 2; twice++) { /* two norms and two residual additions per block */
    BENCH_BYTES("layer norm forward",
                lh_layer_norm_forward(dev, &y, &mean, &rstd, &x, &b1, &gb1, 1e-5));
    BENCH_BYTES("layer norm backward",
                lh_layer_norm_backward(dev, &y, &gb1, &gb1, &dy, &x, &b1, &mean, &rstd));
    BENCH_BYTES("residual add", lh_add(dev, &y, &x, &dy));
  }
  BENCH_BYTES("gelu forward", lh_activation_forward(dev, LH_GELU, &act, &up));
  BENCH_BYTES("gelu backward", lh_activation_backward(dev, LH_GELU, &dup, &act, &up));
  BENCH_FLOP("linear qkv forward", lh_linear_forward(dev, &qkv, &x, &w_qkv, &b3));
  BENCH_FLOP("linear out forward", lh_linear_forward(dev, &y, &x, &w_out, &b1));
  BENCH_FLOP("linear up forward", lh_linear_forward(dev, &up, &x, &w_up, &b4));
  BENCH_FLOP("linear down forward", lh_linear_forward(dev, &y, &up, &w_down, &b1));
  BENCH_FLOP("linear qkv backward", lh_linear_backward(dev, &y, &g_qkv, &gb3, &dqkv, &x, &w_qkv));
  BENCH_FLOP("linear out backward", lh_linear_backward(dev, &y, &g_out, &gb1, &dy, &x, &w_out));
  BENCH_FLOP("linear up backward", lh_linear_backward(dev, &y, &g_up, &gb4, &dup, &x, &w_up));
  BENCH_FLOP("linear down backward",
             lh_linear_backward(dev, &dup, &g_down, &gb1, &dy, &up, &w_down));
  must(lh_fill_normal(dev, &qkv, 1, 1, 1));
  BENCH_FLOP("attention forward", lh_attention_forward(dev, &y, &lse, &qkv, BATCH, HEADS));
  BENCH_FLOP("attention backward",
             lh_attention_backward(dev, &dqkv, &dy, &y, &lse, &qkv, BATCH, HEADS));

  const double parameters = 12.0 * WIDTH * WIDTH, tokens = ROWS;
  const double attention = 3.5 * 2.0 * ROWS * TOKENS * WIDTH;
  print_flop("a block, forward + backward", 6 * parameters * tokens + attention, total_s);

  lh_tensor *const all[] = {&x,    &y,      &dy,    &qkv,  &dqkv,   &up,    &dup,
                            &act,  &w_qkv,  &w_out, &w_up, &w_down, &g_qkv, &g_out,
                            &g_up, &g_down, &b,     &gb,   &mean,   &rstd,  &lse};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    lh_tensor_free(all[i]);
}

/* ---- the rest of a step ---------------------------------------------------------------------- */

static void bench_step(lh_device *dev)
{
  double total_s = 0;
  printf("\n");
  lh_tensor logits = matrix(dev, ROWS, WORDS), d = matrix(dev, ROWS, WORDS),
            y = matrix(dev, ROWS, WIDTH);
  lh_tensor table = matrix(dev, WORDS, WIDTH), place = matrix(dev, TOKENS, WIDTH), tokens;
  must(lh_tensor_alloc_1d(dev, &tokens, "bench", LH_I32, ROWS));
  lh_loss loss = {0};
  BENCH_BYTES("cross-entropy", lh_cross_entropy(dev, &d, &logits, &tokens, 1, &loss));
  BENCH_BYTES("embedding forward", lh_embedding_forward(dev, &y, &tokens, &table, &place));
  BENCH_BYTES("embedding backward", lh_embedding_backward(dev, &table, &place, &y, &tokens));

  lh_tensor p = matrix(dev, 1, 4000000), m = matrix(dev, 1, 4000000), v = matrix(dev, 1, 4000000);
  lh_tensor g = matrix(dev, 1, 4000000);
  const lh_adamw_config adamw = {
      .learning_rate = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};
  const lh_sgd_config sgd = {.learning_rate = 1e-3, .momentum = 0.9, .nesterov = true};
  const lh_tensor *const in[] = {&p, &m, &g};
  double s = 0, sum;
  must(lh_multiply(dev, &v, &v, &v));
  BENCH_BYTES("adamw, 4M parameters", lh_adamw(dev, &p, &m, &v, &g, &adamw, 10));
  BENCH_BYTES("sgd, nesterov", lh_sgd(dev, &p, &m, &g, &sgd));
  BENCH_BYTES("axpby", lh_axpby(dev, 0.3, &g, 0.7, &p));
  BENCH_BYTES("sum of squares", lh_sum_squares(dev, &p, &sum));
  BENCH_BYTES("sign", lh_sign(dev, &m, &g));
  printf("%-28s %9.3f ms\n", "these together", total_s * 1e3);
  MEDIAN_S(s, lh_sum_in_order(dev, &p, in, 3, true, LH_F32));
  print_bytes("sum of 3, f32", 4.0 * 4 * 4e6, s);
  MEDIAN_S(s, lh_sum_in_order(dev, &p, in, 3, true, LH_BF16));
  print_bytes("sum of 3, bf16", 4.0 * 4 * 4e6, s);
  const double start = now_s();
  must(lh_fill_normal(dev, &p, 0.02, 1, 1));
  printf("%-28s %9.3f s for 10M parameters\n", "fill normal", (now_s() - start) * 2.5);

  lh_tensor *const all[] = {&logits, &d, &y, &table, &place, &tokens, &p, &m, &v, &g};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    lh_tensor_free(all[i]);
}

/* ---- compression ----------------------------------------------------------------------------- */

static void bench_dct(lh_device *dev, size_t rows, size_t columns, size_t k, size_t messages)
{
  double s = 0;
  lh_tensor x = matrix(dev, rows, columns), y = matrix(dev, rows, columns), index, value;
  lh_chunking c;
  must(lh_chunking_init(dev, &c, &x, 64));
  must(lh_tensor_alloc_1d(dev, &index, "bench", LH_I32, messages * c.blocks * k));
  must(lh_tensor_alloc_1d(dev, &value, "bench", LH_F32, messages * c.blocks * k));
  const double transform =
      2.0 * (double)(c.width + (c.height > 1 ? c.height : 0)) * (double)(rows * columns);
  printf("(%zu, %zu) in %zu x %zu, k %zu\n", rows, columns, c.height, c.width, k);
  for (size_t m = 0; m < messages; m++) {
    lh_tensor im = lh_tensor_view_1d(&index, m * c.blocks * k, c.blocks * k);
    lh_tensor vm = lh_tensor_view_1d(&value, m * c.blocks * k, c.blocks * k);
    must(lh_fill_normal(dev, &x, 1, m, 3));
    MEDIAN_S(s, lh_dct_top_k(dev, &x, &c, k, &im, &vm));
  }
  print_flop("  dct + top-k", transform, s);
  MEDIAN_S(s, lh_dct_merge_decode(dev, &y, &c, k, messages, LH_MERGE_CONTRIBUTORS, &index, &value));
  print_flop("  merge + decode", transform, s);
  lh_chunking_fini(&c);
  lh_tensor_free(&x), lh_tensor_free(&y), lh_tensor_free(&index), lh_tensor_free(&value);
}

/* ---- the front end --------------------------------------------------------------------------- */

static void bench_phantom(void)
{
  enum { CALLS = 300000 };
  lh_device_profile p = lh_device_profile_ideal();
  lh_device *dev;
  must(lh_device_open(&lh_backend_phantom, &p, &dev));
  lh_tensor x, w, y;
  const size_t square[] = {512, 512};
  must(lh_tensor_alloc(dev, &x, "bench", LH_F32, 2, square));
  must(lh_tensor_alloc(dev, &w, "bench", LH_F32, 2, square));
  must(lh_tensor_alloc(dev, &y, "bench", LH_F32, 2, square));
  const lh_adamw_config adamw = {.learning_rate = 1};
  double start = now_s();
  for (int i = 0; i < CALLS; i++)
    must(lh_linear_forward(dev, &y, &x, &w, NULL));
  printf("\nphantom linear forward: %.1f ns per call\n", (now_s() - start) / CALLS * 1e9);
  start = now_s();
  for (int i = 0; i < CALLS; i++)
    must(lh_adamw(dev, &x, &y, &w, &x, &adamw, 1));
  printf("phantom adamw:          %.1f ns per call\n", (now_s() - start) / CALLS * 1e9);
  start = now_s();
  for (int i = 0; i < CALLS; i++) {
    lh_tensor t;
    must(lh_tensor_alloc_workspace(dev, &t, "activations", LH_F32, 2, square));
    lh_tensor_free(&t);
  }
  printf("phantom workspace:      %.1f ns per allocation and release\n",
         (now_s() - start) / CALLS * 1e9);
  lh_tensor_free(&x), lh_tensor_free(&w), lh_tensor_free(&y);
  lh_device_close(dev);
}

int main(int argc, char **argv)
{
  lh_device_profile p = lh_device_profile_ideal();
  lh_device *dev;
  must(lh_device_open(&lh_backend_cpu, &p, &dev));
  if (argc > 1 && !lh_cpu_use_instruction_set(dev, argv[1])) {
    fprintf(stderr, "%s: not built or not on this processor\n", argv[1]);
    return 2;
  }
  measure_machine(dev, argc > 1 ? argv[1] : NULL);
  bench_block(dev);
  bench_step(dev);
  printf("\n");
  bench_dct(dev, 2048, 512, 32, 4);
  bench_dct(dev, 1, 1048576, 32, 4);
  bench_dct(dev, 1856, 500, 32, 4);
  bench_phantom();
  lh_device_close(dev);
  return 0;
}
