/* A cache of arena sizes, by a hash of the sizes and lifetimes of a plan's buffers. Assigning
 * offsets is the slowest part of predicting a plan, and many plans of a search have equal buffers.
 * Included by search/least/least.c. Only the hash function allocates, in the plan's heap. */
#ifndef MAFAT_SEARCH_COMMON_KNOWN_ARENAS_H
#define MAFAT_SEARCH_COMMON_KNOWN_ARENAS_H

#include "predictor/layout/layout.h"

#include <stdint.h>

enum { MAFAT_KNOWN_ARENAS = 4096 }; /* entries, direct-mapped; a power of two */

/* The cache; all zeros: empty. A new entry replaces the one with the same remainder of its hash. */
struct mafat_known_arenas {
  struct {
    uint64_t lives; /* hash */
    size_t bytes;   /* arena bytes */
  } of[MAFAT_KNOWN_ARENAS];
};

/* Hash of the sizes and lifetimes of the plan's buffers, whatever their order. Times are renumbered
 * by counting the starts and ends of lifetimes, so only the overlaps count. Returns 0 if memory is
 * short. */
uint64_t mafat_known_arenas_hash(const struct mafat_layout *layout, const struct mafat_plan *plan);

/* Cached arena bytes of a hash; 0: unknown, or the hash is 0. */
size_t mafat_known_arenas_find(const struct mafat_known_arenas *known, uint64_t lives);
void mafat_known_arenas_note(struct mafat_known_arenas *known, uint64_t lives, size_t bytes);

#endif
