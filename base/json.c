#include "base/json.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_syntax.h"
#include "base/text.h"

struct lh_json_document {
  char *name, *folder;
  cJSON *tree;
};

/* ---- reading --------------------------------------------------------------------------------- */

static char *folder_of(const char *path)
{
  const char *slash = strrchr(path, '/');
  return lh_string_format("%.*s", slash ? (int)(slash - path) + 1 : 0, path);
}

lh_status lh_json_adopt(const char *name, cJSON *tree, lh_json_document **document)
{
  lh_json_document *made = calloc(1, sizeof *made);
  if (made) {
    made->name = lh_string_copy(name);
    made->folder = folder_of(name);
    made->tree = tree;
  }
  if (!made || !made->name || !made->folder || !tree) {
    if (!made)
      cJSON_Delete(tree);
    lh_json_document_free(made);
    return lh_fail(LH_ENOMEM, "%s: no memory for its contents", name);
  }
  *document = made;
  return LH_OK;
}

void lh_json_document_free(lh_json_document *document)
{
  if (!document)
    return;
  cJSON_Delete(document->tree);
  free(document->name);
  free(document->folder);
  free(document);
}

static lh_status syntax_error(const char *name, const char *text, const char *at,
                              const char *reason)
{
  size_t line = 1, column = 1;
  for (const char *c = text; c < at; c++) {
    column = *c == '\n' ? 1 : column + 1;
    line += *c == '\n';
  }
  const size_t rest = strcspn(at, "\r\n");
  char near[40] = "";
  if (rest)
    snprintf(near, sizeof near, " at `%.*s`", rest < 24 ? (int)rest : 24, at);
  return lh_fail(LH_EINVAL, "%s: line %zu, column %zu: not valid JSON%s: %s", name, line, column,
                 near, reason);
}

static const cJSON *duplicate_key(const cJSON *node)
{
  for (const cJSON *member = node->child; member; member = member->next) {
    if (cJSON_IsObject(node))
      for (const cJSON *other = node->child; other != member; other = other->next)
        if (strcmp(other->string, member->string) == 0)
          return member;
    const cJSON *found = duplicate_key(member);
    if (found)
      return found;
  }
  return NULL;
}

lh_status lh_json_read_text(const char *name, const char *text, lh_json_document **document)
{
  *document = NULL;
  const char *at, *reason;
  if (!lh_json_scan(text, &at, &reason))
    return syntax_error(name, text, at, reason);
  cJSON *tree = cJSON_ParseWithOpts(text, NULL, 1);
  if (!tree)
    return lh_fail(LH_EINVAL, "%s: a string in it is not valid UTF-16 in its \\u escapes", name);
  LH_TRY(lh_json_adopt(name, tree, document));
  const cJSON *twice = duplicate_key(tree);
  if (!twice)
    return LH_OK;
  const lh_status status = lh_json_fail((lh_json){*document, twice, NULL, NULL},
                                        "the key stands here twice, allowed: once");
  lh_json_document_free(*document);
  *document = NULL;
  return status;
}

lh_status lh_json_read_file(const char *path, lh_json_document **document)
{
  *document = NULL;
  char *text;
  size_t size;
  LH_TRY(lh_file_read(path, &text, &size));
  lh_status status;
  if (strlen(text) != size)
    status = lh_fail(LH_EINVAL, "%s: not JSON: it contains a zero byte at %zu", path, strlen(text));
  else
    status = lh_json_read_text(path, text, document);
  free(text);
  return status;
}

/* ---- where a node is ------------------------------------------------------------------------- */

lh_json lh_json_root(const lh_json_document *document)
{
  return (lh_json){.document = document, .node = document->tree};
}

const char *lh_json_file(lh_json node)
{
  return node.document->name;
}

const char *lh_json_folder(lh_json node)
{
  return node.document->folder;
}

