/* Computes maxpool and average pool of quantized maps. Called by the executor through the table in
 * kinds.c. Writes the step's output and the worker's scratch, in the arena; allocates nothing. */
#include "runner/engine/kinds/integer/integer.h"

static int run_pool(const struct mafat_worker *w, const struct mafat_step *step,
                    void (*kernel)(const struct mafat_integer_pool_call *))
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  const uint8_t **rows = (const uint8_t **)(void *)(w->slot_memory + w->scratch->in_offset);
  struct mafat_quantization in = mafat_network_in_quantization(t->network, step->layer, 0);
  struct mafat_runs runs = mafat_runs_of(mafat_layer_sources(l), step->filters);
  int x0 = mafat_taps_first(l->window.x, step->out.x.begin), origin = x0 < 0 ? 0 : x0;
  for (struct mafat_run run; mafat_runs_next(&runs, &run);) {
    struct mafat_integer_pool_call call = {
        .rows = rows,
        .first_col = x0 - origin,
        .in_begin = 0,
        .in_end = l->in.w - origin,
        .n_cols = mafat_span_size(step->out.x),
        .taps = l->window.x,
        .n_channels = run.n,
        .in_pixel_bytes = (int)mafat_tensors_pixel_bytes(t, run.tensor, run.block),
        .out_pixel_bytes = (int)mafat_tensors_pixel_bytes(t, step->layer, run.out_block),
        .to = l->quantization,
        .from_signed = l->quantization.is_signed,
        .in_zero = in.zero,
        .in_scale = in.scale};
    for (int y = step->out.y.begin; y < step->out.y.end; y++) {
      int first = mafat_taps_first(l->window.y, y),
          end = mafat_min(first + mafat_taps_reach(l->window.y), l->in.h);
      call.n_rows = 0;
      for (int iy = first; iy < end; iy += l->window.y.dilation)
        if (iy >= 0)
          rows[call.n_rows++] = mafat_runs_read_bytes(t, mafat_layer_sources(l), &run, iy, origin);
      call.out = mafat_rows_out_bytes(w, step, &run, y);
      kernel(&call);
    }
  }
  return MAFAT_OK;
}

static int run_maxpool(const struct mafat_worker *w, const struct mafat_step *step)
{
  return run_pool(w, step, w->integers->maxpool);
}

static int run_local_avgpool(const struct mafat_worker *w, const struct mafat_step *step)
{
  return run_pool(w, step, w->integers->avgpool);
}

const struct mafat_runner_kind mafat_integer_maxpool = {.run = run_maxpool,
                                                        .sharing = MAFAT_SHARED_BY_ROWS};
const struct mafat_runner_kind mafat_integer_local_avgpool = {.run = run_local_avgpool,
                                                              .sharing = MAFAT_SHARED_BY_ROWS};
