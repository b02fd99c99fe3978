/* set.h -- "--set path=value" and the short ways to name a platform, a workload or a method. */
#ifndef LH_SIM_SET_H
#define LH_SIM_SET_H

#include "base/json.h"
#include "sim/cli/command.h"

/* Applies each "path=value". The path's first part must be one of roots (NULL-terminated). A value
 * that is JSON is used as such, else as a string. LH_EINVAL with a suggestion. */
lh_status lh_set_all(cJSON *tree, const lh_words *settings, const char *const *roots);

/* "{...}" is read as JSON; anything else becomes {key: text}. The caller owns *object. */
lh_status lh_named_object(const char *flag, const char *text, const char *key, cJSON **object);

#endif
