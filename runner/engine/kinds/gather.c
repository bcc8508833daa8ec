/* Computes gather layers: looks up columns of a table by index. Table and output are floats or
 * 8-bit integers, indices are floats. Called by the executor through the table of kinds in kinds.c.
 * Reads a constant table through runner/weights. Writes the step's output in the arena; allocates
 * nothing. */
#include "runner/engine/kinds/rows.h"

#include <stdio.h>
#include <string.h>

/* Returns the column that an index selects in a table of n columns, or -1 if the index is out of
 * range. Negative indices count from the end. NaN selects column 0. */
static int column_of(float number, int n)
{
  float from_start = number < 0 ? number + (float)n : number;
  if (from_start <= -1 || from_start >= (float)n) return -1;
  return from_start > 0 ? (int)from_start : 0;
}

/* A table of any element type, for one run: consecutive channels that are adjacent in memory. */
struct gather_table {
  const char *first; /* address of the run's first channel in column 0 */
  size_t column_bytes;
};

/* Finds the table for a run of channels. It is among the weights if it is a constant that the plan
 * keeps there (plan->table), else in a tensor. */
static struct gather_table table_of_run(const struct mafat_worker *w, int layer,
                                        const struct mafat_run *run)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_sources *table = &t->network->layers[layer].operands[1].sources;
  int row = 0, kept = w->plan->table[layer];
  /* `row` stays 0, because the table has one band */
  const struct mafat_source *s = mafat_sources_at(table, run->source, &row);
  if (kept >= 0) {
    const struct mafat_strides *strides = t->network->layers[kept].strides;
    const float *numbers = (const float *)(const void *)mafat_weights_numbers(w->weights, kept);
    int channel = run->block * MAFAT_CHANNEL_BLOCK + run->lane;
    return (struct gather_table){(const char *)(numbers + strides->first + channel),
                                 (size_t)strides->columns * sizeof *numbers};
  }
  return (struct gather_table){
      mafat_tensors_lane(t, s->tensor, run->block * MAFAT_CHANNEL_BLOCK + run->lane, row, 0),
      mafat_tensors_pixel_bytes(t, run->tensor, run->block)};
}

/* Computes output row y, for the channels of a run. MAFAT_EINVAL: an index is out of range. */
static int gather_row(const struct mafat_worker *w, const struct mafat_step *step,
                       const struct mafat_run *run, int y)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  const struct mafat_sources *numbers = mafat_layer_sources(l);
  struct gather_table table = table_of_run(w, step->layer, run);
  const struct mafat_source *source = numbers->list;
  int n = l->operands[1].shape.w;
  const float *number = mafat_tensors_read(t, numbers, 0, source->first, y, step->out.x.begin);
  size_t element = t->layout->tensors[step->layer].element_bytes; /* the table has the same type */
  char *out = mafat_tensors_lane(
      t, step->layer, run->out_block * MAFAT_CHANNEL_BLOCK + run->out_lane, y, step->out.x.begin);
  int number_floats =
      mafat_tensors_pixel_floats(t, source->tensor, source->first / MAFAT_CHANNEL_BLOCK);
  size_t out_bytes = mafat_tensors_pixel_bytes(t, step->layer, run->out_block);
  for (int x = step->out.x.begin; x < step->out.x.end;
       x++, number += number_floats, out += out_bytes) {
    int column = column_of(*number, n);
    if (column < 0) return MAFAT_EINVAL;
    memcpy(out, table.first + (size_t)column * table.column_bytes, (size_t)run->n * element);
  }
  return MAFAT_OK;
}

static int run_gather(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  struct mafat_runs runs = mafat_runs_of(&l->operands[1].sources, step->filters);
  struct mafat_run run;
  while (mafat_runs_next(&runs, &run))
    for (int y = step->out.y.begin; y < step->out.y.end; y++)
      if (gather_row(w, step, &run, y)) return MAFAT_EINVAL;
  return MAFAT_OK;
}

/* Writes a message with the first index that is out of range. */
static void explain_gather(const struct mafat_worker *w, const struct mafat_step *step, char *text,
                           size_t capacity)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  const struct mafat_sources *numbers = mafat_layer_sources(l);
  int n = l->operands[1].shape.w, first = numbers->list->first;
  for (int y = step->out.y.begin; y < step->out.y.end; y++)
    for (int x = step->out.x.begin; x < step->out.x.end; x++) {
      float number = *mafat_tensors_read(t, numbers, 0, first, y, x);
      if (column_of(number, n) >= 0) continue;
      snprintf(text, capacity, "expected an index from %d to %d, found %.0f", -n, n - 1,
               (double)number);
      return;
    }
}

const struct mafat_runner_kind mafat_runner_gather = {
    .run = run_gather, .explain = explain_gather, .sharing = MAFAT_SHARED_BY_ROWS};
