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

struct mafat_onnx_pads; /* pads.c */

enum { MAFAT_ONNX_MOST_PARTS = 256 }; /* outputs of a node: of Split */

struct mafat_onnx_importer {
  const struct mafat_onnx *model;
  struct mafat_graph *g;
  const struct mafat_onnx_node *node;
  int64_t own_opset;           /* of ONNX's own domain */
  int64_t opset;               /* of the node at hand */
  struct mafat_value *values;  /* [value of the model] */
  bool *stands;                /* [value of the model]: whole numbers that stand for floats, which nobody has needed yet */
  bool *whole;                 /* [value of the model] that a node makes, or that is put in: of a type of whole numbers */
  const struct mafat_onnx_operator *row; /* by which the node is imported */
  const struct mafat_value *const *operands; /* (n_operands) in place of the node's inputs, and its first output; NULL: */
  int n_operands;                            /* those are taken */
  struct mafat_value *target;
  struct mafat_onnx_pads *pads; /* (n_pads) zeros around values, which those who read these are to take in */
  int n_pads;
  size_t *first_reader; /* [value of the model]: where the nodes that read it begin in the list; those of the next end them */
  int *reading;
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
    mafat_onnx_layer_operators[], mafat_onnx_matrix_operators[], mafat_onnx_channel_operators[],
    mafat_onnx_quantized_operators[], mafat_onnx_dynamic_operators[];
const struct mafat_onnx_operator *mafat_onnx_find_operator(const char *op_type);

/* MAFAT_ENOMEM, which is told. */
int mafat_onnx_note_readers(struct mafat_onnx_importer *i);
/* The nodes that read a value, in their order; one that reads it twice is there twice. */
const int *mafat_onnx_readers(const struct mafat_onnx_importer *i, const struct mafat_onnx_value *v, size_t *n);
/* The one node that reads a value; NULL: none does, or it is read more than once. */
const struct mafat_onnx_node *mafat_onnx_only_reader(const struct mafat_onnx_importer *i, const struct mafat_onnx_value *v);

/* What the file says of pictures; nothing where it is silent. */
void mafat_onnx_picture(struct mafat_picture_said *said, const struct mafat_onnx *m);
/* Where an input lies whose shape is known: the axis of each of its dimensions. */
void mafat_onnx_input_axes(const struct mafat_onnx_importer *i, const struct mafat_onnx_value *v, int *axes);

int mafat_onnx_variant(const struct mafat_onnx_importer *i);

/* Input `index`; one of form NONE where it is left out. */
const struct mafat_value *mafat_onnx_in(const struct mafat_onnx_importer *i, int index);
bool mafat_onnx_has(const struct mafat_onnx_importer *i, int index);
int mafat_onnx_n_inputs(const struct mafat_onnx_importer *i);
/* Output `index`, to be made; of one that nobody wants, a place that is forgotten: *spare. */
struct mafat_value *mafat_onnx_out(const struct mafat_onnx_importer *i, int index);
bool mafat_onnx_wants(const struct mafat_onnx_importer *i, int index);

/* Attributes, or what they are where the file has none. */
int mafat_onnx_int(const struct mafat_onnx_importer *i, const char *name, long long otherwise, long long *value);
/* 0 or 1, and nothing else. */
int mafat_onnx_flag(const struct mafat_onnx_importer *i, const char *name, bool otherwise, bool *value);
int mafat_onnx_float(const struct mafat_onnx_importer *i, const char *name, float otherwise, float *value);
int mafat_onnx_string(const struct mafat_onnx_importer *i, const char *name, const char *otherwise, const char **value);
/* At most `most` of a list; *n is -1 where there is none. */
int mafat_onnx_ints(const struct mafat_onnx_importer *i, const char *name, int most, long long *values, int *n);
/* A list that is an attribute of older files, and input `index` of newer ones. */
int mafat_onnx_list(const struct mafat_onnx_importer *i, const char *name, int index, int most, long long *values,
                    int *n);
/* From -n_dims to n_dims - 1. */
int mafat_onnx_axis(const struct mafat_onnx_importer *i, long long axis, int n_dims, int *out);
/* The same of one of a list, which names none twice. seen: [n_dims], those before it; it is noted there. */
int mafat_onnx_axis_of_list(const struct mafat_onnx_importer *i, long long axis, int n_dims, bool *seen, int *out);

/* A tensor of the file. Floats, and whole numbers that may be quantized, stay where they are; others are of shapes and the like,
 * and few. */
int mafat_onnx_constant(const struct mafat_onnx_importer *i, struct mafat_value *out,
                        const struct mafat_onnx_tensor *t);
/* A map: constants become one. *own is the caller's to clear; *in is it, or the input itself. */
int mafat_onnx_map(const struct mafat_onnx_importer *i, int index, struct mafat_value *own,
                   const struct mafat_value **in);

/* ---- types ---- */

/* But for text: of none that holds fractions. */
bool mafat_onnx_is_whole_type(int type);
/* Is input `index` of such a type? Where floats are taken in place of the node's inputs it is none. */
bool mafat_onnx_is_whole(const struct mafat_onnx_importer *i, int index);
/* Of the node's outputs, when they are made. */
void mafat_onnx_note_type(struct mafat_onnx_importer *i);

/* ---- whole numbers ---- */

/* What a node says of numbers: a scale and a zero point, of all or of each place along an axis. */
struct mafat_onnx_said {
  int type;    /* enum mafat_onnx_type, of the numbers */
  long long n; /* scales */
  float scale; /* the first ones */
  int zero;
  bool apart;  /* zero points are not all the same */
  int scales;  /* input that has them */
};

/* Of a constant; UNDEFINED: that is not known. */
int mafat_onnx_constant_type(const struct mafat_onnx_importer *i, const struct mafat_onnx_value *v);
/* Of int8, uint8 and int32; MAFAT_N_DTYPES: none of these. */
enum mafat_dtype mafat_onnx_whole_type(int type);
/* What files call them, and floats. */
int mafat_onnx_file_type(enum mafat_dtype type);
/* By inputs of the node; the zero point may be left out. type: of the numbers, or UNDEFINED. */
int mafat_onnx_numbers_said(const struct mafat_onnx_importer *i, int scale, int zero, int type, struct mafat_onnx_said *said);

/* Of a map of int8 or uint8. */
struct mafat_meaning mafat_onnx_meaning(int type, float scale, int zero);
int mafat_onnx_meaning_said(const struct mafat_onnx_importer *i, const struct mafat_onnx_said *said, struct mafat_meaning *out);
int mafat_onnx_map_type(const struct mafat_onnx_importer *i, const struct mafat_value *map);
/* The same numbers, which mean that. */
int mafat_onnx_rename(const struct mafat_onnx_importer *i, struct mafat_value *out, const struct mafat_value *map,
                      struct mafat_meaning to);

/* What an input of the model means, by the first node that says so: of whole numbers; those of others are floats. */
int mafat_onnx_input_meaning(struct mafat_onnx_importer *i, const struct mafat_onnx_value *v, struct mafat_meaning *out);

/* A constant with what it means; and as floats. */
int mafat_onnx_quantized_constant(const struct mafat_onnx_importer *i, struct mafat_value *out, const struct mafat_value *v,
                                  const struct mafat_onnx_said *said, int axis);
int mafat_onnx_dequantized(const struct mafat_onnx_importer *i, struct mafat_value *out, const struct mafat_value *v);

/* The node, where inputs of it are whole numbers: *done, with all of it, and what follows up to a QuantizeLinear; else these have
 * become floats. */
int mafat_onnx_import_numbers(struct mafat_onnx_importer *i, bool *done);
/* Is input `index` no map of whole numbers, or one that stands for floats? */
bool mafat_onnx_stands(const struct mafat_onnx_importer *i, int index);
/* Of a map, or the first one of a constant. */
float mafat_onnx_scale_of(const struct mafat_onnx_importer *i, const struct mafat_value *v);
/* Can the operator be computed by integers, of the operands at hand, with an output that means that? */
bool mafat_onnx_takes(const struct mafat_onnx_importer *i, const struct mafat_meaning *to);
/* It is, where it can be: *done. */
int mafat_onnx_compute_whole(struct mafat_onnx_importer *i, struct mafat_value *out, const struct mafat_meaning *to, bool *done);
/* The same, or else by floats: of operands that are whole numbers, or constants. */
int mafat_onnx_compute(struct mafat_onnx_importer *i, struct mafat_value *out, const struct mafat_meaning *to);
/* Is the node one that resizes? Has it that mode? */
bool mafat_onnx_resizes(const struct mafat_onnx_importer *i);
bool mafat_onnx_is_mode(const struct mafat_onnx_importer *i, const char *mode);
/* Least and most of a Clip. */
int mafat_onnx_bounds(struct mafat_onnx_importer *i, float *least, float *most);
/* Whole numbers as floats of the same value, less `zero`; floats as they are. */
int mafat_onnx_plain_floats(struct mafat_onnx_importer *i, struct mafat_value *out, const struct mafat_value *in, int zero);
/* A value of the model as floats. */
int mafat_onnx_make_floats(struct mafat_onnx_importer *i, int value);
/* What a map of whole numbers is filled up with: the number of a real, or of what the file calls it. False: it has none. */
bool mafat_onnx_fill_number(const struct mafat_onnx_importer *i, const struct mafat_value *in, float real, float *number);

/* Zeros before and after each dimension of a map are *left to convolutions, where nothing else reads the node's output: that is the
 * map as it is. number: of whole ones that do not stand for floats, as the file has it; else NULL. Passed on by nodes that say what
 * numbers mean; taken: added to rows and columns before and after. */
int mafat_onnx_leave_pads(struct mafat_onnx_importer *i, const struct mafat_value *in, const long long *pads, const int *number, bool *left);
int mafat_onnx_pass_pads(struct mafat_onnx_importer *i);
void mafat_onnx_take_pads(const struct mafat_onnx_importer *i, long long *pads);

/* A Mul or Div that begins a GELU that is written out: *done, with all of it. */
int mafat_onnx_fold_gelu(struct mafat_onnx_importer *i, bool *done);

#endif
