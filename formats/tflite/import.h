/* A .tflite model as a network: what its operators mean, one after the other. Shape arithmetic on constants is
 * worked out while importing; fused activations become part of their layer, pads of the windows behind them. */
#ifndef MAFAT_FORMATS_TFLITE_IMPORT_H
#define MAFAT_FORMATS_TFLITE_IMPORT_H

#include "formats/readers.h"
#include "formats/tflite/model.h"

extern const struct mafat_reader mafat_tflite_reader;

/* Model and file stay their openers', and are not needed any more afterwards. MAFAT_EUNSUPPORTED: an operator, or
 * what it is asked to do, is not run: the diagnostic names it and what it makes; MAFAT_EFORMAT: the model
 * contradicts itself. */
int mafat_tflite_network(struct mafat_network **out, const struct mafat_tflite *model, struct mafat_model_file *file,
                         struct mafat_diagnostic *d);

/* Reads the file first. given: inputs that are constants; NULL: none. */
int mafat_tflite_network_of(struct mafat_network **out, struct mafat_model_file *file, const struct mafat_given *given,
                            struct mafat_diagnostic *d);

#endif
