/* Reads FlexBuffers in memory: a map with numeric values, from an untrusted file. Included by
 * formats/tflite/values.c. Touches only its arguments. */
#ifndef MAFAT_FORMATS_TFLITE_FLEX_H
#define MAFAT_FORMATS_TFLITE_FLEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mafat_flex_map {
  const char *bytes; /* the whole buffer */
  size_t n_bytes;
  size_t keys, values;           /* offsets in the buffer: of the keys and of the values */
  unsigned key_width, width;     /* bytes of a key's offset and of a value */
  uint64_t n;                    /* entries */
};

/* Reads the map at the root of a buffer. The buffer must exist as long as the map is used. False:
 * there is no valid map. */
bool mafat_flex_map(struct mafat_flex_map *map, const char *bytes, size_t n_bytes);
/* Finds a number by key. False: no such key, or not a number; *value is unchanged. */
bool mafat_flex_number(const struct mafat_flex_map *map, const char *key, double *value);

#endif
