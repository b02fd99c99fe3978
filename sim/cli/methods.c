/* methods.c -- the table of methods, and one of them in full. */
#include <stdio.h>
#include <stdlib.h>

#include "analysis/table.h"
#include "base/text.h"
#include "sim/cli/command.h"
#include "sim/cli/output.h"
#include "sim/cli/set.h"
#include "sim/methods/method.h"
#include "sim/runner/scenario.h"

struct values {
  const char *platform, *workload;
  lh_words set;
  bool json;
};

static cJSON *method_json(const lh_method *method)
{
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "name", method->name);
  cJSON_AddStringToObject(object, "title", method->title);
  cJSON_AddStringToObject(object, "paper", method->paper);
  cJSON_AddStringToObject(object, "state", method->state_formula);
  cJSON_AddStringToObject(object, "wire", method->wire_formula);
  cJSON_AddItemToObject(object, "options", lh_options_json(method->options));
  return object;
}

static lh_status print_all(bool json)
{
  cJSON *all = cJSON_CreateArray();
  lh_table table = {.columns = 3};
  lh_table_add(&table, "method");
  lh_table_add(&table, "title");
  lh_table_add(&table, "paper");
  for (size_t i = 0; lh_methods[i]; i++) {
    cJSON_AddItemToArray(all, method_json(lh_methods[i]));
    lh_table_add(&table, lh_methods[i]->name);
    lh_table_add(&table, lh_methods[i]->title);
    lh_table_add(&table, lh_methods[i]->paper);
  }
  lh_status status = LH_OK;
  if (json)
    status = lh_print_own_json(all);
  else {
    cJSON_Delete(all);
    status = lh_table_print(&table, stdout);
    printf("\n\"longhaul methods NAME\" prints the options of one.\n");
  }
  lh_table_fini(&table);
  return status;
}

static lh_status find(const char *name, const lh_method **method)
{
  const char *names[64] = {NULL};
  for (size_t i = 0; lh_methods[i] && i < 63; i++)
    names[i] = lh_methods[i]->name;
  *method = lh_method_find(name);
  if (*method)
    return LH_OK;
  char hint[120];
  return lh_fail(LH_EINVAL, "methods: unknown method \"%s\"%s (\"longhaul methods\" lists them)",
                 name, lh_did_you_mean(name, names, hint, sizeof hint));
}

/* ---- the numbers of a chosen model and platform ---------------------------------------------- */

static lh_status build_scenario(const struct values *v, const lh_method *method, cJSON *tree)
{
  static const char *const roots[] = {"platform", "workload", "method", "run", NULL};
  if (!v->platform || !v->workload)
    return lh_fail(LH_EINVAL, "methods: numbers need both --platform and --workload; no %s",
                   v->platform ? "--workload" : "--platform");
  LH_TRY(lh_put_named(tree, "--platform", v->platform, "platform", "file"));
  LH_TRY(lh_put_named(tree, "--workload", v->workload, "workload", "model"));
  LH_TRY(lh_json_set_path(tree, "method.name", cJSON_CreateString(method->name)));
  LH_TRY(lh_json_set_path(tree, "run.mode", cJSON_CreateString("cost")));
  return lh_set_all(tree, &v->set, roots);
}

/* One phantom run; *row is the caller's. */
static lh_status predict_row(const struct values *v, const lh_method *method, cJSON **row)
{
  lh_json_document *document;
  cJSON *tree = cJSON_CreateObject(), *curve = NULL;
  const lh_status built = build_scenario(v, method, tree);
  if (built != LH_OK) {
    cJSON_Delete(tree);
    return built;
  }
  LH_TRY(lh_json_adopt("command line", tree, &document));
  const lh_status status =
      lh_scenario_run(lh_json_root(document), &(lh_scenario_output){0}, row, &curve);
  cJSON_Delete(curve);
  lh_json_document_free(document);
  return status;
}

/* What of a row answers to the two formulas. */
static cJSON *numbers_of(const cJSON *row)
{
  static const char *const names[] = {"platform",
                                      "nodes",
                                      "ranks",
                                      "workload",
                                      "status",
                                      "steps",
                                      "step_s",
                                      "inter_node_bytes_per_step",
                                      "intra_node_bytes_per_step",
                                      "peak_memory_bytes",
                                      "peak_memory_by_owner_bytes",
                                      "reason",
                                      NULL};
  cJSON *numbers = cJSON_CreateObject();
  for (const char *const *name = names; *name; name++) {
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(row, *name);
    if (value)
      cJSON_AddItemToObject(numbers, *name, cJSON_Duplicate(value, 1));
  }
  return numbers;
}

static lh_status print_one(const lh_method *method, cJSON *numbers, bool json)
{
  if (json) {
    cJSON *object = method_json(method);
    if (numbers)
      cJSON_AddItemReferenceToObject(object, "numbers", numbers);
    return lh_print_own_json(object);
  }
  printf("%s: %s\n%s\n\nState per rank: %s\nSent per rank and step: %s\n\n", method->name,
         method->title, method->paper, method->state_formula, method->wire_formula);
  if (numbers) {
    LH_TRY(lh_print_row(numbers, false, false, NULL));
    printf("\n");
  }
  lh_options_print(method->options, stdout);
  return LH_OK;
}

static lh_status run(const void *values, const lh_words *words)
{
  const struct values *v = values;
  const lh_method *method = NULL;
  cJSON *row = NULL, *numbers = NULL;
  const bool counts = v->platform || v->workload || v->set.n;
  if (!words->n)
    return counts ? lh_fail(LH_EINVAL, "methods: numbers are of one method; give its NAME")
                  : print_all(v->json);
  LH_TRY(find(words->word[0], &method));
  if (counts) {
    LH_TRY(predict_row(v, method, &row));
    numbers = numbers_of(row);
  }
  const lh_status status = print_one(method, numbers, v->json);
  cJSON_Delete(numbers);
  cJSON_Delete(row);
  return status;
}

static const lh_flag flags[] = {
    {"--platform", LH_FLAG_TEXT, offsetof(struct values, platform), "FILE|NAME",
     "with --workload: the numbers on this platform, memory and bytes"},
    {"--workload", LH_FLAG_TEXT, offsetof(struct values, workload), "MODEL",
     "model of the catalogue (gpt2-124m), a JSON object, or its file"},
    {"--set", LH_FLAG_LIST, offsetof(struct values, set), "PATH=VALUE",
     "set any value: platform.*, workload.*, method.*, run.*; may be repeated"},
    LH_FLAG_JSON(struct values),
    {0}};

static const char *const examples[] = {
    "longhaul methods",
    "All training methods",
    "longhaul methods diloco",
    "Options, state and bytes on the wire of one",
    "longhaul methods flexdemo --platform dgx-a100 --workload gpt2-124m",
    "The same with the numbers of a model and a platform",
    NULL};

const lh_command lh_command_methods = {
    .name = "methods",
    .arguments = "[NAME]",
    .summary = "list the training methods, or one with its options",
    .most_words = 1,
    .flags = flags,
    .values_size = sizeof(struct values),
    .examples = examples,
    .run = run,
};
