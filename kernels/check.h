/* check.h -- inside of kernels/: the front end's checks and shorthands. A check that fails is a bug in
 * a model or a method, hence LH_EINTERNAL. */
#ifndef LH_KERNELS_CHECK_H
#define LH_KERNELS_CHECK_H

#include "kernels/backend.h"

#define LH_EXPECT(condition, ...)                                                                  \
  do {                                                                                             \
    if (__builtin_expect(!(condition), 0))                                                         \
      return lh_fail(LH_EINTERNAL, __VA_ARGS__);                                                   \
  } while (0)

/* Calls a member of the table that belongs to `tensor`'s storage; nothing on a backend that only
 * counts. */
#define LH_COMPUTE(dev, tensor, member, ...)                                                       \
  ((dev)->backend->computes                                                                        \
       ? (dev)->operations[(tensor)->dtype == LH_F64 ? LH_WIDE : LH_NARROW].member(__VA_ARGS__)    \
       : LH_OK)

/* The last axis, and the product of the others: a tensor read as a matrix. */
static inline size_t lh_columns(const lh_tensor *t)
{
  return t->dims > 0 ? t->shape[t->dims - 1] : 0;
}

static inline size_t lh_rows(const lh_tensor *t)
{
  size_t rows = 1;
  for (int d = 0; d + 1 < t->dims; d++)
    rows *= t->shape[d];
  return rows;
}

/* `count` tensors (NULL entries are skipped) that live on dev and store reals the same way. */
lh_status lh_expect_reals(const lh_device *dev, const char *operation,
                          const lh_tensor *const *tensors, size_t count);
/* The same, and each has n elements. */
lh_status lh_expect_vectors(const lh_device *dev, const char *operation, size_t n,
                            const lh_tensor *const *tensors, size_t count);
lh_status lh_expect_i32(const lh_device *dev, const char *operation, const lh_tensor *t, size_t n);
/* Bytes of all of them on the simulated device. */
double lh_sum_bytes(const lh_tensor *const *tensors, size_t count);

#define LH_TENSORS(...)                                                                            \
  (const lh_tensor *const[]){__VA_ARGS__},                                                         \
      sizeof((const lh_tensor *const[]){__VA_ARGS__}) / sizeof(const lh_tensor *)

#endif
