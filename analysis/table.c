#include "analysis/table.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"

/* ---- values ---------------------------------------------------------------------------------- */

static const char *format_share(char *buffer, size_t size, double value)
{
  snprintf(buffer, size, "%.1f %%", 100 * value);
  return buffer;
}

static const char *format_plain(char *buffer, size_t size, double value)
{
  snprintf(buffer, size, "%.4g", value);
  return buffer;
}

static const char *format_joule(char *buffer, size_t size, double value)
{
  snprintf(buffer, size, value < 1e5 ? "%.3g J" : "%.3g kWh", value < 1e5 ? value : value / 3.6e6);
  return buffer;
}

static const char *format_usd(char *buffer, size_t size, double value)
{
  snprintf(buffer, size, value < 100 ? "%.3g USD" : "%.0f USD", value);
  return buffer;
}

/* By a part of the column's name; the first that fits. */
static const struct style {
  const char *part;
  bool ends; /* the name must end with it */
  const char *(*format)(char *, size_t, double);
} styles[] = {
    {"_Bps", true, lh_format_bytes_per_s},
    {"bytes", false, lh_format_bytes},
    {"_usd", true, format_usd},
    {"_joule", true, format_joule},
    {"utilisation", true, format_share},
    {"tokens", true, lh_format_count},
    {"parameters", true, lh_format_count},
    {"seconds_to_target", true, lh_format_s},
    {"_s", true, lh_format_s},
    {"loss", true, format_plain},
};

static bool fits(const struct style *style, const char *column)
{
  const size_t n = strlen(column), m = strlen(style->part);
  return style->ends ? n >= m && strcmp(column + n - m, style->part) == 0
                     : strstr(column, style->part) != NULL;
}

const char *lh_pretty(const char *column, const char *text, char *buffer, size_t size)
{
  char *end;
  const double value = strtod(text, &end);
  if (*text && !*end)
    for (size_t i = 0; i < sizeof styles / sizeof *styles; i++)
      if (fits(&styles[i], column))
        return styles[i].format(buffer, size, value);
  snprintf(buffer, size, "%s", text);
  return buffer;
}

/* ---- tables ---------------------------------------------------------------------------------- */

void lh_table_add(lh_table *table, const char *text)
{
  if (table->cells == table->capacity) {
    const size_t capacity = 2 * table->capacity + 32;
    char **larger = realloc(table->cell, capacity * sizeof *larger);
    if (!larger) {
      table->failed = true;
      return;
    }
    table->cell = larger;
    table->capacity = capacity;
  }
  char *copy = lh_string_copy(text);
  if (!copy)
    table->failed = true;
  else
    table->cell[table->cells++] = copy;
}

void lh_table_add_value(lh_table *table, const char *column, const char *text)
{
  char buffer[256];
  lh_table_add(table, lh_pretty(column, text, buffer, sizeof buffer));
}

/* Characters, not bytes: continuation bytes of UTF-8 take no place. */
static size_t width_of(const char *text)
{
  size_t n = 0;
  for (; *text; text++)
    n += ((unsigned char)*text & 0xc0) != 0x80;
  return n;
}

static const char *cell_at(const lh_table *table, size_t row, size_t column)
{
  const size_t i = row * table->columns + column;
  return i < table->cells ? table->cell[i] : "";
}

struct layout {
  size_t width;
  bool empty, numbers;
};

static struct layout measure(const lh_table *table, size_t rows, size_t column)
{
  struct layout layout = {width_of(cell_at(table, 0, column)), rows > 1, true};
  for (size_t row = 1; row < rows; row++) {
    const char *text = cell_at(table, row, column);
    const size_t width = width_of(text);
    if (!*text)
      continue;
    layout.empty = false;
    const char *digit = *text == '-' || *text == '+' ? text + 1 : text;
    layout.numbers = layout.numbers && (isdigit((unsigned char)*digit) || strcmp(text, "-") == 0);
    if (width > layout.width)
      layout.width = width;
  }
  return layout;
}

static void print_cell(const char *text, const struct layout *layout, bool last, FILE *out)
{
  const int padding = (int)(layout->width - width_of(text));
  if (layout->numbers)
    fprintf(out, "%*s%s", padding, "", text);
  else
    fprintf(out, "%s%*s", text, last ? 0 : padding, "");
}

lh_status lh_table_print(const lh_table *table, FILE *out)
{
  struct layout *layout = calloc(table->columns + 1, sizeof *layout);
  if (table->failed || !layout) {
    free(layout);
    return lh_fail(LH_ENOMEM, "no memory to print a table");
  }
  const size_t rows = (table->cells + table->columns - 1) / table->columns;
  for (size_t i = 0; i < table->columns; i++)
    layout[i] = measure(table, rows, i);
  for (size_t row = 0; row < rows; row++) {
    bool first = true;
    size_t last = 0; /* no spaces at the end of a line */
    for (size_t i = 0; i < table->columns; i++)
      last = *cell_at(table, row, i) ? i : last;
    for (size_t i = 0; i <= last; i++) {
      if (layout[i].empty)
        continue;
      fputs(first ? "" : "  ", out);
      print_cell(cell_at(table, row, i), &layout[i], i == last, out);
      first = false;
    }
    fputc('\n', out);
  }
  free(layout);
  return LH_OK;
}

void lh_table_fini(lh_table *table)
{
  for (size_t i = 0; i < table->cells; i++)
    free(table->cell[i]);
  free(table->cell);
  *table = (lh_table){.columns = table->columns};
}
