/* A heap that is returned to the system as a whole. Without it, the search's many short-lived
 * blocks would fragment the C library's heap and keep its pages resident.
 *
 * NULL stands for the C library's heap, so a callee need not know which one it uses. One thread at
 * a time.
 *
 * Included by predictor/, search/ and transform/. Maps memory with mmap; takes no lock. */
#ifndef MAFAT_BASE_HEAP_H
#define MAFAT_BASE_HEAP_H

#include "base/allowance.h"

struct mafat_heap;

/* Returns MAFAT_ENOMEM on failure. Under AddressSanitizer *out is NULL, the C library's heap, so
 * that each block is checked. */
int mafat_heap_open(struct mafat_heap **out);
/* Counts the heap's mappings in an allowance, which outlives the heap: blocks that do not fit are
 * NULL. */
void mafat_heap_limit(struct mafat_heap *heap, struct mafat_allowance *allowance);
/* Frees all blocks, too. */
void mafat_heap_close(struct mafat_heap **heap);

/* Like calloc, realloc and free. Each block goes back to the heap that it came from. */
void *mafat_heap_calloc(struct mafat_heap *heap, size_t n, size_t bytes);
void *mafat_heap_realloc(struct mafat_heap *heap, void *block, size_t bytes);
void mafat_heap_free(struct mafat_heap *heap, void *block);

/* Returns the bytes of pages that were written and not unmapped: the most that closing the heap
 * frees. 0 for the C library's heap. */
size_t mafat_heap_bytes(const struct mafat_heap *heap);
/* Returns the peak of mafat_heap_bytes. 0 for the C library's heap. */
size_t mafat_heap_most_bytes(const struct mafat_heap *heap);

#endif
