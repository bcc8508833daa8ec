/* An ONNX file as plain data: nodes with their attributes, the values between them, and where constants lie. No weight
 * is read: memory goes by the number of nodes and names. Lists are checked as data; what they mean is the importer's
 * affair: a value may be made by nobody, or twice. */
#ifndef MAFAT_FORMATS_ONNX_ONNX_H
#define MAFAT_FORMATS_ONNX_ONNX_H

#include "base/chunks.h"
#include "base/model_file.h"
#include "formats/graph/given.h"

#include <stdbool.h>

enum { MAFAT_ONNX_MAX_RANK = 8, MAFAT_ONNX_BEGINNING = 2 };

/* As files number them. */
enum mafat_onnx_type {
  MAFAT_ONNX_UNDEFINED, MAFAT_ONNX_FLOAT, MAFAT_ONNX_UINT8, MAFAT_ONNX_INT8, MAFAT_ONNX_UINT16, MAFAT_ONNX_INT16,
  MAFAT_ONNX_INT32, MAFAT_ONNX_INT64, MAFAT_ONNX_STRING, MAFAT_ONNX_BOOL, MAFAT_ONNX_FLOAT16, MAFAT_ONNX_DOUBLE,
  MAFAT_ONNX_UINT32, MAFAT_ONNX_UINT64, MAFAT_ONNX_COMPLEX64, MAFAT_ONNX_COMPLEX128, MAFAT_ONNX_BFLOAT16, MAFAT_ONNX_N_TYPES
};

/* "float", "int64" ...; never NULL. */
const char *mafat_onnx_type_name(int type);
/* The same by NumPy's names, "<f4"; NULL: it has none. */
const char *mafat_onnx_type_array(int type);
/* Of an element in memory; 0: a string, or no type that is known. */
size_t mafat_onnx_type_bytes(int type);

/* Where a tensor's numbers are. */
enum mafat_onnx_form {
  MAFAT_ONNX_PLACE, /* n elements of its type, little-endian: bytes [at, at + bytes) of the file */
  MAFAT_ONNX_WIRE   /* in a typed field of the message that is bytes [at, at + bytes): mafat_onnx_tensor_ints and
                       _doubles read them */
};

struct mafat_onnx_tensor {
  const char *name; /* "": it has none */
  int type;         /* enum mafat_onnx_type */
  int rank;
  const int64_t *dims; /* [rank] */
  uint64_t n;          /* elements */
  enum mafat_onnx_form form;
  int file; /* of the model's files; 0: its own */
  uint64_t at, bytes;
};

struct mafat_onnx_dim {
  int64_t n;         /* -1: not known */
  const char *param; /* what the file calls it then; NULL: nothing */
};

/* What the file says of a value beforehand. */
struct mafat_onnx_info {
  const char *form; /* "tensor", "sequence" ...; what follows is of a tensor */
  int type;         /* enum mafat_onnx_type */
  int rank;         /* -1: not known */
  const struct mafat_onnx_dim *dims;
};

struct mafat_onnx_value {
  const char *name;
  int index;     /* among the model's values */
  int makers;    /* node outputs and initializers of that name: 1, or something is wrong; of the model's inputs 0 or 1 */
  int node;      /* the first that makes it; -1: none */
  bool is_input; /* of the model; where it has an initializer all the same, it is that */
  const struct mafat_onnx_tensor *initializer; /* NULL: none */
  const struct mafat_onnx_info *info;          /* NULL: nothing is known */
};

/* As files number them. */
enum mafat_onnx_attribute_type {
  MAFAT_ONNX_ATTRIBUTE_UNDEFINED, MAFAT_ONNX_ATTRIBUTE_FLOAT, MAFAT_ONNX_ATTRIBUTE_INT, MAFAT_ONNX_ATTRIBUTE_STRING,
  MAFAT_ONNX_ATTRIBUTE_TENSOR, MAFAT_ONNX_ATTRIBUTE_GRAPH, MAFAT_ONNX_ATTRIBUTE_FLOATS, MAFAT_ONNX_ATTRIBUTE_INTS,
  MAFAT_ONNX_ATTRIBUTE_STRINGS, MAFAT_ONNX_ATTRIBUTE_TENSORS, MAFAT_ONNX_ATTRIBUTE_GRAPHS,
  MAFAT_ONNX_ATTRIBUTE_SPARSE_TENSOR, MAFAT_ONNX_ATTRIBUTE_SPARSE_TENSORS, MAFAT_ONNX_ATTRIBUTE_TYPE,
  MAFAT_ONNX_ATTRIBUTE_TYPES, MAFAT_ONNX_N_ATTRIBUTE_TYPES
};

const char *mafat_onnx_attribute_type_name(int type);

