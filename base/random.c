#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN_GAMMA 0x9e3779b97f4a7c15u

uint64_t lh_mix64(uint64_t z)
{
  z += GOLDEN_GAMMA;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

uint64_t lh_draw(uint64_t seed, lh_purpose purpose, uint64_t step, uint64_t index)
{
  return lh_mix64(lh_mix64(lh_mix64(lh_mix64(seed) ^ (uint64_t)purpose) ^ step) ^ index);
}

static double unit_interval(uint64_t draw)
{
  return (double)(draw >> 11) * 0x1p-53;
}

double lh_draw_uniform(uint64_t seed, lh_purpose purpose, uint64_t step, uint64_t index)
{
  return unit_interval(lh_draw(seed, purpose, step, index));
}

double lh_draw_normal(uint64_t seed, lh_purpose purpose, uint64_t step, uint64_t index)
{
  const double radius = 1.0 - lh_draw_uniform(seed, purpose, step, 2 * index); /* in (0, 1] */
  const double angle = lh_draw_uniform(seed, purpose, step, 2 * index + 1);
  return sqrt(-2.0 * log(radius)) * cos(2.0 * M_PI * angle);
}

/* floor(draw * n / 2^64): off from uniform by at most n / 2^64. */
static size_t below(uint64_t draw, size_t n)
{
  __extension__ typedef unsigned __int128 wide;
  return (size_t)(((wide)draw * n) >> 64);
}

void lh_draw_permutation(uint64_t seed, lh_purpose purpose, uint64_t step, size_t n, size_t *out)
{
  for (size_t i = 0; i < n; i++)
    out[i] = i;
  for (size_t i = n; i-- > 1;) {
    const size_t j = below(lh_draw(seed, purpose, step, i), i + 1);
    const size_t kept = out[i];
    out[i] = out[j];
    out[j] = kept;
  }
}

/* ---- sets of rows ---------------------------------------------------------------------------- */

static uint64_t middle_of_three(uint64_t a, uint64_t b, uint64_t c)
{
  const uint64_t low = a < b ? a : b, high = a < b ? b : a;
  return c < low ? low : c > high ? high : c;
}

/* The value that would stand at place k (from 0) of the sorted x; reorders x (Hoare's selection). */
static uint64_t kth_smallest(uint64_t *x, size_t n, size_t k)
{
  size_t low = 0, high = n - 1;
  while (low < high) {
    const uint64_t pivot = middle_of_three(x[low], x[low + (high - low) / 2], x[high]);
    size_t i = low, j = high;
    for (;;) {
      while (x[i] < pivot)
        i++;
      while (x[j] > pivot)
        j--;
      if (i >= j)
        break;
      const uint64_t kept = x[i];
      x[i++] = x[j];
      x[j--] = kept;
    }
    /* all before i are at most the pivot, all after j at least it */
    if (i == j && x[i] == pivot && k == i)
      return pivot;
    if (k <= j)
      high = j;
    else
      low = j + 1;
  }
  return x[low];
}

bool lh_draw_row_set(uint64_t seed, uint64_t step, size_t n, size_t k, int32_t *rows)
{
  if (k == 0)
    return true;
  uint64_t *score = malloc(2 * n * sizeof *score);
  if (!score)
    return false;
  const uint64_t key = lh_mix64(seed);
  for (size_t i = 0; i < n; i++)
    score[i] = lh_mix64(key ^ lh_mix64((step << 32) | i));
  uint64_t *sorted = score + n;
  memcpy(sorted, score, n * sizeof *score);
  const uint64_t last = kth_smallest(sorted, n, k - 1);
  size_t smaller = 0;
  for (size_t i = 0; i < n; i++)
    smaller += score[i] < last;
  size_t equals = k - smaller, taken = 0; /* the lowest rows among equals */
  for (size_t i = 0; i < n && taken < k; i++)
    if (score[i] < last || (score[i] == last && equals > 0)) {
      equals -= score[i] == last;
      rows[taken++] = (int32_t)i;
    }
  free(score);
  return true;
}

/* ---- the same as a GSL generator ------------------------------------------------------------- */

static void counter_set(void *state, unsigned long seed)
{
  *(uint64_t *)state = seed;
}

static unsigned long counter_get(void *state)
{
  uint64_t *counter = state;
  const uint64_t draw = lh_mix64(*counter);
  *counter += GOLDEN_GAMMA;
  return draw;
}

static double counter_get_double(void *state)
{
  return unit_interval(counter_get(state));
}

_Static_assert(sizeof(unsigned long) == sizeof(uint64_t), "GSL hands draws over as unsigned long");

static const gsl_rng_type counter_type = {
    .name = "longhaul-counter",
    .min = 0,
    .max = UINT64_MAX,
    .size = sizeof(uint64_t),
    .set = counter_set,
    .get = counter_get,
    .get_double = counter_get_double,
};

gsl_rng *lh_rng_new(uint64_t seed, lh_purpose purpose, uint64_t step, uint64_t index)
{
  gsl_rng *rng = gsl_rng_alloc(&counter_type);
  if (rng)
    lh_rng_reset(rng, seed, purpose, step, index);
  return rng;
}

void lh_rng_reset(gsl_rng *rng, uint64_t seed, lh_purpose purpose, uint64_t step, uint64_t index)
{
  gsl_rng_set(rng, lh_draw(seed, purpose, step, index));
}
