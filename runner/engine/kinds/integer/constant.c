/* Copies quantized constants of the model's file to their tensors; converts signed values to
 * unsigned. Called by the executor through the table in kinds.c. Reads the constant through
 * runner/weights; writes the step's output in the arena; allocates nothing. */
#include "runner/engine/kinds/integer/integer.h"

static int run_constant(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  const struct mafat_strides *s = l->strides;
  const uint8_t *numbers = (const uint8_t *)mafat_weights_numbers(w->weights, step->layer);
  int turn = l->weights_type == MAFAT_I8 ? MAFAT_SIGNED_TO_BYTE : 0;
  for (int y = step->out.y.begin; y < step->out.y.end; y++)
    for (int x = step->out.x.begin; x < step->out.x.end; x++)
      for (int c = step->filters.begin; c < step->filters.end; c++)
        mafat_tensors_address(t, step->layer, c / MAFAT_CHANNEL_BLOCK, y,
                              x)[c % MAFAT_CHANNEL_BLOCK] =
            (char)(numbers[s->first + y * s->rows + x * s->columns + c * s->channels] ^ turn);
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_integer_constant = {.run = run_constant,
                                                         .sharing = MAFAT_SHARED_BY_ROWS};
