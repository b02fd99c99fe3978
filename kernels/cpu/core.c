#include "kernels/cpu/core.h"

#include <stdlib.h>
#include <unistd.h>

void lh_cpu_choose_blas(char *const argv[])
{
#if defined(__x86_64__)
  if (getenv("OPENBLAS_CORETYPE") || !__builtin_cpu_supports("avx2") ||
      !__builtin_cpu_supports("fma"))
    return;
  setenv("OPENBLAS_CORETYPE", "Haswell", 1);
  setenv("OPENBLAS_NUM_THREADS", "1", 0); /* a scenario uses one */
  execv("/proc/self/exe", argv);
#else
  (void)argv;
#endif
}
