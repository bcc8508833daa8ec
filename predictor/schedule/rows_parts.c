/* Records the steps of groups by rows with partition buffers ("rows4:bricks"). Called by
 * predictor/planning/lay.c. Allocates the list from the plan's heap. Opens and closes a schedule of
 * the plan. */
#include "predictor/schedule/rows_parts.h"

#include "predictor/schedule/schedule.h"

static int note(struct mafat_recorded_parts *w, const struct mafat_step *step,
                struct mafat_heap *heap)
{
  if (w->n == w->capacity) {
    int capacity = 2 * w->capacity + 1024;
    struct mafat_layer_part *grown =
        mafat_heap_realloc(heap, w->list, (size_t)capacity * sizeof *grown);
    if (!grown) return MAFAT_ENOMEM;
    w->list = grown;
    w->capacity = capacity;
  }
  w->list[w->n++] = (struct mafat_layer_part){
      .layer = step->layer, .out = step->out, .filters = step->filters, .channels = step->channels};
  return MAFAT_OK;
}

int mafat_rows_parts_walk(struct mafat_recorded_parts *recorded, const struct mafat_plan *plan,
                          const struct mafat_network *n)
{
  struct mafat_schedule *s = NULL;
  struct mafat_step step;
  int code = MAFAT_OK;
  for (int g = 0; g < plan->n_groups && code == MAFAT_OK; g++) {
    const struct mafat_cut *cut = &plan->groups[g].cut;
    if (cut->kind != MAFAT_CUT_ROWS || !mafat_cut_has_parts(cut)) continue;
    if (!s) code = mafat_schedule_open(&s, n, plan);
    if (code) break;
    s->group = g;
    mafat_generator_rows.begin(s);
    while (code == MAFAT_OK && mafat_generator_rows.next(s, &step))
      code = note(recorded, &step, plan->heap);
  }
  mafat_schedule_close(&s);
  return code;
}
