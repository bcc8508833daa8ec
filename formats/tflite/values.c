/* Reads small constants and options of custom operators. Called by formats/tflite (import.c,
 * import_detection.c, picture.c). Reads the model's file, or opens the file of a given constant. */
#include "formats/tflite/values.h"

#include "formats/tflite/flex.h"

#include <math.h>
#include <string.h>

/* ---- constants ---- */

static bool is_whole(enum mafat_tflite_type type)
{
  return type == MAFAT_TFLITE_INT32 || type == MAFAT_TFLITE_INT64 || type == MAFAT_TFLITE_INT16 ||
         type == MAFAT_TFLITE_INT8 || type == MAFAT_TFLITE_UINT8 || type == MAFAT_TFLITE_BOOL;
}

static int64_t whole(enum mafat_tflite_type type, const char *at)
{
  union {
    int64_t i64;
    int32_t i32;
    int16_t i16;
    int8_t i8;
    uint8_t u8;
  } v;
  memcpy(&v, at,
         type == MAFAT_TFLITE_INT64   ? 8
         : type == MAFAT_TFLITE_INT32 ? 4
         : type == MAFAT_TFLITE_INT16 ? 2
                                      : 1);
  switch (type) {
  case MAFAT_TFLITE_INT64: return v.i64;
  case MAFAT_TFLITE_INT32: return v.i32;
  case MAFAT_TFLITE_INT16: return v.i16;
  case MAFAT_TFLITE_INT8: return v.i8;
  case MAFAT_TFLITE_BOOL: return v.u8 != 0;
  default: return v.u8;
  }
}

static int check(const struct mafat_tflite *m, const char *path, int tensor, bool floats, int most,
                 struct mafat_diagnostic *d)
{
  const struct mafat_tflite_tensor *t = &m->tensors[tensor];
  if (!t->constant)
    return mafat_fail(d, MAFAT_EUNSUPPORTED,
                      "%s: tensor %s: expected a constant, found a computed one", path, t->name);
  if (!is_whole(t->type) && !(floats && t->type == MAFAT_TFLITE_FLOAT32))
    return mafat_fail(d, MAFAT_EUNSUPPORTED, "%s: tensor %s: expected %s, found %s", path, t->name,
                      floats ? "numbers" : "integers", mafat_tflite_type_name(t->type));
  if (mafat_tflite_elements(t) > (uint64_t)most)
    return mafat_fail(d, MAFAT_EUNSUPPORTED,
                      "%s: tensor %s: expected at most %d numbers, found %llu", path, t->name, most,
                      (unsigned long long)mafat_tflite_elements(t));
  return MAFAT_OK;
}

int mafat_tflite_open(const struct mafat_tflite *m, struct mafat_model_file *file, int number,
                      struct mafat_model_file **out, struct mafat_model_file **own,
                      struct mafat_diagnostic *d)
{
  *own = NULL;
  *out = file;
  int code = number > 0 ? mafat_model_file_open(own, m->paths[number - 1], d) : MAFAT_OK;
  if (code == MAFAT_OK && *own) code = mafat_model_file_same(*own, &m->states[number - 1], d);
  if (code) mafat_model_file_close(own);
  if (*own) *out = *own;
  return code;
}

/* Reads values into `ints` or `floats`; the other pointer is NULL. */
static int read_values(const struct mafat_tflite *m, struct mafat_model_file *file, int tensor,
                       int most, int64_t *ints, float *floats, int *n, struct mafat_diagnostic *d)
{
  struct mafat_model_file *own;
  const struct mafat_tflite_tensor *t = &m->tensors[tensor];
  int code = check(m, file->path, tensor, floats != NULL, most, d),
      count = code ? 0 : (int)mafat_tflite_elements(t);
  size_t bytes = count ? (size_t)t->bytes / (unsigned)count : 0;
  *n = 0;
  if (code || (code = mafat_tflite_open(m, file, t->file, &file, &own, d))) return code;
  for (int i = 0; i < count && !code; i++) {
    const char *at;
    code = mafat_model_file_peek(file, t->at + (unsigned)i * bytes, bytes, &at, d);
    if (code) break;
    if (ints) ints[i] = whole(t->type, at);
    else if (t->type == MAFAT_TFLITE_FLOAT32) memcpy(&floats[i], at, sizeof *floats);
    else floats[i] = (float)whole(t->type, at);
  }
  if (!code) *n = count;
  mafat_model_file_close(&own);
  return code;
}

