/* Writes and reads little-endian integers and words (strings) in a byte buffer. Included by
 * formats/packed/graph.h and formats/packed/index.h; called by formats/packed (index.c, graph.c).
 * Grows the output buffer. */
#ifndef MAFAT_FORMATS_PACKED_BYTES_H
#define MAFAT_FORMATS_PACKED_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A growing buffer. The caller frees `data`. */
struct mafat_bytes {
  char *data;
  size_t n, capacity;
  bool failed; /* out of memory: later writes are ignored */
};

void mafat_bytes_put_u32(struct mafat_bytes *b, uint32_t value);
void mafat_bytes_put_u64(struct mafat_bytes *b, uint64_t value);
/* Writes a string: its length with the closing zero as u32, then its bytes and the zero. */
void mafat_bytes_put_word(struct mafat_bytes *b, const char *word);

/* A position in a buffer. Reads past its end return 0 or "". */
struct mafat_bytes_reader {
  const char *at;
  size_t left;
  bool failed; /* read past the end, or an invalid word */
};

uint32_t mafat_bytes_u32(struct mafat_bytes_reader *r);
uint64_t mafat_bytes_u64(struct mafat_bytes_reader *r);
/* Returns a string, which points into the buffer. */
const char *mafat_bytes_word(struct mafat_bytes_reader *r);

#endif
