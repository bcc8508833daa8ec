/* Covers predictor/schedule/{schedule, schedule_grid, schedule_panels, schedule_rows}.c,
 * predictor/plan/usage.c: the steps of a plan compute each output once, after its inputs. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/plan/fusion.h"
#include "predictor/plan/order.h"
#include "predictor/plan/packing.h"
#include "predictor/plan/weight_placement.h"
#include "predictor/schedule/schedule.h"
#include "tests/support/support.h"

Suite *schedule_suite(void);

enum { CASES = 40, NETWORKS_PER_CASE = 40, MOST_PIXELS = 128 * 128 };

/* ---- brute force: the pixels that one output pixel needs ---- */

/* Marked pixels of one tensor. */
struct marks {
  bool *pixels; /* (h, w) */
  struct mafat_shape shape;
};

static void mark(struct marks *m, int y, int x)
{
  if (y >= 0 && y < m->shape.h && x >= 0 && x < m->shape.w) m->pixels[y * m->shape.w + x] = true;
}

/* Marks the pixels of the input that output (y, x) reads, as Darknet's loops do. */
static void mark_inputs(const struct mafat_layer *l, int y, int x, struct marks *m)
{
  switch (l->type) {
  case MAFAT_CONVOLUTIONAL:
  case MAFAT_MAXPOOL:
  case MAFAT_LOCAL_AVGPOOL:
    /* Pixels between dilated taps are held, too. */
    for (int ky = 0; ky < mafat_taps_reach(l->window.y); ky++)
      for (int kx = 0; kx < mafat_taps_reach(l->window.x); kx++)
        mark(m, mafat_taps_first(l->window.y, y) + ky, mafat_taps_first(l->window.x, x) + kx);
    break;
  case MAFAT_UPSAMPLE: mark(m, y / l->factor, x / l->factor); break;
  case MAFAT_REORG3D:
    for (int i = 0; i < l->factor * l->factor; i++)
      mark(m, y * l->factor + i / l->factor, x * l->factor + i % l->factor);
    break;
  case MAFAT_CROP: mark(m, y + (l->in.h - l->out.h) / 2, x + (l->in.w - l->out.w) / 2); break;
  case MAFAT_SHORTCUT:
  case MAFAT_SCALE_CHANNELS:
  case MAFAT_SAM:
  case MAFAT_BATCHNORM:
  case MAFAT_ACTIVATION_LAYER:
  case MAFAT_NORMALIZE: mark(m, y, x); break;
  default: memset(m->pixels, true, (size_t)(m->shape.h * m->shape.w)); break;
  }
}

/* Marks the pixels that output (y, x) reads of an operand after the first. As in Darknet's
 * shortcut_cpu, input i * stride is added to output i * sample. */
static void mark_blended(const struct mafat_layer *l, int operand, int y, int x, struct marks *m)
{
  if (l->operands[operand].broadcast) {
    mark(m, m->shape.h == 1 ? 0 : y, m->shape.w == 1 ? 0 : x);
    return;
  }
  int stride = m->shape.w / l->out.w, sample = l->out.w / m->shape.w;
  if (stride < 1) stride = 1;
  if (sample < 1) sample = 1;
  if (y % sample == 0 && x % sample == 0) mark(m, y / sample * stride, x / sample * stride);
}

static struct mafat_box hull(const struct marks *m)
{
  struct mafat_box b = {{0, 0}, {0, 0}};
  for (int y = 0; y < m->shape.h; y++)
    for (int x = 0; x < m->shape.w; x++)
      if (m->pixels[y * m->shape.w + x]) {
        b.y = mafat_span_hull(b.y, mafat_span(y, y + 1));
        b.x = mafat_span_hull(b.x, mafat_span(x, x + 1));
      }
  return b;
}

/* Finds the pixels of an operand that a box of the output reads, and the smallest box that contains
 * them. Marks that box in the operand's sources. `pixels`: working array for the operand's
 * pixels. */
static void mark_operand(const struct mafat_layer *l, int operand, struct mafat_box out,
                         struct marks *marks, bool *pixels)
{
  const struct mafat_operand *o = &l->operands[operand];
  const struct mafat_sources *sources = &o->sources;
  struct marks m = {pixels, o->shape};
  ck_assert_int_le(o->shape.h * o->shape.w, MOST_PIXELS);
  memset(pixels, 0, (size_t)(o->shape.h * o->shape.w) * sizeof *pixels);
  for (int y = out.y.begin; y < out.y.end; y++)
    for (int x = out.x.begin; x < out.x.end; x++)
      if (operand > 0) mark_blended(l, operand, y, x, &m);
      else mark_inputs(l, y, x, &m);
  struct mafat_box read = hull(&m);
  for (int i = 0; i < mafat_sources_count(sources); i++) {
    const struct mafat_source *s = &sources->list[i];
    for (int y = read.y.begin; y < read.y.end; y++)
      for (int x = read.x.begin, row = y - mafat_sources_row(sources, i); x < read.x.end; x++)
        if (row >= 0 && row < s->n_rows) mark(&marks[s->tensor], s->first_row + row, x);
  }
}

