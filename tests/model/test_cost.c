/* What a pass costs on a device that only counts: flop and memory against closed forms, and two
 * descriptions of one model against each other. */
#include "tests/model/fixture.h"

static void gradient(fixture *f)
{
  lh_loss loss = {0};
  REQUIRE_OK(
      lh_model_gradient(f->model, f->device, f->layer, f->dlayer, &f->batch, 1, NULL, &loss));
  CHECK(loss.count > 0, "no rows were counted");
}

#define GPT2 "{\"model\": \"gpt2-124m\", \"precision\": \"bf16\", \"micro_batch_sequences\": 3}"

/* 6N + 12 L d T per token (Kaplan et al. 2020; the case file gpt2-size-ratios-a100) counts all of
 * attention's (T, T) matrix and the position table. We compute the causal half, and backward
 * recomputes the scores, so 7 L d T; that is 5.5 % less here. Norms, GELU and softmax are 1 %. */
static void check_gpt2_flop(void)
{
  fixture f;
  fixture_open(&f, GPT2, &lh_backend_phantom, false, 1);
  gradient(&f);
  const double n = 124439808, positions = 1024 * 768, attention = 12. * 768 * 1024,
               tokens = 3 * 1024;
  const double per_token = lh_device_total_flop(f.device) / tokens;
  CHECK_NEAR(per_token / (6 * n + 12 * attention), 1, 0.06, "6N + 12LdT");
  CHECK_NEAR(per_token / (6 * (n - positions) + 7 * attention), 1, 0.02, "what is computed");
  CHECK_NEAR(lh_model_flop_per_sequence(f.model, 1024) / 1024,
             6 * (n - positions - 12 * (13 * 768) - 2 * 768) + 7 * attention, 1, "the report");
  fixture_close(&f);
}

/* Korthikanti et al. 2022 (arXiv:2205.05198), equation 1: 34 s b h bytes a layer beside the attention
 * matrix, of which two dropout masks are 2 s b h; we have no dropout and no such matrix. On top:
 * statistics, and what exists once: the last stream, its norm, scratch, logits, tokens. */
static void check_gpt2_memory(void)
{
  fixture f;
  fixture_open(&f, GPT2, &lh_backend_phantom, false, 1);
  const double before = (double)lh_device_allocated_bytes(f.device);
  gradient(&f);
  const double n = 3 * 1024, h = 768;
  const double layer = 32 * n * h + 4 * 4 * n + 4 * 12 * n;
  const double once = 2 * n * h * 4 + 2 * n * 4 * h + 2 * 4 * n + 2 * n * 50257;
  CHECK_NEAR((double)lh_device_peak_bytes(f.device) - before, 12 * layer + once, 0, "activations");
  CHECK_NEAR(before, 8. * 124439808 + 8 * n, 0, "parameters, gradients and batch");
  CHECK((double)lh_device_allocated_bytes(f.device) == before, "activations are left behind");
  fixture_close(&f);
}

/* A third of the flop, and no more than two blocks of activations. */
static void check_evaluation(void)
{
  fixture f;
  lh_loss loss = {0};
  fixture_open(&f, GPT2, &lh_backend_phantom, false, 1);
  const double before = (double)lh_device_allocated_bytes(f.device);
  REQUIRE_OK(lh_model_evaluate(f.model, f.device, f.layer, &f.batch, &loss));
  const double forward = lh_device_total_flop(f.device);
  CHECK((double)lh_device_peak_bytes(f.device) - before <
            1.2 * (2 * 32 + 12) * 3072. * 768 + 2. * 3072 * 50257,
        "%zu bytes at the peak", lh_device_peak_bytes(f.device));
  gradient(&f);
  CHECK_NEAR(forward / (lh_device_total_flop(f.device) - forward), 1. / 3, 0.01, "forward's share");
  fixture_close(&f);
}

