/* run.h -- the scenario that is running, shared by its ranks: when to stop, and what to remember.
 *
 * It belongs to the process and lives outside virtual time: using it costs a rank nothing. Ranks may
 * be at different steps; a step is complete when every rank has ended it.
 */
#ifndef LH_SIM_RUN_H
#define LH_SIM_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"
#include "models/workload.h"

typedef struct lh_run_settings {
  bool train; /* real numbers; false: cost mode */
  uint64_t seed;
  size_t steps;          /* at most */
  double tokens;         /* over all ranks; INFINITY: no limit */
  double virtual_time_s; /* INFINITY: no limit */
  /* -INFINITY: none; of the validation where steps are evaluated, else of training */
  double target_loss;
  bool stop_at_target;         /* false: only the time at which it was reached is noted */
  size_t evaluate_every_steps; /* 0: only after the last step */
  const char *dump_path;       /* NULL: none */
} lh_run_settings;

typedef struct lh_curve_point {
  size_t step;
  double tokens, virtual_s;
  double train_loss, validation_loss; /* NAN: not known */
  double validation_accuracy;         /* share of rows whose largest logit is the target */
  double inter_node_bytes;            /* sent so far, mean over ranks */
} lh_curve_point;

typedef struct lh_run lh_run;

/* `workload` is borrowed. `micro_batches`: of one rank in one optimizer step, at least; it turns a
 * number of tokens into one of steps. Free with lh_run_close. */
lh_status lh_run_open(const lh_run_settings *settings, const lh_workload *workload, size_t ranks,
                      double micro_batches, lh_run **run);
void lh_run_close(lh_run *run);
/* As given, but `steps` is the number that `tokens` allow, where that is less. */
const lh_run_settings *lh_run_settings_of(const lh_run *run);

/* May a rank begin this step (from 1) at this time? No new step begins once the virtual time is up. Once
 * the end is decided, all ranks still finish the latest step that any of them has begun, so that nobody
 * waits for a collective that never comes. */
bool lh_run_begin_step(lh_run *run, size_t step, double now_s);
/* Is this certainly the last one? Known beforehand only when the number of steps is the limit. */
bool lh_run_is_last_step(const lh_run *run, size_t step);

typedef struct lh_step_report {
  size_t rank, step;
  double now_s;
  double loss;                                 /* mean of the step on this rank; NAN: none */
  double tokens;                               /* computed so far by this rank */
  double validation_loss, validation_accuracy; /* NAN: not evaluated by this rank */
  double inter_node_bytes, intra_node_bytes;   /* sent so far by this rank */
} lh_step_report;
lh_status lh_run_end_step(lh_run *run, const lh_step_report *report);

bool lh_run_dumps(const lh_run *run);
/* Numbers of a dump line under a name; `offset_name`: where they lie in the model, NULL: a full copy. */
typedef struct lh_dump_part {
  const char *name, *offset_name;
  const double *values;
  size_t n, offset;
} lh_dump_part;
/* One dump line (design section 9). Lines are written by step, then rank, by lh_run_finish. */
lh_status lh_run_dump(lh_run *run, const lh_step_report *report, const lh_dump_part *parts,
                      size_t n);

/* ---- models that several ranks hold together ------------------------------------------------- */

/* A replica's model at the end of a step, put together from its ranks' pieces. */
typedef struct lh_gathered {
  size_t step, replica, joined; /* ranks that have given their pieces */
  double *values;               /* (elements of the model) */
  lh_step_report *report;       /* (joined) of those ranks, in the order in which they came */
  struct lh_gathered *next;
} lh_gathered;

/* The one for this step and replica, which `ranks` ranks hold; made on first use. The rank that finds `joined` complete takes it
 * out with lh_run_drop_gathered. */
lh_status lh_run_gather(lh_run *run, size_t step, size_t replica, size_t ranks,
                        lh_gathered **gathered);
void lh_run_drop_gathered(lh_run *run, lh_gathered *gathered);

/* A replica's parameters when the run is over, each replica once: for lh_run_replica_spread. */
lh_status lh_run_observe(lh_run *run, const double *values, size_t n);

/* Writes the dump. */
lh_status lh_run_finish(lh_run *run);

/* What came of it. Valid until close. */
size_t lh_run_steps_done(const lh_run *run); /* complete ones */
const lh_curve_point *lh_run_curve(const lh_run *run, size_t *points);
bool lh_run_diverged(const lh_run *run);
/* How far replicas are apart: root of the mean, over parameters, of the variance over replicas. 0 when
 * all are equal to the bit; NAN where nothing is computed. */
double lh_run_replica_spread(const lh_run *run);
double lh_run_tokens(const lh_run *run); /* of the complete steps, all ranks */
/* Virtual time at which the target loss was first seen; NAN: never. */
double lh_run_seconds_to_target(const lh_run *run);

#endif
