/* flags.h -- reading a command's arguments by its table. */
#ifndef LH_SIM_FLAGS_H
#define LH_SIM_FLAGS_H

#include "sim/cli/command.h"

/* argv: what stands behind the command's name. "--flag value" and "--flag=value"; "--" ends flags.
 * values (zeroed, command->values_size bytes) gets the flags, words the rest; *help is set when
 * --help is among them. LH_EINVAL with a suggestion. words->word and lists in values are freed with
 * lh_arguments_free. */
lh_status lh_arguments_read(const lh_command *command, int argc, char **argv, void *values,
                            lh_words *words, bool *help);
void lh_arguments_free(const lh_command *command, void *values, lh_words *words);

/* Position of text among names (NULL-terminated); LH_EINVAL lists them and suggests one. */
lh_status lh_choose(const char *what, const char *text, const char *const *names, size_t *index);

#endif
