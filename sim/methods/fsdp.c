/* fsdp.c -- fully sharded data parallelism: parameters, gradients and optimizer state are cut over all
 * ranks; each unit is gathered when a pass needs it, its gradient reduced behind the backward pass.
 *
 * The mean over ranks is the sum times 1/W; clipping is by the norm of that mean over the whole model.
 * The numbers are those of ddp but for the wires' rounding and the order of sums.
 *
 * Source: PyTorch's fully_shard (ZeRO-3, Rajbhandari et al. 2020, arXiv:1910.02054); page fsdp.
 */
#include "sim/methods/method.h"
#include "sim/training/units.h"

struct fsdp_options {
  lh_inner_options inner;
  bool reshard_after_forward, reshard_root;
  size_t prefetch_units;
  lh_dtype parameter_wire, gradient_wire;
};

struct fsdp {
  lh_units units;
  lh_inner inner;
};

static lh_status create(void *state, lh_trainer *t, const void *options)
{
  const struct fsdp_options *o = options;
  struct fsdp *fsdp = state;
  const lh_units_options units = {.shard = lh_world(t->rank),
                                  .prefetch_units = o->prefetch_units,
                                  .reshard_after_forward = o->reshard_after_forward,
                                  .reshard_root = o->reshard_root,
                                  .parameter_wire = o->parameter_wire,
                                  .gradient_wire = o->gradient_wire,
                                  .factor_before = 1.0,
                                  .factor_after = 1.0 / (double)lh_world_size(t->rank)};
  LH_TRY(lh_units_init(&fsdp->units, t, &units));
  return lh_inner_init_for(&fsdp->inner, &fsdp->units.parameters, &o->inner);
}

static lh_status train(void *state, lh_trainer *t)
{
  struct fsdp *fsdp = state;
  lh_units *units = &fsdp->units;
  while (lh_trainer_next_step(t)) {
    LH_TRY(lh_units_gradient(units));
    LH_TRY(lh_units_clip(units, fsdp->inner.options.clip_norm));
    LH_TRY(lh_inner_step_on(&fsdp->inner, t, &units->parameters, &units->gradients));
    LH_TRY(lh_trainer_end_step(t, NULL));
  }
  return LH_OK;
}

static void destroy(void *state)
{
  struct fsdp *fsdp = state;
  lh_inner_fini(&fsdp->inner);
  lh_units_fini(&fsdp->units);
}

/* clang-format off */
static const lh_option option_table[] = {
    LH_INNER_OPTIONS(struct fsdp_options, inner, "{\"name\": \"adamw\"}"),
    LH_SHARDING_OPTIONS(struct fsdp_options),
    {0}};
/* clang-format on */

const lh_method lh_method_fsdp = {
    .name = "fsdp",
    .title = "Fully sharded data parallel (ZeRO-3)",
    .paper = "Rajbhandari et al. 2020, arXiv:1910.02054; PyTorch fully_shard",
    .options = option_table,
    .options_size = sizeof(struct fsdp_options),
    .state_size = sizeof(struct fsdp),
    .create = create,
    .train = train,
    .destroy = destroy,
    .state_formula = "16/W B/param with AdamW: parameters 4/W, gradients 4/W, m and v 8/W "
                     "(+ gathered units and whole gradients while in use)",
    .wire_formula =
        "(W-1)/W * (b (2 P - P_root) + g P) per step, b and g bytes of parameter_wire and "
        "gradient_wire, P padded parameters, W ranks; b P without reshard_after_forward",
    .state_bytes_per_parameter = 8,
};
