/* streaming_diloco.c -- DiLoCo fragment by fragment, each exchanged while training goes on.
 *
 *     every step t:   theta <- inner optimizer(theta, own gradient)
 *     send:           for each fragment p due at t:  Delta <- G_p - theta_p, quantised, on its way
 *     receive:        for each fragment p sent at t - tau:
 *                       Delta <- mean over ranks, summed in f32
 *                       buf_p <- mu buf_p + Delta              (first time: Delta)
 *                       G_p   <- G_p - eta (Delta + mu buf_p)
 *                       theta_p <- alpha theta_p + (1 - alpha) G_p
 *
 * Fragment p is due when t - t_p is a multiple of H, t_p = p floor(H / fragments); first after H full
 * steps, or at its first slot. Layers are taken in groups; "strided" gives layer l to group l mod groups,
 * "sequential" gives neighbours; what lies outside the repeated layers is one more fragment. All
 * fragments share one stream, so one link, in the order in which they are sent.
 *
 * In f32 and 16-bit wires Delta travels by all-reduce. Four bits (E3M0, one block per parameter tensor) cannot
 * be added on the way: all ranks' codes are gathered. Scales are headers and are not counted.
 *
 * Memory: as DiLoCo, 24 B/param in f32 with AdamW; and for a fragment in flight 4 B per parameter, in
 *   four bits 0.5 (1 + M) more.
 * Source: Douillard et al. 2025, arXiv:2501.18512, algorithm 2; page streaming-diloco, which adds the
 *   definition of the quantiser. G is what is evaluated once every fragment has been received.
 */
#include <math.h>
#include <stdlib.h>

#include "sim/methods/method.h"
#include "sim/training/buckets.h"

enum { PATTERN_STRIDED, PATTERN_SEQUENTIAL };
enum { FIRST_SYNC_FULL_ROUND, FIRST_SYNC_FIRST_SLOT };

struct streaming_options {
  lh_inner_options inner;
  size_t inner_steps, fragment_layers, pattern, overlap_steps, first_sync;
  double mixing;
  lh_outer_options outer;
  lh_dtype outer_wire;
  lh_json fragments;
};

/* Neighbouring elements of one parameter tensor. */
struct range {
  size_t first, elements, parameter;
};

struct fragment {
  size_t ranges, elements;
  struct range *range;
  size_t offset; /* t_p */
  lh_tensor delta, sent,
      received; /* (|p|), (|p|), (M |p|): while in flight; the last two in four bits */
  lh_pending *pending;
  size_t due; /* step at which it is received; 0: not in flight */
  bool synchronised;
};

struct streaming {
  const struct streaming_options *options;
  lh_trainer *trainer;
  lh_inner inner;
  lh_tensor global, momentum; /* G, buf: flat */
  size_t fragments;
  struct fragment *fragment;
};

/* ---- fragments ------------------------------------------------------------------------------- */

static lh_status no_memory(void)
{
  return lh_fail(LH_ENOMEM, "streaming-diloco: no memory for fragments");
}

static lh_status add_range(struct fragment *fragment, struct range range)
{
  struct range *last = fragment->ranges ? &fragment->range[fragment->ranges - 1] : NULL;
  fragment->elements += range.elements;
  if (last && last->parameter == range.parameter && last->first + last->elements == range.first) {
    last->elements += range.elements;
    return LH_OK;
  }
  struct range *more = realloc(fragment->range, (fragment->ranges + 1) * sizeof *more);
  if (!more)
    return no_memory();
  fragment->range = more;
  more[fragment->ranges++] = range;
  return LH_OK;
}

static lh_status add_layer(struct fragment *fragment, const lh_layout *layout, size_t layer)
{
  const size_t first = layout->layer[layer].first_parameter;
  for (size_t i = first; i < first + layout->layer[layer].parameters; i++)
    LH_TRY(add_range(fragment, (struct range){.first = lh_parameter_start(layout, i),
                                              .elements = layout->parameter[i].elements,
                                              .parameter = i}));
  return LH_OK;
}

