/* Computes matrix products of two maps, row by row: with first map a, second map b and alpha,
 * out(y, x, f) = alpha * sum over k of a(y, x, k) * b(y, k, f), in the order row, column, channel;
 * b(y, f, k) if b is transposed. This is a 1x1 convolution whose weights are a row of b. A unit of
 * work is a panel of filters f of one output row, or some columns of it; it first packs its part of
 * b into a panel of weights. Called by the executor through the table in kinds.c; integer/matmul.c
 * calls mafat_product_take. Writes the step's output and the worker's scratch, in the arena;
 * allocates nothing. */
#include "runner/engine/kinds/matmul.h"

#include "predictor/plan/packing.h"

#include <string.h>

enum {
  UNITS = 4,     /* wanted number of units for each worker */
  UNIT_COLS = 64 /* least columns of a unit: with fewer, packing would take much of the time */
};

struct float_product {
  const struct mafat_worker *worker;
  const struct mafat_step *step;
  const struct mafat_layer *layer;
  const struct mafat_block_slice *references; /* [n_block_slices]: channels of the first map */
  struct mafat_conv_block_slice *block_slices;      /* [n_block_slices]: arguments for kernels */
  const float **in_rows;                /* [n_block_slices] */
  float **out_rows;                     /* [segment] */
  float *panel;                         /* [channel][width] */
  int n_block_slices;
};

_Static_assert(sizeof(struct mafat_conv_block_slice) <= MAFAT_SCRATCH_BLOCK_SLICE / 2,
               "block slice record");
_Static_assert(sizeof(struct mafat_block_slice) <= MAFAT_SCRATCH_BLOCK_SLICE / 2,
               "block slice record");

static struct float_product open_product(const struct mafat_worker *w,
                                         const struct mafat_step *step)
{
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  const struct mafat_scratch *s = w->scratch;
  char *tables = w->slot_memory + s->block_slices_offset;
  struct mafat_block_slice *references =
      (struct mafat_block_slice *)(tables +
                                   (size_t)s->n_block_slices * (MAFAT_SCRATCH_BLOCK_SLICE / 2));
  struct float_product p = {.worker = w, .step = step, .layer = l, .references = references,
                      .block_slices = (struct mafat_conv_block_slice *)tables,
                      .in_rows = (const float **)(w->slot_memory + s->in_offset),
                      .out_rows = (float **)(w->slot_memory + s->out_offset),
                      .panel = (float *)(w->slot_memory + s->panel_offset)};
  p.n_block_slices = mafat_block_slices(mafat_layer_sources(l), mafat_span(0, l->in.c), references,
                                        s->n_block_slices);
  return p;
}

bool mafat_product_take(const struct mafat_worker *w, const struct mafat_step *step,
                        struct mafat_product_part *part)
{
  int n_workers = mafat_team_size(w->team),
      n_panels = mafat_divide_up(mafat_span_size(step->filters), MAFAT_PANEL);
  int wanted = n_workers == 1
                   ? 1
                   : mafat_divide_up(UNITS * n_workers, n_panels * mafat_span_size(step->out.y));
  int n_shares = mafat_max(mafat_min(wanted, mafat_span_size(step->out.x) / UNIT_COLS), 1),
      per_row = n_panels * n_shares;
  int unit = mafat_team_take(w->team, w->index, per_row * mafat_span_size(step->out.y));
  if (unit < 0) return false;
  struct mafat_span cols =
      mafat_span_share(mafat_span_size(step->out.x), n_shares, unit % n_shares);
  int filter = step->filters.begin + unit % per_row / n_shares * MAFAT_PANEL;
  part->y = step->out.y.begin + unit / per_row;
  part->cols = mafat_span(step->out.x.begin + cols.begin, step->out.x.begin + cols.end);
  part->filters = mafat_span(filter, mafat_min(filter + MAFAT_PANEL, step->filters.end));
  return true;
}

/* ---- the second map, packed ---- */

/* Packs a panel if the second map is not transposed: its channels are the filters. `inputs` are the
 * columns to be packed. */
static void pack_channels(const struct float_product *p, const struct mafat_product_part *part,
                          struct mafat_span inputs, int width)
{
  const struct mafat_tensors *t = p->worker->tensors;
  const struct mafat_sources *sources = &p->layer->operands[1].sources;
  struct mafat_runs runs = mafat_runs_of(sources, part->filters);
  struct mafat_run run;
  while (mafat_runs_next(&runs, &run)) {
    const float *from =
        mafat_runs_read(t, sources, &run, mafat_product_row(p->layer, 1, part->y), inputs.begin);
    size_t pixel = (size_t)mafat_tensors_pixel_floats(t, run.tensor, run.block);
    float *to =
        p->panel + (run.out_block * MAFAT_CHANNEL_BLOCK + run.out_lane - part->filters.begin);
    for (int k = inputs.begin; k < inputs.end; k++, from += pixel, to += width)
      memcpy(to, from, (size_t)run.n * sizeof *to);
  }
}

/* Packs a panel if the second map is transposed: its columns are the filters. `inputs` are the
 * channels to be packed. */
