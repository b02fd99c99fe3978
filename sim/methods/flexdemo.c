/* flexdemo.c -- shards inside a node, a compressed part of each shard's momentum between nodes.
 *
 * Forward and backward gather parameters but reduce nothing; then, per unit of the shard group:
 *     g <- reduce-scatter (mean) over the shard group
 *     Q <- replicate(g) over the replication group        sim/replicators/replicator.h
 *     Q <- sign(Q)
 * and the base optimizer steps each shard along Q: SGD with decoupled weight decay, or AdamW.
 *
 * `replicate_every` and `skip_every` leave steps out (then Q = g): with "full" this is what the paper calls
 * "DiLoCo"; parameters are never averaged. `overlap: stale1` applies each exchange one step late.
 *
 * Source: From et al. 2025, arXiv:2502.06728 and DeToNATION 0.5.0; page flexdemo.
 */
#include "sim/methods/method.h"
#include "sim/replicators/replicator.h"
#include "sim/training/units.h"

enum { SIGN_AFTER, SIGN_BEFORE, SIGN_NONE };
enum { OVERLAP_NONE, OVERLAP_STALE1 };

struct flexdemo_options {
  lh_inner_options inner;
  lh_replication_options replication;
  lh_dtype full_wire, parameter_wire, gradient_wire;
  size_t shard_ranks; /* 0: the accelerators of a node */
  size_t sign, overlap, replicate_every, skip_every, prefetch_units;
  bool reshard_after_forward, reshard_root;
};

struct flexdemo {
  const struct flexdemo_options *options;
  lh_trainer *trainer;
  lh_units units;
  lh_replicator replicator;
  lh_inner inner;
  double weight_decay; /* SGD's, decoupled */
  bool on_its_way;     /* stale1: an exchange was begun */
};

/* ---- making it ------------------------------------------------------------------------------- */

static lh_status make_units(struct flexdemo *f, lh_group *shard)
{
  const struct flexdemo_options *o = f->options;
  const lh_units_options units = {.shard = shard,
                                  .prefetch_units = o->prefetch_units,
                                  .reshard_after_forward = o->reshard_after_forward,
                                  .reshard_root = o->reshard_root,
                                  .keep_gradients = true,
                                  .parameter_wire = o->parameter_wire,
                                  .gradient_wire = o->gradient_wire,
                                  .factor_before = 1.0,
                                  .factor_after = 1.0 / (double)lh_group_size(shard)};
  return lh_units_init(&f->units, f->trainer, &units);
}

static lh_status make_replicator(struct flexdemo *f, lh_group *replication)
{
  f->replicator = (lh_replicator){.options = &f->options->replication,
                                  .rank = f->trainer->rank,
                                  .group = replication,
                                  .full_wire = f->options->full_wire,
                                  .sign_before = f->options->sign == SIGN_BEFORE};
  return lh_replicator_init(&f->replicator, f->units.shard_gradients, f->units.n);
}

static lh_status create(void *state, lh_trainer *t, const void *options)
{
  struct flexdemo *f = state;
  f->options = options;
  f->trainer = t;
  lh_inner_options inner = f->options->inner;
  lh_group *shard, *replication;
  const size_t shard_ranks =
      f->options->shard_ranks ? f->options->shard_ranks : lh_accelerators_per_node(t->rank);
  if (inner.optimizer.kind == LH_OPTIMIZER_SGD) {
    f->weight_decay = inner.optimizer.weight_decay;
    inner.optimizer.weight_decay = 0;
  }
  LH_TRY(lh_shard_group(t->rank, shard_ranks, &shard));
  LH_TRY(lh_replication_group(t->rank, shard_ranks, &replication));
  LH_TRY(make_units(f, shard));
  LH_TRY(make_replicator(f, replication));
  return lh_inner_init_for(&f->inner, &f->units.parameters, &inner);
}

/* ---- a step ---------------------------------------------------------------------------------- */

static bool replicates(const struct flexdemo *f)
{
  const size_t t = f->trainer->step, skip = f->options->skip_every;
  return t % f->options->replicate_every == 0 && !(skip && t % skip == 0);
}

/* The exchange of this step, or under stale1 the one begun before, whose update is 0 the first time. */
static lh_status exchange(struct flexdemo *f, size_t u)
{
  lh_tensor *g = &f->units.shard_gradients[u];
  lh_device *device = f->trainer->device;
  const double rate = lh_inner_learning_rate(&f->inner, f->trainer);
  lh_tensor late = {0};
  if (f->options->overlap == OVERLAP_NONE) {
    LH_TRY(lh_replicator_begin(&f->replicator, u, g, rate, f->trainer->step));
    return lh_replicator_end(&f->replicator, u, g);
  }
  LH_TRY(lh_tensor_alloc_1d(device, &late, "messages", g->dtype, lh_tensor_elements(g)));
  lh_status status = f->on_its_way ? lh_replicator_end(&f->replicator, u, &late) : LH_OK;
  if (status == LH_OK)
    status = lh_replicator_begin(&f->replicator, u, g, rate, f->trainer->step);
  if (status == LH_OK)
    status = lh_copy(device, g, &late);
  lh_tensor_free(&late);
  return status;
}

static lh_status reduce(struct flexdemo *f)
{
  for (size_t u = 0; u < f->units.n; u++)
    LH_TRY(lh_units_reduce(&f->units, &f->units.unit[u]));
  return lh_units_clip(&f->units, f->inner.options.clip_norm);
}

