#include "sim/net/predict.h"

#include <math.h>
#include <stdlib.h>

#include "sim/net/trial.h"

#define MOST_DIFFERENT_ROUNDS 32

/* ---- all rounds --------------------------------------------------------------------------------- */

static size_t different_rounds(const lh_schedule *s)
{
  size_t different = 0;
  for (size_t round = 0; round < s->rounds; round += lh_schedule_repeats(s, round))
    different++;
  return different;
}

static lh_status sum_rounds(lh_trial *t, bool fluid, double *seconds)
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
    LH_TRY(lh_trial_play(t, round, fluid ? repeats : 1, &round_s));
    sum_s += fluid ? round_s : round_s * (double)repeats;
    played++;
  }
  *seconds = played ? sum_s * (double)different / (double)played : 0.0;
  return LH_OK;
}

lh_status lh_predict_s(const lh_platform *platform, const lh_schedule *s, bool fluid,
                       double *seconds)
{
  lh_trial t;
  lh_status status = lh_trial_init(&t, platform, s);
  if (status == LH_OK)
    status = sum_rounds(&t, fluid, seconds);
  if (status == LH_OK)
    *seconds += platform->call_overhead_s;
  lh_trial_fini(&t);
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
    LH_TRY(lh_each_message(s, round, steps, add_message, l));
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
