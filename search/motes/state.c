/* Makes plans of states and predicts their live bytes, arena and milliseconds (state.h). Called by
 * search/motes/motes.c. Allocates from request->options->heap. Runs plans if the request has a
 * timer. */
#include "search/motes/state.h"

#include "predictor/cost/latency.h"
#include "predictor/planning/planning.h"
#include "search/common/effort.h"

#include <math.h>
#include <string.h>

int mafat_motes_spec(struct mafat_spec **out, const struct mafat_motes_meter *m,
                     const struct mafat_motes_state *state)
{
  const struct mafat_scheme *list[MAFAT_MOST_SCHEMES];
  const struct mafat_search_request *r = m->request;
  for (int i = 0; i < state->n; i++) list[i] = &state->schemes[i];
  int code = mafat_schemes_apply(out, r->network, r->n_layers, list, state->n, m->cell_of,
                                 state->apart, r->options->algorithm == MAFAT_AUTO, m->heap);
  if (code) return code;
  (*out)->op_order = state->op_order;
  (*out)->in_place = state->in_place;
  return MAFAT_OK;
}

/* ---- live bytes ---- */

/* Makes a list of the live bytes at each time (layout/layout.h: mafat_buffer), which the caller
 * frees. *most: the greatest of them. */
static int count_live(size_t **out, size_t *most, const struct mafat_layout *layout, int n_times,
                      struct mafat_heap *heap)
{
  size_t *live = *out = mafat_heap_calloc(heap, (size_t)n_times + 1, sizeof *live), sum = 0;
  if (!live) return MAFAT_ENOMEM;
  /* First, live[t] gets the change of the live bytes at time t, which may be negative: unsigned
   * overflow cancels out in the sums. */
  for (int i = 0; i < layout->n_buffers; i++) {
    const struct mafat_buffer *b = &layout->buffers[i];
    if (b->first >= n_times) continue;
    live[b->first] += b->bytes;
    if (b->last + 1 < n_times) live[b->last + 1] -= b->bytes;
  }
  *most = 0;
  for (int t = 0; t < n_times; t++) {
    live[t] = sum += live[t];
    if (sum > *most) *most = sum;
  }
  return MAFAT_OK;
}

static int times_of(const struct mafat_plan *plan)
{
  return 2 * plan->n_positions + 2;
}

/* Finds the sum, over all layers, of (live bytes while the layer runs / greatest live bytes) to a
 * high power, so that only layers near the peak count. For a layer in parts, the live bytes are the
 * peak of its group. */
static int find_tie_break(double *tie_break, const struct mafat_plan *plan,
                          const struct mafat_layout *layout, struct mafat_heap *heap)
{
  enum { POWER = 16 };
  size_t *live, most;
  int code = count_live(&live, &most, layout, times_of(plan), heap);
  *tie_break = 0;
  for (int g = 0; g < plan->n_groups && code == MAFAT_OK; g++) {
    const struct mafat_group *group = &plan->groups[g];
    bool whole = !mafat_cut_has_parts(&group->cut);
    double full = (double)layout->groups[g].peak_bytes / ((double)most + 1);
    if (!whole) *tie_break += pow(full, POWER) * mafat_span_size(group->at);
    for (int p = group->positions.begin; whole && p < group->positions.end; p++)
      *tie_break += pow((double)live[2 * p + 1] / ((double)most + 1), POWER);
  }
  mafat_heap_free(heap, live);
  return code;
}

static void mark(bool *bottlenecks, const struct mafat_layout *layout, const size_t *live,
                 size_t most, int n_times)
{
  for (int i = 0; i < layout->n_buffers; i++) {
    const struct mafat_buffer *b = &layout->buffers[i];
    if (b->tag != MAFAT_TAG_ACTIVATIONS && b->tag != MAFAT_TAG_INPUT) continue;
    for (int t = b->first; t <= b->last && t < n_times && !bottlenecks[b->tensor]; t++)
      bottlenecks[b->tensor] = live[t] == most;
  }
}

int mafat_motes_bottlenecks(bool *bottlenecks, struct mafat_motes_meter *m,
                            const struct mafat_motes_state *state)
{
  const struct mafat_search_request *r = m->request;
  struct mafat_spec *spec = NULL;
  struct mafat_plan *plan = NULL;
  struct mafat_layout *layout = NULL;
  struct mafat_diagnostic d = {""};
  size_t *live = NULL, most;
  int code = mafat_motes_spec(&spec, m, state);
  memset(bottlenecks, 0, (size_t)mafat_network_n_tensors(r->network) * sizeof *bottlenecks);
  if (code == MAFAT_OK)
    code = mafat_plan_make(&plan, spec, r->network, r->n_layers, r->options, &d);
  if (code == MAFAT_OK) code = mafat_layout_outline(&layout, r->network, plan, &d);
  if (code == MAFAT_OK) code = count_live(&live, &most, layout, times_of(plan), m->heap);
  if (code == MAFAT_OK) mark(bottlenecks, layout, live, most, times_of(plan));
  mafat_heap_free(m->heap, live);
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  mafat_spec_close(&spec);
  return code;
}

