#include "sim/replicators/replicator.h"

#include <stdlib.h>

/* ---- options --------------------------------------------------------------------------------- */

const char *const lh_value_wires[] = {"f32", "bf16", "f16", "1bit", NULL};
static const char *const rules[] = {"code", "fixed", NULL};

#define O(field) offsetof(struct lh_replicator_choice, field)
/* clang-format off */
static const lh_option demo_options[] = {
    LH_DEMO_OPTIONS(struct lh_replicator_choice, demo), {0}};
static const lh_option random_options[] = {
    {.name = "rate", .type = LH_OPTION_DOUBLE, .offset = O(rows.rate), .fallback = "0.1", .low = 0,
     .high = 1, .open_low = true, .help = "share of the rows that is exchanged each step"},
    {.name = "seed", .type = LH_OPTION_SIZE, .offset = O(rows.seed), .fallback = "42", .low = 0,
     .high = INFINITY, .help = "of the draw, the same on all ranks"},
    {.name = "rows", .type = LH_OPTION_RAW, .offset = O(rows.given),
     .help = "rows of each step, [[1,6],[0,3], ...], repeated, in place of a draw"},
    {0}};
static const lh_option striding_options[] = {
    {.name = "rate", .type = LH_OPTION_DOUBLE, .offset = O(rows.rate), .fallback = "0.1", .low = 0,
     .high = 1, .open_low = true, .help = "share of the rows that is exchanged each step"},
    {.name = "chunk", .type = LH_OPTION_SIZE, .offset = O(rows.chunk), .fallback = "64", .low = 1,
     .high = INFINITY, .help = "number of rows aimed at: the largest divisor not above it is taken"},
    {.name = "rows", .type = LH_OPTION_CHOICE, .offset = O(rows.rule), .fallback = "\"code\"",
     .choices = rules, .help = "the published code's offsets, or step mod stride"},
    {0}};
/* clang-format on */
#undef O

const lh_option_part lh_replicator_parts[] = {
    {.name = "full", .help = "the mean of whole gradients"},
    {.name = "demo",
     .options = demo_options,
     .help = "the largest DCT coefficients of each chunk of a residual"},
    {.name = "random", .options = random_options, .help = "rows of a residual, drawn each step"},
    {.name = "striding", .options = striding_options, .help = "rows of a residual, evenly spaced"},
    {.name = "none", .help = "nothing"},
    {0}};

static lh_status check_given(lh_json given)
{
  if (!lh_json_present(given))
    return LH_OK;
  LH_TRY(lh_json_expect_array(given));
  if (!lh_json_size(given))
    return lh_json_fail(given, "found an empty array, allowed: a list of rows for each step");
  for (size_t s = 0; s < lh_json_size(given); s++) {
    const lh_json list = lh_json_at(given, s);
    LH_TRY(lh_json_expect_array(list));
    for (size_t i = 0, before = 0; i < lh_json_size(list); i++) {
      size_t row;
      LH_TRY(lh_json_size_value(lh_json_at(list, i), 0, INT32_MAX, &row));
      if (i && row <= before)
        return lh_json_fail(list, "found row %zu after row %zu, allowed: ascending rows", row,
                            before);
      before = row;
    }
  }
  return LH_OK;
}

lh_status lh_replication_check(const lh_replication_options *options, lh_json node)
{
  const size_t kind = options->replicator.kind, bytes = options->index_bytes;
  if (bytes != 2 && bytes != 4 && bytes != 8)
    return lh_json_fail(lh_json_get(node, "index_bytes"), "found %zu, allowed: 2, 4, 8", bytes);
  if (options->value_wire == LH_BIT && kind != LH_REPLICATOR_DEMO)
    return lh_json_fail(lh_json_get(node, "value_wire"),
                        "found \"1bit\", allowed: \"f32\", \"bf16\", \"f16\" with the replicator "
                        "\"%s\", whose values are averaged on their way",
                        lh_replicator_parts[kind].name);
  if (kind == LH_REPLICATOR_DEMO && bytes == 2 && options->replicator.demo.chunk > 65536)
    return lh_json_fail(lh_json_get(node, "index_bytes"),
                        "found 2, allowed: 4, 8 with chunks of up to %zu",
                        options->replicator.demo.chunk);
  return kind == LH_REPLICATOR_RANDOM ? check_given(options->replicator.rows.given) : LH_OK;
}

bool lh_replicator_has_residual(const lh_replicator_choice *choice)
{
  return choice->kind == LH_REPLICATOR_DEMO || choice->kind == LH_REPLICATOR_RANDOM ||
         choice->kind == LH_REPLICATOR_STRIDING;
}

