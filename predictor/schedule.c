#include "predictor/schedule.h"

#include "predictor/fusion.h"
#include "predictor/packing.h"

#include <stdlib.h>
#include <string.h>

/* What a layer's step reads: `list` 0, and what a shortcut adds, 1. */
static const struct mafat_sources *step_sources(const struct mafat_schedule *s, int layer, int list)
{
  return list ? &s->network->layers[layer].from : mafat_fusion_sources(s->plan, s->network, layer);
}

/* Calls `note` with each layer that has steps and each tensor that these read. */
static void for_readers(struct mafat_schedule *s, void (*note)(struct mafat_schedule *s, int layer, int tensor))
{
  for (int l = 0; l < s->plan->n_layers; l++)
    for (int list = 0; list < 2 && mafat_schedule_runs(s, l); list++) {
      const struct mafat_sources *sources = step_sources(s, l, list);
      for (int i = 0; i < sources->n; i++) note(s, l, sources->list[i].tensor);
    }
}

static void count_reader(struct mafat_schedule *s, int layer, int tensor)
{
  (void)layer;
  s->readers_at[tensor + 2]++;
}

static void put_reader(struct mafat_schedule *s, int layer, int tensor)
{
  s->readers[s->readers_at[tensor + 1]++] = layer;
}

static int list_readers(struct mafat_schedule *s)
{
  int n = s->plan->n_layers;
  s->readers_at = calloc((size_t)n + 2, sizeof *s->readers_at);
  if (!s->readers_at) return MAFAT_ENOMEM;
  for_readers(s, count_reader);
  for (int t = 0; t <= n; t++) s->readers_at[t + 1] += s->readers_at[t];
  s->readers = calloc((size_t)s->readers_at[n + 1] + 1, sizeof *s->readers);
  if (!s->readers) return MAFAT_ENOMEM;
  for_readers(s, put_reader);
  for (int t = n; t >= 0; t--) s->readers_at[t + 1] = s->readers_at[t];
  s->readers_at[0] = 0;
  return MAFAT_OK;
}

int mafat_schedule_open(struct mafat_schedule **out, const struct mafat_network *n,
                        const struct mafat_plan *plan)
{
  *out = NULL;
  struct mafat_schedule *s = calloc(1, sizeof *s);
  if (!s) return MAFAT_ENOMEM;
  s->network = n;
  s->plan = plan;
  s->usage = calloc((size_t)plan->n_layers + 1, sizeof *s->usage);
  s->boxes = calloc((size_t)plan->n_layers, sizeof *s->boxes);
  s->waiting = calloc((size_t)plan->n_layers, sizeof *s->waiting);
  bool enough = s->usage && s->boxes && s->waiting;
  if (enough) mafat_usage_find(n, plan, s->usage);
  if (!enough || list_readers(s)) {
    mafat_schedule_close(&s);
    return MAFAT_ENOMEM;
  }
  *out = s;
  return MAFAT_OK;
}

void mafat_schedule_close(struct mafat_schedule **s)
{
  if (!s || !*s) return;
  free((*s)->usage);
  free((*s)->boxes);
  free((*s)->readers);
  free((*s)->readers_at);
  free((*s)->waiting);
  free(*s);
  *s = NULL;
}

void mafat_schedule_rewind(struct mafat_schedule *s)
{
  s->group = 0;
  s->begun = s->dividing = false;
  s->input_rows = 0;
}

/* All of the picture at once, where the first group does not ask for its rows. */
static bool next_whole_input(struct mafat_schedule *s, struct mafat_step *step)
{
  struct mafat_shape in = s->network->input;
  if (s->input_rows == in.h || !s->usage[0].needed || !s->usage[0].external) return false;
  s->input_rows = in.h;
  *step = mafat_schedule_input_step(s, mafat_span(0, in.h), 0);
  return true;
}

bool mafat_schedule_next(struct mafat_schedule *s, struct mafat_step *step)
{
  if (next_whole_input(s, step)) return true;
  for (; s->group < s->plan->n_groups; s->group++, s->begun = false)
    if (s->plan->groups[s->group].generator->next(s, step)) return true;
  return false;
}

struct mafat_step mafat_schedule_step(const struct mafat_schedule *s, int layer,
                                      struct mafat_box out, struct mafat_box held)
{
  const struct mafat_layer *l = &s->network->layers[layer];
  const struct mafat_layer *reader = &s->network->layers[mafat_fusion_reader(s->plan, layer)];
  return (struct mafat_step){.group = s->group,
                             .layer = layer,
                             .out = out,
                             .held = held,
                             .held_channels = {0, l->out.c},
                             .filters = {0, l->out.c},
                             .channels = {0, mafat_layer_channels(reader)}};
}

struct mafat_step mafat_schedule_input_step(const struct mafat_schedule *s, struct mafat_span rows, int keep)
{
  struct mafat_shape in = s->network->input;
  struct mafat_span all = {0, in.c}, x = {0, in.w};
  return (struct mafat_step){.kind = MAFAT_STEP_INPUT, .group = s->group, .layer = MAFAT_INPUT,
                             .out = {rows, x}, .held = {{keep, rows.end}, x}, .held_channels = all,
                             .filters = all, .channels = all};
}

/* ---- panels and slices ---- */

void mafat_schedule_divide(struct mafat_schedule *s, struct mafat_step step)
{
  s->divided = step;
  s->dividing = true;
  s->transformed = !mafat_plan_transforms(s->plan, s->network, step.layer);
  s->filter = s->channel = 0;
}

