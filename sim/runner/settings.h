/* settings.h -- the "run" object of a scenario. */
#ifndef LH_SIM_SETTINGS_H
#define LH_SIM_SETTINGS_H

#include "base/json.h"
#include "sim/cluster/cluster.h"
#include "sim/training/run.h"

#define LH_DEFAULT_STEPS 100
#define LH_MOST_STEPS 1000000000

typedef struct lh_settings {
  lh_run_settings run; /* dump_path is the caller's to set */
  lh_flow_model flow_model;
  lh_collective_settings collectives;
  const lh_backend
      *backend; /* where numbers are computed: the one that computes nothing in cost mode */
} lh_settings;

/* Reads {"mode", "steps", "tokens", "virtual_time", "target_loss", "stop_at_target",
 * "evaluate_every_steps", "seed", "flow_model", "compute_time", "backend", "collectives": {"timing", "all_reduce", ...}} and checks the
 * members that belong to the method (learning_rate, schedule, warmup_steps) only for their place. An
 * absent object means all defaults: cost mode, 100 steps (one round with a method whose rounds are
 * longer), seed 1, ideal flows; rings for all-reduce, reduce-scatter and all-gather (whose bytes the
 * methods' formulas state), "auto" for the others. */
lh_status lh_settings_read(lh_json run, lh_settings *settings);

/* What "run" says of the optimizer goes to the method's object where that is silent: learning_rate to
 * optimizer.learning_rate, schedule and warmup_steps to schedule. Changes `method`. */
lh_status lh_settings_give_to_method(const cJSON *run, cJSON *method);

#endif
