/* accelerator.c -- "device": the profile of the simulated accelerator. */
#include <stdlib.h>

#include "base/text.h"
#include "sim/platform/parts.h"
#include "sim/platform/source.h"

static lh_status open_base(lh_json node, const char *device_folder, lh_json_document **document)
{
  const char *name;
  LH_TRY(lh_json_string(node, &name));
  char *path = lh_string_format("%s/%s.json", device_folder, name);
  if (!path)
    return lh_fail(LH_ENOMEM, "platform: no memory");
  lh_status status = LH_OK;
  char devices[2048];
  if (lh_file_exists(path))
    status = lh_json_read_file(path, document);
  else
    status = lh_json_fail(node, "found \"%s\", allowed: one of %s", name,
                          lh_json_files(device_folder, devices, sizeof devices));
  free(path);
  return status;
}

/* The named profile with the other members of `node` in place of its own. */
static lh_status read_changed(lh_json node, const char *device_folder, lh_device_profile *device)
{
  lh_json_document *base = NULL, *merged = NULL;
  LH_TRY(open_base(lh_json_get(node, "base"), device_folder, &base));
  cJSON *tree = cJSON_Duplicate(lh_json_root(base).node, true);
  lh_status status =
      tree ? lh_json_merge(tree, node.node) : lh_fail(LH_ENOMEM, "device: no memory");
  if (status == LH_OK) {
    cJSON_DeleteItemFromObjectCaseSensitive(tree, "base");
    char *name = lh_string_format("%s + device overrides", lh_json_file(lh_json_root(base)));
    status = name ? lh_json_adopt(name, tree, &merged) : lh_fail(LH_ENOMEM, "device: no memory");
    free(name);
    tree = status == LH_OK ? NULL : tree;
  }
  cJSON_Delete(tree);
  if (status == LH_OK)
    status = lh_device_profile_read(lh_json_root(merged), device);
  lh_json_document_free(merged);
  lh_json_document_free(base);
  return status;
}

lh_status lh_platform_device_read(lh_platform *platform, lh_json node, const char *device_folder)
{
  platform->device_given = lh_json_present(node);
  if (!platform->device_given) {
    platform->device = lh_device_profile_ideal();
    return LH_OK;
  }
  if (lh_json_present(lh_json_get(node, "base")))
    return read_changed(node, device_folder, &platform->device);
  if (cJSON_IsObject(node.node))
    return lh_device_profile_read(node, &platform->device);
  lh_json_document *document = NULL;
  LH_TRY(open_base(node, device_folder, &document));
  const lh_status status = lh_device_profile_read(lh_json_root(document), &platform->device);
  lh_json_document_free(document);
  return status;
}
