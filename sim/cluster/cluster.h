/* cluster.h -- ranks, groups, communication streams and the virtual clock: what a method sees.
 *
 * A rank runs a method's code as ordinary blocking C. `start` puts a collective on one of the
 * rank's communication streams and returns at once; collectives of a stream run in the order they
 * were started, as on a NCCL stream; `wait` blocks in virtual time. All members of a group must
 * start the same collectives in the same order on the same stream.
 *
 * Numbers are combined once, in ascending group order, when the last member has arrived, whatever
 * algorithm is timed. Buffers handed to a start must stay untouched until its wait.
 *
 * Nothing here says how ranks are realised: today as actors on SimGrid, later as MPI processes.
 * Ownership: groups and ranks belong to the cluster; a lh_pending belongs to the caller until
 * lh_wait.
 */
#ifndef LH_SIM_CLUSTER_H
#define LH_SIM_CLUSTER_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/device.h"
#include "kernels/ops.h"
#include "sim/net/collective.h"

typedef struct lh_cluster lh_cluster;
typedef struct lh_rank lh_rank;
typedef struct lh_group lh_group;
typedef struct lh_pending lh_pending;

/* LH_SUM and LH_MEAN round every partial sum to the wire, as a ring that adds on its way does;
 * LH_SUM_ROUNDED_ONCE adds in the precision of the storage and rounds the result. */
typedef enum lh_reduce { LH_SUM, LH_MEAN, LH_SUM_ROUNDED_ONCE } lh_reduce;

/* How collectives are timed; "run.collectives" of a scenario. */
typedef struct lh_collective_settings {
  lh_timing timing;
  lh_algorithm algorithm[LH_COLLECTIVE_COUNT]; /* by kind; LH_ALGORITHM_AUTO by default */
} lh_collective_settings;

/* What a rank has spent and sent so far. */
typedef struct lh_rank_statistics {
  double compute_s;               /* charged by operations, stragglers' factor included */
  double exposed_communication_s; /* waiting for collectives, without waiting for late peers */
  double straggler_wait_s;        /* waiting for the last member to arrive */
  double communication_s;         /* total length of its collectives from the last arrival on */
  double inter_node_bytes, intra_node_bytes; /* payload sent */
} lh_rank_statistics;

/* ---- for the runner -------------------------------------------------------------------------- */

lh_status lh_cluster_open(const lh_platform *platform, const lh_backend *backend,
                          lh_flow_model flow_model, const lh_collective_settings *settings,
                          uint64_t seed, lh_cluster **cluster);
/* Runs `main(arg, rank)` on every rank to the end; the first failure stops all and is returned. */
lh_status lh_cluster_run(lh_cluster *cluster, lh_status (*main)(void *arg, lh_rank *rank),
                         void *arg);
void lh_cluster_close(lh_cluster *cluster);
lh_rank *lh_cluster_rank(lh_cluster *cluster, size_t index);
lh_rank_statistics lh_rank_statistics_of(const lh_rank *rank);
double lh_rank_end_s(const lh_rank *rank); /* virtual time at which its main returned */
/* A new compute-time factor for the step: drawn from (seed, step, rank), over the node's speed. */
void lh_rank_begin_step(lh_rank *self, uint64_t step);
/* Pays what is pending, then lets all that happens at this instant happen first. */
void lh_rank_settle(lh_rank *self);

/* ---- for methods ----------------------------------------------------------------------------- */

size_t lh_rank_index(const lh_rank *self);
size_t lh_world_size(const lh_rank *self);
size_t lh_rank_node(const lh_rank *self);
size_t lh_accelerators_per_node(const lh_rank *self);
lh_device *lh_rank_device(lh_rank *self);

/* Virtual time of this rank, pending compute included (it is paid first). */
double lh_now_s(lh_rank *self);
/* The same without paying: what lh_now_s would say. For records. */
double lh_peek_now_s(const lh_rank *self);

/* Groups are made on first use and shared. `ranks` in group order; self must be among them. */
lh_status lh_group_of(lh_rank *self, const size_t *ranks, size_t n, lh_group **group);
lh_group *lh_world(lh_rank *self);
/* The `shard_ranks` consecutive ranks around self, and the ranks with self's position in each such
 * block. LH_EINVAL when shard_ranks does not divide the accelerators of a node. */
lh_status lh_shard_group(lh_rank *self, size_t shard_ranks, lh_group **group);
lh_status lh_replication_group(lh_rank *self, size_t shard_ranks, lh_group **group);
size_t lh_group_size(const lh_group *group);
size_t lh_group_position(const lh_group *group, const lh_rank *self);

#define LH_STREAMS 8 /* stream 0 is the usual one */

/* x <- sum or mean over the group; `wire`: dtype of the payload, values are rounded to it. In
 * place. */
lh_status lh_all_reduce_start(lh_rank *self, lh_group *group, size_t stream, lh_tensor *x,
                              lh_reduce op, lh_dtype wire, lh_pending **pending);
/* send (n * shard) -> receive (shard): member i gets elements i*shard .. of the combined vector. */
lh_status lh_reduce_scatter_start(lh_rank *self, lh_group *group, size_t stream,
                                  const lh_tensor *send, lh_tensor *receive, lh_reduce op,
                                  lh_dtype wire, lh_pending **pending);
/* send (shard) -> receive (n * shard), in group order. */
lh_status lh_all_gather_start(lh_rank *self, lh_group *group, size_t stream, const lh_tensor *send,
                              lh_tensor *receive, lh_dtype wire, lh_pending **pending);
lh_status lh_broadcast_start(lh_rank *self, lh_group *group, size_t stream, lh_tensor *x,
                             size_t root, lh_dtype wire, lh_pending **pending);
/* Both of a pair send and receive; equal element counts. */
lh_status lh_exchange_start(lh_rank *self, size_t peer, size_t stream, const lh_tensor *send,
                            lh_tensor *receive, lh_dtype wire, lh_pending **pending);
lh_status lh_barrier_start(lh_rank *self, lh_group *group, size_t stream, lh_pending **pending);
/* Point to point: both ends call it, self is one of them. The sender's x is read, the receiver's is
 * written; equal element counts. */
lh_status lh_message_start(lh_rank *self, size_t from, size_t to, size_t stream, lh_tensor *x,
                           lh_dtype wire, lh_pending **pending);

/* A kernel launch on a communication stream: when its turn comes `run(ctx)` is called, once, and must
 * not block. What its operations charge keeps the stream busy and takes nothing from the rank's own
 * compute. Waiting for it counts as exposed communication. */
lh_status lh_launch_start(lh_rank *self, size_t stream, lh_status (*run)(void *ctx), void *ctx,
                          lh_pending **pending);
/* What is started on `stream` from now on begins only when `pending` of another stream of this rank is
 * done; nothing blocks. NULL: nothing to wait for. */
lh_status lh_stream_after(lh_rank *self, size_t stream, lh_pending *pending);

/* Blocks until done in virtual time; frees and clears *pending. NULL pending is fine. */
lh_status lh_wait(lh_rank *self, lh_pending **pending);
/* Has it finished by this rank's virtual time? (for methods that go on computing meanwhile) */
bool lh_is_done(lh_rank *self, const lh_pending *pending);

/* start + wait, for methods where nothing overlaps. */
lh_status lh_all_reduce(lh_rank *self, lh_group *group, lh_tensor *x, lh_reduce op, lh_dtype wire);

#endif
