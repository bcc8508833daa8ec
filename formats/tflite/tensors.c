/* Reads tensors: shape, type, quantization, location of a constant. Called by
 * formats/tflite/tflite.c. Reads the file; allocates the lists and names that the model owns. */
#include "formats/tflite/reader.h"

/* Fields of the schema's tables. */
enum {
  TENSOR_SHAPE = 0, TENSOR_TYPE, TENSOR_BUFFER, TENSOR_NAME, TENSOR_QUANTIZATION, TENSOR_VARIABLE,
  TENSOR_SPARSITY,
  TENSOR_SIGNATURE
};
enum { QUANTIZATION_SCALE = 2, QUANTIZATION_ZERO_POINT = 3, QUANTIZATION_DIMENSION = 6 };
enum { BUFFER_DATA = 0, BUFFER_AT = 1, BUFFER_BYTES = 2 };

static void read_shape(struct mafat_tflite_reader *r, const struct mafat_flat_table *t,
                       struct mafat_tflite_tensor *to)
{
  int32_t signature[MAFAT_TFLITE_MAX_RANK];
  struct mafat_flat_vector v = mafat_flat_vector(&r->f, t, TENSOR_SHAPE, sizeof *to->shape);
  struct mafat_flat_vector s = mafat_flat_vector(&r->f, t, TENSOR_SIGNATURE, sizeof *to->shape);
  uint64_t elements = 1; /* product of dimensions other than 0 */
  if (v.n > MAFAT_TFLITE_MAX_RANK)
    mafat_flat_fail(&r->f, MAFAT_EUNSUPPORTED,
                    "tensor %s: expected at most %d dimensions, found %u", to->name,
                    MAFAT_TFLITE_MAX_RANK, v.n);
  if (r->f.code) return;
  to->rank = (int)v.n;
  mafat_flat_copy(&r->f, &v, v.n, sizeof *to->shape, to->shape);
  for (uint32_t i = 0; i < v.n && !r->f.code; i++)
    if (to->shape[i] < 0 ||
        __builtin_mul_overflow(elements, to->shape[i] ? (uint64_t)to->shape[i] : 1, &elements) ||
        elements > UINT64_MAX / 16)
      mafat_flat_fail(&r->f, MAFAT_EFORMAT, "tensor %s: dimension %u is %d", to->name, i,
                      to->shape[i]);
  if (s.n != v.n) return;
  mafat_flat_copy(&r->f, &s, s.n, sizeof *signature, signature);
  for (uint32_t i = 0; i < s.n && !r->f.code; i++) to->unknown |= (signature[i] < 0 ? 1U : 0) << i;
}

static void read_quantization(struct mafat_tflite_reader *r, const struct mafat_flat_table *t,
                              struct mafat_tflite_tensor *to)
{
  struct mafat_tflite_quantization *q = &to->quantization;
  struct mafat_flat_table table = mafat_flat_table(&r->f, t, TENSOR_QUANTIZATION);
  struct mafat_flat_vector scales =
      mafat_flat_vector(&r->f, &table, QUANTIZATION_SCALE, sizeof(float));
  struct mafat_flat_vector zero_points =
      mafat_flat_vector(&r->f, &table, QUANTIZATION_ZERO_POINT, sizeof(int64_t));
  if (scales.n > INT32_MAX || zero_points.n > INT32_MAX)
    mafat_flat_fail(&r->f, MAFAT_EFORMAT, "tensor %s: has %u scales and %u zero points", to->name,
                    scales.n, zero_points.n);
  *q = (struct mafat_tflite_quantization){
      (int)scales.n, (int)zero_points.n, scales.at, zero_points.at,
      (int)mafat_flat_int(&r->f, &table, QUANTIZATION_DIMENSION, 4, 0)};
}

/* Finds where the data of buffer `number` is in the file. It is a vector of bytes or, in files
 * above 2 GB, given by an offset and a size. */
static void read_buffer(struct mafat_tflite_reader *r, uint32_t number,
                        struct mafat_tflite_tensor *to)
{
  struct mafat_flat *f = &r->f;
  if (number >= r->buffers.n)
    mafat_flat_fail(f, MAFAT_EFORMAT, "tensor %s: is in buffer %u of %u", to->name, number,
                    r->buffers.n);
  if (f->code) return;
  struct mafat_flat_table t = mafat_flat_element(f, &r->buffers, number, r->buffer_offsets[number]);
  struct mafat_flat_vector v = mafat_flat_vector(f, &t, BUFFER_DATA, 1);
  to->at = v.at;
  to->bytes = v.n;
  if (v.n == 0 && mafat_flat_uint(f, &t, BUFFER_AT, 8, 0) > 1) {
    to->at = mafat_flat_uint(f, &t, BUFFER_AT, 8, 0);
    to->bytes = mafat_flat_uint(f, &t, BUFFER_BYTES, 8, 0);
  }
  if (!f->code && (to->at > f->file->bytes || to->bytes > f->file->bytes - to->at))
    mafat_flat_fail(f, MAFAT_EFORMAT,
                    "tensor %s: expected %llu bytes from byte %llu on, found the end of the file",
                    to->name, (unsigned long long)to->bytes, (unsigned long long)to->at);
}

static void check_bytes(struct mafat_tflite_reader *r, struct mafat_tflite_tensor *t)
{
  uint64_t elements = mafat_tflite_elements(t),
           wanted = elements * mafat_tflite_type_bytes((int)t->type);
  t->constant = t->bytes > 0 || (elements == 0 && !r->f.code);
  if (t->bytes > 0 && wanted > 0 && wanted != t->bytes)
    mafat_flat_fail(&r->f, MAFAT_EFORMAT,
                    "tensor %s: expected %llu bytes by its shape and type %s, found %llu", t->name,
                    (unsigned long long)wanted, mafat_tflite_type_name((int)t->type),
                    (unsigned long long)t->bytes);
}

void mafat_tflite_read_tensor(struct mafat_tflite_reader *r, const struct mafat_flat_table *t,
                              struct mafat_tflite_tensor *to)
{
  int type = (int)mafat_flat_int(&r->f, t, TENSOR_TYPE, 1, 0);
  to->name = mafat_tflite_keep_string(r, t, TENSOR_NAME);
  if (!mafat_tflite_type_name(type))
    mafat_flat_fail(&r->f, MAFAT_EUNSUPPORTED, "tensor %s: type %d is not known", to->name, type);
  if (mafat_flat_has(t, TENSOR_SPARSITY))
    mafat_flat_fail(&r->f, MAFAT_EUNSUPPORTED, "tensor %s: is sparse, which is not supported",
                    to->name);
  if (r->f.code) return;
  to->type = (enum mafat_tflite_type)type;
  to->variable = mafat_flat_uint(&r->f, t, TENSOR_VARIABLE, 1, 0) != 0;
  read_shape(r, t, to);
  read_quantization(r, t, to);
  uint32_t buffer = (uint32_t)mafat_flat_uint(&r->f, t, TENSOR_BUFFER, 4, 0);
  if (buffer > 0 && !to->variable) read_buffer(r, buffer, to);
  if (!r->f.code) check_bytes(r, to);
}
