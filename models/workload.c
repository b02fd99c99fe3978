#include "models/workload.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "models/catalogue.h"

static const char *const workload_keys[] = {"model",
                                            "data",
                                            "micro_batch_sequences",
                                            "micro_batches",
                                            "sequence_tokens",
                                            "precision",
                                            "validation_batches",
                                            "micro_batch_time",
                                            NULL};
static const char *const precisions[] = {"f32", "bf16", "f64", NULL};

/* ---- the model ------------------------------------------------------------------------------- */

/* The workload's own keys and, where they may stand beside "model", the kind's. */
static lh_status check_keys(lh_json node, const lh_model_kind *kind)
{
  const char *allowed[64] = {NULL};
  size_t n = 0;
  for (size_t i = 0; workload_keys[i]; i++)
    allowed[n++] = workload_keys[i];
  for (size_t i = 0; kind && kind->keys[i] && n + 1 < sizeof allowed / sizeof *allowed; i++)
    allowed[n++] = kind->keys[i];
  return lh_json_check_keys(node, allowed);
}

/* Copies the kind's keys that stand in `from` over the entry's. A changed model has another size
 * than the one the entry states. */
static lh_status override(cJSON *entry, const lh_model_kind *kind, lh_json from)
{
  cJSON *over = cJSON_CreateObject();
  for (size_t i = 0; kind->keys[i]; i++) {
    const lh_json given = lh_json_get(from, kind->keys[i]);
    if (lh_json_present(given))
      cJSON_AddItemToObject(over, kind->keys[i], cJSON_Duplicate(given.node, true));
  }
  lh_status status = LH_OK;
  if (over && over->child) {
    cJSON_DeleteItemFromObjectCaseSensitive(entry, "parameters");
    cJSON_DeleteItemFromObjectCaseSensitive(entry, "tensors");
    status = lh_json_merge(entry, over);
  }
  cJSON_Delete(over);
  return status;
}

struct reading {
  lh_json node; /* the workload */
  const char *folder;
  lh_workload *workload;
};

/* overrides: the workload itself, or the model object. */
static lh_status use_catalogue(const struct reading *r, const char *name, lh_json where,
                               lh_json overrides)
{
  lh_json_document *entry = NULL, *merged = NULL;
  size_t k = 0;
  const char *kinds[16] = {NULL};
  for (size_t i = 0; lh_model_kinds[i]; i++)
    kinds[i] = lh_model_kinds[i]->name;
  LH_TRY(lh_catalogue_load(r->folder, name, where, &entry));
  lh_status status;
  LH_TRY_GOTO(status, lh_json_choice(lh_json_get(lh_json_root(entry), "kind"), kinds, &k));
  LH_TRY_GOTO(status, overrides.node == r->node.node
                          ? check_keys(overrides, lh_model_kinds[k])
                          : lh_model_check_keys(lh_model_kinds[k], overrides, NULL));
  LH_TRY_GOTO(status, lh_json_adopt(lh_json_file(lh_json_root(entry)),
                                    cJSON_Duplicate(lh_json_root(entry).node, true), &merged));
  LH_TRY_GOTO(status, override((cJSON *)lh_json_root(merged).node, lh_model_kinds[k], overrides));
  status = lh_model_new(lh_json_root(merged), r->workload->precision, &r->workload->model);
done:
  lh_json_document_free(entry);
  lh_json_document_free(merged);
  return status;
}

static lh_status use_name(const struct reading *r, lh_json node)
{
  const lh_model_kind *kind = lh_model_kind_find(node.node->valuestring);
  r->workload->name = lh_string_copy(node.node->valuestring);
  if (!kind)
    return use_catalogue(r, node.node->valuestring, node, r->node);
  LH_TRY(check_keys(r->node, kind));
  return lh_model_new_of_kind(kind, r->node, r->workload->precision, &r->workload->model);
}

static lh_status use_object(const struct reading *r, lh_json node)
{
  const char *name = NULL;
  const bool has_kind = lh_json_present(lh_json_get(node, "kind"));
  LH_TRY(check_keys(r->node, NULL));
  LH_TRY(lh_json_expect_object(node));
  LH_TRY(lh_json_string(lh_json_get(node, has_kind ? "kind" : "name"), &name));
  r->workload->name = lh_string_copy(name);
  if (!has_kind)
    return use_catalogue(r, name, lh_json_get(node, "name"), node);
  const lh_model_kind *kind = lh_model_kind_find(name);
  if (kind && kind->explicit_problem)
    return lh_json_fail(lh_json_get(node, "kind"),
                        "found \"%s\", allowed: \"model\": \"%s\" with "
                        "its keys beside it",
                        name, name);
  return lh_model_new(node, r->workload->precision, &r->workload->model);
}

