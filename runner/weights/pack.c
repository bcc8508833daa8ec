#include "runner/weights/pack.h"

#include <string.h>

/* NaN and infinity have all exponent bits set. */
bool mafat_pack_is_finite(const float *x, size_t n)
{
  uint32_t largest = 0;
  for (size_t i = 0; i < n; i++) {
    uint32_t bits;
    memcpy(&bits, &x[i], sizeof bits);
    bits &= 0x7f800000u;
    largest = bits > largest ? bits : largest;
  }
  return largest != 0x7f800000u;
}

/* ---- weights ---- */

/* A panel, and what of it is being filled. */
struct panel {
  float *floats;
  size_t width, taps, channels;
  int lane, n; /* filters */
  bool ends;   /* with the panel's last filter */
};

int mafat_pack_panel_begin(const struct mafat_layer *l, int filter)
{
  if (!mafat_layer_is_grouped(l)) return filter / MAFAT_PANEL * MAFAT_PANEL;
  /* They begin with blocks or groups. */
  int per_group = l->filters / l->groups, block = filter / MAFAT_CHANNEL_BLOCK * MAFAT_CHANNEL_BLOCK;
  int group = filter / per_group * per_group;
  return mafat_layer_is_depthwise(l) || block > group ? block : group;
}

static struct panel find_panel(const struct mafat_layer *l, struct mafat_packed_panels panels, int filter, int end)
{
  int first = mafat_pack_panel_begin(l, filter);
  struct mafat_matrix m = mafat_layer_matrix(l);
  int panel_end = mafat_panel_end(l, first);
  return (struct panel){.floats = panels.floats + (mafat_packed_offset(l, first) - panels.before),
                        .width = (size_t)mafat_panel_width(panel_end - first),
                        .taps = (size_t)m.taps,
                        .channels = (size_t)m.inputs,
                        .lane = filter - first,
                        .n = mafat_min(panel_end, end) - filter,
                        .ends = end >= panel_end};
}

/* n filters of one piece side by side, taps apart as the panel has them. `from` and
 * `to` are the piece's first weights of the first of these filters. */
static inline void pack_lanes(const float *restrict from, size_t filter, float *restrict to, const struct panel *p,
                              size_t channels, int n)
{
  for (size_t c = 0; c < channels; c++) {
    float *restrict out = to + c * p->width;
    for (size_t t = 0; t < p->taps; t++, from++, out += channels * p->width)
      for (int i = 0; i < n; i++) out[i] = from[(size_t)i * filter];
  }
}

/* All lanes of one piece before the next: what they fill stays in the cache. Whole
 * vectors are stored, and few streams are read at a time. */
static void pack_piece(const float *from, size_t filter, const struct panel *p, const struct mafat_piece *piece,
                       size_t before)
{
  size_t channels = (size_t)piece->n;
  float *to = p->floats + before * p->taps * p->width + p->lane;
  from += before * p->taps;
  int i = 0;
  for (; i + 8 <= p->n; i += 8) pack_lanes(from + (size_t)i * filter, filter, to + i, p, channels, 8);
  for (; i + 4 <= p->n; i += 4) pack_lanes(from + (size_t)i * filter, filter, to + i, p, channels, 4);
  for (; i < p->n; i++) pack_lanes(from + (size_t)i * filter, filter, to + i, p, channels, 1);
}

/* Zeros behind the last filter of a panel that is not full. */
static void fill_up(const struct panel *p)
{
  size_t n = (size_t)(p->lane + p->n), rows = p->channels * p->taps + 2;
  if (!p->ends || n == p->width) return;
  for (size_t r = 0; r < rows; r++)
    for (size_t i = n; i < p->width; i++) p->floats[r * p->width + i] = 0;
}

static void put_affine(const struct panel *p, const float *scale, const float *bias)
{
  float *to = p->floats + p->channels * p->taps * p->width + p->lane;
  memcpy(to, scale, (size_t)p->n * sizeof *to);
  memcpy(to + p->width, bias, (size_t)p->n * sizeof *to);
}

/* A flat layer's inputs, and a depthwise filter's channel, are one piece. */
static int list_pieces(const struct mafat_layer *l, int filter, struct mafat_piece *pieces)
{
  if (mafat_layer_is_flat(l) || mafat_layer_is_depthwise(l)) {
    pieces[0] = (struct mafat_piece){.n = mafat_layer_matrix(l).inputs};
    return 1;
  }
  int per_group = l->in.c / l->groups, group = filter / (l->filters / l->groups);
  struct mafat_span channels = {group * per_group, (group + 1) * per_group};
  return mafat_pieces(mafat_layer_sources(l), channels, pieces, mafat_pack_pieces(l));
}

int mafat_pack_pieces(const struct mafat_layer *l)
{
  if (!mafat_layer_convolves(l)) return 1;
  return mafat_pieces(mafat_layer_sources(l), mafat_span(0, l->in.c), NULL, 0);
}

void mafat_pack_filters(const struct mafat_layer *l, struct mafat_span filters, const float *weights,
                        const float *scale, const float *bias, struct mafat_piece *pieces,
                        struct mafat_packed_panels panels)
{
  int n_pieces = 0;
  for (int f = filters.begin; f < filters.end;) {
    struct panel p = find_panel(l, panels, f, filters.end);
    size_t filter = p.channels * p.taps;
    const float *from = weights + (size_t)(f - filters.begin) * filter;
    if (n_pieces == 0 || l->groups > 1) n_pieces = list_pieces(l, f, pieces);
    for (int i = 0; i < n_pieces; i++)
      pack_piece(from, filter, &p, &pieces[i], (size_t)(pieces[i].position - pieces[0].position));
    put_affine(&p, scale + f, bias + f);
    fill_up(&p);
    f += p.n;
  }
}

void mafat_pack_inputs(const struct mafat_layer *l, struct mafat_span inputs, const float *weights,
                       const float *scale, const float *bias, struct mafat_packed_panels panels)
{
  for (int f = 0; f < l->out.c; f += MAFAT_PANEL) {
    struct panel p = find_panel(l, panels, f, l->out.c);
    for (int i = inputs.begin; i < inputs.end; i++)
      memcpy(p.floats + (size_t)i * p.width, weights + (size_t)(i - inputs.begin) * (size_t)l->out.c + f,
             (size_t)p.n * sizeof(float));
    if ((size_t)inputs.end < p.channels) continue;
    put_affine(&p, scale + f, bias + f);
    fill_up(&p);
  }
}
