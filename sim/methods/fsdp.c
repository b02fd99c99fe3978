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

#define O(field) offsetof(struct fsdp_options, field)
static const char *const wires[] = {"f32", "bf16", "f16", NULL};
/* clang-format off */
static const lh_option option_table[] = {
    LH_INNER_OPTIONS(struct fsdp_options, inner, "{\"name\": \"adamw\"}"),
    {.name = "reshard_after_forward", .type = LH_OPTION_BOOL, .offset = O(reshard_after_forward),
     .fallback = "true", .help = "free a unit after its forward, gather it again for its backward"},
    {.name = "reshard_root", .type = LH_OPTION_BOOL, .offset = O(reshard_root),
     .fallback = "false", .help = "the same for the unit of embedding and head"},
    {.name = "prefetch_units", .type = LH_OPTION_SIZE, .offset = O(prefetch_units),
     .fallback = "1", .low = 0, .high = INFINITY, .help = "gathers ahead of the unit in use"},
    {.name = "parameter_wire", .type = LH_OPTION_DTYPE, .offset = O(parameter_wire),
     .fallback = "\"bf16\"", .choices = wires, .help = "dtype of gathered parameters"},
    {.name = "gradient_wire", .type = LH_OPTION_DTYPE, .offset = O(gradient_wire),
     .fallback = "\"bf16\"", .choices = wires, .help = "dtype in which gradients are reduced"},
    {0}};
/* clang-format on */
#undef O

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
