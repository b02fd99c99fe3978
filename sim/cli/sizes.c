#include "sim/cli/sizes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

#define MOST_SIZES 10000
#define ALLOWED "\"100MB\", \"8,1kB,1MiB\" or \"8:1GiB:x2\""

/* One size of `length` characters. */
static lh_status read_size(const char *text, size_t length, double *bytes)
{
  char word[64];
  snprintf(word, sizeof word, "%.*s", (int)length, text);
  char *end;
  *bytes = strtod(word, &end);
  if (*word && !*end && *bytes >= 0 && isfinite(*bytes))
    return LH_OK; /* a bare number of bytes, as nccl-tests take them */
  if (lh_quantity_parse(word, LH_UNIT_BYTES, bytes) != LH_OK)
    return lh_fail(LH_EINVAL, "--bytes: %s", lh_fail_text());
  return LH_OK;
}

static lh_status add(double value, double **bytes, size_t *n)
{
  if (*n == MOST_SIZES)
    return lh_fail(LH_EINVAL, "--bytes: more than %d sizes", MOST_SIZES);
  double *larger = realloc(*bytes, (*n + 1) * sizeof *larger);
  if (!larger)
    return lh_fail(LH_ENOMEM, "no memory for %zu sizes", *n);
  *bytes = larger;
  larger[(*n)++] = value;
  return LH_OK;
}

static lh_status read_list(const char *text, double **bytes, size_t *n)
{
  for (;; text++) {
    const size_t length = strcspn(text, ",");
    double value;
    LH_TRY(read_size(text, length, &value));
    LH_TRY(add(value, bytes, n));
    text += length;
    if (!*text)
      return LH_OK;
  }
}

static lh_status read_range(const char *text, double **bytes, size_t *n)
{
  const char *first = strchr(text, ':'), *second = strchr(first + 1, ':');
  double from, to, factor = 2, step = 0;
  const char *stride = second ? second + 1 : "x2";
  LH_TRY(read_size(text, (size_t)(first - text), &from));
  LH_TRY(read_size(first + 1, second ? (size_t)(second - first - 1) : strlen(first + 1), &to));
  if (stride[0] == '+')
    LH_TRY(read_size(stride + 1, strlen(stride + 1), &step));
  else {
    char *end = NULL;
    factor = stride[0] == 'x' ? strtod(stride + 1, &end) : 0;
    if (!(factor > 1) || !end || *end || !isfinite(factor))
      return lh_fail(LH_EINVAL, "--bytes: found \"%s\", allowed: x2 (a factor over 1) or +1MB",
                     stride);
  }
  if (to < from || (step == 0 && (from <= 0 || stride[0] == '+')))
    return lh_fail(LH_EINVAL, "--bytes: found \"%s\", allowed: ascending, such as %s", text,
                   ALLOWED);
  for (double value = from; value <= to; value = step > 0 ? value + step : value * factor)
    LH_TRY(add(value, bytes, n));
  return LH_OK;
}

lh_status lh_byte_sizes_read(const char *text, double **bytes, size_t *n)
{
  *bytes = NULL;
  *n = 0;
  const lh_status status =
      strchr(text, ':') ? read_range(text, bytes, n) : read_list(text, bytes, n);
  if (status != LH_OK) {
    free(*bytes);
    *bytes = NULL;
  }
  return status;
}
