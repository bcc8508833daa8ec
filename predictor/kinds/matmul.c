/* Plans the scratch and counts the work of matmul layers, which multiply two maps. Called by
 * cost/work.c and schedule/scratch.c through the table in kinds.c. Allocates nothing. */
#include "predictor/cost/counting.h"
#include "predictor/kind.h"
#include "predictor/plan/packing.h"
#include "predictor/schedule/scratch.h"

/* Scratch: tables for one row of outputs, and a panel of the second map. A panel of floats has as
 * many channels as one kernel call sums. A panel of integers has all channels, each block slice
 * padded to a multiple of MAFAT_QUAD. */
static bool plan_matmul(const struct mafat_scratch_request *r, struct mafat_scratch *s)
{
  const struct mafat_layer *l = &r->network->layers[r->layer];
  enum mafat_dtype type = mafat_network_in_type(r->network, r->layer);
  int channels = mafat_min(l->in.c, MAFAT_SPLIT_CHANNELS + MAFAT_CHANNEL_BLOCK);
  s->n_block_slices = mafat_block_slices(mafat_layer_sources(l), mafat_span(0, l->in.c), NULL, 0);
  s->rows_per_call = s->in_rows = 1;
  if (type != MAFAT_F32) channels = l->in.c + (MAFAT_QUAD - 1) * s->n_block_slices;
  return mafat_scratch_append_tables(s, type) &&
         mafat_scratch_append_elements(&s->slot_bytes, &s->panel_offset, type,
                                       (size_t)channels * MAFAT_PANEL);
}

enum { BYTES_AT_ONCE = 8 }; /* quantized values that are packed in the time of one float */

/* A matmul is computed as a 1x1 convolution of one row at a time. Its weights, the second map, are
 * packed again for every row. */
static void count_matmul(struct mafat_counting *c)
{
  const struct mafat_layer *l = c->layer;
  struct mafat_width w = mafat_counting_width(c);
  int rows = mafat_span_size(c->box.y), cols = mafat_span_size(c->box.x);
  double calls = mafat_divide_up(l->in.c, MAFAT_SPLIT_CHANNELS), panels = (double)rows * w.panels;
  double packed = (double)rows * l->in.c * mafat_span_size(c->filters),
         outputs = mafat_counting_outputs(c);
  double element = mafat_dtype_size(l->out_type),
         other_rows = l->operands[1].shape.h == 1 ? 1 : rows;
  mafat_count_share(c, panels);
  mafat_count(c, MAFAT_TERM_UNIT, panels * calls);
  mafat_count(c, l->transposed ? MAFAT_TERM_GATHERED : MAFAT_TERM_MOVED,
              mafat_counting_is_integer(c) ? packed / BYTES_AT_ONCE : packed);
  mafat_count_tiles(c, MAFAT_TERM_POINT_MACS, rows, cols, w, l->in.c,
                    mafat_divide_up(l->in.c, MAFAT_CHANNEL_BLOCK), calls);
  mafat_count_activation(c, outputs);
  mafat_count_maps(c, mafat_counting_in_bytes(c) + packed / rows * other_rows * element,
                   outputs * element * (calls * 2 - 1));
}

const struct mafat_predictor_kind mafat_predictor_matmul = {.scratch = plan_matmul,
                                                            .count = count_matmul};
