#include "models/shape.h"

#include <stdlib.h>

#include "models/hooks.h"
#include "models/kinds.h"

static lh_status create(lh_json spec, lh_dtype compute_dtype, void **self, lh_layout *layout)
{
  lh_shape *shape = calloc(1, sizeof *shape);
  if (!(*self = shape))
    return lh_fail(LH_ENOMEM, "shape: no memory");
  shape->compute = compute_dtype;
  shape->layout = layout;
  LH_TRY(lh_shape_read(spec, &shape->config));
  return lh_shape_build(shape);
}

static void destroy(void *self)
{
  lh_shape *shape = self;
  free(shape->step);
  free(shape->first);
  free(shape);
}

static size_t context(const void *self)
{
  return ((const lh_shape *)self)->config.context;
}

static lh_status batch_alloc(const void *self, lh_device *device, size_t sequences,
                             size_t sequence_tokens, lh_batch *batch)
{
  const lh_shape *shape = self;
  const shape_config *c = &shape->config;
  if (sequence_tokens < 1 || sequence_tokens > c->context)
    return lh_fail(LH_EINVAL, "sequence_tokens: found %zu, allowed: 1 to %zu (the model's context)",
                   sequence_tokens, c->context);
  const size_t rows = sequences * sequence_tokens;
  LH_TRY(lh_tensor_alloc_1d(device, &batch->targets, "batch", LH_I32, rows));
  if (c->image)
    return lh_tensor_alloc(device, &batch->features, "batch", shape->compute, 2,
                           (size_t[]){sequences, c->image * c->image * c->channels});
  return lh_tensor_alloc_1d(device, &batch->tokens, "batch", LH_I32, rows);
}

/* ---- steps ----------------------------------------------------------------------------------- */

struct run {
  const lh_shape *shape;
  lh_device *device;
  const lh_batch *batch;
  const struct lh_layer_hooks *hooks;
  bool backward;
  lh_loss *loss;
  lh_tensor scratch; /* gradients of activations */
  lh_tensor *kept;   /* (layers) what each layer's steps leave for the backward pass */
};

/* A tensor of which only the shape is looked at: its bytes are counted elsewhere. */
static lh_tensor like(const struct run *run, lh_dtype dtype, size_t rows, size_t columns)
{
  return (lh_tensor){.dtype = dtype,
                     .dims = rows ? 2 : 1,
                     .shape = {rows ? rows : columns, rows ? columns : 0},
                     .device = run->device};
}

/* The operands of a step. */
struct operands {
  lh_tensor x, y;                             /* (rows, in), (rows, out), in the compute dtype */
  lh_tensor row;                              /* (rows): statistics, targets */
  lh_tensor dweight, dvector, weight, vector; /* of the parameters */
};

static struct operands operands_of(const struct run *run, const shape_step *step)
{
  const lh_dtype compute = run->shape->compute, exact = run->shape->layout->dtype;
  const size_t rows =
      lh_shape_rows(run->shape, step, run->batch->sequences, run->batch->sequence_tokens);
  const bool table = step->kind == SHAPE_EMBED;
  const size_t w_rows = table ? step->in : step->out, w_columns = table ? step->out : step->in;
  return (struct operands){.x = like(run, compute, rows, step->in),
                           .y = like(run, compute, rows, step->out),
                           .row = like(run, exact, 0, rows),
                           .weight = like(run, compute, w_rows, w_columns),
                           .dweight = like(run, exact, w_rows, w_columns),
                           .vector = like(run, compute, 0, step->out),
                           .dvector = like(run, exact, 0, step->out)};
}

static lh_status embed(struct run *run, const shape_step *step, bool back)
{
  struct operands o = operands_of(run, step);
  lh_tensor position =
      like(run, back ? o.dweight.dtype : o.weight.dtype, run->batch->sequence_tokens, step->out);
  lh_tensor *positions = step->positioned ? &position : NULL;
  if (back)
    return lh_embedding_backward(run->device, &o.dweight, positions, &o.y, &run->batch->tokens);
  return lh_embedding_forward(run->device, &o.y, &run->batch->tokens, &o.weight, positions);
}

static lh_status linear(struct run *run, const shape_step *step, bool back)
{
  struct operands o = operands_of(run, step);
  if (!back)
    return lh_linear_forward(run->device, &o.y, &o.x, &o.weight, step->biased ? &o.vector : NULL);
  LH_TRY(lh_linear_backward(run->device, &o.x, &o.dweight, step->biased ? &o.dvector : NULL, &o.y,
                            &o.x, &o.weight));
  return step->shared ? lh_add(run->device, &o.x, &o.x, &o.x) : LH_OK;
}

