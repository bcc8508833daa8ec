/* Half-open boxes [y0,y1) x [x0,x1) of a feature map, and one-dimensional spans of rows or
 * columns. The planner computes with spans only: a layer's receptive field is the product of its
 * row span and its column span. Included by network/, predictor/plan, predictor/transfers and
 * transform/. Pure functions. */
#ifndef MAFAT_BASE_BOX_H
#define MAFAT_BASE_BOX_H

#include <stdbool.h>

struct mafat_span {
  int begin, end;
};

struct mafat_box {
  struct mafat_span y, x;
};

static inline struct mafat_span mafat_span(int begin, int end)
{
  return (struct mafat_span){begin, end};
}

static inline int mafat_span_size(struct mafat_span s)
{
  return s.end > s.begin ? s.end - s.begin : 0;
}

static inline bool mafat_span_is_empty(struct mafat_span s)
{
  return s.end <= s.begin;
}

/* Returns the smallest span that contains both. An empty span adds nothing. */
struct mafat_span mafat_span_hull(struct mafat_span a, struct mafat_span b);

/* Returns the part of s inside [0, limit). */
struct mafat_span mafat_span_clip(struct mafat_span s, int limit);

/* Grows s outwards to multiples of granularity, within [0, limit). Winograd needs this: it computes
 * tiles of 4x4 or 6x6 outputs on a grid aligned to the map's origin. */
struct mafat_span mafat_span_round_out(struct mafat_span s, int granularity,
                                       int limit);

/* Returns the inputs that are read for the outputs `out`: output i reads `size` inputs from
 * i * stride - pad on. Not clipped: the span may reach outside the map. */
struct mafat_span mafat_span_window(struct mafat_span out, int size, int stride,
                                    int pad);

/* Returns share i of [0, extent) divided into n shares whose sizes differ by at most one. */
struct mafat_span mafat_span_share(int extent, int n, int i);

static inline struct mafat_box mafat_box_full(int h, int w)
{
  return (struct mafat_box){{0, h}, {0, w}};
}

static inline bool mafat_box_is_empty(struct mafat_box b)
{
  return mafat_span_is_empty(b.y) || mafat_span_is_empty(b.x);
}

static inline long long mafat_box_area(struct mafat_box b)
{
  return (long long)mafat_span_size(b.y) * mafat_span_size(b.x);
}

#endif
