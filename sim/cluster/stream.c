/* stream.c -- collectives on a rank's streams: started, met, run, waited for.
 *
 * A pending is queued on its rank's stream. When it comes to the head it has arrived at its meeting;
 * when the last member has arrived the numbers are combined and the collective's time begins. Time
 * between a rank's arrival and that moment is waiting for late peers; the rest of a wait is exposed
 * communication.
 */
#include <math.h>
#include <stdlib.h>

#include "sim/cluster/internal.h"

/* Until now, how long have this stream's heads waited for their last member? */
static double late_s(const lh_stream *stream, double now_s)
{
  return stream->late_total_s + (stream->waiting ? now_s - stream->arrived_s : 0.0);
}

/* A collective that is faster than its own algorithm can be on this fabric is a fault of ours. */
static void check_duration(const lh_meeting *meeting)
{
  lh_cluster *cluster = meeting->group->cluster;
  const double now_s = lh_engine_now_s(cluster->engine), took_s = now_s - meeting->launch_s;
  const double clock_s = 1e-13 * now_s; /* what many additions to a clock of this size may lose */
  if (took_s < meeting->lower_bound_s * (1 - 1e-6) - 1e-9 - clock_s)
    lh_cluster_fail(cluster,
                    lh_fail(LH_EINTERNAL, "%s of %zu elements took %.9g s, less than %.9g s",
                            lh_collective_names[meeting->kind], meeting->elements, took_s,
                            meeting->lower_bound_s));
}

static void finish_meeting(lh_meeting *meeting)
{
  check_duration(meeting);
  free(meeting->member);
  free(meeting);
}

static void arrive(lh_pending *pending);

void lh_pending_done(lh_pending *pending)
{
  lh_rank *rank = pending->rank;
  lh_stream *stream = &rank->stream[pending->stream];
  lh_pending *const head = pending->next, *mark = pending->marks;
  pending->done = true;
  stream->head = head;
  if (!head)
    stream->tail = NULL;
  if (pending->waited_for)
    lh_gate_open(rank->gate); /* its rank may free it from here on */
  while (mark) {
    lh_pending *const next = mark->next_mark;
    mark->before = NULL;
    if (rank->stream[mark->stream].head == mark)
      lh_mark_arrive(mark);
    mark = next;
  }
  if (head && stream->head == head)
    arrive(head);
}

static void member_done(void *arg, size_t member)
{
  lh_meeting *meeting = arg;
  lh_pending *pending = meeting->member[member];
  lh_rank *rank = pending->rank;

  pending->meeting = NULL;
  rank->statistics.communication_s += lh_engine_now_s(rank->cluster->engine) - meeting->launch_s;
  if (++meeting->finished == meeting->group->n)
    finish_meeting(meeting);
  lh_pending_done(pending);
}

/* What travels, in units that are not split: elements, or bytes where each member of a gather packs
 * its own part of elements smaller than a byte. */
static size_t payload_units(const lh_meeting *meeting, size_t *unit_bits)
{
  *unit_bits = lh_dtype_bits(meeting->wire);
  if (meeting->kind != LH_ALL_GATHER || *unit_bits >= 8)
    return meeting->elements;
  *unit_bits = 8;
  const size_t members = meeting->group->n;
  return members * lh_dtype_bytes(meeting->wire, meeting->elements / members);
}

static double payload_bytes(const lh_meeting *meeting)
{
  size_t bits;
  const size_t units = payload_units(meeting, &bits);
  return ceil((double)units * (double)bits / 8.0);
}

/* Where latencies vary or links change, the bound of the nominal platform binds nobody. */
static lh_status least_time(const lh_platform *platform, const lh_collective *collective,
                            double *seconds)
{
  *seconds = 0;
  if (platform->latency_variation.kind != LH_VARIATION_NONE || platform->faults > 0)
    return LH_OK;
  return lh_collective_lower_bound_s(platform, collective, seconds);
}