/* Writes the path from `here` down to `target` behind the text so far; false: not below. */
static bool path_to(const cJSON *here, const cJSON *target, lh_text *path)
{
  if (here == target)
    return true;
  const size_t length = path->length;
  size_t index = 0;
  for (const cJSON *member = here->child; member; member = member->next, index++) {
    if (cJSON_IsArray(here))
      lh_text_append(path, "[%zu]", index);
    else
      lh_text_append(path, "%s%s", length ? "." : "", member->string);
    if (path_to(member, target, path))
      return true;
    if (path->data)
      path->data[path->length = length] = '\0';
  }
  return false;
}

const char *lh_json_path(lh_json node, char *buffer, size_t size)
{
  lh_text path = {0};
  const cJSON *target = node.node ? node.node : node.parent;
  if (target)
    path_to(node.document->tree, target, &path);
  if (!node.node && node.key)
    lh_text_append(&path, "%s%s", path.length ? "." : "", node.key);
  snprintf(buffer, size, "%s", path.length ? path.data : "(top level)");
  lh_text_free(&path);
  return buffer;
}

void lh_json_fail_record(lh_json node, const char *format, ...)
{
  char path[256], *text = NULL;
  va_list arguments;
  va_start(arguments, format);
  const int length = vasprintf(&text, format, arguments);
  va_end(arguments);
  lh_fail_record("%s: %s: %s", node.document->name, lh_json_path(node, path, sizeof path),
                 length < 0 ? "no memory for the reason" : text);
  if (length >= 0)
    free(text);
}

/* What stands there, in words: for "found ...". */
static const char *described(lh_json node, char *buffer, size_t size)
{
  const cJSON *n = node.node;
  char number[32];
  if (!n)
    snprintf(buffer, size, "nothing");
  else if (cJSON_IsString(n))
    snprintf(buffer, size, strlen(n->valuestring) > 60 ? "\"%.60s...\"" : "\"%s\"", n->valuestring);
  else if (cJSON_IsNumber(n))
    snprintf(buffer, size, "%s", lh_format_number(number, sizeof number, n->valuedouble));
  else if (cJSON_IsArray(n))
    snprintf(buffer, size, "an array of %d", cJSON_GetArraySize(n));
  else
    snprintf(buffer, size, "%s",
             cJSON_IsObject(n)  ? "an object"
             : cJSON_IsTrue(n)  ? "true"
             : cJSON_IsFalse(n) ? "false"
                                : "null");
  return buffer;
}

static lh_status wrong(lh_json node, const char *allowed)
{
  char found[96];
  return lh_json_fail(node, "found %s, allowed: %s", described(node, found, sizeof found), allowed);
}

/* ---- members --------------------------------------------------------------------------------- */

lh_json lh_json_get(lh_json object, const char *key)
{
  if (!object.node)
    return object; /* still absent: the error names the outermost thing that is missing */
  return (lh_json){.document = object.document,
                   .node = cJSON_GetObjectItemCaseSensitive(object.node, key),
                   .parent = object.node,
                   .key = key};
}

lh_json lh_json_at(lh_json array, size_t index)
{
  if (!array.node)
    return array;
  const cJSON *item = cJSON_IsArray(array.node) ? array.node->child : NULL;
  for (; item && index; index--)
    item = item->next;
  return (lh_json){.document = array.document, .node = item, .parent = array.node};
}

size_t lh_json_size(lh_json array_or_object)
{
  return array_or_object.node ? (size_t)cJSON_GetArraySize(array_or_object.node) : 0;
}

bool lh_json_present(lh_json node)
{
  return node.node != NULL;
}

lh_status lh_json_expect_object(lh_json node)
{
  return cJSON_IsObject(node.node) ? LH_OK : wrong(node, "an object {...}");
}

lh_status lh_json_expect_array(lh_json node)
{
  return cJSON_IsArray(node.node) ? LH_OK : wrong(node, "an array [...]");
}

/* "a, b, c" of a NULL-terminated list; `text` is freed by the caller. */
static const char *listed(const char *const *names, const char *quote, lh_text *text)
{
  for (size_t i = 0; names[i]; i++)
    lh_text_append(text, "%s%s%s%s", i ? ", " : "", quote, names[i], quote);
  return text->data ? text->data : "none";
}

