/* Computes integer convolutions: ordinary, grouped, depthwise, and depthwise fused into the 1x1
 * convolution that reads it. Called by the executor through the table in kinds.c. Reads weights
 * through runner/weights. Writes the step's output, sums and the worker's scratch, in the arena;
 * allocates nothing. */
#include "runner/engine/kinds/conv.h"
#include "runner/engine/kinds/integer/integer.h"

#include "predictor/plan/fusion.h"
#include "runner/weights/pack.h"

#include <assert.h>
#include <string.h>

/* Scratch has a record for each block slice, with the kernel's argument and the reference to
 * channels of a tensor. */
_Static_assert(sizeof(struct mafat_integer_block_slice) + sizeof(struct mafat_block_slice) <=
                   MAFAT_SCRATCH_INTEGER_PIECE,
               "block slice record");

enum {
  NARROW_COLS = 8,      /* most columns of a narrow map (inner_row) */
  SORTED_PIXELS = 32,   /* weights are sorted if the step has at least this many pixels */
  SORTED_OF_PANEL = 65, /* elements of `sorted` for a panel, besides those of its quads */
  SORTED_OF_QUAD = 4    /* elements of `sorted` for each quad of a panel */
};

struct conv {
  struct mafat_conv common; /* step, layer, box and units of work */
  const struct mafat_integer_kernels *kernels;
  struct mafat_integer_block_slice *block_slices; /* [n_block_slices]: arguments for kernels */
  struct mafat_block_slice *references;     /* [n_block_slices]: channels in the input tensors */
  const uint8_t **in_rows;            /* [block slice][scratch.in_rows] */
  uint8_t **out_rows;                 /* [segment][scratch.rows_per_call] */
  uint8_t *zeros;                     /* row of the input's zero point */
  int n_block_slices;
  struct mafat_span rows;             /* rows of sums for which in_rows are set; empty: none */
  struct mafat_integer_conv_call *call; /* next call; common fields are set once */
  size_t quads_taps;                  /* int8 weights stored for each filter (packing.h); 0: not the
                                         same in all panels */
  struct mafat_integer_blend_call blend; /* arguments for a fused shortcut */
  uint16_t *sorted;                   /* sorted weights of the first n_sorted panels (integer.h) */
  int n_sorted, sorted_capacity;      /* sorted_capacity: elements of `sorted` for each panel */
  struct mafat_integer_input_sums *input_sums; /* computed for `rows`; NULL: not used */
  struct mafat_integer_runs *runs;    /* computed for `rows`; NULL: not used */
};

/* True if the step reads rows above or below its input, which hold the zero point. */
static bool reads_outside(const struct mafat_conv *c)
{
  struct mafat_span rows = mafat_taps_span(c->layer->window.y, c->box.y);
  return rows.begin < c->in_y.begin || rows.end > c->in_y.end;
}

static void open_conv(struct conv *c, const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_scratch *s = w->scratch;
  const struct mafat_network *n = w->tensors->network;
  char *memory = w->slot_memory;
  mafat_conv_begin(&c->common, w, step);
  c->kernels = w->integers;
  c->call = NULL;
  c->n_block_slices = c->n_sorted = c->sorted_capacity = 0;
  c->sorted = NULL;
  c->input_sums = NULL;
  c->runs = NULL;
  c->rows = mafat_span(0, 0);
  c->references =
      (struct mafat_block_slice *)(void *)(memory + s->block_slices_offset +
                                           (size_t)s->n_block_slices * sizeof *c->block_slices);
  c->block_slices = (struct mafat_integer_block_slice *)(void *)(memory + s->block_slices_offset);
  c->in_rows = (const uint8_t **)(void *)(memory + s->in_offset);
  c->out_rows = (uint8_t **)(void *)(memory + s->out_offset);
  c->zeros = (uint8_t *)(memory + s->zero_offset);
  if (s->zero_elements && reads_outside(&c->common))
    memset(c->zeros, mafat_network_in_quantization(n, c->common.index, 0).zero, s->zero_elements);
  if (!c->common.shortcut) return;
  int made = c->common.pointwise >= 0 ? c->common.pointwise : c->common.index;
  c->blend = mafat_integer_blend(n, step->layer, &n->layers[made].quantization);
}

/* ---- rows ---- */

