/* A .tflite file as plain data: its tensors, which say where their constants lie, and its operators in the order in
 * which they run. No weight is read, and memory goes by how many tensors and operators there are. What they mean
 * is the importer's business.
 *
 * Everything is checked here once: numbers of tensors are within bounds, constants lie in the file and are as long as
 * their shapes say, whatever an operator reads was made before it, and nothing is made twice. */
#ifndef MAFAT_FORMATS_TFLITE_TFLITE_H
#define MAFAT_FORMATS_TFLITE_TFLITE_H

#include "formats/graph/given.h"
#include "formats/tflite/model.h"

bool mafat_tflite_begins(const char beginning[MAFAT_FLAT_IDENTIFIER_BYTES]);

/* MAFAT_EFORMAT: damaged; MAFAT_EUNSUPPORTED: control flow, sparse constants, another version; MAFAT_ENOMEM; what
 * reading gives. *out is NULL after a failure. The file stays open, and the caller's. */
int mafat_tflite_read(struct mafat_tflite **out, struct mafat_model_file *file, struct mafat_diagnostic *d);
/* Inputs that are constants from here on, of numbers that lie in files of their own. MAFAT_EINVAL: it has no such input;
 * MAFAT_EFORMAT: it is of another type, or has other dimensions. */
int mafat_tflite_give(struct mafat_tflite *m, const struct mafat_model_file *file, const struct mafat_given *given,
                      struct mafat_diagnostic *d);
void mafat_tflite_close(struct mafat_tflite **model);

#endif
