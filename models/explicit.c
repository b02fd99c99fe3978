#include "models/explicit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/layout.h"

/* ---- rows ------------------------------------------------------------------------------------ */

static lh_status expect_finite(lh_json node, const double *values, size_t n)
{
  for (size_t i = 0; i < n; i++)
    if (!isfinite(values[i]))
      return lh_json_fail(lh_json_at(node, i), "found %g, allowed: a finite number", values[i]);
  return LH_OK;
}

static lh_status read_row(lh_json node, size_t width, double *row)
{
  double *values = NULL;
  size_t n = 0;
  LH_TRY(lh_json_expect_array(node));
  LH_TRY(lh_json_doubles(node, &values, &n));
  if (n != width) {
    free(values);
    return lh_json_fail(node, "found %zu values, allowed: %zu, as many as \"start\" has", n, width);
  }
  memcpy(row, values, width * sizeof *row);
  free(values);
  return expect_finite(node, row, width);
}

static lh_status rows_alloc(lh_rows *rows, size_t ranks, size_t width)
{
  *rows = (lh_rows){.ranks = ranks, .width = width, .first = calloc(ranks + 1, sizeof(size_t))};
  return rows->first ? LH_OK : lh_fail(LH_ENOMEM, "no memory for the rows of %zu ranks", ranks);
}

static lh_status values_alloc(lh_rows *rows)
{
  rows->values = calloc(rows->first[rows->ranks] * rows->width, sizeof *rows->values);
  return rows->values ? LH_OK : lh_fail(LH_ENOMEM, "no memory for given rows");
}

static lh_status expect_some(lh_json node, const char *what)
{
  LH_TRY(lh_json_expect_array(node));
  if (!lh_json_size(node))
    return lh_json_fail(node, "found an empty array, allowed: %s", what);
  return LH_OK;
}

lh_status lh_rows_read_one_each(lh_json node, size_t width, lh_rows *rows)
{
  LH_TRY(expect_some(node, "one row of numbers per rank"));
  LH_TRY(rows_alloc(rows, lh_json_size(node), width));
  for (size_t r = 0; r <= rows->ranks; r++)
    rows->first[r] = r;
  LH_TRY(values_alloc(rows));
  for (size_t r = 0; r < rows->ranks; r++)
    LH_TRY(read_row(lh_json_at(node, r), width, rows->values + r * width));
  return LH_OK;
}

lh_status lh_rows_read_lists(lh_json node, size_t width, lh_rows *rows)
{
  LH_TRY(expect_some(node, "per rank a list of rows of numbers"));
  LH_TRY(rows_alloc(rows, lh_json_size(node), width));
  for (size_t r = 0; r < rows->ranks; r++) {
    LH_TRY(expect_some(lh_json_at(node, r), "a list of rows of numbers"));
    rows->first[r + 1] = rows->first[r] + lh_json_size(lh_json_at(node, r));
  }
  LH_TRY(values_alloc(rows));
  for (size_t r = 0; r < rows->ranks; r++)
    for (size_t i = rows->first[r]; i < rows->first[r + 1]; i++)
      LH_TRY(read_row(lh_json_at(lh_json_at(node, r), i - rows->first[r]), width,
                      rows->values + i * width));
  return LH_OK;
}

lh_status lh_rows_read_shared(lh_json node, size_t width, lh_rows *rows)
{
  LH_TRY(expect_some(node, "a row of numbers, or one row per rank"));
  if (cJSON_IsArray(lh_json_at(node, 0).node))
    return lh_rows_read_one_each(node, width, rows);
  LH_TRY(rows_alloc(rows, 1, width));
  rows->first[1] = 1;
  LH_TRY(values_alloc(rows));
  return read_row(node, width, rows->values);
}

void lh_rows_fini(lh_rows *rows)
{
  free(rows->first);
  free(rows->values);
  *rows = (lh_rows){0};
}

lh_status lh_rows_find(const lh_rows *rows, const char *name, bool shared, size_t rank,
                       size_t index, const double **row)
{
  if (shared && rows->ranks == 1)
    rank = 0;
  if (rank >= rows->ranks)
    return lh_fail(LH_EINVAL, "%s: found rows for %zu ranks, but there is a rank %zu", name,
                   rows->ranks, rank);
  const size_t count = rows->first[rank + 1] - rows->first[rank];
  *row = rows->values + (rows->first[rank] + index % count) * rows->width;
  return LH_OK;
}

