/* models.c -- the catalogue of models. */
#include <stdio.h>
#include <stdlib.h>

#include "base/data_path.h"
#include "base/json.h"
#include "models/catalogue.h"
#include "sim/cli/command.h"
#include "sim/cli/output.h"

struct values {
  bool json;
};

/* An entry as its file has it, with its name. */
static lh_status entry_json(const char *folder, const char *name, cJSON **object)
{
  lh_json_document *document = NULL;
  lh_json_document *words = NULL;
  LH_TRY(lh_json_read_text("models", "{}", &words)); /* a place for the error to name */
  lh_status status = lh_catalogue_load(folder, name, lh_json_root(words), &document);
  lh_json_document_free(words);
  LH_TRY(status);
  *object = cJSON_CreateObject();
  cJSON_AddStringToObject(*object, "name", name);
  for (const cJSON *member = lh_json_root(document).node->child; member; member = member->next)
    cJSON_AddItemToObject(*object, member->string, cJSON_Duplicate(member, 1));
  lh_json_document_free(document);
  return LH_OK;
}

static lh_status print_all_json(const char *folder)
{
  char **names;
  cJSON *all = cJSON_CreateArray();
  lh_status status = lh_catalogue_names(folder, &names);
  for (size_t i = 0; status == LH_OK && names[i]; i++) {
    cJSON *object = NULL;
    status = entry_json(folder, names[i], &object);
    if (status == LH_OK)
      cJSON_AddItemToArray(all, object);
  }
  lh_catalogue_free_names(names);
  if (status == LH_OK)
    return lh_print_own_json(all);
  cJSON_Delete(all);
  return status;
}

static lh_status run(const void *values, const lh_words *words)
{
  const struct values *v = values;
  char folder[4096];
  const char *name = words->n ? words->word[0] : NULL;
  lh_data_path("models/catalogue", folder, sizeof folder);
  if (!v->json)
    return lh_catalogue_print(folder, name, stdout);
  if (!name)
    return print_all_json(folder);
  cJSON *object = NULL;
  LH_TRY(entry_json(folder, name, &object));
  return lh_print_own_json(object);
}

static const lh_flag flags[] = {LH_FLAG_JSON(struct values), {0}};

static const char *const examples[] = {"longhaul models", "All models of the catalogue",
                                       "longhaul models gpt2-124m", "One, with its layers", NULL};

const lh_command lh_command_models = {
    .name = "models",
    .arguments = "[NAME]",
    .summary = "list the models of the catalogue, or one with its layers",
    .most_words = 1,
    .flags = flags,
    .values_size = sizeof(struct values),
    .examples = examples,
    .run = run,
};
