#include "predictor/layout.h"

#include "predictor/arrange.h"
#include "predictor/boxes_room.h"
#include "predictor/fetches.h"
#include "predictor/fusion.h"
#include "predictor/order.h"
#include "predictor/parts/parts.h"
#include "predictor/ranks/rank_parts.h"
#include "predictor/residence.h"
#include "predictor/schedule.h"
#include "predictor/winograd.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

enum { IDLE_BYTES = 64 /* of a rank that has nothing to do: an arena is never empty */ };

/* What the dry walk learns of a tensor and of a layer's steps. */
struct extent {
  int rows, cols;         /* largest held box; cols with the padding */
  int pixel_width;        /* largest held range of channels, in elements of a pixel */
  int out_rows, out_cols; /* largest computed box */
};

/* First and last time of a life, inclusive. */
struct times {
  int first, last;
};

struct maker {
  const struct mafat_network *network;
  const struct mafat_plan *plan;
  struct mafat_schedule *schedule;
  struct mafat_layout *layout;
  struct extent *extents; /* [operator] */
  struct times *lives;    /* [operator]; of one in bricks of all together */
  struct times *bricks;   /* [brick]: of tensors in bricks, one tensor's after the other's; then of sums */
  int *first_brick;       /* [operator]: in that list */
  int *first_sums;        /* [operator]: there, of each part of the map */
  struct times *parts;    /* [operator]: of the steps of layers that are in parts */
  int *slots;             /* [operator]: of the ring that it owns; 0: it owns none */
  bool outline, sketch;   /* layout.h */
  struct mafat_heap *work;    /* of what is done with once the layout stands: these lists, and what arranges blocks */
};

/* Padding that the readers of each tensor want beside it. */
static void find_pads(struct maker *m)
{
  for (int l = 0; l < m->plan->n_layers; l++) {
    if (!mafat_schedule_runs(m->schedule, l)) continue;
    const struct mafat_layer *layer = &m->network->layers[mafat_plan_reader(m->plan, l)];
    int left, right;
    mafat_layer_pads(layer, &left, &right);
    const struct mafat_sources *sources = mafat_layer_sources(layer);
    for (int i = 0; i < mafat_sources_count(sources); i++) {
      struct mafat_tensor_layout *t = &m->layout->tensors[sources->list[i].tensor];
      t->left = mafat_max(t->left, left);
      t->right = mafat_max(t->right, right);
    }
  }
}

/* Where one takes another's place, they have the same columns: as many as either wants. Sources come first. */
static void share_pads(struct maker *m)
{
  struct mafat_tensor_layout *tensors = m->layout->tensors;
  for (bool grown = true; grown;) { /* back through chains, a few layers long */
    grown = false;
    for (int l = 0; l < m->plan->n_layers; l++) {
      int other = mafat_plan_shares_with(m->plan, l);
      if (other < 0) continue;
      struct mafat_tensor_layout *a = &tensors[l], *b = &tensors[other];
      grown = grown || a->left != b->left || a->right != b->right;
      a->left = b->left = mafat_max(a->left, b->left);
      a->right = b->right = mafat_max(a->right, b->right);
    }
  }
}

static void hold(struct maker *m, int tensor, struct mafat_box held, struct mafat_span channels)
{
  struct extent *e = &m->extents[tensor];
  const struct mafat_tensor_layout *t = &m->layout->tensors[tensor];
  struct mafat_shape shape = mafat_network_tensor_shape(m->network, tensor);
  int cols = mafat_span_size(held.x) + (held.x.begin == 0 ? t->left : 0) +
             (held.x.end == shape.w ? t->right : 0);
  e->pixel_width = mafat_max(e->pixel_width, mafat_pixel_width_of(shape.c, channels));
  e->rows = mafat_max(e->rows, mafat_span_size(held.y));
  e->cols = mafat_max(e->cols, cols);
}

/* What one layer of a step computes. */
static uint64_t link_macs(const struct mafat_layer *l, const struct mafat_link *link)
{
  return mafat_layer_part_macs(l, (uint64_t)mafat_box_area(link->box), mafat_span_size(link->filters),
                               mafat_span_size(link->channels));
}

/* The same as the kernels do it. */
static uint64_t link_padded_macs(const struct mafat_plan *plan, const struct mafat_layer *l,
                                 const struct mafat_link *link)
{
  if (!mafat_layer_has_panels(l)) return link_macs(l, link);
  uint64_t width = 0, filters = (uint64_t)mafat_span_size(link->filters);
  for (int f = link->filters.begin, end; f < link->filters.end; f = end) {
    end = mafat_min(mafat_panel_end(l, f), link->filters.end);
    width += (uint64_t)mafat_panel_width(end - f);
  }
  if (filters == 0) return 0;
  const struct mafat_winograd *winograd = mafat_winograd_of(plan->algorithms[link->layer]);
  if (winograd)
    return (uint64_t)mafat_winograd_tiles(winograd, mafat_span_size(link->box.y)) *
           (uint64_t)mafat_winograd_tiles(winograd, mafat_span_size(link->box.x)) * (uint64_t)winograd->points *
           width * (uint64_t)mafat_span_size(link->channels);
  return link_macs(l, link) / filters * width;
}

static void count_step(struct maker *m, const struct mafat_step *step)
{
  struct mafat_link links[MAFAT_FUSION_MOST];
  links[0] = (struct mafat_link){step->layer, step->out, step->filters, step->channels};
  for (int i = 0, n = mafat_fusion_links(m->plan, m->network, links); i < n; i++) {
    const struct mafat_layer *l = &m->network->layers[links[i].layer];
    uint64_t macs = link_macs(l, &links[i]);
    m->layout->layer_macs[links[i].layer] += macs;
    m->layout->groups[step->group].macs += macs;
    m->layout->groups[step->group].padded_macs += link_padded_macs(m->plan, l, &links[i]);
  }
}