static lh_status replicate(struct flexdemo *f)
{
  lh_tensor *gradients = &f->units.gradients;
  if (replicates(f)) {
    for (size_t u = 0; u < f->units.n; u++)
      LH_TRY(exchange(f, u));
    f->on_its_way = f->options->overlap == OVERLAP_STALE1;
  }
  if (f->options->sign == SIGN_AFTER)
    return lh_sign(f->trainer->device, gradients, gradients);
  return LH_OK;
}

static lh_status step_shards(struct flexdemo *f)
{
  const double rate = lh_inner_learning_rate(&f->inner, f->trainer);
  if (f->weight_decay > 0)
    LH_TRY(lh_scale(f->trainer->device, &f->units.parameters, 1.0 - rate * f->weight_decay));
  return lh_inner_step_on(&f->inner, f->trainer, &f->units.parameters, &f->units.gradients);
}

/* Nobody waits any more for what is still on its way. */
static lh_status drain(struct flexdemo *f)
{
  for (size_t u = 0; u < f->units.n && f->on_its_way; u++)
    LH_TRY(lh_replicator_end(&f->replicator, u, &f->units.shard_gradients[u]));
  return LH_OK;
}

static lh_status train(void *state, lh_trainer *t)
{
  struct flexdemo *f = state;
  while (lh_trainer_next_step(t)) {
    LH_TRY(lh_units_gradient(&f->units));
    LH_TRY(reduce(f));
    LH_TRY(replicate(f));
    LH_TRY(step_shards(f));
    LH_TRY(lh_trainer_end_step(t, NULL));
  }
  return drain(f);
}

static void destroy(void *state)
{
  struct flexdemo *f = state;
  lh_inner_fini(&f->inner);
  lh_replicator_fini(&f->replicator);
  lh_units_fini(&f->units);
}

/* ---- options --------------------------------------------------------------------------------- */

static lh_status check(const void *options, lh_json node, const lh_platform *platform,
                       const lh_workload *workload)
{
  (void)workload;
  const struct flexdemo_options *o = options;
  LH_TRY(lh_units_check_shard_ranks(o->shard_ranks, node, platform));
  if (o->overlap == OVERLAP_STALE1 && !lh_replicator_has_residual(&o->replication.replicator))
    return lh_json_fail(lh_json_get(node, "overlap"),
                        "found \"stale1\" with the replicator \"%s\", allowed: with \"demo\", "
                        "\"random\" and \"striding\"",
                        lh_replicator_parts[o->replication.replicator.kind].name);
  return lh_replication_check(&o->replication, node);
}

#define O(field) offsetof(struct flexdemo_options, field)
static const char *const signs[] = {"after", "before", "none", NULL};
static const char *const overlaps[] = {"none", "stale1", NULL};
static const char *const wires[] = {"f32", "bf16", "f16", NULL};
/* clang-format off */
static const lh_option option_table[] = {
    LH_INNER_OPTIONS(struct flexdemo_options, inner, "{\"name\": \"sgd\"}"),
    LH_REPLICATION_OPTIONS(struct flexdemo_options, replication, "{\"name\": \"demo\"}"),
    {.name = "full_wire", .type = LH_OPTION_DTYPE, .offset = O(full_wire),
     .fallback = "\"bf16\"", .choices = wires, .help = "dtype of whole shards on the wire (full)"},
    {.name = "sign", .type = LH_OPTION_CHOICE, .offset = O(sign), .fallback = "\"after\"",
     .choices = signs, .help = "take signs after the exchange, before it, or never"},
    {.name = "replicate_every", .type = LH_OPTION_SIZE, .offset = O(replicate_every),
     .fallback = "1", .low = 1, .high = INFINITY, .help = "exchange on every n-th step only"},
    {.name = "skip_every", .type = LH_OPTION_SIZE, .offset = O(skip_every), .fallback = "0",
     .low = 0, .high = INFINITY, .help = "no exchange on every n-th step; 0: never skip"},
    {.name = "overlap", .type = LH_OPTION_CHOICE, .offset = O(overlap), .fallback = "\"none\"",
     .choices = overlaps, .help = "stale1: apply each exchange one step late, behind the next step"},
    {.name = "shard_ranks", .type = LH_OPTION_SIZE, .offset = O(shard_ranks), .fallback = "0",
     .low = 0, .high = INFINITY, .help = "ranks that share a replica (S); 0: a node's accelerators"},
    LH_SHARDING_OPTIONS(struct flexdemo_options),
    {0}};
/* clang-format on */
#undef O

const lh_method lh_method_flexdemo = {
    .name = "flexdemo",
    .title = "FlexDeMo: sharded in a node, a compressed momentum between nodes",
    .paper = "From, Nielsen, Galke Poech, Schneider-Kamp 2025, arXiv:2502.06728",
    .options = option_table,
    .options_size = sizeof(struct flexdemo_options),
    .state_size = sizeof(struct flexdemo),
    .check = check,
    .create = create,
    .train = train,
    .destroy = destroy,
    .state_formula =
        "12/S + 2 B/param: parameters 4/S, gradients 4/S, residual 4/S, whole gradients 2 "
        "until the step (+8/S with AdamW; + gathered units and messages while in use)",
    .wire_formula =
        "per step: shard group (S-1)/S * (b (2 P - P_root) + g P); replication group: demo "
        "(R-1) (i+v) rho P/S, random and striding 2 (R-1)/R * v rho P/S, full 2 (R-1)/R * "
        "f P/S; b, g, i, v, f bytes of parameters, gradients, indices, values, whole "
        "shards, rho kept share, P padded parameters",
    .state_bytes_per_parameter = 12,
};
