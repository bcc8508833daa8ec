/* Plans the scratch and counts the work of direct and depthwise convolutions; Winograd convolutions
 * are in conv_winograd.c. Called by conv_winograd.c, by runner/engine/kinds/conv.c, and by
 * cost/work.c and schedule/scratch.c through the table in kinds.c. Allocates nothing. */
#include "predictor/kinds/conv.h"

#include "base/part.h"
#include "predictor/plan/fusion.h"
#include "predictor/kind.h"
#include "predictor/plan/weight_placement.h"
#include "predictor/plan/winograd.h"

#include <stdint.h>

/* ---- scratch ---- */

/* Chooses how many output rows a kernel call computes: as many as fit the call's pointer table and
 * the limit of input bytes, which are counted for at most MAFAT_SPLIT_CHANNELS channels. */
static int choose_rows(const struct mafat_conv_request *r, int n_block_slices)
{
  const struct mafat_layer *l = r->layer;
  const struct mafat_taps y = l->window.y;
  long long row = (long long)mafat_taps_inputs(l->window.x, r->cols) *
                  mafat_min(l->in.c / l->groups, MAFAT_SPLIT_CHANNELS);
  long long row_bytes = (long long)mafat_dtype_bytes(r->in_type, (uint64_t)row);
  int by_cache = mafat_max((int)(MAFAT_SCRATCH_INPUT_BYTES / row_bytes) / y.stride, 4);
  int by_pointers = (MAFAT_SCRATCH_POINTERS / n_block_slices - mafat_taps_reach(y)) / y.stride + 1;
  return mafat_min(r->rows, mafat_max(mafat_min(by_cache, by_pointers), 1));
}

int mafat_conv_share_rows(int rows_per_call, int rows, int units_per_call, int n_threads)
{
  if (n_threads == 1) return rows_per_call;
  int calls = mafat_divide_up(MAFAT_SCRATCH_UNITS * n_threads, mafat_max(units_per_call, 1));
  return mafat_min(rows_per_call, mafat_max(mafat_divide_up(rows, calls), 1));
}

MAFAT_PART(run) int mafat_conv_blocks(int rows, int lines, int rows_per_call, int n, int n_threads)
{
  int least = mafat_divide_up(rows, rows_per_call), most = mafat_min(least + n_threads - 1, lines);
  for (int blocks = least; blocks <= most; blocks++)
    if ((long long)blocks * n % n_threads == 0) return blocks;
  return least;
}

int mafat_conv_layer_panels(const struct mafat_layer *l)
{
  return mafat_divide_up(l->out.c, MAFAT_PANEL);
}

bool mafat_conv_append_zeros(struct mafat_scratch *s, const struct mafat_conv_request *r, int cols)
{
  s->zero_elements = (size_t)mafat_taps_inputs(r->layer->window.x, cols) * MAFAT_CHANNEL_BLOCK;
  return mafat_scratch_append_elements(&s->slot_bytes, &s->zero_offset, r->in_type,
                                       s->zero_elements);
}

/* Returns the number of work items into which one call's rows are divided for threads: one for each
 * panel if the weights are larger than the input; else a single one. So the threads do not all read
 * the larger of the two. */
static int units_per_call(const struct mafat_conv_request *r)
{
  const struct mafat_layer *l = r->layer;
  if (l->groups > 1) return mafat_layer_is_depthwise(l) ? 1 : l->groups;
  uint64_t input =
      mafat_dtype_bytes(r->in_type, (uint64_t)l->in.h * (uint64_t)l->in.w * (uint64_t)l->in.c);
  return input > mafat_packed_layer_bytes(l) ? 1 : mafat_conv_layer_panels(l);
}

