/* run.c -- an experiment: what is missing of its grid. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "analysis/plot.h"
#include "base/units.h"
#include "sim/cli/command.h"
#include "sim/cli/output.h"
#include "sim/runner/experiment.h"
#include "sim/runner/store.h"

struct values {
  size_t workers, limit;
  const char *only;
  bool dry_run, plot, json, csv;
};

static const lh_heading headings[] = {{"part", "part"},
                                      {"method", "method"},
                                      {"workload", "workload"},
                                      {"nodes", "nodes"},
                                      {"status", "status"},
                                      {"steps", "steps"},
                                      {"step_s", "per step"},
                                      {"wall_clock_s", "wall-clock"},
                                      {"exposed_communication_s", "exposed"},
                                      {"utilisation", "utilised"},
                                      {"inter_node_bytes_per_step", "sent per step"},
                                      {"peak_memory_bytes", "memory"},
                                      {"final_loss", "loss"},
                                      {"validation_loss", "validation"},
                                      {"seconds_to_target", "to target"},
                                      {NULL, NULL}};

/* ---- progress ---------------------------------------------------------------------------------- */

/* On a terminal only; the line is overwritten and cleared at the end. */
static void show_progress(void *arg, const lh_pool_state *state)
{
  (void)arg;
  char left[40] = "";
  if (state->done) {
    char time[32];
    const double each = state->elapsed_s / (double)state->done;
    snprintf(left, sizeof left, ", about %s left",
             lh_format_s(time, sizeof time, each * (double)(state->jobs - state->done)));
  }
  fprintf(stderr, "\r%zu of %zu done, %zu running, %zu failed%s\033[K", state->done, state->jobs,
          state->running, state->failed, left);
  if (state->done == state->jobs)
    fprintf(stderr, "\r\033[K");
}

/* ---- commands ---------------------------------------------------------------------------------- */

static lh_status list_grid(const lh_grid *grid, const lh_experiment_options *options)
{
  char *results = lh_experiment_results(grid);
  size_t selected = 0, missing = 0;
  for (size_t i = 0; results && i < grid->points; i++) {
    if (!lh_experiment_selects(options, &grid->point[i]))
      continue;
    const bool finished = lh_store_finished(results, grid->point[i].key);
    selected++;
    missing += !finished;
    printf("%s  %s\n", finished ? "finished" : "to run  ", grid->point[i].label);
  }
  printf("%zu scenarios, %zu to run\n", selected, missing);
  free(results);
  return LH_OK;
}

static lh_status print_results(const lh_grid *grid, const struct values *v,
                               const lh_experiment_options *options)
{
  char *results = lh_experiment_results(grid);
  cJSON *rows = cJSON_CreateArray();
  for (size_t i = 0; results && i < grid->points; i++) {
    cJSON *row = lh_experiment_selects(options, &grid->point[i])
                     ? lh_store_row(results, &grid->point[i])
                     : NULL;
    if (row)
      cJSON_AddItemToArray(rows, row);
  }
  const lh_status status = lh_print_rows(rows, v->json, v->csv, lh_row_columns, headings);
  cJSON_Delete(rows);
  free(results);
  return status;
}

static lh_status print_sentences(const lh_grid *grid)
{
  lh_text sentences = {0};
  const lh_status status = lh_fastest_to_target(*grid->folder ? grid->folder : ".", &sentences);
  if (status == LH_OK && sentences.length)
    printf("\n%s", sentences.data);
  lh_text_free(&sentences);
  return status;
}

/* Rows for a program stay alone on standard output. */
static lh_status draw(const lh_grid *grid, FILE *out)
{
  lh_text paths = {0};
  const lh_status status = lh_plot_experiment(*grid->folder ? grid->folder : ".", &paths);
  if (status == LH_OK && paths.length)
    fprintf(out, "\n%s", paths.data);
  lh_text_free(&paths);
  return status;
}

static lh_status check_selection(const lh_grid *grid, const lh_experiment_options *options)
{
  for (size_t i = 0; i < grid->points; i++)
    if (lh_experiment_selects(options, &grid->point[i]))
      return LH_OK;
  return lh_fail(LH_EINVAL, "--only: \"%s\" fits none of the %zu scenarios; --dry-run lists them",
                 options->only ? options->only : "", grid->points);
}

static lh_status run_grid(const lh_grid *grid, const struct values *v)
{
  const bool terminal = isatty(STDERR_FILENO);
  const lh_experiment_options options = {.workers = v->workers,
                                         .only = v->only,
                                         .limit = v->limit ? v->limit : SIZE_MAX,
                                         .progress = terminal ? show_progress : NULL};
  lh_experiment_result result;
  LH_TRY(check_selection(grid, &options));
  if (v->dry_run)
    return list_grid(grid, &options);
  LH_TRY(lh_experiment_run(grid, &options, &result));
  LH_TRY(print_results(grid, v, &options));
  if (v->plot)
    LH_TRY(draw(grid, v->json || v->csv ? stderr : stdout));
  if (!v->json && !v->csv)
    LH_TRY(print_sentences(grid));
  if (result.failed)
    return lh_fail(LH_EFAILED, "%zu of %zu scenarios failed, the first: %s", result.failed,
                   result.run, result.first_failure);
  return LH_OK;
}

static lh_status run(const void *values, const lh_words *words)
{
  lh_grid grid;
  lh_status status = lh_grid_read(words->word[0], &grid);
  if (status == LH_OK)
    status = run_grid(&grid, values);
  lh_grid_fini(&grid);
  return status;
}

static const lh_flag flags[] = {
    {"--workers", LH_FLAG_COUNT, offsetof(struct values, workers), "N",
     "scenarios at a time (default: all processors)"},
    {"--only", LH_FLAG_TEXT, offsetof(struct values, only), "PATTERN",
     "only scenarios whose label, as --dry-run prints it, fits"},
    {"--limit", LH_FLAG_COUNT, offsetof(struct values, limit), "N", "run at most N of them now"},
    {"--plot", LH_FLAG_SWITCH, offsetof(struct values, plot), NULL,
     "draw the pictures as \"longhaul plot\" does and print their paths"},
    {"--dry-run", LH_FLAG_SWITCH, offsetof(struct values, dry_run), NULL,
     "list the grid and what is still to run"},
    LH_FLAG_JSON(struct values),
    LH_FLAG_CSV(struct values),
    {0}};

static const char *const examples[] = {
    "longhaul run experiments/first-look",
    "Run everything that is not finished yet",
    "longhaul run experiments/first-look --only 'gpt2*nodes=512*' --workers 1",
    "A part of it, one after the other",
    "longhaul run experiments/first-look --dry-run",
    "Only say what would be run",
    NULL};

const lh_command lh_command_run = {
    .name = "run",
    .arguments = "EXPERIMENT [--workers N] [--only PATTERN] [--limit N] [--plot] [--dry-run]",
    .summary = "run what is missing of an experiment and print its table",
    .details =
        "EXPERIMENT is a folder with experiment.json. Finished scenarios are kept in its results\n"
        "folder and not run again; results/scenarios.csv and results/curves.csv are written at\n"
        "the end. A scenario that fails becomes a row that says why, and the rest goes on.",
    .least_words = 1,
    .most_words = 1,
    .flags = flags,
    .values_size = sizeof(struct values),
    .examples = examples,
    .run = run,
};
