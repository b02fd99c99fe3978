#include "kernels/cpu/blas.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* The same code on every processor that can run it, so that sums have one order; NULL: OpenBLAS's own
 * choice. */
static const char *core_for_processor(void)
{
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return "Haswell";
#endif
  return NULL;
}

static void *load_library(void)
{
  static const char *const names[] = {"libopenblas.so.0", "libopenblas.so", NULL};
  const char *core = core_for_processor();
  if (core)
    setenv("OPENBLAS_CORETYPE", core, 0);
  setenv("OPENBLAS_NUM_THREADS", "1", 1); /* scenarios run beside each other, one thread each */
  for (size_t i = 0; names[i]; i++) {
    void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library)
      return library;
  }
  return NULL;
}

/* ISO C has no conversion from an object pointer to a function pointer; POSIX promises that this is one. */
static void find(void *library, const char *name, void *function)
{
  void *symbol = dlsym(library, name);
  memcpy(function, &symbol, sizeof symbol);
}

lh_status lh_blas_load(lh_blas *blas)
{
  void *library = load_library();
  if (!library)
    return lh_fail(LH_EUNSUPPORTED, "the cpu backend needs OpenBLAS: %s", dlerror());
  char *(*core_name)(void);
  void (*set_threads)(int);
  find(library, "cblas_sgemm", &blas->gemm_f32);
  find(library, "cblas_dgemm", &blas->gemm_f64);
  find(library, "openblas_get_corename", &core_name);
  find(library, "openblas_set_num_threads", &set_threads);
  if (!blas->gemm_f32 || !blas->gemm_f64 || !core_name || !set_threads)
    return lh_fail(LH_EUNSUPPORTED, "the cpu backend needs OpenBLAS: the library lacks a function");
  set_threads(1); /* it may have been loaded before, by somebody else */
  blas->core = core_name();
  return LH_OK;
}
