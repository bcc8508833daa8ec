/* Softmax of the channels of each pixel. */
#include "runner/kernels/integer_functions.h"
#include "runner/kinds/integer/integer.h"

static int run_normalize(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  float beta = l->normalize->beta > 0 ? l->normalize->beta : 1;
  uint8_t *pixel = (uint8_t *)w->slot_memory + w->scratch->pixel_offset;
  float scale = mafat_network_in_quantization(t->network, step->layer, 0).scale;
  bool even = l->quantization.rounding == MAFAT_REQUANTIZE_EVEN;
  int32_t exponentials[256];
  double exact[256];
  int bytes;
  if (even) mafat_integer_exponentials_even(exact, scale);
  else mafat_integer_exponentials(exponentials, scale, beta);
  for (int y = step->out.y.begin; y < step->out.y.end; y++)
    for (int x = step->out.x.begin; x < step->out.x.end; x++) {
      for (int c = 0; c < l->in.c; c++) pixel[c] = *mafat_integer_behind(t, mafat_layer_sources(l), c, y, x, &bytes);
      if (even) mafat_integer_softmax_even(exact, pixel, pixel, l->in.c, &l->quantization);
      else mafat_integer_softmax(exponentials, pixel, pixel, l->in.c);
      for (int c = 0; c < l->in.c; c++)
        mafat_tensors_address(t, step->layer, c / MAFAT_CHANNEL_BLOCK, y, x)[c % MAFAT_CHANNEL_BLOCK] = (char)pixel[c];
    }
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_integer_normalize = {.run = run_normalize, .sharing = MAFAT_SHARED_BY_ROWS};
