#include "sim/runner/measure.h"

#include <math.h>

struct session {
  lh_engine *engine;
  const lh_collective *collective;
  lh_gate *gate;
  size_t left;
};

static void member_done(void *arg, size_t member)
{
  struct session *s = arg;
  (void)member;
  if (--s->left == 0)
    lh_gate_open(s->gate);
}

static void start_and_wait(void *arg)
{
  struct session *s = arg;
  const lh_status status = lh_collective_start(s->engine, s->collective, member_done, s);
  if (status != LH_OK)
    lh_engine_abort(s->engine, status);
  else
    lh_gate_wait(s->gate);
}

lh_status lh_collective_measure_s(const lh_platform *platform, lh_flow_model flow_model,
                                  const lh_collective *collective, double *time_s)
{
  struct session s = {.collective = collective, .left = collective->n};
  LH_TRY(lh_engine_open(platform, flow_model, 1, &s.engine));
  s.gate = lh_gate_new(s.engine);
  LH_TRY(s.gate ? LH_OK : lh_fail(LH_ENOMEM, "no memory for a gate"));
  LH_TRY(lh_engine_spawn(s.engine, "collective", start_and_wait, &s));
  LH_TRY(lh_engine_run(s.engine));
  *time_s = lh_engine_now_s(s.engine);
  return s.left ? lh_fail(LH_EINTERNAL, "%zu of %zu ranks did not finish", s.left, collective->n)
                : LH_OK; /* the process ends here: what is left is the system's to free */
}

lh_status lh_collective_check_time(const lh_collective *c, double lower_bound_s, double time_s)
{
  const bool too_fast = time_s < lower_bound_s * (1 - 1e-9); /* rounding in sums of many terms */
  if (!isfinite(time_s) || too_fast || (time_s <= 0 && c->bytes > 0 && c->n > 1))
    return lh_fail(LH_EINTERNAL,
                   "%s, %s, %.0f bytes: it took %.9g s, less than the lower bound %.9g s",
                   lh_collective_names[c->kind], lh_algorithm_names[c->algorithm], c->bytes, time_s,
                   lower_bound_s);
  return LH_OK;
}
