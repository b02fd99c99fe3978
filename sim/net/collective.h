/* collective.h -- how long a collective takes: algorithms as schedules of messages over the engine.
 *
 * Only time and bytes are here; what happens to numbers is in sim/cluster. A collective starts when
 * its last member has arrived (the caller sees to that) and each member finishes on its own.
 *
 * `exact`: every message of every round is a flow; a member enters round r + 1 when its sends and
 * receives of round r are done; a message starts when both its ends have entered its round.
 * `fluid`: one flow per rank and hop with the algorithm's total bytes, plus its latency terms.
 * Bytes are split evenly as real numbers (S / n), as the alpha-beta model does; the wire counters
 * count whole elements.
 */
#ifndef LH_SIM_COLLECTIVE_H
#define LH_SIM_COLLECTIVE_H

#include <stdbool.h>

#include "sim/net/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum lh_collective_kind {
  LH_ALL_REDUCE,
  LH_REDUCE_SCATTER,
  LH_ALL_GATHER,
  LH_BROADCAST,
  LH_REDUCE,
  LH_ALL_TO_ALL,
  LH_BARRIER,
  LH_POINT_TO_POINT,
  LH_PAIRWISE_EXCHANGE,
  LH_COLLECTIVE_COUNT
} lh_collective_kind;
extern const char *const lh_collective_names[]; /* NULL-terminated */

typedef enum lh_algorithm {
  LH_ALGORITHM_AUTO,
  LH_RING,
  LH_RECURSIVE_DOUBLING,
  LH_RECURSIVE_HALVING_DOUBLING,
  LH_BINOMIAL_TREE,
  LH_DOUBLE_BINARY_TREE,
  LH_HIERARCHICAL,
  LH_DIRECT,
  LH_IN_NETWORK, /* all-reduce by switches that add, where the platform has them */
  LH_ALGORITHM_COUNT
} lh_algorithm;
extern const char *const lh_algorithm_names[];

typedef enum lh_timing {
  LH_TIMING_AUTO,
  LH_TIMING_EXACT,
  LH_TIMING_FLUID,
  LH_TIMING_COUNT
} lh_timing;
extern const char *const lh_timing_names[];

typedef struct lh_collective {
  lh_collective_kind kind;
  lh_algorithm algorithm;
  lh_timing timing;
  size_t n;            /* members */
  const size_t *ranks; /* (n) world ranks in group order; borrowed until all have finished */
  size_t root;  /* member number, for broadcast and reduce; p2p: ranks[0] sends to ranks[1] */
  double bytes; /* payload S: the whole vector for all-reduce and reduce-scatter input and
                   all-gather output; the message for the others (all-to-all: per rank total) */
} lh_collective;

/* What an algorithm does for a kind, for people. */
typedef struct lh_algorithm_info {
  const char *title, *formula; /* of the time on a star: a latency of the path, B bandwidth */
  const char *needs;           /* NULL: nothing */
  bool fluid;                  /* fluid timing may be offered */
} lh_algorithm_info;
/* false: the kind has no such algorithm. */
bool lh_collective_info(lh_collective_kind kind, lh_algorithm algorithm, lh_algorithm_info *info);

/* Is this combination offered? LH_EUNSUPPORTED with the reason and what is. */
lh_status lh_collective_check(const lh_platform *platform, const lh_collective *collective);
/* Replaces auto by the cheapest by prediction (algorithm; direct is left out except for all-to-all,
 * see direct.c), and by exact where it is affordable (at most 200,000 messages) else fluid where
 * offered (timing). What was asked for by name is checked. */
lh_status lh_collective_resolve(const lh_platform *platform, const lh_collective *collective,
                                lh_algorithm *algorithm, lh_timing *timing);
/* Alpha-beta prediction on an otherwise idle network, and the time below which no correct run of
 * this algorithm on this fabric can be (bytes through the narrowest cut, plus latency). */
lh_status lh_collective_predict_s(const lh_platform *platform, const lh_collective *collective,
                                  double *seconds);
lh_status lh_collective_lower_bound_s(const lh_platform *platform, const lh_collective *collective,
                                      double *seconds);

/* Starts now. `member_done(arg, member)` is called in virtual time as each member finishes, the
 * last call is followed by nothing. Call overhead is included. n = 1 finishes at once (after the
 * call overhead). May be called from an actor or a callback. Whether fluid is close enough is for
 * check and resolve to say; it is not asked again here. */
lh_status lh_collective_start(lh_engine *engine, const lh_collective *collective,
                              void (*member_done)(void *arg, size_t member), void *arg);

/* Payload bytes that member `m` sends in whole elements of element_bits bits, split by destination:
 * to ranks on its own node and to others. Chunks: the first S mod n chunks are one element longer.
 */
lh_status lh_collective_sent_bytes(const lh_platform *platform, const lh_collective *collective,
                                   size_t elements, size_t element_bits, size_t member,
                                   double *inter_bytes, double *intra_bytes);

#ifdef __cplusplus
}
#endif

#endif
