#include "predictor/counting.h"
#include "predictor/kinds/kind.h"
#include "predictor/scratch.h"

static bool plan_detection(const struct mafat_scratch_request *r, struct mafat_scratch *s)
{
  return mafat_scratch_append_flat(s, &r->network->layers[r->layer]);
}

static void count_detection(struct mafat_counting *c)
{
  mafat_count(c, MAFAT_TERM_CLASS_VALUES, mafat_counting_outputs(c));
}

const struct mafat_predictor_kind mafat_predictor_detection = {.scratch = plan_detection, .count = count_detection};
