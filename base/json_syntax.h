/* json_syntax.h -- is this JSON (RFC 8259), and if not, where and why not.
 *
 * cJSON builds the trees; it is lenient in places and vague about where it gave up, and people edit
 * these files by hand.
 */
#ifndef LH_BASE_JSON_SYNTAX_H
#define LH_BASE_JSON_SYNTAX_H

#include <stdbool.h>

/* True for one valid value with nothing but white space around it. Otherwise *at is the offending
 * character (the final NUL if the text ends too early) and *reason a literal in words. */
bool lh_json_scan(const char *text, const char **at, const char **reason);

#endif
