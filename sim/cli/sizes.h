/* sizes.h -- lists of message sizes on the command line. */
#ifndef LH_SIM_SIZES_H
#define LH_SIM_SIZES_H

#include <stddef.h>

#include "base/status.h"

/* "100MB", "8,1kB,1MiB" or "8:1GiB:x2" (from, to inclusive, factor; "+N" adds). A bare number is
 * bytes. *bytes is malloced. LH_EINVAL. */
lh_status lh_byte_sizes_read(const char *text, double **bytes, size_t *n);

#endif