/* Sets pointers to at most n input rows from y on, up to the end of the band that has row y (a band
 * is a range of rows that one tensor of the input provides). Returns their number. */
static int point_at_band(const struct mafat_conv *c, const struct mafat_block_slice *block_slice,
                         int y, int n, int x, const uint8_t **rows)
{
  const struct mafat_sources *sources = mafat_layer_sources(c->layer);
  const struct mafat_source *s = mafat_sources_at(sources, block_slice->source, &y);
  int channel = block_slice->block * MAFAT_CHANNEL_BLOCK + block_slice->lane -
                sources->list[block_slice->source].first + s->first;
  struct mafat_tensor_rows band = mafat_tensors_rows(c->worker->tensors, s->tensor, channel, y, x);
  n = mafat_min(n, s->first_row + s->n_rows - y);
  for (int r = 0; r < n; r++) rows[r] = mafat_integer_rows_next(&band);
  return n;
}

static void point_at_rows(const struct conv *c, const struct mafat_block_slice *block_slice,
                          int first, int n, const uint8_t **rows)
{
  const struct mafat_conv *common = &c->common;
  int x = mafat_taps_first(common->layer->window.x, common->box.x.begin);
  int r = 0, end = mafat_min(n, common->in_y.end - first);
  for (; r < n && first + r < common->in_y.begin; r++) rows[r] = c->zeros;
  while (r < end) r += point_at_band(common, block_slice, first + r, end - r, x, rows + r);
  for (; r < n; r++) rows[r] = c->zeros;
}

static void list_block_slices(struct conv *c, struct mafat_span channels)
{
  const struct mafat_conv *common = &c->common;
  c->n_block_slices = mafat_block_slices(mafat_layer_sources(common->layer), channels,
                                         c->references, common->worker->scratch->n_block_slices);
  c->rows = mafat_span(0, 0);
}

/* Sets in_rows and block_slices for rows of sums, unless they are set already. */
static void point_at_input(struct conv *c, struct mafat_span rows)
{
  const struct mafat_conv *common = &c->common;
  const struct mafat_scratch *s = common->worker->scratch;
  int first = mafat_taps_first(common->layer->window.y, rows.begin);
  int n = mafat_taps_inputs(common->layer->window.y, mafat_span_size(rows));
  if (c->rows.begin == rows.begin && c->rows.end == rows.end) return;
  c->rows = rows;
  if (c->runs) c->runs->known = false;
  if (c->input_sums) c->input_sums->known = false;
  for (int i = 0; i < c->n_block_slices; i++) {
    const struct mafat_block_slice *p = &c->references[i];
    const uint8_t **in = c->in_rows + (size_t)i * (size_t)s->in_rows;
    ptrdiff_t bytes;
    if (i > 0 && mafat_conv_block_slices_apart(common, p, p - 1, &bytes))
      mafat_conv_move_rows(in, in - s->in_rows, n, bytes, c->zeros);
    else point_at_rows(c, p, first, n, in);
    c->block_slices[i] = (struct mafat_integer_block_slice){
        in, p->n, (int)mafat_tensors_pixel_bytes(common->worker->tensors, p->tensor, p->block)};
  }
}

static int point_at_output(struct conv *c, struct mafat_span filters, int y0, int n,
                           struct mafat_integer_segment segments[2])
{
  struct mafat_conv *common = &c->common;
  const struct mafat_tensors *t = common->worker->tensors;
  int layer = common->step->layer, n_segments = 0;
  for (int f = filters.begin, end; f < filters.end; f = end) {
    int block = f / MAFAT_CHANNEL_BLOCK;
    uint8_t **rows =
        c->out_rows + (size_t)n_segments * (size_t)common->worker->scratch->rows_per_call;
    end = mafat_min(filters.end, (block + 1) * MAFAT_CHANNEL_BLOCK);
    mafat_conv_point_at_filter(common, f, mafat_span(y0, y0 + n), c->out_rows, rows);
    segments[n_segments++] = (struct mafat_integer_segment){
        rows, end - f, (int)mafat_tensors_pixel_bytes(t, layer, block)};
  }
  return n_segments;
}

/* If a shortcut is fused: adds its second operand to output rows [y0, y0 + n), in the output's
 * memory, where the convolution has stored its results. */
