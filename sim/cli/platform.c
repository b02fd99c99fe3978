/* platform.c -- what a platform file says, once it is resolved. */
#include <stdio.h>

#include "sim/cli/cluster_flags.h"
#include "sim/cli/flags.h"

struct values {
  lh_cluster_flags cluster;
  bool json;
};

static lh_status show(const lh_platform *platform, const struct values *v)
{
  return v->json ? lh_platform_print_json(platform, stdout) : lh_platform_print(platform, stdout);
}

static lh_status check(const lh_platform *platform, const struct values *v)
{
  if (v->json)
    printf("{\"ok\":true,\"nodes\":%zu,\"ranks\":%zu,\"links\":%zu}\n", platform->nodes,
           platform->ranks, platform->links);
  else
    printf("%s: %zu nodes, %zu ranks, %zu links, all of them reachable\n", platform->name,
           platform->nodes, platform->ranks, platform->links);
  return LH_OK;
}

static lh_status export_xml(const lh_platform *platform, const struct values *v)
{
  (void)v;
  return lh_platform_export_xml(platform, stdout);
}

static const char *const actions[] = {"show", "check", "export", NULL};
static lh_status (*const action_runs[])(const lh_platform *, const struct values *) = {show, check,
                                                                                       export_xml};

static lh_status run(const void *values, const lh_words *words)
{
  const struct values *v = values;
  size_t action;
  lh_platform *platform;
  LH_TRY(lh_choose("platform", words->word[0], actions, &action));
  LH_TRY(lh_cluster_flags_read(&v->cluster, words->n > 1 ? words->word[1] : NULL, &platform));
  const lh_status status = action_runs[action](platform, v);
  lh_platform_free(platform);
  return status;
}

static const lh_flag flags[] = {
    LH_CLUSTER_FLAGS(struct values, cluster), LH_FLAG_JSON(struct values), {0}};

static const char *const examples[] = {"longhaul platform show star",
                                       "Nodes, links, rates and latencies of a shipped platform",
                                       "longhaul platform check my-cluster.json",
                                       "Is this file right? Exit status 2 if not",
                                       "longhaul platform export star --nodes 4 > star.xml",
                                       "A platform for SimGrid's own programs",
                                       NULL};

const lh_command lh_command_platform = {
    .name = "platform",
    .arguments = "show|check|export [FILE|NAME] [--set PATH=VALUE]...",
    .summary = "print, check or export a platform",
    .least_words = 1,
    .most_words = 2,
    .flags = flags,
    .values_size = sizeof(struct values),
    .examples = examples,
    .run = run,
};
