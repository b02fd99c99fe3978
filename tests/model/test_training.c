/* Training for real, briefly: the loss reaches the floor that the language has, images are learnt,
 * and a seed gives the same bytes again.
 *
 * The floor is the chain's entropy rate, 2 bits = 1.386 nats. A model that knows no more than how
 * often each letter comes stays near ln 32 = 3.47. None can go below the floor, but for the noise of
 * the validation set: 51,200 tokens whose -ln p deviates by 1.0 from its mean, 0.0045.
 */
#include <unistd.h>

#include "models/data.h"
#include "tests/model/fixture.h"

struct training {
  fixture f;
  lh_tensor m, v;
};

static void open_training(struct training *t, const char *text, uint64_t seed)
{
  fixture_open(&t->f, text, &lh_backend_cpu, true, seed);
  const size_t n = t->f.model->layout.elements;
  t->m = t->v = (lh_tensor){0};
  REQUIRE_OK(lh_tensor_alloc_1d(t->f.device, &t->m, "adamw", LH_F32, n));
  REQUIRE_OK(lh_tensor_alloc_1d(t->f.device, &t->v, "adamw", LH_F32, n));
}

static void close_training(struct training *t)
{
  lh_tensor_free(&t->m);
  lh_tensor_free(&t->v);
  fixture_close(&t->f);
}

static void train(struct training *t, size_t steps, double learning_rate, uint64_t seed)
{
  fixture *f = &t->f;
  lh_loss loss = {0};
  for (size_t s = 0; s < steps; s++) {
    const double left = 1 - (double)s / (double)steps;
    const lh_adamw_config adamw = {learning_rate * left, 0.9, 0.99, 1e-8, 0, false};
    REQUIRE_OK(lh_workload_fill(&f->workload, seed, 0, 1, s, &f->batch));
    REQUIRE_OK(lh_fill(f->device, &f->gradients, 0));
    REQUIRE_OK(
        lh_model_gradient(f->model, f->device, f->layer, f->dlayer, &f->batch, 1, NULL, &loss));
    REQUIRE_OK(lh_adamw(f->device, &f->parameters, &t->m, &t->v, &f->gradients, &adamw, s + 1));
  }
}

static lh_loss validate(struct training *t, size_t batches)
{
  fixture *f = &t->f;
  lh_loss loss = {0};
  for (size_t i = 0; i < batches; i++) {
    bool end = false;
    REQUIRE_OK(lh_data_fill_validation(f->workload.data, i, &f->batch, &end));
    if (end)
      break;
    REQUIRE_OK(lh_model_evaluate(f->model, f->device, f->layer, &f->batch, &loss));
  }
  return loss;
}

static void check_language(void)
{
  struct training t;
  open_training(&t,
                "{\"model\": {\"kind\": \"gpt\", \"depth\": 2, \"width\": 48, \"heads\": 3,"
                "\"vocabulary\": 32, \"context\": 32, \"tied\": false},"
                "\"data\": {\"kind\": \"synthetic\"}, \"micro_batch_sequences\": 50}",
                1);
  const double floor = lh_data_entropy(t.f.workload.data);
  lh_loss loss = validate(&t, 4);
  CHECK_NEAR(loss.loss_sum / (double)loss.count, log(32), 0.2, "an untrained model guesses");
  train(&t, 400, 4e-3, 1);
  loss = validate(&t, 32);
  const double reached = loss.loss_sum / (double)loss.count;
  printf("synthetic language: loss %.4f, entropy %.4f nats\n", reached, floor);
  CHECK(reached < 1.03 * floor, "loss %g, entropy %g", reached, floor);
  CHECK(reached > floor - 4 * 0.0045, "loss %g is below the entropy %g", reached, floor);
  close_training(&t);
}

#define IMAGES "{\"model\": {\"kind\": \"mlp\", \"hidden\": [64]}, \"micro_batch_sequences\": 100}"

static void check_images(void)
{
  if (access("/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz", R_OK)) {
    printf("no Fashion-MNIST here: skipped\n");
    return;
  }
  struct training t;
  open_training(&t, IMAGES, 1);
  train(&t, 900, 2e-3, 1);
  const lh_loss loss = validate(&t, 100);
  const double accuracy = (double)loss.correct / (double)loss.count;
  printf("Fashion-MNIST: accuracy %.3f of %zu after 1.5 epochs\n", accuracy, loss.count);
  CHECK(loss.count == 10000, "%zu images", loss.count);
  CHECK(accuracy > 0.85, "accuracy %g", accuracy);
  close_training(&t);
}

static double *trained_bytes(uint64_t seed, const char *precision, size_t *n)
{
  char text[300];
  struct training t;
  snprintf(text, sizeof text,
           "{\"model\": {\"kind\": \"gpt\", \"depth\": 1, \"width\": 24, \"heads\": 2,"
           "\"context\": 16}, \"data\": {\"kind\": \"synthetic\"}, \"precision\": \"%s\"}",
           precision);
  open_training(&t, text, seed);
  train(&t, 10, 1e-3, seed);
  double *values = fixture_values(&t.f.parameters);
  *n = t.f.model->layout.elements;
  close_training(&t);
  return values;
}

static void check_determinism(void)
{
  size_t n = 0;
  double *a = trained_bytes(3, "f32", &n), *b = trained_bytes(3, "f32", &n);
  double *other = trained_bytes(4, "f32", &n), *priced = trained_bytes(3, "bf16", &n);
  CHECK(!memcmp(a, b, n * sizeof *a), "the same seed gives other bytes");
  CHECK(memcmp(a, other, n * sizeof *a), "another seed gives the same bytes");
  CHECK(!memcmp(a, priced, n * sizeof *a), "bf16 changes values, not only prices");
  free(a);
  free(b);
  free(other);
  free(priced);
}

int main(void)
{
  check_determinism();
  check_language();
  check_images();
  return check_report("training");
}
