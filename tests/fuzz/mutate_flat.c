/* Mutates FlatBuffers files without a schema: removes fields, copies values of other fields,
 * changes lengths of vectors. A table is recognized by its form: it begins with its distance
 * from its vtable, a list of the offsets of its fields. Called by fuzz_tflite.c and
 * fuzz_packed.c through mutate.h. Touches only its arguments. */
#include "tests/fuzz/mutate.h"

#include <string.h>

enum { MOST_TABLES = 300 };

static uint32_t word_at(const struct mutation *m, size_t at)
{
  uint32_t value;
  memcpy(&value, m->data + at, sizeof value);
  return value;
}

static uint16_t half_at(const struct mutation *m, size_t at)
{
  uint16_t value;
  memcpy(&value, m->data + at, sizeof value);
  return value;
}

static void put_word(struct mutation *m, size_t at, uint32_t value)
{
  memcpy(m->data + at, &value, sizeof value);
}

static void put_half(struct mutation *m, size_t at, uint16_t value)
{
  memcpy(m->data + at, &value, sizeof value);
}

/* Byte offsets in the file of a table and of its vtable (list). */
struct table {
  size_t at, list;
  unsigned n_fields;
};

static bool read_table(const struct mutation *m, size_t at, struct table *t)
{
  if (at + 4 > m->n) return false;
  long long list = (long long)at - (int32_t)word_at(m, at);
  if (list < 4 || list + 4 > (long long)m->n) return false;
  unsigned bytes = half_at(m, (size_t)list), size = half_at(m, (size_t)list + 2);
  if (bytes < 4 || bytes % 2 || bytes > 200 || size < 4 || size > 400 ||
      (size_t)list + bytes > m->n || at + size > m->n)
    return false;
  *t = (struct table){at, (size_t)list, (bytes - 4) / 2};
  return true;
}

/* Lists the places that look like a table and that some word of the file may point to: the word
 * contains the distance to them. Returns their number. */
static size_t list_tables(const struct mutation *m, struct table *tables)
{
  size_t n = 0;
  for (size_t at = 0; at + 4 <= m->n && n < MOST_TABLES; at += 4) {
    uint32_t distance = word_at(m, at);
    if (distance >= 4 && distance <= m->n - at && read_table(m, at + distance, &tables[n])) n++;
  }
  return n;
}

/* Sets *entry to the offset of a field's entry in the vtable, and *at to the offset of the field's
 * value. False: the field is absent. */
static bool find_field(const struct mutation *m, const struct table *t, unsigned number,
                       size_t *entry, size_t *at)
{
  *entry = t->list + 4 + 2 * (size_t)number;
  uint16_t offset = half_at(m, *entry);
  *at = t->at + offset;
  return offset != 0 && *at + 4 <= m->n;
}

/* Changes a vector's length, or one of its elements, as if each had 4 bytes. */
static bool change_vector(struct mutation *m, size_t at)
{
  size_t vector = at + word_at(m, at);
  if (vector < at || vector + 4 > m->n) return false;
  uint32_t n = word_at(m, vector);
  if (n == 0 || n > (m->n - vector - 4) / 4 || mutation_random(m, 3) == 0) {
    put_word(m, vector,
             mutation_random(m, 2) ? n + 1 - 2 * mutation_random(m, 2)
                                   : (uint32_t)mutation_number(m));
    return true;
  }
  put_word(m, vector + 4 + 4 * (size_t)mutation_random(m, n), (uint32_t)mutation_number(m));
  return true;
}

