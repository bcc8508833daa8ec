/* Predicts bytes and time of candidates and maintains the Pareto front. Called by the searches in
 * search/, and by api/choose.c and api/dry_run.c. The front and its specs are in a heap of their
 * own. Plans and layouts are in request->options->heap and are freed at once. */
#include "search/common/front.h"

#include "predictor/cost/latency.h"
#include "predictor/planning/planning.h"
#include "search/common/effort.h"

#include <math.h>
#include <stdlib.h>

int mafat_front_open(struct mafat_front **out)
{
  struct mafat_heap *heap;
  int code = mafat_heap_open(&heap);
  *out = code == MAFAT_OK ? mafat_heap_calloc(heap, 1, sizeof **out) : NULL;
  if (*out) (*out)->heap = heap;
  else mafat_heap_close(&heap);
  return *out ? MAFAT_OK : MAFAT_ENOMEM;
}

/* Compares bytes, milliseconds, threads, then the specs: shorter texts come first. This is a total
 * order, so results do not depend on qsort. */
static int compare(const void *a, const void *b)
{
  const struct mafat_candidate *x = a, *y = b;
  if (x->charge_bytes != y->charge_bytes) return x->charge_bytes < y->charge_bytes ? -1 : 1;
  if (x->ms < y->ms || x->ms > y->ms) return x->ms < y->ms ? -1 : 1;
  if (x->threads != y->threads) return x->threads < y->threads ? -1 : 1;
  return mafat_spec_compare(x->spec, y->spec, true);
}

void mafat_front_reduce(struct mafat_front *f)
{
  int n = 0;
  if (f->n == 0) return;
  qsort(f->list, (size_t)f->n, sizeof *f->list, compare);
  for (int i = 0; i < f->n; i++) {
    if (n > 0 && f->list[i].ms >= f->list[n - 1].ms) mafat_spec_close(&f->list[i].spec);
    else f->list[n++] = f->list[i];
  }
  f->n = n;
}

/* Returns the sum, over all layers, of (peak bytes of the layer's group / bytes of the arena) to
 * the power of 16. So only groups that nearly fill the arena count. */
static double tie_break_of(const struct mafat_plan *plan, const struct mafat_layout *layout)
{
  double sum = 0;
  for (int g = 0; g < plan->n_groups; g++) {
    double full = (double)layout->groups[g].peak_bytes / ((double)layout->bound_bytes + 1);
    sum += pow(full, 16) * mafat_span_size(plan->groups[g].at);
  }
  return sum;
}

typedef int (*layout_function)(struct mafat_layout **out, const struct mafat_network *n,
                               const struct mafat_plan *plan, struct mafat_diagnostic *d);

/* Predicts a plan from the layout that lay_out makes. A sketch (mafat_layout_sketch) has no
 * offsets, so its total bytes are a lower bound of the arena. `least`: lowers the mapped bytes to
 * this bound, too. */
static int measure_plan(struct mafat_candidate *c, const struct mafat_search_request *r,
                        const struct mafat_plan *plan, layout_function lay_out, bool least,
                        struct mafat_diagnostic *d)
{
  struct mafat_layout *layout = NULL;
  struct mafat_prediction bytes;
  struct mafat_latency latency;
  int code = lay_out(&layout, r->network, plan, d);
  if (code == MAFAT_OK)
    code = mafat_latency_predict(&latency, r->network, plan, layout, r->calibration);
  if (code == MAFAT_OK) {
    /* Boxes may be stored past the end of the arena, or in memory of the arena that is free by
     * then; this depends on the offsets. So the bound is without them. */
    if (least) layout->mapped_bytes = layout->total_bytes;
    mafat_predict(&bytes, layout, r->footprint);
    c->charge_bytes = bytes.charge_bytes;
    c->resident_bytes = bytes.resident_bytes;
    c->arena_bytes = layout->total_bytes;
    c->ms = latency.total_ms;
    c->tie_break = tie_break_of(plan, layout);
    c->redundant_macs = layout->redundant_macs;
  }
  mafat_layout_close(&layout);
  return code;
}

