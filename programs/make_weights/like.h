/* Copies an ONNX or TFLite model, with random weights in place of its own. Everything else is
 * unchanged, so the copy runs like the model and can be published. Allocates, reads the model and
 * writes to an open file. Included by make_weights.c. */
#ifndef MAFAT_PROGRAMS_MAKE_WEIGHTS_LIKE_H
#define MAFAT_PROGRAMS_MAKE_WEIGHTS_LIKE_H

#include "network/network.h"

#include <stdint.h>
#include <stdio.h>

/* Writes file `number` of the copy (0: the model at n->path, else n->files[number - 1]) in chunks.
 * Weights are random, by the recipe (recipe.h). Constant maps, and factors and addends that belong
 * to no layer, are random between their smallest and largest value. Constants of one element, and
 * values that the importer used (shapes, limits), are copied. Write errors are kept in `file`
 * (ferror). */
int like_write(FILE *file, const struct mafat_network *n, int number, uint64_t seed, bool quiet,
               struct mafat_diagnostic *d);

#endif
