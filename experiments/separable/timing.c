/* Times plans; see the header. Called by separable.c. */
#include "experiments/separable/timing.h"

#include "predictor/planning/planning.h"
#include "runner/engine/executor.h"
#include "runner/kernels/kernels.h"
#include "runner/os/process.h"
#include "api/model_files.h"

#include <stdlib.h>

struct runner {
  struct mafat_plan *plan;
  struct mafat_layout *layout;
  struct mafat_executor *executor;
};

static int open_runner(struct runner *r, const struct timed_plan *p, const struct mafat_network *n,
                       struct mafat_weights *w, const char *cpu, const float *input,
                       struct mafat_diagnostic *d)
{
  struct mafat_plan_options options;
  struct mafat_executor_options eo;
  mafat_plan_defaults(&options);
  options.keep_all = p->all_maps;
  mafat_executor_defaults(&eo);
  eo.kernels = mafat_kernels_find(cpu);
  int code = mafat_plan_read(&r->plan, p->text, n, n->n_layers, &options, d);
  if (code == MAFAT_OK) code = mafat_layout_make(&r->layout, n, r->plan, d);
  if (code == MAFAT_OK) code = mafat_executor_open(&r->executor, n, r->plan, r->layout, w, &eo, d);
  if (code == MAFAT_OK && input) mafat_executor_set_input(r->executor, input);
  return code;
}

static void close_runner(struct runner *r)
{
  mafat_executor_close(&r->executor);
  mafat_layout_close(&r->layout);
  mafat_plan_close(&r->plan);
}

static double convolutions_ms(const struct runner *r, const struct mafat_network *n)
{
  const double *ms = mafat_executor_layer_ms(r->executor);
  double sum = 0;
  for (int l = 0; l < n->n_layers; l++)
    if (mafat_layer_is_pointwise(&n->layers[l]) || mafat_layer_is_depthwise(&n->layers[l]))
      sum += ms[l];
  return sum;
}

static void take_least(double *least, double ms)
{
  if (*least == 0 || ms < *least) *least = ms;
}

static int run_twice(struct runner *r, struct timed_plan *p, const struct mafat_network *n,
                     struct mafat_diagnostic *d)
{
  int code = mafat_executor_run(r->executor, d);
  double before = mafat_process_now_ms();
  if (code == MAFAT_OK) code = mafat_executor_run(r->executor, d);
  take_least(&p->ms, mafat_process_now_ms() - before - mafat_executor_input_ms(r->executor));
  take_least(&p->convolutions_ms, convolutions_ms(r, n));
  return code;
}

int time_plans(struct timed_plan *plans, int n, const struct mafat_network *network,
               const char *path, const char *cpu, int rounds, double seconds,
               struct mafat_diagnostic *d)
{
  struct runner runners[MOST_TIMED] = {{NULL, NULL, NULL}};
  struct mafat_weights *weights = NULL;
  float *input =
      calloc((size_t)mafat_shape_elements(mafat_network_picture_shape(network)), sizeof *input);
  int code = input ? mafat_weights_open_kept(&weights, path, network, network->n_layers, NULL, d)
                   : MAFAT_ENOMEM;
  for (int i = 0; i < n && code == MAFAT_OK; i++) {
    plans[i].ms = plans[i].convolutions_ms = 0;
    code = open_runner(&runners[i], &plans[i], network, weights, cpu, input, d);
  }
  double ends = mafat_process_now_ms() + 1e3 * seconds;
  for (int round = 0;
       round < rounds && (round < 3 || seconds <= 0 || mafat_process_now_ms() < ends); round++)
    for (int i = 0; i < n && code == MAFAT_OK; i++)
      code = run_twice(&runners[i], &plans[i], network, d);
  for (int i = 0; i < n; i++) close_runner(&runners[i]);
  mafat_weights_close(&weights);
  free(input);
  return code;
}
