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
  LH_OPTION_DTYPE,    /* lh_dtype, one of the names in choices */
  LH_OPTION_QUANTITY, /* double in base units; a string with a unit */
  LH_OPTION_PART,     /* an object whose "name" picks one of parts; see below */
  LH_OPTION_RAW       /* lh_json, checked by the owner; absent: .node is NULL */
} lh_option_type;

typedef struct lh_option lh_option;

/* One choice of a part: {"name": "adamw", "learning_rate": ...}. The part's values are a struct whose
 * first member is a size_t, the position of the chosen name; offsets in `options` are relative to it. */
typedef struct lh_option_part {
  const char *name;
  const lh_option *options; /* may be NULL: no options of its own */
  const char *help;
} lh_option_part;

struct lh_option {
  const char *name; /* as experiment files spell it */
  lh_option_type type;
  size_t offset; /* offsetof the field in the owner's options struct */
  /* The default as it would be written in JSON ("500", "\"bf16\"", "true",
   * "{\"name\": \"adamw\"}"); NULL: none (RAW only). */
  const char *fallback;
  double low, high;            /* SIZE and DOUBLE: inclusive */
  bool open_low, open_high;    /* DOUBLE: the limit itself is not allowed */
  lh_unit unit;                /* QUANTITY */
  const char *const *choices;  /* CHOICE, DTYPE: NULL-terminated */
  const lh_option_part *parts; /* PART: ends with {.name = NULL} */
  const char *help;            /* one line */
};

/* A table ends with {.name = NULL}. Reads `object` into `values`; members that are neither in the table
 * nor in `also_allowed` (NULL-terminated, may be NULL) are errors with a suggestion. A part that is
 * given without "name", or with the default's name, keeps the default's other values. */
lh_status lh_options_read(const lh_option *table, lh_json object, const char *const *also_allowed,
                          void *values);

/* One aligned line per option: name, default, what is allowed, help; parts are indented below. */
void lh_options_print(const lh_option *table, FILE *out);
/* The same as an array of JSON objects; the caller owns the tree. NULL: no memory. */
cJSON *lh_options_json(const lh_option *table);

#endif
