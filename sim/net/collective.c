#include "sim/net/collective.h"

#include <math.h>
#include <stdio.h>

#include "sim/net/executor.h"
#include "sim/net/predict.h"

const char *const lh_collective_names[] = {[LH_ALL_REDUCE] = "all-reduce",
                                           [LH_REDUCE_SCATTER] = "reduce-scatter",
                                           [LH_ALL_GATHER] = "all-gather",
                                           [LH_BROADCAST] = "broadcast",
                                           [LH_REDUCE] = "reduce",
                                           [LH_ALL_TO_ALL] = "all-to-all",
                                           [LH_BARRIER] = "barrier",
                                           [LH_POINT_TO_POINT] = "point-to-point",
                                           [LH_PAIRWISE_EXCHANGE] = "pairwise-exchange",
                                           [LH_COLLECTIVE_COUNT] = NULL};

const char *const lh_algorithm_names[] = {[LH_ALGORITHM_AUTO] = "auto",
                                          [LH_RING] = "ring",
                                          [LH_RECURSIVE_DOUBLING] = "recursive-doubling",
                                          [LH_RECURSIVE_HALVING_DOUBLING] =
                                              "recursive-halving-doubling",
                                          [LH_BINOMIAL_TREE] = "binomial-tree",
                                          [LH_DOUBLE_BINARY_TREE] = "double-binary-tree",
                                          [LH_HIERARCHICAL] = "hierarchical",
                                          [LH_DIRECT] = "direct",
                                          [LH_IN_NETWORK] = "in-network",
                                          [LH_ALGORITHM_COUNT] = NULL};

const char *const lh_timing_names[] = {[LH_TIMING_AUTO] = "auto",
                                       [LH_TIMING_EXACT] = "exact",
                                       [LH_TIMING_FLUID] = "fluid",
                                       [LH_TIMING_COUNT] = NULL};

bool lh_collective_info(lh_collective_kind kind, lh_algorithm algorithm, lh_algorithm_info *info)
{
  const lh_algorithm_entry *entry = lh_algorithm_find(kind, algorithm);
  if (entry)
    *info = (lh_algorithm_info){.title = entry->title,
                                .formula = entry->formula,
                                .needs = entry->needs,
                                .fluid = entry->fluid};
  return entry;
}

/* ---- is it offered? ----------------------------------------------------------------------------- */

static lh_status check_group(const lh_platform *platform, const lh_collective *c)
{
  if (c->n < 1)
    return lh_fail(LH_EINVAL, "%s: a group of 0 members, allowed: 1 or more",
                   lh_collective_names[c->kind]);
  if (c->root >= c->n)
    return lh_fail(LH_EINVAL, "%s: root %zu, allowed: 0..%zu", lh_collective_names[c->kind],
                   c->root, c->n - 1);
  if (!(c->bytes >= 0.0 && isfinite(c->bytes)))
    return lh_fail(LH_EINVAL, "%s: %g bytes, allowed: 0 or more", lh_collective_names[c->kind],
                   c->bytes);
  for (size_t m = 0; m < c->n; m++)
    if (c->ranks[m] >= platform->ranks)
      return lh_fail(LH_EINVAL, "%s: rank %zu, allowed: 0..%zu", lh_collective_names[c->kind],
                     c->ranks[m], platform->ranks - 1);
  return LH_OK;
}

/* Names what the kind has, for the error. */
static lh_status fail_not_offered(const lh_collective *c)
{
  char offered[256] = "";
  size_t length = 0;
  for (size_t i = 0; lh_algorithm_table[i]; i++)
    if (lh_algorithm_table[i]->kinds & LH_KIND(c->kind))
      length +=
          (size_t)snprintf(offered + length, sizeof offered - length, "%s%s", length ? ", " : "",
                           lh_algorithm_names[lh_algorithm_table[i]->algorithm]);
  return lh_fail(LH_EUNSUPPORTED, "%s: no algorithm %s, allowed: %s, auto",
                 lh_collective_names[c->kind], lh_algorithm_names[c->algorithm], offered);
}

lh_status lh_collective_check(const lh_platform *platform, const lh_collective *c)
{
  LH_TRY(check_group(platform, c));
  if (c->algorithm == LH_ALGORITHM_AUTO) {
    lh_algorithm algorithm;
    lh_timing timing;
    return lh_collective_resolve(platform, c, &algorithm, &timing);
  }
  if (!lh_algorithm_find(c->kind, c->algorithm))
    return fail_not_offered(c);
  lh_schedule s;
  lh_status status = lh_schedule_init(&s, platform, c);
  if (status == LH_OK && c->timing == LH_TIMING_FLUID)
    status = lh_fluid_check(platform, &s);
  lh_schedule_fini(&s);
  return status;
}

/* ---- auto --------------------------------------------------------------------------------------- */

