/* Counts the work of a step: calls the count function of each layer in it. Called by latency.c,
 * rank_latency.c, search/best/costs.c and runner/calibrate/. Allocates nothing. */
#include "predictor/cost/work.h"

#include "predictor/plan/fusion.h"
#include "predictor/kind.h"

void mafat_work_open(struct mafat_work_context *c, const struct mafat_network *n,
                     const struct mafat_plan *plan, const struct mafat_layout *layout,
                     const struct mafat_calibration *calibration)
{
  *c = (struct mafat_work_context){
      .network = n, .plan = plan, .layout = layout, .calibration = calibration, .turn_group = -1};
  c->run_bytes = (double)layout->kept_bytes + (double)layout->total_bytes;
}

void mafat_work_add_step(struct mafat_work_context *context, const struct mafat_step *step,
                         struct mafat_work *work)
{
  if (step->kind == MAFAT_STEP_INPUT || mafat_step_exchanges(step)) return;
  struct mafat_link links[MAFAT_FUSION_MOST];
  links[0] = (struct mafat_link){step->layer, step->out, step->filters, step->channels};
  int n_links = mafat_fusion_links(context->plan, context->network, links);
  const struct mafat_scratch *scratch = mafat_layout_scratch(context->layout, step);
  bool pooled = false;
  for (int i = 0; i < n_links; i++) {
    const struct mafat_link *link = &links[i];
    const struct mafat_layer *l = &context->network->layers[link->layer];
    struct mafat_counting c = {.context = context,
                               .step = step,
                               .scratch = scratch,
                               .layer = l,
                               .index = link->layer,
                               .inner = i + 1 < n_links ? links[i + 1].layer : -1,
                               .pooled = pooled,
                               .box = link->box,
                               .filters = link->filters,
                               .channels = link->channels,
                               .threads = 1,
                               .n = work->n};
    pooled = mafat_fusion_pools(context->plan, context->network, link->layer);
    mafat_count(&c, MAFAT_TERM_STEP, 1);
    /* A step that is only a Winograd transform (not COMPUTE) is work of the innermost layer. */
    if (step->kind == MAFAT_STEP_COMPUTE || c.inner < 0) mafat_predictor_kind(l->type)->count(&c);
  }
}
