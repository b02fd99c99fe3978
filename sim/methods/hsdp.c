/* hsdp.c -- hybrid sharding: S ranks of a node share one replica's parameters, gradients and optimizer
 * state; gradients are averaged over the replicas shard by shard.
 *
 * Per unit, each on a stream of its own: all-gather inside the shard group ahead of use; reduce-scatter
 * behind the backward pass; all-reduce of the shard over the replication group behind that. With another
 * replicator than "full" the shard group's mean is exchanged after the backward pass, unit by unit.
 *
 * Source: PyTorch's FSDP, HYBRID_SHARD; page hsdp-adamw, sections 1, 2 and 4.
 */
#include "sim/methods/method.h"
#include "sim/replicators/replicator.h"
#include "sim/training/units.h"

enum { DIVISION_AFTER_SUM, DIVISION_PRE_AND_POST };

struct hsdp_options {
  lh_inner_options inner;
  lh_replication_options replication;
  size_t shard_ranks; /* 0: the accelerators of a node */
  size_t division;
  size_t prefetch_units;
  bool reshard_after_forward, reshard_root;
  lh_dtype parameter_wire, gradient_wire;
};

struct hsdp {
  const struct hsdp_options *options;
  lh_units units;
  lh_replicator replicator;
  lh_inner inner;
};

/* hsdp-adamw, section 2.4: the smallest power of two f with W mod f == 0 and W/f > f no more. */
static double pre_divisor(size_t world)
{
  size_t f = 1;
  while (world % f == 0 && world / f > f)
    f *= 2;
  return (double)f;
}

static bool is_full(const struct hsdp *hsdp)
{
  return hsdp->options->replication.replicator.kind == LH_REPLICATOR_FULL;
}

/* `averaged`: ranks whose gradients the units average. */
static lh_status make_units(struct hsdp *hsdp, lh_trainer *t, lh_group *shard,
                            lh_group *replication, size_t averaged)
{
  const struct hsdp_options *o = hsdp->options;
  const double before = o->division == DIVISION_PRE_AND_POST ? pre_divisor(averaged) : 1.0;
  const lh_units_options units = {.shard = shard,
                                  .replication = replication,
                                  .prefetch_units = o->prefetch_units,
                                  .reshard_after_forward = o->reshard_after_forward,
                                  .reshard_root = o->reshard_root,
                                  .parameter_wire = o->parameter_wire,
                                  .gradient_wire = o->gradient_wire,
                                  .factor_before = 1.0 / before,
                                  .factor_after = before / (double)averaged};
  return lh_units_init(&hsdp->units, t, &units);
}

static lh_status create(void *state, lh_trainer *t, const void *options)
{
  struct hsdp *hsdp = state;
  hsdp->options = options;
  const size_t shard_ranks =
      hsdp->options->shard_ranks ? hsdp->options->shard_ranks : lh_accelerators_per_node(t->rank);
  lh_group *shard, *replication;
  LH_TRY(lh_shard_group(t->rank, shard_ranks, &shard));
  LH_TRY(lh_replication_group(t->rank, shard_ranks, &replication));
  hsdp->replicator = (lh_replicator){
      .options = &hsdp->options->replication, .rank = t->rank, .group = replication};
  if (is_full(hsdp)) {
    LH_TRY(make_units(hsdp, t, shard, replication, lh_world_size(t->rank)));
  } else {
    LH_TRY(make_units(hsdp, t, shard, NULL, shard_ranks));
    LH_TRY(lh_replicator_init(&hsdp->replicator, hsdp->units.shard_gradients, hsdp->units.n));
  }
  return lh_inner_init_for(&hsdp->inner, &hsdp->units.parameters, &hsdp->options->inner);
}

static lh_status replicate(struct hsdp *hsdp, const lh_trainer *t)
{
  for (size_t u = 0; u < hsdp->units.n && !is_full(hsdp); u++) {
    lh_tensor *g = &hsdp->units.shard_gradients[u];
    LH_TRY(lh_replicator_begin(&hsdp->replicator, u, g, 1.0, t->step));
    LH_TRY(lh_replicator_end(&hsdp->replicator, u, g));
  }
  return LH_OK;
}

static lh_status train(void *state, lh_trainer *t)
{
  struct hsdp *hsdp = state;
  lh_units *units = &hsdp->units;
  while (lh_trainer_next_step(t)) {
    LH_TRY(lh_units_gradient(units));
    LH_TRY(replicate(hsdp, t));
    LH_TRY(lh_units_clip(units, hsdp->inner.options.clip_norm));
    LH_TRY(lh_inner_step_on(&hsdp->inner, t, &units->parameters, &units->gradients));
    LH_TRY(lh_trainer_end_step(t, NULL));
  }
  return LH_OK;
}

static void destroy(void *state)
{
  struct hsdp *hsdp = state;
  lh_inner_fini(&hsdp->inner);
  lh_replicator_fini(&hsdp->replicator);
  lh_units_fini(&hsdp->units);
}

static lh_status check(const void *options, lh_json node, const lh_platform *platform,
                       const lh_workload *workload)
{
  (void)workload;
  const struct hsdp_options *o = options;
  LH_TRY(lh_units_check_shard_ranks(o->shard_ranks, node, platform));
  return lh_replication_check(&o->replication, node);
}

#define O(field) offsetof(struct hsdp_options, field)
static const char *const divisions[] = {"after-sum", "pre-and-post", NULL};
/* clang-format off */
static const lh_option option_table[] = {
    LH_INNER_OPTIONS(struct hsdp_options, inner, "{\"name\": \"adamw\"}"),
    LH_REPLICATION_OPTIONS(struct hsdp_options, replication, "{\"name\": \"full\"}"),
    {.name = "shard_ranks", .type = LH_OPTION_SIZE, .offset = O(shard_ranks), .fallback = "0",
     .low = 0, .high = INFINITY, .help = "ranks that share a replica (S); 0: a node's accelerators"},
    {.name = "division", .type = LH_OPTION_CHOICE, .offset = O(division),
     .fallback = "\"after-sum\"", .choices = divisions,
     .help = "divide the sum by W, or as torch by d1 before and d2 after it"},
    LH_SHARDING_OPTIONS(struct hsdp_options),
    {0}};
/* clang-format on */
#undef O

const lh_method lh_method_hsdp = {
    .name = "hsdp",
    .title = "Hybrid sharding: full sharding inside a node, replicas across nodes",
    .paper = "PyTorch FSDP, HYBRID_SHARD; the baseline of arXiv:2502.06728",
    .options = option_table,
    .options_size = sizeof(struct hsdp_options),
    .state_size = sizeof(struct hsdp),
    .check = check,
    .create = create,
    .train = train,
    .destroy = destroy,
    .state_formula = "16/S B/param with AdamW: parameters 4/S, gradients 4/S, m and v 8/S "
                     "(+ gathered units and whole gradients while in use; + 4/S with a "
                     "replicator that keeps a residual)",
    .wire_formula = "per step: shard group (S-1)/S * (b (2 P - P_root) + g P), replication group "
                    "2 (R-1)/R * g P/S, or what its replicator sends (flexdemo); b and g bytes of "
                    "parameter_wire and gradient_wire, P padded "
                    "parameters",
    .state_bytes_per_parameter = 8,
};
