/* set.h -- "--set path=value" and the short ways to name a platform, a workload or a method. */
#ifndef LH_SIM_SET_H
#define LH_SIM_SET_H

#include "base/json.h"
#include "sim/cli/command.h"

/* Applies each "path=value". The path's first part must be one of roots (NULL-terminated). A value
 * that is JSON is used as such, else as a string. LH_EINVAL with a suggestion. */
lh_status lh_set_all(cJSON *tree, const lh_words *settings, const char *const *roots);

/* Sets `member` of the tree to what a flag's text names; NULL: leaves it. A platform (key "file") names its
 * file, so that paths inside it start there; a workload or a method may be the whole object in a file of
 * its own. */
lh_status lh_put_named(cJSON *tree, const char *flag, const char *text, const char *member,
                       const char *key);

/* "{...}" is read as JSON; anything else becomes {key: text}. The caller owns *object. */
lh_status lh_named_object(const char *flag, const char *text, const char *key, cJSON **object);

#endif