/* MACs of a layer, and of those inside it, over the whole map. */
static uint64_t macs_once(const struct maker *m, int layer)
{
  uint64_t macs = 0;
  for (int l = layer; l >= 0; l = mafat_fusion_inside(m->plan, l)) {
    struct mafat_shape out = m->network->layers[l].out;
    macs += mafat_layer_macs(&m->network->layers[l], (uint64_t)out.h * (uint64_t)out.w);
  }
  return macs;
}

/* The other parts of a step hold what its first one does; but a fan's panels, which take
 * turns in a buffer. */
static bool is_first_part(const struct maker *m, const struct mafat_step *step)
{
  return mafat_step_begins(m->plan, step) || (step->part < 0 && m->plan->fan[step->layer] >= 0);
}

static void skip_parts(struct maker *m, const struct mafat_step *step)
{
  if (mafat_schedule_is_dividing(m->schedule, step->layer) && !mafat_order_is_wide(m->plan, step->layer))
    mafat_schedule_skip_parts(m->schedule);
}

static void walk(struct maker *m)
{
  struct mafat_step step;
  struct mafat_layout *layout = m->layout;
  mafat_schedule_rewind(m->schedule);
  while (mafat_schedule_next(m->schedule, &step)) {
    struct extent *e = &m->extents[step.layer];
    e->out_rows = mafat_max(e->out_rows, mafat_span_size(step.out.y));
    e->out_cols = mafat_max(e->out_cols, mafat_span_size(step.out.x));
    if (step.kind == MAFAT_STEP_TRANSFORM || step.kind == MAFAT_STEP_SEND || step.kind == MAFAT_STEP_WAIT) continue;
    if (is_first_part(m, &step)) hold(m, step.layer, step.held, step.held_channels);
    if (m->outline) skip_parts(m, &step);
    else if (step.kind == MAFAT_STEP_COMPUTE && !m->sketch) count_step(m, &step);
  }
  for (int t = 0; t < mafat_network_n_operators(m->network); t++) {
    struct mafat_shape shape = mafat_network_tensor_shape(m->network, t);
    if (m->schedule->usage[t].external && m->extents[t].rows > 0)
      hold(m, t, mafat_box_full(shape.h, shape.w), mafat_span(0, shape.c));
  }
  for (int g = 0; g < m->plan->n_groups; g++) {
    uint64_t once = 0;
    for (int i = m->plan->groups[g].at.begin; i < m->plan->groups[g].at.end; i++)
      if (m->extents[m->plan->members[i]].rows > 0) once += macs_once(m, m->plan->members[i]);
    struct mafat_group_cost *cost = &layout->groups[g];
    cost->redundant_macs = cost->macs > once ? cost->macs - once : 0;
    layout->macs += cost->macs;
    layout->redundant_macs += cost->redundant_macs;
    layout->padded_macs += cost->padded_macs;
  }
}

/* ---- times ---- */

static struct times group_times(const struct mafat_group *g)
{
  return (struct times){2 * g->positions.begin, 2 * g->positions.end - 1};
}

/* Do steps of several layers come in between each other? */
static bool takes_turns(const struct mafat_group *g)
{
  return mafat_group_lifetime(g) == MAFAT_LIFE_GROUP;
}

/* When a step's own memory is in use: scratch. Not of parts, of which each has its own (parts/parts_scratch.h). */
static struct times step_times(const struct maker *m, int layer)
{
  const struct mafat_group *g = mafat_plan_group(m->plan, layer);
  int position = m->plan->position[layer];
  if (takes_turns(g)) return group_times(g);
  return (struct times){2 * position, 2 * position + 1};
}

/* Loaded weights, and what they are read through: in all tiles the same. */
static struct times weights_times(const struct maker *m, int layer)
{
  const struct mafat_group *g = mafat_plan_group(m->plan, layer);
  if (mafat_group_lifetime(g) == MAFAT_LIFE_PARTS) return m->parts[layer];
  return mafat_group_lifetime(g) == MAFAT_LIFE_ONCE ? step_times(m, layer) : group_times(g);
}

static void widen(struct times *t, int time)
{
  if (time < t->first) t->first = time;
  if (time > t->last) t->last = time;
}

static void live(struct maker *m, int tensor, int time)
{
  widen(&m->lives[tensor], time);
}

/* All of its bricks, too. */
static void live_whole(struct maker *m, int tensor, int time)
{
  const struct mafat_cutting *c = m->layout->tensors[tensor].bricks;
  live(m, tensor, time);
  for (int b = 0; c && b < mafat_bricks_count(c); b++) widen(&m->bricks[m->first_brick[tensor] + b], time);
}

static void live_through(struct maker *m, int tensor, struct times times)
{
  live(m, tensor, times.first);
  live(m, tensor, times.last);
}

/* What a step of `layer` reads lives until then; where layers take turns, what comes from outside
 * the group until all had theirs. Where Winograd transforms the input ahead of all else, that is
 * the last that is read of it, and the output may take its place. */
static void note_reads(struct maker *m, int layer)
{
  int group = m->plan->group_of[layer], begin = 2 * m->plan->position[layer];
  const struct mafat_group *g = &m->plan->groups[group];
  bool once = mafat_group_lifetime(g) == MAFAT_LIFE_ONCE;
  bool ahead = once && mafat_plan_transforms(m->plan, m->network, layer);
  for (struct mafat_reads r = mafat_plan_reads(m->plan, m->network, layer); mafat_reads_next(&r);) {
    int t = r.source->tensor, time = ahead && r.operand == 0 ? begin : begin + 1;
    live_whole(m, t, !once && !mafat_plan_makes(m->plan, group, t) ? group_times(g).last : time);
  }
}

