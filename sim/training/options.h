/* options.h -- one row per option: it drives reading, checking, help and echoing.
 *
 * A method (or a part such as an optimizer) states its options as a table; the values are written
 * into its own struct by offset.
 */
#ifndef LH_SIM_OPTIONS_H
#define LH_SIM_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/json.h"

typedef enum lh_option_type {
  LH_OPTION_SIZE,     /* size_t, whole number in low..high */
  LH_OPTION_DOUBLE,   /* double in low..high */
  LH_OPTION_BOOL,     /* bool */
  LH_OPTION_CHOICE,   /* size_t: position in choices */
  LH_OPTION_DTYPE,    /* lh_dtype, among the dtypes in choices if given */
  LH_OPTION_QUANTITY, /* double, a string with a unit */
  LH_OPTION_GROUP, /* an object with options of its own: choices are the "name"s, parts their tables
                    */
  LH_OPTION_RAW    /* lh_json, checked by the owner; absent: .node NULL */
} lh_option_type;

typedef struct lh_option {
  const char *name; /* as experiment files spell it */
  lh_option_type type;
  size_t offset; /* offsetof the field in the owner's options struct */
  const char
      *fallback;    /* the default as it would be written in JSON text: "500", "\"bf16\"", "true" */
  double low, high; /* inclusive; for SIZE and DOUBLE */
  bool open_low;    /* low itself is not allowed */
  lh_unit unit;     /* for QUANTITY */
  const char *const *choices; /* NULL-terminated */
  const char *help;           /* one line */
} lh_option;

/* A table ends with {.name = NULL}. Reads `object` into `values`; members that are neither in the
 * table nor in `also_allowed` (NULL-terminated, may be NULL) are errors with a suggestion. */
lh_status lh_options_read(const lh_option *table, lh_json object, const char *const *also_allowed,
                          void *values);
/* One aligned line per option: name, default, range or choices, help. */
void lh_options_print(const lh_option *table, FILE *out);
/* The same as JSON objects in an array. Caller owns the tree. */
cJSON *lh_options_json(const lh_option *table);

#endif
