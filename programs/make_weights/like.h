/* Copies an ONNX or TFLite model with random weights. Graph and everything else stay, so the copy
 * runs wherever the model does and can be given to others without the weights. Allocates, reads the
 * model and writes to an open file. Included by make_weights.c. */
#ifndef MAFAT_PROGRAMS_MAKE_WEIGHTS_LIKE_H
#define MAFAT_PROGRAMS_MAKE_WEIGHTS_LIKE_H

#include "network/network.h"

#include <stdint.h>
#include <stdio.h>

/* Writes file `number` of the copy (0: the model at n->path, else n->files[number - 1]) in chunks.
 * Weights are random, by the recipe (recipe.h). Constant maps, and factors and addends that belong
 * to no layer, are random between their smallest and largest value. Single numbers, and values that
 * the importer used (shapes, limits), stay. Write errors are kept in `file` (ferror). */
int like_write(FILE *file, const struct mafat_network *n, int number, uint64_t seed, bool quiet,
               struct mafat_diagnostic *d);

#endif
