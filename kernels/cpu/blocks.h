/* blocks.h -- host memory of the CPU backend: aligned blocks, recycled.
 *
 * Activations are taken and given back for every pass of every rank. Fresh memory from the system costs
 * a page fault per 4 KiB, more than most kernels do with it, so freed blocks are kept by size class.
 * The ranks of a scenario share one process and one host, so the cache is shared by them: it is the one
 * thing in kernels/ that outlives a call and belongs to no device. It holds memory, never results; a
 * block's contents are undefined. When the last device closes, everything kept is given back.
 */
#ifndef LH_KERNELS_CPU_BLOCKS_H
#define LH_KERNELS_CPU_BLOCKS_H

#include <stddef.h>

/* Aligned to 64 bytes; NULL: no memory. Under AddressSanitizer nothing is recycled. */
void *lh_block_take(size_t bytes);
void lh_block_give(void *block);

/* One call each per device; the last close empties the cache. */
void lh_blocks_open(void);
void lh_blocks_close(void);

#endif
