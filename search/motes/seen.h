/* Which states have been looked at: beams only become better, so what did not stay in one need not be looked at again. */
#ifndef MAFAT_SEARCH_MOTES_SEEN_H
#define MAFAT_SEARCH_MOTES_SEEN_H

#include "search/motes/state.h"

struct mafat_motes_seen {
  uint64_t *hashes; /* [room], a power of two; 0: free */
  size_t n, room;
};

/* *seen: has it been asked for before? By a hash of its schemes, in any order. MAFAT_ENOMEM. */
int mafat_motes_see(struct mafat_motes_seen *all, const struct mafat_motes_state *state, bool *seen, struct mafat_heap *heap);
void mafat_motes_forget(struct mafat_motes_seen *all, struct mafat_heap *heap);

#endif
