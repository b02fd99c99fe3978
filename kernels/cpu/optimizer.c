/* Optimizer steps, fused. Scalars are computed in double and rounded once. Once per variant: see
 * variants.h. */
#ifndef LH_VARIANT
#include "kernels/check.h"

/* 1 - beta^step by repeated squaring in extended precision: the maths library's pow differs between
 * processors in its last bit. */
static double one_minus_power(double beta, uint64_t step)
{
  long double power = 1.0L, square = beta;
  for (; step; step >>= 1) {
    if (step & 1)
      power *= square;
    square *= square;
  }
  return (double)(1.0L - power);
}

#define LH_TEMPLATE "kernels/cpu/optimizer.c"
#include "kernels/cpu/variants.h"
#else

static lh_status NAME(adamw)(lh_device *dev, lh_tensor *param, lh_tensor *m_tensor,
                             lh_tensor *v_tensor, const lh_tensor *grad,
                             const lh_adamw_config *config, uint64_t step)
{
  (void)dev;
  const size_t n = lh_tensor_elements(param);
  const double lr = config->learning_rate;
  const real keep = (real)(1.0 - lr * config->weight_decay);
  const real one_minus_b1 = (real)(1.0 - config->beta1);
  const real b2 = (real)config->beta2, one_minus_b2 = (real)(1.0 - config->beta2);
  const real c2 = (real)sqrt(one_minus_power(config->beta2, step));
  const real rate = (real)(lr / one_minus_power(config->beta1, step));
  const real epsilon = (real)config->epsilon;
  real *p = param->data, *m = m_tensor->data, *v = v_tensor->data;
  const real *g = grad->data;
  ELEMENTWISE
  for (size_t i = 0; i < n; i++) {
    const real mi = m[i] + one_minus_b1 * (g[i] - m[i]);
    const real vi = b2 * v[i] + (one_minus_b2 * g[i]) * g[i];
#if LH_REAL_BITS == 32
    const real root = sqrtf(vi);
#else
    const real root = sqrt(vi);
#endif
    const real denominator = root / c2 + epsilon;
    p[i] = p[i] * keep - rate * (mi / denominator);
    m[i] = mi;
    v[i] = vi;
  }
  return LH_OK;
}

/* The gradient with coupled decay; a decay of 0 must not touch it (0 * inf). */
static inline real NAME(decayed)(real g, real p, real decay)
{
  return decay == 0 ? g : g + decay * p;
}

static void NAME(sgd_plain)(real *p, const real *g, size_t n, real lr, real decay)
{
  ELEMENTWISE
  for (size_t i = 0; i < n; i++)
    p[i] = p[i] - lr * NAME(decayed)(g[i], p[i], decay);
}

static void NAME(sgd_momentum)(real *p, real *buffer, const real *g, size_t n,
                               const lh_sgd_config *config)
{
  const real lr = (real)config->learning_rate, momentum = (real)config->momentum;
  const real decay = (real)config->weight_decay;
  const bool first = config->first, nesterov = config->nesterov;
  ELEMENTWISE
  for (size_t i = 0; i < n; i++) {
    const real gi = NAME(decayed)(g[i], p[i], decay);
    const real b = first ? gi : momentum * buffer[i] + gi;
    const real d = nesterov ? gi + momentum * b : b;
    buffer[i] = b;
    p[i] = p[i] - lr * d;
  }
}

static lh_status NAME(sgd)(lh_device *dev, lh_tensor *param, lh_tensor *buffer,
                           const lh_tensor *grad, const lh_sgd_config *config)
{
  (void)dev;
  const size_t n = lh_tensor_elements(param);
  if (config->momentum == 0.0)
    NAME(sgd_plain)
  (param->data, grad->data, n, (real)config->learning_rate, (real)config->weight_decay);
  else NAME(sgd_momentum)(param->data, buffer->data, grad->data, n, config);
  return LH_OK;
}

static lh_status NAME(gossip_momentum)(lh_device *dev, lh_tensor *delta_tensor,
                                       lh_tensor *phi_tensor, const lh_tensor *mean_delta,
                                       const lh_tensor *mean_phi, double alpha, double beta,
                                       double gamma)
{
  (void)dev;
  const size_t n = lh_tensor_elements(phi_tensor);
  const real a = (real)alpha, b = (real)beta, c = (real)gamma;
  const real *md = mean_delta->data, *mp = mean_phi->data;
  real *delta = delta_tensor->data, *phi = phi_tensor->data;
  ELEMENTWISE
  for (size_t i = 0; i < n; i++) {
    delta[i] = (a * delta[i] + b * md[i]) + c * (mp[i] - phi[i]);
    phi[i] = phi[i] + delta[i];
  }
  return LH_OK;
}

void NAME(lh_cpu_optimizer)(lh_operations *ops);
void NAME(lh_cpu_optimizer)(lh_operations *ops)
{
  ops->adamw = NAME(adamw);
  ops->sgd = NAME(sgd);
  ops->gossip_momentum = NAME(gossip_momentum);
}
#endif
