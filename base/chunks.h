/* Memory for the result of reading a file: allocated from chunks, freed all at once. A maximum
 * keeps a hostile file from exhausting memory. Included by formats/onnx/onnx.h; called by the ONNX
 * reader (formats/onnx/model.c). Allocates with calloc. */
#ifndef MAFAT_BASE_CHUNKS_H
#define MAFAT_BASE_CHUNKS_H

#include "base/allowance.h"

#include <stddef.h>

struct mafat_chunk;

/* Initialized as {.most_bytes = ..., .allowance = ...}; most_bytes must be well below
 * SIZE_MAX. */
struct mafat_chunks {
  struct mafat_allowance *allowance; /* also counts the chunks; NULL: no limit */
  struct mafat_chunk *newest;
  size_t bytes;      /* bytes of all chunks */
  size_t most_bytes; /* maximum of `bytes` */
};

/* Returns n * bytes zeroed bytes, aligned for any type. If the newest chunk is full, allocates
 * another one, usually of 8 KiB, and counts all of it. NULL: out of memory, or above the
 * maximum. */
void *mafat_chunks_take(struct mafat_chunks *c, size_t n, size_t bytes);
void mafat_chunks_free(struct mafat_chunks *c);

#endif
