/* trial.h -- one round of a schedule played on an idle network, all members beginning it together. */
#ifndef LH_SIM_TRIAL_H
#define LH_SIM_TRIAL_H

#include "sim/net/flows.h"
#include "sim/net/schedule.h"

typedef struct lh_trial_message {
  struct lh_trial *trial;
  size_t source, destination; /* members */
  double after_s;             /* latencies still due when its bytes are there */
  double alone_s;             /* how long it takes with nothing beside it */
  double end_s;               /* when it ended, from the round's beginning */
} lh_trial_message;

typedef struct lh_trial {
  const lh_platform *platform;
  const lh_schedule *schedule;
  lh_flows flows;
  lh_round steps;
  double now_s, rounds;
  size_t n; /* messages of the latest round */
  lh_trial_message *message;
} lh_trial;

/* Borrows both. fini is safe after a failed init. */
lh_status lh_trial_init(lh_trial *trial, const lh_platform *platform, const lh_schedule *schedule);
void lh_trial_fini(lh_trial *trial);

/* Plays a round; each message carries the bytes of `rounds` rounds and pays its latency (and the
 * overhead per message) so often. *seconds: until the last one has ended. */
lh_status lh_trial_play(lh_trial *trial, size_t round, size_t rounds, double *seconds);

/* Calls use() for each message of a round, by its sender's step. */
lh_status lh_each_message(const lh_schedule *schedule, size_t round, lh_round *steps,
                          lh_status (*use)(void *arg, size_t member, const lh_step *step),
                          void *arg);

#endif
