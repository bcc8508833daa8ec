/* Blends maps element by element (shortcuts, scaled channels, attention), one operand after the
 * other, in the output's buffer. Called by the executor through the table in kinds.c. Writes the
 * step's output in the arena; allocates nothing. */
#include "runner/engine/kinds/rows.h"

#include "predictor/plan/fusion.h"

/* Alignment of an operand with the output along one axis. For each i in `at`, the operand's pixel
 * i * stride is blended into the output's pixel i * sample. */
struct meeting {
  int stride, sample;
  struct mafat_span at;
};

/* Aligns an operand of extent `from` with the outputs `out` of an axis of extent `to`, as Darknet
 * does. If the operand is larger, every stride-th of its pixels is read; if it is smaller, every
 * sample-th output pixel is changed. */
static struct meeting meet(int from, int to, bool broadcast, struct mafat_span out)
{
  if (broadcast) return (struct meeting){from == 1 ? 0 : 1, 1, out};
  struct meeting m = {mafat_max(from / to, 1), mafat_max(to / from, 1), {0, 0}};
  m.at = mafat_span((out.begin + m.sample - 1) / m.sample, (out.end - 1) / m.sample + 1);
  m.at = mafat_span_clip(m.at, mafat_min(from, to));
  return m;
}

/* One operand to blend into the output. */
struct turn {
  const struct mafat_operand *operand;
  const struct mafat_sources *x; /* the other operand; NULL: the output so far */
  float alpha;
  struct mafat_activating activation;
  struct meeting down, across;
};

/* The step's output as a source. */
static struct mafat_source output_of(const struct mafat_worker *w, const struct mafat_step *step)
{
  struct mafat_shape out = w->tensors->network->layers[step->layer].out;
  return (struct mafat_source){step->layer, 0, out.c, 0, out.h};
}

/* Blends the channels of a run (mafat_runs_of: channels that are contiguous in the operand and in
 * the output) at all pixels that `turn` aligns, row by row. */
static void blend_run(const struct mafat_worker *w, const struct mafat_step *step,
                      const struct turn *turn, const struct mafat_run *run)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  const struct meeting *down = &turn->down, *across = &turn->across;
  struct mafat_source own = output_of(w, step);
  const struct mafat_sources output = {&own, 1, 1}, *x = turn->x ? turn->x : &output;
  int x_channel = x->list->first + run->out_block * MAFAT_CHANNEL_BLOCK + run->out_lane;
  int x_col = across->at.begin * across->sample, z_col = across->at.begin * across->stride;
  struct mafat_blend_call call = {
      .blend = l->blend,
      .n_cols = mafat_span_size(across->at),
      .n_channels = run->n,
      .x_pixel_floats = across->sample * mafat_tensors_pixel_floats(
                                             t, x->list->tensor, x_channel / MAFAT_CHANNEL_BLOCK),
      .z_pixel_floats = across->stride * mafat_tensors_pixel_floats(t, run->tensor, run->block),
      .y_pixel_floats = across->sample * mafat_tensors_pixel_floats(t, step->layer, run->out_block),
      .z_single = turn->operand->broadcast && turn->operand->shape.c == 1,
      .alpha = turn->alpha,
      .beta = l->beta,
      .activation = turn->activation};
  for (int i = down->at.begin; i < down->at.end; i++) {
    int y = i * down->sample;
    call.x = mafat_tensors_read(t, x, 0, x_channel, y, x_col);
    call.z = mafat_runs_read(t, &turn->operand->sources, run, i * down->stride, z_col);
    call.y = mafat_tensors_pixel(t, step->layer, run->out_block, y, x_col) + run->out_lane;
    w->kernels->blend(&call);
  }
}

/* Blends all channels of the step with the operand's only channel. */
static void blend_single(const struct mafat_worker *w, const struct mafat_step *step,
                         const struct turn *turn)
{
  const struct mafat_source *z = turn->operand->sources.list;
  struct mafat_source own = output_of(w, step);
  struct mafat_sources output = {&own, 1, 1};
  struct mafat_runs runs = mafat_runs_of(&output, step->filters);
  struct mafat_run run;
  while (mafat_runs_next(&runs, &run)) {
    run.tensor = z->tensor;
    run.block = z->first / MAFAT_CHANNEL_BLOCK;
    run.lane = z->first % MAFAT_CHANNEL_BLOCK;
    blend_run(w, step, turn, &run);
  }
}

