/* Addresses of tensor elements in the arena, from the layout's offsets. A tensor has either one
 * buffer, in which rows may be slots of a ring, or partition buffers, each for a box and channels
 * of the map (predictor/plan/partition.h). `block` is the index of a channel block, and a lane the
 * index of a channel in its block. Allocates nothing. Included by runner/engine/kinds/kind.h. */
#ifndef MAFAT_RUNNER_ENGINE_TENSORS_H
#define MAFAT_RUNNER_ENGINE_TENSORS_H

#include "predictor/layout/layout.h"
#include "predictor/plan/partition.h"

/* Part of a tensor that its single buffer holds at the moment. */
struct mafat_held {
  struct mafat_box box;
  int first_block; /* channel block at which the buffer begins */
};

struct mafat_tensors {
  const struct mafat_network *network;
  const struct mafat_layout *layout;
  char *arena;             /* beginning of the arena's memory */
  struct mafat_held *held; /* [tensor] */
};

/* True if the tensor has memory. Outputs that no layer reads have none. */
static inline bool mafat_tensors_has(const struct mafat_tensors *t, int tensor)
{
  return t->layout->tensors[tensor].buffer >= 0;
}

/* Returns the slot of row y in a tensor with one buffer. */
static inline int mafat_tensors_slot(const struct mafat_tensor_layout *l, int y)
{
  int slot = l->first_slot + y;
  return slot < l->rows ? slot : slot % l->rows;
}

/* For a tensor with one buffer: mafat_tensors_row returns the address of row y, and
 * mafat_tensors_offset the bytes from a row's address to the first lane of `block` at column x. */
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

/* Part of a buffer that contains a given element. In it rows are row_bytes apart, pixels
 * pixel_bytes apart, and channels of a block contiguous. In a partition buffer it is the whole
 * buffer; in a single buffer the rows from the element's row to the buffer's end. */
struct mafat_row_view {
  char *at; /* address of the element */
  size_t row_bytes, pixel_bytes; /* bytes from a row to the next, from a column to the next */
  struct mafat_box box;       /* rows and columns in the view */
  struct mafat_span channels; /* channels in the view */
};

/* Returns the view around an element of any tensor. */
struct mafat_row_view mafat_tensors_row_view(const struct mafat_tensors *t, int tensor, int channel,
                                             int y, int x);

/* For partition buffers of whole rows: returns the address of row y. *rows: rows of the partition
 * buffer that has row y. */
static inline char *mafat_tensors_row_in_partition(const struct mafat_tensors *t,
                                                   const struct mafat_tensor_layout *l, int y,
                                                   struct mafat_span *rows)
{
  int part = mafat_partition_index(l->partition, MAFAT_ALONG_H, y);
  *rows = mafat_partition_part(l->partition, MAFAT_ALONG_H, part, l->rows);
  return t->arena + t->layout->buffers[l->buffer + part].offset +
         (size_t)(y - rows->begin) * l->row_bytes;
}

/* For partition buffers of whole rows: returns the bytes from the beginning of a row to a channel
 * at column x. */
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

/* Returns the address of an element of a tensor with partition buffers. */
char *mafat_tensors_in_partition(const struct mafat_tensors *t, int tensor, int channel, int y,
                                 int x);

/* Returns the address of the first lane of `block` at pixel (y, x), which the buffer must hold. x
 * may be in the zero columns that the buffer has at the left or right edge of the map. */
static inline char *mafat_tensors_address(const struct mafat_tensors *t, int tensor, int block,
                                          int y, int x)
{
  if (t->layout->tensors[tensor].partition)
    return mafat_tensors_in_partition(t, tensor, block * MAFAT_CHANNEL_BLOCK, y, x);
  return mafat_tensors_row(t, tensor, y) + mafat_tensors_offset(t, tensor, block, x);
}

/* Returns the bytes from a column to the next in a channel block. */
static inline size_t mafat_tensors_pixel_bytes(const struct mafat_tensors *t, int tensor, int block)
{
  const struct mafat_tensor_layout *l = &t->layout->tensors[tensor];
  int lanes = l->partition ? l->partition->lanes : 0; /* > 0: buffers hold a part of a block */
  return (size_t)(lanes ? lanes
                        : mafat_block_width(mafat_network_tensor_shape(t->network, tensor).c,
                                            block)) *
         l->element_bytes;
}

/* Sets *bytes to the distance from channel `other` to `channel` at column x, which is the same in
 * every row. False: the distance may differ between partition buffers. */
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

