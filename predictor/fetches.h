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
  MAFAT_FETCH_BYTES = 144 << 10, /* of one read, wherever the plan leaves a choice */
  MAFAT_FETCH_FILTERS_BYTES = 192 << 10, /* the same of Darknet's filters, which are packed 4 at a time or more */
