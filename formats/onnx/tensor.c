/* Reads TensorProto, and locates its elements in the file. Called by the reader's files in
 * formats/onnx; the importers use its names of types. Opens files of external data. */
#include "formats/onnx/reader.h"

#include "base/part.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fields of TensorProto. */
enum {
  DIMS = 1, DATA_TYPE = 2, SEGMENT = 3, FLOAT_DATA = 4, INT32_DATA = 5, STRING_DATA = 6,
  INT64_DATA = 7, NAME = 8, RAW_DATA = 9, DOUBLE_DATA = 10, UINT64_DATA = 11, EXTERNAL_DATA = 13,
  DATA_LOCATION = 14
};

enum { EXTERNAL = 1, MAX_PATH = 8192 };

static const struct {
  const char *name;
  /* bytes of an element in memory; number of the TensorProto field for elements of this type;
   * entries of that field per element */
  unsigned char bytes, field, numbers;
  const char *array; /* NumPy's name; NULL: none */
} types[MAFAT_ONNX_N_TYPES] = {
    [MAFAT_ONNX_UNDEFINED] = {"undefined", 0, 0, 0, NULL},
    [MAFAT_ONNX_FLOAT] = {"float", 4, FLOAT_DATA, 1, "<f4"},
    [MAFAT_ONNX_UINT8] = {"uint8", 1, INT32_DATA, 1, "|u1"},
    [MAFAT_ONNX_INT8] = {"int8", 1, INT32_DATA, 1, "|i1"},
    [MAFAT_ONNX_UINT16] = {"uint16", 2, INT32_DATA, 1, "<u2"},
    [MAFAT_ONNX_INT16] = {"int16", 2, INT32_DATA, 1, "<i2"},
    [MAFAT_ONNX_INT32] = {"int32", 4, INT32_DATA, 1, "<i4"},
    [MAFAT_ONNX_INT64] = {"int64", 8, INT64_DATA, 1, "<i8"},
    [MAFAT_ONNX_STRING] = {"string", 0, STRING_DATA, 1, NULL},
    [MAFAT_ONNX_BOOL] = {"bool", 1, INT32_DATA, 1, "|b1"},
    [MAFAT_ONNX_FLOAT16] = {"float16", 2, INT32_DATA, 1, "<f2"},
    [MAFAT_ONNX_DOUBLE] = {"double", 8, DOUBLE_DATA, 1, "<f8"},
    [MAFAT_ONNX_UINT32] = {"uint32", 4, UINT64_DATA, 1, "<u4"},
    [MAFAT_ONNX_UINT64] = {"uint64", 8, UINT64_DATA, 1, "<u8"},
    [MAFAT_ONNX_COMPLEX64] = {"complex64", 8, FLOAT_DATA, 2, NULL},
    [MAFAT_ONNX_COMPLEX128] = {"complex128", 16, DOUBLE_DATA, 2, NULL},
    [MAFAT_ONNX_BFLOAT16] = {"bfloat16", 2, INT32_DATA, 1, NULL},
};

static bool is_type(int type)
{
  return type > MAFAT_ONNX_UNDEFINED && type < MAFAT_ONNX_N_TYPES;
}

const char *mafat_onnx_type_name(int type)
{
  return is_type(type) ? types[type].name : types[MAFAT_ONNX_UNDEFINED].name;
}

const char *mafat_onnx_type_array(int type)
{
  return is_type(type) ? types[type].array : NULL;
}

size_t mafat_onnx_type_bytes(int type)
{
  return is_type(type) ? types[type].bytes : 0;
}

int mafat_onnx_typed_field(int type)
{
  return is_type(type) ? types[type].field : 0;
}

enum mafat_wire_type mafat_onnx_typed_wire(int field)
{
  switch (field) {
  case FLOAT_DATA: return MAFAT_WIRE_FIXED32;
  case DOUBLE_DATA: return MAFAT_WIRE_FIXED64;
  case STRING_DATA: return MAFAT_WIRE_BYTES;
  default: return MAFAT_WIRE_VARINT;
  }
}

/* Entries of external data, as bits. */
enum external_entry { LOCATION = 1, OFFSET = 2, LENGTH = 4 };

