#include "analysis/plot.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figure.h"
#include "analysis/outcome.h"
#include "base/units.h"

/* One kind of picture. */
struct kind {
  const char *name, *title, *x_label, *y_label;
  const char *x_column; /* of scenarios.csv; NULL: a curve over curve_column of curves.csv */
  const char *curve_column;
  bool log_x, log_y, x_is_rate, x_is_count;
};

static const struct kind kinds[] = {
    {.name = "loss",
     .title = "loss against virtual time",
     .x_label = "virtual time (s)",
     .y_label = "training loss",
     .curve_column = "virtual_s"},
    {.name = "loss-tokens",
     .title = "loss against tokens",
     .x_label = "tokens, all ranks",
     .y_label = "training loss",
     .curve_column = "tokens",
     .x_is_count = true},
    {.name = "step-time",
     .title = "predicted time per step against nodes",
     .x_label = "nodes",
     .y_label = "wall-clock per step (s)",
     .x_column = "nodes",
     .log_x = true,
     .log_y = true},
    {.name = "step-bandwidth",
     .title = "predicted time per step against bandwidth",
     .x_label = "bandwidth of one node's link",
     .y_label = "wall-clock per step (s)",
     .x_column = "platform.network.bandwidth",
     .log_x = true,
     .log_y = true,
     .x_is_rate = true},
};

struct drawing {
  const lh_outcome *outcome;
  const struct kind *kind;
  bool *included;  /* (rows) */
  bool validation; /* draw the validation loss */
  lh_figure figure;
};

/* ---- values ------------------------------------------------------------------------------------ */

static double x_value(const struct drawing *d, size_t row)
{
  const char *text = lh_outcome_text(d->outcome, row, d->kind->x_column);
  double value;
  if (!d->kind->x_is_rate)
    return lh_outcome_number(d->outcome, row, d->kind->x_column);
  return lh_quantity_parse(text, LH_UNIT_BYTES_PER_S, &value) == LH_OK ? 8 * value : NAN;
}

static bool drawable(const struct kind *kind, double x, double y)
{
  return isfinite(x) && isfinite(y) && (!kind->log_x || x > 0) && (!kind->log_y || y > 0);
}

/* Rows of one group that this kind of picture can show. */
static void include_rows(struct drawing *d, const lh_grouping *grouping, const char *group)
{
  for (size_t row = 0; row < d->outcome->rows.rows; row++) {
    const bool here = strcmp(lh_grouping_name(grouping, row), group) == 0;
    const char *mode = d->kind->x_column ? "cost" : "train";
    d->included[row] =
        here && lh_outcome_is(d->outcome, row, "mode", mode) &&
        !lh_outcome_is(d->outcome, row, "status", "failed") &&
        (!d->kind->x_column ||
         drawable(d->kind, x_value(d, row), lh_outcome_number(d->outcome, row, "step_s")));
  }
}

static bool several_x(const struct drawing *d)
{
  double first = NAN;
  for (size_t row = 0; row < d->outcome->rows.rows; row++) {
    if (!d->included[row])
      continue;
    if (!isnan(first) && x_value(d, row) != first)
      return true;
    first = x_value(d, row);
  }
  return false;
}

/* ---- series ------------------------------------------------------------------------------------ */

/* How many methods stand in the rows above the first one of this row's method: its look. */
static size_t rank_of_method(const lh_outcome *outcome, size_t row)
{
  const char *method = lh_outcome_text(outcome, row, "method");
  size_t rank = 0;
  for (size_t i = 0; i < row && !lh_outcome_is(outcome, i, "method", method); i++) {
    size_t j = 0;
    while (j < i && !lh_outcome_is(outcome, j, "method", lh_outcome_text(outcome, i, "method")))
      j++;
    rank += j == i;
  }
  return rank;
}

