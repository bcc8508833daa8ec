/* Placement of a picture in a network's input, computed from both sizes. Also maps positions in the
 * input back to the picture. Coordinates are those of edges, not of pixel centers: 0 is the left
 * edge of the first pixel. Touches only its arguments. Included by runner/detect/detect.h and
 * image.h; called by runner/detect, runner/image and api/. */
#ifndef MAFAT_RUNNER_IMAGE_PLACEMENT_H
#define MAFAT_RUNNER_IMAGE_PLACEMENT_H

enum mafat_fit {
  MAFAT_FIT_LETTERBOX, /* keep the aspect ratio; picture in the center, grey padding around it */
  MAFAT_FIT_STRETCH,   /* fill the input, ignoring the aspect ratio */
  MAFAT_FIT_CORNER,    /* keep the aspect ratio; picture at the top left, grey padding beside it */
  MAFAT_FIT_CROP       /* keep the aspect ratio; fill the input with the picture's center */
};

struct mafat_placement {
  enum mafat_fit fit;
  int picture_w, picture_h; /* size of the upright picture in pixels */
  int in_w, in_h;           /* size of the network's input in pixels */
  /* rectangle of the whole picture, in pixels of the input. With MAFAT_FIT_CROP the rectangle is at
   * least as large as the input. With other fits, w or h may be 0 for very thin pictures. */
  int left, top, w, h;
};

/* Returns the placement of a picture of this size in an input of this size. */
struct mafat_placement mafat_placement_make(enum mafat_fit fit, int picture_w, int picture_h,
                                            int in_w, int in_h);

/* These return how many pixels of the input one pixel of the picture covers, horizontally and
 * vertically. A side w or h of 0 counts as 1. */
static inline double mafat_placement_scale_x(const struct mafat_placement *p)
{
  return (double)(p->w < 1 ? 1 : p->w) / p->picture_w;
}

static inline double mafat_placement_scale_y(const struct mafat_placement *p)
{
  return (double)(p->h < 1 ? 1 : p->h) / p->picture_h;
}

/* These map a position in the input to the picture; the result may be outside of it. */
static inline double mafat_placement_picture_x(const struct mafat_placement *p, double x)
{
  return (x - p->left) / mafat_placement_scale_x(p);
}

static inline double mafat_placement_picture_y(const struct mafat_placement *p, double y)
{
  return (y - p->top) / mafat_placement_scale_y(p);
}

#endif
