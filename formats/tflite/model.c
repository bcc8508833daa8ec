/* Labels, type names and sizes of TFLite tensors and operators. Called by the reader and importers
 * of formats/tflite. Pure functions. */
#include "formats/tflite/model.h"

#include <stdio.h>

/* Indexed by enum mafat_tflite_type. */
static const struct {
  const char *name;
  unsigned bytes;    /* of an element; 0: packed, or no fixed size */
  const char *array; /* NumPy's name; NULL: none */
} types[MAFAT_TFLITE_N_TYPES] = {
    {"FLOAT32", 4, "<f4"},  {"FLOAT16", 2, "<f2"}, {"INT32", 4, "<i4"},   {"UINT8", 1, "|u1"},
    {"INT64", 8, "<i8"},    {"STRING", 0, NULL},   {"BOOL", 1, "|b1"},    {"INT16", 2, "<i2"},
    {"COMPLEX64", 8, NULL}, {"INT8", 1, "|i1"},    {"FLOAT64", 8, "<f8"}, {"COMPLEX128", 16, NULL},
    {"UINT64", 8, "<u8"},   {"RESOURCE", 0, NULL}, {"VARIANT", 0, NULL},  {"UINT32", 4, "<u4"},
    {"UINT16", 2, "<u2"},   {"INT4", 0, NULL}};

const char *mafat_tflite_type_name(int type)
{
  return type >= 0 && type < MAFAT_TFLITE_N_TYPES ? types[type].name : NULL;
}

const char *mafat_tflite_type_array(int type)
{
  return types[type].array;
}

unsigned mafat_tflite_type_bytes(int type)
{
  return types[type].bytes;
}

uint64_t mafat_tflite_elements(const struct mafat_tflite_tensor *t)
{
  uint64_t n = 1;
  /* cannot overflow: checked by the reader */
  for (int i = 0; i < t->rank; i++) n *= (uint64_t)t->shape[i];
  return n;
}

const char *mafat_tflite_label(const struct mafat_tflite *m, const struct mafat_tflite_operator *o,
                               char text[MAFAT_TFLITE_LABEL_ROOM])
{
  int output = o->n_outputs > 0 ? o->outputs[0] : -1;
  snprintf(text, MAFAT_TFLITE_LABEL_ROOM, "%.80s %.150s", o->name,
           output >= 0 && output < m->n_tensors ? m->tensors[output].name : "");
  return text;
}
