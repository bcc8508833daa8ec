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
extern const struct mafat_predictor_kind mafat_predictor_convolutional, mafat_predictor_maxpool,
    mafat_predictor_avgpool, mafat_predictor_shortcut, mafat_predictor_upsample, mafat_predictor_reorg,
    mafat_predictor_connected, mafat_predictor_local, mafat_predictor_batchnorm, mafat_predictor_crop,
    mafat_predictor_activation, mafat_predictor_softmax, mafat_predictor_region, mafat_predictor_yolo,
    mafat_predictor_detection, mafat_predictor_local_avgpool, mafat_predictor_reorg3d,
    mafat_predictor_gaussian_yolo, mafat_predictor_scale_channels, mafat_predictor_sam, mafat_predictor_constant, mafat_predictor_rearrange,
    mafat_predictor_normalize, mafat_predictor_reduce, mafat_predictor_matmul, mafat_predictor_gather,
    mafat_predictor_resample, mafat_predictor_postprocess, mafat_predictor_quantize;

/* NULL: nothing of that type is computed: an input, or what renames what it reads. */
const struct mafat_predictor_kind *mafat_predictor_kind(enum mafat_layer_type type);

#endif
