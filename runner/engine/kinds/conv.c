/* Computes convolutions: sets up tables of row pointers, divides the work into units, and calls
 * conv_direct.c, conv_depthwise.c or conv_winograd.c. Called by the executor through the table in
 * kinds.c. Those three files, dense.c and integer/conv.c call the functions of conv.h. Writes the
 * step's output and the worker's scratch in the arena; allocates nothing. */
#include "runner/engine/kinds/conv.h"

#include "predictor/plan/fusion.h"
#include "predictor/kinds/conv.h"
#include "predictor/plan/winograd.h"

#include <assert.h>
#include <string.h>

/* Scratch has a record of MAFAT_SCRATCH_BLOCK_SLICE bytes for each block slice: half of it for
 * mafat_conv.block_slices, half for mafat_conv.references. */
enum { REFERENCE_OFFSET = MAFAT_SCRATCH_BLOCK_SLICE / 2 };

_Static_assert(sizeof(struct mafat_conv_block_slice) <= REFERENCE_OFFSET, "block slice record");
_Static_assert(sizeof(struct mafat_block_slice) <= MAFAT_SCRATCH_BLOCK_SLICE - REFERENCE_OFFSET,
               "block slice record");
_Static_assert(sizeof(void *) <= 8, "scratch counts 8 bytes per pointer");

/* True if the step reads rows above or below its input, which are zeros; most steps do not. */
static bool reads_outside(const struct mafat_conv *c)
{
  const struct mafat_layer *l = c->layer;
  const struct mafat_winograd *winograd = mafat_winograd_of(c->worker->plan->algorithms[c->index]);
  int n = mafat_span_size(c->box.y);
  if (winograd) n = mafat_winograd_tiles(winograd, n) * winograd->outputs;
  struct mafat_span rows =
      mafat_taps_span(l->window.y, mafat_span(c->box.y.begin, c->box.y.begin + n));
  return rows.begin < c->in_y.begin || rows.end > c->in_y.end;
}

/* Assigns field by field, because clearing the struct first would double the time, and a run may
 * have a step for every row. */
void mafat_conv_begin(struct mafat_conv *c, const struct mafat_worker *w,
                      const struct mafat_step *step)
{
  const struct mafat_network *n = w->tensors->network;
  int index = mafat_plan_reader(w->plan, step->layer);
  const struct mafat_layer *outermost = &n->layers[step->layer];
  c->worker = w;
  c->step = step;
  c->layer = &n->layers[index];
  c->index = index;
  c->pool = false;
  c->shortcut = mafat_layer_blends(outermost) ? outermost : NULL;
  c->pointwise =
      index != step->layer && mafat_layer_is_depthwise(c->layer) ? w->plan->outer[index] : -1;
  c->box.y = mafat_fusion_inner_span(w->plan, n, step->layer, true, step->out.y);
  c->box.x = mafat_fusion_inner_span(w->plan, n, step->layer, false, step->out.x);
  c->in_y = mafat_fusion_in_span(w->plan, n, step->layer, 0, true, step->out.y);
  c->n_block_slices = 0;
  c->outputs = (struct mafat_conv_outputs){0, {0, 0}};
}

void mafat_conv_open(struct mafat_conv *c, const struct mafat_worker *w,
                     const struct mafat_step *step)
{
  const struct mafat_scratch *s = w->scratch;
  char *memory = w->slot_memory;
  mafat_conv_begin(c, w, step);
  c->pool = mafat_fusion_pools(w->plan, w->tensors->network, step->layer);
  c->block_slices = (struct mafat_conv_block_slice *)(memory + s->block_slices_offset);
  c->references = (struct mafat_block_slice *)(memory + s->block_slices_offset +
                                               (size_t)s->n_block_slices * REFERENCE_OFFSET);
  c->in_rows = (const float **)(memory + s->in_offset);
  c->out_rows = (float **)(memory + s->out_offset);
  c->zeros = (float *)(memory + s->zero_offset);
  if (s->zero_elements && reads_outside(c))
    memset(c->zeros, 0, s->zero_elements * sizeof *c->zeros);
}

