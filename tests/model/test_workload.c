/* Workload objects: defaults, overrides, explicit problems by hand, and one clear error per mistake. */
#include "tests/model/fixture.h"

#define QUADRATIC(more) "{\"model\": \"quadratic\", " more "}"
#define TWO "\"curvature\": [1, 2], \"start\": [3, 4]"

/* ---- what is right --------------------------------------------------------------------------- */

static void check_defaults(void)
{
  fixture f;
  fixture_open(&f, "{\"model\": \"gpt2-124m\", \"precision\": \"bf16\"}", &lh_backend_phantom,
               false, 1);
  const lh_workload *w = &f.workload;
  CHECK(!strcmp(w->name, "gpt2-124m") && w->micro_batch_sequences == 8 && w->micro_batches == 1 &&
            w->sequence_tokens == 1024 && !w->explicit_problem && !w->data,
        "%s: %zu sequences of %zu", w->name, w->micro_batch_sequences, w->sequence_tokens);
  CHECK(w->model->compute_dtype == LH_BF16 && w->model->layout.dtype == LH_F32, "dtypes");
  CHECK(lh_workload_tokens_per_step(w) == 8 * 1024, "%zu tokens", lh_workload_tokens_per_step(w));
  fixture_close(&f);
}

static void check_overrides(void)
{
  static const char *const texts[] = {
      "{\"model\": \"gpt2-124m\", \"depth\": 2, \"sequence_tokens\": 64}",
      "{\"model\": {\"name\": \"gpt2-124m\", \"depth\": 2}, \"sequence_tokens\": 64}"};
  for (int i = 0; i < 2; i++) {
    fixture f;
    fixture_open(&f, texts[i], &lh_backend_phantom, false, 1);
    /* 50257 768 + 1024 768 + 2 (12 768^2 + 13 768) + 2 768 */
    CHECK(f.model->layout.elements == 53561088, "%s: %zu", texts[i], f.model->layout.elements);
    CHECK(f.workload.sequence_tokens == 64, "%zu", f.workload.sequence_tokens);
    fixture_close(&f);
  }
}

/* Samples in order and cyclically; the gradient a (x - s) times the scale, in f32: exact here. */
static void check_quadratic(void)
{
  fixture f;
  fixture_open(&f,
               QUADRATIC("\"curvature\": [[1, 2, 4, 0.5], [2, 2, 2, 2]],"
                         "\"start\": [3, -1, 0.5, 2], \"shape\": [2, 2], \"micro_batches\": 2,"
                         "\"micro_batch_time\": [\"10ms\", \"2s\"],"
                         "\"samples\": [[[1, 1, 1, 1]], [[0, 1, 2, 3], [4, 5, 6, 7]]]"),
               &lh_backend_cpu, true, 1);
  const lh_parameter *p = &f.model->layout.parameter[0];
  CHECK(f.model->layout.layers == 1 && p->dims == 2 && p->shape[0] == 2 && p->shape[1] == 2,
        "one 2-D parameter");
  CHECK(f.workload.micro_batch_times == 2 && f.workload.micro_batch_time_s[0] == 0.01 &&
            f.workload.micro_batch_time_s[1] == 2,
        "times");
  lh_loss loss = {0};
  REQUIRE_OK(lh_workload_fill(&f.workload, 1, 1, 2, 5, &f.batch));
  REQUIRE_OK(lh_model_gradient(f.model, f.device, f.layer, f.dlayer, &f.batch, 0.5, NULL, &loss));
  REQUIRE_OK(lh_workload_fill(&f.workload, 1, 0, 2, 5, &f.batch));
  REQUIRE_OK(lh_model_gradient(f.model, f.device, f.layer, f.dlayer, &f.batch, 0.5, NULL, &loss));
  /* rank 1, row 5 mod 2: 0.5 2 (x - (4,5,6,7)) = (-1,-6,-5.5,-5); rank 0: 0.5 a (x - 1) = (1,-2,-1,.25) */
  const double expected[] = {0, -8, -6.5, -4.75};
  double *got = fixture_values(&f.gradients);
  for (int i = 0; i < 4; i++)
    CHECK_NEAR(got[i], expected[i], 0, "gradient %d", i);
  free(got);
  /* 1/2 2 (1 + 36 + 30.25 + 25) + 1/2 (4 + 8 + 1 + 0.5) */
  CHECK_NEAR(loss.loss_sum, 92.25 + 6.75, 0, "loss");
  CHECK(loss.count == 2, "%zu micro-batches", loss.count);
  const lh_json root = lh_json_root(f.document);
  CHECK(lh_workload_check_ranks(&f.workload, root, 2) == LH_OK, "%s", lh_fail_text());
  CHECK(lh_workload_check_ranks(&f.workload, root, 3) == LH_EINVAL, "rows of two ranks for three");
  f.batch.rank = 2;
  CHECK(lh_model_evaluate(f.model, f.device, f.layer, &f.batch, &loss) == LH_EINVAL, "rank 2 of 2");
  fixture_close(&f);
}

