#include "sim/net/schedule.h"

#include <stdlib.h>

extern const lh_algorithm_entry lh_ring_entry, lh_pair_entry, lh_pairwise_rounds_entry,
    lh_direct_entry, lh_binomial_entry, lh_doubling_entry, lh_doubling_gather_entry,
    lh_dissemination_entry, lh_halving_doubling_entry, lh_halving_scatter_entry,
    lh_hierarchical_entry, lh_double_tree_entry, lh_in_network_entry;

/* Of equally fast ones `auto` takes the first. */
const lh_algorithm_entry *const lh_algorithm_table[] = {
    &lh_ring_entry,
    &lh_doubling_entry,
    &lh_doubling_gather_entry,
    &lh_dissemination_entry,
    &lh_halving_doubling_entry,
    &lh_halving_scatter_entry,
    &lh_binomial_entry,
    &lh_double_tree_entry,
    &lh_hierarchical_entry,
    &lh_in_network_entry,
    &lh_direct_entry,
    &lh_pair_entry,
    &lh_pairwise_rounds_entry,
    NULL,
};

const lh_algorithm_entry *lh_algorithm_find(lh_collective_kind kind, lh_algorithm algorithm)
{
  for (size_t i = 0; lh_algorithm_table[i]; i++)
    if (lh_algorithm_table[i]->algorithm == algorithm &&
        lh_algorithm_table[i]->kinds & LH_KIND(kind))
      return lh_algorithm_table[i];
  return NULL;
}

lh_status lh_schedule_init(lh_schedule *schedule, const lh_platform *platform,
                           const lh_collective *collective)
{
  *schedule = (lh_schedule){.entry = lh_algorithm_find(collective->kind, collective->algorithm),
                            .kind = collective->kind,
                            .n = collective->n,
                            .root = collective->root,
                            .ranks = collective->ranks,
                            .bytes = collective->kind == LH_BARRIER ? 0.0 : collective->bytes,
                            .chunks = 1};
  if (!schedule->entry)
    return lh_fail(LH_EUNSUPPORTED, "%s: no algorithm %s", lh_collective_names[collective->kind],
                   lh_algorithm_names[collective->algorithm]);
  return collective->n > 1 ? schedule->entry->prepare(schedule, platform) : LH_OK;
}

void lh_schedule_fini(lh_schedule *schedule)
{
  free(schedule->node_of_member);
  free(schedule->slot_of_member);
  free(schedule->member_at);
  *schedule = (lh_schedule){0};
}

size_t lh_schedule_repeats(const lh_schedule *schedule, size_t round)
{
  return schedule->entry->repeats ? schedule->entry->repeats(schedule, round) : 1;
}

size_t lh_schedule_own_chunk(const lh_schedule *schedule, size_t member)
{
  if (schedule->n == 1 || !schedule->entry->own_chunk)
    return member;
  return schedule->entry->own_chunk(schedule, member);
}

double lh_schedule_messages(const lh_schedule *schedule)
{
  if (schedule->entry->messages)
    return schedule->entry->messages(schedule);
  return 0.5 * (double)(schedule->n * schedule->most_steps) * (double)schedule->rounds;
}

lh_round lh_round_new(const lh_schedule *schedule)
{
  const size_t most = schedule->most_steps ? schedule->most_steps : 1;
  return (lh_round){.n = 0, .step = calloc(most, sizeof(lh_step))};
}
