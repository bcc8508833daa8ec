/* Frees a layout, and adds up the bytes of a tensor's buffers. Called by api/, search/,
 * predictor/layout, predictor/planning, predictor/transfers and runner/calibrate. A layout's memory
 * goes back to the heap that it came from. */
#include "predictor/layout/layout.h"

#include "base/part.h"

MAFAT_PART(run) size_t mafat_layout_tensor_bytes(const struct mafat_layout *layout, int tensor)
{
  const struct mafat_tensor_layout *t = &layout->tensors[tensor];
  size_t bytes = 0;
  int n = t->buffer < 0 ? 0 : t->partition ? mafat_partition_n_buffers(t->partition) : 1;
  for (int i = 0; i < n; i++) bytes += layout->buffers[t->buffer + i].bytes;
  return bytes;
}

MAFAT_PART(run) void mafat_layout_close(struct mafat_layout **layout)
{
  if (!layout || !*layout) return;
  struct mafat_heap *heap = (*layout)->heap;
  mafat_heap_free(heap, (*layout)->buffers);
  mafat_heap_free(heap, (*layout)->tensors);
  mafat_heap_free(heap, (*layout)->scratch);
  mafat_parts_scratch_close(heap, &(*layout)->part_scratch);
  mafat_heap_free(heap, (*layout)->sums_buffers);
  mafat_heap_free(heap, (*layout)->scratch_buffers);
  mafat_heap_free(heap, (*layout)->weights_buffers);
  mafat_heap_free(heap, (*layout)->layer_macs);
  mafat_heap_free(heap, (*layout)->groups);
  mafat_heap_free(heap, *layout);
  *layout = NULL;
}
