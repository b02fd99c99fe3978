#include "sim/cli/set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static lh_status check_root(const char *path, const char *const *roots)
{
  char root[64];
  snprintf(root, sizeof root, "%.*s", (int)strcspn(path, "."), path);
  lh_text all = {0};
  for (size_t i = 0; roots[i]; i++) {
    if (strcmp(root, roots[i]) == 0) {
      lh_text_free(&all);
      return LH_OK;
    }
    lh_text_append(&all, "%s%s.*", i ? ", " : "", roots[i]);
  }
  char hint[120];
  const lh_status status =
      lh_fail(LH_EINVAL, "--set: found the path \"%s\", allowed: %s%s", path,
              all.data ? all.data : "none", lh_did_you_mean(root, roots, hint, sizeof hint));
  lh_text_free(&all);
  return status;
}

lh_status lh_set_all(cJSON *tree, const lh_words *settings, const char *const *roots)
{
  for (size_t i = 0; i < settings->n; i++) {
    const char *equals = strchr(settings->word[i], '=');
    if (!equals || equals == settings->word[i])
      return lh_fail(LH_EINVAL, "--set: found \"%s\", allowed: PATH=VALUE", settings->word[i]);
    char *path = lh_string_format("%.*s", (int)(equals - settings->word[i]), settings->word[i]);
    lh_status status = path ? check_root(path, roots) : lh_fail(LH_ENOMEM, "no memory for --set");
    if (status == LH_OK) {
      status = lh_json_set_path(tree, path, lh_json_parse_value(equals + 1));
      if (status != LH_OK)
        status = lh_fail_within(status, "--set");
    }
    free(path);
    LH_TRY(status);
  }
  return LH_OK;
}

lh_status lh_named_object(const char *flag, const char *text, const char *key, cJSON **object)
{
  *object = NULL;
  if (text[0] == '{') {
    lh_json_document *document;
    LH_TRY(lh_json_read_text(flag, text, &document));
    *object = cJSON_Duplicate(lh_json_root(document).node, 1);
    lh_json_document_free(document);
  } else {
    *object = cJSON_CreateObject();
    cJSON_AddStringToObject(*object, key, text);
  }
  return *object ? LH_OK : lh_fail(LH_ENOMEM, "no memory for %s", flag);
}

static lh_status object_of_file(const char *path, cJSON **object)
{
  lh_json_document *document;
  LH_TRY(lh_json_read_file(path, &document));
  lh_status status = lh_json_expect_object(lh_json_root(document));
  if (status == LH_OK && !(*object = cJSON_Duplicate(lh_json_root(document).node, 1)))
    status = lh_fail(LH_ENOMEM, "%s: no memory for its contents", path);
  lh_json_document_free(document);
  return status;
}

lh_status lh_put_named(cJSON *tree, const char *flag, const char *text, const char *member,
                       const char *key)
{
  cJSON *object;
  if (!text)
    return LH_OK;
  const size_t length = strlen(text);
  const bool is_file = length > 5 && strcmp(text + length - 5, ".json") == 0;
  if (is_file && strcmp(key, "file") != 0)
    LH_TRY(object_of_file(text, &object));
  else
    LH_TRY(lh_named_object(flag, text, key, &object));
  return lh_json_set_path(tree, member, object);
}
