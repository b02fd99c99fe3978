/* noloco.c -- H local steps, then an average with a small random group instead of an all-reduce.
 *
 * phi: slow weights, theta: fast weights, delta: outer momentum; G: this round's group of n ranks.
 *
 *     for h = 1..H:  theta <- inner optimizer(theta, own gradient)
 *     Delta  <- theta - phi                                      end minus start
 *     delta  <- alpha delta + beta mean_G(Delta) + gamma (mean_G(phi) - phi)
 *     phi    <- phi + delta;   theta <- phi
 *
 * A rank waits for its own group only; a rank in no group sits the round out and trains on. With
 * `prefetch` phi goes to the next partner right after a round, on a stream of its own, so that only
 * Delta blocks.
 *
 * Wire: 2 P b sent per round and rank for a pair; (n-1) * 2 P b for a group of n (all-gather).
 * Source: NoLoCo 2025, arXiv:2506.10911; page noloco.
 * Differs: plus before beta (the paper's equation 2 has a sign error; its appendix and code agree with
 *   ours). Groups are drawn from (seed, round), or given as `pairs`.
 */
#include <math.h>
#include <stdlib.h>

#include "sim/methods/method.h"

struct noloco_options {
  lh_inner_options inner;
  size_t inner_steps, group_size;
  double outer_learning_rate, outer_momentum, consensus_gain;
  bool prefetch;
  lh_dtype exchange_wire;
  lh_json pairs;
};

/* Streams: phi sent ahead must not queue before the Delta of the same round. */
enum { DELTA_STREAM, PHI_STREAM };

struct noloco {
  const struct noloco_options *options;
  lh_trainer *trainer;
  lh_inner inner;
  lh_tensor outgoing;    /* (2P): phi | Delta, so that both travel as one message */
  lh_tensor incoming;    /* a partner's, or all n of a group of more than two */
  lh_tensor phi, change; /* the halves of outgoing */
  lh_tensor momentum;    /* delta */
  lh_pending *ahead;     /* phi on its way to the partners of the coming round */
  size_t *order;         /* (world): the drawn permutation of a round */
  size_t *members;       /* (group_size): this rank's group in a round */
  size_t rounds;
};

static size_t elements(const struct noloco *d)
{
  return lh_tensor_elements(&d->phi);
}

/* Blocks that arrive: a pair receives its partner's, a larger group everybody's. */
static size_t incoming_blocks(const struct noloco *d)
{
  return d->options->group_size == 2 ? 1 : d->options->group_size;
}

/* ---- who meets whom ---------------------------------------------------------------------------- */

static bool contains(const size_t *set, size_t n, size_t x)
{
  for (size_t i = 0; i < n; i++)
    if (set[i] == x)
      return true;
  return false;
}

/* Group g of K = floor(W / n) is pi[g], pi[g + K], ...; for pairs (pi[g], pi[g + W/2]). What is left
 * over when n does not divide W sits out. */
static bool drawn_group(struct noloco *d, size_t round)
{
  const size_t world = lh_world_size(d->trainer->rank), n = d->options->group_size;
  const size_t groups = world / n;
  const uint64_t seed = lh_run_settings_of(d->trainer->run)->seed;
  lh_draw_permutation(seed, LH_PURPOSE_PAIRING, round, world, d->order);
  size_t place = 0;
  while (d->order[place] != lh_rank_index(d->trainer->rank))
    place++;
  if (place >= groups * n)
    return false;
  for (size_t i = 0; i < n; i++)
    d->members[i] = d->order[place % groups + i * groups];
  return true;
}

static bool given_group(struct noloco *d, size_t round)
{
  const lh_json rounds = d->options->pairs;
  const lh_json groups = lh_json_at(rounds, round % lh_json_size(rounds));
  for (size_t g = 0; g < lh_json_size(groups); g++) {
    const lh_json group = lh_json_at(groups, g);
    for (size_t i = 0; i < d->options->group_size; i++)
      d->members[i] = (size_t)lh_json_at(group, i).node->valuedouble; /* checked by `check` */
    if (contains(d->members, d->options->group_size, lh_rank_index(d->trainer->rank)))
      return true;
  }
  return false;
}