/* ---- start, shape and layers ----------------------------------------------------------------- */

static lh_status read_shape(lh_json node, size_t elements, lh_parameter_spec *spec)
{
  *spec = (lh_parameter_spec){.dims = 1, .shape = {elements}};
  if (!lh_json_present(node))
    return LH_OK;
  LH_TRY(lh_json_expect_array(node));
  const size_t dims = lh_json_size(node);
  if (dims > LH_MAX_DIMS)
    return lh_json_fail(node, "found %zu dimensions, allowed: at most %d", dims, LH_MAX_DIMS);
  size_t product = 1;
  for (size_t d = 0; d < dims; d++) {
    LH_TRY(lh_json_size_value(lh_json_at(node, d), 1, elements, &spec->shape[d]));
    product *= spec->shape[d];
  }
  if (product != elements)
    return lh_json_fail(node,
                        "found a shape of %zu elements, allowed: %zu, as many as \"start\" "
                        "has values",
                        product, elements);
  spec->dims = dims ? (int)dims : 1; /* a scalar is a vector of length 1 */
  return LH_OK;
}

static lh_status add_layer(lh_layout *layout, const lh_parameter_spec *spec)
{
  const size_t number = layout->layers;
  LH_TRY(lh_layout_open_layer(layout, "layer%zu", number));
  return lh_layout_add(layout, spec, NULL, "layer%zu.x", number);
}

static lh_status add_rows(lh_json node, lh_layout *layout, const lh_parameter_spec *whole)
{
  const char *word = NULL;
  LH_TRY(lh_json_string(node, &word));
  if (strcmp(word, "rows") || whole->dims != 2)
    return lh_json_fail(node,
                        "found \"%s\"%s, allowed: a list of counts, or \"rows\" with a 2-D "
                        "shape",
                        word, whole->dims == 2 ? "" : " without a 2-D shape");
  const lh_parameter_spec row = {.dims = 1, .shape = {whole->shape[1]}};
  for (size_t r = 0; r < whole->shape[0]; r++)
    LH_TRY(add_layer(layout, &row));
  return LH_OK;
}

static lh_status add_layers(lh_json node, size_t elements, lh_layout *layout,
                            const lh_parameter_spec *whole)
{
  if (!lh_json_present(node))
    return add_layer(layout, whole);
  if (cJSON_IsString(node.node))
    return add_rows(node, layout, whole);
  LH_TRY(expect_some(node, "the number of elements of each layer"));
  for (size_t l = 0; l < lh_json_size(node); l++) {
    lh_parameter_spec spec = {.dims = 1};
    LH_TRY(lh_json_size_value(lh_json_at(node, l), 1, elements, &spec.shape[0]));
    LH_TRY(add_layer(layout, &spec));
  }
  if (layout->elements != elements)
    return lh_json_fail(node,
                        "found layers of %zu elements in all, allowed: %zu, as many as "
                        "\"start\" has values",
                        layout->elements, elements);
  return LH_OK;
}

lh_status lh_given_read(lh_json spec, lh_given *given, lh_layout *layout)
{
  const lh_json start = lh_json_get(spec, "start");
  lh_parameter_spec whole;
  given->layout = layout;
  LH_TRY(expect_some(start, "the starting values"));
  LH_TRY(lh_json_doubles(start, &given->start, &given->elements));
  LH_TRY(expect_finite(start, given->start, given->elements));
  LH_TRY(read_shape(lh_json_get(spec, "shape"), given->elements, &whole));
  return add_layers(lh_json_get(spec, "layers"), given->elements, layout, &whole);
}

void lh_given_fini(lh_given *given)
{
  free(given->start);
  given->start = NULL;
}

lh_status lh_given_start(const lh_given *given, lh_tensor *parameters)
{
  for (size_t l = 0; l < given->layout->layers; l++) {
    const lh_layer *layer = &given->layout->layer[l];
    LH_TRY(lh_tensor_set(&parameters[l], given->start + layer->offset, layer->elements));
  }
  return LH_OK;
}

lh_status lh_given_upload(const lh_given *given, lh_device *device, size_t layer, const double *row,
                          lh_tensor *tensor)
{
  const lh_layer *l = &given->layout->layer[layer];
  LH_TRY(lh_tensor_alloc_workspace(device, tensor, "batch", given->layout->dtype, 1,
                                   (size_t[]){l->elements}));
  return lh_tensor_set(tensor, row + l->offset, l->elements);
}
