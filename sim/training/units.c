#include "sim/training/units.h"

#include <stdlib.h>

#include "sim/training/total.h"

enum { GATHER_STREAM, SCATTER_STREAM, AVERAGE_STREAM };

const char *const lh_shard_wires[] = {"f32", "bf16", "f16", NULL};

/* What the wire says, except that a model in double stays in double. */
static lh_dtype storage(const lh_units *units, lh_dtype wire)
{
  const lh_dtype exact = units->trainer->model->layout.dtype;
  return exact == LH_F64 ? exact : wire;
}

lh_status lh_units_check_shard_ranks(size_t shard_ranks, lh_json node, const lh_platform *platform)
{
  const size_t accelerators = platform->accelerators_per_node;
  if (shard_ranks == 0 || accelerators % shard_ranks == 0)
    return LH_OK;
  return lh_json_fail(lh_json_get(node, "shard_ranks"),
                      "found %zu, allowed: a divisor of %zu, the accelerators of a node",
                      shard_ranks, accelerators);
}

/* ---- making them ----------------------------------------------------------------------------- */

static lh_status add_layer(lh_shard_unit *unit, const lh_layout *layout, size_t layer)
{
  size_t *wider = realloc(unit->layer, (unit->layers + 1) * sizeof *wider);
  if (!wider)
    return lh_fail(LH_ENOMEM, "no memory for a unit of %zu layers", unit->layers + 1);
  unit->layer = wider;
  unit->layer[unit->layers++] = layer;
  unit->elements += layout->layer[layer].elements;
  return LH_OK;
}

/* The root is where its first layer is. */
static lh_status group_layers(lh_units *units, const lh_layout *layout)
{
  size_t root = SIZE_MAX;
  units->unit = calloc(layout->layers, sizeof *units->unit);
  units->unit_of = calloc(layout->layers, sizeof *units->unit_of);
  units->backward_order = calloc(layout->layers, sizeof *units->backward_order);
  units->backward_place = calloc(layout->layers, sizeof *units->backward_place);
  if (!units->unit || !units->unit_of || !units->backward_order || !units->backward_place)
    return lh_fail(LH_ENOMEM, "no memory for %zu units", layout->layers);
  for (size_t layer = 0; layer < layout->layers; layer++) {
    const bool outside = layout->layer[layer].outside;
    const size_t u = outside && root != SIZE_MAX ? root : units->n++;
    if (outside)
      root = u;
    units->unit[u].root = outside;
    units->unit_of[layer] = u;
    LH_TRY(add_layer(&units->unit[u], layout, layer));
  }
  return LH_OK;
}

/* A backward pass enters units by their last layer. */
static void order_backward(lh_units *units, size_t layers)
{
  size_t place = 0;
  for (size_t layer = layers; layer-- > 0;) {
    const size_t u = units->unit_of[layer];
    if (units->unit[u].layer[units->unit[u].layers - 1] != layer)
      continue;
    units->backward_order[place] = u;
    units->backward_place[u] = place++;
  }
}

static lh_status alloc_shards(lh_units *units)
{
  lh_trainer *t = units->trainer;
  const lh_dtype dtype = t->model->layout.dtype;
  size_t sum = 0;
  for (size_t u = 0; u < units->n; u++) {
    units->unit[u].shard_elements = (units->unit[u].elements + units->ranks - 1) / units->ranks;
    sum += units->unit[u].shard_elements;
  }
  LH_TRY(lh_tensor_alloc_1d(t->device, &units->parameters, "parameters", dtype, sum));
  LH_TRY(lh_tensor_alloc_1d(t->device, &units->gradients, "gradients", dtype, sum));
  units->shard_gradients = calloc(units->n, sizeof *units->shard_gradients);
  if (!units->shard_gradients)
    return lh_fail(LH_ENOMEM, "no memory for %zu units", units->n);
  sum = 0;
  for (size_t u = 0; u < units->n; u++) {
    lh_shard_unit *unit = &units->unit[u];
    unit->gradients = &units->shard_gradients[u];
    unit->parameters = lh_tensor_view_1d(&units->parameters, sum, unit->shard_elements);
    *unit->gradients = lh_tensor_view_1d(&units->gradients, sum, unit->shard_elements);
    sum += unit->shard_elements;
  }
  return LH_OK;
}

/* Where a unit's shard meets its layers. */
static void add_pieces(lh_units *units, const lh_shard_unit *unit)
{
  const lh_layout *layout = &units->trainer->model->layout;
  const size_t begin = units->position * unit->shard_elements, end = begin + unit->shard_elements;
  size_t layer_begin = 0;
  for (size_t i = 0; i < unit->layers; i++) {
    const lh_layer *layer = &layout->layer[unit->layer[i]];
    const size_t layer_end = layer_begin + layer->elements;
    const size_t from = begin > layer_begin ? begin : layer_begin;
    const size_t to = end < layer_end ? end : layer_end;
    if (from < to)
      units->piece[units->pieces++] =
          (lh_piece){.values = lh_tensor_view_1d(&unit->parameters, from - begin, to - from),
                     .offset = layer->offset + from - layer_begin};
    layer_begin = layer_end;
  }
}