/* Writes a longer or shorter copy of a vector at the file's end and makes the field point to it. */
static bool move_vector(struct mutation *m, size_t at)
{
  size_t vector = at + word_at(m, at);
  if (vector < at || vector + 4 > m->n) return false;
  uint32_t n = word_at(m, vector);
  if (n > 64 || n > (m->n - vector - 4) / 4) return false;
  uint32_t copy[80];
  uint32_t more = 1 + mutation_random(m, 8), length = mutation_random(m, 4) ? n + more : n / 2;
  copy[0] = length;
  memcpy(copy + 1, m->data + vector + 4, n * sizeof *copy);
  for (uint32_t i = n; i < length; i++)
    copy[1 + i] =
        n && mutation_random(m, 2) ? copy[1 + mutation_random(m, n)] : (uint32_t)mutation_number(m);
  static const uint8_t zeros[4];
  if (m->n % 4 && !mutation_splice(m, m->n, 0, zeros, 4 - m->n % 4)) return false;
  size_t end = m->n;
  if (!mutation_splice(m, end, 0, copy, (1 + (size_t)length) * sizeof *copy)) return false;
  put_word(m, at, (uint32_t)(end - at));
  return true;
}

/* Reduces a dimension of a tensor's shape, and shortens a vector that has as many bytes as the
 * shape needs and so may be the tensor's data. If only the shape changed, the file would be
 * refused because of its size. */
static bool change_shape(struct mutation *m, size_t at)
{
  enum { MOST_RANK = 5, MOST_NUMBER_BYTES = 4 };
  size_t shape = at + word_at(m, at);
  if (shape < at || shape + 4 > m->n) return false;
  uint32_t rank = word_at(m, shape);
  if (rank == 0 || rank > MOST_RANK || shape + 4 + 4 * (size_t)rank > m->n) return false;
  uint64_t product = 1;
  for (uint32_t i = 0; i < rank; i++) {
    product *= word_at(m, shape + 4 + 4 * (size_t)i);
    if (product == 0 || product > m->n) return false;
  }
  size_t dim = shape + 4 + 4 * (size_t)mutation_random(m, rank), data = 0;
  uint32_t old = word_at(m, dim), value = mutation_random(m, old), found = 0,
           size = mutation_random(m, 2) ? MOST_NUMBER_BYTES : 1;
  for (size_t i = 0; i + 4 <= m->n; i += 4)
    if (i != shape && word_at(m, i) == product * size && product * size <= m->n - i - 4 &&
        mutation_random(m, ++found) == 0)
      data = i;
  if (!found) return false;
  put_word(m, data, (uint32_t)(product / old) * value * size);
  put_word(m, dim, value);
  return true;
}

static bool change(struct mutation *m)
{
  struct table tables[MOST_TABLES];
  size_t n = list_tables(m, tables), entry, at, other_entry, other_at;
  if (n == 0) return false;
  const struct table *t = &tables[mutation_random(m, n)], *other = &tables[mutation_random(m, n)];
  if (t->n_fields == 0) return false;
  bool there = find_field(m, t, mutation_random(m, t->n_fields), &entry, &at);
  find_field(m, t, mutation_random(m, t->n_fields), &other_entry, &other_at);
  switch (mutation_random(m, 10)) {
  case 0: put_half(m, entry, 0); return true;
  case 1: put_half(m, entry, half_at(m, other_entry)); return true;
  case 2: put_half(m, entry, (uint16_t)mutation_number(m)); return true;
  case 3: if (there) put_word(m, at, (uint32_t)(other->at - at)); return there && other->at > at;
  case 4:
    if (there) m->data[at] = (uint8_t)mutation_random(m, mutation_random(m, 2) ? 256 : 8);
    return there;
  case 5: if (there) put_word(m, at, (uint32_t)mutation_number(m)); return there;
  case 6: return there && move_vector(m, at);
  case 7: return there && change_shape(m, at);
  default: return there && change_vector(m, at);
  }
}

size_t mutate_flat(uint8_t *data, size_t n, size_t most, unsigned seed)
{
  struct mutation m = {data, n, most, seed};
  bool changed = false;
  if (mutation_random(&m, 8) == 0) return LLVMFuzzerMutate(data, n, most);
  for (unsigned i = 1 + mutation_random(&m, 6); i-- > 0;) changed |= change(&m);
  return changed ? m.n : LLVMFuzzerMutate(m.data, m.n, most);
}
