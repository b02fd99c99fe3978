/* Rounding to 16-bit and 4-bit wires against the list of all numbers of the format, and sums in order. */
#include "kernel_case.h"
#include "kernels/fp4.h"

struct format {
  lh_dtype wire;
  int exponent_bits, fraction_bits;
};
static const struct format formats[] = {{LH_BF16, 8, 7}, {LH_F16, 5, 10}};

/* The number that the low 15 bits of `code` mean: IEEE 754, section 3.4. */
static double meaning(const struct format *f, unsigned code)
{
  const int bias = (1 << (f->exponent_bits - 1)) - 1;
  const int exponent = (int)(code >> f->fraction_bits);
  const double fraction = ldexp(code & ((1u << f->fraction_bits) - 1), -f->fraction_bits);
  if (exponent == (1 << f->exponent_bits) - 1)
    return fraction == 0 ? INFINITY : NAN;
  return exponent == 0 ? ldexp(fraction, 1 - bias) : ldexp(1 + fraction, exponent - bias);
}

static void round_all(lh_device *dev, lh_dtype storage, lh_dtype wire, double *x, size_t n)
{
  guarded g = guarded_1d(dev, storage, n);
  guarded_set(&g, x);
  REQUIRE_OK(lh_round_to_wire(dev, &g.t, wire));
  memcpy(x, guarded_get(&g, "round"), n * sizeof *x);
  FREE(&g);
}

/* Between neighbours a < b of the format: a and b stay, the midpoint goes to the even code, a hair below
 * it to a, a hair above to b. All 2^15 codes, both signs. The step beyond the largest number is where
 * infinity starts. */
static void test_format(lh_device *dev, lh_dtype storage, const struct format *f)
{
  const unsigned last =
      (((1u << f->exponent_bits) - 1) << f->fraction_bits) - 1; /* largest finite */
  double *x = numbers(8 * (last + 1)), *want = numbers(8 * (last + 1));
  size_t n = 0;
  for (unsigned code = 0; code <= last; code++) {
    const double a = meaning(f, code);
    const double b = code < last ? meaning(f, code + 1) : a + (a - meaning(f, code - 1));
    const double up = code < last ? b : INFINITY, middle = (a + b) / 2;
    double below = nextafter(middle, 0), above = nextafter(middle, INFINITY);
    if (storage == LH_F32) {
      below = nextafterf((float)middle, 0);
      above = nextafterf((float)middle, INFINITY);
    }
    const double in[] = {a, middle, below, above}, out[] = {a, code % 2 ? up : a, a, up};
    for (int k = 0; k < 4; k++)
      for (int sign = -1; sign <= 1; sign += 2) {
        x[n] = sign * in[k];
        want[n++] = sign * out[k];
      }
  }
  double *got = numbers(n);
  memcpy(got, x, n * sizeof *x);
  round_all(dev, storage, f->wire, got, n);
  size_t wrong = 0;
  for (size_t i = 0; i < n && wrong < 5; i++)
    if (!(got[i] == want[i] && signbit(got[i]) == signbit(want[i]))) {
      wrong++;
      CHECK(false, "%s in %s: %a becomes %a, expected %a", lh_dtype_name(f->wire),
            lh_dtype_name(storage), x[i], got[i], want[i]);
    }
  const uint64_t ones = UINT64_MAX >> 1; /* a NaN that rounding up would carry out of */
  double special[] = {NAN, INFINITY, -INFINITY, storage == LH_F64 ? 1e300 : 3e38, -0.0, 0};
  memcpy(&special[5], &ones, sizeof ones);
  round_all(dev, storage, f->wire, special, 6);
  CHECK(isnan(special[0]) && isnan(special[5]) && special[1] == INFINITY && special[2] == -INFINITY,
        "NaN and infinities stay: %g %g %g", special[0], special[1], special[2]);
  CHECK(special[3] == INFINITY || (f->wire == LH_BF16 && storage == LH_F32),
        "too large is infinite: %g", special[3]);
  CHECK(special[4] == 0 && signbit(special[4]), "-0 stays");
  forget_numbers();
}