static lh_status norm(struct run *run, const shape_step *step, bool back)
{
  struct operands o = operands_of(run, step);
  const bool rms = run->shape->config.norm == SHAPE_RMS_NORM;
  const double epsilon = 1e-5; /* no number is computed */
  lh_tensor *beta = step->biased ? &o.vector : NULL, *dbeta = step->biased ? &o.dvector : NULL;
  if (rms && back)
    return lh_rms_norm_backward(run->device, &o.x, &o.dvector, &o.y, &o.x, &o.vector, &o.row);
  if (rms)
    return lh_rms_norm_forward(run->device, &o.y, &o.row, &o.x, &o.vector, epsilon);
  if (back)
    return lh_layer_norm_backward(run->device, &o.x, &o.dvector, dbeta, &o.y, &o.x, &o.vector,
                                  &o.row, &o.row);
  return lh_layer_norm_forward(run->device, &o.y, &o.row, &o.row, &o.x, &o.vector, beta, epsilon);
}

/* A rotation reads and writes queries and keys once in each direction. */
static lh_status rotate(struct run *run, const shape_step *step, bool back)
{
  (void)back;
  struct operands o = operands_of(run, step);
  return lh_scale(run->device, &o.x, 2.0);
}

/* The operation prices the causal half; every position seeing every other is two of them. */
static lh_status attend(struct run *run, const shape_step *step, bool back)
{
  struct operands o = operands_of(run, step);
  const size_t heads = run->shape->config.heads, batch = run->batch->sequences;
  lh_tensor lse = like(run, o.row.dtype, 0, o.x.shape[0] * heads);
  for (int half = 0; half < (step->causal ? 1 : 2); half++)
    LH_TRY(back ? lh_attention_backward(run->device, &o.x, &o.y, &o.y, &lse, &o.x, batch, heads)
                : lh_attention_forward(run->device, &o.y, &lse, &o.x, batch, heads));
  return LH_OK;
}

static lh_status activate(struct run *run, const shape_step *step, bool back)
{
  struct operands o = operands_of(run, step);
  const lh_activation kind = (lh_activation)run->shape->config.activation;
  return back ? lh_activation_backward(run->device, kind, &o.x, &o.x, &o.x)
              : lh_activation_forward(run->device, kind, &o.y, &o.x);
}

/* Backward: the gradient times one factor gives the other's. */
static lh_status multiply(struct run *run, const shape_step *step, bool back)
{
  struct operands o = operands_of(run, step);
  LH_TRY(lh_multiply(run->device, &o.y, &o.x, &o.x));
  return back ? lh_multiply(run->device, &o.y, &o.x, &o.x) : LH_OK;
}

/* Backward costs nothing: norms add to the gradient of the stream. */
static lh_status add(struct run *run, const shape_step *step, bool back)
{
  struct operands o = operands_of(run, step);
  return back ? LH_OK : lh_add(run->device, &o.y, &o.x, &o.x);
}

static lh_status loss_of(struct run *run, const shape_step *step, bool back)
{
  struct operands o = operands_of(run, step);
  lh_tensor targets = like(run, LH_I32, 0, o.x.shape[0]);
  if (back)
    return LH_OK;
  return lh_cross_entropy(run->device, run->backward ? &o.x : NULL, &o.x, &targets, 1.0, run->loss);
}

static lh_status (*const step_functions[])(struct run *, const shape_step *, bool back) = {
    [SHAPE_EMBED] = embed,       [SHAPE_LINEAR] = linear, [SHAPE_NORM] = norm,
    [SHAPE_ROTATE] = rotate,     [SHAPE_ATTEND] = attend, [SHAPE_ACTIVATE] = activate,
    [SHAPE_MULTIPLY] = multiply, [SHAPE_ADD] = add,       [SHAPE_LOSS] = loss_of};

/* ---- a pass ---------------------------------------------------------------------------------- */

static lh_status walk_forward(struct run *run)
{
  const lh_shape *shape = run->shape;
  for (size_t l = 0; l < shape->layout->layers; l++) {
    LH_TRY(lh_before_forward(run->hooks, l));
    for (size_t s = shape->first[l]; s < shape->first[l + 1]; s++)
      LH_TRY(step_functions[shape->step[s].kind](run, &shape->step[s], false));
    if (l > 0 || !shape->embedding_stays)
      LH_TRY(lh_after_forward(run->hooks, l));
  }
  return shape->embedding_stays ? lh_after_forward(run->hooks, 0) : LH_OK;
}

