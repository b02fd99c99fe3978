/* group.c -- ordered sets of ranks. Made on first use, shared by their members, kept to the end. */
#include <stdlib.h>
#include <string.h>

#include "sim/cluster/internal.h"

static lh_group *group_new(lh_cluster *cluster, const size_t *ranks, size_t n)
{
  lh_group *group = calloc(1, sizeof *group);
  size_t *copy = calloc(n, sizeof *copy);
  if (!group || !copy) {
    free(group);
    free(copy);
    return NULL;
  }
  memcpy(copy, ranks, n * sizeof *copy);
  *group = (lh_group){.cluster = cluster, .n = n, .ranks = copy, .next = cluster->groups};
  cluster->groups = group;
  return group;
}

/* The latest groups come first: pairs of gossip rounds are found quickly where it matters. */
lh_status lh_group_find(lh_cluster *cluster, const size_t *ranks, size_t n, lh_group **group)
{
  for (lh_group *g = cluster->groups; g; g = g->next) {
    if (g->n == n && memcmp(g->ranks, ranks, n * sizeof *ranks) == 0) {
      *group = g;
      return LH_OK;
    }
  }
  *group = group_new(cluster, ranks, n);
  return *group ? LH_OK : lh_fail(LH_ENOMEM, "no memory for a group of %zu ranks", n);
}

void lh_groups_free(lh_cluster *cluster)
{
  for (lh_group *g = cluster->groups, *next; g; g = next) {
    next = g->next;
    for (size_t s = 0; s < LH_STREAMS; s++)
      for (lh_meeting *m = g->open[s], *after; m; m = after) {
        after = m->next;
        for (size_t i = 0; i < g->n; i++)
          free(m->member[i]);
        free(m->member);
        free(m);
      }
    free(g->ranks);
    free(g);
  }
  cluster->groups = NULL;
}

lh_status lh_group_of(lh_rank *self, const size_t *ranks, size_t n, lh_group **group)
{
  LH_TRY(lh_group_find(self->cluster, ranks, n, group));
  if (lh_group_position(*group, self) == n)
    return lh_fail(LH_EINTERNAL, "rank %zu is not in the group that it asks for", self->index);
  return LH_OK;
}

lh_group *lh_world(lh_rank *self)
{
  return self->cluster->world;
}

size_t lh_group_size(const lh_group *group)
{
  return group->n;
}

size_t lh_group_position(const lh_group *group, const lh_rank *self)
{
  size_t position = 0;
  while (position < group->n && group->ranks[position] != self->index)
    position++;
  return position;
}

static lh_status strided_group(lh_rank *self, size_t first, size_t stride, size_t n,
                               lh_group **group)
{
  size_t *ranks = calloc(n, sizeof *ranks);
  if (!ranks)
    return lh_fail(LH_ENOMEM, "no memory for a group of %zu ranks", n);
  for (size_t i = 0; i < n; i++)
    ranks[i] = first + i * stride;
  lh_status status = lh_group_of(self, ranks, n, group);
  free(ranks);
  return status;
}

static lh_status check_shard_ranks(const lh_rank *self, size_t shard_ranks)
{
  const size_t per_node = lh_accelerators_per_node(self);
  if (shard_ranks < 1 || per_node % shard_ranks != 0)
    return lh_fail(LH_EINVAL,
                   "shard_ranks: found %zu, allowed: a divisor of the %zu accelerators of a node",
                   shard_ranks, per_node);
  return LH_OK;
}

lh_status lh_shard_group(lh_rank *self, size_t shard_ranks, lh_group **group)
{
  LH_TRY(check_shard_ranks(self, shard_ranks));
  return strided_group(self, self->index - self->index % shard_ranks, 1, shard_ranks, group);
}

lh_status lh_replication_group(lh_rank *self, size_t shard_ranks, lh_group **group)
{
  LH_TRY(check_shard_ranks(self, shard_ranks));
  return strided_group(self, self->index % shard_ranks, shard_ranks,
                       lh_world_size(self) / shard_ranks, group);
}
