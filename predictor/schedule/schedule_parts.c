/* Generates the steps of a group with parts: its parts in the order of plan->parts->list. Called by
 * schedule.c through mafat_generator_parts. Allocates its state from the plan's heap. */
#include "predictor/plan/parts.h"
#include "predictor/plan/weight_placement.h"
#include "predictor/schedule/schedule.h"

struct parts_state {
  int at; /* index in plan->parts->list of the next part */
};

static int parts_open(void **state, const struct mafat_schedule *s)
{
  *state = mafat_heap_calloc(s->plan->heap, 1, sizeof(struct parts_state));
  return *state ? MAFAT_OK : MAFAT_ENOMEM;
}

static void parts_begin(struct mafat_schedule *s)
{
  struct parts_state *state = s->states[MAFAT_CUT_SPLIT];
  state->at = s->plan->parts->at[s->group];
}

static const enum mafat_step_kind kinds[] = {[MAFAT_PART_SEND] = MAFAT_STEP_SEND,
                                             [MAFAT_PART_WAIT] = MAFAT_STEP_WAIT,
                                             [MAFAT_PART_RECEIVE] = MAFAT_STEP_RECEIVE};

static bool parts_next(struct mafat_schedule *s, struct mafat_step *step)
{
  const struct mafat_parts *parts = s->plan->parts;
  struct parts_state *state = s->states[MAFAT_CUT_SPLIT];
  if (s->division.going && mafat_schedule_next_part(s, step)) return true;
  if (state->at == parts->at[s->group + 1]) return false;
  int number = state->at++;
  const struct mafat_layer_part *part = &parts->list[number];
  struct mafat_shape out = s->network->layers[part->layer].out;
  *step = mafat_schedule_step(s, part->layer, part->out, mafat_box_full(out.h, out.w));
  step->part = number;
  step->filters = part->filters;
  step->channels = part->channels;
  if (part->act != MAFAT_PART_COMPUTE) step->kind = kinds[part->act];
  if (step->kind != MAFAT_STEP_COMPUTE || !mafat_plan_divides(s->plan, s->network, part->layer))
    return true;
  mafat_schedule_divide(s, *step);
  return mafat_schedule_next_part(s, step);
}

const struct mafat_generator mafat_generator_parts = {parts_open, mafat_heap_free, parts_begin,
                                                      parts_next};
