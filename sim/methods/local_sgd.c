/* local_sgd.c -- local steps, then the parameters of all ranks are averaged.
 *
 * Every rank takes `inner_steps` optimizer steps of its own; then x <- mean of x over all ranks.
 * Optimizer states stay local. "post-local": fully synchronous (gradients are averaged every step)
 * for the first `synchronous_steps`, local afterwards.
 *
 * Source: Stich 2019, arXiv:1805.09767; post-local: Lin et al. 2020, arXiv:1808.07217; zero1-adamw.
 */
#include <math.h>

#include "sim/methods/method.h"

enum { CONSTANT, POST_LOCAL };

struct period_options {
  size_t kind;
  size_t synchronous_steps;
};

struct local_sgd_options {
  lh_inner_options inner;
  size_t inner_steps;
  struct period_options period;
  lh_dtype parameter_wire;
};

struct local_sgd {
  const struct local_sgd_options *options;
  lh_inner inner;
};

static lh_status create(void *state, lh_trainer *t, const void *options)
{
  struct local_sgd *local = state;
  local->options = options;
  LH_TRY(lh_trainer_use_flat(t));
  return lh_inner_init(&local->inner, t, &local->options->inner);
}

static bool is_synchronous(const struct local_sgd_options *o, size_t step)
{
  return o->period.kind == POST_LOCAL && step <= o->period.synchronous_steps;
}

static bool averages_after(const struct local_sgd_options *o, size_t step)
{
  const size_t skipped = o->period.kind == POST_LOCAL ? o->period.synchronous_steps : 0;
  return step > skipped && (step - skipped) % o->inner_steps == 0;
}

static lh_status average(lh_trainer *t, lh_tensor *x, lh_dtype wire)
{
  return lh_all_reduce(t->rank, lh_world(t->rank), x, LH_MEAN, wire);
}

static lh_status train(void *state, lh_trainer *t)
{
  struct local_sgd *local = state;
  const struct local_sgd_options *o = local->options;
  while (lh_trainer_next_step(t)) {
    LH_TRY(lh_trainer_gradient(t, NULL));
    if (is_synchronous(o, t->step))
      LH_TRY(average(t, &t->gradients, o->parameter_wire));
    LH_TRY(lh_inner_step(&local->inner, t));
    if (averages_after(o, t->step))
      LH_TRY(average(t, &t->parameters, o->parameter_wire));
    LH_TRY(lh_trainer_end_step(t, NULL));
  }
  return LH_OK;
}

static void destroy(void *state)
{
  lh_inner_fini(&((struct local_sgd *)state)->inner);
}

/* clang-format off */
static const lh_option post_local_options[] = {
    {.name = "synchronous_steps", .type = LH_OPTION_SIZE,
     .offset = offsetof(struct period_options, synchronous_steps), .fallback = "0", .low = 0,
     .high = INFINITY, .help = "steps with averaged gradients before the first local one"},
    {0}};
/* clang-format on */
static const lh_option_part periods[] = {
    {"constant", NULL, "an average every inner_steps"},
    {"post-local", post_local_options, "synchronous first, then constant"},
    {0}};

#define O(field) offsetof(struct local_sgd_options, field)
static const char *const wires[] = {"f32", "bf16", "f16", NULL};
/* clang-format off */
static const lh_option option_table[] = {
    LH_INNER_OPTIONS(struct local_sgd_options, inner, "{\"name\": \"sgd\"}"),
    {.name = "inner_steps", .type = LH_OPTION_SIZE, .offset = O(inner_steps), .fallback = "8",
     .low = 1, .high = INFINITY, .help = "local steps between two averages (H)"},
    {.name = "period", .type = LH_OPTION_PART, .offset = O(period),
     .fallback = "{\"name\": \"constant\"}", .parts = periods, .help = "when averages are taken"},
    {.name = "parameter_wire", .type = LH_OPTION_DTYPE, .offset = O(parameter_wire),
     .fallback = "\"f32\"", .choices = wires, .help = "dtype of parameters on the wire"},
    {0}};
/* clang-format on */
#undef O

const lh_method lh_method_local_sgd = {
    .name = "local-sgd",
    .title = "Local SGD: local steps, then parameter averaging",
    .paper = "Stich 2019, arXiv:1805.09767",
    .options = option_table,
    .options_size = sizeof(struct local_sgd_options),
    .state_size = sizeof(struct local_sgd),
    .create = create,
    .train = train,
    .destroy = destroy,
    .state_formula = "8 B/param: parameters 4, gradients 4 (+4 with momentum, +8 with AdamW)",
    .wire_formula = "2 (W-1)/W * b * P once per H = inner_steps steps, b bytes of parameter_wire",
    .state_bytes_per_parameter = 8,
};
