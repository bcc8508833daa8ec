/* Transposes groups of pixels to scratch, one lane for each pixel, and back. Called by normalize.c
 * and reduce.c, which combine channels. Reads the input, and writes the worker's scratch and the
 * step's output, in the arena; allocates nothing. */
#include "runner/engine/kinds/lanes.h"

enum { UNIT_COLS = 64 };

bool mafat_lanes_take(const struct mafat_worker *w, const struct mafat_step *step,
                      struct mafat_lanes_unit *unit)
{
  int n_across = mafat_divide_up(mafat_span_size(step->out.x), UNIT_COLS);
  int i = mafat_team_take(w->team, w->index, n_across * mafat_span_size(step->out.y));
  if (i < 0) return false;
  int begin = step->out.x.begin + i % n_across * UNIT_COLS;
  unit->y = step->out.y.begin + i / n_across;
  unit->cols = mafat_span(begin, mafat_min(begin + UNIT_COLS, step->out.x.end));
  return true;
}

/* Transposes n pixels to n lanes; lanes n and above repeat the last pixel. */
static void spread(const float *pixels, size_t pixel_floats, int n, int n_channels, float *to,
                   int lanes)
{
  for (int i = 0; i < lanes; i++) {
    const float *pixel = pixels + (size_t)mafat_min(i, n - 1) * pixel_floats;
    for (int c = 0; c < n_channels; c++) to[c * lanes + i] = pixel[c];
  }
}

void mafat_lanes_read(const struct mafat_worker *w, const struct mafat_layer *l, int y, int x,
                      int n)
{
  const struct mafat_tensors *t = w->tensors;
  size_t lanes = (size_t)w->scratch->lanes;
  struct mafat_runs runs = mafat_runs_of(mafat_layer_sources(l), mafat_span(0, l->in.c));
  struct mafat_run run;
  while (mafat_runs_next(&runs, &run)) {
    float *to = mafat_lanes_memory(w) +
                (size_t)(run.out_block * MAFAT_CHANNEL_BLOCK + run.out_lane) * lanes;
    spread(mafat_runs_read(t, mafat_layer_sources(l), &run, y, x),
           (size_t)mafat_tensors_pixel_floats(t, run.tensor, run.block), n, run.n, to, (int)lanes);
  }
}

void mafat_lanes_write(const struct mafat_worker *w, int layer, int y, int x, int n)
{
  const struct mafat_tensors *t = w->tensors;
  int channels = mafat_network_tensor_shape(t->network, layer).c, lanes = w->scratch->lanes;
  for (int first = 0; first < channels; first += MAFAT_CHANNEL_BLOCK) {
    int block = first / MAFAT_CHANNEL_BLOCK,
        pixel_floats = mafat_tensors_pixel_floats(t, layer, block);
    int n_channels = mafat_min(channels - first, MAFAT_CHANNEL_BLOCK);
    const float *from = mafat_lanes_memory(w) + (size_t)first * (size_t)lanes;
    float *pixel = mafat_tensors_pixel(t, layer, block, y, x);
    for (int i = 0; i < n; i++, pixel += pixel_floats)
      for (int c = 0; c < n_channels; c++) pixel[c] = from[c * lanes + i];
  }
}
