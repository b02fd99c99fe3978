#include "sim/training/trainer.h"

#include <math.h>
#include <stdlib.h>

static const lh_run_settings *settings(const lh_trainer *t)
{
  return lh_run_settings_of(t->run);
}

lh_status lh_trainer_init(lh_trainer *t, lh_rank *rank, const lh_workload *workload, lh_run *run)
{
  *t = (lh_trainer){.rank = rank,
                    .device = lh_rank_device(rank),
                    .workload = workload,
                    .model = workload->model,
                    .run = run};
  if (workload->micro_batch_time_s)
    lh_device_pause_charging(t->device);
  return lh_batch_alloc(t->model, t->device, workload->micro_batch_sequences,
                        workload->sequence_tokens, &t->batch);
}

void lh_trainer_fini(lh_trainer *t)
{
  lh_batch_free(&t->batch);
  lh_tensor_free(&t->parameters);
  lh_tensor_free(&t->gradients);
  free(t->parameter_views);
  free(t->gradient_views);
}

lh_status lh_trainer_use_flat(lh_trainer *t)
{
  const lh_layout *layout = &t->model->layout;
  t->parameter_views = calloc(layout->layers, sizeof *t->parameter_views);
  t->gradient_views = calloc(layout->layers, sizeof *t->gradient_views);
  if (!t->parameter_views || !t->gradient_views)
    return lh_fail(LH_ENOMEM, "no memory for %zu layers", layout->layers);
  LH_TRY(
      lh_tensor_alloc_1d(t->device, &t->parameters, "parameters", layout->dtype, layout->elements));
  LH_TRY(
      lh_tensor_alloc_1d(t->device, &t->gradients, "gradients", layout->dtype, layout->elements));
  lh_model_layer_views(t->model, &t->parameters, t->parameter_views);
  lh_model_layer_views(t->model, &t->gradients, t->gradient_views);
  return lh_model_start(t->model, t->parameter_views, settings(t)->seed);
}

bool lh_trainer_next_step(lh_trainer *t)
{
  /* Ranks that end a step at the same time must all have said so before one of them goes on. */
  if (isfinite(settings(t)->target_loss))
    lh_rank_settle(t->rank);
  if (!lh_run_begin_step(t->run, t->step + 1, lh_peek_now_s(t->rank)))
    return false;
  t->step++;
  t->loss = (lh_loss){0};
  lh_rank_begin_step(t->rank, t->step);
  return true;
}

/* ---- gradients ------------------------------------------------------------------------------- */

static void charge_given_time(lh_trainer *t)
{
  const lh_workload *w = t->workload;
  if (w->micro_batch_time_s)
    lh_device_charge_s(t->device,
                       w->micro_batch_time_s[lh_rank_index(t->rank) % w->micro_batch_times]);
}

static lh_status add_micro_batch(lh_trainer *t, double scale, const struct lh_layer_hooks *hooks)
{
  LH_TRY(lh_workload_fill(t->workload, settings(t)->seed, lh_rank_index(t->rank),
                          lh_world_size(t->rank), t->micro_batches_done++, &t->batch));
  charge_given_time(t);
  return lh_model_gradient(t->model, t->device, t->parameter_views, t->gradient_views, &t->batch,
                           scale, hooks, &t->loss);
}

lh_status lh_trainer_gradient(lh_trainer *t, const struct lh_layer_hooks *hooks)
{
  const size_t n = t->workload->micro_batches;
  LH_TRY(lh_fill(t->device, &t->gradients, 0.0));
  for (size_t i = 0; i < n; i++)
    LH_TRY(add_micro_batch(t, 1.0 / (double)n, i + 1 == n ? hooks : NULL));
  return LH_OK;
}

/* ---- records --------------------------------------------------------------------------------- */

