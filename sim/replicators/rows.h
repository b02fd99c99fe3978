/* rows.h -- the Random and Striding replicators: share some rows of a residual, the same on every replica.
 *
 * For one tensor m, read as n rows of equal length:
 *
 *     rows <- the rows of this step (drawn, strided, or given); no indices travel
 *     v <- m[rows];  m[rows] <- 0
 *     all-reduce (mean) of v over the group
 *     q <- 0, q[rows] <- v
 *
 * Random: n is the first dimension; floor(rate n) rows, of the smallest scores of (seed, step). Striding:
 * n = the largest divisor of the elements that is at most `chunk`; a = max(int(rate n), 1) rows, ceil(n / a)
 * apart, from an offset that follows the calls ("code") or the steps ("fixed").
 *
 * Wire:    2 (R-1)/R * b * (elements of the rows) per rank, b bytes of the value wire.
 * Memory:  the list of rows, and v while a tensor is in turn.
 * Source:  From et al. 2025, arXiv:2502.06728 and its code; page flexdemo, "Replicators".
 */
#ifndef LH_SIM_REPLICATORS_ROWS_H
#define LH_SIM_REPLICATORS_ROWS_H

#include "kernels/ops.h"
#include "sim/cluster/cluster.h"
#include "sim/training/options.h"

enum { LH_STRIDING_CODE, LH_STRIDING_FIXED };

typedef struct lh_rows_options {
  double rate; /* in (0, 1] */
  size_t seed;
  lh_json given; /* Random: a list of rows for each step, repeated; absent: drawn */
  size_t chunk;
  size_t rule; /* Striding: LH_STRIDING_CODE or LH_STRIDING_FIXED */
} lh_rows_options;

/* The rows of one step, in ascending order or, striding by the code, as they come. */
typedef struct lh_row_list {
  int32_t *row;
  size_t n;
} lh_row_list;

/* How many of n rows a step shares, at most. */
size_t lh_random_rows(const lh_rows_options *options, size_t n);
/* Rows of a tensor of `elements` under Striding, and those of a step. `row` has room for all of them. */
size_t lh_striding_height(const lh_rows_options *options, size_t elements);
size_t lh_striding_rows(const lh_rows_options *options, size_t height, uint64_t calls,
                        uint64_t step, int32_t *row);

/* One tensor's turn. */
typedef struct lh_rows_turn {
  const lh_rows_options *options;
  bool strides;
  lh_rank *rank;
  lh_group *group;
  lh_dtype wire;
  bool signs;       /* v is replaced by its sign before the exchange */
  size_t height;    /* rows of the tensor */
  size_t length;    /* elements of a row */
  uint64_t calls;   /* so far */
  lh_tensor rows;   /* (k) I32, of the step */
  lh_tensor values; /* (k * length) */
  lh_pending *pending;
} lh_rows_turn;

/* For a tensor shaped like `like`. LH_EINVAL where given rows are not among its rows. */
lh_status lh_rows_turn_init(lh_rows_turn *turn, const lh_tensor *like);
void lh_rows_turn_fini(lh_rows_turn *turn);
/* Takes the step's rows (from 1) out of m and starts their all-reduce. */
lh_status lh_rows_begin(lh_rows_turn *turn, lh_tensor *m, uint64_t step);
/* Waits for it; q is 0 but for the rows' means. */
lh_status lh_rows_end(lh_rows_turn *turn, lh_tensor *q);

#endif
