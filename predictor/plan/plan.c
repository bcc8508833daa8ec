/* Sets default options, frees plans, and finds the share of a map that belongs to a tile row or
 * column. Called by api/, predictor/, runner/calibrate/calibrate.c and search/. Allocates nothing;
 * a plan's memory goes back to its heap. */
#include "predictor/plan/plan.h"

#include "predictor/plan/partition.h"

enum { SMALL_BYTES = 80 << 10 }; /* default of small_bytes (plan.h) */

void mafat_plan_defaults(struct mafat_plan_options *options)
{
  *options = (struct mafat_plan_options){
      .algorithm = MAFAT_AUTO, .n_threads = 1, .small_bytes = SMALL_BYTES};
}

void mafat_plan_close(struct mafat_plan **plan)
{
  if (!plan || !*plan) return;
  struct mafat_heap *heap = (*plan)->heap;
  mafat_parts_close(heap, &(*plan)->parts);
  for (int g = 0; g < (*plan)->n_groups; g++) {
    if ((*plan)->groups[g].cut.kind == MAFAT_CUT_SPLIT)
      mafat_splits_free(heap, &(*plan)->groups[g].cut.as.split);
    mafat_heap_free(heap, (*plan)->groups[g].row_bounds);
    mafat_heap_free(heap, (*plan)->groups[g].col_bounds);
  }
  mafat_heap_free(heap, (*plan)->groups);
  mafat_heap_free(heap, (*plan)->ranks.words);
  mafat_heap_free(heap, (*plan)->own_filters);
  mafat_heap_free(heap, (*plan)->own_channels);
  mafat_heap_free(heap, (*plan)->group_of);
  mafat_heap_free(heap, (*plan)->members);
  mafat_heap_free(heap, (*plan)->order);
  mafat_heap_free(heap, (*plan)->position);
  mafat_heap_free(heap, (*plan)->algorithms);
  mafat_heap_free(heap, (*plan)->depthwise_rows);
  mafat_heap_free(heap, (*plan)->inner);
  mafat_heap_free(heap, (*plan)->outer);
  mafat_heap_free(heap, (*plan)->table);
  mafat_heap_free(heap, (*plan)->placement);
  mafat_heap_free(heap, (*plan)->place_of);
  mafat_heap_free(heap, (*plan)->ring_shared_with);
  mafat_heap_free(heap, (*plan)->panel_producer);
  mafat_heap_free(heap, *plan);
  *plan = NULL;
}

struct mafat_span mafat_group_share(const struct mafat_group *g, bool axis_y, int part, int extent)
{
  const int *bounds = axis_y ? g->row_bounds : g->col_bounds;
  int whole = bounds[axis_y ? g->cut.as.grid.n_rows : g->cut.as.grid.n_cols];
  return mafat_span((int)((long long)bounds[part] * extent / whole),
                    (int)((long long)bounds[part + 1] * extent / whole));
}