int mafat_tflite_ints(const struct mafat_tflite *m, struct mafat_model_file *file, int tensor,
                      int most, int64_t *values, int *n, struct mafat_diagnostic *d)
{
  return read_values(m, file, tensor, most, values, NULL, n, d);
}

int mafat_tflite_floats(const struct mafat_tflite *m, struct mafat_model_file *file, int tensor,
                        int most, float *values, int *n, struct mafat_diagnostic *d)
{
  return read_values(m, file, tensor, most, NULL, values, n, d);
}

/* ---- TFLite_Detection_PostProcess ---- */

enum { MAX_OPTION_BYTES = 4096 };

/* Context of reading options. */
struct custom_options {
  struct mafat_flex_map map;
  const char *path, *name;
  struct mafat_diagnostic *d;
};

/* Reads a number in [least, most]. `otherwise`: default; NAN: the option is required. */
static int number(const struct custom_options *o, const char *key, double least, double most,
                  double otherwise, double *to)
{
  *to = otherwise;
  bool found = mafat_flex_number(&o->map, key, to);
  if (!found && isnan(otherwise))
    return mafat_fail(o->d, MAFAT_EFORMAT, "%s: %s: %s: expected a number, found none", o->path,
                      o->name, key);
  if (!(*to >= least && *to <= most))
    return mafat_fail(o->d, MAFAT_EFORMAT, "%s: %s: %s: expected %g to %g, found %g", o->path,
                      o->name, key, least, most, *to);
  return MAFAT_OK;
}

static int whole_option(const struct custom_options *o, const char *key, double least,
                        double otherwise, int *to)
{
  double value;
  int code = number(o, key, least, 1 << 20, otherwise, &value);
  if (!code) *to = (int)value;
  return code;
}

static int float_option(const struct custom_options *o, const char *key, double least, double most,
                        double otherwise, float *to)
{
  double value;
  int code = number(o, key, least, most, otherwise, &value);
  if (!code) *to = (float)value;
  return code;
}

static int read_detection(const struct custom_options *o, struct mafat_tflite_detection *to)
{
  int regular = 0;
  int code = whole_option(o, "max_detections", 1, NAN, &to->max_detections);
  if (!code)
    code = whole_option(o, "max_classes_per_detection", 1, NAN, &to->max_classes_per_detection);
  /* TFLite's default */
  if (!code) code = whole_option(o, "detections_per_class", 1, 100, &to->detections_per_class);
  if (!code) code = whole_option(o, "num_classes", 1, NAN, &to->num_classes);
  if (!code) code = whole_option(o, "use_regular_nms", 0, 0, &regular);
  if (!code)
    code = float_option(o, "nms_score_threshold", -1e9, 1e9, NAN, &to->nms_score_threshold);
  if (!code) code = float_option(o, "nms_iou_threshold", 0, 1, NAN, &to->nms_iou_threshold);
  if (!code) code = float_option(o, "y_scale", 1e-9, 1e9, NAN, &to->y_scale);
  if (!code) code = float_option(o, "x_scale", 1e-9, 1e9, NAN, &to->x_scale);
  if (!code) code = float_option(o, "h_scale", 1e-9, 1e9, NAN, &to->h_scale);
  if (!code) code = float_option(o, "w_scale", 1e-9, 1e9, NAN, &to->w_scale);
  to->use_regular_nms = regular != 0;
  return code;
}

int mafat_tflite_detection_read(struct mafat_tflite_detection *to, const struct mafat_tflite *m,
                                struct mafat_model_file *file,
                                const struct mafat_tflite_operator *o, struct mafat_diagnostic *d)
{
  char bytes[MAX_OPTION_BYTES], label[MAFAT_TFLITE_LABEL_ROOM];
  struct custom_options options = {{0}, file->path, mafat_tflite_label(m, o, label), d};
  *to = (struct mafat_tflite_detection){0};
  if (o->custom_bytes > sizeof bytes)
    return mafat_fail(d, MAFAT_EUNSUPPORTED,
                      "%s: %s: expected at most %zu bytes of options, found %llu", file->path,
                      options.name, sizeof bytes, (unsigned long long)o->custom_bytes);
  int code = mafat_model_file_read(file, o->custom_at, (size_t)o->custom_bytes, bytes, d);
  if (code) return code;
  if (!mafat_flex_map(&options.map, bytes, (size_t)o->custom_bytes))
    return mafat_fail(d, MAFAT_EFORMAT, "%s: %s: expected its options as a map of FlexBuffers",
                      file->path, options.name);
  return read_detection(&options, to);
}
