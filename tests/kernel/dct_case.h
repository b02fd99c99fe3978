/* dct_case.h -- shapes and bases that the tests of the transform share. */
#ifndef LH_TESTS_DCT_CASE_H
#define LH_TESTS_DCT_CASE_H

#include "kernel_case.h"

struct layout {
  size_t rows, columns; /* rows 0: a 1-D tensor of `columns` */
  size_t target;
};

static inline lh_tensor shaped(guarded *g, const struct layout *l)
{
  return l->rows ? lh_tensor_view_2d(&g->t, 0, l->rows, l->columns)
                 : lh_tensor_view_1d(&g->t, 0, l->columns);
}

/* The angle is reduced in whole numbers: a large angle costs the cosine its last digits. */
static inline double basis(size_t c, size_t n, size_t q)
{
  const size_t m = (2 * n + 1) * q % (4 * c);
  if (m == c || m == 3 * c) /* exactly 0, which cos would miss */
    return 0;
  return (double)(sqrtl((q ? 2.0L : 1.0L) / c) * cosl(acosl(-1) * m / (2.0L * c)));
}

static inline double *basis_table(size_t c)
{
  double *f = numbers(c * c);
  for (size_t n = 0; n < c; n++)
    for (size_t q = 0; q < c; q++)
      f[n * c + q] = basis(c, n, q);
  return f;
}

#endif
