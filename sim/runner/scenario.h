/* scenario.h -- one point: platform x one method x workload x run settings x seed, resolved and
 * run.
 *
 * A scenario is a JSON object without sweeps:
 *   {"platform": {...}, "workload": {...}, "method": {"name": ..., options}, "run": {...}}
 * ("methods": [one] is read as well). Everything that determines the result is in it: its key is a
 * hash of its canonical text, of the files it names, and of the program's version.
 */
#ifndef LH_SIM_SCENARIO_H
#define LH_SIM_SCENARIO_H

#include <cjson/cJSON.h>
#include <stdio.h>

#include "base/json.h"

/* What the command line asks of a single run. */
typedef struct lh_scenario_output {
  const char *dump_path; /* NULL: none; JSON lines, design section 9 */
} lh_scenario_output;

/* Reads, checks and runs in this process (SimGrid: once per process). *row is the result row
 * (design section 7) as a JSON object with members in column order, *curve an array of objects
 * {step, tokens, virtual_s, train_loss, validation_loss, bytes}; the caller owns both. Out of
 * memory on the simulated device and divergence are rows with that status, not failures. */
lh_status lh_scenario_run(lh_json scenario, const lh_scenario_output *output, cJSON **row,
                          cJSON **curve);
/* Reads and checks only, including host memory. */
lh_status lh_scenario_check(lh_json scenario);

#endif
