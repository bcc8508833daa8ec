/* Scratch of convolutions: what conv.c and conv_winograd.c share, and how the executor divides rows
 * among threads. Included by these files and by runner/engine/kinds/conv.c. Allocates nothing. */
#ifndef MAFAT_PREDICTOR_KINDS_CONV_H
#define MAFAT_PREDICTOR_KINDS_CONV_H

#include "predictor/cost/counting.h"
#include "predictor/plan/packing.h"
#include "predictor/schedule/scratch.h"

/* Request to plan the scratch of a convolution's steps. */
struct mafat_conv_request {
  const struct mafat_plan *plan;
  const struct mafat_layer *layer; /* innermost layer of the step, which reads its input */
  int index;                       /* number of that layer */
  const struct mafat_layer *pointwise; /* 1x1 convolution into which `layer` is fused; else NULL */
  enum mafat_dtype in_type;        /* type of the input */
  int rows, cols;                  /* largest output box, before fused pooling */
  struct mafat_span channels;      /* input channels */
  bool pool;                       /* a maxpool is fused, which pools the outputs */
  const struct mafat_winograd *winograd; /* NULL: direct */
  bool transforms;                 /* Winograd's input is transformed in a separate step */
};

/* Number of panels of an ungrouped convolution. */
int mafat_conv_layer_panels(const struct mafat_layer *l);

/* Returns rows_per_call, or fewer rows if n_threads threads would otherwise get too few calls for a
 * step's `rows` rows. units_per_call: work items into which a call is divided. */
int mafat_conv_share_rows(int rows_per_call, int rows, int units_per_call, int n_threads);

/* Returns the number of blocks in which `rows` rows are computed, with at most rows_per_call rows
 * each. A block has n units (panels or groups); the threads get equal numbers of units, if
 * possible. There are at most `lines` blocks: the number of rows, or of pairs of rows if these stay
 * together. */
int mafat_conv_blocks(int rows, int lines, int rows_per_call, int n, int n_threads);

/* Appends a row of zeros, for padding, to each worker's slot. The row is as long as the input of
 * `cols` output columns. False on overflow. */
bool mafat_conv_append_zeros(struct mafat_scratch *s, const struct mafat_conv_request *r, int cols);

/* conv_winograd.c: Winograd's scratch (false on overflow) and work. */
bool mafat_conv_plan_winograd(const struct mafat_conv_request *r, struct mafat_scratch *s);
void mafat_conv_count_winograd(struct mafat_counting *c);

#endif
