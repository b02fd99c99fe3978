#include "kernels/check.h"

static lh_status wrong_tensor(const lh_device *dev, const char *operation, size_t position,
                              const lh_tensor *t)
{
  if (t->device != dev)
    return lh_fail(LH_EINTERNAL, "%s: tensor %zu is %s", operation, position,
                   t->device ? "on another device" : "not allocated");
  return lh_fail(LH_EINTERNAL, "%s: tensor %zu is %s, which is not stored as the others are",
                 operation, position, lh_dtype_name(t->dtype));
}

lh_status lh_expect_reals(const lh_device *dev, const char *operation,
                          const lh_tensor *const *tensors, size_t count)
{
  const lh_tensor *first = NULL;
  for (size_t i = 0; i < count; i++) {
    const lh_tensor *t = tensors[i];
    if (!t)
      continue;
    if (!first)
      first = t;
    const bool same = (t->dtype == LH_F64) == (first->dtype == LH_F64);
    if (__builtin_expect(t->device != dev || !same || !lh_dtype_is_real(t->dtype), 0))
      return wrong_tensor(dev, operation, i, t);
  }
  return LH_OK;
}

lh_status lh_expect_vectors(const lh_device *dev, const char *operation, size_t n,
                            const lh_tensor *const *tensors, size_t count)
{
  LH_TRY(lh_expect_reals(dev, operation, tensors, count));
  for (size_t i = 0; i < count; i++)
    if (tensors[i])
      LH_EXPECT(lh_tensor_elements(tensors[i]) == n, "%s: tensor %zu has %zu elements, not %zu",
                operation, i, lh_tensor_elements(tensors[i]), n);
  return LH_OK;
}

lh_status lh_expect_i32(const lh_device *dev, const char *operation, const lh_tensor *t, size_t n)
{
  LH_EXPECT(t->device == dev, "%s: the integers are %s", operation,
            t->device ? "on another device" : "not allocated");
  LH_EXPECT(t->dtype == LH_I32, "%s: integers are %s, not i32", operation, lh_dtype_name(t->dtype));
  LH_EXPECT(lh_tensor_elements(t) == n, "%s: %zu integers, not %zu", operation,
            lh_tensor_elements(t), n);
  return LH_OK;
}

double lh_sum_bytes(const lh_tensor *const *tensors, size_t count)
{
  size_t bytes = 0;
  for (size_t i = 0; i < count; i++)
    if (tensors[i])
      bytes += lh_tensor_bytes(tensors[i]);
  return (double)bytes;
}
