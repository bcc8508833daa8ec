/* A layout: the list of all buffers of a run, with lifetimes, and offsets in one arena. It is made
 * by a walk over the schedule that computes nothing. The executor gets every pointer into the arena
 * from this list, so a run uses exactly the predicted bytes. Layouts are allocated in the plan's
 * heap. Used by predictor/, search/, runner/ and api/.
 *
 * A tensor is stored as rows of channel blocks,
 *   [row][block][left + columns + right][width of the block]
 * where left and right are zero columns: the readers' padding at the edges of the whole map. A
 * buffer may hold only some rows, columns or blocks of the map. It has `rows` row slots, and row y
 * of the map is in slot (first_slot + y) % rows. */
#ifndef MAFAT_PREDICTOR_LAYOUT_H
#define MAFAT_PREDICTOR_LAYOUT_H

#include "predictor/plan/packing.h"
#include "predictor/schedule/parts_scratch.h"
#include "predictor/plan/plan.h"
#include "predictor/schedule/schedule.h"
#include "predictor/schedule/scratch.h"

enum mafat_tag {
#define TAG(CONSTANT, name) MAFAT_TAG_##CONSTANT,
#include "base/tags.def"
  MAFAT_N_TAGS
};

struct mafat_buffer {
  enum mafat_tag tag;
  int tensor;      /* owner: a tensor, or for weights and scratch a layer; the first of those that
                      share the buffer; -1 for I/O */
  size_t bytes;    /* multiple of 64 */
  size_t offset;   /* in the arena */
  int first, last; /* lifetime, inclusive; first > last: never used. The step at position p of the
                      order runs at time 2 * p + 1; a separate Winograd input transform at 2 * p */
};

struct mafat_tensor_layout {
  int buffer;        /* index of its buffer; -1: the tensor does not exist in this plan */
  bool external;     /* holds the whole map */
  const struct mafat_partition *partition; /* NULL: one buffer; else one for each partition buffer
                                              (plan/partition.h), from `buffer` on */
  unsigned char element_bytes; /* size of an element */
  bool of_rows;      /* each partition buffer is a range of whole rows with all channels, stored as
                        in a map with the `cols` and `row_bytes` below */
  int rows;          /* row slots */
  int first_slot;    /* slot of row 0; other than 0 only in an in-place ring
                        (planning/in_place_rings.h) */
  int cols;          /* columns of a row, padding included */
  int left, right;   /* columns of zeros at the edges of the whole map */
  size_t row_bytes;  /* distance between row slots */
};

struct mafat_group_cost {
  size_t peak_bytes; /* largest sum of live buffers while the group runs */
  uint64_t macs, redundant_macs, padded_macs; /* as in struct mafat_layout */
};

struct mafat_layout {
  struct mafat_heap *heap; /* the plan's heap */
  int n_layers;
  int picture; /* tensor of the input into which pictures are decoded */
  int n_inputs;
  struct mafat_buffer *buffers;
  int n_buffers;
  struct mafat_tensor_layout *tensors; /* [tensor] */
  struct mafat_scratch *scratch;       /* [layer]; of a layer in parts: that of its largest part */
  int *sums_buffers;                   /* [layer]: first of the buffers that hold integer sums
                                          between channel parts (plan/partition.h); -1: none. NULL:
                                          the plan has no parts */
  int *scratch_buffers;                /* [layer]: index of its scratch; -1: none */
  struct mafat_parts_scratch *part_scratch; /* scratch of parts; NULL: the plan has no parts */
  size_t parts_bytes;                  /* records of parts on the heap, which belong to the process
                                          footprint */
  int run_buffers;                     /* scratch buffer of the first run of parts
                                          (parts_scratch.h); the others follow */
  int n_workers; /* number of threads; each has a slot of its own in scratch */
  int *weights_buffers;                /* [layer]: buffer of packed weights, if loaded; else -1 */
  int ring_buffer, panel_buffer, affine_buffer; /* for streamed weights (fetches.h); -1: none */
  int frame_buffer;                    /* video: holds the frame when a run begins; -1: none */
  size_t kept_bytes;                   /* kept weights, which are outside the arena */
  uint64_t bytes_read;                 /* bytes that each run reads from the weights file */
  size_t total_bytes;                  /* size of the arena */
  size_t most_boxes, boxes_offset;     /* capacity for boxes, and its offset in the arena after all
                                          steps (boxes_room.h); 0: no heads */
  int box_points;                      /* points that are returned with each box (network.h) */
  size_t mapped_bytes;                 /* arena, plus the memory for boxes past its end, which no
                                          step touches */
  size_t bound_bytes;                  /* largest sum of live bytes: a lower bound of total_bytes */
  size_t tag_bytes[MAFAT_N_TAGS];      /* [tag]: bytes alive at peak_time */
  int peak_time;                       /* first time with bound_bytes alive */
  unsigned winograds;                  /* bit set of 1 << enum mafat_winograd_size: Winograd sizes
                                          in use */
  uint64_t macs, redundant_macs;       /* multiplications as if all convolutions were direct;
                                          redundant: of outputs computed again by other tiles */
  uint64_t padded_macs;                /* multiplications in kernels, with the zeros in panels and
                                          in tiles past the map's edge; fewer with Winograd */
  uint64_t *layer_macs;                /* [layer]: its part of macs */
  struct mafat_group_cost *groups;     /* [group] */
};

