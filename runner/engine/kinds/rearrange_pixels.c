/* Runs strided copies in which neighboring channels stay neighbors: copies whole pixels, or several
 * channels at once. A part describes a copy as nested loops; an atom is one of these loops
 * (network/rearrange.h). Called by rearrange.c. Writes the output tensor; allocates nothing. */
#include "runner/engine/kinds/rearrange.h"

#include <stdlib.h>
#include <string.h>

/* n pixels of a row. from_pixel, to_pixel: floats from a pixel to the next in input and output. */
struct copy_row {
  const float *from;
  float *to;
  ptrdiff_t from_pixel, to_pixel;
  int n;
};

static inline void copy_channels(const struct copy_row *r, int channels)
{
  const float *from = r->from;
  float *to = r->to;
  for (int i = 0; i < r->n; i++, from += r->from_pixel, to += r->to_pixel)
    memcpy(to, from, (size_t)channels * sizeof *to);
}

/* Copies a row. With a constant size, memcpy is compiled to a few instructions. */
static void copy_row(const struct copy_row *r, int channels)
{
  if (r->from_pixel == channels && r->to_pixel == channels) {
    memcpy(r->to, r->from, (size_t)r->n * (size_t)channels * sizeof *r->to);
    return;
  }
  switch (channels) {
    case 1: copy_channels(r, 1); break;
    case 2: copy_channels(r, 2); break;
    case 3: copy_channels(r, 3); break;
    case 4: copy_channels(r, 4); break;
    case 8: copy_channels(r, 8); break;
    case MAFAT_CHANNEL_BLOCK: copy_channels(r, MAFAT_CHANNEL_BLOCK); break;
    default: copy_channels(r, channels);
  }
}

/* n pixels of the output, in row y and columns x, x + step, x + 2 step, ... */
struct copy_pixels {
  int y, x, step;
  struct mafat_place in; /* input position of the first pixel */
  int in_step, n;        /* in_step: input columns from a pixel to the next */
};

/* Writes channels [c, c + n) of the output pixels p, one channel block after the other. p.in is the
 * input position of channel c of the first pixel. */
static void copy_run(const struct mafat_strided_copy *m, struct copy_pixels p, int c, int n)
{
  for (int copied; n > 0; n -= copied) {
    struct mafat_copy_channel in = mafat_copy_find(m, p.in);
    int block = c / MAFAT_CHANNEL_BLOCK, lane = c % MAFAT_CHANNEL_BLOCK;
    copied = mafat_min(n, mafat_min(in.after + 1, MAFAT_CHANNEL_BLOCK - lane));
    const struct copy_row row = {
        in.at, mafat_tensors_pixel(m->tensors, m->tensor, block, p.y, p.x) + lane,
        (ptrdiff_t)in.pixel * p.in_step,
        (ptrdiff_t)mafat_tensors_pixel_floats(m->tensors, m->tensor, block) * p.step, p.n};
    copy_row(&row, copied);
    c += copied;
    p.in.at[MAFAT_AXIS_C] += copied;
  }
}

/* Returns how many of n positions along an axis, from *at on, are inside the map. If *at is
 * outside, returns 1 and replaces *at by the position that is read instead; -1: none. */
static int run_length(const struct mafat_strided_copy *m, int axis, int *at, int step, int n)
{
  int extent = mafat_copy_extent(m, axis);
  if (*at < 0 || *at >= extent) {
    *at = mafat_part_settle(m->part->outside, *at, extent);
    return 1;
  }
  if (step == 0) return n;
  return mafat_min(n, (step > 0 ? extent - 1 - *at : *at) / abs(step) + 1);
}

/* Does what copy_run does, for input positions that may be outside the map. */
static void copy_clipped(const struct mafat_strided_copy *m, struct copy_pixels p, int c, int n)
{
  struct mafat_place first = p.in;
  int columns = p.n, y = first.at[MAFAT_AXIS_H];
  run_length(m, MAFAT_AXIS_H, &y, 0, 1);
  if (y < 0) return;
  p.in.at[MAFAT_AXIS_H] = y;
  for (int i = 0; i < columns; i += p.n, p.x += p.n * p.step) {
    int x = first.at[MAFAT_AXIS_W] + i * p.in_step;
    p.n = run_length(m, MAFAT_AXIS_W, &x, p.in_step, columns - i);
    if (x < 0) continue;
    p.in.at[MAFAT_AXIS_W] = x;
    for (int k = 0, copied; k < n; k += copied) {
      int channel = first.at[MAFAT_AXIS_C] + k;
      copied = run_length(m, MAFAT_AXIS_C, &channel, 1, n - k);
      p.in.at[MAFAT_AXIS_C] = channel;
      if (channel >= 0) copy_run(m, p, c + k, copied);
    }
  }
}

/* Copies all channels of these pixels. Several atoms (nested loops) may run over channels. The
 * innermost, of `run` channels, is copied at once, for each combination of the other loops'
 * indices. */
static void copy_runs(const struct mafat_strided_copy *m, const struct copy_pixels *pixels)
{
  const struct mafat_part *part = m->part;
  struct mafat_span atoms = mafat_part_atoms(part, MAFAT_AXIS_C);
  int run = mafat_part_run(part), turns = 1;
  bool clipped = mafat_part_leaves(part, m->operand->shape);
  for (int i = atoms.begin; i < atoms.end - 1; i++) turns *= part->atoms[i].size;
  for (int k = 0; k < turns; k++) {
    struct copy_pixels p = *pixels;
    int c = part->out_first[MAFAT_AXIS_C];
    for (int i = atoms.end - 2, turn = k; i >= atoms.begin; turn /= part->atoms[i--].size) {
      int index = turn % part->atoms[i].size;
      c += index * part->atoms[i].out_step;
      p.in.at[part->atoms[i].in_axis] += index * part->atoms[i].in_step;
    }
    if (clipped) copy_clipped(m, p, c, run);
    else copy_run(m, p, c, run);
  }
}

void mafat_copy_pixels(const struct mafat_strided_copy *m)
{
  for (struct mafat_copy_rows rows = mafat_copy_rows(m); mafat_copy_next_row(&rows);)
    for (struct mafat_copy_columns c = mafat_copy_columns(m, rows.in, false);
         mafat_copy_next_columns(&c);) {
      const struct copy_pixels pixels = {rows.y - 1, c.x, c.step, c.in, c.in_step, c.n};
      copy_runs(m, &pixels);
    }
}
