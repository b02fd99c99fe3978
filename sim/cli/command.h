/* command.h -- one command of the program: one file, one table entry.
 *
 * The table of commands drives dispatch and help; each command's table of flags drives parsing, help
 * and the suggestion for a misspelt flag. Commands return a status; only main prints errors.
 */
#ifndef LH_SIM_COMMAND_H
#define LH_SIM_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct lh_words {
  size_t n;
  const char **word;
} lh_words;

typedef enum lh_flag_type {
  LH_FLAG_SWITCH, /* bool: set when given */
  LH_FLAG_TEXT,   /* const char *: the latest */
  LH_FLAG_SIZE,   /* size_t, 0 or more */
  LH_FLAG_COUNT,  /* size_t, 1 or more: 0 is a flag that was not given */
  LH_FLAG_NUMBER, /* double, 0 or more */
  LH_FLAG_LIST    /* lh_words: all, in order */
} lh_flag_type;

typedef struct lh_flag {
  const char *name; /* "--set" */
  lh_flag_type type;
  size_t offset;     /* of the field in the command's values */
  const char *value; /* what it is called in the help: "PATH=VALUE"; NULL for a switch */
  const char *help;  /* one line */
} lh_flag;

typedef struct lh_command {
  const char *name, *arguments, *summary;
  const char *details; /* further help; may be NULL */
  size_t least_words, most_words;
  const lh_flag *flags;        /* ends with {.name = NULL} */
  size_t values_size;          /* of the struct that flags write into */
  const char *const *examples; /* pairs: command line, what it does; ends with NULL */
  /* `values` starts zeroed, with the flags written into it. */
  lh_status (*run)(const void *values, const lh_words *words);
} lh_command;

extern const lh_command lh_command_run, lh_command_predict, lh_command_collective,
    lh_command_platform, lh_command_plot, lh_command_check, lh_command_methods, lh_command_models,
    lh_command_devices, lh_command_collectives;
extern const lh_command *const lh_commands[]; /* NULL-terminated, in the order of the help */

/* Every command whose result is a table offers these. */
#define LH_FLAG_JSON(type)                                                                         \
  {                                                                                                \
    "--json", LH_FLAG_SWITCH, offsetof(type, json), NULL, "print JSON"                             \
  }
#define LH_FLAG_CSV(type)                                                                          \
  {                                                                                                \
    "--csv", LH_FLAG_SWITCH, offsetof(type, csv), NULL, "print CSV"                                \
  }

#endif
