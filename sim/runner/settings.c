#include "sim/runner/settings.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

static const char *const run_keys[] = {"mode",           "steps",
                                       "tokens",         "virtual_time",
                                       "target_loss",    "evaluate_every_steps",
                                       "stop_at_target", "seed",
                                       "flow_model",     "compute_time",
                                       "backend",        "collectives",
                                       "learning_rate",  "schedule",
                                       "warmup_steps",   NULL};

static lh_status read_limits(lh_json run, lh_run_settings *settings)
{
  LH_TRY(lh_json_bool_or(lh_json_get(run, "stop_at_target"), true, &settings->stop_at_target));
  const bool has_other_limit =
      lh_json_present(lh_json_get(run, "tokens")) ||
      lh_json_present(lh_json_get(run, "virtual_time")) ||
      (settings->stop_at_target && lh_json_present(lh_json_get(run, "target_loss")));
  LH_TRY(lh_json_size_or(lh_json_get(run, "steps"), 1, LH_MOST_STEPS,
                         has_other_limit ? LH_MOST_STEPS : LH_DEFAULT_STEPS, &settings->steps));
  LH_TRY(lh_json_double_or(lh_json_get(run, "tokens"), 1, INFINITY, INFINITY, &settings->tokens));
  LH_TRY(lh_json_quantity_or(lh_json_get(run, "virtual_time"), LH_UNIT_S, INFINITY,
                             &settings->virtual_time_s));
  LH_TRY(lh_json_double_or(lh_json_get(run, "target_loss"), -INFINITY, INFINITY, -INFINITY,
                           &settings->target_loss));
  const bool only_the_loss = isfinite(settings->target_loss) && settings->steps == LH_MOST_STEPS &&
                             !isfinite(settings->tokens) && !isfinite(settings->virtual_time_s);
  if (only_the_loss && !settings->train)
    return lh_json_fail(lh_json_get(run, "target_loss"),
                        "found it as the only limit in cost mode, which has no loss; allowed: with "
                        "steps, tokens or virtual_time");
  return lh_json_size_or(lh_json_get(run, "evaluate_every_steps"), 0, LH_MOST_STEPS, 0,
                         &settings->evaluate_every_steps);
}

/* "all-reduce" is spelt all_reduce as a key. */
static void key_of_kind(size_t kind, char key[32])
{
  snprintf(key, 32, "%s", lh_collective_names[kind]);
  for (char *c = key; *c; c++)
    if (*c == '-')
      *c = '_';
}

/* The byte formulas of the methods are the ring's. */
static lh_algorithm default_algorithm(size_t kind)
{
  const bool has_ring = kind == LH_ALL_REDUCE || kind == LH_REDUCE_SCATTER || kind == LH_ALL_GATHER;
  return has_ring ? LH_RING : LH_ALGORITHM_AUTO;
}

static lh_status read_collectives(lh_json node, lh_collective_settings *settings)
{
  char key[LH_COLLECTIVE_COUNT][32];
  const char *allowed[LH_COLLECTIVE_COUNT + 2] = {"timing"};
  size_t choice;
  for (size_t kind = 0; kind < LH_COLLECTIVE_COUNT; kind++) {
    key_of_kind(kind, key[kind]);
    allowed[kind + 1] = key[kind];
    settings->algorithm[kind] = default_algorithm(kind);
  }
  if (!lh_json_present(node))
    return LH_OK;
  LH_TRY(lh_json_check_keys(node, allowed));
  LH_TRY(lh_json_choice_or(lh_json_get(node, "timing"), lh_timing_names, LH_TIMING_AUTO, &choice));
  settings->timing = (lh_timing)choice;
  for (size_t kind = 0; kind < LH_COLLECTIVE_COUNT; kind++) {
    LH_TRY(lh_json_choice_or(lh_json_get(node, key[kind]), lh_algorithm_names,
                             settings->algorithm[kind], &choice));
    settings->algorithm[kind] = (lh_algorithm)choice;
  }
  return LH_OK;
}

static lh_status read_backend(lh_json run, bool train, const lh_backend **backend)
{
  const char *name;
  LH_TRY(lh_json_string_or(lh_json_get(run, "backend"), "auto", &name));
  if (!train) {
    *backend = &lh_backend_phantom;
    return LH_OK;
  }
  lh_status status = lh_backend_find(name, backend);
  return status == LH_OK ? LH_OK : lh_json_fail(lh_json_get(run, "backend"), "%s", lh_fail_text());
}

static lh_status check_compute_time(lh_json node)
{
  static const char *const names[] = {"profile", NULL};
  size_t choice;
  return lh_json_choice_or(node, names, 0, &choice);
}

lh_status lh_settings_read(lh_json run, lh_settings *settings)
{
  static const char *const modes[] = {"cost", "train", NULL};
  size_t choice;
  *settings = (lh_settings){0};
  if (lh_json_present(run))
    LH_TRY(lh_json_check_keys(run, run_keys));
  LH_TRY(lh_json_choice_or(lh_json_get(run, "mode"), modes, 0, &choice));
  settings->run.train = choice == 1;
  LH_TRY(read_limits(run, &settings->run));
  LH_TRY(lh_json_uint64_or(lh_json_get(run, "seed"), 1, &settings->run.seed));
  LH_TRY(lh_json_choice_or(lh_json_get(run, "flow_model"), lh_flow_model_names, LH_FLOW_IDEAL,
                           &choice));
  settings->flow_model = (lh_flow_model)choice;
  LH_TRY(check_compute_time(lh_json_get(run, "compute_time")));
  LH_TRY(read_collectives(lh_json_get(run, "collectives"), &settings->collectives));
  return read_backend(run, settings->run.train, &settings->backend);
}

/* ---- what belongs to the method -------------------------------------------------------------- */

/* The object member `name`, made when absent; NULL when it is there and is no object. */
static cJSON *member_object(cJSON *parent, const char *name)
{
  cJSON *member = cJSON_GetObjectItemCaseSensitive(parent, name);
  if (!member)
    member = cJSON_AddObjectToObject(parent, name);
  return cJSON_IsObject(member) ? member : NULL;
}

static void give(const cJSON *value, cJSON *object, const char *key)
{
  if (value && object && !cJSON_GetObjectItemCaseSensitive(object, key))
    cJSON_AddItemToObject(object, key, cJSON_Duplicate(value, true));
}

lh_status lh_settings_give_to_method(const cJSON *run, cJSON *method)
{
  const cJSON *rate = cJSON_GetObjectItemCaseSensitive(run, "learning_rate");
  const cJSON *schedule = cJSON_GetObjectItemCaseSensitive(run, "schedule");
  const cJSON *warmup = cJSON_GetObjectItemCaseSensitive(run, "warmup_steps");
  if (rate)
    give(rate, member_object(method, "optimizer"), "learning_rate");
  give(schedule, method, "schedule");
  if (warmup)
    give(warmup, member_object(method, "schedule"), "warmup_steps");
  return LH_OK;
}
