/* Addresses of tensor elements in the arena, from the layout's offsets. For the executor and the
 * kinds of layers only. `block` is a channel block. Allocates nothing. Included by
 * runner/engine/kinds/kind.h. */
#ifndef MAFAT_RUNNER_ENGINE_TENSORS_H
#define MAFAT_RUNNER_ENGINE_TENSORS_H

#include "predictor/layout/layout.h"
#include "predictor/plan/partition.h"

/* Part of a tensor that its buffer holds at the moment. */
struct mafat_held {
  struct mafat_box box;
  int first_block; /* first block of its channels */
};

struct mafat_tensors {
  const struct mafat_network *network;
  const struct mafat_layout *layout;
  char *arena;
  struct mafat_held *held; /* [tensor] */
};

/* True if the tensor has memory. Outputs that no layer reads have none. */
static inline bool mafat_tensors_has(const struct mafat_tensors *t, int tensor)
{
  return t->layout->tensors[tensor].buffer >= 0;
}

/* Slot of a row, in a tensor with one buffer. */
static inline int mafat_tensors_slot(const struct mafat_tensor_layout *l, int y)
{
  int slot = l->first_slot + y;
  return slot < l->rows ? slot : slot % l->rows;
}

/* In a tensor with one buffer: address of row y, and bytes from a row's address to the first lane
 * of `block` at column x. */
static inline char *mafat_tensors_row(const struct mafat_tensors *t, int tensor, int y)
{
  const struct mafat_tensor_layout *l = &t->layout->tensors[tensor];
  return t->arena + t->layout->buffers[l->buffer].offset +
         (size_t)mafat_tensors_slot(l, y) * l->row_bytes;
}

static inline size_t mafat_tensors_offset(const struct mafat_tensors *t, int tensor, int block,
                                          int x)
{
  const struct mafat_tensor_layout *l = &t->layout->tensors[tensor];
  const struct mafat_held *h = &t->held[tensor];
  struct mafat_span held = h->box.x;
  int channels = mafat_network_tensor_shape(t->network, tensor).c;
  size_t column = (size_t)(x - held.begin + (held.begin == 0 ? l->left : 0));
  size_t elements = (size_t)(block - h->first_block) * MAFAT_CHANNEL_BLOCK * (size_t)l->cols +
                    column * (size_t)mafat_block_width(channels, block);
  return elements * l->element_bytes;
}

/* View of the part of a buffer around one element, in which rows and pixels have equal distances
 * and channels of a block are contiguous. In a partition buffer it is the whole buffer; in a single
 * buffer the rows from y to the buffer's end. */
struct mafat_row_view {
  char *at; /* address of the element */
  size_t row_bytes, pixel_bytes;
  struct mafat_box box;       /* rows and columns in the view */
  struct mafat_span channels; /* channels in the view */
};

struct mafat_row_view mafat_tensors_row_view(const struct mafat_tensors *t, int tensor, int channel,
                                             int y, int x);

/* For partition buffers of whole rows: address of row y. *rows: rows of its partition buffer. */
static inline char *mafat_tensors_row_in_partition(const struct mafat_tensors *t,
                                                   const struct mafat_tensor_layout *l, int y,
                                                   struct mafat_span *rows)
{
  int part = mafat_partition_index(l->partition, MAFAT_ALONG_H, y);
  *rows = mafat_partition_part(l->partition, MAFAT_ALONG_H, part, l->rows);
  return t->arena + t->layout->buffers[l->buffer + part].offset +
         (size_t)(y - rows->begin) * l->row_bytes;
}

/* For partition buffers of whole rows: bytes from the beginning of a row to a channel at column
 * x. */
static inline size_t mafat_tensors_offset_in_row(const struct mafat_tensors *t, int tensor,
                                                 const struct mafat_tensor_layout *l, int channel,
                                                 int x)
{
  int block = channel / MAFAT_CHANNEL_BLOCK,
      width = mafat_block_width(mafat_network_tensor_shape(t->network, tensor).c, block);
  size_t elements = (size_t)(block * MAFAT_CHANNEL_BLOCK) * (size_t)l->cols +
                    (size_t)((x + l->left) * width + channel % MAFAT_CHANNEL_BLOCK);
  return elements * l->element_bytes;
}

/* Address of an element of a tensor with partition buffers. */
char *mafat_tensors_in_partition(const struct mafat_tensors *t, int tensor, int channel, int y,
                                 int x);

/* Address of the first lane of `block` at pixel (y, x), which the buffer must hold. x may be in the
 * zero columns at a true edge of the map. */
static inline char *mafat_tensors_address(const struct mafat_tensors *t, int tensor, int block,
                                          int y, int x)
{
  if (t->layout->tensors[tensor].partition)
    return mafat_tensors_in_partition(t, tensor, block * MAFAT_CHANNEL_BLOCK, y, x);
  return mafat_tensors_row(t, tensor, y) + mafat_tensors_offset(t, tensor, block, x);
}

