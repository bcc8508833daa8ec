/* FlexBuffers: a map whose values are numbers, in memory. Nothing of it is believed. */
#ifndef MAFAT_FORMATS_TFLITE_FLEX_H
#define MAFAT_FORMATS_TFLITE_FLEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mafat_flex_map {
  const char *bytes; /* of the whole buffer */
  size_t n_bytes;
  size_t keys, values;           /* where the offsets of keys, and the values, begin */
  unsigned key_width, width;     /* bytes of an offset, of a value */
  uint64_t n;
};

/* The map that a buffer's root is; it goes on pointing into the buffer. */
bool mafat_flex_map(struct mafat_flex_map *map, const char *bytes, size_t n_bytes);
/* false, *value unchanged: there is none of that name, or it is no number. */
bool mafat_flex_number(const struct mafat_flex_map *map, const char *key, double *value);

#endif