void mafat_conv_list_block_slices(struct mafat_conv *c, struct mafat_span channels)
{
  c->n_block_slices = mafat_block_slices(mafat_layer_sources(c->layer), channels, c->references,
                                         c->worker->scratch->n_block_slices);
  assert(c->n_block_slices <= c->worker->scratch->n_block_slices);
}

/* Sets pointers to at most n input rows from y on, up to the end of the band that has row y (a band
 * is a range of rows that one tensor of the input provides). Returns their number. */
static int point_at_band(const struct mafat_conv *c, const struct mafat_block_slice *block_slice,
                         int y, int n, int x, const float **rows)
{
  const struct mafat_sources *sources = mafat_layer_sources(c->layer);
  const struct mafat_source *s = mafat_sources_at(sources, block_slice->source, &y);
  int channel = block_slice->block * MAFAT_CHANNEL_BLOCK + block_slice->lane -
                sources->list[block_slice->source].first + s->first;
  struct mafat_tensor_rows band = mafat_tensors_rows(c->worker->tensors, s->tensor, channel, y, x);
  n = mafat_min(n, s->first_row + s->n_rows - y);
  for (int r = 0; r < n; r++) rows[r] = mafat_tensor_rows_next(&band);
  return n;
}

bool mafat_conv_block_slices_apart(const struct mafat_conv *c,
                                   const struct mafat_block_slice *block_slice,
                                   const struct mafat_block_slice *last, ptrdiff_t *bytes)
{
  const struct mafat_sources *sources = mafat_layer_sources(c->layer);
  int x = mafat_taps_first(c->layer->window.x, c->box.x.begin);
  if (block_slice->source != last->source || sources->n_bands > 1) return false;
  return mafat_tensors_apart(c->worker->tensors, block_slice->tensor,
                             block_slice->block * MAFAT_CHANNEL_BLOCK + block_slice->lane,
                             last->block * MAFAT_CHANNEL_BLOCK + last->lane, x, bytes);
}

void mafat_conv_point_at_filter(struct mafat_conv *c, int filter, struct mafat_span rows,
                                const void *first, void *to)
{
  const struct mafat_tensors *t = c->worker->tensors;
  const struct mafat_conv_outputs *last = &c->outputs;
  int layer = c->step->layer, x = c->step->out.x.begin, n = mafat_span_size(rows);
  ptrdiff_t bytes;
  if (last->rows.begin == rows.begin && last->rows.end == rows.end &&
      mafat_tensors_apart(t, layer, filter, last->filter, x, &bytes)) {
    mafat_conv_move_rows(to, first, n, bytes, NULL);
  } else {
    struct mafat_tensor_rows out = mafat_tensors_rows(t, layer, filter, rows.begin, x);
    for (int r = 0; r < n; r++) {
      char *row = mafat_tensor_rows_next_bytes(&out);
      memcpy((char *)to + (size_t)r * sizeof row, &row, sizeof row);
    }
  }
  if (to == first) c->outputs = (struct mafat_conv_outputs){filter, rows};
}

void mafat_conv_point_at_rows(const struct mafat_conv *c,
                              const struct mafat_block_slice *block_slice, int first, int n, int x,
                              const float **rows)
{
  int r = 0, end = mafat_min(n, c->in_y.end - first);
  for (; r < n && first + r < c->in_y.begin; r++) rows[r] = c->zeros;
  while (r < end) r += point_at_band(c, block_slice, first + r, end - r, x, rows + r);
  for (; r < n; r++) rows[r] = c->zeros;
}

int mafat_conv_point_at_output(struct mafat_conv *c, struct mafat_span filters, int y0, int n,
                               struct mafat_conv_segment segments[2])
{
  const struct mafat_tensors *t = c->worker->tensors;
  int layer = c->step->layer, n_segments = 0;
  for (int f = filters.begin; f < filters.end;) {
    int block = f / MAFAT_CHANNEL_BLOCK,
        end = mafat_min(filters.end, (block + 1) * MAFAT_CHANNEL_BLOCK);
    assert(n_segments < 2);
    float **rows = c->out_rows + (size_t)n_segments * (size_t)c->worker->scratch->rows_per_call;
    mafat_conv_point_at_filter(c, f, mafat_span(y0, y0 + n), c->out_rows, rows);
    segments[n_segments++] =
        (struct mafat_conv_segment){rows, end - f, mafat_tensors_pixel_floats(t, layer, block)};
    f = end;
  }
  return n_segments;
}

