/* Plans the scratch and counts the work of topk layers, which find the k largest or smallest
 * elements along an axis. Called by cost/work.c and schedule/scratch.c through the table in
 * kinds.c. Allocates nothing. */
#include "predictor/cost/counting.h"
#include "predictor/kind.h"
#include "predictor/schedule/scratch.h"

#include "network/rearrange.h"

#include <math.h>

enum {
  KEPT_BYTES = 8, /* record of an element that is kept */
  SIFT = 2        /* comparisons at each level of a heap */
};

static bool plan_topk(const struct mafat_scratch_request *r, struct mafat_scratch *s)
{
  return mafat_scratch_append(&s->slot_bytes, &s->pixel_offset,
                              (size_t)r->network->layers[r->layer].topk.k, KEPT_BYTES);
}

/* All elements are read; the kept elements are sorted by a heap. */
static void count_topk(struct mafat_counting *c)
{
  const struct mafat_layer *l = c->layer;
  const struct mafat_topk *t = &l->topk;
  const int extents[MAFAT_N_AXES] = {l->in.h, l->in.w, l->in.c};
  double lines = mafat_counting_outputs(c) / t->k, sift = SIFT * log2(t->k + 1.);
  double bytes = mafat_counting_out_bytes(c);
  mafat_count_rows(c, MAFAT_TERM_GATHERED, lines * (extents[t->axis] + 2 * t->k * sift),
                   mafat_counting_in_bytes(c), 2 * bytes);
}

const struct mafat_predictor_kind mafat_predictor_topk = {.scratch = plan_topk,
                                                          .count = count_topk};