static struct marks *open_marks(const struct mafat_network *n)
{
  struct marks *m = calloc((size_t)mafat_network_n_tensors(n), sizeof *m);
  for (int t = 0; t < mafat_network_n_tensors(n); t++) {
    m[t].shape = mafat_network_tensor_shape(n, t);
    m[t].pixels = calloc((size_t)(m[t].shape.h * m[t].shape.w), sizeof(bool));
  }
  return m;
}

static void clear_marks(struct marks *m, const struct mafat_network *n)
{
  for (int t = 0; t < mafat_network_n_tensors(n); t++)
    memset(m[t].pixels, 0, (size_t)(m[t].shape.h * m[t].shape.w) * sizeof(bool));
}

static void close_marks(struct marks *m, const struct mafat_network *n)
{
  for (int t = 0; t < mafat_network_n_tensors(n); t++) free(m[t].pixels);
  free(m);
}

/* A random network and plan; the seed names the case. Even seeds keep all maps and are direct; odd
 * ones are fused, of any algorithm, with several threads. */
struct subject {
  char cfg[TEST_CFG_ROOM], text[TEST_PLAN_ROOM];
  struct mafat_network *network;
  struct mafat_plan *plan;
  struct mafat_schedule *schedule;
};

static struct mafat_plan_options options_of(int seed)
{
  static const int threads[] = {1, 1, 2, 8};
  struct mafat_plan_options options = test_plain_options();
  if (seed % 2)
    options =
        (struct mafat_plan_options){.algorithm = seed % 4 == 1 ? MAFAT_WINOGRAD : MAFAT_DIRECT,
                                    .n_threads = threads[seed / 4 % 4]};
  return options;
}

static struct subject open_subject(int seed)
{
  struct subject s;
  struct test_rng rng = test_rng((uint64_t)seed);
  struct test_network_style style = test_network_style();
  struct mafat_plan_options options = options_of(seed);
  style.max_extent = 33;
  test_random_network(&rng, &style, s.cfg, sizeof s.cfg);
  s.network = test_network(s.cfg);
  test_random_plan(&rng, s.network, s.network->n_layers, s.text, sizeof s.text);
  s.plan = test_plan_with(s.network, s.text, &options);
  ck_assert_int_eq(mafat_schedule_open(&s.schedule, s.network, s.plan), MAFAT_OK);
  return s;
}

static void close_subject(struct subject *s)
{
  mafat_schedule_close(&s->schedule);
  mafat_plan_close(&s->plan);
  mafat_network_close(&s->network);
}

#define require(holds, s, ...) \
  do { \
    if (!(holds)) test_fail_case((s)->cfg, (s)->text, __VA_ARGS__); \
  } while (0)

static bool contains(struct mafat_box outer, struct mafat_box inner)
{
  return mafat_box_is_empty(inner) ||
         (outer.y.begin <= inner.y.begin && inner.y.end <= outer.y.end &&
          outer.x.begin <= inner.x.begin && inner.x.end <= outer.x.end);
}

/* True if a window of the layer may be entirely in the padding. Then the box that it reads may be
 * wider than needed along the other axis. */
static bool sees_only_padding(const struct mafat_layer *l)
{
  return l->type == MAFAT_CONVOLUTIONAL && (l->window.y.before >= mafat_taps_reach(l->window.y) ||
                                            l->window.x.before >= mafat_taps_reach(l->window.x));
}

/* Checks that the boxes of a tile have all pixels that are read, and no others. */
static void check_tile(const struct subject *s, const struct mafat_group *g, int ty, int tx,
                       const struct mafat_box *boxes, struct marks *marks)
{
  bool exact = true;
  clear_marks(marks, s->network);
  for (int i = g->at.end - 1; i >= g->at.begin; i--) {
    int l = s->plan->members[i];
    const struct mafat_layer *layer = &s->network->layers[l];
    int outer = s->plan->outer[l];
    if (outer < 0 && !mafat_schedule_runs(s->schedule, l)) continue;
    if (outer >= 0 && !mafat_schedule_runs(s->schedule, outer)) continue;
    if (s->schedule->usage[l].external) {
      struct mafat_span y = mafat_group_share(g, true, ty, layer->out.h);
      struct mafat_span x = mafat_group_share(g, false, tx, layer->out.w);
      for (int row = y.begin; row < y.end; row++)
        for (int col = x.begin; col < x.end; col++) mark(&marks[l], row, col);
      if (mafat_span_is_empty(y) != mafat_span_is_empty(x)) exact = false;
    }
    struct mafat_box needed = hull(&marks[l]), b = outer < 0 ? boxes[l] : needed;
    int granularity = outer < 0 ? mafat_fusion_granularity(s->plan, s->network, l) : 1;
    needed.y = mafat_span_round_out(needed.y, granularity, layer->out.h);
    needed.x = mafat_span_round_out(needed.x, granularity, layer->out.w);
    if (!mafat_layer_is_tileable(layer) && !mafat_box_is_empty(needed))
      needed = mafat_box_full(layer->out.h, layer->out.w);
    require(contains(b, needed), s, "tile %d,%d: layer %d lacks pixels that are read", ty, tx, l);
    require(!exact || mafat_box_area(b) == mafat_box_area(needed), s,
            "tile %d,%d: layer %d computes rows %d..%d, columns %d..%d; %d..%d, %d..%d are needed",
            ty, tx, l, b.y.begin, b.y.end, b.x.begin, b.x.end, needed.y.begin, needed.y.end,
            needed.x.begin, needed.x.end);
    exact = exact && !sees_only_padding(layer);
    bool pixels[MOST_PIXELS];
    for (int k = 0; k < layer->n_operands; k++) mark_operand(layer, k, b, marks, pixels);
  }
}