/* Returns the address of a channel of a pixel. The channels of its block that the buffer holds are
 * contiguous. */
static inline char *mafat_tensors_lane(const struct mafat_tensors *t, int tensor, int channel,
                                       int y, int x)
{
  const struct mafat_tensor_layout *l = &t->layout->tensors[tensor];
  if (l->partition) return mafat_tensors_in_partition(t, tensor, channel, y, x);
  return mafat_tensors_address(t, tensor, channel / MAFAT_CHANNEL_BLOCK, y, x) +
         (size_t)(channel % MAFAT_CHANNEL_BLOCK) * l->element_bytes;
}

/* ---- tensors of floats: as mafat_tensors_address, _pixel_bytes and _lane ---- */

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

/* Iterates over the rows of a channel at one column, without a division for each row. */
struct mafat_tensor_rows {
  char *row; /* address of the channel in the next row */
  size_t row_bytes;
  int slot, n_slots; /* single buffer: slot of the next row, and number of slots; partition buffers:
                        y of the next row, and the end of the current buffer's rows */
  const struct mafat_tensors *tensors; /* NULL: the tensor has a single buffer */
  int tensor, channel, x;              /* set only for partition buffers */
};

/* Starts iterating at row y, for any element type. */
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

/* Called when slot is n_slots: returns to the buffer's first slot, or goes to the next partition
 * buffer. */
void mafat_tensor_rows_turn(struct mafat_tensor_rows *r);

/* Returns the address of the channel in the next row. */
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

/* Returns the address of a channel of source number `source` of an operand, at row y and column x.
 * If the operand joins tensors along rows (bands), `channel` is a channel of the first band's
 * tensor, even if row y is in another band. */
static inline float *mafat_tensors_read(const struct mafat_tensors *t,
                                        const struct mafat_sources *sources, int source,
                                        int channel, int y, int x)
{
  const struct mafat_source *s = mafat_sources_at(sources, source, &y);
  return mafat_tensors_element(t, s->tensor, channel - sources->list[source].first + s->first, y,
                               x);
}

/* Returns the address of element (c, y, x) of the concatenated sources. */
static inline float *mafat_tensors_source_at(const struct mafat_tensors *t,
                                             const struct mafat_sources *sources, int c, int y,
                                             int x)
{
  int i = 0;
  for (; c >= sources->list[i].n; i++) c -= sources->list[i].n;
  return mafat_tensors_read(t, sources, i, sources->list[i].first + c, y, x);
}

/* Returns element (c, y, x) of the concatenated sources, of any type, dequantized. */
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
  int tensor, block, lane;   /* first channel, in the tensor of the source's first band */
  int out_block, out_lane;   /* first channel in the output */
  int n;
  int source;                /* number of the source in its band */
};

/* Iterates over the runs of output channels. */
struct mafat_runs {
  const struct mafat_sources *sources;
  int source, taken; /* next source, and number of its channels that are done */
  int channel, end;  /* next output channel, and the end of the output channels */
};

/* Starts iterating over the runs of these output channels. */
struct mafat_runs mafat_runs_of(const struct mafat_sources *sources, struct mafat_span channels);
/* Gets the next run. False: there is none. */
bool mafat_runs_next(struct mafat_runs *runs, struct mafat_run *run);

/* Returns the address of a run's first channel, at row y and column x of the operand with these
 * sources. The tensors have floats. */
static inline float *mafat_runs_read(const struct mafat_tensors *t,
                                     const struct mafat_sources *sources,
                                     const struct mafat_run *run, int y, int x)
{
  return mafat_tensors_read(t, sources, run->source, run->block * MAFAT_CHANNEL_BLOCK + run->lane,
                            y, x);
}

/* Returns the same address for tensors of 8-bit integers. */
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

/* Copies the concatenated sources, dequantized, to `flat` in CHW order. `shape` is the shape of the
 * concatenation. */
void mafat_tensors_flatten(const struct mafat_tensors *t, const struct mafat_sources *sources,
                           struct mafat_shape shape, float *flat);
/* Copies elements [first, first + n) of a view of the sources, dequantized, in row-major order. */
void mafat_tensors_read_view(const struct mafat_tensors *t, const struct mafat_sources *sources,
                             const struct mafat_view *view, long long first, long long n,
                             float *out);
/* Copies a whole map in CHW order to a tensor. Quantizes the values if the tensor is quantized. */
void mafat_tensors_unflatten(const struct mafat_tensors *t, int tensor, struct mafat_shape shape,
                             const float *flat);

#endif
