/* Computes the offsets and lifetimes of the buffers of a plan. Called by search/fdt/fdt.c.
 * Allocates from request->options->heap; the caller frees the lists. */
#include "search/fdt/placing.h"

#include "predictor/layout/layout.h"
#include "predictor/planning/planning.h"

static int fill(struct mafat_placing *p, const struct mafat_layout *layout, bool climbing)
{
  p->n = layout->n_buffers;
  p->extents = mafat_heap_calloc(p->heap, (size_t)p->n + 1, sizeof *p->extents);
  p->tensors = mafat_heap_calloc(p->heap, (size_t)p->n + 1, sizeof *p->tensors);
  if (!p->extents || !p->tensors) return MAFAT_ENOMEM;
  for (int i = 0; i < p->n; i++) {
    const struct mafat_buffer *b = &layout->buffers[i];
    p->extents[i] = (struct mafat_allocation){b->offset, b->offset + b->bytes, b->first, b->last};
    p->tensors[i] = b->tag == MAFAT_TAG_ACTIVATIONS || b->tag == MAFAT_TAG_INPUT ? b->tensor : -1;
  }
  if (climbing) return mafat_allocations_climb(&p->total, p->extents, p->n, p->heap);
  return mafat_allocations_settle(&p->total, p->extents, p->n, p->heap);
}

int mafat_placing_make(struct mafat_placing *out, const struct mafat_search_request *r,
                       const struct mafat_spec *spec, bool climbing, struct mafat_diagnostic *d)
{
  struct mafat_plan *plan = NULL;
  struct mafat_layout *layout = NULL;
  *out = (struct mafat_placing){.heap = r->options->heap};
  int code = mafat_plan_make(&plan, spec, r->network, r->n_layers, r->options, d);
  if (code == MAFAT_OK) code = mafat_layout_make(&layout, r->network, plan, d);
  if (code == MAFAT_OK) code = fill(out, layout, climbing);
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  if (code) mafat_placing_free(out);
  return code;
}

void mafat_placing_free(struct mafat_placing *p)
{
  mafat_heap_free(p->heap, p->extents);
  mafat_heap_free(p->heap, p->tensors);
  p->extents = NULL;
  p->tensors = NULL;
}
