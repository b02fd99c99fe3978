/* Rounding to 16-bit wires and to four bits, and sums in a given order. Once per variant: see variants.h. */
#ifndef LH_VARIANT
#include "kernels/check.h"
#include "kernels/fp4.h"

/* A wire format: digits of the significand with the leading one, and the exponent of the smallest
 * normal number; the largest exponent mirrors it as in IEEE 754. */
struct wire_format {
  int digits, low_exponent;
};

static struct wire_format wire_format(lh_dtype wire)
{
  return wire == LH_BF16 ? (struct wire_format){8, -126} : (struct wire_format){11, -14};
}

static bool wire_rounds(lh_dtype wire)
{
  return wire == LH_BF16 || wire == LH_F16;
}

#define LH_TEMPLATE "kernels/cpu/wire.c"
#include "kernels/cpu/variants.h"
#else

struct NAME(rounding) {
  int dropped;   /* digits of a real that the wire lacks */
  real smallest; /* normal number of the wire */
  real grid;     /* adding this leaves a multiple of the wire's subnormal step */
  real largest;  /* finite number of the wire */
};

static struct NAME(rounding) NAME(rounding_of)(lh_dtype wire)
{
  const struct wire_format f = wire_format(wire);
  const int digits = LH_REAL_BITS == 32 ? 24 : 53;
  const double step = ldexp(1.0, f.low_exponent + 1 - f.digits);
  return (struct NAME(rounding)){
      .dropped = digits - f.digits,
      .smallest = (real)ldexp(1.0, f.low_exponent),
      .grid = (real)(1.5 * ldexp(step, digits - 1)),
      .largest = (real)((2.0 - ldexp(2.0, -f.digits)) * ldexp(1.0, 1 - f.low_exponent)),
  };
}

/* To nearest, ties to even. Above `smallest` in the bits: adding half a step less one, and one more if
 * the last kept digit is odd, carries into the exponent as it should. Below it by adding and
 * subtracting `grid`. */
static inline real NAME(rounded)(real x, const struct NAME(rounding) * r)
{
  const real_bits sign = (real_bits)1 << (LH_REAL_BITS - 1);
  const real_bits bits = NAME(to_bits)(x), magnitude = bits & ~sign;
  const real_bits odd = (magnitude >> r->dropped) & 1, half = (real_bits)1 << (r->dropped - 1);
  const real_bits kept = (magnitude + (half - 1) + odd) & ~((half << 1) - 1);
  const real size = NAME(from_bits)(magnitude);
  const real normal = NAME(from_bits)(kept), subnormal = (size + r->grid) - r->grid;
  real y = size < r->smallest ? subnormal : normal;
  y = y > r->largest ? (real)INFINITY : y;
  y = size != size ? size : y;
  return NAME(from_bits)(NAME(to_bits)(y) | (bits & sign));
}

static lh_status NAME(sign_bit)(lh_tensor *x_tensor)
{
  const size_t n = lh_tensor_elements(x_tensor);
  real *x = x_tensor->data;
  ELEMENTWISE
  for (size_t i = 0; i < n; i++)
    x[i] = x[i] < 0 ? (real)-1 : (real)1;
  return LH_OK;
}

static lh_status NAME(round_to_wire)(lh_device *dev, lh_tensor *x_tensor, lh_dtype wire)
{
  (void)dev;
  if (wire == LH_BIT)
    return NAME(sign_bit)(x_tensor);
  if (!wire_rounds(wire))
    return LH_OK;
  const struct NAME(rounding) r = NAME(rounding_of)(wire);
  const size_t n = lh_tensor_elements(x_tensor);
  real *x = x_tensor->data;
  ELEMENTWISE
  for (size_t i = 0; i < n; i++)
    x[i] = NAME(rounded)(x[i], &r);
  return LH_OK;
}

/* Of the finite ones; 0: there is none. */
static double NAME(largest_magnitude)(const real *x, size_t n)
{
  real largest = 0;
  for (size_t i = 0; i < n; i++) {
    const real size = (real)fabs((double)x[i]);
    largest = size > largest && size < (real)INFINITY ? size : largest;
  }
  return (double)largest;
}

static lh_status NAME(quantise_fp4)(lh_device *dev, lh_tensor *y_tensor, const lh_tensor *x_tensor)
{
  (void)dev;
  const size_t n = lh_tensor_elements(x_tensor);
  const real *x = x_tensor->data;
  real *y = y_tensor->data;
  const double largest = NAME(largest_magnitude)(x, n);
  const int scale = largest > 0 ? lh_fp4_scale(largest) : LH_FP4_LOWEST_SCALE - 1;
  for (size_t i = 0; i < n; i++)
    y[i] = scale < LH_FP4_LOWEST_SCALE
               ? 0
               : (real)lh_fp4_value(lh_fp4_code((double)x[i], scale), scale);
  return LH_OK;
}

enum { NAME(SUM_BLOCK) = 4096 / sizeof(real) };

/* sum (n) of elements first.. of all addends. */
static void NAME(sum_block)(real *sum, size_t n, size_t first, const lh_tensor *const *in,
                            size_t addends, lh_dtype wire)
{
  const struct NAME(rounding) r = NAME(rounding_of)(wire);
  const bool rounds = wire_rounds(wire);
  memcpy(sum, (const real *)in[0]->data + first, n * sizeof *sum);
  if (rounds) {
    ELEMENTWISE
    for (size_t j = 0; j < n; j++)
      sum[j] = NAME(rounded)(sum[j], &r);
  }
  for (size_t i = 1; i < addends; i++) {
    const real *x = (const real *)in[i]->data + first;
    if (rounds) {
      ELEMENTWISE
      for (size_t j = 0; j < n; j++)
        sum[j] = NAME(rounded)(sum[j] + NAME(rounded)(x[j], &r), &r);
    } else {
      ELEMENTWISE
      for (size_t j = 0; j < n; j++)
        sum[j] += x[j];
    }
  }
}

static lh_status NAME(sum_in_order)(lh_device *dev, lh_tensor *out, const lh_tensor *const *in,
                                    size_t addends, bool mean, lh_dtype wire)
{
  (void)dev;
  const size_t n = lh_tensor_elements(out);
  real sum[NAME(SUM_BLOCK)]; /* `out` may be an addend, so sums are made beside it */
  for (size_t first = 0; first < n; first += NAME(SUM_BLOCK)) {
    const size_t count = n - first < NAME(SUM_BLOCK) ? n - first : NAME(SUM_BLOCK);
    NAME(sum_block)(sum, count, first, in, addends, wire);
    real *y = (real *)out->data + first;
    const real divisor = mean ? (real)addends : 1;
    for (size_t j = 0; j < count; j++)
      y[j] = sum[j] / divisor;
  }
  return LH_OK;
}

void NAME(lh_cpu_wire)(lh_operations *ops);
void NAME(lh_cpu_wire)(lh_operations *ops)
{
  ops->quantise_fp4 = NAME(quantise_fp4);
  ops->round_to_wire = NAME(round_to_wire);
  ops->sum_in_order = NAME(sum_in_order);
}
#endif
