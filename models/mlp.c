/* mlp.c -- a classifier of fully connected layers; with no hidden layer it is logistic regression.
 *
 *     h(0) = features;  h(l+1) = f(W h(l) + b);  logits = W h + b;  loss: cross-entropy
 *
 * Layers are hidden0, hidden1, ..., output, each with its weight (out, in) and bias (out). Hidden
 * weights start as normal(0, 2 / in) (He et al. 2015), the output's as normal(0, 1 / in).
 */
#include <math.h>
#include <stdlib.h>

#include "models/hooks.h"
#include "models/kinds.h"
#include "models/layout.h"

#define MAX_LAYERS 64

typedef struct mlp {
  size_t layers;                /* hidden ones and the output */
  size_t width[MAX_LAYERS + 1]; /* width[0]: features; width[layers]: classes */
  lh_activation activation;
  lh_dtype compute;
  const lh_layout *layout;
} mlp;

static const char *const keys[] = {"inputs", "hidden", "classes", "activation", NULL};
static const char *const activations[] = {"relu", "gelu", "silu", NULL};
static const lh_activation activation_of[] = {LH_RELU, LH_GELU, LH_SILU};

static lh_status read_config(lh_json spec, mlp *model)
{
  LH_TRY(lh_json_size_or(lh_json_get(spec, "inputs"), 1, 1u << 24, 784, &model->width[0]));
  const lh_json hidden = lh_json_get(spec, "hidden");
  size_t count = 1, choice = 0;
  model->width[1] = 128;
  if (lh_json_present(hidden)) {
    LH_TRY(lh_json_expect_array(hidden));
    count = lh_json_size(hidden);
    if (count > MAX_LAYERS - 1)
      return lh_json_fail(hidden, "found %zu widths, allowed: at most %d", count, MAX_LAYERS - 1);
    for (size_t l = 0; l < count; l++)
      LH_TRY(lh_json_size_value(lh_json_at(hidden, l), 1, 1u << 24, &model->width[1 + l]));
  }
  model->layers = count + 1;
  LH_TRY(
      lh_json_size_or(lh_json_get(spec, "classes"), 2, 1u << 24, 10, &model->width[model->layers]));
  LH_TRY(lh_json_choice_or(lh_json_get(spec, "activation"), activations, 0, &choice));
  model->activation = activation_of[choice];
  return LH_OK;
}

static lh_status build(const mlp *model, lh_layout *layout)
{
  for (size_t l = 0; l < model->layers; l++) {
    const bool output = l + 1 == model->layers;
    const size_t in = model->width[l], out = model->width[l + 1];
    const lh_parameter_spec weight = {2, {out, in}, sqrt((output ? 1.0 : 2.0) / (double)in), 0};
    const lh_parameter_spec bias = {1, {out}, 0, 0};
    LH_TRY(output ? lh_layout_open_layer(layout, "output")
                  : lh_layout_open_layer(layout, "hidden%zu", l));
    LH_TRY(lh_layout_add(layout, &weight, NULL, "%s.weight", layout->layer[l].name));
    LH_TRY(lh_layout_add(layout, &bias, NULL, "%s.bias", layout->layer[l].name));
  }
  return LH_OK;
}

static lh_status create(lh_json spec, lh_dtype compute_dtype, void **self, lh_layout *layout)
{
  mlp *model = calloc(1, sizeof *model);
  if (!(*self = model))
    return lh_fail(LH_ENOMEM, "mlp: no memory");
  model->compute = compute_dtype;
  model->layout = layout;
  LH_TRY(read_config(spec, model));
  return build(model, layout);
}

static lh_batch_form batch_form(const void *self)
{
  const mlp *model = self;
  return (lh_batch_form){.features = model->width[0], .targets = model->width[model->layers]};
}

static lh_status batch_alloc(const void *self, lh_device *device, size_t sequences,
                             size_t sequence_tokens, lh_batch *batch)
{
  const mlp *model = self;
  if (sequence_tokens != 1)
    return lh_fail(LH_EINVAL, "sequence_tokens: found %zu, allowed: 1 (an example is one position)",
                   sequence_tokens);
  LH_TRY(lh_tensor_alloc(device, &batch->features, "batch", model->compute, 2,
                         (size_t[]){sequences, model->width[0]}));
  return lh_tensor_alloc_1d(device, &batch->targets, "batch", LH_I32, sequences);
}

/* ---- a pass ---------------------------------------------------------------------------------- */

struct run {
  const mlp *model;
  lh_device *device;
  const lh_tensor *parameters;
  lh_tensor *gradients;
  const lh_batch *batch;
  const struct lh_layer_hooks *hooks;
  lh_tensor before[MAX_LAYERS]; /* (n, width[l+1]): what the activation reads; the logits last */
  lh_tensor after[MAX_LAYERS];  /* (n, width[l+1]): what the next layer reads */
};

