/* Packs weights of one element type from a file's order into panels. Included by one source for
 * each type (pack_floats.c, pack_halves.c, pack_bytes.c), which defines ELEMENT, the type in file
 * and panels, and PACK, the function's name in pack.h. Touches only its arguments. */
#include "runner/weights/pack.h"

#include <string.h>

/* A panel, and n of its filters that are to be packed, from `lane` on. */
struct packed_panel {
  ELEMENT *weights;
  float *affine; /* the filters' scales, then their biases; stored after the weights */
  size_t width, taps, channels;
  int lane, n;
  bool ends;     /* the filters include the panel's last filter */
};

static struct packed_panel find_panel(const struct mafat_layer *l,
                                      struct mafat_packed_panels panels, int filter, int end)
{
  int first = mafat_pack_panel_begin(l, filter);
  struct mafat_matrix m = mafat_layer_matrix(l);
  int panel_end = mafat_panel_end(l, first);
  size_t width = (size_t)mafat_panel_width(panel_end - first);
  char *at = panels.bytes + (mafat_packed_offset(l, first) - panels.before);
  return (struct packed_panel){.weights = (ELEMENT *)(void *)at,
                        .affine = (float *)(void *)(at + mafat_panel_offset(l, width, m.inputs)),
                        .width = width,
                        .taps = (size_t)m.taps,
                        .channels = (size_t)m.inputs,
                        .lane = filter - first,
                        .n = mafat_min(panel_end, end) - filter,
                        .ends = end >= panel_end};
}

/* Numbers of elements in the file from a weight to that of the next filter, input and tap. */
struct steps {
  ptrdiff_t filter, input, tap;
};

/* Packs n consecutive filters for the inputs of one block slice. `from` and `to` point to the first
 * filter's weight of the first input and tap. */
static inline void pack_lanes(const ELEMENT *restrict from, struct steps s, ELEMENT *restrict to,
                              const struct packed_panel *p, size_t channels, int n)
{
  for (size_t c = 0; c < channels; c++, from += s.input) {
    ELEMENT *restrict out = to + c * p->width;
    const ELEMENT *restrict tap = from;
    for (size_t t = 0; t < p->taps; t++, tap += s.tap, out += channels * p->width)
      for (int i = 0; i < n; i++) out[i] = tap[i * s.filter];
  }
}

/* Packs all filters of *p for the inputs of one block slice, 8 or 4 filters at a time: so it stores
 * whole vectors and reads at few positions of the file at a time. before: number of inputs in
 * earlier block slices. */
static void pack_block_slice(const ELEMENT *from, struct steps s, const struct packed_panel *p,
                             const struct mafat_block_slice *block_slice, size_t before)
{
  size_t channels = (size_t)block_slice->n;
  ELEMENT *to = p->weights + before * p->taps * p->width + p->lane;
  from += (ptrdiff_t)before * s.input;
  int i = 0;
  for (; i + 8 <= p->n; i += 8) pack_lanes(from + i * s.filter, s, to + i, p, channels, 8);
  for (; i + 4 <= p->n; i += 4) pack_lanes(from + i * s.filter, s, to + i, p, channels, 4);
  for (; i < p->n; i++) pack_lanes(from + i * s.filter, s, to + i, p, channels, 1);
}

/* If the panel's last filter is packed, fills the rest of the panel's width with zeros. */
static void fill_up(const struct packed_panel *p)
{
  size_t n = (size_t)(p->lane + p->n), rows = p->channels * p->taps;
  if (!p->ends || n == p->width) return;
  for (size_t r = 0; r < rows; r++)
    for (size_t i = n; i < p->width; i++) p->weights[r * p->width + i] = 0;
  for (size_t i = n; i < p->width; i++) p->affine[i] = p->affine[p->width + i] = 0;
}

static void put_affine(const struct packed_panel *p, const float *scale, const float *bias)
{
  float *to = p->affine + p->lane;
  memcpy(to, scale, (size_t)p->n * sizeof *to);
  memcpy(to + p->width, bias, (size_t)p->n * sizeof *to);
}

/* ---- order: filter by filter ---- */

/* Returns the distances in the file. *first: offset in a filter's weights of the tap that is packed
 * first: the last tap if taps are stored in reverse order. */
static struct steps filter_steps(const struct mafat_constant *c, const struct packed_panel *p,
                                 ptrdiff_t *first)
{
  ptrdiff_t inputs = (ptrdiff_t)p->channels, taps = (ptrdiff_t)p->taps;
  bool by_taps = c->order == MAFAT_ORDER_FILTERS_TAPS;
  struct steps s = {inputs * taps, by_taps ? 1 : taps, by_taps ? inputs : 1};
  *first = c->flipped ? (taps - 1) * s.tap : 0;
  if (c->flipped) s.tap = -s.tap;
  return s;
}

