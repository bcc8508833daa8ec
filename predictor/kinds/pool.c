#include "predictor/cost/counting.h"
#include "predictor/kinds/kind.h"
#include "predictor/packing.h"
#include "predictor/scratch.h"

/* Pointers to the rows of a window. */
static bool plan_maxpool(const struct mafat_scratch_request *r, struct mafat_scratch *s)
{
  s->in_rows = r->network->layers[r->layer].window.y.size;
  return mafat_scratch_append(&s->slot_bytes, &s->in_offset, (size_t)s->in_rows, 8);
}

/* Rows (or columns) of windows that lie in the map, summed. */
static double taps_inside(struct mafat_taps t, struct mafat_span out, int extent)
{
  double taps = 0;
  for (int i = out.begin; i < out.end; i++) {
    int begin = mafat_taps_first(t, i), last = mafat_min(begin + mafat_taps_reach(t), extent) - 1;
    int before = begin < 0 ? mafat_divide_up(-begin, t.dilation) : 0;
    taps += (last - begin) / t.dilation + 1 - before;
  }
  return taps;
}

static void count_maxpool(struct mafat_counting *c)
{
  const struct mafat_layer *l = c->layer;
  if (c->inner >= 0) return; /* it is pooled in the store */
  double channels = mafat_span_size(c->filters), outputs = mafat_counting_outputs(c);
  mafat_count_rows(c, MAFAT_TERM_POOL_TAPS,
                   taps_inside(l->window.y, c->box.y, l->in.h) * taps_inside(l->window.x, c->box.x, l->in.w) * channels,
                   mafat_counting_in_bytes(c), outputs * 4);
  mafat_count(c, MAFAT_TERM_POOL_OUTPUTS, outputs);
}

const struct mafat_predictor_kind mafat_predictor_maxpool = {.scratch = plan_maxpool, .count = count_maxpool};
