/* combine.c -- what a collective does to numbers: once, in ascending group order, whatever is timed.
 *
 * Runs on the devices of the members but costs them nothing: moving and adding is the network's time.
 */
#include <stdlib.h>

#include "sim/cluster/internal.h"

static lh_device *device_of(const lh_meeting *meeting, size_t member)
{
  return meeting->member[member]->rank->device;
}

/* y <- x as it comes off the wire. Integers arrive as they were. */
static lh_status deliver(lh_device *device, lh_tensor *y, const lh_tensor *x, lh_dtype wire)
{
  if (y->data != x->data)
    LH_TRY(lh_copy(device, y, x));
  const bool rounds = wire == LH_BF16 || wire == LH_F16 || wire == LH_F32 || wire == LH_BIT;
  return rounds ? lh_round_to_wire(device, y, wire) : LH_OK;
}

static lh_status sum(const lh_meeting *meeting, lh_device *device, lh_tensor *out,
                     const lh_tensor *const *in)
{
  const size_t n = meeting->group->n;
  if (meeting->op != LH_SUM_ROUNDED_ONCE)
    return lh_sum_in_order(device, out, in, n, meeting->op == LH_MEAN, meeting->wire);
  LH_TRY(lh_sum_in_order(device, out, in, n, false, LH_F32));
  return lh_round_to_wire(device, out, meeting->wire);
}

static lh_status combine_all_reduce(lh_meeting *meeting)
{
  const size_t n = meeting->group->n;
  const lh_tensor **in = calloc(n, sizeof *in);
  if (!in)
    return lh_fail(LH_ENOMEM, "no memory to combine %zu tensors", n);
  for (size_t i = 0; i < n; i++)
    in[i] = &meeting->member[i]->send;
  lh_tensor *total = &meeting->member[0]->receive;
  lh_status status = sum(meeting, device_of(meeting, 0), total, in);
  for (size_t i = 1; i < n && status == LH_OK; i++)
    status = lh_copy(device_of(meeting, i), &meeting->member[i]->receive, total);
  free(in);
  return status;
}

static lh_status combine_reduce_scatter(lh_meeting *meeting)
{
  const size_t n = meeting->group->n;
  lh_tensor *slices = calloc(n, sizeof *slices);
  const lh_tensor **in = calloc(n, sizeof *in);
  lh_status status = LH_OK;
  if (!slices || !in)
    LH_TRY_GOTO(status, lh_fail(LH_ENOMEM, "no memory to combine %zu tensors", n));
  for (size_t i = 0; i < n; i++) {
    lh_tensor *shard = &meeting->member[i]->receive;
    const size_t elements = lh_tensor_elements(shard);
    for (size_t j = 0; j < n; j++) {
      slices[j] = lh_tensor_view_1d(&meeting->member[j]->send, i * elements, elements);
      in[j] = &slices[j];
    }
    LH_TRY_GOTO(status, sum(meeting, device_of(meeting, i), shard, in));
  }
done:
  free(slices);
  free(in);
  return status;
}

static lh_status combine_all_gather(lh_meeting *meeting)
{
  const size_t n = meeting->group->n;
  lh_tensor *first = &meeting->member[0]->receive;
  const size_t elements = lh_tensor_elements(&meeting->member[0]->send);
  for (size_t i = 0; i < n; i++) {
    lh_tensor place = lh_tensor_view_1d(first, i * elements, elements);
    LH_TRY(deliver(device_of(meeting, 0), &place, &meeting->member[i]->send, meeting->wire));
  }
  for (size_t i = 1; i < n; i++)
    LH_TRY(lh_copy(device_of(meeting, i), &meeting->member[i]->receive, first));
  return LH_OK;
}

static lh_status combine_broadcast(lh_meeting *meeting)
{
  const lh_tensor *source = &meeting->member[meeting->root]->send;
  for (size_t i = 0; i < meeting->group->n; i++)
    LH_TRY(deliver(device_of(meeting, i), &meeting->member[i]->receive, source, meeting->wire));
  return LH_OK;
}

static lh_status combine_exchange(lh_meeting *meeting)
{
  for (size_t i = 0; i < 2; i++)
    LH_TRY(deliver(device_of(meeting, i), &meeting->member[i]->receive,
                   &meeting->member[1 - i]->send, meeting->wire));
  return LH_OK;
}

static lh_status combine_message(lh_meeting *meeting)
{
  return deliver(device_of(meeting, 1), &meeting->member[1]->receive, &meeting->member[0]->send,
                 meeting->wire);
}

static lh_status combine_numbers(lh_meeting *meeting)
{
  switch (meeting->kind) {
  case LH_ALL_REDUCE:
    return combine_all_reduce(meeting);
  case LH_REDUCE_SCATTER:
    return combine_reduce_scatter(meeting);
  case LH_ALL_GATHER:
    return combine_all_gather(meeting);
  case LH_BROADCAST:
    return combine_broadcast(meeting);
  case LH_PAIRWISE_EXCHANGE:
    return combine_exchange(meeting);
  case LH_POINT_TO_POINT:
    return combine_message(meeting);
  case LH_BARRIER:
    return LH_OK;
  default:
    return lh_fail(LH_EINTERNAL, "%s has no numbers here", lh_collective_names[meeting->kind]);
  }
}

lh_status lh_combine(lh_meeting *meeting)
{
  if (!lh_device_computes(device_of(meeting, 0)))
    return LH_OK;
  for (size_t i = 0; i < meeting->group->n; i++)
    lh_device_pause_charging(device_of(meeting, i));
  lh_status status = combine_numbers(meeting);
  for (size_t i = 0; i < meeting->group->n; i++)
    lh_device_resume_charging(device_of(meeting, i));
  return status;
}
