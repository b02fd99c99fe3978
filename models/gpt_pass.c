/* One pass of a GPT: forward, and backward when gradients are wanted. Every activation that the
 * backward pass reads is kept; without a backward pass two blocks' worth of memory serve in turn. */
#include "models/gpt.h"
#include "models/hooks.h"
#include "models/layout.h"

#define EPSILON 1e-5

/* Activations of one block, by columns; rows are the tokens of the batch. */
enum activation {
  STREAM, /* what the block reads; the last slot is what the head reads */
  NORM1,
  QKV,
  ATTENDED,
  MIDDLE, /* the stream after attention */
  NORM2,
  UP,
  ACTIVE,
  BLOCK_ACTIVATIONS
};
enum statistic { MEAN1, RSTD1, MEAN2, RSTD2, STATISTICS };

struct run {
  const lh_gpt *gpt;
  lh_device *device;
  const lh_tensor *parameters;
  lh_tensor *gradients;
  const lh_batch *batch;
  const struct lh_layer_hooks *hooks;
  size_t rows;                       /* sequences * sequence_tokens */
  lh_tensor kept[BLOCK_ACTIVATIONS]; /* (slots, rows, columns) */
  lh_tensor statistics;              /* (slots, STATISTICS, rows) */
  lh_tensor lse;                     /* (slots, sequences * heads * tokens) */
  lh_tensor norm, norm_statistics, logits;
  lh_tensor narrow;         /* (rows, width), lives within one sub-layer */
  lh_tensor dstream, dwide; /* backward only: gradient of the stream; of a wide one */
};

/* ---- views ---------------------------------------------------------------------------------- */

static size_t slot_of(const struct run *run, size_t block)
{
  return run->gradients ? block : block % 2;
}

static lh_tensor kept(const struct run *run, enum activation which, size_t block)
{
  const lh_tensor *t = &run->kept[which];
  return lh_tensor_view_2d(t, slot_of(run, block) * run->rows * t->shape[2], run->rows,
                           t->shape[2]);
}

static lh_tensor statistic(const struct run *run, enum statistic which, size_t block)
{
  const size_t row = slot_of(run, block) * STATISTICS + which;
  return lh_tensor_view_1d(&run->statistics, row * run->rows, run->rows);
}

static lh_tensor lse(const struct run *run, size_t block)
{
  const size_t n = run->lse.shape[1];
  return lh_tensor_view_1d(&run->lse, slot_of(run, block) * n, n);
}

/* Weights are read in the compute dtype: a device that trains in bf16 holds such a copy. Only the
 * price knows; the values are the same. */
static lh_tensor weight(const struct run *run, size_t parameter)
{
  lh_tensor view = lh_layout_view(run->gpt->layout, run->parameters, parameter);
  view.dtype = run->gpt->compute;
  return view;
}

static lh_tensor gradient(const struct run *run, size_t parameter)
{
  return lh_layout_view(run->gpt->layout, run->gradients, parameter);
}

static size_t numbered(const struct run *run, size_t block, enum gpt_slot slot)
{
  if (run->gpt->slot[slot] == GPT_ABSENT)
    return GPT_ABSENT;
  return run->gpt->layout->layer[1 + block].first_parameter + run->gpt->slot[slot];
}

/* ---- sub-layers ------------------------------------------------------------------------------ */

/* y = x w^T + b, with the parameters' numbers. */
static lh_status linear(const struct run *run, lh_tensor *y, const lh_tensor *x, size_t w, size_t b)
{
  const lh_tensor matrix = weight(run, w);
  if (b == GPT_ABSENT)
    return lh_linear_forward(run->device, y, x, &matrix, NULL);
  const lh_tensor bias = weight(run, b);
  return lh_linear_forward(run->device, y, x, &matrix, &bias);
}

static lh_status linear_back(const struct run *run, lh_tensor *dx, const lh_tensor *dy,
                             const lh_tensor *x, size_t w, size_t b)
{
  const lh_tensor matrix = weight(run, w);
  lh_tensor dmatrix = gradient(run, w);
  if (b == GPT_ABSENT)
    return lh_linear_backward(run->device, dx, &dmatrix, NULL, dy, x, &matrix);
  lh_tensor dbias = gradient(run, b);
  return lh_linear_backward(run->device, dx, &dmatrix, &dbias, dy, x, &matrix);
}

