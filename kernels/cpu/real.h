/* real.h -- arithmetic that kernels share, compiled inside every variant (so it has no include guard).
 *
 * Sums over an axis run in LANES fixed lanes, element i in lane i mod LANES, and the lanes are then
 * added by halves. The processor's vectors are shorter than that, which costs nothing and makes the
 * order the same on all of them.
 */

#define lanes NAME(lanes_t)
#define lanes_in_memory NAME(lanes_in_memory_t)
#define LANES ((size_t)(128 / sizeof(real)))
typedef real lanes __attribute__((vector_size(128)));
typedef real lanes_in_memory __attribute__((vector_size(128), aligned(4), may_alias));
#define LOAD(p) (*(const lanes_in_memory *)(p))

/* Not every file uses every helper. */
#define HELPER __attribute__((unused)) static inline

HELPER real NAME(fold)(const lanes *sum)
{
  real s[128 / sizeof(real)];
  memcpy(s, sum, sizeof s);
  for (size_t half = LANES / 2; half; half /= 2)
    for (size_t i = 0; i < half; i++)
      s[i] += s[i + half];
  return s[0];
}

/* The last n < LANES elements; lanes beyond them hold `rest`. */
#define LOAD_TAIL(to, x, n, rest)                                                                  \
  lanes to = (lanes){0} + (rest);                                                                  \
  memcpy(&to, (x), (n) * sizeof(real))

HELPER real NAME(sum)(const real *x, size_t n)
{
  lanes s = {0};
  size_t i = 0;
  for (; i + LANES <= n; i += LANES)
    s += LOAD(x + i);
  if (i < n) {
    LOAD_TAIL(tail, x + i, n - i, 0);
    s += tail;
  }
  return NAME(fold)(&s);
}

HELPER real NAME(dot)(const real *x, const real *y, size_t n)
{
  lanes s = {0};
  size_t i = 0;
  for (; i + LANES <= n; i += LANES)
    s += LOAD(x + i) * LOAD(y + i);
  if (i < n) {
    LOAD_TAIL(x_tail, x + i, n - i, 0);
    LOAD_TAIL(y_tail, y + i, n - i, 0);
    s += x_tail * y_tail;
  }
  return NAME(fold)(&s);
}

/* Sum of (x - center)^2. */
HELPER real NAME(spread)(const real *x, real center, size_t n)
{
  lanes s = {0};
  size_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    const lanes d = LOAD(x + i) - center;
    s += d * d;
  }
  if (i < n) {
    LOAD_TAIL(tail, x + i, n - i, center);
    tail -= center;
    s += tail * tail;
  }
  return NAME(fold)(&s);
}

/* The largest of n values, -infinity if there is none; NaNs are passed over. In an array of lanes, because
 * the compiler takes comparisons of `lanes` apart. */
HELPER real NAME(largest)(const real *x, size_t n)
{
  real top[128 / sizeof(real)];
  for (size_t j = 0; j < LANES; j++)
    top[j] = -(real)INFINITY;
  size_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (size_t j = 0; j < LANES; j++)
      top[j] = x[i + j] > top[j] ? x[i + j] : top[j];
  for (size_t j = 0; i + j < n; j++)
    top[j] = x[i + j] > top[j] ? x[i + j] : top[j];
  for (size_t half = LANES / 2; half; half /= 2)
    for (size_t j = 0; j < half; j++)
      top[j] = top[j + half] > top[j] ? top[j + half] : top[j];
  return top[0];
}

HELPER real_bits NAME(to_bits)(real x)
{
  real_bits bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

HELPER real NAME(from_bits)(real_bits bits)
{
  real x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* e^x for x up to 88 (float) or 709 (double), to 1 and 2 ulp; what would be subnormal is 0. No branch, so
 * that loops over it become vectors. x = n ln 2 + r, |r| <= ln 2 / 2; n times the upper part of ln 2 is
 * exact. e^r is its Taylor sum up to the first term below half an ulp. Adding and subtracting ROUNDER
 * rounds to a whole number and leaves that number in the low bits, where it becomes 2^n. */
#if LH_REAL_BITS == 32
#define EXP_LOW (-87.3f)
#define ROUNDER 0x1.8p23f
#define LOG2_E 0x1.715476p+0f
#define LN_2_UPPER 0x1.62e4p-1f
#define LN_2_LOWER 0x1.7f7d1cf8p-20f
#define EXPONENT_SHIFT 23
#define EXPONENT_BIAS 127
#else
#define EXP_LOW (-708.3)
#define ROUNDER 0x1.8p52
#define LOG2_E 0x1.71547652b82fep+0
#define LN_2_UPPER 0x1.62e42fefa4p-1
#define LN_2_LOWER (-0x1.8432a1b0e2634p-43)
#define EXPONENT_SHIFT 52
#define EXPONENT_BIAS 1023
#endif

HELPER real NAME(exp)(real x)
{
  const real rounded = x * LOG2_E + ROUNDER;
  const real n = rounded - ROUNDER;
  const real r = (x - n * LN_2_UPPER) - n * LN_2_LOWER;
#if LH_REAL_BITS == 32
  real p = 1.0f / 5040;
#else
  real p = 1.0 / 6227020800;
  p = p * r + 1.0 / 479001600;
  p = p * r + 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
#endif
  p = p * r + (real)1 / 720;
  p = p * r + (real)1 / 120;
  p = p * r + (real)1 / 24;
  p = p * r + (real)1 / 6;
  p = p * r + (real)1 / 2;
  p = (p * (r * r) + r) + 1;
  const real_bits whole = NAME(to_bits)(rounded) - (NAME(to_bits)(ROUNDER) - EXPONENT_BIAS);
  p *= NAME(from_bits)(whole << EXPONENT_SHIFT);
  return x < EXP_LOW ? 0 : p; /* this way round, NaN stays */
}

#undef EXP_LOW
#undef ROUNDER
#undef LOG2_E
#undef LN_2_UPPER
#undef LN_2_LOWER
#undef EXPONENT_SHIFT
#undef EXPONENT_BIAS

/* Natural logarithm of a double above 0 to 1 ulp; in double for every variant, since it is taken once
 * per row. x = 2^k (1 + f) with 1 + f in sqrt(1/2)..sqrt(2); log(1 + f) = 2 atanh(s), s = f / (2 + f),
 * arranged as f - s (f - R) because f is exact. NaN gives NaN, 0 gives -infinity. */
HELPER double NAME(log)(double x)
{
  if (!(x > 0.0) || x == INFINITY)
    return x == 0.0 ? -INFINITY : x + (x < 0.0 ? NAN : 0.0);
  int k;
  double m = frexp(x, &k); /* 0.5..1; exact */
  if (m < 0x1.6a09e667f3bcdp-1) {
    m *= 2;
    k--;
  }
  const double f = m - 1.0, s = f / (2.0 + f), z = s * s;
  double p = 0.0;
  for (int i = 21; i >= 3; i -= 2)
    p = (p + 2.0 / i) * z;
  return (double)k * 0x1.62e42fefa4p-1 + (f - (s * (f - p) - (double)k * -0x1.8432a1b0e2634p-43));
}
