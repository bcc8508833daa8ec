/* Row addresses, and the copy with activation, for kinds that process each row alone. Included by
 * runner/engine/kinds. */
#ifndef MAFAT_RUNNER_ENGINE_KINDS_ROWS_H
#define MAFAT_RUNNER_ENGINE_KINDS_ROWS_H

#include "runner/engine/kinds/kind.h"

/* Address of a run's channels in row y of the step's output. */
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

/* Computes y = activation(x), row by row. */
void mafat_rows_copy(const struct mafat_worker *w, const struct mafat_step *step,
                     struct mafat_activating activation);

#endif