/* ---- measuring ---- */

enum {
  A_PLAN = 200, /* effort of each plan in addition to its layers and parts, in layers */
  LAID = 30,    /* the effort is this many times as large if offsets are assigned */
  SORTED = 300  /* additional factor if the best order of layers is found */
};

/* Predicts the plan of a spec. If it is the state's first plan (ms is 0), or needs fewer bytes than
 * the state's plan so far, it becomes the state's plan. */
static int outline(struct mafat_motes_meter *m, struct mafat_motes_state *state,
                   const struct mafat_spec *spec, bool apart)
{
  const struct mafat_search_request *r = m->request;
  struct mafat_plan *plan = NULL;
  struct mafat_layout *layout = NULL;
  struct mafat_latency latency = {0};
  struct mafat_diagnostic d = {""};
  int code = mafat_plan_make(&plan, spec, r->network, r->n_layers, r->options, &d);
  m->evaluations -= A_PLAN + r->n_layers + (code == MAFAT_OK ? mafat_effort_of_parts(plan) : 0);
  if (code == MAFAT_OK) code = mafat_layout_outline(&layout, r->network, plan, &d);
  bool known = state->ms > 0;
  if (code == MAFAT_OK && (!known || layout->bound_bytes < state->bytes)) {
    state->bytes = layout->bound_bytes;
    state->op_order = spec->op_order;
    state->in_place = spec->in_place;
    state->apart = apart;
    code = find_tie_break(&state->tie_break, plan, layout, m->heap);
    if (code == MAFAT_OK)
      code = mafat_latency_predict(&latency, r->network, plan, layout, r->calibration);
    state->ms = latency.total_ms;
  }
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  return code;
}

struct variant {
  enum mafat_op_order op_order;
  bool in_place;
};

static const struct variant variants[] = {{MAFAT_OP_ORDER_POSTORDER, false},
                                          {MAFAT_OP_ORDER_POSTORDER, true},
                                          {MAFAT_OP_ORDER_FORWARD, false},
                                          {MAFAT_OP_ORDER_FORWARD, true}};

/* Tries each simple order of layers, with and without in-place outputs, and the given `apart`. */
static int outline_all(struct mafat_motes_meter *m, struct mafat_motes_state *state, bool apart)
{
  struct mafat_motes_state other = *state;
  struct mafat_spec *spec = NULL;
  other.apart = apart;
  int code = mafat_motes_spec(&spec, m, &other);
  for (size_t i = 0; i < sizeof variants / sizeof *variants && code == MAFAT_OK; i++) {
    spec->op_order = variants[i].op_order;
    spec->in_place = variants[i].in_place;
    code = outline(m, state, spec, apart);
  }
  mafat_spec_close(&spec);
  return code;
}

/* Number of values of `apart` to try, from false on. */
static int groupings_of(const struct mafat_motes_state *state)
{
  return state->n > 1 ? 2 : 1;
}

int mafat_motes_outline(struct mafat_motes_meter *m, struct mafat_motes_state *state, bool all)
{
  struct mafat_spec *spec = NULL;
  int code = mafat_motes_spec(&spec, m, state);
  state->ms = 0;
  if (code == MAFAT_OK) code = outline(m, state, spec, state->apart);
  mafat_spec_close(&spec);
  for (int apart = 0; apart < groupings_of(state) && code == MAFAT_OK && all; apart++) {
    code = outline_all(m, state, apart);
    /* the plan may be valid with the other value of `apart` */
    if (code == MAFAT_EINVAL || code == MAFAT_ELIMIT) code = MAFAT_OK;
  }
  return code;
}

/* ---- arenas ---- */

static int find_ms(double *ms, const struct mafat_motes_meter *m, const struct mafat_plan *plan,
                   const struct mafat_layout *layout)
{
  const struct mafat_search_request *r = m->request;
  struct mafat_latency latency = {0};
  if (r->timer.time) return r->timer.time(r->timer.context, plan, layout, ms, m->d);
  int code = mafat_latency_predict(&latency, r->network, plan, layout, r->calibration);
  *ms = latency.total_ms;
  return code;
}

