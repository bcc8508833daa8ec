/* Memory for what a reader makes of a file: pieces cut from chunks, all freed at once. There is a most that may be
 * taken, so that no file makes its reader take all there is. */
#ifndef MAFAT_BASE_CHUNKS_H
#define MAFAT_BASE_CHUNKS_H

#include <stddef.h>

struct mafat_chunk;

/* Begins as {.most_bytes = ...}. */
struct mafat_chunks {
  struct mafat_chunk *newest;
  size_t bytes, most_bytes; /* of all chunks */
};

/* n times so many bytes, all 0, aligned for anything; NULL: the system has no more, or it is more than the most. */
void *mafat_chunks_take(struct mafat_chunks *c, size_t n, size_t bytes);
void mafat_chunks_free(struct mafat_chunks *c);

#endif
