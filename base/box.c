/* Span arithmetic of base/box.h: union, clipping, rounding, windows and equal shares. Called by
 * all folders that compute boxes of feature maps (network/, predictor/, runner/engine,
 * transform/split.c), and by formats/darknet/sections.c. Pure functions. */
#include "base/box.h"

struct mafat_span mafat_span_hull(struct mafat_span a, struct mafat_span b)
{
  if (mafat_span_is_empty(a)) return b;
  if (mafat_span_is_empty(b)) return a;
  return mafat_span(a.begin < b.begin ? a.begin : b.begin,
                    a.end > b.end ? a.end : b.end);
}

struct mafat_span mafat_span_clip(struct mafat_span s, int limit)
{
  if (s.begin < 0) s.begin = 0;
  if (s.end > limit) s.end = limit;
  if (s.end <= s.begin) return mafat_span(0, 0);
  return s;
}

struct mafat_span mafat_span_round_out(struct mafat_span s, int granularity,
                                       int limit)
{
  if (granularity <= 1 || mafat_span_is_empty(s)) return s;
  s.begin -= s.begin % granularity;
  int over = s.end % granularity;
  if (over) s.end = s.end > limit - (granularity - over) ? limit : s.end + (granularity - over);
  return mafat_span_clip(s, limit);
}

struct mafat_span mafat_span_window(struct mafat_span out, int size, int stride,
                                    int pad)
{
  if (mafat_span_is_empty(out)) return mafat_span(0, 0);
  return mafat_span(out.begin * stride - pad,
                    (out.end - 1) * stride - pad + size);
}

struct mafat_span mafat_span_share(int extent, int n, int i)
{
  return mafat_span((int)((long long)extent * i / n),
                    (int)((long long)extent * (i + 1) / n));
}