static lh_status resolve(lh_group *group, lh_collective *collective)
{
  const bool known = group->has_resolved && group->resolved.kind == collective->kind &&
                     group->resolved.bytes == collective->bytes &&
                     group->resolved.root == collective->root;
  if (!known) {
    LH_TRY(lh_collective_resolve(group->cluster->platform, collective, &group->resolved.algorithm,
                                 &group->resolved.timing));
    group->resolved.kind = collective->kind;
    group->resolved.bytes = collective->bytes;
    group->resolved.root = collective->root;
    group->has_resolved = true;
  }
  collective->algorithm = group->resolved.algorithm;
  collective->timing = group->resolved.timing;
  if (!known)
    LH_TRY(least_time(group->cluster->platform, collective, &group->resolved.lower_bound_s));
  return LH_OK;
}

static lh_status count_sent_bytes(const lh_meeting *meeting, const lh_collective *collective)
{
  const lh_group *group = meeting->group;
  size_t bits;
  const size_t units = payload_units(meeting, &bits);
  for (size_t i = 0; i < group->n; i++) {
    double inter, intra;
    LH_TRY(lh_collective_sent_bytes(group->cluster->platform, collective, units, bits, i, &inter,
                                    &intra));
    meeting->member[i]->rank->statistics.inter_node_bytes += inter;
    meeting->member[i]->rank->statistics.intra_node_bytes += intra;
  }
  return LH_OK;
}

static lh_status launch(lh_meeting *meeting)
{
  lh_group *group = meeting->group;
  lh_cluster *cluster = group->cluster;
  lh_collective collective = {.kind = meeting->kind,
                              .algorithm = cluster->settings.algorithm[meeting->kind],
                              .timing = cluster->settings.timing,
                              .n = group->n,
                              .ranks = group->ranks,
                              .root = meeting->root,
                              .bytes = payload_bytes(meeting)};
  meeting->launch_s = lh_engine_now_s(cluster->engine);
  for (size_t i = 0; i < group->n; i++) {
    lh_pending *pending = meeting->member[i];
    lh_stream *stream = &pending->rank->stream[pending->stream];
    stream->late_total_s += meeting->launch_s - stream->arrived_s;
    stream->waiting = false;
  }
  LH_TRY(lh_combine(meeting));
  LH_TRY(resolve(group, &collective));
  meeting->lower_bound_s = group->resolved.lower_bound_s;
  LH_TRY(count_sent_bytes(meeting, &collective));
  return lh_collective_start(cluster->engine, &collective, member_done, meeting);
}

static void arrive_at_meeting(lh_pending *pending)
{
  lh_meeting *meeting = pending->meeting;
  lh_cluster *cluster = pending->rank->cluster;
  lh_stream *stream = &pending->rank->stream[pending->stream];
  stream->arrived_s = lh_engine_now_s(cluster->engine);
  stream->waiting = true;
  if (++meeting->arrived < meeting->group->n)
    return;
  lh_status status = launch(meeting);
  if (status != LH_OK)
    lh_cluster_fail(cluster, status);
}

static void arrive(lh_pending *pending)
{
  if (pending->meeting)
    arrive_at_meeting(pending);
  else if (pending->run)
    lh_launch_arrive(pending);
  else
    lh_mark_arrive(pending);
}

/* ---- meeting --------------------------------------------------------------------------------- */

static lh_meeting *meeting_new(lh_group *group)
{
  lh_meeting *meeting = calloc(1, sizeof *meeting);
  if (meeting)
    meeting->member = calloc(group->n, sizeof *meeting->member);
  if (meeting && !meeting->member) {
    free(meeting);
    return NULL;
  }
  if (meeting)
    meeting->group = group;
  return meeting;
}

/* The oldest meeting on this stream that the member has not joined; a new one at the end if none. */
static lh_meeting **find_meeting(lh_group *group, size_t stream, size_t member)
{
  lh_meeting **place = &group->open[stream];
  while (*place && (*place)->member[member])
    place = &(*place)->next;
  if (!*place)
    *place = meeting_new(group);
  return place;
}

