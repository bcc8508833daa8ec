/* Decodes boxes of detection heads whose cells are the pixels of the head's map: region, yolo,
 * Gaussian_yolo. boxes.c puts these functions into the table of kinds, through which
 * runner/detect/detect.c calls them after a run. They pass boxes to the functions of decoding.h and
 * allocate nothing. They mix float and double as Darknet does, because the types decide the last
 * bit of two boxes' overlap. */
#include "runner/engine/kinds/boxes.h"

#include <math.h>

/* One anchor of one cell. */
struct anchor {
  int number, y, x;
  int channel; /* the map's channel with its first value */
};

/* Functions that differ between the heads. */
struct box_decoding {
  struct mafat_rectangle (*box)(const struct mafat_decoding *d, const struct anchor *a);
  /* factor of the class probabilities; NULL: 1 */
  double (*certainty)(const struct mafat_decoding *d, const struct anchor *a);
};

static float value_of(const struct mafat_decoding *d, const struct anchor *a, int value)
{
  return mafat_decoding_at(d, a->channel + value, a->y, a->x);
}

/* Returns x, y, w, h as in the head's output. A Gaussian head has a sigma (standard deviation)
 * after each, which is skipped. */
static struct mafat_rectangle values_of(const struct mafat_decoding *d, const struct anchor *a)
{
  int apart = d->layer->head.coords / 4;
  return (struct mafat_rectangle){value_of(d, a, 0), value_of(d, a, apart),
                                  value_of(d, a, 2 * apart), value_of(d, a, 3 * apart)};
}

/* Returns the anchor's box as fractions of the input. whole_w, whole_h: size of the input in the
 * unit of the cfg's anchor sizes. */
static struct mafat_rectangle place_box(const struct mafat_decoding *d, const struct anchor *a,
                                        int whole_w, int whole_h)
{
  struct mafat_rectangle v = values_of(d, a);
  const struct mafat_shape cells = d->layer->out;
  const float *size = &d->layer->head.anchors[2 * a->number];
  return (struct mafat_rectangle){.x = ((float)a->x + v.x) / (float)cells.w,
                                  .y = ((float)a->y + v.y) / (float)cells.h,
                                  .w = (float)(exp((double)v.w) * (double)size[0] / whole_w),
                                  .h = (float)(exp((double)v.h) * (double)size[1] / whole_h)};
}

/* Anchor sizes are in cells of the map. */
static struct mafat_rectangle region_box(const struct mafat_decoding *d, const struct anchor *a)
{
  return place_box(d, a, d->layer->out.w, d->layer->out.h);
}

/* Anchor sizes are in pixels of the input. */
static struct mafat_rectangle yolo_box(const struct mafat_decoding *d, const struct anchor *a)
{
  struct mafat_rectangle box = place_box(d, a, d->in_w, d->in_h);
  if (!d->layer->head.new_coords) return box;
  struct mafat_rectangle v = values_of(d, a);
  const float *size = &d->layer->head.anchors[2 * a->number];
  box.w = v.w * v.w * 4 * size[0] / (float)d->in_w;
  box.h = v.h * v.h * 4 * size[1] / (float)d->in_h;
  return box;
}

/* Returns the anchor's box. The decoded position may be a corner of the box instead of its
 * center. */
static struct mafat_rectangle gaussian_box(const struct mafat_decoding *d, const struct anchor *a)
{
  struct mafat_rectangle box = place_box(d, a, d->in_w, d->in_h);
  float w = box.w / 2, h = box.h / 2;
  switch (d->layer->head.point) {
  case MAFAT_POINT_CENTER: return box;
  case MAFAT_POINT_LEFT_TOP: return (struct mafat_rectangle){box.x + w, box.y + h, box.w, box.h};
  case MAFAT_POINT_RIGHT_BOTTOM: break;
  }
  return (struct mafat_rectangle){box.x - w, box.y - h, box.w, box.h};
}

static double gaussian_certainty(const struct mafat_decoding *d, const struct anchor *a)
{
  float sigmas = value_of(d, a, 1) + value_of(d, a, 3) + value_of(d, a, 5) + value_of(d, a, 7);
  return 1. - (double)(sigmas / 4);
}

static void decode_anchor(struct mafat_decoding *d, const struct anchor *a,
                          const struct box_decoding *r)
{
  const struct mafat_head *h = &d->layer->head;
  float objectness = h->background ? 1 : value_of(d, a, h->coords);
  if (!(objectness > d->thresh) || !mafat_decoding_box(d, r->box(d, a), false)) return;
  double certainty = r->certainty ? r->certainty(d, a) : 1;
  for (int class = 0; class < h->classes; class++) {
    float probability = objectness * value_of(d, a, h->coords + 1 + class);
    mafat_decoding_class(d, class, (float)((double)probability * certainty));
  }
}

static void decode_cells(struct mafat_decoding *d, const struct box_decoding *r)
{
  const struct mafat_head *h = &d->layer->head;
  int per_box = h->coords + 1 + h->classes;
  for (int y = 0; y < d->layer->out.h; y++)
    for (int x = 0; x < d->layer->out.w; x++)
      for (int number = 0; number < h->n_anchors; number++) {
        const struct anchor a = {number, y, x, number * per_box};
        decode_anchor(d, &a, r);
      }
}

void mafat_boxes_decode_region(struct mafat_decoding *d)
{
  decode_cells(d, &(struct box_decoding){.box = region_box});
}

void mafat_boxes_decode_yolo(struct mafat_decoding *d)
{
  decode_cells(d, &(struct box_decoding){.box = yolo_box});
}

void mafat_boxes_decode_gaussian_yolo(struct mafat_decoding *d)
{
  decode_cells(d, &(struct box_decoding){.box = gaussian_box, .certainty = gaussian_certainty});
}
