/* platform.c -- what a platform file says, once it is resolved. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "sim/cli/cluster_flags.h"

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

static const struct action {
  const char *name;
  lh_status (*run)(const lh_platform *platform, const struct values *v);
} actions[] = {{"show", show}, {"check", check}, {"export", export_xml}};
#define ACTIONS (sizeof actions / sizeof *actions)

static lh_status find_action(const char *name, const struct action **action)
{
  const char *names[ACTIONS + 1] = {NULL};
  for (size_t i = 0; i < ACTIONS; i++) {
    names[i] = actions[i].name;
    if (strcmp(name, names[i]) == 0) {
      *action = &actions[i];
      return LH_OK;
    }
  }
  const char *near = lh_nearest(name, names);
  return lh_fail(LH_EINVAL, "platform: found \"%s\", allowed: show, check, export%s%s%s", name,
                 near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

static lh_status run(const void *values, const lh_words *words)
{
  const struct values *v = values;
  const struct action *action = NULL;
  lh_platform *platform;
  LH_TRY(find_action(words->word[0], &action));
  LH_TRY(lh_cluster_flags_read(&v->cluster, words->n > 1 ? words->word[1] : NULL, &platform));
  const lh_status status = action->run(platform, v);
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
