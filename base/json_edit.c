/* json_edit.c -- the part of json.h that edits and writes trees. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_syntax.h"
#include "base/text.h"

/* ---- merging and paths ----------------------------------------------------------------------- */

lh_status lh_json_merge(cJSON *base, const cJSON *over)
{
  for (const cJSON *member = over->child; member; member = member->next) {
    cJSON *present = cJSON_GetObjectItemCaseSensitive(base, member->string);
    if (present && cJSON_IsObject(present) && cJSON_IsObject(member)) {
      LH_TRY(lh_json_merge(present, member));
      continue;
    }
    cJSON *copy = cJSON_Duplicate(member, 1);
    const bool placed =
        copy && (present ? cJSON_ReplaceItemInObjectCaseSensitive(base, member->string, copy)
                         : cJSON_AddItemToObject(base, member->string, copy));
    if (!placed) {
      cJSON_Delete(copy);
      return lh_fail(LH_ENOMEM, "%s: no memory to merge it", member->string);
    }
  }
  return LH_OK;
}

#define KEY_SIZE 128

/* Takes the next part of a dotted path; false at its end or when it is too long or empty. */
static bool next_part(const char **path, char part[KEY_SIZE])
{
  const size_t n = strcspn(*path, ".");
  if (n == 0 || n >= KEY_SIZE)
    return false;
  memcpy(part, *path, n);
  part[n] = '\0';
  *path += n + ((*path)[n] == '.');
  return true;
}

static bool is_index(const char *part)
{
  return *part && strspn(part, "0123456789") == strlen(part) && strlen(part) < 9;
}

static cJSON *member_of(const cJSON *node, const char *part)
{
  if (cJSON_IsArray(node))
    return is_index(part) ? cJSON_GetArrayItem(node, atoi(part)) : NULL;
  return cJSON_GetObjectItemCaseSensitive(node, part);
}

const cJSON *lh_json_find_path(const cJSON *root, const char *path)
{
  char part[KEY_SIZE];
  const cJSON *node = root;
  while (node && *path)
    node = next_part(&path, part) ? member_of(node, part) : NULL;
  return node;
}

/* Puts `value` under `part` of node (object or array), whatever was there; takes it over. */
static lh_status place(cJSON *node, const char *part, cJSON *value, const char *whole)
{
  cJSON *present = member_of(node, part);
  bool placed = false;
  if (cJSON_IsArray(node)) {
    if (present)
      placed = cJSON_ReplaceItemViaPointer(node, present, value);
    else if (is_index(part) && atoi(part) == cJSON_GetArraySize(node))
      placed = cJSON_AddItemToArray(node, value);
    else {
      cJSON_Delete(value);
      return lh_fail(LH_EINVAL, "%s: found \"%s\", allowed: an index in 0..%d", whole, part,
                     cJSON_GetArraySize(node));
    }
  } else
    placed = present ? cJSON_ReplaceItemInObjectCaseSensitive(node, part, value)
                     : cJSON_AddItemToObject(node, part, value);
  if (placed)
    return LH_OK;
  cJSON_Delete(value);
  return lh_fail(LH_ENOMEM, "%s: no memory to set it", whole);
}

lh_status lh_json_set_path(cJSON *root, const char *path, cJSON *value)
{
  char part[KEY_SIZE];
  const char *rest = path;
  if (!value)
    return lh_fail(LH_ENOMEM, "%s: no memory to set it", path);
  for (cJSON *node = root;;) {
    if (!next_part(&rest, part) || (rest[-1] == '.' && !*rest)) {
      cJSON_Delete(value);
      return lh_fail(LH_EINVAL, "found \"%s\", allowed: a path such as platform.network.bandwidth",
                     path);
    }
    if (!*rest)
      return place(node, part, value, path);
    cJSON *next = member_of(node, part);
    if (!next) {
      const lh_status status = place(node, part, next = cJSON_CreateObject(), path);
      if (status != LH_OK) {
        cJSON_Delete(value);
        return status;
      }
    }
    if (!cJSON_IsObject(next) && !cJSON_IsArray(next)) {
      cJSON_Delete(value);
      return lh_fail(LH_EINVAL, "%s: \"%s\" is a plain value and has no members", path, part);
    }
    node = next;
  }
}

cJSON *lh_json_parse_value(const char *text)
{
  const char *at, *reason;
  cJSON *value = lh_json_scan(text, &at, &reason) ? cJSON_ParseWithOpts(text, NULL, 1) : NULL;
  return value ? value : cJSON_CreateString(text);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_string(const char *s, lh_text *out)
{
  lh_text_append_bytes(out, "\"", 1);
  for (; *s; s++) {
    const unsigned char c = (unsigned char)*s;
    if (c == '"' || c == '\\')
      lh_text_append(out, "\\%c", c);
    else if (c < 0x20)
      lh_text_append(out, "\\u%04x", c);
    else
      lh_text_append_bytes(out, s, 1);
  }
  lh_text_append_bytes(out, "\"", 1);
}

static int by_key(const void *a, const void *b)
{
  return strcmp((*(const cJSON *const *)a)->string, (*(const cJSON *const *)b)->string);
}

static void write_node(const cJSON *node, bool sorted, lh_text *out);

static void write_members(const cJSON *node, bool sorted, lh_text *out)
{
  const size_t n = (size_t)cJSON_GetArraySize(node);
  const cJSON **member = calloc(n ? n : 1, sizeof *member);
  if (!member) {
    out->failed = true;
    return;
  }
  size_t i = 0;
  for (const cJSON *item = node->child; item && i < n; item = item->next)
    member[i++] = item;
  if (sorted && cJSON_IsObject(node))
    qsort(member, n, sizeof *member, by_key);
  for (i = 0; i < n && member[i]; i++) {
    if (i)
      lh_text_append_bytes(out, ",", 1);
    if (cJSON_IsObject(node)) {
      write_string(member[i]->string, out);
      lh_text_append_bytes(out, ":", 1);
    }
    write_node(member[i], sorted, out);
  }
  free(member);
}

static void write_node(const cJSON *node, bool sorted, lh_text *out)
{
  char number[40];
  if (cJSON_IsString(node))
    write_string(node->valuestring, out);
  else if (cJSON_IsNumber(node))
    lh_text_append(out, "%s",
                   isfinite(node->valuedouble)
                       ? lh_format_number(number, sizeof number, node->valuedouble)
                       : "null");
  else if (cJSON_IsObject(node) || cJSON_IsArray(node)) {
    lh_text_append_bytes(out, cJSON_IsObject(node) ? "{" : "[", 1);
    write_members(node, sorted, out);
    lh_text_append_bytes(out, cJSON_IsObject(node) ? "}" : "]", 1);
  } else
    lh_text_append(out, "%s", cJSON_IsTrue(node) ? "true" : cJSON_IsFalse(node) ? "false" : "null");
}

static char *written(const cJSON *tree, bool sorted)
{
  lh_text out = {0};
  write_node(tree, sorted, &out);
  if (out.failed)
    lh_text_free(&out);
  return out.data;
}

char *lh_json_canonical(const cJSON *tree)
{
  return written(tree, true);
}

char *lh_json_print(const cJSON *tree)
{
  return written(tree, false);
}
