/* launch.c -- what a stream holds beside collectives: kernel launches, and marks that make it wait for
 * another stream.
 */
#include <stdlib.h>

#include "sim/cluster/internal.h"

/* ---- launches -------------------------------------------------------------------------------- */

static void launch_done(void *arg)
{
  lh_pending_done(arg);
}

/* The rank may have computed ahead of its clock: what it owes is put aside and given back. */
void lh_launch_arrive(lh_pending *pending)
{
  lh_rank *rank = pending->rank;
  const double owed_s = lh_device_take_charged_s(rank->device);
  const lh_status status = pending->run(pending->ctx);
  const double busy_s = lh_device_take_charged_s(rank->device) * rank->compute_factor;
  lh_device_charge_s(rank->device, owed_s);
  if (status != LH_OK)
    lh_cluster_fail(rank->cluster, status);
  else
    lh_engine_after_s(rank->cluster->engine, busy_s, launch_done, pending);
}

lh_status lh_launch_start(lh_rank *self, size_t stream, lh_status (*run)(void *ctx), void *ctx,
                          lh_pending **out)
{
  LH_TRY(lh_pending_new(self, stream, out));
  (*out)->run = run;
  (*out)->ctx = ctx;
  lh_pending_enqueue(*out);
  return self->cluster->failure;
}

/* ---- marks ----------------------------------------------------------------------------------- */

/* Nobody waits for a mark: it frees itself. */
void lh_mark_arrive(lh_pending *mark)
{
  if (mark->before)
    return;
  lh_pending_done(mark);
  free(mark);
}

lh_status lh_stream_after(lh_rank *self, size_t stream, lh_pending *pending)
{
  lh_pending *mark;
  if (!pending || pending->done || pending->stream == stream)
    return LH_OK;
  LH_TRY(lh_pending_new(self, stream, &mark));
  if (pending->done) { /* while the rank's compute was paid for */
    free(mark);
    return LH_OK;
  }
  mark->before = pending;
  mark->next_mark = pending->marks;
  pending->marks = mark;
  lh_pending_enqueue(mark);
  return LH_OK;
}
