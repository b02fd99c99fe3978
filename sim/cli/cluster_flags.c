#include "sim/cli/cluster_flags.h"

#include "base/data_path.h"
#include "sim/cli/set.h"

static lh_status put_text(cJSON *tree, const char *path, const char *text)
{
  return text ? lh_json_set_path(tree, path, lh_json_parse_value(text)) : LH_OK;
}

static lh_status put_size(cJSON *tree, const char *path, size_t value)
{
  return value ? lh_json_set_path(tree, path, cJSON_CreateNumber((double)value)) : LH_OK;
}

static lh_status build(const lh_cluster_flags *flags, const char *file, cJSON *tree)
{
  static const char *const roots[] = {"platform", NULL};
  const char *base = file ? file : flags->platform;
  if (file && flags->platform)
    return lh_fail(LH_EINVAL, "found two platforms, \"%s\" and --platform %s, allowed: one", file,
                   flags->platform);
  if (!base && !flags->nodes && !flags->bandwidth && !flags->topology && !flags->set.n)
    return lh_fail(LH_EINVAL,
                   "no platform; give --platform FILE|NAME, or --nodes N --bandwidth RATE "
                   "--latency TIME");
  cJSON *platform = cJSON_CreateObject();
  if (base) {
    cJSON_Delete(platform);
    LH_TRY(lh_named_object("--platform", base, "file", &platform));
  }
  LH_TRY(lh_json_set_path(tree, "platform", platform));
  if (!base)
    LH_TRY(put_text(tree, "platform.network.topology", "star"));
  LH_TRY(put_text(tree, "platform.network.topology", flags->topology));
  LH_TRY(put_text(tree, "platform.network.bandwidth", flags->bandwidth));
  LH_TRY(put_text(tree, "platform.network.latency", flags->latency));
  LH_TRY(put_text(tree, "platform.placement", flags->placement));
  LH_TRY(put_size(tree, "platform.nodes", flags->nodes));
  LH_TRY(put_size(tree, "platform.accelerators_per_node", flags->accelerators));
  return lh_set_all(tree, &flags->set, roots);
}

lh_status lh_cluster_flags_read(const lh_cluster_flags *flags, const char *file,
                                lh_platform **platform)
{
  char devices[4096];
  *platform = NULL;
  cJSON *tree = cJSON_CreateObject();
  const lh_status status = build(flags, file, tree);
  if (status != LH_OK) {
    cJSON_Delete(tree);
    return status;
  }
  lh_json_document *document;
  LH_TRY(lh_json_adopt("command line", tree, &document));
  const lh_status read =
      lh_platform_read(lh_json_get(lh_json_root(document), "platform"),
                       lh_data_path("platforms/devices", devices, sizeof devices), platform);
  lh_json_document_free(document);
  return read;
}
