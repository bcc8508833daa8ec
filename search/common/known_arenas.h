/* A cache of arena sizes by the sizes and lives of buffers. Assigning many offsets is the slowest
 * part of measuring a plan, and plans that differ away from the peak share the result. Included by
 * search/least/least.c. Hashing allocates in the plan's heap. */
#ifndef MAFAT_SEARCH_COMMON_KNOWN_ARENAS_H
#define MAFAT_SEARCH_COMMON_KNOWN_ARENAS_H

#include "predictor/layout/layout.h"

#include <stdint.h>

enum { MAFAT_KNOWN_ARENAS = 4096 }; /* entries, direct-mapped; a power of two */

/* All zeros: empty. */
struct mafat_known_arenas {
  struct {
    uint64_t lives;
    size_t bytes;
  } of[MAFAT_KNOWN_ARENAS];
};

/* Hash of the sizes and lives of the plan's buffers, independent of their order; times are
 * renumbered by the starts and ends of lives. 0: out of memory. */
uint64_t mafat_known_arenas_hash(const struct mafat_layout *layout, const struct mafat_plan *plan);

/* Cached bytes; 0: unknown. */
size_t mafat_known_arenas_find(const struct mafat_known_arenas *known, uint64_t lives);
void mafat_known_arenas_note(struct mafat_known_arenas *known, uint64_t lives, size_t bytes);

#endif
