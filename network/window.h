/* Geometry of a sliding window: taps, stride, dilation and padding, separately for rows and
 * columns. Included by network/layer.h, runner/kernels/integer.h and runner/kernels/kernels.h.
 * Inline functions; touches only its arguments. */
#ifndef MAFAT_NETWORK_WINDOW_H
#define MAFAT_NETWORK_WINDOW_H

#include "base/box.h"

/* One axis of a window. */
struct mafat_taps {
  int size;     /* taps */
  int stride;   /* inputs between the first taps of neighbouring outputs */
  int dilation; /* inputs between neighbouring taps */
  int before, after; /* padding before the first input and after the last */
};

struct mafat_window {
  struct mafat_taps y, x;
};

/* A square window with `pad` inputs of padding on every side. */
static inline struct mafat_window mafat_window_square(int size, int stride, int pad)
{
  struct mafat_taps taps = {size, stride, 1, pad, pad};
  return (struct mafat_window){taps, taps};
}

static inline struct mafat_taps mafat_window_along(const struct mafat_window *w, bool axis_y)
{
  return axis_y ? w->y : w->x;
}

/* True for a 1x1 window with stride 1 and no padding. */
static inline bool mafat_window_is_pixel(const struct mafat_window *w)
{
  return w->y.size == 1 && w->x.size == 1 && w->y.stride == 1 && w->x.stride == 1 &&
         w->y.before == 0 && w->y.after == 0 && w->x.before == 0 && w->x.after == 0;
}

/* True for `size` contiguous taps with stride `stride` along both axes, whatever the padding. */
static inline bool mafat_window_is_plain(const struct mafat_window *w, int size, int stride)
{
  return w->y.size == size && w->x.size == size && w->y.stride == stride && w->x.stride == stride &&
         (size == 1 || (w->y.dilation == 1 && w->x.dilation == 1));
}

static inline bool mafat_window_is_padded(const struct mafat_window *w)
{
  return w->y.before || w->y.after || w->x.before || w->x.after;
}

/* Taps of a window, rows times columns. */
static inline int mafat_window_area(const struct mafat_window *w)
{
  return w->y.size * w->x.size;
}

/* Returns the number of inputs from an output's first tap to its last. */
static inline int mafat_taps_reach(struct mafat_taps t)
{
  return (t.size - 1) * t.dilation + 1;
}

/* Returns the number of inputs that n neighboring outputs span, from the first tap of the first
 * output to the last tap of the last one. */
static inline int mafat_taps_inputs(struct mafat_taps t, int n)
{
  return (n - 1) * t.stride + mafat_taps_reach(t);
}

/* Returns the first input of an output; negative in the padding. */
static inline int mafat_taps_first(struct mafat_taps t, int output)
{
  return output * t.stride - t.before;
}

/* Returns the inputs that outputs `out` read. Not clipped: may exceed the map. */
static inline struct mafat_span mafat_taps_span(struct mafat_taps t, struct mafat_span out)
{
  if (mafat_span_is_empty(out)) return mafat_span(0, 0);
  int first = mafat_taps_first(t, out.begin);
  return mafat_span(first, first + mafat_taps_inputs(t, mafat_span_size(out)));
}

/* Returns the number of outputs over `inputs` inputs with the padding; 0 if the window is larger
 * than both together. */
static inline long long mafat_taps_outputs(struct mafat_taps t, int inputs)
{
  long long capacity =
      (long long)inputs + t.before + t.after - ((long long)(t.size - 1) * t.dilation + 1);
  return capacity < 0 ? 0 : capacity / t.stride + 1;
}

#endif
