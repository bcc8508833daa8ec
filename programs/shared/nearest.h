/* Finds the known word nearest to a misspelled one, for "did you mean". Touches only its arguments.
 * Included by programs/mafat/mafat.c and programs/shared/refused_option.c. */
#ifndef MAFAT_PROGRAM_NEAREST_H
#define MAFAT_PROGRAM_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

/* A search for the known word nearest to `word`. The caller begins it as {word, length, NULL,
 * 0}. */
struct mafat_nearest {
  const char *word;
  size_t length;
  const char *best; /* NULL: no candidate is near */
  size_t distance;  /* number of changes from word to best */
};

/* Returns true if `candidate` becomes the best: it is nearer than the best so far, and the changes
 * are at most half as many as its letters. A swap of two neighbouring letters is one change. */
bool mafat_nearest_try(struct mafat_nearest *n, const char *candidate);

#endif