/* A tile's box of a layer is the hull of the pixels that later layers of the tile read. */
START_TEST(boxes_are_the_hull_of_what_is_read)
{
  for (int i = 0; i < NETWORKS_PER_CASE; i++) {
    struct subject s = open_subject(_i * NETWORKS_PER_CASE + i);
    struct marks *marks = open_marks(s.network);
    struct mafat_box *boxes = calloc((size_t)s.network->n_layers, sizeof *boxes);
    for (int i_group = 0; i_group < s.plan->n_groups; i_group++) {
      const struct mafat_group *g = &s.plan->groups[i_group];
      const struct mafat_grid *grid = &g->cut.as.grid;
      if (g->cut.kind != MAFAT_CUT_GRID) continue;
      for (int ty = 0; ty < grid->n_rows; ty++)
        for (int tx = 0; tx < grid->n_cols; tx++) {
          mafat_schedule_tile_boxes(s.schedule, i_group, ty, tx, boxes);
          check_tile(&s, g, ty, tx, boxes, marks);
        }
    }
    free(boxes);
    close_marks(marks, s.network);
    close_subject(&s);
  }
}
END_TEST

/* ---- the steps of a run ---- */

/* Progress of a layer. */
struct state {
  struct mafat_box held; /* box in its buffer, once it is finished */
  int at_tile;           /* number of the tile that finished it last; -1: none */
  int rows;              /* rows done in a group by rows */
  bool done;             /* the whole map is done, in a group that runs each layer once */
  bool begun;            /* some parts of box `out` are done, others are not */
  struct mafat_box out;  /* box that the current parts compute */
  int filter, channel;   /* expected first filter and channel of the next part */
  struct mafat_span panel; /* complete filters that a panel fusion's readers may process */
  bool transformed;      /* the transform step of `out` is done */
};

/* Progress of a run. */
struct progress {
  const struct subject *s;
  struct marks *computed; /* [tensor]: computed pixels */
  struct state *states; /* [tensor] */
  int tile, group;      /* number of the current tile, over all groups; current group */
  int position; /* position of the last step in the plan's order */
  int open;     /* layer some of whose parts are still to come; -1: none */
  int input_rows, input_rows_read; /* rows of the picture that were delivered, and needed */
};

static int most(int a, int b)
{
  return a > b ? a : b;
}

static bool runs_once(const struct mafat_group *g)
{
  return g->cut.kind != MAFAT_CUT_ROWS && !mafat_group_is_tiled(g);
}

/* Number of input channels of the layer's steps. */
static int all_channels(const struct subject *s, int layer)
{
  const struct mafat_layer *reader = &s->network->layers[mafat_plan_reader(s->plan, layer)];
  return reader->type == MAFAT_CONNECTED ? reader->in.h * reader->in.w * reader->in.c
                                         : reader->in.c;
}

static bool is_computed(const struct marks *m, struct mafat_box read)
{
  for (int y = read.y.begin; y < read.y.end; y++)
    for (int x = read.x.begin; x < read.x.end; x++)
      if (!m->pixels[y * m->shape.w + x]) return false;
  return true;
}

/* Checks that a box of a tensor that a step reads is computed and held. */
static void check_read(struct progress *p, const struct mafat_step *step, int tensor,
                       struct mafat_box read)
{
  const struct subject *s = p->s;
  const struct state *t = &p->states[tensor];
  if (mafat_box_is_empty(read)) return;
  if (mafat_layer_is_input(&s->network->layers[tensor])) {
    p->input_rows_read = read.y.end > p->input_rows_read ? read.y.end : p->input_rows_read;
    require(contains(t->held, read), s,
            "layer %d reads rows %d..%d of the picture, %d..%d are held", step->layer,
            read.y.begin, read.y.end, t->held.y.begin, t->held.y.end);
  } else if (mafat_order_is_panel_consumer(s->plan, step->layer) &&
             s->plan->panel_producer[step->layer] == tensor) {
    require(p->open == tensor || p->states[tensor].at_tile == p->tile, s,
            "layer %d reads a panel of layer %d that is not there", step->layer, tensor);
  } else if (s->plan->group_of[tensor] == step->group) {
    require(!mafat_order_is_panel_producer(s->plan, tensor), s,
            "layer %d reads all of layer %d, which is a panel", step->layer, tensor);
    require(t->at_tile == p->tile && !t->begun && contains(t->held, read), s,
            "layer %d reads pixels of layer %d that its tile has not computed", step->layer,
            tensor);
  } else {
    require(is_computed(&p->computed[tensor], read), s,
            "layer %d reads pixels of layer %d that no step has computed", step->layer, tensor);
  }
}

