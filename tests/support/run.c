#include "runner/executor.h"
#include "tests/support/support.h"

#include <check.h>

void test_run(const struct mafat_network *n, struct mafat_weights *w, const char *plan_text,
              const struct mafat_kernels *kernels, const float *input, float *output)
{
  struct mafat_executor_options options;
  struct mafat_executor *e = NULL;
  struct mafat_plan *plan = test_plan(n, plan_text);
  struct mafat_layout *layout = test_layout(n, plan);
  mafat_executor_defaults(&options);
  options.kernels = kernels;
  ck_assert_int_eq(mafat_executor_open(&e, n, plan, layout, w, &options, NULL), MAFAT_OK);
  mafat_executor_set_input(e, input);
  ck_assert_int_eq(mafat_executor_run(e, NULL), MAFAT_OK);
  mafat_executor_read_output(e, n->n_layers - 1, output);
  mafat_executor_close(&e);
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
}
