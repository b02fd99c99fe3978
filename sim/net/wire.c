/* wire.c -- the payload bytes a member sends, in whole elements.
 *
 * E elements in c chunks: the first E mod c chunks have one element more than the others.
 */
#include <math.h>
#include <stdlib.h>

#include "sim/net/schedule.h"

/* Elements in chunks 0 .. chunk - 1. */
static size_t before(size_t elements, size_t chunks, size_t chunk)
{
  const size_t longer = elements % chunks;
  return elements / chunks * chunk + (chunk < longer ? chunk : longer);
}

size_t lh_chunk_elements(const lh_schedule *s, size_t elements, size_t first, size_t count)
{
  const size_t last = first + count;
  if (last <= s->chunks)
    return before(elements, s->chunks, last) - before(elements, s->chunks, first);
  return elements - before(elements, s->chunks, first) +
         before(elements, s->chunks, last - s->chunks);
}

typedef struct tally {
  const lh_platform *platform;
  const lh_schedule *schedule;
  size_t elements, member;
  size_t inter, intra; /* elements sent so far */
} tally;

static void count(tally *t, size_t peer, size_t sent)
{
  const size_t *ranks = t->schedule->ranks;
  if (lh_platform_same_node(t->platform, ranks[t->member], ranks[peer]))
    t->intra += sent;
  else
    t->inter += sent;
}

static void count_rounds(tally *t, lh_round *steps)
{
  const lh_schedule *s = t->schedule;
  for (size_t round = 0, times; round < s->rounds; round += times) {
    times = s->entry->sent_elements ? lh_schedule_repeats(s, round) : 1;
    steps->n = 0;
    s->entry->round(s, t->member, round, steps);
    for (size_t i = 0; i < steps->n; i++) {
      const lh_step *step = &steps->step[i];
      if (step->send)
        count(t, step->peer,
              times > 1 ? s->entry->sent_elements(s, t->member, round, t->elements)
                        : lh_chunk_elements(s, t->elements, step->first, step->count));
    }
  }
}

lh_status lh_collective_sent_bytes(const lh_platform *platform, const lh_collective *collective,
                                   size_t elements, size_t element_bits, size_t member,
                                   double *inter_bytes, double *intra_bytes)
{
  lh_schedule s;
  lh_status status = lh_schedule_init(&s, platform, collective);
  lh_round steps = {0};
  if (status == LH_OK && !(steps = lh_round_new(&s)).step)
    status = lh_fail(LH_ENOMEM, "collective: no memory to count a group of %zu", collective->n);
  if (status == LH_OK) {
    tally t = {.platform = platform, .schedule = &s, .elements = elements, .member = member};
    if (s.kind == LH_BARRIER) /* signals have no payload */
      t.elements = 0;
    count_rounds(&t, &steps);
    /* A part of a byte at the end of a message is ours to send whole; the tally is of all. */
    *inter_bytes = ceil((double)t.inter * (double)element_bits / 8.0);
    *intra_bytes = ceil((double)t.intra * (double)element_bits / 8.0);
  }
  free(steps.step);
  lh_schedule_fini(&s);
  return status;
}
