#include "models/model.h"

#include <stdlib.h>
#include <string.h>

#include "models/kinds.h"
#include "models/layout.h"

const lh_model_kind *const lh_model_kinds[] = {
    &lh_model_gpt, &lh_model_mlp, &lh_model_quadratic, &lh_model_gradients, &lh_model_shape, NULL};

const char *const lh_model_common_keys[] = {"kind",       "schema",  "name", "title", "source",
                                            "parameters", "tensors", "note", NULL};

static const struct {
  const char *name;
  lh_dtype parameters, compute;
} precisions[] = {{"f32", LH_F32, LH_F32}, {"bf16", LH_F32, LH_BF16}, {"f64", LH_F64, LH_F64}};

const lh_model_kind *lh_model_kind_find(const char *name)
{
  for (size_t i = 0; lh_model_kinds[i]; i++)
    if (!strcmp(lh_model_kinds[i]->name, name))
      return lh_model_kinds[i];
  return NULL;
}

static size_t count(const char *const *names)
{
  size_t n = 0;
  while (names && names[n])
    n++;
  return n;
}

static size_t append(const char **list, size_t at, const char *const *names)
{
  for (; names && *names; names++)
    list[at++] = *names;
  return at;
}

lh_status lh_model_check_keys(const lh_model_kind *kind, lh_json spec, const char *const *more)
{
  const size_t most = count(kind->keys) + count(lh_model_common_keys) + count(more);
  const char **allowed = calloc(most + 1, sizeof *allowed);
  if (!allowed)
    return lh_fail(LH_ENOMEM, "model: no memory for its keys");
  size_t n = append(allowed, 0, kind->keys);
  n = append(allowed, n, lh_model_common_keys);
  append(allowed, n, more);
  const lh_status status = lh_json_check_keys(spec, allowed);
  free(allowed);
  return status;
}

/* A catalogue entry states its size; a layout that differs would be priced wrongly. */
static lh_status check_stated_size(const lh_layout *layout, lh_json spec)
{
  size_t parameters = 0, tensors = 0;
  LH_TRY(
      lh_json_size_or(lh_json_get(spec, "parameters"), 1, SIZE_MAX, layout->elements, &parameters));
  LH_TRY(lh_json_size_or(lh_json_get(spec, "tensors"), 1, SIZE_MAX, layout->parameters, &tensors));
  if (parameters != layout->elements)
    return lh_json_fail(lh_json_get(spec, "parameters"),
                        "found %zu, but the described model has %zu parameters", parameters,
                        layout->elements);
  if (tensors != layout->parameters)
    return lh_json_fail(lh_json_get(spec, "tensors"),
                        "found %zu, but the described model has %zu tensors", tensors,
                        layout->parameters);
  return LH_OK;
}

lh_status lh_model_new_of_kind(const lh_model_kind *kind, lh_json spec, const char *precision,
                               lh_model **out)
{
  *out = NULL;
  size_t p = 0;
  while (p < 3 && strcmp(precisions[p].name, precision))
    p++;
  if (p == 3)
    return lh_fail(LH_EINVAL, "precision: found \"%s\", allowed: f32, bf16, f64", precision);
  lh_model *model = calloc(1, sizeof *model);
  if (!model)
    return lh_fail(LH_ENOMEM, "model: no memory");
  *model = (lh_model){.kind = kind,
                      .compute_dtype = precisions[p].compute,
                      .layout.dtype = precisions[p].parameters};
  lh_status status = kind->create(spec, model->compute_dtype, &model->self, &model->layout);
  /* In a workload node "parameters" would mean something else, so only entries are checked. */
  if (status == LH_OK && !kind->explicit_problem)
    status = check_stated_size(&model->layout, spec);
  if (status != LH_OK) {
    lh_model_free(model);
    return status;
  }
  *out = model;
  return LH_OK;
}

lh_status lh_model_new(lh_json spec, const char *precision, lh_model **model)
{
  *model = NULL;
  LH_TRY(lh_json_expect_object(spec));
  const char *names[16] = {NULL};
  for (size_t i = 0; lh_model_kinds[i]; i++)
    names[i] = lh_model_kinds[i]->name;
  size_t k = 0;
  LH_TRY(lh_json_choice(lh_json_get(spec, "kind"), names, &k));
  LH_TRY(lh_model_check_keys(lh_model_kinds[k], spec, NULL));
  return lh_model_new_of_kind(lh_model_kinds[k], spec, precision, model);
}

void lh_model_free(lh_model *model)
{
  if (!model)
    return;
  if (model->self)
    model->kind->destroy(model->self);
  lh_layout_fini(&model->layout);
  free(model);
}

void lh_model_layer_views(const lh_model *model, const lh_tensor *flat, lh_tensor *views)
{
  for (size_t i = 0; i < model->layout.layers; i++)
    views[i] =
        lh_tensor_view_1d(flat, model->layout.layer[i].offset, model->layout.layer[i].elements);
}

lh_status lh_model_start(const lh_model *model, lh_tensor *parameters, uint64_t seed)
{
  if (model->kind->start)
    return model->kind->start(model->self, parameters);
  lh_status status = LH_OK;
  lh_device_pause_charging(parameters[0].device);
  for (size_t i = 0; i < model->layout.parameters && status == LH_OK; i++) {
    const lh_parameter *p = &model->layout.parameter[i];
    lh_tensor view = lh_layout_view(&model->layout, parameters, i);
    status = p->deviation > 0 ? lh_fill_normal(view.device, &view, p->deviation, seed, i)
                              : lh_fill(view.device, &view, p->fill);
  }
  lh_device_resume_charging(parameters[0].device);
  return status;
}

static const struct lh_layer_hooks no_hooks;

lh_status lh_model_gradient(const lh_model *model, lh_device *device, const lh_tensor *parameters,
                            lh_tensor *gradients, const lh_batch *batch, double scale,
                            const struct lh_layer_hooks *hooks, lh_loss *loss)
{
  return model->kind->pass(model->self, device, parameters, gradients, batch, scale,
                           hooks ? hooks : &no_hooks, loss);
}

lh_status lh_model_evaluate(const lh_model *model, lh_device *device, const lh_tensor *parameters,
                            const lh_batch *batch, lh_loss *loss)
{
  return model->kind->pass(model->self, device, parameters, NULL, batch, 1.0, &no_hooks, loss);
}

double lh_model_flop_per_sequence(const lh_model *model, size_t sequence_tokens)
{
  if (!model->kind->flop_per_sequence)
    return 0;
  return model->kind->flop_per_sequence(model->self, sequence_tokens);
}

lh_status lh_batch_alloc(const lh_model *model, lh_device *device, size_t sequences,
                         size_t sequence_tokens, lh_batch *batch)
{
  *batch = (lh_batch){.sequences = sequences, .sequence_tokens = sequence_tokens};
  lh_status status =
      model->kind->batch_alloc(model->self, device, sequences, sequence_tokens, batch);
  if (status != LH_OK)
    lh_batch_free(batch);
  return status;
}

void lh_batch_free(lh_batch *batch)
{
  lh_tensor_free(&batch->tokens);
  lh_tensor_free(&batch->targets);
  lh_tensor_free(&batch->features);
}