static lh_status norm(const struct run *run, lh_tensor *y, lh_tensor mean, lh_tensor rstd,
                      const lh_tensor *x, size_t w, size_t b)
{
  const lh_tensor gamma = weight(run, w);
  if (b == GPT_ABSENT)
    return lh_layer_norm_forward(run->device, y, &mean, &rstd, x, &gamma, NULL, EPSILON);
  const lh_tensor beta = weight(run, b);
  return lh_layer_norm_forward(run->device, y, &mean, &rstd, x, &gamma, &beta, EPSILON);
}

/* Adds to the gradient of the stream, which is how the residual path joins. */
static lh_status norm_back(struct run *run, const lh_tensor *dy, const lh_tensor *x, lh_tensor mean,
                           lh_tensor rstd, size_t w, size_t b)
{
  const lh_tensor gamma = weight(run, w);
  lh_tensor dgamma = gradient(run, w), dbeta = {0};
  if (b != GPT_ABSENT)
    dbeta = gradient(run, b);
  return lh_layer_norm_backward(run->device, &run->dstream, &dgamma,
                                b == GPT_ABSENT ? NULL : &dbeta, dy, x, &gamma, &mean, &rstd);
}

/* ---- forward --------------------------------------------------------------------------------- */

static lh_status embed(const struct run *run)
{
  const lh_tensor table = weight(run, run->gpt->token_table);
  const lh_tensor all = weight(run, run->gpt->position_table);
  const lh_tensor position =
      lh_tensor_view_2d(&all, 0, run->batch->sequence_tokens, run->gpt->width);
  lh_tensor x = kept(run, STREAM, 0);
  return lh_embedding_forward(run->device, &x, &run->batch->tokens, &table, &position);
}

static lh_status attend(struct run *run, size_t block)
{
  const lh_tensor x = kept(run, STREAM, block);
  lh_tensor normed = kept(run, NORM1, block), qkv = kept(run, QKV, block);
  lh_tensor attended = kept(run, ATTENDED, block), middle = kept(run, MIDDLE, block);
  lh_tensor denominators = lse(run, block);
  LH_TRY(norm(run, &normed, statistic(run, MEAN1, block), statistic(run, RSTD1, block), &x,
              numbered(run, block, GPT_NORM1_WEIGHT), numbered(run, block, GPT_NORM1_BIAS)));
  LH_TRY(linear(run, &qkv, &normed, numbered(run, block, GPT_QKV_WEIGHT),
                numbered(run, block, GPT_QKV_BIAS)));
  LH_TRY(lh_attention_forward(run->device, &attended, &denominators, &qkv, run->batch->sequences,
                              run->gpt->heads));
  LH_TRY(linear(run, &run->narrow, &attended, numbered(run, block, GPT_PROJECTION_WEIGHT),
                numbered(run, block, GPT_PROJECTION_BIAS)));
  return lh_add(run->device, &middle, &x, &run->narrow);
}

static lh_status feed_forward(struct run *run, size_t block)
{
  const lh_tensor middle = kept(run, MIDDLE, block);
  lh_tensor normed = kept(run, NORM2, block), up = kept(run, UP, block);
  lh_tensor active = kept(run, ACTIVE, block), next = kept(run, STREAM, block + 1);
  LH_TRY(norm(run, &normed, statistic(run, MEAN2, block), statistic(run, RSTD2, block), &middle,
              numbered(run, block, GPT_NORM2_WEIGHT), numbered(run, block, GPT_NORM2_BIAS)));
  LH_TRY(linear(run, &up, &normed, numbered(run, block, GPT_UP_WEIGHT),
                numbered(run, block, GPT_UP_BIAS)));
  LH_TRY(lh_activation_forward(run->device, LH_GELU, &active, &up));
  LH_TRY(linear(run, &run->narrow, &active, numbered(run, block, GPT_DOWN_WEIGHT),
                numbered(run, block, GPT_DOWN_BIAS)));
  return lh_add(run->device, &next, &middle, &run->narrow);
}

static lh_tensor norm_statistic(const struct run *run, size_t which)
{
  return lh_tensor_view_1d(&run->norm_statistics, which * run->rows, run->rows);
}

static size_t output_matrix(const lh_gpt *gpt)
{
  return gpt->tied ? gpt->token_table : gpt->output;
}

