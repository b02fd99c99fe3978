/* gnuplot.c -- how a figure is drawn: data blocks, a script, and the program that reads them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/figure.h"
#include "base/text.h"
#include "base/units.h"

/* Okabe and Ito's colours, told apart by the colour-blind as well; their yellow is left out because
 * thin yellow lines vanish on white. Dash and point change with the colour, for print. */
static const struct look {
  const char *colour;
  int dash, point;
} looks[] = {{"#0072B2", 1, 7},  {"#D55E00", 2, 5}, {"#009E73", 3, 9}, {"#CC79A7", 4, 11},
             {"#000000", 5, 13}, {"#56B4E9", 1, 6}, {"#E69F00", 2, 4}};
#define LOOKS (sizeof looks / sizeof *looks)

/* ---- data -------------------------------------------------------------------------------------- */

/* One block per series, panel by panel; gnuplot counts them with "index". */
static void write_data(const lh_figure *figure, lh_text *out)
{
  char x[40], y[40];
  lh_text_append(out, "# %s\n# x: %s\n# y: %s\n", figure->title, figure->x_label, figure->y_label);
  for (size_t i = 0; i < figure->panels; i++)
    for (size_t j = 0; j < figure->panel[i].n; j++) {
      const lh_series *s = &figure->panel[i].series[j];
      lh_text_append(out, "# %s: %s\n", figure->panel[i].title, figure->style[s->style]);
      for (size_t k = 0; k < s->points; k++)
        lh_text_append(out, "%s %s\n", lh_format_number(x, sizeof x, s->x[k]),
                       lh_format_number(y, sizeof y, s->y[k]));
      lh_text_append(out, "\n\n");
    }
}

/* ---- script ------------------------------------------------------------------------------------ */

struct sheet {
  double width, height; /* pixels */
  double legend;        /* pixels of the strip at the right */
  size_t columns, rows; /* of panels */
  double low_y, high_y; /* common range, so that panels can be compared */
  double low_x, high_x;
};

#define PANEL_WIDTH 430.0
#define PANEL_HEIGHT 340.0
#define TITLE_HEIGHT 44.0
#define LEFT 92.0 /* of a panel, for numbers and label */
#define RIGHT 14.0
#define TOP 30.0
#define BOTTOM 56.0

static void widen(double value, double *low, double *high)
{
  *low = fmin(*low, value);
  *high = fmax(*high, value);
}

static void margin(bool logarithmic, double *low, double *high)
{
  if (logarithmic) {
    const double factor = pow(*high / *low, 0.05) * (*high > *low ? 1 : 1.5);
    *low /= factor;
    *high *= factor;
  } else {
    const double extra = *high > *low ? 0.05 * (*high - *low) : 0.5 * fabs(*high) + 0.5;
    *low -= extra;
    *high += extra;
  }
}

static struct sheet lay_out(const lh_figure *figure)
{
  struct sheet s = {.low_x = INFINITY, .high_x = -INFINITY, .low_y = INFINITY, .high_y = -INFINITY};
  size_t longest = 4;
  for (size_t i = 0; i < figure->styles; i++)
    longest = strlen(figure->style[i]) > longest ? strlen(figure->style[i]) : longest;
  s.columns = figure->panels < 3 ? figure->panels : figure->panels == 4 ? 2 : 3;
  s.rows = (figure->panels + s.columns - 1) / s.columns;
  s.legend = 80.0 + 8.0 * (double)longest;
  s.width = PANEL_WIDTH * (double)s.columns + s.legend;
  s.height = PANEL_HEIGHT * (double)s.rows + TITLE_HEIGHT;
  for (size_t i = 0; i < figure->panels; i++)
    for (size_t j = 0; j < figure->panel[i].n; j++)
      for (size_t k = 0; k < figure->panel[i].series[j].points; k++) {
        widen(figure->panel[i].series[j].x[k], &s.low_x, &s.high_x);
        widen(figure->panel[i].series[j].y[k], &s.low_y, &s.high_y);
      }
  margin(figure->log_x, &s.low_x, &s.high_x);
  margin(figure->log_y, &s.low_y, &s.high_y);
  return s;
}

/* Single quotes are doubled in gnuplot's strings. */
static void append_quoted(lh_text *out, const char *text)
{
  lh_text_append(out, "'");
  for (; *text; text++)
    lh_text_append(out, *text == '\'' ? "''" : "%c", *text);
  lh_text_append(out, "'");
}

static void write_styles(const lh_figure *figure, lh_text *out)
{
  for (size_t i = 0; i < figure->styles; i++) {
    const struct look *look = &looks[figure->look[i] % LOOKS];
    lh_text_append(out,
                   "set linetype %zu linecolor rgb '%s' linewidth 2 dashtype %d pointtype %d "
                   "pointsize 0.9\n",
                   i + 1, look->colour, look->dash + (int)(figure->look[i] / LOOKS), look->point);
  }
}

