/* diloco.c -- H local steps, then an all-reduce of the parameter change and an outer Nesterov step.
 *
 *     for h = 1..H:  theta <- inner optimizer(theta, own gradient)
 *     Delta   <- mean over ranks of (theta_g - theta)          start minus end: it is descended along
 *     buf     <- mu * buf + Delta                               (first round: Delta)
 *     theta_g <- theta_g - eta * (Delta + mu * buf)
 *     theta   <- theta_g
 *
 * Inner optimizer state and schedule go on untouched. An unfinished last round is not averaged.
 *
 * Memory: 24 B/param in f32 with AdamW: theta 4, gradient 4, m and v 8, theta_g 4, buf 4; the outer
 *   gradient is formed in the gradient's storage.
 * Source: Douillard et al. 2023, arXiv:2311.08105, algorithm 1; page diloco.
 */
#include <math.h>

#include "sim/methods/method.h"

struct diloco_options {
  lh_inner_options inner;
  size_t inner_steps;
  lh_outer_options outer;
  lh_dtype outer_wire;
};

struct diloco {
  const struct diloco_options *options;
  lh_inner inner;
  lh_tensor global, momentum; /* theta_g, buf */
  size_t rounds;
};

static lh_status create(void *state, lh_trainer *t, const void *options)
{
  struct diloco *d = state;
  d->options = options;
  LH_TRY(lh_trainer_use_flat(t));
  LH_TRY(lh_inner_init(&d->inner, t, &d->options->inner));
  const size_t n = lh_tensor_elements(&t->parameters);
  LH_TRY(lh_tensor_alloc_1d(t->device, &d->global, "outer parameters", t->parameters.dtype, n));
  if (d->options->outer.kind != LH_OUTER_SGD)
    LH_TRY(lh_tensor_alloc_1d(t->device, &d->momentum, "outer momentum", t->parameters.dtype, n));
  return lh_copy(t->device, &d->global, &t->parameters);
}

static lh_status outer_round(struct diloco *d, lh_trainer *t)
{
  lh_tensor *delta = &t->gradients; /* free until the next backward pass */
  LH_TRY(lh_subtract(t->device, delta, &d->global, &t->parameters));
  LH_TRY(lh_all_reduce(t->rank, lh_world(t->rank), delta, LH_MEAN, d->options->outer_wire));
  LH_TRY(lh_outer_step(t->device, &d->options->outer, &d->global, &d->momentum, delta,
                       d->rounds++ == 0));
  return lh_copy(t->device, &t->parameters, &d->global);
}

static lh_status train(void *state, lh_trainer *t)
{
  struct diloco *d = state;
  while (lh_trainer_next_step(t)) {
    LH_TRY(lh_trainer_gradient(t, NULL));
    LH_TRY(lh_inner_step(&d->inner, t));
    if (t->step % d->options->inner_steps == 0)
      LH_TRY(outer_round(d, t));
    LH_TRY(lh_trainer_end_step(t, d->rounds ? &d->global : NULL));
  }
  return LH_OK;
}

static void destroy(void *state)
{
  struct diloco *d = state;
  lh_inner_fini(&d->inner);
  lh_tensor_free(&d->global);
  lh_tensor_free(&d->momentum);
}

#define O(field) offsetof(struct diloco_options, field)
static const char *const wires[] = {"f32", "bf16", "f16", NULL};
/* clang-format off */
static const lh_option option_table[] = {
    LH_INNER_OPTIONS(struct diloco_options, inner,
                     "{\"name\": \"adamw\", \"learning_rate\": 4e-4, \"beta2\": 0.95, "
                     "\"weight_decay\": 0.1}"),
    {.name = "inner_steps", .type = LH_OPTION_SIZE, .offset = O(inner_steps), .fallback = "500",
     .low = 1, .high = INFINITY, .help = "local steps of a round (H)"},
    {.name = "outer", .type = LH_OPTION_PART, .offset = O(outer),
     .fallback = "{\"name\": \"nesterov\", \"learning_rate\": 0.7, \"momentum\": 0.9}",
     .parts = lh_outer_parts, .help = "the outer optimizer"},
    {.name = "outer_wire", .type = LH_OPTION_DTYPE, .offset = O(outer_wire), .fallback = "\"f32\"",
     .choices = wires, .help = "dtype of the outer gradient on the wire"},
    {0}};
/* clang-format on */
#undef O

const lh_method lh_method_diloco = {
    .name = "diloco",
    .title = "DiLoCo: local AdamW, outer Nesterov on the averaged change",
    .paper = "Douillard et al. 2023, arXiv:2311.08105",
    .options = option_table,
    .options_size = sizeof(struct diloco_options),
    .state_size = sizeof(struct diloco),
    .create = create,
    .train = train,
    .destroy = destroy,
    .state_formula =
        "24 B/param: parameters 4, gradients 4, m and v 8, outer parameters 4, outer momentum 4",
    .wire_formula = "2 (W-1)/W * b * P once per H = inner_steps steps, b bytes of outer_wire",
    .state_bytes_per_parameter = 16,
};
