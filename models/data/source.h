/* source.h -- what data sources share: files that may be compressed, and windows of bytes. */
#ifndef LH_MODELS_DATA_SOURCE_H
#define LH_MODELS_DATA_SOURCE_H

#include <stddef.h>

#include "base/json.h"
#include "models/model.h"

/* "path" of a data object, or the fallback; a relative one starts at the folder of its file.
 * malloced. */
lh_status lh_source_path(lh_json spec, const char *fallback, char **path);
/* A whole file, unpacked if it is in gzip format; *data is malloced. LH_EIO. */
lh_status lh_source_read(const char *path, unsigned char **data, size_t *size);

/* Where the shard of `rank` begins when n things are dealt out in order, as evenly as can be; that
 * of rank + 1 begins where it ends. */
static inline size_t lh_shard_begin(size_t n, size_t rank, size_t ranks)
{
  const size_t larger = n % ranks;
  return n / ranks * rank + (rank < larger ? rank : larger);
}

/* Language models read x[0..t-1] and predict x[1..t]: writes `sequences` windows of t + 1 bytes,
 * one after another in `windows`, into the batch's tokens and targets. */
lh_status lh_source_put_windows(const unsigned char *windows, lh_batch *batch);

#endif
