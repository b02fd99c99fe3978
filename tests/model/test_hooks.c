/* The order of hooks around the layers, and the layout they speak of. */
#include "tests/model/fixture.h"

struct trace {
  char text[4096];
  size_t fail_at, calls;
};

static lh_status note(struct trace *trace, char mark, size_t layer)
{
  const size_t used = strlen(trace->text);
  snprintf(trace->text + used, sizeof trace->text - used, "%c%zu ", mark, layer);
  return ++trace->calls == trace->fail_at ? lh_fail(LH_EINTERRUPTED, "asked for") : LH_OK;
}

static lh_status before_forward(void *ctx, size_t layer)
{
  return note(ctx, '(', layer);
}

static lh_status after_forward(void *ctx, size_t layer)
{
  return note(ctx, ')', layer);
}

static lh_status before_backward(void *ctx, size_t layer)
{
  return note(ctx, '<', layer);
}

static lh_status gradient_ready(void *ctx, size_t layer)
{
  return note(ctx, '>', layer);
}

static lh_status pass(fixture *f, struct trace *trace)
{
  const struct lh_layer_hooks hooks = {before_forward, after_forward, before_backward,
                                       gradient_ready, trace};
  lh_loss loss = {0};
  return lh_model_gradient(f->model, f->device, f->layer, f->dlayer, &f->batch, 1, &hooks, &loss);
}

static void check_order(const char *text, const char *expected)
{
  fixture f;
  struct trace trace = {0};
  fixture_open(&f, text, &lh_backend_phantom, false, 1);
  REQUIRE_OK(pass(&f, &trace));
  CHECK(!strcmp(trace.text, expected), "got\n  %s, expected\n  %s, for %s", trace.text, expected,
        text);

  /* A hook that fails ends the pass with its status, and nothing stays allocated. */
  const size_t before = lh_device_allocated_bytes(f.device), calls = trace.calls;
  for (size_t at = 1; at <= calls; at++) {
    trace = (struct trace){.fail_at = at};
    const lh_status status = pass(&f, &trace);
    CHECK(status == LH_EINTERRUPTED && trace.calls == at, "call %zu: status %d after %zu calls", at,
          status, trace.calls);
    CHECK(lh_device_allocated_bytes(f.device) == before, "call %zu: memory is left behind", at);
  }
  fixture_close(&f);
}

/* Contiguous layers of contiguous tensors that add up. */
static void check_layout(const char *text)
{
  fixture f;
  fixture_open(&f, text, &lh_backend_phantom, false, 1);
  const lh_layout *layout = &f.model->layout;
  size_t layer_offset = 0, parameter = 0;
  for (size_t l = 0; l < layout->layers; l++) {
    const lh_layer *layer = &layout->layer[l];
    CHECK(layer->offset == layer_offset && layer->first_parameter == parameter,
          "%s: layer %s begins at %zu", text, layer->name, layer->offset);
    size_t offset = 0;
    for (size_t i = 0; i < layer->parameters; i++, parameter++) {
      const lh_parameter *p = &layout->parameter[parameter];
      size_t elements = 1;
      for (int d = 0; d < p->dims; d++)
        elements *= p->shape[d];
      CHECK(p->layer == l && p->offset == offset && p->elements == elements && elements > 0,
            "%s: %s", text, p->name);
      offset += elements;
    }
    CHECK(layer->elements == offset && offset > 0, "%s: layer %s has %zu elements", text,
          layer->name, layer->elements);
    layer_offset += offset;
  }
  CHECK(layout->elements == layer_offset && layout->parameters == parameter, "%s: %zu elements",
        text, layout->elements);
  fixture_close(&f);
}

/* Starting values: the stated deviation, ones and zeros, and the seed's. A sample deviation of n
 * values errs by 1 / sqrt(2n), a mean by 1 / sqrt(n); five of these are allowed. */
