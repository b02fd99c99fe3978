/* ddp.c -- fully synchronous data parallelism with buckets that overlap the backward pass.
 *
 * Gradients are averaged over all ranks in buckets. As soon as a bucket's gradients are complete it is
 * multiplied by 1/W and its all-reduce (sum) starts; the optimizer steps when all are done. `clip_order: before-average` clips each rank's own gradient first,
 * so that all buckets start after the backward pass.
 *
 * With another replicator than "full" each parameter tensor is exchanged after the backward pass; the
 * merged update takes the gradient's place.
 *
 * Source: PyTorch's DistributedDataParallel as described in hsdp-adamw, section 3.
 */
#include <math.h>
#include <stdlib.h>

#include "sim/methods/method.h"
#include "sim/replicators/replicator.h"
#include "sim/training/buckets.h"

enum { CLIP_AFTER_AVERAGE, CLIP_BEFORE_AVERAGE };

struct ddp_options {
  lh_inner_options inner;
  lh_replication_options replication;
  size_t clip_order;
  double bucket_bytes, first_bucket_bytes;
  lh_dtype gradient_wire;
};

struct bucket {
  size_t lowest_layer; /* whose gradient completes it */
  lh_tensor gradients; /* view */
  lh_pending *pending;
};

struct ddp {
  const struct ddp_options *options;
  lh_trainer *trainer;
  lh_inner inner;
  size_t buckets, started;
  struct bucket *bucket; /* in the order in which they are started */
  lh_replicator replicator;
  lh_tensor *tensors; /* gradients by parameter tensor: views */
};

/* ---- buckets --------------------------------------------------------------------------------- */

static lh_status make_buckets(struct ddp *ddp)
{
  const lh_layout *layout = &ddp->trainer->model->layout;
  const lh_bucket_limits limits = {.bytes = ddp->options->bucket_bytes,
                                   .first_bytes = ddp->options->first_bucket_bytes,
                                   .dtype = layout->dtype,
                                   .align = 1};
  lh_bucket *range;
  LH_TRY(lh_buckets_make(layout, &limits, &range, &ddp->buckets));
  ddp->bucket = calloc(ddp->buckets, sizeof *ddp->bucket);
  for (size_t i = 0; ddp->bucket && i < ddp->buckets; i++)
    ddp->bucket[i] =
        (struct bucket){.lowest_layer = range[i].lowest_layer,
                        .gradients = lh_tensor_view_1d(&ddp->trainer->gradients, range[i].first,
                                                       range[i].elements)};
  free(range);
  return ddp->bucket ? LH_OK : lh_fail(LH_ENOMEM, "ddp: no memory for buckets");
}

static lh_status start_bucket(struct ddp *ddp, struct bucket *bucket)
{
  lh_trainer *t = ddp->trainer;
  LH_TRY(lh_scale(t->device, &bucket->gradients, 1.0 / (double)lh_world_size(t->rank)));
  return lh_all_reduce_start(t->rank, lh_world(t->rank), 0, &bucket->gradients, LH_SUM,
                             ddp->options->gradient_wire, &bucket->pending);
}

/* Backward goes from the last layer to the first, so a bucket is complete with its lowest layer. */
static lh_status on_gradient_ready(void *ctx, size_t layer)
{
  struct ddp *ddp = ctx;
  while (ddp->started < ddp->buckets && ddp->bucket[ddp->started].lowest_layer >= layer)
    LH_TRY(start_bucket(ddp, &ddp->bucket[ddp->started++]));
  return LH_OK;
}

static lh_status wait_for_buckets(struct ddp *ddp)
{
  for (size_t i = 0; i < ddp->started; i++)
    LH_TRY(lh_wait(ddp->trainer->rank, &ddp->bucket[i].pending));
  ddp->started = 0;
  return LH_OK;
}

/* ---- another replicator ---------------------------------------------------------------------- */

static bool is_full(const struct ddp *ddp)
{
  return ddp->options->replication.replicator.kind == LH_REPLICATOR_FULL;
}

static lh_status make_replicator(struct ddp *ddp)
{
  const lh_trainer *t = ddp->trainer;
  const lh_layout *layout = &t->model->layout;
  ddp->tensors = calloc(layout->parameters, sizeof *ddp->tensors);
  if (!ddp->tensors)
    return lh_fail(LH_ENOMEM, "ddp: no memory for %zu tensors", layout->parameters);
  for (size_t i = 0; i < layout->parameters; i++)
    ddp->tensors[i] = lh_tensor_view(&t->gradients, lh_parameter_start(layout, i),
                                     layout->parameter[i].dims, layout->parameter[i].shape);
  ddp->replicator = (lh_replicator){
      .options = &ddp->options->replication, .rank = t->rank, .group = lh_world(t->rank)};
  return lh_replicator_init(&ddp->replicator, ddp->tensors, layout->parameters);
}