static lh_status read_model(const struct reading *r)
{
  const lh_json node = lh_json_get(r->node, "model");
  if (!lh_json_present(node))
    return lh_json_fail(node, "found nothing, allowed: a model's name, or an object with its kind");
  LH_TRY(cJSON_IsString(node.node) ? use_name(r, node) : use_object(r, node));
  if (!r->workload->name)
    return lh_fail(LH_ENOMEM, "workload: no memory for a name");
  r->workload->explicit_problem = r->workload->model->kind->explicit_problem;
  return LH_OK;
}

/* ---- sizes and data -------------------------------------------------------------------------- */

static lh_status read_precision(const struct reading *r)
{
  size_t p = 0;
  LH_TRY(lh_json_choice_or(lh_json_get(r->node, "precision"), precisions, 0, &p));
  snprintf(r->workload->precision, sizeof r->workload->precision, "%s", precisions[p]);
  return LH_OK;
}

static lh_batch_form form_of(const lh_model *model)
{
  return model->kind->batch_form ? model->kind->batch_form(model->self) : (lh_batch_form){0};
}

static lh_status read_sizes(const struct reading *r)
{
  lh_workload *w = r->workload;
  const lh_model *model = w->model;
  const size_t context = model->kind->context ? model->kind->context(model->self) : 1;
  const size_t sequences = w->explicit_problem ? 1 : form_of(model).features ? 64 : 8;
  const size_t most = (size_t)1 << 40;
  LH_TRY(lh_json_size_or(lh_json_get(r->node, "micro_batch_sequences"), 1, most, sequences,
                         &w->micro_batch_sequences));
  LH_TRY(lh_json_size_or(lh_json_get(r->node, "micro_batches"), 1, most, 1, &w->micro_batches));
  LH_TRY(lh_json_size_or(lh_json_get(r->node, "sequence_tokens"), 1, context, context,
                         &w->sequence_tokens));
  return lh_json_size_or(lh_json_get(r->node, "validation_batches"), 0, most, 16,
                         &w->validation_batches);
}

static lh_status read_times(const struct reading *r)
{
  const lh_json node = lh_json_get(r->node, "micro_batch_time");
  lh_workload *w = r->workload;
  if (!lh_json_present(node))
    return LH_OK;
  const bool many = cJSON_IsArray(node.node);
  const size_t count = many ? lh_json_size(node) : 1;
  if (!count)
    return lh_json_fail(node, "found an empty array, allowed: a time, or one per rank");
  w->micro_batch_time_s = calloc(count, sizeof *w->micro_batch_time_s);
  if (!w->micro_batch_time_s)
    return lh_fail(LH_ENOMEM, "workload: no memory for %zu times", count);
  w->micro_batch_times = count;
  for (size_t i = 0; i < count; i++)
    LH_TRY(
        lh_json_quantity(many ? lh_json_at(node, i) : node, LH_UNIT_S, &w->micro_batch_time_s[i]));
  return LH_OK;
}

static lh_status check_form(lh_json node, const lh_workload *w)
{
  const lh_batch_form model = form_of(w->model), data = lh_data_form(w->data);
  const char *kind = lh_data_kind_of(w->data)->name;
  if (model.features != data.features && (!model.features || !data.features))
    return lh_json_fail(node, "found \"%s\", which gives %s, but the model reads %s", kind,
                        data.features ? "images" : "tokens", model.features ? "images" : "tokens");
  if (model.features != data.features)
    return lh_json_fail(node, "found \"%s\" with %zu features, but the model reads %zu", kind,
                        data.features, model.features);
  if (data.targets > model.targets)
    return lh_json_fail(node, "found \"%s\" with %zu classes, but the model knows %zu", kind,
                        data.targets, model.targets);
  return LH_OK;
}

static lh_status read_data(const struct reading *r, bool with_data)
{
  const lh_json node = lh_json_get(r->node, "data");
  const lh_model_kind *kind = r->workload->model->kind;
  if (kind->explicit_problem && lh_json_present(node))
    return lh_json_fail(node, "found data, but \"%s\" is its own", kind->name);
  if (lh_json_present(node))
    LH_TRY(lh_json_expect_object(node));
  if (with_data && !kind->batch_form && !kind->explicit_problem)
    return lh_json_fail(
        lh_json_get(r->node, "model"),
        "found \"%s\", which can be costed but not trained, allowed: another model, "
        "or run.mode \"cost\"",
        r->workload->name);
  if (!with_data || !kind->batch_form)
    return LH_OK;
  LH_TRY(lh_json_present(node) ? lh_data_new(node, &r->workload->data)
                               : lh_data_new_default(kind->default_data, &r->workload->data));
  return check_form(lh_json_present(node) ? node : lh_json_get(r->node, "model"), r->workload);
}

