/* Generates the steps of a group in panels: whole maps, some filters at a time. In a panel fusion
 * (order.h), each panel of the convolution is followed by steps of its readers. Called by
 * schedule.c through mafat_generator_panels. Allocates its state from the plan's heap. */
#include "predictor/schedule/schedule.h"

#include "predictor/plan/order.h"
#include "predictor/plan/weight_placement.h"

struct panels {
  int at;               /* index of the current layer in plan->order */
  int next_reader;      /* in a panel fusion: index in plan->order of the next reader of the current
                           panel; 0: none */
  int first_filter;     /* first filter of the current panel of a panel fusion */
};

static int panels_open(void **state, const struct mafat_schedule *s)
{
  *state = mafat_heap_calloc(s->plan->heap, 1, sizeof(struct panels));
  return *state ? MAFAT_OK : MAFAT_ENOMEM;
}

static void panels_begin(struct mafat_schedule *s)
{
  struct panels *p = s->states[MAFAT_CUT_PANELS];
  *p = (struct panels){.at = s->plan->groups[s->group].at.begin};
}

static struct mafat_step whole_step(const struct mafat_schedule *s, int layer)
{
  struct mafat_shape out = s->network->layers[layer].out;
  struct mafat_box map = mafat_box_full(out.h, out.w);
  return mafat_schedule_step(s, layer, map, map);
}

/* Returns the step in which a reader of the panel's convolution processes this panel. */
static struct mafat_step take_panel(const struct mafat_schedule *s, int reader,
                                    struct mafat_span panel)
{
  struct mafat_step step = whole_step(s, reader);
  if (mafat_layer_pools(&s->network->layers[reader])) step.filters = panel;
  else step.channels = panel;
  return step;
}

/* Sets *step to the step of the next reader of the current panel. Returns false after the last. */
static bool next_reader(struct mafat_schedule *s, int producer, struct mafat_step *step)
{
  struct panels *p = s->states[MAFAT_CUT_PANELS];
  while (p->next_reader && p->next_reader < s->plan->groups[s->group].at.end) {
    int reader = s->plan->order[p->next_reader++];
    if (s->plan->outer[reader] >= 0) continue; /* fused into another layer */
    if (s->plan->panel_producer[reader] != producer) break;
    *step = take_panel(s, reader, mafat_span(p->first_filter, s->division.filter));
    return true;
  }
  p->next_reader = 0;
  return false;
}

/* Sets *step to the next part of the divided layer. Returns false after the last. */
static bool next_part(struct mafat_schedule *s, int layer, struct mafat_step *step)
{
  struct panels *p = s->states[MAFAT_CUT_PANELS];
  int filter = s->division.filter;
  if (!mafat_schedule_next_part(s, step)) return false;
  if (!mafat_order_is_panel_producer(s->plan, layer)) return true;
  step->held_channels = step->filters;
  if (s->division.filter > filter) {
    p->first_filter = filter;
    p->next_reader = p->at + 1;
  }
  return true;
}

static bool panels_next(struct mafat_schedule *s, struct mafat_step *step)
{
  struct panels *p = s->states[MAFAT_CUT_PANELS];
  for (; p->at < s->plan->groups[s->group].at.end; p->at++) {
    int layer = s->plan->order[p->at];
    if (!s->division.going) {
      if (!mafat_schedule_runs(s, layer) || mafat_order_is_panel_consumer(s->plan, layer)) continue;
      if (!mafat_plan_divides(s->plan, s->network, layer)) {
        *step = whole_step(s, layer);
        p->at++;
        return true;
      }
      mafat_schedule_divide(s, whole_step(s, layer));
    }
    if (next_reader(s, layer, step) || next_part(s, layer, step)) return true;
  }
  return false;
}

const struct mafat_generator mafat_generator_panels = {panels_open, mafat_heap_free, panels_begin,
                                                       panels_next};