/* Checks all reads of a step. If a separate step transforms the input, only that step reads it. */
static void check_reads(struct progress *p, const struct mafat_step *step)
{
  const struct subject *s = p->s;
  bool transforms = mafat_plan_transforms(s->plan, s->network, step->layer);
  for (struct mafat_reads r = mafat_plan_reads(s->plan, s->network, step->layer);
       mafat_reads_next(&r);)
    if (step->kind == (r.operand == 0 && transforms ? MAFAT_STEP_TRANSFORM : MAFAT_STEP_COMPUTE))
      check_read(p, step, r.source->tensor,
                 (struct mafat_box){
                     mafat_reads_rows(&r, mafat_fusion_in_span(s->plan, s->network, step->layer,
                                                               r.operand, true, step->out.y)),
                     mafat_fusion_in_span(s->plan, s->network, step->layer, r.operand, false,
                                          step->out.x)});
}

/* Checks a step that reads the picture: each row once and in order; all rows before the first
 * layer, unless the first group is by rows. */
static void take_input(struct progress *p, const struct mafat_step *step)
{
  const struct subject *s = p->s;
  int picture = mafat_network_picture(s->network);
  struct mafat_shape in = mafat_network_tensor_shape(s->network, picture);
  struct mafat_box map = mafat_box_full(in.h, in.w);
  require(step->layer == picture && s->schedule->usage[picture].needed, s,
          "nobody needs the picture");
  require(p->open < 0, s, "rows of the picture between the parts of layer %d", p->open);
  require(step->out.y.begin == p->input_rows && step->out.y.end > p->input_rows &&
              contains(map, step->out) && mafat_span_size(step->out.x) == in.w &&
              contains(step->held, step->out) && contains(map, step->held),
          s, "rows %d..%d of the picture, after %d", step->out.y.begin, step->out.y.end,
          p->input_rows);
  require(step->filters.begin == 0 && step->filters.end == in.c && step->held_channels.begin == 0 &&
              step->held_channels.end == in.c, s, "some channels of the picture");
  if (s->schedule->usage[picture].external)
    require(mafat_span_size(step->out.y) == in.h && p->position < 0, s,
            "the picture comes in parts");
  else
    require(step->group == 0 && s->plan->groups[0].cut.kind == MAFAT_CUT_ROWS, s,
            "group %d asks for rows of the picture", step->group);
  p->input_rows = step->out.y.end;
  p->states[picture].held = step->held;
}

/* Begins a new box of a layer. Checks that the box before is complete and that no box comes
 * twice. */
static void begin_box(struct progress *p, const struct mafat_step *step)
{
  const struct subject *s = p->s;
  struct state *t = &p->states[step->layer];
  const struct mafat_group *g = &s->plan->groups[step->group];
  require(p->open < 0 || s->plan->panel_producer[step->layer] == p->open, s,
          "layer %d begins between the parts of layer %d", step->layer, p->open);
  require(!t->done, s, "layer %d is run twice", step->layer);
  require(g->cut.kind != MAFAT_CUT_ROWS || step->out.y.begin == t->rows, s,
          "layer %d computes row %d after row %d", step->layer, step->out.y.begin, t->rows);
  t->begun = true;
  t->transformed = false;
  t->out = step->out;
  t->filter = t->channel = 0;
  if (!mafat_order_is_panel_consumer(s->plan, step->layer)) p->open = step->layer;
}

/* Checks that all readers have processed the last panel of a panel fusion. */
static void check_readers_took(const struct progress *p, int wide)
{
  for (int r = 0; r < p->s->plan->n_layers; r++) {
    const struct state *t = &p->states[r];
    if (p->s->plan->panel_producer[r] != wide || r == wide) continue;
    require(most(t->filter, t->channel) == p->states[wide].panel.end || t->done, p->s,
            "layer %d has not processed the last panel of layer %d", r, wide);
  }
}

/* Checks a step of a reader in a panel fusion, which processes the current panel once. The panel is
 * a range of filters for a maxpool, and of input channels for a 1x1. */
