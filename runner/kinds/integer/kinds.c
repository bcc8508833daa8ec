#include "runner/kinds/integer/integer.h"

static const struct mafat_runner_kind *const kinds[MAFAT_N_LAYER_TYPES] = {
    [MAFAT_QUANTIZE] = &mafat_integer_quantize,
};

const struct mafat_runner_kind *mafat_runner_integer_kind(enum mafat_layer_type type)
{
  return kinds[type];
}
