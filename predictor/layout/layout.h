/* The bytes of a run: one list of buffers with lifetimes and offsets, made by
 * walking the schedule dry. The executor takes every pointer from this list,
 * so the prediction is the run.
 *
 * A tensor is stored as rows of channel blocks,
 *     [row][block][left + columns + right][width of the block]
 * where left and right are zero columns for the padding of its readers at the
 * true edges of the map. Row y of the map lies in slot (first_slot + y) % rows of its
 * buffer, and a buffer may hold some blocks only: whole maps, tiles, rolling windows and
 * panels are addressed alike. */
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
  int tensor;      /* whose it is: a layer or an input, the first of those that take each other's place; of I/O: -1 */
  size_t bytes;    /* multiple of 64 */
  size_t offset;   /* in the arena */
  int first, last; /* times of its life, inclusive: a step in position p runs at 2 * p, when
                      Winograd may transform its input ahead of all else, and one later */
};

struct mafat_tensor_layout {
  int buffer;        /* index, -1: the tensor does not exist in this plan */
  bool external;     /* holds the whole map */
  const struct mafat_partition *partition; /* NULL: one buffer; else one for each partition buffer (plan/parts.h), from `buffer` on */
  unsigned char element_bytes; /* of the tensor's type */
  bool of_rows;      /* partition buffers are whole rows: of `cols` and `row_bytes`, as those of one buffer */
  int rows;          /* row slots */
  int first_slot;    /* of row 0; 0 but where maps overlap in a ring (planning/in_place_rings.h) */
  int cols;          /* columns of a row, padding included */
  int left, right;   /* zero columns at the map's true edges */
  size_t row_bytes;  /* from one row slot to the next */
};

struct mafat_group_cost {
  size_t peak_bytes; /* largest sum of live buffers while the group runs */
  uint64_t macs, redundant_macs, padded_macs;
};

struct mafat_layout {
  struct mafat_heap *heap; /* the plan's */
  int n_layers;
  int picture; /* the input that pictures are decoded into */
  int n_inputs;
  struct mafat_buffer *buffers;
  int n_buffers;
  struct mafat_tensor_layout *tensors; /* [tensor] */
  struct mafat_scratch *scratch;       /* [layer]; of one in parts, of that which works in most */
  int *sums_buffers;                   /* [layer]: of whole numbers that go on from part to part, those of the first part of
                                          the map (plan/partition.h); -1: none. NULL: none has */
  int *scratch_buffers;                /* [layer]: index or -1; layers that take turns share one */
  struct mafat_parts_scratch *part_scratch; /* of split groups; NULL: there are none */
  size_t parts_bytes;                  /* of records that are there for them: of the process, beside the arena */
  int run_buffers;                     /* its first run's; the others' follow */
  int n_workers;                       /* scratch slots: the plan's threads */
  int *weights_buffers;                /* [layer]: of loaded layers, packed; -1 */
  int ring_buffer, panel_buffer, affine_buffer; /* of streamed weights (fetches.h); -1 */
  int frame_buffer;                    /* of video: where a frame lies when a run begins, the picture's; -1 */
  size_t kept_bytes;                   /* weights that are in no buffer: kept, packed */
  uint64_t bytes_read;                 /* of the weights file, in every run */
  size_t total_bytes;                  /* the arena */
  size_t most_boxes, boxes_offset;     /* that are kept, and where, once all steps are done (boxes_room.h); 0: no heads */
  int box_points;                      /* of each, which are told once it is known which are kept */
  size_t mapped_bytes;                 /* the arena, and behind it what boxes need beyond it, which no step touches */
  size_t bound_bytes;                  /* largest sum of live bytes: total can not be less */
  size_t tag_bytes[MAFAT_N_TAGS];      /* live at the peak */
  int peak_time;
  unsigned winograds;                  /* 1 << enum mafat_winograd_size, of those that layers are computed by */
  uint64_t macs, redundant_macs;       /* as direct convolution counts, whatever the algorithm */
  uint64_t padded_macs;                /* what kernels multiply: panels filled up with zeros, tiles
                                          that reach over the edge, Winograd's fewer products */
  uint64_t *layer_macs;                /* [layer], with what is computed again */
  struct mafat_group_cost *groups;     /* [group] */
};

/* MAFAT_ELIMIT when sizes overflow. */
int mafat_layout_make(struct mafat_layout **out, const struct mafat_network *n,
                      const struct mafat_plan *plan, struct mafat_diagnostic *d);
/* The same without what a search can do without. An outline has no offsets
 * (total_bytes is bound_bytes), reads are not counted and have no buffers, MACs are not
 * counted; a sketch counts reads. */
int mafat_layout_outline(struct mafat_layout **out, const struct mafat_network *n,
                         const struct mafat_plan *plan, struct mafat_diagnostic *d);
int mafat_layout_sketch(struct mafat_layout **out, const struct mafat_network *n,
                        const struct mafat_plan *plan, struct mafat_diagnostic *d);
/* What a step works in, and the buffer that is for it; -1: none. */
static inline const struct mafat_scratch *mafat_layout_scratch(const struct mafat_layout *layout, const struct mafat_step *step)
{
  return step->part < 0 ? &layout->scratch[step->layer]
                        : &layout->part_scratch->records[layout->part_scratch->record_of[step->part]];
}

static inline int mafat_layout_scratch_buffer(const struct mafat_layout *layout, const struct mafat_step *step)
{
  if (step->part < 0) return layout->scratch_buffers[step->layer];
  int run = layout->part_scratch->run_of[step->part];
  return run < 0 ? -1 : layout->run_buffers + run;
}

/* Of all buffers of a tensor. */
size_t mafat_layout_tensor_bytes(const struct mafat_layout *layout, int tensor);
void mafat_layout_close(struct mafat_layout **layout);

/* Does the picture come row by row, as layers ask for it? Else it is decoded ahead of them, or not needed. What reads
 * one of several inputs may meet others, and steps: as if it came by rows. */
static inline bool mafat_layout_takes_rows(const struct mafat_layout *layout)
{
  const struct mafat_tensor_layout *picture = &layout->tensors[layout->picture];
  return layout->n_inputs > 1 || (picture->buffer >= 0 && !picture->external);
}

/* Of the arena, from *begin to *end: where there is something before the first layer runs. The picture's map, a frame that may lie
 * there, and what is between them. */
static inline void mafat_layout_before_layers(const struct mafat_layout *layout, size_t *begin, size_t *end)
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