/* The repeated layers in groups, and one group of the others. */
static size_t layer_groups(const lh_layout *layout, size_t fragment_layers, bool *others)
{
  size_t repeated = 0;
  *others = false;
  for (size_t layer = 0; layer < layout->layers; layer++)
    if (layout->layer[layer].outside)
      *others = true;
    else
      repeated++;
  return (repeated + fragment_layers - 1) / fragment_layers;
}

static size_t fragment_count(const struct streaming_options *o, const lh_layout *layout)
{
  bool others;
  if (lh_json_present(o->fragments))
    return lh_json_size(o->fragments);
  const size_t groups = layer_groups(layout, o->fragment_layers, &others);
  return groups + (others ? 1 : 0);
}

static lh_status cut_by_layers(struct streaming *s, const lh_layout *layout)
{
  bool others;
  const size_t groups = layer_groups(layout, s->options->fragment_layers, &others);
  size_t repeated = 0;
  for (size_t layer = 0; layer < layout->layers; layer++) {
    const size_t group = layout->layer[layer].outside ? groups
                         : s->options->pattern == PATTERN_STRIDED
                             ? repeated++ % groups
                             : repeated++ / s->options->fragment_layers;
    LH_TRY(add_layer(&s->fragment[group], layout, layer));
  }
  return LH_OK;
}

static size_t parameter_at(const lh_layout *layout, size_t element)
{
  size_t i = 0;
  while (i + 1 < layout->parameters && lh_parameter_start(layout, i + 1) <= element)
    i++;
  return i;
}

/* What `check` has accepted. */
static lh_status cut_as_given(struct streaming *s, const lh_layout *layout)
{
  for (size_t p = 0; p < s->fragments; p++) {
    const lh_json list = lh_json_at(s->options->fragments, p);
    for (size_t i = 0; i < lh_json_size(list); i++) {
      size_t element;
      LH_TRY(lh_json_size_value(lh_json_at(list, i), 0, layout->elements - 1, &element));
      LH_TRY(
          add_range(&s->fragment[p], (struct range){.first = element,
                                                    .elements = 1,
                                                    .parameter = parameter_at(layout, element)}));
    }
  }
  return LH_OK;
}

static lh_status cut(struct streaming *s)
{
  const lh_layout *layout = &s->trainer->model->layout;
  s->fragments = fragment_count(s->options, layout);
  s->fragment = calloc(s->fragments, sizeof *s->fragment);
  if (!s->fragment)
    return no_memory();
  for (size_t p = 0; p < s->fragments; p++)
    s->fragment[p].offset = p * (s->options->inner_steps / s->fragments);
  return lh_json_present(s->options->fragments) ? cut_as_given(s, layout)
                                                : cut_by_layers(s, layout);
}

/* ---- sending --------------------------------------------------------------------------------- */

static bool in_four_bits(const struct streaming *s)
{
  return s->options->outer_wire == LH_FP4;
}

static lh_tensor part_of(const lh_tensor *flat, const struct range *range)
{
  return lh_tensor_view_1d(flat, range->first, range->elements);
}

static lh_status form_delta(struct streaming *s, struct fragment *fragment)
{
  lh_trainer *t = s->trainer;
  LH_TRY(lh_tensor_alloc_1d(t->device, &fragment->delta, "fragment in flight", s->global.dtype,
                            fragment->elements));
  size_t at = 0;
  for (size_t i = 0; i < fragment->ranges; i++) {
    const struct range *range = &fragment->range[i];
    const lh_tensor g = part_of(&s->global, range), theta = part_of(&t->parameters, range);
    lh_tensor delta = lh_tensor_view_1d(&fragment->delta, at, range->elements);
    LH_TRY(lh_subtract(t->device, &delta, &g, &theta));
    at += range->elements;
  }
  return LH_OK;
}

