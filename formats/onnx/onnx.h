/* An ONNX file as plain data: nodes with attributes, the values between them, and the location of
 * constants. Weights are not read, so memory depends on the number of nodes and names. If it is
 * limited (base/allowance.h), constants that nothing names are skipped. Only the structure is
 * checked; the importer rejects, for example, a value that no node makes, or that two nodes make.
 * Included by formats/onnx/import.h, formats/onnx/importer.h and formats/onnx/reader.h. The reader
 * reads the file and allocates from chunks (base/chunks.h). */
#ifndef MAFAT_FORMATS_ONNX_ONNX_H
#define MAFAT_FORMATS_ONNX_ONNX_H

#include "base/chunks.h"
#include "base/model_file.h"
#include "formats/graph/given.h"

#include <stdbool.h>

enum { MAFAT_ONNX_MAX_RANK = 8, MAFAT_ONNX_BEGINNING = 2 };

/* Element types, with the file format's numbers. */
enum mafat_onnx_type {
  MAFAT_ONNX_UNDEFINED, MAFAT_ONNX_FLOAT, MAFAT_ONNX_UINT8, MAFAT_ONNX_INT8, MAFAT_ONNX_UINT16,
  MAFAT_ONNX_INT16, MAFAT_ONNX_INT32, MAFAT_ONNX_INT64, MAFAT_ONNX_STRING, MAFAT_ONNX_BOOL,
  MAFAT_ONNX_FLOAT16, MAFAT_ONNX_DOUBLE, MAFAT_ONNX_UINT32, MAFAT_ONNX_UINT64, MAFAT_ONNX_COMPLEX64,
  MAFAT_ONNX_COMPLEX128, MAFAT_ONNX_BFLOAT16,
  MAFAT_ONNX_N_TYPES
};

/* "float", "int64" ...; never NULL. */
const char *mafat_onnx_type_name(int type);
/* NumPy's name: "<f4"; NULL: none. */
const char *mafat_onnx_type_array(int type);
/* Bytes of an element in memory; 0: a string or an unknown type. */
size_t mafat_onnx_type_bytes(int type);

/* How a tensor's elements are stored. */
enum mafat_onnx_form {
  MAFAT_ONNX_PLACE, /* n little-endian elements: bytes [at, at + bytes) of the file */
  /* encoded in a field of the TensorProto in bytes [at, at + bytes); mafat_onnx_tensor_ints and
   * _doubles decode them */
  MAFAT_ONNX_WIRE
};

struct mafat_onnx_tensor {
  const char *name; /* "": none */
  int type;         /* enum mafat_onnx_type */
  int rank;
  const int64_t *dims; /* [rank] */
  uint64_t n;          /* elements */
  enum mafat_onnx_form form;
  int file; /* index among the model's files; 0: the model itself */
  uint64_t at, bytes;
};

struct mafat_onnx_dim {
  int64_t n;         /* -1: unknown */
  const char *param; /* the file's name of an unknown dimension; NULL: none */
};

/* Declared type and shape of a value. */
struct mafat_onnx_info {
  const char *form; /* "tensor", "sequence" ...; the other fields are for tensors */
  int type;         /* enum mafat_onnx_type */
  int rank;         /* -1: unknown */
  const struct mafat_onnx_dim *dims;
};

struct mafat_onnx_value {
  const char *name;
  int index;     /* index among the model's values */
  /* number of node outputs and initializers with that name; in a valid model 1, and for an input of
   * the model 0 or 1 */
  int makers;
  int node;      /* first node that makes it; -1: none */
  bool is_input; /* input of the model; an initializer, if present, takes precedence */
  const struct mafat_onnx_tensor *initializer; /* NULL: none */
  const struct mafat_onnx_info *info;          /* NULL: undeclared */
};

/* Attribute types, with the file format's numbers. */
enum mafat_onnx_attribute_type {
  MAFAT_ONNX_ATTRIBUTE_UNDEFINED, MAFAT_ONNX_ATTRIBUTE_FLOAT, MAFAT_ONNX_ATTRIBUTE_INT,
  MAFAT_ONNX_ATTRIBUTE_STRING, MAFAT_ONNX_ATTRIBUTE_TENSOR, MAFAT_ONNX_ATTRIBUTE_GRAPH,
  MAFAT_ONNX_ATTRIBUTE_FLOATS, MAFAT_ONNX_ATTRIBUTE_INTS, MAFAT_ONNX_ATTRIBUTE_STRINGS,
  MAFAT_ONNX_ATTRIBUTE_TENSORS, MAFAT_ONNX_ATTRIBUTE_GRAPHS, MAFAT_ONNX_ATTRIBUTE_SPARSE_TENSOR,
  MAFAT_ONNX_ATTRIBUTE_SPARSE_TENSORS, MAFAT_ONNX_ATTRIBUTE_TYPE, MAFAT_ONNX_ATTRIBUTE_TYPES,
  MAFAT_ONNX_N_ATTRIBUTE_TYPES
};

const char *mafat_onnx_attribute_type_name(int type);