static void note_step(struct maker *m, int layer)
{
  const struct mafat_group *g = mafat_plan_group(m->plan, layer);
  enum mafat_lifetime life = mafat_group_lifetime(g);
  int begin = 2 * m->plan->position[layer], end = begin + 1;
  int wide = m->plan->fan[layer] >= 0 ? m->plan->fan[layer] : layer;
  bool once = life == MAFAT_LIFE_ONCE;
  note_reads(m, layer);
  if (once) {
    live(m, layer, mafat_plan_transforms(m->plan, m->network, wide) ? end : begin);
    live(m, layer, end);
  } else if (life == MAFAT_LIFE_GROUP || m->schedule->usage[layer].external) {
    live_through(m, layer, group_times(g));
  } else {
    live_through(m, layer, (struct times){begin, end});
  }
  if (m->schedule->usage[layer].last_use == m->plan->n_layers) live(m, layer, 2 * m->plan->n_positions - 1);
}

static void note_sums(struct maker *m, const struct mafat_layer_part *part, int time)
{
  const struct mafat_cutting *c = &m->plan->parts->cuttings[part->layer];
  if (!mafat_parts_keep_sums(m->plan, m->network, part->layer) || (part->act && !part->sums)) return;
  widen(&m->bricks[m->first_sums[part->layer] + mafat_bricks_find(c, 0, part->out.y.begin, part->out.x.begin)], time);
}

static void note_brick(struct maker *m, int tensor, int brick, int time)
{
  live(m, tensor, time);
  if (m->layout->tensors[tensor].bricks) widen(&m->bricks[m->first_brick[tensor] + brick], time);
}

static void note_bricks_read(struct maker *m, const struct mafat_layer_part *part, int time)
{
  struct mafat_brick_walk w = mafat_parts_reads(m->plan, m->network, part);
  while (mafat_parts_reads_next(&w)) note_brick(m, w.tensor, w.brick, time);
}

/* The parts of a split group: what they read, and what they make. */
static void note_parts(struct maker *m, int group)
{
  const struct mafat_parts *parts = m->plan->parts;
  int begin = 2 * m->plan->groups[group].positions.begin;
  for (int p = parts->at[group]; p < parts->at[group + 1]; p++, begin += 2) {
    const struct mafat_layer_part *part = &parts->list[p];
    if (part->layer < m->plan->n_layers && part->act == MAFAT_PART_COMPUTE) note_bricks_read(m, part, begin + 1);
    int made = mafat_parts_made(m->plan, part);
    for (int phase = 0; phase < 2; phase++) {
      note_brick(m, part->layer, made, begin + phase);
      note_sums(m, part, begin + phase);
      if (part->act == MAFAT_PART_COMPUTE) widen(&m->parts[part->layer], begin + phase);
    }
    if (m->schedule->usage[part->layer].last_use == m->plan->n_layers) live(m, part->layer, 2 * m->plan->n_positions - 1);
  }
}

/* Inputs are there from the start, but for those that are read in parts. */
static void note_input(struct maker *m, int input)
{
  const struct mafat_usage *u = &m->schedule->usage[input];
  if (!u->needed || mafat_parts_bricks(m->plan, input) || m->plan->rank >= 0) return;
  live(m, input, 0);
  if (u->last_use == m->plan->n_layers) live(m, input, 2 * m->plan->n_positions - 1); /* a renaming layer puts it out */
  if (!u->external) live_through(m, input, group_times(mafat_plan_group(m->plan, input)));
}

static void find_lives(struct maker *m)
{
  int n_operators = mafat_network_n_operators(m->network);
  for (int t = 0; t < n_operators; t++) m->lives[t] = (struct times){INT_MAX, -1};
  for (int l = 0; l < m->plan->n_layers; l++)
    if (mafat_schedule_runs(m->schedule, l) && !mafat_cut_has_parts(&mafat_plan_group(m->plan, l)->cut)) note_step(m, l);
  for (int g = 0; g < m->plan->n_groups; g++)
    if (mafat_cut_has_parts(&m->plan->groups[g].cut)) note_parts(m, g);
  for (int i = m->network->n_layers; i < n_operators; i++) note_input(m, i);
}

/* ---- buffers ---- */

static int add_buffer(struct maker *m, enum mafat_tag tag, int tensor, size_t bytes, struct times times)
{
  struct mafat_layout *layout = m->layout;
  layout->buffers[layout->n_buffers] =
      (struct mafat_buffer){tag, tensor, (bytes + 63) / 64 * 64, 0, times.first, times.last};
  return layout->n_buffers++;
}

static enum mafat_tag map_tag(const struct maker *m, int tensor)
{
  return mafat_layer_is_input(&m->network->layers[tensor]) ? MAFAT_TAG_INPUT : MAFAT_TAG_ACTIVATIONS;
}

/* A brick has its own part of the padding. */
static size_t brick_bytes(const struct maker *m, int tensor, struct mafat_brick b)
{
  const struct mafat_tensor_layout *t = &m->layout->tensors[tensor];
  struct mafat_shape shape = mafat_network_tensor_shape(m->network, tensor);
  int cols = mafat_span_size(b.box.x) + (b.box.x.begin == 0 ? t->left : 0) + (b.box.x.end == shape.w ? t->right : 0);
  uint64_t pixels = (uint64_t)cols * (uint64_t)mafat_span_size(b.box.y);
  return (size_t)mafat_dtype_bytes(mafat_network_tensor_type(m->network, tensor),
                                   pixels * (uint64_t)mafat_bricks_pixel(m->layout->tensors[tensor].bricks, shape, b.channels));
}

static void size_bricks(struct maker *m, int tensor)
{
  struct mafat_tensor_layout *t = &m->layout->tensors[tensor];
  const struct mafat_cutting *c = t->bricks;
  int n = mafat_bricks_count(c);
  t->of_rows = c->n[MAFAT_ALONG_W] == 1 && (c->sums || c->n[MAFAT_ALONG_C] == 1) && !c->lanes;
  if (t->of_rows) {
    struct mafat_shape shape = mafat_network_tensor_shape(m->network, tensor);
    t->rows = shape.h;
    t->cols = t->left + shape.w + t->right;
    t->row_bytes = (size_t)mafat_pixel_width(shape.c) * (size_t)t->cols * t->element_bytes;
  }
  for (int i = 0; i < n; i++) {
    struct mafat_brick b = mafat_bricks_at(t->bricks, mafat_network_tensor_shape(m->network, tensor), i);
    struct times times = m->bricks[m->first_brick[tensor] + i];
    bool read = times.first <= times.last; /* rows of an input may be nobody's */
    int buffer = add_buffer(m, map_tag(m, tensor), tensor, read ? brick_bytes(m, tensor, b) : 0, times);
    if (i == 0) t->buffer = buffer;
  }
}

