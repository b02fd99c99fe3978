/* acco.c -- gradients are accumulated while those before them are reduced, stepped and gathered.
 *
 * theta: parameters in use; G: gradients being summed; Buf: on the wire, gradients out and parameters back.
 * Each rank owns a slice of n's, with master weights and optimizer state. One round:
 *
 *     on the stream:   gs <- reduce-scatter(Buf) / sum of counts;  step own slice;  Buf <- all-gather
 *     on the rank:     blocks of micro-batches at theta into G, until the stream is done
 *     swap:            theta <- Buf, Buf <- G
 *
 * acco: an optimizer step is two rounds. The first sends half of its gradients and yields an estimate of the
 *   next parameters, the optimizer's state being put back; meanwhile the other half is computed. The second
 *   sends both halves and yields the next parameters; meanwhile the first half of the next step is computed
 *   at the estimate.
 * dpu: one round a step, whose gradients were computed at the parameters before.
 * wp: as dpu, but gradients are computed where a second step along the same gradient would lead.
 *
 * Ranks swap on their own clocks: only the collectives tie them together, and a rank that waits for others
 * goes on accumulating. Counts may differ; sums are divided by the sum of counts.
 *
 * Source: Nabli et al. 2024, arXiv:2406.02613 and its code; page acco.
 * Differs: ranks start with equal parameters, so they are not averaged first. A block that takes less than
 *   1 ns is not repeated. Under wp the rank holds, shows and evaluates the predicted parameters.
 */
#include <math.h>

#include "sim/methods/method.h"

enum { VARIANT_ACCO, VARIANT_DPU, VARIANT_WP };
enum { FIRST_ESTIMATE_EXACT, FIRST_ESTIMATE_CODE };

struct acco_options {
  lh_inner_options inner;
  size_t variant, accumulation_block, warmup_steps, first_estimate;
  lh_dtype gradient_wire, parameter_wire;
};

/* Of the own slice, put aside while another step is tried. */
struct saved {
  lh_tensor master, first, second;
  uint64_t steps;
};

struct acco {
  const struct acco_options *options;
  lh_trainer *trainer;
  lh_inner inner;
  lh_tensor buffer;           /* (P') Buf */
  lh_tensor own;              /* (S) the slice of it: a view */
  lh_tensor master, gradient; /* (S) */
  lh_tensor count;            /* (1) micro-batches in Buf, here and then everywhere */
  double accumulated;         /* micro-batches in G */
  bool estimates;             /* the round on the stream is an estimate */
  bool estimated;             /* one has been made before */
  lh_pending *count_sum, *scatter, *update, *gather;
};

static lh_tensor used_part(const struct acco *a)
{
  return lh_tensor_view_1d(&a->buffer, 0, a->trainer->model->layout.elements);
}

/* ---- on the stream --------------------------------------------------------------------------- */

static lh_status save_one(struct acco *a, lh_tensor *copy, const lh_tensor *x)
{
  if (!x->dims)
    return LH_OK;
  LH_TRY(lh_tensor_alloc_1d(a->trainer->device, copy, "snapshot", x->dtype, lh_tensor_elements(x)));
  return lh_copy(a->trainer->device, copy, x);
}

static lh_status save(struct acco *a, struct saved *saved)
{
  lh_optimizer *optimizer = &a->inner.optimizer;
  saved->steps = optimizer->steps;
  LH_TRY(save_one(a, &saved->master, &a->master));
  LH_TRY(save_one(a, &saved->first, &optimizer->first));
  return save_one(a, &saved->second, &optimizer->second);
}

static lh_status restore_one(struct acco *a, lh_tensor *x, const lh_tensor *copy)
{
  return copy->dims ? lh_copy(a->trainer->device, x, copy) : LH_OK;
}

static lh_status restore_state(struct acco *a, const struct saved *saved)
{
  lh_optimizer *optimizer = &a->inner.optimizer;
  optimizer->steps = saved->steps;
  LH_TRY(restore_one(a, &optimizer->first, &saved->first));
  return restore_one(a, &optimizer->second, &saved->second);
}