static void pack_columns(const struct float_product *p, const struct mafat_product_part *part,
                         struct mafat_span inputs, int width)
{
  const struct mafat_tensors *t = p->worker->tensors;
  const struct mafat_sources *sources = &p->layer->operands[1].sources;
  struct mafat_runs runs = mafat_runs_of(sources, inputs);
  struct mafat_run run;
  while (mafat_runs_next(&runs, &run)) {
    const float *from = mafat_runs_read(t, sources, &run, mafat_product_row(p->layer, 1, part->y),
                                        part->filters.begin);
    size_t pixel = (size_t)mafat_tensors_pixel_floats(t, run.tensor, run.block);
    float *to =
        p->panel + (run.out_block * MAFAT_CHANNEL_BLOCK + run.out_lane - inputs.begin) * width;
    for (int f = part->filters.begin; f < part->filters.end; f++, from += pixel, to++)
      for (int k = 0; k < run.n; k++) to[k * width] = from[k];
  }
}

/* Packs some inputs of the part's panel. The panel's last filters, if the part has fewer than its
 * width, are filled with zeros. */
static void pack(const struct float_product *p, const struct mafat_product_part *part,
                 struct mafat_span inputs, int width)
{
  int n = mafat_span_size(part->filters);
  if (n < width)
    memset(p->panel, 0, (size_t)mafat_span_size(inputs) * (size_t)width * sizeof *p->panel);
  if (p->layer->transposed) pack_columns(p, part, inputs, width);
  else pack_channels(p, part, inputs, width);
}

/* ---- the product ---- */

static void point_at_input(const struct float_product *p, const struct mafat_product_part *part)
{
  const struct mafat_tensors *t = p->worker->tensors;
  for (int i = 0; i < p->n_block_slices; i++) {
    const struct mafat_block_slice *from = &p->references[i];
    p->in_rows[i] = mafat_tensors_read(t, mafat_layer_sources(p->layer), from->source,
                                       from->block * MAFAT_CHANNEL_BLOCK + from->lane,
                                       mafat_product_row(p->layer, 0, part->y), part->cols.begin);
    p->block_slices[i] = (struct mafat_conv_block_slice){
        &p->in_rows[i], from->n, mafat_tensors_pixel_floats(t, from->tensor, from->block)};
  }
}

static int point_at_output(const struct float_product *p, const struct mafat_product_part *part,
                           struct mafat_conv_segment *segments)
{
  const struct mafat_tensors *t = p->worker->tensors;
  int layer = p->step->layer, n = 0;
  for (int f = part->filters.begin, end; f < part->filters.end; f = end, n++) {
    int block = f / MAFAT_CHANNEL_BLOCK;
    end = mafat_min(part->filters.end, (block + 1) * MAFAT_CHANNEL_BLOCK);
    p->out_rows[n] =
        mafat_tensors_pixel(t, layer, block, part->y, part->cols.begin) + f % MAFAT_CHANNEL_BLOCK;
    segments[n] = (struct mafat_conv_segment){&p->out_rows[n], end - f,
                                              mafat_tensors_pixel_floats(t, layer, block)};
  }
  return n;
}

/* Returns the end of the block slices, from `first` on, that one kernel call sums. */
static int split_end(const struct float_product *p, int first)
{
  int begin = p->references[first].position, i = first;
  while (i < p->n_block_slices && p->references[i].position - begin < MAFAT_SPLIT_CHANNELS) i++;
  return i;
}

static void run_part(const struct float_product *p, const struct mafat_product_part *part)
{
  float scale[MAFAT_PANEL], bias[MAFAT_PANEL] = {0};
  struct mafat_conv_call call = {.n_rows = 1,
                                 .n_cols = mafat_span_size(part->cols),
                                 .window = mafat_window_square(1, 1, 0),
                                 .weights = p->panel,
                                 .scale = scale,
                                 .bias = bias,
                                 .width = mafat_panel_width(mafat_span_size(part->filters)),
                                 .activation = p->layer->activation};
  for (int f = 0; f < MAFAT_PANEL; f++) scale[f] = p->layer->alpha;
  point_at_input(p, part);
  call.n_segments = point_at_output(p, part, call.segments);
  for (int i = 0, end; i < p->n_block_slices; i = end) {
    end = split_end(p, i);
    struct mafat_span inputs = {p->references[i].position, p->layer->in.c};
    if (end < p->n_block_slices) inputs.end = p->references[end].position;
    pack(p, part, inputs, call.width);
    call.block_slices = p->block_slices + i;
    call.n_block_slices = end - i;
    call.start = i == 0;
    call.finish = end == p->n_block_slices;
    p->worker->kernels->conv(&call);
  }
}

static int run_matmul(const struct mafat_worker *w, const struct mafat_step *step)
{
  struct float_product p = open_product(w, step);
  for (struct mafat_product_part part; mafat_product_take(w, step, &part);) run_part(&p, &part);
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_runner_matmul = {.run = run_matmul,
                                                      .sharing = MAFAT_SHARED_BY_UNITS};
