#include "sim/training/record.h"

#include <math.h>
#include <stdlib.h>

static const lh_run_settings *settings(const lh_trainer *t)
{
  return lh_run_settings_of(t->run);
}

/* ---- a device that costs nothing ------------------------------------------------------------- */

/* The whole model on a device beside the rank's: nothing there takes time or memory of the simulated
 * accelerator. */
typedef struct whole_model {
  lh_device *device;
  lh_tensor flat, *views;
} whole_model;

static void whole_close(whole_model *whole)
{
  lh_tensor_free(&whole->flat);
  free(whole->views);
  lh_device_close(whole->device);
}

static lh_status whole_open(const lh_trainer *t, whole_model *whole)
{
  const lh_layout *layout = &t->model->layout;
  *whole = (whole_model){0};
  lh_status status = lh_device_open_scratch(t->device, &whole->device);
  if (status == LH_OK)
    status = lh_tensor_alloc_1d(whole->device, &whole->flat, "parameters", layout->dtype,
                                layout->elements);
  if (status == LH_OK && !(whole->views = calloc(layout->layers, sizeof *whole->views)))
    status = lh_fail(LH_ENOMEM, "no memory for %zu layers", layout->layers);
  if (status == LH_OK)
    lh_model_layer_views(t->model, &whole->flat, whole->views);
  else
    whole_close(whole);
  return status;
}

lh_status lh_trainer_start_pieces(lh_trainer *t)
{
  whole_model whole;
  LH_TRY(whole_open(t, &whole));
  lh_device_pause_charging(t->device);
  lh_status status = lh_model_start(t->model, whole.views, settings(t)->seed);
  for (size_t i = 0; i < t->share.pieces && status == LH_OK; i++) {
    lh_tensor values = t->share.piece[i].values; /* a view: what it shows is changed */
    const size_t n = lh_tensor_elements(&values);
    const lh_tensor part = lh_tensor_view_1d(&whole.flat, t->share.piece[i].offset, n);
    if (n)
      status = lh_copy(t->device, &values, &part);
  }
  lh_device_resume_charging(t->device);
  whole_close(&whole);
  return status;
}

/* ---- evaluation ------------------------------------------------------------------------------ */

static bool evaluation_is_due(const lh_trainer *t)
{
  const size_t every = settings(t)->evaluate_every_steps;
  if (!settings(t)->train || !t->workload->data)
    return false;
  return (every && t->step % every == 0) || lh_run_is_last_step(t->run, t->step);
}

static lh_status evaluate_on(const lh_trainer *t, lh_device *device, const lh_tensor *views,
                             lh_batch *batch, lh_step_report *report)
{
  lh_loss total = {0};
  for (size_t i = 0; i < t->workload->validation_batches; i++) {
    bool end = false;
    LH_TRY(lh_data_fill_validation(t->workload->data, i, batch, &end));
    if (end)
      break;
    LH_TRY(lh_model_evaluate(t->model, device, views, batch, &total));
  }
  if (total.count) {
    report->validation_loss = total.loss_sum / (double)total.count;
    report->validation_accuracy = (double)total.correct / (double)total.count;
  }
  return LH_OK;
}

static lh_status evaluate_flat(lh_trainer *t, const lh_tensor *flat, lh_step_report *report)
{
  lh_tensor *views = calloc(t->model->layout.layers, sizeof *views);
  if (!views)
    return lh_fail(LH_ENOMEM, "no memory for %zu layers", t->model->layout.layers);
  lh_model_layer_views(t->model, flat, views);
  lh_device_pause_charging(t->device);
  const lh_status status = evaluate_on(t, t->device, views, &t->batch, report);
  lh_device_resume_charging(t->device);
  free(views);
  return status;
}

static lh_status evaluate_gathered(const lh_trainer *t, const lh_gathered *gathered,
                                   lh_step_report *report)
{
  whole_model whole;
  lh_batch batch = {0};
  LH_TRY(whole_open(t, &whole));
  lh_status status = lh_batch_alloc(t->model, whole.device, t->workload->micro_batch_sequences,
                                    t->workload->sequence_tokens, &batch);
  if (status == LH_OK)
    status = lh_tensor_set(&whole.flat, gathered->values, t->model->layout.elements);
  if (status == LH_OK)
    status = evaluate_on(t, whole.device, whole.views, &batch, report);
  lh_batch_free(&batch);
  whole_close(&whole);
  return status;
}

/* ---- dumps ----------------------------------------------------------------------------------- */

/* Host copy of at most n elements of a tensor; nothing where nothing is computed. The caller frees. */
static lh_status values_of(const lh_trainer *t, const lh_tensor *tensor, size_t n, double **values,
                           size_t *count)
{
  *count = lh_device_computes(t->device) ? n : 0;
  *values = calloc(*count + 1, sizeof **values);
  if (!*values)
    return lh_fail(LH_ENOMEM, "no memory to show %zu parameters", n);
  if (!*count)
    return LH_OK;
  const lh_tensor first = lh_tensor_view_1d(tensor, 0, n);
  return lh_tensor_get(&first, *values, n);
}

static lh_status dump_line(const lh_trainer *t, const lh_step_report *report, lh_dump_part *parts)
{
  double *master = NULL;
  size_t n = 1;
  lh_status status = LH_OK;
  if (t->master.values.dims) {
    parts[n] = (lh_dump_part){
        .name = "master", .offset_name = "master_offset", .offset = t->master.offset};
    status = values_of(t, &t->master.values, lh_tensor_elements(&t->master.values), &master,
                       &parts[n].n);
    parts[n++].values = master;
  }
  if (status == LH_OK)
    status = lh_run_dump(t->run, report, parts, n);
  free(master);
  return status;
}

