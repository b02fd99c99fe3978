#include <stddef.h>

#include "models/shape.h"

const char *const lh_shape_keys[] = {
    "architecture",   "depth",      "width",       "heads",
    "kv_heads",       "head_width", "ff",          "vocabulary",
    "context",        "norm",       "norm_weight", "norm_bias",
    "norm_after",     "final_norm", "query_norm",  "qkv_bias",
    "attention_bias", "ff_bias",    "head_bias",   "fused_qkv",
    "gate",           "activation", "positions",   "relative_buckets",
    "tied",           "image",      "patch",       "channels",
    "classes",        "patch_norm", NULL};

static const char *const architectures[] = {"decoder", "encoder", "encoder-decoder", NULL};
static const char *const norms[] = {"layer", "rms", NULL};
static const char *const gates[] = {"none", "separate", "fused", NULL};
static const char *const activations[] = {"relu", "gelu", "silu", NULL};
static const char *const positions[] = {"learned", "rotary", "relative", "none", NULL};
static const char *const query_norms[] = {"none", "head", "all-heads", NULL};

/* A size; `fallback` 0 means that it has to be given. */
static lh_status read_size(lh_json spec, const char *key, size_t fallback, size_t *value)
{
  const lh_json node = lh_json_get(spec, key);
  if (!fallback)
    return lh_json_size_value(node, 1, (size_t)1 << 32, value);
  return lh_json_size_or(node, 1, (size_t)1 << 32, fallback, value);
}

static lh_status read_sizes(lh_json spec, shape_config *config)
{
  LH_TRY(read_size(spec, "depth", 0, &config->depth));
  LH_TRY(read_size(spec, "width", 0, &config->width));
  LH_TRY(read_size(spec, "heads", 0, &config->heads));
  LH_TRY(read_size(spec, "ff", 0, &config->ff));
  LH_TRY(read_size(spec, "kv_heads", config->heads, &config->kv_heads));
  const lh_json head_width = lh_json_get(spec, "head_width");
  if (!lh_json_present(head_width) && config->width % config->heads)
    return lh_json_fail(lh_json_get(spec, "heads"),
                        "found %zu heads and width %zu, allowed: a width that the heads divide, or "
                        "a \"head_width\"",
                        config->heads, config->width);
  LH_TRY(read_size(spec, "head_width", config->width / config->heads, &config->head_width));
  if (config->heads % config->kv_heads)
    return lh_json_fail(lh_json_get(spec, "kv_heads"), "found %zu, allowed: a divisor of %zu heads",
                        config->kv_heads, config->heads);
  return LH_OK;
}

/* Images have patches and classes, text has a vocabulary and a context. */
static lh_status read_input(lh_json spec, shape_config *config)
{
  const lh_json image = lh_json_get(spec, "image");
  LH_TRY(lh_json_bool_or(lh_json_get(spec, "tied"), false, &config->tied));
  if (!lh_json_present(image)) {
    LH_TRY(read_size(spec, "vocabulary", 0, &config->vocabulary));
    return read_size(spec, "context", 0, &config->context);
  }
  LH_TRY(read_size(spec, "image", 0, &config->image));
  LH_TRY(read_size(spec, "patch", 0, &config->patch));
  LH_TRY(read_size(spec, "channels", 3, &config->channels));
  LH_TRY(read_size(spec, "classes", 0, &config->classes));
  LH_TRY(lh_json_bool_or(lh_json_get(spec, "patch_norm"), false, &config->patch_norm));
  config->context = 1;
  if (config->image % config->patch)
    return lh_json_fail(image, "found %zu, allowed: a multiple of the patch, %zu", config->image,
                        config->patch);
  if (config->architecture != SHAPE_ENCODER || config->tied)
    return lh_json_fail(image, "found an image model that is %s, allowed: an untied encoder",
                        config->tied ? "tied" : architectures[config->architecture]);
  return LH_OK;
}

static lh_status read_choices(lh_json spec, shape_config *config)
{
  const struct {
    const char *key;
    const char *const *names;
    size_t fallback;
    size_t *value;
  } choices[] = {
      {"architecture", architectures, SHAPE_DECODER, &config->architecture},
      {"norm", norms, SHAPE_RMS_NORM, &config->norm},
      {"query_norm", query_norms, SHAPE_NO_QUERY_NORM, &config->query_norm},
      {"gate", gates, SHAPE_PLAIN, &config->gate},
      {"activation", activations, LH_GELU, &config->activation},
      {"positions", positions, SHAPE_ROTARY, &config->positions},
  };
  for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
    LH_TRY(lh_json_choice_or(lh_json_get(spec, choices[i].key), choices[i].names,
                             choices[i].fallback, choices[i].value));
  return read_size(spec, "relative_buckets", 32, &config->relative_buckets);
}

static lh_status read_switches(lh_json spec, shape_config *config)
{
  const struct {
    const char *key;
    bool fallback;
    bool *value;
  } switches[] = {
      {"norm_weight", true, &config->norm_weight},
      {"norm_bias", config->norm == SHAPE_LAYER_NORM, &config->norm_bias},
      {"norm_after", false, &config->norm_after},
      {"final_norm", true, &config->final_norm},
      {"qkv_bias", false, &config->qkv_bias},
      {"attention_bias", false, &config->attention_bias},
      {"ff_bias", false, &config->ff_bias},
      {"head_bias", false, &config->head_bias},
      {"fused_qkv", false, &config->fused_qkv},
  };
  for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
    LH_TRY(lh_json_bool_or(lh_json_get(spec, switches[i].key), switches[i].fallback,
                           switches[i].value));
  return LH_OK;
}

lh_status lh_shape_read(lh_json spec, shape_config *config)
{
  LH_TRY(read_sizes(spec, config));
  LH_TRY(read_choices(spec, config));
  LH_TRY(read_switches(spec, config));
  return read_input(spec, config);
}