/* Leaves the gradient of the mean loss, times scale, in the logits' place. */
static lh_status head(struct run *run, double scale, lh_loss *loss)
{
  const lh_tensor x = kept(run, STREAM, run->gpt->depth);
  LH_TRY(norm(run, &run->norm, norm_statistic(run, 0), norm_statistic(run, 1), &x,
              run->gpt->norm_weight, run->gpt->norm_bias));
  LH_TRY(linear(run, &run->logits, &run->norm, output_matrix(run->gpt), GPT_ABSENT));
  return lh_cross_entropy(run->device, run->gradients ? &run->logits : NULL, &run->logits,
                          &run->batch->targets, scale / (double)run->rows, loss);
}

static lh_status forward(struct run *run, double scale, lh_loss *loss)
{
  const size_t depth = run->gpt->depth;
  LH_TRY(lh_before_forward(run->hooks, 0));
  LH_TRY(embed(run));
  if (!run->gpt->tied)
    LH_TRY(lh_after_forward(run->hooks, 0));
  for (size_t block = 0; block < depth; block++) {
    LH_TRY(lh_before_forward(run->hooks, 1 + block));
    LH_TRY(attend(run, block));
    LH_TRY(feed_forward(run, block));
    LH_TRY(lh_after_forward(run->hooks, 1 + block));
  }
  LH_TRY(lh_before_forward(run->hooks, 1 + depth));
  LH_TRY(head(run, scale, loss));
  LH_TRY(lh_after_forward(run->hooks, 1 + depth));
  return run->gpt->tied ? lh_after_forward(run->hooks, 0) : LH_OK;
}

/* ---- backward -------------------------------------------------------------------------------- */

static lh_status head_back(struct run *run)
{
  const lh_tensor x = kept(run, STREAM, run->gpt->depth);
  LH_TRY(linear_back(run, &run->narrow, &run->logits, &run->norm, output_matrix(run->gpt),
                     GPT_ABSENT));
  LH_TRY(lh_fill(run->device, &run->dstream, 0));
  return norm_back(run, &run->narrow, &x, norm_statistic(run, 0), norm_statistic(run, 1),
                   run->gpt->norm_weight, run->gpt->norm_bias);
}

static lh_status feed_forward_back(struct run *run, size_t block)
{
  const lh_tensor middle = kept(run, MIDDLE, block), normed = kept(run, NORM2, block);
  const lh_tensor up = kept(run, UP, block), active = kept(run, ACTIVE, block);
  lh_tensor dactive = lh_tensor_view_2d(&run->dwide, 0, run->rows, run->gpt->ff);
  LH_TRY(linear_back(run, &dactive, &run->dstream, &active, numbered(run, block, GPT_DOWN_WEIGHT),
                     numbered(run, block, GPT_DOWN_BIAS)));
  LH_TRY(lh_activation_backward(run->device, LH_GELU, &dactive, &dactive, &up));
  LH_TRY(linear_back(run, &run->narrow, &dactive, &normed, numbered(run, block, GPT_UP_WEIGHT),
                     numbered(run, block, GPT_UP_BIAS)));
  return norm_back(run, &run->narrow, &middle, statistic(run, MEAN2, block),
                   statistic(run, RSTD2, block), numbered(run, block, GPT_NORM2_WEIGHT),
                   numbered(run, block, GPT_NORM2_BIAS));
}

static lh_status attend_back(struct run *run, size_t block)
{
  const lh_tensor x = kept(run, STREAM, block), normed = kept(run, NORM1, block);
  const lh_tensor qkv = kept(run, QKV, block), attended = kept(run, ATTENDED, block);
  const lh_tensor denominators = lse(run, block);
  lh_tensor dqkv = lh_tensor_view_2d(&run->dwide, 0, run->rows, 3 * run->gpt->width);
  LH_TRY(linear_back(run, &run->narrow, &run->dstream, &attended,
                     numbered(run, block, GPT_PROJECTION_WEIGHT),
                     numbered(run, block, GPT_PROJECTION_BIAS)));
  LH_TRY(lh_attention_backward(run->device, &dqkv, &run->narrow, &attended, &denominators, &qkv,
                               run->batch->sequences, run->gpt->heads));
  LH_TRY(linear_back(run, &run->narrow, &dqkv, &normed, numbered(run, block, GPT_QKV_WEIGHT),
                     numbered(run, block, GPT_QKV_BIAS)));
  return norm_back(run, &run->narrow, &x, statistic(run, MEAN1, block),
                   statistic(run, RSTD1, block), numbered(run, block, GPT_NORM1_WEIGHT),
                   numbered(run, block, GPT_NORM1_BIAS));
}

