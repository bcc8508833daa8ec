#include "experiments/separable/timing.h"

#include "predictor/planning.h"
#include "runner/executor.h"
#include "runner/memory/process.h"
#include "runner/model_kind.h"

#include <stdlib.h>

struct runner {
  struct mafat_plan *plan;
  struct mafat_layout *layout;
  struct mafat_executor *executor;
};

static int open_runner(struct runner *r, const struct mafat_network *n, const char *text, bool apart, struct mafat_weights *w,
                       const float *input, struct mafat_diagnostic *d)
{
  struct mafat_plan_options options;
  struct mafat_executor_options eo;
  mafat_plan_defaults(&options);
  options.keep_all = apart;
  mafat_executor_defaults(&eo);
  int code = mafat_plan_read(&r->plan, text, n, n->n_layers, &options, d);
  if (code == MAFAT_OK) code = mafat_layout_make(&r->layout, n, r->plan, d);
  if (code == MAFAT_OK) code = mafat_executor_open(&r->executor, n, r->plan, r->layout, w, &eo, d);
  if (code == MAFAT_OK) mafat_executor_set_input(r->executor, input);
  return code;
}

static void close_runner(struct runner *r)
{
  mafat_executor_close(&r->executor);
  mafat_layout_close(&r->layout);
  mafat_plan_close(&r->plan);
}

static int run_once(struct runner *r, double *least, struct mafat_diagnostic *d)
{
  double before = mafat_process_now_ms();
  int code = mafat_executor_run(r->executor, d);
  double ms = mafat_process_now_ms() - before - mafat_executor_input_ms(r->executor);
  if (*least == 0 || ms < *least) *least = ms;
  return code;
}

int time_plan(double ms[2], const struct mafat_network *n, const char *path, const char *plan, int rounds, bool apart,
              struct mafat_diagnostic *d)
{
  struct runner runners[2] = {{NULL, NULL, NULL}, {NULL, NULL, NULL}};
  struct mafat_weights *weights = NULL;
  float *input = calloc((size_t)mafat_shape_elements(mafat_network_picture_shape(n)), sizeof *input);
  int code = input ? mafat_weights_open_kept(&weights, path, n, n->n_layers, NULL, d) : MAFAT_ENOMEM;
  ms[0] = ms[1] = 0;
  for (int i = !apart; i < 2 && code == MAFAT_OK; i++) code = open_runner(&runners[i], n, plan, i == 0, weights, input, d);
  for (int round = 0; round < rounds; round++)
    for (int i = !apart; i < 2 && code == MAFAT_OK; i++) code = run_once(&runners[i], &ms[i], d);
  for (int i = 0; i < 2; i++) close_runner(&runners[i]);
  mafat_weights_close(&weights);
  free(input);
  return code;
}
