/* Mutates protocol buffer messages: removes, copies and moves fields and changes their values.
 * Corrects the lengths of all messages that enclose a changed field, so that readers still find
 * it. Called by fuzz targets through mutate.h. Touches only its arguments. */
#include "tests/fuzz/mutate.h"

#include <string.h>

enum { MOST_FIELDS = 200, MOST_DEPTH = 12, VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

/* Offsets of a field and of its parts. */
struct field {
  unsigned type;
  size_t at, end;        /* at: offset of the tag; end: offset after the field */
  size_t length_at;      /* WIRE_BYTES only: offset of the length */
  size_t payload;
};

/* Reads a varint. Returns the number of its bytes; 0: the bytes are not a varint. */
static size_t read_varint(const uint8_t *data, size_t n, uint64_t *value)
{
  *value = 0;
  for (size_t i = 0; i < n && i < 10; i++) {
    *value |= (uint64_t)(data[i] & 0x7f) << (7 * i);
    if (data[i] < 0x80) return i + 1;
  }
  return 0;
}

static size_t write_varint(uint8_t *to, uint64_t value)
{
  size_t n = 0;
  for (; value >= 0x80; value >>= 7) to[n++] = (uint8_t)(value | 0x80);
  to[n++] = (uint8_t)value;
  return n;
}

static bool read_field(const uint8_t *data, size_t at, size_t end, struct field *f)
{
  uint64_t tag, value = 0;
  size_t n = read_varint(data + at, end - at, &tag);
  if (!n || tag >> 3 == 0 || tag >> 3 > 1000) return false;
  *f = (struct field){.type = (unsigned)tag & 7, .at = at, .length_at = at + n, .payload = at + n};
  size_t left = end - f->payload, bytes;
  switch (f->type) {
  case VARINT: bytes = read_varint(data + f->payload, left, &value); break;
  case WIRE_64: bytes = 8; break;
  case WIRE_32: bytes = 4; break;
  case WIRE_BYTES:
    n = read_varint(data + f->payload, left, &value);
    f->payload += n;
    left -= n;
    if (!n || value > left) return false;
    f->end = f->payload + (size_t)value;
    return true;
  default: return false;
  }
  f->end = f->payload + bytes;
  return bytes > 0 && bytes <= left;
}

/* Lists the fields between offsets `at` and `end`. Returns their number; 0: the bytes are no
 * message. */
static size_t list_fields(const uint8_t *data, size_t at, size_t end, struct field *fields)
{
  size_t n = 0;
  while (at < end && n < MOST_FIELDS) {
    if (!read_field(data, at, end, &fields[n])) return 0;
    at = fields[n++].end;
  }
  return n;
}

/* A field and the fields that enclose it, from the outermost. */
struct path {
  struct field around[MOST_DEPTH], field;
  struct field beside; /* another field of the same message */
  int depth;
};

static bool find(struct mutation *m, struct path *p)
{
  struct field fields[MOST_FIELDS];
  size_t at = 0, end = m->n;
  for (p->depth = 0;; p->depth++) {
    size_t n = list_fields(m->data, at, end, fields);
    if (n == 0) return false;
    p->field = fields[mutation_random(m, n)];
    if (mutation_random(m, 2)) /* the largest of three fields: then the field is more often the
                                * model's graph than its version */
      for (int i = 0; i < 2; i++) {
        const struct field *other = &fields[mutation_random(m, n)];
        if (other->end - other->at > p->field.end - p->field.at) p->field = *other;
      }
    p->beside = fields[mutation_random(m, n)];
    if (p->field.type != WIRE_BYTES || p->depth == MOST_DEPTH || mutation_random(m, 6) == 0)
      return true;
    at = p->field.payload;
    end = p->field.end;
    struct field first;
    if (at == end || !read_field(m->data, at, end, &first) ||
        list_fields(m->data, at, end, fields) == 0)
      return true;
    p->around[p->depth] = p->field;
  }
}

/* Corrects the lengths of enclosing fields after `more` bytes were inserted. */
static void correct_lengths(struct mutation *m, const struct path *p, long more)
{
  for (int i = p->depth - 1; i >= 0 && more; i--) {
    const struct field *f = &p->around[i];
    uint8_t length[10];
    size_t n = write_varint(length, (uint64_t)((long)(f->end - f->payload) + more)),
           before = f->payload - f->length_at;
    if (!mutation_splice(m, f->length_at, before, length, n))
      return; /* no space for a longer length; leaves the message damaged */
    more += (long)n - (long)before;
  }
}

static bool put_number(struct mutation *m, const struct field *f, bool as_length)
{
  uint8_t bytes[10];
  uint64_t old = 0;
  read_varint(m->data + (as_length ? f->length_at : f->payload), m->n - f->length_at, &old);
  unsigned how = mutation_random(m, 4);
  uint64_t value = how == 0 ? old + 1 : how == 1 ? old - 1 : (uint64_t)mutation_number(m);
  size_t n = write_varint(bytes, value);
  return as_length ? mutation_splice(m, f->length_at, f->payload - f->length_at, bytes, n)
                   : mutation_splice(m, f->payload, f->end - f->payload, bytes, n);
}

static bool put_float(struct mutation *m, const struct field *f)
{
  static const uint32_t floats[] = {0,          0x80000000, 0x3f800000, 0xbf800000,
                                    0x7f800000, 0xff800000, 0x7fc00000, 1,
                                    0x7f7fffff, 0x4f000000, 0x3e800000};
  uint32_t value = floats[mutation_random(m, sizeof floats / sizeof *floats)];
  memcpy(m->data + f->payload, &value, sizeof value);
  return true;
}

/* Replaces the content of a WIRE_BYTES field. */
static bool put_bytes(struct mutation *m, const struct field *f, const void *bytes, size_t n)
{
  uint8_t length[10];
  size_t n_length = write_varint(length, n);
  return mutation_splice(m, f->payload, f->end - f->payload, bytes, n) &&
         mutation_splice(m, f->length_at, f->payload - f->length_at, length, n_length);
}

static bool put_word(struct mutation *m, const struct field *f)
{
  static const char *const words[] = {
      "x", "y", "w", "", "Conv", "ConvTranspose", "Add", "Sub", "Mul", "Div", "Pow", "Relu",
      "LeakyRelu", "PRelu", "Clip", "Sigmoid", "HardSigmoid", "HardSwish", "Softmax", "LogSoftmax",
      "MaxPool", "AveragePool", "GlobalAveragePool", "Gemm", "MatMul", "Concat", "Split", "Slice",
      "Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze", "Expand", "Tile", "Pad", "Resize",
      "Upsample", "DepthToSpace", "SpaceToDepth", "BatchNormalization", "LayerNormalization",
      "InstanceNormalization", "ReduceMean", "ReduceSum", "ReduceMax", "Gather", "Shape", "Cast",
      "Constant", "ConstantOfShape", "Identity", "Dropout", "Erf", "Gelu", "Sqrt", "Exp", "Where",
      "Equal", "QuantizeLinear", "DequantizeLinear", "QLinearConv", "ConvInteger", "QLinearMatMul",
      "Einsum", "LRN", "axis", "axes", "pads", "strides", "dilations", "group", "kernel_shape",
      "auto_pad", "SAME_UPPER", "VALID", "perm", "mode", "cubic", "linear", "nearest",
      "coordinate_transformation_mode", "align_corners", "half_pixel", "tf_crop_and_resize",
      "alpha", "beta", "epsilon", "transA", "transB", "ceil_mode", "count_include_pad", "keepdims",
      "to", "value", "split", "starts", "ends", "steps", "blocksize", "equation", "location",
      "offset", "length", "ai.onnx", "com.microsoft"};
  const char *word = words[mutation_random(m, sizeof words / sizeof *words)];
  return put_bytes(m, f, word, strlen(word));
}

static bool put_scramble(struct mutation *m, const struct field *f)
{
  uint8_t bytes[512];
  size_t n = f->end - f->payload;
  if (n > sizeof bytes / 2) n = sizeof bytes / 2;
  memcpy(bytes, m->data + f->payload, n);
  n = mutation_scramble(bytes, n, sizeof bytes);
  return put_bytes(m, f, bytes, n);
}

static bool change_value(struct mutation *m, const struct field *f)
{
  if (f->type == VARINT) return put_number(m, f, false);
  if (f->type == WIRE_32) return put_float(m, f);
  if (f->type == WIRE_64) return mutation_splice(m, f->payload, 0, NULL, 0);
  switch (mutation_random(m, 8)) {
  case 0: return put_number(m, f, true);
  case 1: case 2: case 3: return put_word(m, f);
  default: return put_scramble(m, f);
  }
}

/* Resizes a field's content to `want` bytes. Added bytes are zeros. */
static bool resize_bytes(struct mutation *m, const struct field *f, size_t want)
{
  static const uint8_t zeros[1024];
  uint8_t length[10];
  size_t bytes = f->end - f->payload, n = write_varint(length, want);
  bool done = want <= bytes ? mutation_splice(m, f->payload + want, bytes - want, NULL, 0)
                            : want - bytes <= sizeof zeros &&
                                  mutation_splice(m, f->end, 0, zeros, want - bytes);
  return done && mutation_splice(m, f->length_at, f->payload - f->length_at, length, n);
}

/* Changes a dimension of the tensor that encloses the field, and resizes the tensor's data
 * accordingly. If only the dimension changed, the file would be refused because of its size. */
static bool change_dimension(struct mutation *m, const struct path *p)
{
  enum { DIMS = 1 << 3 | VARINT, RAW_DATA = 9 << 3 | WIRE_BYTES };
  static const uint8_t few[] = {0, 0, 1, 1, 2, 3, 4, 5, 8, 16};
  struct field fields[MOST_FIELDS];
  const struct field *dim = NULL, *raw = NULL;
  if (p->depth == 0) return false;
  const struct field *around = &p->around[p->depth - 1];
  size_t n = list_fields(m->data, around->payload, around->end, fields), dims = 0;
  for (size_t i = 0; i < n; i++) {
    if (m->data[fields[i].at] == DIMS && mutation_random(m, ++dims) == 0) dim = &fields[i];
    if (m->data[fields[i].at] == RAW_DATA) raw = &fields[i];
  }
  uint64_t old;
  if (!dim || !raw || read_varint(m->data + dim->payload, dim->end - dim->payload, &old) == 0)
    return false;
  uint8_t value = few[mutation_random(m, sizeof few)];
  size_t bytes = raw->end - raw->payload,
         want = old && old <= bytes ? bytes / (size_t)old * value : bytes;
  /* changes the later field first, so that the offsets of the earlier one stay valid */
  bool data_first = raw->at > dim->at;
  return (!data_first || resize_bytes(m, raw, want)) &&
         mutation_splice(m, dim->payload, dim->end - dim->payload, &value, 1) &&
         (data_first || resize_bytes(m, raw, want));
}

static bool change(struct mutation *m)
{
  struct path p;
  if (m->n == 0 || !find(m, &p)) return false;
  size_t before = m->n;
  const struct field *f = &p.field, *b = &p.beside;
  bool done;
  switch (mutation_random(m, 10)) {
  case 0: done = mutation_splice(m, f->at, f->end - f->at, NULL, 0); break;
  case 1: done = mutation_copy(m, b->at, 0, f->at, f->end - f->at); break;
  case 2: done = mutation_copy(m, f->at, f->end - f->at, b->at, b->end - b->at); break;
  case 3: /* take the content of another field of this type */
    done = f->type == b->type && mutation_copy(m, f->length_at, f->end - f->length_at, b->length_at,
                                               b->end - b->length_at);
    break;
  case 4: /* give the field another number, with the same type */
    m->data[f->at] = (uint8_t)((1 + mutation_random(m, 15)) << 3 | f->type);
    done = f->length_at == f->at + 1;
    break;
  case 5: done = change_dimension(m, &p); break;
  default: done = change_value(m, f);
  }
  correct_lengths(m, &p, (long)m->n - (long)before);
  return done;
}

size_t mutate_wire(uint8_t *data, size_t n, size_t most, unsigned seed)
{
  struct mutation m = {data, n, most, seed};
  bool changed = false;
  if (mutation_random(&m, 8) == 0) return LLVMFuzzerMutate(data, n, most);
  for (unsigned i = 1 + mutation_random(&m, 3); i-- > 0;) changed |= change(&m);
  return changed ? m.n : LLVMFuzzerMutate(m.data, m.n, most);
}
