/* Units run as copies: tiles of inputs, weights and outputs go through an arena of the fast
 * memory's size, and every byte that is copied in or out is counted. Nothing is computed; that each
 * tile holds the rows it needs, and that each output is written, is checked by contents. The loops
 * are those of the kernels, and know nothing of the formula (predictor/transfers). */
#ifndef MAFAT_EXPERIMENTS_SEPARABLE_COPYING_H
#define MAFAT_EXPERIMENTS_SEPARABLE_COPYING_H

#include "predictor/transfers/transfers.h"

struct copy_counters {
  uint64_t in, out, weights; /* bytes between the arena and the rest */
  uint64_t moved;            /* inside the arena: rows that a window keeps */
  uint64_t most;             /* of the arena in use */
  const char *wrong;         /* NULL: nothing */
};

/* Adds to the counters. The unit fits. MAFAT_ENOMEM. */
int copy_unit(struct copy_counters *c, const struct mafat_network *n,
              const struct mafat_transfers_options *o, const struct mafat_unit *u);

#endif