static void add(const struct conv *c, struct mafat_span filters, int y0, int n)
{
  const struct mafat_conv *common = &c->common;
  const struct mafat_worker *w = common->worker;
  if (!common->shortcut) return;
  struct mafat_integer_blend_call call = c->blend;
  const struct mafat_sources *z = &common->shortcut->operands[1].sources;
  call.n_cols = mafat_span_size(common->step->out.x);
  for (int f = filters.begin, end; f < filters.end; f = end) {
    int block = f / MAFAT_CHANNEL_BLOCK, lane = f % MAFAT_CHANNEL_BLOCK,
        x = common->step->out.x.begin;
    int z_channel = z->list->first + f;
    end = mafat_min(filters.end, (block + 1) * MAFAT_CHANNEL_BLOCK);
    call.n_channels = end - f;
    call.x_pixel_bytes = call.y_pixel_bytes =
        (int)mafat_tensors_pixel_bytes(w->tensors, common->step->layer, block);
    call.z_pixel_bytes = (int)mafat_tensors_pixel_bytes(w->tensors, z->list->tensor,
                                                        z_channel / MAFAT_CHANNEL_BLOCK);
    for (int y = y0; y < y0 + n; y++) {
      call.y =
          (uint8_t *)mafat_tensors_address(w->tensors, common->step->layer, block, y, x) + lane;
      call.x = call.y;
      call.z = mafat_integer_read(w->tensors, z, 0, z_channel, y, x);
      c->kernels->blend(&call);
    }
  }
}

/* ---- panels ---- */

/* Called if the step sums only some of the input channels: makes the kernel call continue the sums
 * of the parts before, and leave them to the parts after. */
static void go_on(const struct conv *c, struct mafat_integer_conv_call *call,
                  struct mafat_span filters, int y0)
{
  const struct mafat_step *step = c->common.step;
  const struct mafat_layer *l = c->common.layer;
  size_t rows = (size_t)mafat_span_size(step->out.y), cols = (size_t)mafat_span_size(step->out.x);
  size_t pixel = (size_t)(y0 - step->out.y.begin) * cols;
  call->sums =
      c->common.worker->sums + (size_t)filters.begin * rows * cols + pixel * (size_t)call->width;
  call->weights +=
      (size_t)step->channels.begin * (size_t)mafat_window_area(&l->window) * (size_t)call->width;
  call->start = step->channels.begin == 0;
  call->finish = step->channels.end == l->in.c;
}

/* Kernels sort a panel's weights once, and use the result for all rows of the step. Divides
 * `memory`, of MAFAT_SORTED_ROOM elements, among as many panels of layer `index` as fit. Does
 * nothing if the kernels do not sort, if the layer is grouped or has too many weights, or if the
 * step has few pixels. */
static void make_sorted_room(struct conv *c, int index, uint16_t *memory)
{
  const struct mafat_conv *common = &c->common;
  const struct mafat_layer *l = &common->worker->tensors->network->layers[index];
  const size_t quads = mafat_quads_taps(l, 0) / MAFAT_QUAD;
  if (!c->kernels->sorts || l->groups > 1) return;
  if (mafat_span_size(common->box.y) * mafat_span_size(common->box.x) < SORTED_PIXELS ||
      quads > MAFAT_SORTED_ROOM / 4)
    return;
  c->sorted = memory;
  c->sorted_capacity = SORTED_OF_PANEL + SORTED_OF_QUAD * (int)quads;
  c->n_sorted = mafat_min(MAFAT_SORTED_ROOM / c->sorted_capacity, mafat_conv_n_panels(common));
  for (int p = 0; p < c->n_sorted; p++) memory[p * c->sorted_capacity] = 0;
}

/* Sets the fields of *c->call that are the same for all panels of layer `index`. */
static void begin_panels(struct conv *c, int index, struct mafat_window window)
{
  const struct mafat_conv *common = &c->common;
  const struct mafat_layer *l = &common->worker->tensors->network->layers[index];
  struct mafat_integer_conv_call *call = c->call;
  c->quads_taps = mafat_layer_is_grouped(l) ? 0 : mafat_quads_taps(l, 0);
  call->block_slices = c->block_slices;
  call->n_cols = mafat_span_size(common->box.x);
  call->window = window;
  call->to.out = l->quantization;
  call->sums = NULL;
  call->input_sums = c->input_sums;
  call->runs = c->runs;
}

