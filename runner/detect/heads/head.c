/* Functions shared by output heads: they number cells of grids, and report boxes and classes.
 * Called by the heads in runner/detect/heads. Reads outputs and reports boxes through struct
 * mafat_decoding; allocates nothing. */
#include "runner/detect/heads/head.h"

enum { PART = 64 }; /* elements read at a time */

bool mafat_head_has(const struct mafat_head_shapes *s, int index, int rank, const int64_t *dims)
{
  if (index >= s->n || s->list[index].rank != rank) return false;
  for (int i = 0; i < rank; i++)
    if (dims[i] < 0 ? s->list[index].dims[i] < 1 || s->list[index].dims[i] > INT32_MAX
                    : s->list[index].dims[i] != dims[i])
      return false;
  return true;
}

/* ---- cells ---- */

static int cells_along(int pixels, int stride)
{
  return (pixels + stride - 1) / stride;
}

int64_t mafat_cells_count(int in_w, int in_h, const int *strides, int n)
{
  int64_t all = 0;
  for (int i = 0; i < n; i++)
    all += (int64_t)cells_along(in_w, strides[i]) * cells_along(in_h, strides[i]);
  return all;
}

struct mafat_cell mafat_cells_at(int in_w, int in_h, const int *strides, long long number)
{
  for (;; strides++) {
    int w = cells_along(in_w, *strides);
    long long n = (long long)w * cells_along(in_h, *strides);
    if (number < n) return (struct mafat_cell){*strides, (int)(number % w), (int)(number / w)};
    number -= n;
  }
}

/* ---- boxes and classes ---- */

bool mafat_head_box(struct mafat_decoding *d, uint32_t number, float x, float y, float w, float h)
{
  float in_w = (float)d->in_w, in_h = (float)d->in_h;
  return mafat_decoding_numbered(d, number,
                                 (struct mafat_rectangle){x / in_w, y / in_h, w / in_w, h / in_h});
}

bool mafat_head_corners(struct mafat_decoding *d, uint32_t number, float left, float top,
                        float right, float bottom)
{
  const struct mafat_rectangle box = {(left + right) / 2, (top + bottom) / 2, right - left,
                                      bottom - top};
  return mafat_decoding_numbered(d, number, box);
}

static int next_part(int done, int all)
{
  return all - done < PART ? all - done : PART;
}

void mafat_head_classes_of(struct mafat_decoding *d, int which, long long first, float factor)
{
  float part[PART];
  for (int c = 0, n; c < d->decoded->classes; c += n) {
    n = next_part(c, d->decoded->classes);
    mafat_decoding_read(d, which, first + c, n, part);
    for (int i = 0; i < n; i++) mafat_decoding_class(d, c + i, part[i] * factor);
  }
}

int mafat_head_best(const struct mafat_decoding *d, int which, long long first, float *value)
{
  float part[PART];
  int best = 0;
  for (int c = 0, n; c < d->decoded->classes; c += n) {
    n = next_part(c, d->decoded->classes);
    mafat_decoding_read(d, which, first + c, n, part);
    for (int i = 0; i < n; i++) {
      if (c + i > 0 && !(part[i] > *value)) continue;
      best = c + i;
      *value = part[i];
    }
  }
  return best;
}
