/* quadratic.c -- the fully stated problem: rank i's micro-batch j has loss 1/2 sum a (x - s_ij)^2
 * and gradient a (x - s_ij). Rows s are one optimum per rank, or samples taken in order. */
#include <math.h>
#include <stdlib.h>

#include "models/explicit.h"
#include "models/hooks.h"
#include "models/kinds.h"

typedef struct quadratic {
  lh_given given;
  lh_rows curvature, samples;
  const char *samples_key;
} quadratic;

static const char *const keys[] = {"curvature", "start",  "shape", "optimum",
                                   "samples",   "layers", NULL};

static lh_status check_curvature(lh_json node, const quadratic *q)
{
  for (size_t r = 0; r < q->curvature.ranks; r++)
    for (size_t i = 0; i < q->curvature.width; i++) {
      const double a = q->curvature.values[r * q->curvature.width + i];
      const bool rows = cJSON_IsArray(lh_json_at(node, 0).node);
      if (!(a > 0 && isfinite(a)))
        return lh_json_fail(lh_json_at(rows ? lh_json_at(node, r) : node, i),
                            "found %g, allowed: a finite number above 0", a);
    }
  if (q->curvature.ranks != 1 && q->curvature.ranks != q->samples.ranks)
    return lh_json_fail(node, "found %zu rows, allowed: one row, or %zu, as many as \"%s\" has",
                        q->curvature.ranks, q->samples.ranks, q->samples_key);
  return LH_OK;
}

static lh_status create(lh_json spec, lh_dtype compute_dtype, void **self, lh_layout *layout)
{
  (void)compute_dtype; /* numbers given outright keep the parameters' precision */
  quadratic *q = calloc(1, sizeof *q);
  if (!(*self = q))
    return lh_fail(LH_ENOMEM, "quadratic: no memory");
  const lh_json optimum = lh_json_get(spec, "optimum"), samples = lh_json_get(spec, "samples");
  if (lh_json_present(optimum) && lh_json_present(samples))
    return lh_json_fail(samples, "found both \"samples\" and \"optimum\", allowed: one of them");
  LH_TRY(lh_given_read(spec, &q->given, layout));
  if (lh_json_present(samples)) {
    q->samples_key = "samples";
    LH_TRY(lh_rows_read_lists(samples, q->given.elements, &q->samples));
  } else {
    q->samples_key = "optimum";
    LH_TRY(lh_rows_read_one_each(optimum, q->given.elements, &q->samples));
  }
  const lh_json curvature = lh_json_get(spec, "curvature");
  LH_TRY(lh_rows_read_shared(curvature, q->given.elements, &q->curvature));
  return check_curvature(curvature, q);
}

static void destroy(void *self)
{
  quadratic *q = self;
  lh_given_fini(&q->given);
  lh_rows_fini(&q->curvature);
  lh_rows_fini(&q->samples);
  free(q);
}

static size_t ranks(const void *self)
{
  return ((const quadratic *)self)->samples.ranks;
}

static lh_status batch_alloc(const void *self, lh_device *device, size_t sequences,
                             size_t sequence_tokens, lh_batch *batch)
{
  (void)self, (void)device, (void)sequences, (void)sequence_tokens, (void)batch;
  return LH_OK; /* the batch's rank and index say everything */
}

/* What one pass works on. */
struct run {
  const quadratic *q;
  lh_device *device;
  const lh_tensor *parameters;
  lh_tensor *gradients;
  const double *curvature, *sample; /* the rows of this rank and micro-batch */
  double scale;
  double *loss;
};

static lh_status add_gradient(const struct run *run, size_t layer)
{
  const lh_given *given = &run->q->given;
  const size_t n = given->layout->layer[layer].elements;
  const lh_tensor x = lh_tensor_view_1d(&run->parameters[layer], 0, n);
  lh_tensor a = {0}, s = {0}, unwanted = {0}, gradient;
  lh_status status;
  LH_TRY_GOTO(status, lh_given_upload(given, run->device, layer, run->curvature, &a));
  LH_TRY_GOTO(status, lh_given_upload(given, run->device, layer, run->sample, &s));
  if (!run->gradients)
    LH_TRY_GOTO(status, lh_given_upload(given, run->device, layer, run->sample, &unwanted));
  gradient = lh_tensor_view_1d(run->gradients ? &run->gradients[layer] : &unwanted, 0, n);
  status = lh_quadratic(run->device, &gradient, &x, &a, &s, run->scale, run->loss);
done:
  lh_tensor_free(&a);
  lh_tensor_free(&s);
  lh_tensor_free(&unwanted);
  return status;
}

static lh_status pass(const void *self, lh_device *device, const lh_tensor *parameters,
                      lh_tensor *gradients, const lh_batch *batch, double scale,
                      const struct lh_layer_hooks *hooks, lh_loss *loss)
{
  const quadratic *q = self;
  struct run run = {q, device, parameters, gradients, NULL, NULL, scale, &loss->loss_sum};
  const size_t layers = q->given.layout->layers;
  LH_TRY(lh_rows_find(&q->curvature, "curvature", true, batch->rank, 0, &run.curvature));
  LH_TRY(lh_rows_find(&q->samples, q->samples_key, false, batch->rank, batch->index, &run.sample));
  for (size_t l = 0; l < layers; l++) {
    LH_TRY(lh_before_forward(hooks, l));
    LH_TRY(lh_after_forward(hooks, l));
  }
  /* Loss and gradient come from one operation, so it runs where the gradient is due. */
  for (size_t l = layers; l-- > 0;) {
    LH_TRY(gradients ? lh_before_backward(hooks, l) : LH_OK);
    LH_TRY(add_gradient(&run, l));
    LH_TRY(gradients ? lh_gradient_ready(hooks, l) : LH_OK);
  }
  loss->count++;
  return LH_OK;
}

static lh_status start(const void *self, lh_tensor *parameters)
{
  return lh_given_start(&((const quadratic *)self)->given, parameters);
}

const lh_model_kind lh_model_quadratic = {
    .name = "quadratic",
    .title = "Quadratic problem given outright: loss 1/2 sum a (x - s)^2",
    .keys = keys,
    .explicit_problem = true,
    .create = create,
    .destroy = destroy,
    .ranks = ranks,
    .batch_alloc = batch_alloc,
    .pass = pass,
    .start = start,
};
