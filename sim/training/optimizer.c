#include "sim/training/optimizer.h"

#include <math.h>

#define O(field) offsetof(lh_optimizer_options, field)
/* clang-format off */
static const lh_option adamw_options[] = {
    {.name = "learning_rate", .type = LH_OPTION_DOUBLE, .offset = O(learning_rate),
     .fallback = "1e-3", .low = 0, .high = INFINITY, .help = "base rate, before the schedule"},
    {.name = "beta1", .type = LH_OPTION_DOUBLE, .offset = O(beta1), .fallback = "0.9", .low = 0,
     .high = 1, .open_high = true, .help = "decay of the first moment"},
    {.name = "beta2", .type = LH_OPTION_DOUBLE, .offset = O(beta2), .fallback = "0.999", .low = 0,
     .high = 1, .open_high = true, .help = "decay of the second moment"},
    {.name = "epsilon", .type = LH_OPTION_DOUBLE, .offset = O(epsilon), .fallback = "1e-8",
     .low = 0, .high = INFINITY, .help = "added to the denominator"},
    {.name = "weight_decay", .type = LH_OPTION_DOUBLE, .offset = O(weight_decay), .fallback = "0",
     .low = 0, .high = INFINITY, .help = "decoupled: p *= 1 - lr * weight_decay"},
    {0}};
/* clang-format on */
/* clang-format off */
static const lh_option sgd_options[] = {
    {.name = "learning_rate", .type = LH_OPTION_DOUBLE, .offset = O(learning_rate),
     .fallback = "1e-3", .low = 0, .high = INFINITY, .help = "base rate, before the schedule"},
    {.name = "momentum", .type = LH_OPTION_DOUBLE, .offset = O(momentum), .fallback = "0",
     .low = 0, .high = 1, .open_high = true, .help = "buffer = momentum * buffer + gradient"},
    {.name = "nesterov", .type = LH_OPTION_BOOL, .offset = O(nesterov), .fallback = "false",
     .help = "step along gradient + momentum * buffer"},
    {.name = "weight_decay", .type = LH_OPTION_DOUBLE, .offset = O(weight_decay), .fallback = "0",
     .low = 0, .high = INFINITY, .help = "added to the gradient (demo, flexdemo: decoupled)"},
    {0}};
/* clang-format on */
#undef O
const lh_option_part lh_optimizer_parts[] = {
    {"adamw", adamw_options, "AdamW in torch's order"},
    {"sgd", sgd_options, "SGD, with momentum or Nesterov's"},
    {0}};

#define O(field) offsetof(lh_schedule_options, field)
#define WARMUP                                                                                     \
  {                                                                                                \
    .name = "warmup_steps", .type = LH_OPTION_SIZE, .offset = O(warmup_steps), .fallback = "0",    \
    .low = 0, .high = INFINITY, .help = "linear from 0; the first step of a warm-up has rate 0"    \
  }
#define DECAY                                                                                      \
  {.name = "final_ratio",                                                                          \
   .type = LH_OPTION_DOUBLE,                                                                       \
   .offset = O(final_ratio),                                                                       \
   .fallback = "0",                                                                                \
   .low = 0,                                                                                       \
   .high = 1,                                                                                      \
   .help = "share of the base rate at the end"},                                                   \
  {                                                                                                \
    .name = "total_steps", .type = LH_OPTION_SIZE, .offset = O(total_steps), .fallback = "0",      \
    .low = 0, .high = INFINITY, .help = "where the decay ends; 0: at the run's last step"          \
  }
static const lh_option constant_options[] = {WARMUP, {0}};
static const lh_option decaying_options[] = {WARMUP, DECAY, {0}};
#undef O
enum { CONSTANT, COSINE, LINEAR };
const lh_option_part lh_schedule_parts[] = {
    {"constant", constant_options, "the base rate after warm-up"},
    {"cosine", decaying_options, "half a cosine after warm-up"},
    {"linear", decaying_options, "a line after warm-up"},
    {0}};

double lh_schedule_factor(const lh_schedule_options *schedule, uint64_t s, size_t run_steps)
{
  const double at = (double)s, warmup = (double)schedule->warmup_steps;
  if (at < warmup)
    return at / fmax(1.0, warmup);
  if (schedule->kind == CONSTANT)
    return 1.0;
  const double total = (double)(schedule->total_steps ? schedule->total_steps : run_steps);
  const double progress = fmin(1.0, (at - warmup) / fmax(1.0, total - warmup));
  const double shape =
      schedule->kind == COSINE ? 0.5 * (1.0 + cos(M_PI * progress)) : 1.0 - progress;
  return schedule->final_ratio + (1.0 - schedule->final_ratio) * fmax(0.0, shape);
}

