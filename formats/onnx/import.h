/* Imports an ONNX model as a network. Shape arithmetic on constants is evaluated. Batch
 * normalizations, biases and activations are folded into the layer before them. A pad is folded
 * into the window of the layer after it. Included by formats/onnx/import.c and by tests; other
 * files reach it through mafat_onnx_reader (formats/readers.c). Reads the model's files; allocates
 * the network. */
#ifndef MAFAT_FORMATS_ONNX_IMPORT_H
#define MAFAT_FORMATS_ONNX_IMPORT_H

#include "formats/onnx/onnx.h"
#include "formats/readers.h"

extern const struct mafat_reader mafat_onnx_reader;

/* Makes a network from a model, which may be closed afterwards. MAFAT_EUNSUPPORTED: an unsupported
 * operator or attribute, named by the diagnostic; MAFAT_EFORMAT: the model is inconsistent. */
int mafat_onnx_network(struct mafat_network **out, const struct mafat_onnx *model,
                       struct mafat_diagnostic *d);

/* Reads a file and makes a network from it. given: inputs to be replaced by constants; NULL:
 * none. */
int mafat_onnx_network_of(struct mafat_network **out, struct mafat_model_file *file,
                          const struct mafat_given *given, struct mafat_diagnostic *d);

#endif
