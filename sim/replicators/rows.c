#include "sim/replicators/rows.h"

#include <math.h>
#include <stdlib.h>

/* ---- which rows ------------------------------------------------------------------------------ */

size_t lh_random_rows(const lh_rows_options *options, size_t n)
{
  return (size_t)(options->rate * (double)n);
}

size_t lh_striding_height(const lh_rows_options *options, size_t elements)
{
  return lh_chunk_length(elements, options->chunk);
}

size_t lh_striding_rows(const lh_rows_options *options, size_t height, uint64_t calls,
                        uint64_t step, int32_t *row)
{
  const size_t share = (size_t)(options->rate * (double)height), a = share ? share : 1;
  const size_t stride = (height + a - 1) / a;
  size_t n = 0;
  if (options->rule == LH_STRIDING_FIXED) {
    for (size_t i = step % stride; i < height; i += stride)
      row[n++] = (int32_t)i;
    return n;
  }
  const size_t offset = (size_t)(calls % height) * (stride * a % height) % height;
  for (; n < a; n++)
    row[n] = (int32_t)((offset + n * stride) % height);
  return n;
}

static lh_status alloc_rows(lh_rows_turn *turn, size_t n)
{
  lh_device *device = lh_rank_device(turn->rank);
  return n ? lh_tensor_alloc_1d(device, &turn->rows, "messages", LH_I32, n) : LH_OK;
}

static lh_status set_rows(lh_rows_turn *turn, const int32_t *row, size_t n)
{
  LH_TRY(alloc_rows(turn, n));
  return n ? lh_tensor_set_i32(&turn->rows, row, n) : LH_OK;
}

static lh_status stride(lh_rows_turn *turn, uint64_t step)
{
  int32_t *row = calloc(turn->height, sizeof *row);
  if (!row)
    return lh_fail(LH_ENOMEM, "no memory for %zu rows", turn->height);
  const size_t n = lh_striding_rows(turn->options, turn->height, turn->calls, step, row);
  const lh_status status = set_rows(turn, row, n);
  free(row);
  return status;
}

static lh_status take_given(lh_rows_turn *turn, uint64_t step)
{
  const lh_json all = turn->options->given;
  const lh_json list = lh_json_at(all, (size_t)((step - 1) % lh_json_size(all)));
  const size_t n = lh_json_size(list);
  int32_t *row = calloc(n + 1, sizeof *row);
  if (!row)
    return lh_fail(LH_ENOMEM, "no memory for %zu rows", n);
  for (size_t i = 0; i < n; i++)
    row[i] = (int32_t)lh_json_at(list, i).node->valuedouble;
  const lh_status status = set_rows(turn, row, n);
  free(row);
  return status;
}

static lh_status draw(lh_rows_turn *turn, uint64_t step)
{
  const size_t n = lh_random_rows(turn->options, turn->height);
  LH_TRY(alloc_rows(turn, n));
  return n ? lh_draw_rows(lh_rank_device(turn->rank), &turn->rows, turn->height,
                          turn->options->seed, step)
           : LH_OK;
}

static lh_status choose_rows(lh_rows_turn *turn, uint64_t step)
{
  if (turn->strides)
    return stride(turn, step);
  return lh_json_present(turn->options->given) ? take_given(turn, step) : draw(turn, step);
}

/* ---- a tensor's turn ------------------------------------------------------------------------- */

static lh_status check_given(const lh_rows_turn *turn)
{
  const lh_json all = turn->options->given;
  for (size_t s = 0; s < lh_json_size(all); s++)
    for (size_t i = 0; i < lh_json_size(lh_json_at(all, s)); i++) {
      size_t row;
      LH_TRY(lh_json_size_value(lh_json_at(lh_json_at(all, s), i), 0, turn->height - 1, &row));
    }
  return LH_OK;
}

lh_status lh_rows_turn_init(lh_rows_turn *turn, const lh_tensor *like)
{
  const size_t elements = lh_tensor_elements(like);
  turn->height = turn->strides ? lh_striding_height(turn->options, elements) : like->shape[0];
  turn->length = elements / turn->height;
  return turn->strides ? LH_OK : check_given(turn);
}

static void free_buffers(lh_rows_turn *turn)
{
  lh_tensor_free(&turn->rows);
  lh_tensor_free(&turn->values);
}

void lh_rows_turn_fini(lh_rows_turn *turn)
{
  free_buffers(turn);
}

lh_status lh_rows_begin(lh_rows_turn *turn, lh_tensor *m, uint64_t step)
{
  lh_device *device = lh_rank_device(turn->rank);
  LH_TRY(choose_rows(turn, step));
  turn->calls++;
  if (!turn->rows.dims)
    return LH_OK;
  LH_TRY(lh_tensor_alloc_1d(device, &turn->values, "messages", m->dtype,
                            lh_tensor_elements(&turn->rows) * turn->length));
  LH_TRY(lh_gather_rows(device, &turn->values, m, &turn->rows));
  LH_TRY(lh_zero_rows(device, m, turn->length, &turn->rows));
  if (turn->signs)
    LH_TRY(lh_sign(device, &turn->values, &turn->values));
  return lh_all_reduce_start(turn->rank, turn->group, 0, &turn->values, LH_MEAN, turn->wire,
                             &turn->pending);
}

lh_status lh_rows_end(lh_rows_turn *turn, lh_tensor *q)
{
  lh_device *device = lh_rank_device(turn->rank);
  LH_TRY(lh_wait(turn->rank, &turn->pending));
  LH_TRY(lh_fill(device, q, 0.0));
  if (turn->rows.dims)
    LH_TRY(lh_scatter_rows(device, q, &turn->values, &turn->rows));
  free_buffers(turn);
  return LH_OK;
}
