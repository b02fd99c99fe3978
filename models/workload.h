/* models/workload.h -- a model, its data, batch and sequence sizes, precision: the "workload"
 * object of an experiment file. Knows all its keys; unknown ones are errors with a suggestion.
 *
 *   {"model": "gpt2-124m", "micro_batch_sequences": 8, "micro_batches": 4, "sequence_tokens": 1024,
 *    "precision": "bf16"}
 *   {"model": {"kind": "gpt", "depth": 4, "width": 128, "heads": 4}, "data": {"kind": "text", ...},
 * ...}
 *   {"model": "quadratic", "curvature": [...], "start": [...], "optimum": [[...], ...]}
 *   {"model": "gradients", "start": [...], "gradients": [[[...], ...], ...]}
 * A model name that is no kind is looked up in models/catalogue/NAME.json. Keys of the model may
 * stand beside "model", or in {"model": {"name": NAME, ...}}: they override the entry's, and are the
 * only place for the explicit problems' keys.
 *
 * Defaults: micro_batch_sequences 8 (64 images, 1 for explicit problems), micro_batches 1,
 * sequence_tokens the model's context, precision f32, validation_batches 16, data by the model's
 * kind: the default text, or Fashion-MNIST.
 */
#ifndef LH_MODELS_WORKLOAD_H
#define LH_MODELS_WORKLOAD_H

#include "models/data.h"
#include "models/model.h"

typedef struct lh_workload {
  char *name; /* the model's name as given, for result rows */
  lh_model *model;
  lh_data *data;                /* NULL where the problem is its own data, or in cost mode */
  size_t micro_batch_sequences; /* per rank */
  size_t micro_batches;         /* per rank and optimizer step */
  size_t sequence_tokens;
  char precision[8];          /* "f32", "bf16", "f64" */
  size_t validation_batches;  /* at most so many per evaluation */
  double *micro_batch_time_s; /* given virtual time of one micro-batch, NULL: from the profile */
  size_t micro_batch_times;   /* 1, or one per rank */
  bool explicit_problem;      /* quadratic, gradients: counted in steps, no tokens */
} lh_workload;

/* catalogue_folder: where NAME.json is looked up. with_data false (cost mode): data is not opened.
 * Free with lh_workload_fini, also
 * after a failure. */
lh_status lh_workload_read(lh_json node, const char *catalogue_folder, bool with_data,
                           lh_workload *workload);
void lh_workload_fini(lh_workload *workload);

/* LH_EINVAL, at `node` (the workload object), unless rows given per rank (optimum, samples,
 * gradients, micro_batch_time) are for exactly so many ranks. */
lh_status lh_workload_check_ranks(const lh_workload *workload, lh_json node, size_t ranks);

/* Tokens (for images: examples) of one optimizer step of one rank. */
size_t lh_workload_tokens_per_step(const lh_workload *workload);

/* Bytes of host memory that `ranks` replicas will need in train mode: parameters, gradients and
 * `state_bytes_per_parameter` of optimizer and method state, plus one shared activation workspace.
 */
double lh_workload_host_bytes(const lh_workload *workload, size_t ranks,
                              double state_bytes_per_parameter);

/* Fills the next micro-batch for a rank from the data source, or marks (rank, index) for an
 * explicit problem. On a device that computes nothing it does nothing. */
lh_status lh_workload_fill(const lh_workload *workload, uint64_t seed, size_t rank,
                           size_t world_size, size_t index, lh_batch *batch);

#endif
