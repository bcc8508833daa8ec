/* A window that slides over a map: taps, how far apart they and their outputs are,
 * and what is padded before the first row or column and after the last. Rows and
 * columns go by themselves, as everything does that the planner knows of geometry. */
#ifndef MAFAT_NETWORK_WINDOW_H
#define MAFAT_NETWORK_WINDOW_H

#include "base/box.h"

/* Of rows, or of columns. */
struct mafat_taps {
  int size;     /* taps */
  int stride;   /* inputs from one output's first tap to the next one's */
  int dilation; /* inputs from one tap to the next */
  int before, after; /* padding */
};

struct mafat_window {
  struct mafat_taps y, x;
};

/* The same both ways: `pad` inputs of padding on every side. */
static inline struct mafat_window mafat_window_square(int size, int stride, int pad)
{
  struct mafat_taps taps = {size, stride, 1, pad, pad};
  return (struct mafat_window){taps, taps};
}

static inline struct mafat_taps mafat_window_along(const struct mafat_window *w, bool axis_y)
{
  return axis_y ? w->y : w->x;
}

/* One tap on every pixel: nothing slides. */
static inline bool mafat_window_is_pixel(const struct mafat_window *w)
{
  return w->y.size == 1 && w->x.size == 1 && w->y.stride == 1 && w->x.stride == 1 &&
         w->y.before == 0 && w->y.after == 0 && w->x.before == 0 && w->x.after == 0;
}

/* Is it `size` taps side by side, `stride` apart, both ways? Padding may be any. */
static inline bool mafat_window_is_plain(const struct mafat_window *w, int size, int stride)
{
  return w->y.size == size && w->x.size == size && w->y.stride == stride && w->x.stride == stride &&
         (size == 1 || (w->y.dilation == 1 && w->x.dilation == 1));
}

static inline bool mafat_window_is_padded(const struct mafat_window *w)
{
  return w->y.before || w->y.after || w->x.before || w->x.after;
}

/* Taps of both ways together. */
static inline int mafat_window_area(const struct mafat_window *w)
{
  return w->y.size * w->x.size;
}

/* Inputs from the first tap to behind the last. */
static inline int mafat_taps_reach(struct mafat_taps t)
{
  return (t.size - 1) * t.dilation + 1;
}

/* Inputs from the first tap of the first of n outputs to behind the last tap of the last. */
static inline int mafat_taps_inputs(struct mafat_taps t, int n)
{
  return (n - 1) * t.stride + mafat_taps_reach(t);
}

/* Where the first tap of an output lies: may be in the padding, below 0. */
static inline int mafat_taps_first(struct mafat_taps t, int output)
{
  return output * t.stride - t.before;
}

/* Inputs that the outputs `out` are made from. Not clipped: may reach outside the map. */
static inline struct mafat_span mafat_taps_span(struct mafat_taps t, struct mafat_span out)
{
  if (mafat_span_is_empty(out)) return mafat_span(0, 0);
  int first = mafat_taps_first(t, out.begin);
  return mafat_span(first, first + mafat_taps_inputs(t, mafat_span_size(out)));
}

/* Outputs over so many inputs, padded; 0 where the window is larger. */
static inline long long mafat_taps_outputs(struct mafat_taps t, int inputs)
{
  long long room = (long long)inputs + t.before + t.after - ((long long)(t.size - 1) * t.dilation + 1);
  return room < 0 ? 0 : room / t.stride + 1;
}

#endif
