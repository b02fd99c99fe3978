/* models/data.h -- where micro-batches come from. A source is read once, is constant afterwards and
 * is shared by all ranks of the process; which examples a micro-batch holds is a pure function of
 * (seed, rank, world size, index), so nothing has to be carried along or saved.
 */
#ifndef LH_MODELS_DATA_H
#define LH_MODELS_DATA_H

#include "models/model.h"

typedef struct lh_data lh_data;

/* One kind of source: one file, one table entry. */
typedef struct lh_data_kind {
  const char *name; /* "text", "images", "synthetic", "none" */
  const char *title;
  const char *const *keys;
  lh_status (*create)(lh_json spec, void **self);
  void (*destroy)(void *self);
  /* Writes micro-batch `index` (0, 1, ...) of rank into batch's tensors. */
  lh_status (*fill)(const void *self, uint64_t seed, size_t rank, size_t world_size, size_t index,
                    lh_batch *batch);
  /* Validation batch number `index`; *end is set when there is none with that number. */
  lh_status (*fill_validation)(const void *self, size_t index, lh_batch *batch, bool *end);
} lh_data_kind;

extern const lh_data_kind *const lh_data_kinds[];

/* Reads a data object:
 *   {"kind": "text", "path": FILE or FOLDER, "validation_fraction": 0.1}: bytes of the file, or of
 * all files of the folder in name order; the last part is the validation set; each rank trains on
 * its own contiguous shard, windows at drawn offsets.
 *   {"kind": "images", "path": FOLDER}: IDX files as Fashion-MNIST ships them (plain or .gz).
 *   {"kind": "synthetic", "states": 32, "entropy_bits": 2.0}: a Markov chain over bytes whose
 * entropy rate is known exactly; lh_data_entropy tells it. Missing files: LH_EINVAL with the path
 * and how to get them. */
lh_status lh_data_new(lh_json spec, lh_data **data);
void lh_data_free(lh_data *data);
lh_status lh_data_fill(const lh_data *data, uint64_t seed, size_t rank, size_t world_size,
                       size_t index, lh_batch *batch);
lh_status lh_data_fill_validation(const lh_data *data, size_t index, lh_batch *batch, bool *end);
/* Entropy rate in nats per token where it is known (synthetic), NAN otherwise. */
double lh_data_entropy(const lh_data *data);

#endif