static lh_tensor weight(const struct run *run, size_t parameter)
{
  lh_tensor view = lh_layout_view(run->model->layout, run->parameters, parameter);
  view.dtype = run->model->compute; /* as in gpt_pass.c */
  return view;
}

static const lh_tensor *input(const struct run *run, size_t layer)
{
  return layer ? &run->after[layer - 1] : &run->batch->features;
}

static lh_status forward(struct run *run, double scale, lh_loss *loss)
{
  const mlp *model = run->model;
  for (size_t l = 0; l < model->layers; l++) {
    const lh_tensor matrix = weight(run, 2 * l), bias = weight(run, 2 * l + 1);
    LH_TRY(lh_before_forward(run->hooks, l));
    LH_TRY(lh_linear_forward(run->device, &run->before[l], input(run, l), &matrix, &bias));
    if (l + 1 < model->layers)
      LH_TRY(
          lh_activation_forward(run->device, model->activation, &run->after[l], &run->before[l]));
    else
      LH_TRY(lh_cross_entropy(run->device, run->gradients ? &run->before[l] : NULL, &run->before[l],
                              &run->batch->targets, scale / (double)run->batch->sequences, loss));
    LH_TRY(lh_after_forward(run->hooks, l));
  }
  return LH_OK;
}

static lh_status backward(struct run *run)
{
  const mlp *model = run->model;
  for (size_t l = model->layers; l-- > 0;) {
    const lh_tensor matrix = weight(run, 2 * l);
    lh_tensor dmatrix = lh_layout_view(model->layout, run->gradients, 2 * l);
    lh_tensor dbias = lh_layout_view(model->layout, run->gradients, 2 * l + 1);
    lh_tensor dx = {0};
    LH_TRY(lh_before_backward(run->hooks, l));
    if (l)
      LH_TRY(lh_tensor_alloc_workspace(run->device, &dx, "activations", model->compute, 2,
                                       run->after[l - 1].shape));
    lh_status status = lh_linear_backward(run->device, l ? &dx : NULL, &dmatrix, &dbias,
                                          &run->before[l], input(run, l), &matrix);
    if (l && status == LH_OK)
      status =
          lh_activation_backward(run->device, model->activation, &dx, &dx, &run->before[l - 1]);
    if (l) { /* the gradient takes the place of what it is the gradient of */
      const lh_tensor spent = run->before[l - 1];
      run->before[l - 1] = dx;
      dx = spent;
    }
    lh_tensor_free(&dx);
    LH_TRY(status);
    LH_TRY(lh_gradient_ready(run->hooks, l));
  }
  return LH_OK;
}

static lh_status alloc_workspace(struct run *run)
{
  for (size_t l = 0; l < run->model->layers; l++) {
    const size_t shape[] = {run->batch->sequences, run->model->width[l + 1]};
    LH_TRY(lh_tensor_alloc_workspace(run->device, &run->before[l], "activations",
                                     run->model->compute, 2, shape));
    if (l + 1 < run->model->layers)
      LH_TRY(lh_tensor_alloc_workspace(run->device, &run->after[l], "activations",
                                       run->model->compute, 2, shape));
  }
  return LH_OK;
}

static lh_status pass(const void *self, lh_device *device, const lh_tensor *parameters,
                      lh_tensor *gradients, const lh_batch *batch, double scale,
                      const struct lh_layer_hooks *hooks, lh_loss *loss)
{
  struct run run = {.model = self,
                    .device = device,
                    .parameters = parameters,
                    .gradients = gradients,
                    .batch = batch,
                    .hooks = hooks};
  lh_status status;
  LH_TRY_GOTO(status, alloc_workspace(&run));
  LH_TRY_GOTO(status, forward(&run, scale, loss));
  if (gradients)
    status = backward(&run);
done:
  for (size_t l = 0; l < run.model->layers; l++) {
    lh_tensor_free(&run.before[l]);
    lh_tensor_free(&run.after[l]);
  }
  return status;
}

/* The first layer's input gradient is not computed. */
static double flop_per_sequence(const void *self, size_t sequence_tokens)
{
  const mlp *model = self;
  double flop = 0;
  for (size_t l = 0; l < model->layers; l++)
    flop += (l ? 6.0 : 4.0) * (double)model->width[l] * (double)model->width[l + 1];
  return flop * (double)sequence_tokens;
}

const lh_model_kind lh_model_mlp = {
    .name = "mlp",
    .title = "Classifier of fully connected layers",
    .keys = keys,
    .default_data = "images",
    .create = create,
    .destroy = free,
    .batch_form = batch_form,
    .batch_alloc = batch_alloc,
    .pass = pass,
    .flop_per_sequence = flop_per_sequence,
};
