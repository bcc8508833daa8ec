/* A heap that goes back to the system as a whole. What a search makes and frees would else
 * leave pieces among what stays, and their pages would stay with it.
 *
 * NULL is the C library's heap: who is given a heap need not know which. Used by one thread
 * at a time. */
#ifndef MAFAT_BASE_HEAP_H
#define MAFAT_BASE_HEAP_H

#include <stddef.h>

struct mafat_heap;

/* MAFAT_ENOMEM. Under AddressSanitizer *out is NULL, so that it sees every block. */
int mafat_heap_open(struct mafat_heap **out);
/* With all that lies in it. */
void mafat_heap_close(struct mafat_heap **heap);

/* As calloc, realloc and free, of blocks of the same heap. */
void *mafat_heap_calloc(struct mafat_heap *heap, size_t n, size_t bytes);
void *mafat_heap_realloc(struct mafat_heap *heap, void *block, size_t bytes);
void mafat_heap_free(struct mafat_heap *heap, void *block);

/* Pages that were written to and are not back: what closing it gives back, at most; of the
 * C library's heap 0. */
size_t mafat_heap_bytes(const struct mafat_heap *heap);
/* The most that there were at a time; of the C library's heap 0. */
size_t mafat_heap_most_bytes(const struct mafat_heap *heap);

#endif
