/* cpu.c -- the backend that computes on this host: picks the kernels for its processor, owns memory. */
#include "kernels/cpu/cpu.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/check.h"
#include "kernels/cpu/blas.h"
#include "kernels/cpu/blocks.h"

/* ---- instruction sets ------------------------------------------------------------------------ */

/* Every file of kernels has an installer per variant (variants.h). */
#define INSTALLERS(X, v)                                                                           \
  X(matrix, v)                                                                                     \
  X(norm, v)                                                                                       \
  X(activation, v)                                                                                 \
  X(attention, v) X(token, v) X(elementwise, v) X(optimizer, v) X(dct, v) X(rows, v) X(wire, v)
#define DECLARE(file, v) void lh_cpu_##file##_##v(lh_operations *ops);
#define CALL(file, v) lh_cpu_##file##_##v(ops);

#define INSTRUCTION_SET(set)                                                                       \
  INSTALLERS(DECLARE, f32_##set)                                                                   \
  INSTALLERS(DECLARE, f64_##set)                                                                   \
  static void install_f32_##set(lh_operations *ops)                                                \
  {                                                                                                \
    INSTALLERS(CALL, f32_##set)                                                                    \
  }                                                                                                \
  static void install_f64_##set(lh_operations *ops)                                                \
  {                                                                                                \
    INSTALLERS(CALL, f64_##set)                                                                    \
  }

static bool runs_plain(void)
{
  return true;
}
INSTRUCTION_SET(plain)

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
static bool runs_avx2(void)
{
  return __builtin_cpu_supports("avx2");
}

static bool runs_avx512(void)
{
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
INSTRUCTION_SET(avx2)
INSTRUCTION_SET(avx512)
#endif

struct instruction_set {
  const char *name;
  bool (*runs)(void);
  void (*install[LH_STORAGES])(lh_operations *ops);
};

/* Best first. */
static const struct instruction_set sets[] = {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
    {"avx512", runs_avx512, {install_f32_avx512, install_f64_avx512}},
    {"avx2", runs_avx2, {install_f32_avx2, install_f64_avx2}},
#endif
    {"plain", runs_plain, {install_f32_plain, install_f64_plain}},
};
enum { SETS = sizeof sets / sizeof sets[0] };

const char *lh_cpu_instruction_set(size_t i)
{
  return i < SETS ? sets[i].name : NULL;
}

bool lh_cpu_use_instruction_set(lh_device *device, const char *name)
{
  for (size_t i = 0; i < SETS; i++)
    if ((!name || strcmp(sets[i].name, name) == 0) && sets[i].runs()) {
      sets[i].install[LH_NARROW](&device->operations[LH_NARROW]);
      sets[i].install[LH_WIDE](&device->operations[LH_WIDE]);
      return true;
    }
  return false;
}

/* ---- backend --------------------------------------------------------------------------------- */

static lh_status cpu_open(lh_device *device)
{
  lh_blas *blas = malloc(sizeof *blas);
  if (!blas)
    return lh_fail(LH_ENOMEM, "no memory for a device");
  const lh_status status = lh_blas_load(blas);
  if (status != LH_OK) {
    free(blas);
    return status;
  }
  device->state = blas;
  lh_blocks_open();
  lh_cpu_use_instruction_set(device, NULL);
  return LH_OK;
}

static void cpu_close(lh_device *device)
{
  free(device->state);
  lh_blocks_close();
}

const char *lh_cpu_blas_core(const lh_device *device)
{
  return ((const lh_blas *)device->state)->core;
}

static void *cpu_take(lh_device *device, size_t bytes)
{
  (void)device;
  return lh_block_take(bytes);
}

static void cpu_give(lh_device *device, void *memory)
{
  (void)device;
  lh_block_give(memory);
}

static void cpu_zero(lh_device *device, void *memory, size_t bytes)
{
  (void)device;
  memset(memory, 0, bytes);
}

#define FOR_STORAGE(type, statement)                                                               \
  {                                                                                                \
    type *data = tensor->data;                                                                     \
    for (size_t i = 0; i < n; i++)                                                                 \
      statement;                                                                                   \
    break;                                                                                         \
  }

#define STORAGE_SWITCH(from_value, to_value)                                                       \
  switch (tensor->dtype) {                                                                         \
  case LH_F64:                                                                                     \
    FOR_STORAGE(double, from_value(double) to_value)                                               \
  case LH_I64:                                                                                     \
    FOR_STORAGE(int64_t, from_value(int64_t) to_value)                                             \
  case LH_I32:                                                                                     \
    FOR_STORAGE(int32_t, from_value(int32_t) to_value)                                             \
  case LH_I16:                                                                                     \
    FOR_STORAGE(int16_t, from_value(int16_t) to_value)                                             \
  case LH_INT8:                                                                                    \
    FOR_STORAGE(int8_t, from_value(int8_t) to_value)                                               \
  case LH_U8:                                                                                      \
    FOR_STORAGE(uint8_t, from_value(uint8_t) to_value)                                             \
  default:                                                                                         \
    FOR_STORAGE(float, from_value(float) to_value)                                                 \
  }

#define STORE(type) data[i] = (type)
#define READ(type) values[i] = (double)

static void cpu_upload(lh_tensor *tensor, const double *values, size_t n)
{
  STORAGE_SWITCH(STORE, values[i])
}

static void cpu_download(const lh_tensor *tensor, double *values, size_t n)
{
  STORAGE_SWITCH(READ, data[i])
}

static void cpu_copy(lh_tensor *to, const lh_tensor *from)
{
  if (to->data != from->data)
    memmove(to->data, from->data, lh_tensor_elements(to) * lh_dtype_storage_bytes(to->dtype));
}

const lh_backend lh_backend_cpu = {
    .name = "cpu",
    .title = "this host's processor, one thread",
    .computes = true,
    .open = cpu_open,
    .close = cpu_close,
    .take = cpu_take,
    .give = cpu_give,
    .zero = cpu_zero,
    .upload = cpu_upload,
    .download = cpu_download,
    .copy = cpu_copy,
};
