/* Fills the output of a rearrange layer with a value, and then copies elements of quantized maps to
 * it, part by part (network/rearrange.h). Copies whole pixels if their channels stay contiguous,
 * else runs of bytes, or single bytes if the part reads outside the map. Called by the executor
 * through the table in kinds.c, and by runner/engine/kinds/split.c. Writes the step's output in the
 * arena; allocates nothing. */
#include "runner/engine/kinds/rearrange.h"
#include "runner/engine/kinds/integer/integer.h"

#include <string.h>

static void fill(const struct mafat_tensors *t, const struct mafat_layer *l, int layer,
                 struct mafat_box box)
{
  for (int block = 0; block < mafat_n_blocks(l->out.c); block++)
    for (int y = box.y.begin; y < box.y.end; y++)
      memset(mafat_tensors_address(t, layer, block, y, box.x.begin), (int)l->rearrange->fill,
             mafat_tensors_pixel_bytes(t, layer, block) * (size_t)mafat_span_size(box.x));
}

/* Replaces an input position outside the map by the position that is read instead. False: none is
 * read. */
static bool settle(const struct mafat_strided_copy *m, struct mafat_place *in)
{
  for (int a = 0; a < MAFAT_N_AXES; a++) {
    in->at[a] = mafat_part_settle(m->part->outside, in->at[a], mafat_copy_extent(m, a));
    if (in->at[a] < 0) return false;
  }
  return true;
}

static void copy_pixel(const struct mafat_strided_copy *m, int y, int x, struct mafat_place pixel)
{
  int channels = mafat_network_tensor_shape(m->tensors->network, m->tensor).c, bytes;
  for (int c = 0; c < channels; c++) {
    struct mafat_place in = pixel;
    if (!mafat_copy_locate(m->part, MAFAT_AXIS_C, c, &in) || !settle(m, &in)) continue;
    mafat_tensors_address(m->tensors, m->tensor, c / MAFAT_CHANNEL_BLOCK, y,
                          x)[c % MAFAT_CHANNEL_BLOCK] =
        (char)*mafat_integer_source_at(m->tensors, &m->operand->sources, in.at[MAFAT_AXIS_C],
                                       in.at[MAFAT_AXIS_H], in.at[MAFAT_AXIS_W], &bytes);
  }
}

/* Copies the part element by element, and checks for each if its input position is outside the
 * map. */
static void copy_clipped(const struct mafat_strided_copy *m)
{
  for (struct mafat_copy_rows rows = mafat_copy_rows(m); mafat_copy_next_row(&rows);)
    for (int x = m->box.x.begin; x < m->box.x.end; x++) {
      struct mafat_place in = rows.in;
      if (mafat_copy_locate(m->part, MAFAT_AXIS_W, x, &in)) copy_pixel(m, rows.y - 1, x, in);
    }
}

/* ---- runs of elements ---- */

/* n elements at constant distances in bytes, in the input (from_step) and in the output
 * (to_step). */
struct copy_run {
  const char *from;
  char *to;
  ptrdiff_t from_step, to_step;
  int n;
};

/* Sets r->from and r->from_step for a run that begins at input position `in` and whose elements are
 * in_step indices apart along in_axis. Reduces r->n to the elements that have equal distances in
 * the input's memory. */
static void find_from(const struct mafat_strided_copy *m, int in_axis, int in_step,
                      struct mafat_place in, struct copy_run *r)
{
  int y = in.at[MAFAT_AXIS_H], x = in.at[MAFAT_AXIS_W], at = in.at[MAFAT_AXIS_C], source = 0;
  for (; at >= m->operand->sources.list[source].n; source++)
    at -= m->operand->sources.list[source].n;
  const struct mafat_source *s = mafat_sources_at(&m->operand->sources, source, &y);
  const int channel = s->first + at, n = r->n;
  const struct mafat_row_view view = mafat_tensors_row_view(m->tensors, s->tensor, channel, y, x);
  r->from = view.at;
  r->n = 1;
  if (in_axis == MAFAT_AXIS_W && in_step > 0) {
    r->from_step = (ptrdiff_t)view.pixel_bytes * in_step;
    r->n = mafat_min(n, (view.box.x.end - 1 - x) / in_step + 1);
  } else if (in_axis == MAFAT_AXIS_H && in_step > 0) {
    r->from_step = (ptrdiff_t)view.row_bytes * in_step;
    r->n =
        mafat_min(n, (mafat_min(view.box.y.end, s->first_row + s->n_rows) - 1 - y) / in_step + 1);
  } else if (in_axis == MAFAT_AXIS_C && in_step == 1) {
    r->from_step = 1;
    r->n = mafat_min(mafat_min(n, m->operand->sources.list[source].n - at),
                     mafat_min(view.channels.end - channel,
                               MAFAT_CHANNEL_BLOCK - channel % MAFAT_CHANNEL_BLOCK));
  }
}