/* What a member asks for; must be the same for all members of a meeting. */
typedef struct request {
  lh_collective_kind kind;
  lh_reduce op;
  lh_dtype wire;
  size_t root, elements;
} request;

static lh_status check_request(const lh_meeting *meeting, const request *r, const lh_rank *self)
{
  if (meeting->kind != r->kind || meeting->elements != r->elements || meeting->wire != r->wire ||
      meeting->op != r->op || meeting->root != r->root)
    return lh_fail(LH_EINTERNAL, "rank %zu starts %s of %zu %s where its group has %s of %zu %s",
                   self->index, lh_collective_names[r->kind], r->elements, lh_dtype_name(r->wire),
                   lh_collective_names[meeting->kind], meeting->elements,
                   lh_dtype_name(meeting->wire));
  return LH_OK;
}

static lh_status join(lh_group *group, size_t stream, lh_pending *pending, const request *r)
{
  lh_meeting **place = find_meeting(group, stream, pending->member);
  lh_meeting *meeting = *place;
  if (!meeting)
    return lh_fail(LH_ENOMEM, "no memory for a collective of %zu ranks", group->n);
  if (meeting->joined == 0) {
    meeting->kind = r->kind;
    meeting->op = r->op;
    meeting->wire = r->wire;
    meeting->root = r->root;
    meeting->elements = r->elements;
  }
  LH_TRY(check_request(meeting, r, pending->rank));
  meeting->member[pending->member] = pending;
  pending->meeting = meeting;
  if (++meeting->joined == group->n)
    *place = meeting->next;
  return LH_OK;
}

void lh_pending_enqueue(lh_pending *pending)
{
  lh_stream *stream = &pending->rank->stream[pending->stream];
  if (stream->tail) {
    stream->tail->next = pending;
    stream->tail = pending;
    return;
  }
  stream->head = stream->tail = pending;
  arrive(pending);
}

lh_status lh_pending_new(lh_rank *self, size_t stream, lh_pending **pending)
{
  *pending = NULL;
  if (stream >= LH_STREAMS)
    return lh_fail(LH_EINTERNAL, "stream %zu, allowed: 0..%d", stream, LH_STREAMS - 1);
  lh_rank_pay(self);
  *pending = calloc(1, sizeof **pending);
  if (!*pending)
    return lh_fail(LH_ENOMEM, "no memory for a collective");
  (*pending)->rank = self;
  (*pending)->stream = stream;
  return LH_OK;
}

static lh_status start(lh_rank *self, lh_group *group, size_t stream, const request *r,
                       const lh_tensor *send, lh_tensor *receive, lh_pending **out)
{
  lh_pending *pending;
  *out = NULL;
  LH_TRY(lh_pending_new(self, stream, &pending));
  pending->member = lh_group_position(group, self);
  if (send)
    pending->send = *send;
  if (receive)
    pending->receive = *receive;
  lh_status status = join(group, stream, pending, r);
  if (status != LH_OK) {
    free(pending);
    return status;
  }
  lh_pending_enqueue(pending);
  *out = pending;
  return self->cluster->failure;
}

/* ---- the collectives ------------------------------------------------------------------------- */

lh_status lh_all_reduce_start(lh_rank *self, lh_group *group, size_t stream, lh_tensor *x,
                              lh_reduce op, lh_dtype wire, lh_pending **pending)
{
  const request r = {
      .kind = LH_ALL_REDUCE, .op = op, .wire = wire, .elements = lh_tensor_elements(x)};
  return start(self, group, stream, &r, x, x, pending);
}

lh_status lh_reduce_scatter_start(lh_rank *self, lh_group *group, size_t stream,
                                  const lh_tensor *send, lh_tensor *receive, lh_reduce op,
                                  lh_dtype wire, lh_pending **pending)
{
  const request r = {
      .kind = LH_REDUCE_SCATTER, .op = op, .wire = wire, .elements = lh_tensor_elements(send)};
  if (r.elements != group->n * lh_tensor_elements(receive))
    return lh_fail(LH_EINTERNAL, "reduce-scatter of %zu elements over %zu ranks into %zu",
                   r.elements, group->n, lh_tensor_elements(receive));
  return start(self, group, stream, &r, send, receive, pending);
}