static void set_panel(struct conv *c, const struct mafat_layer *l, int index,
                      struct mafat_span filters)
{
  struct mafat_integer_conv_call *call = c->call;
  const int first = c->quads_taps ? filters.begin / MAFAT_PANEL * MAFAT_PANEL
                                  : mafat_pack_panel_begin(l, filters.begin);
  const int end = mafat_panel_end(l, first), width = mafat_panel_width(end - first);
  const char *at =
      mafat_weights_integer_panel(c->common.worker->weights, index, first, c->quads_taps);
  const struct mafat_integer_panel panel = mafat_integer_panel_at(
      l, at, c->quads_taps ? c->quads_taps : mafat_quads_taps(l, first), width);
  call->weights = panel.weights;
  call->width = width;
  call->weights_zero = panel.weights_zero;
  call->to.bias = panel.bias;
  call->to.multipliers = panel.multipliers;
  call->to.shifts = panel.shifts;
  call->first = filters.begin - first;
  call->end = filters.end < end ? filters.end - first : 0;
}

/* Computes n output rows, from y0 on, of a panel of layer `index`, summing c->block_slices. */
static void run_panel(struct conv *c, int index, struct mafat_span filters, int y0, int n)
{
  const struct mafat_conv *common = &c->common;
  struct mafat_integer_conv_call *call = c->call;
  set_panel(c, &common->worker->tensors->network->layers[index], index, filters);
  call->n_block_slices = c->n_block_slices;
  call->n_rows = n;
  call->start = call->finish = true;
  const int panel = filters.begin / MAFAT_PANEL - common->step->filters.begin / MAFAT_PANEL;
  call->sorted = panel < c->n_sorted ? c->sorted + panel * c->sorted_capacity : NULL;
  call->sorted_capacity = c->sorted_capacity;
  call->n_segments = point_at_output(c, filters, y0, n, call->segments);
  if (common->worker->sums) go_on(c, call, filters, y0);
  c->kernels->conv(call);
  if (call->finish) add(c, filters, y0, n);
}

static void run_ordinary(struct conv *c)
{
  struct mafat_conv *common = &c->common;
  struct mafat_conv_block block;
  uint16_t sorted_memory[MAFAT_SORTED_ROOM];
  struct mafat_integer_input_sums input_sums;
  struct mafat_integer_runs runs;
  struct mafat_integer_conv_call call;
  make_sorted_room(c, common->index, sorted_memory);
  c->input_sums = &input_sums;
  c->runs = &runs;
  c->call = &call;
  list_block_slices(c, common->step->channels);
  begin_panels(c, common->index, common->layer->window);
  mafat_conv_share(common, mafat_conv_n_panels(common));
  for (int panel; mafat_conv_take(common, &block, &panel);) {
    point_at_input(c, block.sums);
    run_panel(c, common->index, mafat_conv_panel(common, panel), block.out_y,
              mafat_span_size(block.sums));
  }
}

/* A unit is a block of rows of one group. */
static void run_grouped(struct conv *c)
{
  struct mafat_conv *common = &c->common;
  const struct mafat_layer *l = common->layer;
  int filters = l->filters / l->groups, channels = l->in.c / l->groups;
  struct mafat_span wanted = common->step->filters;
  int first = wanted.begin / filters, n_groups = (wanted.end - 1) / filters + 1 - first;
  struct mafat_conv_block block;
  struct mafat_integer_conv_call call;
  c->call = &call;
  begin_panels(c, common->index, l->window);
  mafat_conv_share(common, n_groups);
  for (int index; mafat_conv_take(common, &block, &index);) {
    int g = first + index, begin = mafat_max(wanted.begin, g * filters),
        end = mafat_min(wanted.end, (g + 1) * filters);
    list_block_slices(c, mafat_span(g * channels, (g + 1) * channels));
    point_at_input(c, block.sums);
    for (int f = begin, next; f < end; f = next) {
      next = mafat_min(mafat_panel_end(l, f), end);
      run_panel(c, common->index, mafat_span(f, next), block.out_y, mafat_span_size(block.sums));
    }
  }
}

/* ---- depthwise ---- */