static lh_status make_pieces(lh_units *units)
{
  const lh_trainer *t = units->trainer;
  units->piece = calloc(t->model->layout.layers + 1, sizeof *units->piece);
  if (!units->piece)
    return lh_fail(LH_ENOMEM, "no memory for the pieces of %zu units", units->n);
  for (size_t u = 0; u < units->n; u++)
    add_pieces(units, &units->unit[u]);
  if (!units->pieces) /* a shard of nothing but padding */
    units->piece[units->pieces++] = (lh_piece){
        .values = lh_tensor_view_1d(&units->parameters, 0, 0), .offset = t->model->layout.elements};
  return LH_OK;
}

lh_status lh_units_init(lh_units *units, lh_trainer *t, const lh_units_options *options)
{
  units->options = *options;
  units->trainer = t;
  units->ranks = lh_group_size(options->shard);
  units->position = lh_group_position(options->shard, t->rank);
  LH_TRY(group_layers(units, &t->model->layout));
  order_backward(units, t->model->layout.layers);
  LH_TRY(alloc_shards(units));
  LH_TRY(make_pieces(units));
  LH_TRY(lh_trainer_use_pieces(t, units->piece, units->pieces,
                               lh_rank_index(t->rank) / units->ranks, units->ranks));
  return lh_trainer_start_pieces(t);
}

void lh_units_fini(lh_units *units)
{
  for (size_t u = 0; u < units->n; u++) {
    lh_shard_unit *unit = &units->unit[u];
    lh_tensor_free(&unit->gathered);
    lh_tensor_free(&unit->whole);
    lh_tensor_free(&unit->incoming);
    free(unit->layer);
  }
  lh_tensor_free(&units->parameters);
  lh_tensor_free(&units->gradients);
  free(units->shard_gradients);
  free(units->unit);
  free(units->unit_of);
  free(units->backward_order);
  free(units->backward_place);
  free(units->piece);
}

/* ---- gathering ------------------------------------------------------------------------------- */

/* Shows the layers of a unit in a whole copy of it. */
static void show(const lh_units *units, const lh_shard_unit *unit, const lh_tensor *whole,
                 lh_tensor *views)
{
  const lh_layout *layout = &units->trainer->model->layout;
  size_t offset = 0;
  for (size_t i = 0; i < unit->layers; i++) {
    const size_t elements = layout->layer[unit->layer[i]].elements;
    views[unit->layer[i]] = lh_tensor_view_1d(whole, offset, elements);
    offset += elements;
  }
}

static lh_status start_gather(lh_units *units, lh_shard_unit *unit)
{
  lh_trainer *t = units->trainer;
  if (unit->gathered.dims)
    return LH_OK;
  LH_TRY(lh_tensor_alloc_1d(t->device, &unit->gathered, "gathered parameters",
                            storage(units, units->options.parameter_wire),
                            units->ranks * unit->shard_elements));
  return lh_all_gather_start(t->rank, units->options.shard, GATHER_STREAM, &unit->parameters,
                             &unit->gathered, units->options.parameter_wire, &unit->gather);
}

/* Before the first layer of a unit in a pass: its own gather, and those ahead of it. */
static lh_status enter(lh_units *units, lh_shard_unit *unit, const size_t *order, size_t place)
{
  lh_trainer *t = units->trainer;
  if (unit->layers_entered++ > 0)
    return LH_OK;
  for (size_t i = place; i < units->n && i <= place + units->options.prefetch_units; i++)
    LH_TRY(start_gather(units, &units->unit[order ? order[i] : i]));
  LH_TRY(lh_wait(t->rank, &unit->gather));
  show(units, unit, &unit->gathered, t->parameter_views);
  return LH_OK;
}

/* After a layer: true when it was the last of its unit in this pass. */
static bool leave(lh_shard_unit *unit)
{
  if (++unit->layers_done < unit->layers)
    return false;
  unit->layers_done = unit->layers_entered = 0;
  return true;
}

static lh_status before_forward(void *ctx, size_t layer)
{
  lh_units *units = ctx;
  const size_t u = units->unit_of[layer];
  return enter(units, &units->unit[u], NULL, u);
}

static lh_status after_forward(void *ctx, size_t layer)
{
  lh_units *units = ctx;
  lh_shard_unit *unit = &units->unit[units->unit_of[layer]];
  const bool reshards =
      units->options.reshard_after_forward && (!unit->root || units->options.reshard_root);
  if (leave(unit) && reshards)
    lh_tensor_free(&unit->gathered);
  return LH_OK;
}

/* ---- reducing -------------------------------------------------------------------------------- */

static lh_status open_gradient(lh_units *units, lh_shard_unit *unit)
{
  lh_trainer *t = units->trainer;
  if (unit->whole.dims) /* kept since an earlier micro-batch, or an earlier layer */
    return LH_OK;
  LH_TRY(lh_tensor_alloc_1d(t->device, &unit->whole, "whole gradients",
                            storage(units, units->options.gradient_wire),
                            units->ranks * unit->shard_elements));
  show(units, unit, &unit->whole, t->gradient_views);
  return lh_fill(t->device, &unit->whole, 0.0);
}