static void forget(struct saved *saved)
{
  lh_tensor_free(&saved->master);
  lh_tensor_free(&saved->first);
  lh_tensor_free(&saved->second);
}

static lh_status step_slice(struct acco *a)
{
  return lh_inner_step_on(&a->inner, a->trainer, &a->master, &a->gradient);
}

static lh_status show_master(struct acco *a)
{
  return lh_copy(a->trainer->device, &a->own, &a->master);
}

/* A step that is shown to all and then taken back. The code's first estimate leaves its state behind. */
static lh_status try_step(struct acco *a)
{
  struct saved saved = {0};
  const bool leaves_state =
      a->estimates && !a->estimated && a->options->first_estimate == FIRST_ESTIMATE_CODE;
  lh_status status;
  LH_TRY_GOTO(status, save(a, &saved));
  LH_TRY_GOTO(status, step_slice(a));
  LH_TRY_GOTO(status, show_master(a));
  LH_TRY_GOTO(status, restore_one(a, &a->master, &saved.master));
  if (!leaves_state)
    status = restore_state(a, &saved);
done:
  forget(&saved);
  return status;
}

/* What a round does to the own slice, between its two collectives. */
static lh_status update(void *ctx)
{
  struct acco *a = ctx;
  double count;
  LH_TRY(lh_tensor_get(&a->count, &count, 1));
  LH_TRY(lh_scale(a->trainer->device, &a->gradient,
                  1.0 / fmax(count, 1.0))); /* a phantom count is 0 */
  if (a->estimates) {
    LH_TRY(try_step(a));
    a->estimated = true;
    return LH_OK;
  }
  LH_TRY(step_slice(a));
  return a->options->variant == VARIANT_WP ? try_step(a) : show_master(a);
}

static lh_status start_round(struct acco *a, bool estimates)
{
  lh_rank *self = a->trainer->rank;
  lh_group *world = lh_world(self);
  a->estimates = estimates;
  LH_TRY(lh_all_reduce_start(self, world, 0, &a->count, LH_SUM, LH_F32, &a->count_sum));
  LH_TRY(lh_reduce_scatter_start(self, world, 0, &a->buffer, &a->gradient, LH_SUM_ROUNDED_ONCE,
                                 a->options->gradient_wire, &a->scatter));
  LH_TRY(lh_launch_start(self, 0, update, a, &a->update));
  return lh_all_gather_start(self, world, 0, &a->own, &a->buffer, a->options->parameter_wire,
                             &a->gather);
}

static lh_status wait_for_round(struct acco *a)
{
  lh_rank *self = a->trainer->rank;
  LH_TRY(lh_wait(self, &a->gather));
  LH_TRY(lh_wait(self, &a->update));
  LH_TRY(lh_wait(self, &a->scatter));
  return lh_wait(self, &a->count_sum);
}

/* ---- on the rank ----------------------------------------------------------------------------- */

static lh_status accumulate(struct acco *a, size_t micro_batches)
{
  for (size_t i = 0; i < micro_batches; i++) {
    LH_TRY(lh_trainer_micro_batch(a->trainer, 1.0, NULL));
    LH_TRY(
        lh_round_to_wire(a->trainer->device, &a->trainer->gradients, a->trainer->gradients.dtype));
    a->accumulated++;
  }
  return LH_OK;
}

/* Blocks for as long as the round takes; one at least. */
static lh_status accumulate_meanwhile(struct acco *a)
{
  lh_rank *self = a->trainer->rank;
  double from_s, block_s;
  do {
    from_s = lh_now_s(self);
    LH_TRY(accumulate(a, a->options->accumulation_block));
    lh_rank_settle(self);
    block_s = lh_now_s(self) - from_s;
  } while (block_s >= 1e-9 && !lh_is_done(self, a->gather));
  return wait_for_round(a);
}

