/* A heap whose memory is returned to the system as a whole. Without it, the many short-lived blocks
 * of a search for a plan would fragment the C library's heap and keep its pages resident.
 *
 * A NULL heap stands for the C library's heap, so a callee need not know which one it uses. Only
 * one thread may use a heap at a time.
 *
 * Included by predictor/, search/ and transform/. Maps memory with mmap; takes no lock. */
#ifndef MAFAT_BASE_HEAP_H
#define MAFAT_BASE_HEAP_H

#include "base/allowance.h"

struct mafat_heap;

/* Returns MAFAT_ENOMEM on failure. Under AddressSanitizer *out is NULL, the C library's heap, so
 * that each block is checked. */
int mafat_heap_open(struct mafat_heap **out);
/* Counts the heap's mappings in an allowance, which must outlive the heap. Allocations that would
 * exceed the allowance return NULL. */
void mafat_heap_limit(struct mafat_heap *heap, struct mafat_allowance *allowance);
/* Frees the heap and all its blocks. */
void mafat_heap_close(struct mafat_heap **heap);

/* Like calloc, realloc and free. A block must be passed with the heap that allocated it. */
void *mafat_heap_calloc(struct mafat_heap *heap, size_t n, size_t bytes);
void *mafat_heap_realloc(struct mafat_heap *heap, void *block, size_t bytes);
void mafat_heap_free(struct mafat_heap *heap, void *block);

/* Returns the bytes of pages that were written and not unmapped: the most that closing the heap
 * frees. 0 for the C library's heap. */
size_t mafat_heap_bytes(const struct mafat_heap *heap);
/* Returns the peak of mafat_heap_bytes. 0 for the C library's heap. */
size_t mafat_heap_most_bytes(const struct mafat_heap *heap);

#endif