/* The series that a scenario's points belong to; NULL: no memory. */
static lh_series *series_of(struct drawing *d, size_t row)
{
  lh_text panel = {0}, style = {0};
  lh_text_append(&style, "%s", lh_outcome_text(d->outcome, row, "method"));
  lh_outcome_describe(d->outcome, d->included, row, true, d->kind->x_column, &style);
  lh_outcome_describe(d->outcome, d->included, row, false, d->kind->x_column, &panel);
  lh_series *series = NULL;
  if (!style.failed && !panel.failed) {
    lh_panel *place = lh_figure_panel(&d->figure, panel.data ? panel.data : "");
    const size_t index = lh_figure_style(&d->figure, style.data, rank_of_method(d->outcome, row));
    series = place && index != SIZE_MAX ? lh_panel_series(place, index) : NULL;
  }
  lh_text_free(&panel);
  lh_text_free(&style);
  return series;
}

static void sort_by_x(lh_series *s)
{
  for (size_t i = 1; i < s->points; i++)
    for (size_t j = i; j > 0 && s->x[j - 1] > s->x[j]; j--) {
      const double x = s->x[j], y = s->y[j];
      s->x[j] = s->x[j - 1];
      s->y[j] = s->y[j - 1];
      s->x[j - 1] = x;
      s->y[j - 1] = y;
    }
}

static bool add_scenario(struct drawing *d, size_t row)
{
  lh_series *series = series_of(d, row);
  if (!series ||
      !lh_series_add(series, x_value(d, row), lh_outcome_number(d->outcome, row, "step_s")))
    return false;
  sort_by_x(series);
  return true;
}

static bool add_curve(struct drawing *d, size_t row)
{
  const lh_frame *curves = &d->outcome->curves;
  const char *scenario = lh_outcome_text(d->outcome, row, "scenario");
  const size_t name = lh_frame_column(curves, "scenario"),
               x = lh_frame_column(curves, d->kind->curve_column);
  const size_t y = lh_frame_column(curves, d->validation ? "validation_loss" : "train_loss");
  lh_series *series = NULL;
  for (size_t i = 0; i < curves->rows; i++) {
    if (strcmp(lh_frame_text(curves, i, name), scenario) != 0)
      continue;
    const double at = lh_frame_number(curves, i, x), loss = lh_frame_number(curves, i, y);
    if (!drawable(d->kind, at, loss) || ((d->figure.log_x || d->kind->x_is_count) && at <= 0))
      continue;
    if (!series && !(series = series_of(d, row)))
      return false;
    if (!lh_series_add(series, at, loss))
      return false;
  }
  return true;
}

/* Validation losses are the calmer picture, where every curve has enough of them. */
static bool has_validation(const struct drawing *d)
{
  const lh_frame *curves = &d->outcome->curves;
  const size_t name = lh_frame_column(curves, "scenario");
  const size_t loss = lh_frame_column(curves, "validation_loss");
  bool any = false;
  for (size_t row = 0; row < d->outcome->rows.rows; row++) {
    if (!d->included[row])
      continue;
    size_t points = 0;
    for (size_t i = 0; i < curves->rows; i++)
      points += strcmp(lh_frame_text(curves, i, name),
                       lh_outcome_text(d->outcome, row, "scenario")) == 0 &&
                !isnan(lh_frame_number(curves, i, loss));
    if (points < 4)
      return false;
    any = true;
  }
  return any;
}

/* When one method takes 20 times as long as another, a linear axis shows one of them as a wall. */
static bool wants_log_time(const struct drawing *d)
{
  if (!d->kind->curve_column || strcmp(d->kind->curve_column, "virtual_s") != 0)
    return false;
  double shortest = INFINITY, longest = 0;
  for (size_t row = 0; row < d->outcome->rows.rows; row++) {
    const double end = lh_outcome_number(d->outcome, row, "wall_clock_s");
    if (!d->included[row] || !(end > 0))
      continue;
    shortest = fmin(shortest, end);
    longest = fmax(longest, end);
  }
  return longest > 20 * shortest;
}

/* ---- figures ----------------------------------------------------------------------------------- */

static char *file_name(const char *kind, const char *group)
{
  char *name = lh_string_format("%s-%s", kind, group);
  for (char *c = name; c && *c; c++)
    if (!isalnum((unsigned char)*c) && *c != '.' && *c != '_')
      *c = '-';
  return name;
}

