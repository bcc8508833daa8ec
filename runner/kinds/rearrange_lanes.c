/* Channels that come from anywhere: a block of the output at a time, each of its lanes by itself. */
#include "runner/kinds/rearrange.h"

#include <stdlib.h>

/* The lanes of a block that the part puts something in, and what each adds to where it is read. */
struct lanes {
  const struct mafat_moving *moving;
  int block, n;
  int at[MAFAT_CHANNEL_BLOCK];
  struct mafat_place in[MAFAT_CHANNEL_BLOCK];
};

static struct lanes lanes_of(const struct mafat_moving *m, int block)
{
  struct lanes l = {.moving = m, .block = block};
  int channels = mafat_network_tensor_shape(m->tensors->network, m->layer).c;
  for (int lane = 0; lane < MAFAT_CHANNEL_BLOCK && block * MAFAT_CHANNEL_BLOCK + lane < channels; lane++) {
    struct mafat_place in = {{0, 0, 0}};
    if (!mafat_moving_locate(m->part, MAFAT_AXIS_C, block * MAFAT_CHANNEL_BLOCK + lane, &in)) continue;
    l.at[l.n] = lane;
    l.in[l.n++] = in;
  }
  return l;
}

static struct mafat_place sum(struct mafat_place a, struct mafat_place b)
{
  for (int axis = 0; axis < MAFAT_N_AXES; axis++) a.at[axis] += b.at[axis];
  return a;
}

/* What may lie beside the map, element by element. False: nothing is read for it. */
static bool settle(const struct mafat_moving *m, struct mafat_place *in)
{
  for (int axis = 0; axis < MAFAT_N_AXES; axis++) {
    in->at[axis] = mafat_part_settle(m->part->outside, in->at[axis], mafat_moving_extent(m, axis));
    if (in->at[axis] < 0) return false;
  }
  return true;
}

static void pick(const struct lanes *l, int y, const struct mafat_moving_columns *c)
{
  const struct mafat_tensors *t = l->moving->tensors;
  struct mafat_place in = c->in;
  for (int i = 0; i < c->n; i++, in.at[c->in_axis] += c->in_step) {
    float *to = mafat_tensors_pixel(t, l->moving->layer, l->block, y, c->x + i * c->step);
    for (int k = 0; k < l->n; k++) {
      struct mafat_place from = sum(in, l->in[k]);
      if (settle(l->moving, &from)) to[l->at[k]] = *mafat_moving_find(l->moving, from).at;
    }
  }
}

static inline void copy(const float *from, ptrdiff_t from_step, float *to, ptrdiff_t to_step, int n)
{
  for (int i = 0; i < n; i++) to[i * to_step] = from[i * from_step];
}

/* Columns from c's i-th on: as many as lie equally far apart for each lane, at most `most`. Returns how many. */
static int copy_lanes(const struct lanes *l, int y, const struct mafat_moving_columns *c, int i, int most)
{
  const struct mafat_tensors *t = l->moving->tensors;
  struct mafat_moving_channel from[MAFAT_CHANNEL_BLOCK];
  struct mafat_place in = c->in;
  bool across = c->in_axis == MAFAT_AXIS_W;
  int n = mafat_min(c->n - i, most);
  in.at[c->in_axis] += i * c->in_step;
  for (int k = 0; k < l->n; k++) {
    from[k] = mafat_moving_find(l->moving, sum(in, l->in[k]));
    if (across || c->in_step == 0) continue;
    n = mafat_min(n, (c->in_step > 0 ? from[k].after : from[k].before) / abs(c->in_step) + 1);
  }
  float *to = mafat_tensors_pixel(t, l->moving->layer, l->block, y, c->x + i * c->step);
  ptrdiff_t to_step = (ptrdiff_t)mafat_tensors_pixel_floats(t, l->moving->layer, l->block) * c->step;
  for (int k = 0; k < l->n; k++)
    copy(from[k].at, across ? (ptrdiff_t)from[k].pixel * c->in_step : c->in_step, to + l->at[k], to_step, n);
  return n;
}

enum { NEAR = 64 }; /* pixels of a block that a cache holds while its lanes are put there one by one */

void mafat_moving_lanes(const struct mafat_moving *m)
{
  bool clipped = mafat_part_leaves(m->part, m->operand->shape);
  int channels = mafat_network_tensor_shape(m->tensors->network, m->layer).c;
  for (int block = 0; block < mafat_n_blocks(channels); block++) {
    struct lanes l = lanes_of(m, block);
    if (l.n == 0) continue;
    for (struct mafat_moving_rows rows = mafat_moving_rows(m); mafat_moving_next_row(&rows);)
      for (struct mafat_moving_columns c = mafat_moving_columns(m, rows.in, true); mafat_moving_next_columns(&c);) {
        if (clipped) pick(&l, rows.y - 1, &c);
        for (int i = 0; i < c.n && !clipped; i += copy_lanes(&l, rows.y - 1, &c, i, NEAR)) continue;
      }
  }
}
