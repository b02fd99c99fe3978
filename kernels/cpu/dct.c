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

enum { DCT_PANEL_COLUMNS = 512, DCT_GROUP = 16 };

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

/* ---- a small matrix product with ascending sums ---------------------------------------------- */

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#define TILE_ROWS 8
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#define TILE_ROWS 4
#else
#define VECTOR_BYTES 16
#define TILE_ROWS 4
#endif
#define VECTOR_LENGTH ((size_t)(VECTOR_BYTES / sizeof(real)))
#define vector NAME(vector_t)
#define vector_in_memory NAME(vector_in_memory_t)
typedef real vector __attribute__((vector_size(VECTOR_BYTES)));
typedef real vector_in_memory __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));

/* C (m,n) = A B, k terms per sum; A's element (i,l) is a[i * a_row + l * a_term]. */
struct NAME(operands) {
  const real *a;
  size_t a_row, a_term;
  const real *b;
  size_t b_row;  /* B's row length */
  bool b_padded; /* rows of B may be read up to a whole vector beyond n */
  real *c;
  size_t c_row;
  size_t m, n, k;
};

/* Rows i..i+rows-1, two vectors of columns from j. */
static inline __attribute__((always_inline)) void NAME(tile)(const struct NAME(operands) * o,
                                                             size_t rows, size_t i, size_t j)
{
  vector sum[TILE_ROWS][2];
  for (size_t r = 0; r < rows; r++)
    sum[r][0] = sum[r][1] = (vector){0};
  const real *a = o->a + i * o->a_row, *b = o->b + j;
  for (size_t l = 0; l < o->k; l++) {
    const vector b0 = *(const vector_in_memory *)b;
    const vector b1 = *(const vector_in_memory *)(b + VECTOR_LENGTH);
    for (size_t r = 0; r < rows; r++) {
      sum[r][0] += a[r * o->a_row] * b0;
      sum[r][1] += a[r * o->a_row] * b1;
    }
    a += o->a_term;
    b += o->b_row;
  }
  real *c = o->c + i * o->c_row + j;
  for (size_t r = 0; r < rows; r++) {
    *(vector_in_memory *)(c + r * o->c_row) = sum[r][0];
    *(vector_in_memory *)(c + r * o->c_row + VECTOR_LENGTH) = sum[r][1];
  }
}

/* The same for one vector of which only `columns` are wanted. */
static inline __attribute__((always_inline)) void
NAME(edge_tile)(const struct NAME(operands) * o, size_t rows, size_t i, size_t j, size_t columns)
{
  vector sum[TILE_ROWS];
  for (size_t r = 0; r < rows; r++)
    sum[r] = (vector){0};
  const real *a = o->a + i * o->a_row, *b = o->b + j;
  for (size_t l = 0; l < o->k; l++) {
    vector bl = {0};
    if (o->b_padded)
      bl = *(const vector_in_memory *)b;
    else
      memcpy(&bl, b, columns * sizeof(real));
    for (size_t r = 0; r < rows; r++)
      sum[r] += a[r * o->a_row] * bl;
    a += o->a_term;
    b += o->b_row;
  }
  for (size_t r = 0; r < rows; r++)
    memcpy(o->c + (i + r) * o->c_row + j, &sum[r], columns * sizeof(real));
}

static void NAME(column_strip)(const struct NAME(operands) * o, size_t j)
{
  size_t i = 0;
  for (; i + TILE_ROWS <= o->m; i += TILE_ROWS)
    NAME(tile)(o, TILE_ROWS, i, j);
  for (; i < o->m; i++)
    NAME(tile)(o, 1, i, j);
}

static void NAME(edge_strip)(const struct NAME(operands) * o, size_t j, size_t columns)
{
  size_t i = 0;
  for (; i + TILE_ROWS <= o->m; i += TILE_ROWS)
    NAME(edge_tile)(o, TILE_ROWS, i, j, columns);
  for (; i < o->m; i++)
    NAME(edge_tile)(o, 1, i, j, columns);
}

static void NAME(small_product)(const struct NAME(operands) * o)
{
  size_t j = 0;
  for (; j + 2 * VECTOR_LENGTH <= o->n; j += 2 * VECTOR_LENGTH)
    NAME(column_strip)(o, j);
  for (; j < o->n; j += VECTOR_LENGTH)
    NAME(edge_strip)(o, j, o->n - j < VECTOR_LENGTH ? o->n - j : VECTOR_LENGTH);
}

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

/* The bits of |x| order as the numbers do; all NaNs become one key above infinity. Signed, because
 * vectors compare signed integers. */
#if LH_REAL_BITS == 32
#define key_t int32_t
#define NAN_KEY INT32_C(0x7f800001)
#else
#define key_t int64_t
#define NAN_KEY INT64_C(0x7ff0000000000001)
#endif

