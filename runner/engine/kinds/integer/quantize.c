/* Dequantizes quantized maps, and requantizes them to another scale; ../quantize.c quantizes
 * floats. Called by the executor through the table in kinds.c. Writes the step's output in the
 * arena; allocates nothing. */
#include "runner/kernels/integer_functions.h"
#include "runner/engine/kinds/integer/integer.h"
#include "runner/engine/kinds/rows.h"

/* Fills a table with the real value of each of the 256 quantized values. */
static void list_floats(const struct mafat_quantization *in, float *list)
{
  for (int q = 0; q < 256; q++) list[q] = (float)((double)in->scale * (q - in->zero));
}

/* One row, `cols` columns, of a run of n channels that are contiguous in input and output. */
struct quantize_row {
  const unsigned char *from;
  void *to;
  size_t in_pixel, out_pixel; /* elements from one column to the next */
  int n, cols;
};

static void put_floats(const struct quantize_row *r, const float *list)
{
  float *to = r->to;
  const unsigned char *from = r->from;
  for (int x = 0; x < r->cols; x++, from += r->in_pixel, to += r->out_pixel)
    for (int i = 0; i < r->n; i++) to[i] = list[from[i]];
}

static int run_quantize(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  struct mafat_quantization in = mafat_network_in_quantization(t->network, step->layer, 0);
  struct mafat_runs runs = mafat_runs_of(mafat_layer_sources(l), step->filters);
  unsigned char numbers[256];
  float floats[256];
  bool to_floats = l->out_type == MAFAT_F32;
  if (to_floats) list_floats(&in, floats);
  else mafat_integer_table_requantize(w->integers, numbers, &in, &l->quantization);
  for (struct mafat_run run; mafat_runs_next(&runs, &run);)
    for (int y = step->out.y.begin; y < step->out.y.end; y++) {
      struct quantize_row r = {mafat_runs_read_bytes(t, mafat_layer_sources(l), &run, y,
                                                     step->out.x.begin),
                               to_floats ? (void *)mafat_rows_out(w, step, &run, y)
                                         : (void *)mafat_rows_out_bytes(w, step, &run, y),
                               mafat_tensors_pixel_bytes(t, run.tensor, run.block),
                               mafat_tensors_pixel_bytes(t, step->layer, run.out_block) /
                                   (to_floats ? sizeof(float) : 1),
                               run.n,
                               mafat_span_size(step->out.x)};
      if (to_floats) put_floats(&r, floats);
      else
        w->integers->table(r.from, (int)r.in_pixel, r.to, (int)r.out_pixel, r.cols, r.n, numbers);
    }
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_integer_quantize = {.run = run_quantize,
                                                         .sharing = MAFAT_SHARED_BY_ROWS};