#define O(field) offsetof(lh_outer_options, field)
#define OUTER_RATE                                                                                 \
  {                                                                                                \
    .name = "learning_rate", .type = LH_OPTION_DOUBLE, .offset = O(learning_rate),                 \
    .fallback = "0.7", .low = 0, .high = INFINITY, .help = "outer learning rate"                   \
  }
static const lh_option outer_sgd_options[] = {OUTER_RATE, {0}};
/* clang-format off */
static const lh_option outer_momentum_options[] = {
    OUTER_RATE,
    {.name = "momentum", .type = LH_OPTION_DOUBLE, .offset = O(momentum), .fallback = "0.9",
     .low = 0, .high = 1, .open_high = true, .help = "decay of the outer momentum"},
    {0}};
/* clang-format on */
#undef O
const lh_option_part lh_outer_parts[] = {
    {"nesterov", outer_momentum_options, "torch's Nesterov momentum"},
    {"sgd", outer_sgd_options, "no momentum"},
    {"heavy-ball", outer_momentum_options, "momentum without look-ahead"},
    {0}};

lh_status lh_optimizer_init(lh_optimizer *optimizer, const lh_optimizer_options *options,
                            const lh_tensor *like)
{
  *optimizer = (lh_optimizer){.options = *options};
  const size_t n = lh_tensor_elements(like);
  const bool adamw = options->kind == LH_OPTIMIZER_ADAMW;
  if (adamw || options->momentum > 0)
    LH_TRY(lh_tensor_alloc_1d(like->device, &optimizer->first, "optimizer state", like->dtype, n));
  if (adamw)
    LH_TRY(lh_tensor_alloc_1d(like->device, &optimizer->second, "optimizer state", like->dtype, n));
  return LH_OK;
}

void lh_optimizer_fini(lh_optimizer *optimizer)
{
  lh_tensor_free(&optimizer->first);
  lh_tensor_free(&optimizer->second);
}

static lh_status adamw_step(lh_optimizer *optimizer, lh_device *device, lh_tensor *parameters,
                            const lh_tensor *gradients, double learning_rate)
{
  const lh_optimizer_options *o = &optimizer->options;
  const lh_adamw_config config = {.learning_rate = learning_rate,
                                  .beta1 = o->beta1,
                                  .beta2 = o->beta2,
                                  .epsilon = o->epsilon,
                                  .weight_decay = o->weight_decay};
  return lh_adamw(device, parameters, &optimizer->first, &optimizer->second, gradients, &config,
                  optimizer->steps);
}

static lh_status sgd_step(lh_optimizer *optimizer, lh_device *device, lh_tensor *parameters,
                          const lh_tensor *gradients, double learning_rate)
{
  const lh_optimizer_options *o = &optimizer->options;
  const lh_sgd_config config = {.learning_rate = learning_rate,
                                .momentum = o->momentum,
                                .nesterov = o->nesterov,
                                .weight_decay = o->weight_decay,
                                .first = optimizer->steps == 1};
  return lh_sgd(device, parameters, o->momentum > 0 ? &optimizer->first : NULL, gradients, &config);
}

lh_status lh_optimizer_step(lh_optimizer *optimizer, lh_device *device, lh_tensor *parameters,
                            const lh_tensor *gradients, double learning_rate)
{
  optimizer->steps++;
  return optimizer->options.kind == LH_OPTIMIZER_ADAMW
             ? adamw_step(optimizer, device, parameters, gradients, learning_rate)
             : sgd_step(optimizer, device, parameters, gradients, learning_rate);
}

lh_status lh_outer_step(lh_device *device, const lh_outer_options *options, lh_tensor *theta,
                        lh_tensor *buffer, const lh_tensor *delta, bool first)
{
  const bool plain = options->kind == LH_OUTER_SGD;
  const lh_sgd_config config = {.learning_rate = options->learning_rate,
                                .momentum = plain ? 0.0 : options->momentum,
                                .nesterov = options->kind == LH_OUTER_NESTEROV,
                                .first = first};
  return lh_sgd(device, theta, config.momentum > 0 ? buffer : NULL, delta, &config);
}

double lh_clip_factor(double sum_squares, double limit)
{
  return fmin(1.0, limit / (sqrt(sum_squares) + 1e-6));
}

lh_status lh_clip_norm(lh_device *device, lh_tensor *x, double limit)
{
  if (limit <= 0)
    return LH_OK;
  double sum;
  LH_TRY(lh_sum_squares(device, x, &sum));
  return lh_scale(device, x, lh_clip_factor(sum, limit));
}
