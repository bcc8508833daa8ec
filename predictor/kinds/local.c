#include "predictor/counting.h"
#include "predictor/kinds/kind.h"
#include "predictor/scratch.h"

static bool plan_local(const struct mafat_scratch_request *r, struct mafat_scratch *s)
{
  return mafat_scratch_append_flat(s, &r->network->layers[r->layer]);
}

static void count_local(struct mafat_counting *c)
{
  mafat_count_dense(c, 1, mafat_counting_width(c).panels);
}

const struct mafat_predictor_kind mafat_predictor_local = {.scratch = plan_local, .count = count_local};
