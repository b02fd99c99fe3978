/* small_product.h -- matrix products whose sums run in ascending order from 0, as DeMo's rounding contract
 * wants; compiled inside every variant (variants.h), so it has no include guard. Vectors lie across the
 * outputs, so their length changes no bit.
 */

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
