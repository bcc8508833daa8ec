/* Names, each with what it stands for and a number: values of a model, files. Names are kept where they lie. */
#ifndef MAFAT_FORMATS_ONNX_NAMES_H
#define MAFAT_FORMATS_ONNX_NAMES_H

#include <stdbool.h>

struct mafat_onnx_names;

void mafat_onnx_names_close(struct mafat_onnx_names **names);

/* `names` may be NULL: there are none. They have numbers 0 to count - 1, as they were put. */
int mafat_onnx_names_count(const struct mafat_onnx_names *names);
void *mafat_onnx_names_get(const struct mafat_onnx_names *names, int number);
/* The number of a name; -1: it is not there. */
int mafat_onnx_names_find(const struct mafat_onnx_names *names, const char *name);

/* A name more, that is not there yet: names differ. *names is NULL before the first. False: out of memory. */
bool mafat_onnx_names_put(struct mafat_onnx_names **names, const char *name, const void *meaning);

#endif
