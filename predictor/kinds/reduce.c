/* Plans the scratch and counts the work of sums, means and extremes along axes. Called by
 * cost/work.c and schedule/scratch.c through the table in kinds.c. Allocates nothing. */
#include "predictor/cost/counting.h"
#include "predictor/kind.h"
#include "predictor/schedule/scratch.h"

/* Reductions over channels process several pixels at a time, one in each SIMD lane. */
static bool plan_reduce(const struct mafat_scratch_request *r, struct mafat_scratch *s)
{
  return !r->network->layers[r->layer].reduce->channels || mafat_scratch_plan_lanes(r, s);
}

/* A reduction over channels first gathers the channels, which costs two more passes. */
static void count_reduce(struct mafat_counting *c)
{
  const struct mafat_layer *l = c->layer;
  double pixels = (double)mafat_span_size(mafat_layer_in_span(l, 0, true, c->box.y)) *
                  mafat_span_size(mafat_layer_in_span(l, 0, false, c->box.x));
  double passes =
      (l->reduce->channels ? 3 : 1) * (l->reduce->how == MAFAT_REDUCE_LOG_SUM_EXP ? 2 : 1);
  mafat_count_rows(c, MAFAT_TERM_GATHERED, pixels * l->in.c * passes, mafat_counting_in_bytes(c),
                   mafat_counting_out_bytes(c));
}

const struct mafat_predictor_kind mafat_predictor_reduce = {.scratch = plan_reduce,
                                                            .count = count_reduce};
