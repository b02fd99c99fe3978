#include "analysis/outcome.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

lh_status lh_outcome_read(const char *folder, lh_outcome *outcome)
{
  *outcome = (lh_outcome){0};
  const size_t n = strlen(folder);
  const char *slash = n && folder[n - 1] == '/' ? "" : "/";
  char *rows = lh_string_format("%s%sresults/scenarios.csv", folder, slash);
  char *curves = lh_string_format("%s%sresults/curves.csv", folder, slash);
  lh_status status = rows && curves ? LH_OK : lh_fail(LH_ENOMEM, "no memory");
  if (status == LH_OK && !lh_file_exists(rows))
    status = lh_fail(LH_EINVAL, "%s: no such file; \"longhaul run %s\" makes it", rows, folder);
  if (status == LH_OK)
    status = lh_frame_read_csv(rows, &outcome->rows);
  if (status == LH_OK)
    status = lh_frame_read_csv(curves, &outcome->curves);
  free(rows);
  free(curves);
  return status;
}

void lh_outcome_fini(lh_outcome *outcome)
{
  lh_frame_fini(&outcome->rows);
  lh_frame_fini(&outcome->curves);
}

const char *lh_outcome_text(const lh_outcome *outcome, size_t row, const char *column)
{
  return lh_frame_text(&outcome->rows, row, lh_frame_column(&outcome->rows, column));
}

double lh_outcome_number(const lh_outcome *outcome, size_t row, const char *column)
{
  return lh_frame_number(&outcome->rows, row, lh_frame_column(&outcome->rows, column));
}

bool lh_outcome_is(const lh_outcome *outcome, size_t row, const char *column, const char *text)
{
  return strcmp(lh_outcome_text(outcome, row, column), text) == 0;
}

const char *lh_outcome_group(const lh_outcome *outcome, size_t row)
{
  const char *part = lh_outcome_text(outcome, row, "part");
  return *part ? part : lh_outcome_text(outcome, row, "workload");
}

/* ---- what differs ------------------------------------------------------------------------------ */

/* Fixed columns that say what was run, and the swept path that says the same. */
static const struct identity {
  const char *column, *swept;
} identities[] = {{"platform", "platform.file"},
                  {"nodes", "platform.nodes"},
                  {"workload", "workload.model"},
                  {"seed", "run.seed"},
                  {"flow_model", "run.flow_model"}};
#define IDENTITIES (sizeof identities / sizeof *identities)

/* Swept columns stand behind "reason" and have a dot, but for "part". */
static bool is_swept(const lh_outcome *outcome, size_t column)
{
  const size_t reason = lh_frame_column(&outcome->rows, "reason");
  if (reason == SIZE_MAX || column <= reason || !strchr(outcome->rows.name[column], '.'))
    return false;
  for (size_t i = 0; i < IDENTITIES; i++)
    if (strcmp(outcome->rows.name[column], identities[i].swept) == 0)
      return false;
  return true;
}

static bool is_identity(const lh_outcome *outcome, size_t column)
{
  for (size_t i = 0; i < IDENTITIES; i++)
    if (strcmp(outcome->rows.name[column], identities[i].column) == 0)
      return true;
  return is_swept(outcome, column);
}

bool lh_outcome_same_identity(const lh_outcome *outcome, size_t a, size_t b)
{
  const lh_frame *frame = &outcome->rows;
  if (strcmp(lh_outcome_text(outcome, a, "method"), lh_outcome_text(outcome, b, "method")) != 0)
    return false;
  for (size_t column = 0; column < frame->columns; column++)
    if (is_identity(outcome, column) &&
        strcmp(lh_frame_text(frame, a, column), lh_frame_text(frame, b, column)) != 0)
      return false;
  return true;
}

static bool differs(const lh_outcome *outcome, const bool *included, size_t column)
{
  const char *first = NULL;
  for (size_t row = 0; row < outcome->rows.rows; row++) {
    if (!included[row])
      continue;
    const char *text = lh_frame_text(&outcome->rows, row, column);
    if (first && strcmp(first, text) != 0)
      return true;
    first = text;
  }
  return false;
}

void lh_outcome_describe(const lh_outcome *outcome, const bool *included, size_t row,
                         bool of_method, const char *without, lh_text *text)
{
  const lh_frame *frame = &outcome->rows;
  for (size_t column = 0; column < frame->columns; column++) {
    const char *name = frame->name[column], *value = lh_frame_text(frame, row, column);
    const bool method_option = strncmp(name, "method.", 7) == 0;
    if (method_option != of_method || !*value || !is_identity(outcome, column))
      continue;
    if ((without && strcmp(name, without) == 0) || !differs(outcome, included, column))
      continue;
    const char *dot = strrchr(name, '.');
    lh_text_append(text, "%s", text->length ? ", " : "");
    if (strcmp(name, "nodes") == 0)
      lh_text_append(text, "%s nodes", value);
    else
      lh_text_append(text, "%s %s", dot ? dot + 1 : name, value);
  }
}

/* ---- groups ------------------------------------------------------------------------------------ */

const char *lh_grouping_name(const lh_grouping *grouping, size_t row)
{
  return grouping->by_part ? lh_outcome_group(grouping->outcome, row)
                           : lh_outcome_text(grouping->outcome, row, "workload");
}

lh_grouping lh_grouping_of(const lh_outcome *outcome)
{
  for (size_t a = 0; a < outcome->rows.rows; a++)
    for (size_t b = 0; b < a; b++)
      if (!lh_outcome_is(outcome, a, "part", lh_outcome_text(outcome, b, "part")) &&
          lh_outcome_is(outcome, a, "mode", lh_outcome_text(outcome, b, "mode")) &&
          lh_outcome_same_identity(outcome, a, b))
        return (lh_grouping){outcome, true};
  return (lh_grouping){outcome, false};
}

bool lh_grouping_first(const lh_grouping *grouping, size_t row)
{
  for (size_t i = 0; i < row; i++)
    if (strcmp(lh_grouping_name(grouping, i), lh_grouping_name(grouping, row)) == 0)
      return false;
  return true;
}
