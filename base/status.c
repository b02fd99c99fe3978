#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Per thread and only ever printed, so the rule against mutable globals is not broken: no result
 * can depend on it. */
static _Thread_local char reason[1024];

/* A text that is too long loses its middle: the end says what is allowed. One line in any case,
 * whatever a name holds. */
static void keep(const char *text)
{
  static const char gap[] = " ... ";
  const size_t length = strlen(text), half = (sizeof reason - sizeof gap) / 2;
  if (length < sizeof reason)
    memcpy(reason, text, length + 1);
  else
    snprintf(reason, sizeof reason, "%.*s%s%s", (int)half, text, gap, text + length - half);
  for (char *c = reason; *c; c++)
    if ((unsigned char)*c < ' ' || *c == 0x7f)
      *c = ' ';
}

void lh_fail_record(const char *format, ...)
{
  char *text = NULL; /* the arguments may point into `reason` */
  va_list arguments;
  va_start(arguments, format);
  const int length = vasprintf(&text, format, arguments);
  va_end(arguments);
  keep(length < 0 ? "no memory for the reason" : text);
  if (length >= 0)
    free(text);
}

void lh_fail_record_within(const char *format, ...)
{
  char context[sizeof reason];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(context, sizeof context, format, arguments);
  va_end(arguments);
  lh_fail_record("%s: %s", context, reason);
}

const char *lh_fail_text(void)
{
  return reason;
}

#define STATUS_TEXT(name, text, exit) [name] = text,
#define STATUS_EXIT(name, text, exit) [name] = exit,
static const char *const texts[LH_STATUS_COUNT] = {LH_STATUS_MAP(STATUS_TEXT)};
static const int exits[LH_STATUS_COUNT] = {LH_STATUS_MAP(STATUS_EXIT)};

const char *lh_status_text(lh_status status)
{
  return (unsigned)status < LH_STATUS_COUNT ? texts[status] : "an unknown status";
}

int lh_status_exit(lh_status status)
{
  return (unsigned)status < LH_STATUS_COUNT ? exits[status] : 1;
}
