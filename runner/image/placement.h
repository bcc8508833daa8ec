/* Where a picture lies in a network's input: made of both sizes before it is decoded, kept for each run, and what maps
 * boxes back to the picture. Coordinates are of edges, not of centres: 0 is the left edge of the leftmost pixel. */
#ifndef MAFAT_RUNNER_IMAGE_PLACEMENT_H
#define MAFAT_RUNNER_IMAGE_PLACEMENT_H

enum mafat_fit {
  MAFAT_FIT_LETTERBOX, /* keep the proportions, in the middle, grey around */
  MAFAT_FIT_STRETCH,   /* fill the input */
  MAFAT_FIT_CORNER,    /* keep the proportions, at the left and the top, grey behind */
  MAFAT_FIT_CROP       /* keep the proportions and fill the input, with the picture's middle */
};

struct mafat_placement {
  enum mafat_fit fit;
  int picture_w, picture_h; /* as seen, after EXIF turning */
  int in_w, in_h;           /* of the network's input */
  int left, top, w, h;      /* the whole picture in it, beyond its edges where it is cropped; a side may vanish: 0 */
};

struct mafat_placement mafat_placement_make(enum mafat_fit fit, int picture_w, int picture_h, int in_w, int in_h);

/* Pixels of the network's input for one of the picture; a side that vanishes counts as one pixel. */
static inline double mafat_placement_scale_x(const struct mafat_placement *p)
{
  return (double)(p->w < 1 ? 1 : p->w) / p->picture_w;
}

static inline double mafat_placement_scale_y(const struct mafat_placement *p)
{
  return (double)(p->h < 1 ? 1 : p->h) / p->picture_h;
}

/* Of a place in the network's input: where in the picture; it may be outside. */
static inline double mafat_placement_picture_x(const struct mafat_placement *p, double x)
{
  return (x - p->left) / mafat_placement_scale_x(p);
}

static inline double mafat_placement_picture_y(const struct mafat_placement *p, double y)
{
  return (y - p->top) / mafat_placement_scale_y(p);
}

#endif
