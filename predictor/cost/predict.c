/* Predicts the memory that a run is charged for (predict.h), as a sum over the plan's layout and
 * the process footprint. Called by api/ and search/common/front.c. Touches only its arguments. */
#include "predictor/cost/predict.h"

#include "predictor/plan/boxes_room.h"

#include <stdio.h>

const char *mafat_tag_name(enum mafat_tag tag)
{
  static const char *const names[MAFAT_N_TAGS] = {
#define TAG(CONSTANT, name) [MAFAT_TAG_##CONSTANT] = name,
#include "base/tags.def"
  };
  return (unsigned)tag < MAFAT_N_TAGS ? names[tag] : "unknown";
}

/* Rounds bytes up to whole pages; returns SIZE_MAX if that would overflow. */
static size_t pages(size_t bytes)
{
  return bytes > SIZE_MAX - MAFAT_PAGE ? SIZE_MAX
                                       : (bytes + MAFAT_PAGE - 1) / MAFAT_PAGE * MAFAT_PAGE;
}

/* Returns a + b, or SIZE_MAX on overflow: a plan larger than the address space never fits. */
static size_t plus(size_t a, size_t b)
{
  size_t sum;
  return __builtin_add_overflow(a, b, &sum) ? SIZE_MAX : sum;
}

/* Largest buffer that is alive at the arena's peak, or the kept weights if these are larger. */
static struct mafat_peak find_peak(const struct mafat_layout *layout)
{
  struct mafat_peak peak = {
      .tag = MAFAT_TAG_WEIGHTS, .kept = true, .layer = -1, .bytes = layout->kept_bytes};
  for (int i = 0; i < layout->n_buffers; i++) {
    const struct mafat_buffer *b = &layout->buffers[i];
    if (b->first > layout->peak_time || b->last < layout->peak_time || b->bytes <= peak.bytes)
      continue;
    peak = (struct mafat_peak){.tag = b->tag, .layer = b->tensor, .bytes = b->bytes};
  }
  return peak;
}

bool mafat_predict_holds(size_t predicted_bytes, size_t measured_bytes)
{
  return predicted_bytes >= measured_bytes &&
         predicted_bytes - measured_bytes <= measured_bytes / 50 + MAFAT_PREDICT_SLACK;
}

/* Kernel memory of a process with this many resident bytes. */
static size_t kernel_bytes(size_t resident_bytes)
{
  return plus(MAFAT_KERNEL_BYTES + MAFAT_PAGE_TABLES, pages(resident_bytes / MAFAT_PAGE_TABLE));
}

size_t mafat_predict_opening(const struct mafat_footprint *footprint)
{
  size_t more = footprint->reading_bytes > footprint->heap_bytes ? footprint->reading_bytes
                                                                 : footprint->heap_bytes;
  size_t most = plus(footprint->opening_bytes, more);
  if (most < footprint->program_bytes) most = footprint->program_bytes;
  size_t own = plus(most, kernel_bytes(most));
  return plus(own, plus(footprint->reserve_bytes, MAFAT_CHARGE_AHEAD));
}

/* Code of the Winograd sizes that the plan uses. */
static size_t winograd_bytes(const struct mafat_layout *layout,
                             const struct mafat_footprint *footprint)
{
  size_t sum = 0;
  for (int i = 0; i < MAFAT_N_WINOGRADS; i++)
    sum += layout->winograds >> i & 1 ? footprint->winograd_bytes[i] : 0;
  return sum;
}

void mafat_predict(struct mafat_prediction *p, const struct mafat_layout *layout,
                   const struct mafat_footprint *footprint)
{
  size_t threads = (size_t)layout->n_workers - 1;
  *p = (struct mafat_prediction){
      .process = plus(footprint->process_bytes, footprint->late_bytes + footprint->decoder_bytes +
                                                    winograd_bytes(layout, footprint) +
                                                    pages(layout->parts_bytes)),
      .threads = threads * (MAFAT_THREAD_PAGES + pages(footprint->stack_bytes)),
      .weights = plus(layout->kept_bytes, layout->tag_bytes[MAFAT_TAG_WEIGHTS]),
      .activations = layout->tag_bytes[MAFAT_TAG_ACTIVATIONS],
      .scratch = layout->tag_bytes[MAFAT_TAG_SCRATCH],
      .input = layout->tag_bytes[MAFAT_TAG_INPUT],
      .image = plus(footprint->image_bytes, plus(footprint->floats_bytes, footprint->frames_bytes)),
      .io = plus(layout->tag_bytes[MAFAT_TAG_IO], footprint->file_bytes),
      .reserve = footprint->reserve_bytes,
  };
  p->peak = find_peak(layout);
  size_t own = pages(layout->total_bytes), shared = pages(footprint->arena_bytes);
  size_t arena = own > shared ? own : shared,
         rest = plus(plus(p->process, p->threads), pages(layout->kept_bytes));
  rest = plus(rest, pages(footprint->frames_bytes));
  /* With video, the boxes' memory past the arena's end stays resident from frame to frame. */
  if (layout->frame_buffer >= 0)
    rest = plus(rest, pages(layout->mapped_bytes - layout->total_bytes));
  /* A picture that is decoded row by row is decoded while layers run. Others are decoded before the
   * first layer, when only the input and a frame are in use. */
  size_t first, end;
  mafat_layout_before_layers(layout, &first, &end);
  if (!mafat_layout_takes_rows(layout)) rest = plus(rest, pages(footprint->floats_bytes));
  size_t decoding = mafat_layout_takes_rows(layout)
                        ? plus(arena, plus(plus(footprint->image_bytes, footprint->floats_bytes),
                                           footprint->turned_bytes))
                        : plus(end - first, footprint->image_bytes);
  decoding = pages(decoding);
  p->resident_bytes = plus(rest, arena);
  p->kernel = plus(kernel_bytes(p->resident_bytes), threads * MAFAT_THREAD_CHARGE);
  size_t user = plus(plus(rest, arena > decoding ? arena : decoding), pages(footprint->file_bytes));
  size_t late = pages(mafat_boxes_late_bytes(layout->most_boxes, layout->box_points,
                                             layout->mapped_bytes - layout->total_bytes));
  size_t running = plus(plus(plus(user, late), p->kernel), plus(p->reserve, MAFAT_CHARGE_AHEAD));
  size_t opening = mafat_predict_opening(footprint);
  p->charge_bytes = running > opening ? running : opening;
}

size_t mafat_predict_charge_with(size_t charge_bytes, size_t resident_bytes, size_t more_bytes)
{
  size_t tables = pages(plus(resident_bytes, more_bytes) / MAFAT_PAGE_TABLE) -
                  pages(resident_bytes / MAFAT_PAGE_TABLE);
  return plus(charge_bytes, plus(more_bytes, tables));
}