/* Location of the elements, as far as the message has been read. */
struct data {
  int64_t dims[MAFAT_ONNX_MAX_RANK], type, location;
  int field;            /* field with the elements; 0: none */
  uint64_t n, n_fields; /* entries in that field; occurrences of it */
  struct mafat_wire_field first, raw;
  /* external data: path relative to the folder; bit set of the entries seen (external_entry);
   * values of the entries OFFSET and LENGTH */
  const char *path;
  unsigned entries;
  uint64_t offset, length;
};

/* ---- the message ---- */

static void read_dims(struct mafat_wire *w, const struct mafat_wire_field *f, struct data *data,
                      int *rank)
{
  struct mafat_wire numbers = mafat_wire_numbers(w, f, MAFAT_WIRE_VARINT);
  for (uint64_t n; mafat_wire_number(&numbers, MAFAT_WIRE_VARINT, &n);
       data->dims[(*rank)++] = (int64_t)n) {
    if (*rank == MAFAT_ONNX_MAX_RANK)
      mafat_wire_fail(w, MAFAT_EUNSUPPORTED,
                      "expected a tensor of at most %d dimensions, found one more",
                      MAFAT_ONNX_MAX_RANK);
    else if ((int64_t)n < 0)
      mafat_wire_fail(w, MAFAT_EFORMAT, "expected a tensor's dimension, found %lld",
                      (long long)(int64_t)n);
    if (w->code) return;
  }
  if (numbers.code) w->code = numbers.code;
}

/* Notes an occurrence of a field with elements. */
static void note_numbers(struct mafat_wire *w, const struct mafat_wire_field *f, struct data *data)
{
  enum mafat_wire_type type = mafat_onnx_typed_wire(f->number);
  uint64_t n = type == MAFAT_WIRE_BYTES ? 1 : mafat_wire_n_numbers(w, f, type);
  if (n == 0) return;
  if (data->field == 0) data->first = *f;
  else if (data->field != f->number)
    mafat_wire_fail(w, MAFAT_EFORMAT,
                    "expected a tensor's elements in one field, found them in %d and %d",
                    data->field, f->number);
  data->field = f->number;
  data->n += n; /* cannot overflow: fewer than the file's bytes */
  data->n_fields++;
}

static uint64_t read_decimal(struct mafat_wire *w, const char *key, const char *text)
{
  uint64_t n = 0;
  bool is_number = *text != '\0';
  for (const char *c = text; *c && is_number; c++)
    is_number = *c >= '0' && *c <= '9' && !__builtin_mul_overflow(n, 10, &n) &&
                !__builtin_add_overflow(n, (uint64_t)(*c - '0'), &n);
  if (!is_number)
    mafat_wire_fail(w, MAFAT_EFORMAT, "expected the %s of external data, found \"%.40s\"", key,
                    text);
  return n;
}

/* Reads an entry of external data: key and value. */
static void read_entry(struct mafat_onnx_reader *r, struct mafat_wire *w,
                       const struct mafat_wire_field *f, struct data *data)
{
  struct mafat_wire entry = mafat_wire_message(w, f);
  const char *key = "", *value = "";
  for (struct mafat_wire_field part; mafat_wire_next(&entry, &part);) {
    if (part.number == 1) key = mafat_onnx_text(r, &entry, &part);
    if (part.number == 2) value = mafat_onnx_text(r, &entry, &part);
  }
  w->code = entry.code;
  if (w->code) return;
  unsigned seen = strcmp(key, "location") == 0 ? LOCATION
                  : strcmp(key, "offset") == 0 ? OFFSET
                  : strcmp(key, "length") == 0 ? LENGTH
                                               : 0;
  if (data->entries & seen)
    mafat_wire_fail(w, MAFAT_EFORMAT, "expected one %s of external data, found another", key);
  data->entries |= seen;
  if (seen == LOCATION) data->path = value;
  if (seen == OFFSET) data->offset = read_decimal(w, key, value);
  if (seen == LENGTH) data->length = read_decimal(w, key, value);
}

static void read_field(struct mafat_onnx_reader *r, struct mafat_wire *w,
                       const struct mafat_wire_field *f, struct data *data,
                       struct mafat_onnx_tensor *t)
{
  switch (f->number) {
  case DIMS: read_dims(w, f, data, &t->rank); break;
  case DATA_TYPE: data->type = mafat_wire_int(w, f); break;
  case SEGMENT:
    mafat_wire_fail(w, MAFAT_EUNSUPPORTED, "tensors in segments are not supported");
    break;
  case NAME:
    if (!*t->name) t->name = mafat_onnx_text(r, w, f); /* an initializer already has its value's
                                                          name */
    if (!r->source.kind) r->source.name = t->name;     /* else it is the node's */
    break;
  case RAW_DATA: data->raw = *f; break;
  case EXTERNAL_DATA: read_entry(r, w, f, data); break;
  case DATA_LOCATION: data->location = mafat_wire_int(w, f); break;
  case FLOAT_DATA:
  case INT32_DATA:
  case STRING_DATA:
  case INT64_DATA:
  case DOUBLE_DATA:
  case UINT64_DATA: note_numbers(w, f, data); break;
  }
}

