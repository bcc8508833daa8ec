/* Debian's libdarknet as the judge of our results: loading a network by it, and
 * the tensors that both are fed. Whatever libdarknet prints while loading is
 * dropped. It ends the program on files that it cannot read: load by ours
 * first. */
#ifndef MAFAT_TESTS_ORACLE_ORACLE_H
#define MAFAT_TESTS_ORACLE_ORACLE_H

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <darknet.h>
#pragma GCC diagnostic pop

#include "network/network.h"

/* With batch=1 and subdivisions=1 whatever the cfg says: Darknet allocates for
 * every picture of a batch. */
int oracle_load(network **out, const char *cfg, const char *weights, struct mafat_diagnostic *d);

/* The picture as libdarknet decodes and letterboxes it for `net`; `original`
 * gets its size. The data is the caller's, CHW, for free(). NULL: no memory. */
float *oracle_picture(const network *net, const char *path, int *original_w, int *original_h);
/* Deterministic noise in 0 ... 1 of the same size. */
float *oracle_noise(const network *net);

/* Debian's Darknet does not know scale_x_y and new_coords of [yolo]: turns the
 * outputs of layer `index` into what a Darknet that does would put out. */
void oracle_update_yolo(network *net, int index, const struct mafat_layer *l);

#endif
