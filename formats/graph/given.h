/* Inputs of a model that are given as constants: known before the run, from a file of their own, which is raw or NumPy's
 * (.npy). Their numbers stay there. */
#ifndef MAFAT_FORMATS_GRAPH_GIVEN_H
#define MAFAT_FORMATS_GRAPH_GIVEN_H

#include "base/model_file.h"
#include "network/view.h"

/* (n) "NAME=FILE". */
struct mafat_given {
  const char *const *list;
  int n;
};

/* Are there as many texts as it says? MAFAT_EINVAL. */
int mafat_given_check(const struct mafat_given *given, struct mafat_diagnostic *d);

/* The file's path, where the text begins with the name and a =; else NULL. */
const char *mafat_given_path(const char *text, const char *name);
/* It begins with the name of no input: MAFAT_EINVAL. */
int mafat_given_refuse(const char *model, const char *text, struct mafat_diagnostic *d);

/* What is known of such a constant, and then what its file says. */
struct mafat_array {
  const char *type; /* of its elements, as NumPy calls it: "<f4" */
  size_t type_bytes;
  int rank;         /* -1: not known */
  long long dims[MAFAT_VIEW_DIMS]; /* -1: not known: known afterwards */
  uint64_t n, at;   /* how many there are, and where they begin */
};

/* Of a raw file at most one dimension may be unknown. MAFAT_EFORMAT: it has others; MAFAT_EINVAL: it does not say enough. */
int mafat_array_read(struct mafat_array *a, struct mafat_model_file *file, struct mafat_diagnostic *d);

#endif
