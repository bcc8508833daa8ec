/* Finds the known word nearest to a misspelled one, for "did you mean". Pure. Included by
 * programs/mafat/mafat.c and refused_option.c. */
#ifndef MAFAT_PROGRAM_NEAREST_H
#define MAFAT_PROGRAM_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

/* The best candidate so far; begins as {word, length, NULL, 0}. */
struct mafat_nearest {
  const char *word;
  size_t length;
  const char *best; /* NULL: no candidate is near */
  size_t distance;  /* of the best */
};

/* Returns true if `candidate` becomes the best: it is nearer than the best so far, and at most half
 * of its letters differ. A swap of two neighbouring letters counts as one change. */
bool mafat_nearest_try(struct mafat_nearest *n, const char *candidate);

#endif
