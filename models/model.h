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

#include <stdbool.h>
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
  bool outside; /* not one of the repeated layers: embedding, head */
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
 * may block its rank in virtual time.
 *
 * A layer's parameters are read from its before_forward to its after_forward, and from its
 * before_backward to its gradient_ready. These spans do not overlap, except that the embedding's
 * hold the whole pass where its table serves again at the end (a tied head): its after_forward then
 * comes after the last layer's, its before_backward before the last layer's. gradient_ready comes
 * from the last layer to the first, in every model. */
struct lh_layer_hooks {
  lh_status (*before_forward)(void *ctx, size_t layer);
  lh_status (*after_forward)(void *ctx, size_t layer);
  lh_status (*before_backward)(void *ctx, size_t layer);
  /* The layer's gradient is complete for this micro-batch and is not touched again in the pass.
   * With a tied head the embedding layer's comes last of all. */
  lh_status (*gradient_ready)(void *ctx, size_t layer);
  void *ctx;
};

/* What a batch holds: so that a model and a data source can be held against each other. */
typedef struct lh_batch_form {
  size_t features; /* columns; 0: the batch holds tokens */
  size_t targets;  /* tokens and targets are 0 .. targets - 1 */
} lh_batch_form;

typedef struct lh_model lh_model;

/* One model kind: one file, one table entry. */
typedef struct lh_model_kind {
  const char *name; /* "gpt", "mlp", "quadratic", "gradients", "shape" */
  const char *title;
  const char *const *keys;  /* allowed members of the model object, NULL-terminated */
  bool explicit_problem;    /* its keys stand beside "model" in the workload; it is its own data */
  const char *default_data; /* kind of data object when the workload names none; NULL: none fits */
  /* Reads the model object; builds the layout and everything the passes need but device memory.
   * layout stays where it is for the model's life. After a failure *self is still destroyed. */
  lh_status (*create)(lh_json spec, lh_dtype compute_dtype, void **self, lh_layout *layout);
  void (*destroy)(void *self);
  /* Largest sequence_tokens, the default as well; NULL: a sequence has one position. */
  size_t (*context)(const void *self);
  /* NULL: the kind reads no data. */
  lh_batch_form (*batch_form)(const void *self);
  /* Ranks that the problem is stated for, 0: any number; NULL: any number. */
  size_t (*ranks)(const void *self);
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
/* The same for a kind that is known already, from a node that may hold other members too; the
 * caller checks the keys. */
lh_status lh_model_new_of_kind(const lh_model_kind *kind, lh_json spec, const char *precision,
                               lh_model **model);
/* By name; NULL if there is no such kind. */
const lh_model_kind *lh_model_kind_find(const char *name);
/* Members that any model object may have beside its kind's own ("kind", "title", "source", ...). */
extern const char *const lh_model_common_keys[];
/* An object holding nothing but the kind's own keys and the common ones, or an error. `more`
 * (NULL-terminated, may be NULL) are further allowed keys. */
lh_status lh_model_check_keys(const lh_model_kind *kind, lh_json spec, const char *const *more);
void lh_model_free(lh_model *model);

/* Tensors per layer: `parameters` (layers entries) as views of one flat tensor of layout.elements.
 */
void lh_model_layer_views(const lh_model *model, const lh_tensor *flat, lh_tensor *views);

/* Fills parameters (one flat tensor per layer): the given start, or normal values drawn from (seed,
 * parameter number): equal on every rank. Not charged. */
lh_status lh_model_start(const lh_model *model, lh_tensor *parameters, uint64_t seed);

/* FLOPs of forward and backward of one sequence, as the operations charge them for matrix products
 * and attention; 0 where the kind does not say. */
double lh_model_flop_per_sequence(const lh_model *model, size_t sequence_tokens);

/* Adds the gradient of the mean loss of the batch, times `scale`, to gradients (layers entries).
 * The summed loss and its count are added to *loss. hooks may be NULL. */
lh_status lh_model_gradient(const lh_model *model, lh_device *device, const lh_tensor *parameters,
                            lh_tensor *gradients, const lh_batch *batch, double scale,
                            const struct lh_layer_hooks *hooks, lh_loss *loss);
/* Forward only; adds to *loss too. The caller pauses charging if it must cost nothing. */
lh_status lh_model_evaluate(const lh_model *model, lh_device *device, const lh_tensor *parameters,
                            const lh_batch *batch, lh_loss *loss);

lh_status lh_batch_alloc(const lh_model *model, lh_device *device, size_t sequences,
                         size_t sequence_tokens, lh_batch *batch);
void lh_batch_free(lh_batch *batch);

#endif
