/* demo.c -- no gradient all-reduce: every step each rank shares the largest DCT coefficients of its
 * own momentum, and all move by the sign of the merged update.
 *
 * Per tensor, one after another:
 *     p <- p (1 - lr wd)
 *     m <- decay m + lr g                     the learning rate is inside the momentum
 *     u <- exchange(m), which takes what is sent off m         sim/replicators/demo.h
 *     p <- p - lr sign(u)
 *
 * Clipping is by each rank's own norm, before the step. `overlap: pipelined` encodes the next tensor
 * while one is on the wire; its results are the same.
 *
 * Source: Peng, Quesnelle, Kingma 2024, arXiv:2411.19870 and its reference code; page demo, section D.
 */
#include <math.h>
#include <stdlib.h>

#include "sim/methods/method.h"
#include "sim/replicators/demo.h"

enum { APPLY_SIGN, APPLY_IDENTITY };
enum { OVERLAP_NONE, OVERLAP_PIPELINED };

static const char *const wire_formats[] = {"i64-f32", "i32-f32", "narrow-f32", "narrow-1bit", NULL};
static const lh_demo_wire wires[] = {
    {8, LH_F32, false}, {4, LH_F32, false}, {0, LH_F32, false}, {0, LH_BIT, true}};

struct demo_options {
  lh_inner_options inner;
  lh_demo_options replicator;
  double decay;
  size_t apply, overlap, wire_format;
  bool learning_rate_in_momentum;
};

/* One parameter tensor. */
struct piece {
  lh_tensor parameters, gradients, momentum; /* views */
  lh_demo_turn turn;
};

struct demo {
  const struct demo_options *options;
  lh_trainer *trainer;
  lh_tensor momentum; /* (P) */
  size_t pieces;
  struct piece *piece;
};

static lh_status make_piece(struct demo *d, const lh_parameter *parameter, struct piece *piece)
{
  lh_trainer *t = d->trainer;
  const size_t start = t->model->layout.layer[parameter->layer].offset + parameter->offset;
  piece->parameters = lh_tensor_view(&t->parameters, start, parameter->dims, parameter->shape);
  piece->gradients = lh_tensor_view(&t->gradients, start, parameter->dims, parameter->shape);
  piece->momentum = lh_tensor_view(&d->momentum, start, parameter->dims, parameter->shape);
  return lh_demo_turn_init(&piece->turn, &d->options->replicator, wires[d->options->wire_format],
                           t->rank, lh_world(t->rank), &piece->momentum);
}

static lh_status create(void *state, lh_trainer *t, const void *options)
{
  struct demo *d = state;
  const lh_layout *layout = &t->model->layout;
  d->options = options;
  d->trainer = t;
  LH_TRY(lh_trainer_use_flat(t));
  LH_TRY(lh_tensor_alloc_1d(t->device, &d->momentum, "momentum", layout->dtype, layout->elements));
  d->piece = calloc(layout->parameters, sizeof *d->piece);
  if (!d->piece)
    return lh_fail(LH_ENOMEM, "demo: no memory for %zu tensors", layout->parameters);
  for (size_t i = 0; i < layout->parameters; i++) {
    d->pieces++;
    LH_TRY(make_piece(d, &layout->parameter[i], &d->piece[i]));
  }
  return LH_OK;
}

static double learning_rate(const struct demo *d)
{
  const lh_inner_options *inner = &d->options->inner;
  return inner->optimizer.learning_rate *
         lh_schedule_factor(&inner->schedule, d->trainer->step - 1,
                            lh_run_settings_of(d->trainer->run)->steps);
}

/* The gradient's storage is the scratch of the own decode, and later holds the update. */
static lh_status begin(struct demo *d, struct piece *piece)
{
  lh_device *device = d->trainer->device;
  const double rate = learning_rate(d), decay = d->options->inner.optimizer.weight_decay;
  if (decay > 0)
    LH_TRY(lh_scale(device, &piece->parameters, 1.0 - rate * decay));
  LH_TRY(lh_axpby(device, d->options->learning_rate_in_momentum ? rate : 1.0, &piece->gradients,
                  d->options->decay, &piece->momentum));
  return lh_demo_begin(&piece->turn, &piece->momentum, &piece->gradients);
}

static lh_status end(struct demo *d, struct piece *piece)
{
  lh_device *device = d->trainer->device;
  LH_TRY(lh_demo_end(&piece->turn, &piece->gradients));
  if (d->options->apply == APPLY_SIGN)
    LH_TRY(lh_sign(device, &piece->gradients, &piece->gradients));
  return lh_axpby(device, -learning_rate(d), &piece->gradients, 1.0, &piece->parameters);
}

