#include "predictor/predict.h"

static size_t pages(size_t bytes)
{
  return bytes > SIZE_MAX - MAFAT_PAGE ? SIZE_MAX : (bytes + MAFAT_PAGE - 1) / MAFAT_PAGE * MAFAT_PAGE;
}

/* Sums that saturate: a plan beyond the address space never fits. */
static size_t plus(size_t a, size_t b)
{
  size_t sum;
  return __builtin_add_overflow(a, b, &sum) ? SIZE_MAX : sum;
}

void mafat_predict(struct mafat_prediction *p, const struct mafat_network *n,
                   const struct mafat_layout *layout, const struct mafat_surroundings *around)
{
  size_t threads = (size_t)layout->n_workers - 1;
  *p = (struct mafat_prediction){
      .process = plus(around->process_bytes, MAFAT_LATE_PAGES + threads * MAFAT_THREAD_PAGES),
      .weights = mafat_packed_bytes(n, layout->n_layers),
      .activations = layout->tag_bytes[MAFAT_TAG_ACTIVATIONS],
      .scratch = layout->tag_bytes[MAFAT_TAG_SCRATCH],
      .input = layout->tag_bytes[MAFAT_TAG_INPUT],
      .image = around->image_bytes,
      .io = around->file_bytes,
  };
  /* The decoder is gone before the first layer runs: it only meets the input. */
  int input = layout->tensors[0].buffer;
  size_t decoding = pages(plus(input < 0 ? 0 : layout->buffers[input].bytes, around->image_bytes));
  size_t arena = pages(layout->total_bytes), rest = plus(p->process, pages(p->weights));
  p->resident_bytes = plus(rest, arena);
  p->charge_bytes = plus(plus(plus(rest, arena > decoding ? arena : decoding), pages(around->file_bytes)),
                         MAFAT_GROUP_CHARGE + threads * MAFAT_THREAD_CHARGE);
}
