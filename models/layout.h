/* layout.h -- building a model's layout: layers in forward order, tensors one after another inside.
 *
 * Offsets are given out here and nowhere else, so they are contiguous by construction: a layer
 * starts where the one before ends, a tensor where the one before ends.
 */
#ifndef LH_MODELS_LAYOUT_H
#define LH_MODELS_LAYOUT_H

#include "models/model.h"

/* One tensor to add to the layer that was opened last. */
typedef struct lh_parameter_spec {
  int dims;
  size_t shape[LH_MAX_DIMS];
  double deviation; /* of the initial normal values; 0: filled with `fill` */
  double fill;
} lh_parameter_spec;

/* Opens the next layer. LH_ENOMEM only; the layout stays valid for lh_layout_fini. */
lh_status lh_layout_open_layer(lh_layout *layout, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The open layer is not one of the repeated ones (lh_layer.outside). */
void lh_layout_mark_outside(lh_layout *layout);
/* Adds a tensor named by the format to the open layer; *index (may be NULL) is its number in the
 * whole model. */
lh_status lh_layout_add(lh_layout *layout, const lh_parameter_spec *spec, size_t *index,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Frees what the layout owns and empties it. */
void lh_layout_fini(lh_layout *layout);

/* The tensor `parameter` as a view of its layer's flat storage, with its own shape. */
lh_tensor lh_layout_view(const lh_layout *layout, const lh_tensor *layers, size_t parameter);

#endif
