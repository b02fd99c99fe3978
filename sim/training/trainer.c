#include "sim/training/trainer.h"

#include <math.h>
#include <stdlib.h>

#include "sim/training/record.h"

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

static lh_status alloc_views(lh_trainer *t)
{
  if (t->parameter_views)
    return LH_OK;
  const size_t layers = t->model->layout.layers;
  t->parameter_views = calloc(layers, sizeof *t->parameter_views);
  t->gradient_views = calloc(layers, sizeof *t->gradient_views);
  if (!t->parameter_views || !t->gradient_views)
    return lh_fail(LH_ENOMEM, "no memory for %zu layers", layers);
  return LH_OK;
}

lh_status lh_trainer_use_flat(lh_trainer *t)
{
  return lh_trainer_use_flat_as(t, t->model->layout.dtype, t->model->layout.elements);
}

lh_status lh_trainer_use_flat_as(lh_trainer *t, lh_dtype dtype, size_t elements)
{
  LH_TRY(alloc_views(t));
  LH_TRY(lh_tensor_alloc_1d(t->device, &t->parameters, "parameters", dtype, elements));
  LH_TRY(lh_tensor_alloc_1d(t->device, &t->gradients, "gradients", dtype, elements));
  lh_model_layer_views(t->model, &t->parameters, t->parameter_views);
  lh_model_layer_views(t->model, &t->gradients, t->gradient_views);
  return lh_model_start(t->model, t->parameter_views, settings(t)->seed);
}

lh_status lh_trainer_use_flat_for_wires(lh_trainer *t, lh_dtype gradient_wire,
                                        lh_dtype parameter_wire, size_t elements)
{
  const bool gradients = lh_dtype_bits(gradient_wire) >= lh_dtype_bits(parameter_wire);
  const lh_dtype wider = gradients ? gradient_wire : parameter_wire;
  const lh_dtype dtype = t->model->layout.dtype == LH_F64 ? LH_F64 : wider;
  LH_TRY(lh_trainer_use_flat_as(t, dtype, elements));
  return lh_round_to_wire(t->device, &t->parameters, dtype);
}

lh_piece lh_trainer_piece(const lh_trainer *t, const lh_tensor *slice, size_t first)
{
  const size_t elements = t->model->layout.elements, n = lh_tensor_elements(slice);
  const size_t offset = first < elements ? first : elements;
  const size_t used = n < elements - offset ? n : elements - offset;
  return (lh_piece){.values = lh_tensor_view_1d(slice, 0, used), .offset = offset};
}

lh_status lh_trainer_use_pieces(lh_trainer *t, const lh_piece *pieces, size_t n, size_t replica,
                                size_t ranks)
{
  t->share.piece = pieces;
  t->share.pieces = n;
  t->share.replica = replica;
  t->share.ranks = ranks;
  return alloc_views(t);
}

bool lh_trainer_next_step(lh_trainer *t)
{
  /* Ranks that end a step at the same time must all have said so before one of them goes on. */
  if (isfinite(settings(t)->target_loss))
    lh_rank_settle(t->rank);
  if (!lh_run_begin_step(t->run, t->step + 1, lh_peek_now_s(t->rank))) {
    lh_record_end(t);
    return false;
  }
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

lh_status lh_trainer_micro_batch(lh_trainer *t, double scale, const struct lh_layer_hooks *hooks)
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
    LH_TRY(lh_trainer_micro_batch(t, 1.0 / (double)n, i + 1 == n ? hooks : NULL));
  return LH_OK;
}

/* ---- the inner optimizer --------------------------------------------------------------------- */

lh_status lh_inner_init(lh_inner *inner, const lh_trainer *t, const lh_inner_options *options)
{
  return lh_inner_init_for(inner, &t->parameters, options);
}

lh_status lh_inner_init_for(lh_inner *inner, const lh_tensor *like, const lh_inner_options *options)
{
  inner->options = *options;
  return lh_optimizer_init(&inner->optimizer, &options->optimizer, like);
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
  return lh_inner_step_on(inner, t, &t->parameters, &t->gradients);
}

lh_status lh_inner_step_on(lh_inner *inner, lh_trainer *t, lh_tensor *parameters,
                           const lh_tensor *gradients)
{
  return lh_optimizer_step(&inner->optimizer, t->device, parameters, gradients,
                           lh_inner_learning_rate(inner, t));
}
