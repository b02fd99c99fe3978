/* predict.c -- one scenario, from a file or from flags. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "sim/cli/command.h"
#include "sim/cli/output.h"
#include "sim/cli/set.h"
#include "sim/runner/key.h"
#include "sim/runner/scenario.h"
#include "sim/runner/store.h"
#include "sim/runner/sweep.h"

struct values {
  const char *platform, *workload, *method, *mode, *dump;
  lh_words set;
  bool json, csv;
};

static const char *const roots[] = {"platform", "workload", "method", "run", NULL};

/* ---- putting the scenario together ------------------------------------------------------------- */

static lh_status check_schema(lh_json schema)
{
  static const char *const kinds[] = {"longhaul/experiment/1", "longhaul/scenario/1", NULL};
  size_t index;
  return lh_json_choice(schema, kinds, &index);
}

/* Before flags are asked for what a misspelt key was to give. */
static lh_status check_keys(lh_json root)
{
  static const char *const keys[] = {"schema",  "title",    "description", "name",
                                     "part",    "platform", "workload",    "method",
                                     "methods", "run",      NULL};
  if (lh_json_present(lh_json_get(root, "parts")))
    return lh_json_fail(lh_json_get(root, "parts"),
                        "an experiment of several parts, allowed: one scenario; \"longhaul run\" "
                        "takes experiments");
  return lh_json_check_keys(root, keys);
}

static lh_status read_scenario_file(const char *path, cJSON **tree)
{
  lh_json_document *document;
  LH_TRY(lh_json_read_file(path, &document));
  const lh_json root = lh_json_root(document);
  lh_status status = lh_json_expect_object(root);
  if (status == LH_OK && lh_json_present(lh_json_get(root, "schema")))
    status = check_schema(lh_json_get(root, "schema"));
  if (status == LH_OK)
    status = check_keys(root);
  if (status == LH_OK && !(*tree = cJSON_Duplicate(root.node, 1)))
    status = lh_fail(LH_ENOMEM, "%s: no memory for its contents", path);
  lh_json_document_free(document);
  if (status == LH_OK) {
    cJSON_DeleteItemFromObjectCaseSensitive(*tree, "title");
    cJSON_DeleteItemFromObjectCaseSensitive(*tree, "description");
    cJSON_DeleteItemFromObjectCaseSensitive(*tree, "schema");
  }
  return status;
}

/* "methods": [one] becomes "method", so that --set and keys see one spelling. */
static lh_status single_method(cJSON *tree, const char *name)
{
  cJSON *methods = cJSON_GetObjectItemCaseSensitive(tree, "methods");
  if (!methods || cJSON_GetObjectItemCaseSensitive(tree, "method"))
    return LH_OK;
  if (!cJSON_IsArray(methods) || cJSON_GetArraySize(methods) != 1)
    return lh_fail(LH_EINVAL,
                   "%s: methods: found a list of %d, allowed: one method; \"longhaul run\" takes "
                   "experiments",
                   name, cJSON_GetArraySize(methods));
  cJSON_AddItemToObject(tree, "method", cJSON_DetachItemFromArray(methods, 0));
  cJSON_DeleteItemFromObjectCaseSensitive(tree, "methods");
  return LH_OK;
}

static lh_status refuse_sweeps(lh_json node)
{
  if (lh_is_sweep(node.node))
    return lh_json_fail(node,
                        "found a sweep, allowed: one value; \"longhaul run\" takes experiments");
  for (const cJSON *member = node.node->child; member; member = member->next) {
    lh_json below = node;
    below.node = member;
    LH_TRY(refuse_sweeps(below));
  }
  return LH_OK;
}

static lh_status build(const struct values *v, const lh_words *words, cJSON *tree, const char *name)
{
  LH_TRY(single_method(tree, name));
  LH_TRY(lh_put_named(tree, "--platform", v->platform, "platform", "file"));
  LH_TRY(lh_put_named(tree, "--workload", v->workload, "workload", "model"));
  LH_TRY(lh_put_named(tree, "--method", v->method, "method", "name"));
  if (v->mode)
    LH_TRY(lh_json_set_path(tree, "run.mode", cJSON_CreateString(v->mode)));
  LH_TRY(lh_set_all(tree, &v->set, roots));
  for (size_t i = 0; i < 3; i++)
    if (!cJSON_GetObjectItemCaseSensitive(tree, roots[i]))
      return lh_fail(LH_EINVAL, "%s: no %s; give %s%s", words->n ? name : "predict", roots[i],
                     words->n ? "it in the file, or " : "a scenario file, or ",
                     i == 0   ? "--platform FILE"
                     : i == 1 ? "--workload MODEL"
                              : "--method NAME");
  return LH_OK;
}

