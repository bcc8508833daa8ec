/* Simulates units (layers that are computed together) by copying: tiles of inputs, weights and
 * outputs pass through an arena of the fast memory's size, and every byte copied in or out is
 * counted. Nothing is computed; contents show whether each tile has the rows it needs and each
 * output is written. The loops follow the kernels, not the formula (predictor/transfers) that the
 * count checks. Included by copying.c and separable.c. */
#ifndef MAFAT_EXPERIMENTS_SEPARABLE_COPYING_H
#define MAFAT_EXPERIMENTS_SEPARABLE_COPYING_H

#include "predictor/transfers/transfers.h"

struct copy_counters {
  uint64_t in, out, weights; /* bytes copied between the arena and the slow memory */
  uint64_t moved;            /* bytes moved inside the arena: rows that a window keeps */
  uint64_t most;             /* largest number of arena bytes in use */
  const char *wrong;         /* first error; NULL: none */
};

/* Simulates a unit that fits in the fast memory, and adds to the counters. Returns MAFAT_OK or
 * MAFAT_ENOMEM. */
int copy_unit(struct copy_counters *c, const struct mafat_network *n,
              const struct mafat_transfers_options *o, const struct mafat_unit *u);

#endif
