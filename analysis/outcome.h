/* outcome.h -- an experiment's two result tables, and which columns tell its scenarios apart. */
#ifndef LH_ANALYSIS_OUTCOME_H
#define LH_ANALYSIS_OUTCOME_H

#include <stdbool.h>

#include "analysis/results.h"
#include "base/text.h"

typedef struct lh_outcome {
  lh_frame rows, curves;
} lh_outcome;

/* FOLDER/results/scenarios.csv and curves.csv. Free with lh_outcome_fini, also after a failure. */
lh_status lh_outcome_read(const char *folder, lh_outcome *outcome);
void lh_outcome_fini(lh_outcome *outcome);

/* Cell of scenarios.csv by name; "" and NAN where there is none. */
const char *lh_outcome_text(const lh_outcome *outcome, size_t row, const char *column);
double lh_outcome_number(const lh_outcome *outcome, size_t row, const char *column);
bool lh_outcome_is(const lh_outcome *outcome, size_t row, const char *column, const char *text);

/* What the rows that belong together have in common: the part's name, or without parts the
 * workload's. */
const char *lh_outcome_group(const lh_outcome *outcome, size_t row);

/* Do two rows say the same of what was run, but for their part, key and measurements? */
bool lh_outcome_same_identity(const lh_outcome *outcome, size_t a, size_t b);

/* Appends "8 nodes, bandwidth 100Mbps, ...": the columns that differ within `included` (one flag per
 * row), options of methods (true) or everything else (false), but not the column `without` (may be
 * NULL). */
void lh_outcome_describe(const lh_outcome *outcome, const bool *included, size_t row,
                         bool of_method, const char *without, lh_text *text);

/* Which rows share a picture. Parts are drawn together by workload, so that one that needs more steps
 * for its methods than another shares its picture; unless two of them hold the same scenario, whose
 * lines would mix: then by part. */
typedef struct lh_grouping {
  const lh_outcome *outcome;
  bool by_part;
} lh_grouping;

lh_grouping lh_grouping_of(const lh_outcome *outcome);
const char *lh_grouping_name(const lh_grouping *grouping, size_t row);
bool lh_grouping_first(const lh_grouping *grouping, size_t row);

#endif