static void take_panel(struct progress *p, const struct mafat_step *step)
{
  const struct subject *s = p->s;
  struct state *t = &p->states[step->layer];
  struct mafat_span panel = p->states[s->plan->panel_producer[step->layer]].panel;
  bool pools = s->network->layers[step->layer].type == MAFAT_MAXPOOL;
  struct mafat_span part = pools ? step->filters : step->channels,
                    rest = pools ? step->channels : step->filters;
  int all = pools ? all_channels(s, step->layer) : s->network->layers[step->layer].out.c;
  require(part.begin == panel.begin && part.end == panel.end && rest.begin == 0 && rest.end == all,
          s, "layer %d processes [%d, %d), but the panel is [%d, %d)", step->layer, part.begin,
          part.end, panel.begin, panel.end);
  require((pools ? t->filter : t->channel) == part.begin, s,
          "layer %d processes a panel twice, or leaves one out", step->layer);
  *(pools ? &t->filter : &t->channel) = part.end;
  t->begun = part.end < s->network->layers[s->plan->panel_producer[step->layer]].out.c;
}

/* Checks that a slice of input channels ends where a block slice ends, and that only streamed
 * layers whose sums can be continued have slices. */
static void check_slice(const struct subject *s, const struct mafat_step *step, int all)
{
  int reader = mafat_plan_reader(s->plan, step->layer);
  const struct mafat_layer *l = &s->network->layers[reader];
  struct mafat_block_slice block_slices[256];
  if (mafat_span_size(step->channels) == all) return;
  require(s->plan->placement[reader] == MAFAT_STREAMED, s, "layer %d is kept, yet sliced",
          step->layer);
  require(reader == step->layer || s->network->layers[step->layer].type != MAFAT_MAXPOOL ||
              s->plan->algorithms[reader] == MAFAT_WINOGRAD,
          s, "layer %d pools slices", step->layer);
  if (l->type == MAFAT_CONNECTED || step->channels.end == all) return;
  int n = mafat_block_slices(mafat_layer_sources(l), mafat_span(0, all), block_slices, 256), i = 0;
  ck_assert_int_le(n, 256);
  while (i < n && block_slices[i].position + block_slices[i].n < step->channels.end) i++;
  require(i < n && block_slices[i].position + block_slices[i].n == step->channels.end, s,
          "a slice of layer %d ends at channel %d, inside a block slice", step->layer,
          step->channels.end);
}

/* Checks a step that computes a part of a box: panels come in order, and the steps of a panel have
 * its channels from 0 to the end. */
static void take_part(struct progress *p, const struct mafat_step *step)
{
  const struct subject *s = p->s;
  struct state *t = &p->states[step->layer];
  int filters = s->network->layers[step->layer].out.c, channels = all_channels(s, step->layer);
  int panel = MAFAT_PANEL * s->plan->n_threads;
  bool wide = mafat_order_is_panel_producer(s->plan, step->layer);
  if (!mafat_plan_divides(s->plan, s->network, step->layer)) panel = filters;
  require(step->filters.begin == t->filter &&
              step->filters.end == mafat_min(t->filter + panel, filters),
          s, "layer %d: filters [%d, %d) after %d", step->layer, step->filters.begin,
          step->filters.end, t->filter);
  require(step->channels.begin == t->channel && step->channels.begin < step->channels.end &&
              step->channels.end <= channels,
          s, "layer %d: channels [%d, %d) after %d", step->layer, step->channels.begin,
          step->channels.end, t->channel);
  require(t->transformed == mafat_plan_transforms(s->plan, s->network, step->layer), s,
          "layer %d's input is not transformed", step->layer);
  require(step->held_channels.begin == (wide ? step->filters.begin : 0) &&
              step->held_channels.end == (wide ? step->filters.end : filters),
          s, "layer %d holds channels [%d, %d)", step->layer, step->held_channels.begin,
          step->held_channels.end);
  check_slice(s, step, channels);
  if (wide && t->channel == 0 && t->filter > 0) check_readers_took(p, step->layer);
  t->channel = step->channels.end;
  t->panel = mafat_span(0, 0);
  if (t->channel < channels) return;
  t->channel = 0;
  t->filter = step->filters.end;
  t->panel = step->filters;
  t->begun = t->filter < filters;
}

/* Marks the pixels of a complete box as computed. */
static void finish_box(struct progress *p, const struct mafat_step *step)
{
  struct state *t = &p->states[step->layer];
  for (int y = step->out.y.begin; y < step->out.y.end; y++)
    for (int x = step->out.x.begin; x < step->out.x.end; x++) mark(&p->computed[step->layer], y, x);
  t->held = step->held;
  t->at_tile = p->tile;
  t->rows = step->out.y.end;
  t->done = runs_once(&p->s->plan->groups[step->group]);
  if (p->open == step->layer) p->open = -1;
}

/* Checks that groups run one after the other and, if they run each layer once, in the plan's
 * order. */