static bool plan_direct(const struct mafat_conv_request *r, struct mafat_scratch *s)
{
  const struct mafat_layer *l = r->layer;
  bool depthwise = mafat_layer_is_depthwise(l);
  s->n_block_slices =
      depthwise ? 1 : mafat_block_slices(mafat_layer_sources(l), r->channels, NULL, 0);
  s->rows_per_call = choose_rows(r, s->n_block_slices);
  s->rows_per_call =
      mafat_conv_share_rows(s->rows_per_call, r->rows, units_per_call(r), r->plan->n_threads);
  if (r->pool) s->rows_per_call = mafat_round_up(s->rows_per_call, 2);
  s->in_rows = mafat_taps_inputs(l->window.y, s->rows_per_call);
  /* Fused pooling needs complete sums in one kernel call, so all weights of a panel are widened. */
  return mafat_scratch_append_tables(s, r->in_type) &&
         (!mafat_window_is_padded(&l->window) || mafat_conv_append_zeros(s, r, r->cols)) &&
         mafat_scratch_append_widened(s,
                                      mafat_widened_floats(l, r->pool ? mafat_layer_matrix(l).inputs
                                                                      : mafat_widened_channels(l)));
}

/* Most bytes of the rows of a fused depthwise layer. In quantized layers, whose maps are smaller,
 * the limit depends on the size of the input map. */
static size_t inner_limit(const struct mafat_layer *l)
{
  if (l->out_type == MAFAT_F32) return MAFAT_SCRATCH_INNER_BYTES;
  long long share = (long long)l->in.h * l->in.w * l->in.c / MAFAT_SCRATCH_INNER_SHARE;
  if (share < MAFAT_SCRATCH_INNER_INTEGERS) return MAFAT_SCRATCH_INNER_INTEGERS;
  return share < MAFAT_SCRATCH_INNER_MOST ? (size_t)share : MAFAT_SCRATCH_INNER_MOST;
}

/* Plans a depthwise layer inside a 1x1 convolution. Its rows are in the worker's slot, where the
 * 1x1 reads them. Both layers use the same pointer tables, one after the other. */
static bool plan_inner_depthwise(const struct mafat_conv_request *r, struct mafat_scratch *s)
{
  const struct mafat_layer *l = r->layer;
  size_t inner = mafat_widened_floats(l, 1),
         outer = mafat_widened_floats(r->pointwise, mafat_widened_channels(r->pointwise));
  s->n_block_slices = mafat_n_blocks(l->out.c);
  s->inner_cols = r->cols;
  if (__builtin_mul_overflow((size_t)mafat_pixel_width(l->out.c), (size_t)r->cols,
                             &s->inner_row_elements) ||
      s->inner_row_elements > SIZE_MAX / 8)
    return false;
  size_t fitting = inner_limit(l) / (size_t)mafat_dtype_bytes(l->out_type, s->inner_row_elements);
  int planned = mafat_plan_depthwise_rows(r->plan, r->index);
  s->rows_per_call = mafat_min(r->rows, planned > 0    ? planned
                                        : fitting < 64 ? mafat_max((int)fitting, 1)
                                                       : 64);
  s->rows_per_call = mafat_conv_share_rows(s->rows_per_call, r->rows, 1, r->plan->n_threads);
  s->in_rows = mafat_taps_inputs(l->window.y, s->rows_per_call);
  size_t elements;
  if (__builtin_mul_overflow(s->inner_row_elements, (size_t)s->rows_per_call, &elements))
    return false;
  return mafat_scratch_append_tables(s, r->in_type) &&
         (!mafat_window_is_padded(&l->window) || mafat_conv_append_zeros(s, r, r->cols)) &&
         mafat_scratch_append_elements(&s->slot_bytes, &s->inner_offset, l->out_type, elements) &&
         mafat_scratch_append_widened(s, inner > outer ? inner : outer);
}

/* Plans a depthwise layer that runs in place. Input rows of a channel block that later outputs
 * still need are copied to the worker's slot before they are overwritten. */
