/* A copy of an ONNX or TFLite model with random weights. The model itself is written, its graph and
 * all else as it is: it runs wherever the model does, and can be shown to who may not have the
 * weights. */
#ifndef MAFAT_PROGRAMS_MAKE_WEIGHTS_LIKE_H
#define MAFAT_PROGRAMS_MAKE_WEIGHTS_LIKE_H

#include "network/network.h"

#include <stdint.h>
#include <stdio.h>

/* Its file of that number (0: the model at n->path, else n->files[number - 1]), a stretch at a
 * time. What the network multiplies with is random, by its recipe (recipe.h); maps that are
 * constants, and factors and sums that belong to no layer, lie between the least and the largest
 * number that they had; single numbers, and what the importer took for itself (shapes, limits),
 * stay. Failures of writing stay in the file. */
int like_write(FILE *file, const struct mafat_network *n, int number, uint64_t seed, bool quiet,
               struct mafat_diagnostic *d);

#endif
