#include "models/gpt.h"

#include <math.h>
#include <stdlib.h>

#include "models/kinds.h"
#include "models/layout.h"

static const char *const keys[] = {"depth",    "width", "heads", "vocabulary", "context",
                                   "ff_ratio", "bias",  "tied",  NULL};

static lh_status read_config(lh_json spec, lh_gpt *gpt)
{
  size_t ff_ratio = 0;
  LH_TRY(lh_json_size_or(lh_json_get(spec, "depth"), 1, 100000, 4, &gpt->depth));
  LH_TRY(lh_json_size_or(lh_json_get(spec, "width"), 1, 1u << 24, 128, &gpt->width));
  LH_TRY(lh_json_size_or(lh_json_get(spec, "heads"), 1, 1u << 16, 4, &gpt->heads));
  LH_TRY(lh_json_size_or(lh_json_get(spec, "vocabulary"), 2, 1u << 24, 256, &gpt->vocabulary));
  LH_TRY(lh_json_size_or(lh_json_get(spec, "context"), 1, 1u << 24, 128, &gpt->context));
  LH_TRY(lh_json_size_or(lh_json_get(spec, "ff_ratio"), 1, 1024, 4, &ff_ratio));
  LH_TRY(lh_json_bool_or(lh_json_get(spec, "bias"), true, &gpt->bias));
  LH_TRY(lh_json_bool_or(lh_json_get(spec, "tied"), true, &gpt->tied));
  gpt->ff = ff_ratio * gpt->width;
  if (gpt->width % gpt->heads)
    return lh_json_fail(
        lh_json_get(spec, lh_json_present(lh_json_get(spec, "heads")) ? "heads" : "width"),
        "found %zu heads and width %zu, allowed: a width that the heads divide", gpt->heads,
        gpt->width);
  return LH_OK;
}

static lh_status build_embedding(lh_gpt *gpt, lh_layout *layout)
{
  LH_TRY(lh_layout_open_layer(layout, "embedding"));
  lh_layout_mark_outside(layout);
  const lh_parameter_spec token = {2, {gpt->vocabulary, gpt->width}, 0.02, 0};
  LH_TRY(lh_layout_add(layout, &token, &gpt->token_table, "embedding.token.weight"));
  const lh_parameter_spec position = {2, {gpt->context, gpt->width}, 0.02, 0};
  return lh_layout_add(layout, &position, &gpt->position_table, "embedding.position.weight");
}

static lh_status build_block(lh_gpt *gpt, lh_layout *layout, size_t block)
{
  const size_t c = gpt->width, f = gpt->ff;
  const double residual = 0.02 / sqrt(2.0 * (double)gpt->depth);
  const struct {
    const char *name;
    bool bias;
    lh_parameter_spec spec;
  } tensors[GPT_SLOTS] = {
      [GPT_NORM1_WEIGHT] = {"norm1.weight", false, {1, {c}, 0, 1}},
      [GPT_NORM1_BIAS] = {"norm1.bias", true, {1, {c}, 0, 0}},
      [GPT_QKV_WEIGHT] = {"attention.qkv.weight", false, {2, {3 * c, c}, 0.02, 0}},
      [GPT_QKV_BIAS] = {"attention.qkv.bias", true, {1, {3 * c}, 0, 0}},
      [GPT_PROJECTION_WEIGHT] = {"attention.projection.weight", false, {2, {c, c}, residual, 0}},
      [GPT_PROJECTION_BIAS] = {"attention.projection.bias", true, {1, {c}, 0, 0}},
      [GPT_NORM2_WEIGHT] = {"norm2.weight", false, {1, {c}, 0, 1}},
      [GPT_NORM2_BIAS] = {"norm2.bias", true, {1, {c}, 0, 0}},
      [GPT_UP_WEIGHT] = {"feed_forward.up.weight", false, {2, {f, c}, 0.02, 0}},
      [GPT_UP_BIAS] = {"feed_forward.up.bias", true, {1, {f}, 0, 0}},
      [GPT_DOWN_WEIGHT] = {"feed_forward.down.weight", false, {2, {c, f}, residual, 0}},
      [GPT_DOWN_BIAS] = {"feed_forward.down.bias", true, {1, {c}, 0, 0}},
  };
  LH_TRY(lh_layout_open_layer(layout, "block%zu", block));
  const size_t first = layout->parameters;
  for (size_t s = 0; s < GPT_SLOTS; s++) {
    gpt->slot[s] = GPT_ABSENT;
    if (tensors[s].bias && !gpt->bias)
      continue;
    gpt->slot[s] = layout->parameters - first;
    LH_TRY(lh_layout_add(layout, &tensors[s].spec, NULL, "block%zu.%s", block, tensors[s].name));
  }
  return LH_OK;
}