lh_status lh_all_gather_start(lh_rank *self, lh_group *group, size_t stream, const lh_tensor *send,
                              lh_tensor *receive, lh_dtype wire, lh_pending **pending)
{
  const request r = {.kind = LH_ALL_GATHER, .wire = wire, .elements = lh_tensor_elements(receive)};
  if (r.elements != group->n * lh_tensor_elements(send))
    return lh_fail(LH_EINTERNAL, "all-gather of %zu elements from each of %zu ranks into %zu",
                   lh_tensor_elements(send), group->n, r.elements);
  return start(self, group, stream, &r, send, receive, pending);
}

lh_status lh_broadcast_start(lh_rank *self, lh_group *group, size_t stream, lh_tensor *x,
                             size_t root, lh_dtype wire, lh_pending **pending)
{
  const request r = {
      .kind = LH_BROADCAST, .wire = wire, .root = root, .elements = lh_tensor_elements(x)};
  return start(self, group, stream, &r, x, x, pending);
}

lh_status lh_exchange_start(lh_rank *self, size_t peer, size_t stream, const lh_tensor *send,
                            lh_tensor *receive, lh_dtype wire, lh_pending **pending)
{
  const request r = {
      .kind = LH_PAIRWISE_EXCHANGE, .wire = wire, .elements = lh_tensor_elements(send)};
  const size_t pair[2] = {self->index < peer ? self->index : peer,
                          self->index < peer ? peer : self->index};
  lh_group *group;
  LH_TRY(lh_group_of(self, pair, 2, &group));
  return start(self, group, stream, &r, send, receive, pending);
}

/* The group is the pair in the order of the message, so that each direction has meetings of its own. */
lh_status lh_message_start(lh_rank *self, size_t from, size_t to, size_t stream, lh_tensor *x,
                           lh_dtype wire, lh_pending **pending)
{
  const request r = {.kind = LH_POINT_TO_POINT, .wire = wire, .elements = lh_tensor_elements(x)};
  lh_group *group;
  if (from == to)
    return lh_fail(LH_EINTERNAL, "rank %zu sends a message to itself", from);
  LH_TRY(lh_group_of(self, (const size_t[]){from, to}, 2, &group));
  return start(self, group, stream, &r, x, x, pending);
}

lh_status lh_barrier_start(lh_rank *self, lh_group *group, size_t stream, lh_pending **pending)
{
  const request r = {.kind = LH_BARRIER, .wire = LH_U8};
  return start(self, group, stream, &r, NULL, NULL, pending);
}

/* ---- waiting --------------------------------------------------------------------------------- */

lh_status lh_wait(lh_rank *self, lh_pending **pending)
{
  lh_pending *p = *pending;
  if (!p)
    return self->cluster->failure;
  lh_rank_pay(self);
  if (!p->done) {
    const lh_stream *stream = &self->stream[p->stream];
    const double from_s = lh_engine_now_s(self->cluster->engine);
    const double late_before_s = late_s(stream, from_s);
    p->waited_for = true;
    lh_gate_wait(self->gate);
    const double to_s = lh_engine_now_s(self->cluster->engine);
    const double straggler_s = late_s(stream, to_s) - late_before_s;
    self->statistics.straggler_wait_s += straggler_s;
    self->statistics.exposed_communication_s += to_s - from_s - straggler_s;
  }
  free(p);
  *pending = NULL;
  return self->cluster->failure;
}

bool lh_is_done(lh_rank *self, const lh_pending *pending)
{
  lh_rank_pay(self);
  return !pending || pending->done;
}

lh_status lh_all_reduce(lh_rank *self, lh_group *group, lh_tensor *x, lh_reduce op, lh_dtype wire)
{
  lh_pending *pending;
  LH_TRY(lh_all_reduce_start(self, group, 0, x, op, wire, &pending));
  return lh_wait(self, &pending);
}
