#include "sim/runner/store.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

const char *const lh_row_columns[] = {"scenario",
                                      "method",
                                      "platform",
                                      "nodes",
                                      "ranks",
                                      "workload",
                                      "seed",
                                      "mode",
                                      "flow_model",
                                      "collective_timing",
                                      "status",
                                      "steps",
                                      "tokens",
                                      "wall_clock_s",
                                      "step_s",
                                      "compute_s",
                                      "exposed_communication_s",
                                      "hidden_communication_s",
                                      "straggler_wait_s",
                                      "utilisation",
                                      "inter_node_bytes_per_step",
                                      "intra_node_bytes_per_step",
                                      "inter_node_bytes_per_step_max",
                                      "peak_memory_bytes",
                                      "energy_joule",
                                      "price_usd",
                                      "final_loss",
                                      "best_loss",
                                      "validation_loss",
                                      "validation_accuracy",
                                      "seconds_to_target",
                                      "replica_spread",
                                      "reason",
                                      NULL};

static const char *const curve_columns[] = {"scenario",         "step",       "tokens",
                                            "virtual_s",        "train_loss", "validation_loss",
                                            "inter_node_bytes", NULL};

/* ---- one scenario ---------------------------------------------------------------------------- */

static char *row_path(const char *results_folder, const char *key)
{
  return lh_string_format("%s/rows/%s.json", results_folder, key);
}

lh_status lh_store_put(const char *results_folder, const char *key, const cJSON *row,
                       const cJSON *curve)
{
  char *path = row_path(results_folder, key), *row_text = lh_json_print(row);
  char *curve_text = curve ? lh_json_print(curve) : lh_string_copy("[]");
  lh_text text = {0};
  lh_status status;
  if (path && row_text && curve_text)
    lh_text_append(&text, "{\"row\":%s,\n\"curve\":%s}\n", row_text, curve_text);
  if (!text.data || text.failed)
    status = lh_fail(LH_ENOMEM, "no memory to store a result");
  else
    status = lh_file_write_atomic(path, text.data, text.length);
  lh_text_free(&text);
  free(path);
  free(row_text);
  free(curve_text);
  return status;
}

void lh_store_get(const char *results_folder, const char *key, cJSON **stored)
{
  char *path = row_path(results_folder, key), *text = NULL;
  size_t size;
  *stored = NULL;
  if (path && lh_file_exists(path) && lh_file_read(path, &text, &size) == LH_OK)
    *stored = cJSON_Parse(text);
  if (*stored && !cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(*stored, "row"))) {
    cJSON_Delete(*stored);
    *stored = NULL;
  }
  free(text);
  free(path);
}

bool lh_store_finished(const char *results_folder, const char *key)
{
  cJSON *stored;
  lh_store_get(results_folder, key, &stored);
  const cJSON *status = stored ? lh_json_find_path(stored, "row.status") : NULL;
  const bool finished =
      status && cJSON_IsString(status) && strcmp(status->valuestring, "failed") != 0;
  cJSON_Delete(stored);
  return finished;
}

