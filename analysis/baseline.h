/* baseline.h -- result rows as a baseline keeps them: what was run, how it ended, what was measured. */
#ifndef LH_ANALYSIS_BASELINE_H
#define LH_ANALYSIS_BASELINE_H

#include "base/json.h"

typedef struct lh_metric {
  const char *name;
  double tolerance; /* relative */
} lh_metric;

extern const lh_metric lh_metrics[]; /* the measured columns of scenarios.csv */
extern const size_t lh_metric_count;

/* FOLDER/results/scenarios.csv as an array of {"identity", "status", "metrics"}; the caller's. */
lh_status lh_baseline_rows(const char *folder, cJSON **rows);
/* FOLDER/baseline.json, its keys and tolerances checked. */
lh_status lh_baseline_read(const char *folder, lh_json_document **document);

#endif
