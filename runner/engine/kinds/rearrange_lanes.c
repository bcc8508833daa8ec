/* Copies parts whose channels come from arbitrary positions, a block of output channels at a time.
 * A part describes a copy as nested loops with equal steps, called atoms (network/rearrange.h). A
 * lane is the index of a channel in its block. Lanes of the part's last atom of channels have
 * inputs at equal distances and are copied together. Called by rearrange.c. Writes the output
 * tensor; allocates nothing. */
#include "runner/engine/kinds/rearrange.h"

#include <stdlib.h>
#include <string.h>

/* n lanes of a block, from `lane` on. `in` is the first lane's input position relative to that of
 * the pixel; each further lane is one step (struct lanes) farther. */
struct lane_group {
  int lane, n;
  struct mafat_place in;
};

/* A rectangle of elements: n lanes, from `lane` on, of several columns (struct found). Its inputs
 * are at equal distances from lane to lane and from column to column. */
struct square {
  const float *from;       /* input of the first lane in the first column */
  ptrdiff_t apart, column; /* floats in the input from one lane or column to the next */
  int lane, n;
};

/* The squares of a block of channels, for some columns of a row. They are reused for other rows. */
struct found {
  int n, columns;                        /* number of squares; columns of each square */
  int x, n_columns;                      /* first output column; number of columns wanted */
  struct mafat_place in;                 /* input position of column x */
  struct square squares[MAFAT_CHANNEL_BLOCK];
  int sources[MAFAT_CHANNEL_BLOCK];      /* [square]: index of the source that it reads */
};

/* Copy of one block of output channels. */
struct lanes {
  const struct mafat_strided_copy *copy;
  int block, n_groups;
  int axis, step; /* input axis and step of the last atom of channels */
  bool steady; /* all lanes of an output pixel are read from one input pixel, and the input is not
                  joined along rows: then squares can be moved to other rows */
  struct lane_group groups[MAFAT_CHANNEL_BLOCK];
  struct found found;
};

static void find_lanes(struct lanes *l, const struct mafat_strided_copy *m, int block)
{
  struct mafat_span atoms = mafat_part_atoms(m->part, MAFAT_AXIS_C);
  const struct mafat_atom *last =
      mafat_span_is_empty(atoms) ? NULL : &m->part->atoms[atoms.end - 1];
  int first = block * MAFAT_CHANNEL_BLOCK,
      channels = mafat_network_tensor_shape(m->tensors->network, m->tensor).c;
  l->copy = m;
  l->block = block;
  l->n_groups = 0;
  l->found.n = 0;
  l->axis = last ? last->in_axis : MAFAT_AXIS_C;
  l->steady = m->operand->sources.n_bands == 1 && l->axis == MAFAT_AXIS_C;
  l->step = last ? last->in_step : 0;
  for (int lane = 0, end = mafat_min(channels - first, MAFAT_CHANNEL_BLOCK); lane < end;) {
    struct lane_group g = {lane, 0, {{0, 0, 0}}};
    int n = mafat_copy_locate(m->part, MAFAT_AXIS_C, first + lane, &g.in);
    g.n = mafat_min(n, end - lane);
    if (g.n > 0) l->groups[l->n_groups++] = g;
    l->steady = l->steady && g.in.at[MAFAT_AXIS_H] == 0 && g.in.at[MAFAT_AXIS_W] == 0;
    lane += mafat_max(g.n, 1);
  }
}

/* Returns the input position of a group's lane for the pixel whose input position is *in. `lane`
 * counts from the group's first lane. */
static struct mafat_place place_of(const struct lanes *l, const struct lane_group *g, int lane,
                                   const struct mafat_place *in)
{
  struct mafat_place place;
  for (int axis = 0; axis < MAFAT_N_AXES; axis++) place.at[axis] = in->at[axis] + g->in.at[axis];
  place.at[l->axis] += lane * l->step;
  return place;
}

/* ---- outside the map: element by element ---- */

/* Replaces an input position outside the map by the position that is read instead. False: none is
 * read. */
static bool settle(const struct mafat_strided_copy *m, struct mafat_place *in)
{
  for (int axis = 0; axis < MAFAT_N_AXES; axis++) {
    in->at[axis] = mafat_part_settle(m->part->outside, in->at[axis], mafat_copy_extent(m, axis));
    if (in->at[axis] < 0) return false;
  }
  return true;
}