/* The rank's own: a full copy, or its one piece. */
static lh_status dump_own(const lh_trainer *t, const lh_step_report *report)
{
  const lh_piece *piece = t->share.piece;
  const lh_tensor *tensor = piece ? &piece->values : &t->parameters;
  lh_dump_part parts[2] = {{.name = "parameters",
                            .offset_name = piece ? "offset" : NULL,
                            .offset = piece ? piece->offset : 0}};
  double *values;
  lh_status status =
      values_of(t, tensor, piece ? lh_tensor_elements(tensor) : t->model->layout.elements, &values,
                &parts[0].n);
  parts[0].values = values;
  if (status == LH_OK)
    status = dump_line(t, report, parts);
  free(values);
  return status;
}

static lh_status dump_gathered(const lh_trainer *t, const lh_gathered *gathered)
{
  for (size_t i = 0; i < gathered->joined; i++) {
    lh_dump_part parts[2] = {
        {.name = "parameters", .values = gathered->values, .n = t->model->layout.elements}};
    LH_TRY(lh_run_dump(t->run, &gathered->report[i], parts, 1));
  }
  return LH_OK;
}

/* ---- replicas that several ranks hold -------------------------------------------------------- */

/* Adds this rank's pieces; *complete when it is the last of its replica. */
static lh_status join(lh_trainer *t, size_t step, const lh_step_report *report,
                      lh_gathered **gathered, bool *complete)
{
  LH_TRY(lh_run_gather(t->run, step, t->share.replica, t->share.ranks, gathered));
  for (size_t i = 0; i < t->share.pieces; i++) {
    const lh_piece *piece = &t->share.piece[i];
    const size_t n = lh_tensor_elements(&piece->values);
    if (n)
      LH_TRY(lh_tensor_get(&piece->values, (*gathered)->values + piece->offset, n));
  }
  (*gathered)->report[(*gathered)->joined++] = *report;
  *complete = (*gathered)->joined == t->share.ranks;
  return LH_OK;
}

static lh_status look_together(lh_trainer *t, bool evaluates, lh_step_report *report)
{
  lh_gathered *gathered;
  bool complete;
  const bool dumps = lh_run_dumps(t->run) && t->share.pieces > 1;
  LH_TRY(join(t, t->step, report, &gathered, &complete));
  if (!complete)
    return LH_OK;
  lh_status status = evaluates ? evaluate_gathered(t, gathered, report) : LH_OK;
  if (status == LH_OK && dumps)
    status = dump_gathered(t, gathered);
  lh_run_drop_gathered(t->run, gathered);
  return status;
}

/* ---- the end of a step, and of a run --------------------------------------------------------- */

static lh_step_report report_of(const lh_trainer *t)
{
  const lh_rank_statistics statistics = lh_rank_statistics_of(t->rank);
  const double tokens_per_micro_batch =
      (double)lh_workload_tokens_per_step(t->workload) / (double)t->workload->micro_batches;
  return (lh_step_report){.rank = lh_rank_index(t->rank),
                          .step = t->step,
                          .now_s = lh_peek_now_s(t->rank),
                          .loss = t->loss.count ? t->loss.loss_sum / (double)t->loss.count : NAN,
                          .tokens = tokens_per_micro_batch * (double)t->micro_batches_done,
                          .validation_loss = NAN,
                          .validation_accuracy = NAN,
                          .inter_node_bytes = statistics.inter_node_bytes,
                          .intra_node_bytes = statistics.intra_node_bytes};
}

lh_status lh_trainer_end_step(lh_trainer *t, const lh_tensor *evaluated)
{
  lh_step_report report = report_of(t);
  const bool shared = t->share.piece != NULL;
  const size_t looker = shared ? t->share.replica : report.rank;
  const bool evaluates = looker == 0 && evaluation_is_due(t);
  const bool shows_whole =
      lh_run_dumps(t->run) && t->share.pieces > 1 && lh_device_computes(t->device);
  if (shared && (evaluates || shows_whole))
    LH_TRY(look_together(t, evaluates, &report));
  else if (evaluates)
    LH_TRY(evaluate_flat(t, evaluated ? evaluated : &t->parameters, &report));
  if (lh_run_dumps(t->run) && !shows_whole)
    LH_TRY(dump_own(t, &report));
  return lh_run_end_step(t->run, &report);
}

static lh_status observe_flat(lh_trainer *t)
{
  double *values;
  size_t n;
  lh_status status = values_of(t, &t->parameters, t->model->layout.elements, &values, &n);
  if (status == LH_OK)
    status = lh_run_observe(t->run, values, n);
  free(values);
  return status;
}

static lh_status observe_together(lh_trainer *t)
{
  const lh_step_report report = {.rank = lh_rank_index(t->rank)};
  lh_gathered *gathered;
  bool complete;
  LH_TRY(join(t, SIZE_MAX, &report, &gathered, &complete));
  if (!complete)
    return LH_OK;
  const lh_status status = lh_run_observe(t->run, gathered->values, t->model->layout.elements);
  lh_run_drop_gathered(t->run, gathered);
  return status;
}

void lh_record_end(lh_trainer *t)
{
  if (t->finished || !settings(t)->train || !lh_device_computes(t->device))
    return;
  t->finished = true;
  if (t->share.piece)
    observe_together(t);
  else if (t->parameters.dims)
    observe_flat(t);
}
