#include "kernels/check.h"
#include "kernels/ops.h"

/* One transform costs 2 (height + width) flop per element; a chunk of height 1 is not transformed along
 * it. It reads and writes every element once. */
static void charge_transform(lh_device *dev, const lh_tensor *x, const lh_chunking *chunking)
{
  const size_t length = chunking->width + (chunking->height > 1 ? chunking->height : 0);
  lh_charge(dev, LH_OPERATION_DCT, x->dtype, 2.0 * (double)length * (double)lh_tensor_elements(x),
            lh_sum_bytes(LH_TENSORS(x, x, &chunking->basis_height, &chunking->basis_width)));
}

static lh_status expect_messages(const char *operation, const lh_device *dev, const lh_tensor *x,
                                 const lh_chunking *chunking, size_t k, size_t messages,
                                 const lh_tensor *index, const lh_tensor *value)
{
  const size_t entries = messages * chunking->blocks * k;
  LH_EXPECT(k >= 1 && k <= chunking->block_elements, "%s: k is %zu, not 1 to %zu", operation, k,
            chunking->block_elements);
  LH_EXPECT(lh_tensor_elements(x) == chunking->rows * chunking->columns,
            "%s: %zu elements, but the chunks cover %zu", operation, lh_tensor_elements(x),
            chunking->rows * chunking->columns);
  LH_TRY(lh_expect_reals(dev, operation,
                         LH_TENSORS(x, value, &chunking->basis_height, &chunking->basis_width)));
  LH_TRY(lh_expect_i32(dev, operation, index, entries));
  LH_EXPECT(lh_tensor_elements(value) == entries, "%s: %zu values, not %zu", operation,
            lh_tensor_elements(value), entries);
  return LH_OK;
}

lh_status lh_dct_top_k(lh_device *dev, const lh_tensor *x, const lh_chunking *chunking, size_t k,
                       lh_tensor *index, lh_tensor *value)
{
  LH_TRY(expect_messages("dct top-k", dev, x, chunking, k, 1, index, value));
  charge_transform(dev, x, chunking);
  lh_charge(dev, LH_OPERATION_TOP_K, x->dtype, (double)lh_tensor_elements(x),
            lh_sum_bytes(LH_TENSORS(x, index, value)));
  return LH_COMPUTE(dev, x, dct_top_k, dev, x, chunking, k, index, value);
}