static lh_status exchange_one_by_one(struct demo *d)
{
  for (size_t i = 0; i < d->pieces; i++) {
    LH_TRY(begin(d, &d->piece[i]));
    LH_TRY(end(d, &d->piece[i]));
  }
  return LH_OK;
}

static lh_status exchange_pipelined(struct demo *d)
{
  for (size_t i = 0; i <= d->pieces; i++) {
    if (i < d->pieces)
      LH_TRY(begin(d, &d->piece[i]));
    if (i > 0)
      LH_TRY(end(d, &d->piece[i - 1]));
  }
  return LH_OK;
}

static lh_status train(void *state, lh_trainer *t)
{
  struct demo *d = state;
  while (lh_trainer_next_step(t)) {
    LH_TRY(lh_trainer_gradient(t, NULL));
    LH_TRY(lh_clip_norm(t->device, &t->gradients, d->options->inner.clip_norm));
    LH_TRY(d->options->overlap == OVERLAP_PIPELINED ? exchange_pipelined(d)
                                                    : exchange_one_by_one(d));
    LH_TRY(lh_trainer_end_step(t, NULL));
  }
  return LH_OK;
}

static void destroy(void *state)
{
  struct demo *d = state;
  for (size_t i = 0; i < d->pieces; i++)
    lh_demo_turn_fini(&d->piece[i].turn);
  free(d->piece);
  lh_tensor_free(&d->momentum);
}

static lh_status check(const void *options, lh_json node, const lh_platform *platform,
                       const lh_workload *workload)
{
  (void)platform;
  (void)workload;
  const lh_optimizer_options *o = &((const struct demo_options *)options)->inner.optimizer;
  if (o->kind != LH_OPTIMIZER_SGD || o->momentum != 0)
    return lh_json_fail(
        lh_json_get(node, "optimizer"),
        "found %s%s, allowed: sgd without momentum; DeMo's own momentum is \"decay\"",
        lh_optimizer_parts[o->kind].name, o->momentum != 0 ? " with momentum" : "");
  return LH_OK;
}

#define O(field) offsetof(struct demo_options, field)
static const char *const applies[] = {"sign", "identity", NULL};
static const char *const overlaps[] = {"none", "pipelined", NULL};
/* clang-format off */
static const lh_option option_table[] = {
    LH_INNER_OPTIONS(struct demo_options, inner, "{\"name\": \"sgd\"}"),
    LH_DEMO_OPTIONS(struct demo_options, replicator),
    {.name = "wire_format", .type = LH_OPTION_CHOICE, .offset = O(wire_format),
     .fallback = "\"i64-f32\"", .choices = wire_formats,
     .help = "index and value types on the wire"},
    {.name = "decay", .type = LH_OPTION_DOUBLE, .offset = O(decay), .fallback = "0.999", .low = 0,
     .high = 1, .open_high = true, .help = "decay of the momentum (beta)"},
    {.name = "apply", .type = LH_OPTION_CHOICE, .offset = O(apply), .fallback = "\"sign\"",
     .choices = applies, .help = "what of the merged update moves the parameters"},
    {.name = "learning_rate_in_momentum", .type = LH_OPTION_BOOL,
     .offset = O(learning_rate_in_momentum), .fallback = "true",
     .help = "m = decay m + lr g (the published code), or + g"},
    {.name = "overlap", .type = LH_OPTION_CHOICE, .offset = O(overlap), .fallback = "\"none\"",
     .choices = overlaps, .help = "encode the next tensor while one is on the wire"},
    {0}};
/* clang-format on */
#undef O

const lh_method lh_method_demo = {
    .name = "demo",
    .title = "DeMo: the largest DCT coefficients of a decoupled momentum",
    .paper = "Peng, Quesnelle, Kingma 2024, arXiv:2411.19870",
    .options = option_table,
    .options_size = sizeof(struct demo_options),
    .state_size = sizeof(struct demo),
    .check = check,
    .create = create,
    .train = train,
    .destroy = destroy,
    .state_formula =
        "12 B/param: parameters 4, gradients 4, momentum 4 (+12 N rho while a tensor is in turn)",
    .wire_formula = "(N-1) * e * K per step, e bytes per kept entry (12 for i64-f32), "
                    "K = sum over tensors of blocks * min(top_k, chunk elements), N ranks",
    .state_bytes_per_parameter = 4,
};