static struct turn turn_of(const struct mafat_worker *w, const struct mafat_step *step, int operand)
{
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  const struct mafat_operand *o = &l->operands[operand];
  return (struct turn){.operand = o,
                       .alpha = operand == 1 ? l->alpha : 1,
                       .activation.kind = MAFAT_LINEAR,
                       .down = meet(o->shape.h, l->out.h, o->broadcast, step->out.y),
                       .across = meet(o->shape.w, l->out.w, o->broadcast, step->out.x)};
}

/* Channels of the step that the operand changes: all channels if the operand is one broadcast
 * channel, else the channels that the operand has as well. */
static struct mafat_span turn_channels(const struct turn *turn, const struct mafat_step *step)
{
  const struct mafat_operand *o = turn->operand;
  bool single = o->broadcast && o->shape.c == 1;
  return single ? step->filters : mafat_span_clip(step->filters, o->shape.c);
}

static void take_turn(const struct mafat_worker *w, const struct mafat_step *step,
                      const struct turn *turn)
{
  const struct mafat_operand *o = turn->operand;
  if (mafat_span_is_empty(turn->across.at)) return;
  if (o->broadcast && o->shape.c == 1) {
    blend_single(w, step, turn);
    return;
  }
  struct mafat_runs runs = mafat_runs_of(&o->sources, turn_channels(turn, step));
  struct mafat_run run;
  while (mafat_runs_next(&runs, &run)) blend_run(w, step, turn, &run);
}

static void activate_rows(const struct mafat_worker *w, const struct mafat_step *step,
                          struct mafat_activating activation)
{
  const struct mafat_tensors *t = w->tensors;
  if (activation.kind == MAFAT_LINEAR) return;
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

/* Blends operands that all store their channels in the same blocks (mafat_fusion_blends_alike). The
 * first operand is not copied to the output; it is read when the second is blended. */
static void blend_alike(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  for (int k = 1; k < l->n_operands; k++) {
    struct turn turn = turn_of(w, step, k);
    if (k == 1) turn.x = mafat_layer_sources(l);
    if (k == l->n_operands - 1) turn.activation = l->activation;
    take_turn(w, step, &turn);
  }
}

static bool meets_all(const struct meeting *m, struct mafat_span out)
{
  return m->sample == 1 && m->at.begin == out.begin && m->at.end == out.end;
}

/* True if one pass can compute the output from both operands; `turn` is of the second. The second
 * must cover all pixels of the step, if need be by broadcasting; it may have fewer channels than
 * the first. */
static bool is_single_pass(const struct mafat_layer *l, const struct mafat_step *step,
                           const struct turn *turn)
{
  const struct mafat_sources *x = mafat_layer_sources(l);
  return l->n_operands == 2 && mafat_sources_count(x) == 1 &&
         x->list->first % MAFAT_CHANNEL_BLOCK == 0 && meets_all(&turn->down, step->out.y) &&
         meets_all(&turn->across, step->out.x);
}

static void blend_single_pass(const struct mafat_worker *w, const struct mafat_step *step,
                              struct turn turn)
{
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  struct mafat_step rest = *step;
  turn.x = mafat_layer_sources(l);
  turn.activation = l->activation;
  take_turn(w, step, &turn);
  rest.filters.begin = mafat_max(step->filters.begin, turn_channels(&turn, step).end);
  if (!mafat_span_is_empty(rest.filters)) mafat_rows_copy(w, &rest, l->activation);
}

/* Chooses the cheapest method. If one pass cannot compute the output, copies the first operand into
 * it, and then blends the other operands into it one after the other. */
static int run_blend(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  struct turn first = turn_of(w, step, 1);
  if (mafat_fusion_blends_alike(l)) {
    blend_alike(w, step);
  } else if (is_single_pass(l, step, &first)) {
    blend_single_pass(w, step, first);
  } else {
    mafat_rows_copy(w, step, mafat_activating(MAFAT_LINEAR));
    for (int k = 1; k < l->n_operands; k++) {
      struct turn turn = turn_of(w, step, k);
      take_turn(w, step, &turn);
    }
    activate_rows(w, step, l->activation);
  }
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_runner_shortcut = {.run = run_blend,
                                                        .sharing = MAFAT_SHARED_BY_ROWS};
const struct mafat_runner_kind mafat_runner_scale_channels = {.run = run_blend,
                                                              .sharing = MAFAT_SHARED_BY_ROWS};
const struct mafat_runner_kind mafat_runner_sam = {.run = run_blend,
                                                   .sharing = MAFAT_SHARED_BY_ROWS};
