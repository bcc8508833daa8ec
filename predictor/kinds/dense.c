/* Plans the scratch and counts the work of connected layers. Called by cost/work.c and
 * schedule/scratch.c through the table in kinds.c. Allocates nothing. */
#include "predictor/cost/counting.h"
#include "predictor/kind.h"
#include "predictor/plan/packing.h"
#include "predictor/schedule/scratch.h"

/* A connected layer is computed as a 1x1 convolution of one pixel, whose channels are all inputs in
 * one contiguous list, as if they were a single block slice. */
static bool plan_connected(const struct mafat_scratch_request *r, struct mafat_scratch *s)
{
  s->n_block_slices = s->rows_per_call = s->in_rows = 1;
  const struct mafat_layer *l = &r->network->layers[r->layer];
  return mafat_scratch_append_tables(s, MAFAT_F32) && mafat_scratch_plan_flat(r, s) &&
         mafat_scratch_append_widened(s, mafat_widened_floats(l, mafat_widened_channels(l)));
}

static void count_connected(struct mafat_counting *c)
{
  double panels = mafat_counting_width(c).panels;
  mafat_count_dense(c, panels, panels);
}

const struct mafat_predictor_kind mafat_predictor_connected = {.scratch = plan_connected,
                                                               .count = count_connected};