/* Buf <- G. */
static lh_status hand_out(struct acco *a, bool clears)
{
  lh_trainer *t = a->trainer;
  lh_tensor part = used_part(a);
  LH_TRY(lh_copy(t->device, &part, &t->gradients));
  LH_TRY(lh_tensor_set(&a->count, &a->accumulated, 1));
  if (!clears)
    return LH_OK;
  a->accumulated = 0;
  return lh_fill(t->device, &t->gradients, 0.0);
}

/* theta <- Buf */
static lh_status take_over(struct acco *a)
{
  const lh_tensor part = used_part(a);
  return lh_copy(a->trainer->device, &a->trainer->parameters, &part);
}

static lh_status round_of(struct acco *a, bool estimates, bool clears)
{
  LH_TRY(start_round(a, estimates));
  LH_TRY(accumulate_meanwhile(a));
  LH_TRY(take_over(a));
  return hand_out(a, clears);
}

/* After an estimate the sum starts anew; after a real step its first half stays. */
static lh_status step(struct acco *a)
{
  const bool two_rounds = a->options->variant == VARIANT_ACCO;
  if (two_rounds)
    LH_TRY(round_of(a, true, true));
  return round_of(a, false, !two_rounds);
}

/* Nothing overlaps. */
static lh_status warm_step(struct acco *a)
{
  LH_TRY(accumulate(a, a->options->accumulation_block));
  LH_TRY(hand_out(a, true));
  LH_TRY(start_round(a, false));
  LH_TRY(wait_for_round(a));
  return take_over(a);
}

/* Gradients for the first round. */
static lh_status prime(struct acco *a)
{
  const size_t micro_batches = a->options->warmup_steps ? a->options->accumulation_block : 1;
  LH_TRY(accumulate(a, micro_batches));
  return hand_out(a, a->options->variant != VARIANT_ACCO);
}

static lh_status train(void *state, lh_trainer *t)
{
  struct acco *a = state;
  while (lh_trainer_next_step(t)) {
    if (t->step == a->options->warmup_steps + 1)
      LH_TRY(prime(a));
    LH_TRY(t->step <= a->options->warmup_steps ? warm_step(a) : step(a));
    LH_TRY(lh_trainer_end_step(t, NULL));
  }
  return LH_OK;
}

/* ---- the method ------------------------------------------------------------------------------ */

static lh_status make_slice(struct acco *a)
{
  lh_trainer *t = a->trainer;
  const lh_layout *layout = &t->model->layout;
  const size_t ranks = lh_world_size(t->rank), i = lh_rank_index(t->rank);
  const size_t slice = (layout->elements + ranks - 1) / ranks, first = i * slice;
  LH_TRY(lh_tensor_alloc_1d(t->device, &a->buffer, "communication buffer", t->parameters.dtype,
                            ranks * slice));
  LH_TRY(lh_tensor_alloc_1d(t->device, &a->master, "master slice", layout->dtype, slice));
  LH_TRY(lh_tensor_alloc_1d(t->device, &a->gradient, "gradient slice", layout->dtype, slice));
  LH_TRY(lh_tensor_alloc_1d(t->device, &a->count, "count", layout->dtype, 1));
  a->own = lh_tensor_view_1d(&a->buffer, first, slice);
  t->master = lh_trainer_piece(t, &a->master, first);
  lh_tensor part = used_part(a);
  LH_TRY(lh_copy(t->device, &part, &t->parameters));
  return lh_copy(t->device, &a->master, &a->own);
}

static lh_status create(void *state, lh_trainer *t, const void *options)
{
  struct acco *a = state;
  a->options = options;
  a->trainer = t;
  LH_TRY(lh_trainer_use_flat_for_wires(t, a->options->gradient_wire, a->options->parameter_wire,
                                       t->model->layout.elements));
  lh_device_pause_charging(t->device);
  const lh_status status = make_slice(a);
  lh_device_resume_charging(t->device);
  return status == LH_OK ? lh_inner_init_for(&a->inner, &a->master, &a->options->inner) : status;
}