/* Points in_rows at the input of a run of channels (tensors.h) for these output rows. last: the run
 * at which in_rows point before the call, for the same output rows; NULL: none. */
static void point_at_run(struct conv *c, const struct mafat_run *run, const struct mafat_run *last,
                         struct mafat_span rows)
{
  const struct mafat_taps taps = c->common.layer->window.y;
  const struct mafat_block_slice block_slice = mafat_conv_block_slice_of(run),
                                 before = mafat_conv_block_slice_of(last ? last : run);
  const int n = mafat_taps_inputs(taps, mafat_span_size(rows));
  ptrdiff_t bytes;
  if (last && mafat_conv_block_slices_apart(&c->common, &block_slice, &before, &bytes))
    mafat_conv_move_rows(c->in_rows, c->in_rows, n, bytes, c->zeros);
  else point_at_rows(c, &block_slice, mafat_taps_first(taps, rows.begin), n, c->in_rows);
}

static void point_at_run_output(struct conv *c, const struct mafat_run *run, struct mafat_span rows)
{
  mafat_conv_point_at_filter(&c->common, run->out_block * MAFAT_CHANNEL_BLOCK + run->out_lane, rows,
                             c->out_rows, c->out_rows);
}

/* Computes output rows of one run of channels. The caller has set in_rows and out_rows. */
static void run_depthwise_rows(struct conv *c, const struct mafat_run *run, struct mafat_span rows,
                               int out_pixel_bytes)
{
  const struct mafat_conv *common = &c->common;
  const struct mafat_layer *l = common->layer;
  int block = run->out_block * MAFAT_CHANNEL_BLOCK, n = mafat_span_size(rows);
  const size_t taps = (size_t)mafat_window_area(&l->window);
  const int width = mafat_panel_width(mafat_panel_end(l, block) - block), lane = run->out_lane;
  const struct mafat_integer_panel panel = mafat_integer_panel_at(
      l, mafat_weights_integer_panel(common->worker->weights, common->index, block, taps), taps,
      width);
  struct mafat_integer_depthwise_call call = {
      .rows = c->in_rows,
      .out = c->out_rows,
      .n_channels = run->n,
      .in_pixel_bytes =
          (int)mafat_tensors_pixel_bytes(common->worker->tensors, run->tensor, run->block),
      .out_pixel_bytes = out_pixel_bytes,
      .n_rows = n,
      .n_cols = mafat_span_size(common->box.x),
      .window = l->window,
      .weights = panel.weights + lane,
      .width = width,
      .weights_zero = panel.weights_zero,
      .to = {panel.bias + lane, panel.multipliers + lane, panel.shifts + lane, l->quantization}};
  c->kernels->depthwise(&call);
}

static void run_depthwise(struct conv *c)
{
  struct mafat_conv *common = &c->common;
  const struct mafat_tensors *t = common->worker->tensors;
  struct mafat_conv_block block;
  mafat_conv_share(common, 1);
  for (int all; mafat_conv_take(common, &block, &all);) {
    struct mafat_runs runs =
        mafat_runs_of(mafat_layer_sources(common->layer), common->step->filters);
    struct mafat_run run, last;
    for (bool first = true; mafat_runs_next(&runs, &run); first = false, last = run) {
      point_at_run(c, &run, first ? NULL : &last, block.sums);
      point_at_run_output(c, &run, block.sums);
      run_depthwise_rows(c, &run, block.sums,
                         (int)mafat_tensors_pixel_bytes(t, common->step->layer, run.out_block));
    }
  }
}

static void run_depthwise_in_place(struct conv *c)
{
  struct mafat_conv *common = &c->common;
  for (struct mafat_run run; mafat_conv_take_channels(common, &run);)
    for (struct mafat_span rows = {0, common->box.y.begin}; rows.end < common->box.y.end;) {
      rows = mafat_conv_kept_call(common, rows.end);
      mafat_conv_keep_rows(common, &run, rows);
      point_at_run(c, &run, NULL, rows);
      int first = mafat_taps_first(common->layer->window.y, rows.begin);
      for (int y = mafat_max(first, common->in_y.begin); y < rows.end; y++)
        c->in_rows[y - first] = (const uint8_t *)mafat_conv_kept_row(common, y);
      point_at_run_output(c, &run, rows);
      run_depthwise_rows(c, &run, rows,
                         (int)mafat_tensors_pixel_bytes(common->worker->tensors,
                                                        common->step->layer, run.out_block));
    }
}