/* Who has a buffer of its own, which the tensor shares by way of others. */
static int owner_of(const struct maker *m, int tensor)
{
  for (int other; (other = mafat_plan_shares_with(m->plan, tensor)) >= 0; tensor = other) {}
  return tensor;
}

/* Maps that trail others lie in a ring of as many slots as the largest of them has rows and is ahead. */
static void size_rings(struct maker *m)
{
  const int *trail_of = m->plan->trail_of, *lag = m->plan->lag;
  for (int l = 0; l < m->plan->n_layers; l++) {
    if (trail_of[l] < 0) continue;
    int *slots = &m->slots[owner_of(m, l)];
    *slots = mafat_max(*slots, mafat_max(m->extents[l].rows, m->extents[trail_of[l]].rows + lag[l]));
  }
}

/* The slots of its ring, and where in it the map begins. */
static void find_slots(struct maker *m, int tensor)
{
  struct mafat_tensor_layout *t = &m->layout->tensors[tensor];
  int owner = owner_of(m, tensor);
  t->rows = mafat_max(m->extents[tensor].rows, m->slots[owner]);
  for (int other; tensor != owner; tensor = other) {
    other = mafat_plan_shares_with(m->plan, tensor);
    t->first_slot = (t->first_slot + t->rows - m->plan->lag[tensor]) % t->rows;
  }
}

static int size_tensor(struct maker *m, int tensor);

/* The buffer of the tensor whose place this one takes, which has it before. */
static int share_place(struct maker *m, int tensor)
{
  int other = mafat_plan_shares_with(m->plan, tensor);
  if (m->layout->tensors[other].buffer < 0 && size_tensor(m, other)) return -1;
  const struct mafat_tensor_layout *t = &m->layout->tensors[tensor], *place = &m->layout->tensors[other];
  assert(place->buffer >= 0 && t->rows == place->rows && t->cols == place->cols && t->row_bytes == place->row_bytes);
  struct mafat_buffer *b = &m->layout->buffers[place->buffer];
  b->first = mafat_min(b->first, m->lives[tensor].first);
  b->last = mafat_max(b->last, m->lives[tensor].last);
  return place->buffer;
}

static int size_tensor(struct maker *m, int tensor)
{
  struct mafat_tensor_layout *t = &m->layout->tensors[tensor];
  const struct extent *e = &m->extents[tensor];
  if (e->rows == 0) return MAFAT_OK;
  if (t->buffer >= 0) return MAFAT_OK; /* for another one that lies there, too */
  t->external = m->schedule->usage[tensor].external && !t->bricks;
  find_slots(m, tensor);
  t->cols = e->cols;
  enum mafat_dtype type = mafat_network_tensor_type(m->network, tensor);
  uint64_t row_bytes = mafat_dtype_bytes(type, (uint64_t)e->pixel_width * (uint64_t)t->cols);
  size_t bytes;
  t->element_bytes = (unsigned char)mafat_dtype_bytes(type, 1);
  t->row_bytes = (size_t)row_bytes;
  if (row_bytes > SIZE_MAX || __builtin_mul_overflow(t->row_bytes, (size_t)t->rows, &bytes) || bytes > SIZE_MAX / 4)
    return MAFAT_ELIMIT;
  if (t->bricks) {
    size_bricks(m, tensor);
    return MAFAT_OK;
  }
  if (owner_of(m, tensor) != tensor) return (t->buffer = share_place(m, tensor)) < 0 ? MAFAT_ELIMIT : MAFAT_OK;
  t->buffer = add_buffer(m, map_tag(m, tensor), tensor, bytes, m->lives[tensor]);
  return MAFAT_OK;
}

/* No scratch outlives its step: where layers take turns, they share a buffer
 * that is as large as the largest of them wants. */
static int share_scratch(struct maker *m, int layer, size_t bytes)
{
  struct mafat_layout *layout = m->layout;
  const struct mafat_group *g = mafat_plan_group(m->plan, layer);
  if (!takes_turns(g))
    return add_buffer(m, MAFAT_TAG_SCRATCH, layer, bytes, step_times(m, layer));
  for (int i = g->at.begin; m->plan->members[i] != layer; i++) {
    int shared = layout->scratch_buffers[m->plan->members[i]];
    if (shared < 0) continue;
    size_t rounded = (bytes + 63) / 64 * 64;
    if (layout->buffers[shared].bytes < rounded) layout->buffers[shared].bytes = rounded;
    return shared;
  }
  return add_buffer(m, MAFAT_TAG_SCRATCH, layer, bytes, group_times(g));
}

static int size_scratch(struct maker *m, int layer)
{
  const struct extent *e = &m->extents[layer];
  m->layout->scratch_buffers[layer] = -1;
  if (e->out_rows == 0) return MAFAT_OK;
  if (mafat_cut_has_parts(&mafat_plan_group(m->plan, layer)->cut)) return MAFAT_OK; /* its parts have theirs */
  struct mafat_scratch *s = &m->layout->scratch[layer];
  int code = mafat_scratch_plan(m->plan, m->network, layer, e->out_rows, e->out_cols, s);
  size_t bytes = mafat_scratch_bytes(s, m->layout->n_workers);
  if (code || bytes == 0) return code;
  if (bytes > SIZE_MAX / 4) return MAFAT_ELIMIT;
  m->layout->scratch_buffers[layer] = share_scratch(m, layer, bytes);
  return MAFAT_OK;
}

