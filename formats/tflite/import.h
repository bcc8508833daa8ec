/* Imports a TFLite model as a network, operator by operator. Shape arithmetic on constants is
 * evaluated. A fused activation becomes part of its layer. A pad becomes part of the window of the
 * layer after it. Included by formats/tflite/import.c and by tests; api/ and formats/packed reach
 * it through mafat_tflite_reader (formats/readers.c). Reads the file and the files that the user
 * gives for constants; allocates the network. */
#ifndef MAFAT_FORMATS_TFLITE_IMPORT_H
#define MAFAT_FORMATS_TFLITE_IMPORT_H

#include "formats/readers.h"
#include "formats/tflite/model.h"

extern const struct mafat_reader mafat_tflite_reader;

/* Makes a network from a model and its file, which may be closed afterwards. MAFAT_EUNSUPPORTED: an
 * operator or option is unsupported, and the diagnostic names it; MAFAT_EFORMAT: the model is
 * inconsistent. */
int mafat_tflite_network(struct mafat_network **out, const struct mafat_tflite *model,
                         struct mafat_model_file *file, struct mafat_diagnostic *d);

/* Reads a file and makes a network from it. given: inputs to be replaced by constants; NULL:
 * none. */
int mafat_tflite_network_of(struct mafat_network **out, struct mafat_model_file *file,
                            const struct mafat_given *given, struct mafat_diagnostic *d);

#endif
