#include "tests/generators.h"

#include "predictor/fusion.h"
#include "predictor/packing.h"

enum { SLICE_PIECES = 2 };

static enum mafat_lifetime taking_turns(const struct mafat_group *g)
{
  (void)g;
  return MAFAT_LIFE_GROUP;
}

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
