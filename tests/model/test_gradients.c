/* Gradients against central finite differences of the loss, every parameter, in double.
 *
 * (L(p + h) - L(p - h)) / 2h errs by h^2 L'''/6 and by rounding of about 1e-16 L / h; with h = 1e-5
 * both are below 1e-9, so 1e-6 of a gradient of typical size is a safe bound that a wrong factor,
 * a missing term or a missing path exceeds by far. Sizes are awkward, and the gradient is asked for
 * times a scale and added to what is there.
 */
#include "tests/model/fixture.h"

#define SCALE 0.37
#define THERE 3.0

static double loss_of(fixture *f)
{
  lh_loss loss = {0};
  REQUIRE_OK(lh_model_evaluate(f->model, f->device, f->layer, &f->batch, &loss));
  return loss.loss_sum / (double)loss.count;
}

static void randomise(fixture *f)
{
  const size_t n = f->model->layout.elements;
  double *values = fixture_values(&f->parameters);
  for (size_t i = 0; i < n; i++)
    values[i] += 0.3 * lh_draw_normal(11, LH_PURPOSE_PARAMETERS, 77, i);
  REQUIRE_OK(lh_tensor_set(&f->parameters, values, n));
  free(values);
}

static void fill_batch(fixture *f, size_t classes)
{
  lh_batch *b = &f->batch;
  const size_t rows = b->targets.dims ? lh_tensor_elements(&b->targets) : 0;
  int32_t *numbers = calloc(rows + 1, sizeof *numbers);
  for (size_t i = 0; i < rows; i++)
    numbers[i] = (int32_t)(lh_draw(5, LH_PURPOSE_DATA, 1, i) % classes);
  if (b->tokens.dims)
    REQUIRE_OK(lh_tensor_set_i32(&b->tokens, numbers, rows));
  for (size_t i = 0; i < rows; i++)
    numbers[i] = (int32_t)(lh_draw(5, LH_PURPOSE_DATA, 2, i) % classes);
  if (rows)
    REQUIRE_OK(lh_tensor_set_i32(&b->targets, numbers, rows));
  free(numbers);
  if (!b->features.dims)
    return;
  const size_t n = lh_tensor_elements(&b->features);
  double *values = calloc(n, sizeof *values);
  for (size_t i = 0; i < n; i++)
    values[i] = lh_draw_normal(5, LH_PURPOSE_DATA, 3, i);
  REQUIRE_OK(lh_tensor_set(&b->features, values, n));
  free(values);
}

static double difference(fixture *f, double *values, size_t i)
{
  const size_t n = f->model->layout.elements;
  const double h = 1e-5, there = values[i];
  values[i] = there + h;
  REQUIRE_OK(lh_tensor_set(&f->parameters, values, n));
  const double above = loss_of(f);
  values[i] = there - h;
  REQUIRE_OK(lh_tensor_set(&f->parameters, values, n));
  const double below = loss_of(f);
  values[i] = there;
  return (above - below) / (2 * h);
}

static const char *name_of(const lh_layout *layout, size_t element)
{
  size_t p = 0;
  while (p + 1 < layout->parameters) {
    const lh_parameter *next = &layout->parameter[p + 1];
    if (layout->layer[next->layer].offset + next->offset > element)
      break;
    p++;
  }
  return layout->parameter[p].name;
}

static void check(const char *what, const char *text, size_t classes)
{
  fixture f;
  fixture_open(&f, text, &lh_backend_cpu, false, 1);
  const lh_layout *layout = &f.model->layout;
  if (!f.workload.explicit_problem)
    randomise(&f);
  fill_batch(&f, classes);
  f.batch.rank = 1;
  f.batch.index = 2;
  lh_loss loss = {0};
  REQUIRE_OK(lh_fill(f.device, &f.gradients, THERE));
  REQUIRE_OK(lh_model_gradient(f.model, f.device, f.layer, f.dlayer, &f.batch, SCALE, NULL, &loss));
  CHECK_NEAR(loss.loss_sum / (double)loss.count, loss_of(&f), 1e-12, "%s: losses differ", what);

  double *gradient = fixture_values(&f.gradients), *values = fixture_values(&f.parameters);
  double squares = 0;
  for (size_t i = 0; i < layout->elements; i++)
    squares += pow((gradient[i] - THERE) / SCALE, 2);
  const double typical = sqrt(squares / (double)layout->elements);
  CHECK(typical > 1e-3, "%s: gradients of %g say nothing", what, typical);
  for (size_t i = 0; i < layout->elements && check_failures < 20; i++) {
    const double got = (gradient[i] - THERE) / SCALE;
    CHECK_NEAR(got, difference(&f, values, i), 1e-6 * fmax(fabs(got), typical), "%s: %s", what,
               name_of(layout, i));
  }
  free(gradient);
  free(values);
  fixture_close(&f);
}

/* Width 12 in 3 heads, 7 of 9 positions, 11 words, 3 sequences. */
#define GPT(options)                                                                               \
  "{\"model\": {\"kind\": \"gpt\", \"depth\": 2, \"width\": 12, \"heads\": 3, \"vocabulary\": 11," \
  "\"context\": 9, \"ff_ratio\": 3" options "}, \"precision\": \"f64\", \"sequence_tokens\": 7,"   \
  "\"micro_batch_sequences\": 3}"

int main(void)
{
  check("gpt, tied, biases", GPT(""), 11);
  check("gpt, untied, biases", GPT(", \"tied\": false"), 11);
  check("gpt, tied, no bias", GPT(", \"bias\": false"), 11);
  check("gpt, untied, no bias", GPT(", \"tied\": false, \"bias\": false"), 11);
  check("mlp, gelu",
        "{\"model\": {\"kind\": \"mlp\", \"inputs\": 13, \"hidden\": [7, 5],"
        "\"classes\": 3, \"activation\": \"gelu\"}, \"precision\": \"f64\","
        "\"micro_batch_sequences\": 9}",
        3);
  check("mlp, relu",
        "{\"model\": {\"kind\": \"mlp\", \"inputs\": 13, \"hidden\": [17],"
        "\"classes\": 3}, \"precision\": \"f64\", \"micro_batch_sequences\": 5}",
        3);
  check("logistic",
        "{\"model\": {\"kind\": \"mlp\", \"inputs\": 13, \"hidden\": [],"
        "\"classes\": 4}, \"precision\": \"f64\", \"micro_batch_sequences\": 5}",
        4);
  check("quadratic",
        "{\"model\": \"quadratic\", \"precision\": \"f64\", \"start\": [1, -2, 3],"
        "\"curvature\": [[1, 2, 3], [0.5, 0.25, 4]], \"layers\": [1, 2],"
        "\"samples\": [[[1, 1, 1]], [[0, 5, 1], [-1, 0.5, 2]]]}",
        0);
  check("gradients",
        "{\"model\": \"gradients\", \"precision\": \"f64\", \"start\": [1, -2, 3, 4],"
        "\"shape\": [2, 2], \"layers\": \"rows\","
        "\"gradients\": [[[1, 1, 1, 1]], [[0, 5, 1, 2], [-1, 0.5, 2, 3]]]}",
        0);
  return check_report("gradients");
}
