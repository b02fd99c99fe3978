#include "models/catalogue.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "models/model.h"

/* ---- names ----------------------------------------------------------------------------------- */

static int is_entry(const struct dirent *entry)
{
  const char *dot = strrchr(entry->d_name, '.');
  return entry->d_name[0] != '.' && dot && !strcmp(dot, ".json") &&
         !strstr(entry->d_name, ".schema.");
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
  return strcmp((*a)->d_name, (*b)->d_name);
}

lh_status lh_catalogue_names(const char *folder, char ***names)
{
  struct dirent **entries = NULL;
  *names = NULL;
  const int count = scandir(folder, &entries, is_entry, by_bytes);
  if (count < 0)
    return lh_fail(LH_EINVAL, "%s: the model catalogue cannot be read: %s", folder,
                   strerror(errno));
  char **made = calloc((size_t)count + 1, sizeof *made);
  bool complete = made != NULL;
  for (int i = 0; i < count; i++) {
    const char *name = entries[i]->d_name;
    if (made)
      made[i] = lh_string_format("%.*s", (int)(strlen(name) - strlen(".json")), name);
    complete = complete && made[i];
    free(entries[i]);
  }
  free(entries);
  if (!complete) {
    lh_catalogue_free_names(made);
    return lh_fail(LH_ENOMEM, "%s: no memory for its names", folder);
  }
  *names = made;
  return LH_OK;
}

void lh_catalogue_free_names(char **names)
{
  for (size_t i = 0; names && names[i]; i++)
    free(names[i]);
  free(names);
}

/* ---- one entry ------------------------------------------------------------------------------- */

static char *path_of(const char *folder, const char *name)
{
  const size_t length = strlen(folder);
  const bool slash = length && folder[length - 1] == '/';
  return lh_string_format("%s%s%s.json", folder, slash || !length ? "" : "/", name);
}

static lh_status no_such_model(const char *folder, const char *name, lh_json where)
{
  char **entries = NULL;
  LH_TRY(lh_catalogue_names(folder, &entries));
  lh_text text = {0};
  const char *near = lh_nearest(name, (const char *const *)entries);
  lh_text_append(&text, "found \"%s\", allowed: ", name);
  for (size_t i = 0; entries[i]; i++)
    lh_text_append(&text, "%s%s", i ? ", " : "", entries[i]);
  for (size_t i = 0; lh_model_kinds[i]; i++)
    lh_text_append(&text, ", %s", lh_model_kinds[i]->name);
  if (near)
    lh_text_append(&text, "; did you mean \"%s\"?", near);
  lh_catalogue_free_names(entries);
  const char *reason = text.failed ? "no such model" : text.data;
  const lh_status status = lh_json_present(where) ? lh_json_fail(where, "%s", reason)
                                                  : lh_fail(LH_EINVAL, "model: %s", reason);
  lh_text_free(&text);
  return status;
}

lh_status lh_catalogue_load(const char *folder, const char *name, lh_json where,
                            lh_json_document **document)
{
  *document = NULL;
  char *path = path_of(folder, name);
  if (!path)
    return lh_fail(LH_ENOMEM, "catalogue: no memory for a path");
  /* A name is not a way out of the folder. */
  const bool known = name[0] && !strchr(name, '/') && lh_file_exists(path);
  lh_status status = known ? lh_json_read_file(path, document) : no_such_model(folder, name, where);
  if (status == LH_OK)
    status = lh_json_check_schema(lh_json_root(*document), "model");
  if (status != LH_OK) {
    lh_json_document_free(*document);
    *document = NULL;
  }
  free(path);
  return status;
}

/* ---- printing -------------------------------------------------------------------------------- */

static const char *string_of(const lh_json_document *document, const char *key)
{
  const cJSON *node = lh_json_get(lh_json_root(document), key).node;
  return cJSON_IsString(node) ? node->valuestring : "";
}

