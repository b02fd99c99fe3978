/* table.h -- tables for people: aligned columns, numbers to the right, units that read well. */
#ifndef LH_ANALYSIS_TABLE_H
#define LH_ANALYSIS_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/status.h"

/* Filled cell by cell, row by row; the first `columns` cells are the headings. {.columns = n} is an
 * empty one. Out of memory is sticky and told by the print. */
typedef struct lh_table {
  size_t columns, cells, capacity;
  char **cell;
  bool failed;
} lh_table;

void lh_table_add(lh_table *table, const char *text);
/* Text of a result column in the form that reads best, by the unit in its name: "step_s" in seconds,
 * "..._bytes..." in bytes, "..._Bps" in bytes per second. */
void lh_table_add_value(lh_table *table, const char *column, const char *text);
/* Columns whose cells are all empty are left out. A column of numbers is set to the right. */
lh_status lh_table_print(const lh_table *table, FILE *out);
void lh_table_fini(lh_table *table);

/* The form of lh_table_add_value; returns buffer. */
const char *lh_pretty(const char *column, const char *text, char *buffer, size_t size);

#endif
