/* Estimates the work of decoding a picture from its file's markers, before it is decoded, so that
 * quick pictures need not wait for slow ones. Reads the file; allocates nothing. Included by
 * connection.c. */
#ifndef MAFAT_PROGRAM_SERVE_PICTURE_COST_H
#define MAFAT_PROGRAM_SERVE_PICTURE_COST_H

#include <stddef.h>

/* Returns pixels times scans for a JPEG and pixels for a PNG, each at most 2^35; for other files,
 * the number of bytes. A wrong estimate changes only the order in which pictures run. */
double mafat_picture_cost(int fd, size_t bytes);

#endif
