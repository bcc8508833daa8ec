/* What conv.c and conv_winograd.c share. */
#ifndef MAFAT_PREDICTOR_KINDS_CONV_H
#define MAFAT_PREDICTOR_KINDS_CONV_H

#include "predictor/cost/counting.h"
#include "predictor/plan/packing.h"
#include "predictor/schedule/scratch.h"

/* A convolution's steps, whose scratch is planned. */
struct mafat_conv_request {
  const struct mafat_plan *plan;
  const struct mafat_layer *layer; /* the one that reads the input */
  int index;                       /* its number */
  const struct mafat_layer *pointwise; /* the one that it lies inside, of a depthwise layer the 1x1; or NULL */
  enum mafat_dtype in_type;        /* of what it reads */
  int rows, cols;                  /* of its output, at most */
  struct mafat_span channels;      /* of its input */
  bool pool;                       /* pooled in the store */
  const struct mafat_winograd *winograd; /* NULL: direct */
  bool transforms;                 /* Winograd's input in a step of its own */
};

int mafat_conv_layer_panels(const struct mafat_layer *l);

/* Fewer rows per call where threads would otherwise find too few calls. */
int mafat_conv_share_rows(int rows_per_call, int rows, int units_per_call, int n_threads);

/* In how many blocks of at most rows_per_call rows a step's `rows` are computed, each of n panels or groups, so that
 * all threads have as many units, where `lines` of them, which stay together, allow. */
int mafat_conv_blocks(int rows, int lines, int rows_per_call, int n, int n_threads);

/* A row as long as the taps of `cols` outputs. */
bool mafat_conv_append_zeros(struct mafat_scratch *s, const struct mafat_conv_request *r, int cols);

bool mafat_conv_plan_winograd(const struct mafat_conv_request *r, struct mafat_scratch *s);
void mafat_conv_count_winograd(struct mafat_counting *c);

#endif