static void test_unrounded(lh_device *dev)
{
  double x[] = {0.1, 1e-30, 3}, y[3];
  for (size_t i = 0; i < 3; i++)
    y[i] = x[i];
  round_all(dev, LH_F64, LH_F32, x, 3);
  round_all(dev, LH_F64, LH_F64, x, 3);
  CHECK(x[0] == y[0] && x[1] == y[1], "wide wires change nothing: %g %g", x[0], x[1]);
  double signs[] = {-2.5, 0, -0.0, 1e-30};
  round_all(dev, LH_F32, LH_BIT, signs, 4);
  CHECK(signs[0] == -1 && signs[1] == 1 && signs[2] == 1 && signs[3] == 1,
        "a zero is not negative");
  guarded g = guarded_1d(dev, LH_F32, 3);
  CHECK(lh_round_to_wire(dev, &g.t, LH_INT8) == LH_EUNSUPPORTED, "no rounding to int8");
  FREE(&g);
  forget_numbers();
}

/* By the tested rounding, one operation at a time. */
static double wire_sum(lh_device *dev, lh_dtype storage, lh_dtype wire, const double *x, size_t n)
{
  double sum = x[0];
  round_all(dev, storage, wire, &sum, 1);
  for (size_t i = 1; i < n; i++) {
    double addend = x[i];
    round_all(dev, storage, wire, &addend, 1);
    sum += addend;
    sum = storage == LH_F64 ? sum : (double)(float)sum;
    round_all(dev, storage, wire, &sum, 1);
  }
  return sum;
}

static void test_sums(lh_device *dev, lh_dtype storage, lh_dtype wire, size_t n)
{
  enum { RANKS = 5 };
  guarded in[RANKS];
  lh_device *own[RANKS]; /* every rank has a device of its own */
  double *values[RANKS];
  const lh_tensor *list[RANKS];
  for (size_t r = 0; r < RANKS; r++) {
    own[r] = open_device(&lh_backend_cpu);
    in[r] = guarded_1d(own[r], storage, n);
    values[r] = guarded_draw(&in[r], 20 + r, 3);
    list[r] = &in[r].t;
  }
  guarded out = guarded_1d(dev, storage, n), mean = guarded_1d(dev, storage, n);
  REQUIRE_OK(lh_sum_in_order(dev, &out.t, list, RANKS, false, wire));
  REQUIRE_OK(lh_sum_in_order(dev, &mean.t, list, RANKS, true, wire));
  REQUIRE_OK(lh_sum_in_order(own[0], &in[0].t, list, RANKS, false, wire)); /* out may be in[0] */
  const double *sum = guarded_get(&out, "sum"), *m = guarded_get(&mean, "mean");
  const double *inside = guarded_get(&in[0], "sum");
  for (size_t i = 0; i < n; i++) {
    double x[RANKS];
    for (size_t r = 0; r < RANKS; r++)
      x[r] = values[r][i];
    const double want = i % 97 == 0 || n < 100 ? wire_sum(dev, storage, wire, x, RANKS) : sum[i];
    const double divided = want / RANKS;
    CHECK(sum[i] == want, "sum over %s, element %zu: %.9g, expected %.9g", lh_dtype_name(wire), i,
          sum[i], want);
    CHECK(m[i] == (storage == LH_F64 ? divided : (double)(float)divided), "mean, element %zu: %.9g",
          i, m[i]);
    CHECK(inside[i] == sum[i], "out over in[0], element %zu: %.9g", i, inside[i]);
  }
  for (size_t r = 0; r < RANKS; r++) {
    FREE(&in[r]);
    lh_device_close(own[r]);
  }
  FREE(&out, &mean);
  forget_numbers();
}

/* ---- four bits ------------------------------------------------------------------------------- */

static void quantise(lh_device *dev, lh_dtype storage, double *x, size_t n)
{
  guarded in = guarded_1d(dev, storage, n);
  guarded out = guarded_1d(dev, storage == LH_F64 ? LH_F64 : LH_FP4, n);
  guarded_set(&in, x);
  REQUIRE_OK(lh_quantise_fp4(dev, &out.t, &in.t));
  memcpy(x, guarded_get(&out, "quantised"), n * sizeof *x);
  FREE(&in, &out);
}

