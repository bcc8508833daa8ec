/* Reads the elements of tensors, from raw bytes or typed fields. Called by the importers in
 * formats/onnx for small constants. Reads the model's file. */
#include "formats/onnx/reader.h"

#include <string.h>

/* Destination of elements; one of the pointers is NULL. */
struct sink {
  int64_t *ints;
  double *doubles;
};

enum { ELEMENT = 8 }; /* bytes of the largest element */

#define LOADER(type) \
  static type load_##type(const char *from) \
  { \
    type value; \
    memcpy(&value, from, sizeof value); \
    return value; \
  }
LOADER(float)
LOADER(double)
LOADER(uint8_t)
LOADER(int8_t)
LOADER(uint16_t)
LOADER(int16_t)
LOADER(uint32_t)
LOADER(int32_t)
LOADER(uint64_t)
LOADER(int64_t)

static int64_t load_whole(int type, const char *from)
{
  switch (type) {
  case MAFAT_ONNX_BOOL: return load_uint8_t(from) != 0;
  case MAFAT_ONNX_UINT8: return load_uint8_t(from);
  case MAFAT_ONNX_INT8: return load_int8_t(from);
  case MAFAT_ONNX_UINT16: return load_uint16_t(from);
  case MAFAT_ONNX_INT16: return load_int16_t(from);
  case MAFAT_ONNX_UINT32: return load_uint32_t(from);
  case MAFAT_ONNX_INT32: return load_int32_t(from);
  default: return load_int64_t(from);
  }
}

static bool is_whole(int type)
{
  return type == MAFAT_ONNX_BOOL || type == MAFAT_ONNX_UINT8 || type == MAFAT_ONNX_INT8 ||
         type == MAFAT_ONNX_UINT16 || type == MAFAT_ONNX_INT16 || type == MAFAT_ONNX_UINT32 ||
         type == MAFAT_ONNX_INT32 || type == MAFAT_ONNX_UINT64 || type == MAFAT_ONNX_INT64;
}

/* Converts the bytes of an element to a number and stores it as number i of `to`. False: it is not
 * representable as int64. */
static bool put(const struct sink *to, size_t i, int type, const char *from)
{
  if (to->ints) {
    to->ints[i] = load_whole(type, from);
    return type != MAFAT_ONNX_UINT64 || to->ints[i] >= 0;
  }
  switch (type) {
  case MAFAT_ONNX_FLOAT: to->doubles[i] = load_float(from); break;
  case MAFAT_ONNX_DOUBLE: to->doubles[i] = load_double(from); break;
  case MAFAT_ONNX_UINT64: to->doubles[i] = (double)load_uint64_t(from); break;
  default: to->doubles[i] = (double)load_whole(type, from);
  }
  return true;
}

static int refuse(const struct mafat_onnx_tensor *t, const struct mafat_wire_source *s)
{
  return mafat_wire_source_fail(s, MAFAT_EFORMAT, "a number of type %s is too large",
                                mafat_onnx_type_name(t->type));
}

/* True for types that are stored in an int32 field, which could hold larger values. */
static bool is_narrow(int type)
{
  return type == MAFAT_ONNX_UINT8 || type == MAFAT_ONNX_INT8 || type == MAFAT_ONNX_UINT16 ||
         type == MAFAT_ONNX_INT16;
}

static int check_narrow(const struct mafat_onnx_tensor *t, const struct mafat_wire_source *s,
                        uint64_t bits, const char *element)
{
  int32_t number = (int32_t)(uint32_t)bits;
  if (!is_narrow(t->type) || load_whole(t->type, element) == number) return MAFAT_OK;
  return mafat_wire_source_fail(s, MAFAT_EFORMAT, "%d is out of range of type %s", number,
                                mafat_onnx_type_name(t->type));
}

