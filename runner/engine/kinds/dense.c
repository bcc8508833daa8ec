/* Computes connected layers, in which each output sums the whole input. Called by the executor
 * through the table in kinds.c. Reads weights through runner/weights. Writes the step's output and
 * scratch, in the arena; allocates nothing. */
#include "runner/engine/kinds/conv.h"

#include "runner/engine/kinds/widened.h"

/* In the first step of the layer, or of a part of the plan, copies the whole input in CHW order to
 * shared scratch. Later steps, for other panels, read this copy, too. Each part has its own copy,
 * because parts may run on different devices. */
static void prepare_connected(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  if (!mafat_step_begins(w->plan, step)) return;
  mafat_tensors_flatten(w->tensors, mafat_layer_sources(l), l->in,
                        (float *)(w->shared_memory + w->scratch->flat_offset));
}

/* Computes a panel as a 1x1 convolution of one pixel, whose channels are the input in CHW order.
 * Each kernel call has one block slice: all channels, or, if weights are widened to floats, as many
 * as mafat_widened_end allows. */
static int run_panel(struct mafat_conv *c, const float *flat, struct mafat_span filters)
{
  const struct mafat_worker *w = c->worker;
  const struct mafat_step *step = c->step;
  int inputs = (int)w->scratch->flat_floats;
  struct mafat_conv_call call = {.n_block_slices = 1,
                                 .n_rows = 1,
                                 .n_cols = 1,
                                 .window = mafat_window_square(1, 1, 0),
                                 .activation = c->layer->activation};
  call.n_segments = mafat_conv_point_at_output(c, filters, 0, 1, call.segments);
  for (struct mafat_span part = {step->channels.begin, step->channels.begin};
       part.end < step->channels.end;) {
    part = mafat_span(part.end, mafat_widened_end(c->layer, part.end, step->channels.end));
    const float *row = flat + part.begin;
    struct mafat_conv_block_slice block_slice = {&row, mafat_span_size(part), 0};
    struct mafat_weights_slice slice;
    int code = mafat_widened_slice(w, step->layer, filters, part, &slice);
    if (code) return code;
    call.block_slices = &block_slice;
    call.weights = slice.weights;
    call.scale = slice.scale;
    call.bias = slice.bias;
    call.width = slice.width;
    call.start = part.begin == 0;
    call.finish = part.end == inputs;
    w->kernels->conv(&call);
    mafat_weights_release(w->weights, &slice);
  }
  return MAFAT_OK;
}

static int run_connected(const struct mafat_worker *w, const struct mafat_step *step)
{
  struct mafat_conv c;
  const float *flat = (const float *)(w->shared_memory + w->scratch->flat_offset);
  int code = MAFAT_OK;
  mafat_conv_open(&c, w, step);
  for (int unit; code == MAFAT_OK &&
                 (unit = mafat_team_take(w->team, w->index, mafat_conv_n_panels(&c))) >= 0;)
    code = run_panel(&c, flat, mafat_conv_panel(&c, unit));
  return code;
}

const struct mafat_runner_kind mafat_runner_connected = {
    .prepare = prepare_connected, .run = run_connected, .sharing = MAFAT_SHARED_BY_UNITS};
