/* Reports the bytes that move between a small fast memory and the slow memory
 * (include/mafat_plan.h). Called by programs/run_inference. Chooses units of fused layers;
 * allocates the report, which the caller closes. */
#include "predictor/transfers/prices.h"
#include "api/model.h"
#include "api/dry_run.h"
#include "base/sized.h"

#include <stdlib.h>
#include <string.h>

struct mafat_transfer_report {
  struct mafat_transfers transfers;
  const struct mafat_network *network;
  const struct mafat_plan *plan; /* gives the units if there is no objective */
};

/* Chooses the units of fused layers that minimize the objective; without an objective, uses the
 * fused layers of the plan. */
static int choose(struct mafat_transfer_report *m, size_t fast_bytes, const char *objective,
                  const struct mafat_calibration *c, struct mafat_diagnostic *d)
{
  struct mafat_transfers_options o = {.fast_bytes = fast_bytes};
  struct mafat_unit_latency latency;
  int n_layers = m->plan->n_layers;
  if (!objective) return mafat_transfers_of_plan(&m->transfers, m->network, m->plan, &o);
  if (strcmp(objective, "transfers") == 0)
    return mafat_transfers_choose(&m->transfers, m->network, n_layers, &o, NULL);
  if (strcmp(objective, "latency") != 0)
    return mafat_fail(d, MAFAT_EINVAL, "expected latency or transfers, found %.40s", objective);
  struct mafat_plan_options options;
  mafat_plan_defaults(&options);
  options.algorithm = m->plan->wanted;
  options.n_threads = m->plan->n_threads;
  int code = mafat_unit_latency_open(&latency, m->network, n_layers, &options, c, d);
  if (code) return code;
  struct mafat_unit_price price = {mafat_unit_ms, &latency};
  code = mafat_transfers_choose(&m->transfers, m->network, n_layers, &o, &price);
  mafat_unit_latency_close(&latency);
  return code;
}

static int open_transfer_report(struct mafat_transfer_report **out, const struct mafat_network *n,
                                const struct mafat_plan *plan, size_t fast_bytes,
                                const char *objective, const struct mafat_calibration *c,
                                struct mafat_diagnostic *d)
{
  *out = calloc(1, sizeof **out);
  if (!*out) return mafat_fail(d, MAFAT_ENOMEM, "out of memory");
  (*out)->network = n;
  (*out)->plan = plan;
  int code = choose(*out, fast_bytes, objective, c, d);
  if (code == MAFAT_ENOMEM) mafat_fail(d, code, "out of memory");
  if (code) mafat_transfer_report_close(out);
  return code;
}

int mafat_plan_report_transfers(struct mafat_transfer_report **out,
                                const struct mafat_plan_report *a, size_t fast_bytes,
                                const char *objective, struct mafat_diagnostic *d)
{
  return open_transfer_report(out, a->dry_run->network, a->choice.plan, fast_bytes, objective,
                              &a->dry_run->basis.calibration, d);
}

int mafat_model_transfers(struct mafat_transfer_report **out, const struct mafat_model *m,
                          size_t fast_bytes, struct mafat_diagnostic *d)
{
  return open_transfer_report(out, m->network, m->choice.plan, fast_bytes, NULL, NULL, d);
}

void mafat_transfer_report_close(struct mafat_transfer_report **transfers)
{
  if (!transfers || !*transfers) return;
  mafat_transfers_close(&(*transfers)->transfers);
  free(*transfers);
  *transfers = NULL;
}

int mafat_transfer_report_unit(const struct mafat_transfer_report *m, int index,
                               struct mafat_unit_facts *out)
{
  if (index < 0 || index >= m->transfers.n) return MAFAT_EINVAL;
  const struct mafat_unit *u = &m->transfers.units[index];
  struct mafat_unit_facts f = {.first = u->layers[0],
                               .last = u->layers[u->n - 1],
                               .n_layers = u->n,
                               .how = mafat_fused_name(u->how),
                               .fits = u->fits,
                               .runs = mafat_transfers_runs(m->plan, u),
                               .extent = u->extent,
                               .row_tiles = u->n_rows,
                               .channel_tiles = u->n_channels,
                               .input_bytes = u->input_bytes,
                               .again_bytes = u->again_bytes,
                               .output_bytes = u->output_bytes,
                               .weights_bytes = u->weight_bytes,
                               .capacity_bytes = u->capacity_bytes};
  return mafat_sized_give(out, &f, sizeof f);
}
