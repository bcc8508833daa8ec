/* Finds the partition buffers of a tensor and their pixel sizes; frees lists of parts. Called by
 * predictor/layout, predictor/plan (parts.c, plan.c), predictor/schedule and
 * runner/engine/tensors.c. Touches only its arguments; mafat_parts_close frees into the given
 * heap. */
#include "predictor/plan/partition.h"

#include "predictor/plan/packing.h"

void mafat_parts_close(struct mafat_heap *heap, struct mafat_parts **parts)
{
  struct mafat_parts *p = *parts;
  if (!p) return;
  for (int i = 0; p->partitions && i < p->n_tensors; i++)
    mafat_partition_free(heap, &p->partitions[i]);
  mafat_heap_free(heap, p->list);
  mafat_heap_free(heap, p->at);
  mafat_heap_free(heap, p->partitions);
  mafat_heap_free(heap, p->partitioned);
  mafat_heap_free(heap, p->across);
  mafat_heap_free(heap, p);
  *parts = NULL;
}

struct mafat_partition_buffer mafat_partition_buffer_at(const struct mafat_partition *c,
                                                        struct mafat_shape shape, int index)
{
  int n_channels = c->sums ? 1 : c->n[MAFAT_ALONG_C], n_cols = c->n[MAFAT_ALONG_W];
  struct mafat_partition_buffer b = {
      .box.y = mafat_partition_part(c, MAFAT_ALONG_H, index / (n_channels * n_cols), shape.h),
      .box.x = mafat_partition_part(c, MAFAT_ALONG_W, index / n_channels % n_cols, shape.w),
      .channels = mafat_span(0, shape.c)};
  if (!c->sums) b.channels = mafat_partition_part(c, MAFAT_ALONG_C, index % n_channels, shape.c);
  return b;
}

int mafat_partition_search(const struct mafat_partition *c, enum mafat_split_axis axis, int at)
{
  int i = 0, end = c->n[axis];
  while (i + 1 < end) {
    int middle = (i + end) / 2;
    if (at < c->bounds[axis][middle]) end = middle;
    else i = middle;
  }
  return i;
}

int mafat_partition_pixel(const struct mafat_partition *c, struct mafat_shape shape,
                          struct mafat_span channels)
{
  return c->lanes ? c->lanes : mafat_pixel_width_of(shape.c, channels);
}

struct mafat_span mafat_partition_span(const struct mafat_partition *c, enum mafat_split_axis axis,
                                       struct mafat_span span)
{
  if (axis == MAFAT_ALONG_C && c->sums) return mafat_span(0, 1);
  return mafat_span(mafat_partition_index(c, axis, span.begin),
                    mafat_partition_index(c, axis, span.end - 1) + 1);
}
