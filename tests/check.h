/* check.h -- assertions that print what was expected, what came and where, and survive NDEBUG. */
#ifndef LH_TESTS_CHECK_H
#define LH_TESTS_CHECK_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

static int check_failures;

#define CHECK(condition, ...)                                                                      \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      check_failures++;                                                                            \
      fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);                              \
      fprintf(stderr, __VA_ARGS__);                                                                \
      fprintf(stderr, "\n");                                                                       \
    }                                                                                              \
  } while (0)

/* |got - expected| <= bound; NaN fails. */
#define CHECK_NEAR(got, expected, bound, ...)                                                      \
  do {                                                                                             \
    double check_got_ = (got), check_expected_ = (expected), check_bound_ = (bound);               \
    if (!(fabs(check_got_ - check_expected_) <= check_bound_)) {                                   \
      check_failures++;                                                                            \
      fprintf(stderr, "%s:%d: %s: got %.9g, expected %.9g, bound %.3g: ", __FILE__, __LINE__,      \
              #got, check_got_, check_expected_, check_bound_);                                    \
      fprintf(stderr, __VA_ARGS__);                                                                \
      fprintf(stderr, "\n");                                                                       \
    }                                                                                              \
  } while (0)

/* The call answers LH_OK, or the test ends here: later lines would read garbage. */
#define REQUIRE_OK(call)                                                                           \
  do {                                                                                             \
    lh_status check_status_ = (call);                                                              \
    if (check_status_ != LH_OK) {                                                                  \
      fprintf(stderr, "%s:%d: %s: %s: %s\n", __FILE__, __LINE__, #call,                            \
              lh_status_text(check_status_), lh_fail_text());                                      \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

/* Ends a test program. */
static inline int check_report(const char *name)
{
  if (check_failures)
    fprintf(stderr, "%s: %d failed\n", name, check_failures);
  else
    printf("%s: all passed\n", name);
  return check_failures ? 1 : 0;
}

#endif
