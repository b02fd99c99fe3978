/* halving_doubling.c -- recursive halving and doubling (Rabenseifner).
 *
 * All-reduce: partners at distance p/2, p/4, .. 1 swap the half that the other will own and add;
 * then, backwards, they swap what they own.
 *
 *     all-reduce:      2 log2(p) a + 2 (p-1)/p S/B, and 2 (a + S/B) more when n is not a power of two
 *
 * Reduce-scatter, any n: recursive doubling's all-gather run backwards, adding.
 *
 *     reduce-scatter:  ceil(log2 n) a + (n-1)/n S/B
 *
 * Source: Rabenseifner 2004, "Optimization of collective reduction operations", ICCS, LNCS 3036.
 */
#include "sim/net/fold.h"

static lh_status prepare_reduce(lh_schedule *s, const lh_platform *platform)
{
  (void)platform;
  s->power = lh_fold_power(s->n);
  s->chunks = s->power;
  s->rounds = 2 * lh_log2_up(s->power) + lh_fold_rounds(s);
  s->most_steps = 2;
  return LH_OK;
}

/* The block of `width` chunks that a place owns while blocks are that wide. */
static size_t block(size_t place, size_t width)
{
  return place & ~(width - 1);
}

static void reduce_round(const lh_schedule *s, size_t member, size_t round, lh_round *out)
{
  if (lh_fold_round(s, member, &round, out))
    return;
  const size_t place = lh_fold_place(s, member);
  if (place == SIZE_MAX)
    return;
  const size_t half = lh_log2_up(s->power);
  const bool halving = round < half;
  const size_t width = halving ? s->power >> (round + 1) : (size_t)1 << (round - half);
  const size_t other = place ^ width, peer = lh_fold_member(s, other);
  lh_round_send(out, peer, block(halving ? other : place, width), width, halving);
  lh_round_receive(out, peer, block(halving ? place : other, width), width, halving);
}

const lh_algorithm_entry lh_halving_doubling_entry = {
    .algorithm = LH_RECURSIVE_HALVING_DOUBLING,
    .kinds = LH_KIND(LH_ALL_REDUCE),
    .title = "partners swap halves, quarters, .. and then back",
    .formula =
        "2 log2(p) a + 2 (p-1)/p S/B, p the largest power of two <= n; + 2 (a + S/B) if p < n",
    .prepare = prepare_reduce,
    .round = reduce_round};

static lh_status prepare_scatter(lh_schedule *s, const lh_platform *platform)
{
  (void)platform;
  s->chunks = s->n;
  s->rounds = lh_log2_up(s->n);
  s->most_steps = 2;
  return LH_OK;
}

static void scatter_round(const lh_schedule *s, size_t member, size_t round, lh_round *out)
{
  const size_t far = (size_t)1 << (s->rounds - 1 - round);
  const size_t count = far < s->n - far ? far : s->n - far;
  const size_t to = lh_ahead(member, far, s->n), from = lh_back(member, far, s->n);
  lh_round_send(out, to, to, count, true);
  lh_round_receive(out, from, member, count, true);
}

const lh_algorithm_entry lh_halving_scatter_entry = {
    .algorithm = LH_RECURSIVE_HALVING_DOUBLING,
    .kinds = LH_KIND(LH_REDUCE_SCATTER),
    .title = "members hand on what those far away will own, then nearer and nearer",
    .formula = "ceil(log2 n) a + (n-1)/n S/B",
    .prepare = prepare_scatter,
    .round = scatter_round};
