/* internal.h -- what the files of this folder share; nobody else includes it. */
#ifndef LH_SIM_CLUSTER_INTERNAL_H
#define LH_SIM_CLUSTER_INTERNAL_H

#include <stdbool.h>

#include "sim/cluster/cluster.h"

typedef struct lh_meeting lh_meeting;

/* One thing on a rank's stream: its part in a collective, a launch, or a mark that waits for another
 * stream. Queued, then arrived (it is the head), then done. */
struct lh_pending {
  lh_rank *rank;
  lh_meeting *meeting; /* of a collective; NULL: a launch or a mark */
  size_t member, stream;
  lh_status (*run)(void *ctx); /* of a launch */
  void *ctx;
  lh_pending *before; /* of a mark: what it waits for; NULL once that is done */
  lh_pending *marks;  /* marks of other streams that wait for this one */
  lh_pending *next_mark;
  lh_tensor send, receive; /* copies of what was handed over: views need not outlive the start */
  bool done, waited_for;
  lh_pending *next; /* on the same stream */
};

/* One collective of a group: its members meet, then it runs. */
struct lh_meeting {
  lh_group *group;
  lh_collective_kind kind;
  lh_reduce op;
  lh_dtype wire;
  size_t root, elements; /* elements of the payload vector, as lh_collective counts it */
  size_t joined, arrived, finished;
  double launch_s, lower_bound_s;
  lh_pending **member; /* (n) */
  lh_meeting *next;    /* later meetings of the same group and stream */
};

struct lh_group {
  lh_cluster *cluster;
  size_t n;
  size_t *ranks;
  lh_meeting *open[LH_STREAMS]; /* meetings that not all members have started yet, oldest first */
  struct {
    lh_collective_kind kind;
    double bytes;
    size_t root;
    lh_algorithm algorithm;
    lh_timing timing;
    double lower_bound_s;
  } resolved; /* of the latest kind, size and root: the answer of `auto`, and the least time it may take */
  bool has_resolved;
  lh_group *next;
};

typedef struct lh_stream {
  lh_pending *head, *tail;
  double late_total_s; /* time its heads have waited for their last member */
  double arrived_s;    /* when the present head arrived */
  bool waiting;        /* the present head has arrived and has not been launched */
} lh_stream;

struct lh_rank {
  lh_cluster *cluster;
  size_t index;
  lh_device *device;
  lh_gate *gate;
  lh_stream stream[LH_STREAMS];
  lh_rank_statistics statistics;
  double compute_factor; /* of the present step: variation over node speed */
  double end_s;          /* when its main returned */
};

struct lh_cluster {
  const lh_platform *platform;
  lh_engine *engine;
  lh_collective_settings settings;
  uint64_t seed;
  size_t ranks;
  lh_rank *rank;
  lh_group *groups;
  lh_group *world;
  lh_status (*main)(void *arg, lh_rank *rank);
  void *arg;
  lh_status failure;
  char *reason; /* of the first failure */
};

/* Keeps the first failure and ends the simulation. */
void lh_cluster_fail(lh_cluster *cluster, lh_status status);

/* Pays the pending compute time: one sleep. */
void lh_rank_pay(lh_rank *rank);

lh_status lh_group_find(lh_cluster *cluster, const size_t *ranks, size_t n, lh_group **group);
void lh_groups_free(lh_cluster *cluster);

/* The head of its stream is done: the next one arrives, and whoever waits goes on. */
void lh_pending_done(lh_pending *pending);
/* Puts it on its stream; the head arrives at once. */
void lh_pending_enqueue(lh_pending *pending);
/* A new one on a stream of this rank, whose pending compute is paid first. NULL: no memory. */
lh_status lh_pending_new(lh_rank *self, size_t stream, lh_pending **pending);
/* A launch or a mark has come to the head of its stream. */
void lh_launch_arrive(lh_pending *pending);
void lh_mark_arrive(lh_pending *pending);

/* The numbers of a meeting whose members have all arrived, into their receive tensors. */
lh_status lh_combine(lh_meeting *meeting);

#endif