/* Makes a layout of the state's plan with offsets, and predicts or measures milliseconds. Sets
 * state->bytes to the bytes of the arena, or to SIZE_MAX if they are not below less_than. */
static int lay_out(struct mafat_motes_meter *m, struct mafat_motes_state *state, size_t less_than)
{
  const struct mafat_search_request *r = m->request;
  struct mafat_spec *spec = NULL;
  struct mafat_plan *plan = NULL;
  struct mafat_layout *layout = NULL;
  struct mafat_diagnostic d = {""};
  double ms = 0;
  int code = mafat_motes_spec(&spec, m, state);
  state->bytes = SIZE_MAX;
  m->evaluations -= LAID * (long long)(A_PLAN + r->n_layers);
  if (code == MAFAT_OK)
    code = mafat_plan_make(&plan, spec, r->network, r->n_layers, r->options, &d);
  if (code == MAFAT_OK) code = mafat_layout_outline(&layout, r->network, plan, &d);
  bool less = code == MAFAT_OK && layout->bound_bytes < less_than;
  mafat_layout_close(&layout);
  if (less) code = mafat_layout_make(&layout, r->network, plan, &d);
  less = less && code == MAFAT_OK && layout->total_bytes < less_than;
  if (less) code = find_ms(&ms, m, plan, layout);
  if (less && code == MAFAT_OK) {
    state->bytes = layout->total_bytes;
    state->ms = ms;
  }
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  mafat_spec_close(&spec);
  return code;
}

int mafat_motes_time(struct mafat_motes_meter *m, struct mafat_motes_state *state)
{
  struct mafat_motes_state laid = *state;
  int code = lay_out(m, &laid, SIZE_MAX);
  if (code == MAFAT_OK) state->ms = laid.ms;
  return code;
}

/* Replaces *best by `other` if that needs fewer bytes, and is within the time limit or no slower
 * than *best. */
static int try_variant(struct mafat_motes_meter *m, struct mafat_motes_state *best,
                       struct mafat_motes_state other, double limit_ms)
{
  int code = lay_out(m, &other, best->bytes);
  if (code == MAFAT_OK && other.bytes < best->bytes &&
      (best->bytes == SIZE_MAX || other.ms <= limit_ms || other.ms <= best->ms))
    *best = other;
  return code == MAFAT_EINVAL || code == MAFAT_ELIMIT ? MAFAT_OK : code;
}

/* Tries the best order of layers, with and without in-place outputs. As this is slow, `apart` stays
 * as in *best. */
static int try_best_order(struct mafat_motes_meter *m, struct mafat_motes_state *best,
                          double limit_ms)
{
  struct mafat_motes_state other = *best;
  int code = MAFAT_OK;
  other.op_order = MAFAT_OP_ORDER_BEST;
  for (int in_place = 0;
       in_place < 2 && code == MAFAT_OK && mafat_effort_left(m->request, m->evaluations);
       in_place++) {
    other.in_place = in_place;
    m->evaluations -= SORTED * (long long)(A_PLAN + m->request->n_layers);
    code = try_variant(m, best, other, limit_ms);
  }
  return code;
}

int mafat_motes_assign_offsets(struct mafat_motes_meter *m, struct mafat_motes_state *state,
                               double limit_ms, bool best_order)
{
  struct mafat_motes_state best = *state, other = *state;
  best.bytes = SIZE_MAX;
  int code = try_variant(m, &best, other, limit_ms);
  for (int apart = 0; apart < groupings_of(state); apart++) {
    other.apart = apart;
    for (size_t i = 0; i < sizeof variants / sizeof *variants && code == MAFAT_OK &&
                       mafat_effort_left(m->request, m->evaluations);
         i++) {
      other.op_order = variants[i].op_order;
      other.in_place = variants[i].in_place;
      code = try_variant(m, &best, other, limit_ms);
    }
  }
  if (code == MAFAT_OK && best_order) code = try_best_order(m, &best, limit_ms);
  *state = best;
  return code ? code : best.bytes == SIZE_MAX ? MAFAT_ELIMIT : MAFAT_OK;
}

int mafat_motes_parts(const struct mafat_motes_state *state, const struct mafat_scheme *scheme)
{
  int most = 1;
  for (int i = 0; i < scheme->n_layers; i++) {
    int n = scheme->n;
    for (int k = 0; k < state->n; k++)
      if (state->schemes[k].axis != scheme->axis &&
          mafat_scheme_holds(&state->schemes[k], scheme->layers[i]))
        n *= state->schemes[k].n;
    if (n > most) most = n;
  }
  return most;
}