/* Returns the address of channel block `b` of the depthwise layer's row r in the worker's scratch.
 * In narrow maps the rows of a channel block are contiguous, and kernels treat them as one row. In
 * wider maps the channel blocks of a row are contiguous, so that they do not share cache sets. */
static uint8_t *inner_row(const struct conv *c, int b, int r)
{
  const struct mafat_scratch *s = c->common.worker->scratch;
  const size_t cols = (size_t)s->inner_cols, before = (size_t)b * MAFAT_CHANNEL_BLOCK * cols;
  uint8_t *slot = (uint8_t *)c->common.worker->slot_memory + s->inner_offset;
  if (s->inner_cols > NARROW_COLS) return slot + (size_t)r * s->inner_row_elements + before;
  return slot + before * (size_t)s->rows_per_call +
         (size_t)r * (size_t)mafat_block_width(c->common.layer->out.c, b) * cols;
}

static void run_inner_rows(struct conv *c, struct mafat_span rows)
{
  const struct mafat_layer *l = c->common.layer;
  struct mafat_runs runs = mafat_runs_of(mafat_layer_sources(l), mafat_span(0, l->out.c));
  struct mafat_run run, last;
  c->common.outputs.rows = mafat_span(0, 0);
  for (bool first = true; mafat_runs_next(&runs, &run); first = false, last = run) {
    for (int r = 0; r < mafat_span_size(rows); r++)
      c->out_rows[r] = inner_row(c, run.out_block, r) + run.out_lane;
    point_at_run(c, &run, first ? NULL : &last, rows);
    run_depthwise_rows(c, &run, rows, mafat_block_width(l->out.c, run.out_block));
  }
}

/* Computes the 1x1 convolution from the rows in scratch. */
static void run_pointwise_rows(struct conv *c, struct mafat_span rows)
{
  const struct mafat_conv *common = &c->common;
  int channels = common->layer->out.c, n = mafat_span_size(rows);
  c->n_block_slices = mafat_n_blocks(channels);
  for (int b = 0; b < c->n_block_slices; b++) {
    const uint8_t **in = c->in_rows + (size_t)b * (size_t)common->worker->scratch->in_rows;
    for (int r = 0; r < n; r++) in[r] = inner_row(c, b, r);
    c->block_slices[b] = (struct mafat_integer_block_slice){
        in, mafat_min(MAFAT_CHANNEL_BLOCK, channels - b * MAFAT_CHANNEL_BLOCK),
        mafat_block_width(channels, b)};
  }
  c->input_sums->known = false;
  c->runs->known = false;
  begin_panels(c, common->pointwise, mafat_window_square(1, 1, 0));
  for (int p = 0; p < mafat_conv_n_panels(common); p++)
    run_panel(c, common->pointwise, mafat_conv_panel(common, p), rows.begin, n);
}

static void run_separable(struct conv *c)
{
  struct mafat_conv_block block;
  uint16_t sorted_memory[MAFAT_SORTED_ROOM];
  struct mafat_integer_input_sums input_sums;
  struct mafat_integer_runs runs;
  struct mafat_integer_conv_call call;
  make_sorted_room(c, c->common.pointwise, sorted_memory);
  c->input_sums = &input_sums;
  c->runs = &runs;
  c->call = &call;
  mafat_conv_share(&c->common, 1);
  for (int all; mafat_conv_take(&c->common, &block, &all);) {
    run_inner_rows(c, block.sums);
    run_pointwise_rows(c, block.sums);
  }
}

/* ---- the kind ---- */

static int run_convolutional(const struct mafat_worker *w, const struct mafat_step *step)
{
  struct conv c;
  open_conv(&c, w, step);
  if (c.common.pointwise >= 0) run_separable(&c);
  else if (mafat_plan_is_in_place(w->plan, step->layer)) run_depthwise_in_place(&c);
  else if (mafat_layer_is_depthwise(c.common.layer)) run_depthwise(&c);
  else if (c.common.layer->groups > 1) run_grouped(&c);
  else run_ordinary(&c);
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_integer_convolutional = {.run = run_convolutional,
                                                              .sharing = MAFAT_SHARED_BY_UNITS};
