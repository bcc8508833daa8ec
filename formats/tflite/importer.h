/* State and functions that the operator importers (import_*.c) share: the current operator, its
 * inputs as values, its options. Included by formats/tflite. The functions read the model's file;
 * the importers add layers to the graph. */
#ifndef MAFAT_FORMATS_TFLITE_IMPORTER_H
#define MAFAT_FORMATS_TFLITE_IMPORTER_H

#include "formats/graph/compute.h"
#include "formats/graph/shape.h"
#include "formats/tflite/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* State of a tensor during import. */
struct mafat_tflite_slot {
  struct mafat_value *value; /* NULL: not made yet, or no longer needed */
  int readers;               /* operators that read it; an output of the network counts as 2 */
  int left;                  /* readers that are not imported yet */
  int windows;               /* readers that are convolutions and could take over padding */
  int lookups;               /* readers that use it as indices of a table */
  /* zero padding that its readers will do: rows before and after, columns before and after */
  int pads[4];
};

struct mafat_tflite_importer {
  const struct mafat_tflite *model;
  struct mafat_model_file *file;
  struct mafat_graph *g;
  const struct mafat_tflite_operator *o; /* current operator */
  struct mafat_tflite_slot *slots; /* [tensor] */
};

/* Imports one operator. On failure the diagnostic has the message. */
typedef int mafat_tflite_import(struct mafat_tflite_importer *i);

struct mafat_tflite_row {
  int code; /* enum mafat_tflite_code */
  mafat_tflite_import *import;
  int n_inputs; /* minimum */
  int variant;  /* for functions that import several operators (mafat_tflite_variant) */
  bool integers; /* the importer supports quantized tensors */
};

/* Each table ends with an entry without a function. */
extern const struct mafat_tflite_row mafat_tflite_layer_rows[], mafat_tflite_shape_rows[],
    mafat_tflite_part_rows[], mafat_tflite_math_rows[], mafat_tflite_channel_rows[],
    mafat_tflite_custom_rows[];

/* Chooses the axes of an input's dimensions, usually rows, columns, channels. Some models have
 * channels first and transpose the input, possibly after elementwise operators. Then the axes are
 * chosen so that the transpose only changes the view. */
int mafat_tflite_input_axes(const struct mafat_tflite_importer *i, int tensor, int n_dims,
                            int *axes);

/* Returns the variant in the current operator's table entry. */
int mafat_tflite_variant(const struct mafat_tflite_importer *i);

/* Returns the value of input `index`; its form is NONE if the input is absent. */
const struct mafat_value *mafat_tflite_in(const struct mafat_tflite_importer *i, int index);
/* Returns the slot of input `index`; NULL if the input is absent. */
struct mafat_tflite_slot *mafat_tflite_in_slot(const struct mafat_tflite_importer *i, int index);
/* Returns output `index`, to be filled in. */
struct mafat_value *mafat_tflite_out(const struct mafat_tflite_importer *i, int index);
/* Makes an empty value for a tensor that has none. import.c has done it for the operator's
 * outputs. */
int mafat_tflite_make(const struct mafat_tflite_importer *i, int tensor);
/* Stores *made as output 0, after an activation (enum mafat_tflite_fused), and clears *made.
 * `code`: result of the function that made it; after a failure, only clears *made and returns
 * `code`. */
int mafat_tflite_finish(struct mafat_tflite_importer *i, int code, struct mafat_value *made,
                        int fused);

/* True for unquantized integers: quotients and means of them are integers. */
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

/* Finds type and quantization parameters of a tensor that is not constant. */
int mafat_tflite_meaning(const struct mafat_tflite_importer *i, int tensor,
                         struct mafat_meaning *out);
/* Locates the scales of a quantized constant, and checks all of them. */
int mafat_tflite_scales(const struct mafat_tflite_importer *i, int tensor,
                        struct mafat_scales *out);
/* Returns input `index` as an int32 bias in the file; its form is NONE if absent. */
int mafat_tflite_bias(const struct mafat_tflite_importer *i, int index, struct mafat_value *out);
/* Returns a tensor's element type in the file. Maps store int8 as unsigned bytes. */
enum mafat_dtype mafat_tflite_file_type(const struct mafat_tflite_tensor *t);

/* Returns input `index` as a map in *in. A constant is converted to *own, which the caller
 * clears. */
int mafat_tflite_map(const struct mafat_tflite_importer *i, int index, struct mafat_value *own,
                     const struct mafat_value **in);
/* Reads the *n values, at most `most`, of a constant input (axes, sizes). */
int mafat_tflite_list(const struct mafat_tflite_importer *i, int index, int most, long long *values,
                      int *n);
/* Inserts a dimension of size 1 before dimension `dim`. */
int mafat_tflite_insert_dim(struct mafat_tflite_importer *i, struct mafat_value *out,
                            const struct mafat_value *in, int dim);
/* Normalizes an axis from [-n_dims, n_dims - 1]. `name`: for messages. */
int mafat_tflite_dim(const struct mafat_tflite_importer *i, const char *name, long long axis,
                     int n_dims, int *out);

#endif
