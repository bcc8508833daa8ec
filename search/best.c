#include "search/best.h"

#include "search/coarse.h"

#include "predictor/latency.h"

#include <stdlib.h>
#include <string.h>

int mafat_search_front(struct mafat_front **out, const struct mafat_search_request *r, struct mafat_diagnostic *d)
{
  *out = NULL;
  struct mafat_front *f = calloc(1, sizeof *f);
  f->list = calloc(8, sizeof *f->list);
  for (size_t budget = (size_t)1 << 20; f->n < 8 && budget; budget <<= 2) {
    struct mafat_plan *plan;
    struct mafat_layout *layout;
    struct mafat_prediction p;
    struct mafat_latency latency;
    int code = mafat_search_coarse(&plan, &layout, r->network, r->n_layers, r->options, r->around, budget, d);
    if (code) return code;
    mafat_predict(&p, layout, r->around);
    mafat_latency_predict(&latency, r->network, plan, layout, r->calibration);
    char text[8192];
    mafat_plan_write(plan, r->network, text, sizeof text);
    if (f->n == 0 || (p.charge_bytes > f->list[f->n - 1].charge_bytes && latency.total_ms < f->list[f->n - 1].ms))
      f->list[f->n++] = (struct mafat_candidate){strdup(text), p.charge_bytes, latency.total_ms};
    mafat_layout_close(&layout);
    mafat_plan_close(&plan);
  }
  *out = f;
  return MAFAT_OK;
}

void mafat_front_close(struct mafat_front **front)
{
  if (!front || !*front) return;
  for (int i = 0; i < (*front)->n; i++) free((*front)->list[i].text);
  free((*front)->list);
  free(*front);
  *front = NULL;
}

const struct mafat_candidate *mafat_front_within(const struct mafat_front *front, size_t budget)
{
  const struct mafat_candidate *best = NULL;
  for (int i = 0; i < front->n && front->list[i].charge_bytes <= budget; i++) best = &front->list[i];
  return best;
}