/* Sums of whole numbers, of which some of the input's channels are missing yet, of each part of the map. */
static int size_sums(struct maker *m, int layer)
{
  const struct mafat_layer *l = &m->network->layers[layer];
  if (!mafat_parts_keep_sums(m->plan, m->network, layer)) return MAFAT_OK;
  const struct mafat_cutting *c = &m->plan->parts->cuttings[layer];
  m->layout->sums_buffers[layer] = m->layout->n_buffers;
  for (int i = 0; i < mafat_bricks_count(c); i++) {
    uint64_t bytes = mafat_parts_sums_bytes(l, mafat_bricks_at(c, l->out, i).box);
    if (bytes > SIZE_MAX / 4) return MAFAT_ELIMIT;
    add_buffer(m, MAFAT_TAG_SCRATCH, layer, (size_t)bytes, m->bricks[m->first_sums[layer] + i]);
  }
  return MAFAT_OK;
}

/* Has the plan's rank parts of the layer? */
static bool runs_here(const struct maker *m, int layer)
{
  return m->plan->rank < 0 || m->parts[layer].first <= m->parts[layer].last;
}

/* A frame that is there before the first step: until the last row of it was asked for, which is at once where the input
 * is whole. */
static int size_frame(struct maker *m)
{
  int picture = m->layout->picture;
  const struct times *input = &m->lives[picture];
  bool by_rows = m->plan->group_of[picture] >= 0 || m->layout->tensors[picture].bricks;
  struct times times = {0, by_rows && input->last > 0 ? input->last : 0};
  if (m->plan->frame_bytes == 0) return MAFAT_OK;
  if (m->plan->frame_bytes > SIZE_MAX / 4) return MAFAT_ELIMIT;
  if (m->plan->frame_stays) times.last = 2 * m->plan->n_positions - 1;
  m->layout->frame_buffer = add_buffer(m, MAFAT_TAG_INPUT, picture, m->plan->frame_bytes, times);
  return MAFAT_OK;
}

/* Weights of the layers that a step computes: kept ones are counted, loaded ones
 * get buffers. */
static int size_weights(struct maker *m, int layer)
{
  struct mafat_layout *layout = m->layout;
  for (int l = layer; l >= 0; l = mafat_fusion_inside(m->plan, l)) {
    size_t bytes = mafat_packed_layer_bytes(&m->network->layers[l]);
    if (bytes == 0 || m->plan->residence[l] == MAFAT_STREAMED) continue;
    if (bytes > SIZE_MAX / 4) return MAFAT_ELIMIT;
    if (m->plan->residence[l] == MAFAT_KEPT) bytes = mafat_rank_kept_bytes(m->plan, m->network, l);
    bytes = (bytes + 63) / 64 * 64;
    if (m->plan->residence[l] == MAFAT_LOADED)
      layout->weights_buffers[l] = add_buffer(m, MAFAT_TAG_WEIGHTS, l, bytes, weights_times(m, layer));
    else if (__builtin_add_overflow(layout->kept_bytes, bytes, &layout->kept_bytes))
      return MAFAT_ELIMIT;
  }
  return MAFAT_OK;
}

/* The ring and what belongs to it, from the first step that reads weights to the
 * last. */
static int size_io(struct maker *m)
{
  struct mafat_layout *layout = m->layout;
  struct mafat_fetch_sizes sizes;
  struct times times = {INT_MAX, -1};
  int code = mafat_fetches_size(m->network, m->plan, &sizes);
  if (code) return code;
  layout->bytes_read = sizes.bytes_read;
  for (int layer = 0; layer < m->plan->n_layers; layer++) {
    if (!mafat_schedule_runs(m->schedule, layer)) continue;
    struct times step = weights_times(m, layer);
    for (int l = layer; l >= 0; l = mafat_fusion_inside(m->plan, l)) {
      if (m->plan->residence[l] == MAFAT_KEPT) continue;
      if (step.first < times.first) times.first = step.first;
      if (step.last > times.last) times.last = step.last;
    }
  }
  if (times.last < 0) return MAFAT_OK;
  const size_t bytes[] = {sizes.ring_bytes ? sizes.ring_bytes + MAFAT_FETCH_ALIGNMENT : 0,
                          sizes.panel_bytes, sizes.affine_bytes};
  int *const buffers[] = {&layout->ring_buffer, &layout->panel_buffer, &layout->affine_buffer};
  for (int i = 0; i < 3; i++) {
    if (bytes[i] > SIZE_MAX / 4) return MAFAT_ELIMIT;
    if (bytes[i]) *buffers[i] = add_buffer(m, MAFAT_TAG_IO, -1, bytes[i], times);
  }
  return MAFAT_OK;
}

/* ---- scratch of parts ---- */

/* Of layers in parts: what the part works in that needs most. */
static void find_most_scratch(struct maker *m)
{
  struct mafat_layout *layout = m->layout;
  const struct mafat_parts_scratch *s = layout->part_scratch;
  for (int p = 0; p < m->plan->parts->n; p++) {
    int layer = m->plan->parts->list[p].layer;
    if (s->record_of[p] < 0) continue;
    const struct mafat_scratch *record = &s->records[s->record_of[p]];
    if (mafat_scratch_bytes(record, layout->n_workers) <= mafat_scratch_bytes(&layout->scratch[layer], layout->n_workers)) continue;
    layout->scratch[layer] = *record;
    layout->scratch_buffers[layer] = layout->run_buffers + s->run_of[p];
  }
}

/* Of all else at each time. */
static size_t *live_bytes(const struct maker *m)
{
  size_t *live = mafat_heap_calloc(m->work, 2 * (size_t)m->plan->n_positions + 1, sizeof *live);
  if (!live) return NULL;
  for (const struct mafat_buffer *b = m->layout->buffers; b < m->layout->buffers + m->layout->n_buffers; b++) {
    if (b->first > b->last) continue;
    live[b->first] += b->bytes;
    live[b->last + 1] -= b->bytes; /* modulo 2^n */
  }
  for (int time = 1; time < 2 * m->plan->n_positions; time++) live[time] += live[time - 1];
  return live;
}

