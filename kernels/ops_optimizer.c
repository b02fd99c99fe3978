#include "kernels/check.h"
#include "kernels/ops.h"

lh_status lh_adamw(lh_device *dev, lh_tensor *param, lh_tensor *m, lh_tensor *v,
                   const lh_tensor *grad, const lh_adamw_config *config, uint64_t step)
{
  const size_t n = lh_tensor_elements(param);
  LH_TRY(lh_expect_vectors(dev, "adamw", n, LH_TENSORS(param, m, v, grad)));
  LH_EXPECT(step >= 1, "adamw: steps count from 1");
  if (config->amsgrad)
    return lh_fail(LH_EUNSUPPORTED, "adamw: amsgrad is not offered yet");
  lh_charge(dev, LH_OPERATION_OPTIMIZER, param->dtype, 14.0 * (double)n,
            lh_sum_bytes(LH_TENSORS(param, param, m, m, v, v, grad)));
  return LH_COMPUTE(dev, param, adamw, dev, param, m, v, grad, config, step);
}

lh_status lh_sgd(lh_device *dev, lh_tensor *param, lh_tensor *buffer, const lh_tensor *grad,
                 const lh_sgd_config *config)
{
  const size_t n = lh_tensor_elements(param);
  const lh_tensor *kept = config->momentum == 0.0 ? NULL : buffer;
  LH_TRY(lh_expect_vectors(dev, "sgd", n, LH_TENSORS(param, kept, grad)));
  LH_EXPECT(config->momentum == 0.0 || buffer, "sgd: momentum without a buffer");
  const double flop = 2.0 + (config->weight_decay != 0.0 ? 2.0 : 0.0) + (kept ? 2.0 : 0.0) +
                      (kept && config->nesterov ? 2.0 : 0.0);
  const lh_tensor *old = config->first ? NULL : kept;
  lh_charge(dev, LH_OPERATION_OPTIMIZER, param->dtype, flop * (double)n,
            lh_sum_bytes(LH_TENSORS(param, param, grad, kept, old)));
  return LH_COMPUTE(dev, param, sgd, dev, param, buffer, grad, config);
}

lh_status lh_gossip_momentum(lh_device *dev, lh_tensor *delta, lh_tensor *phi,
                             const lh_tensor *mean_delta, const lh_tensor *mean_phi, double alpha,
                             double beta, double gamma)
{
  const size_t n = lh_tensor_elements(phi);
  LH_TRY(
      lh_expect_vectors(dev, "gossip momentum", n, LH_TENSORS(delta, phi, mean_delta, mean_phi)));
  lh_charge(dev, LH_OPERATION_OPTIMIZER, phi->dtype, 7.0 * (double)n,
            lh_sum_bytes(LH_TENSORS(delta, delta, phi, phi, mean_delta, mean_phi)));
  return LH_COMPUTE(dev, phi, gossip_momentum, dev, delta, phi, mean_delta, mean_phi, alpha, beta,
                    gamma);
}