static void write_axes(const lh_figure *figure, const struct sheet *s, lh_text *out)
{
  lh_text_append(out,
                 "set border 3\nset tics nomirror\nset grid linecolor rgb '#dddddd'\nunset key\n");
  lh_text_append(out, "set xrange [%.9g:%.9g]\nset yrange [%.9g:%.9g]\n", s->low_x, s->high_x,
                 s->low_y, s->high_y);
  lh_text_append(out, "set xlabel ");
  append_quoted(out, figure->x_label);
  lh_text_append(out, "\nset ylabel ");
  append_quoted(out, figure->y_label);
  lh_text_append(out, " offset 1,0\n");
  if (figure->log_x)
    lh_text_append(out, "set logscale x\n");
  if (figure->log_y)
    lh_text_append(out, "set logscale y\n");
}

/* "100 Mbps", "2.5 Gbps" of a rate in bit/s. */
static const char *rate_text(char *buffer, size_t size, double rate)
{
  static const char *const prefixes[] = {"", "k", "M", "G", "T"};
  size_t i = 0;
  for (; i < 4 && rate >= 1000; i++)
    rate /= 1000;
  snprintf(buffer, size, "%.4g %sbps", rate, prefixes[i]);
  return buffer;
}

/* About four tics, at one, two or five times a power of ten, so that long labels do not meet. */
static void write_count_tics(const struct sheet *s, lh_text *out)
{
  const double raw = (s->high_x - s->low_x) / 4, power = pow(10, floor(log10(raw)));
  const double factor = raw / power < 2 ? 2 : raw / power < 5 ? 5 : 10;
  lh_text_append(out, "set xtics %.9g\nset format x '%%.1s%%c'\n", factor * power);
}

/* Few distinct x values, such as node counts, are marked as they are; powers of ten elsewhere. */
static void write_x_tics(const lh_figure *figure, lh_text *out)
{
  double seen[12];
  size_t n = 0;
  for (size_t i = 0; i < figure->panels; i++)
    for (size_t j = 0; j < figure->panel[i].n; j++) {
      const lh_series *series = &figure->panel[i].series[j];
      for (size_t k = 0; k < series->points; k++) {
        size_t m = 0;
        while (m < n && seen[m] != series->x[k])
          m++;
        if (m == 12)
          return;
        if (m == n)
          seen[n++] = series->x[k];
      }
    }
  char number[40], text[40];
  for (size_t i = 0; i < n; i++) {
    lh_format_number(number, sizeof number, seen[i]);
    if (figure->x_is_rate)
      rate_text(text, sizeof text, seen[i]);
    lh_text_append(out, "%s'%s' %s", i ? "," : "set xtics (", figure->x_is_rate ? text : number,
                   number);
  }
  lh_text_append(out, n ? ")\n" : "");
}

static void write_panel(const lh_figure *figure, const struct sheet *s, size_t i, size_t block,
                        lh_text *out)
{
  const double left = PANEL_WIDTH * (double)(i % s->columns) + LEFT;
  const double right = PANEL_WIDTH * (double)(i % s->columns + 1) - RIGHT;
  const double top = TITLE_HEIGHT + PANEL_HEIGHT * (double)(i / s->columns) + TOP;
  const double bottom = TITLE_HEIGHT + PANEL_HEIGHT * (double)(i / s->columns + 1) - BOTTOM;
  lh_text_append(out, "set lmargin at screen %.6f\nset rmargin at screen %.6f\n", left / s->width,
                 right / s->width);
  lh_text_append(out, "set tmargin at screen %.6f\nset bmargin at screen %.6f\nset title ",
                 1 - top / s->height, 1 - bottom / s->height);
  append_quoted(out, figure->panel[i].title);
  lh_text_append(out, " offset 0,-0.5\nplot ");
  const lh_panel *panel = &figure->panel[i];
  for (size_t j = 0; j < panel->n; j++) {
    const size_t every = panel->series[j].points / 13 + 1; /* a dozen marks on a long curve */
    lh_text_append(out, "%s'%s.dat' index %zu with linespoints linetype %zu pointinterval %zu",
                   j ? ", \\\n  " : "", figure->name, block + j, panel->series[j].style + 1, every);
  }
  lh_text_append(out, "\n");
}

