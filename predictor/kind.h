/* For each kind of layer (network/kinds.def), the functions that predict scratch and work of its
 * steps. They are in predictor/kinds/, in files named as in network/kinds and runner/engine/kinds.
 * Called by cost/work.c and schedule/scratch.c; included by kinds/. */
#ifndef MAFAT_PREDICTOR_KIND_H
#define MAFAT_PREDICTOR_KIND_H

#include "network/network.h"

struct mafat_counting;        /* counting.h */
struct mafat_scratch;         /* scratch.h */
struct mafat_scratch_request;

struct mafat_predictor_kind {
  /* Fills in the scratch of steps whose innermost layer is of this kind. `s` is zeroed on entry.
   * Returns false on overflow. The pointer is NULL if such steps need no scratch. */
  bool (*scratch)(const struct mafat_scratch_request *r, struct mafat_scratch *s);
  /* Adds the work of one layer in a step to c->n. */
  void (*count)(struct mafat_counting *c);
};

#define KIND(CONSTANT, name, integers) \
  extern const struct mafat_predictor_kind mafat_predictor_##name;
#define STEPLESS(CONSTANT, name)
#include "network/kinds.def"

/* Returns the functions of a kind; NULL for a type without steps (an input or an alias). */
const struct mafat_predictor_kind *mafat_predictor_kind(enum mafat_layer_type type);

#endif
