/* Computes the mean of each channel over the whole map (global average pooling). Called by the
 * executor through the table in kinds.c. Writes the step's output in the arena; allocates
 * nothing. */
#include "runner/engine/kinds/rows.h"

static void average(const struct mafat_worker *w, const struct mafat_step *step,
                    const struct mafat_run *run)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  float sum[MAFAT_CHANNEL_BLOCK] = {0};
  size_t pixel = (size_t)mafat_tensors_pixel_floats(t, run->tensor, run->block);
  for (int y = 0; y < l->in.h; y++) {
    const float *row = mafat_runs_read(t, mafat_layer_sources(l), run, y, 0);
    for (int x = 0; x < l->in.w; x++, row += pixel)
      for (int c = 0; c < run->n; c++) sum[c] += row[c];
  }
  float *out = mafat_rows_out(w, step, run, 0);
  for (int c = 0; c < run->n; c++) out[c] = sum[c] / (float)(l->in.h * l->in.w);
}

/* Workers take units from the team; a unit is a channel block. */
static int run_avgpool(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_sources *sources =
      mafat_layer_sources(&w->tensors->network->layers[step->layer]);
  int first = step->filters.begin / MAFAT_CHANNEL_BLOCK,
      n = mafat_n_blocks(step->filters.end) - first;
  for (int unit; (unit = mafat_team_take(w->team, w->index, n)) >= 0;) {
    int begin = (first + unit) * MAFAT_CHANNEL_BLOCK;
    struct mafat_span channels = {mafat_max(begin, step->filters.begin),
                                  mafat_min(begin + MAFAT_CHANNEL_BLOCK, step->filters.end)};
    struct mafat_runs runs = mafat_runs_of(sources, channels);
    struct mafat_run run;
    while (mafat_runs_next(&runs, &run)) average(w, step, &run);
  }
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_runner_avgpool = {.run = run_avgpool,
                                                       .sharing = MAFAT_SHARED_BY_UNITS};