/* Behind all others: which parts share a buffer depends on what is alive. */
static int size_part_scratch(struct maker *m)
{
  struct mafat_layout *layout = m->layout;
  struct mafat_parts_scratch *s = layout->part_scratch;
  const struct mafat_parts *parts = m->plan->parts;
  if (!s) return MAFAT_OK;
  size_t *live = live_bytes(m);
  if (!live) return MAFAT_ENOMEM;
  mafat_parts_scratch_join(s, parts->n, live, 2 * m->plan->n_positions);
  mafat_heap_free(m->work, live);
  layout->run_buffers = layout->n_buffers;
  for (int p = 0, next = 0; p < parts->n; p++) {
    if (s->run_of[p] != next) continue;
    const struct mafat_scratch_run *run = &s->runs[next++];
    add_buffer(m, MAFAT_TAG_SCRATCH, parts->list[p].layer, run->bytes, (struct times){2 * run->first, 2 * run->last + 1});
  }
  find_most_scratch(m);
  return MAFAT_OK;
}

/* Bytes that live at each time, by tag: sums of what begins and what ended. */
static int find_peaks(struct maker *m)
{
  struct mafat_layout *layout = m->layout;
  size_t n_times = 2 * (size_t)m->plan->n_positions, live[MAFAT_N_TAGS] = {0};
  size_t(*changes)[MAFAT_N_TAGS]; /* modulo 2^n: some are negative */
  changes = mafat_heap_calloc(m->work, n_times + 1, sizeof *changes);
  if (!changes) return MAFAT_ENOMEM;
  for (int b = 0; b < layout->n_buffers; b++) {
    const struct mafat_buffer *buffer = &layout->buffers[b];
    if (buffer->first > buffer->last) continue; /* nobody reads it */
    changes[buffer->first][buffer->tag] += buffer->bytes;
    changes[buffer->last + 1][buffer->tag] -= buffer->bytes;
  }
  int g = 0;
  for (size_t time = 0; time < n_times; time++) {
    size_t sum = 0;
    while ((int)time >= 2 * m->plan->groups[g].positions.end) g++;
    for (int tag = 0; tag < MAFAT_N_TAGS; tag++) sum += live[tag] += changes[time][tag];
    if (sum > layout->groups[g].peak_bytes) layout->groups[g].peak_bytes = sum;
    if (sum <= layout->bound_bytes) continue;
    layout->bound_bytes = sum;
    layout->peak_time = (int)time;
    memcpy(layout->tag_bytes, live, sizeof live);
  }
  mafat_heap_free(m->work, changes);
  return MAFAT_OK;
}

static int arrange(const struct maker *m)
{
  struct mafat_layout *layout = m->layout;
  struct mafat_block *blocks = mafat_heap_calloc(m->work, (size_t)layout->n_buffers + 1, sizeof *blocks);
  if (!blocks) return MAFAT_ENOMEM;
  size_t sum = 0;
  int code = MAFAT_OK, hint = 0;
  for (int b = 0; b < layout->n_buffers; b++) {
    const struct mafat_buffer *from = &layout->buffers[b];
    if (__builtin_add_overflow(sum, from->bytes, &sum)) code = MAFAT_ELIMIT;
    bool map = from->tag == MAFAT_TAG_INPUT || from->tag == MAFAT_TAG_ACTIVATIONS;
    if (map) hint = hint == 1 ? 2 : 1;
    blocks[b] = (struct mafat_block){.bytes = from->bytes, .first = from->first, .last = from->last,
                                     .end_hint = map ? hint : 0};
  }
  if (code == MAFAT_OK) {
    layout->total_bytes = mafat_arrange(blocks, layout->n_buffers, m->work);
    if (layout->total_bytes == SIZE_MAX) code = MAFAT_ENOMEM;
    for (int b = 0; b < layout->n_buffers; b++) layout->buffers[b].offset = blocks[b].offset;
  }
  mafat_heap_free(m->work, blocks);
  return code;
}

/* ---- after the last step ---- */

/* The buffer of a tensor that can be read after a run, or, behind all tensors, of a frame that stays; NULL: it is none. */
static const struct mafat_buffer *output_buffer(const struct maker *m, int tensor)
{
  const struct mafat_layout *l = m->layout;
  if (tensor == mafat_network_n_operators(m->network))
    return l->frame_buffer >= 0 && m->plan->frame_stays ? &l->buffers[l->frame_buffer] : NULL;
  int buffer = l->tensors[tensor].buffer;
  return buffer >= 0 && m->schedule->usage[tensor].last_use == m->plan->n_layers ? &l->buffers[buffer] : NULL;
}

static size_t outputs_bytes(const struct maker *m)
{
  size_t sum = 0;
  for (int t = 0; t <= mafat_network_n_operators(m->network); t++) {
    const struct mafat_buffer *b = output_buffer(m, t);
    if (b) sum += b->bytes;
  }
  return sum;
}

/* The lowest place that no output takes. */
static size_t lowest_beside_outputs(const struct maker *m, size_t bytes)
{
  size_t at = 0;
  for (bool moved = true; moved;) { /* few outputs: a handful of rounds */
    moved = false;
    for (int t = 0; t <= mafat_network_n_operators(m->network); t++) {
      const struct mafat_buffer *b = output_buffer(m, t);
      if (!b || b->offset >= at + bytes || b->offset + b->bytes <= at) continue;
      at = b->offset + b->bytes;
      moved = true;
    }
  }
  return at;
}

