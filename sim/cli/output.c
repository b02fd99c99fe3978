#include "sim/cli/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/table.h"
#include "base/json.h"
#include "base/units.h"
#include "sim/runner/store.h"

static lh_status print_text(char *text, const char *before, const char *after)
{
  if (!text)
    return lh_fail(LH_ENOMEM, "no memory to print results");
  printf("%s%s%s", before, text, after);
  free(text);
  return LH_OK;
}

lh_status lh_print_json(const cJSON *tree)
{
  return print_text(lh_json_print(tree), "", "\n");
}

lh_status lh_print_own_json(cJSON *tree)
{
  const lh_status status = lh_print_json(tree);
  cJSON_Delete(tree);
  return status;
}

static lh_status print_json_rows(const cJSON *rows)
{
  printf("[");
  for (const cJSON *row = rows->child; row; row = row->next)
    LH_TRY(print_text(lh_json_print(row), row == rows->child ? "\n" : ",\n", ""));
  printf("\n]\n");
  return LH_OK;
}

static void add_cell(lh_table *table, const char *column, const cJSON *value)
{
  char *text = lh_cell_text(value);
  lh_table_add_value(table, column, text ? text : "");
  free(text);
}

/* Swept paths that no heading shows already under a shorter name. */
static bool shown_by(const lh_heading *headings, const char *path)
{
  const char *dot = strrchr(path, '.');
  if (strcmp(path, "workload.model") == 0)
    return true; /* as "workload" */
  for (; dot && headings->column; headings++)
    if (strcmp(headings->column, dot + 1) == 0)
      return true;
  return !dot;
}

static cJSON *swept_columns(const cJSON *rows, const lh_heading *headings)
{
  cJSON *columns = cJSON_CreateObject();
  for (const cJSON *row = rows->child; row; row = row->next)
    for (const cJSON *member = row->child; member; member = member->next)
      if (!shown_by(headings, member->string) &&
          !cJSON_GetObjectItemCaseSensitive(columns, member->string))
        cJSON_AddNullToObject(columns, member->string);
  return columns;
}

/* What tells rows apart stands together: swept values come before "status", before all results. */
static void add_row(lh_table *table, const lh_heading *headings, const cJSON *swept,
                    const cJSON *row)
{
  for (; headings->column; headings++) {
    const bool results_begin = strcmp(headings->column, "status") == 0;
    for (const cJSON *c = results_begin && swept ? swept->child : NULL; c; c = c->next)
      if (row)
        add_cell(table, "", cJSON_GetObjectItemCaseSensitive(row, c->string));
      else
        lh_table_add(table, strrchr(c->string, '.') + 1);
    if (row)
      add_cell(table, headings->column, cJSON_GetObjectItemCaseSensitive(row, headings->column));
    else
      lh_table_add(table, headings->text);
  }
}

static lh_status print_table(const cJSON *rows, const lh_heading *headings)
{
  cJSON *swept = swept_columns(rows, headings);
  lh_table table = {.columns = (size_t)cJSON_GetArraySize(swept)};
  for (size_t i = 0; headings[i].column; i++)
    table.columns++;
  add_row(&table, headings, swept, NULL);
  for (const cJSON *row = rows->child; row; row = row->next)
    add_row(&table, headings, swept, row);
  const lh_status status = lh_table_print(&table, stdout);
  lh_table_fini(&table);
  cJSON_Delete(swept);
  return status;
}

lh_status lh_print_rows(const cJSON *rows, bool json, bool csv, const char *const *columns,
                        const lh_heading *headings)
{
  if (json)
    return print_json_rows(rows);
  if (csv)
    return print_text(lh_csv_of(rows, columns), "", "");
  return print_table(rows, headings);
}

/* "parameters 12 MB, gradients 12 MB" */
static void print_parts(const cJSON *parts)
{
  printf("%-30s", parts->string);
  for (const cJSON *part = parts->child; part; part = part->next) {
    char amount[32];
    printf("%s %s %s", part == parts->child ? "" : ",", part->string,
           lh_format_bytes(amount, sizeof amount, part->valuedouble));
  }
  printf("\n");
}

lh_status lh_print_row(const cJSON *row, bool json, bool csv, const char *const *columns)
{
  if (json)
    return lh_print_json(row);
  if (csv) {
    cJSON *rows = cJSON_CreateArray();
    cJSON_AddItemToArray(rows, cJSON_Duplicate(row, 1));
    const lh_status status = print_text(lh_csv_of(rows, columns), "", "");
    cJSON_Delete(rows);
    return status;
  }
  for (const cJSON *member = row->child; member; member = member->next) {
    if (cJSON_IsObject(member)) {
      print_parts(member);
      continue;
    }
    char pretty[256], *text = lh_cell_text(member);
    if (text && *text)
      printf("%-30s %s\n", member->string, lh_pretty(member->string, text, pretty, sizeof pretty));
    free(text);
  }
  return LH_OK;
}
