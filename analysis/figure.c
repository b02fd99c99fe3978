#include "analysis/figure.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Grows an array by one zeroed element; NULL: no memory, and the array is as it was. */
static void *grown(void *array, size_t n, size_t size)
{
  char *larger = realloc(array, (n + 1) * size);
  if (larger)
    memset(larger + n * size, 0, size);
  return larger;
}

lh_panel *lh_figure_panel(lh_figure *figure, const char *title)
{
  for (size_t i = 0; i < figure->panels; i++)
    if (strcmp(figure->panel[i].title, title) == 0)
      return &figure->panel[i];
  lh_panel *larger = grown(figure->panel, figure->panels, sizeof *larger);
  if (!larger)
    return NULL;
  figure->panel = larger;
  larger[figure->panels].title = lh_string_copy(title);
  return larger[figure->panels].title ? &larger[figure->panels++] : NULL;
}

static bool look_taken(const lh_figure *figure, size_t look)
{
  for (size_t i = 0; i < figure->styles; i++)
    if (figure->look[i] == look)
      return true;
  return false;
}

size_t lh_figure_style(lh_figure *figure, const char *title, size_t look)
{
  for (size_t i = 0; i < figure->styles; i++)
    if (strcmp(figure->style[i], title) == 0)
      return i;
  char **larger = grown(figure->style, figure->styles, sizeof *larger);
  if (!larger)
    return SIZE_MAX;
  figure->style = larger;
  size_t *looks = grown(figure->look, figure->styles, sizeof *looks);
  if (!looks)
    return SIZE_MAX;
  figure->look = looks;
  if (look_taken(figure, look))
    for (look = figure->kept; look_taken(figure, look);)
      look++;
  looks[figure->styles] = look;
  larger[figure->styles] = lh_string_copy(title);
  return larger[figure->styles] ? figure->styles++ : SIZE_MAX;
}

lh_series *lh_panel_series(lh_panel *panel, size_t style)
{
  for (size_t i = 0; i < panel->n; i++)
    if (panel->series[i].style == style)
      return &panel->series[i];
  lh_series *larger = grown(panel->series, panel->n, sizeof *larger);
  if (!larger)
    return NULL;
  panel->series = larger;
  larger[panel->n].style = style;
  return &larger[panel->n++];
}

bool lh_series_add(lh_series *series, double x, double y)
{
  if (series->points == series->capacity) {
    const size_t capacity = 2 * series->capacity + 16;
    double *xs = realloc(series->x, capacity * sizeof *xs);
    if (xs)
      series->x = xs;
    double *ys = xs ? realloc(series->y, capacity * sizeof *ys) : NULL;
    if (!ys)
      return false;
    series->y = ys;
    series->capacity = capacity;
  }
  series->x[series->points] = x;
  series->y[series->points++] = y;
  return true;
}

void lh_figure_fini(lh_figure *figure)
{
  for (size_t i = 0; i < figure->panels; i++) {
    for (size_t j = 0; j < figure->panel[i].n; j++) {
      free(figure->panel[i].series[j].x);
      free(figure->panel[i].series[j].y);
    }
    free(figure->panel[i].series);
    free(figure->panel[i].title);
  }
  for (size_t i = 0; i < figure->styles; i++)
    free(figure->style[i]);
  free(figure->panel);
  free(figure->style);
  free(figure->look);
  free(figure->name);
  free(figure->title);
  free(figure->x_label);
  free(figure->y_label);
  *figure = (lh_figure){0};
}
