/* Reads and checks quantization parameters of TFLite tensors. Called by the importers in
 * formats/tflite. Reads the file. */
#include "formats/tflite/importer.h"

enum { LEAST_OF_INT8 = -128, MOST_OF_INT8 = 127, MOST_OF_UINT8 = 255 };

enum mafat_dtype mafat_tflite_file_type(const struct mafat_tflite_tensor *t)
{
  switch (t->type) {
  case MAFAT_TFLITE_INT8: return MAFAT_I8;
  case MAFAT_TFLITE_UINT8: return MAFAT_U8;
  case MAFAT_TFLITE_INT16: return MAFAT_I16;
  case MAFAT_TFLITE_FLOAT16: return MAFAT_F16;
  default: return MAFAT_F32;
  }
}

/* Reads scale `index`. A negative scale is accepted in weights with several scales: a normalization
 * with a negative factor may have been folded into a filter. */
static int read_scale(const struct mafat_tflite_importer *i, const struct mafat_tflite_tensor *t,
                      int index, float *out)
{
  const char *bytes;
  int code =
      mafat_model_file_peek(i->file, t->quantization.scales_at + (uint64_t)index * sizeof *out,
                            sizeof *out, &bytes, i->g->d);
  if (code) return code;
  memcpy(out, bytes, sizeof *out);
  if ((*out > 0 || (*out < 0 && t->constant && t->quantization.n_scales > 1)) && isfinite(*out))
    return MAFAT_OK;
  return mafat_graph_fail(i->g, MAFAT_EFORMAT,
                          "tensor %s: scale %d: expected a finite number above 0, found %g",
                          t->name, index, (double)*out);
}

static int read_zero(const struct mafat_tflite_importer *i, const struct mafat_tflite_tensor *t,
                     int index, int *out)
{
  const char *bytes;
  int64_t zero;
  bool is_signed = t->type == MAFAT_TFLITE_INT8;
  int least = is_signed ? LEAST_OF_INT8 : 0, most = is_signed ? MOST_OF_INT8 : MOST_OF_UINT8;
  int code =
      mafat_model_file_peek(i->file, t->quantization.zero_points_at + (uint64_t)index * sizeof zero,
                            sizeof zero, &bytes, i->g->d);
  if (code) return code;
  memcpy(&zero, bytes, sizeof zero);
  *out = (int)zero;
  if (zero >= least && zero <= most) return MAFAT_OK;
  return mafat_graph_fail(i->g, MAFAT_EFORMAT,
                          "tensor %s: zero point %d: expected %d to %d, found %lld", t->name, index,
                          least, most, (long long)zero);
}

static int check_count(const struct mafat_tflite_importer *i, const struct mafat_tflite_tensor *t)
{
  const struct mafat_tflite_quantization *q = &t->quantization;
  if (q->n_scales < 1)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "tensor %s: expected a scale, found none",
                            t->name);
  if (q->n_zero_points != q->n_scales && q->n_zero_points > 1)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT,
                            "tensor %s: expected as many zero points as scales, found %d and %d",
                            t->name, q->n_zero_points, q->n_scales);
  return MAFAT_OK;
}

int mafat_tflite_meaning(const struct mafat_tflite_importer *i, int tensor,
                         struct mafat_meaning *out)
{
  const struct mafat_tflite_tensor *t = &i->model->tensors[tensor];
  float scale;
  int zero = 0;
  *out = (struct mafat_meaning){.type = MAFAT_F32};
  if (!mafat_tflite_is_quantized(t)) return MAFAT_OK;
  int code = check_count(i, t);
  if (code == MAFAT_OK && t->quantization.n_scales > 1)
    code = mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "tensor %s: expected one scale, found %d",
                            t->name, t->quantization.n_scales);
  if (code == MAFAT_OK) code = read_scale(i, t, 0, &scale);
  if (code == MAFAT_OK && t->quantization.n_zero_points) code = read_zero(i, t, 0, &zero);
  if (code) return code;
  out->type = MAFAT_U8;
  bool is_signed = t->type == MAFAT_TFLITE_INT8;
  out->numbers = mafat_quantization(scale, zero + (is_signed ? MAFAT_SIGNED_TO_BYTE : 0));
  out->numbers.is_signed = is_signed;
  return MAFAT_OK;
}

