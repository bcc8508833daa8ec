/* Computes activation layers. Called by the executor through the table in kinds.c. Writes the
 * step's output in the arena; allocates nothing. */
#include "runner/engine/kinds/rows.h"

static int run_activation(const struct mafat_worker *w, const struct mafat_step *step)
{
  mafat_rows_copy(w, step, w->tensors->network->layers[step->layer].activation);
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_runner_activation = {.run = run_activation,
                                                          .sharing = MAFAT_SHARED_BY_ROWS};
