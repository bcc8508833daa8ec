/* Numbers and words in a stretch of bytes, little-endian, one behind the other. */
#ifndef MAFAT_FORMATS_PACKED_BYTES_H
#define MAFAT_FORMATS_PACKED_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Grows as it is written. `data` is the caller's to free. */
struct mafat_bytes {
  char *data;
  size_t n, room;
  bool failed; /* out of memory: what is written from then on is lost */
};

void mafat_bytes_put_u32(struct mafat_bytes *b, uint32_t value);
void mafat_bytes_put_u64(struct mafat_bytes *b, uint64_t value);
/* Its length with the closing zero, and both. */
void mafat_bytes_put_word(struct mafat_bytes *b, const char *word);

/* Reads on; past the end everything is 0 and "". */
struct mafat_bytes_reader {
  const char *at;
  size_t left;
  bool failed; /* something was not there, or was no word */
};

uint32_t mafat_bytes_u32(struct mafat_bytes_reader *r);
uint64_t mafat_bytes_u64(struct mafat_bytes_reader *r);
/* Lies where the bytes lie. */
const char *mafat_bytes_word(struct mafat_bytes_reader *r);

#endif
