/* Whole maps, a panel of filters at a time. The readers of a fan take each panel
 * as soon as it is there (order.h). */
#include "predictor/schedule.h"

#include "predictor/order.h"

static enum mafat_lifetime panels_lifetime(const struct mafat_group *g)
{
  (void)g;
  return MAFAT_LIFE_ONCE;
}

static struct mafat_step whole_step(const struct mafat_schedule *s, int layer)
{
  struct mafat_shape out = s->network->layers[layer].out;
  struct mafat_box map = mafat_box_full(out.h, out.w);
  return mafat_schedule_step(s, layer, map, map);
}

/* What a reader does with the panel that lies in the wide layer's buffer. */
static struct mafat_step take_panel(const struct mafat_schedule *s, int reader, struct mafat_span panel)
{
  struct mafat_step step = whole_step(s, reader);
  if (mafat_layer_pools(&s->network->layers[reader])) step.filters = panel;
  else step.channels = panel;
  return step;
}

static int layer_at(const struct mafat_schedule *s, int at)
{
  return s->plan->order[at];
}

/* s->layer: position in the plan's order. s->fan_reader: while a fan's readers take
 * a panel, the position of the next one; 0 otherwise. */
static bool panels_next(struct mafat_schedule *s, struct mafat_step *step)
{
  const struct mafat_group *g = &s->plan->groups[s->group];
  if (!s->begun) {
    s->begun = true;
    s->layer = g->first;
    s->dividing = false;
    s->fan_reader = 0;
  }
  for (;;) {
    int layer = s->layer < g->end ? layer_at(s, s->layer) : -1;
    if (s->fan_reader) { /* after a panel of the wide layer */
      while (s->fan_reader < g->end) {
        int reader = layer_at(s, s->fan_reader++);
        if (s->plan->outer[reader] >= 0) continue; /* inside the next one */
        if (s->plan->fan[reader] != layer) break;
        *step = take_panel(s, reader, mafat_span(s->divided_from, s->filter));
        return true;
      }
      s->fan_reader = 0;
    }
    if (s->dividing) {
      int filter = s->filter;
      if (mafat_schedule_next_part(s, step)) {
        bool wide = mafat_order_is_wide(s->plan, layer);
        if (wide) step->held_channels = step->filters;
        if (wide && s->filter > filter) {
          s->divided_from = filter;
          s->fan_reader = s->layer + 1;
        }
        return true;
      }
      s->layer++;
      continue;
    }
    if (layer < 0) return false;
    if (!mafat_schedule_runs(s, layer) || mafat_order_takes_panels(s->plan, layer)) {
      s->layer++;
      continue;
    }
    if (mafat_plan_divides(s->plan, s->network, layer)) {
      mafat_schedule_divide(s, whole_step(s, layer));
      continue;
    }
    *step = whole_step(s, layer);
    s->layer++;
    return true;
  }
}

const struct mafat_generator mafat_generator_panels = {"panels", panels_lifetime, panels_next};
