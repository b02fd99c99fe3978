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

/* What the rows that are drawn together have in common: the part's name, or without parts the
 * workload's. */
const char *lh_outcome_group(const lh_outcome *outcome, size_t row);

/* Appends "8 nodes, bandwidth 100Mbps, ...": the columns that differ within `included` (one flag per
 * row), options of methods (true) or everything else (false), but not the column `without` (may be
 * NULL). */
void lh_outcome_describe(const lh_outcome *outcome, const bool *included, size_t row,
                         bool of_method, const char *without, lh_text *text);

#endif
