/* source.c -- {"file": ..., overrides}: looked for beside the document that names it, then among
 * the shipped platforms. */
#include "sim/platform/source.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define MAX_DEPTH 8 /* files that name files: more than this is a circle */

static int is_json_file(const struct dirent *entry)
{
  const char *dot = strrchr(entry->d_name, '.');
  return dot && strcmp(dot, ".json") == 0;
}

const char *lh_json_files(const char *folder, char *buffer, size_t size)
{
  struct dirent **entries;
  size_t length = 0;
  buffer[0] = '\0';
  const int n = scandir(folder, &entries, is_json_file, alphasort);
  for (int i = 0; i < n; i++) {
    char *name = entries[i]->d_name;
    *strrchr(name, '.') = '\0';
    if (length < size)
      length += (size_t)snprintf(buffer + length, size - length, "%s%s", i ? ", " : "", name);
    free(entries[i]);
  }
  if (n >= 0)
    free(entries);
  return buffer;
}

/* Where the shipped platforms are: the folder that holds the devices' one. */
static const char *platform_folder(const char *device_folder, char *buffer, size_t size)
{
  const char *slash = strrchr(device_folder, '/');
  if (slash && strcmp(slash, "/devices") == 0)
    snprintf(buffer, size, "%.*s", (int)(slash - device_folder), device_folder);
  else
    snprintf(buffer, size, "%s/..", device_folder);
  return buffer;
}

/* The first existing one of the places where a file may be; NULL: none, or no memory. */
static char *find_file(lh_json node, const char *file, const char *shipped)
{
  char *places[] = {
      file[0] == '/' ? lh_string_copy(file) : lh_string_format("%s%s", lh_json_folder(node), file),
      lh_string_format("%s/%s", shipped, file), lh_string_format("%s/%s.json", shipped, file)};
  char *found = NULL;
  for (size_t i = 0; i < sizeof places / sizeof *places; i++)
    if (!found && places[i] && lh_file_exists(places[i]))
      found = places[i];
    else
      free(places[i]);
  return found;
}

static lh_status merge(lh_json base, lh_json over, lh_json_document **document)
{
  cJSON *tree = cJSON_Duplicate(base.node, true), *overrides = cJSON_Duplicate(over.node, true);
  char *name = NULL;
  lh_status status = LH_OK;
  cJSON_DeleteItemFromObjectCaseSensitive(overrides, "file");
  if (tree && overrides) {
    name = overrides->child ? lh_string_format("%s + overrides", lh_json_file(base))
                            : lh_string_copy(lh_json_file(base));
    status = lh_json_merge(tree, overrides);
  }
  if (!name)
    status = lh_fail(LH_ENOMEM, "platform: no memory");
  if (status == LH_OK)
    status = lh_json_adopt(name, tree, document);
  else
    cJSON_Delete(tree);
  cJSON_Delete(overrides);
  free(name);
  return status;
}

static lh_status source(lh_json node, const char *device_folder, size_t depth,
                        lh_json_document **document)
{
  *document = NULL;
  const lh_json file = lh_json_get(node, "file");
  if (!lh_json_present(file))
    return LH_OK;
  const char *name;
  LH_TRY(lh_json_string(file, &name));
  if (depth == MAX_DEPTH)
    return lh_json_fail(file,
                        "found a file that names a file, %d times over, allowed: less (is "
                        "it a circle?)",
                        MAX_DEPTH);
  char shipped[4096], names[2048];
  platform_folder(device_folder, shipped, sizeof shipped);
  char *path = find_file(node, name, shipped);
  if (!path)
    return lh_json_fail(file,
                        "found \"%s\", which does not exist, allowed: a path seen from the "
                        "folder of this file, or one of the shipped platforms: %s",
                        name, lh_json_files(shipped, names, sizeof names));
  lh_json_document *base = NULL, *inner = NULL;
  lh_status status = lh_json_read_file(path, &base);
  free(path);
  if (status == LH_OK)
    status = lh_json_expect_object(lh_json_root(base));
  if (status == LH_OK)
    status = source(lh_json_root(base), device_folder, depth + 1, &inner);
  if (status == LH_OK)
    status = merge(lh_json_root(inner ? inner : base), node, document);
  lh_json_document_free(inner);
  lh_json_document_free(base);
  return status;
}

lh_status lh_platform_source(lh_json node, const char *device_folder, lh_json_document **document)
{
  return source(node, device_folder, 0, document);
}
