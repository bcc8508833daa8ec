/* An ONNX model as a network: what its nodes mean, operator by operator. Shape arithmetic on constants is worked out
 * while importing; batch norms, biases and activations become part of the layer before, pads of the windows behind. */
#ifndef MAFAT_FORMATS_ONNX_IMPORT_H
#define MAFAT_FORMATS_ONNX_IMPORT_H

#include "formats/onnx/onnx.h"
#include "formats/readers.h"

extern const struct mafat_reader mafat_onnx_reader;

/* The model stays its reader's, and is not needed any more afterwards. MAFAT_EUNSUPPORTED: an operator, or what it
 * is asked to do, is not run: the diagnostic names node and operator; MAFAT_EFORMAT: the model contradicts itself. */
int mafat_onnx_network(struct mafat_network **out, const struct mafat_onnx *model, struct mafat_diagnostic *d);

/* Reads the file first. given: inputs that are constants; NULL: none. */
int mafat_onnx_network_of(struct mafat_network **out, struct mafat_model_file *file, const struct mafat_given *given,
                          struct mafat_diagnostic *d);

#endif