/* Reads elements [first, first + n) of a tensor in the form MAFAT_ONNX_PLACE: raw bytes. */
static int read_place(struct mafat_wire_source *s, const struct mafat_onnx_tensor *t,
                      uint64_t first, size_t n, const struct sink *to)
{
  enum { SOME = 512 };
  char some[SOME * ELEMENT];
  size_t bytes = mafat_onnx_type_bytes(t->type);
  for (size_t done = 0; done < n;) {
    size_t part = n - done < SOME ? n - done : SOME;
    int code =
        mafat_model_file_read(s->file, t->at + (first + done) * bytes, part * bytes, some, s->d);
    if (code) return code;
    for (size_t i = 0; i < part; i++)
      if (!put(to, done + i, t->type, some + i * bytes)) return refuse(t, s);
    done += part;
  }
  return MAFAT_OK;
}

/* Reads elements [first, first + n) of a tensor in the form MAFAT_ONNX_WIRE: typed fields. */
static int read_wire(struct mafat_wire_source *s, const struct mafat_onnx_tensor *t, uint64_t first,
                     size_t n, const struct sink *to)
{
  struct mafat_wire w = {.source = s, .at = t->at, .end = t->at + t->bytes};
  int field = mafat_onnx_typed_field(t->type);
  enum mafat_wire_type type = mafat_onnx_typed_wire(field);
  uint64_t number = 0, bits;
  for (struct mafat_wire_field f; number < first + n && mafat_wire_next(&w, &f);) {
    if (f.number != field) continue;
    struct mafat_wire numbers = mafat_wire_numbers(&w, &f, type);
    for (; number < first + n && mafat_wire_number(&numbers, type, &bits); number++) {
      char element[ELEMENT];
      memcpy(element, &bits, sizeof element); /* the low bytes are the element as in memory */
      int code = check_narrow(t, s, bits, element);
      if (code) return code;
      if (number >= first && !put(to, (size_t)(number - first), t->type, element))
        return refuse(t, s);
    }
    if (numbers.code) return numbers.code;
  }
  if (w.code || number == first + n) return w.code;
  return mafat_wire_source_fail(s, MAFAT_EFORMAT, "expected %llu numbers, found %llu",
                                (unsigned long long)(first + n), (unsigned long long)number);
}

static int read_numbers(const struct mafat_onnx *m, const struct mafat_onnx_tensor *t,
                        uint64_t first, size_t n, const struct sink *to, struct mafat_diagnostic *d)
{
  struct mafat_model_file *other = NULL;
  struct mafat_wire_source s = {
      .file = m->file, .d = d, .what = "tensor", .number = -1, .name = t->name};
  bool is_number = is_whole(t->type) ||
                   (to->doubles && (t->type == MAFAT_ONNX_FLOAT || t->type == MAFAT_ONNX_DOUBLE));
  if (!is_number)
    return mafat_wire_source_fail(&s, MAFAT_EUNSUPPORTED, "expected %s, found type %s",
                                  to->ints ? "integers" : "numbers", mafat_onnx_type_name(t->type));
  if (first > t->n || n > t->n - first)
    return mafat_wire_source_fail(&s, MAFAT_EINVAL, "expected %llu numbers, found %llu",
                                  (unsigned long long)(first + n), (unsigned long long)t->n);
  if (n == 0) return MAFAT_OK;
  int code = t->file ? mafat_model_file_open_beside(&other, m->file, mafat_onnx_path(m, t->file), d)
                     : MAFAT_OK;
  if (code) return code;
  if (other) s.file = other;
  if (other) code = mafat_model_file_same(other, &mafat_onnx_file(m, t->file)->state, d);
  if (code == MAFAT_OK)
    code = t->form == MAFAT_ONNX_PLACE ? read_place(&s, t, first, n, to)
                                       : read_wire(&s, t, first, n, to);
  mafat_model_file_close(&other);
  return code;
}

int mafat_onnx_tensor_ints(const struct mafat_onnx *m, const struct mafat_onnx_tensor *t,
                           uint64_t first, size_t n, int64_t *to, struct mafat_diagnostic *d)
{
  return read_numbers(m, t, first, n, &(struct sink){.ints = to}, d);
}

int mafat_onnx_tensor_doubles(const struct mafat_onnx *m, const struct mafat_onnx_tensor *t,
                              uint64_t first, size_t n, double *to, struct mafat_diagnostic *d)
{
  return read_numbers(m, t, first, n, &(struct sink){.doubles = to}, d);
}
