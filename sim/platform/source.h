/* source.h -- where a platform's JSON comes from: files and overrides. */
#ifndef LH_SIM_PLATFORM_SOURCE_H
#define LH_SIM_PLATFORM_SOURCE_H

#include "base/json.h"

/* If `node` has a member "file", reads that file (which may name another one) and merges node's
 * other members onto it into a new document, which the caller frees. Otherwise *document is NULL:
 * node is complete. */
lh_status lh_platform_source(lh_json node, const char *device_folder, lh_json_document **document);

/* The names of the .json files in a folder, without the ending, "a, b, c", sorted. Returns buffer.
 */
const char *lh_json_files(const char *folder, char *buffer, size_t size);

#endif