static lh_status exchange_tensors(struct ddp *ddp)
{
  const lh_trainer *t = ddp->trainer;
  for (size_t i = 0; i < t->model->layout.parameters; i++) {
    LH_TRY(lh_replicator_begin(&ddp->replicator, i, &ddp->tensors[i], 1.0, t->step));
    LH_TRY(lh_replicator_end(&ddp->replicator, i, &ddp->tensors[i]));
  }
  return LH_OK;
}

/* ---- the method ------------------------------------------------------------------------------ */

static lh_status ddp_create(void *state, lh_trainer *t, const void *options)
{
  struct ddp *ddp = state;
  ddp->options = options;
  ddp->trainer = t;
  LH_TRY(lh_trainer_use_flat(t));
  LH_TRY(lh_inner_init(&ddp->inner, t, &ddp->options->inner));
  return is_full(ddp) ? make_buckets(ddp) : make_replicator(ddp);
}

/* The step's gradient, exchanged. */
static lh_status gradient(struct ddp *ddp)
{
  lh_trainer *t = ddp->trainer;
  const struct lh_layer_hooks hooks = {.gradient_ready = on_gradient_ready, .ctx = ddp};
  const bool clips_first = ddp->options->clip_order == CLIP_BEFORE_AVERAGE;
  LH_TRY(lh_trainer_gradient(t, is_full(ddp) && !clips_first ? &hooks : NULL));
  if (clips_first)
    LH_TRY(lh_clip_norm(t->device, &t->gradients, ddp->options->inner.clip_norm));
  if (!is_full(ddp))
    return exchange_tensors(ddp);
  LH_TRY(on_gradient_ready(ddp, 0)); /* all that the hooks have not started */
  return wait_for_buckets(ddp);
}

static lh_status ddp_train(void *state, lh_trainer *t)
{
  struct ddp *ddp = state;
  while (lh_trainer_next_step(t)) {
    LH_TRY(gradient(ddp));
    if (ddp->options->clip_order == CLIP_AFTER_AVERAGE)
      LH_TRY(lh_clip_norm(t->device, &t->gradients, ddp->options->inner.clip_norm));
    LH_TRY(lh_inner_step_on(&ddp->inner, t, &t->parameters, &t->gradients));
    LH_TRY(lh_trainer_end_step(t, NULL));
  }
  return LH_OK;
}

static void ddp_destroy(void *state)
{
  struct ddp *ddp = state;
  lh_inner_fini(&ddp->inner);
  lh_replicator_fini(&ddp->replicator);
  free(ddp->tensors);
  free(ddp->bucket);
}

static lh_status check(const void *options, lh_json node, const lh_platform *platform,
                       const lh_workload *workload)
{
  (void)platform;
  (void)workload;
  return lh_replication_check(&((const struct ddp_options *)options)->replication, node);
}

#define O(field) offsetof(struct ddp_options, field)
static const char *const clip_orders[] = {"after-average", "before-average", NULL};
static const char *const wires[] = {"f32", "bf16", "f16", NULL};
/* clang-format off */
static const lh_option ddp_option_table[] = {
    LH_INNER_OPTIONS(struct ddp_options, inner, "{\"name\": \"adamw\"}"),
    LH_REPLICATION_OPTIONS(struct ddp_options, replication, "{\"name\": \"full\"}"),
    {.name = "clip_order", .type = LH_OPTION_CHOICE, .offset = O(clip_order),
     .fallback = "\"after-average\"", .choices = clip_orders,
     .help = "clip the mean gradient, or each rank's own before it is averaged"},
    LH_BUCKET_OPTIONS(struct ddp_options),
    {.name = "gradient_wire", .type = LH_OPTION_DTYPE, .offset = O(gradient_wire),
     .fallback = "\"f32\"", .choices = wires, .help = "dtype of gradients on the wire"},
    {0}};
/* clang-format on */
#undef O

const lh_method lh_method_ddp = {
    .name = "ddp",
    .title = "Distributed data parallel",
    .paper = "Li et al. 2020, arXiv:2006.15704 (PyTorch DDP)",
    .options = ddp_option_table,
    .options_size = sizeof(struct ddp_options),
    .state_size = sizeof(struct ddp),
    .check = check,
    .create = ddp_create,
    .train = ddp_train,
    .destroy = ddp_destroy,
    .state_formula =
        "16 B/param with AdamW: parameters 4, gradients 4, m and v 8 (buckets are views; "
        "+ 4 with a replicator that keeps a residual)",
    .wire_formula =
        "2 (W-1)/W * g * P per step, g bytes of gradient_wire, P parameters, W ranks; or "
        "what its replicator sends (flexdemo)",
    .state_bytes_per_parameter = 8,
};
