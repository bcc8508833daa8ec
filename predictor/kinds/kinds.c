#include "predictor/kind.h"

static const struct mafat_predictor_kind *const kinds[MAFAT_N_LAYER_TYPES] = {
    [MAFAT_CONVOLUTIONAL] = &mafat_predictor_convolutional,
    [MAFAT_MAXPOOL] = &mafat_predictor_maxpool,
    [MAFAT_AVGPOOL] = &mafat_predictor_avgpool,
    [MAFAT_SHORTCUT] = &mafat_predictor_shortcut,
    [MAFAT_UPSAMPLE] = &mafat_predictor_upsample,
    [MAFAT_REORG] = &mafat_predictor_reorg,
    [MAFAT_CONNECTED] = &mafat_predictor_connected,
    [MAFAT_LOCAL] = &mafat_predictor_local,
    [MAFAT_BATCHNORM] = &mafat_predictor_batchnorm,
    [MAFAT_CROP] = &mafat_predictor_crop,
    [MAFAT_ACTIVATION_LAYER] = &mafat_predictor_activation,
    [MAFAT_SOFTMAX] = &mafat_predictor_softmax,
    [MAFAT_REGION] = &mafat_predictor_region,
    [MAFAT_YOLO] = &mafat_predictor_yolo,
    [MAFAT_DETECTION] = &mafat_predictor_detection,
    [MAFAT_LOCAL_AVGPOOL] = &mafat_predictor_local_avgpool,
    [MAFAT_REORG3D] = &mafat_predictor_reorg3d,
    [MAFAT_GAUSSIAN_YOLO] = &mafat_predictor_gaussian_yolo,
    [MAFAT_SCALE_CHANNELS] = &mafat_predictor_scale_channels,
    [MAFAT_SAM] = &mafat_predictor_sam,
    [MAFAT_CONSTANT_LAYER] = &mafat_predictor_constant,
    [MAFAT_REARRANGE] = &mafat_predictor_rearrange,
    [MAFAT_NORMALIZE] = &mafat_predictor_normalize,
    [MAFAT_REDUCE] = &mafat_predictor_reduce,
    [MAFAT_MATMUL] = &mafat_predictor_matmul,
    [MAFAT_GATHER] = &mafat_predictor_gather,
    [MAFAT_RESAMPLE] = &mafat_predictor_resample,
    [MAFAT_POSTPROCESS] = &mafat_predictor_postprocess,
    [MAFAT_QUANTIZE] = &mafat_predictor_quantize,
};

const struct mafat_predictor_kind *mafat_predictor_kind(enum mafat_layer_type type)
{
  return kinds[type];
}
