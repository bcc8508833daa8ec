/* Decodes FlatBuffers from a file, with all offsets checked. Called by the files of the TFLite
 * reader (formats/tflite). Reads the file through base/model_file.h; allocates nothing. */
#include "formats/tflite/flat.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "FlatBuffers are little-endian");

bool mafat_flat_begins(const char beginning[MAFAT_FLAT_IDENTIFIER_BYTES], const char *identifier)
{
  return memcmp(beginning + 4, identifier, 4) == 0;
}

struct mafat_flat mafat_flat(struct mafat_model_file *file, struct mafat_diagnostic *d)
{
  return (struct mafat_flat){.file = file, .d = d};
}

void mafat_flat_fail(struct mafat_flat *f, int code, const char *format, ...)
{
  char text[sizeof f->d->text];
  if (f->code) return;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  f->code = mafat_fail(f->d, code, "%s: %s", f->file->path, text);
}

/* Reads bytes [at, at + n); zeros on failure. */
static bool take(struct mafat_flat *f, uint64_t at, size_t n, void *to)
{
  const char *bytes;
  memset(to, 0, n);
  if (f->code) return false;
  f->code = mafat_model_file_peek(f->file, at, n, &bytes, f->d);
  if (!f->code) memcpy(to, bytes, n);
  return !f->code;
}

static struct mafat_flat_vtable read_vtable(struct mafat_flat *f, uint64_t at)
{
  struct mafat_flat_vtable v = {.at = at};
  uint16_t bytes[2], n;
  if (!take(f, at, sizeof bytes, bytes)) return v;
  if (bytes[0] < sizeof bytes || bytes[0] % 2 || bytes[1] < 4)
    mafat_flat_fail(f, MAFAT_EFORMAT,
                    "expected a vtable in byte %llu, found one of %u bytes for tables of %u",
                    (unsigned long long)at, bytes[0], bytes[1]);
  v.table_bytes = bytes[1];
  n = (uint16_t)((bytes[0] - sizeof bytes) / 2);
  if (n > MAFAT_FLAT_FIELDS) n = MAFAT_FLAT_FIELDS;
  if (!f->code) take(f, at + sizeof bytes, n * sizeof *v.fields, v.fields);
  return v;
}

static struct mafat_flat_vtable find_vtable(struct mafat_flat *f, uint64_t at)
{
  for (int i = 0; i < MAFAT_FLAT_VTABLES; i++)
    if (f->vtables[i].at == at) return f->vtables[i];
  struct mafat_flat_vtable v = read_vtable(f, at);
  if (f->code) return (struct mafat_flat_vtable){0};
  f->vtables[f->next_vtable] = v;
  f->next_vtable = (f->next_vtable + 1) % MAFAT_FLAT_VTABLES;
  return v;
}

static struct mafat_flat_table table_at(struct mafat_flat *f, uint64_t at)
{
  int32_t back;
  struct mafat_flat_table t = {.at = at};
  if (!take(f, at, sizeof back, &back)) return (struct mafat_flat_table){0};
  int64_t vtable = (int64_t)at - back;
  if (vtable <= 0)
    mafat_flat_fail(f, MAFAT_EFORMAT, "the table in byte %llu has its vtable outside the file",
                    (unsigned long long)at);
  else t.vtable = find_vtable(f, (uint64_t)vtable);
  if (!f->code && t.vtable.table_bytes > f->file->bytes - at)
    mafat_flat_fail(f, MAFAT_EFORMAT, "the table in byte %llu goes past the end of the file",
                    (unsigned long long)at);
  return f->code ? (struct mafat_flat_table){0} : t;
}

struct mafat_flat_table mafat_flat_root(struct mafat_flat *f)
{
  uint32_t at;
  if (!take(f, 0, sizeof at, &at)) return (struct mafat_flat_table){0};
  return table_at(f, at);
}

struct mafat_flat_table mafat_flat_root_at(struct mafat_flat *f, uint64_t at,
                                           const char *identifier)
{
  char beginning[MAFAT_FLAT_IDENTIFIER_BYTES];
  uint32_t root;
  if (!take(f, at, sizeof beginning, beginning)) return (struct mafat_flat_table){0};
  if (!mafat_flat_begins(beginning, identifier))
    mafat_flat_fail(f, MAFAT_EFORMAT, "expected %s in byte %llu", identifier,
                    (unsigned long long)at + 4);
  memcpy(&root, beginning, sizeof root);
  return f->code ? (struct mafat_flat_table){0} : table_at(f, at + root);
}

