/* variants.h -- compiles one file of kernels for each number type and instruction set.
 *
 * A file of kernels K.c includes its headers, names itself in LH_TEMPLATE and includes this file, which
 * includes K.c again once per variant with LH_VARIANT defined. There K.c is written in terms of
 *
 *   real        float or double
 *   NAME(f)     f with the variant's suffix, for every function and type it defines
 *   LH_REAL_BITS  32 or 64
 *
 * and of the helpers of real.h. Every variant computes the same bits: nothing is contracted, sums run
 * over a fixed number of lanes (real.h), and no function of the maths library that differs between
 * processors is called in float. A test compares the variants.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

/* In front of a loop whose iteration i reads and writes element i only: operands may be equal or apart,
 * never shifted, so it can be made of vectors without a check. */
#ifdef __clang__
#define ELEMENTWISE _Pragma("clang loop vectorize(assume_safety)")
#else
#define ELEMENTWISE _Pragma("GCC ivdep")
#endif

#define LH_GLUE_(a, b) a##b
#define LH_GLUE(a, b) LH_GLUE_(a, b)
#define NAME(f) LH_GLUE(f##_, LH_VARIANT)

#define LH_VARIANT f32_plain
#define LH_REAL_BITS 32
#include "kernels/cpu/variant.h"

#define LH_VARIANT f64_plain
#define LH_REAL_BITS 64
#include "kernels/cpu/variant.h"

/* Clang 14 has no pragma for the target of the functions that follow; it builds the plain ones. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define LH_CPU_WIDE_VARIANTS 1

#pragma GCC push_options
#pragma GCC target("avx2")
#define LH_VARIANT f32_avx2
#define LH_REAL_BITS 32
#include "kernels/cpu/variant.h"

#define LH_VARIANT f64_avx2
#define LH_REAL_BITS 64
#include "kernels/cpu/variant.h"
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx2,avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")
#define LH_VARIANT f32_avx512
#define LH_REAL_BITS 32
#include "kernels/cpu/variant.h"

#define LH_VARIANT f64_avx512
#define LH_REAL_BITS 64
#include "kernels/cpu/variant.h"
#pragma GCC pop_options
#endif
