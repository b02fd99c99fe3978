/* zero1.c -- data parallelism whose optimizer state is cut over the ranks.
 *
 * ideal: parameters and gradients are whole and narrow, the master weights and the optimizer state are
 *   f32 and cut in n slices per bucket:
 *
 *     gradients of all micro-batches are summed here; behind the last backward pass each bucket is
 *     reduce-scattered in place;  own slices: / sum of micro-batches, step of the master, written back;
 *     all-gathers, lowest layers first, each waited for when the next forward pass enters its layers
 *
 * reference: what PyTorch's DistributedDataParallel under ZeroRedundancyOptimizer does. All f32; buckets are
 *   copies; they are all-reduced behind the backward pass of every micro-batch (no_sync: of the last), so
 *   that the gradient is a running mean. Whole tensors are owned by ranks, the largest given out first to
 *   whoever has least; owners step, then broadcast tensor by tensor.
 *
 * Source: Rajbhandari et al. 2020, arXiv:1910.02054; PyTorch's code; page zero1-adamw.
 * Differs: what the ideal variant shows and evaluates are its masters, which the last all-gather may not
 *   yet have brought to all.
 */
#include <stdlib.h>

#include "sim/methods/method.h"
#include "sim/training/buckets.h"
#include "sim/training/total.h"

enum { VARIANT_IDEAL, VARIANT_REFERENCE };

struct zero1_options {
  lh_inner_options inner;
  size_t variant;
  bool no_sync;
  double bucket_bytes, first_bucket_bytes;
  lh_dtype gradient_wire, parameter_wire;
};

struct bucket {
  size_t first, lowest_layer;
  lh_tensor gradients; /* a view (ideal), a copy (reference) */
  lh_pending *reduction;
  /* ideal: */
  lh_tensor parameters;                /* a view */
  lh_tensor own_gradient, own, master; /* this rank's slice: two views and its master weights */
  lh_inner inner;
  lh_pending *gather;
};

/* reference: a parameter tensor. */
struct tensor {
  lh_tensor parameters, gradients; /* views */
  size_t owner;
  lh_inner inner; /* on its owner */
  lh_pending *broadcast;
};

struct zero1 {
  const struct zero1_options *options;
  lh_trainer *trainer;
  size_t ranks, rank;
  size_t buckets;
  struct bucket *bucket; /* in the order in which a backward pass completes them */
  size_t started;        /* reductions */
  size_t ungathered;     /* buckets whose all-gather has not been waited for: the first ones */
  lh_piece *piece;       /* ideal: the masters */
  struct tensor *tensor;
};

static bool is_ideal(const struct zero1 *z)
{
  return z->options->variant == VARIANT_IDEAL;
}

/* ---- what both do ---------------------------------------------------------------------------- */

static lh_status make_buckets(struct zero1 *z, lh_dtype dtype, size_t align)
{
  const lh_bucket_limits limits = {.bytes = z->options->bucket_bytes,
                                   .first_bytes = z->options->first_bucket_bytes,
                                   .dtype = dtype,
                                   .align = align};
  lh_bucket *range;
  LH_TRY(lh_buckets_make(&z->trainer->model->layout, &limits, &range, &z->buckets));
  z->bucket = calloc(z->buckets, sizeof *z->bucket);
  for (size_t i = 0; z->bucket && i < z->buckets; i++)
    z->bucket[i] = (struct bucket){
        .first = range[i].first,
        .lowest_layer = range[i].lowest_layer,
        .gradients = lh_tensor_view_1d(&z->trainer->gradients, range[i].first, range[i].elements)};
  free(range);
  return z->bucket ? LH_OK : lh_fail(LH_ENOMEM, "zero1: no memory for %zu buckets", z->buckets);
}

static lh_status start_reduction(struct zero1 *z, struct bucket *bucket);

static lh_status gradient_ready(void *ctx, size_t layer)
{
  struct zero1 *z = ctx;
  while (z->started < z->buckets && z->bucket[z->started].lowest_layer >= layer)
    LH_TRY(start_reduction(z, &z->bucket[z->started++]));
  return LH_OK;
}

/* ---- ideal ----------------------------------------------------------------------------------- */

