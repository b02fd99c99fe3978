/* Chunked DCT, choice of the largest coefficients, merge and decode. Once per variant: see variants.h.
 *
 * A band of chunks is worked on in panels of whole chunks that fit the cache. In a panel every array is
 * an image: `height` rows of `width` numbers, chunk beside chunk. Both transforms of a panel are then
 * plain matrix products with short sums (over at most a chunk length), which run in ascending order from
 * 0 as the contract wants; the vectors lie across the outputs. A height of 1 makes all chunks of a
 * tensor one contiguous row.
 */
#ifndef LH_VARIANT
#include "kernels/check.h"
#include "kernels/cpu/blocks.h"

enum { DCT_PANEL_COLUMNS = 512, KEY_GROUP = 16 };

/* One panel: `chunks` chunks side by side, the first of them is number `first` in message order, and
 * its upper left element is element `origin` of the tensor. */
struct dct_panel {
  size_t first, origin, chunks, width;
};

struct dct_walk {
  size_t height, chunk_width, columns, panel_chunks, chunks_per_band, bands;
};

static struct dct_walk dct_walk(const lh_chunking *c)
{
  struct dct_walk walk = {.height = c->height, .chunk_width = c->width};
  walk.bands = c->height == 1 ? 1 : c->rows / c->height;
  walk.columns = c->height == 1 ? c->rows * c->columns : c->columns;
  walk.chunks_per_band = walk.columns / c->width;
  walk.panel_chunks = c->width < DCT_PANEL_COLUMNS ? DCT_PANEL_COLUMNS / c->width : 1;
  if (walk.panel_chunks > walk.chunks_per_band)
    walk.panel_chunks = walk.chunks_per_band;
  return walk;
}

static struct dct_panel dct_panel(const struct dct_walk *walk, size_t band, size_t chunk)
{
  const size_t left = walk->chunks_per_band - chunk;
  const size_t chunks = left < walk->panel_chunks ? left : walk->panel_chunks;
  return (struct dct_panel){
      .first = band * walk->chunks_per_band + chunk,
      .origin = band * walk->height * walk->columns + chunk * walk->chunk_width,
      .chunks = chunks,
      .width = chunks * walk->chunk_width,
  };
}

static size_t round_up(size_t n, size_t step)
{
  return (n + step - 1) / step * step;
}

#define LH_TEMPLATE "kernels/cpu/dct.c"
#include "kernels/cpu/variants.h"
#else

#include "kernels/cpu/small_product.h"
#include "kernels/cpu/top_k.h"

/* ---- transforms of a panel ------------------------------------------------------------------- */

/* What one call needs: the bases, and images of one panel. */
struct NAME(workspace) {
  struct dct_walk walk;
  const real *basis_height; /* (h,h) */
  real *basis_width;        /* (w,w) as the second factor: rows padded to whole vectors */
  size_t basis_width_row;
  real *middle, *image; /* between the transforms; coefficients or samples */
  real *count;          /* contributors of each coefficient, for the merge */
  void *memory;
};

static lh_status NAME(workspace_init)(struct NAME(workspace) * work, const lh_chunking *chunking,
                                      bool decodes)
{
  const size_t w = chunking->width, row = round_up(w, 2 * VECTOR_LENGTH);
  *work = (struct NAME(workspace)){.walk = dct_walk(chunking),
                                   .basis_height = chunking->basis_height.data,
                                   .basis_width_row = row};
  const size_t pixels = chunking->height * work->walk.panel_chunks * w;
  real *memory = lh_block_take((w * row + 3 * pixels) * sizeof(real));
  if (!memory)
    return lh_fail(LH_ENOMEM, "dct: no memory for chunks of %zu by %zu", chunking->height, w);
  work->memory = work->basis_width = memory;
  work->middle = memory + w * row;
  work->image = work->middle + pixels;
  work->count = work->image + pixels;

  const real *basis = chunking->basis_width.data;
  memset(memory, 0, w * row * sizeof(real));
  for (size_t l = 0; l < w; l++)
    for (size_t d = 0; d < w; d++)
      memory[decodes ? d * row + l : l * row + d] = basis[l * w + d];
  return LH_OK;
}

