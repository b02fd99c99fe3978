/* cpu.h -- the CPU backend's instruction sets, for tests and benchmarks; results are the same on all
 * of them, but for the products of OpenBLAS. */
#ifndef LH_KERNELS_CPU_CPU_H
#define LH_KERNELS_CPU_CPU_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/device.h"

/* "avx512", "avx2", "plain", best first; NULL past the last that was built. */
const char *lh_cpu_instruction_set(size_t i);
/* False if this processor lacks it. NULL: the best one, as after lh_device_open. */
bool lh_cpu_use_instruction_set(lh_device *device, const char *name);
/* The processor that OpenBLAS's products are written for: "SkylakeX", "Haswell", ... */
const char *lh_cpu_blas_core(const lh_device *device);

#endif
