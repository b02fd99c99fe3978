#include "sim/training/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* What is known of a step that not all ranks have ended. */
typedef struct open_step {
  size_t ended;
  double *loss; /* (ranks); summed in rank order once complete, so that timing changes no bit */
  double latest_s, tokens, validation_loss, validation_accuracy, inter_node_bytes;
} open_step;

typedef struct dump_line {
  size_t step, rank;
  char *text;
} dump_line;

struct lh_run {
  lh_run_settings settings;
  const lh_workload *workload;
  size_t ranks, explicit_stop, latest_begun;
  size_t complete; /* steps ended by all ranks */
  open_step
      *open; /* ring buffer: step s is at s mod capacity, complete < s <= complete + capacity */
  size_t open_capacity;
  lh_curve_point *curve;
  size_t points, curve_capacity;
  dump_line *dump;
  size_t lines, dump_capacity;
  lh_gathered *gathered; /* not yet complete */
  struct {
    size_t replicas;
    double *mean, *squares; /* Welford's, by parameter */
    size_t n;
  } spread;
  bool diverged;
  double seconds_to_target;
};

lh_status lh_run_open(const lh_run_settings *settings, const lh_workload *workload, size_t ranks,
                      double micro_batches, lh_run **out)
{
  lh_run *run = calloc(1, sizeof *run);
  *out = run;
  if (!run)
    return lh_fail(LH_ENOMEM, "no memory for a run");
  run->settings = *settings;
  run->workload = workload;
  run->ranks = ranks;
  run->seconds_to_target = NAN;
  const double tokens_per_step = (double)lh_workload_tokens_per_step(workload) /
                                 (double)workload->micro_batches * micro_batches * (double)ranks;
  if (isfinite(settings->tokens)) {
    const double steps = fmax(1.0, ceil(settings->tokens / tokens_per_step));
    if (steps < (double)run->settings.steps)
      run->settings.steps = (size_t)steps;
  }
  run->explicit_stop = run->settings.steps;
  return LH_OK;
}

static void free_open_steps(lh_run *run)
{
  for (size_t i = 0; i < run->open_capacity; i++)
    free(run->open[i].loss);
  free(run->open);
}

void lh_run_close(lh_run *run)
{
  if (!run)
    return;
  free_open_steps(run);
  for (size_t i = 0; i < run->lines; i++)
    free(run->dump[i].text);
  while (run->gathered)
    lh_run_drop_gathered(run, run->gathered);
  free(run->spread.mean);
  free(run->spread.squares);
  free(run->dump);
  free(run->curve);
  free(run);
}

const lh_run_settings *lh_run_settings_of(const lh_run *run)
{
  return &run->settings;
}

/* ---- when to stop ---------------------------------------------------------------------------- */

static void stop_soon(lh_run *run)
{
  if (run->latest_begun < run->explicit_stop)
    run->explicit_stop = run->latest_begun;
}

bool lh_run_begin_step(lh_run *run, size_t step, double now_s)
{
  if (step > 1 && step > run->latest_begun && now_s >= run->settings.virtual_time_s)
    stop_soon(run);
  if (step > run->explicit_stop)
    return false;
  if (step > run->latest_begun)
    run->latest_begun = step;
  return true;
}

bool lh_run_is_last_step(const lh_run *run, size_t step)
{
  return step == run->explicit_stop;
}

static void consider_stopping(lh_run *run, const lh_curve_point *point)
{
  const bool validates = run->workload->data && run->settings.evaluate_every_steps > 0;
  const double loss = validates ? point->validation_loss : point->train_loss;
  if (run->settings.train && !isfinite(point->train_loss)) {
    run->diverged = true;
    stop_soon(run);
  }
  if (loss <= run->settings.target_loss && isnan(run->seconds_to_target)) {
    run->seconds_to_target = point->virtual_s;
    if (run->settings.stop_at_target)
      stop_soon(run);
  }
  if (point->tokens >= run->settings.tokens)
    stop_soon(run);
}

/* ---- records --------------------------------------------------------------------------------- */

static lh_status grow(void **array, size_t *capacity, size_t needed, size_t element_size)
{
  if (needed <= *capacity)
    return LH_OK;
  const size_t larger = needed > 2 * *capacity ? needed : 2 * *capacity;
  void *moved = realloc(*array, larger * element_size);
  if (!moved)
    return lh_fail(LH_ENOMEM, "no memory for %zu records", larger);
  *array = moved;
  *capacity = larger;
  return LH_OK;
}