/* Adds the shortcut's second operand to n rows, from y0 on, of filters of one block, and activates
 * them. `added`: the second operand has these channels; else they are only activated. If the second
 * operand is larger, only every `down`-th row and `across`-th column of it is added. */
static void add_run(const struct mafat_conv *c, struct mafat_span filters, bool added, int y0,
                    int n)
{
  const struct mafat_layer *l = c->shortcut;
  const struct mafat_tensors *t = c->worker->tensors;
  const struct mafat_operand *o = &l->operands[1];
  const struct mafat_source *z = o->sources.list;
  int layer = c->step->layer, x = c->step->out.x.begin, block = filters.begin / MAFAT_CHANNEL_BLOCK;
  int down = o->shape.h / l->out.h, across = o->shape.w / l->out.w,
      channel = z->first + filters.begin;
  int pixel = mafat_tensors_pixel_floats(t, layer, block);
  struct mafat_blend_call call = {.n_cols = mafat_span_size(c->step->out.x),
                                  .n_channels = mafat_span_size(filters),
                                  .x_pixel_floats = pixel,
                                  .y_pixel_floats = pixel,
                                  .alpha = l->alpha,
                                  .beta = l->beta,
                                  .activation = l->activation};
  if (added)
    call.z_pixel_floats =
        across * mafat_tensors_pixel_floats(t, z->tensor, channel / MAFAT_CHANNEL_BLOCK);
  else if (l->activation.kind == MAFAT_LINEAR) return;
  for (int y = y0; y < y0 + n; y++) {
    call.y = mafat_tensors_pixel(t, layer, block, y, x) + filters.begin % MAFAT_CHANNEL_BLOCK;
    call.x = call.y;
    call.z = added ? mafat_tensors_read(t, &o->sources, 0, channel, y * down, x * across) : NULL;
    c->worker->kernels->blend(&call);
  }
}

void mafat_conv_add(const struct mafat_conv *c, struct mafat_span filters, int y0, int n)
{
  const struct mafat_layer *l = c->shortcut;
  if (!l) return;
  int n_added = l->operands[1].shape.c;
  for (int f = filters.begin, end; f < filters.end; f = end) {
    end = mafat_min(filters.end, (f / MAFAT_CHANNEL_BLOCK + 1) * MAFAT_CHANNEL_BLOCK);
    if (f < n_added) end = mafat_min(end, n_added);
    add_run(c, mafat_span(f, end), f < n_added, y0, n);
  }
}

struct mafat_span mafat_conv_panel(const struct mafat_conv *c, int unit)
{
  struct mafat_span filters = c->step->filters;
  int first = (filters.begin / MAFAT_PANEL + unit) * MAFAT_PANEL;
  return mafat_span(mafat_max(first, filters.begin), mafat_min(first + MAFAT_PANEL, filters.end));
}

int mafat_conv_n_panels(const struct mafat_conv *c)
{
  return mafat_divide_up(c->step->filters.end, MAFAT_PANEL) - c->step->filters.begin / MAFAT_PANEL;
}

/* ---- units of work ---- */

enum {
  PARTS = 4,            /* most parts into which the team divides a unit */
  /* least multiplications in a part: with fewer, reading the weights again for each part (about ten
   * microseconds) costs more time than dividing the unit saves */
  PART_MACS = 1 << 20
};

/* Number of parts into which a unit may be divided. A unit is `rows` rows of one of n panels or
 * groups. */
