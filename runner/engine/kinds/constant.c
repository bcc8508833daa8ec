/* Copies constants of the model's file to their tensors. Called by the executor through the table
 * in kinds.c. Reads the constant through runner/weights, and so perhaps a file; writes the step's
 * output in the arena; allocates nothing. */
#include "runner/engine/kinds/kind.h"

static void write_row(const struct mafat_tensors *t, const struct mafat_step *step, int y,
                      const float *numbers)
{
  const struct mafat_strides *s = t->network->layers[step->layer].strides;
  for (int c = step->filters.begin; c < step->filters.end; c++) {
    int64_t from = s->first + y * s->rows + step->out.x.begin * s->columns + c * s->channels;
    float *out = mafat_tensors_element(t, step->layer, c, y, step->out.x.begin);
    int pixel = mafat_tensors_pixel_floats(t, step->layer, c / MAFAT_CHANNEL_BLOCK);
    for (int x = 0; x < mafat_span_size(step->out.x); x++, from += s->columns, out += pixel)
      *out = numbers[from];
  }
}

static int run_constant(const struct mafat_worker *w, const struct mafat_step *step)
{
  struct mafat_weights_slice slice;
  int code = mafat_weights_slice(w->weights, step->layer, step->filters, step->channels, &slice);
  if (code) return code;
  for (int y = step->out.y.begin; y < step->out.y.end; y++)
    write_row(w->tensors, step, y, slice.weights);
  mafat_weights_release(w->weights, &slice);
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_runner_constant = {.run = run_constant,
                                                        .sharing = MAFAT_SHARED_BY_ROWS};
