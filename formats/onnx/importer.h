/* State and functions that the operator importers (import_*.c) share: the current node, its
 * inputs as values, its attributes. "Whole" types are integer types. A "meaning" is a type with
 * quantization parameters (formats/graph/graph.h). Functions that return int return an error code
 * and have filled in the diagnostic. Included by formats/onnx. The importers allocate layers in the
 * graph. */
#ifndef MAFAT_FORMATS_ONNX_IMPORTER_H
#define MAFAT_FORMATS_ONNX_IMPORTER_H

#include "formats/graph/compute.h"
#include "formats/graph/shape.h"
#include "formats/onnx/onnx.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct mafat_onnx_pads; /* pads.c */

enum { MAFAT_ONNX_MOST_PARTS = 256 }; /* most outputs of a node */

struct mafat_onnx_importer {
  const struct mafat_onnx *model;
  struct mafat_graph *g;
  const struct mafat_onnx_node *node;
  int64_t own_opset;           /* version of ONNX's own domain */
  int64_t opset;               /* version by which the current node's operator is imported */
  struct mafat_value *values;  /* [value of the model] */
  /* [value of the model]: true for a map of integers that stands for dequantized floats, which no
   * node has needed yet */
  bool *dequantized;
  /* [value of the model]: true for outputs of nodes and inputs of the model with an integer type */
  bool *whole;
  const struct mafat_onnx_operator *row; /* table entry of the current node's operator */
  /* (n_operands) replace the node's inputs; `target` replaces its first output; NULL: the node's
   * own are used */
  const struct mafat_value *const *operands;
  int n_operands;
  struct mafat_value *target;
  /* (n_pads) zero padding of values, still to be folded into their readers */
  struct mafat_onnx_pads *pads;
  int n_pads;
  /* [value of the model]: index in the list `reading` of the value's first reader. All its readers
   * are consecutive there; the next entry of first_reader is their end */
  size_t *first_reader;
  int *reading;
};

/* Imports one operator. On failure the diagnostic has the message. */
typedef int mafat_onnx_import(struct mafat_onnx_importer *i);

struct mafat_onnx_operator {
  const char *op_type;
  mafat_onnx_import *import;
  int variant; /* for functions that import several operators (mafat_onnx_variant) */
};

/* Each ends with an entry without a name. */
extern const struct mafat_onnx_operator mafat_onnx_shape_operators[], mafat_onnx_math_operators[],
    mafat_onnx_layer_operators[], mafat_onnx_matrix_operators[], mafat_onnx_channel_operators[],
    mafat_onnx_quantized_operators[], mafat_onnx_dynamic_operators[];
const struct mafat_onnx_operator *mafat_onnx_find_operator(const char *op_type);

/* Fills first_reader and reading. MAFAT_ENOMEM, with a message. */
int mafat_onnx_note_readers(struct mafat_onnx_importer *i);
/* Returns indices of the *n nodes that read a value, ascending. A node that reads it twice is
 * listed twice. */
const int *mafat_onnx_readers(const struct mafat_onnx_importer *i, const struct mafat_onnx_value *v,
                              size_t *n);
/* Returns the only node that reads a value, if it reads it once; NULL: none. */
const struct mafat_onnx_node *mafat_onnx_only_reader(const struct mafat_onnx_importer *i,
                                                     const struct mafat_onnx_value *v);

/* Copies what the file declares about the preprocessing of pictures to *declared; other fields keep
 * their values. */
void mafat_onnx_picture(struct mafat_picture_declared *declared, const struct mafat_onnx *m);
/* Sets axes[k] to the axis of dimension k of a model input with a known shape. */
void mafat_onnx_input_axes(const struct mafat_onnx_importer *i, const struct mafat_onnx_value *v,
                           int *axes);

/* Returns the variant in the current operator's table entry. */
int mafat_onnx_variant(const struct mafat_onnx_importer *i);

/* Returns input `index`; its form is NONE if absent. */
const struct mafat_value *mafat_onnx_in(const struct mafat_onnx_importer *i, int index);
bool mafat_onnx_has(const struct mafat_onnx_importer *i, int index);
int mafat_onnx_n_inputs(const struct mafat_onnx_importer *i);
/* Returns output `index`, to be filled in. The node must have it. */
struct mafat_value *mafat_onnx_out(const struct mafat_onnx_importer *i, int index);
/* True if the node has output `index` and something reads it. */
bool mafat_onnx_wants(const struct mafat_onnx_importer *i, int index);

