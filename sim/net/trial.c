#include "sim/net/trial.h"

#include <math.h>
#include <stdlib.h>

lh_status lh_trial_init(lh_trial *t, const lh_platform *platform, const lh_schedule *s)
{
  *t = (lh_trial){.platform = platform, .schedule = s};
  t->steps = lh_round_new(s);
  t->message = malloc((s->n * s->most_steps + 1) * sizeof *t->message);
  if (!t->steps.step || !t->message)
    return lh_fail(LH_ENOMEM, "collective: no memory to predict a group of %zu", s->n);
  return lh_flows_init(&t->flows, platform);
}

void lh_trial_fini(lh_trial *t)
{
  lh_flows_fini(&t->flows);
  free(t->message);
  free(t->steps.step);
  *t = (lh_trial){0};
}

lh_status lh_each_message(const lh_schedule *s, size_t round, lh_round *steps,
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

static void arrived(void *arg)
{
  lh_trial_message *m = arg;
  m->end_s = m->trial->now_s + m->after_s;
}

static lh_status launch(void *arg, size_t member, const lh_step *step)
{
  lh_trial *t = arg;
  const lh_schedule *s = t->schedule;
  lh_route route;
  LH_TRY(lh_platform_route(t->platform, s->ranks[member], s->ranks[step->peer], &route));
  double rate_Bps = route.cap_Bps;
  for (size_t i = 0; i < route.links; i++)
    rate_Bps = fmin(rate_Bps, t->platform->link[route.link[i]].bandwidth_Bps);
  const double wait_s = route.latency_s + t->platform->message_overhead_s;
  const double bytes = t->rounds * lh_step_bytes(s, step);
  lh_trial_message *m = &t->message[t->n++];
  *m = (lh_trial_message){.trial = t,
                          .source = member,
                          .destination = step->peer,
                          .after_s = (t->rounds - 1.0) * wait_s,
                          .alone_s = t->rounds * wait_s + bytes / rate_Bps};
  return lh_flows_send(&t->flows, wait_s, &route, bytes, route.cap_Bps, arrived, m);
}

lh_status lh_trial_play(lh_trial *t, size_t round, size_t rounds, double *seconds)
{
  t->n = 0;
  t->now_s = 0.0;
  t->rounds = (double)rounds;
  LH_TRY(lh_each_message(t->schedule, round, &t->steps, launch, t));
  double next_s;
  while (isfinite(next_s = lh_flows_next_s(&t->flows, t->now_s))) {
    t->now_s = fmax(t->now_s, next_s);
    void (*done)(void *arg);
    void *arg;
    while (lh_flows_take(&t->flows, t->now_s, &done, &arg))
      done(arg);
  }
  if (t->flows.out_of_memory)
    return lh_fail(LH_ENOMEM, "collective: no memory to predict a group of %zu", t->schedule->n);
  *seconds = 0.0;
  for (size_t i = 0; i < t->n; i++)
    *seconds = fmax(*seconds, t->message[i].end_s);
  return LH_OK;
}