static void check_layers(void)
{
  static const struct {
    const char *text;
    size_t layers, first;
    int dims;
  } cases[] = {
      {QUADRATIC(TWO ", \"optimum\": [[0, 0]]"), 1, 2, 1},
      {QUADRATIC(TWO ", \"optimum\": [[0, 0]], \"layers\": [1, 1]"), 2, 1, 1},
      {QUADRATIC(TWO ", \"optimum\": [[0, 0]], \"shape\": [1, 2], \"layers\": [2]"), 1, 2, 1},
      {QUADRATIC(TWO ", \"optimum\": [[0, 0]], \"shape\": [2, 1], \"layers\": \"rows\""), 2, 1, 1},
      {QUADRATIC(TWO ", \"optimum\": [[0, 0]], \"shape\": [2, 1, 1]"), 1, 2, 3},
      {QUADRATIC("\"curvature\": [1], \"start\": [3], \"shape\": [], \"optimum\": [[0]]"), 1, 1, 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fixture f;
    fixture_open(&f, cases[i].text, &lh_backend_cpu, false, 1);
    const lh_layout *layout = &f.model->layout;
    CHECK(layout->layers == cases[i].layers && layout->parameter[0].elements == cases[i].first &&
              layout->parameter[0].dims == cases[i].dims,
          "%s: %zu layers, first of %zu in %d dimensions", cases[i].text, layout->layers,
          layout->parameter[0].elements, layout->parameter[0].dims);
    double *start = fixture_values(&f.parameters);
    CHECK(start[0] == 3, "start is %g", start[0]);
    free(start);
    fixture_close(&f);
  }
}

/* ---- what is wrong --------------------------------------------------------------------------- */

static const struct {
  const char *text, *path, *says; /* both must be in the message */
} mistakes[] = {
    {"{\"model\": \"gpt2-125m\"}", "model", "did you mean \"gpt2-124m\""},
    {"{\"model\": \"../gpt2-124m\"}", "model", "gpt2-124m"},
    {"{\"micro_batches\": 1}", "model", "nothing"},
    {"{\"model\": 3}", "model", ""},
    {"{\"model\": \"gpt2-124m\", \"micro_batch_sequence\": 3}", "(top level)",
     "did you mean \"micro_batch_sequences\""},
    {"{\"model\": \"gpt2-124m\", \"curvature\": [1]}", "(top level)", "\"curvature\""},
    {"{\"model\": \"gpt2-124m\", \"micro_batches\": 0}", "micro_batches", "0"},
    {"{\"model\": \"gpt2-124m\", \"micro_batches\": 1.5}", "micro_batches", "1.5"},
    {"{\"model\": \"gpt2-124m\", \"sequence_tokens\": 1025}", "sequence_tokens", "1024"},
    {"{\"model\": \"gpt2-124m\", \"precision\": \"fp16\"}", "precision", "bf16"},
    {"{\"model\": \"gpt2-124m\", \"micro_batch_time\": 3}", "micro_batch_time", ""},
    {"{\"model\": \"gpt2-124m\", \"micro_batch_time\": \"3GB\"}", "micro_batch_time", ""},
    {"{\"model\": {\"kind\": \"gpt\", \"width\": 10, \"heads\": 3}}", "model.heads", "3 heads"},
    {"{\"model\": {\"kind\": \"gpt\", \"dept\": 10}}", "model", "did you mean \"depth\""},
    {"{\"model\": {\"kind\": \"rnn\"}}", "model.kind", "rnn"},
    {"{\"model\": {\"kind\": \"quadratic\"}}", "model.kind", "beside"},
    {"{\"model\": {\"kind\": \"mlp\", \"hidden\": [3, 0]}}", "model.hidden[1]", "0"},
    {"{\"model\": {\"kind\": \"shape\", \"depth\": 2}}", "model.width", ""},
    {QUADRATIC(TWO), "optimum", ""},
    {QUADRATIC("\"curvature\": [1, 2], \"optimum\": [[0, 0]]"), "start", ""},
    {QUADRATIC("\"start\": [1, 2], \"optimum\": [[0, 0]]"), "curvature", ""},
    {QUADRATIC("\"start\": [], \"curvature\": [], \"optimum\": [[]]"), "start", "empty"},
    {QUADRATIC("\"start\": [1, \"2\"], \"curvature\": [1, 1], \"optimum\": [[0, 0]]"), "start[1]",
     ""},
    {QUADRATIC("\"start\": [1, 1e999], \"curvature\": [1, 1], \"optimum\": [[0, 0]]"), "start[1]",
     "inf"},
    {QUADRATIC(TWO ", \"optimum\": [[0, 0], [1]]"), "optimum[1]", "1 values, allowed: 2"},
    {QUADRATIC(TWO ", \"optimum\": [0, 0]"), "optimum[0]", ""},
    {QUADRATIC(TWO ", \"optimum\": []"), "optimum", "empty"},
    {QUADRATIC(TWO ", \"optimum\": [[0, 0]], \"samples\": [[[0, 0]]]"), "samples", "one of them"},
    {QUADRATIC(TWO ", \"samples\": [[[0, 0]], []]"), "samples[1]", "empty"},
    {QUADRATIC(TWO ", \"samples\": [[[0, 0], [1, 2, 3]]]"), "samples[0][1]", "3 values"},
    {QUADRATIC("\"curvature\": [1, 0], \"start\": [3, 4], \"optimum\": [[0, 0]]"), "curvature[1]",
     "above 0"},
    {QUADRATIC(
         "\"curvature\": [[1, 1], [1, -2]], \"start\": [3, 4], \"optimum\": [[0, 0], [0, 0]]"),
     "curvature[1][1]", "-2"},
    {QUADRATIC("\"curvature\": [[1, 1], [1, 2]], \"start\": [3, 4], \"optimum\": [[0, 0]]"),
     "curvature", "2 rows"},
    {QUADRATIC("\"curvature\": [1, 2, 3], \"start\": [3, 4], \"optimum\": [[0, 0]]"), "curvature",
     "3 values"},
    {QUADRATIC(TWO ", \"optimum\": [[0, 0]], \"shape\": [3]"), "shape[0]", "3"},
    {QUADRATIC(TWO ", \"optimum\": [[0, 0]], \"shape\": [2, 2]"), "shape", "4 elements"},
    {QUADRATIC(TWO ", \"optimum\": [[0, 0]], \"shape\": [2, 1, 1, 1, 1]"), "shape", "at most 4"},
    {QUADRATIC(TWO ", \"optimum\": [[0, 0]], \"layers\": [1]"), "layers", "1 elements"},
    {QUADRATIC(TWO ", \"optimum\": [[0, 0]], \"layers\": [1, 0, 1]"), "layers[1]", "0"},
    {QUADRATIC(TWO ", \"optimum\": [[0, 0]], \"layers\": \"rows\""), "layers", "2-D"},
    {QUADRATIC(TWO ", \"optimum\": [[0, 0]], \"curvatures\": 3"), "(top level)",
     "did you mean \"curvature\""},
    {QUADRATIC(TWO ", \"optimum\": [[0, 0]], \"sequence_tokens\": 2"), "sequence_tokens", "2"},
    {QUADRATIC(TWO ", \"optimum\": [[0, 0]], \"data\": {}"), "data", "its own"},
    {QUADRATIC(TWO ", \"optimum\": [[0, 0]], \"micro_batch_time\": []"), "micro_batch_time",
     "empty"},
    {"{\"model\": \"gradients\", \"start\": [1, 2], \"gradients\": [[[1, 2], [1]]]}",
     "gradients[0][1]", "1 values"},
    {"{\"model\": \"gradients\", \"start\": [1, 2]}", "gradients", ""},
    {"{\"model\": \"gradients\", \"start\": [1, 2], \"gradients\": [[1, 2]]}", "gradients[0][0]",
     ""},
};

static void check_mistakes(void)
{
  for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
    lh_json_document *document = NULL;
    lh_workload w;
    char place[80];
    const lh_status status =
        lh_workload_read(fixture_json(&document, mistakes[i].text), CATALOGUE, false, &w);
    snprintf(place, sizeof place, "test: %s: ", mistakes[i].path);
    CHECK(status == LH_EINVAL && strstr(lh_fail_text(), place) &&
              strstr(lh_fail_text(), mistakes[i].says),
          "%s\n  says \"%s\", not \"%s... %s\"", mistakes[i].text,
          status ? lh_fail_text() : "nothing", place, mistakes[i].says);
    lh_workload_fini(&w);
    lh_json_document_free(document);
  }
}

/* Data that the model cannot read. */
static void check_data(void)
{
  static const struct {
    const char *text, *says;
  } cases[] = {
      {"{\"model\": {\"kind\": \"mlp\"}, \"data\": {\"kind\": \"synthetic\"}}",
       "test: data: found \"synthetic\", which gives tokens, but the model reads images"},
      {"{\"model\": {\"kind\": \"gpt\", \"vocabulary\": 31}, \"data\": {\"kind\": \"synthetic\"}}",
       "test: data: found \"synthetic\" with 32 classes, but the model knows 31"},
      {"{\"model\": \"llama-2-7b\"}", "test: model: found \"llama-2-7b\", which can be costed"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    lh_json_document *document = NULL;
    lh_workload w;
    const lh_status status =
        lh_workload_read(fixture_json(&document, cases[i].text), CATALOGUE, true, &w);
    CHECK(status == LH_EINVAL && strstr(lh_fail_text(), cases[i].says), "%s says %s", cases[i].text,
          lh_fail_text());
    lh_workload_fini(&w);
    lh_json_document_free(document);
  }
}

int main(void)
{
  check_defaults();
  check_overrides();
  check_quadratic();
  check_layers();
  check_mistakes();
  check_data();
  return check_report("workload");
}
