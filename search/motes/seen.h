/* A set of evaluated states. Beams only improve, so a state that was dropped needs no second
 * evaluation. Included by search/motes/motes.c. Allocates in the caller's heap. */
#ifndef MAFAT_SEARCH_MOTES_SEEN_H
#define MAFAT_SEARCH_MOTES_SEEN_H

#include "search/motes/state.h"

struct mafat_motes_seen {
  uint64_t *hashes; /* [room] hashes, a power of two; 0: free */
  size_t n, capacity;
};

/* Adds a state by a hash of its schemes, in any order; *seen: it was present. MAFAT_ENOMEM. */
int mafat_motes_see(struct mafat_motes_seen *all, const struct mafat_motes_state *state, bool *seen,
                    struct mafat_heap *heap);
void mafat_motes_forget(struct mafat_motes_seen *all, struct mafat_heap *heap);

#endif
