/* Every output sums the whole input. */
#include "runner/kinds/conv.h"

/* The steps of panels that follow find the input there, in Darknet's CHW order. */
static void prepare_connected(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  if (step->filters.begin > 0 || step->channels.begin > 0) return;
  mafat_tensors_flatten(w->tensors, mafat_layer_sources(l), l->in, (float *)(w->shared_memory + w->scratch->flat_offset));
}

/* A connected layer is a 1x1 convolution of one pixel whose channels are the
 * input in Darknet's order: one piece of any length. */
static int run_connected(const struct mafat_worker *w, const struct mafat_step *step)
{
  struct mafat_conv c;
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  float *flat = (float *)(w->shared_memory + w->scratch->flat_offset);
  mafat_conv_open(&c, w, step);
  const float *row = flat + step->channels.begin;
  int inputs = (int)w->scratch->flat_floats;
  struct mafat_conv_piece piece = {&row, mafat_span_size(step->channels), 0};
  for (int unit; (unit = mafat_team_take(w->team, w->index, mafat_conv_n_panels(&c))) >= 0;) {
    struct mafat_span filters = mafat_conv_panel(&c, unit);
    struct mafat_conv_call call = {.pieces = &piece, .n_pieces = 1, .n_rows = 1, .n_cols = 1,
                                   .window = mafat_window_square(1, 1, 0), .activation = l->activation,
                                   .start = step->channels.begin == 0,
                                   .finish = step->channels.end == inputs};
    struct mafat_weights_slice slice;
    int code = mafat_weights_slice(w->weights, step->layer, filters, step->channels, &slice);
    if (code) return code;
    call.n_segments = mafat_conv_point_at_output(&c, filters, 0, 1, call.segments);
    call.weights = slice.weights;
    call.scale = slice.scale;
    call.bias = slice.bias;
    call.width = slice.width;
    w->kernels->conv(&call);
    mafat_weights_release(w->weights, &slice);
  }
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_runner_connected = {
    .prepare = prepare_connected, .run = run_connected, .sharing = MAFAT_SHARED_BY_UNITS};