static void check_start(void)
{
  fixture f;
  fixture_open(&f, "{\"model\": {\"kind\": \"gpt\", \"depth\": 2, \"width\": 24}}", &lh_backend_cpu,
               false, 1);
  const lh_layout *layout = &f.model->layout;
  double *first = fixture_values(&f.parameters);
  for (size_t i = 0; i < layout->parameters; i++) {
    const lh_parameter *p = &layout->parameter[i];
    const double *x = first + layout->layer[p->layer].offset + p->offset;
    double sum = 0, squares = 0;
    for (size_t k = 0; k < p->elements; k++) {
      sum += x[k];
      squares += x[k] * x[k];
    }
    const double n = (double)p->elements, deviation = sqrt(squares / n);
    const bool vector = p->dims == 1,
               residual = strstr(p->name, "down.weight") || strstr(p->name, "projection.weight");
    const double wanted = residual ? 0.01 : 0.02; /* 0.02 / sqrt(2 * 2) */
    if (vector)
      CHECK(sum == (strstr(p->name, "weight") ? n : 0) && squares == fabs(sum), "%s starts at %g",
            p->name, x[0]);
    else
      CHECK(fabs(deviation / wanted - 1) < 5 / sqrt(2 * n) && fabs(sum / n) < 5 * wanted / sqrt(n),
            "%s: deviation %g, mean %g", p->name, deviation, sum / n);
  }
  REQUIRE_OK(lh_model_start(f.model, f.layer, 2));
  double *second = fixture_values(&f.parameters);
  CHECK(memcmp(first, second, 256 * 24 * sizeof *first), "two seeds, one start");
  REQUIRE_OK(lh_model_start(f.model, f.layer, 1));
  free(second);
  second = fixture_values(&f.parameters);
  CHECK(!memcmp(first, second, layout->elements * sizeof *first), "one seed, two starts");
  CHECK(lh_device_total_flop(f.device) == 0 && lh_device_total_bytes(f.device) == 0,
        "starting values were charged");
  free(first);
  free(second);
  fixture_close(&f);
}

#define TIED "{\"model\": {\"kind\": \"gpt\", \"depth\": 2, \"width\": 8, \"heads\": 2}}"
#define UNTIED                                                                                     \
  "{\"model\": {\"kind\": \"gpt\", \"depth\": 2, \"width\": 8, \"heads\": 2, \"tied\": false}}"

int main(void)
{
  check_order(TIED, "(0 (1 )1 (2 )2 (3 )3 )0 <0 <3 >3 <2 >2 <1 >1 >0 ");
  check_order(UNTIED, "(0 )0 (1 )1 (2 )2 (3 )3 <3 >3 <2 >2 <1 >1 <0 >0 ");
  check_order("{\"model\": {\"kind\": \"mlp\", \"hidden\": [5, 4]}}",
              "(0 )0 (1 )1 (2 )2 <2 >2 <1 >1 <0 >0 ");
  check_order("{\"model\": \"quadratic\", \"start\": [1, 2, 3], \"curvature\": [1, 1, 1],"
              "\"optimum\": [[0, 0, 0]], \"layers\": [2, 1]}",
              "(0 )0 (1 )1 <1 >1 <0 >0 ");
  check_order("{\"model\": \"gradients\", \"start\": [1, 2], \"gradients\": [[[1, 1]]]}",
              "(0 )0 <0 >0 ");
  /* Shapes: a tied head without a norm joins the last block; T5's table stays for both stacks. */
  check_order("{\"model\": \"olmo-300m\", \"depth\": 2}", "(0 (1 )1 (2 )2 )0 <0 <2 >2 <1 >1 >0 ");
  check_order("{\"model\": \"llama-2-7b\", \"depth\": 1}", "(0 )0 (1 )1 (2 )2 <2 >2 <1 >1 <0 >0 ");
  check_order("{\"model\": \"t5-small\", \"depth\": 1}",
              "(0 (1 )1 (2 )2 (3 )3 )0 <0 <3 >3 <2 >2 <1 >1 >0 ");
  check_layout(TIED);
  check_layout(UNTIED);
  check_layout("{\"model\": \"t5-small\"}");
  check_layout("{\"model\": \"olmo-300m\"}");
  check_layout("{\"model\": \"vit-b\"}");
  check_layout("{\"model\": {\"kind\": \"mlp\", \"hidden\": [5, 4]}}");
  check_layout("{\"model\": \"quadratic\", \"start\": [1, 2, 3, 4, 5, 6], \"shape\": [2, 3],"
               "\"curvature\": [1, 1, 1, 1, 1, 1], \"optimum\": [[0, 0, 0, 0, 0, 0]]}");
  check_start();
  return check_report("hooks");
}
