/* The kinds that there are, each in the file named beside it, and what several of them share. */
#ifndef MAFAT_NETWORK_KINDS_KINDS_H
#define MAFAT_NETWORK_KINDS_KINDS_H

#include "network/kind.h"

extern const struct mafat_kind mafat_kind_convolutional; /* conv.c */
extern const struct mafat_kind mafat_kind_maxpool;       /* pool.c */
extern const struct mafat_kind mafat_kind_avgpool;       /* avgpool.c */
extern const struct mafat_kind mafat_kind_route;         /* alias.c */
extern const struct mafat_kind mafat_kind_shortcut;      /* blend.c */
extern const struct mafat_kind mafat_kind_upsample;      /* resize.c */
extern const struct mafat_kind mafat_kind_reorg;         /* reorg.c */
extern const struct mafat_kind mafat_kind_connected;     /* dense.c */
extern const struct mafat_kind mafat_kind_local;         /* local.c */
extern const struct mafat_kind mafat_kind_batchnorm;     /* norm.c */
extern const struct mafat_kind mafat_kind_crop;          /* crop.c */
extern const struct mafat_kind mafat_kind_activation;    /* activation.c */
extern const struct mafat_kind mafat_kind_dropout;       /* alias.c */
extern const struct mafat_kind mafat_kind_cost;          /* alias.c */
extern const struct mafat_kind mafat_kind_softmax;       /* softmax.c */
extern const struct mafat_kind mafat_kind_region;        /* boxes.c */
extern const struct mafat_kind mafat_kind_yolo;          /* boxes.c */
extern const struct mafat_kind mafat_kind_detection;     /* detection.c */
extern const struct mafat_kind mafat_kind_local_avgpool; /* pool.c */
extern const struct mafat_kind mafat_kind_reorg3d;       /* reorg3d.c */
extern const struct mafat_kind mafat_kind_gaussian_yolo; /* boxes.c */
extern const struct mafat_kind mafat_kind_input;         /* input.c */
extern const struct mafat_kind mafat_kind_scale_channels; /* blend.c */
extern const struct mafat_kind mafat_kind_sam;           /* blend.c */
extern const struct mafat_kind mafat_kind_constant;      /* constant.c */
extern const struct mafat_kind mafat_kind_rearrange;     /* rearrange.c */
extern const struct mafat_kind mafat_kind_normalize;     /* normalize.c */
extern const struct mafat_kind mafat_kind_reduce;        /* reduce.c */
extern const struct mafat_kind mafat_kind_matmul;        /* matmul.c */
extern const struct mafat_kind mafat_kind_gather;        /* gather.c */
extern const struct mafat_kind mafat_kind_resample;      /* resample.c */
extern const struct mafat_kind mafat_kind_postprocess;   /* postprocess.c */
extern const struct mafat_kind mafat_kind_quantize;      /* quantize.c */

/* The layer cannot be; `what` goes on from "layer [conv] ". */
int mafat_kind_refuse(const struct mafat_subject *subject, const char *what);
/* Sets the output's shape, where a map can have it. */
int mafat_kind_put_out(struct mafat_layer *l, const struct mafat_subject *subject, long long h, long long w, long long c);
/* infer of kinds whose output has their input's shape. */
int mafat_kind_like_input(struct mafat_layer *l, const struct mafat_subject *subject);
int mafat_kind_check_weights(const struct mafat_subject *subject, double filters, double weights_per_filter);

/* in_span of kinds that read the pixel they write, and of those that read whole maps. */
struct mafat_span mafat_kind_same_span(const struct mafat_layer *l, int operand, bool axis_y, struct mafat_span out);
struct mafat_span mafat_kind_whole_span(const struct mafat_layer *l, int operand, bool axis_y, struct mafat_span out);

/* Of operands and the output, where no multiplier of 31 bits and shift brings one to the other. */
#define MAFAT_KIND_FAR_SCALES "has scales that lie too far apart"

/* numbers of kinds whose operands and output are whole numbers, and of those that put them out as they read them. */
const char *mafat_kind_numbers_alone(const struct mafat_network *n, int layer);
const char *mafat_kind_numbers_kept(const struct mafat_network *n, int layer);

/* Counts of one matrix with a bias for each filter, normalized or not. */
struct mafat_weight_counts mafat_kind_matrix_counts(const struct mafat_layer *l);
/* Of windows over the channels of a group. */
uint64_t mafat_kind_window_macs(const struct mafat_layer *l, uint64_t pixels, int filters, int channels);

#endif
