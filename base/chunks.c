/* Allocates zeroed memory from chunks that are freed together. Called by the ONNX reader
 * (formats/onnx/model.c). Touches only its struct and the chunks. */
#include "base/chunks.h"

#include <stdlib.h>

enum { UNIT = _Alignof(max_align_t), CHUNK = 8 << 10 };

struct mafat_chunk {
  struct mafat_chunk *older;
  size_t used;  /* bytes of data handed out */
  size_t bytes; /* capacity of data */
  _Alignas(max_align_t) char data[];
};

static struct mafat_chunk *add(struct mafat_chunks *c, size_t bytes)
{
  size_t capacity =
      bytes > CHUNK - sizeof(struct mafat_chunk) ? bytes : CHUNK - sizeof(struct mafat_chunk);
  if (capacity > c->most_bytes - c->bytes ||
      !mafat_allowance_take(c->allowance, 1, sizeof(struct mafat_chunk) + capacity))
    return NULL;
  struct mafat_chunk *chunk = calloc(1, sizeof *chunk + capacity);
  if (!chunk) {
    mafat_allowance_give(c->allowance, sizeof *chunk + capacity);
    return NULL;
  }
  chunk->bytes = capacity;
  chunk->older = c->newest;
  c->newest = chunk;
  c->bytes += capacity;
  return chunk;
}

void *mafat_chunks_take(struct mafat_chunks *c, size_t n, size_t bytes)
{
  if (__builtin_mul_overflow(n, bytes, &bytes) || bytes > c->most_bytes) return NULL;
  bytes += (UNIT - bytes % UNIT) % UNIT; /* no overflow: see most_bytes */
  struct mafat_chunk *chunk = c->newest;
  if (!chunk || bytes > chunk->bytes - chunk->used) chunk = add(c, bytes);
  if (!chunk) return NULL;
  void *taken = chunk->data + chunk->used;
  chunk->used += bytes;
  return taken;
}

void mafat_chunks_free(struct mafat_chunks *c)
{
  while (c->newest) {
    struct mafat_chunk *older = c->newest->older;
    mafat_allowance_give(c->allowance, sizeof *older + c->newest->bytes);
    free(c->newest);
    c->newest = older;
  }
  c->bytes = 0;
}
