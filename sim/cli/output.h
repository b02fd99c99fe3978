/* output.h -- rows for people, for programs and for spreadsheets. */
#ifndef LH_SIM_OUTPUT_H
#define LH_SIM_OUTPUT_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "base/status.h"

typedef struct lh_heading {
  const char *column, *text;
} lh_heading;

/* rows: an array of flat objects. json: one row a line; csv: all columns, `columns` first (may be
 * NULL); neither: a table of `headings` (ends with {NULL}), then of the members whose name has a dot
 * (swept paths). LH_ENOMEM. */
lh_status lh_print_rows(const cJSON *rows, bool json, bool csv, const char *const *columns,
                        const lh_heading *headings);

/* One row: JSON, CSV, or a line per member. */
lh_status lh_print_row(const cJSON *row, bool json, bool csv, const char *const *columns);

/* A tree on one line. The second takes it over. */
lh_status lh_print_json(const cJSON *tree);
lh_status lh_print_own_json(cJSON *tree);

#endif
