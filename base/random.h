/* random.h -- counter-based randomness: a draw is a pure function of (seed, purpose, step, index).
 *
 * No generator is carried from one call to the next, so results never depend on who ran before, and
 * a rank that joins late agrees with the others. The mixing step is splitmix64's finalizer (Steele,
 * Lea, Flood 2014, "Fast splittable pseudorandom number generators"); checks: lh_mix64(0) =
 * 0xe220a8397b1dcdaf, lh_mix64(42) = 0xbdd732262feb6e95.
 */
#ifndef LH_BASE_RANDOM_H
#define LH_BASE_RANDOM_H

#include <gsl/gsl_rng.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a draw is for; two purposes never share a sequence. */
typedef enum lh_purpose {
  LH_PURPOSE_PARAMETERS = 1, /* initial parameters */
  LH_PURPOSE_DATA,           /* order of training data */
  LH_PURPOSE_PAIRING,        /* gossip partners */
  LH_PURPOSE_INDEX_SET,      /* random-k, random replicator */
  LH_PURPOSE_COMPUTE_TIME,   /* stragglers */
  LH_PURPOSE_LATENCY,        /* message latency */
  LH_PURPOSE_SYNTHETIC,      /* synthetic language */
  LH_PURPOSE_BOOTSTRAP       /* statistics */
} lh_purpose;

uint64_t lh_mix64(uint64_t z);

/* One 64-bit draw: mix(mix(mix(mix(seed) ^ purpose) ^ step) ^ index), each level mixed before the
 * next key is joined, so that neighbouring seeds, steps and indices share nothing. */
uint64_t lh_draw(uint64_t seed, lh_purpose purpose, uint64_t step, uint64_t index);

/* The same draw as a double in [0, 1) (53 bits), and in (0, 1). */
double lh_draw_uniform(uint64_t seed, lh_purpose purpose, uint64_t step, uint64_t index);

/* A standard normal draw (Box-Muller on two uniform draws at 2 * index and 2 * index + 1). */
double lh_draw_normal(uint64_t seed, lh_purpose purpose, uint64_t step, uint64_t index);

/* Fisher-Yates: fills out (n) with a permutation of 0..n-1, a function of (seed, purpose, step). */
void lh_draw_permutation(uint64_t seed, lh_purpose purpose, uint64_t step, size_t n, size_t *out);

/* The k of n rows that all ranks share in a step: row i scores mix(mix(seed) ^ mix((step << 32) | i)),
 * the k smallest scores are taken, ties to the lower row, written in ascending order. k <= n <= 2^31 - 1.
 * False: no memory (8 n bytes, twice, for the length of the call). flexdemo, "Random rows". */
bool lh_draw_row_set(uint64_t seed, uint64_t step, size_t n, size_t k, int32_t *rows);

/* A GSL generator whose whole sequence is a function of the keys, for GSL's distributions. Its
 * state is a splitmix64 counter, so seeding is free. Caller frees with gsl_rng_free. NULL: no
 * memory. */
gsl_rng *lh_rng_new(uint64_t seed, lh_purpose purpose, uint64_t step, uint64_t index);
void lh_rng_reset(gsl_rng *rng, uint64_t seed, lh_purpose purpose, uint64_t step, uint64_t index);

#endif