static int make_plan(struct mafat_plan **plan, const struct mafat_candidate *c,
                     const struct mafat_search_request *r, const struct mafat_spec *spec,
                     struct mafat_diagnostic *d)
{
  struct mafat_plan_options options = *r->options;
  options.n_threads = c->threads;
  return mafat_plan_make(plan, spec, r->network, r->n_layers, &options, d);
}


static int measure(struct mafat_candidate *c, const struct mafat_search_request *r,
                   const struct mafat_spec *spec, layout_function lay_out,
                   struct mafat_diagnostic *d)
{
  struct mafat_plan *plan = NULL;
  int code = make_plan(&plan, c, r, spec, d);
  if (code == MAFAT_OK) code = measure_plan(c, r, plan, lay_out, false, d);
  mafat_plan_close(&plan);
  return code;
}

int mafat_candidate_measure(struct mafat_candidate *c, const struct mafat_search_request *r,
                            const struct mafat_spec *spec, struct mafat_diagnostic *d)
{
  return measure(c, r, spec, mafat_layout_make, d);
}

int mafat_candidate_measure_better(struct mafat_candidate *c, const struct mafat_search_request *r,
                                   const struct mafat_spec *spec, mafat_candidate_better is_better,
                                   const struct mafat_candidate *than, bool *better,
                                   struct mafat_diagnostic *d)
{
  struct mafat_plan *plan = NULL;
  const size_t least = c->arena_bytes;
  int code = make_plan(&plan, c, r, spec, d);
  if (code == MAFAT_OK) code = measure_plan(c, r, plan, mafat_layout_sketch, true, d);
  if (c->arena_bytes < least) c->arena_bytes = least;
  *better = code == MAFAT_OK && is_better(c, than);
  if (*better) code = measure_plan(c, r, plan, mafat_layout_make, false, d);
  *better = *better && code == MAFAT_OK && is_better(c, than);
  mafat_plan_close(&plan);
  return code;
}

int mafat_front_put(struct mafat_front *f, const struct mafat_candidate *c)
{
  struct mafat_candidate *grown =
      mafat_heap_realloc(f->heap, f->list, (size_t)(f->n + 1) * sizeof *grown);
  if (!grown) return MAFAT_ENOMEM;
  f->list = grown;
  grown[f->n] = *c;
  int code = mafat_spec_copy(&grown[f->n].spec, c->spec, f->heap);
  if (code == MAFAT_OK) f->n++;
  return code;
}

int mafat_front_add(struct mafat_front *f, const struct mafat_search_request *r,
                    const struct mafat_spec *spec, struct mafat_diagnostic *d)
{
  struct mafat_candidate c = {.threads = r->options->n_threads};
  int code = measure(&c, r, spec, mafat_layout_sketch, d);
  if (code == MAFAT_EINVAL || code == MAFAT_ELIMIT ||
      (code == MAFAT_OK && c.charge_bytes == SIZE_MAX))
    return MAFAT_OK;
  if (code) return code;
  c.spec = (struct mafat_spec *)(uintptr_t)spec;
  return mafat_front_put(f, &c);
}

/* ---- algorithms ---- */

int mafat_candidate_name_algorithms(struct mafat_candidate *c, const struct mafat_search_request *r,
                                    struct mafat_heap *heap, struct mafat_diagnostic *d)
{
  struct mafat_plan *plan;
  struct mafat_spec *named = NULL, *copy = NULL;
  if (!r->options->algorithms) return MAFAT_OK;
  int code = make_plan(&plan, c, r, c->spec, d);
  if (code) return code;
  code = mafat_plan_spec(&named, plan, r->network);
  if (code == MAFAT_OK) code = mafat_spec_copy(&copy, named, heap);
  mafat_spec_close(&named);
  mafat_plan_close(&plan);
  if (code) return code;
  mafat_spec_close(&c->spec);
  c->spec = copy;
  return MAFAT_OK;
}

/* A plan with fewer bytes may be slower by this many percent. In-place outputs can be slower,
 * because their steps are divided into fewer parts for threads. */
enum { SLOWER_PERCENT = 5 };