static lh_status fill_figure(struct drawing *d, const char *group)
{
  const struct kind *kind = d->kind;
  d->validation = !kind->x_column && has_validation(d);
  d->figure.name = file_name(kind->name, group);
  d->figure.title = lh_string_format("%s: %s", group, kind->title);
  d->figure.x_label = lh_string_copy(kind->x_label);
  d->figure.y_label = lh_string_copy(d->validation ? "validation loss" : kind->y_label);
  d->figure.log_x = kind->log_x || wants_log_time(d);
  d->figure.log_y = kind->log_y;
  d->figure.x_is_rate = kind->x_is_rate;
  d->figure.x_is_count = kind->x_is_count;
  for (size_t row = 0; row < d->outcome->rows.rows; row++) {
    const size_t rank = rank_of_method(d->outcome, row);
    d->figure.kept = rank >= d->figure.kept ? rank + 1 : d->figure.kept;
  }
  bool good = d->figure.name && d->figure.title && d->figure.x_label && d->figure.y_label;
  for (size_t row = 0; good && row < d->outcome->rows.rows; row++)
    if (d->included[row])
      good = kind->x_column ? add_scenario(d, row) : add_curve(d, row);
  return good ? LH_OK : lh_fail(LH_ENOMEM, "no memory for the picture of %s", group);
}

/* At most LH_PLOT_PANELS on one sheet. */
static lh_status draw_pages(const lh_figure *figure, const char *plots, lh_text *paths)
{
  for (size_t first = 0, page = 1; first < figure->panels; first += LH_PLOT_PANELS, page++) {
    lh_figure sheet = *figure; /* borrows everything but the name */
    const size_t left = figure->panels - first;
    sheet.panel = figure->panel + first;
    sheet.panels = left < LH_PLOT_PANELS ? left : LH_PLOT_PANELS;
    sheet.name =
        page == 1 ? lh_string_copy(figure->name) : lh_string_format("%s-%zu", figure->name, page);
    const lh_status status =
        sheet.name ? lh_figure_draw(&sheet, plots) : lh_fail(LH_ENOMEM, "no memory for a picture");
    if (status == LH_OK)
      lh_text_append(paths, "%s/%s.svg\n%s/%s.png\n", plots, sheet.name, plots, sheet.name);
    free(sheet.name);
    LH_TRY(status);
  }
  return LH_OK;
}

static lh_status draw_group(const lh_grouping *grouping, const struct kind *kind, const char *group,
                            const char *plots, lh_text *paths)
{
  struct drawing d = {.outcome = grouping->outcome,
                      .kind = kind,
                      .included = calloc(grouping->outcome->rows.rows + 1, sizeof(bool))};
  if (!d.included)
    return lh_fail(LH_ENOMEM, "no memory for a picture");
  include_rows(&d, grouping, group);
  lh_status status = LH_OK;
  if (!kind->x_column || several_x(&d))
    status = fill_figure(&d, group);
  if (status == LH_OK)
    status = draw_pages(&d.figure, plots, paths);
  lh_figure_fini(&d.figure);
  free(d.included);
  return status;
}

static lh_status draw_all(const lh_outcome *outcome, const char *plots, lh_text *paths)
{
  const lh_grouping grouping = lh_grouping_of(outcome);
  for (size_t row = 0; row < outcome->rows.rows; row++)
    for (size_t i = 0; lh_grouping_first(&grouping, row) && i < sizeof kinds / sizeof *kinds; i++)
      LH_TRY(draw_group(&grouping, &kinds[i], lh_grouping_name(&grouping, row), plots, paths));
  return LH_OK;
}

lh_status lh_plot_experiment(const char *folder, lh_text *paths)
{
  lh_outcome outcome;
  const size_t n = strlen(folder);
  char *plots = lh_string_format("%s%splots", folder, n && folder[n - 1] == '/' ? "" : "/");
  lh_status status = lh_outcome_read(folder, &outcome);
  if (status == LH_OK)
    status = plots ? lh_folder_make(plots) : lh_fail(LH_ENOMEM, "no memory");
  if (status == LH_OK)
    status = draw_all(&outcome, plots, paths);
  if (status == LH_OK && !paths->length)
    status = lh_fail(LH_EINVAL,
                     "%s: nothing to draw: no curve of a training run, and no two node counts or "
                     "bandwidths of a prediction",
                     folder);
  lh_outcome_fini(&outcome);
  free(plots);
  return status;
}
