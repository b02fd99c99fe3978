#include "sim/runner/scenario.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/data_path.h"
#include "base/text.h"
#include "sim/methods/method.h"
#include "sim/runner/row.h"
#include "sim/runner/settings.h"

/* A scenario, read and checked. */
typedef struct resolved {
  lh_json_document
      *document; /* own copy: what "run" says of the optimizer is given to the method */
  const char *name;
  lh_settings settings;
  lh_platform *platform;
  lh_workload workload;
  const lh_method *method;
  void *options;
} resolved;

static void resolved_fini(resolved *r)
{
  free(r->options);
  lh_workload_fini(&r->workload);
  lh_platform_free(r->platform);
  lh_json_document_free(r->document);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* "method": {...} or "method": "ddp" or "methods": [one]. */
static lh_status find_method_node(lh_json scenario, lh_json *node)
{
  *node = lh_json_get(scenario, "method");
  const lh_json list = lh_json_get(scenario, "methods");
  if (!lh_json_present(*node) && lh_json_present(list)) {
    LH_TRY(lh_json_expect_array(list));
    if (lh_json_size(list) != 1)
      return lh_json_fail(list, "found %zu methods, allowed: 1 in a single scenario",
                          lh_json_size(list));
    *node = lh_json_at(list, 0);
  }
  return LH_OK;
}

/* A bare name becomes an object, so that options can be added to it. */
static lh_status make_method_object(cJSON *tree)
{
  cJSON *method = cJSON_GetObjectItemCaseSensitive(tree, "method");
  if (!cJSON_IsString(method))
    return LH_OK;
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "name", method->valuestring);
  if (!object || !cJSON_ReplaceItemInObjectCaseSensitive(tree, "method", object))
    return lh_fail(LH_ENOMEM, "no memory for a scenario");
  return LH_OK;
}

static lh_status copy_document(lh_json scenario, lh_json_document **document)
{
  cJSON *tree = cJSON_Duplicate(scenario.node, true);
  if (!tree)
    return lh_fail(LH_ENOMEM, "no memory for a scenario");
  return lh_json_adopt(lh_json_file(scenario), tree, document);
}

static lh_status find_method(lh_json node, const lh_method **method)
{
  const char *names[64];
  size_t n = 0, index;
  for (; lh_methods[n] && n < 63; n++)
    names[n] = lh_methods[n]->name;
  names[n] = NULL;
  LH_TRY(lh_json_expect_object(node));
  LH_TRY(lh_json_choice(lh_json_get(node, "name"), names, &index));
  *method = lh_methods[index];
  return LH_OK;
}

/* Where nothing says how long, a method of local steps runs to the end of a round: before that it has
 * sent nothing, and would look as if communication were free. */
static void reach_first_round(resolved *r, lh_json run)
{
  if (lh_json_present(lh_json_get(run, "steps")) || r->settings.run.steps != LH_DEFAULT_STEPS)
    return;
  for (const lh_option *o = r->method->options; o->name; o++) {
    if (o->type != LH_OPTION_SIZE || strcmp(o->name, "inner_steps") != 0)
      continue;
    const size_t round = *(const size_t *)((const char *)r->options + o->offset);
    if (round > LH_DEFAULT_STEPS && round <= LH_MOST_STEPS)
      r->settings.run.steps = round;
  }
}

static lh_status read_method(resolved *r, lh_json scenario)
{
  static const char *const name_key[] = {"name", NULL};
  lh_json node;
  LH_TRY(find_method_node(scenario, &node));
  LH_TRY(find_method(node, &r->method));
  LH_TRY(lh_settings_give_to_method(lh_json_get(scenario, "run").node, (cJSON *)node.node));
  r->options = calloc(1, r->method->options_size);
  if (!r->options)
    return lh_fail(LH_ENOMEM, "no memory for a method's options");
  LH_TRY(lh_options_read(r->method->options, node, name_key, r->options));
  reach_first_round(r, lh_json_get(scenario, "run"));
  return r->method->check ? r->method->check(r->options, node, r->platform, &r->workload) : LH_OK;
}

/* Before anything is allocated: does it fit? */
static lh_status check_host_memory(const resolved *r, lh_json scenario)
{
  if (!r->settings.run.train)
    return LH_OK;
  const double needed = lh_workload_host_bytes(&r->workload, r->platform->ranks,
                                               r->method->state_bytes_per_parameter);
  const double available = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
  if (needed <= available)
    return LH_OK;
  char need[32], have[32];
  return lh_json_fail(
      lh_json_get(scenario, "workload"),
      "found a training run of %zu ranks that needs about %s, allowed: the %s of this "
      "host; \"mode\": \"cost\" needs no data",
      r->platform->ranks, lh_format_bytes(need, sizeof need, needed),
      lh_format_bytes(have, sizeof have, available));
}

