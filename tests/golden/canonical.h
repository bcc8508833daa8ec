/* A plan's consequences as text in the user's terms: layers by their numbers in the cfg, kinds by
 * name, bytes and rows as numbers. It does not depend on structs, values of enums, the process or
 * paths, so that a different text means different behaviour. */
#ifndef MAFAT_TESTS_GOLDEN_CANONICAL_H
#define MAFAT_TESTS_GOLDEN_CANONICAL_H

#include "predictor/cost/calibration.h"
#include "predictor/layout/layout.h"
#include "tests/golden/hash.h"

#include <stdio.h>

enum golden_aspect {
  GOLDEN_PLAN,  /* its canonical text, groups with their members and bounds, order; of layers:
                   algorithm, weight placement */
  GOLDEN_STEPS, /* of the schedule, in order */
  GOLDEN_ARENA, /* buffers with bytes, offsets and lives; maps as they lie in them */
  GOLDEN_READS, /* of the weights file, in order; the ring */
  GOLDEN_COST,  /* multiply-adds, predicted bytes without the process, milliseconds at built-in
                   prices */
  GOLDEN_N_ASPECTS
};

/* "plan" ... */
const char *golden_aspect_name(enum golden_aspect aspect);

/* Destination of text: it is hashed, and written to `show` if that is not NULL. */
struct golden_text {
  uint64_t hash; /* GOLDEN_HASH_START */
  FILE *show;
};

void golden_say(struct golden_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A plan, and all that follows from it. */
struct golden_case {
  const struct mafat_network *network;
  const struct mafat_plan *plan;
  const struct mafat_layout *layout;
  const struct mafat_calibration *calibration;
};

/* MAFAT_ENOMEM, MAFAT_ELIMIT. */
int golden_write(struct golden_text *text, enum golden_aspect aspect, const struct golden_case *c);

#endif
