/* Table of the predictor's kinds of layers, generated from network/kinds.def. Read by
 * predictor/cost/work.c and predictor/schedule/scratch.c. */
#include "predictor/kind.h"

static const struct mafat_predictor_kind *const kinds[MAFAT_N_LAYER_TYPES] = {
#define KIND(CONSTANT, name, integers) [MAFAT_##CONSTANT] = &mafat_predictor_##name,
#define STEPLESS(CONSTANT, name)
#include "network/kinds.def"
};

const struct mafat_predictor_kind *mafat_predictor_kind(enum mafat_layer_type type)
{
  return kinds[type];
}
