#include "kernels/check.h"
#include "kernels/ops.h"

static void charge_elementwise(lh_device *dev, const lh_tensor *y, double flop_per_element,
                               const lh_tensor *const *tensors, size_t count)
{
  lh_charge(dev, LH_OPERATION_ELEMENTWISE, y->dtype,
            flop_per_element * (double)lh_tensor_elements(y), lh_sum_bytes(tensors, count));
}

lh_status lh_fill(lh_device *dev, lh_tensor *x, double value)
{
  LH_TRY(lh_expect_reals(dev, "fill", LH_TENSORS(x)));
  charge_elementwise(dev, x, 0.0, LH_TENSORS(x));
  return LH_COMPUTE(dev, x, fill, dev, x, value);
}

lh_status lh_copy(lh_device *dev, lh_tensor *y, const lh_tensor *x)
{
  LH_EXPECT(y->device == dev && x->device, "copy: a tensor is not allocated or on another device");
  LH_EXPECT(lh_tensor_elements(x) == lh_tensor_elements(y), "copy: %zu elements into %zu",
            lh_tensor_elements(x), lh_tensor_elements(y));
  const bool same =
      x->dtype == y->dtype || (lh_dtype_is_real(x->dtype) && lh_dtype_is_real(y->dtype) &&
                               x->dtype != LH_F64 && y->dtype != LH_F64);
  LH_EXPECT(same, "copy: %s into %s, which is stored otherwise", lh_dtype_name(x->dtype),
            lh_dtype_name(y->dtype));
  charge_elementwise(dev, y, 0.0, LH_TENSORS(x, y));
  if (dev->backend->computes && x->data)
    dev->backend->copy(y, x);
  return LH_OK;
}

lh_status lh_axpby(lh_device *dev, double alpha, const lh_tensor *x, double beta, lh_tensor *y)
{
  LH_TRY(lh_expect_vectors(dev, "axpby", lh_tensor_elements(y), LH_TENSORS(x, y)));
  if (beta == 0.0)
    charge_elementwise(dev, y, 1.0, LH_TENSORS(x, y));
  else
    charge_elementwise(dev, y, 3.0, LH_TENSORS(x, y, y));
  return LH_COMPUTE(dev, y, axpby, dev, alpha, x, beta, y);
}

lh_status lh_add(lh_device *dev, lh_tensor *y, const lh_tensor *a, const lh_tensor *b)
{
  LH_TRY(lh_expect_vectors(dev, "add", lh_tensor_elements(y), LH_TENSORS(y, a, b)));
  charge_elementwise(dev, y, 1.0, LH_TENSORS(y, a, b));
  return LH_COMPUTE(dev, y, add, dev, y, a, b);
}

lh_status lh_subtract(lh_device *dev, lh_tensor *y, const lh_tensor *a, const lh_tensor *b)
{
  LH_TRY(lh_expect_vectors(dev, "subtract", lh_tensor_elements(y), LH_TENSORS(y, a, b)));
  charge_elementwise(dev, y, 1.0, LH_TENSORS(y, a, b));
  return LH_COMPUTE(dev, y, subtract, dev, y, a, b);
}

lh_status lh_multiply(lh_device *dev, lh_tensor *y, const lh_tensor *a, const lh_tensor *b)
{
  LH_TRY(lh_expect_vectors(dev, "multiply", lh_tensor_elements(y), LH_TENSORS(y, a, b)));
  charge_elementwise(dev, y, 1.0, LH_TENSORS(y, a, b));
  return LH_COMPUTE(dev, y, multiply, dev, y, a, b);
}

lh_status lh_scale(lh_device *dev, lh_tensor *x, double alpha)
{
  LH_TRY(lh_expect_reals(dev, "scale", LH_TENSORS(x)));
  charge_elementwise(dev, x, 1.0, LH_TENSORS(x, x));
  return LH_COMPUTE(dev, x, scale, dev, x, alpha);
}

lh_status lh_sign(lh_device *dev, lh_tensor *y, const lh_tensor *x)
{
  LH_TRY(lh_expect_vectors(dev, "sign", lh_tensor_elements(y), LH_TENSORS(y, x)));
  charge_elementwise(dev, y, 1.0, LH_TENSORS(y, x));
  return LH_COMPUTE(dev, y, sign, dev, y, x);
}

lh_status lh_sum_squares(lh_device *dev, const lh_tensor *x, double *sum)
{
  *sum = 0.0;
  LH_TRY(lh_expect_reals(dev, "sum of squares", LH_TENSORS(x)));
  lh_charge(dev, LH_OPERATION_REDUCTION, x->dtype, 2.0 * (double)lh_tensor_elements(x),
            lh_sum_bytes(LH_TENSORS(x)));
  return LH_COMPUTE(dev, x, sum_squares, dev, x, sum);
}

lh_status lh_fill_normal(lh_device *dev, lh_tensor *x, double deviation, uint64_t seed,
                         uint64_t stream)
{
  LH_TRY(lh_expect_reals(dev, "fill normal", LH_TENSORS(x)));
  return LH_COMPUTE(dev, x, fill_normal, dev, x, deviation, seed, stream);
}