static int parts_of_unit(const struct mafat_conv *c, int rows, int n)
{
  const struct mafat_layer *l = c->layer;
  double pixels = (double)rows * mafat_span_size(c->box.x),
         filters = mafat_span_size(c->step->filters);
  double taps = (double)mafat_window_area(&l->window) * l->in.c / l->groups;
  double macs = pixels * (c->pointwise >= 0 ? (taps + filters) * l->out.c : taps * filters / n);
  return mafat_min(PARTS, mafat_max((int)(macs / PART_MACS), 1));
}

void mafat_conv_share(struct mafat_conv *c, int n)
{
  struct mafat_conv_units *u = &c->units;
  int rows = mafat_span_size(c->box.y), n_workers = mafat_team_size(c->worker->team);
  *u = (struct mafat_conv_units){
      .n = n, .n_lines = c->pool ? (rows + 1) / 2 : rows, .parts = 1, .alone = n_workers == 1};
  u->n_blocks =
      mafat_conv_blocks(rows, u->n_lines, c->worker->scratch->rows_per_call, n, n_workers);
  if (!u->alone)
    u->parts = mafat_min(parts_of_unit(c, rows / u->n_blocks, n), u->n_lines / u->n_blocks);
}

/* Block of these lines of the step; a line is a row, or two if the step also pools. */
static struct mafat_conv_block block_of(const struct mafat_conv *c, struct mafat_span lines)
{
  int step = c->pool ? 2 : 1;
  struct mafat_span rows = {c->box.y.begin + lines.begin * step,
                            mafat_min(c->box.y.begin + lines.end * step, c->box.y.end)};
  return (struct mafat_conv_block){rows, c->step->out.y.begin + lines.begin};
}

/* Does what mafat_conv_take does for a single worker, without a division. Most steps have one
 * block. */
static bool take_alone(struct mafat_conv *c, struct mafat_conv_block *block, int *index)
{
  struct mafat_conv_units *u = &c->units;
  if (u->next == 0) {
    if (u->next_block == u->n_blocks) return false;
    struct mafat_span lines = u->n_blocks == 1
                                  ? mafat_span(0, u->n_lines)
                                  : mafat_span_share(u->n_lines, u->n_blocks, u->next_block);
    u->block = block_of(c, lines);
    u->next_block++;
  }
  *block = u->block;
  *index = u->next++;
  if (u->next == u->n) u->next = 0;
  return true;
}

bool mafat_conv_take(struct mafat_conv *c, struct mafat_conv_block *block, int *index)
{
  const struct mafat_conv_units *u = &c->units;
  struct mafat_team_part p;
  if (u->alone) return take_alone(c, block, index);
  if (!mafat_team_take_part(c->worker->team, c->worker->index, u->n_blocks * u->n, u->parts, &p))
    return false;
  struct mafat_span lines = mafat_span_share(u->n_lines, u->n_blocks, p.unit / u->n);
  struct mafat_span part = mafat_span_share(mafat_span_size(lines), p.n_parts, p.part);
  *block = block_of(c, mafat_span(lines.begin + part.begin, lines.begin + part.end));
  *index = p.unit % u->n;
  return true;
}

/* ---- the kind ---- */

static int run_convolutional(const struct mafat_worker *w, const struct mafat_step *step)
{
  if (mafat_plan_winograd(w->plan, step->layer)) return mafat_conv_winograd(w, step);
  struct mafat_conv c;
  mafat_conv_open(&c, w, step);
  if (c.pointwise >= 0) return mafat_conv_separable(&c);
  if (mafat_plan_is_in_place(w->plan, step->layer)) return mafat_conv_depthwise_in_place(&c);
  return mafat_layer_is_depthwise(c.layer) ? mafat_conv_depthwise(&c) : mafat_conv_direct(&c);
}

static int rounds_of_convolutional(const struct mafat_worker *w, const struct mafat_step *step)
{
  return mafat_plan_winograd(w->plan, step->layer) ? mafat_conv_winograd_rounds(w, step) : 1;
}

const struct mafat_runner_kind mafat_runner_convolutional = {
    .rounds = rounds_of_convolutional, .run = run_convolutional, .sharing = MAFAT_SHARED_BY_UNITS};