/* Of graphs, sparse tensors and types there is the type alone. */
struct mafat_onnx_attribute {
  const char *name;
  int type; /* enum mafat_onnx_attribute_type */
  int n;    /* of lists */
  union {
    int64_t i;
    float f;
    const char *s;
    const struct mafat_onnx_tensor *t;
    const int64_t *ints;
    const float *floats;
    const char *const *strings;
  } as;
};

struct mafat_onnx_node {
  const char *op_type, *domain, *name; /* domain: "" is ONNX's own, also by the name ai.onnx; name: may be "" */
  int n_inputs, n_outputs, n_attributes;
  const struct mafat_onnx_value *const *inputs, *const *outputs; /* NULL: left out */
  const struct mafat_onnx_attribute *attributes;                 /* no two of a name */
};

struct mafat_onnx_opset {
  const char *domain; /* as of a node */
  int64_t version;
};

struct mafat_onnx_property {
  const char *key, *value;
};

struct mafat_onnx_names;

/* One that constants lie in. */
struct mafat_onnx_file {
  const char *path;
  struct mafat_file_state state; /* as it was when it was opened first, if it was */
};

struct mafat_onnx {
  struct mafat_model_file *file; /* its reader's */
  int64_t ir_version;
  int n_opsets, n_nodes, n_inputs, n_outputs, n_properties;
  const struct mafat_onnx_opset *opsets;
  const struct mafat_onnx_node *nodes;
  const struct mafat_onnx_value *const *inputs, *const *outputs; /* of the graph, in the file's order */
  const struct mafat_onnx_property *properties; /* what the file tells of itself; long ones are left out */
  struct mafat_onnx_names *values, *paths;      /* below */
  struct mafat_chunks memory;
};

/* Do these bytes begin an ONNX file, as far as can be seen? */
bool mafat_onnx_begins(const char beginning[MAFAT_ONNX_BEGINNING]);

/* The file stays its opener's, and open as long as numbers are asked for. MAFAT_EFORMAT: damaged; MAFAT_EUNSUPPORTED: has
 * what is not read here: sparse initializers, segments, training, functions; MAFAT_ELIMIT: too large. *out is NULL after
 * a failure. */
int mafat_onnx_read(struct mafat_onnx **out, struct mafat_model_file *file, struct mafat_diagnostic *d);
/* The same of a file that holds one tensor and nothing else (TensorProto): the model is empty but for it. */
int mafat_onnx_read_one(struct mafat_onnx **out, const struct mafat_onnx_tensor **tensor, struct mafat_model_file *file,
                        struct mafat_diagnostic *d);
void mafat_onnx_close(struct mafat_onnx **model);

/* Gives a value of that name an initializer: the tensor that a file of its own holds, in place of what it has. A path that ends in .pb
 * is of a TensorProto, others are of numbers as the model says of the value. MAFAT_EINVAL: there is no such value, or a node makes it;
 * MAFAT_EFORMAT: these are not so many. */
int mafat_onnx_bind(struct mafat_onnx *m, const char *name, const char *path, struct mafat_diagnostic *d);
/* The same of inputs. MAFAT_EINVAL: the model has none of that name; MAFAT_EFORMAT: it is of another type, or has other dimensions. */
int mafat_onnx_give(struct mafat_onnx *m, const struct mafat_given *given, struct mafat_diagnostic *d);

/* All values, by their indices, 0 to count - 1; by name, NULL: there is none. */
int mafat_onnx_n_values(const struct mafat_onnx *m);
const struct mafat_onnx_value *mafat_onnx_value(const struct mafat_onnx *m, int index);
const struct mafat_onnx_value *mafat_onnx_value_of(const struct mafat_onnx *m, const char *name);
/* Paths of the files that constants lie in: 0 is the model's own, the others are below its folder, or were bound. */
int mafat_onnx_n_files(const struct mafat_onnx *m);
const char *mafat_onnx_path(const struct mafat_onnx *m, int file);
struct mafat_onnx_file *mafat_onnx_file(const struct mafat_onnx *m, int file);

/* By name; NULL: there is none. */
const struct mafat_onnx_attribute *mafat_onnx_attribute(const struct mafat_onnx_node *n, const char *name);
/* 0: it is not imported. */
int64_t mafat_onnx_opset(const struct mafat_onnx *m, const char *domain);

/* Elements [first, first + n) of a tensor: of any type of whole numbers, or of bools; of numbers. MAFAT_EUNSUPPORTED: of
 * another type; MAFAT_EINVAL: there are not so many; MAFAT_EFORMAT: what cannot be a number of that type. */
int mafat_onnx_tensor_ints(const struct mafat_onnx *m, const struct mafat_onnx_tensor *t, uint64_t first, size_t n,
                           int64_t *to, struct mafat_diagnostic *d);
int mafat_onnx_tensor_doubles(const struct mafat_onnx *m, const struct mafat_onnx_tensor *t, uint64_t first, size_t n,
                              double *to, struct mafat_diagnostic *d);

#endif