static lh_status not_among(lh_json node, const char *found, const char *what,
                           const char *const *names, const char *quote)
{
  lh_text all = {0};
  char hint[120];
  const lh_status status =
      lh_json_fail(node, "found %s\"%s\", allowed: %s%s", what, found, listed(names, quote, &all),
                   lh_did_you_mean(found, names, hint, sizeof hint));
  lh_text_free(&all);
  return status;
}

lh_status lh_json_check_keys(lh_json object, const char *const *allowed)
{
  LH_TRY(lh_json_expect_object(object));
  for (const cJSON *member = object.node->child; member; member = member->next) {
    size_t i = 0;
    while (allowed[i] && strcmp(allowed[i], member->string) != 0)
      i++;
    if (!allowed[i])
      return not_among(object, member->string, "unknown key ", allowed, "");
  }
  return LH_OK;
}

lh_status lh_json_check_schema(lh_json root, const char *kind)
{
  const lh_json schema = lh_json_get(root, "schema");
  if (!lh_json_present(schema))
    return LH_OK;
  char wanted[80];
  snprintf(wanted, sizeof wanted, "longhaul/%s/1", kind);
  const char *found = NULL;
  LH_TRY(lh_json_string(schema, &found));
  if (strcmp(found, wanted) == 0)
    return LH_OK;
  return lh_json_fail(schema, "found \"%s\", allowed: \"%s\"", found, wanted);
}

/* ---- required values ------------------------------------------------------------------------- */

lh_status lh_json_string(lh_json node, const char **value)
{
  if (!cJSON_IsString(node.node))
    return wrong(node, "a string");
  *value = node.node->valuestring;
  return LH_OK;
}

lh_status lh_json_bool(lh_json node, bool *value)
{
  if (!cJSON_IsBool(node.node))
    return wrong(node, "true or false");
  *value = cJSON_IsTrue(node.node);
  return LH_OK;
}

/* "a whole number of 1 or more", "a number in 0..1" */
static const char *range_text(char *buffer, size_t size, const char *what, double low, double high)
{
  char a[32], b[32];
  lh_format_number(a, sizeof a, low);
  lh_format_number(b, sizeof b, high);
  if (isfinite(low) && isfinite(high))
    snprintf(buffer, size, "%s in %s..%s", what, a, b);
  else if (isfinite(low))
    snprintf(buffer, size, "%s of %s or more", what, a);
  else if (isfinite(high))
    snprintf(buffer, size, "%s of %s or less", what, b);
  else
    snprintf(buffer, size, "%s", what);
  return buffer;
}

lh_status lh_json_double(lh_json node, double low, double high, double *value)
{
  char allowed[120];
  const bool number = cJSON_IsNumber(node.node) && isfinite(node.node->valuedouble);
  if (!number || !(node.node->valuedouble >= low && node.node->valuedouble <= high))
    return wrong(node, range_text(allowed, sizeof allowed, "a number", low, high));
  *value = node.node->valuedouble;
  return LH_OK;
}

#define LARGEST_WHOLE 0x1p53 /* above, doubles skip whole numbers */

lh_status lh_json_size_value(lh_json node, size_t low, size_t high, size_t *value)
{
  char allowed[120];
  const double x = cJSON_IsNumber(node.node) ? node.node->valuedouble : NAN;
  const double top = high >= (size_t)LARGEST_WHOLE ? LARGEST_WHOLE : (double)high;
  if (!(x >= (double)low && x <= top && x == floor(x)))
    return wrong(node, range_text(allowed, sizeof allowed, "a whole number", (double)low,
                                  top == LARGEST_WHOLE ? INFINITY : top));
  *value = (size_t)x;
  return LH_OK;
}

