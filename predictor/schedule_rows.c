/* A group as a pipeline of rows. Every layer keeps a rolling window of what its
 * readers still need. The next step is found by demand: from the first unfinished
 * output of the group back to a layer whose own sources are ready; who asked for its
 * rows looks again after each of its steps. */
#include "predictor/schedule.h"

#include "predictor/fusion.h"
#include "predictor/packing.h"
#include "predictor/winograd.h"

enum {
  /* Pixels a step should have for each row that was asked for, lest what a step
   * costs by itself shows: calls and row pointers; for Winograd, transforming the
   * weights. So narrow maps come in more rows than wide ones. */
  STEP_PIXELS = 48,
  STREAMED_STEP_PIXELS = 144, /* reading the weights anew should not take longer than the step */
  WINOGRAD_STEP_PIXELS = 192
};

static enum mafat_lifetime rows_lifetime(const struct mafat_group *g)
{
  (void)g;
  return MAFAT_LIFE_GROUP;
}

/* Rows of layer l that are done: kept in the schedule's boxes. */
static int *done(struct mafat_schedule *s, int l)
{
  return &s->boxes[l].y.end;
}

static bool is_done(struct mafat_schedule *s, int l)
{
  return *done(s, l) >= s->network->layers[l].out.h;
}

/* Rows of layer l's next step: more than asked for where the map is narrow. */
static struct mafat_span next_rows(struct mafat_schedule *s, const struct mafat_group *g, int l)
{
  const struct mafat_layer *layer = &s->network->layers[l];
  int reader = mafat_fusion_reader(s->plan, l), begin = *done(s, l);
  bool winograd = s->plan->algorithms[reader] == MAFAT_WINOGRAD;
  int width = s->network->layers[reader].out.w;
  bool streamed = s->plan->residence[reader] == MAFAT_STREAMED;
  long long pixels = winograd ? WINOGRAD_STEP_PIXELS : streamed ? STREAMED_STEP_PIXELS : STEP_PIXELS;
  pixels *= g->rows;
  int rows = (int)((pixels + width - 1) / width);
  /* Pooled, half as many rows of twice the pixels. */
  if (mafat_fusion_pools(s->plan, s->network, l)) rows = (rows + 1) / 2;
  if (rows < g->rows) rows = g->rows;
  rows = mafat_round_up(rows, mafat_fusion_granularity(s->plan, s->network, l));
  /* A last step of a few rows costs like a whole one. */
  int left = layer->out.h - begin;
  return mafat_span(begin, left < rows + rows / 2 ? layer->out.h : begin + rows);
}

enum { NONE = -2 }; /* MAFAT_INPUT is -1 */

/* A source inside the group, or the picture, that lacks rows below `end`; or NONE. */
static int lacking_source(struct mafat_schedule *s, const struct mafat_sources *sources, int first,
                          int end)
{
  for (int i = 0; i < sources->n; i++) {
    int t = sources->list[i].tensor;
    if (t == MAFAT_INPUT ? s->input_rows < end : t >= first && *done(s, t) < end) return t;
  }
  return NONE;
}

static bool reads(const struct mafat_sources *sources, int tensor)
{
  for (int i = 0; i < sources->n; i++)
    if (sources->list[i].tensor == tensor) return true;
  return false;
}

/* First row of tensor t that a layer of the group still has to read. */
static int first_row_needed(struct mafat_schedule *s, const struct mafat_group *g, int t)
{
  int first = mafat_network_tensor_shape(s->network, t).h;
  for (int i = s->readers_at[t + 1]; i < s->readers_at[t + 2]; i++) {
    int l = s->readers[i];
    const struct mafat_layer *reader = &s->network->layers[l];
    if (l >= g->end) break;
    if (is_done(s, l)) continue;
    struct mafat_span left = {*done(s, l), reader->out.h};
    if (reads(mafat_fusion_sources(s->plan, s->network, l), t))
      first = mafat_min(first, mafat_fusion_in_span(s->plan, s->network, l, true, left).begin);
    if (!reads(&reader->from, t)) continue;
    struct mafat_span in = mafat_layer_from_span(reader, true, left);
    if (!mafat_span_is_empty(in)) first = mafat_min(first, in.begin);
  }
  return first;
}

/* The picture's rows down to `end`, for a layer of the group. */
static struct mafat_step ask_for_input(struct mafat_schedule *s, const struct mafat_group *g, int end)
{
  struct mafat_span rows = {s->input_rows, end};
  s->input_rows = end;
  return mafat_schedule_input_step(s, rows, mafat_min(first_row_needed(s, g, MAFAT_INPUT), rows.begin));
}

/* The group's next unfinished output waits first. False at the group's end. */
static bool begin_waiting(struct mafat_schedule *s, const struct mafat_group *g)
{
  while (s->layer < g->end &&
         !(mafat_schedule_runs(s, s->layer) && s->usage[s->layer + 1].external && !is_done(s, s->layer)))
    s->layer++;
  if (s->layer == g->end) return false;
  s->waiting[s->n_waiting++] = s->layer;
  return true;
}

/* The step of layer l, whose sources are there. */
static struct mafat_step compute_rows(struct mafat_schedule *s, const struct mafat_group *g, int l, struct mafat_span rows)
{
  struct mafat_span x = {0, s->network->layers[l].out.w};
  *done(s, l) = rows.end;
  int keep = mafat_min(first_row_needed(s, g, l), rows.begin);
  return mafat_schedule_step(s, l, (struct mafat_box){rows, x}, (struct mafat_box){{keep, rows.end}, x});
}

static bool rows_next(struct mafat_schedule *s, struct mafat_step *step)
{
  const struct mafat_group *g = &s->plan->groups[s->group];
  if (!s->begun) {
    s->begun = true;
    s->dividing = false;
    s->layer = g->first;
    s->n_waiting = 0;
    for (int l = g->first; l < g->end; l++) *done(s, l) = 0;
  }
  if (s->dividing && mafat_schedule_next_part(s, step)) return true;
  if (s->n_waiting == 0 && !begin_waiting(s, g)) return false;
  for (;;) {
    int l = s->waiting[s->n_waiting - 1];
    const struct mafat_layer *layer = &s->network->layers[l];
    struct mafat_span rows = next_rows(s, g, l);
    int end = mafat_fusion_in_span(s->plan, s->network, l, true, rows).end;
    int source = lacking_source(s, mafat_fusion_sources(s->plan, s->network, l), g->first, end);
    if (source == NONE && layer->from.n) {
      end = mafat_layer_from_span(layer, true, rows).end;
      source = lacking_source(s, &layer->from, g->first, end);
    }
    if (source == MAFAT_INPUT) {
      *step = ask_for_input(s, g, end);
      return true;
    }
    if (source != NONE) {
      s->waiting[s->n_waiting++] = source;
      continue;
    }
    s->n_waiting--;
    *step = compute_rows(s, g, l, rows);
    if (!mafat_plan_divides(s->plan, s->network, l)) return true;
    mafat_schedule_divide(s, *step);
    return mafat_schedule_next_part(s, step);
  }
}

const struct mafat_generator mafat_generator_rows = {"rows", rows_lifetime, rows_next};
