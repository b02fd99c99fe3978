/* kinds.h -- the model kinds there are, one file each; lh_model_kinds (model.c) is their table. */
#ifndef LH_MODELS_KINDS_H
#define LH_MODELS_KINDS_H

#include "models/model.h"

extern const lh_model_kind lh_model_gpt;
extern const lh_model_kind lh_model_mlp;
extern const lh_model_kind lh_model_quadratic;
extern const lh_model_kind lh_model_gradients;
extern const lh_model_kind lh_model_shape;

#endif
