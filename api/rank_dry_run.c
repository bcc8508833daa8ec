/* Implements dry runs for several ranks (include/mafat_ranks.h). Called by programs/run_inference.
 * Chooses plans; allocates the report, which the caller closes. */
#include "include/mafat_ranks.h"
#include "predictor/planning/planning.h"
#include "api/dry_run.h"
#include "api/rank_choice.h"
#include "base/sized.h"

#include <stdint.h>
#include <stdlib.h>

struct mafat_ranks_report {
  struct mafat_rank_choice choice;
  struct mafat_ranks_facts facts;
  struct mafat_rank_facts ranks[MAFAT_MOST_RANKS];
  struct mafat_shared_layer_facts *layers;
};

static void describe_ranks(struct mafat_ranks_report *a, int n_ranks)
{
  for (int i = 0; i < n_ranks; i++) {
    const struct mafat_rank_costs *c = &a->choice.costs[i];
    a->ranks[i] = (struct mafat_rank_facts){.arena_bytes = c->arena_bytes,
                                            .weights_bytes = c->kept_bytes,
                                            .sent_bytes = c->sent_bytes,
                                            .received_bytes = c->received_bytes,
                                            .messages = c->n_messages,
                                            .compute_ms = c->compute_ms,
                                            .waiting_ms = c->waiting_ms};
  }
}

/* Describes how each layer with weights is divided in the chosen plan. */
static int describe_layers(struct mafat_ranks_report *a, const struct mafat_dry_run *q,
                           struct mafat_diagnostic *d)
{
  const struct mafat_rank_sharing *s = &a->choice.sharing;
  bool whole = a->choice.strategy == MAFAT_RANKS_LAYERS;
  struct mafat_plan *plan;
  int code = mafat_plan_read(&plan, a->choice.text, q->network, q->n_layers, &q->basis.options, d);
  if (code) return code;
  a->layers = calloc((size_t)s->layers.n + 1, sizeof *a->layers);
  for (int i = 0; i < s->layers.n && a->layers; i++) {
    int layer = s->layers.list[i].layer;
    bool cut =
        mafat_partition_n_parts(&plan->parts->partitions[mafat_plan_outermost(plan, layer)]) > 1;
    a->layers[i] = (struct mafat_shared_layer_facts){
        .layer = mafat_network_number(q->network, layer),
        .type = mafat_layer_type_name(q->network->layers[layer].type),
        .how = !cut          ? "whole"
               : i < s->from ? "rows"
                             : mafat_scheme_name(s->schemes[i])};
  }
  a->facts.layers = a->layers;
  a->facts.n_layers = s->layers.n;
  if (!whole && s->from < s->layers.n)
    a->facts.switch_layer = a->layers ? a->layers[s->from].layer : -1;
  mafat_plan_close(&plan);
  return a->layers ? MAFAT_OK : mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", q->network->path);
}

static int report(struct mafat_ranks_report *a, const struct mafat_rank_choice_request *r,
                  const struct mafat_dry_run *q, struct mafat_diagnostic *d)
{
  int code = mafat_rank_choose(&a->choice, r, d);
  if (code) return code;
  a->facts = (struct mafat_ranks_facts){.plan = a->choice.text,
                                        .n_ranks = r->n_ranks,
                                        .ranks = a->ranks,
                                        .switch_layer = -1,
                                        .exchanged_bytes = a->choice.exchanged_bytes,
                                        .latency_ms = a->choice.total_ms};
  if (!a->choice.given) a->facts.search = mafat_rank_strategy_name(a->choice.strategy);
  describe_ranks(a, r->n_ranks);
  return a->choice.given ? MAFAT_OK : describe_layers(a, q, d);
}

int mafat_dry_run_ranks(struct mafat_ranks_report **out, const struct mafat_dry_run *q,
                        const struct mafat_ranks_request *request, struct mafat_diagnostic *d)
{
  struct mafat_ranks_request asked;
  *out = NULL;
  int code = mafat_sized_take(&asked, sizeof asked, request, d);
  if (code) return code;
  if (!(asked.link_bits_per_second > 0) || !(asked.link_seconds >= 0))
    return mafat_fail(d, MAFAT_EINVAL,
                      "expected a link with more than 0 bits per second and 0 or more seconds");
  if (!(asked.plan_seconds >= 0 && asked.plan_seconds <= 1e6))
    return mafat_fail(d, MAFAT_EINVAL, "expected 0 to 1000000 seconds to plan");
  struct mafat_plan_options options = q->basis.options;
  const struct mafat_rank_choice_request r = {
      .network = q->network,
      .n_layers = q->n_layers,
      .n_ranks = asked.n_ranks,
      .options = &options,
      .plan = q->plan,
      .search = asked.search,
      .budgets = asked.memory_bytes,
      .speeds = asked.speeds,
      .plan_seconds = asked.plan_seconds > 0 ? asked.plan_seconds : q->request.search.plan_seconds,
      .memory_bytes = q->memory_bytes ? q->memory_bytes : SIZE_MAX,
      .calibration = &q->basis.calibration,
      .wire = {asked.link_bits_per_second, asked.link_seconds}};
  struct mafat_ranks_report *a = calloc(1, sizeof *a);
  if (!a) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", q->network->path);
  code = report(a, &r, q, d);
  if (code == MAFAT_OK) *out = a;
  else mafat_ranks_report_close(&a);
  return code;
}

int mafat_ranks_report_describe(const struct mafat_ranks_report *a, struct mafat_ranks_facts *out)
{
  return mafat_sized_give(out, &a->facts, sizeof a->facts);
}

void mafat_ranks_report_close(struct mafat_ranks_report **report)
{
  if (!report || !*report) return;
  mafat_rank_choice_close(&(*report)->choice);
  free((*report)->layers);
  free(*report);
  *report = NULL;
}
