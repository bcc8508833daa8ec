/* Writes everything that follows from a plan as text: layers by their numbers in the cfg, kinds
 * by name, bytes and rows as numbers. The text does not depend on struct layouts, enum values,
 * addresses or paths, so a changed text means changed behaviour. Writes to the caller's FILE.
 * Included by canonical.c and golden.c. */
#ifndef MAFAT_TESTS_GOLDEN_CANONICAL_H
#define MAFAT_TESTS_GOLDEN_CANONICAL_H

#include "predictor/cost/calibration.h"
#include "predictor/layout/layout.h"
#include "tests/golden/hash.h"

#include <stdio.h>

enum golden_aspect {
  /* the plan's text, groups with layers and bounds, execution order; algorithm and weight
   * placement of each layer */
  GOLDEN_PLAN,
  GOLDEN_STEPS, /* steps of the schedule, in order */
  /* buffers with bytes, offsets and lifetimes; maps with their position in a buffer */
  GOLDEN_ARENA,
  GOLDEN_READS, /* reads of the weights file, in order; size of the ring buffer */
  /* multiply-adds, predicted bytes without the process footprint, predicted ms */
  GOLDEN_COST,
  GOLDEN_N_ASPECTS
};

/* "plan", "steps", "arena", "reads" or "cost". */
const char *golden_aspect_name(enum golden_aspect aspect);

/* Destination of a text: the text is hashed and, if `show` is not NULL, also written there. */
struct golden_text {
  uint64_t hash; /* GOLDEN_HASH_START at first */
  FILE *show;
};

void golden_say(struct golden_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A plan, its network and layout, and the calibration by which its time is predicted. */
struct golden_case {
  const struct mafat_network *network;
  const struct mafat_plan *plan;
  const struct mafat_layout *layout;
  const struct mafat_calibration *calibration;
};

/* Writes one aspect. Returns MAFAT_OK, MAFAT_ENOMEM or MAFAT_ELIMIT. */
int golden_write(struct golden_text *text, enum golden_aspect aspect, const struct golden_case *c);

#endif