static lh_status before_backward(void *ctx, size_t layer)
{
  lh_units *units = ctx;
  const size_t u = units->unit_of[layer];
  LH_TRY(enter(units, &units->unit[u], units->backward_order, units->backward_place[u]));
  return open_gradient(units, &units->unit[u]);
}

/* One whole gradient is on the wire at a time: the next one waits for it. */
static lh_status finish_scatter(lh_units *units)
{
  lh_shard_unit *unit = units->on_the_wire;
  units->on_the_wire = NULL;
  if (!unit)
    return LH_OK;
  LH_TRY(lh_wait(units->trainer->rank, &unit->scatter));
  lh_tensor_free(&unit->whole);
  return LH_OK;
}

static lh_status start_scatter(lh_units *units, lh_shard_unit *unit, lh_tensor *shard)
{
  lh_trainer *t = units->trainer;
  const lh_units_options *o = &units->options;
  if (o->factor_before != 1.0)
    LH_TRY(lh_scale(t->device, &unit->whole, o->factor_before));
  LH_TRY(finish_scatter(units));
  LH_TRY(lh_reduce_scatter_start(t->rank, o->shard, SCATTER_STREAM, &unit->whole, shard, LH_SUM,
                                 o->gradient_wire, &unit->scatter));
  units->on_the_wire = unit;
  return LH_OK;
}

static lh_status start_average(lh_units *units, lh_shard_unit *unit, lh_tensor *shard)
{
  lh_trainer *t = units->trainer;
  const lh_units_options *o = &units->options;
  if (!o->replication)
    return LH_OK;
  LH_TRY(lh_stream_after(t->rank, AVERAGE_STREAM, unit->scatter));
  return lh_all_reduce_start(t->rank, o->replication, AVERAGE_STREAM, shard, LH_SUM,
                             o->gradient_wire, &unit->average);
}

/* The first micro-batch's sum is received where it belongs, later ones beside it. */
static lh_status start_reduction(lh_units *units, lh_shard_unit *unit)
{
  if (units->accumulates)
    LH_TRY(lh_tensor_alloc_1d(units->trainer->device, &unit->incoming, "incoming gradients",
                              storage(units, units->options.gradient_wire), unit->shard_elements));
  lh_tensor *shard = units->accumulates ? &unit->incoming : unit->gradients;
  LH_TRY(start_scatter(units, unit, shard));
  return start_average(units, unit, shard);
}

static lh_status gradient_ready(void *ctx, size_t layer)
{
  lh_units *units = ctx;
  lh_shard_unit *unit = &units->unit[units->unit_of[layer]];
  if (!leave(unit))
    return LH_OK;
  lh_tensor_free(&unit->gathered);
  return units->options.keep_gradients ? LH_OK : start_reduction(units, unit);
}

static lh_status finish_reductions(lh_units *units)
{
  lh_trainer *t = units->trainer;
  LH_TRY(finish_scatter(units));
  for (size_t i = 0; i < units->n; i++) {
    lh_shard_unit *unit = &units->unit[units->backward_order[i]];
    LH_TRY(lh_wait(t->rank, &unit->average));
    if (units->accumulates)
      LH_TRY(lh_add(t->device, unit->gradients, unit->gradients, &unit->incoming));
    lh_tensor_free(&unit->incoming);
  }
  return LH_OK;
}

static lh_status scale_after(lh_units *units, lh_tensor *gradients)
{
  if (units->options.factor_after == 1.0)
    return LH_OK;
  return lh_scale(units->trainer->device, gradients, units->options.factor_after);
}

lh_status lh_units_gradient(lh_units *units)
{
  lh_trainer *t = units->trainer;
  const size_t n = t->workload->micro_batches;
  const struct lh_layer_hooks hooks = {.before_forward = before_forward,
                                       .after_forward = after_forward,
                                       .before_backward = before_backward,
                                       .gradient_ready = gradient_ready,
                                       .ctx = units};
  for (size_t i = 0; i < n; i++) {
    units->accumulates = i > 0;
    LH_TRY(lh_trainer_micro_batch(t, 1.0 / (double)n, &hooks));
    if (!units->options.keep_gradients)
      LH_TRY(finish_reductions(units));
  }
  return units->options.keep_gradients ? LH_OK : scale_after(units, &units->gradients);
}

lh_status lh_units_reduce(lh_units *units, lh_shard_unit *unit)
{
  LH_TRY(start_scatter(units, unit, unit->gradients));
  LH_TRY(finish_scatter(units));
  return scale_after(units, unit->gradients);
}

/* ---- clipping -------------------------------------------------------------------------------- */

lh_status lh_units_clip(lh_units *units, double limit)
{
  lh_device *device = units->trainer->device;
  double sum;
  if (limit <= 0)
    return LH_OK;
  LH_TRY(lh_sum_squares(device, &units->gradients, &sum));
  LH_TRY(lh_total_over(units->trainer, units->options.shard, &sum));
  return lh_scale(device, &units->gradients, lh_clip_factor(sum, limit));
}