lh_status lh_workload_read(lh_json node, const char *catalogue_folder, bool with_data,
                           lh_workload *workload)
{
  *workload = (lh_workload){0};
  const struct reading r = {.node = node, .folder = catalogue_folder, .workload = workload};
  LH_TRY(lh_json_expect_object(node));
  LH_TRY(read_precision(&r));
  LH_TRY(read_model(&r));
  LH_TRY(read_sizes(&r));
  LH_TRY(read_times(&r));
  return read_data(&r, with_data);
}

void lh_workload_fini(lh_workload *workload)
{
  free(workload->name);
  lh_model_free(workload->model);
  lh_data_free(workload->data);
  free(workload->micro_batch_time_s);
  *workload = (lh_workload){0};
}

/* ---- use ------------------------------------------------------------------------------------- */

lh_status lh_workload_check_ranks(const lh_workload *workload, lh_json node, size_t ranks)
{
  const lh_model *model = workload->model;
  const size_t stated = model->kind->ranks ? model->kind->ranks(model->self) : 0;
  if (stated && stated != ranks)
    return lh_json_fail(node, "found \"%s\" with rows for %zu ranks, allowed: rows for %zu",
                        workload->name, stated, ranks);
  const size_t times = workload->micro_batch_times;
  if (times > 1 && times != ranks)
    return lh_json_fail(lh_json_get(node, "micro_batch_time"),
                        "found %zu times, allowed: 1, or one for each of %zu ranks", times, ranks);
  return LH_OK;
}

size_t lh_workload_tokens_per_step(const lh_workload *workload)
{
  if (workload->explicit_problem)
    return 0;
  return workload->micro_batch_sequences * workload->micro_batches * workload->sequence_tokens;
}

/* Peak of one pass on a device that only counts, beside parameters and gradients. */
static lh_status count_activations(const lh_workload *w, lh_device *device, double *bytes)
{
  const lh_layout *layout = &w->model->layout;
  lh_tensor *views = calloc(layout->layers, sizeof *views);
  /* Not allocated, so not counted; nothing is read from it. */
  const lh_tensor flat = {
      .dtype = layout->dtype, .dims = 1, .shape = {layout->elements}, .device = device};
  lh_batch batch = {0};
  lh_loss loss = {0};
  lh_status status;
  if (!views)
    return lh_fail(LH_ENOMEM, "workload: no memory for %zu layers", layout->layers);
  lh_model_layer_views(w->model, &flat, views);
  LH_TRY_GOTO(status, lh_batch_alloc(w->model, device, w->micro_batch_sequences, w->sequence_tokens,
                                     &batch));
  LH_TRY_GOTO(status, lh_model_gradient(w->model, device, views, views, &batch, 1.0, NULL, &loss));
  *bytes = (double)lh_device_peak_bytes(device);
done:
  lh_batch_free(&batch);
  free(views);
  return status;
}

double lh_workload_host_bytes(const lh_workload *workload, size_t ranks,
                              double state_bytes_per_parameter)
{
  const lh_layout *layout = &workload->model->layout;
  const double real_bytes = layout->dtype == LH_F64 ? 8 : 4;
  const double per_parameter = 2 * real_bytes + state_bytes_per_parameter;
  lh_device_profile ideal = lh_device_profile_ideal();
  lh_device *device = NULL;
  double activations = 0;
  if (lh_device_open(&lh_backend_phantom, &ideal, &device) == LH_OK)
    count_activations(workload, device, &activations);
  lh_device_close(device);
  lh_device_profile_fini(&ideal);
  if (workload->model->compute_dtype == LH_BF16)
    activations *= 2; /* the host stores them as float */
  return (double)ranks * per_parameter * (double)layout->elements + activations;
}

lh_status lh_workload_fill(const lh_workload *workload, uint64_t seed, size_t rank,
                           size_t world_size, size_t index, lh_batch *batch)
{
  batch->rank = rank;
  batch->index = index;
  if (workload->explicit_problem || !lh_device_computes(batch->targets.device))
    return LH_OK;
  if (!workload->data)
    return lh_fail(LH_EINTERNAL, "workload: the data was not opened, but numbers are computed");
  return lh_data_fill(workload->data, seed, rank, world_size, index, batch);
}
