/* Writes random numbers to a file, with a progress bar. A seed gives the same numbers on every
 * machine. Allocates a buffer, which numbers_close frees. Included by like.c and make_weights.c. */
#ifndef MAFAT_PROGRAMS_MAKE_WEIGHTS_NUMBERS_H
#define MAFAT_PROGRAMS_MAKE_WEIGHTS_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct numbers_file {
  FILE *file; /* write errors are kept in it (ferror); the caller checks them at the end */
  uint64_t state; /* of the random number generator */
  float *buffer;  /* (BUFFER_FLOATS) */
  size_t n;       /* floats in the buffer */
  uint64_t done, total; /* floats written, and to write in all, for the progress bar */
};

/* total: number of floats that will be written, for the progress bar. Returns false if memory is
 * short. */
bool numbers_open(struct numbers_file *w, FILE *file, uint64_t seed, uint64_t total, bool quiet);
/* Writes the buffered numbers and frees the buffer. */
void numbers_close(struct numbers_file *w);

/* Writes n random numbers, uniform in [centre - spread, centre + spread]. */
void numbers_put(struct numbers_file *w, uint64_t n, float centre, float spread);
/* Writes the buffered numbers. */
void numbers_flush(struct numbers_file *w);

#endif
