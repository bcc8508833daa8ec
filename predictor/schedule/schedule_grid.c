/* Generates the steps of a group in tiles: all layers of one tile, then all layers of the next
 * tile. From the group's last layer back to its first, it finds which box of each layer the tile
 * needs. Called by schedule.c through mafat_generator_grid. predictor/cost, predictor/planning and
 * search/least/grouping.c call mafat_schedule_tile_boxes. Allocates its state from the plan's
 * heap. */
#include "predictor/schedule/schedule.h"

#include "predictor/plan/fusion.h"

/* Extends the boxes of the group's layers so that they contain everything that layer l reads to
 * compute its output in box `b`. */
static void need_reads(const struct mafat_schedule *s, int group, int l, struct mafat_box b,
                       struct mafat_box *boxes)
{
  struct mafat_box read = {{0, 0}, {0, 0}};
  int operand = -1;
  for (struct mafat_reads r = mafat_plan_reads(s->plan, s->network, l); mafat_reads_next(&r);) {
    int tensor = r.source->tensor;
    if (r.operand != operand)
      read =
          (struct mafat_box){mafat_fusion_in_span(s->plan, s->network, l, r.operand, true, b.y),
                             mafat_fusion_in_span(s->plan, s->network, l, r.operand, false, b.x)};
    operand = r.operand;
    struct mafat_box part = {mafat_reads_rows(&r, read.y), read.x};
    if (mafat_box_is_empty(part) || !mafat_plan_makes(s->plan, group, tensor)) continue;
    struct mafat_maker m = mafat_network_maker(s->network, tensor);
    part = mafat_layer_first_box(&s->network->layers[m.layer], m.output, part);
    boxes[m.layer].y = mafat_span_hull(boxes[m.layer].y, part.y);
    boxes[m.layer].x = mafat_span_hull(boxes[m.layer].x, part.x);
  }
}

/* Returns the box of layer l's output that is computed for tile (ty, tx). It contains `wanted`, the
 * box that later layers of this tile read, and, if the map is used outside the group, the tile's
 * share of the map. It is rounded out to whole Winograd tiles. It is the whole map if the layer
 * cannot be tiled. */
static struct mafat_box tile_box(const struct mafat_schedule *s, const struct mafat_group *g, int l,
                                 int ty, int tx, struct mafat_box wanted)
{
  const struct mafat_layer *layer = &s->network->layers[l];
  if (s->usage[l].any_external) {
    wanted.y = mafat_span_hull(wanted.y, mafat_group_share(g, true, ty, layer->out.h));
    wanted.x = mafat_span_hull(wanted.x, mafat_group_share(g, false, tx, layer->out.w));
  }
  if (mafat_box_is_empty(wanted)) return (struct mafat_box){{0, 0}, {0, 0}};
  if (!mafat_layer_is_tileable(layer)) wanted = mafat_box_full(layer->out.h, layer->out.w);
  int granularity = mafat_fusion_granularity(s->plan, s->network, l);
  return (struct mafat_box){mafat_span_round_out(wanted.y, granularity, layer->out.h),
                            mafat_span_round_out(wanted.x, granularity, layer->out.w)};
}

void mafat_schedule_tile_boxes(const struct mafat_schedule *s, int group, int ty, int tx,
                               struct mafat_box *boxes)
{
  const struct mafat_group *g = &s->plan->groups[group];
  const int *members = s->plan->members;
  for (int i = g->at.begin; i < g->at.end; i++)
    boxes[members[i]] = (struct mafat_box){{0, 0}, {0, 0}};
  for (int i = g->at.end - 1; i >= g->at.begin; i--) {
    int l = members[i];
    if (!mafat_schedule_runs(s, l)) continue;
    boxes[l] = tile_box(s, g, l, ty, tx, boxes[l]);
    if (!mafat_box_is_empty(boxes[l])) need_reads(s, group, l, boxes[l], boxes);
  }
}

/* ---- the generator ---- */

struct tiles {
  int y, x;  /* current tile */
  int at;    /* index in plan->order of the next layer of the tile */
  struct mafat_box boxes[]; /* [layer]: its box in the tile */
};

static int open_grid(void **state, const struct mafat_schedule *s)
{
  size_t boxes_bytes = (size_t)s->plan->n_layers * sizeof(struct mafat_box);
  *state = mafat_heap_calloc(s->plan->heap, 1, sizeof(struct tiles) + boxes_bytes);
  return *state ? MAFAT_OK : MAFAT_ENOMEM;
}

static void begin_tile(struct mafat_schedule *s, int y, int x)
{
  struct tiles *t = s->states[MAFAT_CUT_GRID];
  t->y = y;
  t->x = x;
  t->at = s->plan->groups[s->group].at.begin;
  mafat_schedule_tile_boxes(s, s->group, y, x, t->boxes);
}

static void grid_begin(struct mafat_schedule *s)
{
  begin_tile(s, 0, 0);
}

static bool grid_next(struct mafat_schedule *s, struct mafat_step *step)
{
  const struct mafat_group *g = &s->plan->groups[s->group];
  struct tiles *t = s->states[MAFAT_CUT_GRID];
  for (;;) {
    while (t->at < g->at.end) {
      int layer = s->plan->order[t->at++];
      struct mafat_box box = t->boxes[layer];
      if (mafat_box_is_empty(box)) continue;
      *step = mafat_schedule_step(s, layer, box, box);
      return true;
    }
    bool row_ends = t->x + 1 == g->cut.as.grid.n_cols;
    if (row_ends && t->y + 1 == g->cut.as.grid.n_rows) return false;
    begin_tile(s, row_ends ? t->y + 1 : t->y, row_ends ? 0 : t->x + 1);
  }
}

const struct mafat_generator mafat_generator_grid = {open_grid, mafat_heap_free, grid_begin,
                                                     grid_next};
