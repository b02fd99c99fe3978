#include <math.h>
#include <stdlib.h>

#include "kernels/check.h"
#include "kernels/ops.h"

size_t lh_chunk_length(size_t n, size_t target)
{
  size_t best = 1;
  for (size_t d = 1; d * d <= n; d++) {
    if (n % d != 0)
      continue;
    if (d <= target && d > best)
      best = d;
    if (n / d <= target && n / d > best)
      best = n / d;
  }
  return best;
}

/* cos(pi m / (2c)): m is reduced in integers to the first octant, so zeros are exact and equal values
 * are equal. Extended precision, because the double cosine of the maths library differs between
 * processors in its last bit. */
static long double cosine(size_t m, size_t c)
{
  m %= 4 * c;
  m = m > 2 * c ? 4 * c - m : m;
  const long double sign = m > c ? -1.0L : 1.0L;
  m = m > c ? 2 * c - m : m;
  const long double step = acosl(-1.0L) / (2.0L * (long double)c);
  return sign * (2 * m <= c ? cosl(step * (long double)m) : sinl(step * (long double)(c - m)));
}

static lh_status basis_init(lh_device *dev, lh_tensor *basis, lh_dtype dtype, size_t c)
{
  LH_TRY(lh_tensor_alloc(dev, basis, "bases", dtype, 2, (const size_t[]){c, c}));
  if (!lh_device_computes(dev))
    return LH_OK;
  double *values = malloc(c * c * sizeof *values);
  if (!values)
    return lh_fail(LH_ENOMEM, "no memory for a basis of length %zu", c);
  for (size_t n = 0; n < c; n++)
    for (size_t q = 0; q < c; q++) {
      const long double weight = sqrtl((q ? 2.0L : 1.0L) / (long double)c);
      values[n * c + q] = (double)(weight * cosine((2 * n + 1) * q, c));
    }
  lh_status status = lh_tensor_set(basis, values, c * c);
  free(values);
  return status;
}

lh_status lh_chunking_init(lh_device *dev, lh_chunking *chunking, const lh_tensor *like,
                           size_t target)
{
  const size_t n = lh_tensor_elements(like);
  size_t rows = 1, columns = like->dims ? n : 1;
  if (like->dims > 1) {
    rows = like->shape[0];
    columns = rows ? n / rows : 0;
  }
  *chunking = (lh_chunking){.rows = rows, .columns = columns};
  LH_EXPECT(rows > 0 && columns > 0 && target > 0, "chunking: (%zu, %zu) in chunks of %zu", rows,
            columns, target);
  chunking->height = lh_chunk_length(rows, target);
  chunking->width = lh_chunk_length(columns, target);
  chunking->block_elements = chunking->height * chunking->width;
  chunking->blocks = (rows / chunking->height) * (columns / chunking->width);
  LH_EXPECT(chunking->block_elements <= INT32_MAX, "chunking: a block of %zu elements",
            chunking->block_elements);
  LH_TRY(basis_init(dev, &chunking->basis_height, like->dtype, chunking->height));
  return basis_init(dev, &chunking->basis_width, like->dtype, chunking->width);
}

void lh_chunking_fini(lh_chunking *chunking)
{
  lh_tensor_free(&chunking->basis_height);
  lh_tensor_free(&chunking->basis_width);
  *chunking = (lh_chunking){0};
}
