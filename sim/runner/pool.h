/* pool.h -- jobs, each in a forked process of its own, some at a time.
 *
 * SimGrid allows one engine per process, so a scenario needs a process; that a crash takes down one
 * scenario only comes with it. Children are stopped when the parent is interrupted, and die with it.
 * The clock of the host is looked at for the progress line alone.
 */
#ifndef LH_SIM_POOL_H
#define LH_SIM_POOL_H

#include <stddef.h>

#include "base/status.h"

typedef struct lh_pool_state {
  size_t jobs, done, failed, running; /* done includes failed */
  double elapsed_s;                   /* on the host, since the start */
} lh_pool_state;

typedef struct lh_pool {
  size_t jobs, workers; /* workers 0: as many as the host has processors for us */
  /* In the child. What it finds it stores itself; standard output goes nowhere. */
  lh_status (*run)(void *arg, size_t job);
  /* In the parent, when a job has failed, crashed or was killed; the reason is one line. An answer
   * that is not LH_OK ends the pool with that status. */
  lh_status (*failed)(void *arg, size_t job, lh_status status, const char *reason);
  /* In the parent, whenever something changes and a few times per second; may be NULL. */
  void (*progress)(void *arg, const lh_pool_state *state);
  void *arg;
} lh_pool;

/* LH_OK when all jobs have been run, failed ones included: see state->failed. LH_EINTERRUPTED after
 * SIGINT, SIGTERM or SIGHUP, with all children gone. */
lh_status lh_pool_run(const lh_pool *pool, lh_pool_state *state);

size_t lh_pool_default_workers(void);

#endif
