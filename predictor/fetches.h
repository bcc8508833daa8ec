/* What a run reads from its weights file, in order. A pure function of the plan
 * (and so of the file's kind, plan->packed): the layout walks it dry to size the
 * ring and to count bytes, the weights reader walks it ahead of the executor.
 *
 * From a packed file a streamed step reads its slices as they are; they stay in
 * the ring while the step runs. From Darknet's own file come runs of whole
 * filters, which are packed into the panel buffer; and, where a layer begins, the
 * layer's per-filter values, into the affine buffer. A loaded layer is read in
 * pieces before its first step, and each is copied or packed to its place. */
#ifndef MAFAT_PREDICTOR_FETCHES_H
#define MAFAT_PREDICTOR_FETCHES_H

#include "predictor/schedule.h"

enum {
  MAFAT_FETCH_ALIGNMENT = 4096, /* direct I/O: at most; what a plan costs does not depend on the disk */
  MAFAT_FETCH_BYTES = 384 << 10, /* of one read, wherever the plan leaves a choice */
  MAFAT_RING_FETCHES = 3         /* of the largest size that the ring holds */
};

struct mafat_fetch_sizes {
  size_t ring_bytes;   /* 0: nothing is read while the plan runs */
  size_t panel_bytes;  /* where filters of Darknet's file are packed for a step */
  size_t affine_bytes; /* scales and biases of a layer of Darknet's file */
  uint64_t bytes_read; /* in one run, without what alignment adds */
};

/* Walks all the fetches of a run. MAFAT_ENOMEM; MAFAT_ELIMIT on overflow. */
int mafat_fetches_size(const struct mafat_network *n, const struct mafat_plan *plan,
                       struct mafat_fetch_sizes *sizes);

#endif
