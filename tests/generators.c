#include "tests/generators.h"

#include "predictor/fusion.h"
#include "predictor/packing.h"

enum { ROWS_AT_A_TIME = 2, SLICE_PIECES = 2 };

/* ---- rows ---- */

static enum mafat_lifetime taking_turns(const struct mafat_group *g)
{
  (void)g;
  return MAFAT_LIFE_GROUP;
}

/* Rows of layer l that are done: kept in the schedule's boxes. */
static int *done(struct mafat_schedule *s, int l)
{
  return &s->boxes[l].y.end;
}

/* A source inside the group that lacks rows below `end`; -1 when none does. */
static int lacking_source(struct mafat_schedule *s, const struct mafat_sources *sources, int first,
                          int end)
{
  for (int i = 0; i < sources->n; i++) {
    int t = sources->list[i].tensor;
    if (t >= first && *done(s, t) < end) return t;
  }
  return -1;
}

/* First row of tensor t that a layer of the group still has to read. */
static int first_row_needed(struct mafat_schedule *s, const struct mafat_group *g, int t)
{
  int first = s->network->layers[t].out.h;
  for (int l = t + 1; l < g->end; l++) {
    const struct mafat_layer *reader = &s->network->layers[l];
    if (!mafat_schedule_runs(s, l) || *done(s, l) >= reader->out.h) continue;
    struct mafat_span left = {*done(s, l), reader->out.h};
    const struct mafat_sources *sources = mafat_fusion_sources(s->plan, s->network, l);
    for (int i = 0; i < sources->n; i++)
      if (sources->list[i].tensor == t) {
        int row = mafat_fusion_in_span(s->plan, s->network, l, true, left).begin;
        if (row < first) first = row;
      }
    for (int i = 0; i < reader->from.n; i++)
      if (reader->from.list[i].tensor == t) {
        struct mafat_span in = mafat_layer_from_span(reader, true, left);
        if (!mafat_span_is_empty(in) && in.begin < first) first = in.begin;
      }
  }
  return first;
}

static bool rows_next(struct mafat_schedule *s, struct mafat_step *step)
{
  const struct mafat_group *g = &s->plan->groups[s->group];
  if (!s->begun) {
    s->begun = true;
    for (int l = g->first; l < g->end; l++) *done(s, l) = 0;
  }
  /* From an unfinished external layer back to one whose sources are ready. */
  int l = g->first;
  while (l < g->end && !(mafat_schedule_runs(s, l) && s->usage[l + 1].external &&
                         *done(s, l) < s->network->layers[l].out.h))
    l++;
  if (l == g->end) return false;
  for (;;) {
    const struct mafat_layer *layer = &s->network->layers[l];
    struct mafat_span rows = {*done(s, l), *done(s, l) + ROWS_AT_A_TIME};
    rows = mafat_span_round_out(rows, mafat_fusion_granularity(s->plan, s->network, l), layer->out.h);
    rows = mafat_span_clip(rows, layer->out.h);
    int begin = rows.begin, end = rows.end;
    int source = lacking_source(s, mafat_fusion_sources(s->plan, s->network, l), g->first,
                                mafat_fusion_in_span(s->plan, s->network, l, true, rows).end);
    if (source < 0 && layer->from.n)
      source = lacking_source(s, &layer->from, g->first, mafat_layer_from_span(layer, true, rows).end);
    if (source >= 0) {
      l = source;
      continue;
    }
    *done(s, l) = end;
    int keep = first_row_needed(s, g, l);
    struct mafat_span x = {0, layer->out.w};
    *step = mafat_schedule_step(s, l, (struct mafat_box){rows, x},
                                (struct mafat_box){{keep < begin ? keep : begin, end}, x});
    return true;
  }
}

const struct mafat_generator test_generator_rows = {"rows of 2", taking_turns, rows_next};

/* ---- panels ---- */

static enum mafat_lifetime panels_lifetime(const struct mafat_group *g)
{
  (void)g;
  return MAFAT_LIFE_ONCE;
}

/* Raw sums lie in the output: not pooled, not transformed. */
static bool takes_slices(const struct mafat_schedule *s, int layer)
{
  const struct mafat_layer *l = &s->network->layers[layer];
  return l->type == MAFAT_CONVOLUTIONAL && l->groups == 1 && s->plan->inner[layer] < 0 &&
         s->plan->algorithms[layer] == MAFAT_DIRECT;
}

static bool takes_panels(const struct mafat_layer *l)
{
  return mafat_layer_is_tileable(l) || l->type == MAFAT_CONNECTED;
}

/* End of the slice of input channels that begins at `channel`. */
static int slice_end(const struct mafat_layer *l, int channel)
{
  struct mafat_piece pieces[SLICE_PIECES];
  int n = mafat_pieces(&l->sources, mafat_span(channel, l->in.c), pieces, SLICE_PIECES);
  if (n <= SLICE_PIECES) return l->in.c;
  return pieces[SLICE_PIECES - 1].position + pieces[SLICE_PIECES - 1].n;
}

/* tile_y: first filter of the panel; tile_x: first channel of the slice. */
static bool panels_next(struct mafat_schedule *s, struct mafat_step *step)
{
  const struct mafat_group *g = &s->plan->groups[s->group];
  if (!s->begun) {
    s->begun = true;
    s->layer = g->first;
    s->tile_x = s->tile_y = 0;
  }
  while (s->layer < g->end && !mafat_schedule_runs(s, s->layer)) s->layer++;
  if (s->layer == g->end) return false;
  const struct mafat_layer *l = &s->network->layers[s->layer];
  struct mafat_box map = mafat_box_full(l->out.h, l->out.w);
  *step = mafat_schedule_step(s, s->layer, map, map);
  if (takes_panels(l)) {
    step->filters = mafat_span(s->tile_y, mafat_panel_end(l, s->tile_y));
    if (takes_slices(s, s->layer)) step->channels = mafat_span(s->tile_x, slice_end(l, s->tile_x));
  }
  s->tile_x = step->channels.end;
  if (s->tile_x >= step->channels.end && !(takes_slices(s, s->layer) && s->tile_x < l->in.c)) {
    s->tile_x = 0;
    s->tile_y = step->filters.end;
  }
  if (s->tile_y >= l->out.c) {
    s->tile_y = 0;
    s->layer++;
  }
  return true;
}

const struct mafat_generator test_generator_panels = {"panels", panels_lifetime, panels_next};

/* ---- a convolution and the 1x1 behind it ---- */

/* tile_y: first filter of the panel; tile_x: 0 for the first layer's turn, 1 for
 * the second's. */
static bool fused_next(struct mafat_schedule *s, struct mafat_step *step)
{
  const struct mafat_group *g = &s->plan->groups[s->group];
  const struct mafat_layer *wide = &s->network->layers[g->first];
  if (!s->begun) {
    s->begun = true;
    s->tile_x = s->tile_y = 0;
  }
  if (s->tile_y >= wide->out.c) return false;
  int layer = g->first + s->tile_x;
  const struct mafat_layer *l = &s->network->layers[layer];
  struct mafat_box map = mafat_box_full(l->out.h, l->out.w);
  struct mafat_span panel = {s->tile_y, mafat_panel_end(wide, s->tile_y)};
  *step = mafat_schedule_step(s, layer, map, map);
  if (s->tile_x == 0) {
    step->filters = step->held_channels = panel;
    s->tile_x = 1;
  } else {
    step->channels = panel;
    s->tile_x = 0;
    s->tile_y = panel.end;
  }
  return true;
}

const struct mafat_generator test_generator_fused = {"fused panels", taking_turns, fused_next};
