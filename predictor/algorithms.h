/* Which algorithm each convolution of a plan uses: the options' choice, and what the
 * words of a group say otherwise: ":direct" and ":winograd", for all of the group's
 * layers, or ":direct22,26-28" for some. */
#ifndef MAFAT_PREDICTOR_ALGORITHMS_H
#define MAFAT_PREDICTOR_ALGORITHMS_H

#include "predictor/plan.h"

/* A word as written. */
struct mafat_algorithm_word {
  bool given;
  struct mafat_span *layers; /* (n); none: all of the group */
  int n;
};

/* Fills plan->algorithms by the options alone. MAFAT_ENOMEM. */
int mafat_algorithms_default(struct mafat_plan *plan, const struct mafat_network *n);

/* Reads the layers behind a word from *at and moves it on. MAFAT_EINVAL with the
 * position in `text`, MAFAT_ENOMEM. */
int mafat_algorithms_take(struct mafat_algorithm_word *word, const char *text, const char **at,
                          struct mafat_diagnostic *d);
void mafat_algorithms_release(struct mafat_algorithm_word *word);

/* Applies a word to the group of layers [first, end). MAFAT_EINVAL: a layer is not
 * in the group, or has no such algorithm. */
int mafat_algorithms_apply(struct mafat_plan *plan, const struct mafat_network *n, int first, int end,
                           enum mafat_algorithm algorithm, const struct mafat_algorithm_word *word, const char *text,
                           struct mafat_diagnostic *d);

/* Writes the words that layers [first, end) need, as snprintf does: at most `room`
 * bytes with the NUL; returns the length without it. */
size_t mafat_algorithms_write(const struct mafat_plan *plan, const struct mafat_network *n, int first, int end,
                              char *text, size_t room);

#endif