/* Bytes between pixels of a block. */
static inline size_t mafat_tensors_pixel_bytes(const struct mafat_tensors *t, int tensor, int block)
{
  const struct mafat_tensor_layout *l = &t->layout->tensors[tensor];
  int lanes = l->partition ? l->partition->lanes : 0; /* > 0: buffers hold a part of a block */
  return (size_t)(lanes ? lanes
                        : mafat_block_width(mafat_network_tensor_shape(t->network, tensor).c,
                                            block)) *
         l->element_bytes;
}

/* Finds the bytes from channel `other` to `channel` at column x, the same in every row. False: the
 * distance differs between partition buffers. */
static inline bool mafat_tensors_apart(const struct mafat_tensors *t, int tensor, int channel,
                                       int other, int x, ptrdiff_t *bytes)
{
  const struct mafat_tensor_layout *l = &t->layout->tensors[tensor];
  if (l->partition && !l->of_rows) return false;
  int column =
      x + l->left -
      (l->partition || t->held[tensor].box.x.begin == 0 ? 0
                                                        : t->held[tensor].box.x.begin + l->left);
  int channels = mafat_network_tensor_shape(t->network, tensor).c;
  int block = channel / MAFAT_CHANNEL_BLOCK, of_other = other / MAFAT_CHANNEL_BLOCK;
  ptrdiff_t elements = (ptrdiff_t)(block - of_other) * MAFAT_CHANNEL_BLOCK * l->cols +
                       channel % MAFAT_CHANNEL_BLOCK - other % MAFAT_CHANNEL_BLOCK;
  if (block != of_other)
    elements += (ptrdiff_t)column *
                (mafat_block_width(channels, block) - mafat_block_width(channels, of_other));
  *bytes = elements * l->element_bytes;
  return true;
}

/* Address of a channel of a pixel. The channels of its block that are held are contiguous. */
static inline char *mafat_tensors_lane(const struct mafat_tensors *t, int tensor, int channel,
                                       int y, int x)
{
  const struct mafat_tensor_layout *l = &t->layout->tensors[tensor];
  if (l->partition) return mafat_tensors_in_partition(t, tensor, channel, y, x);
  return mafat_tensors_address(t, tensor, channel / MAFAT_CHANNEL_BLOCK, y, x) +
         (size_t)(channel % MAFAT_CHANNEL_BLOCK) * l->element_bytes;
}

/* ---- tensors of floats ---- */

static inline float *mafat_tensors_pixel(const struct mafat_tensors *t, int tensor, int block,
                                         int y, int x)
{
  return (float *)mafat_tensors_address(t, tensor, block, y, x);
}

static inline int mafat_tensors_pixel_floats(const struct mafat_tensors *t, int tensor, int block)
{
  const struct mafat_partition *partition = t->layout->tensors[tensor].partition;
  int lanes = partition ? partition->lanes : 0;
  return lanes ? lanes : mafat_block_width(mafat_network_tensor_shape(t->network, tensor).c, block);
}

static inline float *mafat_tensors_element(const struct mafat_tensors *t, int tensor, int c, int y,
                                           int x)
{
  return (float *)(void *)mafat_tensors_lane(t, tensor, c, y, x);
}

/* Walk over the rows of a channel at one column, without a division for each row. */
struct mafat_tensor_rows {
  char *row; /* next row */
  size_t row_bytes;
  int slot, n_slots; /* slot of the next row, and where slots wrap; with partition buffers: y of the
                        next row, and the end of the current buffer's rows */
  const struct mafat_tensors *tensors; /* NULL: the tensor has a single buffer */
  int tensor, channel, x;              /* set with partition buffers only */
};

/* Starts a walk at row y, for any element type. */
static inline struct mafat_tensor_rows mafat_tensors_rows(const struct mafat_tensors *t, int tensor,
                                                          int c, int y, int x)
{
  const struct mafat_tensor_layout *l = &t->layout->tensors[tensor];
  if (l->partition)
    return (struct mafat_tensor_rows){
        .tensors = t, .tensor = tensor, .channel = c, .slot = y, .n_slots = y, .x = x};
  char *row = mafat_tensors_address(t, tensor, c / MAFAT_CHANNEL_BLOCK, y, x) +
              (size_t)(c % MAFAT_CHANNEL_BLOCK) * l->element_bytes;
  return (struct mafat_tensor_rows){
      .row = row, .row_bytes = l->row_bytes, .slot = mafat_tensors_slot(l, y), .n_slots = l->rows};
}

/* Called when slot is n_slots: wraps to the buffer's first slot, or finds the next partition
 * buffer. */
void mafat_tensor_rows_turn(struct mafat_tensor_rows *r);

