#include "kernels/tensor.h"

#include <assert.h>
#include <string.h>

#include "kernels/backend.h"

struct dtype {
  const char *name;
  size_t bits;
};

#define DTYPE_ROW(name, text, bits) {text, bits},
static const struct dtype dtypes[LH_DTYPE_COUNT] = {LH_DTYPE_MAP(DTYPE_ROW)};

const char *lh_dtype_name(lh_dtype dtype)
{
  return (unsigned)dtype < LH_DTYPE_COUNT ? dtypes[dtype].name : "unknown";
}

size_t lh_dtype_bits(lh_dtype dtype)
{
  return dtypes[dtype].bits;
}

lh_status lh_dtype_find(const char *name, lh_dtype *dtype)
{
  for (int i = 0; i < LH_DTYPE_COUNT; i++)
    if (strcmp(dtypes[i].name, name) == 0) {
      *dtype = (lh_dtype)i;
      return LH_OK;
    }
  char list[128] = "";
  for (int i = 0; i < LH_DTYPE_COUNT; i++) {
    strcat(list, i ? ", " : "");
    strcat(list, dtypes[i].name);
  }
  return lh_fail(LH_EINVAL, "\"%s\" is no number type; there are %s", name, list);
}

size_t lh_dtype_bytes(lh_dtype dtype, size_t n)
{
  return (n * dtypes[dtype].bits + 7) / 8;
}

size_t lh_dtype_storage_bytes(lh_dtype dtype)
{
  switch (dtype) {
  case LH_F64:
  case LH_I64:
    return 8;
  case LH_I16:
    return 2;
  case LH_INT8:
  case LH_U8:
    return 1;
  default: /* F32, I32, and what exists only on a wire: its values are kept as float */
    return 4;
  }
}

bool lh_dtype_is_real(lh_dtype dtype)
{
  return dtype == LH_F32 || dtype == LH_F64 || dtype == LH_BF16 || dtype == LH_F16 ||
         dtype == LH_FP4 || dtype == LH_BIT;
}

size_t lh_tensor_elements(const lh_tensor *tensor)
{
  size_t n = tensor->dims > 0;
  for (int d = 0; d < tensor->dims; d++)
    n *= tensor->shape[d];
  return n;
}

size_t lh_tensor_bytes(const lh_tensor *tensor)
{
  return lh_dtype_bytes(tensor->dtype, lh_tensor_elements(tensor));
}

/* Memory on the host follows the claim on the simulated device, so that a model that is too large for
 * the device is reported as that, and not as a host without memory. */
static lh_status tensor_allocate(lh_device *device, lh_tensor *tensor, const char *owner,
                                 lh_dtype dtype, int dims, const size_t *shape, bool zero)
{
  *tensor = (lh_tensor){0};
  if (dims < 1 || dims > LH_MAX_DIMS)
    return lh_fail(LH_EINTERNAL, "%s: a tensor of %d dimensions, not 1 to %d", owner, dims,
                   LH_MAX_DIMS);
  lh_tensor made = {.dtype = dtype, .dims = dims, .device = device, .owner = owner};
  memcpy(made.shape, shape, (size_t)dims * sizeof *shape);
  const size_t n = lh_tensor_elements(&made);

  LH_TRY(lh_device_claim(device, owner, lh_dtype_bytes(dtype, n)));
  if (device->backend->computes) {
    const size_t bytes = n * lh_dtype_storage_bytes(dtype);
    made.data = device->backend->take(device, bytes);
    if (!made.data) {
      lh_device_release(device, owner, lh_dtype_bytes(dtype, n));
      return lh_fail(LH_ENOMEM, "%s: no memory for %zu bytes", owner, bytes);
    }
    if (zero)
      device->backend->zero(device, made.data, bytes);
  }
  *tensor = made;
  return LH_OK;
}

lh_status lh_tensor_alloc(lh_device *device, lh_tensor *tensor, const char *owner, lh_dtype dtype,
                          int dims, const size_t *shape)
{
  return tensor_allocate(device, tensor, owner, dtype, dims, shape, true);
}

lh_status lh_tensor_alloc_1d(lh_device *device, lh_tensor *tensor, const char *owner,
                             lh_dtype dtype, size_t n)
{
  return tensor_allocate(device, tensor, owner, dtype, 1, &n, true);
}

lh_status lh_tensor_alloc_workspace(lh_device *device, lh_tensor *tensor, const char *owner,
                                    lh_dtype dtype, int dims, const size_t *shape)
{
  return tensor_allocate(device, tensor, owner, dtype, dims, shape, false);
}

void lh_tensor_free(lh_tensor *tensor)
{
  if (tensor->owner && tensor->device) {
    lh_device_release(tensor->device, tensor->owner, lh_tensor_bytes(tensor));
    if (tensor->data)
      tensor->device->backend->give(tensor->device, tensor->data);
  }
  *tensor = (lh_tensor){0};
}

lh_tensor lh_tensor_view(const lh_tensor *base, size_t offset, int dims, const size_t *shape)
{
  lh_tensor view = {.dtype = base->dtype, .dims = dims, .device = base->device};
  memcpy(view.shape, shape, (size_t)dims * sizeof *shape);
  assert(offset + lh_tensor_elements(&view) <= lh_tensor_elements(base));
  if (base->data)
    view.data = (char *)base->data + offset * lh_dtype_storage_bytes(base->dtype);
  return view;
}

lh_tensor lh_tensor_view_1d(const lh_tensor *base, size_t offset, size_t count)
{
  return lh_tensor_view(base, offset, 1, &count);
}

lh_tensor lh_tensor_view_2d(const lh_tensor *base, size_t offset, size_t rows, size_t columns)
{
  return lh_tensor_view(base, offset, 2, (const size_t[]){rows, columns});
}

static lh_status expect_count(const lh_tensor *tensor, const char *what, size_t n)
{
  if (!tensor->device)
    return lh_fail(LH_EINTERNAL, "%s: the tensor is not allocated", what);
  if (lh_tensor_elements(tensor) != n)
    return lh_fail(LH_EINTERNAL, "%s: %zu numbers for a tensor of %zu", what, n,
                   lh_tensor_elements(tensor));
  return LH_OK;
}

lh_status lh_tensor_set(lh_tensor *tensor, const double *values, size_t n)
{
  LH_TRY(expect_count(tensor, "tensor set", n));
  if (tensor->data)
    tensor->device->backend->upload(tensor, values, n);
  return LH_OK;
}

lh_status lh_tensor_get(const lh_tensor *tensor, double *values, size_t n)
{
  LH_TRY(expect_count(tensor, "tensor get", n));
  if (tensor->data)
    tensor->device->backend->download(tensor, values, n);
  else
    memset(values, 0, n * sizeof *values);
  return LH_OK;
}

lh_status lh_tensor_set_i32(lh_tensor *tensor, const int32_t *values, size_t n)
{
  LH_TRY(expect_count(tensor, "tensor set", n));
  if (tensor->dtype != LH_I32)
    return lh_fail(LH_EINTERNAL, "tensor set: a tensor of %s, not i32",
                   lh_dtype_name(tensor->dtype));
  if (!tensor->data)
    return LH_OK;
  lh_tensor from = *tensor; /* a host array read as a tensor of the same backend */
  from.data = (void *)(uintptr_t)values;
  tensor->device->backend->copy(tensor, &from);
  return LH_OK;
}
