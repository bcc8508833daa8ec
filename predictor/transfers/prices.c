/* Predicts the milliseconds of units in plans, by the latency model (prices.h). Called by
 * api/transfers.c and search/separable. Allocates lists, which mafat_unit_latency_close frees. It
 * makes plans and layouts and frees them before it returns. */
#include "predictor/transfers/prices.h"

#include "base/blocks.h"
#include "predictor/cost/latency.h"
#include "predictor/layout/layout.h"
#include "predictor/planning/planning.h"
#include "predictor/transfers/units_spec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* State of making plans and predicting their times. */
struct pricing {
  struct mafat_unit_latency *to;
  const struct mafat_network *network;
  int n_layers;
  const struct mafat_plan_options *options;
  const struct mafat_calibration *calibration;
  struct mafat_unit *units; /* (n_layers) units of a plan */
  double *ms;               /* [layer]: milliseconds of its steps in the current plan */
  bool *taken;              /* [layer]: in a unit of the plan */
  struct mafat_diagnostic *d;
};

/* ---- plans ---- */

/* Fills p->units for a plan and returns their number. They are the units of a round with the given
 * extents (extent 0: without this unit), and each remaining layer as a unit of its own. */
static int fill_units(struct pricing *p, int round, const int *extents)
{
  int n = 0;
  memset(p->taken, 0, (size_t)p->n_layers * sizeof *p->taken);
  for (int i = 0; i < p->to->n; i++) {
    const struct mafat_priced_unit *priced = &p->to->list[i];
    if (priced->round != round || extents[i] < 1) continue;
    p->units[n] = priced->unit;
    p->units[n++].extent = extents[i];
    for (int k = 0; k < priced->unit.n; k++) p->taken[priced->unit.layers[k]] = true;
  }
  for (int l = 0; l < p->n_layers; l++) {
    const struct mafat_layer *layer = &p->network->layers[l];
    if (p->taken[l] || mafat_layer_is_alias(layer) || mafat_layer_is_inert(layer)) continue;
    p->units[n] = (struct mafat_unit){.how = MAFAT_FUSED_NONE, .layers = {l}, .n = 1};
    n++;
  }
  return n;
}

/* Makes a plan of the units and fills p->ms. MAFAT_EINVAL: no plan of this network has these
 * units. */
static int time_units(struct pricing *p, int n_units)
{
  struct mafat_spec *spec = NULL;
  struct mafat_plan *plan = NULL;
  struct mafat_layout *layout = NULL;
  mafat_units_sort(p->units, n_units);
  int code = mafat_units_spec(&spec, p->network, p->n_layers, p->units, n_units, NULL);
  if (code == MAFAT_OK)
    code = mafat_plan_make(&plan, spec, p->network, p->n_layers, p->options, p->d);
  if (code == MAFAT_OK) code = mafat_layout_sketch(&layout, p->network, plan, p->d);
  if (code == MAFAT_OK)
    code = mafat_latency_of_layers(p->ms, p->network, plan, layout, p->calibration);
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  mafat_spec_close(&spec);
  return code;
}

/* ---- units ---- */

/* A unit's milliseconds in the current plan. If its last layer is computed in the step of the next
 * layer, they include the time by which that step takes longer than in the plan without units. */
static double ms_of(const struct pricing *p, const struct mafat_unit *u)
{
  double ms = 0;
  for (int i = 0; i < u->n; i++) ms += p->ms[u->layers[i]];
  int last = u->layers[u->n - 1], next = p->to->next[last];
  bool inside = next >= 0 && !(p->to->apart[last] > 0);
  if (inside) ms += p->ms[next] - p->to->apart[next];
  return ms;
}

/* Number of the first round whose units have no layer in common with unit number `index`. */
static int round_of(const struct pricing *p, int index)
{
  const struct mafat_unit *u = &p->to->list[index].unit;
  for (int round = 0;; round++) {
    bool meets = false;
    for (int i = 0; i < index && !meets; i++)
      for (int k = 0; k < p->to->list[i].unit.n && p->to->list[i].round == round && !meets; k++)
        for (int m = 0; m < u->n; m++)
          meets = meets || p->to->list[i].unit.layers[k] == u->layers[m];
    if (!meets) return round;
  }
}

/* The i-th extent to try for a unit, in ascending order; 0: there are no more. */
static int extent_at(const struct mafat_network *n, const struct mafat_unit *u, int i)
{
  static const int rows[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};
  enum { N_ROWS = sizeof rows / sizeof *rows };
  const struct mafat_layer *dw = &n->layers[u->layers[u->how == MAFAT_FUSED_DW_PW_ROWS ? 0 : 1]];
  if (u->how == MAFAT_FUSED_PW_DW_CHANNELS) { /* whole blocks, at least two parts */
    int channels = MAFAT_CHANNEL_BLOCK << i;
    return i < N_ROWS && channels < dw->out.c ? channels : 0;
  }
  if (i >= N_ROWS || (i > 0 && rows[i - 1] >= dw->out.h)) return 0;
  int given = rows[i] < dw->out.h ? rows[i] : dw->out.h;
  if (u->how == MAFAT_FUSED_DW_PW_ROWS) return given;
  return given == dw->out.h ? dw->in.h
                            : (given - 1) * dw->window.y.stride + mafat_taps_reach(dw->window.y);
}

