/* Means over rows, columns or both. */
#include "runner/kernels/integer_functions.h"
#include "runner/kinds/integer/integer.h"

/* One pixel of a run's channels. */
static void reduce_pixel(const struct mafat_worker *w, const struct mafat_step *step, const struct mafat_run *run, int y, int x)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  struct mafat_quantization in = mafat_network_in_quantization(t->network, step->layer, 0);
  struct mafat_multiplier scale = mafat_multiplier((double)in.scale / (double)l->quantization.scale);
  struct mafat_span rows = l->reduce->rows ? mafat_span(0, l->in.h) : mafat_span(y, y + 1);
  struct mafat_span cols = l->reduce->cols ? mafat_span(0, l->in.w) : mafat_span(x, x + 1);
  int32_t sums[MAFAT_CHANNEL_BLOCK] = {0};
  for (int r = rows.begin; r < rows.end; r++)
    mafat_integer_kernels_find(w->kernels)->add_pixels(mafat_runs_read_bytes(t, mafat_layer_sources(l), run, r, cols.begin),
                                                       (int)mafat_tensors_pixel_bytes(t, run->tensor, run->block),
                                                       mafat_span_size(cols), run->n, sums);
  bool even = l->quantization.rounding == MAFAT_REQUANTIZE_EVEN;
  int n = mafat_span_size(rows) * mafat_span_size(cols);
  uint8_t *out = (uint8_t *)mafat_tensors_address(t, step->layer, run->out_block, y, x) + run->out_lane;
  for (int i = 0; i < run->n; i++)
    out[i] = even ? mafat_integer_mean_even(sums[i], n, &in, &l->quantization)
                  : mafat_integer_mean(sums[i], n, in.zero, scale, &l->quantization);
}

static int run_reduce(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  struct mafat_runs runs = mafat_runs_of(mafat_layer_sources(l), step->filters);
  for (struct mafat_run run; mafat_runs_next(&runs, &run);)
    for (int y = step->out.y.begin; y < step->out.y.end; y++)
      for (int x = step->out.x.begin; x < step->out.x.end; x++) reduce_pixel(w, step, &run, y, x);
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_integer_reduce = {.run = run_reduce, .sharing = MAFAT_SHARED_BY_ROWS};
