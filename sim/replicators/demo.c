#include "sim/replicators/demo.h"

const char *const lh_demo_merges[] = {"contributors", "sum-over-n", NULL};

lh_status lh_demo_turn_init(lh_demo_turn *turn, const lh_demo_options *options, lh_demo_wire wire,
                            lh_rank *rank, lh_group *group, const lh_tensor *like)
{
  *turn = (lh_demo_turn){.options = options, .wire = wire, .rank = rank, .group = group};
  LH_TRY(lh_chunking_init(lh_rank_device(rank), &turn->chunking, like, options->chunk));
  turn->k = options->top_k < turn->chunking.block_elements ? options->top_k
                                                           : turn->chunking.block_elements;
  return LH_OK;
}

static void free_buffers(lh_demo_turn *turn)
{
  lh_tensor_free(&turn->index);
  lh_tensor_free(&turn->value);
  lh_tensor_free(&turn->all_index);
  lh_tensor_free(&turn->all_value);
}

void lh_demo_turn_fini(lh_demo_turn *turn)
{
  free_buffers(turn);
  lh_chunking_fini(&turn->chunking);
}

static lh_status alloc_buffers(lh_demo_turn *turn, lh_dtype value_dtype)
{
  lh_device *device = lh_rank_device(turn->rank);
  const size_t kept = turn->chunking.blocks * turn->k;
  const size_t all = kept * lh_group_size(turn->group);
  const char *const owner = "messages";
  LH_TRY(lh_tensor_alloc_1d(device, &turn->index, owner, LH_I32, kept));
  LH_TRY(lh_tensor_alloc_1d(device, &turn->value, owner, value_dtype, kept));
  LH_TRY(lh_tensor_alloc_1d(device, &turn->all_index, owner, LH_I32, all));
  return lh_tensor_alloc_1d(device, &turn->all_value, owner, value_dtype, all);
}

static lh_dtype index_wire(const lh_demo_turn *turn)
{
  const size_t coefficients = turn->chunking.block_elements;
  switch (turn->wire.index_bytes) {
  case 8:
    return LH_I64;
  case 4:
    return LH_I32;
  case 2:
    return LH_I16;
  default:
    return coefficients <= 256 ? LH_U8 : coefficients <= 65536 ? LH_I16 : LH_I32;
  }
}

/* m <- m - subtract * decode(own message), with the values that were kept, whatever the wire makes of
 * them. */
static lh_status take_off(lh_demo_turn *turn, lh_tensor *m, lh_tensor *scratch)
{
  lh_device *device = lh_rank_device(turn->rank);
  LH_TRY(lh_dct_merge_decode(device, scratch, &turn->chunking, turn->k, 1, LH_MERGE_CONTRIBUTORS,
                             &turn->index, &turn->value));
  return lh_axpby(device, -turn->options->subtract, scratch, 1.0, m);
}

static lh_status start_gathers(lh_demo_turn *turn)
{
  lh_device *device = lh_rank_device(turn->rank);
  if (turn->wire.signs || turn->wire.value == LH_BIT)
    LH_TRY(lh_sign(device, &turn->value, &turn->value));
  LH_TRY(lh_all_gather_start(turn->rank, turn->group, 0, &turn->index, &turn->all_index,
                             index_wire(turn), &turn->index_pending));
  return lh_all_gather_start(turn->rank, turn->group, 0, &turn->value, &turn->all_value,
                             turn->wire.value, &turn->value_pending);
}

lh_status lh_demo_begin(lh_demo_turn *turn, lh_tensor *m, lh_tensor *scratch)
{
  LH_TRY(alloc_buffers(turn, m->dtype));
  LH_TRY(lh_dct_top_k(lh_rank_device(turn->rank), m, &turn->chunking, turn->k, &turn->index,
                      &turn->value));
  LH_TRY(take_off(turn, m, scratch));
  return start_gathers(turn);
}

lh_status lh_demo_end(lh_demo_turn *turn, lh_tensor *u)
{
  LH_TRY(lh_wait(turn->rank, &turn->index_pending));
  LH_TRY(lh_wait(turn->rank, &turn->value_pending));
  LH_TRY(lh_dct_merge_decode(lh_rank_device(turn->rank), u, &turn->chunking, turn->k,
                             lh_group_size(turn->group), (lh_merge)turn->options->merge,
                             &turn->all_index, &turn->all_value));
  free_buffers(turn);
  return LH_OK;
}
