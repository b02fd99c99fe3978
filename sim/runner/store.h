/* store.h -- results on disk: one file per finished scenario, and the tables made of them.
 *
 *   results/rows/KEY.json   {"row": {...}, "curve": [...]}, written whole or not at all
 *   results/scenarios.csv   one row per scenario, in grid order
 *   results/curves.csv      one row per recorded step
 * The tables are functions of the grid and the stored rows, so that neither the number of workers
 * nor interruptions show in them.
 */
#ifndef LH_SIM_STORE_H
#define LH_SIM_STORE_H

#include <stdio.h>

#include "sim/runner/grid.h"

/* Stores a scenario's result; curve may be NULL. LH_EIO: nothing is left behind. */
lh_status lh_store_put(const char *results_folder, const char *key, const cJSON *row,
                       const cJSON *curve);
/* *stored is {"row", "curve"}, the caller's; NULL if there is none or it can't be read as such. */
void lh_store_get(const char *results_folder, const char *key, cJSON **stored);
/* Has it been run to an end that need not be tried again? A "failed" row is tried again. */
bool lh_store_finished(const char *results_folder, const char *key);
/* Removes what a killed run left half-written. */
void lh_store_sweep_up(const char *results_folder);

/* Row of a point as it stands in scenarios.csv: "scenario", the result's members, then the grid's
 * columns. NULL: not stored. The caller owns it. */
cJSON *lh_store_row(const char *results_folder, const lh_grid_point *point);

/* Puts "scenario": the key's first digits, at the front of a row. */
void lh_store_name_row(cJSON *row, const char *key);

/* Writes both tables from what is stored. */
lh_status lh_store_write_tables(const char *results_folder, const lh_grid *grid);

/* CSV (RFC 4180, lines end in \n) of an array of flat objects: the union of their members in order
 * of first appearance, or `columns` (NULL-terminated, may be NULL) first. Caller frees. */
char *lh_csv_of(const cJSON *rows, const char *const *columns);

extern const char *const lh_row_columns[]; /* of scenarios.csv, NULL-terminated */

#endif
