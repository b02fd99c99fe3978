/* direct.c -- everybody sends to everybody at once.
 *
 *     reduce-scatter, all-gather, all-to-all:  a + (n-1)/n S / B
 *     all-reduce (both, one after the other):  2 a + 2 (n-1)/n S / B
 *
 * Chunk j is member j's. The n - 1 messages of a member share its link, so on a switch the bytes take
 * as long as on a ring; only the latencies are fewer. That makes it the cheapest by prediction nearly
 * everywhere, because no flow model here knows what n - 1 senders do to one port at once; libraries
 * do not reduce like this on a network, and `auto` takes it for all-to-all only.
 */
#include "sim/net/schedule.h"

static lh_status prepare(lh_schedule *s, const lh_platform *platform)
{
  (void)platform;
  s->chunks = s->n;
  s->rounds = s->kind == LH_ALL_REDUCE ? 2 : 1;
  s->most_steps = 2 * (s->n - 1);
  return LH_OK;
}

static void direct_round(const lh_schedule *s, size_t member, size_t round, lh_round *out)
{
  /* Scattering, a message is its receiver's chunk; gathering, its sender's. */
  const bool gather = s->kind == LH_ALL_GATHER || (s->kind == LH_ALL_REDUCE && round == 1);
  const bool add = !gather && s->kind != LH_ALL_TO_ALL;
  for (size_t i = 1; i < s->n; i++) {
    const size_t to = lh_ahead(member, i, s->n), from = lh_back(member, i, s->n);
    lh_round_send(out, to, gather ? member : to, 1, add);
    lh_round_receive(out, from, gather ? from : member, 1, add);
  }
}

const lh_algorithm_entry lh_direct_entry = {
    .algorithm = LH_DIRECT,
    .kinds = LH_KIND(LH_ALL_REDUCE) | LH_KIND(LH_REDUCE_SCATTER) | LH_KIND(LH_ALL_GATHER) |
             LH_KIND(LH_ALL_TO_ALL),
    .on_request = LH_KIND(LH_ALL_REDUCE) | LH_KIND(LH_REDUCE_SCATTER) | LH_KIND(LH_ALL_GATHER),
    .title = "everybody sends to everybody at once",
    .formula = "a + (n-1)/n S/B; all-reduce twice that",
    .prepare = prepare,
    .round = direct_round};
