/* Model inputs that are given as constants, each from its own file: raw or NumPy's .npy. The values
 * stay in the file. */
#ifndef MAFAT_FORMATS_GRAPH_GIVEN_H
#define MAFAT_FORMATS_GRAPH_GIVEN_H

#include "base/model_file.h"
#include "network/view.h"

/* (n) "NAME=FILE". */
struct mafat_given {
  const char *const *list;
  int n;
};

/* Checks that the list has n entries. MAFAT_EINVAL. */
int mafat_given_check(const struct mafat_given *given, struct mafat_diagnostic *d);

/* The file's path if the text begins with "NAME="; else NULL. */
const char *mafat_given_path(const char *text, const char *name);
/* Reports that the text names no input: MAFAT_EINVAL. */
int mafat_given_refuse(const char *model, const char *text, struct mafat_diagnostic *d);

/* Type and dimensions of such a constant: as the model declares them, then as its file does. */
struct mafat_array {
  const char *type; /* NumPy's name of the element type: "<f4" */
  size_t type_bytes;
  int rank;         /* -1: unknown */
  long long dims[MAFAT_VIEW_DIMS]; /* -1: unknown; known after reading */
  uint64_t n, at;   /* number of elements, and byte offset of the first */
};

/* Reads the header of the file. A raw file determines at most one unknown dimension. MAFAT_EFORMAT:
 * the file differs; MAFAT_EINVAL: too many unknown dimensions. */
int mafat_array_read(struct mafat_array *a, struct mafat_model_file *file,
                     struct mafat_diagnostic *d);

#endif