static lh_status make_slice(struct zero1 *z, struct bucket *bucket)
{
  lh_trainer *t = z->trainer;
  const lh_layout *layout = &t->model->layout;
  const size_t elements = lh_tensor_elements(&bucket->gradients);
  const size_t slice = elements / z->ranks, place = z->rank * slice;
  bucket->parameters = lh_tensor_view_1d(&t->parameters, bucket->first, elements);
  bucket->own = lh_tensor_view_1d(&bucket->parameters, place, slice);
  bucket->own_gradient = lh_tensor_view_1d(&bucket->gradients, place, slice);
  LH_TRY(lh_tensor_alloc_1d(t->device, &bucket->master, "master slice", layout->dtype, slice));
  LH_TRY(lh_copy(t->device, &bucket->master, &bucket->own));
  z->piece[bucket - z->bucket] = lh_trainer_piece(t, &bucket->master, bucket->first + place);
  return lh_inner_init_for(&bucket->inner, &bucket->master, &z->options->inner);
}

static lh_status make_slices(struct zero1 *z)
{
  z->piece = calloc(z->buckets, sizeof *z->piece);
  if (!z->piece)
    return lh_fail(LH_ENOMEM, "zero1: no memory for %zu slices", z->buckets);
  for (size_t i = 0; i < z->buckets; i++)
    LH_TRY(make_slice(z, &z->bucket[i]));
  return lh_trainer_use_pieces(z->trainer, z->piece, z->buckets, 0, z->ranks);
}

static lh_status create_ideal(struct zero1 *z)
{
  lh_trainer *t = z->trainer;
  const lh_layout *layout = &t->model->layout;
  const struct zero1_options *o = z->options;
  const size_t padded = (layout->elements + z->ranks - 1) / z->ranks * z->ranks;
  LH_TRY(lh_trainer_use_flat_for_wires(t, o->gradient_wire, o->parameter_wire, padded));
  LH_TRY(make_buckets(z, t->gradients.dtype, z->ranks));
  lh_device_pause_charging(t->device);
  const lh_status status = make_slices(z);
  lh_device_resume_charging(t->device);
  return status;
}

/* Waits for the parameters below `end`: gathers were started from the lowest up. */
static lh_status wait_for_parameters(struct zero1 *z, size_t end)
{
  while (z->ungathered > 0 && z->bucket[z->ungathered - 1].first < end)
    LH_TRY(lh_wait(z->trainer->rank, &z->bucket[--z->ungathered].gather));
  return LH_OK;
}

static lh_status before_forward(void *ctx, size_t layer)
{
  struct zero1 *z = ctx;
  const lh_layer *entered = &z->trainer->model->layout.layer[layer];
  return wait_for_parameters(z, entered->offset + entered->elements);
}

/* Sums of this rank's gradients; their reductions are under way at the end. */
static lh_status sum_gradients(struct zero1 *z)
{
  lh_trainer *t = z->trainer;
  const size_t n = t->workload->micro_batches;
  LH_TRY(lh_fill(t->device, &t->gradients, 0.0));
  for (size_t i = 0; i < n; i++) {
    const struct lh_layer_hooks hooks = {.before_forward = i == 0 ? before_forward : NULL,
                                         .gradient_ready = i + 1 == n ? gradient_ready : NULL,
                                         .ctx = z};
    LH_TRY(lh_trainer_micro_batch(t, 1.0, &hooks));
    if (i + 1 < n)
      LH_TRY(lh_round_to_wire(t->device, &t->gradients, t->gradients.dtype));
  }
  return gradient_ready(z, 0);
}

/* Own slices of the mean gradient. */
static lh_status wait_for_slices(struct zero1 *z)
{
  lh_trainer *t = z->trainer;
  const double micro_batches = (double)(z->ranks * t->workload->micro_batches);
  for (size_t i = 0; i < z->buckets; i++) {
    LH_TRY(lh_wait(t->rank, &z->bucket[i].reduction));
    LH_TRY(lh_scale(t->device, &z->bucket[i].own_gradient, 1.0 / micro_batches));
  }
  z->started = 0;
  return LH_OK;
}

