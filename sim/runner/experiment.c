#include "sim/runner/experiment.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/text.h"
#include "sim/runner/scenario.h"
#include "sim/runner/store.h"

struct work {
  const lh_grid *grid;
  const lh_experiment_options *options;
  lh_experiment_result *result;
  char *results; /* folder */
  size_t jobs;
  size_t *point_of_job;
};

char *lh_experiment_results(const lh_grid *grid)
{
  return lh_string_format("%sresults", grid->folder);
}

bool lh_experiment_selects(const lh_experiment_options *options, const lh_grid_point *point)
{
  if (!options->only)
    return true;
  return strpbrk(options->only, "*?[") ? fnmatch(options->only, point->label, FNM_CASEFOLD) == 0
                                       : strcasestr(point->label, options->only) != NULL;
}

/* ---- one job --------------------------------------------------------------------------------- */

static lh_status run_job(void *arg, size_t job)
{
  const struct work *work = arg;
  const lh_grid_point *point = &work->grid->point[work->point_of_job[job]];
  cJSON *row = NULL, *curve = NULL;
  lh_status status =
      lh_scenario_run(lh_json_root(point->document), &(lh_scenario_output){0}, &row, &curve);
  if (status == LH_OK)
    status = lh_store_put(work->results, point->key, row, curve);
  cJSON_Delete(row);
  cJSON_Delete(curve);
  return status;
}

static void copy_text(cJSON *row, const char *name, const cJSON *scenario, const char *path)
{
  const cJSON *value = lh_json_find_path(scenario, path);
  if (cJSON_IsString(value) || cJSON_IsNumber(value))
    cJSON_AddItemToObject(row, name, cJSON_Duplicate(value, 0));
}

static lh_status failed_job(void *arg, size_t job, lh_status status, const char *reason)
{
  struct work *work = arg;
  const lh_grid_point *point = &work->grid->point[work->point_of_job[job]];
  const cJSON *scenario = lh_json_root(point->document).node;
  if (!work->result->first_failure[0])
    snprintf(work->result->first_failure, sizeof work->result->first_failure, "%s: %s",
             point->label, reason);
  cJSON *row = cJSON_CreateObject();
  copy_text(row, "method", scenario, "method");
  copy_text(row, "method", scenario, "method.name");
  copy_text(row, "nodes", scenario, "platform.nodes");
  copy_text(row, "workload", scenario, "workload.model");
  copy_text(row, "seed", scenario, "run.seed");
  copy_text(row, "mode", scenario, "run.mode");
  cJSON_AddStringToObject(row, "status", status == LH_EDIVERGED ? "diverged" : "failed");
  cJSON_AddStringToObject(row, "reason", reason);
  const lh_status stored = lh_store_put(work->results, point->key, row, NULL);
  cJSON_Delete(row);
  return stored;
}

static void forward_progress(void *arg, const lh_pool_state *state)
{
  const struct work *work = arg;
  if (work->options->progress)
    work->options->progress(work->options->arg, state);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Which are still to run, checked before anything starts. */
static lh_status select_jobs(struct work *work)
{
  for (size_t i = 0; i < work->grid->points; i++) {
    const lh_grid_point *point = &work->grid->point[i];
    if (!lh_experiment_selects(work->options, point))
      continue;
    work->result->selected++;
    if (lh_store_finished(work->results, point->key))
      work->result->finished_before++;
    else if (work->jobs < work->options->limit)
      work->point_of_job[work->jobs++] = i;
  }
  for (size_t job = 0; job < work->jobs; job++) {
    const lh_grid_point *point = &work->grid->point[work->point_of_job[job]];
    const lh_status status = lh_scenario_check(lh_json_root(point->document));
    if (status != LH_OK)
      return lh_fail_within(status, "scenario \"%s\"", point->label);
  }
  return LH_OK;
}

/* Two runs of one experiment would write over each other. The lock goes with the process. */
static lh_status lock_results(const char *results, int *lock)
{
  char *path = lh_string_format("%s/.lock", results);
  *lock = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
  lh_status status = LH_OK;
  if (*lock < 0)
    status = lh_fail(LH_EIO, "%s: locking it failed: %s", results, strerror(errno));
  else if (flock(*lock, LOCK_EX | LOCK_NB) != 0)
    status = lh_fail(LH_EIO, "%s: another run is at work here; wait for it or end it", results);
  free(path);
  return status;
}

static lh_status run_locked(struct work *work)
{
  lh_store_sweep_up(work->results);
  LH_TRY(select_jobs(work));
  const lh_pool pool = {.jobs = work->jobs,
                        .workers = work->options->workers,
                        .run = run_job,
                        .failed = failed_job,
                        .progress = forward_progress,
                        .arg = work};
  lh_pool_state state;
  const lh_status status = lh_pool_run(&pool, &state);
  work->result->run = state.done;
  work->result->failed = state.failed;
  work->result->left =
      work->result->selected - work->result->finished_before - (state.done - state.failed);
  if (status != LH_OK && status != LH_EINTERRUPTED)
    return status;
  LH_TRY(lh_store_write_tables(work->results, work->grid));
  return status; /* its reason is still the latest */
}

lh_status lh_experiment_run(const lh_grid *grid, const lh_experiment_options *options,
                            lh_experiment_result *result)
{
  *result = (lh_experiment_result){0};
  struct work work = {.grid = grid,
                      .options = options,
                      .result = result,
                      .results = lh_experiment_results(grid),
                      .point_of_job = calloc(grid->points + 1, sizeof(size_t))};
  char *rows = lh_string_format("%sresults/rows", grid->folder);
  int lock = -1;
  lh_status status = work.results && work.point_of_job && rows
                         ? lh_folder_make(rows)
                         : lh_fail(LH_ENOMEM, "no memory for %zu scenarios", grid->points);
  if (status == LH_OK)
    status = lock_results(work.results, &lock);
  if (status == LH_OK)
    status = run_locked(&work);
  if (lock >= 0)
    close(lock);
  free(rows);
  free(work.results);
  free(work.point_of_job);
  return status;
}