lh_status lh_dct_merge_decode(lh_device *dev, lh_tensor *y, const lh_chunking *chunking, size_t k,
                              size_t messages, lh_merge merge, const lh_tensor *index,
                              const lh_tensor *value)
{
  LH_EXPECT(messages >= 1, "dct merge: no message");
  LH_TRY(expect_messages("dct merge", dev, y, chunking, k, messages, index, value));
  lh_charge(dev, LH_OPERATION_ELEMENTWISE, y->dtype, (double)lh_tensor_elements(value),
            lh_sum_bytes(LH_TENSORS(y, index, value)));
  charge_transform(dev, y, chunking);
  return LH_COMPUTE(dev, y, dct_merge_decode, dev, y, chunking, k, messages, merge, index, value);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static lh_status expect_rows(const char *operation, const lh_device *dev, const lh_tensor *whole,
                             size_t row_elements, const lh_tensor *rows)
{
  LH_TRY(lh_expect_i32(dev, operation, rows, lh_tensor_elements(rows)));
  LH_EXPECT(row_elements > 0 && lh_tensor_elements(whole) % row_elements == 0,
            "%s: %zu elements in rows of %zu", operation, lh_tensor_elements(whole), row_elements);
  return LH_OK;
}

/* Part of a tensor and the whole that it comes from or goes to; both checked. */
static lh_status expect_part(const char *operation, const lh_device *dev, const lh_tensor *whole,
                             const lh_tensor *part, const lh_tensor *rows)
{
  const size_t k = lh_tensor_elements(rows), n = lh_tensor_elements(part);
  LH_TRY(lh_expect_reals(dev, operation, LH_TENSORS(whole, part)));
  LH_EXPECT(k > 0 && n % k == 0, "%s: %zu elements for %zu rows", operation, n, k);
  return expect_rows(operation, dev, whole, n / k, rows);
}

lh_status lh_gather_rows(lh_device *dev, lh_tensor *y, const lh_tensor *x, const lh_tensor *rows)
{
  LH_TRY(expect_part("gather rows", dev, x, y, rows));
  lh_charge(dev, LH_OPERATION_ELEMENTWISE, y->dtype, 0.0, lh_sum_bytes(LH_TENSORS(y, y, rows)));
  return LH_COMPUTE(dev, y, gather_rows, dev, y, x, rows);
}

lh_status lh_scatter_rows(lh_device *dev, lh_tensor *y, const lh_tensor *x, const lh_tensor *rows)
{
  LH_TRY(expect_part("scatter rows", dev, y, x, rows));
  lh_charge(dev, LH_OPERATION_ELEMENTWISE, x->dtype, 0.0, lh_sum_bytes(LH_TENSORS(x, x, rows)));
  return LH_COMPUTE(dev, y, scatter_rows, dev, y, x, rows);
}

lh_status lh_zero_rows(lh_device *dev, lh_tensor *x, size_t row_elements, const lh_tensor *rows)
{
  LH_TRY(lh_expect_reals(dev, "zero rows", LH_TENSORS(x)));
  LH_TRY(expect_rows("zero rows", dev, x, row_elements, rows));
  const size_t zeros = row_elements * lh_tensor_elements(rows);
  lh_charge(dev, LH_OPERATION_ELEMENTWISE, x->dtype, 0.0,
            (double)lh_dtype_bytes(x->dtype, zeros) + lh_sum_bytes(LH_TENSORS(rows)));
  return LH_COMPUTE(dev, x, zero_rows, dev, x, row_elements, rows);
}

lh_status lh_draw_rows(lh_device *dev, lh_tensor *rows, size_t n, uint64_t seed, uint64_t step)
{
  const size_t k = lh_tensor_elements(rows);
  LH_TRY(lh_expect_i32(dev, "draw rows", rows, k));
  LH_EXPECT(k <= n && n <= INT32_MAX, "draw rows: %zu of %zu", k, n);
  lh_charge(dev, LH_OPERATION_TOP_K, LH_F32, (double)n,
            (double)lh_dtype_bytes(LH_F32, n) + lh_sum_bytes(LH_TENSORS(rows)));
  return LH_COMPUTE(dev, rows, draw_rows, dev, rows, n, seed, step);
}

/* ---- four bits ------------------------------------------------------------------------------- */

lh_status lh_quantise_fp4(lh_device *dev, lh_tensor *y, const lh_tensor *x)
{
  const size_t n = lh_tensor_elements(x);
  LH_TRY(lh_expect_reals(dev, "quantise", LH_TENSORS(x, y)));
  LH_EXPECT(y->dtype == (x->dtype == LH_F64 ? LH_F64 : LH_FP4), "quantise: %s into %s",
            lh_dtype_name(x->dtype), lh_dtype_name(y->dtype));
  LH_EXPECT(lh_tensor_elements(y) == n, "quantise: %zu numbers into %zu", n, lh_tensor_elements(y));
  lh_charge(dev, LH_OPERATION_REDUCTION, x->dtype, (double)n, lh_sum_bytes(LH_TENSORS(x)));
  lh_charge(dev, LH_OPERATION_ELEMENTWISE, x->dtype, 4.0 * (double)n,
            lh_sum_bytes(LH_TENSORS(x, y)));
  return LH_COMPUTE(dev, x, quantise_fp4, dev, y, x);
}

/* ---- what a collective does to numbers ------------------------------------------------------- */

static lh_status expect_wire(const char *operation, lh_dtype wire)
{
  if (wire == LH_F32 || wire == LH_F64 || wire == LH_BF16 || wire == LH_F16)
    return LH_OK;
  return lh_fail(LH_EUNSUPPORTED, "%s: no rounding to %s here", operation, lh_dtype_name(wire));
}

lh_status lh_round_to_wire(lh_device *dev, lh_tensor *x, lh_dtype wire)
{
  LH_TRY(lh_expect_reals(dev, "round to wire", LH_TENSORS(x)));
  if (wire != LH_BIT)
    LH_TRY(expect_wire("round to wire", wire));
  return LH_COMPUTE(dev, x, round_to_wire, dev, x, wire);
}

/* The addends belong to the members of a group, each with a device of its own. */
lh_status lh_sum_in_order(lh_device *dev, lh_tensor *out, const lh_tensor *const *in, size_t n,
                          bool mean, lh_dtype wire)
{
  LH_TRY(lh_expect_reals(dev, "sum in order", LH_TENSORS(out)));
  LH_TRY(expect_wire("sum in order", wire));
  LH_EXPECT(n >= 1, "sum in order: nothing to add");
  const size_t elements = lh_tensor_elements(out);
  for (size_t i = 0; i < n; i++) {
    LH_EXPECT(lh_dtype_is_real(in[i]->dtype) && (in[i]->dtype == LH_F64) == (out->dtype == LH_F64),
              "sum in order: addend %zu is %s into %s", i, lh_dtype_name(in[i]->dtype),
              lh_dtype_name(out->dtype));
    LH_EXPECT(lh_tensor_elements(in[i]) == elements, "sum in order: addend %zu has %zu, not %zu", i,
              lh_tensor_elements(in[i]), elements);
  }
  return LH_COMPUTE(dev, out, sum_in_order, dev, out, in, n, mean, wire);
}
