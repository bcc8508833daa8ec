/* Decodes Protocol Buffers from a file. Called by the files of the ONNX reader (formats/onnx).
 * Reads the file through base/model_file.h; allocates nothing. */
#include "formats/onnx/wire.h"

#include "base/part.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "protocol buffers are little-endian");

enum { MAX_VARINT_BYTES = 10, MAX_FIELD = (1 << 29) - 1 };

/* ---- failures ---- */

/* Writes the context of a message, such as: node 12 (Conv "name"): attribute "pads": */
static void write_where(const struct mafat_wire_source *s, char *text, size_t capacity)
{
  char number[16] = "", name[160] = "", part[100] = "";
  text[0] = '\0';
  if (!s->what) return;
  if (s->number >= 0) snprintf(number, sizeof number, " %d", s->number);
  if (s->kind && s->name) snprintf(name, sizeof name, " (%.50s \"%.80s\")", s->kind, s->name);
  else if (s->kind) snprintf(name, sizeof name, " (%.50s)", s->kind);
  else if (s->name) snprintf(name, sizeof name, " \"%.80s\"", s->name);
  if (s->part) snprintf(part, sizeof part, " attribute \"%.60s\":", s->part);
  snprintf(text, capacity, " %s%s%s:%s", s->what, number, name, part);
}

MAFAT_PART(opening)
static int fail(const struct mafat_wire_source *s, int code, const char *format, va_list args)
{
  char where[320], text[400];
  write_where(s, where, sizeof where);
  vsnprintf(text, sizeof text, format, args);
  return mafat_fail(s->d, code, "%s:%s %s", s->file->path, where, text);
}

int mafat_wire_source_fail(const struct mafat_wire_source *source, int code, const char *format,
                           ...)
{
  va_list args;
  va_start(args, format);
  fail(source, code, format, args);
  va_end(args);
  return code;
}

int mafat_wire_fail(struct mafat_wire *w, int code, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  w->code = fail(w->source, code, format, args);
  w->at = w->end;
  va_end(args);
  return code;
}

/* ---- bytes ---- */

/* Returns the next *n bytes of w without moving its position. If fewer are left, reduces *n. NULL:
 * w has failed. */
static const unsigned char *peek(struct mafat_wire *w, size_t *n)
{
  const char *bytes;
  if (w->end - w->at < *n) *n = (size_t)(w->end - w->at);
  int code = mafat_model_file_peek(w->source->file, w->at, *n, &bytes, w->source->d);
  if (code == MAFAT_OK) return (const unsigned char *)bytes;
  w->code = code;
  w->at = w->end;
  return NULL;
}

static bool take_varint(struct mafat_wire *w, uint64_t *value)
{
  size_t n = MAX_VARINT_BYTES;
  uint64_t begin = w->at;
  const unsigned char *bytes = peek(w, &n);
  *value = 0;
  if (!bytes) return false;
  for (size_t i = 0; i < n; i++) {
    if (i == MAX_VARINT_BYTES - 1 && bytes[i] > 1) break; /* more than 64 bits */
    *value |= (uint64_t)(bytes[i] & 127) << (7 * i);
    if (bytes[i] < 128) {
      w->at = begin + i + 1;
      return true;
    }
  }
  *value = 0;
  mafat_wire_fail(w, MAFAT_EFORMAT,
                  "expected a number of at most 64 bits at byte %llu, which ends before byte %llu",
                  (unsigned long long)begin,
                  (unsigned long long)(n < MAX_VARINT_BYTES ? begin + n
                                                            : begin + MAX_VARINT_BYTES));
  return false;
}

static bool take_fixed(struct mafat_wire *w, size_t bytes, uint64_t *value)
{
  size_t n = bytes;
  *value = 0;
  const unsigned char *from = peek(w, &n);
  if (!from) return false;
  if (n < bytes) {
    mafat_wire_fail(w, MAFAT_EFORMAT, "expected a number of %zu bytes at byte %llu, found %zu",
                    bytes, (unsigned long long)w->at, n);
    return false;
  }
  memcpy(value, from, bytes);
  w->at += bytes;
  return true;
}

/* ---- messages ---- */

struct mafat_wire mafat_wire_whole(struct mafat_wire_source *source)
{
  return (struct mafat_wire){.source = source, .at = 0, .end = source->file->bytes};
}

/* True if the field has this wire type; else w fails. */
static bool is(struct mafat_wire *w, const struct mafat_wire_field *f, enum mafat_wire_type type)
{
  if (f->type == type) return true;
  mafat_wire_fail(w, MAFAT_EFORMAT,
                  "expected field %d at byte %llu to be of wire type %d, found %d", f->number,
                  (unsigned long long)f->at, (int)type, (int)f->type);
  return false;
}

struct mafat_wire mafat_wire_message(const struct mafat_wire *w, const struct mafat_wire_field *f)
{
  struct mafat_wire inner = {.source = w->source, .at = f->at, .end = f->at + f->bytes};
  is(&inner, f, MAFAT_WIRE_BYTES);
  return inner;
}

static bool begin_field(struct mafat_wire *w, struct mafat_wire_field *f)
{
  uint64_t begin = w->at, tag;
  if (!take_varint(w, &tag)) return false;
  if (tag >> 3 < 1 || tag >> 3 > MAX_FIELD) {
    mafat_wire_fail(w, MAFAT_EFORMAT, "expected a field at byte %llu, found number %llu",
                    (unsigned long long)begin, (unsigned long long)(tag >> 3));
    return false;
  }
  f->number = (int)(tag >> 3);
  f->type = (enum mafat_wire_type)(tag & 7);
  f->at = w->at;
  return true;
}