/* Transform along the columns: every row of every chunk times the padded basis. */
static void NAME(along_width)(const struct NAME(workspace) * work, const struct dct_panel *panel,
                              const real *from, real *to)
{
  const size_t w = work->walk.chunk_width, rows = work->walk.height * panel->chunks;
  if (w == 1) { /* the basis is 1 */
    for (size_t i = 0; i < rows; i++)
      to[i] = 0 + from[i];
    return;
  }
  NAME(small_product)
  (&(struct NAME(operands)){.a = from,
                            .a_row = w,
                            .a_term = 1,
                            .b = work->basis_width,
                            .b_row = work->basis_width_row,
                            .b_padded = true,
                            .c = to,
                            .c_row = w,
                            .m = rows,
                            .n = w,
                            .k = w});
}

/* Coefficients of a panel into work->image. */
static void NAME(encode)(const struct NAME(workspace) * work, const struct dct_panel *panel,
                         const real *x)
{
  const size_t h = work->walk.height;
  const real *from = x + panel->origin;
  if (h > 1) {
    NAME(small_product)
    (&(struct NAME(operands)){.a = work->basis_height,
                              .a_row = 1,
                              .a_term = h,
                              .b = from,
                              .b_row = work->walk.columns,
                              .c = work->middle,
                              .c_row = panel->width,
                              .m = h,
                              .n = panel->width,
                              .k = h});
    from = work->middle;
  }
  NAME(along_width)(work, panel, from, work->image);
}

/* Samples of a panel from the coefficients in work->image, which is overwritten. */
static void NAME(decode)(const struct NAME(workspace) * work, const struct dct_panel *panel,
                         real *y)
{
  const size_t h = work->walk.height;
  real *to = y + panel->origin;
  if (h == 1) {
    NAME(along_width)(work, panel, work->image, to);
    return;
  }
  NAME(small_product)
  (&(struct NAME(operands)){.a = work->basis_height,
                            .a_row = h,
                            .a_term = 1,
                            .b = work->image,
                            .b_row = panel->width,
                            .c = work->middle,
                            .c_row = panel->width,
                            .m = h,
                            .n = panel->width,
                            .k = h});
  NAME(along_width)(work, panel, work->middle, work->image);
  for (size_t j = 0; j < h; j++)
    memcpy(to + j * work->walk.columns, work->image + j * panel->width,
           panel->width * sizeof(real));
}

/* ---- choice ---------------------------------------------------------------------------------- */

/* Writes the k chosen coefficients of chunk number `chunk` of the panel in ascending order. */
static void NAME(choose)(const struct NAME(workspace) * work, const struct dct_panel *panel,
                         size_t chunk, size_t k, struct NAME(keys) * keys, int32_t *index,
                         real *value)
{
  const size_t w = work->walk.chunk_width;
  const real *image = work->image + chunk * w;
  NAME(keys_fill)(keys, image, panel->width, work->walk.height, w);
  NAME(keys_emit)(keys, k, index);
  for (size_t e = 0; e < k; e++) {
    const uint32_t i = (uint32_t)index[e];
    value[e] =
        work->walk.height == 1 ? image[i] : image[i / (uint32_t)w * panel->width + i % (uint32_t)w];
  }
}

static lh_status NAME(dct_top_k)(lh_device *dev, const lh_tensor *x, const lh_chunking *chunking,
                                 size_t k, lh_tensor *index, lh_tensor *value)
{
  (void)dev;
  struct NAME(workspace) work;
  LH_TRY(NAME(workspace_init)(&work, chunking, false));
  const size_t n = chunking->block_elements;
  struct NAME(keys) keys = {.n = n, .group = n % KEY_GROUP ? n : KEY_GROUP};
  keys.groups = n / keys.group;
  keys.key = lh_block_take(3 * n * sizeof(key_t));
  keys.few = keys.key + n;
  keys.top = keys.few + n;
  if (!keys.key) {
    lh_block_give(work.memory);
    return lh_fail(LH_ENOMEM, "dct top-k: no memory for chunks of %zu", n);
  }
  for (size_t band = 0; band < work.walk.bands; band++)
    for (size_t at = 0; at < work.walk.chunks_per_band; at += work.walk.panel_chunks) {
      const struct dct_panel panel = dct_panel(&work.walk, band, at);
      NAME(encode)(&work, &panel, x->data);
      for (size_t chunk = 0; chunk < panel.chunks; chunk++)
        NAME(choose)
      (&work, &panel, chunk, k, &keys, (int32_t *)index->data + (panel.first + chunk) * k,
       (real *)value->data + (panel.first + chunk) * k);
    }
  lh_block_give(keys.key);
  lh_block_give(work.memory);
  return LH_OK;
}

