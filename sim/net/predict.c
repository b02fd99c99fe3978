#include "sim/net/predict.h"

#include <math.h>
#include <stdlib.h>

#include "sim/net/flows.h"

#define MOST_DIFFERENT_ROUNDS 32

/* ---- one round ---------------------------------------------------------------------------------- */

/* Messages of one round under way; each keeps what its rounds have still to wait afterwards. */
typedef struct trial {
  double now_s, end_s; /* end: the latest message with its remaining latencies */
} trial;

typedef struct trial_message {
  trial *trial;
  double after_s;
} trial_message;

static void arrived(void *arg)
{
  trial_message *m = arg;
  m->trial->end_s = fmax(m->trial->end_s, m->trial->now_s + m->after_s);
}

/* Calls use() for each message of a round: its steps that send. */
static lh_status each_message(const lh_schedule *s, size_t round, lh_round *steps,
                              lh_status (*use)(void *arg, size_t member, const lh_step *step),
                              void *arg)
{
  for (size_t m = 0; m < s->n; m++) {
    steps->n = 0;
    s->entry->round(s, m, round, steps);
    for (size_t i = 0; i < steps->n; i++)
      if (steps->step[i].send)
        LH_TRY(use(arg, m, &steps->step[i]));
  }
  return LH_OK;
}

typedef struct round_trial {
  const lh_platform *platform;
  const lh_schedule *schedule;
  lh_flows *flows;
  trial trial;
  double rounds; /* that one message stands for */
  size_t n, capacity;
  trial_message *message;
} round_trial;

static lh_status launch(void *arg, size_t member, const lh_step *step)
{
  round_trial *t = arg;
  const lh_schedule *s = t->schedule;
  lh_route route;
  LH_TRY(lh_platform_route(t->platform, s->ranks[member], s->ranks[step->peer], &route));
  const double wait_s = route.latency_s + t->platform->message_overhead_s;
  trial_message *m = &t->message[t->n++];
  *m = (trial_message){.trial = &t->trial, .after_s = (t->rounds - 1.0) * wait_s};
  return lh_flows_send(t->flows, wait_s, &route, t->rounds * lh_step_bytes(s, step), route.cap_Bps,
                       arrived, m);
}

static lh_status play(round_trial *t, size_t round, lh_round *steps, double *seconds)
{
  t->n = 0;
  t->trial = (trial){0};
  LH_TRY(each_message(t->schedule, round, steps, launch, t));
  double next_s;
  while (isfinite(next_s = lh_flows_next_s(t->flows, t->trial.now_s))) {
    t->trial.now_s = fmax(t->trial.now_s, next_s);
    void (*done)(void *arg);
    void *arg;
    while (lh_flows_take(t->flows, t->trial.now_s, &done, &arg))
      done(arg);
  }
  if (t->flows->out_of_memory)
    return lh_fail(LH_ENOMEM, "collective: no memory to predict it");
  *seconds = t->trial.end_s;
  return LH_OK;
}

/* ---- all rounds --------------------------------------------------------------------------------- */

static size_t different_rounds(const lh_schedule *s)
{
  size_t different = 0;
  for (size_t round = 0; round < s->rounds; round += lh_schedule_repeats(s, round))
    different++;
  return different;
}

static lh_status sum_rounds(round_trial *t, lh_round *steps, bool fluid, double *seconds)
{
  const lh_schedule *s = t->schedule;
  const size_t different = different_rounds(s);
  const size_t every = (different + MOST_DIFFERENT_ROUNDS - 1) / MOST_DIFFERENT_ROUNDS;
  double sum_s = 0.0;
  size_t seen = 0, played = 0;
  for (size_t round = 0, repeats; round < s->rounds; round += repeats, seen++) {
    repeats = lh_schedule_repeats(s, round);
    if (seen % every)
      continue;
    double round_s = 0.0;
    t->rounds = fluid ? (double)repeats : 1.0;
    LH_TRY(play(t, round, steps, &round_s));
    sum_s += fluid ? round_s : round_s * (double)repeats;
    played++;
  }
  *seconds = played ? sum_s * (double)different / (double)played : 0.0;
  return LH_OK;
}

lh_status lh_predict_s(const lh_platform *platform, const lh_schedule *s, bool fluid,
                       double *seconds)
{
  lh_flows flows;
  LH_TRY(lh_flows_init(&flows, platform));
  lh_round steps = lh_round_new(s);
  round_trial t = {.platform = platform, .schedule = s, .flows = &flows};
  t.message = malloc((s->n * s->most_steps + 1) * sizeof *t.message);
  lh_status status = LH_OK;
  if (!steps.step || !t.message)
    status = lh_fail(LH_ENOMEM, "collective: no memory to predict a group of %zu", s->n);
  if (status == LH_OK)
    status = sum_rounds(&t, &steps, fluid, seconds);
  if (status == LH_OK)
    *seconds += platform->call_overhead_s;
  free(t.message);
  free(steps.step);
  lh_flows_fini(&flows);
  return status;
}

/* ---- the least ---------------------------------------------------------------------------------- */

typedef struct least {
  const lh_platform *platform;
  const lh_schedule *schedule;
  double repeats;
  double *link_bytes; /* (links) */
  double *round_s;    /* (n) slowest step of each member in this round, alone */
} least;

