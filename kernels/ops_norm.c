#include "kernels/check.h"
#include "kernels/ops.h"

/* Flop per element, counted from the formulas of ops.h; norms are memory-bound, so roughly is enough. */
enum {
  LAYER_NORM_FLOP = 8,
  LAYER_NORM_BACKWARD_FLOP = 16,
  RMS_NORM_FLOP = 5,
  RMS_NORM_BACKWARD_FLOP = 11
};

/* x-like tensors (n,c), parameters (c), statistics (n). */
static lh_status expect_norm(const char *operation, const lh_tensor *x, const lh_tensor *other,
                             const lh_tensor *const *parameters, const lh_tensor *const *statistics)
{
  const size_t n = lh_rows(x), c = lh_columns(x);
  LH_EXPECT(lh_rows(other) == n && lh_columns(other) == c, "%s: (%zu, %zu) beside (%zu, %zu)",
            operation, lh_rows(other), lh_columns(other), n, c);
  for (int i = 0; i < 3; i++)
    LH_EXPECT(!parameters[i] || lh_tensor_elements(parameters[i]) == c,
              "%s: parameter %d has %zu elements, not %zu", operation, i,
              lh_tensor_elements(parameters[i]), c);
  for (int i = 0; i < 2; i++)
    LH_EXPECT(!statistics[i] || lh_tensor_elements(statistics[i]) == n,
              "%s: statistic %d has %zu elements, not %zu", operation, i,
              lh_tensor_elements(statistics[i]), n);
  return LH_OK;
}

#define THREE(...)                                                                                 \
  (const lh_tensor *const[3])                                                                      \
  {                                                                                                \
    __VA_ARGS__                                                                                    \
  }
#define TWO(...)                                                                                   \
  (const lh_tensor *const[2])                                                                      \
  {                                                                                                \
    __VA_ARGS__                                                                                    \
  }

lh_status lh_layer_norm_forward(lh_device *dev, lh_tensor *y, lh_tensor *mean, lh_tensor *rstd,
                                const lh_tensor *x, const lh_tensor *gamma, const lh_tensor *beta,
                                double epsilon)
{
  static const char name[] = "layer norm forward";
  LH_TRY(lh_expect_reals(dev, name, LH_TENSORS(y, mean, rstd, x, gamma, beta)));
  LH_TRY(expect_norm(name, x, y, THREE(gamma, beta), TWO(mean, rstd)));
  lh_charge(dev, LH_OPERATION_NORM, x->dtype, LAYER_NORM_FLOP * (double)lh_tensor_elements(x),
            lh_sum_bytes(LH_TENSORS(y, mean, rstd, x, gamma, beta)));
  return LH_COMPUTE(dev, x, layer_norm_forward, dev, y, mean, rstd, x, gamma, beta, epsilon);
}

lh_status lh_layer_norm_backward(lh_device *dev, lh_tensor *dx, lh_tensor *dgamma, lh_tensor *dbeta,
                                 const lh_tensor *dy, const lh_tensor *x, const lh_tensor *gamma,
                                 const lh_tensor *mean, const lh_tensor *rstd)
{
  static const char name[] = "layer norm backward";
  LH_TRY(lh_expect_reals(dev, name, LH_TENSORS(dx, dgamma, dbeta, dy, x, gamma, mean, rstd)));
  LH_TRY(expect_norm(name, x, dx, THREE(gamma, dgamma, dbeta), TWO(mean, rstd)));
  LH_TRY(expect_norm(name, x, dy, THREE(gamma), TWO(mean)));
  lh_charge(
      dev, LH_OPERATION_NORM, x->dtype, LAYER_NORM_BACKWARD_FLOP * (double)lh_tensor_elements(x),
      lh_sum_bytes(LH_TENSORS(dx, dx, dgamma, dgamma, dbeta, dbeta, dy, x, gamma, mean, rstd)));
  return LH_COMPUTE(dev, x, layer_norm_backward, dev, dx, dgamma, dbeta, dy, x, gamma, mean, rstd);
}

lh_status lh_rms_norm_forward(lh_device *dev, lh_tensor *y, lh_tensor *rstd, const lh_tensor *x,
                              const lh_tensor *gamma, double epsilon)
{
  static const char name[] = "RMS norm forward";
  LH_TRY(lh_expect_reals(dev, name, LH_TENSORS(y, rstd, x, gamma)));
  LH_TRY(expect_norm(name, x, y, THREE(gamma), TWO(rstd)));
  lh_charge(dev, LH_OPERATION_NORM, x->dtype, RMS_NORM_FLOP * (double)lh_tensor_elements(x),
            lh_sum_bytes(LH_TENSORS(y, rstd, x, gamma)));
  return LH_COMPUTE(dev, x, rms_norm_forward, dev, y, rstd, x, gamma, epsilon);
}

lh_status lh_rms_norm_backward(lh_device *dev, lh_tensor *dx, lh_tensor *dgamma,
                               const lh_tensor *dy, const lh_tensor *x, const lh_tensor *gamma,
                               const lh_tensor *rstd)
{
  static const char name[] = "RMS norm backward";
  LH_TRY(lh_expect_reals(dev, name, LH_TENSORS(dx, dgamma, dy, x, gamma, rstd)));
  LH_TRY(expect_norm(name, x, dx, THREE(gamma, dgamma), TWO(rstd)));
  LH_TRY(expect_norm(name, x, dy, THREE(gamma), TWO(rstd)));
  lh_charge(dev, LH_OPERATION_NORM, x->dtype,
            RMS_NORM_BACKWARD_FLOP * (double)lh_tensor_elements(x),
            lh_sum_bytes(LH_TENSORS(dx, dx, dgamma, dgamma, dy, x, gamma, rstd)));
  return LH_COMPUTE(dev, x, rms_norm_backward, dev, dx, dgamma, dy, x, gamma, rstd);
}
