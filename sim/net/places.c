#include "sim/net/places.h"

#include <stdlib.h>

static lh_status number_members(lh_schedule *s, const lh_platform *platform, size_t *number,
                                size_t *members)
{
  s->nodes = 0;
  size_t most = 0;
  for (size_t m = 0; m < s->n; m++) {
    const size_t node = platform->node_of_rank[s->ranks[m]];
    if (members[node] == 0)
      number[node] = s->nodes++;
    s->node_of_member[m] = number[node];
    s->slot_of_member[m] = members[node]++;
    most = members[node] > most ? members[node] : most;
  }
  s->slots = most;
  if (s->slots * s->nodes != s->n)
    return lh_fail(LH_EUNSUPPORTED,
                   "%s: %zu members on %zu nodes, %zu on one of them, allowed: the same number on "
                   "each node",
                   lh_algorithm_names[s->entry->algorithm], s->n, s->nodes, most);
  return LH_OK;
}

lh_status lh_places_find(lh_schedule *s, const lh_platform *platform)
{
  size_t *number = malloc(platform->nodes * sizeof *number);
  size_t *members = calloc(platform->nodes, sizeof *members);
  s->node_of_member = calloc(s->n, sizeof *s->node_of_member);
  s->slot_of_member = calloc(s->n, sizeof *s->slot_of_member);
  s->member_at = calloc(s->n, sizeof *s->member_at);
  lh_status status = LH_OK;
  if (!number || !members || !s->node_of_member || !s->slot_of_member || !s->member_at)
    status = lh_fail(LH_ENOMEM, "collective: no memory for a group of %zu", s->n);
  if (status == LH_OK)
    status = number_members(s, platform, number, members);
  for (size_t m = 0; status == LH_OK && m < s->n; m++)
    s->member_at[s->node_of_member[m] * s->slots + s->slot_of_member[m]] = m;
  free(number);
  free(members);
  return status;
}

lh_circle lh_circle_inside(const lh_schedule *s, size_t member)
{
  const size_t place = s->slot_of_member[member], size = s->slots;
  const size_t *here = &s->member_at[s->node_of_member[member] * size];
  return (lh_circle){.size = size,
                     .place = place,
                     .next = here[lh_ahead(place, 1, size)],
                     .previous = here[lh_back(place, 1, size)]};
}

lh_circle lh_circle_between(const lh_schedule *s, size_t member)
{
  const size_t place = s->node_of_member[member], size = s->nodes;
  const size_t *slot = &s->member_at[s->slot_of_member[member]]; /* every `slots`-th of them */
  return (lh_circle){.size = size,
                     .place = place,
                     .next = slot[lh_ahead(place, 1, size) * s->slots],
                     .previous = slot[lh_back(place, 1, size) * s->slots]};
}