/* GPT-2 described as a shape: one program of operations per description, one price. */
static void check_two_descriptions(void)
{
  fixture a, b;
  fixture_open(&a, GPT2, &lh_backend_phantom, false, 1);
  fixture_open(&b,
               "{\"model\": {\"kind\": \"shape\", \"depth\": 12, \"width\": 768, \"heads\": 12,"
               "\"ff\": 3072, \"vocabulary\": 50257, \"context\": 1024, \"norm\": \"layer\","
               "\"positions\": \"learned\", \"tied\": true, \"fused_qkv\": true,"
               "\"qkv_bias\": true, \"attention_bias\": true, \"ff_bias\": true},"
               "\"precision\": \"bf16\", \"micro_batch_sequences\": 3}",
               &lh_backend_phantom, false, 1);
  gradient(&a);
  gradient(&b);
  CHECK(a.model->layout.elements == b.model->layout.elements &&
            a.model->layout.parameters == b.model->layout.parameters,
        "%zu and %zu elements", a.model->layout.elements, b.model->layout.elements);
  CHECK_NEAR(lh_device_total_flop(b.device) / lh_device_total_flop(a.device), 1, 1e-4, "flop");
  CHECK_NEAR(lh_device_total_bytes(b.device) / lh_device_total_bytes(a.device), 1, 0.01, "bytes");
  CHECK_NEAR((double)lh_device_peak_bytes(b.device) / (double)lh_device_peak_bytes(a.device), 1,
             0.01, "memory");
  fixture_close(&a);
  fixture_close(&b);
}

/* name, matrix parameters that a token meets, columns of attention times its layers (times 2 where
 * every position sees every other), positions of a sequence. Straight from the published shapes. */
static const struct {
  const char *name;
  double weights, attention, positions;
} shapes[] = {
    {"llama-2-7b", 32 * (4 * 4096. * 4096 + 3 * 4096. * 11008) + 32000 * 4096., 32 * 4096., 512},
    {"llama-2-70b", 80 * (2 * 8192. * 8192 + 2 * 8192. * 1024 + 3 * 8192. * 28672) + 32000 * 8192.,
     80 * 8192., 512},
    {"gpt-neo-125m", 12 * 12 * 768. * 768 + 50257 * 768., 12 * 768., 512},
    {"olmo-300m", 16 * 16 * 1024. * 1024 + 50304 * 1024., 16 * 1024., 512},
    {"t5-base", 12 * (4 + 8 + 8 + 8) * 768. * 768 + 32128 * 768., 12 * (2 + 1 + 2) * 768., 512},
    {"vit-b", 12 * 12 * 768. * 768 + 768 * 768., 12 * 2 * 768., 196},
};

static void check_shapes(void)
{
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    char text[200];
    fixture f;
    const bool image = shapes[i].positions == 196;
    snprintf(text, sizeof text, "{\"model\": \"%s\", \"sequence_tokens\": %d}", shapes[i].name,
             image ? 1 : 512);
    fixture_open(&f, text, &lh_backend_phantom, false, 1);
    gradient(&f);
    const double t = shapes[i].positions;
    const double expected = 6 * t * shapes[i].weights + 7 * t * t * shapes[i].attention;
    const double sequences = (double)f.workload.micro_batch_sequences;
    const double charged = lh_device_total_flop(f.device) / sequences;
    /* vit-b's classifier meets 8 rows, not 196: 0.01 %. */
    CHECK_NEAR(lh_model_flop_per_sequence(f.model, f.workload.sequence_tokens) / expected, 1, 1e-4,
               "%s: the report", shapes[i].name);
    CHECK(charged > expected * (1 - 1e-4) && charged < expected * 1.04,
          "%s: charged %.4g, matrices %.4g", shapes[i].name, charged, expected);
    fixture_close(&f);
  }
}

static void check_cost_only(void)
{
  fixture f;
  lh_loss loss = {0};
  fixture_open(&f,
               "{\"model\": {\"kind\": \"shape\", \"depth\": 1, \"width\": 8, \"heads\": 2,"
               "\"ff\": 8, \"vocabulary\": 8, \"context\": 8}}",
               &lh_backend_cpu, false, 1);
  const lh_status status =
      lh_model_gradient(f.model, f.device, f.layer, f.dlayer, &f.batch, 1, NULL, &loss);
  CHECK(status == LH_EUNSUPPORTED && strstr(lh_fail_text(), "\"cost\""), "status %d: %s", status,
        lh_fail_text());
  fixture_close(&f);
}

/* The estimate of host memory agrees with what train mode allocates. */
static void check_host_bytes(void)
{
  fixture f;
  fixture_open(&f, "{\"model\": {\"kind\": \"gpt\"}, \"micro_batch_sequences\": 5}",
               &lh_backend_phantom, false, 1);
  gradient(&f);
  const double n = (double)f.model->layout.elements;
  CHECK_NEAR(lh_workload_host_bytes(&f.workload, 3, 8),
             3 * 16 * n + ((double)lh_device_peak_bytes(f.device) - 8 * n), 0, "host bytes");
  fixture_close(&f);
}

int main(void)
{
  check_gpt2_flop();
  check_gpt2_memory();
  check_evaluation();
  check_two_descriptions();
  check_shapes();
  check_host_bytes();
  check_cost_only();
  return check_report("cost");
}
