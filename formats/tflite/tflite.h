/* Reads a .tflite file into plain structs: tensors with the location of constants, and operators in
 * execution order. Weights are not read, so the memory used depends on the number of tensors and
 * operators. import.c makes the network from them.
 *
 * All checks are made here, so that import.c need not repeat them: indices of tensors are in range;
 * constants are inside the file and have their shape's size; every tensor is computed once, before
 * an operator reads it.
 *
 * Included by formats/tflite/give.c and formats/tflite/import.c. Reads the file; allocates the
 * model. */
#ifndef MAFAT_FORMATS_TFLITE_TFLITE_H
#define MAFAT_FORMATS_TFLITE_TFLITE_H

#include "formats/graph/given.h"
#include "formats/tflite/model.h"

bool mafat_tflite_begins(const char beginning[MAFAT_FLAT_IDENTIFIER_BYTES]);

/* Reads a model; the caller closes the file. MAFAT_EFORMAT: damaged; MAFAT_EUNSUPPORTED: control
 * flow, sparse constants, another version; MAFAT_ENOMEM; errors of reading. *out is NULL after a
 * failure. */
int mafat_tflite_read(struct mafat_tflite **out, struct mafat_model_file *file,
                      struct mafat_diagnostic *d);
/* For each "NAME=FILE" in `given`, makes input NAME a constant with the values of FILE. `file` is
 * the model's file. MAFAT_EINVAL: the model has no input NAME; MAFAT_EFORMAT: FILE has another type
 * or other dimensions; errors of opening FILE. */
int mafat_tflite_give(struct mafat_tflite *m, const struct mafat_model_file *file,
                      const struct mafat_given *given, struct mafat_diagnostic *d);
void mafat_tflite_close(struct mafat_tflite **model);

#endif
