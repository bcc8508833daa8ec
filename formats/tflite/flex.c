/* Decodes FlexBuffers in memory, with all offsets checked. Called by formats/tflite/values.c.
 * Touches only its arguments. */
#include "formats/tflite/flex.h"

#include <string.h>

/* Types of FlexBuffers. A byte stores a type and, in its two lowest bits, the width. */
enum {
  INT = 1, UINT = 2, FLOAT = 3, INDIRECT_INT = 6, INDIRECT_UINT = 7, INDIRECT_FLOAT = 8, MAP = 9,
  BOOL = 26
};

static bool is_width(uint64_t bytes)
{
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

static bool take(const struct mafat_flex_map *m, size_t at, unsigned width, uint64_t *value)
{
  *value = 0;
  if (at > m->n_bytes || width > m->n_bytes - at) return false;
  memcpy(value, m->bytes + at, width); /* little-endian, like the machine */
  return true;
}

/* Follows an offset, which points backwards from its own position. */
static bool follow(const struct mafat_flex_map *m, size_t at, unsigned width, size_t *to)
{
  uint64_t back;
  if (!take(m, at, width, &back) || back > at) return false;
  *to = at - (size_t)back;
  return true;
}

bool mafat_flex_map(struct mafat_flex_map *map, const char *bytes, size_t n_bytes)
{
  uint64_t key_width;
  *map = (struct mafat_flex_map){.bytes = bytes, .n_bytes = n_bytes};
  if (n_bytes < 3) return false;
  unsigned root = (unsigned char)bytes[n_bytes - 1], packed = (unsigned char)bytes[n_bytes - 2];
  if (!is_width(root) || n_bytes < 2 + root || packed >> 2 != MAP) return false;
  map->width = 1U << (packed & 3);
  if (!follow(map, n_bytes - 2 - root, root, &map->values) || map->values < 3 * (size_t)map->width)
    return false;
  /* The words before the values: offset of the keys, width of key offsets, number of entries. */
  if (!follow(map, map->values - 3 * (size_t)map->width, map->width, &map->keys)) return false;
  if (!take(map, map->values - 2 * (size_t)map->width, map->width, &key_width) ||
      !is_width(key_width))
    return false;
  if (!take(map, map->values - map->width, map->width, &map->n)) return false;
  map->key_width = (unsigned)key_width;
  return map->n <= (n_bytes - map->values) / (map->width + 1) &&
         map->n <= (n_bytes - map->keys) / map->key_width;
}

static bool is_key(const struct mafat_flex_map *m, uint64_t i, const char *key)
{
  size_t at, n = strlen(key) + 1;
  return follow(m, m->keys + (size_t)i * m->key_width, m->key_width, &at) && n <= m->n_bytes - at &&
         memcmp(m->bytes + at, key, n) == 0;
}

static bool number(const struct mafat_flex_map *m, unsigned type, size_t at, unsigned width,
                   double *value)
{
  uint64_t bits;
  float f32;
  double f64;
  if (!take(m, at, width, &bits)) return false;
  uint64_t sign = (uint64_t)1 << (8 * width - 1);
  memcpy(&f32, &bits, sizeof f32);
  memcpy(&f64, &bits, sizeof f64);
  if (type == FLOAT && width < 4) return false; /* no writer stores shorter floats */
  if (type == FLOAT) *value = width == 8 ? f64 : (double)f32;
  else *value = type == INT ? (double)(int64_t)((bits ^ sign) - sign) : (double)bits;
  return true;
}

static bool value_at(const struct mafat_flex_map *m, uint64_t i, double *value)
{
  size_t at = m->values + (size_t)i * m->width;
  unsigned packed = (unsigned char)m->bytes[m->values + (size_t)m->n * m->width + (size_t)i],
           type = packed >> 2;
  if (type == INT || type == UINT || type == FLOAT || type == BOOL)
    return number(m, type, at, m->width, value);
  if (type != INDIRECT_INT && type != INDIRECT_UINT && type != INDIRECT_FLOAT) return false;
  return follow(m, at, m->width, &at) &&
         number(m, type - INDIRECT_INT + INT, at, 1U << (packed & 3), value);
}

bool mafat_flex_number(const struct mafat_flex_map *map, const char *key, double *value)
{
  for (uint64_t i = 0; i < map->n; i++)
    if (is_key(map, i, key)) return value_at(map, i, value);
  return false;
}
