/* models/model.h -- a loss and its gradient, layer by layer, with hooks where a method may act.
 *
 * A model owns no parameters. A method owns them, one flat tensor per layer, and lends them for a
 * pass; the layout says which parameter tensor lies where. Layers are in forward order and are the
 * units that sharded methods gather and reduce.
 *
 * A model knows no network and no rank: data comes as a batch.
 */
#ifndef LH_MODELS_MODEL_H
#define LH_MODELS_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/status.h"
#include "kernels/device.h"
#include "kernels/ops.h"
#include "kernels/tensor.h"

/* One named tensor inside its layer's flat storage. */
typedef struct lh_parameter {
  char *name;    /* "block3.attention.qkv.weight" */
  size_t layer;  /* index into the layers */
  size_t offset; /* elements from the start of the layer */
  size_t elements;
  int dims;
  size_t shape[LH_MAX_DIMS];
  double deviation; /* of the initial normal values; 0: filled with `fill` */
  double fill;
} lh_parameter;

typedef struct lh_layer {
  char *name; /* "embedding", "block3", "head" */
  size_t first_parameter, parameters;
  size_t offset; /* elements from the start of the model */
  size_t elements;
} lh_layer;

typedef struct lh_layout {
  size_t elements, layers, parameters;
  lh_layer *layer;
  lh_parameter *parameter; /* layer by layer */
  lh_dtype dtype;          /* of parameters and gradients: F32, or F64 under "precision": "f64" */
} lh_layout;

/* One micro-batch on one rank. Which members are used depends on the model. */
typedef struct lh_batch {
  size_t sequences, sequence_tokens; /* rows and positions; an image batch has one position */
  lh_tensor tokens, targets;         /* I32 (sequences * sequence_tokens) */
  lh_tensor features;                /* (sequences, width), for classifiers */
  size_t rank, index;                /* whose micro-batch, and its number; for given problems */
} lh_batch;

/* Called around each layer; any may be NULL. A non-OK answer ends the pass with that status. A hook
 * may block its rank in virtual time. */
struct lh_layer_hooks {
  lh_status (*before_forward)(void *ctx, size_t layer);
  lh_status (*after_forward)(void *ctx, size_t layer);
  lh_status (*before_backward)(void *ctx, size_t layer);
  /* The layer's gradient is complete for this micro-batch and is not touched again in the pass.
   * With a tied head the embedding layer's comes last of all. */
  lh_status (*gradient_ready)(void *ctx, size_t layer);
  void *ctx;
};

typedef struct lh_model lh_model;

/* One model kind: one file, one table entry. */
typedef struct lh_model_kind {
  const char *name; /* "gpt", "mlp", "quadratic", "gradients", "shape" */
  const char *title;
  const char *const *keys; /* allowed members of the model object, NULL-terminated, with help */
  /* Reads the model object; builds the layout and everything the passes need but device memory. */
  lh_status (*create)(lh_json spec, lh_dtype compute_dtype, void **self, lh_layout *layout);
  void (*destroy)(void *self);
  /* Tensors of one batch of this model on a device (allocated by lh_batch_alloc). */
  lh_status (*batch_alloc)(const void *self, lh_device *device, size_t sequences,
                           size_t sequence_tokens, lh_batch *batch);
  /* Adds gradient * scale to gradients when they are not NULL; activations live in workspace
   * tensors for the length of the call. *loss is added to. */
  lh_status (*pass)(const void *self, lh_device *device, const lh_tensor *parameters,
                    lh_tensor *gradients, const lh_batch *batch, double scale,
                    const struct lh_layer_hooks *hooks, lh_loss *loss);
  /* FLOPs of forward and backward per sequence, for reports and checks; may be NULL. */
  double (*flop_per_sequence)(const void *self, size_t sequence_tokens);
  /* Sets the given starting values; NULL: values are drawn as the layout says. */
  lh_status (*start)(const void *self, lh_tensor *parameters);
} lh_model_kind;

extern const lh_model_kind *const lh_model_kinds[]; /* NULL-terminated */

struct lh_model {
  const lh_model_kind *kind;
  void *self;
  lh_layout layout;
  lh_dtype compute_dtype; /* BF16 under "precision": "bf16": activations and prices, never values */
};

/* Reads a model object {"kind": "gpt", ...}. precision: "f32", "bf16" or "f64". The layout of GPT
 * is embedding (token and position tables), block0.., head (final norm, and the output matrix if
 * not tied). Free with lh_model_free. */
lh_status lh_model_new(lh_json spec, const char *precision, lh_model **model);
void lh_model_free(lh_model *model);

/* Tensors per layer: `parameters` (layers entries) as views of one flat tensor of layout.elements.
 */
void lh_model_layer_views(const lh_model *model, const lh_tensor *flat, lh_tensor *views);

/* Fills parameters (one flat tensor per layer): the given start, or normal values drawn from (seed,
 * parameter number): equal on every rank. Not charged. */
lh_status lh_model_start(const lh_model *model, lh_tensor *parameters, uint64_t seed);

/* Adds the gradient of the mean loss of the batch, times `scale`, to gradients (layers entries).
 * *loss gets the summed loss and its count. hooks may be NULL. */
lh_status lh_model_gradient(const lh_model *model, lh_device *device, const lh_tensor *parameters,
                            lh_tensor *gradients, const lh_batch *batch, double scale,
                            const struct lh_layer_hooks *hooks, lh_loss *loss);
/* Forward only. The caller pauses charging if it must cost nothing. */
lh_status lh_model_evaluate(const lh_model *model, lh_device *device, const lh_tensor *parameters,
                            const lh_batch *batch, lh_loss *loss);

lh_status lh_batch_alloc(const lh_model *model, lh_device *device, size_t sequences,
                         size_t sequence_tokens, lh_batch *batch);
void lh_batch_free(lh_batch *batch);

#endif
