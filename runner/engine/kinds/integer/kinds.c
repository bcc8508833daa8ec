/* Table of the runners for layers with quantized inputs, generated from network/kinds.def. Called
 * by runner/engine/kinds/kinds.c. Touches only its arguments. */
#include "runner/engine/kinds/integer/integer.h"

static const struct mafat_runner_kind *const kinds[MAFAT_N_LAYER_TYPES] = {
#define INTEGERS(kind) &kind
#define FLOATS_ONLY NULL
#define KIND(CONSTANT, name, integers) [MAFAT_##CONSTANT] = integers,
#define STEPLESS(CONSTANT, name)
#include "network/kinds.def"
};

const struct mafat_runner_kind *mafat_runner_integer_kind(enum mafat_layer_type type)
{
  return kinds[type];
}
