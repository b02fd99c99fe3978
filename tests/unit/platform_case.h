/* platform_case.h -- platforms from JSON text, for the tests of sim/platform. */
#ifndef LH_TESTS_PLATFORM_CASE_H
#define LH_TESTS_PLATFORM_CASE_H

#include "base/text.h"
#include "sim/platform/platform.h"
#include "tests/check.h"

#define DEVICES LH_SOURCE_DIR "/platforms/devices"

/* With ' for ", so that JSON fits into C. */
static inline char *case_text(const char *single_quoted)
{
  char *text = lh_string_copy(single_quoted);
  for (char *c = text; *c; c++)
    if (*c == '\'')
      *c = '"';
  return text;
}

static inline lh_status case_try(const char *single_quoted, lh_platform **platform)
{
  char *text = case_text(single_quoted);
  lh_json_document *document = NULL;
  *platform = NULL;
  lh_status status = lh_json_read_text("case.json", text, &document);
  if (status == LH_OK)
    status = lh_platform_read(lh_json_root(document), DEVICES, platform);
  lh_json_document_free(document);
  free(text);
  return status;
}

static inline lh_platform *case_platform(const char *single_quoted)
{
  lh_platform *platform;
  lh_status status = case_try(single_quoted, &platform);
  if (status != LH_OK) {
    fprintf(stderr, "%s\n%s: %s\n", single_quoted, lh_status_text(status), lh_fail_text());
    exit(1);
  }
  return platform;
}

static inline lh_route case_route(const lh_platform *platform, size_t src, size_t dst)
{
  lh_route route;
  REQUIRE_OK(lh_platform_route(platform, src, dst, &route));
  return route;
}

/* "node-0.up node-1.down" */
static inline const char *case_names(const lh_platform *platform, const lh_route *route,
                                     char *buffer, size_t size)
{
  size_t length = 0;
  buffer[0] = '\0';
  for (size_t i = 0; i < route->links && length < size; i++)
    length += (size_t)snprintf(buffer + length, size - length, "%s%s", i ? " " : "",
                               platform->link[route->link[i]].name);
  return buffer;
}

#define CHECK_ROUTE(platform, src, dst, expected)                                                  \
  do {                                                                                             \
    char names_[4096];                                                                             \
    lh_route route_ = case_route(platform, src, dst);                                              \
    CHECK(strcmp(case_names(platform, &route_, names_, sizeof names_), expected) == 0,             \
          "%d -> %d goes by \"%s\", expected \"%s\"", (int)(src), (int)(dst), names_, expected);   \
  } while (0)

/* Least rate on a route. */
static inline double case_narrowest(const lh_platform *platform, const lh_route *route)
{
  double rate = route->cap_Bps;
  for (size_t i = 0; i < route->links; i++)
    rate = fmin(rate, platform->link[route->link[i]].bandwidth_Bps);
  return rate;
}

#endif
