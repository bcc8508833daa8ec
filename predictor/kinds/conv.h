/* Functions that conv.c and conv_winograd.c share. Included by these and by
 * runner/engine/kinds/conv.c. */
#ifndef MAFAT_PREDICTOR_KINDS_CONV_H
#define MAFAT_PREDICTOR_KINDS_CONV_H

#include "predictor/cost/counting.h"
#include "predictor/plan/packing.h"
#include "predictor/schedule/scratch.h"

/* Request to plan the scratch of a convolution's steps. */
struct mafat_conv_request {
  const struct mafat_plan *plan;
  const struct mafat_layer *layer; /* layer that reads the input */
  int index;                       /* its number */
  const struct mafat_layer *pointwise; /* the 1x1 that contains it, if it is depthwise; or NULL */
  enum mafat_dtype in_type;        /* type of its input */
  int rows, cols;                  /* largest output */
  struct mafat_span channels;      /* input channels */
  bool pool;                       /* pooled in the store */
  const struct mafat_winograd *winograd; /* NULL: direct */
  bool transforms;                 /* Winograd's input is transformed in a separate step */
};

int mafat_conv_layer_panels(const struct mafat_layer *l);

/* Reduces rows per call if threads would get too few calls. */
int mafat_conv_share_rows(int rows_per_call, int rows, int units_per_call, int n_threads);

/* Number of blocks, of at most rows_per_call rows, in which `rows` rows are computed. Each block
 * has n panels or groups. Chosen so that threads get equal numbers of units, as far as `lines` rows
 * that stay together allow. */
int mafat_conv_blocks(int rows, int lines, int rows_per_call, int n, int n_threads);

/* Appends a row of zeros as long as the taps of `cols` outputs. */
bool mafat_conv_append_zeros(struct mafat_scratch *s, const struct mafat_conv_request *r, int cols);

bool mafat_conv_plan_winograd(const struct mafat_conv_request *r, struct mafat_scratch *s);
void mafat_conv_count_winograd(struct mafat_counting *c);

#endif
