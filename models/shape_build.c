/* Layout and program of a described architecture, layer by layer. */
#include <stdlib.h>
#include <string.h>

#include "models/layout.h"
#include "models/shape.h"

/* The layer under construction: its name stands before the names of its tensors. */
struct build {
  lh_shape *shape;
  const shape_config *config;
  char prefix[48];
};

static lh_status add_step(struct build *b, shape_step step)
{
  lh_shape *shape = b->shape;
  if (!(shape->steps & (shape->steps + 1))) { /* full at 2^k - 1 */
    void *larger = realloc(shape->step, (2 * shape->steps + 1) * sizeof *shape->step);
    if (!larger)
      return lh_fail(LH_ENOMEM, "shape: no memory for %zu steps", shape->steps);
    shape->step = larger;
  }
  shape->step[shape->steps++] = step;
  return LH_OK;
}

/* A tensor (rows, columns), or (columns) when rows is 0. */
static lh_status add_tensor(struct build *b, const char *name, size_t rows, size_t columns)
{
  lh_parameter_spec spec = {
      .dims = rows ? 2 : 1, .shape = {rows ? rows : columns, columns}, .deviation = 0.02};
  return lh_layout_add(b->shape->layout, &spec, NULL, "%s.%s", b->prefix, name);
}

static lh_status open_layer(struct build *b)
{
  lh_shape *shape = b->shape;
  const size_t layer = shape->layout->layers;
  void *larger = realloc(shape->first, (layer + 2) * sizeof *shape->first);
  if (!larger)
    return lh_fail(LH_ENOMEM, "shape: no memory for %zu layers", layer + 1);
  shape->first = larger;
  shape->first[layer] = shape->steps;
  return lh_layout_open_layer(shape->layout, "%s", b->prefix);
}

