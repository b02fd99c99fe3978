/* hooks.h -- calling a method's hooks from a pass. */
#ifndef LH_MODELS_HOOKS_H
#define LH_MODELS_HOOKS_H

#include "models/model.h"

static inline lh_status lh_before_forward(const struct lh_layer_hooks *hooks, size_t layer)
{
  return hooks->before_forward ? hooks->before_forward(hooks->ctx, layer) : LH_OK;
}

static inline lh_status lh_after_forward(const struct lh_layer_hooks *hooks, size_t layer)
{
  return hooks->after_forward ? hooks->after_forward(hooks->ctx, layer) : LH_OK;
}

static inline lh_status lh_before_backward(const struct lh_layer_hooks *hooks, size_t layer)
{
  return hooks->before_backward ? hooks->before_backward(hooks->ctx, layer) : LH_OK;
}

static inline lh_status lh_gradient_ready(const struct lh_layer_hooks *hooks, size_t layer)
{
  return hooks->gradient_ready ? hooks->gradient_ready(hooks->ctx, layer) : LH_OK;
}

#endif