/* Room for boxes, where all but the outputs is dead, and behind the arena what that does not hold. */
static void place_boxes(struct maker *m)
{
  struct mafat_layout *layout = m->layout;
  layout->mapped_bytes = layout->total_bytes;
  layout->most_boxes = mafat_boxes_most(m->network, m->plan->n_layers, m->plan->most_boxes);
  layout->box_points = m->network->decoded.points;
  if (layout->most_boxes == 0 || m->outline) return;
  size_t bytes = mafat_boxes_room_bytes(layout->most_boxes);
  layout->boxes_offset = m->sketch ? outputs_bytes(m) : lowest_beside_outputs(m, bytes);
  if (layout->boxes_offset + bytes > layout->total_bytes) layout->mapped_bytes = layout->boxes_offset + bytes;
}

static unsigned list_winograds(const struct mafat_plan *plan)
{
  unsigned list = 0;
  for (int l = 0; l < plan->n_layers; l++) {
    const struct mafat_winograd *w = mafat_winograd_of(plan->algorithms[l]);
    if (w) list |= 1u << w->size;
  }
  return list;
}

/* Are there tensors of bytes? What lies behind the last of them may be read. */
static bool has_bytes(const struct maker *m)
{
  for (int t = 0; t < mafat_network_n_operators(m->network); t++)
    if (m->layout->tensors[t].element_bytes == 1) return true;
  return false;
}

/* Which tensors lie in bricks; how many bricks there are, and parts of maps that have sums. */
static int find_bricks(struct maker *m)
{
  int n = 0;
  for (int t = 0; t < mafat_network_n_operators(m->network); t++) {
    m->layout->tensors[t].bricks = mafat_parts_bricks(m->plan, t);
    if (m->layout->tensors[t].bricks) n += mafat_bricks_count(m->layout->tensors[t].bricks);
    if (mafat_parts_keep_sums(m->plan, m->network, t)) n += mafat_bricks_count(&m->plan->parts->cuttings[t]);
  }
  return n;
}

static int open_parts(struct maker *m, size_t n_bricks)
{
  int n_operators = mafat_network_n_operators(m->network), n = 0;
  m->bricks = mafat_heap_calloc(m->work, n_bricks + 1, sizeof *m->bricks);
  m->first_brick = mafat_heap_calloc(m->work, (size_t)n_operators, sizeof *m->first_brick);
  m->first_sums = mafat_heap_calloc(m->work, (size_t)n_operators, sizeof *m->first_sums);
  m->parts = mafat_heap_calloc(m->work, (size_t)n_operators, sizeof *m->parts);
  m->layout->sums_buffers = mafat_heap_calloc(m->layout->heap, (size_t)n_operators, sizeof *m->layout->sums_buffers);
  if (!m->bricks || !m->first_brick || !m->first_sums || !m->parts || !m->layout->sums_buffers) return MAFAT_ENOMEM;
  memset(m->layout->sums_buffers, -1, (size_t)n_operators * sizeof *m->layout->sums_buffers);
  for (size_t b = 0; b < n_bricks; b++) m->bricks[b] = (struct times){INT_MAX, -1};
  for (int t = 0; t < n_operators; t++) {
    m->parts[t] = (struct times){INT_MAX, -1};
    m->first_brick[t] = n;
    if (m->layout->tensors[t].bricks) n += mafat_bricks_count(m->layout->tensors[t].bricks);
    m->first_sums[t] = n;
    if (mafat_parts_keep_sums(m->plan, m->network, t)) n += mafat_bricks_count(&m->plan->parts->cuttings[t]);
  }
  return MAFAT_OK;
}

/* Records of plan and layout that only plans with parts have: how many depends on the plan, not on the network alone. */
static size_t records_of_parts(const struct maker *m, size_t n_pieces)
{
  const struct mafat_parts *parts = m->plan->parts;
  const struct mafat_parts_scratch *s = m->layout->part_scratch;
  enum { BLOCK = 16 }; /* of the C library, beside each of a part's lists: of bricks along an axis, of steps */
  size_t of_a_part = sizeof *parts->list + sizeof *s->record_of + sizeof *s->run_of + sizeof *s->runs + BLOCK;
  return (size_t)parts->n * of_a_part + (size_t)s->n_records * sizeof *s->records +
         (size_t)parts->n_operators * (sizeof *parts->cuttings + sizeof *m->layout->sums_buffers + BLOCK) +
         n_pieces * sizeof *m->layout->buffers;
}

