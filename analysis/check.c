#include "analysis/check.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/results.h"
#include "base/json.h"
#include "base/text.h"

/* ---- which columns are measurements, and how closely they must agree -------------------------- */

#define CLOSE 1e-6 /* the same arithmetic; room for another order of summation in the simulator */
#define DRIFT 0.02 /* through OpenBLAS, whose kernels differ between processors */

static const struct metric {
  const char *name;
  double tolerance; /* relative */
} metrics[] = {
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
    {"seconds_to_target", 0.1}, /* jumps by whole steps when a loss drifts */
};
#define METRICS (sizeof metrics / sizeof *metrics)

/* Neither measured nor part of what was run. */
static const char *const ignored[] = {"scenario", "status", "reason"};

static bool is_identity(const char *column)
{
  for (size_t i = 0; i < METRICS; i++)
    if (strcmp(column, metrics[i].name) == 0)
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
    const double value = lh_frame_number(frame, row, lh_frame_column(frame, metrics[i].name));
    if (isfinite(value))
      cJSON_AddNumberToObject(values, metrics[i].name, value);
  }
  return object;
}

/* "ddp nodes=2 mode=cost": the method, then the rest by name. */
static char *row_label(const cJSON *row)
{
  lh_text text = {0};
  const cJSON *identity = cJSON_GetObjectItemCaseSensitive(row, "identity");
  const cJSON *method = cJSON_GetObjectItemCaseSensitive(identity, "method");
  lh_text_append(&text, "%s", cJSON_IsString(method) ? method->valuestring : "?");
  for (const cJSON *item = identity ? identity->child : NULL; item; item = item->next)
    if (item != method && cJSON_IsString(item))
      lh_text_append(&text, " %s=%s", item->string, item->valuestring);
  return text.data ? text.data : lh_string_copy("?");
}

static bool same_identity(const cJSON *a, const cJSON *b)
{
  return cJSON_Compare(cJSON_GetObjectItemCaseSensitive(a, "identity"),
                       cJSON_GetObjectItemCaseSensitive(b, "identity"), 1);
}

/* ---- comparing --------------------------------------------------------------------------------- */

struct comparison {
  lh_check *check;
  const cJSON *tolerances; /* the baseline's own, may be NULL */
  double tolerance;        /* NAN: each metric's own */
};

static lh_status add_change(lh_check *check, lh_change change)
{
  lh_change *larger = realloc(check->change, (check->changes + 1) * sizeof *larger);
  if (larger) {
    check->change = larger;
    check->failures += change.kind != LH_CHANGE_NEW;
    larger[check->changes++] = change;
  }
  if (!larger || !change.row || !change.metric || !change.before || !change.now)
    return lh_fail(LH_ENOMEM, "no memory to list what moved");
  return LH_OK;
}

static char *number_text(double value)
{
  char buffer[40];
  return lh_string_copy(isnan(value) ? "" : lh_format_number(buffer, sizeof buffer, value));
}

static double tolerance_of(const struct comparison *c, const struct metric *metric)
{
  const cJSON *own = cJSON_GetObjectItemCaseSensitive(c->tolerances, metric->name);
  if (!isnan(c->tolerance))
    return c->tolerance;
  return cJSON_IsNumber(own) ? own->valuedouble : metric->tolerance;
}

static lh_status compare_metric(struct comparison *c, const struct metric *metric,
                                const cJSON *before_row, const cJSON *now_row)
{
  const cJSON *b = lh_json_find_path(before_row, "metrics");
  const cJSON *n = lh_json_find_path(now_row, "metrics");
  b = cJSON_GetObjectItemCaseSensitive(b, metric->name);
  n = cJSON_GetObjectItemCaseSensitive(n, metric->name);
  if (!b && !n)
    return LH_OK;
  const double before = b ? b->valuedouble : NAN, now = n ? n->valuedouble : NAN;
  const double allowed = tolerance_of(c, metric);
  c->check->values++;
  if (fabs(now - before) <= allowed * fabs(before)) /* a NAN on one side is a change */
    return LH_OK;
  return add_change(c->check, (lh_change){.kind = LH_CHANGE_MOVED,
                                          .row = row_label(now_row),
                                          .metric = lh_string_copy(metric->name),
                                          .before = number_text(before),
                                          .now = number_text(now),
                                          .relative = (now - before) / fabs(before),
                                          .tolerance = allowed});
}

