/* What a .tflite file says, once it has been read: tensors, which say where their constants lie, and operators in the order in
 * which they run. */
#ifndef MAFAT_FORMATS_TFLITE_MODEL_H
#define MAFAT_FORMATS_TFLITE_MODEL_H

#include "formats/tflite/operators.h"
#include "network/picture.h"

/* As in the file. */
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
  MAFAT_TFLITE_MAX_LIST_BYTES = 16 << 20 /* of all names and lists of tensors, which a file may share among operators */
};

/* real = scale * (q - zero_point): one of them, or one for each place along a dimension. */
struct mafat_tflite_quantization {
  int n_scales, n_zero_points;           /* 0: none */
  uint64_t scales_at, zero_points_at;    /* bytes of the file: floats, int64 */
  int dimension;
};

struct mafat_tflite_tensor {
  const char *name;
  enum mafat_tflite_type type;
  int rank;
  int32_t shape[MAFAT_TFLITE_MAX_RANK];
  unsigned unknown;     /* bit i: the signature leaves dimension i open, and shape has its default */
  bool constant;        /* it lies in the file; or it has no elements */
  bool variable;        /* keeps its value from run to run */
  int file;             /* of a constant: 0: the model's, else paths[file - 1] */
  uint64_t at, bytes;   /* of a constant, in its file */
  struct mafat_tflite_quantization quantization;
};

struct mafat_tflite_operator {
  int code;             /* enum mafat_tflite_code, or another of the schema's */
  int version;
  const char *name;     /* "CONV_2D"; of a custom operator its own; "operator code 300" */
  int n_inputs, n_outputs;
  const int32_t *inputs; /* tensors; -1: absent */
  const int32_t *outputs;
  union mafat_tflite_options options;
  uint64_t custom_at, custom_bytes; /* of a custom operator: its options in the file */
};

struct mafat_tflite {
  struct mafat_tflite_tensor *tensors;
  struct mafat_tflite_operator *operators;
  int n_tensors, n_operators;
  int n_inputs, n_outputs; /* of the network */
  const int32_t *inputs, *outputs;
  struct mafat_tflite_block *blocks; /* in which names and lists lie */
  size_t list_bytes;
  char **paths;                      /* (n_paths) of the constants that were given; owned, as are they */
  int n_paths;
  struct mafat_file_state *states;   /* [n_paths] as they were then; owned */
  struct mafat_picture_said picture; /* of the first input */
};

/* What messages call an operator: its name and that of what it makes. Returns `room`. */
enum { MAFAT_TFLITE_LABEL_ROOM = 240 };
const char *mafat_tflite_label(const struct mafat_tflite *m, const struct mafat_tflite_operator *o, char room[MAFAT_TFLITE_LABEL_ROOM]);

/* "FLOAT32"; NULL: the schema has none of that number. */
const char *mafat_tflite_type_name(int type);
/* The same as NumPy names it, "<f4"; NULL: it does not. */
const char *mafat_tflite_type_array(int type);
/* Of an element of such a type; 0: they are packed, or of no fixed size. */
unsigned mafat_tflite_type_bytes(int type);
/* Elements of a shape. */
uint64_t mafat_tflite_elements(const struct mafat_tflite_tensor *t);

#endif
