#include "sim/training/buckets.h"

#include <stdlib.h>

size_t lh_parameter_start(const lh_layout *layout, size_t parameter)
{
  return layout->layer[layout->parameter[parameter].layer].offset +
         layout->parameter[parameter].offset;
}

static size_t round_up(size_t x, size_t align)
{
  return (x + align - 1) / align * align;
}

/* The layer that an element belongs to. */
static size_t layer_at(const lh_layout *layout, size_t element)
{
  size_t layer = 0;
  while (layer + 1 < layout->layers && layout->layer[layer + 1].offset <= element)
    layer++;
  return layer;
}

lh_status lh_buckets_make(const lh_layout *layout, const lh_bucket_limits *limits,
                          lh_bucket **buckets, size_t *n)
{
  const double element_bytes = (double)lh_dtype_bits(limits->dtype) / 8;
  *n = 0;
  *buckets = calloc(layout->parameters, sizeof **buckets);
  if (!*buckets)
    return lh_fail(LH_ENOMEM, "no memory for %zu buckets", layout->parameters);
  size_t end = round_up(layout->elements, limits->align); /* where the open bucket ends */
  for (size_t i = layout->parameters; i-- > 0;) {
    const size_t first = round_up(lh_parameter_start(layout, i), limits->align);
    const double limit = *n == 0 ? limits->first_bytes : limits->bytes;
    if (first > 0 && (first >= end || (double)(end - first) * element_bytes < limit))
      continue;
    (*buckets)[(*n)++] = (lh_bucket){
        .first = first, .elements = end - first, .lowest_layer = layer_at(layout, first)};
    end = first;
  }
  return LH_OK;
}
