/* collectives.c -- which algorithms there are for which collective. */
#include <stdio.h>
#include <string.h>

#include "analysis/table.h"
#include "base/text.h"
#include "sim/cli/command.h"
#include "sim/cli/output.h"
#include "sim/net/collective.h"

struct values {
  bool json;
};

static void add_row(lh_table *table, cJSON *list, size_t kind, size_t algorithm,
                    const lh_algorithm_info *info)
{
  lh_table_add(table, lh_collective_names[kind]);
  lh_table_add(table, lh_algorithm_names[algorithm]);
  lh_table_add(table, info->fluid ? "exact, fluid" : "exact");
  lh_table_add(table, info->formula ? info->formula : "");
  lh_table_add(table, info->needs ? info->needs : "");
  cJSON *row = cJSON_CreateObject();
  cJSON_AddStringToObject(row, "kind", lh_collective_names[kind]);
  cJSON_AddStringToObject(row, "algorithm", lh_algorithm_names[algorithm]);
  cJSON_AddStringToObject(row, "title", info->title ? info->title : "");
  cJSON_AddStringToObject(row, "formula", info->formula ? info->formula : "");
  cJSON_AddStringToObject(row, "needs", info->needs ? info->needs : "");
  cJSON_AddBoolToObject(row, "fluid", info->fluid);
  cJSON_AddItemToArray(list, row);
}

static lh_status print_table(const lh_table *table)
{
  LH_TRY(lh_table_print(table, stdout));
  printf("\nn: ranks; S: bytes; a, B: latency and bandwidth between two nodes (two links of a "
         "star: a is\n"
         "twice the latency of one); ai, Bi: the same inside a node. A line may state several "
         "kinds.\n");
  return LH_OK;
}

static lh_status run(const void *values, const lh_words *words)
{
  const struct values *v = values;
  static const char *const headings[] = {"kind", "algorithm", "timing", "time on a star", "needs"};
  lh_table table = {.columns = sizeof headings / sizeof *headings};
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < table.columns; i++)
    lh_table_add(&table, headings[i]);
  for (size_t kind = 0; kind < LH_COLLECTIVE_COUNT; kind++)
    for (size_t algorithm = 0; algorithm < LH_ALGORITHM_COUNT; algorithm++) {
      lh_algorithm_info info;
      if (words->n && strcmp(words->word[0], lh_collective_names[kind]) != 0)
        continue;
      if (lh_collective_info((lh_collective_kind)kind, (lh_algorithm)algorithm, &info))
        add_row(&table, list, kind, algorithm, &info);
    }
  lh_status status = LH_OK;
  if (!list->child) {
    char hint[120];
    status = lh_fail(
        LH_EINVAL, "collectives: unknown kind \"%s\"%s (\"longhaul collectives\" lists them)",
        words->word[0], lh_did_you_mean(words->word[0], lh_collective_names, hint, sizeof hint));
  } else
    status = v->json ? lh_print_json(list) : print_table(&table);
  cJSON_Delete(list);
  lh_table_fini(&table);
  return status;
}

static const lh_flag flags[] = {LH_FLAG_JSON(struct values), {0}};

static const char *const examples[] = {"longhaul collectives",
                                       "All collectives and their algorithms",
                                       "longhaul collectives all-reduce", "One of them", NULL};

const lh_command lh_command_collectives = {
    .name = "collectives",
    .arguments = "[KIND]",
    .summary = "list the collectives and their algorithms",
    .most_words = 1,
    .flags = flags,
    .values_size = sizeof(struct values),
    .examples = examples,
    .run = run,
};