static void write_legend(const lh_figure *figure, const struct sheet *s, lh_text *out)
{
  lh_text_append(out, "unset title\nunset xlabel\nunset ylabel\nunset logscale\nunset border\n"
                      "unset tics\nunset grid\nset xrange [0:1]\nset yrange [0:1]\n");
  lh_text_append(out, "set lmargin at screen %.6f\nset rmargin at screen %.6f\n",
                 1 - s->legend / s->width, 1 - 4 / s->width);
  lh_text_append(out, "set tmargin at screen %.6f\nset bmargin at screen 0.02\n",
                 1 - (TITLE_HEIGHT + TOP) / s->height);
  lh_text_append(out, "set key at graph 0,1 left top Left reverse samplen 3 spacing 1.3\nplot ");
  for (size_t i = 0; i < figure->styles; i++) {
    lh_text_append(out, "%s2 with linespoints linetype %zu title ", i ? ", \\\n  " : "", i + 1);
    append_quoted(out, figure->style[i]);
  }
  lh_text_append(out, "\n");
}

static void write_page(const lh_figure *figure, const struct sheet *s, const char *terminal,
                       const char *ending, lh_text *out)
{
  lh_text_append(out, "\nreset\nset encoding utf8\nset terminal %s size %.0f,%.0f ", terminal,
                 s->width, s->height);
  lh_text_append(out, "noenhanced font 'DejaVu Sans,11' background rgb 'white'\n");
  lh_text_append(out, "set output '%s.%s'\n", figure->name, ending);
  write_styles(figure, out);
  lh_text_append(out, "set multiplot\nset label 1 ");
  append_quoted(out, figure->title);
  lh_text_append(out, " at screen 0.5,%.6f center font 'DejaVu Sans,14'\n",
                 1 - 0.5 * TITLE_HEIGHT / s->height);
  write_axes(figure, s, out);
  if (figure->x_is_count)
    write_count_tics(s, out);
  else
    write_x_tics(figure, out);
  for (size_t i = 0, block = 0; i < figure->panels; block += figure->panel[i++].n) {
    write_panel(figure, s, i, block, out);
    if (i == 0)
      lh_text_append(out, "unset label 1\n");
  }
  write_legend(figure, s, out);
  lh_text_append(out, "unset multiplot\nunset output\n");
}

static void write_script(const lh_figure *figure, lh_text *out)
{
  const struct sheet sheet = lay_out(figure);
  lh_text_append(out, "# gnuplot %s.gp draws %s.svg and %s.png from %s.dat\n", figure->name,
                 figure->name, figure->name, figure->name);
  write_page(figure, &sheet, "svg", "svg", out);
  write_page(figure, &sheet, "pngcairo", "png", out);
}

/* ---- the program ------------------------------------------------------------------------------- */

static lh_status run_gnuplot(const char *folder, const char *script)
{
  int said[2];
  if (pipe(said) != 0)
    return lh_fail(LH_EIO, "gnuplot: no pipe to it");
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    dup2(said[1], STDERR_FILENO);
    dup2(said[1], STDOUT_FILENO);
    close(said[0]);
    if (chdir(folder) == 0)
      execlp("gnuplot", "gnuplot", script, (char *)NULL);
    _exit(127);
  }
  close(said[1]);
  lh_text text = {0};
  char piece[512];
  for (ssize_t n; child > 0 && (n = read(said[0], piece, sizeof piece)) > 0;)
    lh_text_append_bytes(&text, piece, (size_t)n);
  close(said[0]);
  int how = -1;
  if (child > 0)
    waitpid(child, &how, 0);
  lh_status status = LH_OK;
  if (WIFEXITED(how) && WEXITSTATUS(how) == 127)
    status = lh_fail(LH_EIO, "gnuplot could not be started; the package gnuplot-nox has it");
  else if (!WIFEXITED(how) || WEXITSTATUS(how) != 0) {
    for (char *c = text.data; c && *c; c++)
      *c = *c == '\n' ? ' ' : *c;
    status = lh_fail(LH_EIO, "gnuplot failed on %s/%s: %.300s", folder, script,
                     text.data ? text.data : "no reason given");
  }
  lh_text_free(&text);
  return status;
}

static lh_status write_file(const char *folder, const char *name, const char *ending,
                            const lh_text *text)
{
  char *path = lh_string_format("%s/%s.%s", folder, name, ending);
  const lh_status status = path && !text->failed
                               ? lh_file_write_atomic(path, text->data, text->length)
                               : lh_fail(LH_ENOMEM, "no memory for the figure %s", name);
  free(path);
  return status;
}

lh_status lh_figure_draw(const lh_figure *figure, const char *folder)
{
  lh_text data = {0}, script = {0};
  write_data(figure, &data);
  write_script(figure, &script);
  lh_status status = write_file(folder, figure->name, "dat", &data);
  if (status == LH_OK)
    status = write_file(folder, figure->name, "gp", &script);
  char *name = lh_string_format("%s.gp", figure->name);
  if (status == LH_OK)
    status = name ? run_gnuplot(folder, name) : lh_fail(LH_ENOMEM, "no memory to draw a figure");
  free(name);
  lh_text_free(&data);
  lh_text_free(&script);
  return status;
}