static bool plan_kept_depthwise(const struct mafat_conv_request *r, struct mafat_scratch *s)
{
  const struct mafat_layer *l = r->layer;
  size_t row = (size_t)mafat_taps_inputs(l->window.x, r->cols) * MAFAT_CHANNEL_BLOCK, elements;
  s->saved_row_bytes = (size_t)mafat_dtype_bytes(r->in_type, row);
  size_t capacity = l->out_type == MAFAT_F32 ? MAFAT_SCRATCH_KEPT_BYTES : inner_limit(l),
         fitting = capacity / s->saved_row_bytes;
  int before = l->window.y.before, more = fitting < 64 ? (int)fitting - before : 64;
  s->n_block_slices = 1;
  s->rows_per_call = mafat_min(r->rows, mafat_max(more, 1));
  s->in_rows = mafat_taps_inputs(l->window.y, s->rows_per_call);
  s->saved_rows = before + s->rows_per_call;
  if (__builtin_mul_overflow(row, (size_t)s->saved_rows, &elements)) return false;
  return mafat_scratch_append_tables(s, r->in_type) && mafat_conv_append_zeros(s, r, r->cols) &&
         mafat_scratch_append_elements(&s->slot_bytes, &s->saved_offset, r->in_type, elements) &&
         mafat_scratch_append_widened(s, mafat_widened_floats(l, 1));
}

static bool plan_convolutional(const struct mafat_scratch_request *request, struct mafat_scratch *s)
{
  const struct mafat_plan *plan = request->plan;
  const struct mafat_network *n = request->network;
  int layer = request->layer, reader = mafat_plan_reader(plan, layer);
  struct mafat_conv_request r = {.plan = plan,
                                 .layer = &n->layers[reader],
                                 .index = reader,
                                 .in_type = mafat_network_in_type(n, reader),
                                 .rows = request->rows,
                                 .cols = request->cols,
                                 .channels = request->channels,
                                 .pool = mafat_fusion_pools(plan, n, layer),
                                 .transforms = mafat_plan_transforms(plan, n, layer),
                                 .winograd = mafat_plan_winograd(plan, layer)};
  if (reader != layer) r.pointwise = &n->layers[plan->outer[reader]];
  if (r.pool) {
    r.rows = mafat_min(2 * r.rows, r.layer->out.h);
    r.cols = mafat_min(2 * r.cols, r.layer->out.w);
  }
  if (mafat_layer_is_depthwise(r.layer) && reader != layer) return plan_inner_depthwise(&r, s);
  if (mafat_plan_is_in_place(plan, layer)) return plan_kept_depthwise(&r, s);
  if (r.winograd) return mafat_conv_plan_winograd(&r, s);
  return plan_direct(&r, s);
}

/* ---- work ---- */

/* Input channels that the step sums for each filter. */
static double channels_per_filter(const struct mafat_counting *c)
{
  const struct mafat_layer *l = c->layer;
  return l->groups > 1 ? (double)l->in.c / l->groups : mafat_span_size(c->channels);
}

/* Returns the number of blocks of rows. Divides them, with n panels or groups each, among the
 * threads, for all counts that follow. */
static double share_blocks(struct mafat_counting *c, int n)
{
  int rows = mafat_span_size(c->box.y), lines = c->pooled ? mafat_divide_up(rows, 2) : rows;
  int per_call = c->scratch->rows_per_call > 0 ? c->scratch->rows_per_call : rows;
  double blocks = mafat_conv_blocks(rows, lines, per_call, n, c->context->plan->n_threads);
  mafat_count_share(c, blocks * n);
  return blocks;
}

/* Counts float sums. Returns how often an output is stored or read back: sums are stored after each
 * kernel call and read by the next. */