/* Layers as papers count them: without embedding and head, which are layers of their own here. */
static size_t blocks_of(const lh_layout *layout)
{
  size_t blocks = 0;
  for (size_t i = 0; i < layout->layers; i++)
    blocks += strstr(layout->layer[i].name, "block") != NULL;
  return blocks;
}

static lh_status print_row(const char *folder, const char *name, FILE *out)
{
  lh_json_document *document = NULL;
  lh_model *model = NULL;
  LH_TRY(lh_catalogue_load(folder, name, (lh_json){0}, &document));
  const lh_status status = lh_model_new(lh_json_root(document), "f32", &model);
  if (status == LH_OK) {
    const cJSON *width = lh_json_get(lh_json_root(document), "width").node;
    fprintf(out, "%-22s %-6s %15zu %6zu %6.0f  %s\n", name, model->kind->name,
            model->layout.elements, blocks_of(&model->layout), width ? width->valuedouble : 0.0,
            string_of(document, "source"));
  }
  lh_model_free(model);
  lh_json_document_free(document);
  return status;
}

static lh_status print_table(const char *folder, FILE *out)
{
  char **names = NULL;
  LH_TRY(lh_catalogue_names(folder, &names));
  lh_status status = LH_OK;
  fprintf(out, "%-22s %-6s %15s %6s %6s  %s\n", "model", "kind", "parameters", "blocks", "width",
          "source");
  for (size_t i = 0; names[i] && status == LH_OK; i++)
    status = print_row(folder, names[i], out);
  lh_catalogue_free_names(names);
  LH_TRY(status);
  fprintf(out, "\nkinds: {\"model\": {\"kind\": ..., keys}}\n");
  for (size_t i = 0; lh_model_kinds[i]; i++) {
    fprintf(out, "%-22s %s\n%24skeys:", lh_model_kinds[i]->name, lh_model_kinds[i]->title, "");
    for (size_t k = 0; lh_model_kinds[i]->keys[k]; k++)
      fprintf(out, "%s %s", k ? "," : "", lh_model_kinds[i]->keys[k]);
    fprintf(out, "\n");
  }
  return LH_OK;
}

static void print_tensors(const lh_layout *layout, FILE *out)
{
  for (size_t i = 0; i < layout->parameters; i++) {
    const lh_parameter *p = &layout->parameter[i];
    fprintf(out, "%-14s %-40s %12zu  (", layout->layer[p->layer].name, p->name, p->elements);
    for (int d = 0; d < p->dims; d++)
      fprintf(out, "%s%zu", d ? ", " : "", p->shape[d]);
    fprintf(out, ")\n");
  }
}

static lh_status print_entry(const char *folder, const char *name, FILE *out)
{
  lh_json_document *document = NULL;
  lh_model *model = NULL;
  LH_TRY(lh_catalogue_load(folder, name, (lh_json){0}, &document));
  const lh_status status = lh_model_new(lh_json_root(document), "f32", &model);
  if (status == LH_OK) {
    const size_t context = model->kind->context ? model->kind->context(model->self) : 1;
    fprintf(out, "%s: %s\nkind %s%s\nsource: %s\n", name, string_of(document, "title"),
            model->kind->name, strcmp(model->kind->name, "shape") ? "" : " (cost mode only)",
            string_of(document, "source"));
    fprintf(out, "%zu parameters in %zu tensors, %zu blocks\n", model->layout.elements,
            model->layout.parameters, blocks_of(&model->layout));
    fprintf(out, "%zu positions; %.4g flop forward and backward per sequence of that length\n\n",
            context, lh_model_flop_per_sequence(model, context));
    print_tensors(&model->layout, out);
  }
  lh_model_free(model);
  lh_json_document_free(document);
  return status;
}

lh_status lh_catalogue_print(const char *folder, const char *name, FILE *out)
{
  return name ? print_entry(folder, name, out) : print_table(folder, out);
}
