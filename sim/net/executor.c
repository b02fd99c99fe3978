/* executor.c -- a member enters a round when its sends and receives of the round before are done; a
 * message starts when both its ends have entered its round.
 *
 * exact: every round of the schedule. fluid: a run of rounds that are alike is one round, whose
 * messages carry the bytes of all of them and then wait for the latencies that are still due; the
 * members of a circle (a ring) then end together, as in exact the slowest hop holds up all.
 */
#include "sim/net/executor.h"

#include <math.h>
#include <stdlib.h>

#define NOT_YET SIZE_MAX

typedef struct run run;

typedef struct message {
  run *run;
  size_t source, destination; /* members */
  double after_s;             /* fluid: latencies still due */
  struct message *next;       /* unused */
} message;

typedef struct member_state {
  size_t round;   /* in which it is; NOT_YET before the first, rounds after the last */
  size_t pending; /* steps of its round that are not done */
  size_t next;    /* fluid: another member of its circle that has ended this round */
} member_state;

/* Fluid: the members of a circle that have ended their part of the present round. */
typedef struct circle_state {
  size_t ended;
  size_t last; /* of them; each knows the one before */
} circle_state;

#define BLOCK 256

typedef struct message_block {
  struct message_block *next;
  message message[BLOCK];
} message_block;

struct run {
  lh_engine *engine;
  const lh_platform *platform;
  lh_schedule schedule;
  bool fluid;
  size_t finished;
  member_state *member; /* (n) */
  lh_round steps;       /* of the member that is being looked at */
  message *unused;
  message_block *blocks;
  circle_state *circle; /* (n) fluid */
  void (*member_done)(void *arg, size_t member);
  void *arg;
};

static void free_run(run *r)
{
  while (r->blocks) {
    message_block *next = r->blocks->next;
    free(r->blocks);
    r->blocks = next;
  }
  lh_schedule_fini(&r->schedule);
  free(r->member);
  free(r->steps.step);
  free(r->circle);
  free(r);
}

static message *new_message(run *r)
{
  if (!r->unused) {
    message_block *block = malloc(sizeof *block);
    if (!block)
      return NULL;
    block->next = r->blocks;
    r->blocks = block;
    for (size_t i = 0; i < BLOCK; i++) {
      block->message[i].next = r->unused;
      r->unused = &block->message[i];
    }
  }
  message *m = r->unused;
  r->unused = m->next;
  return m;
}

static void step_done(run *r, size_t member);

static void message_done(void *arg)
{
  message *m = arg;
  run *r = m->run;
  if (m->after_s > 0.0) {
    const double after_s = m->after_s;
    m->after_s = 0.0;
    lh_engine_after_s(r->engine, after_s, message_done, m);
    return;
  }
  const size_t source = m->source, destination = m->destination;
  m->next = r->unused;
  r->unused = m;
  step_done(r, source); /* the destination is still busy, so the run outlives this */
  step_done(r, destination);
}

/* Rounds that one message stands for. */
static size_t stride(const run *r, size_t round)
{
  return r->fluid ? lh_schedule_repeats(&r->schedule, round) : 1;
}

static void send_message(run *r, size_t source, size_t destination, const lh_step *step,
                         size_t rounds)
{
  message *m = new_message(r);
  if (!m) {
    lh_engine_abort(r->engine, lh_fail(LH_ENOMEM, "collective: no memory for its messages"));
    return;
  }
  const size_t src = r->schedule.ranks[source], dst = r->schedule.ranks[destination];
  *m = (message){.run = r, .source = source, .destination = destination};
  if (rounds > 1)
    m->after_s = (double)(rounds - 1) *
                 (lh_engine_latency_s(r->engine, src, dst) + r->platform->message_overhead_s);
  lh_engine_send(r->engine, src, dst, (double)rounds * lh_step_bytes(&r->schedule, step),
                 r->platform->message_overhead_s, INFINITY, message_done, m);
}

/* Starts the member's messages of its round whose other end is there too. */
static void enter_round(run *r, size_t member)
{
  const size_t round = r->member[member].round, rounds = stride(r, round);
  r->member[member].pending = r->steps.n;
  for (size_t i = 0; i < r->steps.n; i++) {
    const lh_step *step = &r->steps.step[i];
    if (r->member[step->peer].round != round)
      continue;
    if (step->send)
      send_message(r, member, step->peer, step, rounds);
    else
      send_message(r, step->peer, member, step, rounds);
  }
}

static void finish(run *r, size_t member)
{
  void (*member_done)(void *arg, size_t member) = r->member_done;
  void *arg = r->arg;
  if (++r->finished == r->schedule.n)
    free_run(r);
  member_done(arg, member);
}

/* To the next round in which the member has something to do. */
static void advance(run *r, size_t member)
{
  const lh_schedule *s = &r->schedule;
  member_state *state = &r->member[member];
  while (state->round < s->rounds) {
    r->steps.n = 0;
    s->entry->round(s, member, state->round, &r->steps);
    if (r->steps.n) {
      enter_round(r, member);
      return;
    }
    state->round += stride(r, state->round);
  }
  finish(r, member);
}

static void go_on(run *r, size_t member)
{
  r->member[member].round += stride(r, r->member[member].round);
  advance(r, member);
}

/* Several rounds in one: the circle's members wait for each other. */
static void end_together(run *r, size_t member)
{
  const lh_schedule *s = &r->schedule;
  size_t size = s->n;
  const size_t number =
      s->entry->circle ? s->entry->circle(s, member, r->member[member].round, &size) : 0;
  circle_state *circle = &r->circle[number];
  r->member[member].next = circle->ended ? circle->last : NOT_YET;
  circle->last = member;
  if (++circle->ended < size)
    return;
  circle->ended = 0;
  while (member != NOT_YET) { /* the last one may end the run */
    const size_t next = r->member[member].next;
    go_on(r, member);
    member = next;
  }
}

static void step_done(run *r, size_t member)
{
  if (--r->member[member].pending > 0)
    return;
  if (stride(r, r->member[member].round) > 1)
    end_together(r, member);
  else
    go_on(r, member);
}

static void begin(void *arg)
{
  run *r = arg;
  const size_t n = r->schedule.n;
  for (size_t m = 0; m < n; m++) {
    /* Only the last member's advance can end the run, and nothing is read after it.
     * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
    r->member[m].round = 0;
    advance(r, m);
  }
}

lh_status lh_executor_start(lh_engine *engine, lh_schedule *schedule, bool fluid,
                            void (*member_done)(void *arg, size_t member), void *arg)
{
  const size_t n = schedule->n;
  run *r = calloc(1, sizeof *r);
  if (!r) {
    lh_schedule_fini(schedule);
    return lh_fail(LH_ENOMEM, "collective: no memory for a group of %zu", n);
  }
  r->engine = engine;
  r->platform = lh_engine_platform(engine);
  r->schedule = *schedule;
  *schedule = (lh_schedule){0};
  r->fluid = fluid;
  r->member_done = member_done;
  r->arg = arg;
  r->steps = lh_round_new(&r->schedule);
  r->member = calloc(n, sizeof *r->member);
  r->circle = calloc(n, sizeof *r->circle);
  if (!r->steps.step || !r->member || !r->circle) {
    free_run(r);
    return lh_fail(LH_ENOMEM, "collective: no memory for a group of %zu", n);
  }
  for (size_t m = 0; m < n; m++)
    r->member[m].round = NOT_YET;
  lh_engine_after_s(engine, r->platform->call_overhead_s, begin, r);
  return LH_OK;
}