/* Fills members; false: this rank sits the round out. */
static bool find_group(struct noloco *d, size_t round)
{
  return lh_json_present(d->options->pairs) ? given_group(d, round) : drawn_group(d, round);
}

/* ---- exchanging -------------------------------------------------------------------------------- */

static lh_status start_exchange(struct noloco *d, size_t stream, const lh_tensor *send,
                                lh_tensor *receive, lh_pending **pending)
{
  lh_rank *self = d->trainer->rank;
  const lh_dtype wire = d->options->exchange_wire;
  if (d->options->group_size == 2) {
    const size_t peer = d->members[d->members[0] == lh_rank_index(self)];
    return lh_exchange_start(self, peer, stream, send, receive, wire, pending);
  }
  lh_group *group;
  LH_TRY(lh_group_of(self, d->members, d->options->group_size, &group));
  return lh_all_gather_start(self, group, stream, send, receive, wire, pending);
}

/* phi of all blocks lies before Delta of all blocks when they travel apart, block by block when they
 * travel together. */
static lh_tensor incoming_view(const struct noloco *d, size_t block, bool change)
{
  const size_t n = elements(d), apart = incoming_blocks(d);
  const size_t start =
      d->options->prefetch ? (change ? apart : 0) + block : 2 * block + (change ? 1 : 0);
  return lh_tensor_view_1d(&d->incoming, start * n, n);
}

static lh_tensor incoming_part(const struct noloco *d, bool change)
{
  const size_t n = elements(d) * incoming_blocks(d);
  return lh_tensor_view_1d(&d->incoming, change ? n : 0, n);
}

static lh_status send_phi_ahead(struct noloco *d)
{
  if (!d->options->prefetch || !find_group(d, d->rounds))
    return LH_OK;
  lh_tensor receive = incoming_part(d, false);
  return start_exchange(d, PHI_STREAM, &d->phi, &receive, &d->ahead);
}

static lh_status exchange(struct noloco *d)
{
  lh_rank *self = d->trainer->rank;
  lh_pending *pending;
  lh_tensor receive = d->options->prefetch ? incoming_part(d, true) : d->incoming;
  LH_TRY(start_exchange(d, DELTA_STREAM, d->options->prefetch ? &d->change : &d->outgoing, &receive,
                        &pending));
  LH_TRY(lh_wait(self, &pending));
  return lh_wait(self, &d->ahead);
}

/* Mean over the group, into block 0 of what came in. A pair adds its own; a larger group received it. */
static lh_status mean_over_group(struct noloco *d, const lh_tensor *own, bool change,
                                 lh_tensor *mean)
{
  lh_device *device = d->trainer->device;
  *mean = incoming_view(d, 0, change);
  if (d->options->group_size == 2)
    LH_TRY(lh_add(device, mean, own, mean));
  for (size_t block = 1; block < incoming_blocks(d); block++) {
    const lh_tensor other = incoming_view(d, block, change);
    LH_TRY(lh_add(device, mean, mean, &other));
  }
  return lh_scale(device, mean, 1.0 / (double)d->options->group_size);
}

static lh_status outer_round(struct noloco *d, lh_trainer *t)
{
  const struct noloco_options *o = d->options;
  lh_tensor mean_phi, mean_change;
  LH_TRY(lh_subtract(t->device, &d->change, &t->parameters, &d->phi));
  LH_TRY(exchange(d));
  LH_TRY(mean_over_group(d, &d->change, true, &mean_change));
  LH_TRY(mean_over_group(d, &d->phi, false, &mean_phi));
  LH_TRY(lh_gossip_momentum(t->device, &d->momentum, &d->phi, &mean_change, &mean_phi,
                            o->outer_momentum, o->outer_learning_rate, o->consensus_gain));
  return lh_copy(t->device, &t->parameters, &d->phi);
}