lh_status lh_json_uint64(lh_json node, uint64_t *value)
{
  if (cJSON_IsNumber(node.node)) {
    const double x = node.node->valuedouble;
    if (x >= 0 && x <= LARGEST_WHOLE && x == floor(x)) {
      *value = (uint64_t)x;
      return LH_OK;
    }
  } else if (cJSON_IsString(node.node)) {
    unsigned long long number;
    char after, again[24];
    const char *text = node.node->valuestring;
    if (strspn(text, "0123456789") == strlen(text) && strlen(text) <= 20 &&
        sscanf(text, "%llu%c", &number, &after) == 1) {
      snprintf(again, sizeof again, "%llu", number); /* catches overflow */
      if (strcmp(again, text + strspn(text, "0") - (number == 0)) == 0) {
        *value = number;
        return LH_OK;
      }
    }
  }
  return wrong(node, "a whole number of 0 or more (above 2^53 as a string of digits)");
}

lh_status lh_json_quantity(lh_json node, lh_unit unit, double *value)
{
  if (cJSON_IsNumber(node.node)) {
    char found[96];
    return lh_json_fail(node, "found %s, a number without a unit, allowed: %s",
                        described(node, found, sizeof found), lh_unit_allowed(unit));
  }
  if (!cJSON_IsString(node.node))
    return wrong(node, lh_unit_allowed(unit));
  if (lh_quantity_parse(node.node->valuestring, unit, value) != LH_OK)
    return lh_json_fail(node, "%s", lh_fail_text());
  return LH_OK;
}

lh_status lh_json_choice(lh_json node, const char *const *names, size_t *index)
{
  if (!cJSON_IsString(node.node)) {
    lh_text all = {0};
    const lh_status status = wrong(node, listed(names, "\"", &all));
    lh_text_free(&all);
    return status;
  }
  for (size_t i = 0; names[i]; i++)
    if (strcmp(names[i], node.node->valuestring) == 0) {
      *index = i;
      return LH_OK;
    }
  return not_among(node, node.node->valuestring, "", names, "\"");
}

lh_status lh_json_doubles(lh_json node, double **values, size_t *n)
{
  *values = NULL;
  *n = 0;
  LH_TRY(lh_json_expect_array(node));
  const size_t count = lh_json_size(node);
  double *made = calloc(count ? count : 1, sizeof *made);
  if (!made)
    return lh_fail(LH_ENOMEM, "%s: no memory for %zu numbers", lh_json_file(node), count);
  size_t i = 0;
  for (const cJSON *item = node.node->child; item; item = item->next) {
    const lh_status status = lh_json_double((lh_json){node.document, item, node.node, NULL},
                                            -INFINITY, INFINITY, &made[i++]);
    if (status != LH_OK) {
      free(made);
      return status;
    }
  }
  *values = made;
  *n = count;
  return LH_OK;
}

/* ---- values with a default ------------------------------------------------------------------- */

lh_status lh_json_string_or(lh_json node, const char *fallback, const char **value)
{
  return node.node ? lh_json_string(node, value) : (*value = fallback, LH_OK);
}

lh_status lh_json_bool_or(lh_json node, bool fallback, bool *value)
{
  return node.node ? lh_json_bool(node, value) : (*value = fallback, LH_OK);
}

lh_status lh_json_double_or(lh_json node, double low, double high, double fallback, double *value)
{
  return node.node ? lh_json_double(node, low, high, value) : (*value = fallback, LH_OK);
}

lh_status lh_json_size_or(lh_json node, size_t low, size_t high, size_t fallback, size_t *value)
{
  return node.node ? lh_json_size_value(node, low, high, value) : (*value = fallback, LH_OK);
}

lh_status lh_json_uint64_or(lh_json node, uint64_t fallback, uint64_t *value)
{
  return node.node ? lh_json_uint64(node, value) : (*value = fallback, LH_OK);
}

lh_status lh_json_quantity_or(lh_json node, lh_unit unit, double fallback, double *value)
{
  return node.node ? lh_json_quantity(node, unit, value) : (*value = fallback, LH_OK);
}

lh_status lh_json_choice_or(lh_json node, const char *const *names, size_t fallback, size_t *index)
{
  return node.node ? lh_json_choice(node, names, index) : (*index = fallback, LH_OK);
}
