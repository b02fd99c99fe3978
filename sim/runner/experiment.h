/* experiment.h -- runs what is missing of an experiment and writes its results. */
#ifndef LH_SIM_EXPERIMENT_H
#define LH_SIM_EXPERIMENT_H

#include "sim/runner/grid.h"
#include "sim/runner/pool.h"

typedef struct lh_experiment_options {
  size_t workers; /* 0: all processors */
  const char
      *only;    /* NULL: all. A shell pattern for a scenario's label; without *, ? or [ a part of
                       it suffices */
  size_t limit; /* most scenarios to run now; SIZE_MAX: all */
  void (*progress)(void *arg, const lh_pool_state *state); /* may be NULL */
  void *arg;
} lh_experiment_options;

typedef struct lh_experiment_result {
  size_t selected, finished_before, run, failed, left; /* of the selected scenarios */
  char first_failure[512];                             /* "label: reason"; "" if none */
} lh_experiment_result;

/* Is this scenario among those that `only` names? */
bool lh_experiment_selects(const lh_experiment_options *options, const lh_grid_point *point);

/* Checks every selected scenario that is still to run (LH_EINVAL before anything has started), runs
 * them, stores each as it ends, and writes the tables, also after an interruption. Failed scenarios
 * are rows with status "failed" and their reason; the answer is LH_OK all the same, see
 * result->failed. results_folder: GRID_FOLDER/results. */
lh_status lh_experiment_run(const lh_grid *grid, const lh_experiment_options *options,
                            lh_experiment_result *result);

/* GRID_FOLDER/results, malloced; NULL: no memory. */
char *lh_experiment_results(const lh_grid *grid);

#endif
