/* Table of the functions that compute each kind of layer, generated from network/kinds.def, and
 * functions that call them. Divides the rows of a step among the workers, if the kind is computed
 * by rows. Called by runner/engine/executor.c, runner/detect/detect.c and api/. Allocates nothing
 * itself; the functions in the table write to the arena. */
#include "runner/engine/kinds/kind.h"

#include "predictor/plan/fusion.h"

#include <assert.h>
#include <stdio.h>

static const struct mafat_runner_kind *const kinds[MAFAT_N_LAYER_TYPES] = {
#define KIND(CONSTANT, name, integers) [MAFAT_##CONSTANT] = &mafat_runner_##name,
#define STEPLESS(CONSTANT, name)
#include "network/kinds.def"
};

const struct mafat_runner_kind *mafat_runner_kind(enum mafat_layer_type type)
{
  return kinds[type];
}

static const struct mafat_runner_kind *kind_of_layer(const struct mafat_network *n, int layer)
{
  enum mafat_layer_type type = n->layers[layer].type;
  bool floats = mafat_network_in_type(n, layer) == MAFAT_F32;
  return floats ? mafat_runner_kind(type) : mafat_runner_integer_kind(type);
}

int mafat_kinds_check(const struct mafat_network *n, int n_layers, struct mafat_diagnostic *d)
{
  for (int l = 0; l < n_layers; l++)
    if (!mafat_layer_is_alias(&n->layers[l]) && !kind_of_layer(n, l))
      return mafat_fail(d, MAFAT_EUNSUPPORTED,
                        "%s: layer %d [%s] has no implementation for integers", n->path, l,
                        mafat_layer_type_name(n->layers[l].type));
  return MAFAT_OK;
}

/* Returns the kind of the step's innermost layer, which also computes the layers that are fused
 * with it. */
static const struct mafat_runner_kind *kind_of(const struct mafat_worker *w,
                                               const struct mafat_step *step)
{
  const struct mafat_runner_kind *kind =
      kind_of_layer(w->tensors->network, mafat_plan_reader(w->plan, step->layer));
  assert(kind);
  return kind;
}

enum {
  SHARES = 4, /* a step's rows are divided into this many shares for each worker */
  PARTS = 4   /* each worker's last share is divided into this many parts, so that workers finish at
                 about the same time */
};

static int run_shares_of_rows(const struct mafat_worker *w, const struct mafat_step *step,
                              const struct mafat_runner_kind *kind)
{
  int n_rows = mafat_span_size(step->out.y), n_workers = mafat_team_size(w->team);
  int shares = n_workers == 1 ? 1 : mafat_min(n_rows, SHARES * n_workers),
      parts = mafat_min(PARTS, n_rows / shares);
  for (struct mafat_team_part p; mafat_team_take_part(w->team, w->index, shares, parts, &p);) {
    struct mafat_step part = *step;
    struct mafat_span share = mafat_span_share(n_rows, shares, p.unit);
    struct mafat_span rows = mafat_span_share(mafat_span_size(share), p.n_parts, p.part);
    int first = step->out.y.begin + share.begin;
    part.out.y = mafat_span(first + rows.begin, first + rows.end);
    int code = kind->run(w, &part);
    if (code) return code;
  }
  return MAFAT_OK;
}

void mafat_kinds_prepare(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_runner_kind *kind = kind_of(w, step);
  if (kind->prepare) kind->prepare(w, step);
}

int mafat_kinds_rounds(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_runner_kind *kind = kind_of(w, step);
  return kind->rounds ? kind->rounds(w, step) : 1;
}

int mafat_kinds_run(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_runner_kind *kind = kind_of(w, step);
  if (kind->sharing == MAFAT_SHARED_BY_ROWS) return run_shares_of_rows(w, step, kind);
  return kind->sharing == MAFAT_SHARED_BY_UNITS || w->index == 0 ? kind->run(w, step) : MAFAT_OK;
}

void mafat_kinds_explain(const struct mafat_worker *w, const struct mafat_step *step, int code,
                         char *text, size_t capacity)
{
  const struct mafat_runner_kind *kind = kind_of(w, step);
  snprintf(text, capacity, "%s", mafat_error_name(code));
  if (code == MAFAT_EINVAL && kind->explain) kind->explain(w, step, text, capacity);
}