void lh_store_sweep_up(const char *results_folder)
{
  char *rows = lh_string_format("%s/rows", results_folder);
  DIR *folder = rows ? opendir(rows) : NULL;
  const struct dirent *entry;
  while (folder && (entry = readdir(folder)))
    if (strstr(entry->d_name, ".json.tmp"))
      unlinkat(dirfd(folder), entry->d_name, 0);
  if (folder)
    closedir(folder);
  free(rows);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static void append_cell(lh_text *out, const cJSON *value)
{
  char *text = lh_cell_text(value);
  if (!text) {
    out->failed = true;
    return;
  }
  if (!strpbrk(text, ",\"\r\n"))
    lh_text_append(out, "%s", text);
  else {
    lh_text_append(out, "\"");
    for (const char *c = text; *c; c++)
      lh_text_append(out, *c == '"' ? "\"\"" : "%c", *c);
    lh_text_append(out, "\"");
  }
  free(text);
}

/* Names of the columns as an object's keys, in order. What is not one value has no column. */
static cJSON *columns_of(const cJSON *rows, const char *const *first)
{
  cJSON *columns = cJSON_CreateObject();
  for (; columns && first && *first; first++)
    cJSON_AddNullToObject(columns, *first);
  for (const cJSON *row = rows->child; columns && row; row = row->next)
    for (const cJSON *member = row->child; member; member = member->next)
      if (!cJSON_IsObject(member) && !cJSON_GetObjectItemCaseSensitive(columns, member->string))
        cJSON_AddNullToObject(columns, member->string);
  return columns;
}

char *lh_csv_of(const cJSON *rows, const char *const *first)
{
  lh_text out = {0};
  cJSON *columns = columns_of(rows, first);
  if (!columns)
    return NULL;
  for (const cJSON *column = columns->child; column; column = column->next) {
    const cJSON name = {.type = cJSON_String, .valuestring = column->string};
    append_cell(&out, &name);
    lh_text_append(&out, column->next ? "," : "\n");
  }
  for (const cJSON *row = rows->child; row; row = row->next)
    for (const cJSON *column = columns->child; column; column = column->next) {
      append_cell(&out, cJSON_GetObjectItemCaseSensitive(row, column->string));
      lh_text_append(&out, column->next ? "," : "\n");
    }
  cJSON_Delete(columns);
  if (out.failed)
    lh_text_free(&out);
  return out.data;
}

/* ---- tables ---------------------------------------------------------------------------------- */

#define SHOWN_KEY_DIGITS 12

void lh_store_name_row(cJSON *row, const char *key)
{
  char name[SHOWN_KEY_DIGITS + 1];
  snprintf(name, sizeof name, "%.*s", SHOWN_KEY_DIGITS, key);
  cJSON_DeleteItemFromObjectCaseSensitive(row, "scenario");
  cJSON *text = cJSON_CreateString(name);
  cJSON_InsertItemInArray(row, 0, text); /* objects are lists too; the key follows */
  if (text)
    text->string = strdup("scenario");
}

static cJSON *row_of(cJSON *stored, const lh_grid_point *point)
{
  cJSON *row = cJSON_DetachItemFromObjectCaseSensitive(stored, "row");
  lh_store_name_row(row, point->key);
  for (const cJSON *column = point->columns->child; column; column = column->next)
    cJSON_AddItemToObject(row, column->string, cJSON_Duplicate(column, 1));
  return row;
}

cJSON *lh_store_row(const char *results_folder, const lh_grid_point *point)
{
  cJSON *stored;
  lh_store_get(results_folder, point->key, &stored);
  cJSON *row = stored ? row_of(stored, point) : NULL;
  cJSON_Delete(stored);
  return row;
}

static lh_status write_table(const char *results_folder, const char *name, const cJSON *rows,
                             const char *const *columns)
{
  char *path = lh_string_format("%s/%s", results_folder, name), *csv = lh_csv_of(rows, columns);
  const lh_status status = path && csv ? lh_file_write_atomic(path, csv, strlen(csv))
                                       : lh_fail(LH_ENOMEM, "no memory to write %s", name);
  free(path);
  free(csv);
  return status;
}

lh_status lh_store_write_tables(const char *results_folder, const lh_grid *grid)
{
  cJSON *rows = cJSON_CreateArray(), *curves = cJSON_CreateArray();
  for (size_t i = 0; i < grid->points; i++) {
    cJSON *stored;
    lh_store_get(results_folder, grid->point[i].key, &stored);
    if (!stored)
      continue;
    cJSON_AddItemToArray(rows, row_of(stored, &grid->point[i]));
    cJSON *curve = cJSON_GetObjectItemCaseSensitive(stored, "curve");
    while (curve && curve->child) {
      cJSON *record = cJSON_DetachItemFromArray(curve, 0);
      lh_store_name_row(record, grid->point[i].key);
      cJSON_AddItemToArray(curves, record);
    }
    cJSON_Delete(stored);
  }
  lh_status status = write_table(results_folder, "scenarios.csv", rows, lh_row_columns);
  if (status == LH_OK)
    status = write_table(results_folder, "curves.csv", curves, curve_columns);
  cJSON_Delete(rows);
  cJSON_Delete(curves);
  return status;
}
