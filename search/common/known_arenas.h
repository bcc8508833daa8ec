/* A cache of arena sizes. Its key is a hash of the sizes and lifetimes of a plan's buffers.
 * Assigning offsets is the slowest part of predicting a plan, and many plans of a search have equal
 * buffers. Included by search/least/least.c. Only the hash function allocates, from the plan's
 * heap; it frees before it returns. */
#ifndef MAFAT_SEARCH_COMMON_KNOWN_ARENAS_H
#define MAFAT_SEARCH_COMMON_KNOWN_ARENAS_H

#include "predictor/layout/layout.h"

#include <stdint.h>

enum { MAFAT_KNOWN_ARENAS = 4096 }; /* number of entries; a power of two */

/* The cache. If all bytes are 0, it is empty. A hash h is stored at of[h % MAFAT_KNOWN_ARENAS],
 * where it replaces the old entry. */
struct mafat_known_arenas {
  struct {
    uint64_t lives; /* hash of sizes and lifetimes */
    size_t bytes;   /* bytes of the arena */
  } of[MAFAT_KNOWN_ARENAS];
};

/* Returns a hash of the sizes and lifetimes of the plan's buffers. It does not depend on the order
 * of the buffers, nor on times at which no lifetime begins or ends: these are skipped. Returns 0
 * if out of memory. */
uint64_t mafat_known_arenas_hash(const struct mafat_layout *layout, const struct mafat_plan *plan);

/* Returns the arena bytes for a hash; 0: unknown, or the hash is 0. */
size_t mafat_known_arenas_find(const struct mafat_known_arenas *known, uint64_t lives);
/* Stores the arena bytes for a hash. */
void mafat_known_arenas_note(struct mafat_known_arenas *known, uint64_t lives, size_t bytes);

#endif
