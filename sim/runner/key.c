#include "sim/runner/key.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/data_path.h"
#include "base/text.h"

struct lh_key_cache {
  size_t entries;
  struct entry {
    char *path;
    char hash[33];
  } * entry;
};

lh_key_cache *lh_key_cache_new(void)
{
  return calloc(1, sizeof(lh_key_cache));
}

void lh_key_cache_free(lh_key_cache *cache)
{
  for (size_t i = 0; cache && i < cache->entries; i++)
    free(cache->entry[i].path);
  free(cache ? cache->entry : NULL);
  free(cache);
}

static lh_status hash_path(lh_key_cache *cache, const char *path, char hash[33]);

static int not_hidden(const struct dirent *entry)
{
  return entry->d_name[0] != '.';
}

/* Names and contents of a folder's files, in the order of their names. */
static lh_status hash_folder(lh_key_cache *cache, const char *path, char hash[33])
{
  struct dirent **names;
  const int n = scandir(path, &names, not_hidden, NULL);
  if (n < 0)
    return lh_fail(LH_EIO, "%s: the folder can't be read", path);
  for (int i = 1; i < n; i++) /* insertion sort by bytes: alphasort follows the locale */
    for (int j = i; j > 0 && strcmp(names[j - 1]->d_name, names[j]->d_name) > 0; j--) {
      struct dirent *kept = names[j];
      names[j] = names[j - 1];
      names[j - 1] = kept;
    }
  lh_text all = {0};
  lh_status status = LH_OK;
  for (int i = 0; i < n; i++) {
    char *file = lh_string_format("%s/%s", path, names[i]->d_name), inner[33];
    if (status == LH_OK)
      status = file ? hash_path(cache, file, inner) : lh_fail(LH_ENOMEM, "%s: no memory", path);
    if (status == LH_OK)
      lh_text_append(&all, "%s %s\n", names[i]->d_name, inner);
    free(file);
    free(names[i]);
  }
  free(names);
  lh_hash_hex(all.data ? all.data : "", all.length, hash);
  lh_text_free(&all);
  return status;
}

static lh_status hash_contents(lh_key_cache *cache, const char *path, char hash[33])
{
  struct stat found;
  if (stat(path, &found) != 0) {
    strcpy(hash, "absent");
    return LH_OK;
  }
  if (S_ISDIR(found.st_mode))
    return hash_folder(cache, path, hash);
  char *data;
  size_t size;
  LH_TRY(lh_file_read(path, &data, &size));
  lh_hash_hex(data, size, hash);
  free(data);
  return LH_OK;
}

static lh_status hash_path(lh_key_cache *cache, const char *path, char hash[33])
{
  for (size_t i = 0; i < cache->entries; i++)
    if (strcmp(cache->entry[i].path, path) == 0) {
      strcpy(hash, cache->entry[i].hash);
      return LH_OK;
    }
  LH_TRY(hash_contents(cache, path, hash));
  struct entry *larger = realloc(cache->entry, (cache->entries + 1) * sizeof *larger);
  if (!larger)
    return lh_fail(LH_ENOMEM, "%s: no memory to remember its hash", path);
  cache->entry = larger;
  larger[cache->entries].path = lh_string_copy(path);
  if (!larger[cache->entries].path)
    return lh_fail(LH_ENOMEM, "%s: no memory to remember its hash", path);
  strcpy(larger[cache->entries++].hash, hash);
  return LH_OK;
}

/* ---- the files that a tree names ------------------------------------------------------------- */

/* Keys whose strings name files: relative to the document's folder, or, for a bare name, NAME.json
 * in one of the program's data folders. */
static const struct reference {
  const char *key;
  const char *data_folder; /* NULL: paths only */
  bool tree;               /* the file is JSON that may name further files */
} references[] = {
    {"file", "platforms", true},           {"path", NULL, false},
    {"device", "platforms/devices", true}, {"base", "platforms/devices", true},
    {"model", "models/catalogue", true},
};

static const struct reference *reference_of(const cJSON *node)
{
  for (size_t i = 0; i < sizeof references / sizeof *references; i++)
    if (node->string && strcmp(node->string, references[i].key) == 0 && cJSON_IsString(node))
      return &references[i];
  return NULL;
}

static char *existing(const char *folder, const char *separator, const char *name,
                      const char *ending)
{
  char *path = lh_string_format("%s%s%s%s", folder, separator, name, ending);
  if (path && lh_file_exists(path))
    return path;
  free(path);
  return NULL;
}

/* The existing file that is meant, malloced; NULL: none, and then reading it will say so. */
static char *resolve(const struct reference *reference, const char *name, const char *folder)
{
  char data[4096];
  if (!*name)
    return NULL;
  const char *const start = name[0] == '/' ? "" : folder;
  char *path = existing(start, "", name, "");
  if (!path)
    path = reference->tree ? existing(start, "", name, ".json") : existing("", "", name, "");
  if (!reference->data_folder || path)
    return path;
  lh_data_path(reference->data_folder, data, sizeof data);
  path = existing(data, "/", name, "");
  return path ? path : existing(data, "/", name, ".json");
}

static lh_status add_files(const cJSON *tree, const char *folder, lh_key_cache *cache,
                           lh_text *text, int depth);

static lh_status add_file(const struct reference *reference, const char *name, const char *folder,
                          lh_key_cache *cache, lh_text *text, int depth)
{
  char hash[33];
  char *path = resolve(reference, name, folder);
  if (!path)
    return LH_OK;
  lh_status status = hash_path(cache, path, hash);
  if (status == LH_OK)
    lh_text_append(text, "\n%s %s", name, hash);
  lh_json_document *inner = NULL;
  if (status == LH_OK && reference->tree && depth < 4 && lh_json_read_file(path, &inner) == LH_OK) {
    const lh_json root = lh_json_root(inner);
    status = add_files(root.node, lh_json_folder(root), cache, text, depth + 1);
    lh_json_document_free(inner);
  }
  free(path);
  return status;
}

static lh_status add_files(const cJSON *tree, const char *folder, lh_key_cache *cache,
                           lh_text *text, int depth)
{
  for (const cJSON *member = tree->child; member; member = member->next) {
    const struct reference *reference = reference_of(member);
    if (reference)
      LH_TRY(add_file(reference, member->valuestring, folder, cache, text, depth));
    LH_TRY(add_files(member, folder, cache, text, depth));
  }
  return LH_OK;
}

lh_status lh_scenario_key(lh_json scenario, lh_key_cache *cache, char key[33])
{
  lh_text text = {0};
  char *canonical = lh_json_canonical(scenario.node);
  cJSON *sorted = canonical ? cJSON_Parse(canonical) : NULL; /* files in the order of their keys */
  lh_status status = LH_OK;
  lh_text_append(&text, "%s\n%s", LH_VERSION, canonical ? canonical : "");
  if (sorted)
    status = add_files(sorted, lh_json_folder(scenario), cache, &text, 0);
  if (status == LH_OK && (!sorted || text.failed))
    status = lh_fail(LH_ENOMEM, "%s: no memory to hash a scenario", lh_json_file(scenario));
  if (status == LH_OK)
    lh_hash_hex(text.data, text.length, key);
  cJSON_Delete(sorted);
  free(canonical);
  lh_text_free(&text);
  return status;
}