/* Reads a field's bytes. False: the field is absent, or a failure. */
static bool field(struct mafat_flat *f, const struct mafat_flat_table *t, int number, int bytes,
                  void *to)
{
  int at = t->vtable.fields[number];
  if (f->code || at == 0) return false;
  if (at < 4 || at + bytes > t->vtable.table_bytes) {
    mafat_flat_fail(f, MAFAT_EFORMAT, "field %d of the table in byte %llu lies outside of it",
                    number, (unsigned long long)t->at);
    return false;
  }
  return take(f, t->at + (unsigned)at, (size_t)bytes, to);
}

uint64_t mafat_flat_uint(struct mafat_flat *f, const struct mafat_flat_table *t, int number,
                         int bytes, uint64_t otherwise)
{
  uint64_t value = 0; /* little-endian, like the machine */
  if (field(f, t, number, bytes, &value)) return value;
  return f->code ? 0 : otherwise;
}

int64_t mafat_flat_int(struct mafat_flat *f, const struct mafat_flat_table *t, int number,
                       int bytes, int64_t otherwise)
{
  uint64_t value = 0;
  if (!field(f, t, number, bytes, &value)) return f->code ? 0 : otherwise;
  uint64_t sign = (uint64_t)1 << (8 * bytes - 1);
  return (int64_t)((value ^ sign) - sign);
}

float mafat_flat_float(struct mafat_flat *f, const struct mafat_flat_table *t, int number,
                       float otherwise)
{
  float value = 0;
  if (field(f, t, number, sizeof value, &value)) return value;
  return f->code ? 0 : otherwise;
}

/* Returns the position in the file to which a field's offset points; 0: the field is absent, or a
 * failure. */
static uint64_t follow(struct mafat_flat *f, const struct mafat_flat_table *t, int number)
{
  uint32_t offset;
  if (!field(f, t, number, sizeof offset, &offset)) return 0;
  if (offset < sizeof offset)
    mafat_flat_fail(f, MAFAT_EFORMAT, "field %d of the table in byte %llu points to itself", number,
                    (unsigned long long)t->at);
  return f->code ? 0 : t->at + t->vtable.fields[number] + offset;
}

struct mafat_flat_table mafat_flat_table(struct mafat_flat *f, const struct mafat_flat_table *t,
                                         int number)
{
  uint64_t at = follow(f, t, number);
  return at ? table_at(f, at) : (struct mafat_flat_table){0};
}

struct mafat_flat_vector mafat_flat_vector(struct mafat_flat *f, const struct mafat_flat_table *t,
                                           int number, int element_bytes)
{
  struct mafat_flat_vector v = {0};
  uint64_t at = follow(f, t, number);
  if (!at || !take(f, at, sizeof v.n, &v.n)) return (struct mafat_flat_vector){0};
  v.at = at + sizeof v.n;
  if (v.n > (f->file->bytes - v.at) / (unsigned)element_bytes) {
    mafat_flat_fail(f, MAFAT_EFORMAT,
                    "the vector in byte %llu, of %u times %d bytes, goes past the end of the file",
                    (unsigned long long)at, v.n, element_bytes);
    return (struct mafat_flat_vector){0};
  }
  return v;
}

void mafat_flat_copy(struct mafat_flat *f, const struct mafat_flat_vector *v, uint32_t n,
                     int element_bytes, void *to)
{
  size_t bytes = (size_t)n * (unsigned)element_bytes;
  if (n == 0) return;
  if (!f->code) f->code = mafat_model_file_read(f->file, v->at, bytes, to, f->d);
  if (f->code) memset(to, 0, bytes);
}

struct mafat_flat_table mafat_flat_element(struct mafat_flat *f, const struct mafat_flat_vector *v,
                                           uint32_t i, uint32_t offset)
{
  uint64_t at = v->at + (uint64_t)i * sizeof offset;
  if (!f->code && offset < sizeof offset)
    mafat_flat_fail(f, MAFAT_EFORMAT, "the offset in byte %llu points to no table",
                    (unsigned long long)at);
  return f->code ? (struct mafat_flat_table){0} : table_at(f, at + offset);
}
