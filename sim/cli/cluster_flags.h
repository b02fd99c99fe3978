/* cluster_flags.h -- a platform from a few flags, for commands that need nothing else. */
#ifndef LH_SIM_CLUSTER_FLAGS_H
#define LH_SIM_CLUSTER_FLAGS_H

#include "sim/cli/command.h"
#include "sim/platform/platform.h"

typedef struct lh_cluster_flags {
  const char *platform, *topology, *bandwidth, *latency, *placement;
  size_t nodes, accelerators;
  lh_words set;
} lh_cluster_flags;

#define LH_CLUSTER_FLAGS(type, field)                                                              \
  {"--platform", LH_FLAG_TEXT, offsetof(type, field.platform), "FILE|NAME",                        \
   "platform file, shipped platform (star), or a JSON object"},                                    \
      {"--topology", LH_FLAG_TEXT, offsetof(type, field.topology), "NAME",                         \
       "star (default without --platform), ring, fat-tree, ..."},                                  \
      {"--nodes", LH_FLAG_COUNT, offsetof(type, field.nodes), "N", "number of nodes"},             \
      {"--accelerators", LH_FLAG_COUNT, offsetof(type, field.accelerators), "N",                   \
       "accelerators (ranks) per node"},                                                           \
      {"--bandwidth", LH_FLAG_TEXT, offsetof(type, field.bandwidth), "RATE",                       \
       "of one node's link: 10Gbps, 1.25GB/s"},                                                    \
      {"--latency", LH_FLAG_TEXT, offsetof(type, field.latency), "TIME",                           \
       "of one node's link: 50us"},                                                                \
      {"--placement", LH_FLAG_TEXT, offsetof(type, field.placement), "block|round-robin",          \
       "of ranks on nodes"},                                                                       \
  {                                                                                                \
    "--set", LH_FLAG_LIST, offsetof(type, field.set), "PATH=VALUE",                                \
        "set any value of the platform: platform.network.flow_cap=1Gbps"                           \
  }

/* `file`: a platform file that stands as a word, or NULL. The caller frees the platform. */
lh_status lh_cluster_flags_read(const lh_cluster_flags *flags, const char *file,
                                lh_platform **platform);

#endif
