/* figure.h -- a picture as data: panels of series, drawn by gnuplot to SVG and PNG.
 *
 * Panels share one legend, which has a strip of its own at the right, so that it is never clipped and
 * never covers a line. A series looks the same in all panels, and a method in all pictures.
 */
#ifndef LH_ANALYSIS_FIGURE_H
#define LH_ANALYSIS_FIGURE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct lh_series {
  size_t style; /* index into the figure's legend */
  size_t points, capacity;
  double *x, *y;
} lh_series;

typedef struct lh_panel {
  char *title;
  size_t n;
  lh_series *series; /* (n) */
} lh_panel;

typedef struct lh_figure {
  char *name; /* of the files: NAME.svg, NAME.png, NAME.gp, NAME.dat */
  char *title, *x_label, *y_label;
  bool log_x, log_y;
  bool x_is_rate;  /* x in bit/s: its tics are written "100 Mbps" */
  bool x_is_count; /* x may be large: its tics are written "400.0k", and there are few of them */
  size_t styles;
  char **style; /* (styles) legend entries */
  size_t *look; /* (styles) colour, dash and mark of each */
  size_t kept;  /* looks below this are only for those who ask for them */
  size_t panels;
  lh_panel *panel; /* (panels) */
} lh_figure;

/* Finds or adds. NULL, SIZE_MAX: no memory. */
lh_panel *lh_figure_panel(lh_figure *figure, const char *title);
/* A new style has the look asked for, or, where that is taken, the next free one from `kept` on. */
size_t lh_figure_style(lh_figure *figure, const char *title, size_t look);
lh_series *lh_panel_series(lh_panel *panel, size_t style);
/* Points that are not finite, or not positive on a logarithmic axis, must be left out. */
bool lh_series_add(lh_series *series, double x, double y);
void lh_figure_fini(lh_figure *figure);

/* Writes NAME.dat and NAME.gp into the folder and runs gnuplot there. LH_EIO when gnuplot is missing
 * or fails; the script and data stay. */
lh_status lh_figure_draw(const lh_figure *figure, const char *folder);

#endif
