/* Times plans by running them. Called by api/choose.c for searches. Maps arenas, reads weights and
 * starts threads. */
#include "api/plan_timer.h"

#include "runner/engine/executor.h"
#include "runner/engine/kinds/kind.h"
#include "runner/os/process.h"
#include "api/footprint.h"
#include "api/unfit.h"

#include <math.h>
#include <stdlib.h>

/* A plan is run at least LEAST_RUNS and at most MOST_RUNS times, until its runs took ENOUGH_MS in
 * total. Short runs are therefore repeated more often: they vary more and cost less. */
enum { LEAST_RUNS = 4, MOST_RUNS = 64, ENOUGH_MS = 3 };

struct mafat_plan_timer {
  struct mafat_plan_timer_options options;
  struct mafat_weights *weights;
  float *zeros; /* values of every input; never written, so the pages are not resident */
  struct mafat_file_order *orders; /* [input]: order of its elements */
  size_t most_bytes; /* largest predicted size of a plan, without the process's own bytes */
};

/* ---- opening ---- */

static int make_inputs(struct mafat_plan_timer *t)
{
  const struct mafat_network *n = t->options.network;
  size_t most = 1;
  t->orders = calloc((size_t)n->n_inputs + 1, sizeof *t->orders);
  for (int i = 0; t->orders && i < n->n_inputs; i++) {
    size_t size = (size_t)mafat_shape_elements(n->layers[n->n_layers + i].out);
    mafat_network_input_order(n, i, &t->orders[i]);
    if (size > most) most = size;
  }
  t->zeros = calloc(most, sizeof *t->zeros);
  return t->orders && t->zeros ? MAFAT_OK : MAFAT_ENOMEM;
}

int mafat_plan_timer_open(struct mafat_plan_timer **out, const struct mafat_plan_timer_options *o,
                          struct mafat_diagnostic *d)
{
  *out = NULL;
  struct mafat_plan_timer *t = calloc(1, sizeof *t);
  if (!t) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", o->network->path);
  t->options = *o;
  if (!t->options.now_ms) t->options.now_ms = mafat_process_now_ms;
  if (!t->options.input_ms) t->options.input_ms = mafat_executor_input_ms;
  int code = mafat_kinds_check(o->network, o->n_layers, d);
  if (code == MAFAT_OK && make_inputs(t))
    code = mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", o->network->path);
  if (code == MAFAT_OK) *out = t;
  else mafat_plan_timer_close(&t);
  return code;
}

void mafat_plan_timer_close(struct mafat_plan_timer **timer)
{
  if (!timer || !*timer) return;
  struct mafat_plan_timer *t = *timer;
  mafat_weights_close(&t->weights);
  free(t->orders);
  free(t->zeros);
  free(t);
  *timer = NULL;
}

/* ---- timing ---- */

static int check_room(struct mafat_plan_timer *t, const struct mafat_layout *layout,
                      struct mafat_diagnostic *d)
{
  const struct mafat_plan_timer_options *o = &t->options;
  struct mafat_prediction p;
  char need[MAFAT_UNFIT_ROOM];
  mafat_predict(&p, layout, o->footprint);
  if (p.charge_bytes > o->budget_bytes)
    return mafat_fail(
        d, MAFAT_ELIMIT, "%.200s: measuring the time of a plan %s", o->network->path,
        mafat_unfit_describe(need, p.charge_bytes, o->budget_bytes, o->budget_source));
  size_t bytes = p.resident_bytes - o->footprint->process_bytes;
  if (bytes > t->most_bytes) t->most_bytes = bytes;
  return MAFAT_OK;
}

/* Reads all weights, before the first plan that fits is run. */
static int read_weights(struct mafat_plan_timer *t, struct mafat_diagnostic *d)
{
  const struct mafat_plan_timer_options *o = &t->options;
  if (t->weights) return MAFAT_OK;
  int code =
      mafat_weights_open_kept_source(&t->weights, o->weights, o->network, o->n_layers, NULL, d);
  if (code == MAFAT_OK) mafat_footprint_forget_import();
  return code;
}

static int run_once(double *ms, const struct mafat_plan_timer *t, struct mafat_executor *e,
                    struct mafat_diagnostic *d)
{
  double before = t->options.now_ms();
  int code = mafat_executor_run(e, d);
  *ms = t->options.now_ms() - before - t->options.input_ms(e);
  return code;
}

static int run(double *least_ms, const struct mafat_plan_timer *t, struct mafat_executor *e,
               struct mafat_diagnostic *d)
{
  int code = MAFAT_OK;
  double ms, sum = 0;
  *least_ms = INFINITY;
  for (int i = 0; code == MAFAT_OK && (i < LEAST_RUNS || (i < MOST_RUNS && sum < ENOUGH_MS)); i++) {
    code = run_once(&ms, t, e, d);
    sum += ms;
    *least_ms = fmin(*least_ms, ms);
  }
  return code;
}

static int time_plan(void *context, const struct mafat_plan *plan,
                     const struct mafat_layout *layout, double *ms, struct mafat_diagnostic *d)
{
  struct mafat_plan_timer *t = context;
  const struct mafat_network *n = t->options.network;
  struct mafat_executor *e = NULL;
  struct mafat_executor_options options;
  int code = check_room(t, layout, d);
  if (code == MAFAT_OK) code = read_weights(t, d);
  if (code) return code;
  mafat_executor_defaults(&options);
  options.kernels = t->options.kernels;
  code = mafat_executor_open(&e, n, plan, layout, t->weights, &options, d);
  for (int i = 0; code == MAFAT_OK && i < n->n_inputs; i++)
    mafat_executor_set_floats(e, i, &t->orders[i], t->zeros);
  if (code == MAFAT_OK) code = run(ms, t, e, d);
  mafat_executor_close(&e);
  return code;
}

struct mafat_search_timer mafat_plan_timer_for_search(struct mafat_plan_timer *timer)
{
  return (struct mafat_search_timer){time_plan, timer};
}

size_t mafat_plan_timer_most_bytes(const struct mafat_plan_timer *timer)
{
  return timer->most_bytes;
}
