/* catalogue.h -- the named models: models/catalogue/NAME.json, one file each.
 *
 *   {"schema": "longhaul/model/1", "title": ..., "source": where size and shape are from,
 *    "parameters": exact count, "kind": "gpt" or "shape", ... the kind's keys}
 * "parameters" (and "tensors", where a source states it) are checked against the layout whenever
 * the model is built.
 */
#ifndef LH_MODELS_CATALOGUE_H
#define LH_MODELS_CATALOGUE_H

#include <stdio.h>

#include "base/json.h"
#include "base/status.h"

/* Names in byte order, without ".json": a NULL-terminated array; free with lh_catalogue_free_names.
 * A folder that cannot be read is LH_EINVAL. */
lh_status lh_catalogue_names(const char *folder, char ***names);
void lh_catalogue_free_names(char **names);

/* Reads an entry; LH_EINVAL with a suggestion for a name that is neither an entry nor a kind of
 * model, at `where` (a node that named it; may be absent). */
lh_status lh_catalogue_load(const char *folder, const char *name, lh_json where,
                            lh_json_document **document);

/* The table of all entries, then the kinds; with a name, one entry with its layers and tensors. */
lh_status lh_catalogue_print(const char *folder, const char *name, FILE *out);

#endif