static void destroy(void *state)
{
  struct acco *a = state;
  lh_inner_fini(&a->inner);
  lh_tensor_free(&a->buffer);
  lh_tensor_free(&a->master);
  lh_tensor_free(&a->gradient);
  lh_tensor_free(&a->count);
}

static lh_status check(const void *options, lh_json node, const lh_platform *platform,
                       const lh_workload *workload)
{
  (void)platform;
  (void)workload;
  const struct acco_options *o = options;
  if (o->inner.clip_norm > 0)
    return lh_json_fail(lh_json_get(node, "clip_norm"),
                        "found %g, allowed: 0, for no rank sees the whole gradient",
                        o->inner.clip_norm);
  return LH_OK;
}

static double micro_batches(const void *options, const lh_workload *workload)
{
  (void)workload;
  const struct acco_options *o = options;
  return (double)o->accumulation_block * (o->variant == VARIANT_ACCO ? 2 : 1);
}

#define O(field) offsetof(struct acco_options, field)
static const char *const variants[] = {"acco", "dpu", "wp", NULL};
static const char *const first_estimates[] = {"exact", "code", NULL};
static const char *const wires[] = {"f32", "bf16", "f16", NULL};
/* clang-format off */
static const lh_option option_table[] = {
    LH_INNER_OPTIONS(struct acco_options, inner, "{\"name\": \"adamw\", \"learning_rate\": 6e-4, "
                     "\"beta2\": 0.95, \"weight_decay\": 0.1}"),
    {.name = "variant", .type = LH_OPTION_CHOICE, .offset = O(variant), .fallback = "\"acco\"",
     .choices = variants, .help = "estimate and real step, delayed by one, or with prediction"},
    {.name = "accumulation_block", .type = LH_OPTION_SIZE, .offset = O(accumulation_block),
     .fallback = "1", .low = 1, .high = INFINITY,
     .help = "micro-batches between two looks at the stream (in place of the workload's)"},
    {.name = "warmup_steps", .type = LH_OPTION_SIZE, .offset = O(warmup_steps), .fallback = "0",
     .low = 0, .high = INFINITY, .help = "first steps that overlap nothing and delay nothing"},
    {.name = "first_estimate", .type = LH_OPTION_CHOICE, .offset = O(first_estimate),
     .fallback = "\"exact\"", .choices = first_estimates,
     .help = "take the first estimate back, or leave its optimizer state as the code does"},
    {.name = "gradient_wire", .type = LH_OPTION_DTYPE, .offset = O(gradient_wire),
     .fallback = "\"bf16\"", .choices = wires, .help = "dtype in which gradients are kept and sent"},
    {.name = "parameter_wire", .type = LH_OPTION_DTYPE, .offset = O(parameter_wire),
     .fallback = "\"bf16\"", .choices = wires, .help = "dtype in which parameters are used and sent"},
    {0}};
/* clang-format on */
#undef O

const lh_method lh_method_acco = {
    .name = "acco",
    .title = "ACCO: accumulate while you communicate",
    .paper = "Nabli, Fournier, Erbacher, Serrano, Belilovsky, Oyallon 2024, arXiv:2406.02613",
    .options = option_table,
    .options_size = sizeof(struct acco_options),
    .state_size = sizeof(struct acco),
    .check = check,
    .micro_batches = micro_batches,
    .create = create,
    .train = train,
    .destroy = destroy,
    .state_formula =
        "6 + 16/n B/param with AdamW: parameters 2, gradients 2, buffer 2, slices: master 4/n, "
        "gradient 4/n, m and v 8/n (+12/n while an estimate is made)",
    .wire_formula =
        "acco: 2 (n-1) (g+b) S per step in two rounds, dpu and wp half of it; S = ceil(P/n), g "
        "and b bytes of gradient_wire and parameter_wire; and a count of 4 B per round",
    .state_bytes_per_parameter = 28,
};
