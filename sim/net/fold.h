/* fold.h -- how algorithms for a power of two of members serve any number of them.
 *
 * p is the largest power of two <= n. Of the first 2 (n - p) members, the even ones hand their whole
 * vector to the odd one after them in a first round and get the result back in a last one. The p
 * others have places 0..p-1. Both rounds fall away when n = p.
 */
#ifndef LH_SIM_FOLD_H
#define LH_SIM_FOLD_H

#include "sim/net/schedule.h"

static inline size_t lh_fold_power(size_t n)
{
  size_t power = 1;
  while (2 * power <= n)
    power *= 2;
  return power;
}

static inline size_t lh_fold_rounds(const lh_schedule *s)
{
  return s->power < s->n ? 2 : 0;
}

/* SIZE_MAX: this member only hands over and waits. */
static inline size_t lh_fold_place(const lh_schedule *s, size_t member)
{
  const size_t extra = s->n - s->power;
  if (member >= 2 * extra)
    return member - extra;
  return member % 2 ? member / 2 : SIZE_MAX;
}

static inline size_t lh_fold_member(const lh_schedule *s, size_t place)
{
  const size_t extra = s->n - s->power;
  return place < extra ? 2 * place + 1 : place + extra;
}

/* Writes the steps of a first or last round and returns true; else turns *round into the round among
 * the p and returns false. */
static inline bool lh_fold_round(const lh_schedule *s, size_t member, size_t *round, lh_round *out)
{
  const size_t extra = s->n - s->power;
  if (extra == 0)
    return false;
  const bool first = *round == 0, last = *round == s->rounds - 1;
  if (!first && !last) {
    --*round;
    return false;
  }
  if (member >= 2 * extra)
    return true;
  if ((member % 2 == 0) == first)
    lh_round_send(out, member ^ 1, 0, s->chunks, first);
  else
    lh_round_receive(out, member ^ 1, 0, s->chunks, first);
  return true;
}

#endif
