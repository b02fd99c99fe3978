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
#include "sim/net/places.h"

static lh_status prepare(lh_schedule *s, const lh_platform *platform)
{
  LH_TRY(lh_places_find(s, platform));
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

static bool is_inside(part p)
{
  return p.kind == SCATTER_INSIDE || p.kind == GATHER_INSIDE;
}

static void hierarchical_round(const lh_schedule *s, size_t member, size_t round, lh_round *out)
{
  const part p = part_of(s, round);
  const bool add = p.kind == SCATTER_INSIDE || p.kind == SCATTER_BETWEEN;
  const lh_circle c = is_inside(p) ? lh_circle_inside(s, member) : lh_circle_between(s, member);
  /* A scatter ends with a place's own block, a gather starts with it. */
  const size_t sent = lh_back(c.place, p.round + (add ? 1 : 0), c.size);
  const size_t got = lh_back(sent, 1, c.size);
  if (is_inside(p)) {
    lh_round_send(out, c.next, sent * s->nodes, s->nodes, add);
    lh_round_receive(out, c.previous, got * s->nodes, s->nodes, add);
  } else {
    const size_t first = s->slot_of_member[member] * s->nodes;
    lh_round_send(out, c.next, first + sent, 1, add);
    lh_round_receive(out, c.previous, first + got, 1, add);
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
  *size = is_inside(p) ? s->slots : s->nodes;
  return is_inside(p) ? s->node_of_member[member] : s->slot_of_member[member];
}

static size_t own_chunk(const lh_schedule *s, size_t member)
{
  return s->slot_of_member[member] * s->nodes + s->node_of_member[member];
}

/* Like ring.c: a scatter round a circle sends every block but its own, a gather every block but the
 * next one's. */
static size_t sent_elements(const lh_schedule *s, size_t member, size_t round, size_t elements)
{
  const part p = part_of(s, round);
  const lh_circle c = is_inside(p) ? lh_circle_inside(s, member) : lh_circle_between(s, member);
  const size_t after = lh_ahead(c.place, 1, c.size);
  if (is_inside(p)) {
    const size_t kept = p.kind == SCATTER_INSIDE ? c.place : after;
    return elements - lh_chunk_elements(s, elements, kept * s->nodes, s->nodes);
  }
  const size_t first = s->slot_of_member[member] * s->nodes;
  const size_t whole = lh_chunk_elements(s, elements, first, s->nodes);
  const size_t scattered = whole - lh_chunk_elements(s, elements, first + c.place, 1);
  const size_t gathered = whole - lh_chunk_elements(s, elements, first + after, 1);
  switch (s->kind) {
  case LH_REDUCE_SCATTER:
    return scattered;
  case LH_ALL_GATHER:
    return gathered;
  default:
    return scattered + gathered;
  }
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
    .own_chunk = own_chunk,
    .sent_elements = sent_elements};
