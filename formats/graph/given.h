/* Model inputs for which the user gives constants, each in its own file: raw or NumPy's .npy. Only
 * headers are read; the values stay in the file. Included by formats/onnx/onnx.h, formats/readers.h
 * and formats/tflite/tflite.h; called by formats/onnx/bind.c, formats/tflite/give.c and, for
 * checks, api/. Reads files. */
#ifndef MAFAT_FORMATS_GRAPH_GIVEN_H
#define MAFAT_FORMATS_GRAPH_GIVEN_H

#include "base/model_file.h"
#include "network/view.h"

/* List of n texts "NAME=FILE". */
struct mafat_given {
  const char *const *list;
  int n;
};

/* Checks that none of the n entries is NULL. MAFAT_EINVAL. */
int mafat_given_check(const struct mafat_given *given, struct mafat_diagnostic *d);

/* Returns the part of the text after "NAME=", a path, if the text begins so; else NULL. */
const char *mafat_given_path(const char *text, const char *name);
/* Fails because the text names none of the inputs of `model`. Returns MAFAT_EINVAL. */
int mafat_given_refuse(const char *model, const char *text, struct mafat_diagnostic *d);

/* Type and dimensions of a given constant. The caller fills in the type and dimensions that the
 * model declares; mafat_array_read checks them and fills in the rest from the file. */
struct mafat_array {
  const char *type; /* NumPy's name of the element type: "<f4" */
  size_t type_bytes;
  int rank;         /* -1: unknown */
  long long dims[MAFAT_VIEW_DIMS]; /* -1: unknown; known after reading */
  uint64_t n;       /* number of elements */
  uint64_t at;      /* byte offset of the first element */
};

/* Reads the header of the file. A raw file has none: its length determines at most one unknown
 * dimension. MAFAT_EFORMAT: the file has another type or shape; MAFAT_EINVAL: too many unknown
 * dimensions. */
int mafat_array_read(struct mafat_array *a, struct mafat_model_file *file,
                     struct mafat_diagnostic *d);

#endif
