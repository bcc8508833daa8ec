/* Chooses the head that decodes a network's outputs: by name, or by the outputs' dimensions.
 * Touches only its arguments. Included by api/choose.c and api/packing/pack.c. */
#ifndef MAFAT_RUNNER_DETECT_HEADS_HEADS_H
#define MAFAT_RUNNER_DETECT_HEADS_HEADS_H

#include "include/mafat.h"
#include "network/network.h"

/* Sets n->decoded, the head for a run of the first n_layers layers. name: the name of a head;
 * "auto" or NULL: the head that the outputs' dimensions identify, if any does; "darknet": only
 * layers that are heads; "none": nothing is decoded. A named head is possible only for a complete
 * ONNX or TFLite model. MAFAT_EINVAL: unknown name, or the head cannot decode the outputs. */
int mafat_heads_choose(struct mafat_network *n, int n_layers, const char *name,
                       struct mafat_diagnostic *d);

#endif