static int copy_run(struct copy_run *r)
{
  for (int k = 0; k < r->n; k++, r->from += r->from_step, r->to += r->to_step) *r->to = *r->from;
  return r->n;
}

/* Copies a channel of column i of *c, and of the columns after it that belong to the same run. `in`
 * is the input position of the channel in column 0 of *c. Returns the number of columns copied. */
static int copy_columns_of(const struct mafat_strided_copy *m, const struct mafat_copy_columns *c,
                           int y, int channel, int i, struct mafat_place in)
{
  const int x = c->x + i * c->step;
  const struct mafat_row_view view = mafat_tensors_row_view(m->tensors, m->tensor, channel, y, x);
  struct copy_run r = {.to = view.at,
                       .n = mafat_min(c->n - i, (view.box.x.end - 1 - x) / c->step + 1),
                       .to_step = (ptrdiff_t)view.pixel_bytes * c->step};
  in.at[c->in_axis] += i * c->in_step;
  find_from(m, c->in_axis, c->in_step, in, &r);
  return copy_run(&r);
}

/* Copies a channel of output pixel (y, x), and the channels after it that belong to the same run;
 * at most n channels. Returns the number of channels copied. */
static int copy_channels_of(const struct mafat_strided_copy *m, int y, int x, int channel, int n,
                            struct mafat_place in)
{
  const struct mafat_atom *last = &m->part->atoms[mafat_part_atoms(m->part, MAFAT_AXIS_C).end - 1];
  const struct mafat_row_view view = mafat_tensors_row_view(m->tensors, m->tensor, channel, y, x);
  struct copy_run r = {.to = view.at,
                       .to_step = 1,
                       .n = mafat_min(mafat_min(n, view.channels.end - channel),
                                      MAFAT_CHANNEL_BLOCK - channel % MAFAT_CHANNEL_BLOCK)};
  find_from(m, last->in_axis, last->in_step, in, &r);
  return copy_run(&r);
}

/* Copies the part in runs along columns, or along channels if only one column has equal
 * distances. */
static void copy_elements(const struct mafat_strided_copy *m)
{
  const int channels = mafat_network_tensor_shape(m->tensors->network, m->tensor).c;
  for (struct mafat_copy_rows rows = mafat_copy_rows(m); mafat_copy_next_row(&rows);)
    for (struct mafat_copy_columns c = mafat_copy_columns(m, rows.in, true);
         mafat_copy_next_columns(&c);)
      for (int channel = 0, n; channel < channels; channel += n) {
        struct mafat_place in = c.in;
        n = mafat_copy_locate(m->part, MAFAT_AXIS_C, channel, &in);
        if (n > 1 && c.n == 1) {
          n = copy_channels_of(m, rows.y - 1, c.x, channel, n, in);
          continue;
        }
        for (int i = 0; n > 0 && i < c.n;) i += copy_columns_of(m, &c, rows.y - 1, channel, i, in);
        n = 1;
      }
}

/* ---- whole pixels ---- */

/* True if the part copies one range of channels that is contiguous in both maps and inside the
 * input map. Rows and columns may be outside only if the output keeps its fill value there. */
static bool is_whole(const struct mafat_strided_copy *m)
{
  struct mafat_part channels = *m->part;
  channels.n_atoms = 0;
  for (int i = 0; i < m->part->n_atoms; i++)
    if (m->part->atoms[i].in_axis == MAFAT_AXIS_C)
      channels.atoms[channels.n_atoms++] = m->part->atoms[i];
  channels.in_first[MAFAT_AXIS_H] = channels.in_first[MAFAT_AXIS_W] = 0;
  return mafat_part_run(m->part) > 1 &&
         mafat_span_size(mafat_part_atoms(m->part, MAFAT_AXIS_C)) == 1 &&
         !mafat_part_leaves(&channels, m->operand->shape) &&
         (m->part->outside == MAFAT_OUTSIDE_FILL || !mafat_part_leaves(m->part, m->operand->shape));
}