static void check_place(struct progress *p, const struct mafat_step *step)
{
  const struct subject *s = p->s;
  const struct mafat_group *g = &s->plan->groups[step->group];
  int position = s->plan->position[step->layer];
  require(step->group >= p->group && s->plan->group_of[step->layer] == step->group, s,
          "layer %d in group %d after %d", step->layer, step->group, p->group);
  require(!runs_once(g) || position >= p->position, s, "layer %d runs before its position",
          step->layer);
  if (step->group != p->group || (mafat_group_is_tiled(g) && position <= p->position)) p->tile++;
  p->group = step->group;
  p->position = position;
}

static void take_step(struct progress *p, const struct mafat_step *step)
{
  const struct subject *s = p->s;
  const struct mafat_layer *l = &s->network->layers[step->layer];
  struct state *t = &p->states[step->layer];
  check_place(p, step);
  require(!mafat_layer_is_alias(l) && s->plan->outer[step->layer] < 0, s,
          "layer %d has a step, but is an alias or fused", step->layer);
  require(!mafat_box_is_empty(step->out) && contains(step->held, step->out) &&
              contains(mafat_box_full(l->out.h, l->out.w), step->out),
          s, "layer %d computes a box outside its map", step->layer);
  if (!t->begun) begin_box(p, step);
  require(contains(t->out, step->out) && contains(step->out, t->out), s,
          "parts of layer %d have different boxes", step->layer);
  require(p->open < 0 || p->open == step->layer || s->plan->panel_producer[step->layer] == p->open,
          s, "layer %d runs between the parts of layer %d", step->layer, p->open);
  check_reads(p, step);
  if (step->kind == MAFAT_STEP_TRANSFORM) {
    require(mafat_plan_transforms(s->plan, s->network, step->layer) && !t->transformed &&
                t->filter == 0 && t->channel == 0,
            s, "layer %d's input is transformed again", step->layer);
    t->transformed = true;
    return;
  }
  if (mafat_order_is_panel_consumer(s->plan, step->layer)) take_panel(p, step);
  else take_part(p, step);
  if (!t->begun) finish_box(p, step);
}

/* Checks that all layers and the picture are complete after the last step. */
static void check_end(const struct progress *p)
{
  const struct subject *s = p->s;
  require(p->open < 0, s, "layer %d is not finished", p->open);
  for (int t = 0; t < s->plan->n_layers; t++) {
    const struct marks *m = &p->computed[t];
    if (mafat_order_is_panel_producer(s->plan, t)) check_readers_took(p, t);
    if (!mafat_schedule_runs(s->schedule, t)) continue;
    bool panels = mafat_plan_group(s->plan, t)->cut.kind == MAFAT_CUT_PANELS;
    if (panels) require(p->states[t].done, s, "layer %d is not run", t);
    if (panels || s->schedule->usage[t].external)
      require(is_computed(m, mafat_box_full(m->shape.h, m->shape.w)), s,
              "the steps leave a hole in layer %d", t);
  }
  const struct mafat_usage *picture = &s->schedule->usage[mafat_network_picture(s->network)];
  if (picture->needed && !picture->external)
    require(p->input_rows == p->input_rows_read, s,
            "%d rows of the picture were delivered, %d were read", p->input_rows,
            p->input_rows_read);
}

static void check_run(const struct subject *s)
{
  struct mafat_step step;
  struct progress p = {.s = s, .computed = open_marks(s->network), .open = -1, .position = -1};
  p.states = calloc((size_t)mafat_network_n_tensors(s->network), sizeof *p.states);
  for (int t = 0; t < mafat_network_n_tensors(s->network); t++) p.states[t].at_tile = -1;
  mafat_schedule_rewind(s->schedule);
  while (mafat_schedule_next(s->schedule, &step)) {
    if (step.kind == MAFAT_STEP_INPUT) take_input(&p, &step);
    else take_step(&p, &step);
  }
  check_end(&p);
  free(p.states);
  close_marks(p.computed, s->network);
}

/* In random plans, each step reads only computed pixels, and all outputs are computed. */
START_TEST(steps_compute_what_later_steps_read)
{
  for (int i = 0; i < NETWORKS_PER_CASE; i++) {
    struct subject s = open_subject(_i * NETWORKS_PER_CASE + i);
    check_run(&s);
    close_subject(&s);
  }
}
END_TEST

