/* What the functions share that import operators (import_*.c): the operator at hand, its inputs as values, its
 * options. */
#ifndef MAFAT_FORMATS_TFLITE_IMPORTER_H
#define MAFAT_FORMATS_TFLITE_IMPORTER_H

#include "formats/graph/compute.h"
#include "formats/graph/shape.h"
#include "formats/tflite/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is known of a tensor while importing. */
struct mafat_tflite_slot {
  struct mafat_value *value; /* NULL: not made yet, or nobody reads it any more */
  int readers, left;         /* operators' inputs and outputs of the network: all of them, those still to come */
  int windows;               /* of the readers: convolutions that could pad it */
  int lookups;               /* of the readers: those that look up rows of a table by it */
  int pads[4]; /* rows before and after, columns before and after, of zeros that its readers are to take in */
};

struct mafat_tflite_importer {
  const struct mafat_tflite *model;
  struct mafat_model_file *file;
  struct mafat_graph *g;
  const struct mafat_tflite_operator *o;
  struct mafat_tflite_slot *slots; /* (n_tensors) */
};

/* One operator's. MAFAT_OK, or a message is in the diagnostic. */
typedef int mafat_tflite_import(struct mafat_tflite_importer *i);

struct mafat_tflite_row {
  int code; /* enum mafat_tflite_code */
  mafat_tflite_import *import;
  int n_inputs; /* at least */
  int variant;  /* of functions that import several: mafat_tflite_variant */
  bool integers; /* of quantized tensors, too */
};

/* Ended by one without a function. */
extern const struct mafat_tflite_row mafat_tflite_layer_rows[], mafat_tflite_shape_rows[], mafat_tflite_part_rows[],
    mafat_tflite_math_rows[], mafat_tflite_channel_rows[], mafat_tflite_custom_rows[];

/* Where an input lies: the axis of each of its dimensions. What is only read transposed so that channels in front of rows and columns,
 * as other programs have them, come behind, as it is or after operators that look at its elements alone, lies so that this is no more
 * than another name for it. By any other transposition it is a picture as TFLite has them. */
int mafat_tflite_input_axes(const struct mafat_tflite_importer *i, int tensor, int n_dims, int *axes);

int mafat_tflite_variant(const struct mafat_tflite_importer *i);

/* Input `index`; one of form NONE where it is left out. */
const struct mafat_value *mafat_tflite_in(const struct mafat_tflite_importer *i, int index);
struct mafat_tflite_slot *mafat_tflite_in_slot(const struct mafat_tflite_importer *i, int index);
/* Output `index`, to be made. */
struct mafat_value *mafat_tflite_out(const struct mafat_tflite_importer *i, int index);
/* A value that is empty, for a tensor that has none: of outputs it is done already. */
int mafat_tflite_make(const struct mafat_tflite_importer *i, int tensor);
/* Output 0 is this, after an activation of the file's enum mafat_tflite_fused; *made is cleared. `code`: of making
 * it: where that failed, nothing is done but clearing. */
int mafat_tflite_finish(struct mafat_tflite_importer *i, int code, struct mafat_value *made, int fused);

/* Of a type of whole numbers that are not quantized: their quotients and means are whole, too. */
static inline bool mafat_tflite_is_whole(const struct mafat_tflite_importer *i, int tensor)
{
  enum mafat_tflite_type type = i->model->tensors[tensor].type;
  return type == MAFAT_TFLITE_INT32 || type == MAFAT_TFLITE_INT64;
}

/* ---- quantized tensors (quantized.c) ---- */

static inline bool mafat_tflite_is_quantized(const struct mafat_tflite_tensor *t)
{
  return t->type == MAFAT_TFLITE_INT8 || t->type == MAFAT_TFLITE_UINT8;
}

/* What the elements of a tensor are, that is no constant, and what they mean. */
int mafat_tflite_meaning(const struct mafat_tflite_importer *i, int tensor, struct mafat_meaning *out);
/* The scales of a constant, which is quantized: all are checked. */
int mafat_tflite_scales(const struct mafat_tflite_importer *i, int tensor, struct mafat_scales *out);
/* A constant of int32 as it lies in the file: a bias. */
int mafat_tflite_bias(const struct mafat_tflite_importer *i, int index, struct mafat_value *out);
/* The type of such an element as messages and files have it: of whole numbers the file's, which maps may hold otherwise. */
enum mafat_dtype mafat_tflite_file_type(const struct mafat_tflite_tensor *t);

/* A map: constants become one. *own is the caller's to clear; *in is it, or the input itself. */
int mafat_tflite_map(const struct mafat_tflite_importer *i, int index, struct mafat_value *own,
                     const struct mafat_value **in);
/* The numbers of a constant input: axes, sizes; *n of them, at most `most`. */
int mafat_tflite_list(const struct mafat_tflite_importer *i, int index, int most, long long *values, int *n);
/* A value with a dimension of 1 more, in front of dimension `dim`. */
int mafat_tflite_insert_dim(struct mafat_tflite_importer *i, struct mafat_value *out, const struct mafat_value *in,
                            int dim);
/* From -n_dims to n_dims - 1. `name`: whose it is. */
int mafat_tflite_dim(const struct mafat_tflite_importer *i, const char *name, long long axis, int n_dims, int *out);

#endif
