/* What the functions share that import operators (import_*.c): the node at hand, its inputs as values, its
 * attributes. */
#ifndef MAFAT_FORMATS_ONNX_IMPORTER_H
#define MAFAT_FORMATS_ONNX_IMPORTER_H

#include "formats/graph/compute.h"
#include "formats/graph/shape.h"
#include "formats/onnx/onnx.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct mafat_onnx_importer {
  const struct mafat_onnx *model;
  struct mafat_graph *g;
  const struct mafat_onnx_node *node;
  int64_t opset;               /* of the node's domain */
  struct mafat_value *values;  /* [value of the model] */
};

/* One operator's. MAFAT_OK, or a message is in the diagnostic. */
typedef int mafat_onnx_import(struct mafat_onnx_importer *i);

struct mafat_onnx_operator {
  const char *op_type;
  mafat_onnx_import *import;
  int variant; /* of functions that import several: mafat_onnx_variant */
};

/* Ended by one without a name. */
extern const struct mafat_onnx_operator mafat_onnx_shape_operators[], mafat_onnx_math_operators[],
    mafat_onnx_layer_operators[], mafat_onnx_matrix_operators[], mafat_onnx_channel_operators[];

/* What the file says of pictures; nothing where it is silent. */
void mafat_onnx_picture(struct mafat_picture_said *said, const struct mafat_onnx *m);
/* Where an input lies whose shape is known: the axis of each of its dimensions. */
void mafat_onnx_input_axes(const struct mafat_onnx_importer *i, const struct mafat_onnx_value *v, int *axes);

int mafat_onnx_variant(const struct mafat_onnx_importer *i);

/* Input `index`; one of form NONE where it is left out. */
const struct mafat_value *mafat_onnx_in(const struct mafat_onnx_importer *i, int index);
bool mafat_onnx_has(const struct mafat_onnx_importer *i, int index);
/* Output `index`, to be made; of one that nobody wants, a place that is forgotten: *spare. */
struct mafat_value *mafat_onnx_out(const struct mafat_onnx_importer *i, int index);
bool mafat_onnx_wants(const struct mafat_onnx_importer *i, int index);

/* Attributes, or what they are where the file has none. */
int mafat_onnx_int(const struct mafat_onnx_importer *i, const char *name, long long otherwise, long long *value);
int mafat_onnx_float(const struct mafat_onnx_importer *i, const char *name, float otherwise, float *value);
int mafat_onnx_string(const struct mafat_onnx_importer *i, const char *name, const char *otherwise, const char **value);
/* At most `most` of a list; *n is -1 where there is none. */
int mafat_onnx_ints(const struct mafat_onnx_importer *i, const char *name, int most, long long *values, int *n);
/* A list that is an attribute of older files, and input `index` of newer ones. */
int mafat_onnx_list(const struct mafat_onnx_importer *i, const char *name, int index, int most, long long *values,
                    int *n);
/* From -n_dims to n_dims - 1. */
int mafat_onnx_axis(const struct mafat_onnx_importer *i, long long axis, int n_dims, int *out);

/* A tensor of the file. Floats stay where they are; other numbers are of shapes and the like, and few. */
int mafat_onnx_constant(const struct mafat_onnx_importer *i, struct mafat_value *out,
                        const struct mafat_onnx_tensor *t);
/* A map: constants become one. *own is the caller's to clear; *in is it, or the input itself. */
int mafat_onnx_map(const struct mafat_onnx_importer *i, int index, struct mafat_value *own,
                   const struct mafat_value **in);

/* A Mul or Div that begins a GELU that is written out: *done, with all of it. */
int mafat_onnx_fold_gelu(struct mafat_onnx_importer *i, bool *done);

#endif
