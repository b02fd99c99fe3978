/* explicit.h -- what the problems stated outright in JSON share: rows of numbers, start, layers.
 *
 * Every mistake is an error at its JSON path: rows of unequal length, counts that do not match,
 * values that are not finite.
 */
#ifndef LH_MODELS_EXPLICIT_H
#define LH_MODELS_EXPLICIT_H

#include "models/model.h"

/* Rows of `width` numbers for each rank, taken in turn and cyclically. */
typedef struct lh_rows {
  size_t ranks, width;
  size_t *first;  /* (ranks + 1): rank r has rows first[r] .. first[r + 1] - 1 */
  double *values; /* (first[ranks], width) */
} lh_rows;

/* [[...], ...]: one row per rank. */
lh_status lh_rows_read_one_each(lh_json node, size_t width, lh_rows *rows);
/* [[[...], ...], ...]: per rank a list of rows. */
lh_status lh_rows_read_lists(lh_json node, size_t width, lh_rows *rows);
/* [...] for all ranks (one rank's rows are kept), or one row per rank. */
lh_status lh_rows_read_shared(lh_json node, size_t width, lh_rows *rows);
void lh_rows_fini(lh_rows *rows);
/* Row number `index` of a rank; a table of one rank serves all when `shared`. LH_EINVAL for a rank
 * that has none; `name` is the key, for the message. */
lh_status lh_rows_find(const lh_rows *rows, const char *name, bool shared, size_t rank,
                       size_t index, const double **row);

/* Where the problem starts, and how its elements fall into layers. */
typedef struct lh_given {
  size_t elements;
  double *start;
  const lh_layout *layout;
} lh_given;

/* Reads "start", "shape" and "layers". One parameter per layer: with a shape and no layers a single
 * one of that shape; with "layers": "rows" one 1-D parameter per row of a 2-D shape; with a list
 * of counts, one 1-D parameter each. */
lh_status lh_given_read(lh_json spec, lh_given *given, lh_layout *layout);
void lh_given_fini(lh_given *given);
lh_status lh_given_start(const lh_given *given, lh_tensor *parameters);

/* A device copy of a layer's part of a row, in the parameters' dtype; free with lh_tensor_free. */
lh_status lh_given_upload(const lh_given *given, lh_device *device, size_t layer, const double *row,
                          lh_tensor *tensor);

#endif
