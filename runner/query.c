#include "runner/query.h"

#include "runner/surroundings.h"
#include "runner/weights.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- opening ---- */

static int look_around(struct mafat_query *q, const struct mafat_model_options *o, struct mafat_diagnostic *d)
{
  int channels = q->network->input.c;
  q->picture = o->picture;
  q->floats_only = o->floats_only || (!o->picture && channels != 1 && channels != 3);
  struct mafat_surroundings_request request = {q->network, o->picture, false, q->floats_only, q->kernels, o->arena};
  return mafat_surroundings_measure(&q->around, &request, d);
}

static int open_query(struct mafat_query *q, const char *cfg, const char *weights,
                      const struct mafat_model_options *o, struct mafat_diagnostic *d)
{
  int code;
  struct mafat_weights_kind kind = {0};
  q->cfg = cfg;
  q->weights_assumed = !weights;
  q->kernels = mafat_kernels_find(o->cpu);
  if (!q->kernels)
    return mafat_fail(d, MAFAT_EINVAL, "expected a kernel level (portable, avx2, avx512, neon), found %.60s", o->cpu);
  if ((code = mafat_choose_network(&q->network, &q->n_layers, cfg, o, d))) return code;
  if ((code = look_around(q, o, d))) return code;
  if (weights && (code = mafat_weights_probe(weights, &kind, d))) return code;
  if ((code = mafat_choose_prepare(&q->request, &q->basis, o, &kind, q->kernels->name, d))) return code;
  q->request.search.network = q->network;
  q->request.search.n_layers = q->n_layers;
  q->request.search.around = &q->around;
  if ((code = mafat_choose_search(&q->front, &q->request.search, &q->request.left_bytes, d))) return code;
  q->request.front = q->front;
  q->request.best_effort = true; /* what does not fit is told, not refused */
  return MAFAT_OK;
}

int mafat_query_open(struct mafat_query **out, const char *cfg, const char *weights,
                     const struct mafat_model_options *o, struct mafat_diagnostic *d)
{
  *out = NULL;
  struct mafat_query *q = calloc(1, sizeof *q);
  if (!q) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", cfg);
  int code = open_query(q, cfg, weights, o, d);
  if (code == MAFAT_OK) *out = q;
  else mafat_query_close(&q);
  return code;
}

void mafat_query_close(struct mafat_query **query)
{
  if (!query || !*query) return;
  mafat_front_close(&(*query)->front);
  mafat_network_close(&(*query)->network);
  free(*query);
  *query = NULL;
}

/* ---- answers ---- */

static bool has_tiles_only(const struct mafat_plan *plan)
{
  for (int g = 0; g < plan->n_groups; g++)
    if (plan->groups[g].rows || plan->groups[g].panels) return false;
  return true;
}

int mafat_query_answer(struct mafat_answer *a, const struct mafat_query *q, bool paper, struct mafat_diagnostic *d)
{
  *a = (struct mafat_answer){.budget_bytes = q->request.budget_bytes, .least = &q->front->list[0]};
  int code = mafat_choose(&a->choice, &q->request, d);
  if (code || (!paper && !has_tiles_only(a->choice.plan))) return code;
  code = mafat_paper_predict(&a->paper, q->network, a->choice.plan, q->request.bias_bytes, d);
  return code == MAFAT_EUNSUPPORTED && !paper ? MAFAT_OK : code;
}

void mafat_answer_close(struct mafat_answer *a)
{
  mafat_paper_prediction_close(&a->paper);
  mafat_choice_close(&a->choice);
}

/* ---- budgets of a table ---- */

/* Table 1 of the paper, MB. */
static const int paper_budgets[] = {16, 32, 48, 64, 80, 96, 128, 192, 256};

/* 1, 1.5, 2, 3, 4, 6, 8, 12 ... MB; 0 beyond what can be addressed. */
static size_t rounder_than(size_t bytes)
{
  for (size_t step = (size_t)1 << 20; step <= SIZE_MAX / 4; step *= 2) {
    if (step > bytes) return step;
    if (step + step / 2 > bytes) return step + step / 2;
  }
  return 0;
}

/* The next quarter of a MB from here on. */
static size_t quarter_from(size_t bytes)
{
  size_t quarter = (size_t)1 << 18;
  return bytes > SIZE_MAX - quarter ? bytes : (bytes + quarter - 1) / quarter * quarter;
}

int mafat_query_budgets(const struct mafat_query *q, size_t *budgets, int room)
{
  int n = 0;
  if (q->request.greedy) {
    for (; n < room && n < (int)(sizeof paper_budgets / sizeof *paper_budgets); n++)
      budgets[n] = (size_t)paper_budgets[n] << 20;
    return n;
  }
  size_t least = q->front->list[0].charge_bytes, most = q->front->list[q->front->n - 1].charge_bytes;
  for (size_t next = quarter_from(least); next && n < room; next = rounder_than(next)) {
    budgets[n++] = next;
    if (next >= most) break;
  }
  return n;
}

/* ---- what is told ---- */

void mafat_query_cut_text(const struct mafat_plan *plan, int group, char text[MAFAT_CUT_TEXT])
{
  struct mafat_group only = plan->groups[group];
  struct mafat_plan one = *plan;
  only.weights = MAFAT_KEPT;
  only.loaded_kb = 0;
  one.groups = &only;
  one.n_groups = 1;
  mafat_plan_write(&one, NULL, text, MAFAT_CUT_TEXT);
  char *end = strstr(text, "/NoCut");
  if (end) *end = '\0';
}

const char *mafat_residence_name(enum mafat_residence weights)
{
  return weights == MAFAT_KEPT ? "kept" : weights == MAFAT_LOADED ? "loaded" : "streamed";
}

int mafat_query_parts(const struct mafat_answer *a, struct mafat_part parts[MAFAT_PARTS])
{
  const struct mafat_prediction *p = &a->choice.prediction;
  const struct mafat_layout *l = a->choice.layout;
  bool by_rows = l->tensors[0].buffer >= 0 && !l->tensors[0].external; /* the picture is decoded meanwhile */
  const struct mafat_part list[] = {
      {"process", p->process, false},
      {"threads", p->threads, false},
      {"weights", p->weights, false},
      {"activations", p->activations, false},
      {"input", p->input, false},
      {"scratch", p->scratch, false},
      {"io", p->io, false},
      {"image", p->image, !by_rows},
      {"kernel", p->kernel, false},
  };
  int n = (int)(sizeof list / sizeof *list);
  size_t rest = p->charge_bytes;
  for (int i = 0; i < n; i++) {
    parts[i] = list[i];
    if (!list[i].before) rest = list[i].bytes < rest ? rest - list[i].bytes : 0;
  }
  parts[n++] = (struct mafat_part){"rest", rest, false};
  return n;
}
