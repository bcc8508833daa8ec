/* Resizes quantized maps, by nearest pixels or bilinear interpolation. Called by the executor
 * through the table in kinds.c. Writes the step's output in the arena; allocates nothing. */
#include "network/resample.h"

#include "runner/kernels/integer_functions.h"
#include "runner/engine/kinds/integer/integer.h"

#include <string.h>

enum { COLUMNS = 64 }; /* output columns whose taps are computed at a time */

/* The output columns from `begin` to before begin + n. taps: the input columns that each of them is
 * interpolated from. */
struct integer_columns {
  int begin, n;
  struct mafat_tap taps[COLUMNS];
};

static struct integer_columns columns_of(const struct mafat_layer *l, int begin, int end)
{
  struct integer_columns c = {.begin = begin, .n = mafat_min(end - begin, COLUMNS)};
  const struct mafat_points points = mafat_resample_points(l->resample, false, l->in.w);
  for (int i = 0; i < c.n; i++) c.taps[i] = mafat_points_tap(&points, begin + i);
  return c;
}

static void copy_pixels(const struct mafat_integer_resize_call *c)
{
  uint8_t *to = c->out;
  for (int i = 0; i < c->n_cols; i++, to += c->out_pixel_bytes) {
    const uint8_t *from = c->above + (ptrdiff_t)(c->taps[i].at - c->origin) * c->in_pixel_bytes;
    if (c->n_channels == MAFAT_CHANNEL_BLOCK) memcpy(to, from, MAFAT_CHANNEL_BLOCK);
    else memcpy(to, from, (size_t)c->n_channels);
  }
}

typedef void make_row(const struct mafat_integer_resize_call *c);

static make_row *row_maker(const struct mafat_layer *l)
{
  if (l->resample->interpolation == MAFAT_INTERPOLATE_NEAREST) return copy_pixels;
  switch (l->resample->precision) {
  case MAFAT_POINTS_FIXED: return mafat_integer_resize_fixed;
  case MAFAT_POINTS_SINGLE: return mafat_integer_resize_single;
  default: return mafat_integer_resize_even;
  }
}

static void make_run(const struct mafat_worker *w, const struct mafat_step *step,
                     const struct mafat_run *run, const struct integer_columns *columns)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  const struct mafat_sources *sources = mafat_layer_sources(l);
  const struct mafat_points points = mafat_resample_points(l->resample, true, l->in.h);
  const struct mafat_quantization in = mafat_network_in_quantization(t->network, step->layer, 0);
  make_row *make = row_maker(l);
  struct mafat_integer_resize_call call = {
      .taps = columns->taps,
      .origin = columns->taps[0].at,
      .n_cols = columns->n,
      .n_channels = run->n,
      .in_pixel_bytes = (int)mafat_tensors_pixel_bytes(t, run->tensor, run->block),
      .out_pixel_bytes = (int)mafat_tensors_pixel_bytes(t, step->layer, run->out_block),
      .in = &in,
      .to = &l->quantization};
  for (int y = step->out.y.begin; y < step->out.y.end; y++) {
    const struct mafat_tap tap = mafat_points_tap(&points, y);
    call.above = mafat_runs_read_bytes(t, sources, run, tap.at, call.origin);
    call.below = mafat_runs_read_bytes(t, sources, run, tap.next, call.origin);
    call.weight = tap.weight;
    call.out = (uint8_t *)mafat_tensors_address(t, step->layer, run->out_block, y, columns->begin) +
               run->out_lane;
    make(&call);
  }
}

static int run_resample(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  for (int x = step->out.x.begin; x < step->out.x.end; x += COLUMNS) {
    const struct integer_columns c = columns_of(l, x, step->out.x.end);
    struct mafat_runs runs = mafat_runs_of(mafat_layer_sources(l), step->filters);
    for (struct mafat_run run; mafat_runs_next(&runs, &run);) make_run(w, step, &run, &c);
  }
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_integer_resample = {.run = run_resample,
                                                         .sharing = MAFAT_SHARED_BY_ROWS};
