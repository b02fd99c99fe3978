#include "kernels/cpu/blocks.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
  ALIGNMENT = 64,
  SMALLEST_LOG2 = 8,
  STEPS = 4, /* size classes per power of two: at most a quarter is wasted */
  CLASSES = (64 - SMALLEST_LOG2) * STEPS,
  HUGE_PAGE = 2 << 20
};

#if defined(__SANITIZE_ADDRESS__)
enum { RECYCLES = 0 };
#else
enum { RECYCLES = 1 };
#endif

/* In front of every block, ALIGNMENT bytes of room. */
struct header {
  size_t class_index;
  struct header *next;
};
_Static_assert(sizeof(struct header) <= ALIGNMENT,
               "the header must not push the block off its line");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct header *kept[CLASSES];
static size_t devices;

/* Class i holds blocks of (STEPS + i mod STEPS) / STEPS * 2^(SMALLEST_LOG2 + i / STEPS) bytes. */
static size_t class_bytes(size_t i)
{
  return ((STEPS + i % STEPS) << (SMALLEST_LOG2 + i / STEPS)) / STEPS;
}

static size_t class_of(size_t bytes)
{
  if (bytes <= (size_t)1 << SMALLEST_LOG2)
    return 0;
  const size_t log2 = 63 - (size_t)__builtin_clzll(bytes);
  size_t i = (log2 - SMALLEST_LOG2) * STEPS + ((bytes << 2 >> log2) - STEPS);
  return class_bytes(i) < bytes ? i + 1 : i;
}

static struct header *fresh(size_t class_index)
{
  const size_t bytes = class_bytes(class_index) + ALIGNMENT;
  const size_t alignment = bytes >= 4 * HUGE_PAGE ? HUGE_PAGE : ALIGNMENT;
  void *memory;
  if (posix_memalign(&memory, alignment, bytes) != 0)
    return NULL;
  if (alignment == HUGE_PAGE)
    madvise(memory, bytes, MADV_HUGEPAGE); /* advice only: fewer faults where the system agrees */
  struct header *header = memory;
  header->class_index = class_index;
  return header;
}

void *lh_block_take(size_t bytes)
{
  if (bytes > (size_t)1 << 50)
    return NULL;
  const size_t i = class_of(bytes);
  pthread_mutex_lock(&lock);
  struct header *header = kept[i];
  if (header)
    kept[i] = header->next;
  pthread_mutex_unlock(&lock);
  if (!header)
    header = fresh(i);
  if (!header)
    return NULL;
  void *block = (char *)header + ALIGNMENT;
  if (!RECYCLES)
    memset(block, 0xff, bytes); /* NaNs, so that a test sees a read of what was never written */
  return block;
}

void lh_block_give(void *block)
{
  if (!block)
    return;
  struct header *header = (struct header *)(void *)((char *)block - ALIGNMENT);
  if (!RECYCLES) {
    free(header);
    return;
  }
  pthread_mutex_lock(&lock);
  header->next = kept[header->class_index];
  kept[header->class_index] = header;
  pthread_mutex_unlock(&lock);
}

void lh_blocks_open(void)
{
  pthread_mutex_lock(&lock);
  devices++;
  pthread_mutex_unlock(&lock);
}

void lh_blocks_close(void)
{
  pthread_mutex_lock(&lock);
  if (--devices == 0)
    for (size_t i = 0; i < CLASSES; i++)
      while (kept[i]) {
        struct header *header = kept[i];
        kept[i] = header->next;
        free(header);
      }
  pthread_mutex_unlock(&lock);
}
