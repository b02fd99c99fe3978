/* Training speed of the byte-level GPT on one thread, as a share of this machine's SGEMM rate.
 *
 * Model flop per step (matrix products and the causal half of attention, forward and backward; no
 * norms, no optimizer) over the time of a whole step (forward, backward, AdamW), over the rate of
 * OpenBLAS on a square product of 2048 and, stricter, the best of several shapes. Median and fastest.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "models/workload.h"
#include "tests/check.h"

#define REPEATS 7

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

static double sgemm_flop_per_s(size_t m, size_t n, size_t k)
{
  const lh_device_profile ideal = lh_device_profile_ideal();
  lh_device *device;
  lh_tensor a, b, c;
  double fastest = 1e9;
  REQUIRE_OK(lh_device_open(&lh_backend_cpu, &ideal, &device));
  REQUIRE_OK(lh_tensor_alloc(device, &a, "bench", LH_F32, 2, (const size_t[]){m, k}));
  REQUIRE_OK(lh_tensor_alloc(device, &b, "bench", LH_F32, 2, (const size_t[]){n, k}));
  REQUIRE_OK(lh_tensor_alloc(device, &c, "bench", LH_F32, 2, (const size_t[]){m, n}));
  REQUIRE_OK(lh_fill(device, &a, 0.5));
  REQUIRE_OK(lh_fill(device, &b, -2));
  for (int r = 0; r < REPEATS; r++) {
    const double start = now_s();
    REQUIRE_OK(lh_gemm(device, false, true, 1, &a, &b, 0, &c));
    fastest = fmin(fastest, now_s() - start);
  }
  lh_tensor_free(&a);
  lh_tensor_free(&b);
  lh_tensor_free(&c);
  lh_device_close(device);
  return 2.0 * (double)m * (double)n * (double)k / fastest;
}

struct trainer {
  lh_workload workload;
  lh_device *device;
  lh_tensor parameters, gradients, m, v, *layer, *dlayer;
  lh_batch batch;
};

static void step(struct trainer *t, uint64_t number)
{
  const lh_adamw_config adamw = {1e-3, 0.9, 0.95, 1e-8, 0.1, false};
  lh_loss loss = {0};
  REQUIRE_OK(lh_workload_fill(&t->workload, 1, 0, 1, number, &t->batch));
  REQUIRE_OK(lh_fill(t->device, &t->gradients, 0));
  REQUIRE_OK(lh_model_gradient(t->workload.model, t->device, t->layer, t->dlayer, &t->batch, 1,
                               NULL, &loss));
  REQUIRE_OK(lh_adamw(t->device, &t->parameters, &t->m, &t->v, &t->gradients, &adamw, number + 1));
}

static void open(struct trainer *t, lh_device_profile *profile, const char *text)
{
  lh_json_document *document = NULL;
  REQUIRE_OK(lh_json_read_text("bench", text, &document));
  REQUIRE_OK(lh_workload_read(lh_json_root(document), LH_SOURCE_DIR "/models/catalogue", true,
                              &t->workload));
  lh_json_document_free(document);
  REQUIRE_OK(lh_device_open(&lh_backend_cpu, profile, &t->device));
  const lh_layout *layout = &t->workload.model->layout;
  lh_tensor *const flat[] = {&t->parameters, &t->gradients, &t->m, &t->v};
  for (int i = 0; i < 4; i++)
    REQUIRE_OK(lh_tensor_alloc_1d(t->device, flat[i], "bench", layout->dtype, layout->elements));
  t->layer = calloc(layout->layers, sizeof *t->layer);
  t->dlayer = calloc(layout->layers, sizeof *t->dlayer);
  lh_model_layer_views(t->workload.model, &t->parameters, t->layer);
  lh_model_layer_views(t->workload.model, &t->gradients, t->dlayer);
  REQUIRE_OK(lh_model_start(t->workload.model, t->layer, 1));
  REQUIRE_OK(lh_batch_alloc(t->workload.model, t->device, t->workload.micro_batch_sequences,
                            t->workload.sequence_tokens, &t->batch));
}

static void bench(int width, int depth, int tokens, int sequences, double sgemm, double best)
{
  char text[400];
  struct trainer t = {0};
  lh_device_profile profile = lh_device_profile_ideal();
  double seconds[REPEATS];
  snprintf(text, sizeof text,
           "{\"model\": {\"kind\": \"gpt\", \"depth\": %d, \"width\": %d, \"heads\": %d,"
           "\"context\": %d}, \"data\": {\"kind\": \"synthetic\"}, \"micro_batch_sequences\": %d}",
           depth, width, width / 64 ? width / 64 : 1, tokens, sequences);
  open(&t, &profile, text);
  step(&t, 0);
  for (int r = 0; r < REPEATS; r++) {
    const double start = now_s();
    step(&t, (uint64_t)r + 1);
    seconds[r] = now_s() - start;
  }
  qsort(seconds, REPEATS, sizeof *seconds, ascending);
  const double flop = lh_model_flop_per_sequence(t.workload.model, (size_t)tokens) * sequences;
  const double median = seconds[REPEATS / 2], n = (double)tokens * sequences;
  printf("%5d %5d %6d %4d  %9.0f %9.0f  %7.1f  %5.1f%% %5.1f%%\n", width, depth, tokens, sequences,
         n / median, n / seconds[0], flop / median * 1e-9, 100 * flop / median / sgemm,
         100 * flop / median / best);
  lh_batch_free(&t.batch);
  lh_tensor_free(&t.parameters);
  lh_tensor_free(&t.gradients);
  lh_tensor_free(&t.m);
  lh_tensor_free(&t.v);
  free(t.layer);
  free(t.dlayer);
  lh_device_close(t.device);
  lh_workload_fini(&t.workload);
  lh_device_profile_fini(&profile);
}

int main(void)
{
  static const size_t shapes[][3] = {
      {2048, 2048, 2048}, {1024, 2048, 512}, {1024, 512, 2048}, {2048, 1536, 512}};
  double sgemm = 0, best = 0;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    const double rate = sgemm_flop_per_s(shapes[i][0], shapes[i][1], shapes[i][2]);
    printf("SGEMM %4zu x %4zu x %4zu: %6.1f Gflop/s\n", shapes[i][0], shapes[i][1], shapes[i][2],
           rate * 1e-9);
    sgemm = i ? sgemm : rate;
    best = fmax(best, rate);
  }
  printf("\n%5s %5s %6s %4s  %9s %9s  %7s  %6s %6s\n", "width", "depth", "tokens", "rows",
         "tok/s med", "tok/s max", "Gflop/s", "of2048", "ofbest");
  bench(512, 4, 256, 4, sgemm, best);
  bench(512, 4, 128, 8, sgemm, best);
  bench(256, 4, 256, 4, sgemm, best);
  bench(128, 4, 128, 8, sgemm, best);
  return 0;
}