/* ---- merge ----------------------------------------------------------------------------------- */

/* The messages' part of one panel: sums in work->image, contributors in work->count. */
static lh_status NAME(scatter)(const struct NAME(workspace) * work, const struct dct_panel *panel,
                               const lh_chunking *chunking, size_t k, size_t messages,
                               const int32_t *index, const real *value)
{
  const size_t w = work->walk.chunk_width, pixels = work->walk.height * panel->width;
  memset(work->image, 0, pixels * sizeof(real));
  memset(work->count, 0, pixels * sizeof(real));
  for (size_t message = 0; message < messages; message++) {
    const size_t first = (message * chunking->blocks + panel->first) * k;
    for (size_t chunk = 0; chunk < panel->chunks; chunk++)
      for (size_t e = first + chunk * k; e < first + (chunk + 1) * k; e++) {
        const uint32_t i = (uint32_t)index[e];
        LH_EXPECT(i < chunking->block_elements, "dct merge: index %d, not below %zu", index[e],
                  chunking->block_elements);
        const size_t row = work->walk.height == 1 ? 0 : i / (uint32_t)w; /* divisions are slow */
        const size_t at = row * panel->width + chunk * w + (i - row * w);
        work->image[at] += value[e];
        work->count[at] += 1;
      }
  }
  return LH_OK;
}

static void NAME(divide)(const struct NAME(workspace) * work, size_t pixels, size_t messages,
                         lh_merge merge)
{
  real *sum = work->image;
  const real *count = work->count, n = (real)messages;
  if (merge == LH_MERGE_SUM_OVER_N) {
    for (size_t i = 0; i < pixels; i++)
      sum[i] = sum[i] / n;
  } else {
    ELEMENTWISE
    for (size_t i = 0; i < pixels; i++)
      sum[i] = sum[i] / (count[i] > 1 ? count[i] : 1);
  }
}

static lh_status NAME(dct_merge_decode)(lh_device *dev, lh_tensor *y, const lh_chunking *chunking,
                                        size_t k, size_t messages, lh_merge merge,
                                        const lh_tensor *index, const lh_tensor *value)
{
  (void)dev;
  struct NAME(workspace) work;
  LH_TRY(NAME(workspace_init)(&work, chunking, true));
  lh_status status = LH_OK;
  for (size_t band = 0; band < work.walk.bands && status == LH_OK; band++)
    for (size_t at = 0; at < work.walk.chunks_per_band; at += work.walk.panel_chunks) {
      const struct dct_panel panel = dct_panel(&work.walk, band, at);
      status = NAME(scatter)(&work, &panel, chunking, k, messages, index->data, value->data);
      if (status != LH_OK)
        break;
      NAME(divide)(&work, work.walk.height * panel.width, messages, merge);
      NAME(decode)(&work, &panel, y->data);
    }
  lh_block_give(work.memory);
  return status;
}

#undef VECTOR_BYTES
#undef VECTOR_LENGTH
#undef TILE_ROWS
#undef vector
#undef vector_in_memory
#undef key_t
#undef NAN_KEY

void NAME(lh_cpu_dct)(lh_operations *ops);
void NAME(lh_cpu_dct)(lh_operations *ops)
{
  ops->dct_top_k = NAME(dct_top_k);
  ops->dct_merge_decode = NAME(dct_merge_decode);
}
#endif