/* ---- the method -------------------------------------------------------------------------------- */

static lh_status create(void *state, lh_trainer *t, const void *options)
{
  struct noloco *d = state;
  d->options = options;
  d->trainer = t;
  LH_TRY(lh_trainer_use_flat(t));
  LH_TRY(lh_inner_init(&d->inner, t, &d->options->inner));
  const size_t n = lh_tensor_elements(&t->parameters);
  const lh_dtype dtype = t->parameters.dtype;
  LH_TRY(
      lh_tensor_alloc_1d(t->device, &d->outgoing, "slow weights and their change", dtype, 2 * n));
  d->phi = lh_tensor_view_1d(&d->outgoing, 0, n);
  d->change = lh_tensor_view_1d(&d->outgoing, n, n);
  LH_TRY(lh_tensor_alloc_1d(t->device, &d->momentum, "outer momentum", dtype, n));
  LH_TRY(lh_tensor_alloc_1d(t->device, &d->incoming, "received from the group", dtype,
                            2 * n * incoming_blocks(d)));
  d->order = calloc(lh_world_size(t->rank), sizeof *d->order);
  d->members = calloc(d->options->group_size, sizeof *d->members);
  if (!d->order || !d->members)
    return lh_fail(LH_ENOMEM, "noloco: no memory for the groups");
  return lh_copy(t->device, &d->phi, &t->parameters);
}

static bool another_round_follows(const struct noloco *d, const lh_trainer *t)
{
  return lh_run_settings_of(t->run)->steps - t->step >= d->options->inner_steps;
}

static lh_status train(void *state, lh_trainer *t)
{
  struct noloco *d = state;
  if (another_round_follows(d, t))
    LH_TRY(send_phi_ahead(d));
  while (lh_trainer_next_step(t)) {
    LH_TRY(lh_trainer_gradient(t, NULL));
    LH_TRY(lh_inner_step(&d->inner, t));
    if (t->step % d->options->inner_steps == 0) {
      if (find_group(d, d->rounds))
        LH_TRY(outer_round(d, t));
      d->rounds++;
      if (another_round_follows(d, t))
        LH_TRY(send_phi_ahead(d));
    }
    LH_TRY(lh_trainer_end_step(t, NULL));
  }
  return lh_wait(t->rank, &d->ahead); /* a run that ended early has sent it for nothing */
}

static void destroy(void *state)
{
  struct noloco *d = state;
  lh_inner_fini(&d->inner);
  lh_tensor_free(&d->outgoing);
  lh_tensor_free(&d->incoming);
  lh_tensor_free(&d->momentum);
  free(d->order);
  free(d->members);
}

/* ---- checks ------------------------------------------------------------------------------------ */

static lh_status check_group(lh_json group, size_t group_size, size_t world, bool *taken)
{
  LH_TRY(lh_json_expect_array(group));
  if (lh_json_size(group) != group_size)
    return lh_json_fail(group, "found a group of %zu ranks, allowed: group_size = %zu",
                        lh_json_size(group), group_size);
  for (size_t i = 0; i < group_size; i++) {
    size_t rank;
    LH_TRY(lh_json_size_value(lh_json_at(group, i), 0, world - 1, &rank));
    if (taken[rank])
      return lh_json_fail(group, "found rank %zu twice in a round, allowed: once", rank);
    taken[rank] = true;
  }
  return LH_OK;
}

static lh_status check_round(lh_json groups, size_t group_size, size_t world)
{
  bool *taken = calloc(world, sizeof *taken);
  if (!taken)
    return lh_fail(LH_ENOMEM, "noloco: no memory to check the pairs");
  lh_status status = lh_json_expect_array(groups);
  for (size_t g = 0; g < lh_json_size(groups) && status == LH_OK; g++)
    status = check_group(lh_json_at(groups, g), group_size, world, taken);
  free(taken);
  return status;
}

