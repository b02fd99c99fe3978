/* in_network.c -- all-reduce where switches add: each member sends S once and receives S once.
 *
 * The switch is stood for by the next member of a ring, so that the bytes cross a member's own links
 * once each way, as they do on the way to a switch and back:
 *
 *     one node whose fabric reduces, or nodes with one member:  a + S / B
 *
 * With g members on each of k nodes the nodes' parts come before and after it: reduce-scatter inside,
 * 1/g of the payload through the network for each slot, all-gather inside. Inside, a fabric that
 * reduces takes one round each way, another one a ring.
 *
 *     2 (ai + (g-1)/g S/Bi) + a + S/(g B)          or, by rings, 2 (g-1) (ai + S/(g Bi)) + ...
 *
 * Source: Graham et al. 2016, "Scalable Hierarchical Aggregation Protocol (SHArP)", COMHPC.
 */
#include "sim/net/places.h"

/* Inside, on the way in and on the way out: rounds of a ring, or 1 with a fabric that reduces, or 0.
 */
static lh_status prepare(lh_schedule *s, const lh_platform *platform)
{
  LH_TRY(lh_places_find(s, platform));
  if (s->nodes > 1 ? !platform->network_reduces : !platform->fabric_reduces)
    return lh_fail(LH_EUNSUPPORTED,
                   "in-network: the %s of platform %s does not reduce, allowed: one that says "
                   "\"in_network_reduction\": true",
                   s->nodes > 1 ? "network" : "fabric", platform->name);
  s->inside = 0;
  if (s->nodes > 1 && s->slots > 1)
    s->inside = platform->fabric_reduces ? 1 : s->slots - 1;
  s->chunks = s->nodes > 1 ? s->slots : 1;
  s->rounds = 2 * s->inside + 1;
  s->most_steps = 2 * s->slots;
  return LH_OK;
}

static void inside_at_once(const lh_schedule *s, size_t member, bool scatter, lh_round *out)
{
  const size_t slot = s->slot_of_member[member];
  const size_t *here = &s->member_at[s->node_of_member[member] * s->slots];
  for (size_t i = 1; i < s->slots; i++) {
    const size_t to = lh_ahead(slot, i, s->slots), from = lh_back(slot, i, s->slots);
    lh_round_send(out, here[to], scatter ? to : slot, 1, scatter);
    lh_round_receive(out, here[from], scatter ? slot : from, 1, scatter);
  }
}

static void inside_by_ring(const lh_schedule *s, size_t member, size_t round, bool scatter,
                           lh_round *out)
{
  const lh_circle c = lh_circle_inside(s, member);
  const size_t sent = lh_back(c.place, round + (scatter ? 1 : 0), c.size);
  lh_round_send(out, c.next, sent, 1, scatter);
  lh_round_receive(out, c.previous, lh_back(sent, 1, c.size), 1, scatter);
}

static void in_network_round(const lh_schedule *s, size_t member, size_t round, lh_round *out)
{
  if (round == s->inside) {
    const bool between = s->nodes > 1;
    const lh_circle c = between ? lh_circle_between(s, member) : lh_circle_inside(s, member);
    const size_t block = between ? s->slot_of_member[member] : 0;
    lh_round_send(out, c.next, block, 1, true);
    lh_round_receive(out, c.previous, block, 1, true);
    return;
  }
  const bool scatter = round < s->inside;
  if (s->inside == 1 && s->slots > 2)
    inside_at_once(s, member, scatter, out);
  else
    inside_by_ring(s, member, scatter ? round : round - s->inside - 1, scatter, out);
}

static size_t repeats(const lh_schedule *s, size_t round)
{
  if (round == s->inside)
    return 1;
  return round < s->inside ? s->inside - round : s->rounds - round;
}

static size_t circle(const lh_schedule *s, size_t member, size_t round, size_t *size)
{
  (void)round;
  *size = s->slots;
  return s->node_of_member[member];
}

const lh_algorithm_entry lh_in_network_entry = {
    .algorithm = LH_IN_NETWORK,
    .kinds = LH_KIND(LH_ALL_REDUCE),
    .title = "switches add: each member sends the payload once and receives it once",
    .formula = "a + S/B; with g members a node, reduce-scatter and all-gather inside around S/g",
    .needs = "a network (or, on one node, a fabric) with in_network_reduction",
    .fluid = true,
    .prepare = prepare,
    .round = in_network_round,
    .repeats = repeats,
    .circle = circle};