/* One block per range. */
static lh_status quantise(struct streaming *s, struct fragment *fragment)
{
  lh_trainer *t = s->trainer;
  const lh_dtype dtype = s->global.dtype == LH_F64 ? LH_F64 : LH_FP4;
  LH_TRY(lh_tensor_alloc_1d(t->device, &fragment->sent, "fragment in flight", dtype,
                            fragment->elements));
  LH_TRY(lh_tensor_alloc_1d(t->device, &fragment->received, "fragment in flight", dtype,
                            lh_world_size(t->rank) * fragment->elements));
  size_t at = 0;
  for (size_t i = 0; i < fragment->ranges; i++) {
    const size_t n = fragment->range[i].elements;
    const lh_tensor delta = lh_tensor_view_1d(&fragment->delta, at, n);
    lh_tensor codes = lh_tensor_view_1d(&fragment->sent, at, n);
    LH_TRY(lh_quantise_fp4(t->device, &codes, &delta));
    at += n;
  }
  return LH_OK;
}

static lh_status send(struct streaming *s, struct fragment *fragment)
{
  lh_rank *self = s->trainer->rank;
  fragment->due = s->trainer->step + s->options->overlap_steps;
  LH_TRY(form_delta(s, fragment));
  if (!in_four_bits(s))
    return lh_all_reduce_start(self, lh_world(self), 0, &fragment->delta, LH_MEAN,
                               s->options->outer_wire, &fragment->pending);
  LH_TRY(quantise(s, fragment));
  return lh_all_gather_start(self, lh_world(self), 0, &fragment->sent, &fragment->received, LH_FP4,
                             &fragment->pending);
}

/* ---- receiving ------------------------------------------------------------------------------- */

static lh_status mean_of_received(struct streaming *s, struct fragment *fragment)
{
  lh_trainer *t = s->trainer;
  const size_t n = fragment->elements, ranks = lh_world_size(t->rank);
  for (size_t i = 0; i < ranks; i++) {
    const lh_tensor one = lh_tensor_view_1d(&fragment->received, i * n, n);
    LH_TRY(i == 0 ? lh_copy(t->device, &fragment->delta, &one)
                  : lh_add(t->device, &fragment->delta, &fragment->delta, &one));
  }
  return lh_scale(t->device, &fragment->delta, 1.0 / (double)ranks);
}

static lh_status outer_step(struct streaming *s, struct fragment *fragment)
{
  lh_trainer *t = s->trainer;
  const double alpha = s->options->mixing;
  size_t at = 0;
  for (size_t i = 0; i < fragment->ranges; i++) {
    const struct range *range = &fragment->range[i];
    const lh_tensor delta = lh_tensor_view_1d(&fragment->delta, at, range->elements);
    lh_tensor g = part_of(&s->global, range), theta = part_of(&t->parameters, range);
    lh_tensor buffer = s->momentum.dims ? part_of(&s->momentum, range) : (lh_tensor){0};
    LH_TRY(
        lh_outer_step(t->device, &s->options->outer, &g, &buffer, &delta, !fragment->synchronised));
    LH_TRY(lh_axpby(t->device, 1.0 - alpha, &g, alpha, &theta));
    at += range->elements;
  }
  fragment->synchronised = true;
  return LH_OK;
}

static lh_status land(struct streaming *s, struct fragment *fragment)
{
  const lh_status status = lh_wait(s->trainer->rank, &fragment->pending);
  fragment->due = 0;
  return status;
}

static void clear(struct fragment *fragment)
{
  lh_tensor_free(&fragment->delta);
  lh_tensor_free(&fragment->sent);
  lh_tensor_free(&fragment->received);
}

static lh_status receive(struct streaming *s, struct fragment *fragment)
{
  LH_TRY(land(s, fragment));
  if (in_four_bits(s))
    LH_TRY(mean_of_received(s, fragment));
  LH_TRY(outer_step(s, fragment));
  clear(fragment);
  return LH_OK;
}

/* ---- the method ------------------------------------------------------------------------------ */

static bool is_due(const struct streaming *s, const struct fragment *fragment)
{
  const size_t step = s->trainer->step, h = s->options->inner_steps;
  const bool waits = s->options->first_sync == FIRST_SYNC_FULL_ROUND;
  return step >= fragment->offset + (waits ? h : 0) && (step - fragment->offset) % h == 0;
}

