#include "base/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- growing strings ------------------------------------------------------------------------- */

static bool text_reserve(lh_text *text, size_t more)
{
  if (text->failed)
    return false;
  const size_t needed = text->length + more + 1;
  if (needed <= text->capacity)
    return true;
  const size_t capacity = needed < 2 * text->capacity ? 2 * text->capacity : needed + 32;
  char *data = realloc(text->data, capacity);
  if (!data) {
    text->failed = true;
    return false;
  }
  text->data = data;
  text->capacity = capacity;
  return true;
}

void lh_text_append_bytes(lh_text *text, const char *bytes, size_t n)
{
  if (!text_reserve(text, n))
    return;
  if (n)
    memcpy(text->data + text->length, bytes, n);
  text->length += n;
  text->data[text->length] = '\0';
}

void lh_text_append(lh_text *text, const char *format, ...)
{
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  const int n = vsnprintf(NULL, 0, format, arguments);
  if (n < 0)
    text->failed = true;
  else if (text_reserve(text, (size_t)n)) {
    vsnprintf(text->data + text->length, (size_t)n + 1, format, again);
    text->length += (size_t)n;
  }
  va_end(again);
  va_end(arguments);
}

void lh_text_free(lh_text *text)
{
  free(text->data);
  *text = (lh_text){0};
}

char *lh_string_copy(const char *s)
{
  return strdup(s);
}

char *lh_string_format(const char *format, ...)
{
  char *s = NULL;
  va_list arguments;
  va_start(arguments, format);
  const int n = vasprintf(&s, format, arguments);
  va_end(arguments);
  return n < 0 ? NULL : s;
}

/* ---- suggestions ----------------------------------------------------------------------------- */

/* Case and the choice between '-', '_' and ' ' cost nothing: they are the commonest slips. */
static char folded(char c)
{
  return c == '_' || c == ' ' ? '-' : (char)tolower((unsigned char)c);
}

#define NAME_MAX_COMPARED 64

/* Optimal string alignment: insertions, deletions, substitutions, swaps of neighbours. */
static size_t edit_distance(const char *a, const char *b)
{
  const size_t n = strnlen(a, NAME_MAX_COMPARED), m = strnlen(b, NAME_MAX_COMPARED);
  size_t row[3][NAME_MAX_COMPARED + 1];
  for (size_t j = 0; j <= m; j++)
    row[0][j] = j;
  for (size_t i = 1; i <= n; i++) {
    size_t *now = row[i % 3], *before = row[(i + 2) % 3], *earlier = row[(i + 1) % 3];
    now[0] = i;
    for (size_t j = 1; j <= m; j++) {
      const bool same = folded(a[i - 1]) == folded(b[j - 1]);
      size_t least = before[j - 1] + !same;
      if (before[j] + 1 < least)
        least = before[j] + 1;
      if (now[j - 1] + 1 < least)
        least = now[j - 1] + 1;
      if (i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) &&
          folded(a[i - 2]) == folded(b[j - 1]) && earlier[j - 2] + 1 < least)
        least = earlier[j - 2] + 1;
      now[j] = least;
    }
  }
  return row[n % 3][m];
}

/* "ddp-adamw" means "ddp", "band" means "bandwidth": one begins the other, in whole. */
static bool begins(const char *a, const char *b)
{
  const size_t n = strlen(a), m = strlen(b), shorter = n < m ? n : m;
  if (shorter < 3)
    return false;
  for (size_t i = 0; i < shorter; i++)
    if (folded(a[i]) != folded(b[i]))
      return false;
  return true;
}

const char *lh_nearest(const char *word, const char *const *names)
{
  const char *best = NULL;
  size_t best_distance = SIZE_MAX;
  for (; *names; names++) {
    const size_t n = strlen(word), m = strlen(*names), longer = n > m ? n : m;
    size_t distance = edit_distance(word, *names);
    if (3 * distance > longer) {
      if (!begins(word, *names))
        continue;
      distance = longer; /* a beginning is worse than any slip */
    }
    if (distance < best_distance) {
      best = *names;
      best_distance = distance;
    }
  }
  return best;
}

const char *lh_did_you_mean(const char *word, const char *const *names, char *buffer, size_t size)
{
  const char *near = lh_nearest(word, names);
  snprintf(buffer, size, near ? "; did you mean \"%s\"?" : "%s", near ? near : "");
  return buffer;
}

/* ---- hash ------------------------------------------------------------------------------------ */

static uint64_t fnv1a(const char *bytes, size_t n, uint64_t hash)
{
  for (size_t i = 0; i < n; i++)
    hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3u;
  return hash;
}

void lh_hash_hex(const char *bytes, size_t n, char out[33])
{
  snprintf(out, 33, "%016llx%016llx", (unsigned long long)fnv1a(bytes, n, 0xcbf29ce484222325u),
           (unsigned long long)fnv1a(bytes, n, 0x6c62272e07bb0142u));
}
