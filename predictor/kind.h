/* The predictor's floor of a kind of layer: what a step of it works in and what it asks of the
 * machine. Each kind has a file here, of the same name as on the other floors (network/kinds,
 * runner/engine/kinds), and an entry in the table. */
#ifndef MAFAT_PREDICTOR_KIND_H
#define MAFAT_PREDICTOR_KIND_H

#include "network/network.h"

struct mafat_counting;        /* counting.h */
struct mafat_scratch;         /* scratch.h */
struct mafat_scratch_request;

struct mafat_predictor_kind {
  /* Plans the scratch of steps whose input layers of this kind read, into a record of zeros; false
   * on overflow. NULL: they need none. */
  bool (*scratch)(const struct mafat_scratch_request *r, struct mafat_scratch *s);
  /* Counts a step's work: that of one layer in it. */
  void (*count)(struct mafat_counting *c);
};

/* In files of the kinds. */
#define KIND(CONSTANT, name, integers) extern const struct mafat_predictor_kind mafat_predictor_##name;
#define STEPLESS(CONSTANT, name)
#include "network/kinds.def"

/* NULL: nothing of that type is computed: an input, or what renames what it reads. */
const struct mafat_predictor_kind *mafat_predictor_kind(enum mafat_layer_type type);

#endif
