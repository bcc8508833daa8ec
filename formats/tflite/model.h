/* Contents of a .tflite file: tensors with the location of constants, and operators in execution
 * order. Included by formats/tflite. Pure functions. */
#ifndef MAFAT_FORMATS_TFLITE_MODEL_H
#define MAFAT_FORMATS_TFLITE_MODEL_H

#include "formats/tflite/operators.h"
#include "network/picture.h"

/* Element types that are used by name, with the schema's numbers. */
enum mafat_tflite_type {
  MAFAT_TFLITE_FLOAT32 = 0,
  MAFAT_TFLITE_FLOAT16 = 1,
  MAFAT_TFLITE_INT32 = 2,
  MAFAT_TFLITE_UINT8 = 3,
  MAFAT_TFLITE_INT64 = 4,
  MAFAT_TFLITE_BOOL = 6,
  MAFAT_TFLITE_INT16 = 7,
  MAFAT_TFLITE_INT8 = 9,
  MAFAT_TFLITE_N_TYPES = 18
};

enum {
  MAFAT_TFLITE_MAX_TENSORS = 1 << 16,
  MAFAT_TFLITE_MAX_OPERATORS = 1 << 16,
  /* Limit of the memory for names and lists. Many operators of a file can refer to the same list,
   * so the copies could be far larger than the file. */
  MAFAT_TFLITE_MAX_LIST_BYTES = 16 << 20
};

/* Quantization parameters: real = scale * (value - zero_point), with one scale and zero point, or
 * one for each index of `dimension`. */
struct mafat_tflite_quantization {
  int n_scales, n_zero_points;           /* 0: none */
  uint64_t scales_at, zero_points_at;    /* byte offsets in the file: of floats and of int64 */
  int dimension;
};

struct mafat_tflite_tensor {
  const char *name;
  enum mafat_tflite_type type;
  int rank;
  int32_t shape[MAFAT_TFLITE_MAX_RANK];
  /* bit i: the file's shape_signature leaves dimension i open; shape[i] is then its default */
  unsigned unknown;
  bool constant;        /* has data in a file, or no elements */
  bool variable;        /* keeps its value between runs */
  int file;             /* constants: 0: in the model's file, else in paths[file - 1] */
  uint64_t at, bytes;   /* constants: offset in the file, and size */
  struct mafat_tflite_quantization quantization;
};

struct mafat_tflite_operator {
  int code;             /* enum mafat_tflite_code, or another number of the schema */
  int version;
  const char *name;     /* "CONV_2D"; a custom operator's own name; "operator code 300" */
  int n_inputs, n_outputs;
  const int32_t *inputs; /* tensor indices; -1: absent */
  const int32_t *outputs;
  union mafat_tflite_options options;
  uint64_t custom_at, custom_bytes; /* custom operators: location of the options in the file */
};

struct mafat_tflite {
  struct mafat_tflite_tensor *tensors;
  struct mafat_tflite_operator *operators;
  int n_tensors, n_operators;
  /* [tensor]: 1 if an operator, input or output names it; owned. The entries of other tensors are
   * zeros in memory that has no pages yet; nothing reads them, because even reading would allocate
   * pages */
  unsigned char *used;
  int n_used;
  int n_inputs, n_outputs; /* numbers of inputs and outputs of the network */
  const int32_t *inputs, *outputs;
  struct mafat_tflite_block *blocks; /* memory of names and lists */
  size_t list_bytes;
  char **paths;                      /* (n_paths) files that the user gave for constants; owned */
  int n_paths;
  struct mafat_file_state *states;   /* (n_paths) state of each file when it was read; owned */
  struct mafat_picture_declared picture; /* preprocessing of the first input */
};

/* Writes an operator's label for messages to `text`: the operator's name and that of its output.
 * Returns text. */
enum { MAFAT_TFLITE_LABEL_ROOM = 240 };
const char *mafat_tflite_label(const struct mafat_tflite *m, const struct mafat_tflite_operator *o,
                               char text[MAFAT_TFLITE_LABEL_ROOM]);

/* "FLOAT32"; NULL: not in the schema. */
const char *mafat_tflite_type_name(int type);
/* NumPy's name: "<f4"; NULL: none. The type must be in the schema. */
const char *mafat_tflite_type_array(int type);
/* Bytes of an element; 0: packed types, or no fixed size. */
unsigned mafat_tflite_type_bytes(int type);
/* Returns the number of elements of the tensor's shape. */
uint64_t mafat_tflite_elements(const struct mafat_tflite_tensor *t);

#endif
