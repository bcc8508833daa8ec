/* Plans the scratch and counts the work of maxpool and average pool layers. Called by cost/work.c
 * and schedule/scratch.c through the table in kinds.c. Allocates nothing. */
#include <math.h>

#include "predictor/cost/counting.h"
#include "predictor/kind.h"
#include "predictor/plan/packing.h"
#include "predictor/schedule/scratch.h"

/* Scratch: pointers to the rows of a window. */
static bool plan_pool(const struct mafat_scratch_request *r, struct mafat_scratch *s)
{
  s->in_rows = r->network->layers[r->layer].window.y.size;
  return mafat_scratch_append(&s->slot_bytes, &s->in_offset, (size_t)s->in_rows, 8);
}

/* Sum of min(first + i * stride, limit) over all i in `is`. */
static double sum_up_to(double limit, double first, double stride, struct mafat_span is)
{
  double n = mafat_span_size(is), begin = first + is.begin * stride;
  double below = fmin(fmax(ceil((limit - begin) / stride), 0), n);
  return below * begin + below * (below - 1) / 2 * stride + (n - below) * limit;
}

/* Sum, over the outputs `out` along an axis, of the taps that are inside the map (`extent` rows or
 * columns). Computed without a loop over the outputs unless the window is dilated: planning calls
 * this for each step, and a loop over wide maps would be slow. */
static double taps_inside(struct mafat_taps t, struct mafat_span out, int extent)
{
  double taps = 0, n = mafat_span_size(out);
  if (t.dilation == 1) {
    double begins = n * mafat_taps_first(t, out.begin) + n * (n - 1) / 2 * t.stride;
    return sum_up_to(extent, (double)t.size - t.before, t.stride, out) -
           (begins - sum_up_to(0, -t.before, t.stride, out));
  }
  for (int i = out.begin; i < out.end; i++) {
    int begin = mafat_taps_first(t, i), last = mafat_min(begin + mafat_taps_reach(t), extent) - 1;
    int before = begin < 0 ? mafat_divide_up(-begin, t.dilation) : 0;
    taps += (last - begin) / t.dilation + 1 - before;
  }
  return taps;
}

static void count_pool(struct mafat_counting *c)
{
  const struct mafat_layer *l = c->layer;
  if (c->inner >= 0) return; /* a convolution that is fused into the pool counts it */
  double channels = mafat_span_size(c->filters);
  mafat_count_rows(c, MAFAT_TERM_POOL_TAPS,
                   taps_inside(l->window.y, c->box.y, l->in.h) *
                       taps_inside(l->window.x, c->box.x, l->in.w) * channels,
                   mafat_counting_in_bytes(c), mafat_counting_out_bytes(c));
  mafat_count(c, MAFAT_TERM_POOL_OUTPUTS, mafat_counting_outputs(c));
}

const struct mafat_predictor_kind mafat_predictor_maxpool = {.scratch = plan_pool,
                                                             .count = count_pool};
const struct mafat_predictor_kind mafat_predictor_local_avgpool = {.scratch = plan_pool,
                                                                   .count = count_pool};
