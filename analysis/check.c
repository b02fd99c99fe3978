#include "analysis/check.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/baseline.h"
#include "base/json.h"
#include "base/text.h"

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

static double tolerance_of(const struct comparison *c, const lh_metric *metric)
{
  const cJSON *own = cJSON_GetObjectItemCaseSensitive(c->tolerances, metric->name);
  if (!isnan(c->tolerance))
    return c->tolerance;
  return cJSON_IsNumber(own) ? own->valuedouble : metric->tolerance;
}

static lh_status compare_metric(struct comparison *c, const lh_metric *metric,
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
  for (size_t i = 0; i < lh_metric_count; i++)
    LH_TRY(compare_metric(c, &lh_metrics[i], before, now));
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

lh_status lh_check_experiment(const char *folder, double tolerance, lh_check *check)
{
  *check = (lh_check){0};
  cJSON *now = NULL;
  lh_json_document *document = NULL;
  lh_status status = lh_baseline_rows(folder, &now);
  if (status == LH_OK)
    status = lh_baseline_read(folder, &document);
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