/* Read attributes of the current node. `otherwise`: the default. */
int mafat_onnx_int(const struct mafat_onnx_importer *i, const char *name, long long otherwise,
                   long long *value);
/* The attribute must be 0 or 1. */
int mafat_onnx_flag(const struct mafat_onnx_importer *i, const char *name, bool otherwise,
                    bool *value);
int mafat_onnx_float(const struct mafat_onnx_importer *i, const char *name, float otherwise,
                     float *value);
int mafat_onnx_string(const struct mafat_onnx_importer *i, const char *name, const char *otherwise,
                      const char **value);
/* Reads a list of at most `most` integers; *n is their number, -1 if the attribute is absent. */
int mafat_onnx_ints(const struct mafat_onnx_importer *i, const char *name, int most,
                    long long *values, int *n);
/* Reads a list that is an attribute in older opsets and input `index` in newer ones. */
int mafat_onnx_list(const struct mafat_onnx_importer *i, const char *name, int index, int most,
                    long long *values, int *n);
/* Converts an axis between -n_dims and n_dims - 1 to *out, between 0 and n_dims - 1. Negative axes
 * count from the last dimension. Other axes fail. */
int mafat_onnx_axis(const struct mafat_onnx_importer *i, long long axis, int n_dims, int *out);
/* Like mafat_onnx_axis, for one axis of a list; fails if the axis is in the list twice. seen:
 * [n_dims], all false before the first call. */
int mafat_onnx_axis_of_list(const struct mafat_onnx_importer *i, long long axis, int n_dims,
                            bool *seen, int *out);

/* Makes a value of a tensor in the file. Floats, and integers that may be quantized, stay in the
 * file; other integers (shapes and the like) are few and are read. */
int mafat_onnx_constant(const struct mafat_onnx_importer *i, struct mafat_value *out,
                        const struct mafat_onnx_tensor *t);
/* Returns input `index` as a map in *in. A constant is converted to *own, which the caller
 * clears. */
int mafat_onnx_map(const struct mafat_onnx_importer *i, int index, struct mafat_value *own,
                   const struct mafat_value **in);

/* ---- types ---- */

/* True for all types but floating-point ones. */
bool mafat_onnx_is_whole_type(int type);
/* True if input `index` has an integer type; false if `operands` replace the inputs. */
bool mafat_onnx_is_whole(const struct mafat_onnx_importer *i, int index);
/* Sets `whole` for the node's outputs, once they are made. */
void mafat_onnx_note_type(struct mafat_onnx_importer *i);

/* ---- quantized values ---- */

/* Quantization that a node declares: scale and zero point, per tensor or per index of an axis. */
struct mafat_onnx_declared {
  int type;    /* enum mafat_onnx_type, of the quantized values */
  long long n; /* number of scales */
  float scale; /* first scale */
  int zero;    /* first zero point */
  bool apart;  /* several zero points, which differ */
  int scales;  /* index of the input with the scales */
};

/* Returns the ONNX type of a constant; UNDEFINED: unknown. */
int mafat_onnx_constant_type(const struct mafat_onnx_importer *i, const struct mafat_onnx_value *v);
/* Returns the element type of int8, uint8 and int32; MAFAT_N_DTYPES for other types. */
enum mafat_dtype mafat_onnx_whole_type(int type);
/* Returns the ONNX type of an element type. */
int mafat_onnx_file_type(enum mafat_dtype type);
/* Reads the scales from input `scale` of the node, and the zero points, which are optional, from
 * input `zero`. type: ONNX type of the quantized values, or UNDEFINED. */
int mafat_onnx_read_quantization(const struct mafat_onnx_importer *i, int scale, int zero, int type,
                                 struct mafat_onnx_declared *declared);

/* Returns the meaning of a map of ONNX type int8 or uint8. */
struct mafat_meaning mafat_onnx_meaning(int type, float scale, int zero);
/* Sets *out to the meaning of a map with declared parameters; fails unless there is one scale. */
int mafat_onnx_declared_meaning(const struct mafat_onnx_importer *i,
                                const struct mafat_onnx_declared *declared,
                                struct mafat_meaning *out);