static bool evaluation_is_due(const lh_trainer *t)
{
  const size_t every = settings(t)->evaluate_every_steps;
  if (lh_rank_index(t->rank) != 0 || !settings(t)->train || !t->workload->data)
    return false;
  return (every && t->step % every == 0) || lh_run_is_last_step(t->run, t->step);
}

static lh_status evaluate(lh_trainer *t, const lh_tensor *flat, lh_step_report *report)
{
  lh_tensor *views = calloc(t->model->layout.layers, sizeof *views);
  if (!views)
    return lh_fail(LH_ENOMEM, "no memory for %zu layers", t->model->layout.layers);
  lh_model_layer_views(t->model, flat, views);
  lh_loss total = {0};
  lh_status status = LH_OK;
  for (size_t i = 0; i < t->workload->validation_batches; i++) {
    bool end = false;
    LH_TRY_GOTO(status, lh_data_fill_validation(t->workload->data, i, &t->batch, &end));
    if (end)
      break;
    LH_TRY_GOTO(status, lh_model_evaluate(t->model, t->device, views, &t->batch, &total));
  }
  if (total.count) {
    report->validation_loss = total.loss_sum / (double)total.count;
    report->validation_accuracy = (double)total.correct / (double)total.count;
  }
done:
  free(views);
  return status;
}

static lh_status dump(lh_trainer *t, const lh_step_report *report)
{
  /* Where nothing is computed there is nothing to show but bytes and time. */
  const size_t n = lh_device_computes(t->device) ? lh_tensor_elements(&t->parameters) : 0;
  double *values = calloc(n + 1, sizeof *values);
  if (!values)
    return lh_fail(LH_ENOMEM, "no memory to dump %zu parameters", n);
  lh_status status = n ? lh_tensor_get(&t->parameters, values, n) : LH_OK;
  if (status == LH_OK)
    status = lh_run_dump(t->run, report, values, n, SIZE_MAX);
  free(values);
  return status;
}

lh_status lh_trainer_end_step(lh_trainer *t, const lh_tensor *evaluated)
{
  const lh_rank_statistics statistics = lh_rank_statistics_of(t->rank);
  lh_step_report report = {.rank = lh_rank_index(t->rank),
                           .step = t->step,
                           .now_s = lh_peek_now_s(t->rank),
                           .loss = t->loss.count ? t->loss.loss_sum / (double)t->loss.count : NAN,
                           .validation_loss = NAN,
                           .validation_accuracy = NAN,
                           .inter_node_bytes = statistics.inter_node_bytes,
                           .intra_node_bytes = statistics.intra_node_bytes};
  if (evaluation_is_due(t)) {
    lh_device_pause_charging(t->device);
    lh_status status = evaluate(t, evaluated ? evaluated : &t->parameters, &report);
    lh_device_resume_charging(t->device);
    LH_TRY(status);
  }
  if (lh_run_dumps(t->run))
    LH_TRY(dump(t, &report));
  return lh_run_end_step(t->run, &report);
}

/* ---- the inner optimizer --------------------------------------------------------------------- */

lh_status lh_inner_init(lh_inner *inner, const lh_trainer *t, const lh_inner_options *options)
{
  inner->options = *options;
  return lh_optimizer_init(&inner->optimizer, &options->optimizer, &t->parameters);
}

void lh_inner_fini(lh_inner *inner)
{
  lh_optimizer_fini(&inner->optimizer);
}

double lh_inner_learning_rate(const lh_inner *inner, const lh_trainer *t)
{
  return inner->options.optimizer.learning_rate *
         lh_schedule_factor(&inner->options.schedule, t->step - 1, settings(t)->steps);
}

lh_status lh_inner_step(lh_inner *inner, lh_trainer *t)
{
  LH_TRY(lh_clip_norm(t->device, &t->gradients, inner->options.clip_norm));
  return lh_optimizer_step(&inner->optimizer, t->device, &t->parameters, &t->gradients,
                           lh_inner_learning_rate(inner, t));
}
