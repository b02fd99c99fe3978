/* ring.c -- all-reduce, reduce-scatter and all-gather round a ring.
 *
 * Chunks 0..n-1 travel from member m to m + 1, one hop a round. Reduce-scatter: each chunk makes
 * n - 1 hops and is added to at each. All-gather: the same, copied. All-reduce: one after the other.
 *
 *     all-reduce:                   2 (n - 1) (a + S / (n B))
 *     reduce-scatter, all-gather:     (n - 1) (a + S / (n B))
 *
 * Sent per member of an all-reduce: everything twice, but chunk m + 1 (which it ends up owning after
 * the first half) and chunk m + 2 (which comes to it last).
 *
 * Source: Patarasuk and Yuan 2009, "Bandwidth optimal all-reduce algorithms for clusters of
 * workstations", J. Parallel Distrib. Comput. 69(2).
 */
#include "sim/net/schedule.h"

static lh_status prepare(lh_schedule *s, const lh_platform *platform)
{
  (void)platform;
  s->chunks = s->n;
  s->rounds = s->kind == LH_ALL_REDUCE ? 2 * (s->n - 1) : s->n - 1;
  s->most_steps = 2;
  return LH_OK;
}

/* The chunk that a member sends in a round. */
static size_t chunk_sent(const lh_schedule *s, size_t member, size_t round)
{
  const size_t half = s->n - 1;
  switch (s->kind) {
  case LH_REDUCE_SCATTER: /* ends with the member's own chunk */
    return lh_back(member, round + 1, s->n);
  case LH_ALL_GATHER: /* starts with it */
    return lh_back(member, round, s->n);
  default:
    if (round < half)
      return lh_back(member, round, s->n);
    return lh_back(lh_ahead(member, 1, s->n), round - half, s->n);
  }
}

static void ring_round(const lh_schedule *s, size_t member, size_t round, lh_round *out)
{
  const bool add = s->kind == LH_REDUCE_SCATTER || (s->kind == LH_ALL_REDUCE && round < s->n - 1);
  const size_t next = member + 1 == s->n ? 0 : member + 1;
  const size_t previous = member == 0 ? s->n - 1 : member - 1;
  lh_round_send(out, next, chunk_sent(s, member, round), 1, add);
  lh_round_receive(out, previous, chunk_sent(s, previous, round), 1, add);
}

static size_t repeats(const lh_schedule *s, size_t round)
{
  return s->rounds - round;
}

static size_t sent_elements(const lh_schedule *s, size_t member, size_t round, size_t elements)
{
  (void)round;
  const size_t here = lh_chunk_elements(s, elements, member, 1);
  const size_t after = lh_chunk_elements(s, elements, lh_ahead(member, 1, s->n), 1);
  switch (s->kind) {
  case LH_REDUCE_SCATTER:
    return elements - here;
  case LH_ALL_GATHER:
    return elements - after;
  default:
    return 2 * elements - after - lh_chunk_elements(s, elements, lh_ahead(member, 2, s->n), 1);
  }
}

const lh_algorithm_entry lh_ring_entry = {
    .algorithm = LH_RING,
    .kinds = LH_KIND(LH_ALL_REDUCE) | LH_KIND(LH_REDUCE_SCATTER) | LH_KIND(LH_ALL_GATHER),
    .title = "chunks travel from each member to the next, one hop a round",
    .formula = "all-reduce 2 (n-1) (a + S/(n B)); reduce-scatter, all-gather (n-1) (a + S/(n B))",
    .fluid = true,
    .prepare = prepare,
    .round = ring_round,
    .repeats = repeats,
    .sent_elements = sent_elements};