static lh_status assemble(const struct values *v, const lh_words *words,
                          lh_json_document **document)
{
  const char *name = words->n ? words->word[0] : "command line";
  cJSON *tree = NULL;
  lh_status status = LH_OK;
  if (words->n)
    status = read_scenario_file(name, &tree);
  else
    tree = cJSON_CreateObject();
  if (status == LH_OK)
    status = build(v, words, tree, name);
  if (status != LH_OK) {
    cJSON_Delete(tree);
    return status;
  }
  LH_TRY(lh_json_adopt(name, tree, document));
  return refuse_sweeps(lh_json_root(*document));
}

/* ---- running it -------------------------------------------------------------------------------- */

static lh_status name_row(cJSON *row, lh_json scenario)
{
  char key[33];
  lh_key_cache *cache = lh_key_cache_new();
  const lh_status status =
      cache ? lh_scenario_key(scenario, cache, key) : lh_fail(LH_ENOMEM, "no memory for a key");
  lh_key_cache_free(cache);
  if (status == LH_OK)
    lh_store_name_row(row, key);
  return status;
}

/* Before a long run rather than after it. */
static lh_status check_dump(const char *path)
{
  if (!path)
    return LH_OK;
  struct stat found;
  if (stat(path, &found) == 0)
    return S_ISDIR(found.st_mode)
               ? lh_fail(LH_EINVAL, "--dump: \"%s\" is a folder, allowed: a file", path)
               : LH_OK;
  const char *slash = strrchr(path, '/');
  const int length = slash ? (int)(slash - path) : 0;
  char *folder = slash ? lh_string_format("%.*s/", length, path) : lh_string_copy(".");
  const bool exists = folder && lh_file_exists(folder);
  free(folder);
  if (exists && *path)
    return LH_OK;
  return lh_fail(LH_EINVAL, "--dump: found \"%s\", allowed: a file in a folder that exists", path);
}

static lh_status run(const void *values, const lh_words *words)
{
  const struct values *v = values;
  lh_json_document *document = NULL;
  cJSON *row = NULL, *curve = NULL;
  lh_status status = assemble(v, words, &document);
  if (status == LH_OK)
    status = check_dump(v->dump);
  if (status == LH_OK)
    status = lh_scenario_run(lh_json_root(document), &(lh_scenario_output){.dump_path = v->dump},
                             &row, &curve);
  if (status == LH_OK)
    status = name_row(row, lh_json_root(document));
  if (status == LH_OK)
    status = lh_print_row(row, v->json, v->csv, lh_row_columns);
  cJSON_Delete(row);
  cJSON_Delete(curve);
  lh_json_document_free(document);
  return status;
}

static const lh_flag flags[] = {
    {"--platform", LH_FLAG_TEXT, offsetof(struct values, platform), "FILE|NAME",
     "platform file, shipped platform (star), or a JSON object"},
    {"--workload", LH_FLAG_TEXT, offsetof(struct values, workload), "MODEL",
     "model of the catalogue (gpt2-124m), a JSON object, or its file"},
    {"--method", LH_FLAG_TEXT, offsetof(struct values, method), "NAME",
     "training method (diloco), a JSON object with options, or its file"},
    {"--set", LH_FLAG_LIST, offsetof(struct values, set), "PATH=VALUE",
     "set any value: platform.*, workload.*, method.*, run.*; may be repeated"},
    {"--mode", LH_FLAG_TEXT, offsetof(struct values, mode), "cost|train",
     "predict only, or compute real numbers"},
    {"--dump", LH_FLAG_TEXT, offsetof(struct values, dump), "FILE",
     "one JSON line per rank and step: time, parameters, bytes sent"},
    LH_FLAG_JSON(struct values),
    LH_FLAG_CSV(struct values),
    {0}};

static const char *const examples[] = {
    "longhaul predict --platform star --workload gpt2-124m --method diloco",
    "Predict DiLoCo on eight nodes with one gigabit per second",
    "longhaul predict --platform star --workload gpt2-124m --method ddp "
    "--set platform.nodes=64 --set platform.network.bandwidth=100Mbps --json",
    "The same for DDP on 64 nodes and a thin network, for a program",
    "longhaul predict scenario.json --dump steps.jsonl",
    "Run a scenario file and write every step of every rank",
    NULL};

const lh_command lh_command_predict = {
    .name = "predict",
    .arguments = "[SCENARIO.json] [--platform P] [--workload W] [--method M] [--set PATH=VALUE]...",
    .summary = "run one scenario and print its result row",
    .details = "A scenario file holds {\"platform\", \"workload\", \"method\", \"run\"}; flags "
               "override it.\n"
               "Without run.steps it takes 100 steps, or one round where a method's are longer.",
    .most_words = 1,
    .flags = flags,
    .values_size = sizeof(struct values),
    .examples = examples,
    .run = run,
};
