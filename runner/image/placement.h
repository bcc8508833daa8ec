/* Placement of a picture in a network's input, computed from both sizes. It maps boxes back to the
 * picture. Coordinates are those of edges, not of pixel centers: 0 is the left edge of the first
 * pixel. Touches nothing but its arguments. Included by runner/detect/detect.h and image.h. */
#ifndef MAFAT_RUNNER_IMAGE_PLACEMENT_H
#define MAFAT_RUNNER_IMAGE_PLACEMENT_H

enum mafat_fit {
  MAFAT_FIT_LETTERBOX, /* keep the aspect ratio, in the center, grey padding */
  MAFAT_FIT_STRETCH,   /* fill the input, ignoring the aspect ratio */
  MAFAT_FIT_CORNER,    /* keep the aspect ratio, at the top left, grey padding */
  MAFAT_FIT_CROP       /* keep the aspect ratio and fill the input with the picture's center */
};

struct mafat_placement {
  enum mafat_fit fit;
  int picture_w, picture_h; /* after EXIF orientation */
  int in_w, in_h;           /* size of the network's input */
  /* rectangle of the whole picture, in pixels of the input. It reaches past the input's edges if
   * cropped; w or h may round to 0 */
  int left, top, w, h;
};

struct mafat_placement mafat_placement_make(enum mafat_fit fit, int picture_w, int picture_h,
                                            int in_w, int in_h);

/* Return the input's pixels per pixel of the picture; a side of 0 counts as 1. */
static inline double mafat_placement_scale_x(const struct mafat_placement *p)
{
  return (double)(p->w < 1 ? 1 : p->w) / p->picture_w;
}

static inline double mafat_placement_scale_y(const struct mafat_placement *p)
{
  return (double)(p->h < 1 ? 1 : p->h) / p->picture_h;
}

/* Map a position in the input to the picture; the result may be outside. */
static inline double mafat_placement_picture_x(const struct mafat_placement *p, double x)
{
  return (x - p->left) / mafat_placement_scale_x(p);
}

static inline double mafat_placement_picture_y(const struct mafat_placement *p, double y)
{
  return (y - p->top) / mafat_placement_scale_y(p);
}

#endif