/* Slices keep what is streamed at a time small. Pooled sums are not stored, so
 * they are not continued; Winograd's are, in scratch. */
static int slice_end(const struct mafat_schedule *s)
{
  int reader = mafat_fusion_reader(s->plan, s->divided.layer), all = s->divided.channels.end;
  const struct mafat_layer *l = &s->network->layers[reader];
  bool pooled = mafat_fusion_pools(s->plan, s->network, s->divided.layer);
  if (s->plan->residence[reader] != MAFAT_STREAMED || (pooled && s->plan->algorithms[reader] == MAFAT_DIRECT))
    return all;
  bool flat = mafat_layer_is_flat(l);
  int taps = flat ? 1 : mafat_window_area(&l->window), width = MAFAT_PANEL * s->plan->n_threads;
  int n = MAFAT_SLICE_FLOATS / (width * taps);
  if (n < MAFAT_PANEL) n = MAFAT_PANEL;
  return flat ? mafat_min(s->channel + n, all) : mafat_slice_end(&l->sources, s->channel, n);
}

bool mafat_schedule_next_part(struct mafat_schedule *s, struct mafat_step *part)
{
  const struct mafat_step *whole = &s->divided;
  *part = *whole;
  if (!s->transformed) {
    s->transformed = true;
    part->kind = MAFAT_STEP_TRANSFORM;
    return true;
  }
  if (s->filter >= whole->filters.end) {
    s->dividing = false;
    return false;
  }
  part->filters = mafat_span(s->filter, mafat_min(s->filter + MAFAT_PANEL * s->plan->n_threads, whole->filters.end));
  part->channels = mafat_span(s->channel, slice_end(s));
  s->channel = part->channels.end;
  if (s->channel < whole->channels.end) return true;
  s->channel = 0;
  s->filter = part->filters.end;
  return true;
}

void mafat_schedule_skip_parts(struct mafat_schedule *s)
{
  s->transformed = true;
  s->filter = s->divided.filters.end;
  s->channel = 0;
}

/* Adds what `reader` needs of its sources inside the group to their boxes. */
static void need_sources(const struct mafat_sources *sources, struct mafat_span y,
                         struct mafat_span x, int first, struct mafat_box *boxes)
{
  for (int i = 0; i < sources->n; i++) {
    int tensor = sources->list[i].tensor;
    if (tensor < first) continue;
    boxes[tensor].y = mafat_span_hull(boxes[tensor].y, y);
    boxes[tensor].x = mafat_span_hull(boxes[tensor].x, x);
  }
}

void mafat_schedule_tile_boxes(const struct mafat_schedule *s, const struct mafat_group *g, int ty,
                               int tx, struct mafat_box *boxes)
{
  for (int l = g->first; l < g->end; l++) boxes[l] = (struct mafat_box){{0, 0}, {0, 0}};
  for (int l = g->end - 1; l >= g->first; l--) {
    if (!mafat_schedule_runs(s, l)) continue;
    const struct mafat_layer *layer = &s->network->layers[l];
    struct mafat_box *b = &boxes[l];
    if (s->usage[l + 1].external) {
      b->y = mafat_span_hull(b->y, mafat_group_share(g, true, ty, layer->out.h));
      b->x = mafat_span_hull(b->x, mafat_group_share(g, false, tx, layer->out.w));
    }
    if (mafat_box_is_empty(*b)) {
      *b = (struct mafat_box){{0, 0}, {0, 0}};
      continue;
    }
    if (!mafat_layer_is_tileable(layer)) *b = mafat_box_full(layer->out.h, layer->out.w);
    int granularity = mafat_fusion_granularity(s->plan, s->network, l);
    b->y = mafat_span_round_out(b->y, granularity, layer->out.h);
    b->x = mafat_span_round_out(b->x, granularity, layer->out.w);
    need_sources(mafat_fusion_sources(s->plan, s->network, l),
                 mafat_fusion_in_span(s->plan, s->network, l, true, b->y),
                 mafat_fusion_in_span(s->plan, s->network, l, false, b->x), g->first, boxes);
    if (layer->from.n)
      need_sources(&layer->from, mafat_layer_from_span(layer, true, b->y),
                   mafat_layer_from_span(layer, false, b->x), g->first, boxes);
  }
}

/* ---- the grid ---- */

static enum mafat_lifetime grid_lifetime(const struct mafat_group *g)
{
  return mafat_group_is_tiled(g) ? MAFAT_LIFE_PER_TILE : MAFAT_LIFE_ONCE;
}

static bool grid_next(struct mafat_schedule *s, struct mafat_step *step)
{
  const struct mafat_group *g = &s->plan->groups[s->group];
  if (!s->begun) {
    s->begun = true;
    s->tile_y = s->tile_x = 0;
    s->layer = g->first;
    mafat_schedule_tile_boxes(s, g, 0, 0, s->boxes);
  }
  for (;;) {
    while (s->layer < g->end) { /* a position in the plan's order */
      int layer = s->plan->order[s->layer++];
      struct mafat_box box = s->boxes[layer];
      if (mafat_box_is_empty(box)) continue;
      *step = mafat_schedule_step(s, layer, box, box);
      return true;
    }
    if (++s->tile_x == g->n_cols) {
      s->tile_x = 0;
      if (++s->tile_y == g->n_rows) return false;
    }
    s->layer = g->first;
    mafat_schedule_tile_boxes(s, g, s->tile_y, s->tile_x, s->boxes);
  }
}

const struct mafat_generator mafat_generator_grid = {"grid", grid_lifetime, grid_next};
