/* models/data.h -- where micro-batches come from. A source is read once, is constant afterwards and
 * is shared by all ranks of the process; which examples a micro-batch holds is a pure function of
 * (seed, rank, world size, index), so nothing has to be carried along or saved.
 */
#ifndef LH_MODELS_DATA_H
#define LH_MODELS_DATA_H

#include "models/model.h"

typedef struct lh_data lh_data;

/* One kind of source: one file in models/data/, one table entry. */
typedef struct lh_data_kind {
  const char *name; /* "text", "images", "synthetic" */
  const char *title;
  const char *const *keys; /* beside "kind"; NULL-terminated */
  /* After a failure *self is still destroyed. */
  lh_status (*create)(lh_json spec, void **self);
  void (*destroy)(void *self);
  lh_batch_form (*form)(const void *self);
  /* Writes micro-batch `index` (0, 1, ...) of rank into batch's tensors. */
  lh_status (*fill)(const void *self, uint64_t seed, size_t rank, size_t world_size, size_t index,
                    lh_batch *batch);
  /* Validation batch number `index`; *end is set when there is none with that number. Batch 0
   * exists, or it is an error. */
  lh_status (*fill_validation)(const void *self, size_t index, lh_batch *batch, bool *end);
  double (*entropy)(const void *self); /* NULL: not known */
} lh_data_kind;

extern const lh_data_kind *const lh_data_kinds[]; /* NULL-terminated */

/* Reads a data object. Relative paths start at the folder of the file that names them.
 *   {"kind": "text", "path": FILE or FOLDER, "files": [NAME, ...], "validation_fraction": 0.1}:
 * bytes of the file, or of the folder's files in name order ("files": only these); .gz is read
 * through. Hidden and binary files and second names of a file are passed over. The last part is the
 * validation set; each rank trains on its own contiguous shard of the rest, on windows at drawn
 * offsets. Default path: Debian's package `fortunes`.
 *   {"kind": "images", "path": FOLDER, "scale": "standard"}: IDX files as Fashion-MNIST ships them,
 * plain or .gz. Pixels have mean 0 and deviation 1 over the training set, or with "unit" are in
 * [0, 1]. An epoch is a permutation of the training set that the ranks take in turns, without the
 * few examples that do not divide. Default path: Debian's package `dataset-fashion-mnist`.
 *   {"kind": "synthetic", "states": 32, "entropy_bits": 2.0, "seed": 1}: a Markov chain over bytes
 * whose entropy rate is known exactly; every rank reads its own endless text.
 * Missing files: LH_EINVAL with the path and how to get them. */
lh_status lh_data_new(lh_json spec, lh_data **data);
/* The named kind with all its defaults. */
lh_status lh_data_new_default(const char *kind, lh_data **data);
void lh_data_free(lh_data *data);
const lh_data_kind *lh_data_kind_of(const lh_data *data);
lh_batch_form lh_data_form(const lh_data *data);
lh_status lh_data_fill(const lh_data *data, uint64_t seed, size_t rank, size_t world_size,
                       size_t index, lh_batch *batch);
lh_status lh_data_fill_validation(const lh_data *data, size_t index, lh_batch *batch, bool *end);
/* Entropy rate in nats per token where it is known (synthetic), NAN otherwise. */
double lh_data_entropy(const lh_data *data);

#endif
