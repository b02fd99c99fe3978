/* optimizer.h -- the optimizers that methods share, their options, schedules and clipping. */
#ifndef LH_SIM_OPTIMIZER_H
#define LH_SIM_OPTIMIZER_H

#include "kernels/ops.h"
#include "sim/training/options.h"

/* {"name": "adamw", ...} or {"name": "sgd", ...} */
typedef struct lh_optimizer_options {
  size_t kind; /* position in lh_optimizer_parts */
  double learning_rate, beta1, beta2, epsilon, momentum, weight_decay;
  bool nesterov;
} lh_optimizer_options;

enum { LH_OPTIMIZER_ADAMW, LH_OPTIMIZER_SGD };
extern const lh_option_part lh_optimizer_parts[];

/* {"name": "constant" | "cosine" | "linear", "warmup_steps", "final_ratio", "total_steps"} */
typedef struct lh_schedule_options {
  size_t kind;
  size_t warmup_steps;
  double final_ratio;
  size_t total_steps; /* 0: the run's */
} lh_schedule_options;

extern const lh_option_part lh_schedule_parts[];

/* Factor on the base rate of optimizer step s, counted from 0 (zero1-adamw, "Cosine schedule"): s/W
 * while s < W; then constant, or down to final_ratio at s = T along half a cosine or a line. */
double lh_schedule_factor(const lh_schedule_options *schedule, uint64_t s, size_t run_steps);

/* {"name": "nesterov" | "sgd" | "heavy-ball", "learning_rate", "momentum"} */
typedef struct lh_outer_options {
  size_t kind;
  double learning_rate, momentum;
} lh_outer_options;

enum { LH_OUTER_NESTEROV, LH_OUTER_SGD, LH_OUTER_HEAVY_BALL };
extern const lh_option_part lh_outer_parts[];

/* What an optimizer keeps for one flat parameter tensor. */
typedef struct lh_optimizer {
  lh_optimizer_options options;
  lh_tensor first, second; /* AdamW: m and v; SGD with momentum: the buffer */
  uint64_t steps;          /* taken so far */
} lh_optimizer;

/* State for `like` (n), zero. Free with lh_optimizer_fini, also after a failure. */
lh_status lh_optimizer_init(lh_optimizer *optimizer, const lh_optimizer_options *options,
                            const lh_tensor *like);
void lh_optimizer_fini(lh_optimizer *optimizer);
lh_status lh_optimizer_step(lh_optimizer *optimizer, lh_device *device, lh_tensor *parameters,
                            const lh_tensor *gradients, double learning_rate);

/* Outer step on theta with outer gradient delta (start minus end): torch's SGD forms. `buffer` (n) is
 * unused by "sgd". `first`: no outer step has been taken yet. diloco, algorithm 2.3. */
lh_status lh_outer_step(lh_device *device, const lh_outer_options *options, lh_tensor *theta,
                        lh_tensor *buffer, const lh_tensor *delta, bool first);

/* Scales x so that its norm is at most limit: by min(1, limit / (norm + 1e-6)), as torch does. limit 0:
 * nothing. */
lh_status lh_clip_norm(lh_device *device, lh_tensor *x, double limit);
/* That factor, from the sum of squares. */
double lh_clip_factor(double sum_squares, double limit);

#endif
