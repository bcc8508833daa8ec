/* A set of the states that were tried. The states of a beam only get better, so a state that was
 * once dropped from it need not be tried again. Included by search/motes/motes.c. Allocates from
 * the caller's heap. */
#ifndef MAFAT_SEARCH_MOTES_SEEN_H
#define MAFAT_SEARCH_MOTES_SEEN_H

#include "search/motes/state.h"

/* The set. If all members are 0, it is empty. */
struct mafat_motes_seen {
  uint64_t *hashes; /* [capacity] hashes of states; 0: a free slot */
  size_t n, capacity; /* number of states; number of slots, a power of two */
};

/* Adds the hash of a state's schemes. *seen: true if the set had this hash already. Returns
 * MAFAT_OK or MAFAT_ENOMEM. */
int mafat_motes_see(struct mafat_motes_seen *all, const struct mafat_motes_state *state, bool *seen,
                    struct mafat_heap *heap);
/* Frees the set and makes it empty. */
void mafat_motes_forget(struct mafat_motes_seen *all, struct mafat_heap *heap);

#endif