static lh_status walk_backward(struct run *run)
{
  const lh_shape *shape = run->shape;
  if (shape->embedding_stays)
    LH_TRY(lh_before_backward(run->hooks, 0));
  for (size_t l = shape->layout->layers; l-- > 0;) {
    if (l > 0 || !shape->embedding_stays)
      LH_TRY(lh_before_backward(run->hooks, l));
    for (size_t s = shape->first[l + 1]; s-- > shape->first[l];)
      LH_TRY(step_functions[shape->step[s].kind](run, &shape->step[s], true));
    lh_tensor_free(&run->kept[l]);
    LH_TRY(lh_gradient_ready(run->hooks, l));
  }
  return LH_OK;
}

static bool feeds(const lh_shape *shape, size_t step, enum shape_step_kind kind)
{
  return step + 1 < shape->steps && shape->step[step + 1].kind == kind;
}

/* Elements that a layer leaves for the backward pass: what each step writes, but not what is only
 * added to the stream. Of the gradients of these two are alive at a time; that of the logits takes
 * the logits' place. */
static size_t kept_elements(const struct run *run, size_t layer, size_t *largest)
{
  const lh_shape *shape = run->shape;
  size_t sum = 0;
  for (size_t s = shape->first[layer]; s < shape->first[layer + 1]; s++) {
    const shape_step *step = &shape->step[s];
    const size_t elements =
        step->out * lh_shape_rows(shape, step, run->batch->sequences, run->batch->sequence_tokens);
    if (!feeds(shape, s, SHAPE_ADD))
      sum += elements;
    if (!feeds(shape, s, SHAPE_LOSS) && elements > *largest)
      *largest = elements;
  }
  return sum;
}

static lh_status alloc_workspace(struct run *run)
{
  const size_t layers = run->shape->layout->layers;
  size_t largest = 0;
  run->kept = calloc(layers, sizeof *run->kept);
  if (!run->kept)
    return lh_fail(LH_ENOMEM, "shape: no memory for %zu layers", layers);
  for (size_t l = 0; l < layers; l++) {
    const size_t elements = kept_elements(run, l, &largest);
    if (run->backward && elements)
      LH_TRY(lh_tensor_alloc_workspace(run->device, &run->kept[l], "activations",
                                       run->shape->compute, 1, (size_t[]){elements}));
  }
  return lh_tensor_alloc_workspace(run->device, &run->scratch, "activations", run->shape->compute,
                                   1, (size_t[]){2 * largest});
}

static lh_status pass(const void *self, lh_device *device, const lh_tensor *parameters,
                      lh_tensor *gradients, const lh_batch *batch, double scale,
                      const struct lh_layer_hooks *hooks, lh_loss *loss)
{
  (void)parameters, (void)scale;
  struct run run = {.shape = self,
                    .device = device,
                    .batch = batch,
                    .hooks = hooks,
                    .backward = gradients != NULL,
                    .loss = loss};
  if (lh_device_computes(device))
    return lh_fail(LH_EUNSUPPORTED, "a model of kind \"shape\" can be costed but not trained: "
                                    "found run.mode \"train\", allowed: \"cost\"");
  lh_status status;
  LH_TRY_GOTO(status, alloc_workspace(&run));
  LH_TRY_GOTO(status, walk_forward(&run));
  if (gradients)
    status = walk_backward(&run);
done:
  for (size_t l = 0; run.kept && l < run.shape->layout->layers; l++)
    lh_tensor_free(&run.kept[l]);
  free(run.kept);
  lh_tensor_free(&run.scratch);
  return status;
}

/* ---- reports --------------------------------------------------------------------------------- */

static double flop_per_sequence(const void *self, size_t sequence_tokens)
{
  const lh_shape *shape = self;
  double flop = 0;
  for (size_t s = 0; s < shape->steps; s++) {
    const shape_step *step = &shape->step[s];
    const double rows = (double)lh_shape_rows(shape, step, 1, sequence_tokens);
    if (step->kind == SHAPE_LINEAR)
      flop += 6 * rows * (double)step->in * (double)step->out;
    if (step->kind == SHAPE_ATTEND)
      flop += 3.5 * 2 * rows * rows * (double)step->out * (step->causal ? 1 : 2);
  }
  return flop;
}

const lh_model_kind lh_model_shape = {
    .name = "shape",
    .title = "Shape of a large model, for cost mode only",
    .keys = lh_shape_keys,
    .create = create,
    .destroy = destroy,
    .context = context,
    .batch_alloc = batch_alloc,
    .pass = pass,
    .flop_per_sequence = flop_per_sequence,
};