static double count_sums(struct mafat_counting *c, struct mafat_width w, double blocks)
{
  const struct mafat_layer *l = c->layer;
  double channels = channels_per_filter(c), taps = mafat_window_area(&l->window);
  int rows = mafat_span_size(c->box.y), cols = mafat_span_size(c->box.x);
  double calls =
      c->pooled ? 1 : mafat_divide_up((int)channels, mafat_conv_call_channels(l, (int)channels));
  mafat_count(c, MAFAT_TERM_UNIT, blocks * w.panels * calls);
  mafat_count_tiles(
      c, taps > 1 ? MAFAT_TERM_CONV_MACS : MAFAT_TERM_POINT_MACS, rows, cols, w, channels * taps,
      mafat_counting_runs(c, l->groups > 1 ? mafat_span(0, (int)channels) : c->channels), calls);
  if (c->pooled) mafat_count(c, MAFAT_TERM_POOLED, mafat_counting_outputs(c));
  if (c->channels.end == l->in.c) mafat_count_activation(c, mafat_counting_outputs(c));
  return calls * 2 - 1 + (c->channels.begin > 0 ? 1 : 0);
}

static void count_direct(struct mafat_counting *c)
{
  const struct mafat_layer *l = c->layer;
  struct mafat_width w = mafat_counting_width(c);
  bool separable =
      c->inner >= 0 && mafat_layer_is_depthwise(&c->context->network->layers[c->inner]);
  double blocks = share_blocks(c, separable ? 1 : l->groups > 1 ? l->groups : w.panels), stores = 1;
  if (mafat_counting_is_integer(c)) mafat_count_integers(c, blocks);
  else stores = count_sums(c, w, blocks);
  double weights =
      channels_per_filter(c) * mafat_window_area(&l->window) * mafat_span_size(c->filters);
  mafat_count_weights(c, weights * mafat_counting_weight_bytes(c), blocks);
  mafat_count_maps(c, separable ? 0 : mafat_counting_in_bytes(c),
                   mafat_counting_stored_bytes(c) * stores);
}

static void count_depthwise(struct mafat_counting *c)
{
  const struct mafat_layer *l = c->layer;
  double outputs = mafat_counting_pixels(c) * l->out.c, blocks;
  bool inside = c->index != c->step->layer;
  /* in place: threads divide the channel blocks, and input rows are copied */
  if (mafat_plan_is_in_place(c->context->plan, c->index)) {
    mafat_count_share(c, mafat_n_blocks(l->out.c));
    mafat_count(c, MAFAT_TERM_MOVED,
                outputs * mafat_dtype_size(l->out_type) / (double)sizeof(float));
    blocks = mafat_divide_up(mafat_span_size(c->box.y), c->scratch->rows_per_call);
  } else {
    blocks = share_blocks(c, 1);
  }
  /* Measured, in units of a step's price: a whole map that is computed outside a 1x1 convolution
   * costs one step more. Inside a 1x1 convolution, each block of rows but the first costs one step;
   * for integers, the price of kernel calls includes that. */
  bool integer = mafat_counting_is_integer(c), whole = !mafat_counting_takes_turns(c);
  mafat_count(c, MAFAT_TERM_STEP, inside ? (integer ? 0 : blocks - 1) : whole ? 1 : 0);
  if (integer) {
    mafat_count_integer_depthwise(c, blocks);
  } else {
    mafat_count(c, MAFAT_TERM_DEPTHWISE_MACS, outputs * mafat_window_area(&l->window));
    mafat_count_activation(c, outputs);
  }
  /* Inside a 1x1 convolution, the layer writes the same few rows of scratch again and again, and
   * these stay in near caches. */
  double bytes = inside ? 0 : outputs * mafat_dtype_size(l->out_type);
  mafat_count_maps(c, mafat_counting_in_bytes(c), bytes);
}

static void count_convolutional(struct mafat_counting *c)
{
  if (mafat_winograd_of(c->context->plan->algorithms[c->index])) mafat_conv_count_winograd(c);
  else if (mafat_layer_is_depthwise(c->layer)) count_depthwise(c);
  else count_direct(c);
}

const struct mafat_predictor_kind mafat_predictor_convolutional = {
    .scratch = plan_convolutional, .count = count_convolutional};
