/* binomial.c -- broadcast and reduce along a binomial tree.
 *
 * With v = member - root modulo n, the members v < 2^k have the data after k rounds, and in round k
 * each of them sends it to v + 2^k. Reduce is the same backwards.
 *
 *     broadcast, reduce:  ceil(log2 n) (a + S / B)
 *
 * Source: Thakur, Rabenseifner, Gropp 2005, "Optimization of collective communication operations in
 * MPICH", Int. J. High Perform. Comput. Appl. 19(1), section 4.4.
 */
#include "sim/net/schedule.h"

static lh_status prepare(lh_schedule *s, const lh_platform *platform)
{
  (void)platform;
  s->chunks = 1;
  s->rounds = lh_log2_up(s->n);
  s->most_steps = 1;
  return LH_OK;
}

static void binomial_round(const lh_schedule *s, size_t member, size_t round, lh_round *out)
{
  const bool reduce = s->kind == LH_REDUCE;
  const size_t v = lh_back(member, s->root, s->n);
  const size_t reach = (size_t)1 << (reduce ? s->rounds - 1 - round : round);
  const bool near_root = v < reach;
  const size_t other = near_root ? v + reach : v - reach;
  if (v >= 2 * reach || other >= s->n)
    return;
  const size_t peer = lh_ahead(other, s->root, s->n);
  if (near_root != reduce)
    lh_round_send(out, peer, 0, 1, reduce);
  else
    lh_round_receive(out, peer, 0, 1, reduce);
}

const lh_algorithm_entry lh_binomial_entry = {
    .algorithm = LH_BINOMIAL_TREE,
    .kinds = LH_KIND(LH_BROADCAST) | LH_KIND(LH_REDUCE),
    .title = "who has the data sends it on: twice as many members each round",
    .formula = "ceil(log2 n) (a + S/B)",
    .prepare = prepare,
    .round = binomial_round};
