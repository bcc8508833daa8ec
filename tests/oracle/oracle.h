/* Debian's libdarknet as reference: loads networks, and makes inputs for libdarknet and mafat.
 * Drops what libdarknet prints while loading. libdarknet ends the program for unreadable files, so
 * read them with mafat first. Included by this folder's files. */
#ifndef MAFAT_TESTS_ORACLE_ORACLE_H
#define MAFAT_TESTS_ORACLE_ORACLE_H

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <darknet.h>
#pragma GCC diagnostic pop

#include "network/network.h"

/* Loads a network with batch=1 and subdivisions=1: Darknet allocates memory for every picture of
 * a batch. free_network() frees it. */
int oracle_load(network **out, const char *cfg, const char *weights, struct mafat_diagnostic *d);

/* The picture as libdarknet decodes and letterboxes it for `net`, CHW; its original size in
 * *original_w, *original_h. The caller frees it. NULL: out of memory. */
float *oracle_picture(const network *net, const char *path, int *original_w, int *original_h);
/* Deterministic noise in 0..1, as large as the network's input. The caller frees it. */
float *oracle_noise(const network *net);

/* Applies scale_x_y and new_coords of [yolo], which Debian's Darknet does not know, to the
 * outputs of layer `index`. */
void oracle_update_yolo(network *net, int index, const struct mafat_layer *l);

#endif
