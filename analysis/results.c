#include "analysis/results.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct reader {
  const char *path, *at;
  size_t line;
  char **cell;
  size_t cells, capacity;
};

static lh_status push_cell(struct reader *r, lh_text *text)
{
  if (r->cells == r->capacity) {
    r->capacity = 2 * r->capacity + 64;
    char **larger = realloc(r->cell, r->capacity * sizeof *larger);
    if (!larger)
      return lh_fail(LH_ENOMEM, "%s: no memory for its cells", r->path);
    r->cell = larger;
  }
  r->cell[r->cells] = text->data ? text->data : lh_string_copy("");
  *text = (lh_text){0};
  return r->cell[r->cells++] ? LH_OK : lh_fail(LH_ENOMEM, "%s: no memory for a cell", r->path);
}

static lh_status read_quoted(struct reader *r, lh_text *text)
{
  for (r->at++;; r->at++) {
    if (!*r->at)
      return lh_fail(LH_EINVAL, "%s: line %zu: a quoted cell does not end", r->path, r->line);
    if (*r->at == '"' && *++r->at != '"')
      return LH_OK;
    r->line += *r->at == '\n';
    lh_text_append_bytes(text, r->at, 1);
  }
}

/* Reads one line's cells; *cells counts them. */
static lh_status read_line(struct reader *r, size_t *cells)
{
  for (*cells = 0;; r->at++) {
    lh_text text = {0};
    lh_status status = LH_OK;
    if (*r->at == '"')
      status = read_quoted(r, &text);
    const size_t n = strcspn(r->at, ",\r\n");
    lh_text_append_bytes(&text, r->at, n);
    r->at += n;
    if (status == LH_OK)
      status = push_cell(r, &text);
    lh_text_free(&text);
    LH_TRY(status);
    ++*cells;
    if (*r->at != ',')
      break;
  }
  r->at += *r->at == '\r';
  r->at += *r->at == '\n';
  r->line++;
  return LH_OK;
}

static lh_status read_all(struct reader *r, size_t *columns, size_t *rows)
{
  LH_TRY(read_line(r, columns));
  for (*rows = 0; *r->at; ++*rows) {
    size_t cells;
    const size_t line = r->line;
    LH_TRY(read_line(r, &cells));
    if (cells != *columns)
      return lh_fail(LH_EINVAL, "%s: line %zu: found %zu cells, allowed: %zu as in the first line",
                     r->path, line, cells, *columns);
  }
  return LH_OK;
}

lh_status lh_frame_read_csv(const char *path, lh_frame *frame)
{
  *frame = (lh_frame){0};
  char *data;
  size_t size;
  LH_TRY(lh_file_read(path, &data, &size));
  struct reader r = {.path = path, .at = data, .line = 1};
  const lh_status status = read_all(&r, &frame->columns, &frame->rows);
  free(data);
  frame->name = r.cell; /* names and cells are one array */
  frame->cell = r.cell ? r.cell + frame->columns : NULL;
  if (status != LH_OK) {
    for (size_t i = 0; r.cell && i < r.cells; i++)
      free(r.cell[i]);
    free(r.cell);
    *frame = (lh_frame){0};
  }
  return status;
}

void lh_frame_fini(lh_frame *frame)
{
  for (size_t i = 0; frame->name && i < frame->columns * (frame->rows + 1); i++)
    free(frame->name[i]);
  free(frame->name);
  *frame = (lh_frame){0};
}

size_t lh_frame_column(const lh_frame *frame, const char *name)
{
  for (size_t i = 0; i < frame->columns; i++)
    if (strcmp(frame->name[i], name) == 0)
      return i;
  return SIZE_MAX;
}

const char *lh_frame_text(const lh_frame *frame, size_t row, size_t column)
{
  return column < frame->columns && row < frame->rows ? frame->cell[row * frame->columns + column]
                                                      : "";
}

double lh_frame_number(const lh_frame *frame, size_t row, size_t column)
{
  const char *text = lh_frame_text(frame, row, column);
  char *end;
  const double value = strtod(text, &end);
  return *text && !isspace((unsigned char)*text) && !*end ? value : NAN;
}
