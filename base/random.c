#include "base/random.h"

#include <math.h>

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
