/* gradients.c -- gradients given outright, whatever the parameters are: rank i's micro-batch j has
 * gradient g_ij and, so that there is one, the loss sum g_ij x that belongs to it. */
#include <stdlib.h>

#include "models/explicit.h"
#include "models/hooks.h"
#include "models/kinds.h"

typedef struct gradients_problem {
  lh_given given;
  lh_rows rows;
} gradients_problem;

static const char *const keys[] = {"start", "shape", "gradients", "layers", NULL};

static lh_status create(lh_json spec, lh_dtype compute_dtype, void **self, lh_layout *layout)
{
  (void)compute_dtype;
  gradients_problem *problem = calloc(1, sizeof *problem);
  if (!(*self = problem))
    return lh_fail(LH_ENOMEM, "gradients: no memory");
  LH_TRY(lh_given_read(spec, &problem->given, layout));
  return lh_rows_read_lists(lh_json_get(spec, "gradients"), problem->given.elements,
                            &problem->rows);
}

static void destroy(void *self)
{
  gradients_problem *problem = self;
  lh_given_fini(&problem->given);
  lh_rows_fini(&problem->rows);
  free(problem);
}

static size_t ranks(const void *self)
{
  return ((const gradients_problem *)self)->rows.ranks;
}

static lh_status batch_alloc(const void *self, lh_device *device, size_t sequences,
                             size_t sequence_tokens, lh_batch *batch)
{
  (void)self, (void)device, (void)sequences, (void)sequence_tokens, (void)batch;
  return LH_OK;
}

static lh_status add_loss(const lh_layer *layer, const lh_tensor *x, const double *row,
                          double *loss)
{
  double *values = calloc(layer->elements, sizeof *values);
  if (!values)
    return lh_fail(LH_ENOMEM, "gradients: no memory for %zu values", layer->elements);
  const lh_status status = lh_tensor_get(x, values, layer->elements);
  for (size_t i = 0; status == LH_OK && i < layer->elements; i++)
    *loss += row[layer->offset + i] * values[i];
  free(values);
  return status;
}

static lh_status add_gradient(const gradients_problem *problem, lh_device *device, size_t layer,
                              const double *row, double scale, lh_tensor *gradient)
{
  lh_tensor g = {0};
  lh_tensor flat = lh_tensor_view_1d(gradient, 0, problem->given.layout->layer[layer].elements);
  lh_status status = lh_given_upload(&problem->given, device, layer, row, &g);
  if (status == LH_OK)
    status = lh_axpby(device, scale, &g, 1.0, &flat);
  lh_tensor_free(&g);
  return status;
}

static lh_status pass(const void *self, lh_device *device, const lh_tensor *parameters,
                      lh_tensor *gradients, const lh_batch *batch, double scale,
                      const struct lh_layer_hooks *hooks, lh_loss *loss)
{
  const gradients_problem *problem = self;
  const lh_layout *layout = problem->given.layout;
  const double *row = NULL;
  LH_TRY(lh_rows_find(&problem->rows, "gradients", false, batch->rank, batch->index, &row));
  for (size_t l = 0; l < layout->layers; l++) {
    LH_TRY(lh_before_forward(hooks, l));
    LH_TRY(add_loss(&layout->layer[l], &parameters[l], row, &loss->loss_sum));
    LH_TRY(lh_after_forward(hooks, l));
  }
  loss->count++;
  for (size_t l = layout->layers; gradients && l-- > 0;) {
    LH_TRY(lh_before_backward(hooks, l));
    LH_TRY(add_gradient(problem, device, l, row, scale, &gradients[l]));
    LH_TRY(lh_gradient_ready(hooks, l));
  }
  return LH_OK;
}

static lh_status start(const void *self, lh_tensor *parameters)
{
  return lh_given_start(&((const gradients_problem *)self)->given, parameters);
}

const lh_model_kind lh_model_gradients = {
    .name = "gradients",
    .title = "Gradients given outright, whatever the parameters are",
    .keys = keys,
    .explicit_problem = true,
    .create = create,
    .destroy = destroy,
    .ranks = ranks,
    .batch_alloc = batch_alloc,
    .pass = pass,
    .start = start,
};