/* Times the units of a round with each extent, and keeps the fastest of each unit. extents: working
 * array. */
static int price_round(struct pricing *p, int round, int *extents)
{
  for (int i = 0, any = 1; any; i++) {
    any = 0;
    for (int k = 0; k < p->to->n; k++) {
      extents[k] =
          p->to->list[k].round == round ? extent_at(p->network, &p->to->list[k].unit, i) : 0;
      any += extents[k] > 0;
    }
    if (!any) break;
    int code = time_units(p, fill_units(p, round, extents));
    if (code == MAFAT_EINVAL) continue; /* no plan of this network has these units */
    if (code) return code;
    for (int k = 0; k < p->to->n; k++) {
      struct mafat_priced_unit *u = &p->to->list[k];
      double ms = extents[k] ? ms_of(p, &u->unit) : INFINITY;
      if (ms >= u->ms) continue;
      u->ms = ms;
      u->unit.extent = extents[k];
    }
  }
  return MAFAT_OK;
}

/* Predicts the times of all layers by themselves, then of all units, round by round. extents:
 * working array. */
static int price(struct pricing *p, int *extents)
{
  int rounds = 0;
  int code = time_units(p, fill_units(p, -1, extents));
  if (code) return code;
  memcpy(p->to->apart, p->ms, (size_t)p->n_layers * sizeof *p->ms);
  for (int i = 0; i < p->to->n; i++)
    if (mafat_unit_has_plan(p->network, &p->to->list[i].unit))
      rounds = mafat_max(rounds, (p->to->list[i].round = round_of(p, i)) + 1);
  for (int round = 0; round < rounds && code == MAFAT_OK; round++)
    code = price_round(p, round, extents);
  return code;
}

/* Lists the candidate units, without prices. */
static int list_units(struct mafat_unit_latency *l, int n_layers)
{
  struct mafat_unit *units;
  int code = mafat_transfers_candidates(&units, &l->n, l->network, n_layers);
  if (code) return code;
  l->list = calloc((size_t)l->n + 1, sizeof *l->list);
  for (int i = 0; i < l->n && l->list; i++)
    l->list[i] = (struct mafat_priced_unit){units[i], INFINITY, -1};
  free(units);
  mafat_transfers_paths(l->network, n_layers, l->next);
  return l->list ? MAFAT_OK : MAFAT_ENOMEM;
}

int mafat_unit_latency_open(struct mafat_unit_latency *out, const struct mafat_network *n,
                            int n_layers, const struct mafat_plan_options *options,
                            const struct mafat_calibration *c, struct mafat_diagnostic *d)
{
  size_t count = (size_t)n_layers;
  *out = (struct mafat_unit_latency){n, calloc(count, sizeof *out->apart),
                                     calloc(count, sizeof *out->next), NULL, 0};
  struct pricing p = {
      out, n, n_layers, options, c, calloc(count, sizeof *p.units), calloc(count, sizeof *p.ms),
      calloc(count, sizeof *p.taken), d};
  int code = out->apart && out->next && p.units && p.ms && p.taken ? MAFAT_OK : MAFAT_ENOMEM;
  if (code == MAFAT_OK) code = list_units(out, n_layers);
  int *extents = code == MAFAT_OK ? calloc((size_t)out->n + 1, sizeof *extents) : NULL;
  if (code == MAFAT_OK) code = extents ? price(&p, extents) : MAFAT_ENOMEM;
  free(extents);
  free(p.taken);
  free(p.ms);
  free(p.units);
  if (code) mafat_unit_latency_close(out);
  return code;
}

void mafat_unit_latency_close(struct mafat_unit_latency *l)
{
  free(l->apart);
  free(l->next);
  free(l->list);
  *l = (struct mafat_unit_latency){0};
}

static const struct mafat_priced_unit *find(const struct mafat_unit_latency *l,
                                            const struct mafat_unit *u)
{
  for (int i = 0; i < l->n; i++) {
    const struct mafat_unit *v = &l->list[i].unit;
    if (v->how == u->how && v->n == u->n && v->layers[0] == u->layers[0]) return &l->list[i];
  }
  return NULL;
}

double mafat_unit_ms(const void *latency, const struct mafat_unit *u)
{
  const struct mafat_unit_latency *l = latency;
  const struct mafat_priced_unit *priced = u->how == MAFAT_FUSED_NONE ? NULL : find(l, u);
  if (u->how == MAFAT_FUSED_NONE) return l->apart[u->layers[0]];
  return priced ? priced->ms : INFINITY;
}

bool mafat_unit_can_run(const struct mafat_unit_latency *l, const struct mafat_unit *u)
{
  return isfinite(mafat_unit_ms(l, u));
}

int mafat_unit_fastest(const struct mafat_unit_latency *l, const struct mafat_unit *u)
{
  const struct mafat_priced_unit *priced = find(l, u);
  return priced ? priced->unit.extent : u->extent;
}
