/* A map from names to pointers; entries are numbered in order of insertion. A model has one map for
 * its values and one for its files. Names are not copied. Included by formats/onnx/reader.h; called
 * by formats/onnx (model.c, bind.c, order.c). Allocates entries, which mafat_onnx_names_close
 * frees. */
#ifndef MAFAT_FORMATS_ONNX_NAMES_H
#define MAFAT_FORMATS_ONNX_NAMES_H

#include "base/allowance.h"

#include <stdbool.h>

struct mafat_onnx_names;

void mafat_onnx_names_close(struct mafat_onnx_names **names);

/* Names are numbered 0 to count - 1. NULL is an empty map. */
int mafat_onnx_names_count(const struct mafat_onnx_names *names);
void *mafat_onnx_names_get(const struct mafat_onnx_names *names, int number);
/* Returns the number of a name; -1: absent. */
int mafat_onnx_names_find(const struct mafat_onnx_names *names, const char *name);

/* Inserts a name that is not present yet; `meaning` is the pointer that mafat_onnx_names_get
 * returns. Allocates the map if *names is NULL. Entries are counted in `allowance`. False: out of
 * memory, above the limit of `allowance`, or too many names. */
bool mafat_onnx_names_put(struct mafat_onnx_names **names, const char *name, const void *meaning,
                          struct mafat_allowance *allowance);

#endif
