/* Functions for kinds of layers that compute each row separately: addresses of output rows, and a
 * copy of rows with an activation, which writes the step's output. Allocates nothing. Included by
 * files of runner/engine/kinds. */
#ifndef MAFAT_RUNNER_ENGINE_KINDS_ROWS_H
#define MAFAT_RUNNER_ENGINE_KINDS_ROWS_H

#include "runner/engine/kinds/kind.h"

/* Returns the address of a run's first channel in row y of the step's output, at the step's first
 * column. mafat_rows_out_bytes is for outputs of 8-bit integers. */
static inline float *mafat_rows_out(const struct mafat_worker *w, const struct mafat_step *step,
                                    const struct mafat_run *run, int y)
{
  return mafat_tensors_element(w->tensors, step->layer,
                               run->out_block * MAFAT_CHANNEL_BLOCK + run->out_lane, y,
                               step->out.x.begin);
}

static inline unsigned char *mafat_rows_out_bytes(const struct mafat_worker *w,
                                                  const struct mafat_step *step,
                                                  const struct mafat_run *run, int y)
{
  char *pixel =
      mafat_tensors_address(w->tensors, step->layer, run->out_block, y, step->out.x.begin);
  return (unsigned char *)pixel + run->out_lane;
}

/* Copies the step's rows and channels from the layer's first operand to the output, and applies the
 * activation. */
void mafat_rows_copy(const struct mafat_worker *w, const struct mafat_step *step,
                     struct mafat_activating activation);

#endif