/* Makes the layout of a plan. Returns MAFAT_ELIMIT when sizes overflow, or MAFAT_ENOMEM; *out is
 * then NULL. The caller closes it, before the plan's heap. */
int mafat_layout_make(struct mafat_layout **out, const struct mafat_network *n,
                      const struct mafat_plan *plan, struct mafat_diagnostic *d);
/* Reduced layouts for searches, without offsets and MACs; total_bytes is bound_bytes. An outline
 * also omits the buffers for reading weights and the memory for boxes. */
int mafat_layout_outline(struct mafat_layout **out, const struct mafat_network *n,
                         const struct mafat_plan *plan, struct mafat_diagnostic *d);
int mafat_layout_sketch(struct mafat_layout **out, const struct mafat_network *n,
                        const struct mafat_plan *plan, struct mafat_diagnostic *d);
/* Scratch record of a step. */
static inline const struct mafat_scratch *mafat_layout_scratch(const struct mafat_layout *layout,
                                                               const struct mafat_step *step)
{
  return step->part < 0
             ? &layout->scratch[step->layer]
             : &layout->part_scratch->records[layout->part_scratch->record_of[step->part]];
}

/* Scratch buffer of a step; -1: none. */
static inline int mafat_layout_scratch_buffer(const struct mafat_layout *layout,
                                              const struct mafat_step *step)
{
  if (step->part < 0) return layout->scratch_buffers[step->layer];
  int run = layout->part_scratch->run_of[step->part];
  return run < 0 ? -1 : layout->run_buffers + run;
}

/* Bytes of all buffers of a tensor. */
size_t mafat_layout_tensor_bytes(const struct mafat_layout *layout, int tensor);
void mafat_layout_close(struct mafat_layout **layout);

/* True if the picture may be decoded while layers run: row by row, as layers read it, or between
 * the reads of several inputs. False if it is decoded before all layers, or not needed. */
static inline bool mafat_layout_takes_rows(const struct mafat_layout *layout)
{
  const struct mafat_tensor_layout *picture = &layout->tensors[layout->picture];
  return layout->n_inputs > 1 || (picture->buffer >= 0 && !picture->external);
}

/* Returns the range of the arena, in bytes, that is in use before the first layer runs: the
 * picture's map, a video frame, and the gap between them. */
static inline void mafat_layout_before_layers(const struct mafat_layout *layout, size_t *begin,
                                              size_t *end)
{
  const int buffers[] = {layout->tensors[layout->picture].buffer, layout->frame_buffer};
  *begin = *end = 0;
  for (int i = 0, n = 0; i < 2; i++) {
    if (buffers[i] < 0) continue;
    const struct mafat_buffer *b = &layout->buffers[buffers[i]];
    if (n++ == 0 || b->offset < *begin) *begin = b->offset;
    if (b->offset + b->bytes > *end) *end = b->offset + b->bytes;
  }
}

#endif
