/* Predictor's interface of a kind of layer: scratch and work of its steps. Each kind has a file in
 * predictor/kinds/, named as in network/kinds and runner/engine/kinds, and an entry in the table.
 * Called by cost/work.c and schedule/scratch.c; included by kinds/. */
#ifndef MAFAT_PREDICTOR_KIND_H
#define MAFAT_PREDICTOR_KIND_H

#include "network/network.h"

struct mafat_counting;        /* counting.h */
struct mafat_scratch;         /* scratch.h */
struct mafat_scratch_request;

struct mafat_predictor_kind {
  /* Plans the scratch of steps whose innermost layer is of this kind, in a zeroed record; false on
   * overflow. NULL: no scratch. */
  bool (*scratch)(const struct mafat_scratch_request *r, struct mafat_scratch *s);
  /* Counts the work of one layer in a step. */
  void (*count)(struct mafat_counting *c);
};

/* Defined in the files of predictor/kinds/. */
#define KIND(CONSTANT, name, integers) \
  extern const struct mafat_predictor_kind mafat_predictor_##name;
#define STEPLESS(CONSTANT, name)
#include "network/kinds.def"

/* Returns NULL for a type without steps: an input or an alias. */
const struct mafat_predictor_kind *mafat_predictor_kind(enum mafat_layer_type type);

#endif
