/* Two maps added, pixel by pixel. */
#include "runner/kinds/rows.h"

#include "predictor/fusion.h"

/* The output already holds the first operand: adds the second where it lies.
 * Maps of another size meet at every `stride`-th or `sample`-th pixel. */
static void add_from(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  const struct mafat_operand *from = &l->operands[1];
  int stride = from->shape.w / l->out.w, sample = l->out.w / from->shape.w;
  if (stride < 1) stride = 1;
  if (sample < 1) sample = 1;
  int channels = mafat_min(from->shape.c, l->out.c);
  int h = mafat_min(from->shape.h, l->out.h), width = mafat_min(from->shape.w, l->out.w);
  struct mafat_runs runs = mafat_runs_of(&from->sources, mafat_span_clip(step->filters, channels));
  struct mafat_run run;
  struct mafat_span xs = {(step->out.x.begin + sample - 1) / sample, (step->out.x.end - 1) / sample + 1};
  xs = mafat_span_clip(xs, width);
  if (mafat_span_is_empty(xs)) return;
  while (mafat_runs_next(&runs, &run)) {
    int y_pixel = mafat_tensors_pixel_floats(t, step->layer, run.out_block);
    struct mafat_blend_call call = {
        .n_cols = mafat_span_size(xs), .n_channels = run.n,
        .z_pixel_floats = stride * mafat_tensors_pixel_floats(t, run.tensor, run.block),
        .x_pixel_floats = sample * y_pixel, .y_pixel_floats = sample * y_pixel,
        .alpha = l->alpha, .beta = l->beta, .activation = MAFAT_LINEAR};
    for (int y = step->out.y.begin; y < step->out.y.end; y++) {
      if (y % sample || y / sample >= h) continue;
      call.z = mafat_tensors_pixel(t, run.tensor, run.block, y / sample * stride, xs.begin * stride) + run.lane;
      call.y = mafat_tensors_pixel(t, step->layer, run.out_block, y, xs.begin * sample) + run.out_lane;
      call.x = call.y;
      w->kernels->blend(&call);
    }
  }
}

static void activate_rows(const struct mafat_worker *w, const struct mafat_step *step,
                          enum mafat_activation activation)
{
  const struct mafat_tensors *t = w->tensors;
  if (activation == MAFAT_LINEAR) return;
  for (int c = step->filters.begin; c < step->filters.end;) {
    int block = c / MAFAT_CHANNEL_BLOCK, lane = c % MAFAT_CHANNEL_BLOCK;
    int n = mafat_min(step->filters.end - c, MAFAT_CHANNEL_BLOCK - lane);
    int pixel = mafat_tensors_pixel_floats(t, step->layer, block);
    for (int y = step->out.y.begin; y < step->out.y.end; y++) {
      float *row = mafat_tensors_pixel(t, step->layer, block, y, step->out.x.begin) + lane;
      if (n == pixel) {
        w->kernels->activate(row, (size_t)n * (size_t)mafat_span_size(step->out.x), activation);
        continue;
      }
      for (int x = 0; x < mafat_span_size(step->out.x); x++, row += pixel)
        w->kernels->activate(row, (size_t)n, activation);
    }
    c += n;
  }
}

/* One pass instead of three. */
static void add_alike(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  const struct mafat_source *z = l->operands[1].sources.list;
  struct mafat_runs runs = mafat_runs_of(mafat_layer_sources(l), step->filters);
  struct mafat_run run;
  while (mafat_runs_next(&runs, &run)) {
    int z_block = z->first / MAFAT_CHANNEL_BLOCK + run.out_block;
    struct mafat_blend_call call = {
        .n_cols = mafat_span_size(step->out.x), .n_channels = run.n,
        .x_pixel_floats = mafat_tensors_pixel_floats(t, run.tensor, run.block),
        .z_pixel_floats = mafat_tensors_pixel_floats(t, z->tensor, z_block),
        .y_pixel_floats = mafat_tensors_pixel_floats(t, step->layer, run.out_block),
        .alpha = l->alpha, .beta = l->beta, .activation = l->activation};
    for (int y = step->out.y.begin; y < step->out.y.end; y++) {
      call.x = mafat_tensors_pixel(t, run.tensor, run.block, y, step->out.x.begin) + run.lane;
      call.z = mafat_tensors_pixel(t, z->tensor, z_block, y, step->out.x.begin) + run.out_lane;
      call.y = mafat_rows_out(w, step, &run, y);
      w->kernels->blend(&call);
    }
  }
}

static int run_shortcut(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  if (mafat_fusion_adds_alike(l)) {
    add_alike(w, step);
    return MAFAT_OK;
  }
  mafat_rows_copy(w, step, MAFAT_LINEAR);
  add_from(w, step);
  activate_rows(w, step, l->activation);
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_runner_shortcut = {.run = run_shortcut, .sharing = MAFAT_SHARED_BY_ROWS};
