/* What buffers with the same sizes and lives needed when their offsets were assigned before: plans that differ where little lives have the same,
 * and assigning many offsets takes longer than all else that is found out about a plan. */
#ifndef MAFAT_SEARCH_COMMON_KNOWN_ARENAS_H
#define MAFAT_SEARCH_COMMON_KNOWN_ARENAS_H

#include "predictor/layout/layout.h"

#include <stdint.h>

enum { MAFAT_KNOWN_ARENAS = 4096 }; /* that are remembered, each in its place: a power of two */

/* All zero: nothing is known. */
struct mafat_known_arenas {
  struct {
    uint64_t lives;
    size_t bytes;
  } of[MAFAT_KNOWN_ARENAS];
};

/* Of the sizes and lives of the plan's buffers, in any order, with times counted by those at which one begins or ends.
 * 0: out of memory. */
uint64_t mafat_known_arenas_hash(const struct mafat_layout *layout, const struct mafat_plan *plan);

/* Bytes; 0: nothing is known. */
size_t mafat_known_arenas_find(const struct mafat_known_arenas *known, uint64_t lives);
void mafat_known_arenas_note(struct mafat_known_arenas *known, uint64_t lives, size_t bytes);

#endif