static void pack_filters(const struct mafat_layer *l, const struct mafat_pack_part *part,
                         struct mafat_block_slice *block_slices, struct mafat_packed_panels panels)
{
  int n_block_slices = 0;
  for (int f = part->filters.begin; f < part->filters.end;) {
    struct packed_panel p = find_panel(l, panels, f, part->filters.end);
    ptrdiff_t first;
    struct steps s = filter_steps(part->constant, &p, &first);
    const ELEMENT *from =
        (const ELEMENT *)part->weights + (f - part->filters.begin) * s.filter + first;
    if (n_block_slices == 0 || l->groups > 1) n_block_slices = mafat_pack_list(l, f, block_slices);
    for (int i = 0; i < n_block_slices; i++)
      pack_block_slice(from, s, &p, &block_slices[i],
                       (size_t)(block_slices[i].position - block_slices[0].position));
    put_affine(&p, part->scale + f, part->bias + f);
    fill_up(&p);
    f += p.n;
  }
}

/* ---- order: row by row ---- */

/* Block slices of a group's inputs. find_input begins its search at index `at`. */
struct inputs {
  const struct mafat_block_slice *block_slices;
  int at;
};

/* Returns the address of the weight in the panel for an input, its first tap and filter p->lane.
 * *between_taps: elements from a tap to the next. */
static ELEMENT *find_input(struct inputs *in, const struct packed_panel *p, int input,
                           size_t *between_taps)
{
  int first = in->block_slices[0].position;
  if (input + first < in->block_slices[in->at].position) in->at = 0;
  while (input + first >= in->block_slices[in->at].position + in->block_slices[in->at].n) in->at++;
  const struct mafat_block_slice *block_slice = &in->block_slices[in->at];
  size_t before = (size_t)(block_slice->position - first);
  *between_taps = (size_t)block_slice->n * p->width;
  return p->weights + (before * p->taps + (size_t)input - before) * p->width + p->lane;
}

/* Packs some rows, for the filters of one panel. A row has the weights of all filters for one input
 * and one tap. */
static void pack_rows(const struct mafat_pack_part *part, int filter, size_t filters,
                      const struct packed_panel *p, struct inputs in)
{
  int inputs = (int)p->channels, taps = (int)p->taps;
  bool by_taps = part->constant->order == MAFAT_ORDER_TAPS;
  const ELEMENT *from = (const ELEMENT *)part->weights + filter;
  for (int row = part->rows.begin; row < part->rows.end; row++, from += filters) {
    int tap = by_taps ? row / inputs : row % taps;
    size_t between;
    ELEMENT *to = find_input(&in, p, by_taps ? row % inputs : row / taps, &between);
    if (part->constant->flipped) tap = taps - 1 - tap;
    memcpy(to + (size_t)tap * between, from, (size_t)p->n * sizeof *to);
  }
}

/* Packs some rows of order MAFAT_ORDER_TRANSPOSED. A row has the weights of one input of a group,
 * for all filters of the group and all taps. */
static void pack_transposed(const struct mafat_layer *l, const struct mafat_pack_part *part,
                            struct mafat_block_slice *block_slices,
                            struct mafat_packed_panels panels)
{
  struct mafat_matrix m = mafat_layer_matrix(l);
  int group_filters = m.filters / l->groups;
  const ELEMENT *from = part->weights;
  for (int row = part->rows.begin; row < part->rows.end; row++) {
    int first = row / m.inputs * group_filters, end = first + group_filters;
    struct inputs in = {block_slices, 0};
    if (row == part->rows.begin || row % m.inputs == 0) mafat_pack_list(l, first, block_slices);
    for (int f = first; f < end;) {
      struct packed_panel p = find_panel(l, panels, f, end);
      size_t between;
      ELEMENT *to = find_input(&in, &p, row % m.inputs, &between);
      for (int i = 0; i < p.n; i++)
        for (int t = 0; t < m.taps; t++)
          to[(size_t)(part->constant->flipped ? m.taps - 1 - t : t) * between + (size_t)i] =
              *from++;
      f += p.n;
    }
  }
}

static void end_rows(const struct mafat_layer *l, const struct mafat_pack_part *part,
                     struct mafat_packed_panels panels)
{
  for (int f = 0; f < l->out.c; f = mafat_panel_end(l, f)) {
    struct packed_panel p = find_panel(l, panels, f, l->out.c);
    put_affine(&p, part->scale + f, part->bias + f);
    fill_up(&p);
  }
}

void PACK(const struct mafat_layer *l, const struct mafat_pack_part *part,
          struct mafat_block_slice *block_slices, struct mafat_packed_panels panels)
{
  enum mafat_order order = (enum mafat_order)part->constant->order;
  if (mafat_order_has_filters(order)) {
    pack_filters(l, part, block_slices, panels);
    return;
  }
  if (order == MAFAT_ORDER_TRANSPOSED) pack_transposed(l, part, block_slices, panels);
  for (int f = 0; order != MAFAT_ORDER_TRANSPOSED && f < l->out.c; f = mafat_panel_end(l, f)) {
    struct packed_panel p = find_panel(l, panels, f, l->out.c);
    if (f == 0 || l->groups > 1) mafat_pack_list(l, f, block_slices);
    pack_rows(part, f, (size_t)l->out.c, &p, (struct inputs){block_slices, 0});
  }
  if (part->rows.end == mafat_order_rows(l, order)) end_rows(l, part, panels);
}