/* Makes room so that `step` has a place of its own in the ring. */
static lh_status widen(lh_run *run, size_t step)
{
  const size_t ahead = step - run->complete;
  if (ahead <= run->open_capacity)
    return LH_OK;
  const size_t capacity = ahead > 2 * run->open_capacity ? ahead : 2 * run->open_capacity;
  open_step *wider = calloc(capacity, sizeof *wider);
  if (!wider)
    return lh_fail(LH_ENOMEM, "no memory for %zu steps in progress", capacity);
  for (size_t s = run->complete + 1; s <= run->complete + run->open_capacity; s++)
    wider[s % capacity] = run->open[s % run->open_capacity];
  free(run->open);
  run->open = wider;
  run->open_capacity = capacity;
  return LH_OK;
}

static lh_status find_open_step(lh_run *run, size_t step, open_step **found)
{
  LH_TRY(widen(run, step));
  open_step *open = &run->open[step % run->open_capacity];
  if (!open->loss) {
    *open = (open_step){.loss = calloc(run->ranks, sizeof *open->loss),
                        .validation_loss = NAN,
                        .validation_accuracy = NAN};
    if (!open->loss)
      return lh_fail(LH_ENOMEM, "no memory for the losses of %zu ranks", run->ranks);
  }
  *found = open;
  return LH_OK;
}

static lh_status complete_step(lh_run *run, size_t step, open_step *open)
{
  double loss = 0;
  for (size_t i = 0; i < run->ranks; i++)
    loss += open->loss[i];
  LH_TRY(grow((void **)&run->curve, &run->curve_capacity, run->points + 1, sizeof *run->curve));
  lh_curve_point *point = &run->curve[run->points++];
  *point = (lh_curve_point){.step = step,
                            .tokens = open->tokens,
                            .virtual_s = open->latest_s,
                            .train_loss = run->settings.train ? loss / (double)run->ranks : NAN,
                            .validation_loss = open->validation_loss,
                            .validation_accuracy = open->validation_accuracy,
                            .inter_node_bytes = open->inter_node_bytes / (double)run->ranks};
  free(open->loss);
  *open = (open_step){0};
  run->complete = step;
  consider_stopping(run, point);
  return LH_OK;
}

lh_status lh_run_end_step(lh_run *run, const lh_step_report *report)
{
  open_step *open = NULL;
  LH_TRY(find_open_step(run, report->step, &open));
  open->loss[report->rank] = report->loss;
  open->latest_s = fmax(open->latest_s, report->now_s);
  open->inter_node_bytes += report->inter_node_bytes;
  open->tokens += report->tokens;
  if (!isnan(report->validation_loss)) {
    open->validation_loss = report->validation_loss;
    open->validation_accuracy = report->validation_accuracy;
  }
  if (++open->ended == run->ranks)
    return complete_step(run, report->step, open);
  return LH_OK;
}

/* ---- dump ------------------------------------------------------------------------------------ */

bool lh_run_dumps(const lh_run *run)
{
  return run->settings.dump_path != NULL;
}

static void append_part(lh_text *text, const lh_dump_part *part)
{
  if (part->offset_name)
    lh_text_append(text, ",\"%s\":%zu", part->offset_name, part->offset);
  lh_text_append(text, ",\"%s\":[", part->name);
  for (size_t i = 0; i < part->n; i++) {
    const double x = part->values[i];
    if (isfinite(x))
      lh_text_append(text, "%s%.*g", i ? "," : "", (double)(float)x == x ? 9 : 17, x);
    else
      lh_text_append(text, "%snull", i ? "," : "");
  }
  lh_text_append(text, "]");
}

lh_status lh_run_dump(lh_run *run, const lh_step_report *report, const lh_dump_part *parts,
                      size_t n)
{
  lh_text text = {0};
  lh_text_append(&text, "{\"rank\":%zu,\"step\":%zu,\"virtual_time_s\":%.17g", report->rank,
                 report->step, report->now_s);
  for (size_t i = 0; i < n; i++)
    append_part(&text, &parts[i]);
  lh_text_append(&text, ",\"inter_node_bytes\":%.0f,\"intra_node_bytes\":%.0f}\n",
                 report->inter_node_bytes, report->intra_node_bytes);
  if (text.failed)
    return lh_fail(LH_ENOMEM, "no memory for the dump");
  lh_status status =
      grow((void **)&run->dump, &run->dump_capacity, run->lines + 1, sizeof *run->dump);
  if (status != LH_OK) {
    lh_text_free(&text);
    return status;
  }
  run->dump[run->lines++] =
      (dump_line){.step = report->step, .rank = report->rank, .text = text.data};
  return LH_OK;
}

