/* Computes activation layers on quantized maps, by a table of 256 values. A layer without an
 * activation function clamps values to the range of its output. Called by the executor through the
 * tables in kinds.c. Writes the step's output in the arena; allocates nothing. */
#include "runner/kernels/integer_functions.h"
#include "runner/engine/kinds/integer/integer.h"

static void fill(const struct mafat_integer_kernels *kernels, const struct mafat_layer *l,
                 const struct mafat_quantization *in, uint8_t *table)
{
  if (l->quantization.rounding == MAFAT_REQUANTIZE_EVEN && l->activation.kind != MAFAT_LINEAR) {
    mafat_integer_table_even(kernels, table, in, &l->quantization, l->activation);
    return;
  }
  switch (l->activation.kind) {
  case MAFAT_LOGISTIC: mafat_integer_table_logistic(table, in); break;
  case MAFAT_EXACT_TANH: mafat_integer_table_tanh(table, in); break;
  case MAFAT_HARD_SWISH: mafat_integer_table_hard_swish(table, in, &l->quantization); break;
  case MAFAT_SLOPED:
  case MAFAT_STEEP: mafat_integer_table_leaky(table, in, &l->quantization, l->activation.a); break;
  default:
    for (int q = 0; q < 256; q++)
      table[q] = (uint8_t)(q < l->quantization.least  ? l->quantization.least
                           : q > l->quantization.most ? l->quantization.most
                                                      : q);
  }
}

static int run_activation(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  struct mafat_quantization in = mafat_network_in_quantization(t->network, step->layer, 0);
  uint8_t table[256];
  fill(w->integers, l, &in, table);
  struct mafat_runs runs = mafat_runs_of(mafat_layer_sources(l), step->filters);
  for (struct mafat_run run; mafat_runs_next(&runs, &run);)
    for (int y = step->out.y.begin; y < step->out.y.end; y++)
      w->integers->table(mafat_runs_read_bytes(t, mafat_layer_sources(l), &run, y,
                                               step->out.x.begin),
                         (int)mafat_tensors_pixel_bytes(t, run.tensor, run.block),
                         mafat_rows_out_bytes(w, step, &run, y),
                         (int)mafat_tensors_pixel_bytes(t, step->layer, run.out_block),
                         mafat_span_size(step->out.x), run.n, table);
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_integer_activation = {.run = run_activation,
                                                           .sharing = MAFAT_SHARED_BY_ROWS};