/* ---- checks ---- */

/* Computes the number of elements and of their bytes from the dimensions. */
static int measure(struct mafat_onnx_reader *r, struct mafat_wire *w, const struct data *data,
                   struct mafat_onnx_tensor *t)
{
  if (data->type <= 0 || data->type >= MAFAT_ONNX_N_TYPES)
    return mafat_wire_fail(w, MAFAT_EUNSUPPORTED, "expected a tensor of type 1 to %d, found %lld",
                           MAFAT_ONNX_N_TYPES - 1, (long long)data->type);
  int64_t *dims = mafat_onnx_take(r, w, (size_t)t->rank, sizeof *dims);
  if (!dims) return w->code;
  memcpy(dims, data->dims, (size_t)t->rank * sizeof *dims);
  t->type = (int)data->type;
  t->dims = dims;
  uint64_t n = 1; /* product of dimensions other than 0 */
  bool empty = false;
  for (int i = 0; i < t->rank; i++) {
    empty = empty || dims[i] == 0;
    if (__builtin_mul_overflow(n, dims[i] ? (uint64_t)dims[i] : 1, &n) || n > INT64_MAX / 16)
      return mafat_wire_fail(w, MAFAT_EFORMAT, "a tensor's dimensions are too large");
  }
  t->n = empty ? 0 : n;
  t->bytes = t->n * mafat_onnx_type_bytes(t->type);
  return MAFAT_OK;
}

/* True if the path, relative to the model's folder, stays inside it. */
static bool is_inside(const char *path)
{
  if (*path == '\0' || *path == '/') return false;
  for (const char *part = path; part; part = strchr(part, '/')) {
    part += *part == '/';
    if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0')) return false;
  }
  return true;
}

/* True if a real path is below the folder of another one. */
static bool is_below(const char *path, const char *beside)
{
  const char *slash = strrchr(beside, '/');
  return slash && strncmp(path, beside, (size_t)(slash + 1 - beside)) == 0;
}

/* True unless symbolic links lead to a file outside the model's folder. The folder of the model's
 * own target counts, too: caches of models link both files to one folder. A missing file fails
 * when it is opened. */
MAFAT_PART(opening)
static bool stays_inside(const char *own, const char *path)
{
  const char *slash = strrchr(own, '/');
  char real[PATH_MAX], folder[PATH_MAX + 2], model[PATH_MAX];
  if (!realpath(path, real)) return true;
  /* without a slash at its end, for which realpath needs calls that the sandbox refuses */
  snprintf(model, sizeof model, "%.*s", slash > own ? (int)(slash - own) : 1, slash ? own : ".");
  if (!realpath(model, folder)) return false;
  strcat(folder, folder[1] ? "/" : "");
  return is_below(real, folder) || (realpath(own, model) && is_below(real, model));
}

