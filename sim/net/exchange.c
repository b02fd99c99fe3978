/* exchange.c -- two members, and all-to-all in pairwise rounds.
 *
 *     point-to-point:     a + S / B              member 0 sends to member 1
 *     pairwise exchange:  a + S / B              members 2i and 2i + 1 swap S bytes, both ways at once
 *     all-to-all:         (n - 1) (a + S/(n B))  in round r, m sends to m + r and receives from m - r
 *
 * An odd last member of an exchange, and members beyond the second of a point-to-point, have nothing
 * to do.
 */
#include "sim/net/schedule.h"

static lh_status prepare_pair(lh_schedule *s, const lh_platform *platform)
{
  (void)platform;
  s->chunks = 1;
  s->rounds = 1;
  s->most_steps = 2;
  return LH_OK;
}

static void pair_round(const lh_schedule *s, size_t member, size_t round, lh_round *out)
{
  (void)round;
  const size_t peer = member ^ 1;
  if (peer >= s->n || (s->kind == LH_POINT_TO_POINT && member > 1))
    return;
  const bool both = s->kind == LH_PAIRWISE_EXCHANGE;
  if (both || member == 0)
    lh_round_send(out, peer, 0, 1, false);
  if (both || member == 1)
    lh_round_receive(out, peer, 0, 1, false);
}

const lh_algorithm_entry lh_pair_entry = {.algorithm = LH_DIRECT,
                                          .kinds = LH_KIND(LH_POINT_TO_POINT) |
                                                   LH_KIND(LH_PAIRWISE_EXCHANGE),
                                          .title = "one message, or one each way",
                                          .formula = "a + S/B",
                                          .fluid = true, /* one round: both timings are the same */
                                          .prepare = prepare_pair,
                                          .round = pair_round};

static lh_status prepare_rounds(lh_schedule *s, const lh_platform *platform)
{
  (void)platform;
  s->chunks = s->n;
  s->rounds = s->n - 1;
  s->most_steps = 2;
  return LH_OK;
}

static void rounds_round(const lh_schedule *s, size_t member, size_t round, lh_round *out)
{
  const size_t to = lh_ahead(member, round + 1, s->n), from = lh_back(member, round + 1, s->n);
  lh_round_send(out, to, to, 1, false);
  lh_round_receive(out, from, member, 1, false);
}

const lh_algorithm_entry lh_pairwise_rounds_entry = {
    .algorithm = LH_RING,
    .kinds = LH_KIND(LH_ALL_TO_ALL),
    .title = "in round r each member sends to the r-th after it",
    .formula = "(n-1) (a + S/(n B))",
    .prepare = prepare_rounds,
    .round = rounds_round};
