/* schedule.h -- an algorithm as a function: what does a member send and receive in a round?
 *
 * The payload of S bytes is cut into `chunks` equal chunks (real numbers: S / chunks bytes each; in
 * whole elements the first S mod chunks are one longer). In a round a member has steps: it sends a
 * run of chunks to a peer or receives one. A member is through with a round when all its steps are;
 * a round without steps takes no time. Nothing of size rounds x members is ever stored: round() is
 * asked again and again, so it must be cheap.
 *
 * Every algorithm is one file with one table entry (or two).
 */
#ifndef LH_SIM_SCHEDULE_H
#define LH_SIM_SCHEDULE_H

#include <stdbool.h>

#include "sim/net/collective.h"

typedef struct lh_step {
  bool send;           /* false: receive */
  bool add;            /* the receiver adds to what it has (false: it takes it instead) */
  size_t peer;         /* the other member */
  size_t first, count; /* chunks first .. first + count - 1, modulo the schedule's chunks */
} lh_step;

typedef struct lh_round {
  size_t n;
  lh_step *step; /* (most_steps of the schedule) */
} lh_round;

typedef struct lh_schedule lh_schedule;

typedef struct lh_algorithm_entry {
  lh_algorithm algorithm;
  unsigned kinds;      /* bit 1 << kind for each kind offered */
  const char *title;   /* one line: what happens */
  const char *formula; /* time on a star: a latency of the path, B bandwidth, n members, S bytes */
  const char *needs;   /* what it needs of the group, for people; NULL: nothing */
  unsigned on_request; /* of those kinds, the ones that `auto` leaves out */
  bool fluid;          /* rounds repeat, so that they can be timed as one flow */
  /* Fills the schedule's own numbers. n > 1. LH_EUNSUPPORTED for a group that does not fit. */
  lh_status (*prepare)(lh_schedule *schedule, const lh_platform *platform);
  /* The steps of one member in one round. */
  void (*round)(const lh_schedule *schedule, size_t member, size_t round, lh_round *out);
  /* How many rounds from this one on have the same peers and byte counts; NULL: 1. */
  size_t (*repeats)(const lh_schedule *schedule, size_t round);
  /* Fluid: members of one circle depend on each other round by round, so they end together. Which
   * circle (< n) is a member in, and how many members has it? NULL: all are in one. */
  size_t (*circle)(const lh_schedule *schedule, size_t member, size_t round, size_t *size);
  /* The chunk that is a member's own in reduce-scatter and all-gather; NULL: chunk `member`. */
  size_t (*own_chunk)(const lh_schedule *schedule, size_t member);
  /* Messages in all rounds; NULL: n * most_steps / 2 a round, at most. */
  double (*messages)(const lh_schedule *schedule);
  /* Whole elements of E that a member sends in the rounds that repeat from `round`, a round at which
   * a repetition begins; all to the peer of that round. NULL: added up round by round. */
  size_t (*sent_elements)(const lh_schedule *schedule, size_t member, size_t round,
                          size_t elements);
} lh_algorithm_entry;

extern const lh_algorithm_entry *const lh_algorithm_table[]; /* NULL-terminated */
/* NULL: this algorithm does not offer the kind. */
const lh_algorithm_entry *lh_algorithm_find(lh_collective_kind kind, lh_algorithm algorithm);

struct lh_schedule {
  const lh_algorithm_entry *entry;
  lh_collective_kind kind;
  size_t n, root;
  const size_t *ranks; /* (n) borrowed */
  double bytes;
  size_t chunks, rounds, most_steps; /* most steps of one member in one round */
  /* The algorithm's own: */
  size_t power;        /* the largest power of two that is at most n */
  size_t nodes, slots; /* hierarchical: n = nodes * slots */
  size_t *node_of_member, *slot_of_member,
      *member_at; /* (n) each; member_at[node * slots + slot] */
  size_t inside;  /* in-network: rounds inside the nodes, each way */
  size_t pieces;  /* double tree */
};

/* `collective` has a resolved algorithm. fini is safe after a failed init and after none
 * (zeroed). */
lh_status lh_schedule_init(lh_schedule *schedule, const lh_platform *platform,
                           const lh_collective *collective);
void lh_schedule_fini(lh_schedule *schedule);

static inline double lh_step_bytes(const lh_schedule *schedule, const lh_step *step)
{
  return schedule->bytes * (double)step->count / (double)schedule->chunks;
}

/* Whole elements of E in a run of chunks. */
size_t lh_chunk_elements(const lh_schedule *schedule, size_t elements, size_t first, size_t count);

size_t lh_schedule_repeats(const lh_schedule *schedule, size_t round);
size_t lh_schedule_own_chunk(const lh_schedule *schedule, size_t member);
/* Up to here `auto` finds single messages affordable, a fraction of a second of the host's time. */
#define LH_AFFORDABLE_MESSAGES 200000
/* Messages in all rounds, at most. */
double lh_schedule_messages(const lh_schedule *schedule);

/* Room for one round; NULL step: no memory. The caller frees step. */
lh_round lh_round_new(const lh_schedule *schedule);

static inline void lh_round_send(lh_round *out, size_t peer, size_t first, size_t count, bool add)
{
  out->step[out->n++] =
      (lh_step){.send = true, .add = add, .peer = peer, .first = first, .count = count};
}

static inline void lh_round_receive(lh_round *out, size_t peer, size_t first, size_t count,
                                    bool add)
{
  out->step[out->n++] =
      (lh_step){.send = false, .add = add, .peer = peer, .first = first, .count = count};
}

/* ---- arithmetic the algorithms share ----------------------------------------------------------- */

/* a - b modulo n, for a < n and any b. */
static inline size_t lh_back(size_t a, size_t b, size_t n)
{
  b %= n;
  return a >= b ? a - b : a + n - b;
}

static inline size_t lh_ahead(size_t a, size_t b, size_t n)
{
  return (a + b) % n;
}

/* Rounds of doubling until n are reached: ceil(log2 n). */
static inline size_t lh_log2_up(size_t n)
{
  size_t rounds = 0;
  while (((size_t)1 << rounds) < n)
    rounds++;
  return rounds;
}

#define LH_KIND(kind) (1u << (kind))

#endif