static int place_external(struct mafat_onnx_reader *r, struct mafat_wire *w,
                          const struct data *data, struct mafat_onnx_tensor *t)
{
  const char *own = r->source.file->path, *slash = strrchr(own, '/');
  char path[MAX_PATH];
  uint64_t end;
  if (!data->path)
    return mafat_wire_fail(w, MAFAT_EFORMAT, "expected the location of external data, found none");
  if (r->source.file->source->memory && !r->source.file->embedded_graph)
    return mafat_wire_fail(
        w, MAFAT_EUNSUPPORTED,
        "expected a model in memory to hold all its constants, found external data in \"%.100s\"",
        data->path);
  if (!is_inside(data->path))
    return mafat_wire_fail(w, MAFAT_EUNSUPPORTED,
                           "expected external data inside the model's folder, found \"%.100s\"",
                           data->path);
  if (mafat_onnx_type_bytes(t->type) == 0)
    return mafat_wire_fail(w, MAFAT_EUNSUPPORTED, "strings as external data are not supported");
  if (((data->entries & LENGTH) && data->length != t->bytes) ||
      __builtin_add_overflow(data->offset, t->bytes, &end))
    return mafat_wire_fail(w, MAFAT_EFORMAT,
                           "expected %llu bytes of external data, found %llu at byte %llu",
                           (unsigned long long)t->bytes, (unsigned long long)data->length,
                           (unsigned long long)data->offset);
  int n =
      snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash + 1 - own) : 0, own, data->path);
  if (n < 0 || (size_t)n >= sizeof path)
    return mafat_wire_fail(w, MAFAT_EUNSUPPORTED, "the path of external data is too long");
  const int n_files = mafat_onnx_n_files(r->model);
  t->file = mafat_onnx_refer_file(r, w, path);
  t->at = data->offset;
  if (t->file == n_files && !r->source.file->embedded_graph && !stays_inside(own, path))
    return mafat_wire_fail(w, MAFAT_EUNSUPPORTED,
                           "expected external data inside the model's folder, found \"%.100s\", a "
                           "symbolic link out of it; copy its target there",
                           data->path);
  return w->code;
}

static int place_raw(struct mafat_wire *w, const struct data *data, struct mafat_onnx_tensor *t)
{
  if (data->raw.type != MAFAT_WIRE_BYTES || mafat_onnx_type_bytes(t->type) == 0 ||
      data->raw.bytes != t->bytes)
    return mafat_wire_fail(
        w, MAFAT_EFORMAT,
        "expected %llu bytes of raw data for %llu elements of type %s, found %llu",
        (unsigned long long)t->bytes, (unsigned long long)t->n, mafat_onnx_type_name(t->type),
        (unsigned long long)data->raw.bytes);
  t->at = data->raw.at;
  return MAFAT_OK;
}

/* Locates elements in a typed field. Packed floats are stored as in memory; others must be
 * decoded. */
static int place_typed(struct mafat_wire *w, const struct data *data,
                       const struct mafat_wire *whole, struct mafat_onnx_tensor *t)
{
  uint64_t expected = t->n * types[t->type].numbers;
  if (data->field && data->field != types[t->type].field)
    return mafat_wire_fail(w, MAFAT_EFORMAT,
                           "expected numbers of type %s in field %d, found them in field %d",
                           mafat_onnx_type_name(t->type), types[t->type].field, data->field);
  if (data->n != expected)
    return mafat_wire_fail(w, MAFAT_EFORMAT, "expected %llu numbers of type %s, found %llu",
                           (unsigned long long)expected, mafat_onnx_type_name(t->type),
                           (unsigned long long)data->n);
  if (expected == 0) return MAFAT_OK;
  bool is_place = (data->field == FLOAT_DATA || data->field == DOUBLE_DATA) && data->n_fields == 1;
  t->form = is_place ? MAFAT_ONNX_PLACE : MAFAT_ONNX_WIRE;
  t->at = is_place ? data->first.at : whole->at;
  if (!is_place) t->bytes = whole->end - whole->at;
  return MAFAT_OK;
}

int mafat_onnx_read_tensor(struct mafat_onnx_reader *r, struct mafat_wire w,
                           struct mafat_onnx_tensor *t)
{
  struct data data = {.type = 0};
  const struct mafat_wire whole = w;
  if (!t->name) t->name = "";
  t->file = r->file;
  for (struct mafat_wire_field f; mafat_wire_next(&w, &f);) read_field(r, &w, &f, &data, t);
  if (w.code || measure(r, &w, &data, t)) return w.code;
  if ((data.entries || data.location == EXTERNAL) && (data.raw.bytes || data.field))
    return mafat_wire_fail(&w, MAFAT_EFORMAT,
                           "expected a tensor's numbers once, found them here and in a file");
  if (data.location == EXTERNAL) return place_external(r, &w, &data, t);
  if (data.location != 0)
    return mafat_wire_fail(&w, MAFAT_EUNSUPPORTED,
                           "expected a tensor's data here or in a file, found location %lld",
                           (long long)data.location);
  if (data.raw.number && data.field && data.raw.bytes)
    return mafat_wire_fail(&w, MAFAT_EFORMAT,
                           "expected a tensor's numbers once, found them raw and in field %d",
                           data.field);
  if (data.raw.number && !data.field) return place_raw(&w, &data, t);
  return place_typed(&w, &data, &whole, t);
}
