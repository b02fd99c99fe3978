/* cluster.c -- opening, running and closing: ranks as actors of the engine. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "sim/cluster/internal.h"

static lh_status open_rank(lh_cluster *cluster, size_t index, const lh_backend *backend)
{
  lh_rank *rank = &cluster->rank[index];
  *rank = (lh_rank){.cluster = cluster, .index = index};
  rank->gate = lh_gate_new(cluster->engine);
  if (!rank->gate)
    return lh_fail(LH_ENOMEM, "no memory for rank %zu", index);
  LH_TRY(lh_device_open(backend, &cluster->platform->device, &rank->device));
  lh_rank_begin_step(rank, 0);
  return LH_OK;
}

static lh_status open_ranks(lh_cluster *cluster, const lh_backend *backend)
{
  size_t *everyone = calloc(cluster->ranks, sizeof *everyone);
  cluster->rank = calloc(cluster->ranks, sizeof *cluster->rank);
  lh_status status = LH_OK;
  if (!everyone || !cluster->rank)
    LH_TRY_GOTO(status, lh_fail(LH_ENOMEM, "no memory for %zu ranks", cluster->ranks));
  for (size_t i = 0; i < cluster->ranks; i++) {
    everyone[i] = i;
    LH_TRY_GOTO(status, open_rank(cluster, i, backend));
  }
  LH_TRY_GOTO(status, lh_group_find(cluster, everyone, cluster->ranks, &cluster->world));
done:
  free(everyone);
  return status;
}

lh_status lh_cluster_open(const lh_platform *platform, const lh_backend *backend,
                          lh_flow_model flow_model, const lh_collective_settings *settings,
                          uint64_t seed, lh_cluster **out)
{
  *out = NULL;
  lh_cluster *cluster = calloc(1, sizeof *cluster);
  if (!cluster)
    return lh_fail(LH_ENOMEM, "no memory for a cluster");
  cluster->platform = platform;
  cluster->settings = *settings;
  cluster->seed = seed;
  cluster->ranks = platform->ranks;
  lh_status status = lh_engine_open(platform, flow_model, seed, &cluster->engine);
  if (status == LH_OK)
    status = open_ranks(cluster, backend);
  if (status != LH_OK) {
    lh_cluster_close(cluster);
    return status;
  }
  *out = cluster;
  return LH_OK;
}

void lh_cluster_close(lh_cluster *cluster)
{
  if (!cluster)
    return;
  lh_groups_free(cluster);
  for (size_t i = 0; cluster->rank && i < cluster->ranks; i++) {
    lh_device_close(cluster->rank[i].device);
    if (cluster->rank[i].gate)
      lh_gate_free(cluster->rank[i].gate);
  }
  free(cluster->rank);
  if (cluster->engine)
    lh_engine_close(cluster->engine);
  free(cluster->reason);
  free(cluster);
}

void lh_cluster_fail(lh_cluster *cluster, lh_status status)
{
  if (cluster->failure != LH_OK)
    return;
  cluster->failure = status;
  cluster->reason = lh_string_copy(lh_fail_text());
  lh_engine_abort(cluster->engine, status);
}

static void rank_main(void *arg)
{
  lh_rank *rank = arg;
  lh_status status = rank->cluster->main(rank->cluster->arg, rank);
  if (status != LH_OK) {
    lh_cluster_fail(rank->cluster, status);
    return;
  }
  lh_rank_pay(rank);
  rank->end_s = lh_engine_now_s(rank->cluster->engine);
}

lh_status lh_cluster_run(lh_cluster *cluster, lh_status (*main)(void *arg, lh_rank *rank),
                         void *arg)
{
  cluster->main = main;
  cluster->arg = arg;
  for (size_t i = 0; i < cluster->ranks; i++) {
    char name[32];
    snprintf(name, sizeof name, "rank-%zu", i);
    LH_TRY(lh_engine_spawn(cluster->engine, name, rank_main, &cluster->rank[i]));
  }
  lh_status status = lh_engine_run(cluster->engine);
  if (cluster->failure != LH_OK)
    return lh_fail(cluster->failure, "%s", cluster->reason ? cluster->reason : "");
  return status;
}

lh_rank *lh_cluster_rank(lh_cluster *cluster, size_t index)
{
  return &cluster->rank[index];
}
