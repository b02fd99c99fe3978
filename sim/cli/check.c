/* check.c -- an experiment's results against its baseline. */
#include "analysis/check.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/table.h"
#include "base/text.h"
#include "sim/cli/command.h"
#include "sim/cli/output.h"

struct values {
  const char *tolerance;
  bool update, json;
};

static const char *const kind_names[] = {[LH_CHANGE_MOVED] = "moved",
                                         [LH_CHANGE_STATUS] = "status",
                                         [LH_CHANGE_MISSING] = "missing",
                                         [LH_CHANGE_NEW] = "new"};

static lh_status print_table(const lh_check *check)
{
  static const char *const headings[] = {"what",   "metric",    "baseline", "now",
                                         "change", "tolerance", "scenario"};
  lh_table table = {.columns = sizeof headings / sizeof *headings};
  for (size_t i = 0; i < table.columns; i++)
    lh_table_add(&table, headings[i]);
  for (size_t i = 0; i < check->changes; i++) {
    const lh_change *c = &check->change[i];
    char moved[40] = "", allowed[40] = "";
    if (isfinite(c->relative))
      snprintf(moved, sizeof moved, "%+.3g %%", 100 * c->relative);
    if (c->kind == LH_CHANGE_MOVED)
      snprintf(allowed, sizeof allowed, "%.3g %%", 100 * c->tolerance);
    lh_table_add(&table, kind_names[c->kind]);
    lh_table_add(&table, c->metric);
    lh_table_add(&table, c->before);
    lh_table_add(&table, c->now);
    lh_table_add(&table, moved);
    lh_table_add(&table, allowed);
    lh_table_add(&table, c->row);
  }
  const lh_status status = check->changes ? lh_table_print(&table, stdout) : LH_OK;
  lh_table_fini(&table);
  return status;
}

static lh_status print_json(const lh_check *check)
{
  cJSON *root = cJSON_CreateObject();
  cJSON_AddBoolToObject(root, "ok", check->failures == 0);
  cJSON_AddNumberToObject(root, "rows", (double)check->rows);
  cJSON_AddNumberToObject(root, "values", (double)check->values);
  cJSON *changes = cJSON_AddArrayToObject(root, "changes");
  for (size_t i = 0; i < check->changes; i++) {
    const lh_change *c = &check->change[i];
    cJSON *item = cJSON_CreateObject();
    cJSON_AddStringToObject(item, "kind", kind_names[c->kind]);
    cJSON_AddStringToObject(item, "scenario", c->row);
    cJSON_AddStringToObject(item, "metric", c->metric);
    cJSON_AddStringToObject(item, "baseline", c->before);
    cJSON_AddStringToObject(item, "now", c->now);
    cJSON_AddNumberToObject(item, "relative_change", c->relative);
    cJSON_AddNumberToObject(item, "tolerance", c->tolerance);
    cJSON_AddItemToArray(changes, item);
  }
  return lh_print_own_json(root);
}

static lh_status print_check(const lh_check *check, bool json)
{
  if (json)
    return print_json(check);
  LH_TRY(print_table(check));
  printf("%zu values of %zu scenarios compared, %zu differ\n", check->values, check->rows,
         check->failures);
  return LH_OK;
}

static lh_status update(const char *folder, bool json)
{
  size_t rows;
  LH_TRY(lh_check_update(folder, &rows));
  if (!json)
    printf("baseline.json now holds %zu scenarios\n", rows);
  return LH_OK;
}

static lh_status read_tolerance(const char *text, double *tolerance)
{
  *tolerance = NAN;
  if (!text)
    return LH_OK;
  char *end;
  *tolerance = strtod(text, &end);
  if (!*text || *end || !(*tolerance >= 0))
    return lh_fail(LH_EINVAL,
                   "--tolerance: found \"%s\", allowed: a number of 0 or more, such as 0.01", text);
  return LH_OK;
}

static bool has_baseline(const char *folder)
{
  char *path = lh_string_format("%s/baseline.json", folder);
  const bool there = path && lh_file_exists(path);
  free(path);
  return there;
}

static lh_status run(const void *values, const lh_words *words)
{
  const struct values *v = values;
  const char *folder = words->word[0];
  double tolerance;
  lh_check check = {0};
  LH_TRY(read_tolerance(v->tolerance, &tolerance));
  if (v->update && !has_baseline(folder))
    return update(folder, v->json);
  lh_status status = lh_check_experiment(folder, tolerance, &check);
  if (status == LH_OK)
    status = print_check(&check, v->json);
  if (status == LH_OK && v->update)
    status = update(folder, v->json);
  else if (status == LH_OK && check.failures)
    status =
        lh_fail(LH_EFAILED, "%s: %zu results differ from baseline.json", folder, check.failures);
  lh_check_fini(&check);
  return status;
}

static const lh_flag flags[] = {{"--tolerance", LH_FLAG_TEXT, offsetof(struct values, tolerance),
                                 "X", "relative, for all metrics (default: each metric's own)"},
                                {"--update", LH_FLAG_SWITCH, offsetof(struct values, update), NULL,
                                 "print the difference, then make the results the new baseline"},
                                LH_FLAG_JSON(struct values),
                                {0}};

static const char *const examples[] = {"longhaul check experiments/first-look",
                                       "Have the results moved?",
                                       "longhaul check experiments/first-look --update",
                                       "Accept what moved, after a look at it", NULL};

const lh_command lh_command_check = {
    .name = "check",
    .arguments = "EXPERIMENT [--tolerance X] [--update]",
    .summary = "compare an experiment's results with its baseline.json",
    .details = "Exit status 1 when something differs, with a table of what moved and by how much. "
               "Times and\n"
               "bytes must agree to 1e-6, losses to 2 %; \"tolerance\" in baseline.json can say "
               "otherwise.",
    .least_words = 1,
    .most_words = 1,
    .flags = flags,
    .values_size = sizeof(struct values),
    .examples = examples,
    .run = run,
};
