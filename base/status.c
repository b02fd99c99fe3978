#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Per thread and only ever printed, so the rule against mutable globals is not broken: no result
 * can depend on it. */
static _Thread_local char reason[1024];

void lh_fail_record(const char *format, ...)
{
  char text[sizeof reason] = {0}; /* the arguments may point into `reason` */
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  memcpy(reason, text, sizeof reason);
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
