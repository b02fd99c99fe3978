/* core.h -- one set of OpenBLAS kernels on every processor that has them. */
#ifndef LH_KERNELS_CPU_CORE_H
#define LH_KERNELS_CPU_CORE_H

/* OpenBLAS picks its kernels when it is loaded, by processor: sums come out in another order on another
 * machine, and an older release takes a newer processor for a very old one. Unless the user has set
 * OPENBLAS_CORETYPE, this names the AVX2 kernels (where the processor has AVX2 and FMA) and one thread, and
 * starts the program again, which then finds it set. Returns when there is nothing to do. Call it first
 * in main. */
void lh_cpu_choose_blas(char *const argv[]);

#endif