/* The two blocks of streaming-diloco, "Test vectors": scale, codes and values. */
static void test_page_blocks(lh_device *dev, lh_dtype storage)
{
  static const struct {
    int scale;
    double x[6], value[6];
    unsigned code[6];
  } blocks[] = {{-2,
                 {0.30, -0.11, 0.004, -0.0009, 0.024, 0},
                 {0.25, -0.125, 0.00390625, 0, 0.03125, 0},
                 {7, 14, 1, 0, 4, 0}},
                {0,
                 {1.0, -0.75, 0.74, 0.012, 0.0078125, 0.0077},
                 {1, -1, 0.5, 0.015625, 0.015625, 0},
                 {7, 15, 6, 1, 1, 0}}};
  for (size_t b = 0; b < 2; b++) {
    double x[6];
    memcpy(x, blocks[b].x, sizeof x);
    CHECK(lh_fp4_scale(fabs(x[0])) == blocks[b].scale, "block %zu: scale %d", b,
          lh_fp4_scale(fabs(x[0])));
    for (size_t i = 0; i < 6; i++)
      CHECK(lh_fp4_code(x[i], blocks[b].scale) == blocks[b].code[i], "block %zu, %zu: code %u", b,
            i, lh_fp4_code(x[i], blocks[b].scale));
    quantise(dev, storage, x, 6);
    for (size_t i = 0; i < 6; i++)
      CHECK(x[i] == blocks[b].value[i], "block %zu, %zu: %.9g, expected %.9g", b, i, x[i],
            blocks[b].value[i]);
  }
}

/* Every number becomes the nearest of 0, 2^(E-6) .. 2^E, the larger of two equally near; the scale is the
 * power of two nearest the largest number, on the same rule. */
static void test_nearest(lh_device *dev, lh_dtype storage, double size)
{
  enum { N = 1001 };
  guarded drawn = guarded_1d(dev, storage, N);
  double *x = guarded_draw(&drawn, 77, size), *got = numbers(N), largest = 0;
  for (size_t i = 0; i < N; i += 3) /* small ones too */
    x[i] *= 1.0 / 64;
  for (size_t i = 0; i < N; i++) {
    x[i] = storage == LH_F64 ? x[i] : (double)(float)x[i];
    largest = fmax(largest, fabs(x[i]));
  }
  double top = ldexp(1, -200);
  while (1.5 * top <= largest)
    top *= 2;
  memcpy(got, x, N * sizeof *got);
  quantise(dev, storage, got, N);
  for (size_t i = 0; i < N; i++) {
    double nearest = 0;
    for (double level = top / 64; level <= top; level *= 2)
      if (fabs(fabs(x[i]) - level) <= fabs(fabs(x[i]) - nearest))
        nearest = level;
    CHECK(got[i] == copysign(nearest, x[i]), "%.9g becomes %.9g, expected %.9g", x[i], got[i],
          copysign(nearest, x[i]));
  }
  FREE(&drawn);
  forget_numbers();
}

static void test_odd_blocks(lh_device *dev, lh_dtype storage)
{
  double zeros[] = {0, -0.0, 0}, odd[] = {INFINITY, -2, NAN, 0.2};
  quantise(dev, storage, zeros, 3);
  CHECK(zeros[0] == 0 && zeros[1] == 0 && zeros[2] == 0, "a block of zeros");
  quantise(dev, storage, odd, 4);
  CHECK(odd[0] == 2 && odd[1] == -2 && fabs(odd[2]) == 2 && odd[3] == 0.25,
        "the largest finite number sets the scale: %g %g %g %g", odd[0], odd[1], odd[2], odd[3]);
}

int main(void)
{
  lh_device *dev = open_device(&lh_backend_cpu);
  FOR_DTYPES(storage)
  {
    for (size_t f = 0; f < 2; f++)
      test_format(dev, storage, &formats[f]);
    for (size_t w = 0; w < 3; w++) {
      const lh_dtype wire = (const lh_dtype[]){LH_F32, LH_BF16, LH_F16}[w];
      test_sums(dev, storage, wire, 33);
      test_sums(dev, storage, wire, 3001);
    }
    test_page_blocks(dev, storage);
    test_nearest(dev, storage, 1);
    test_nearest(dev, storage, 3e-5);
    test_odd_blocks(dev, storage);
  }
  test_unrounded(dev);
  lh_device_close(dev);
  return check_report("wire");
}
