/* Writes integers and strings to a byte buffer, and reads them from one. Called by formats/packed
 * (index.c, graph.c). Grows the output buffer, which the caller frees. */
#include "formats/packed/bytes.h"

#include "base/part.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "packed files are little-endian");

/* ---- writing ---- */

MAFAT_PART(rare) static void put(struct mafat_bytes *b, const void *data, size_t n)
{
  enum { LEAST = 4096 };
  if (b->failed) return;
  if (b->capacity - b->n < n) {
    size_t capacity = 2 * b->capacity + n + LEAST;
    char *grown = realloc(b->data, capacity);
    b->failed = !grown;
    if (b->failed) return;
    b->data = grown;
    b->capacity = capacity;
  }
  memcpy(b->data + b->n, data, n);
  b->n += n;
}

MAFAT_PART(rare) void mafat_bytes_put_u32(struct mafat_bytes *b, uint32_t value)
{
  put(b, &value, sizeof value);
}

MAFAT_PART(rare) void mafat_bytes_put_u64(struct mafat_bytes *b, uint64_t value)
{
  put(b, &value, sizeof value);
}

MAFAT_PART(rare) void mafat_bytes_put_word(struct mafat_bytes *b, const char *word)
{
  size_t n = strlen(word) + 1;
  mafat_bytes_put_u32(b, (uint32_t)n);
  put(b, word, n);
}

/* ---- reading ---- */

static const char *take(struct mafat_bytes_reader *r, size_t n)
{
  if (r->failed || r->left < n) {
    r->failed = true;
    return NULL;
  }
  const char *at = r->at;
  r->at += n;
  r->left -= n;
  return at;
}

uint32_t mafat_bytes_u32(struct mafat_bytes_reader *r)
{
  uint32_t value = 0;
  const char *at = take(r, sizeof value);
  if (at) memcpy(&value, at, sizeof value);
  return value;
}

uint64_t mafat_bytes_u64(struct mafat_bytes_reader *r)
{
  uint64_t value = 0;
  const char *at = take(r, sizeof value);
  if (at) memcpy(&value, at, sizeof value);
  return value;
}

const char *mafat_bytes_word(struct mafat_bytes_reader *r)
{
  uint32_t n = mafat_bytes_u32(r);
  const char *word = take(r, n);
  if (word && n > 0 && memchr(word, '\0', n) == word + n - 1) return word;
  r->failed = true;
  return "";
}
