/* fp4.h -- four bits for a number: E3M0, a sign and three bits of exponent under a scale per block.
 *
 * A block has a scale E; code k = 0 means 0, k = 1..7 mean 2^(E-7+k), bit 3 is the sign. Rounding is to the
 * nearest in linear distance, ties up; zero is written without a sign. Whatever is larger than the
 * largest code, infinite or not a number becomes the largest.
 *
 * Source: the format is that of arXiv:2501.18512; scale, block and rounding are ours (streaming-diloco,
 * "Quantise").
 */
#ifndef LH_KERNELS_FP4_H
#define LH_KERNELS_FP4_H

#include <math.h>

/* Scales fit one signed byte. The numbers of a block whose largest is below 2^LH_FP4_LOWEST_SCALE are 0. */
#define LH_FP4_LOWEST_SCALE (-128)

/* E for a block whose largest magnitude is given; finite and not 0. */
static inline int lh_fp4_scale(double largest)
{
  int exponent;
  const double half = frexp(largest, &exponent); /* 0.5 .. 1 */
  const int scale = exponent - 1 + (half >= 0.75);
  return scale > 127 ? 127 : scale;
}

static inline unsigned lh_fp4_code(double x, int scale)
{
  const double y = ldexp(fabs(x), 6 - scale);
  if (y < 0.5)
    return 0;
  unsigned k = 7;
  if (y < 1)
    k = 1;
  else if (y < 64) {
    int exponent;
    const double half = frexp(y, &exponent);
    k = (unsigned)exponent + (half >= 0.75);
  }
  return (k > 7 ? 7 : k) + (signbit(x) ? 8 : 0);
}

static inline double lh_fp4_value(unsigned code, int scale)
{
  const unsigned k = code & 7;
  const double size = k ? ldexp(1.0, scale - 7 + (int)k) : 0.0;
  return code & 8 ? -size : size;
}

#endif
