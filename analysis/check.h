/* check.h -- an experiment's results against the baseline it keeps.
 *
 * FOLDER/baseline.json: {"schema": "longhaul/baseline/1",
 *   "tolerance": {"step_s": 1e-6, ...},        optional, relative, per metric
 *   "rows": [{"identity": {"method": "ddp", "nodes": "2", ...}, "metrics": {"step_s": 1.5, ...}}]}
 * Rows are matched by everything that says what was run (method, platform, nodes, swept values, ...),
 * not by the scenario's key, which changes with each version of the program. Virtual times and bytes
 * are computed from the same arithmetic everywhere and must agree closely; losses pass through the
 * host's matrix products, whose last digits differ between machines, and may drift.
 */
#ifndef LH_ANALYSIS_CHECK_H
#define LH_ANALYSIS_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef enum lh_change_kind {
  LH_CHANGE_MOVED,   /* beyond its tolerance */
  LH_CHANGE_STATUS,  /* before and now are words */
  LH_CHANGE_MISSING, /* in the baseline, not in the results */
  LH_CHANGE_NEW      /* in the results, not in the baseline: told, but no failure */
} lh_change_kind;

typedef struct lh_change {
  lh_change_kind kind;
  char *row;          /* "ddp nodes=2 ..." */
  char *metric;       /* "" for whole rows */
  char *before, *now; /* as text; "" where there is none */
  double relative;    /* (now - before) / |before|; NAN where that says nothing */
  double tolerance;
} lh_change;

typedef struct lh_check {
  size_t rows, values; /* compared */
  size_t failures;     /* changes but new rows */
  size_t changes;
  lh_change *change; /* (changes) in the order of the results, missing rows last */
} lh_check;

/* tolerance: relative, for all metrics; NAN: each metric's own. LH_EINVAL when results or baseline
 * are missing or malformed. Free with lh_check_fini, also after a failure. */
lh_status lh_check_experiment(const char *folder, double tolerance, lh_check *check);
void lh_check_fini(lh_check *check);

/* Writes the results as the new baseline, keeping its "tolerance". *rows: how many. */
lh_status lh_check_update(const char *folder, size_t *rows);

#endif