/* Returns the ONNX type of a map: float, int8 or uint8. */
int mafat_onnx_map_type(const struct mafat_onnx_importer *i, const struct mafat_value *map);
/* Keeps a map's integers and changes their quantization parameters. */
int mafat_onnx_rename(const struct mafat_onnx_importer *i, struct mafat_value *out,
                      const struct mafat_value *map, struct mafat_meaning to);

/* Infers the quantization parameters of a model input from the first node that declares them; other
 * inputs are floats. */
int mafat_onnx_input_meaning(struct mafat_onnx_importer *i, const struct mafat_onnx_value *v,
                             struct mafat_meaning *out);

/* Sets *out to a copy of constant v, quantized as declared, with scales along dimension `axis`. */
int mafat_onnx_quantized_constant(const struct mafat_onnx_importer *i, struct mafat_value *out,
                                  const struct mafat_value *v,
                                  const struct mafat_onnx_declared *declared, int axis);
/* Sets *out to the dequantized values of quantized constant v, in memory. */
int mafat_onnx_dequantized(const struct mafat_onnx_importer *i, struct mafat_value *out,
                           const struct mafat_value *v);

/* If the current node has quantized inputs and its kernels can work on integers, imports it,
 * together with the nodes after it up to a QuantizeLinear, and sets *done. Otherwise dequantizes
 * its inputs. */
int mafat_onnx_import_numbers(struct mafat_onnx_importer *i, bool *done);
/* False if input `index` is a map of integers that is read as integers. True if it is absent, a
 * constant, a map of floats, or a map of integers that stands for floats. */
bool mafat_onnx_is_dequantized(const struct mafat_onnx_importer *i, int index);
/* Returns the scale of a map, or the first scale of a constant. */
float mafat_onnx_scale_of(const struct mafat_onnx_importer *i, const struct mafat_value *v);
/* True if the node can be computed in integers from its operands, with output type `to`. */
bool mafat_onnx_takes(const struct mafat_onnx_importer *i, const struct mafat_meaning *to);
/* Computes the node in integers if possible; sets *done. */
int mafat_onnx_compute_whole(struct mafat_onnx_importer *i, struct mafat_value *out,
                             const struct mafat_meaning *to, bool *done);
/* Computes the node in integers if possible, else in floats. Its operands are integers or
 * constants. */
int mafat_onnx_compute(struct mafat_onnx_importer *i, struct mafat_value *out,
                       const struct mafat_meaning *to);
/* True if the node is a Resize or Upsample. */
bool mafat_onnx_resizes(const struct mafat_onnx_importer *i);
/* True if the node's attribute "mode" equals `mode`; the default is nearest. */
bool mafat_onnx_is_mode(const struct mafat_onnx_importer *i, const char *mode);
/* Reads minimum and maximum of a Clip. */
int mafat_onnx_bounds(struct mafat_onnx_importer *i, float *least, float *most);
/* Converts integers to floats of the same value, minus `zero`; copies floats. */
int mafat_onnx_plain_floats(struct mafat_onnx_importer *i, struct mafat_value *out,
                            const struct mafat_value *in, int zero);
/* Replaces value number `value` of the model by its dequantized floats, if it is quantized. */
int mafat_onnx_make_floats(struct mafat_onnx_importer *i, int value);
/* Sets *number to the padding value as map `in` of integers stores it. `real` is the node's padding
 * value; it is quantized if the map stands for floats. False: not representable. */
bool mafat_onnx_fill_number(const struct mafat_onnx_importer *i, const struct mafat_value *in,
                            float real, float *number);

/* Defers zero padding of a map to the convolutions that read it, if nothing else reads the node's
 * output. Sets *left to true if it does so; the node's output is then the unpadded map. number: the
 * file's padding value for integers that do not stand for floats; else NULL. */
int mafat_onnx_leave_pads(struct mafat_onnx_importer *i, const struct mafat_value *in,
                          const long long *pads, const int *number, bool *left);
/* If the current node only declares quantization, passes deferred pads of its input on to its
 * output. */
int mafat_onnx_pass_pads(struct mafat_onnx_importer *i);
/* Adds the deferred pads of the current node's input to pads[0..3]: rows above, columns on the
 * left, rows below, columns on the right. */
void mafat_onnx_take_pads(const struct mafat_onnx_importer *i, long long *pads);

/* If the current node, a Mul or Div, begins the operators of a GELU, imports all of them as one
 * activation and sets *done. */
int mafat_onnx_fold_gelu(struct mafat_onnx_importer *i, bool *done);

#endif