static lh_status resolve_timing(const lh_platform *platform, const lh_schedule *s, lh_timing asked,
                                lh_timing *timing)
{
  *timing = asked;
  if (asked == LH_TIMING_FLUID)
    return lh_fluid_check(platform, s);
  if (asked == LH_TIMING_AUTO) {
    const bool affordable = lh_schedule_messages(s) <= LH_AFFORDABLE_MESSAGES;
    const bool fluid = !affordable && lh_fluid_check(platform, s) == LH_OK;
    *timing = fluid ? LH_TIMING_FLUID : LH_TIMING_EXACT;
  }
  return LH_OK;
}

typedef struct candidate {
  lh_algorithm algorithm;
  lh_timing timing;
  double seconds;
  bool affordable;
} candidate;

static lh_status judge(const lh_platform *platform, const lh_collective *c, candidate *found)
{
  lh_schedule s;
  lh_status status = lh_schedule_init(&s, platform, c);
  if (status == LH_OK)
    status = resolve_timing(platform, &s, c->timing, &found->timing);
  if (status == LH_OK) {
    found->algorithm = c->algorithm;
    found->affordable =
        found->timing == LH_TIMING_FLUID || lh_schedule_messages(&s) <= LH_AFFORDABLE_MESSAGES;
    found->seconds = INFINITY;
    /* What nobody can afford to run is not predicted either, unless it is the only one. */
    if (found->affordable)
      status = lh_predict_s(platform, &s, false, &found->seconds);
  }
  lh_schedule_fini(&s);
  return status;
}

/* A later one must be faster by more than roundings. */
static bool better(const candidate *a, const candidate *b)
{
  if (a->affordable != b->affordable)
    return a->affordable;
  return a->seconds < b->seconds * (1.0 - 1e-9);
}

static bool is_candidate(const lh_algorithm_entry *entry, const lh_collective *asked)
{
  if (asked->algorithm != LH_ALGORITHM_AUTO)
    return entry->algorithm == asked->algorithm && entry->kinds & LH_KIND(asked->kind);
  return entry->kinds & ~entry->on_request & LH_KIND(asked->kind);
}

lh_status lh_collective_resolve(const lh_platform *platform, const lh_collective *collective,
                                lh_algorithm *algorithm, lh_timing *timing)
{
  LH_TRY(check_group(platform, collective));
  lh_collective c = *collective;
  candidate best = {.seconds = INFINITY}, one;
  bool found = false;
  lh_status refused = LH_OK;
  for (size_t i = 0; lh_algorithm_table[i]; i++) {
    const lh_algorithm_entry *entry = lh_algorithm_table[i];
    if (!is_candidate(entry, collective))
      continue;
    c.algorithm = entry->algorithm;
    const lh_status status = judge(platform, &c, &one);
    if (status == LH_EUNSUPPORTED) {
      refused = status;
      continue;
    }
    LH_TRY(status);
    if (!found || better(&one, &best))
      best = one;
    found = true;
  }
  if (!found)
    return refused != LH_OK ? refused : fail_not_offered(collective);
  *algorithm = best.algorithm;
  *timing = best.timing;
  return LH_OK;
}

/* ---- with everything resolved ------------------------------------------------------------------- */

static lh_status resolved_schedule(const lh_platform *platform, const lh_collective *collective,
                                   lh_schedule *s, lh_timing *timing)
{
  lh_collective c = *collective;
  *s = (lh_schedule){0};
  if (c.algorithm == LH_ALGORITHM_AUTO || c.timing == LH_TIMING_AUTO)
    LH_TRY(lh_collective_resolve(platform, collective, &c.algorithm, &c.timing));
  else
    LH_TRY(check_group(platform, &c));
  if (!lh_algorithm_find(c.kind, c.algorithm))
    return fail_not_offered(&c);
  *timing = c.timing;
  const lh_status status = lh_schedule_init(s, platform, &c);
  if (status != LH_OK)
    lh_schedule_fini(s);
  return status;
}

lh_status lh_collective_predict_s(const lh_platform *platform, const lh_collective *collective,
                                  double *seconds)
{
  lh_schedule s;
  lh_timing timing;
  LH_TRY(resolved_schedule(platform, collective, &s, &timing));
  const lh_status status = lh_predict_s(platform, &s, false, seconds);
  lh_schedule_fini(&s);
  return status;
}

lh_status lh_collective_lower_bound_s(const lh_platform *platform, const lh_collective *collective,
                                      double *seconds)
{
  lh_schedule s;
  lh_timing timing;
  LH_TRY(resolved_schedule(platform, collective, &s, &timing));
  const lh_status status = lh_least_s(platform, &s, seconds);
  lh_schedule_fini(&s);
  return status;
}

lh_status lh_collective_start(lh_engine *engine, const lh_collective *collective,
                              void (*member_done)(void *arg, size_t member), void *arg)
{
  lh_schedule s;
  lh_timing timing = LH_TIMING_EXACT;
  LH_TRY(resolved_schedule(lh_engine_platform(engine), collective, &s, &timing));
  if (timing == LH_TIMING_FLUID && !s.entry->fluid) {
    const lh_status status = lh_fluid_check(lh_engine_platform(engine), &s);
    lh_schedule_fini(&s);
    return status;
  }
  return lh_executor_start(engine, &s, timing == LH_TIMING_FLUID, member_done, arg);
}
