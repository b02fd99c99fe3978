#include "models/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/data/kinds.h"

struct lh_data {
  const lh_data_kind *kind;
  void *self;
};

const lh_data_kind *const lh_data_kinds[] = {&lh_data_text, &lh_data_images, &lh_data_synthetic,
                                             NULL};

static lh_status check_keys(const lh_data_kind *kind, lh_json spec)
{
  const char *allowed[16] = {"kind"};
  for (size_t i = 0; kind->keys[i]; i++)
    allowed[1 + i] = kind->keys[i];
  return lh_json_check_keys(spec, allowed);
}

lh_status lh_data_new(lh_json spec, lh_data **out)
{
  *out = NULL;
  LH_TRY(lh_json_expect_object(spec));
  const char *names[8] = {NULL};
  size_t k = 0;
  for (size_t i = 0; lh_data_kinds[i]; i++)
    names[i] = lh_data_kinds[i]->name;
  LH_TRY(lh_json_choice(lh_json_get(spec, "kind"), names, &k));
  LH_TRY(check_keys(lh_data_kinds[k], spec));
  lh_data *data = calloc(1, sizeof *data);
  if (!data)
    return lh_fail(LH_ENOMEM, "data: no memory");
  data->kind = lh_data_kinds[k];
  const lh_status status = data->kind->create(spec, &data->self);
  if (status != LH_OK) {
    lh_data_free(data);
    return status;
  }
  *out = data;
  return LH_OK;
}

lh_status lh_data_new_default(const char *kind, lh_data **data)
{
  *data = NULL;
  cJSON *tree = cJSON_CreateObject();
  cJSON_AddStringToObject(tree, "kind", kind);
  lh_json_document *document = NULL;
  LH_TRY(lh_json_adopt("default data", tree, &document));
  const lh_status status = lh_data_new(lh_json_root(document), data);
  lh_json_document_free(document);
  return status;
}

void lh_data_free(lh_data *data)
{
  if (!data)
    return;
  if (data->self)
    data->kind->destroy(data->self);
  free(data);
}

const lh_data_kind *lh_data_kind_of(const lh_data *data)
{
  return data->kind;
}

lh_batch_form lh_data_form(const lh_data *data)
{
  return data->kind->form(data->self);
}

lh_status lh_data_fill(const lh_data *data, uint64_t seed, size_t rank, size_t world_size,
                       size_t index, lh_batch *batch)
{
  return data->kind->fill(data->self, seed, rank, world_size, index, batch);
}

lh_status lh_data_fill_validation(const lh_data *data, size_t index, lh_batch *batch, bool *end)
{
  *end = false;
  return data->kind->fill_validation(data->self, index, batch, end);
}

double lh_data_entropy(const lh_data *data)
{
  return data->kind->entropy ? data->kind->entropy(data->self) : NAN;
}