static lh_status exchange(struct streaming *s)
{
  for (size_t p = 0; p < s->fragments; p++)
    if (is_due(s, &s->fragment[p]))
      LH_TRY(send(s, &s->fragment[p]));
  for (size_t p = 0; p < s->fragments; p++)
    if (s->fragment[p].due == s->trainer->step)
      LH_TRY(receive(s, &s->fragment[p]));
  return LH_OK;
}

static const lh_tensor *evaluated(const struct streaming *s)
{
  for (size_t p = 0; p < s->fragments; p++)
    if (!s->fragment[p].synchronised)
      return NULL;
  return &s->global;
}

/* What is on its way when the run ends is heard out, and changes nothing. */
static lh_status land_all(struct streaming *s)
{
  for (size_t p = 0; p < s->fragments; p++)
    LH_TRY(land(s, &s->fragment[p]));
  return LH_OK;
}

static lh_status create(void *state, lh_trainer *t, const void *options)
{
  struct streaming *s = state;
  s->options = options;
  s->trainer = t;
  LH_TRY(lh_trainer_use_flat(t));
  LH_TRY(lh_inner_init(&s->inner, t, &s->options->inner));
  const size_t n = lh_tensor_elements(&t->parameters);
  LH_TRY(lh_tensor_alloc_1d(t->device, &s->global, "outer parameters", t->parameters.dtype, n));
  if (s->options->outer.kind != LH_OUTER_SGD)
    LH_TRY(lh_tensor_alloc_1d(t->device, &s->momentum, "outer momentum", t->parameters.dtype, n));
  LH_TRY(cut(s));
  return lh_copy(t->device, &s->global, &t->parameters);
}

static lh_status train(void *state, lh_trainer *t)
{
  struct streaming *s = state;
  while (lh_trainer_next_step(t)) {
    LH_TRY(lh_trainer_gradient(t, NULL));
    LH_TRY(lh_inner_step(&s->inner, t));
    LH_TRY(exchange(s));
    LH_TRY(lh_trainer_end_step(t, evaluated(s)));
  }
  return land_all(s);
}

static void destroy(void *state)
{
  struct streaming *s = state;
  lh_inner_fini(&s->inner);
  lh_tensor_free(&s->global);
  lh_tensor_free(&s->momentum);
  for (size_t p = 0; s->fragment && p < s->fragments; p++) {
    clear(&s->fragment[p]);
    free(s->fragment[p].range);
  }
  free(s->fragment);
}

/* ---- checking -------------------------------------------------------------------------------- */

static lh_status check_list(lh_json list, size_t elements, bool *seen)
{
  LH_TRY(lh_json_expect_array(list));
  if (lh_json_size(list) == 0)
    return lh_json_fail(list, "found no parameters, allowed: at least one");
  for (size_t i = 0; i < lh_json_size(list); i++) {
    size_t element;
    LH_TRY(lh_json_size_value(lh_json_at(list, i), 0, elements - 1, &element));
    if (seen[element])
      return lh_json_fail(lh_json_at(list, i), "found %zu a second time", element);
    seen[element] = true;
  }
  return LH_OK;
}

/* Every element of the model, once. */
static lh_status check_fragments(lh_json fragments, size_t elements)
{
  LH_TRY(lh_json_expect_array(fragments));
  bool *seen = calloc(elements, sizeof *seen);
  lh_status status = seen ? LH_OK : no_memory();
  for (size_t p = 0; p < lh_json_size(fragments) && status == LH_OK; p++)
    status = check_list(lh_json_at(fragments, p), elements, seen);
  for (size_t i = 0; i < elements && status == LH_OK; i++)
    if (!seen[i])
      status = lh_json_fail(fragments, "parameter %zu of 0 to %zu is in none", i, elements - 1);
  free(seen);
  return status;
}

