/* Rows of a tensor by number, and the draw of such numbers. Once per variant: see variants.h. */
#ifndef LH_VARIANT
#include "base/random.h"
#include "kernels/check.h"

static lh_status expect_row_numbers(const char *operation, const int32_t *row, size_t k,
                                    size_t limit)
{
  for (size_t q = 0; q < k; q++)
    LH_EXPECT(row[q] >= 0 && (size_t)row[q] < limit, "%s: row %zu is %d, not in 0..%zu", operation,
              q, row[q], limit - 1);
  return LH_OK;
}

#define LH_TEMPLATE "kernels/cpu/rows.c"
#include "kernels/cpu/variants.h"
#else

static lh_status NAME(gather_rows)(lh_device *dev, lh_tensor *y, const lh_tensor *x,
                                   const lh_tensor *rows)
{
  (void)dev;
  const size_t k = lh_tensor_elements(rows), length = lh_tensor_elements(y) / k;
  const int32_t *row = rows->data;
  LH_TRY(expect_row_numbers("gather rows", row, k, lh_tensor_elements(x) / length));
  for (size_t q = 0; q < k; q++)
    memcpy((real *)y->data + q * length, (const real *)x->data + (size_t)row[q] * length,
           length * sizeof(real));
  return LH_OK;
}

static lh_status NAME(scatter_rows)(lh_device *dev, lh_tensor *y, const lh_tensor *x,
                                    const lh_tensor *rows)
{
  (void)dev;
  const size_t k = lh_tensor_elements(rows), length = lh_tensor_elements(x) / k;
  const int32_t *row = rows->data;
  LH_TRY(expect_row_numbers("scatter rows", row, k, lh_tensor_elements(y) / length));
  for (size_t q = 0; q < k; q++)
    memcpy((real *)y->data + (size_t)row[q] * length, (const real *)x->data + q * length,
           length * sizeof(real));
  return LH_OK;
}

static lh_status NAME(zero_rows)(lh_device *dev, lh_tensor *x, size_t row_elements,
                                 const lh_tensor *rows)
{
  (void)dev;
  const size_t k = lh_tensor_elements(rows);
  const int32_t *row = rows->data;
  LH_TRY(expect_row_numbers("zero rows", row, k, lh_tensor_elements(x) / row_elements));
  for (size_t q = 0; q < k; q++)
    memset((real *)x->data + (size_t)row[q] * row_elements, 0, row_elements * sizeof(real));
  return LH_OK;
}

/* No real number is involved: the same in every variant. */
static lh_status NAME(draw_rows)(lh_device *dev, lh_tensor *rows, size_t n, uint64_t seed,
                                 uint64_t step)
{
  (void)dev;
  const size_t k = lh_tensor_elements(rows);
  return lh_draw_row_set(seed, step, n, k, rows->data)
             ? LH_OK
             : lh_fail(LH_ENOMEM, "draw rows: no memory for %zu scores", n);
}

void NAME(lh_cpu_rows)(lh_operations *ops);
void NAME(lh_cpu_rows)(lh_operations *ops)
{
  ops->gather_rows = NAME(gather_rows);
  ops->scatter_rows = NAME(scatter_rows);
  ops->zero_rows = NAME(zero_rows);
  ops->draw_rows = NAME(draw_rows);
}
#endif
