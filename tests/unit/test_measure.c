/* A result that cannot be must be an error: the guard between the simulator and what is printed. */
#include "sim/runner/measure.h"
#include "tests/check.h"

int main(void)
{
  const size_t ranks[] = {0, 1};
  const lh_collective c = {.kind = LH_ALL_REDUCE,
                           .algorithm = LH_RING,
                           .timing = LH_TIMING_EXACT,
                           .n = 2,
                           .ranks = ranks,
                           .bytes = 97};
  const lh_collective alone = {.kind = LH_ALL_REDUCE, .n = 1, .ranks = ranks, .bytes = 97};
  const lh_collective nothing = {.kind = LH_BARRIER, .n = 2, .ranks = ranks};
  REQUIRE_OK(lh_collective_check_time(&c, 2.385, 2.385));
  REQUIRE_OK(lh_collective_check_time(&c, 2.385, 2.385 * (1 - 1e-10))); /* rounding */
  REQUIRE_OK(lh_collective_check_time(&alone, 0, 0));
  REQUIRE_OK(lh_collective_check_time(&nothing, 0, 0));
  const double impossible[] = {2.385 * (1 - 1e-8), 0, -1, NAN, INFINITY};
  for (size_t i = 0; i < sizeof impossible / sizeof *impossible; i++)
    CHECK(lh_collective_check_time(&c, 2.385, impossible[i]) == LH_EINTERNAL, "%g was accepted",
          impossible[i]);
  CHECK(strstr(lh_fail_text(), "all-reduce, ring, 97 bytes"), "%s", lh_fail_text());
  CHECK(lh_collective_check_time(&c, 0, 0) == LH_EINTERNAL, "97 bytes in no time");
  return check_report("measure");
}