static lh_status check(const void *options, lh_json node, const lh_platform *platform,
                       const lh_workload *workload)
{
  (void)platform;
  const struct streaming_options *o = options;
  const lh_layout *layout = &workload->model->layout;
  if (lh_json_present(o->fragments))
    LH_TRY(check_fragments(o->fragments, layout->elements));
  const size_t fragments = fragment_count(o, layout);
  if (o->inner_steps < fragments)
    return lh_json_fail(
        lh_json_present(lh_json_get(node, "inner_steps")) ? lh_json_get(node, "inner_steps") : node,
        "found %zu steps, allowed: at least %zu, the number of fragments", o->inner_steps,
        fragments);
  if (o->overlap_steps >= o->inner_steps)
    return lh_json_fail(lh_json_get(node, "overlap_steps"),
                        "found %zu, allowed: less than %zu, the inner_steps", o->overlap_steps,
                        o->inner_steps);
  return LH_OK;
}

#define O(field) offsetof(struct streaming_options, field)
static const char *const patterns[] = {"strided", "sequential", NULL};
static const char *const first_syncs[] = {"full-round", "first-slot", NULL};
static const char *const wires[] = {"f32", "bf16", "f16", "fp4", NULL};
/* clang-format off */
static const lh_option option_table[] = {
    LH_INNER_OPTIONS(struct streaming_options, inner,
                     "{\"name\": \"adamw\", \"learning_rate\": 4e-4, \"beta2\": 0.95, "
                     "\"weight_decay\": 0.1}"),
    {.name = "inner_steps", .type = LH_OPTION_SIZE, .offset = O(inner_steps), .fallback = "100",
     .low = 1, .high = INFINITY, .help = "local steps between two exchanges of a fragment (H)"},
    {.name = "fragment_layers", .type = LH_OPTION_SIZE, .offset = O(fragment_layers),
     .fallback = "3", .low = 1, .high = INFINITY, .help = "layers of a fragment"},
    {.name = "pattern", .type = LH_OPTION_CHOICE, .offset = O(pattern), .fallback = "\"strided\"",
     .choices = patterns, .help = "layers of a fragment lie apart or side by side"},
    {.name = "fragments", .type = LH_OPTION_RAW, .offset = O(fragments),
     .help = "parameters of each fragment by number, [[0,1],[2], ...], in place of layers"},
    {.name = "overlap_steps", .type = LH_OPTION_SIZE, .offset = O(overlap_steps), .fallback = "1",
     .low = 0, .high = INFINITY, .help = "steps between sending and applying (tau)"},
    {.name = "mixing", .type = LH_OPTION_DOUBLE, .offset = O(mixing), .fallback = "0.5", .low = 0,
     .high = 1, .help = "share of the local parameters that stays (alpha)"},
    {.name = "first_sync", .type = LH_OPTION_CHOICE, .offset = O(first_sync),
     .fallback = "\"full-round\"", .choices = first_syncs,
     .help = "a fragment is first sent after H full steps, or at its first slot"},
    {.name = "outer", .type = LH_OPTION_PART, .offset = O(outer),
     .fallback = "{\"name\": \"nesterov\", \"learning_rate\": 0.4, \"momentum\": 0.9}",
     .parts = lh_outer_parts, .help = "the outer optimizer"},
    {.name = "outer_wire", .type = LH_OPTION_DTYPE, .offset = O(outer_wire), .fallback = "\"fp4\"",
     .choices = wires, .help = "dtype of the outer gradient on the wire"},
    {0}};
/* clang-format on */
#undef O

const lh_method lh_method_streaming_diloco = {
    .name = "streaming-diloco",
    .title = "Streaming DiLoCo: fragments, overlapped and in four bits",
    .paper = "Douillard et al. 2025, arXiv:2501.18512",
    .options = option_table,
    .options_size = sizeof(struct streaming_options),
    .state_size = sizeof(struct streaming),
    .check = check,
    .create = create,
    .train = train,
    .destroy = destroy,
    .state_formula = "24 B/param: parameters 4, gradients 4, m and v 8, outer parameters 4, outer "
                     "momentum 4; and "
                     "of a fragment in flight 4, in fp4 4.5 + W/2",
    .wire_formula =
        "per fragment of p parameters, once per H = inner_steps steps: fp4 (W-1) p / 2, "
        "else 2 (W-1)/W * b * p, b bytes of outer_wire",
    .state_bytes_per_parameter = 16,
};