static inline key_t NAME(key)(real x)
{
  const key_t key = (key_t)(NAME(to_bits)(x) & ~((real_bits)1 << (LH_REAL_BITS - 1)));
  return key < NAN_KEY ? key : NAN_KEY;
}

/* How many of n keys reach `trial` and the next two steps above it. */
static inline void NAME(count_keys)(const key_t *key, size_t n, key_t trial, key_t step,
                                    key_t reached[3])
{
  key_t one = 0, two = 0, three = 0;
  for (size_t i = 0; i < n; i++) {
    one += key[i] >= trial;
    two += key[i] >= trial + step;
    three += key[i] >= trial + 2 * step;
  }
  reached[0] = one;
  reached[1] = two;
  reached[2] = three;
}

/* A bound that exactly k of n keys reach; if ties forbid it, the k-th largest key. Two binary digits at a
 * time, the largest value that k keys reach; it is good enough as soon as no more than k do. */
static key_t NAME(kth_key)(const key_t *key, size_t n, size_t k)
{
  key_t kth = 0, reached[3];
  for (int bit = LH_REAL_BITS - 3; bit >= 1; bit -= 2) {
    const key_t step = (key_t)1 << bit;
    NAME(count_keys)(key, n, kth + step, step, reached);
    for (int digit = 2; digit >= 0; digit--)
      if ((size_t)reached[digit] >= k) {
        kth += step * (digit + 1);
        if ((size_t)reached[digit] == k)
          return kth;
        break;
      }
  }
  NAME(count_keys)(key, n, kth + 1, 1, reached);
  return kth + ((size_t)reached[0] >= k);
}

/* Keys of one chunk, and their maxima by groups, by which most of a chunk can be passed over. */
struct NAME(keys) {
  key_t *key, *few; /* (n); few is scratch */
  key_t *top;       /* (groups) */
  size_t n, groups, group;
};

static void NAME(keys_fill)(struct NAME(keys) * keys, const real *image, size_t row, size_t h,
                            size_t w)
{
  for (size_t b = 0; b < h; b++)
    for (size_t d = 0; d < w; d++)
      keys->key[b * w + d] = NAME(key)(image[b * row + d]);
  for (size_t g = 0; g < keys->groups; g++) {
    key_t most = 0;
    for (size_t i = g * keys->group; i < (g + 1) * keys->group; i++)
      most = keys->key[i] > most ? keys->key[i] : most;
    keys->top[g] = most;
  }
}

/* The k-th largest maximum of a group is not above the k-th largest key, so only keys that reach it
 * matter. Worth it when groups are many. */
static key_t NAME(keys_kth)(const struct NAME(keys) * keys, size_t k)
{
  if (keys->groups < 2 * k)
    return NAME(kth_key)(keys->key, keys->n, k);
  const key_t bound = NAME(kth_key)(keys->top, keys->groups, k);
  size_t count = 0;
  for (size_t g = 0; g < keys->groups; g++)
    if (keys->top[g] >= bound)
      for (size_t i = g * keys->group; i < (g + 1) * keys->group; i++) {
        keys->few[count] = keys->key[i];
        count += keys->key[i] >= bound;
      }
  /* A bound of the few is one of all keys only from where the few were cut. */
  const key_t kth = NAME(kth_key)(keys->few, count, k);
  return kth > bound ? kth : bound;
}

/* Writes the k chosen coefficients of chunk number `chunk` of the panel in ascending order. */
static void NAME(choose)(const struct NAME(workspace) * work, const struct dct_panel *panel,
                         size_t chunk, size_t k, struct NAME(keys) * keys, int32_t *index,
                         real *value)
{
  const size_t w = work->walk.chunk_width;
  const real *image = work->image + chunk * w;
  NAME(keys_fill)(keys, image, panel->width, work->walk.height, w);
  const key_t kth = NAME(keys_kth)(keys, k), *key = keys->key;
  size_t above = 0, taken = 0;
  for (size_t i = 0; i < keys->n; i++)
    above += key[i] > kth;
  size_t ties = k - above;
  for (size_t g = 0; g < keys->groups; g++) {
    if (keys->top[g] < kth)
      continue;
    /* Without a branch: a place is written until an element stays in it. */
    for (size_t i = g * keys->group; i < (g + 1) * keys->group && taken < k; i++) {
      const size_t tie = key[i] == kth && ties > 0;
      index[taken] = (int32_t)i;
      ties -= tie;
      taken += tie + (key[i] > kth);
    }
  }
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
  struct NAME(keys) keys = {.n = n, .group = n % DCT_GROUP ? n : DCT_GROUP};
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
