/* doubling.c -- recursive doubling: all-reduce, all-gather and barrier in log n rounds.
 *
 * All-reduce: partners at distance 1, 2, 4, .. swap everything they have. With p the largest power
 * of two <= n, the first 2 (n - p) members pair up first: the even one hands its vector to the odd
 * one, and gets the result at the end.
 *
 *     all-reduce:  log2(p) (a + S/B), and 2 (a + S/B) more when n is not a power of two
 *
 * All-gather, any n: in round k member m hands its chunks m .. m + 2^k - 1 to m - 2^k and gets those
 * of m + 2^k; the last round moves only what is missing.
 *
 *     all-gather:  ceil(log2 n) a + (n-1)/n S/B
 *
 * Barrier, any n: in round k, m signals m + 2^k.
 *
 *     barrier:     ceil(log2 n) a
 *
 * Sources: Thakur, Rabenseifner, Gropp 2005, IJHPCA 19(1), sections 4.1 and 4.5; Bruck et al. 1997,
 * "Efficient algorithms for all-to-all communications in multiport message-passing systems";
 * Hensgen, Finkel, Manber 1988, "Two algorithms for barrier synchronization" (dissemination).
 */
#include "sim/net/fold.h"

static lh_status prepare_reduce(lh_schedule *s, const lh_platform *platform)
{
  (void)platform;
  s->power = lh_fold_power(s->n);
  s->chunks = 1;
  s->rounds = lh_log2_up(s->power) + lh_fold_rounds(s);
  s->most_steps = 2;
  return LH_OK;
}

static void reduce_round(const lh_schedule *s, size_t member, size_t round, lh_round *out)
{
  if (lh_fold_round(s, member, &round, out))
    return;
  const size_t v = lh_fold_place(s, member);
  if (v == SIZE_MAX)
    return;
  const size_t peer = lh_fold_member(s, v ^ ((size_t)1 << round));
  lh_round_send(out, peer, 0, 1, true);
  lh_round_receive(out, peer, 0, 1, true);
}

const lh_algorithm_entry lh_doubling_entry = {
    .algorithm = LH_RECURSIVE_DOUBLING,
    .kinds = LH_KIND(LH_ALL_REDUCE),
    .title = "partners at distance 1, 2, 4, .. swap all they have",
    .formula = "log2(p) (a + S/B), p the largest power of two <= n; + 2 (a + S/B) if p < n",
    .prepare = prepare_reduce,
    .round = reduce_round};

static lh_status prepare_gather(lh_schedule *s, const lh_platform *platform)
{
  (void)platform;
  s->chunks = s->kind == LH_BARRIER ? 1 : s->n;
  s->rounds = lh_log2_up(s->n);
  s->most_steps = 2;
  return LH_OK;
}

static void gather_round(const lh_schedule *s, size_t member, size_t round, lh_round *out)
{
  const size_t far = (size_t)1 << round, count = far < s->n - far ? far : s->n - far;
  const size_t to = lh_back(member, far, s->n), from = lh_ahead(member, far, s->n);
  lh_round_send(out, to, member, count, false);
  lh_round_receive(out, from, from, count, false);
}

static void signal_round(const lh_schedule *s, size_t member, size_t round, lh_round *out)
{
  lh_round_send(out, lh_ahead(member, (size_t)1 << round, s->n), 0, 1, true);
  lh_round_receive(out, lh_back(member, (size_t)1 << round, s->n), 0, 1, true);
}

const lh_algorithm_entry lh_doubling_gather_entry = {
    .algorithm = LH_RECURSIVE_DOUBLING,
    .kinds = LH_KIND(LH_ALL_GATHER),
    .title = "members at distance 1, 2, 4, .. hand on all they have",
    .formula = "ceil(log2 n) a + (n-1)/n S/B",
    .prepare = prepare_gather,
    .round = gather_round};

const lh_algorithm_entry lh_dissemination_entry = {
    .algorithm = LH_RECURSIVE_DOUBLING,
    .kinds = LH_KIND(LH_BARRIER),
    .title = "members signal those 1, 2, 4, .. after them",
    .formula = "ceil(log2 n) a",
    .prepare = prepare_gather,
    .round = signal_round};
