/* json.h -- checked reading of JSON with one clear error per mistake, over cJSON.
 *
 * A lh_json is a small value (not a pointer): a node, the file it came from and the path to it.
 * Every error reads FILE: PATH: found WHAT, allowed: WHAT [; did you mean "..."?] and has status
 * LH_EINVAL. cJSON is an implementation detail of json.c; writing results uses it too.
 *
 * Ownership: lh_json_document owns the tree, the nodes borrow from it. Strings handed out live as
 * long as the document.
 */
#ifndef LH_BASE_JSON_H
#define LH_BASE_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/units.h"

typedef struct lh_json_document lh_json_document;

typedef struct lh_json {
  const lh_json_document *document; /* file name for messages */
  const cJSON *node;                /* NULL: absent */
  const cJSON *parent;              /* where an absent member was looked for */
  const char *key;                  /* its name; a string that outlives this value (a literal) */
} lh_json;

/* Reads a whole file, or text (`name` stands for the file in messages). A syntax error names line
 * and column. Duplicate keys are errors. *document must be freed with lh_json_document_free. */
lh_status lh_json_read_file(const char *path, lh_json_document **document);
lh_status lh_json_read_text(const char *name, const char *text, lh_json_document **document);
/* Takes ownership of an existing tree (built or merged by the caller). */
lh_status lh_json_adopt(const char *name, cJSON *tree, lh_json_document **document);
void lh_json_document_free(lh_json_document *document);

lh_json lh_json_root(const lh_json_document *document);
const char *lh_json_file(lh_json node);
/* Folder of the document's file with a final '/', "" if it has none: relative files start there. */
const char *lh_json_folder(lh_json node);
/* "methods[1].top_k"; "(top level)" for the root. Returns buffer. */
const char *lh_json_path(lh_json node, char *buffer, size_t size);

/* An error at this node: "FILE: PATH: " + the text. */
#define lh_json_fail(...) (lh_json_fail_record(__VA_ARGS__), LH_EINVAL) /* (node, format, ...) */
void lh_json_fail_record(lh_json node, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Member of an object; .node is NULL if absent (also when `object` is absent). The path of a
 * present node is found by walking the tree, only when an error is written. */
lh_json lh_json_get(lh_json object, const char *key);
lh_json lh_json_at(lh_json array, size_t index);
size_t lh_json_size(lh_json array_or_object);
bool lh_json_present(lh_json node);

/* LH_EINVAL unless node is an object whose keys are all among allowed (NULL-terminated); the
 * message suggests the nearest allowed key. */
lh_status lh_json_check_keys(lh_json object, const char *const *allowed);
lh_status lh_json_expect_object(lh_json node);
lh_status lh_json_expect_array(lh_json node);
/* "schema": "longhaul/KIND/1" when present must name `kind`. */
lh_status lh_json_check_schema(lh_json root, const char *kind);

/* Required values: absent is an error too. Ranges are inclusive; use INFINITY / SIZE_MAX for "any".
 */
lh_status lh_json_string(lh_json node, const char **value);
lh_status lh_json_bool(lh_json node, bool *value);
lh_status lh_json_double(lh_json node, double low, double high, double *value); /* a pure number */
lh_status lh_json_size_value(lh_json node, size_t low, size_t high,
                             size_t *value); /* whole number */
lh_status lh_json_uint64(lh_json node,
                         uint64_t *value); /* a number up to 2^53 or a decimal string */
lh_status lh_json_quantity(lh_json node, lh_unit unit,
                           double *value); /* "10Gbps"; bare number: error */
/* One of names (NULL-terminated); *index is its position. */
lh_status lh_json_choice(lh_json node, const char *const *names, size_t *index);
/* Array of numbers; *values is malloced (n doubles), the caller frees it. */
lh_status lh_json_doubles(lh_json node, double **values, size_t *n);

/* The same with a default when the node is absent. */
lh_status lh_json_string_or(lh_json node, const char *fallback, const char **value);
lh_status lh_json_bool_or(lh_json node, bool fallback, bool *value);
lh_status lh_json_double_or(lh_json node, double low, double high, double fallback, double *value);
lh_status lh_json_size_or(lh_json node, size_t low, size_t high, size_t fallback, size_t *value);
lh_status lh_json_uint64_or(lh_json node, uint64_t fallback, uint64_t *value);
lh_status lh_json_quantity_or(lh_json node, lh_unit unit, double fallback, double *value);
lh_status lh_json_choice_or(lh_json node, const char *const *names, size_t fallback, size_t *index);

/* Editing trees before they are read: used for "file" + overrides, sweeps and --set. */
/* Deep-merges `over` onto `base` (objects member by member, everything else replaced). */
lh_status lh_json_merge(cJSON *base, const cJSON *over);
/* Sets a dotted path ("network.bandwidth", "methods.0.top_k"), making objects on the way. `value`
 * is taken over. Text that is valid JSON is used as JSON, else as a string: see
 * lh_json_parse_value. */
lh_status lh_json_set_path(cJSON *root, const char *path, cJSON *value);
cJSON *lh_json_parse_value(const char *text);
const cJSON *lh_json_find_path(const cJSON *root, const char *path); /* NULL: absent */
/* Canonical text: keys sorted, no spaces, numbers in shortest round-trip form. Caller frees. */
char *lh_json_canonical(const cJSON *tree);
/* The same in the tree's own order: one line, for result files. NaN and infinities become null. */
char *lh_json_print(const cJSON *tree);

#endif