static inline char *mafat_tensor_rows_next_bytes(struct mafat_tensor_rows *r)
{
  if (r->slot == r->n_slots) mafat_tensor_rows_turn(r);
  char *row = r->row;
  r->row += r->row_bytes;
  r->slot++;
  return row;
}

static inline float *mafat_tensor_rows_next(struct mafat_tensor_rows *r)
{
  return (float *)(void *)mafat_tensor_rows_next_bytes(r);
}

/* Address of a channel of source number `source` of an operand at row y, column x. `channel` is a
 * channel of the first band's tensor, also if row y is in another band. */
static inline float *mafat_tensors_read(const struct mafat_tensors *t,
                                        const struct mafat_sources *sources, int source,
                                        int channel, int y, int x)
{
  const struct mafat_source *s = mafat_sources_at(sources, source, &y);
  return mafat_tensors_element(t, s->tensor, channel - sources->list[source].first + s->first, y,
                               x);
}

/* Address of element (c, y, x) of the concatenated sources. */
static inline float *mafat_tensors_source_at(const struct mafat_tensors *t,
                                             const struct mafat_sources *sources, int c, int y,
                                             int x)
{
  int i = 0;
  for (; c >= sources->list[i].n; i++) c -= sources->list[i].n;
  return mafat_tensors_read(t, sources, i, sources->list[i].first + c, y, x);
}

/* Value of an element of any type, dequantized. */
static inline float mafat_tensors_value(const struct mafat_tensors *t,
                                        const struct mafat_sources *sources, int c, int y, int x)
{
  int i = 0;
  for (; c >= sources->list[i].n; i++) c -= sources->list[i].n;
  const struct mafat_source *s = mafat_sources_at(sources, i, &y);
  int channel = c + s->first, tensor = s->tensor;
  const char *pixel = mafat_tensors_address(t, tensor, channel / MAFAT_CHANNEL_BLOCK, y, x);
  if (mafat_network_tensor_type(t->network, tensor) == MAFAT_F32)
    return ((const float *)(const void *)pixel)[channel % MAFAT_CHANNEL_BLOCK];
  const struct mafat_quantization *q = mafat_network_tensor_quantization(t->network, tensor);
  int number = ((const unsigned char *)pixel)[channel % MAFAT_CHANNEL_BLOCK];
  return (float)((double)q->scale * (number - q->zero));
}

/* ---- runs of channels ---- */

/* n channels that are contiguous in one block of a source and in one block of the output. Kernels
 * that work on each channel separately process them together. */
struct mafat_run {
  int tensor, block, lane;   /* first channel, in the source's first band */
  int out_block, out_lane;
  int n;
  int source;                /* index in the band */
};

/* Iterates over the runs of output channels [begin, end). */
struct mafat_runs {
  const struct mafat_sources *sources;
  int source, taken; /* position: source, and channels of it already done */
  int channel, end;  /* output channel */
};

struct mafat_runs mafat_runs_of(const struct mafat_sources *sources, struct mafat_span channels);
bool mafat_runs_next(struct mafat_runs *runs, struct mafat_run *run);

/* Address of a run's first channel at row y, column x of the operand with these sources. */
static inline float *mafat_runs_read(const struct mafat_tensors *t,
                                     const struct mafat_sources *sources,
                                     const struct mafat_run *run, int y, int x)
{
  return mafat_tensors_read(t, sources, run->source, run->block * MAFAT_CHANNEL_BLOCK + run->lane,
                            y, x);
}

/* The same for 8-bit tensors. */
static inline const unsigned char *mafat_runs_read_bytes(const struct mafat_tensors *t,
                                                         const struct mafat_sources *sources,
                                                         const struct mafat_run *run, int y, int x)
{
  const struct mafat_source *s = mafat_sources_at(sources, run->source, &y);
  int channel =
      run->block * MAFAT_CHANNEL_BLOCK + run->lane - sources->list[run->source].first + s->first;
  const char *pixel = mafat_tensors_address(t, s->tensor, channel / MAFAT_CHANNEL_BLOCK, y, x);
  return (const unsigned char *)pixel + channel % MAFAT_CHANNEL_BLOCK;
}

/* Copies the concatenated sources, dequantized, to CHW order. `shape` is their common shape. */
void mafat_tensors_flatten(const struct mafat_tensors *t, const struct mafat_sources *sources,
                           struct mafat_shape shape, float *flat);
/* Copies elements [first, first + n) of a view of the sources, dequantized, in row-major order. */
void mafat_tensors_read_view(const struct mafat_tensors *t, const struct mafat_sources *sources,
                             const struct mafat_view *view, long long first, long long n,
                             float *out);
/* Copies a whole map in CHW order to a tensor, quantized if the tensor is. */
void mafat_tensors_unflatten(const struct mafat_tensors *t, int tensor, struct mafat_shape shape,
                             const float *flat);

#endif
