#include "network/kinds/kinds.h"

const struct mafat_kind *const mafat_kinds[MAFAT_N_LAYER_TYPES] = {
    [MAFAT_CONVOLUTIONAL] = &mafat_kind_convolutional,
    [MAFAT_MAXPOOL] = &mafat_kind_maxpool,
    [MAFAT_AVGPOOL] = &mafat_kind_avgpool,
    [MAFAT_ROUTE] = &mafat_kind_route,
    [MAFAT_SHORTCUT] = &mafat_kind_shortcut,
    [MAFAT_UPSAMPLE] = &mafat_kind_upsample,
    [MAFAT_REORG] = &mafat_kind_reorg,
    [MAFAT_CONNECTED] = &mafat_kind_connected,
    [MAFAT_LOCAL] = &mafat_kind_local,
    [MAFAT_BATCHNORM] = &mafat_kind_batchnorm,
    [MAFAT_CROP] = &mafat_kind_crop,
    [MAFAT_ACTIVATION_LAYER] = &mafat_kind_activation,
    [MAFAT_DROPOUT] = &mafat_kind_dropout,
    [MAFAT_COST] = &mafat_kind_cost,
    [MAFAT_SOFTMAX] = &mafat_kind_softmax,
    [MAFAT_REGION] = &mafat_kind_region,
    [MAFAT_YOLO] = &mafat_kind_yolo,
    [MAFAT_DETECTION] = &mafat_kind_detection,
};

/* ---- shared ---- */

struct mafat_span mafat_kind_same_span(const struct mafat_layer *l, int operand, bool axis_y, struct mafat_span out)
{
  (void)l, (void)operand, (void)axis_y;
  return out;
}

struct mafat_span mafat_kind_whole_span(const struct mafat_layer *l, int operand, bool axis_y, struct mafat_span out)
{
  (void)operand, (void)out;
  return mafat_span(0, axis_y ? l->in.h : l->in.w);
}

struct mafat_weight_counts mafat_kind_matrix_counts(const struct mafat_layer *l)
{
  struct mafat_matrix m = mafat_layer_matrix(l);
  uint64_t filters = (uint64_t)m.filters;
  return (struct mafat_weight_counts){filters, l->batch_normalize ? 3 * filters : 0, filters * mafat_matrix_row(m)};
}

uint64_t mafat_kind_window_macs(const struct mafat_layer *l, uint64_t pixels, int filters, int channels)
{
  uint64_t taps = (uint64_t)mafat_layer_matrix(l).taps;
  return pixels * (uint64_t)filters * (uint64_t)(channels / l->groups) * taps;
}