static void set_prefix(struct build *b, const char *stack, size_t number)
{
  snprintf(b->prefix, sizeof b->prefix, "%sblock%zu", stack, number);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static lh_status add_norm_tensors(struct build *b, const char *name, size_t columns)
{
  char full[64];
  snprintf(full, sizeof full, "%s.weight", name);
  if (b->config->norm_weight)
    LH_TRY(add_tensor(b, full, 0, columns));
  snprintf(full, sizeof full, "%s.bias", name);
  return b->config->norm_bias ? add_tensor(b, full, 0, columns) : LH_OK;
}

static lh_status add_norm(struct build *b, const char *name, size_t columns)
{
  LH_TRY(add_norm_tensors(b, name, columns));
  return add_step(
      b, (shape_step){
             .kind = SHAPE_NORM, .in = columns, .out = columns, .biased = b->config->norm_bias});
}

static lh_status add_linear(struct build *b, const char *name, shape_step step)
{
  char full[64];
  step.kind = SHAPE_LINEAR;
  snprintf(full, sizeof full, "%s.weight", name);
  LH_TRY(add_tensor(b, full, step.out, step.in));
  snprintf(full, sizeof full, "%s.bias", name);
  if (step.biased)
    LH_TRY(add_tensor(b, full, 0, step.out));
  return add_step(b, step);
}

/* The norm over queries and keys: one weight per column, or per column of a head. */
static lh_status add_query_norm(struct build *b, size_t queries, size_t keys)
{
  const shape_config *c = b->config;
  if (c->query_norm == SHAPE_NO_QUERY_NORM)
    return LH_OK;
  const bool per_head = c->query_norm == SHAPE_NORM_PER_HEAD;
  const size_t columns[] = {queries, keys};
  const char *const names[] = {"attention.query_norm.weight", "attention.key_norm.weight"};
  for (int i = 0; i < 2; i++) {
    LH_TRY(add_tensor(b, names[i], 0, per_head ? c->head_width : columns[i]));
    LH_TRY(add_step(b, (shape_step){.kind = SHAPE_NORM, .in = columns[i], .out = columns[i]}));
  }
  return LH_OK;
}

static lh_status add_projections(struct build *b, const char *name, size_t queries, size_t keys)
{
  const shape_config *c = b->config;
  const struct {
    const char *suffix;
    size_t out;
    bool shared;
  } separate[] = {{"query", queries, false}, {"key", keys, true}, {"value", keys, true}};
  char full[64];
  shape_step step = {.in = c->width, .biased = c->qkv_bias};
  if (c->fused_qkv) {
    snprintf(full, sizeof full, "%s.qkv", name);
    step.out = queries + 2 * keys;
    return add_linear(b, full, step);
  }
  for (int i = 0; i < 3; i++) {
    snprintf(full, sizeof full, "%s.%s", name, separate[i].suffix);
    step.out = separate[i].out;
    step.shared = separate[i].shared;
    LH_TRY(add_linear(b, full, step));
  }
  return LH_OK;
}

static lh_status add_attention(struct build *b, const char *name, bool causal)
{
  const shape_config *c = b->config;
  const size_t queries = c->heads * c->head_width, keys = c->kv_heads * c->head_width;
  char full[64];
  snprintf(full, sizeof full, "%s.norm", name);
  if (!c->norm_after)
    LH_TRY(add_norm(b, full, c->width));
  LH_TRY(add_projections(b, name, queries, keys));
  LH_TRY(add_query_norm(b, queries, keys));
  if (c->positions == SHAPE_ROTARY)
    LH_TRY(add_step(b, (shape_step){.kind = SHAPE_ROTATE, .in = queries + keys}));
  LH_TRY(add_step(
      b, (shape_step){.kind = SHAPE_ATTEND, .in = 3 * queries, .out = queries, .causal = causal}));
  snprintf(full, sizeof full, "%s.output", name);
  LH_TRY(add_linear(b, full,
                    (shape_step){.in = queries, .out = c->width, .biased = c->attention_bias}));
  snprintf(full, sizeof full, "%s.norm", name);
  if (c->norm_after)
    LH_TRY(add_norm(b, full, c->width));
  return add_step(b, (shape_step){.kind = SHAPE_ADD, .in = c->width, .out = c->width});
}

static lh_status add_up(struct build *b)
{
  const shape_config *c = b->config;
  const bool fused = c->gate == SHAPE_GATED_FUSED;
  shape_step step = {.in = c->width, .out = fused ? 2 * c->ff : c->ff, .biased = c->ff_bias};
  LH_TRY(add_linear(b, "feed_forward.up", step));
  step.shared = true;
  if (c->gate == SHAPE_GATED)
    LH_TRY(add_linear(b, "feed_forward.gate", step));
  LH_TRY(add_step(b, (shape_step){.kind = SHAPE_ACTIVATE, .in = c->ff, .out = c->ff}));
  if (c->gate == SHAPE_PLAIN)
    return LH_OK;
  return add_step(b, (shape_step){.kind = SHAPE_MULTIPLY, .in = c->ff, .out = c->ff});
}

static lh_status add_feed_forward(struct build *b)
{
  const shape_config *c = b->config;
  if (!c->norm_after)
    LH_TRY(add_norm(b, "feed_forward.norm", c->width));
  LH_TRY(add_up(b));
  LH_TRY(add_linear(b, "feed_forward.down",
                    (shape_step){.in = c->ff, .out = c->width, .biased = c->ff_bias}));
  if (c->norm_after)
    LH_TRY(add_norm(b, "feed_forward.norm", c->width));
  return add_step(b, (shape_step){.kind = SHAPE_ADD, .in = c->width, .out = c->width});
}

/* ---- layers ---------------------------------------------------------------------------------- */

static lh_status add_patches(struct build *b)
{
  const shape_config *c = b->config;
  const size_t pixels = c->patch * c->patch * c->channels, side = c->image / c->patch;
  if (c->patch_norm)
    LH_TRY(add_norm(b, "patch.norm", pixels));
  LH_TRY(add_linear(b, "patch", (shape_step){.in = pixels, .out = c->width, .biased = true}));
  if (c->patch_norm)
    LH_TRY(add_norm(b, "patch.norm_after", c->width));
  return c->positions == SHAPE_LEARNED ? add_tensor(b, "position.weight", side * side, c->width)
                                       : LH_OK;
}

static lh_status add_embedding(struct build *b)
{
  const shape_config *c = b->config;
  const bool learned = c->positions == SHAPE_LEARNED;
  strcpy(b->prefix, "embedding");
  LH_TRY(open_layer(b));
  lh_layout_mark_outside(b->shape->layout);
  if (c->image)
    return add_patches(b);
  LH_TRY(add_tensor(b, "token.weight", c->vocabulary, c->width));
  if (learned)
    LH_TRY(add_tensor(b, "position.weight", c->context, c->width));
  /* An encoder's last norm belongs to no block; it lives beside the shared table. */
  if (c->architecture == SHAPE_ENCODER_DECODER && c->final_norm)
    LH_TRY(add_norm_tensors(b, "encoder_norm", c->width));
  return add_step(
      b, (shape_step){
             .kind = SHAPE_EMBED, .in = c->vocabulary, .out = c->width, .positioned = learned});
}

struct stack {
  const char *name;
  bool causal, crosses; /* attends to the future never; to the encoder's output too */
};

static lh_status add_block(struct build *b, const struct stack *stack, size_t number)
{
  const shape_config *c = b->config;
  set_prefix(b, stack->name, number);
  LH_TRY(open_layer(b));
  if (stack->crosses && number == 0) /* the decoder's own look-up */
    LH_TRY(add_step(b, (shape_step){.kind = SHAPE_EMBED,
                                    .in = c->vocabulary,
                                    .out = c->width,
                                    .positioned = c->positions == SHAPE_LEARNED}));
  LH_TRY(add_attention(b, "attention", stack->causal));
  if (c->positions == SHAPE_RELATIVE && number == 0)
    LH_TRY(add_tensor(b, "attention.relative", c->relative_buckets, c->heads));
  if (stack->crosses)
    LH_TRY(add_attention(b, "cross_attention", false));
  return add_feed_forward(b);
}

static lh_status add_stack(struct build *b, const struct stack *stack)
{
  for (size_t i = 0; i < b->config->depth; i++)
    LH_TRY(add_block(b, stack, i));
  return LH_OK;
}

static lh_status add_stacks(struct build *b)
{
  const shape_config *c = b->config;
  if (c->architecture != SHAPE_ENCODER_DECODER)
    return add_stack(b, &(struct stack){"", c->architecture == SHAPE_DECODER, false});
  LH_TRY(add_stack(b, &(struct stack){"encoder.", false, false}));
  if (c->final_norm)
    LH_TRY(add_step(
        b,
        (shape_step){.kind = SHAPE_NORM, .in = c->width, .out = c->width, .biased = c->norm_bias}));
  return add_stack(b, &(struct stack){"decoder.", true, true});
}

/* A head without tensors of its own joins the last block. */
static lh_status add_head(struct build *b)
{
  const shape_config *c = b->config;
  const bool pooled = c->image > 0;
  const size_t classes = pooled ? c->classes : c->vocabulary;
  strcpy(b->prefix, "head");
  if (!c->tied || (c->final_norm && (c->norm_weight || c->norm_bias))) {
    LH_TRY(open_layer(b));
    lh_layout_mark_outside(b->shape->layout);
  }
  if (c->final_norm)
    LH_TRY(add_norm(b, "norm", c->width));
  const shape_step output = {.kind = SHAPE_LINEAR,
                             .in = c->width,
                             .out = classes,
                             .biased = c->head_bias,
                             .pooled = pooled};
  LH_TRY(c->tied ? add_step(b, output) : add_linear(b, "output", output));
  return add_step(b, (shape_step){.kind = SHAPE_LOSS, .in = classes, .pooled = pooled});
}

lh_status lh_shape_build(lh_shape *shape)
{
  struct build b = {.shape = shape, .config = &shape->config};
  LH_TRY(add_embedding(&b));
  LH_TRY(add_stacks(&b));
  LH_TRY(add_head(&b));
  shape->first[shape->layout->layers] = shape->steps;
  shape->embedding_stays =
      shape->config.tied || shape->config.architecture == SHAPE_ENCODER_DECODER;
  return LH_OK;
}

size_t lh_shape_rows(const lh_shape *shape, const shape_step *step, size_t sequences,
                     size_t sequence_tokens)
{
  const shape_config *c = &shape->config;
  if (step->pooled)
    return sequences;
  if (c->image)
    return sequences * (c->image / c->patch) * (c->image / c->patch);
  return sequences * sequence_tokens;
}