static const char *status_of(const cJSON *row)
{
  const cJSON *status = cJSON_GetObjectItemCaseSensitive(row, "status");
  return cJSON_IsString(status) ? status->valuestring : "";
}

static lh_status compare_rows(struct comparison *c, const cJSON *before, const cJSON *now)
{
  c->check->rows++;
  if (strcmp(status_of(before), status_of(now)) != 0)
    LH_TRY(add_change(c->check, (lh_change){.kind = LH_CHANGE_STATUS,
                                            .row = row_label(now),
                                            .metric = lh_string_copy("status"),
                                            .before = lh_string_copy(status_of(before)),
                                            .now = lh_string_copy(status_of(now)),
                                            .relative = NAN}));
  for (size_t i = 0; i < METRICS; i++)
    LH_TRY(compare_metric(c, &metrics[i], before, now));
  return LH_OK;
}

static const cJSON *partner(const cJSON *rows, const cJSON *row)
{
  const cJSON *other = rows ? rows->child : NULL;
  while (other && !same_identity(other, row))
    other = other->next;
  return other;
}

static lh_status add_whole_row(lh_check *check, lh_change_kind kind, const cJSON *row)
{
  return add_change(check, (lh_change){.kind = kind,
                                       .row = row_label(row),
                                       .metric = lh_string_copy(""),
                                       .before = lh_string_copy(""),
                                       .now = lh_string_copy(""),
                                       .relative = NAN});
}

static lh_status compare_all(struct comparison *c, const cJSON *before, const cJSON *now)
{
  for (const cJSON *row = now->child; row; row = row->next) {
    const cJSON *was = partner(before, row);
    LH_TRY(was ? compare_rows(c, was, row) : add_whole_row(c->check, LH_CHANGE_NEW, row));
  }
  for (const cJSON *row = before->child; row; row = row->next)
    if (!partner(now, row))
      LH_TRY(add_whole_row(c->check, LH_CHANGE_MISSING, row));
  return LH_OK;
}

/* ---- files ------------------------------------------------------------------------------------- */

static const char *separator(const char *folder)
{
  const size_t n = strlen(folder);
  return n && folder[n - 1] == '/' ? "" : "/";
}

/* The results as an array of baseline rows; the caller's. */
static lh_status read_results(const char *folder, cJSON **rows)
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

static lh_status read_baseline(const char *folder, lh_json_document **document)
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
    names[i] = metrics[i].name;
  LH_TRY(lh_json_check_keys(tolerance, names));
  for (size_t i = 0; i < METRICS; i++) {
    double value;
    LH_TRY(lh_json_double_or(lh_json_get(tolerance, names[i]), 0, INFINITY, 0, &value));
  }
  return LH_OK;
}

lh_status lh_check_experiment(const char *folder, double tolerance, lh_check *check)
{
  *check = (lh_check){0};
  cJSON *now = NULL;
  lh_json_document *document = NULL;
  lh_status status = read_results(folder, &now);
  if (status == LH_OK)
    status = read_baseline(folder, &document);
  if (status == LH_OK) {
    const lh_json root = lh_json_root(document);
    struct comparison c = {
        .check = check, .tolerances = lh_json_get(root, "tolerance").node, .tolerance = tolerance};
    status = compare_all(&c, lh_json_get(root, "rows").node, now);
  }
  lh_json_document_free(document);
  cJSON_Delete(now);
  return status;
}

void lh_check_fini(lh_check *check)
{
  for (size_t i = 0; i < check->changes; i++) {
    free(check->change[i].row);
    free(check->change[i].metric);
    free(check->change[i].before);
    free(check->change[i].now);
  }
  free(check->change);
  *check = (lh_check){0};
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
  LH_TRY(read_results(folder, &now));
  char *path = lh_string_format("%s%sbaseline.json", folder, separator(folder));
  lh_status status = path && lh_file_exists(path) ? read_baseline(folder, &document) : LH_OK;
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