static lh_status check_tokens(const resolved *r, lh_json node)
{
  if (!lh_json_present(node) || lh_workload_tokens_per_step(&r->workload) > 0)
    return LH_OK;
  return lh_json_fail(node,
                      "found a number of tokens for a workload that has none, allowed: steps, "
                      "virtual_time, target_loss");
}

static lh_status resolve(lh_json given, resolved *r)
{
  static const char *const keys[] = {"schema", "name",    "part", "platform", "workload",
                                     "method", "methods", "run",  NULL};
  *r = (resolved){0};
  LH_TRY(lh_json_expect_object(given));
  LH_TRY(copy_document(given, &r->document));
  const lh_json scenario = lh_json_root(r->document);
  char folder[4096];
  LH_TRY(lh_json_check_keys(scenario, keys));
  LH_TRY(make_method_object((cJSON *)scenario.node));
  LH_TRY(lh_json_string_or(lh_json_get(scenario, "name"), "", &r->name));
  LH_TRY(lh_settings_read(lh_json_get(scenario, "run"), &r->settings));
  LH_TRY(lh_platform_read(lh_json_get(scenario, "platform"),
                          lh_data_path("platforms/devices", folder, sizeof folder), &r->platform));
  LH_TRY(lh_workload_read(lh_json_get(scenario, "workload"),
                          lh_data_path("models/catalogue", folder, sizeof folder),
                          r->settings.run.train, &r->workload));
  LH_TRY(
      lh_workload_check_ranks(&r->workload, lh_json_get(scenario, "workload"), r->platform->ranks));
  LH_TRY(check_tokens(r, lh_json_get(lh_json_get(scenario, "run"), "tokens")));
  LH_TRY(read_method(r, scenario));
  return check_host_memory(r, scenario);
}

lh_status lh_scenario_check(lh_json scenario)
{
  resolved r;
  lh_status status = resolve(scenario, &r);
  resolved_fini(&r);
  return status;
}

/* ---- running --------------------------------------------------------------------------------- */

typedef struct rank_work {
  const resolved *scenario;
  lh_run *run;
} rank_work;

static lh_status train(const resolved *r, lh_trainer *trainer)
{
  void *state = calloc(1, r->method->state_size);
  if (!state)
    return lh_fail(LH_ENOMEM, "no memory for a method's state");
  lh_status status = r->method->create(state, trainer, r->options);
  if (status == LH_OK)
    status = r->method->train(state, trainer);
  r->method->destroy(state);
  free(state);
  return status;
}

static lh_status rank_main(void *arg, lh_rank *rank)
{
  const rank_work *work = arg;
  lh_trainer trainer;
  lh_status status = lh_trainer_init(&trainer, rank, &work->scenario->workload, work->run);
  if (status == LH_OK)
    status = train(work->scenario, &trainer);
  lh_trainer_fini(&trainer);
  return status;
}

static double micro_batches(const resolved *r)
{
  return r->method->micro_batches ? r->method->micro_batches(r->options, &r->workload)
                                  : (double)r->workload.micro_batches;
}

static lh_status run_cluster(const resolved *r, lh_run *run, cJSON **row, cJSON **curve)
{
  lh_cluster *cluster;
  LH_TRY(lh_cluster_open(r->platform, r->settings.backend, r->settings.flow_model,
                         &r->settings.collectives, r->settings.run.seed, &cluster));
  rank_work work = {.scenario = r, .run = run};
  lh_status status = lh_cluster_run(cluster, rank_main, &work);
  char *reason = status == LH_OK ? NULL : lh_string_copy(lh_fail_text());
  const bool has_row = status == LH_OK || status == LH_EDEVICEMEM;
  const lh_status written = has_row ? lh_run_finish(run) : LH_OK;
  if (written != LH_OK)
    status = written;
  else if (has_row) {
    const lh_row_inputs inputs = {.scenario = r->name,
                                  .platform = r->platform,
                                  .workload = &r->workload,
                                  .method = r->method,
                                  .settings = &r->settings,
                                  .cluster = cluster,
                                  .run = run,
                                  .status = status,
                                  .reason = reason};
    status = lh_row_make(&inputs, row, curve);
  }
  free(reason);
  lh_cluster_close(cluster);
  return status;
}

lh_status lh_scenario_run(lh_json scenario, const lh_scenario_output *output, cJSON **row,
                          cJSON **curve)
{
  resolved r;
  lh_run *run = NULL;
  *row = *curve = NULL;
  lh_status status = resolve(scenario, &r);
  if (status == LH_OK) {
    r.settings.run.dump_path = output ? output->dump_path : NULL;
    status = lh_run_open(&r.settings.run, &r.workload, r.platform->ranks, micro_batches(&r), &run);
  }
  if (status == LH_OK)
    status = run_cluster(&r, run, row, curve);
  lh_run_close(run);
  resolved_fini(&r);
  return status;
}