static lh_status clip_slices(struct zero1 *z)
{
  lh_trainer *t = z->trainer;
  double sum = 0, one;
  if (z->options->inner.clip_norm <= 0)
    return LH_OK;
  for (size_t i = 0; i < z->buckets; i++) {
    LH_TRY(lh_sum_squares(t->device, &z->bucket[i].own_gradient, &one));
    sum += one;
  }
  LH_TRY(lh_total_over(t, lh_world(t->rank), &sum));
  for (size_t i = 0; i < z->buckets; i++)
    LH_TRY(lh_scale(t->device, &z->bucket[i].own_gradient,
                    lh_clip_factor(sum, z->options->inner.clip_norm)));
  return LH_OK;
}

static lh_status step_and_gather(struct zero1 *z)
{
  lh_trainer *t = z->trainer;
  for (size_t i = z->buckets; i-- > 0;) {
    struct bucket *bucket = &z->bucket[i];
    LH_TRY(lh_inner_step_on(&bucket->inner, t, &bucket->master, &bucket->own_gradient));
    LH_TRY(lh_copy(t->device, &bucket->own, &bucket->master));
    LH_TRY(lh_all_gather_start(t->rank, lh_world(t->rank), 0, &bucket->own, &bucket->parameters,
                               z->options->parameter_wire, &bucket->gather));
  }
  z->ungathered = z->buckets;
  return LH_OK;
}

static lh_status train_ideal(struct zero1 *z)
{
  lh_trainer *t = z->trainer;
  while (lh_trainer_next_step(t)) {
    LH_TRY(sum_gradients(z));
    LH_TRY(wait_for_parameters(z, SIZE_MAX)); /* of layers that no forward pass entered */
    LH_TRY(wait_for_slices(z));
    LH_TRY(clip_slices(z));
    LH_TRY(step_and_gather(z));
    LH_TRY(lh_trainer_end_step(t, NULL));
  }
  return wait_for_parameters(z, SIZE_MAX);
}

/* ---- reference ------------------------------------------------------------------------------- */

struct sized {
  size_t elements, tensor;
};

static int larger_first(const void *a, const void *b)
{
  const struct sized *x = a, *y = b;
  if (x->elements != y->elements)
    return x->elements < y->elements ? 1 : -1;
  return x->tensor < y->tensor ? -1 : 1;
}

/* Whole tensors, the largest first, each to the rank that has least. */
static lh_status give_out(struct zero1 *z)
{
  const lh_layout *layout = &z->trainer->model->layout;
  struct sized *sized = calloc(layout->parameters, sizeof *sized);
  size_t *total = calloc(z->ranks, sizeof *total);
  if (sized && total) {
    for (size_t i = 0; i < layout->parameters; i++)
      sized[i] = (struct sized){layout->parameter[i].elements, i};
    qsort(sized, layout->parameters, sizeof *sized, larger_first);
    for (size_t i = 0; i < layout->parameters; i++) {
      size_t least = 0;
      for (size_t r = 1; r < z->ranks; r++)
        if (total[r] < total[least])
          least = r;
      z->tensor[sized[i].tensor].owner = least;
      total[least] += sized[i].elements;
    }
  }
  const bool failed = !sized || !total;
  free(sized);
  free(total);
  return failed ? lh_fail(LH_ENOMEM, "zero1: no memory for %zu tensors", layout->parameters)
                : LH_OK;
}

static lh_status make_tensors(struct zero1 *z)
{
  lh_trainer *t = z->trainer;
  const lh_layout *layout = &t->model->layout;
  z->tensor = calloc(layout->parameters, sizeof *z->tensor);
  if (!z->tensor)
    return lh_fail(LH_ENOMEM, "zero1: no memory for %zu tensors", layout->parameters);
  LH_TRY(give_out(z));
  for (size_t i = 0; i < layout->parameters; i++) {
    struct tensor *tensor = &z->tensor[i];
    const size_t first = lh_parameter_start(layout, i), n = layout->parameter[i].elements;
    tensor->parameters = lh_tensor_view_1d(&t->parameters, first, n);
    tensor->gradients = lh_tensor_view_1d(&t->gradients, first, n);
    if (tensor->owner == z->rank)
      LH_TRY(lh_inner_init_for(&tensor->inner, &tensor->parameters, &z->options->inner));
  }
  return LH_OK;
}

static lh_status create_reference(struct zero1 *z)
{
  lh_trainer *t = z->trainer;
  const lh_dtype dtype = t->model->layout.dtype;
  LH_TRY(lh_trainer_use_flat(t));
  LH_TRY(make_buckets(z, dtype, 1));
  for (size_t i = 0; i < z->buckets; i++)
    LH_TRY(lh_tensor_alloc_1d(t->device, &z->bucket[i].gradients, "gradient buckets", dtype,
                              lh_tensor_elements(&z->bucket[i].gradients)));
  return make_tensors(z);
}