static int make(struct maker *m)
{
  struct mafat_layout *layout = m->layout;
  size_t n = (size_t)m->plan->n_layers, n_operators = (size_t)mafat_network_n_operators(m->network);
  int code = mafat_schedule_open(&m->schedule, m->network, m->plan);
  layout->heap = m->plan->heap;
  layout->n_layers = m->plan->n_layers;
  layout->picture = mafat_network_picture(m->network);
  layout->n_inputs = m->network->n_inputs;
  layout->n_workers = m->plan->n_threads;
  layout->winograds = list_winograds(m->plan);
  layout->ring_buffer = layout->panel_buffer = layout->affine_buffer = layout->frame_buffer = -1;
  /* scratch, weights, sums; maps; I/O and a frame */
  layout->tensors = mafat_heap_calloc(layout->heap, n_operators, sizeof *layout->tensors);
  if (!layout->tensors) return MAFAT_ENOMEM;
  if (code == MAFAT_OK) code = mafat_parts_scratch_open(&layout->part_scratch, m->plan, m->network);
  if (code) return code;
  size_t n_bricks = (size_t)find_bricks(m), n_runs = layout->part_scratch ? (size_t)layout->part_scratch->n_runs : 0;
  layout->buffers = mafat_heap_calloc(layout->heap, 2 * n + n_operators + n_bricks + n_runs + 4, sizeof *layout->buffers);
  layout->scratch = mafat_heap_calloc(layout->heap, n, sizeof *layout->scratch);
  layout->scratch_buffers = mafat_heap_calloc(layout->heap, n, sizeof *layout->scratch_buffers);
  layout->weights_buffers = mafat_heap_calloc(layout->heap, n, sizeof *layout->weights_buffers);
  layout->layer_macs = mafat_heap_calloc(layout->heap, n, sizeof *layout->layer_macs);
  layout->groups = mafat_heap_calloc(layout->heap, (size_t)m->plan->n_groups, sizeof *layout->groups);
  m->extents = mafat_heap_calloc(m->work, n_operators, sizeof *m->extents);
  m->lives = mafat_heap_calloc(m->work, n_operators, sizeof *m->lives);
  m->slots = mafat_heap_calloc(m->work, n_operators, sizeof *m->slots);
  if (m->plan->parts && code == MAFAT_OK) {
    layout->parts_bytes = records_of_parts(m, n_bricks + n_runs);
    code = open_parts(m, n_bricks);
  }
  if (code || !layout->weights_buffers || !m->lives || !layout->buffers || !layout->scratch ||
      !layout->scratch_buffers || !layout->layer_macs || !layout->groups || !m->extents || !m->slots)
    return MAFAT_ENOMEM;
  for (size_t l = 0; l < n; l++) layout->weights_buffers[l] = -1;
  for (size_t t = 0; t < n_operators; t++) layout->tensors[t].buffer = -1;
  find_pads(m);
  share_pads(m);
  find_lives(m);
  walk(m);
  size_rings(m);
  for (size_t i = (size_t)m->network->n_layers; i < n_operators && code == MAFAT_OK; i++) code = size_tensor(m, (int)i);
  for (int l = 0; l < m->plan->n_layers && code == MAFAT_OK; l++) {
    code = size_tensor(m, l);
    if (code == MAFAT_OK) code = size_scratch(m, l);
    if (code == MAFAT_OK) code = size_sums(m, l);
    if (code == MAFAT_OK && mafat_schedule_runs(m->schedule, l) && runs_here(m, l)) code = size_weights(m, l);
  }
  if (code == MAFAT_OK) code = size_frame(m);
  if (code == MAFAT_OK && !m->outline) code = size_io(m);
  if (code == MAFAT_OK) code = size_part_scratch(m);
  if (code == MAFAT_OK && !m->outline && !m->sketch) code = arrange(m);
  if (code == MAFAT_OK) code = find_peaks(m);
  if (m->outline || m->sketch) layout->total_bytes = layout->bound_bytes;
  if (layout->total_bytes == 0) layout->total_bytes = IDLE_BYTES;
  if (has_bytes(m)) layout->total_bytes += MAFAT_READ_BEHIND;
  if (code == MAFAT_OK) place_boxes(m);
  return code;
}

static int make_layout(struct mafat_layout **out, struct maker m, struct mafat_diagnostic *d)
{
  *out = NULL;
  struct mafat_heap *heap = m.plan->heap;
  struct mafat_heap *own = NULL; /* a plan of the C library's heap: what is done with leaves no holes there */
  int code = heap ? MAFAT_OK : mafat_heap_open(&own);
  m.work = own ? own : heap;
  m.layout = mafat_heap_calloc(heap, 1, sizeof *m.layout);
  if (code == MAFAT_OK) code = m.layout ? make(&m) : MAFAT_ENOMEM;
  mafat_schedule_close(&m.schedule);
  mafat_heap_free(m.work, m.extents);
  mafat_heap_free(m.work, m.lives);
  mafat_heap_free(m.work, m.bricks);
  mafat_heap_free(m.work, m.first_brick);
  mafat_heap_free(m.work, m.first_sums);
  mafat_heap_free(m.work, m.parts);
  mafat_heap_free(m.work, m.slots);
  mafat_heap_close(&own);
  if (code == MAFAT_OK) {
    *out = m.layout;
    return MAFAT_OK;
  }
  mafat_layout_close(&m.layout);
  return mafat_fail(d, code, "%s: %s", m.network->path,
                    code == MAFAT_ELIMIT ? "the plan's buffers are larger than the address space"
                                         : "out of memory");
}

int mafat_layout_make(struct mafat_layout **out, const struct mafat_network *n,
                      const struct mafat_plan *plan, struct mafat_diagnostic *d)
{
  return make_layout(out, (struct maker){.network = n, .plan = plan}, d);
}

int mafat_layout_outline(struct mafat_layout **out, const struct mafat_network *n,
                         const struct mafat_plan *plan, struct mafat_diagnostic *d)
{
  return make_layout(out, (struct maker){.network = n, .plan = plan, .outline = true}, d);
}

int mafat_layout_sketch(struct mafat_layout **out, const struct mafat_network *n,
                        const struct mafat_plan *plan, struct mafat_diagnostic *d)
{
  return make_layout(out, (struct maker){.network = n, .plan = plan, .sketch = true}, d);
}

size_t mafat_layout_tensor_bytes(const struct mafat_layout *layout, int tensor)
{
  const struct mafat_tensor_layout *t = &layout->tensors[tensor];
  size_t bytes = 0;
  int n = t->buffer < 0 ? 0 : t->bricks ? mafat_bricks_count(t->bricks) : 1;
  for (int i = 0; i < n; i++) bytes += layout->buffers[t->buffer + i].bytes;
  return bytes;
}

void mafat_layout_close(struct mafat_layout **layout)
{
  if (!layout || !*layout) return;
  struct mafat_heap *heap = (*layout)->heap;
  mafat_heap_free(heap, (*layout)->buffers);
  mafat_heap_free(heap, (*layout)->tensors);
  mafat_heap_free(heap, (*layout)->scratch);
  mafat_parts_scratch_close(heap, &(*layout)->part_scratch);
  mafat_heap_free(heap, (*layout)->sums_buffers);
  mafat_heap_free(heap, (*layout)->scratch_buffers);
  mafat_heap_free(heap, (*layout)->weights_buffers);
  mafat_heap_free(heap, (*layout)->layer_macs);
  mafat_heap_free(heap, (*layout)->groups);
  mafat_heap_free(heap, *layout);
  *layout = NULL;
}
