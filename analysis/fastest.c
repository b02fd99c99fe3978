/* fastest.c -- which method reaches the target loss first. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/outcome.h"
#include "analysis/plot.h"
#include "base/units.h"

/* Row with the least time to target among those of a group; on one platform and without one method
 * when `like` is a row. SIZE_MAX: none. */
static size_t least(const lh_outcome *outcome, const char *group, size_t like)
{
  size_t best = SIZE_MAX;
  for (size_t row = 0; row < outcome->rows.rows; row++) {
    const double seconds = lh_outcome_number(outcome, row, "seconds_to_target");
    if (isnan(seconds) || strcmp(lh_outcome_group(outcome, row), group) != 0)
      continue;
    if (like != SIZE_MAX) {
      bool same_platform =
          !lh_outcome_is(outcome, row, "method", lh_outcome_text(outcome, like, "method"));
      for (size_t i = 0; i < outcome->rows.columns; i++) {
        const char *name = outcome->rows.name[i];
        if (strcmp(name, "platform") == 0 || strcmp(name, "nodes") == 0 ||
            strncmp(name, "platform.", 9) == 0)
          same_platform = same_platform &&
                          lh_outcome_is(outcome, row, name, lh_outcome_text(outcome, like, name));
      }
      if (!same_platform)
        continue;
    }
    if (best == SIZE_MAX || seconds < lh_outcome_number(outcome, best, "seconds_to_target"))
      best = row;
  }
  return best;
}

static void say(const lh_outcome *outcome, const char *group, lh_text *out)
{
  const size_t best = least(outcome, group, SIZE_MAX);
  if (best == SIZE_MAX)
    return;
  char first[40], second[40];
  const size_t next = least(outcome, group, best);
  const double seconds = lh_outcome_number(outcome, best, "seconds_to_target");
  lh_text_append(
      out, "%s: %s is the fastest method to the target loss, %s of virtual time on %s nodes", group,
      lh_outcome_text(outcome, best, "method"), lh_format_s(first, sizeof first, seconds),
      lh_outcome_text(outcome, best, "nodes"));
  if (next != SIZE_MAX)
    lh_text_append(
        out, "; next there is %s with %s", lh_outcome_text(outcome, next, "method"),
        lh_format_s(second, sizeof second, lh_outcome_number(outcome, next, "seconds_to_target")));
  lh_text_append(out, ".\n");
}

lh_status lh_fastest_to_target(const char *folder, lh_text *sentences)
{
  lh_outcome outcome;
  lh_status status = lh_outcome_read(folder, &outcome);
  for (size_t row = 0; status == LH_OK && row < outcome.rows.rows; row++) {
    bool first = true;
    for (size_t i = 0; i < row && first; i++)
      first = strcmp(lh_outcome_group(&outcome, i), lh_outcome_group(&outcome, row)) != 0;
    if (first)
      say(&outcome, lh_outcome_group(&outcome, row), sentences);
  }
  lh_outcome_fini(&outcome);
  return status;
}