bool mafat_wire_next(struct mafat_wire *w, struct mafat_wire_field *f)
{
  uint64_t value;
  *f = (struct mafat_wire_field){.number = 0};
  if (w->code || w->at == w->end || !begin_field(w, f)) return false;
  switch (f->type) {
  case MAFAT_WIRE_VARINT: take_varint(w, &value); break;
  case MAFAT_WIRE_FIXED64: take_fixed(w, 8, &value); break;
  case MAFAT_WIRE_FIXED32: take_fixed(w, 4, &value); break;
  case MAFAT_WIRE_BYTES:
    if (!take_varint(w, &value)) break;
    f->at = w->at;
    if (value > w->end - w->at)
      mafat_wire_fail(w, MAFAT_EFORMAT,
                      "field %d at byte %llu: expected at most %llu bytes, found a length of %llu",
                      f->number, (unsigned long long)f->at,
                      (unsigned long long)(w->end - w->at), (unsigned long long)value);
    else w->at += value;
    break;
  default:
    mafat_wire_fail(w, MAFAT_EFORMAT,
                    "expected a field of wire type 0, 1, 2 or 5 at byte %llu, found %d%s",
                    (unsigned long long)f->at, (int)f->type,
                    (int)f->type == 3 || (int)f->type == 4 ? ", a group" : "");
  }
  f->bytes = w->at - f->at;
  return w->code == MAFAT_OK;
}

void mafat_wire_count(struct mafat_wire *w, size_t *counts, int n)
{
  struct mafat_wire ahead = *w;
  struct mafat_wire_field f;
  memset(counts, 0, (size_t)n * sizeof *counts);
  while (mafat_wire_next(&ahead, &f))
    if (f.number < n) counts[f.number]++;
  if (ahead.code) *w = ahead;
}

/* ---- contents of fields ---- */

int64_t mafat_wire_int(struct mafat_wire *w, const struct mafat_wire_field *f)
{
  if (!is(w, f, MAFAT_WIRE_VARINT)) return 0;
  struct mafat_wire number = {.source = w->source, .at = f->at, .end = f->at + f->bytes};
  uint64_t value;
  take_varint(&number, &value);
  if (number.code) w->code = number.code;
  return (int64_t)value;
}

float mafat_wire_float(struct mafat_wire *w, const struct mafat_wire_field *f)
{
  if (!is(w, f, MAFAT_WIRE_FIXED32)) return 0;
  struct mafat_wire number = {.source = w->source, .at = f->at, .end = f->at + f->bytes};
  uint64_t bits;
  float value;
  take_fixed(&number, sizeof value, &bits);
  if (number.code) w->code = number.code;
  memcpy(&value, &bits, sizeof value);
  return value;
}

void mafat_wire_text(struct mafat_wire *w, const struct mafat_wire_field *f, char *to)
{
  size_t n = (size_t)f->bytes;
  to[0] = '\0';
  if (!is(w, f, MAFAT_WIRE_BYTES)) return;
  int code = mafat_model_file_read(w->source->file, f->at, n, to, w->source->d);
  to[code ? 0 : n] = '\0';
  if (code) w->code = code;
  else if (strlen(to) != n)
    mafat_wire_fail(w, MAFAT_EFORMAT, "expected text at byte %llu, found a zero byte",
                    (unsigned long long)f->at);
}

struct mafat_wire mafat_wire_numbers(const struct mafat_wire *w, const struct mafat_wire_field *f,
                                     enum mafat_wire_type type)
{
  struct mafat_wire numbers = {.source = w->source, .at = f->at, .end = f->at + f->bytes};
  if (f->type != MAFAT_WIRE_BYTES) is(&numbers, f, type);
  return numbers;
}

bool mafat_wire_number(struct mafat_wire *numbers, enum mafat_wire_type type, uint64_t *bits)
{
  *bits = 0;
  if (numbers->code || numbers->at == numbers->end) return false;
  if (type == MAFAT_WIRE_VARINT) return take_varint(numbers, bits);
  return take_fixed(numbers, type == MAFAT_WIRE_FIXED64 ? 8 : 4, bits);
}

/* Counts varints by their last bytes, whose top bit is clear. */
static uint64_t count_varints(struct mafat_wire *numbers)
{
  uint64_t n = 0;
  while (numbers->at < numbers->end) {
    size_t some = 4096;
    const unsigned char *bytes = peek(numbers, &some);
    if (!bytes) return 0;
    for (size_t i = 0; i < some; i++) n += bytes[i] < 128;
    numbers->at += some;
  }
  return n;
}

uint64_t mafat_wire_n_numbers(struct mafat_wire *w, const struct mafat_wire_field *f,
                              enum mafat_wire_type type)
{
  struct mafat_wire numbers = mafat_wire_numbers(w, f, type);
  uint64_t bytes = type == MAFAT_WIRE_FIXED64 ? 8 : 4, n = 0;
  if (numbers.code) n = 0;
  else if (type == MAFAT_WIRE_VARINT) n = count_varints(&numbers);
  else if (f->bytes % bytes == 0) n = f->bytes / bytes;
  else
    mafat_wire_fail(&numbers, MAFAT_EFORMAT,
                    "expected numbers of %llu bytes each at byte %llu, found %llu bytes",
                    (unsigned long long)bytes, (unsigned long long)f->at,
                    (unsigned long long)f->bytes);
  if (numbers.code) w->code = numbers.code;
  return n;
}