/* The most a link ever carries, faults included. */
static double best_Bps(const lh_platform *platform, size_t link)
{
  double best = platform->link[link].bandwidth_Bps;
  for (size_t i = 0; i < platform->faults; i++)
    if (platform->fault[i].kind == LH_FAULT_LINK_BANDWIDTH && platform->fault[i].index == link)
      best = fmax(best, platform->fault[i].bandwidth_Bps);
  return best;
}

static lh_status add_message(void *arg, size_t member, const lh_step *step)
{
  least *l = arg;
  const double bytes = lh_step_bytes(l->schedule, step);
  lh_route route;
  LH_TRY(lh_platform_route(l->platform, l->schedule->ranks[member], l->schedule->ranks[step->peer],
                           &route));
  double rate_Bps = route.cap_Bps;
  for (size_t i = 0; i < route.links; i++) {
    if (l->platform->link[route.link[i]].shared)
      l->link_bytes[route.link[i]] += bytes * l->repeats;
    rate_Bps = fmin(rate_Bps, best_Bps(l->platform, route.link[i]));
  }
  /* With varying latencies the least of them is not known. */
  const bool varies = l->platform->latency_variation.kind != LH_VARIATION_NONE;
  const double alone_s =
      (varies ? 0.0 : route.latency_s) + l->platform->message_overhead_s + bytes / rate_Bps;
  l->round_s[member] = fmax(l->round_s[member], alone_s);
  l->round_s[step->peer] = fmax(l->round_s[step->peer], alone_s);
  return LH_OK;
}

static lh_status least_of_rounds(least *l, lh_round *steps, double *member_s, double *seconds)
{
  const lh_schedule *s = l->schedule;
  const size_t different = different_rounds(s);
  const size_t every = (different + MOST_DIFFERENT_ROUNDS - 1) / MOST_DIFFERENT_ROUNDS;
  size_t seen = 0;
  for (size_t round = 0, repeats; round < s->rounds; round += repeats, seen++) {
    repeats = lh_schedule_repeats(s, round);
    if (seen % every) /* rounds left out only lower the bound */
      continue;
    l->repeats = (double)repeats;
    for (size_t m = 0; m < s->n; m++)
      l->round_s[m] = 0.0;
    LH_TRY(each_message(s, round, steps, add_message, l));
    for (size_t m = 0; m < s->n; m++)
      member_s[m] += l->round_s[m] * l->repeats;
  }
  double most_s = 0.0;
  for (size_t m = 0; m < s->n; m++)
    most_s = fmax(most_s, member_s[m]);
  for (size_t i = 0; i < l->platform->links; i++)
    most_s = fmax(most_s, l->link_bytes[i] / best_Bps(l->platform, i));
  *seconds = (most_s + l->platform->call_overhead_s) * (1.0 - 1e-9); /* roundings */
  return LH_OK;
}

lh_status lh_least_s(const lh_platform *platform, const lh_schedule *s, double *seconds)
{
  least l = {.platform = platform, .schedule = s};
  lh_round steps = lh_round_new(s);
  double *member_s = calloc(s->n, sizeof *member_s);
  l.link_bytes = calloc(platform->links + 1, sizeof *l.link_bytes);
  l.round_s = calloc(s->n, sizeof *l.round_s);
  lh_status status = LH_OK;
  if (!steps.step || !member_s || !l.link_bytes || !l.round_s)
    status = lh_fail(LH_ENOMEM, "collective: no memory to bound a group of %zu", s->n);
  if (status == LH_OK)
    status = least_of_rounds(&l, &steps, member_s, seconds);
  free(steps.step);
  free(member_s);
  free(l.link_bytes);
  free(l.round_s);
  return status;
}

/* ---- may it be fluid ---------------------------------------------------------------------------- */

lh_status lh_fluid_check(const lh_platform *platform, const lh_schedule *s)
{
  if (!s->entry->fluid)
    return lh_fail(LH_EUNSUPPORTED,
                   "%s by %s: no fluid timing, its rounds differ; allowed: exact, or ring or "
                   "hierarchical",
                   lh_collective_names[s->kind], lh_algorithm_names[s->entry->algorithm]);
  if (s->n == 1 || s->rounds < 2)
    return LH_OK;
  if (platform->latency_variation.kind != LH_VARIATION_NONE)
    return lh_fail(LH_EUNSUPPORTED,
                   "%s: no fluid timing where latencies vary: every round waits "
                   "for the slowest message; allowed: exact",
                   lh_collective_names[s->kind]);
  double exact_s, fluid_s;
  LH_TRY(lh_predict_s(platform, s, false, &exact_s));
  LH_TRY(lh_predict_s(platform, s, true, &fluid_s));
  if (fabs(fluid_s - exact_s) > 0.01 * exact_s)
    return lh_fail(LH_EUNSUPPORTED,
                   "%s by %s: no fluid timing here: hops of different latency share links, and it "
                   "would say %g s where exact says %g s; allowed: exact",
                   lh_collective_names[s->kind], lh_algorithm_names[s->entry->algorithm], fluid_s,
                   exact_s);
  return LH_OK;
}