/* Attributes of graphs, sparse tensors and types have no content here. */
struct mafat_onnx_attribute {
  const char *name;
  int type; /* enum mafat_onnx_attribute_type */
  int n;    /* length of a list */
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
  /* domain: "" is ONNX's own, also for ai.onnx; name: may be "" */
  const char *op_type, *domain, *name;
  int n_inputs, n_outputs, n_attributes, number; /* number: position in the file */
  const struct mafat_onnx_value *const *inputs, *const *outputs; /* NULL: absent */
  const struct mafat_onnx_attribute *attributes;                 /* names are unique */
};

struct mafat_onnx_opset {
  const char *domain; /* as in mafat_onnx_node */
  int64_t version;
};

struct mafat_onnx_property {
  const char *key, *value;
};

struct mafat_onnx_names;

/* A file that holds constants. */
struct mafat_onnx_file {
  const char *path;
  struct mafat_file_state state; /* when the file was first opened; unknown before */
};

struct mafat_onnx {
  struct mafat_model_file *file; /* owned by the caller of mafat_onnx_read */
  int64_t ir_version;
  int n_opsets, n_nodes, n_inputs, n_outputs, n_properties;
  const struct mafat_onnx_opset *opsets; /* of ONNX's own domain only */
  const struct mafat_onnx_node *nodes;   /* each after those that make its inputs */
  /* of the graph, in the file's order */
  const struct mafat_onnx_value *const *inputs, *const *outputs;
  const struct mafat_onnx_property *properties; /* metadata of pictures, without long entries */
  struct mafat_onnx_names *values, *paths;      /* mafat_onnx_value, mafat_onnx_file by name */
  struct mafat_chunks memory;
};

/* True if a file with these first bytes may be ONNX. */
bool mafat_onnx_begins(const char beginning[MAFAT_ONNX_BEGINNING]);

/* Reads a file. The caller leaves it open while tensors are read, and closes it. MAFAT_EFORMAT:
 * damaged; MAFAT_EUNSUPPORTED: sparse initializers, segments, training, functions; MAFAT_ELIMIT:
 * too large. *out is NULL after a failure. */
int mafat_onnx_read(struct mafat_onnx **out, struct mafat_model_file *file,
                    struct mafat_diagnostic *d);
/* Reads a file that holds a single tensor (TensorProto) into an otherwise empty model. */
int mafat_onnx_read_one(struct mafat_onnx **out, const struct mafat_onnx_tensor **tensor,
                        struct mafat_model_file *file, struct mafat_diagnostic *d);
void mafat_onnx_close(struct mafat_onnx **model);

/* Replaces the initializer of a value by the tensor in another file: a TensorProto if the path ends
 * in .pb, else raw elements of the declared type or a .npy file. MAFAT_EINVAL: no such value, or a
 * node makes it; MAFAT_EFORMAT: wrong number of elements. */
int mafat_onnx_bind(struct mafat_onnx *m, const char *name, const char *path,
                    struct mafat_diagnostic *d);
/* Calls mafat_onnx_bind for each "NAME=FILE" in `given`, where NAME is an input of the model.
 * MAFAT_EINVAL: no such input; MAFAT_EFORMAT: the file has another type or other dimensions. */
int mafat_onnx_give(struct mafat_onnx *m, const struct mafat_given *given,
                    struct mafat_diagnostic *d);

/* Find values by index, 0 to count - 1, or by name; NULL: none. */
int mafat_onnx_n_values(const struct mafat_onnx *m);
const struct mafat_onnx_value *mafat_onnx_value(const struct mafat_onnx *m, int index);
const struct mafat_onnx_value *mafat_onnx_value_of(const struct mafat_onnx *m, const char *name);
/* Files that hold constants: 0 is the model itself; the others are in its folder, or were added by
 * mafat_onnx_bind. */
int mafat_onnx_n_files(const struct mafat_onnx *m);
const char *mafat_onnx_path(const struct mafat_onnx *m, int file);
struct mafat_onnx_file *mafat_onnx_file(const struct mafat_onnx *m, int file);

/* Finds an attribute by name; NULL: none. */
const struct mafat_onnx_attribute *mafat_onnx_attribute(const struct mafat_onnx_node *n,
                                                        const char *name);
/* Version of the domain if it is ONNX's own; 0: the model does not import it, or it is another
 * domain. */
int64_t mafat_onnx_opset(const struct mafat_onnx *m, const char *domain);

/* Read elements [first, first + n) of a tensor: the first function integers and bools, the second
 * numbers of any type. MAFAT_EUNSUPPORTED: another type; MAFAT_EINVAL: the tensor has fewer
 * elements; MAFAT_EFORMAT: a number is invalid for the type. */
int mafat_onnx_tensor_ints(const struct mafat_onnx *m, const struct mafat_onnx_tensor *t,
                           uint64_t first, size_t n, int64_t *to, struct mafat_diagnostic *d);
int mafat_onnx_tensor_doubles(const struct mafat_onnx *m, const struct mafat_onnx_tensor *t,
                              uint64_t first, size_t n, double *to, struct mafat_diagnostic *d);

#endif