static void pick(const struct lanes *l, int y, const struct mafat_copy_columns *c)
{
  const struct mafat_tensors *t = l->copy->tensors;
  struct mafat_place in = c->in;
  for (int i = 0; i < c->n; i++, in.at[c->in_axis] += c->in_step) {
    float *to = mafat_tensors_pixel(t, l->copy->tensor, l->block, y, c->x + i * c->step);
    for (const struct lane_group *g = l->groups; g < l->groups + l->n_groups; g++)
      for (int k = 0; k < g->n; k++) {
        struct mafat_place from = place_of(l, g, k, &in);
        if (settle(l->copy, &from)) to[g->lane + k] = *mafat_copy_find(l->copy, from).at;
      }
  }
}

/* ---- inside ---- */

/* Returns the square of a group's lanes from the k-th on: as many lanes as have equal distances.
 * Reduces *columns to the number of columns that have equal distances. */
static struct square square_of(const struct lanes *l, const struct lane_group *g, int k,
                               const struct mafat_copy_columns *c, const struct mafat_place *in,
                               int *columns)
{
  struct mafat_copy_channel at = mafat_copy_find(l->copy, place_of(l, g, k, in));
  struct square s = {at.at, l->step, c->in_step, g->lane + k, g->n - k};
  if (l->axis == MAFAT_AXIS_H) s.n = 1;
  if (l->axis == MAFAT_AXIS_W) s.apart *= at.pixel;
  if (l->axis == MAFAT_AXIS_C) {
    if (l->step) s.n = mafat_min(s.n, (l->step > 0 ? at.after : at.before) / abs(l->step) + 1);
    at.after -= mafat_max((s.n - 1) * l->step, 0); /* contiguous channels around the n lanes */
    at.before -= mafat_max((s.n - 1) * -l->step, 0);
  }
  if (c->in_axis == MAFAT_AXIS_W) s.column *= at.pixel;
  else if (c->in_step)
    *columns = mafat_min(*columns, (c->in_step > 0 ? at.after : at.before) / abs(c->in_step) + 1);
  return s;
}

static inline void copy(const struct square *s, float *to, ptrdiff_t to_column, int columns,
                        ptrdiff_t apart, int lanes)
{
  const float *from = s->from;
  to += s->lane;
  for (int i = 0; i < columns; i++, from += s->column, to += to_column)
    for (int k = 0; k < lanes; k++) to[k] = from[k * apart];
}

#if defined __has_builtin
#if __has_builtin(__builtin_shufflevector)
#define CAN_SHUFFLE
#endif
#endif

/* Copies lanes that are 2 apart in the input, four at a time. */
static inline void copy_others(const struct square *s, float *to, ptrdiff_t to_column, int columns,
                               int lanes)
{
#ifdef CAN_SHUFFLE
  typedef float four __attribute__((vector_size(16)));
  const float *from = s->from;
  to += s->lane;
  for (int i = 0; i < columns; i++, from += s->column, to += to_column)
    for (int k = 0; k < lanes; k += 4) {
      four a, b; /* b overlaps a, so that nothing is read after the last lane's input */
      memcpy(&a, from + 2 * k, sizeof a);
      memcpy(&b, from + 2 * k + 3, sizeof b);
      a = __builtin_shufflevector(a, b, 0, 2, 5, 7);
      memcpy(to + k, &a, sizeof a);
    }
#else
  copy(s, to, to_column, columns, 2, lanes);
#endif
}

/* Copies a square. Constant numbers of lanes let the compiler unroll the loops. */
static void copy_square(const struct square *s, float *to, ptrdiff_t to_column, int columns)
{
  switch (s->apart == 2 ? -s->n : s->n) {
    case -4: copy_others(s, to, to_column, columns, 4); break;
    case -8: copy_others(s, to, to_column, columns, 8); break;
    case 1: copy(s, to, to_column, columns, s->apart, 1); break;
    case 2: copy(s, to, to_column, columns, s->apart, 2); break;
    case MAFAT_CHANNEL_BLOCK: copy(s, to, to_column, columns, s->apart, MAFAT_CHANNEL_BLOCK); break;
    default: copy(s, to, to_column, columns, s->apart, s->n);
  }
}

/* True if the block is a transposed 4 x 4 matrix: the inputs of lanes k, k + 4, k + 8 and k + 12
 * are adjacent. */
static bool is_turned(const struct found *f)
{
  bool turned = f->n == MAFAT_CHANNEL_BLOCK;
  for (int k = 0; turned && k < f->n; k++)
    turned = f->squares[k].column == f->squares[0].column &&
             (k < 4 || f->squares[k].from == f->squares[k - 4].from + 1);
  return turned;
}

static void copy_turned(const struct found *f, float *restrict to, ptrdiff_t to_column)
{
  const struct square *s = f->squares;
  const float *a = s[0].from, *b = s[1].from, *c = s[2].from, *d = s[3].from;
  for (int i = 0; i < f->columns; i++, to += to_column) {
    for (int k = 0; k < 4; k++) {
      to[4 * k] = a[k];
      to[4 * k + 1] = b[k];
      to[4 * k + 2] = c[k];
      to[4 * k + 3] = d[k];
    }
    a += s->column;
    b += s->column;
    c += s->column;
    d += s->column;
  }
}

