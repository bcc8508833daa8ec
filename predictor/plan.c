#include "predictor/plan.h"

#include <stdlib.h>

enum { SMALL_BYTES = 80 << 10 };

void mafat_plan_defaults(struct mafat_plan_options *options)
{
  *options = (struct mafat_plan_options){.algorithm = MAFAT_AUTO, .n_threads = 1, .small_bytes = SMALL_BYTES};
}

void mafat_plan_close(struct mafat_plan **plan)
{
  if (!plan || !*plan) return;
  for (int g = 0; g < (*plan)->n_groups; g++) {
    free((*plan)->groups[g].row_bounds);
    free((*plan)->groups[g].col_bounds);
  }
  free((*plan)->groups);
  free((*plan)->group_of);
  free((*plan)->members);
  free((*plan)->order);
  free((*plan)->position);
  free((*plan)->algorithms);
  free((*plan)->inner);
  free((*plan)->outer);
  free((*plan)->residence);
  free((*plan)->fan);
  free(*plan);
  *plan = NULL;
}

struct mafat_span mafat_group_share(const struct mafat_group *g, bool axis_y, int part, int extent)
{
  const int *bounds = axis_y ? g->row_bounds : g->col_bounds;
  int whole = bounds[axis_y ? g->cut.as.grid.n_rows : g->cut.as.grid.n_cols];
  return mafat_span((int)((long long)bounds[part] * extent / whole),
                    (int)((long long)bounds[part + 1] * extent / whole));
}
