#include "predictor/scratch.h"

#include "predictor/packing.h"

#include <stdint.h>
#include <string.h>

static int at_least(int n, int least)
{
  return n > least ? n : least;
}

/* Output rows per kernel call: as many as keep the pointer table and the
 * input (256 channels at a time) small. */
static int choose_rows(const struct mafat_layer *l, int n_pieces, int rows, int cols)
{
  long long in_cols = (long long)(cols - 1) * l->stride + l->size;
  long long row_bytes = in_cols * mafat_min(l->in.c / l->groups, 256) * 4;
  int by_cache = at_least((int)(MAFAT_SCRATCH_INPUT_BYTES / row_bytes) / l->stride, 4);
  int by_pointers = (MAFAT_SCRATCH_POINTERS / n_pieces - l->size) / l->stride + 1;
  return mafat_min(rows, at_least(mafat_min(by_cache, by_pointers), 1));
}

/* Appends n objects of `size` bytes to a part of the scratch, aligned to 64;
 * false on overflow. */
static bool append(size_t *part_bytes, size_t *offset, size_t n, size_t size)
{
  size_t bytes;
  *offset = *part_bytes;
  if (__builtin_mul_overflow(n, size, &bytes) || __builtin_add_overflow(bytes, (size_t)63, &bytes))
    return false;
  return !__builtin_add_overflow(*part_bytes, bytes / 64 * 64, part_bytes);
}

/* What a kernel call reads its arguments from: pieces, row pointers. */
static bool append_tables(struct mafat_scratch *s)
{
  size_t *slot = &s->slot_bytes;
  return append(slot, &s->pieces_offset, (size_t)s->n_pieces, MAFAT_SCRATCH_PIECE) &&
         append(slot, &s->in_offset, (size_t)s->n_pieces * (size_t)s->in_rows, 8) &&
         append(slot, &s->out_offset, 2 * (size_t)s->rows_per_call, 8);
}

static bool plan_convolution(const struct mafat_layer *l, int rows, int cols,
                             struct mafat_scratch *s)
{
  s->n_pieces = mafat_layer_is_depthwise(l)
                    ? 1
                    : mafat_pieces(&l->sources, mafat_span(0, l->in.c), NULL, 0);
  s->rows_per_call = choose_rows(l, s->n_pieces, rows, cols);
  s->in_rows = (s->rows_per_call - 1) * l->stride + l->size;
  s->zero_floats = ((size_t)(cols - 1) * (size_t)l->stride + (size_t)l->size) * MAFAT_CHANNEL_BLOCK;
  if (l->pad == 0) s->zero_floats = 0;
  return append_tables(s) && append(&s->slot_bytes, &s->zero_offset, s->zero_floats, sizeof(float));
}

static bool plan_flat(const struct mafat_layer *l, struct mafat_scratch *s)
{
  if (__builtin_mul_overflow((size_t)l->in.h * (size_t)l->in.w, (size_t)l->in.c, &s->flat_floats))
    return false;
  return append(&s->shared_bytes, &s->flat_offset, s->flat_floats, sizeof(float));
}

int mafat_scratch_plan(const struct mafat_layer *l, int rows, int cols, struct mafat_scratch *s)
{
  memset(s, 0, sizeof *s);
  bool fits = true;
  switch (l->type) {
  case MAFAT_CONVOLUTIONAL:
    fits = plan_convolution(l, rows, cols, s);
    break;
  case MAFAT_MAXPOOL:
    s->in_rows = l->size;
    fits = append(&s->slot_bytes, &s->in_offset, (size_t)l->size, 8);
    break;
  case MAFAT_CONNECTED: /* a 1x1 convolution of one pixel with one long piece */
    s->n_pieces = s->rows_per_call = s->in_rows = 1;
    fits = append_tables(s) && plan_flat(l, s);
    break;
  case MAFAT_LOCAL:
  case MAFAT_SOFTMAX:
  case MAFAT_DETECTION:
    fits = plan_flat(l, s);
    break;
  case MAFAT_REGION:
  case MAFAT_YOLO:
    fits = append(&s->slot_bytes, &s->pixel_offset, (size_t)l->in.c, sizeof(float));
    break;
  default:
    break;
  }
  return fits ? MAFAT_OK : MAFAT_ELIMIT;
}

size_t mafat_scratch_bytes(const struct mafat_scratch *s, int n_workers)
{
  size_t bytes;
  if (__builtin_mul_overflow(s->slot_bytes, (size_t)n_workers, &bytes) ||
      __builtin_add_overflow(bytes, s->shared_bytes, &bytes))
    return SIZE_MAX;
  return bytes;
}
