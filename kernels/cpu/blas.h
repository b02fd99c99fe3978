/* blas.h -- OpenBLAS, loaded when the first CPU device opens instead of linked, for three reasons.
 *
 * Linked beside the GSL, its names are those of the GSL's own slow CBLAS, and the link order decides in
 * silence which one is called. OpenBLAS picks its code by processor while it is loaded: sums come out in
 * another order on another machine, and a release that is older than the processor falls back to code for
 * the Pentium 4, ten times slower (0.3.21 on a Xeon of 2023); the choice can be named in the environment,
 * but only before. And a cost prediction computes nothing, so it need not load 36 MB.
 */
#ifndef LH_KERNELS_CPU_BLAS_H
#define LH_KERNELS_CPU_BLAS_H

#include <cblas.h>

#include "base/status.h"

typedef struct lh_blas {
  __typeof__(&cblas_sgemm) gemm_f32;
  __typeof__(&cblas_dgemm) gemm_f64;
  const char *core; /* what OpenBLAS calls the code it uses: "SkylakeX" */
} lh_blas;

/* LH_EUNSUPPORTED if there is no OpenBLAS. One thread, always. The library stays loaded. Asks for the
 * AVX2 code ("Haswell") where the processor has AVX2 and FMA, unless the user has set OPENBLAS_CORETYPE:
 * "SkylakeX" is twice as fast where there is AVX-512. */
lh_status lh_blas_load(lh_blas *blas);

#endif
