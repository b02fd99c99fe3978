/* hierarchical.c -- rings inside the nodes and between them.
 *
 * A group with g members on each of k nodes; each member has a slot 0..g-1 on its node. All-reduce:
 * a ring reduce-scatter inside every node leaves slot j with the node's sum of block j; the slots j
 * of all nodes all-reduce block j over a ring, all slots in parallel; a ring all-gather inside every
 * node spreads the blocks. The phases come one after another.
 *
 *     all-reduce:      2 (g-1) (ai + S/(g Bi)) + 2 (k-1) (a + S/(g k B))
 *     reduce-scatter, all-gather: half of it
 *
 * with ai, Bi inside a node and a, B for one member's way out of its node (B is shared by the slots
 * that share an interface).
 *
 * Chunks: g k of them; chunk j k + i is slot j's on node i.
 */
#include <stdlib.h>

#include "sim/net/schedule.h"

/* Numbers nodes in the order in which they first appear in the group, slots likewise per node. */
static lh_status number_nodes(lh_schedule *s, const lh_platform *platform)
{
  size_t *number = malloc(platform->nodes * sizeof *number);
  size_t *members = calloc(platform->nodes, sizeof *members);
  s->node_of_member = calloc(s->n, sizeof *s->node_of_member);
  s->slot_of_member = calloc(s->n, sizeof *s->slot_of_member);
  s->member_at = calloc(s->n, sizeof *s->member_at);
  lh_status status = LH_OK;
  if (!number || !members || !s->node_of_member || !s->slot_of_member || !s->member_at)
    status = lh_fail(LH_ENOMEM, "hierarchical: no memory for a group of %zu", s->n);
  if (status == LH_OK) {
    s->nodes = 0;
    for (size_t m = 0; m < s->n; m++) {
      const size_t node = platform->node_of_rank[s->ranks[m]];
      if (members[node] == 0)
        number[node] = s->nodes++;
      s->node_of_member[m] = number[node];
      s->slot_of_member[m] = members[node]++;
    }
  }
  free(number);
  free(members);
  return status;
}

static lh_status place_members(lh_schedule *s)
{
  s->slots = s->n / s->nodes;
  size_t last = 0; /* of the slots in use, anywhere */
  for (size_t m = 0; m < s->n; m++)
    last = s->slot_of_member[m] > last ? s->slot_of_member[m] : last;
  if (s->slots * s->nodes != s->n || last != s->slots - 1)
    return lh_fail(LH_EUNSUPPORTED,
                   "hierarchical: %zu members on %zu nodes, %zu on one of them, allowed: the same "
                   "number on each node",
                   s->n, s->nodes, last + 1);
  for (size_t m = 0; m < s->n; m++)
    s->member_at[s->node_of_member[m] * s->slots + s->slot_of_member[m]] = m;
  return LH_OK;
}

static lh_status prepare(lh_schedule *s, const lh_platform *platform)
{
  LH_TRY(number_nodes(s, platform));
  LH_TRY(place_members(s));
  const size_t twice = s->kind == LH_ALL_REDUCE ? 2 : 1;
  s->chunks = s->n;
  s->rounds = twice * (s->slots - 1) + twice * (s->nodes - 1);
  s->most_steps = 2;
  return LH_OK;
}

/* Where a round is: which of the four parts, and which round of it. */
typedef struct part {
  enum { SCATTER_INSIDE, SCATTER_BETWEEN, GATHER_BETWEEN, GATHER_INSIDE } kind;
  size_t round, rounds;
} part;

static part part_of(const lh_schedule *s, size_t round)
{
  const bool scatter = s->kind != LH_ALL_GATHER, gather = s->kind != LH_REDUCE_SCATTER;
  const size_t inside = s->slots - 1, between = s->nodes - 1;
  const size_t rounds[] = {scatter ? inside : 0, scatter ? between : 0, gather ? between : 0,
                           gather ? inside : 0};
  part p = {.kind = SCATTER_INSIDE};
  while (p.kind < GATHER_INSIDE && round >= rounds[p.kind])
    round -= rounds[p.kind++];
  p.round = round;
  p.rounds = rounds[p.kind];
  return p;
}

static void hierarchical_round(const lh_schedule *s, size_t member, size_t round, lh_round *out)
{
  const part p = part_of(s, round);
  const size_t node = s->node_of_member[member], slot = s->slot_of_member[member];
  const bool inside = p.kind == SCATTER_INSIDE || p.kind == GATHER_INSIDE;
  const bool add = p.kind == SCATTER_INSIDE || p.kind == SCATTER_BETWEEN;
  const size_t circle = inside ? s->slots : s->nodes, place = inside ? slot : node;
  const size_t next = lh_ahead(place, 1, circle), previous = lh_back(place, 1, circle);
  /* A scatter ends with a place's own block, a gather starts with it. */
  const size_t sent = lh_back(place, p.round + (add ? 1 : 0), circle);
  const size_t got = lh_back(previous, p.round + (add ? 1 : 0), circle);
  if (inside) {
    const size_t *here = &s->member_at[node * s->slots];
    lh_round_send(out, here[next], sent * s->nodes, s->nodes, add);
    lh_round_receive(out, here[previous], got * s->nodes, s->nodes, add);
  } else {
    lh_round_send(out, s->member_at[next * s->slots + slot], slot * s->nodes + sent, 1, add);
    lh_round_receive(out, s->member_at[previous * s->slots + slot], slot * s->nodes + got, 1, add);
  }
}

static size_t repeats(const lh_schedule *s, size_t round)
{
  const part p = part_of(s, round);
  /* Both parts between nodes have the same peers and bytes. */
  const size_t more = p.kind == SCATTER_BETWEEN && s->kind == LH_ALL_REDUCE ? s->nodes - 1 : 0;
  return p.rounds - p.round + more;
}

static size_t circle(const lh_schedule *s, size_t member, size_t round, size_t *size)
{
  const part p = part_of(s, round);
  const bool inside = p.kind == SCATTER_INSIDE || p.kind == GATHER_INSIDE;
  *size = inside ? s->slots : s->nodes;
  return inside ? s->node_of_member[member] : s->slot_of_member[member];
}

static size_t own_chunk(const lh_schedule *s, size_t member)
{
  return s->slot_of_member[member] * s->nodes + s->node_of_member[member];
}

const lh_algorithm_entry lh_hierarchical_entry = {
    .algorithm = LH_HIERARCHICAL,
    .kinds = LH_KIND(LH_ALL_REDUCE) | LH_KIND(LH_REDUCE_SCATTER) | LH_KIND(LH_ALL_GATHER),
    .title = "rings inside the nodes, rings between them for each slot, rings inside again",
    .formula = "all-reduce 2 (g-1) (ai + S/(g Bi)) + 2 (k-1) (a + S/(g k B)), "
               "g members on each of k nodes; the others half",
    .needs = "the same number of members on each node",
    .fluid = true,
    .prepare = prepare,
    .round = hierarchical_round,
    .repeats = repeats,
    .circle = circle,
    .own_chunk = own_chunk};
