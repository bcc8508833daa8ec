#include "runner/engine/kinds/integer/integer.h"

static const struct mafat_runner_kind *const kinds[MAFAT_N_LAYER_TYPES] = {
    [MAFAT_CONVOLUTIONAL] = &mafat_integer_convolutional,
    [MAFAT_MAXPOOL] = &mafat_integer_maxpool,
    [MAFAT_LOCAL_AVGPOOL] = &mafat_integer_local_avgpool,
    [MAFAT_SHORTCUT] = &mafat_integer_shortcut,
    [MAFAT_SCALE_CHANNELS] = &mafat_integer_shortcut,
    [MAFAT_SAM] = &mafat_integer_shortcut,
    [MAFAT_UPSAMPLE] = &mafat_integer_upsample,
    [MAFAT_ACTIVATION_LAYER] = &mafat_integer_activation,
    [MAFAT_MATMUL] = &mafat_integer_matmul,
    [MAFAT_NORMALIZE] = &mafat_integer_normalize,
    [MAFAT_REDUCE] = &mafat_integer_reduce,
    [MAFAT_REARRANGE] = &mafat_integer_rearrange,
    [MAFAT_RESAMPLE] = &mafat_integer_resample,
    [MAFAT_CONSTANT_LAYER] = &mafat_integer_constant,
    [MAFAT_POSTPROCESS] = &mafat_runner_postprocess, /* which takes numbers for what they mean */
    [MAFAT_QUANTIZE] = &mafat_integer_quantize,
};

const struct mafat_runner_kind *mafat_runner_integer_kind(enum mafat_layer_type type)
{
  return kinds[type];
}