/* ---- a tensor -------------------------------------------------------------------------------- */

struct lh_replicator_part {
  lh_tensor residual; /* view */
  lh_demo_turn demo;  /* one of these */
  lh_rows_turn rows;
  lh_pending *pending; /* of "full" */
};

static bool is_alone(const lh_replicator *r)
{
  return lh_group_size(r->group) == 1;
}

static lh_status make_part(lh_replicator *r, const lh_tensor *like, size_t start,
                           lh_replicator_part *part)
{
  const lh_replicator_choice *choice = &r->options->replicator;
  part->residual = lh_tensor_view(&r->residual, start, like->dims, like->shape);
  if (choice->kind == LH_REPLICATOR_DEMO) {
    const lh_demo_wire wire = {r->options->index_bytes, r->options->value_wire, r->sign_before};
    return lh_demo_turn_init(&part->demo, &choice->demo, wire, r->rank, r->group, &part->residual);
  }
  part->rows = (lh_rows_turn){.options = &choice->rows,
                              .strides = choice->kind == LH_REPLICATOR_STRIDING,
                              .rank = r->rank,
                              .group = r->group,
                              .wire = r->options->value_wire,
                              .signs = r->sign_before};
  return lh_rows_turn_init(&part->rows, like);
}

static lh_status make_parts(lh_replicator *r, const lh_tensor *like, size_t n)
{
  size_t elements = 0, start = 0;
  for (size_t i = 0; i < n; i++)
    elements += lh_tensor_elements(&like[i]);
  LH_TRY(lh_tensor_alloc_1d(lh_rank_device(r->rank), &r->residual, "residual", like[0].dtype,
                            elements));
  for (size_t i = 0; i < n; i++) {
    r->n++;
    LH_TRY(make_part(r, &like[i], start, &r->part[i]));
    start += lh_tensor_elements(&like[i]);
  }
  return LH_OK;
}

lh_status lh_replicator_init(lh_replicator *r, const lh_tensor *like, size_t n)
{
  r->part = calloc(n, sizeof *r->part);
  if (!r->part)
    return lh_fail(LH_ENOMEM, "no memory to exchange %zu tensors", n);
  return lh_replicator_has_residual(&r->options->replicator) ? make_parts(r, like, n) : LH_OK;
}

void lh_replicator_fini(lh_replicator *r)
{
  for (size_t i = 0; i < r->n; i++) {
    lh_demo_turn_fini(&r->part[i].demo);
    lh_rows_turn_fini(&r->part[i].rows);
  }
  free(r->part);
  lh_tensor_free(&r->residual);
}

/* ---- exchanging ------------------------------------------------------------------------------ */

static lh_status begin_plain(lh_replicator *r, lh_replicator_part *part, lh_tensor *g)
{
  if (r->sign_before)
    LH_TRY(lh_sign(lh_rank_device(r->rank), g, g));
  if (r->options->replicator.kind == LH_REPLICATOR_NONE)
    return LH_OK;
  return lh_all_reduce_start(r->rank, r->group, 0, g, LH_MEAN, r->full_wire, &part->pending);
}

lh_status lh_replicator_begin(lh_replicator *r, size_t i, lh_tensor *g, double rate, uint64_t step)
{
  lh_replicator_part *part = &r->part[i];
  if (!lh_replicator_has_residual(&r->options->replicator))
    return begin_plain(r, part, g);
  LH_TRY(lh_axpby(lh_rank_device(r->rank), rate, g, r->options->decay, &part->residual));
  if (is_alone(r))
    return LH_OK;
  return r->options->replicator.kind == LH_REPLICATOR_DEMO
             ? lh_demo_begin(&part->demo, &part->residual, g)
             : lh_rows_begin(&part->rows, &part->residual, step);
}

/* Nobody to exchange with: the whole residual is the update. */
static lh_status hand_over(lh_replicator *r, lh_tensor *residual, lh_tensor *q)
{
  lh_device *device = lh_rank_device(r->rank);
  LH_TRY(r->sign_before ? lh_sign(device, q, residual) : lh_copy(device, q, residual));
  return lh_fill(device, residual, 0.0);
}

lh_status lh_replicator_end(lh_replicator *r, size_t i, lh_tensor *q)
{
  lh_replicator_part *part = &r->part[i];
  if (!lh_replicator_has_residual(&r->options->replicator))
    return lh_wait(r->rank, &part->pending);
  if (is_alone(r))
    return hand_over(r, &part->residual, q);
  return r->options->replicator.kind == LH_REPLICATOR_DEMO ? lh_demo_end(&part->demo, q)
                                                           : lh_rows_end(&part->rows, q);
}
