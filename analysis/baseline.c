#include "analysis/baseline.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/check.h"
#include "analysis/results.h"
#include "base/text.h"

/* ---- which columns are measurements, and how closely they must agree -------------------------- */

#define CLOSE 1e-6 /* the same arithmetic; room for another order of summation in the simulator */
#define DRIFT 0.02 /* through OpenBLAS, whose kernels differ between processors */

const lh_metric lh_metrics[] = {
    {"steps", 0},
    {"tokens", 0},
    {"wall_clock_s", CLOSE},
    {"step_s", CLOSE},
    {"compute_s", CLOSE},
    {"exposed_communication_s", CLOSE},
    {"hidden_communication_s", CLOSE},
    {"straggler_wait_s", CLOSE},
    {"utilisation", CLOSE},
    {"inter_node_bytes_per_step", CLOSE},
    {"intra_node_bytes_per_step", CLOSE},
    {"inter_node_bytes_per_step_max", CLOSE},
    {"peak_memory_bytes", CLOSE},
    {"energy_joule", CLOSE},
    {"price_usd", CLOSE},
    {"final_loss", DRIFT},
    {"best_loss", DRIFT},
    {"validation_loss", DRIFT},
    {"validation_accuracy", DRIFT},
    {"seconds_to_target", 0.1}, /* jumps by whole steps when a loss drifts */
    {"replica_spread", 0.1},    /* as the losses, and of differences */
};
#define METRICS (sizeof lh_metrics / sizeof *lh_metrics)
const size_t lh_metric_count = METRICS;

/* Neither measured nor part of what was run. */
static const char *const ignored[] = {"scenario", "status", "reason"};

static bool is_identity(const char *column)
{
  for (size_t i = 0; i < METRICS; i++)
    if (strcmp(column, lh_metrics[i].name) == 0)
      return false;
  for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
    if (strcmp(column, ignored[i]) == 0)
      return false;
  return true;
}

/* ---- a results row as baseline rows are written ------------------------------------------------ */

static cJSON *row_json(const lh_frame *frame, size_t row)
{
  cJSON *object = cJSON_CreateObject(), *identity = cJSON_AddObjectToObject(object, "identity");
  cJSON *values = NULL;
  for (size_t i = 0; i < frame->columns; i++)
    if (is_identity(frame->name[i]) && *lh_frame_text(frame, row, i))
      cJSON_AddStringToObject(identity, frame->name[i], lh_frame_text(frame, row, i));
  cJSON_AddStringToObject(object, "status",
                          lh_frame_text(frame, row, lh_frame_column(frame, "status")));
  values = cJSON_AddObjectToObject(object, "metrics");
  for (size_t i = 0; i < METRICS; i++) {
    const double value = lh_frame_number(frame, row, lh_frame_column(frame, lh_metrics[i].name));
    if (isfinite(value))
      cJSON_AddNumberToObject(values, lh_metrics[i].name, value);
  }
  return object;
}

/* ---- files ------------------------------------------------------------------------------------- */

static const char *separator(const char *folder)
{
  const size_t n = strlen(folder);
  return n && folder[n - 1] == '/' ? "" : "/";
}

/* The results as an array of baseline rows; the caller's. */
lh_status lh_baseline_rows(const char *folder, cJSON **rows)
{
  *rows = NULL;
  char *path = lh_string_format("%s%sresults/scenarios.csv", folder, separator(folder));
  lh_frame frame = {0};
  lh_status status = path ? lh_frame_read_csv(path, &frame) : lh_fail(LH_ENOMEM, "no memory");
  if (status == LH_EINVAL && !lh_file_exists(path))
    status = lh_fail(status, "%s; \"longhaul run %s\" makes it", lh_fail_text(), folder);
  if (status == LH_OK) {
    *rows = cJSON_CreateArray();
    for (size_t i = 0; i < frame.rows; i++)
      cJSON_AddItemToArray(*rows, row_json(&frame, i));
  }
  lh_frame_fini(&frame);
  free(path);
  return status;
}

lh_status lh_baseline_read(const char *folder, lh_json_document **document)
{
  static const char *const keys[] = {"schema", "tolerance", "rows", NULL};
  *document = NULL;
  char *path = lh_string_format("%s%sbaseline.json", folder, separator(folder));
  if (!path)
    return lh_fail(LH_ENOMEM, "no memory");
  lh_status status = lh_json_read_file(path, document);
  if (status == LH_EINVAL && !lh_file_exists(path))
    status = lh_fail(status, "%s; \"longhaul check %s --update\" makes it", lh_fail_text(), folder);
  free(path);
  LH_TRY(status);
  const lh_json root = lh_json_root(*document);
  const lh_json tolerance = lh_json_get(root, "tolerance");
  LH_TRY(lh_json_check_keys(root, keys));
  LH_TRY(lh_json_check_schema(root, "baseline"));
  LH_TRY(lh_json_expect_array(lh_json_get(root, "rows")));
  if (!lh_json_present(tolerance))
    return LH_OK;
  const char *names[METRICS + 1] = {NULL};
  for (size_t i = 0; i < METRICS; i++)
    names[i] = lh_metrics[i].name;
  LH_TRY(lh_json_check_keys(tolerance, names));
  for (size_t i = 0; i < METRICS; i++) {
    double value;
    LH_TRY(lh_json_double_or(lh_json_get(tolerance, names[i]), 0, INFINITY, 0, &value));
  }
  return LH_OK;
}

/* One row a line, so that a changed baseline reads well in a diff. */
static char *baseline_text(const cJSON *tolerance, const cJSON *rows)
{
  lh_text text = {0};
  lh_text_append(&text, "{\"schema\": \"longhaul/baseline/1\",\n");
  char *own = tolerance ? lh_json_print(tolerance) : NULL;
  if (own)
    lh_text_append(&text, " \"tolerance\": %s,\n", own);
  free(own);
  lh_text_append(&text, " \"rows\": [");
  for (const cJSON *row = rows->child; row; row = row->next) {
    char *line = lh_json_print(row);
    lh_text_append(&text, "%s\n  %s", row == rows->child ? "" : ",", line ? line : "");
    text.failed = text.failed || !line;
    free(line);
  }
  lh_text_append(&text, "\n ]}\n");
  if (text.failed)
    lh_text_free(&text);
  return text.data;
}

lh_status lh_check_update(const char *folder, size_t *rows)
{
  cJSON *now = NULL;
  lh_json_document *document = NULL;
  LH_TRY(lh_baseline_rows(folder, &now));
  char *path = lh_string_format("%s%sbaseline.json", folder, separator(folder));
  lh_status status = path && lh_file_exists(path) ? lh_baseline_read(folder, &document) : LH_OK;
  char *text = NULL;
  if (status == LH_OK) {
    text =
        baseline_text(document ? lh_json_get(lh_json_root(document), "tolerance").node : NULL, now);
    status = path && text ? lh_file_write_atomic(path, text, strlen(text))
                          : lh_fail(LH_ENOMEM, "no memory for a baseline");
  }
  *rows = (size_t)cJSON_GetArraySize(now);
  lh_json_document_free(document);
  cJSON_Delete(now);
  free(path);
  free(text);
  return status;
}