static lh_status embed_back(const struct run *run)
{
  lh_tensor dtable = gradient(run, run->gpt->token_table);
  const lh_tensor all = gradient(run, run->gpt->position_table);
  lh_tensor dposition = lh_tensor_view_2d(&all, 0, run->batch->sequence_tokens, run->gpt->width);
  return lh_embedding_backward(run->device, &dtable, &dposition, &run->dstream,
                               &run->batch->tokens);
}

static lh_status backward(struct run *run)
{
  const size_t depth = run->gpt->depth;
  if (run->gpt->tied)
    LH_TRY(lh_before_backward(run->hooks, 0));
  LH_TRY(lh_before_backward(run->hooks, 1 + depth));
  LH_TRY(head_back(run));
  LH_TRY(lh_gradient_ready(run->hooks, 1 + depth));
  for (size_t block = depth; block-- > 0;) {
    LH_TRY(lh_before_backward(run->hooks, 1 + block));
    LH_TRY(feed_forward_back(run, block));
    LH_TRY(attend_back(run, block));
    LH_TRY(lh_gradient_ready(run->hooks, 1 + block));
  }
  if (!run->gpt->tied)
    LH_TRY(lh_before_backward(run->hooks, 0));
  LH_TRY(embed_back(run));
  return lh_gradient_ready(run->hooks, 0);
}

/* ---- workspace ------------------------------------------------------------------------------- */

static lh_status alloc(const struct run *run, lh_tensor *tensor, lh_dtype dtype, int dims,
                       const size_t *shape)
{
  return lh_tensor_alloc_workspace(run->device, tensor, "activations", dtype, dims, shape);
}

static lh_status alloc_workspace(struct run *run)
{
  const lh_gpt *gpt = run->gpt;
  const size_t c = gpt->width, n = run->rows, wide = gpt->ff > 3 * c ? gpt->ff : 3 * c;
  const lh_dtype compute = gpt->compute, exact = gpt->layout->dtype; /* statistics stay exact */
  const size_t slots = run->gradients || gpt->depth < 2 ? gpt->depth : 2;
  const size_t columns[BLOCK_ACTIVATIONS] = {c, c, 3 * c, c, c, c, gpt->ff, gpt->ff};
  for (int a = 0; a < BLOCK_ACTIVATIONS; a++) {
    /* One more of the stream: the output of the last block. */
    const size_t shape[] = {slots + (a == STREAM), n, columns[a]};
    LH_TRY(alloc(run, &run->kept[a], compute, 3, shape));
  }
  LH_TRY(alloc(run, &run->statistics, exact, 3, (size_t[]){slots, STATISTICS, n}));
  LH_TRY(alloc(run, &run->lse, exact, 2, (size_t[]){slots, n * gpt->heads}));
  LH_TRY(alloc(run, &run->norm, compute, 2, (size_t[]){n, c}));
  LH_TRY(alloc(run, &run->norm_statistics, exact, 2, (size_t[]){2, n}));
  LH_TRY(alloc(run, &run->logits, compute, 2, (size_t[]){n, gpt->vocabulary}));
  LH_TRY(alloc(run, &run->narrow, compute, 2, (size_t[]){n, c}));
  if (!run->gradients)
    return LH_OK;
  LH_TRY(alloc(run, &run->dstream, compute, 2, (size_t[]){n, c}));
  return alloc(run, &run->dwide, compute, 2, (size_t[]){n, wide});
}

static void free_workspace(struct run *run)
{
  lh_tensor *others[] = {&run->statistics, &run->lse,    &run->norm,    &run->norm_statistics,
                         &run->logits,     &run->narrow, &run->dstream, &run->dwide};
  for (int a = 0; a < BLOCK_ACTIVATIONS; a++)
    lh_tensor_free(&run->kept[a]);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    lh_tensor_free(others[i]);
}

lh_status lh_gpt_pass(const void *self, lh_device *device, const lh_tensor *parameters,
                      lh_tensor *gradients, const lh_batch *batch, double scale,
                      const struct lh_layer_hooks *hooks, lh_loss *loss)
{
  struct run run = {.gpt = self,
                    .device = device,
                    .parameters = parameters,
                    .gradients = gradients,
                    .batch = batch,
                    .hooks = hooks,
                    .rows = batch->sequences * batch->sequence_tokens};
  lh_status status;
  LH_TRY_GOTO(status, alloc_workspace(&run));
  LH_TRY_GOTO(status, forward(&run, scale, loss));
  if (gradients)
    status = backward(&run);
done:
  free_workspace(&run);
  return status;
}