static lh_tensor bucket_place(const struct zero1 *z, const struct bucket *bucket)
{
  return lh_tensor_view_1d(&z->trainer->gradients, bucket->first,
                           lh_tensor_elements(&bucket->gradients));
}

static lh_status wait_for_copies(struct zero1 *z)
{
  lh_trainer *t = z->trainer;
  for (size_t i = 0; i < z->started; i++) {
    lh_tensor place = bucket_place(z, &z->bucket[i]);
    LH_TRY(lh_wait(t->rank, &z->bucket[i].reduction));
    LH_TRY(lh_copy(t->device, &place, &z->bucket[i].gradients));
  }
  z->started = 0;
  return LH_OK;
}

/* The mean over ranks of all that has been added so far, after each micro-batch or the last. */
static lh_status running_mean(struct zero1 *z)
{
  lh_trainer *t = z->trainer;
  const size_t n = t->workload->micro_batches;
  const struct lh_layer_hooks hooks = {.gradient_ready = gradient_ready, .ctx = z};
  LH_TRY(lh_fill(t->device, &t->gradients, 0.0));
  for (size_t i = 0; i < n; i++) {
    const bool reduces = i + 1 == n || !z->options->no_sync;
    LH_TRY(lh_trainer_micro_batch(t, 1.0 / (double)n, reduces ? &hooks : NULL));
    if (reduces)
      LH_TRY(gradient_ready(z, 0));
    LH_TRY(wait_for_copies(z));
  }
  return LH_OK;
}

static lh_status step_own(struct zero1 *z)
{
  lh_trainer *t = z->trainer;
  for (size_t i = 0; i < t->model->layout.parameters; i++) {
    struct tensor *tensor = &z->tensor[i];
    if (tensor->owner == z->rank)
      LH_TRY(lh_inner_step_on(&tensor->inner, t, &tensor->parameters, &tensor->gradients));
  }
  return LH_OK;
}

static lh_status broadcast_all(struct zero1 *z)
{
  lh_trainer *t = z->trainer;
  const size_t n = t->model->layout.parameters;
  for (size_t owner = 0; owner < z->ranks; owner++)
    for (size_t i = 0; i < n; i++)
      if (z->tensor[i].owner == owner)
        LH_TRY(lh_broadcast_start(t->rank, lh_world(t->rank), 0, &z->tensor[i].parameters, owner,
                                  LH_F32, &z->tensor[i].broadcast));
  for (size_t i = 0; i < n; i++)
    LH_TRY(lh_wait(t->rank, &z->tensor[i].broadcast));
  return LH_OK;
}

static lh_status train_reference(struct zero1 *z)
{
  lh_trainer *t = z->trainer;
  while (lh_trainer_next_step(t)) {
    LH_TRY(running_mean(z));
    LH_TRY(lh_clip_norm(t->device, &t->gradients, z->options->inner.clip_norm));
    LH_TRY(step_own(z));
    LH_TRY(broadcast_all(z));
    LH_TRY(lh_trainer_end_step(t, NULL));
  }
  return LH_OK;
}

/* ---- the method ------------------------------------------------------------------------------ */

static lh_status start_reduction(struct zero1 *z, struct bucket *bucket)
{
  lh_trainer *t = z->trainer;
  lh_group *world = lh_world(t->rank);
  if (is_ideal(z)) {
    LH_TRY(lh_round_to_wire(t->device, &bucket->gradients, bucket->gradients.dtype));
    return lh_reduce_scatter_start(t->rank, world, 0, &bucket->gradients, &bucket->own_gradient,
                                   LH_SUM_ROUNDED_ONCE, z->options->gradient_wire,
                                   &bucket->reduction);
  }
  const lh_tensor place = bucket_place(z, bucket);
  LH_TRY(lh_copy(t->device, &bucket->gradients, &place));
  LH_TRY(lh_scale(t->device, &bucket->gradients, 1.0 / (double)z->ranks));
  return lh_all_reduce_start(t->rank, world, 0, &bucket->gradients, LH_SUM, LH_F32,
                             &bucket->reduction);
}