static int by_step_then_rank(const void *a, const void *b)
{
  const dump_line *x = a, *y = b;
  if (x->step != y->step)
    return x->step < y->step ? -1 : 1;
  return x->rank < y->rank ? -1 : x->rank > y->rank;
}

lh_status lh_run_finish(lh_run *run)
{
  if (!lh_run_dumps(run))
    return LH_OK;
  if (run->lines)
    qsort(run->dump, run->lines, sizeof *run->dump, by_step_then_rank);
  lh_text all = {0};
  for (size_t i = 0; i < run->lines; i++)
    lh_text_append_bytes(&all, run->dump[i].text, strlen(run->dump[i].text));
  lh_status status = all.failed ? lh_fail(LH_ENOMEM, "no memory for the dump")
                                : lh_file_write_atomic(run->settings.dump_path,
                                                       all.data ? all.data : "", all.length);
  lh_text_free(&all);
  return status;
}

/* ---- replicas -------------------------------------------------------------------------------- */

lh_status lh_run_gather(lh_run *run, size_t step, size_t replica, size_t ranks, lh_gathered **found)
{
  for (lh_gathered *g = run->gathered; g; g = g->next)
    if (g->step == step && g->replica == replica) {
      *found = g;
      return LH_OK;
    }
  lh_gathered *made = calloc(1, sizeof *made);
  const size_t n = run->workload->model->layout.elements;
  double *values = calloc(n, sizeof *values);
  lh_step_report *report = calloc(ranks, sizeof *report);
  if (!made || !values || !report) {
    free(made);
    free(values);
    free(report);
    return lh_fail(LH_ENOMEM, "no memory to gather %zu parameters", n);
  }
  *made = (lh_gathered){
      .step = step, .replica = replica, .values = values, .report = report, .next = run->gathered};
  run->gathered = *found = made;
  return LH_OK;
}

void lh_run_drop_gathered(lh_run *run, lh_gathered *gathered)
{
  lh_gathered **place = &run->gathered;
  while (*place != gathered)
    place = &(*place)->next;
  *place = gathered->next;
  free(gathered->values);
  free(gathered->report);
  free(gathered);
}

lh_status lh_run_observe(lh_run *run, const double *values, size_t n)
{
  if (!run->spread.mean) {
    run->spread.mean = calloc(n, sizeof *run->spread.mean);
    run->spread.squares = calloc(n, sizeof *run->spread.squares);
    run->spread.n = n;
  }
  if (!run->spread.mean || !run->spread.squares)
    return lh_fail(LH_ENOMEM, "no memory for the spread of %zu parameters", n);
  const double count = (double)++run->spread.replicas;
  for (size_t i = 0; i < n; i++) {
    const double away = values[i] - run->spread.mean[i];
    run->spread.mean[i] += away / count;
    run->spread.squares[i] += away * (values[i] - run->spread.mean[i]);
  }
  return LH_OK;
}

/* ---- results --------------------------------------------------------------------------------- */

size_t lh_run_steps_done(const lh_run *run)
{
  return run->complete;
}

const lh_curve_point *lh_run_curve(const lh_run *run, size_t *points)
{
  *points = run->points;
  return run->curve;
}

bool lh_run_diverged(const lh_run *run)
{
  return run->diverged;
}

double lh_run_seconds_to_target(const lh_run *run)
{
  return run->seconds_to_target;
}

double lh_run_replica_spread(const lh_run *run)
{
  if (!run->spread.replicas)
    return NAN;
  double sum = 0;
  for (size_t i = 0; i < run->spread.n; i++)
    sum += run->spread.squares[i];
  return sqrt(sum / (double)run->spread.replicas / (double)run->spread.n);
}

double lh_run_tokens(const lh_run *run)
{
  return run->points ? run->curve[run->points - 1].tokens : 0;
}
