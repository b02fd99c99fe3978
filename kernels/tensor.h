/* tensor.h -- shapes, dtypes and memory; no arithmetic.
 *
 * A tensor has up to four dimensions, row-major and contiguous, a dtype and a device. On a backend
 * that computes nothing it has no data but everything else, and its bytes are counted all the same:
 * the peak memory of a rank comes from the allocator.
 *
 * dtype is what the simulated device holds: it prices memory and messages. The CPU backend stores
 * F16 and BF16 as float (values are rounded only where a method sends them), so too FP4 and BIT, F64 as
 * double, and the integers as themselves.
 */
#ifndef LH_KERNELS_TENSOR_H
#define LH_KERNELS_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct lh_device lh_device;

/* name, bits per element */
#define LH_DTYPE_MAP(X)                                                                            \
  X(LH_F64, "f64", 64)                                                                             \
  X(LH_F32, "f32", 32)                                                                             \
  X(LH_F16, "f16", 16)                                                                             \
  X(LH_BF16, "bf16", 16)                                                                           \
  X(LH_I64, "i64", 64)                                                                             \
  X(LH_I32, "i32", 32)                                                                             \
  X(LH_I16, "i16", 16)                                                                             \
  X(LH_INT8, "int8", 8)                                                                            \
  X(LH_U8, "u8", 8)                                                                                \
  X(LH_FP4, "fp4", 4)                                                                              \
  X(LH_BIT, "1bit", 1)

#define LH_DTYPE_ENUM(name, text, bits) name,
typedef enum lh_dtype { LH_DTYPE_MAP(LH_DTYPE_ENUM) LH_DTYPE_COUNT } lh_dtype;
#undef LH_DTYPE_ENUM

#define LH_MAX_DIMS 4

typedef struct lh_tensor {
  lh_dtype dtype;
  int dims;                  /* 0 for an empty, unallocated tensor */
  size_t shape[LH_MAX_DIMS]; /* row-major */
  void *data;                /* NULL on a backend without data */
  lh_device *device;
  const char *owner; /* what it is for ("parameters", "activations"); a literal; NULL: a view */
} lh_tensor;

const char *lh_dtype_name(lh_dtype dtype);
size_t lh_dtype_bits(lh_dtype dtype);
/* By name ("f32", "bf16", ...); LH_EINVAL lists what there is. */
lh_status lh_dtype_find(const char *name, lh_dtype *dtype);

size_t lh_tensor_elements(const lh_tensor *tensor);
/* Bytes of n elements on the simulated device or on the wire: ceil(n * bits / 8). */
size_t lh_dtype_bytes(lh_dtype dtype, size_t n);
size_t lh_tensor_bytes(const lh_tensor *tensor);

/* Allocates, zero-filled, counted under `owner`. LH_EDEVICEMEM when the simulated device is full
 * (the reason names the largest owners), LH_ENOMEM when the host is. Free with lh_tensor_free; a
 * freed or zero-initialised tensor may be freed again. */
lh_status lh_tensor_alloc(lh_device *device, lh_tensor *tensor, const char *owner, lh_dtype dtype,
                          int dims, const size_t *shape);
lh_status lh_tensor_alloc_1d(lh_device *device, lh_tensor *tensor, const char *owner,
                             lh_dtype dtype, size_t n);
/* Memory of an activation workspace is recycled between ranks on the host, so contents are
 * undefined after this call; counted like any other. */
lh_status lh_tensor_alloc_workspace(lh_device *device, lh_tensor *tensor, const char *owner,
                                    lh_dtype dtype, int dims, const size_t *shape);
void lh_tensor_free(lh_tensor *tensor);

/* A view of `count` elements from `offset` of a flat reading of `base`; owns nothing. */
lh_tensor lh_tensor_view_1d(const lh_tensor *base, size_t offset, size_t count);
lh_tensor lh_tensor_view(const lh_tensor *base, size_t offset, int dims, const size_t *shape);
lh_tensor lh_tensor_view_2d(const lh_tensor *base, size_t offset, size_t rows, size_t columns);

/* Host copies of numbers, for data, dumps and tests; not charged. Values pass through double. On a
 * backend without data `get` fills zeros. n is the number of elements. */
lh_status lh_tensor_set(lh_tensor *tensor, const double *values, size_t n);
lh_status lh_tensor_get(const lh_tensor *tensor, double *values, size_t n);
lh_status lh_tensor_set_i32(lh_tensor *tensor, const int32_t *values, size_t n);

#endif