enum { NEAR = 64 }; /* output pixels that stay in the cache while the squares are copied one after
                       the other */

static int source_of(const struct mafat_sources *s, int channel)
{
  int source = 0;
  for (; channel >= s->list[source].n; source++) channel -= s->list[source].n;
  return source;
}

static void find_squares(struct lanes *l, const struct mafat_copy_columns *c, int i,
                         struct mafat_place in)
{
  struct found *f = &l->found;
  f->n = 0;
  f->x = c->x + i * c->step;
  f->columns = f->n_columns = mafat_min(c->n - i, NEAR);
  f->in = in;
  for (const struct lane_group *g = l->groups; g < l->groups + l->n_groups; g++)
    for (int k = 0; k < g->n; k += f->squares[f->n++].n) {
      f->squares[f->n] = square_of(l, g, k, c, &in, &f->columns);
      if (l->steady)
        f->sources[f->n] =
            source_of(&l->copy->operand->sources, place_of(l, g, k, &in).at[MAFAT_AXIS_C]);
    }
}

/* Makes the squares read row y of the input. */
static void follow_row(struct lanes *l, int y)
{
  const struct mafat_tensors *t = l->copy->tensors;
  const struct mafat_sources *sources = &l->copy->operand->sources;
  struct found *f = &l->found;
  int x = f->in.at[MAFAT_AXIS_W];
  ptrdiff_t by = 0;
  for (int k = 0; k < f->n; k++) {
    int source = f->sources[k], channel = sources->list[source].first;
    if (k == 0 || source != f->sources[k - 1])
      by = mafat_tensors_read(t, sources, source, channel, y, x) -
           mafat_tensors_read(t, sources, source, channel, f->in.at[MAFAT_AXIS_H], x);
    f->squares[k].from += by;
  }
  f->in.at[MAFAT_AXIS_H] = y;
}

/* Copies columns of output row y, from the i-th of *c on: as many columns as the squares have.
 * Returns the number of columns. */
static int copy_columns(struct lanes *l, int y, const struct mafat_copy_columns *c, int i)
{
  const struct mafat_tensors *t = l->copy->tensors;
  struct found *f = &l->found;
  struct mafat_place in = c->in;
  in.at[c->in_axis] += i * c->in_step;
  bool alike = l->steady && f->n > 0 && c->in_axis == MAFAT_AXIS_W && f->x == c->x + i * c->step &&
               f->n_columns == mafat_min(c->n - i, NEAR) &&
               f->in.at[MAFAT_AXIS_W] == in.at[MAFAT_AXIS_W] &&
               f->in.at[MAFAT_AXIS_C] == in.at[MAFAT_AXIS_C];
  if (alike) follow_row(l, in.at[MAFAT_AXIS_H]);
  else find_squares(l, c, i, in);
  float *to = mafat_tensors_pixel(t, l->copy->tensor, l->block, y, f->x);
  ptrdiff_t to_column =
      (ptrdiff_t)mafat_tensors_pixel_floats(t, l->copy->tensor, l->block) * c->step;
  if (is_turned(f)) copy_turned(f, to, to_column);
  else
    for (int k = 0; k < f->n; k++) copy_square(&f->squares[k], to, to_column, f->columns);
  return f->columns;
}

static void move_row(struct lanes *l, int y, const struct mafat_place *in, bool clipped)
{
  for (struct mafat_copy_columns c = mafat_copy_columns(l->copy, *in, true);
       mafat_copy_next_columns(&c);) {
    if (clipped) pick(l, y, &c);
    for (int i = 0; i < c.n && !clipped;) i += copy_columns(l, y, &c, i);
  }
}

enum { BLOCKS = 4 }; /* blocks copied at a time: they often read the same pixels */

void mafat_copy_lanes(const struct mafat_strided_copy *m)
{
  bool clipped = mafat_part_leaves(m->part, m->operand->shape);
  int n_blocks = mafat_n_blocks(mafat_network_tensor_shape(m->tensors->network, m->tensor).c);
  struct lanes lanes[BLOCKS];
  for (int block = 0; block < n_blocks; block += BLOCKS) {
    int n = mafat_min(n_blocks - block, BLOCKS);
    for (int i = 0; i < n; i++) find_lanes(&lanes[i], m, block + i);
    for (struct mafat_copy_rows rows = mafat_copy_rows(m); mafat_copy_next_row(&rows);)
      for (int i = 0; i < n; i++)
        if (lanes[i].n_groups > 0) move_row(&lanes[i], rows.y - 1, &rows.in, clipped);
  }
}