/* Reduces *c to the columns whose input position is inside the map. False: there are none. */
static bool clip(const struct mafat_strided_copy *m, struct mafat_copy_columns *c)
{
  const struct mafat_shape s = m->operand->shape;
  int x = c->in.at[MAFAT_AXIS_W], y = c->in.at[MAFAT_AXIS_H];
  int step = c->in_step, first = 0, end = c->n;
  if (step > 0) {
    first = x < 0 ? mafat_divide_up(-x, step) : 0;
    end = mafat_min(end, x < s.w ? (s.w - 1 - x) / step + 1 : 0);
  } else if (step < 0) {
    first = x >= s.w ? mafat_divide_up(x - s.w + 1, -step) : 0;
    end = mafat_min(end, x >= 0 ? x / -step + 1 : 0);
  } else if (x < 0 || x >= s.w) {
    return false;
  }
  c->x += first * c->step;
  c->in.at[MAFAT_AXIS_W] += first * step;
  c->n = end - first;
  return c->n > 0 && y >= 0 && y < s.h;
}

/* Returns how many channels, at most n, can be copied at once: from input channel `from` on and
 * from output channel c on they are contiguous. */
static int channels_beside(const struct mafat_sources *sources, int from, int c, int n)
{
  int source = 0;
  for (; from >= sources->list[source].n; source++) from -= sources->list[source].n;
  int lane = (sources->list[source].first + from) % MAFAT_CHANNEL_BLOCK;
  n = mafat_min(n, mafat_min(sources->list[source].n - from, MAFAT_CHANNEL_BLOCK - lane));
  return mafat_min(n, MAFAT_CHANNEL_BLOCK - c % MAFAT_CHANNEL_BLOCK);
}

/* Copies the part's channels of some columns of a row. */
static void copy_columns(const struct mafat_strided_copy *m, int y,
                         const struct mafat_copy_columns *columns)
{
  const int first = columns->in.at[MAFAT_AXIS_C] - m->part->out_first[MAFAT_AXIS_C];
  const int begin = m->part->out_first[MAFAT_AXIS_C], end = begin + mafat_part_run(m->part);
  for (int c = begin, n; c < end; c += n) {
    int bytes, block = c / MAFAT_CHANNEL_BLOCK;
    n = channels_beside(&m->operand->sources, first + c, c, end - c);
    const uint8_t *from =
        mafat_integer_source_at(m->tensors, &m->operand->sources, first + c,
                                columns->in.at[MAFAT_AXIS_H], columns->in.at[MAFAT_AXIS_W], &bytes);
    char *to = mafat_tensors_address(m->tensors, m->tensor, block, y, columns->x) +
               c % MAFAT_CHANNEL_BLOCK;
    const ptrdiff_t to_step =
        (ptrdiff_t)mafat_tensors_pixel_bytes(m->tensors, m->tensor, block) * columns->step;
    const ptrdiff_t from_step = (ptrdiff_t)bytes * columns->in_step;
    if (n == MAFAT_CHANNEL_BLOCK)
      for (int i = 0; i < columns->n; i++, from += from_step, to += to_step)
        memcpy(to, from, MAFAT_CHANNEL_BLOCK);
    else
      for (int i = 0; i < columns->n; i++, from += from_step, to += to_step)
        memcpy(to, from, (size_t)n);
  }
}

static void copy_pixels(const struct mafat_strided_copy *m)
{
  for (struct mafat_copy_rows rows = mafat_copy_rows(m); mafat_copy_next_row(&rows);)
    for (struct mafat_copy_columns c = mafat_copy_columns(m, rows.in, false);
         mafat_copy_next_columns(&c);) {
      struct mafat_copy_columns inside = c;
      if (clip(m, &inside)) copy_columns(m, rows.y - 1, &inside);
    }
}

void mafat_copy_bytes(const struct mafat_strided_copy *m)
{
  if (is_whole(m)) copy_pixels(m);
  else if (mafat_part_leaves(m->part, m->operand->shape)) copy_clipped(m);
  else copy_elements(m);
}

static int run_rearrange(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  fill(w->tensors, l, step->layer, step->out);
  for (int k = 0; k < l->n_operands; k++) {
    struct mafat_strided_copy m = {w->tensors, &l->operands[k], &l->rearrange->parts[k],
                                   step->layer, step->out};
    mafat_copy_bytes(&m);
  }
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_integer_rearrange = {.run = run_rearrange,
                                                          .sharing = MAFAT_SHARED_BY_ROWS};