static lh_status check(const void *options, lh_json node, const lh_platform *platform,
                       const lh_workload *workload)
{
  (void)workload;
  const struct noloco_options *o = options;
  if (o->group_size > platform->ranks)
    return lh_json_fail(node, "group_size: found %zu, allowed: 2..%zu, the ranks of the platform",
                        o->group_size, platform->ranks);
  if (!lh_json_present(o->pairs))
    return LH_OK;
  LH_TRY(lh_json_expect_array(o->pairs));
  if (lh_json_size(o->pairs) == 0)
    return lh_json_fail(o->pairs, "found no rounds, allowed: one list of groups per round");
  for (size_t r = 0; r < lh_json_size(o->pairs); r++)
    LH_TRY(check_round(lh_json_at(o->pairs, r), o->group_size, platform->ranks));
  return LH_OK;
}

#define O(field) offsetof(struct noloco_options, field)
static const char *const wires[] = {"f32", "bf16", "f16", NULL};
/* clang-format off */
static const lh_option option_table[] = {
    LH_INNER_OPTIONS(struct noloco_options, inner, "{\"name\": \"adamw\", \"learning_rate\": 6e-4}"),
    {.name = "inner_steps", .type = LH_OPTION_SIZE, .offset = O(inner_steps), .fallback = "50",
     .low = 1, .high = INFINITY, .help = "local steps of a round (H)"},
    {.name = "group_size", .type = LH_OPTION_SIZE, .offset = O(group_size), .fallback = "2",
     .low = 2, .high = INFINITY, .help = "ranks that average with each other in a round (n)"},
    {.name = "outer_learning_rate", .type = LH_OPTION_DOUBLE, .offset = O(outer_learning_rate),
     .fallback = "0.7", .low = 0, .high = INFINITY, .help = "gain on the mean change (beta)"},
    {.name = "outer_momentum", .type = LH_OPTION_DOUBLE, .offset = O(outer_momentum),
     .fallback = "0.5", .low = 0, .high = 1, .open_high = true, .help = "decay of delta (alpha)"},
    {.name = "consensus_gain", .type = LH_OPTION_DOUBLE, .offset = O(consensus_gain),
     .fallback = "0.7", .low = 0, .high = INFINITY,
     .help = "pull towards the group's phi (gamma)"},
    {.name = "prefetch", .type = LH_OPTION_BOOL, .offset = O(prefetch), .fallback = "false",
     .help = "send phi to the next partner right after a round"},
    {.name = "exchange_wire", .type = LH_OPTION_DTYPE, .offset = O(exchange_wire),
     .fallback = "\"f32\"", .choices = wires, .help = "dtype of phi and Delta on the wire"},
    {.name = "pairs", .type = LH_OPTION_RAW, .offset = O(pairs),
     .help = "groups per round, [[[0,1],[2,3]], ...], repeated; a rank in none sits out"},
    {0}};
/* clang-format on */
#undef O

const lh_method lh_method_noloco = {
    .name = "noloco",
    .title = "NoLoCo: local steps, gossip with one random partner, no all-reduce",
    .paper = "Kolehmainen et al. 2025, arXiv:2506.10911",
    .options = option_table,
    .options_size = sizeof(struct noloco_options),
    .state_size = sizeof(struct noloco),
    .check = check,
    .create = create,
    .train = train,
    .destroy = destroy,
    .state_formula = "24 B/param: parameters 4, gradients 4, m and v 8, phi 4, delta 4 "
                     "(+12 in the outer step: change 4, received 8)",
    .wire_formula = "(n-1) * 2 * b * P once per H = inner_steps steps, n = group_size, b bytes of "
                    "exchange_wire",
    .state_bytes_per_parameter = 28,
};