/* Checks the second and later scales, and that all zero points are equal. */
static int read_others(const struct mafat_tflite_importer *i, const struct mafat_tflite_tensor *t,
                       int zero)
{
  const struct mafat_tflite_quantization *q = &t->quantization;
  int code = MAFAT_OK, other;
  float scale;
  if (q->dimension < 0 || q->dimension >= t->rank || t->shape[q->dimension] != q->n_scales)
    return mafat_graph_fail(
        i->g, MAFAT_EFORMAT, "tensor %s: expected %d scales along dimension %d, found %d", t->name,
        q->dimension < 0 || q->dimension >= t->rank ? 0 : t->shape[q->dimension], q->dimension,
        q->n_scales);
  code = mafat_graph_look_at(i->g, (long long)q->n_scales + q->n_zero_points);
  /* reads one list after the other: reading them alternately would reread the file each time */
  for (int k = 1; k < q->n_scales && code == MAFAT_OK; k++) code = read_scale(i, t, k, &scale);
  for (int k = 1; k < q->n_zero_points && code == MAFAT_OK; k++) {
    code = read_zero(i, t, k, &other);
    if (code == MAFAT_OK && other != zero)
      code = mafat_graph_fail(
          i->g, MAFAT_EUNSUPPORTED,
          "tensor %s: expected one zero point of all its channels, found %d and %d", t->name, zero,
          other);
  }
  return code;
}

int mafat_tflite_scales(const struct mafat_tflite_importer *i, int tensor, struct mafat_scales *out)
{
  const struct mafat_tflite_tensor *t = &i->model->tensors[tensor];
  const struct mafat_tflite_quantization *q = &t->quantization;
  uint64_t run = 1;
  for (int k = 0; q->n_scales > 1 && q->dimension >= 0 && k < t->rank; k++)
    if (k > q->dimension) run *= (uint64_t)t->shape[k];
  *out = (struct mafat_scales){.dimension = q->dimension, .run = (unsigned)run & 0x7fffffff};
  int code = check_count(i, t);
  if (code == MAFAT_OK) code = read_scale(i, t, 0, &out->scale);
  if (code == MAFAT_OK && q->n_zero_points) code = read_zero(i, t, 0, &out->zero);
  if (code == MAFAT_OK && q->n_scales > 1) code = read_others(i, t, out->zero);
  if (code == MAFAT_OK && (run < 1 || run > INT32_MAX))
    code = mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "tensor %s: expected at most %d consecutive values with one scale, "
                            "found %llu",
                            t->name, INT32_MAX, (unsigned long long)run);
  out->list =
      (struct mafat_constant){.at = q->scales_at, .n = (uint64_t)q->n_scales, .type = MAFAT_F32};
  return code;
}

int mafat_tflite_bias(const struct mafat_tflite_importer *i, int index, struct mafat_value *out)
{
  int tensor = index < i->o->n_inputs ? i->o->inputs[index] : -1;
  long long dims[MAFAT_TFLITE_MAX_RANK];
  *out = (struct mafat_value){.form = MAFAT_VALUE_NONE, .maker = -1};
  if (tensor < 0) return MAFAT_OK;
  const struct mafat_tflite_tensor *t = &i->model->tensors[tensor];
  if (t->type != MAFAT_TFLITE_INT32 || !t->constant)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "tensor %s: expected a bias of INT32 in the file, found one of %s",
                            t->name, mafat_tflite_type_name((int)t->type));
  for (int k = 0; k < t->rank; k++) dims[k] = t->shape[k];
  out->form = MAFAT_VALUE_PLACE;
  mafat_view_linear(&out->view, t->rank, dims, MAFAT_AXIS_NUMBERS);
  out->place = (struct mafat_constant){.at = t->at,
                                       .n = mafat_tflite_elements(t),
                                       .file = (unsigned)t->file & 0xfff,
                                       .type = MAFAT_I32};
  return MAFAT_OK;
}
