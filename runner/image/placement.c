/* Computes a picture's placement in a network's input. Called by runner/image/image.c and
 * api/model.c. Touches only its arguments. */
#include "runner/image/placement.h"

#include <stdbool.h>
#include <stdint.h>

/* True if the picture is wider than the input in proportion to its height. Compares floats, as
 * Darknet does. */
static bool is_wider(const struct mafat_placement *p)
{
  return (float)p->in_w / (float)p->picture_w < (float)p->in_h / (float)p->picture_h;
}

/* Scales the picture to fit inside the input: one of its sides becomes that of the input, the other
 * follows from the aspect ratio. Products of large pictures need 64 bits; Darknet's int would
 * overflow. Clamps, because is_wider rounds and may choose the wrong side. */
static void fit_inside(struct mafat_placement *p)
{
  if (is_wider(p)) p->h = (int)((int64_t)p->picture_h * p->in_w / p->picture_w);
  else p->w = (int)((int64_t)p->picture_w * p->in_h / p->picture_h);
  if (p->w > p->in_w) p->w = p->in_w;
  if (p->h > p->in_h) p->h = p->in_h;
}

/* Returns the longer side of a picture that is scaled to cover the input. Limits it to 2^30,
 * because with extreme proportions it may not fit in an int. */
static int side_outside(int picture, int in, int picture_other, int in_other)
{
  enum { MOST = 1 << 30 };
  int64_t side = (int64_t)picture * in_other / picture_other;
  return side < in ? in : side > MOST ? MOST : (int)side;
}

static void fit_outside(struct mafat_placement *p)
{
  if (is_wider(p)) p->w = side_outside(p->picture_w, p->in_w, p->picture_h, p->in_h);
  else p->h = side_outside(p->picture_h, p->in_h, p->picture_w, p->in_w);
}

struct mafat_placement mafat_placement_make(enum mafat_fit fit, int picture_w, int picture_h,
                                            int in_w, int in_h)
{
  struct mafat_placement p = {fit, picture_w, picture_h, in_w, in_h, 0, 0, in_w, in_h};
  if (fit == MAFAT_FIT_STRETCH || picture_w < 1 || picture_h < 1) return p;
  if (fit == MAFAT_FIT_CROP) fit_outside(&p);
  else fit_inside(&p);
  if (fit == MAFAT_FIT_CORNER) return p;
  p.left = (in_w - p.w) / 2;
  p.top = (in_h - p.h) / 2;
  return p;
}