/* The random cases contain every kind of step and every kind of part. */
START_TEST(every_kind_of_step_is_met)
{
  int panel_fusions = 0, pooled_panels = 0, slices = 0, connected_slices = 0, transforms = 0,
      row_transforms = 0, input_rows = 0;
  for (int seed = 0; seed < CASES * NETWORKS_PER_CASE; seed++) {
    struct subject s = open_subject(seed);
    struct mafat_step step;
    while (mafat_schedule_next(s.schedule, &step)) {
      if (step.kind == MAFAT_STEP_TRANSFORM) {
        transforms++;
        row_transforms += s.plan->groups[step.group].cut.kind == MAFAT_CUT_ROWS;
      }
      input_rows += step.kind == MAFAT_STEP_INPUT && step.out.y.begin > 0;
      if (step.kind != MAFAT_STEP_COMPUTE) continue;
      bool taken = mafat_order_is_panel_consumer(s.plan, step.layer);
      panel_fusions += taken && step.channels.begin > 0;
      pooled_panels += taken && step.filters.begin > 0;
      bool slice = !taken && step.channels.begin > 0;
      slices += slice;
      connected_slices += slice && s.network->layers[step.layer].type == MAFAT_CONNECTED;
    }
    close_subject(&s);
  }
  ck_assert_msg(panel_fusions > 20 && pooled_panels > 0 && slices > 20 && connected_slices > 0 &&
                    transforms > 20 && row_transforms > 20 && input_rows > 20,
                "panel fusions %d, pooled %d, slices %d, connected %d, transforms %d, in rows %d, "
                "rows of the picture %d",
                panel_fusions, pooled_panels, slices, connected_slices, transforms, row_transforms,
                input_rows);
}
END_TEST

/* A step of a streamed layer needs about MAFAT_SLICE_FLOATS weights at most. */
struct slice_row {
  const char *what, *cfg, *plan;
  int layer, n_threads;
  enum mafat_algorithm algorithm;
  const char *parts; /* expected parts of the layer's first box: filters x channels, or transform */
};

#define NET64 "[net]\nheight=16\nwidth=16\nchannels=64\n"
#define CONV80 "[convolutional]\nfilters=80\nsize=3\npad=1\n"
#define POOL "[maxpool]\nsize=2\nstride=2\n"

static const struct slice_row slice_rows[] = {
    {"kept", NET64 CONV80, "panels", 0, 1, MAFAT_DIRECT, "32x64 32x64 16x64 "},
    {"kept in rows", NET64 CONV80, "rows16", 0, 1, MAFAT_DIRECT, "80x64 "},
    {"loaded", NET64 CONV80, "panels:loaded", 0, 8, MAFAT_DIRECT, "80x64 "},
    {"loaded in rows", NET64 CONV80, "rows16:loaded", 0, 8, MAFAT_DIRECT, "80x64 "},
    {"few channels", NET64 CONV80, "panels:streamed", 0, 1, MAFAT_DIRECT, "32x64 32x64 16x64 "},
    {"wider panels, fewer channels", NET64 CONV80, "panels:streamed", 0, 2, MAFAT_DIRECT,
     "64x64 16x64 "},
    {"the fewest channels", NET64 CONV80, "panels:streamed", 0, 8, MAFAT_DIRECT, "80x32 80x32 "},
    {"in rows", NET64 CONV80, "rows16:streamed", 0, 8, MAFAT_DIRECT, "80x32 80x32 "},
    {"Winograd", NET64 CONV80, "panels:streamed", 0, 8, MAFAT_WINOGRAD, "transform 80x32 80x32 "},
    {"Winograd in rows", NET64 CONV80, "rows16:streamed", 0, 8, MAFAT_WINOGRAD,
     "transform 80x32 80x32 "},
    {"Winograd, kept", NET64 CONV80, "panels", 0, 1, MAFAT_WINOGRAD,
     "transform 32x64 32x64 16x64 "},
    {"Winograd, kept in rows", NET64 CONV80, "rows16", 0, 1, MAFAT_WINOGRAD, "80x64 "},
    {"Winograd, loaded in rows", NET64 CONV80, "rows16:loaded", 0, 1, MAFAT_WINOGRAD, "80x64 "},
    {"pooled sums are not stored", NET64 CONV80 POOL, "panels:streamed", 1, 8, MAFAT_DIRECT,
     "80x64 "},
    {"Winograd's are", NET64 CONV80 POOL, "panels:streamed", 1, 8, MAFAT_WINOGRAD,
     "transform 80x32 80x32 "},
    {"inside a shortcut", NET64 CONV80 CONV80 "[shortcut]\nfrom=0\n", "panels:streamed", 2, 8,
     MAFAT_DIRECT, "80x32 80x32 80x16 "},
    {"5x5", NET64 "[convolutional]\nfilters=8\nsize=5\npad=1\n", "panels:streamed", 0, 2,
     MAFAT_DIRECT, "8x32 8x32 "},
    {"connected", "[net]\nheight=8\nwidth=8\nchannels=64\n[connected]\noutput=40\n",
     "panels:streamed", 0, 1, MAFAT_DIRECT,
     "32x1152 32x1152 32x1152 32x640 8x1152 8x1152 8x1152 8x640 "},
    {"connected, kept", "[net]\nheight=8\nwidth=8\nchannels=64\n[connected]\noutput=40\n", "panels",
     0, 1, MAFAT_DIRECT, "32x4096 8x4096 "},
    {"tiles", NET64 CONV80, "2x2:streamed", 0, 8, MAFAT_DIRECT, "80x64 "},
};

