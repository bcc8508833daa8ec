/* A set of the states that were tried. A beam only gets better, so a state that was dropped from it
 * once need not be tried again. Included by search/motes/motes.c. Allocates in the caller's heap.
 * */
#ifndef MAFAT_SEARCH_MOTES_SEEN_H
#define MAFAT_SEARCH_MOTES_SEEN_H

#include "search/motes/state.h"

/* All zeros: empty. */
struct mafat_motes_seen {
  uint64_t *hashes; /* [capacity] hashes of states; 0: a free slot */
  size_t n, capacity; /* number of states; number of slots, a power of two */
};

/* Adds a state, by a hash of the set of its schemes. *seen: true if it was there already. Returns
 * MAFAT_OK or MAFAT_ENOMEM. */
int mafat_motes_see(struct mafat_motes_seen *all, const struct mafat_motes_state *state, bool *seen,
                    struct mafat_heap *heap);
/* Frees the set and makes it empty. */
void mafat_motes_forget(struct mafat_motes_seen *all, struct mafat_heap *heap);

#endif