static lh_status build_head(lh_gpt *gpt, lh_layout *layout)
{
  LH_TRY(lh_layout_open_layer(layout, "head"));
  lh_layout_mark_outside(layout);
  const lh_parameter_spec ones = {1, {gpt->width}, 0, 1}, zeros = {1, {gpt->width}, 0, 0};
  gpt->norm_bias = gpt->output = GPT_ABSENT;
  LH_TRY(lh_layout_add(layout, &ones, &gpt->norm_weight, "head.norm.weight"));
  if (gpt->bias)
    LH_TRY(lh_layout_add(layout, &zeros, &gpt->norm_bias, "head.norm.bias"));
  const lh_parameter_spec matrix = {2, {gpt->vocabulary, gpt->width}, 0.02, 0};
  if (!gpt->tied)
    LH_TRY(lh_layout_add(layout, &matrix, &gpt->output, "head.output.weight"));
  return LH_OK;
}

static lh_status create(lh_json spec, lh_dtype compute_dtype, void **self, lh_layout *layout)
{
  lh_gpt *gpt = calloc(1, sizeof *gpt);
  if (!(*self = gpt))
    return lh_fail(LH_ENOMEM, "gpt: no memory");
  gpt->compute = compute_dtype;
  gpt->layout = layout;
  LH_TRY(read_config(spec, gpt));
  LH_TRY(build_embedding(gpt, layout));
  for (size_t block = 0; block < gpt->depth; block++)
    LH_TRY(build_block(gpt, layout, block));
  return build_head(gpt, layout);
}

static size_t context(const void *self)
{
  return ((const lh_gpt *)self)->context;
}

static lh_batch_form batch_form(const void *self)
{
  return (lh_batch_form){.targets = ((const lh_gpt *)self)->vocabulary};
}

static lh_status batch_alloc(const void *self, lh_device *device, size_t sequences,
                             size_t sequence_tokens, lh_batch *batch)
{
  const lh_gpt *gpt = self;
  if (sequence_tokens < 1 || sequence_tokens > gpt->context)
    return lh_fail(LH_EINVAL, "sequence_tokens: found %zu, allowed: 1 to %zu (the model's context)",
                   sequence_tokens, gpt->context);
  const size_t rows = sequences * sequence_tokens;
  LH_TRY(lh_tensor_alloc_1d(device, &batch->tokens, "batch", LH_I32, rows));
  return lh_tensor_alloc_1d(device, &batch->targets, "batch", LH_I32, rows);
}

/* 2 flop forward and 4 backward per weight and token; attention 2 t^2 c forward (the causal half)
 * and 2.5 times that backward. */
static double flop_per_sequence(const void *self, size_t sequence_tokens)
{
  const lh_gpt *gpt = self;
  const double c = (double)gpt->width, t = (double)sequence_tokens, depth = (double)gpt->depth;
  const double weights =
      depth * (4 * c * c + 2 * c * (double)gpt->ff) + (double)gpt->vocabulary * c;
  return 6 * weights * t + 3.5 * 2 * t * t * c * depth;
}

const lh_model_kind lh_model_gpt = {
    .name = "gpt",
    .title = "GPT: pre-norm decoder with causal attention, GELU and learned positions",
    .keys = keys,
    .default_data = "text",
    .create = create,
    .destroy = free,
    .context = context,
    .batch_form = batch_form,
    .batch_alloc = batch_alloc,
    .pass = lh_gpt_pass,
    .flop_per_sequence = flop_per_sequence,
};