static lh_status create(void *state, lh_trainer *t, const void *options)
{
  struct zero1 *z = state;
  z->options = options;
  z->trainer = t;
  z->ranks = lh_world_size(t->rank);
  z->rank = lh_rank_index(t->rank);
  return is_ideal(z) ? create_ideal(z) : create_reference(z);
}

static lh_status train(void *state, lh_trainer *t)
{
  (void)t;
  struct zero1 *z = state;
  return is_ideal(z) ? train_ideal(z) : train_reference(z);
}

static void destroy(void *state)
{
  struct zero1 *z = state;
  for (size_t i = 0; z->bucket && i < z->buckets; i++) {
    lh_inner_fini(&z->bucket[i].inner);
    lh_tensor_free(&z->bucket[i].gradients);
    lh_tensor_free(&z->bucket[i].master);
  }
  for (size_t i = 0; z->tensor && i < z->trainer->model->layout.parameters; i++)
    lh_inner_fini(&z->tensor[i].inner);
  free(z->bucket);
  free(z->tensor);
  free(z->piece);
}

/* Options of the other variant would do nothing. */
static lh_status check(const void *options, lh_json node, const lh_platform *platform,
                       const lh_workload *workload)
{
  (void)platform;
  (void)workload;
  static const char *const of_ideal[] = {"gradient_wire", "parameter_wire", NULL};
  static const char *const of_reference[] = {"no_sync", NULL};
  const bool ideal = ((const struct zero1_options *)options)->variant == VARIANT_IDEAL;
  for (const char *const *name = ideal ? of_reference : of_ideal; *name; name++)
    if (lh_json_present(lh_json_get(node, *name)))
      return lh_json_fail(lh_json_get(node, *name), "only for variant \"%s\"",
                          ideal ? "reference" : "ideal");
  return LH_OK;
}

#define O(field) offsetof(struct zero1_options, field)
static const char *const variants[] = {"ideal", "reference", NULL};
static const char *const wires[] = {"f32", "bf16", "f16", NULL};
/* clang-format off */
static const lh_option option_table[] = {
    LH_INNER_OPTIONS(struct zero1_options, inner, "{\"name\": \"adamw\", \"learning_rate\": 6e-4, "
                     "\"beta2\": 0.95, \"weight_decay\": 0.1}"),
    {.name = "variant", .type = LH_OPTION_CHOICE, .offset = O(variant), .fallback = "\"ideal\"",
     .choices = variants, .help = "slices of everything, or whole tensors as PyTorch's code"},
    {.name = "gradient_wire", .type = LH_OPTION_DTYPE, .offset = O(gradient_wire),
     .fallback = "\"bf16\"", .choices = wires,
     .help = "ideal: dtype in which gradients are kept and sent"},
    {.name = "parameter_wire", .type = LH_OPTION_DTYPE, .offset = O(parameter_wire),
     .fallback = "\"bf16\"", .choices = wires,
     .help = "ideal: dtype in which parameters are used and sent"},
    {.name = "no_sync", .type = LH_OPTION_BOOL, .offset = O(no_sync), .fallback = "false",
     .help = "reference: all-reduce after the last micro-batch only"},
    LH_BUCKET_OPTIONS(struct zero1_options),
    {0}};
/* clang-format on */
#undef O

const lh_method lh_method_zero1 = {
    .name = "zero1",
    .title = "Data parallel with sharded optimizer state (ZeRO-1)",
    .paper = "Rajbhandari et al. 2020, arXiv:1910.02054",
    .options = option_table,
    .options_size = sizeof(struct zero1_options),
    .state_size = sizeof(struct zero1),
    .check = check,
    .create = create,
    .train = train,
    .destroy = destroy,
    .state_formula =
        "ideal: 4 + 12/n B/param with AdamW: parameters 2, gradients 2, master 4/n, m and v 8/n; "
        "reference: 12 + 8/n: parameters 4, gradients 4, buckets 4, m and v 8/n of whole tensors",
    .wire_formula =
        "ideal: (n-1)/n (g+b) P' per step, g and b bytes of gradient_wire and parameter_wire, P' "
        "= P up to a multiple of n; reference: 8 (n-1)/n P per micro-batch and the broadcasts",
    .state_bytes_per_parameter = 12,
};