/* The first box of each row's layer has the expected parts. */
START_TEST(parts_of_known_layers)
{
  const struct slice_row *r = &slice_rows[_i];
  struct mafat_network *n = test_network(r->cfg);
  struct mafat_plan_options options = {.algorithm = r->algorithm, .n_threads = r->n_threads};
  struct mafat_plan *plan = test_plan_with(n, r->plan, &options);
  struct mafat_schedule *s = NULL;
  struct mafat_step step;
  char parts[256] = "";
  size_t used = 0;
  ck_assert_int_eq(mafat_schedule_open(&s, n, plan), MAFAT_OK);
  while (mafat_schedule_next(s, &step)) {
    if (step.layer != r->layer || step.out.y.begin > 0 || step.out.x.begin > 0) continue;
    int filters = mafat_span_size(step.filters), channels = mafat_span_size(step.channels);
    used +=
        (size_t)(step.kind == MAFAT_STEP_TRANSFORM
                     ? snprintf(parts + used, sizeof parts - used, "transform ")
                     : snprintf(parts + used, sizeof parts - used, "%dx%d ", filters, channels));
  }
  ck_assert_msg(strcmp(parts, r->parts) == 0, "%s: %s, expected %s", r->what, parts, r->parts);
  mafat_schedule_close(&s);
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

static bool same_spans(struct mafat_span a, struct mafat_span b)
{
  return a.begin == b.begin && a.end == b.end;
}

static bool same_steps(const struct mafat_step *a, const struct mafat_step *b)
{
  return a->kind == b->kind && a->group == b->group && a->layer == b->layer &&
         same_spans(a->out.y, b->out.y) && same_spans(a->out.x, b->out.x) &&
         same_spans(a->held.y, b->held.y) && same_spans(a->held.x, b->held.x) &&
         same_spans(a->held_channels, b->held_channels) && same_spans(a->filters, b->filters) &&
         same_spans(a->channels, b->channels);
}

/* A schedule that is rewound, at its end or earlier, gives the same steps again. */
START_TEST(a_rewound_schedule_repeats_itself)
{
  enum { MOST = 4096 };
  struct mafat_step *first = calloc(MOST, sizeof *first), step;
  for (int seed = 0; seed < 50; seed++) {
    struct subject s = open_subject(seed);
    int n = 0;
    while (n < MOST && mafat_schedule_next(s.schedule, &first[n])) n++;
    ck_assert(n > 0 && n < MOST);
    ck_assert(!mafat_schedule_next(s.schedule, &step));
    for (int stop = n; stop > 0; stop = stop * 3 / 4) {
      mafat_schedule_rewind(s.schedule);
      for (int i = 0; i < stop; i++)
        require(mafat_schedule_next(s.schedule, &step) && same_steps(&step, &first[i]), &s,
                "step %d differs", i);
    }
    close_subject(&s);
  }
  free(first);
}
END_TEST

/* The outputs of a Darknet network are its last layer and every head. */
START_TEST(outputs_are_the_last_layer_and_every_head)
{
  struct mafat_network *n =
      test_network("[net]\nheight=8\nwidth=8\nchannels=3\n"
                   "[convolutional]\nfilters=6\nsize=1\n[yolo]\nclasses=1\nnum=1\n"
                   "[route]\nlayers=0\n[convolutional]\nfilters=9\nsize=1\n"
                   "[route]\nlayers=0\n[dropout]\n");
  struct mafat_plan *plan = test_plan(n, "1x1/1/1x1");
  struct mafat_usage usage[7];
  mafat_usage_find(n, plan, usage);
  ck_assert_msg(usage[1].needed && usage[1].external, "the head");
  ck_assert_msg(usage[0].needed && usage[0].external, "the map that the last dropout renames");
  ck_assert_msg(!usage[3].needed, "nobody reads layer 3");
  ck_assert_int_eq(usage[0].last_use, n->n_layers);
  int picture = mafat_network_picture(n);
  ck_assert_msg(usage[picture].external && usage[picture].last_use == 0, "the input");
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

Suite *schedule_suite(void)
{
  Suite *suite = suite_create("schedule");
  TCase *geometry = tcase_create("geometry");
  tcase_set_timeout(geometry, 60);
  tcase_add_loop_test(geometry, boxes_are_the_hull_of_what_is_read, 0, test_seeds(CASES));
  tcase_add_loop_test(geometry, steps_compute_what_later_steps_read, 0, test_seeds(CASES));
  tcase_add_test(geometry, every_kind_of_step_is_met);
  tcase_add_loop_test(geometry, parts_of_known_layers, 0, sizeof slice_rows / sizeof *slice_rows);
  suite_add_tcase(suite, geometry);
  TCase *order = tcase_create("order");
  tcase_add_test(order, a_rewound_schedule_repeats_itself);
  tcase_add_test(order, outputs_are_the_last_layer_and_every_head);
  suite_add_tcase(suite, order);
  return suite;
}