static bool needs_less(const struct mafat_candidate *a, const struct mafat_candidate *than)
{
  return a->charge_bytes < than->charge_bytes && a->ms <= than->ms * (100 + SLOWER_PERCENT) / 100;
}

/* Tries the best order of layers, with in-place outputs if in_place is true. Keeps the order if it
 * needs fewer bytes. */
static int sort_with(struct mafat_candidate *c, const struct mafat_search_request *r, bool in_place,
                     struct mafat_diagnostic *d)
{
  struct mafat_candidate sorted = *c;
  sorted.arena_bytes = 0;
  enum mafat_op_order before = c->spec->op_order;
  bool placed = c->spec->in_place;
  c->spec->op_order = MAFAT_OP_ORDER_BEST;
  c->spec->in_place = in_place;
  bool less;
  int code = mafat_candidate_measure_better(&sorted, r, c->spec, needs_less, c, &less, d);
  if (less) {
    *c = sorted;
  } else {
    c->spec->op_order = before;
    c->spec->in_place = placed;
  }
  /* MAFAT_EINVAL: all groups are by rows, so there is no order to choose. */
  return code == MAFAT_EINVAL ? MAFAT_OK : code;
}

/* Tries other orders of layers. Not for Darknet's files: these list layers in an order that is
 * meant to be run. */
static int sort(struct mafat_candidate *c, const struct mafat_search_request *r,
                struct mafat_diagnostic *d)
{
  if (!r->network->format.any_order || c->spec->op_order != MAFAT_OP_ORDER_FILE) return MAFAT_OK;
  int code = c->spec->in_place ? MAFAT_OK : sort_with(c, r, false, d);
  return code ? code : sort_with(c, r, true, d);
}

int mafat_front_assign_offsets(struct mafat_front *f, const struct mafat_search_request *r,
                               struct mafat_diagnostic *d)
{
  int code = MAFAT_OK;
  for (int i = 0; i < f->n && code == MAFAT_OK; i++)
    code = mafat_candidate_measure(&f->list[i], r, f->list[i].spec, d);
  mafat_front_reduce(f);
  for (int i = 0; i < f->n && code == MAFAT_OK; i++) code = sort(&f->list[i], r, d);
  mafat_front_reduce(f);
  return code;
}

void mafat_front_close(struct mafat_front **front)
{
  if (!front || !*front) return;
  struct mafat_heap *heap = (*front)->heap;
  for (int i = 0; i < (*front)->n; i++) mafat_spec_close(&(*front)->list[i].spec);
  mafat_heap_free(heap, (*front)->list);
  mafat_heap_free(heap, *front);
  mafat_heap_close(&heap);
  *front = NULL;
}

const struct mafat_candidate *mafat_front_within(const struct mafat_front *front, size_t budget)
{
  const struct mafat_candidate *best = NULL;
  for (int i = 0; i < front->n && front->list[i].charge_bytes <= budget; i++)
    best = &front->list[i];
  return best;
}

int mafat_front_find(struct mafat_front **out, const struct mafat_search_request *request,
                     int (*find)(struct mafat_front *front,
                                 const struct mafat_search_request *request,
                                 struct mafat_diagnostic *d),
                     struct mafat_diagnostic *d)
{
  struct mafat_plan_options options = *request->options;
  struct mafat_search_request r = *request;
  struct mafat_front *f = NULL;
  *out = NULL;
  r.options = &options;
  if (r.most_threads) options.n_threads = 1; /* each additional thread has its own scratch */
  if (r.plan_seconds > 0) r.plan_ends = mafat_effort_now() + (long long)(r.plan_seconds * 1e9);
  int code = mafat_heap_open(&options.heap);
  mafat_heap_limit(options.heap, r.allowance);
  if (code == MAFAT_OK) code = mafat_front_open(&f);
  if (code == MAFAT_OK) code = find(f, &r, d);
  if (code == MAFAT_OK) f->search_bytes = mafat_heap_most_bytes(options.heap);
  if (code == MAFAT_OK) *out = f;
  else mafat_front_close(&f);
  mafat_heap_close(&options.heap);
  return code == MAFAT_ENOMEM ? mafat_fail(d, code, "%s: out of memory", request->network->path)
                              : code;
}
