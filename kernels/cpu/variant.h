/* variant.h -- one turn of variants.h: LH_VARIANT and LH_REAL_BITS are set. */
#if LH_REAL_BITS == 32
#define real float
#define real_bits uint32_t
#else
#define real double
#define real_bits uint64_t
#endif

#include "kernels/cpu/real.h"

#include LH_TEMPLATE

#undef real
#undef real_bits
#undef LH_REAL_BITS
#undef LH_VARIANT
