/* fluid.c -- where does fluid timing say the same as exact?
 *
 * Exact: the slowest message of a round holds up its ends, they their neighbours, and in the long run
 * every round of a circle takes as long as its slowest message, c. Fluid gives that message all its
 * bytes at once and its latencies afterwards, hence the same, if its rate is the same. Two things can
 * make it differ:
 *
 * - Messages that share links but not their latency do not run side by side all the time in exact, as
 *   they do in fluid. Both are played (trial.h) and compared.
 *
 * - Members fall out of step: a message that need not wait for the slowest begins its rounds earlier
 *   or later than the others. Where the slowest messages share links only with messages that are as
 *   slow, nothing changes for them: all of them begin their rounds together, always. Otherwise the
 *   time lies between what each message needs alone, or a link for all its bytes, and the time in
 *   step; fluid is offered when that leaves less than 1 %.
 */
#include <math.h>
#include <stdlib.h>

#include "sim/net/predict.h"
#include "sim/net/trial.h"

#define BOUND 0.01
#define AS_SLOW (1.0 - 1e-6)

typedef struct doubt {
  double exact_s, fluid_s; /* so far, in step */
  double unsure_s;         /* how much less exact might be */
  double *link_bytes;      /* (links) of one round */
  bool *critical;          /* (links) the slowest messages cross it */
} doubt;

static lh_status route_of(const lh_trial *t, const lh_trial_message *m, lh_route *route)
{
  const size_t *ranks = t->schedule->ranks;
  return lh_platform_route(t->platform, ranks[m->source], ranks[m->destination], route);
}

/* The least that a round can take: its slowest message alone, or a link's bytes. */
static lh_status least_of_round(const lh_trial *t, doubt *d, double bytes, double *least_s)
{
  lh_route route;
  *least_s = 0.0;
  for (size_t l = 0; l < t->platform->links; l++)
    d->link_bytes[l] = 0.0;
  for (size_t i = 0; i < t->n; i++) {
    *least_s = fmax(*least_s, t->message[i].alone_s);
    LH_TRY(route_of(t, &t->message[i], &route));
    for (size_t j = 0; j < route.links; j++)
      d->link_bytes[route.link[j]] += bytes;
  }
  for (size_t l = 0; l < t->platform->links; l++)
    if (t->platform->link[l].shared)
      *least_s = fmax(*least_s, d->link_bytes[l] / t->platform->link[l].bandwidth_Bps);
  return LH_OK;
}

/* Do the slowest messages share links only with each other? */
static lh_status stays_in_step(const lh_trial *t, doubt *d, double round_s, bool *in_step)
{
  lh_route route;
  for (size_t l = 0; l < t->platform->links; l++)
    d->critical[l] = false;
  for (int pass = 0; pass < 2; pass++) /* mark their links, then look who else is there */
    for (size_t i = 0; i < t->n; i++) {
      const bool slowest = t->message[i].end_s >= round_s * AS_SLOW;
      if (slowest == (pass == 1))
        continue;
      LH_TRY(route_of(t, &t->message[i], &route));
      for (size_t j = 0; j < route.links; j++) {
        bool *critical = &d->critical[route.link[j]];
        if (pass == 0)
          *critical = t->platform->link[route.link[j]].shared;
        else if (*critical) {
          *in_step = false;
          return LH_OK;
        }
      }
    }
  *in_step = true;
  return LH_OK;
}

static lh_status add_rounds(lh_trial *t, doubt *d, size_t round, size_t repeats)
{
  double once_s, fluid_s, least_s;
  bool in_step;
  LH_TRY(lh_trial_play(t, round, repeats, &fluid_s));
  LH_TRY(lh_trial_play(t, round, 1, &once_s));
  d->fluid_s += fluid_s;
  d->exact_s += (double)repeats * once_s;
  t->steps.n = 0;
  t->schedule->entry->round(t->schedule, 0, round, &t->steps);
  const double bytes = t->steps.n ? lh_step_bytes(t->schedule, &t->steps.step[0]) : 0.0;
  LH_TRY(stays_in_step(t, d, once_s, &in_step));
  if (in_step || repeats == 1)
    return LH_OK;
  LH_TRY(least_of_round(t, d, bytes, &least_s));
  d->unsure_s += (double)repeats * (once_s - least_s);
  return LH_OK;
}

static lh_status judge(const lh_schedule *s, const doubt *d)
{
  const char *kind = lh_collective_names[s->kind];
  const char *algorithm = lh_algorithm_names[s->entry->algorithm];
  if (fabs(d->fluid_s - d->exact_s) > BOUND * d->exact_s)
    return lh_fail(LH_EUNSUPPORTED,
                   "%s by %s: no fluid timing here: hops of different latency share links, and it "
                   "would say %g s where exact says %g s; allowed: exact",
                   kind, algorithm, d->fluid_s, d->exact_s);
  if (d->unsure_s > BOUND * d->exact_s)
    return lh_fail(LH_EUNSUPPORTED,
                   "%s by %s: no fluid timing here: the slowest hops share links with faster ones, "
                   "and exact may be anything from %g to %g s; allowed: exact",
                   kind, algorithm, d->exact_s - d->unsure_s, d->exact_s);
  return LH_OK;
}

static lh_status check_rounds(const lh_platform *platform, const lh_schedule *s)
{
  lh_trial t;
  doubt d = {.link_bytes = calloc(platform->links + 1, sizeof *d.link_bytes),
             .critical = calloc(platform->links + 1, sizeof *d.critical)};
  lh_status status = lh_trial_init(&t, platform, s);
  if (status == LH_OK && (!d.link_bytes || !d.critical))
    status = lh_fail(LH_ENOMEM, "collective: no memory for %zu links", platform->links);
  for (size_t round = 0, repeats; status == LH_OK && round < s->rounds; round += repeats) {
    repeats = lh_schedule_repeats(s, round);
    status = add_rounds(&t, &d, round, repeats);
  }
  if (status == LH_OK)
    status = judge(s, &d);
  lh_trial_fini(&t);
  free(d.link_bytes);
  free(d.critical);
  return status;
}

lh_status lh_fluid_check(const lh_platform *platform, const lh_schedule *s)
{
  if (!s->entry->fluid)
    return lh_fail(LH_EUNSUPPORTED,
                   "%s by %s: no fluid timing, its rounds differ; allowed: exact, or another "
                   "algorithm: ring, hierarchical",
                   lh_collective_names[s->kind], lh_algorithm_names[s->entry->algorithm]);
  if (s->n == 1 || s->rounds < 2)
    return LH_OK;
  if (platform->latency_variation.kind != LH_VARIATION_NONE)
    return lh_fail(LH_EUNSUPPORTED,
                   "%s: no fluid timing where latencies vary: every round waits for the slowest "
                   "message; allowed: exact",
                   lh_collective_names[s->kind]);
  return check_rounds(platform, s);
}
