#include "predictor/transfers/prices.h"

#include "predictor/cost/work.h"
#include "predictor/fusion.h"
#include "predictor/layout.h"
#include "predictor/planning.h"

#include <math.h>
#include <stdlib.h>

struct timed {
  struct mafat_plan *plan;
  double *ms; /* [layer] of its steps */
};

static void close_timed(struct timed *t)
{
  mafat_plan_close(&t->plan);
  free(t->ms);
}

static int add_steps(struct timed *t, const struct mafat_network *n, const struct mafat_layout *layout,
                     const struct mafat_calibration *c)
{
  struct mafat_work_context context;
  struct mafat_schedule *schedule = NULL;
  struct mafat_step step;
  int code = mafat_schedule_open(&schedule, n, t->plan);
  if (code == MAFAT_OK) {
    mafat_work_open(&context, n, t->plan, layout, c);
    mafat_schedule_rewind(schedule);
    while (mafat_schedule_next(schedule, &step)) {
      struct mafat_work work = {{0}};
      mafat_work_add_step(&context, &step, &work);
      if (step.kind != MAFAT_STEP_INPUT) t->ms[step.layer] += mafat_work_ns(&work, c, t->plan->n_threads) * 1e-6;
    }
  }
  mafat_schedule_close(&schedule);
  return code;
}

static int time_steps(struct timed *t, const struct mafat_network *n, int n_layers, const struct mafat_plan_options *options,
                      const struct mafat_calibration *c, struct mafat_diagnostic *d)
{
  struct mafat_layout *layout = NULL;
  *t = (struct timed){NULL, calloc((size_t)n_layers, sizeof *t->ms)};
  int code = t->ms ? mafat_plan_read(&t->plan, "1x1", n, n_layers, options, d) : MAFAT_ENOMEM;
  if (code == MAFAT_OK) code = mafat_layout_make(&layout, n, t->plan, d);
  if (code == MAFAT_OK) code = add_steps(t, n, layout, c);
  mafat_layout_close(&layout);
  return code;
}

/* A shortcut's share of the step that computes it with the 1x1 stays what it is by itself. */
static double ms_together(const struct timed *apart, const struct timed *fused, int layer)
{
  int outermost = mafat_plan_outermost(fused->plan, layer);
  double ms = fused->ms[outermost];
  for (int l = outermost; l != layer; l = mafat_fusion_inside(fused->plan, l)) ms -= apart->ms[l];
  return ms;
}

int mafat_unit_latency_open(struct mafat_unit_latency *out, const struct mafat_network *n, int n_layers, int n_threads,
                            const struct mafat_calibration *c, struct mafat_diagnostic *d)
{
  struct mafat_plan_options options;
  struct timed apart, fused;
  mafat_plan_defaults(&options);
  options.n_threads = n_threads;
  *out = (struct mafat_unit_latency){calloc((size_t)n_layers, sizeof(double)), calloc((size_t)n_layers, sizeof(double)), n_layers};
  int code = time_steps(&fused, n, n_layers, &options, c, d);
  options.keep_all = true;
  int other = time_steps(&apart, n, n_layers, &options, c, d);
  if (code == MAFAT_OK) code = out->apart && out->together ? other : MAFAT_ENOMEM;
  for (int l = 0; l < n_layers && code == MAFAT_OK; l++) {
    int inside = mafat_fusion_inside(fused.plan, l);
    bool pair = inside >= 0 && mafat_layer_is_pointwise(&n->layers[l]) && mafat_layer_is_depthwise(&n->layers[inside]);
    out->apart[l] = apart.ms[l];
    out->together[l] = pair ? ms_together(&apart, &fused, l) : INFINITY;
  }
  close_timed(&apart);
  close_timed(&fused);
  if (code) mafat_unit_latency_close(out);
  return code;
}

void mafat_unit_latency_close(struct mafat_unit_latency *l)
{
  free(l->apart);
  free(l->together);
  *l = (struct mafat_unit_latency){NULL, NULL, 0};
}

bool mafat_unit_can_run(const struct mafat_unit_latency *l, const struct mafat_unit *u)
{
  return u->how == MAFAT_FUSED_NONE || (u->how == MAFAT_FUSED_DW_PW_ROWS && isfinite(l->together[u->layers[1]]));
}

double mafat_unit_ms(const void *latency, const struct mafat_unit *u)
{
  const struct mafat_unit_latency *l = latency;
  if (!mafat_unit_can_run(l, u)) return INFINITY;
  return u->how == MAFAT_FUSED_NONE ? l->apart[u->layers[0]] : l->together[u->layers[1]];
}
