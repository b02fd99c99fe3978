/* results.h -- the files an experiment leaves, as analysis reads them. Knows no simulator.
 *
 * results/scenarios.csv: one tidy row per scenario; results/curves.csv: scenario, step, tokens,
 * virtual_s, train_loss, validation_loss, inter_node_bytes. RFC 4180, first line names the columns.
 */
#ifndef LH_ANALYSIS_RESULTS_H
#define LH_ANALYSIS_RESULTS_H

#include <stddef.h>

#include "base/status.h"

typedef struct lh_frame {
  size_t columns, rows;
  char **name; /* (columns) */
  char **cell; /* (rows * columns), row-major, text as written */
} lh_frame;

lh_status lh_frame_read_csv(const char *path, lh_frame *frame);
void lh_frame_fini(lh_frame *frame);
/* Column number, or SIZE_MAX. */
size_t lh_frame_column(const lh_frame *frame, const char *name);
const char *lh_frame_text(const lh_frame *frame, size_t row, size_t column);
double lh_frame_number(const lh_frame *frame, size_t row,
                       size_t column); /* NAN if empty or no number */

#endif
