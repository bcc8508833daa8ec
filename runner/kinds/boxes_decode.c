/* Boxes of the heads whose cells are pixels: region, yolo. The mixture of float and
 * double is Darknet's: it decides the last bit of an overlap. */
#include "runner/kinds/boxes.h"

#include <math.h>

/* One anchor of one cell. */
struct anchor {
  int number, y, x;
  int channel; /* of its first value */
};

/* Where the heads differ. */
typedef struct mafat_rectangle read_box(const struct mafat_decoding *d, const struct anchor *a);

static float value_of(const struct mafat_decoding *d, const struct anchor *a, int value)
{
  return mafat_decoding_at(d, a->channel + value, a->y, a->x);
}

/* x, y, w, h as the head put them out. */
static struct mafat_rectangle values_of(const struct mafat_decoding *d, const struct anchor *a)
{
  return (struct mafat_rectangle){value_of(d, a, 0), value_of(d, a, 1), value_of(d, a, 2), value_of(d, a, 3)};
}

/* A box whose anchor is so many parts of whole_w x whole_h. */
static struct mafat_rectangle place_box(const struct mafat_decoding *d, const struct anchor *a, int whole_w, int whole_h)
{
  struct mafat_rectangle v = values_of(d, a);
  const struct mafat_shape cells = d->layer->out;
  const float *size = &d->layer->head.anchors[2 * a->number];
  return (struct mafat_rectangle){.x = ((float)a->x + v.x) / (float)cells.w,
                                  .y = ((float)a->y + v.y) / (float)cells.h,
                                  .w = (float)(exp((double)v.w) * (double)size[0] / whole_w),
                                  .h = (float)(exp((double)v.h) * (double)size[1] / whole_h)};
}

/* Anchors are cells of the map. */
static struct mafat_rectangle region_box(const struct mafat_decoding *d, const struct anchor *a)
{
  return place_box(d, a, d->layer->out.w, d->layer->out.h);
}

/* Anchors are pixels of the input. */
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

static int decode_anchor(struct mafat_decoding *d, const struct anchor *a, read_box *read)
{
  const struct mafat_head *h = &d->layer->head;
  float objectness = h->background ? 1 : value_of(d, a, h->coords);
  if (!(objectness > d->thresh) || !mafat_decoding_box(d, read(d, a), false)) return MAFAT_OK;
  int code = MAFAT_OK;
  for (int class = 0; class < h->classes && code == MAFAT_OK; class++)
    code = mafat_decoding_class(d, class, objectness * value_of(d, a, h->coords + 1 + class));
  return code;
}

static int decode_cells(struct mafat_decoding *d, read_box *read)
{
  const struct mafat_head *h = &d->layer->head;
  int code = MAFAT_OK, per_box = h->coords + 1 + h->classes;
  for (int y = 0; y < d->layer->out.h; y++)
    for (int x = 0; x < d->layer->out.w; x++)
      for (int number = 0; number < h->n_anchors && code == MAFAT_OK; number++) {
        const struct anchor a = {number, y, x, number * per_box};
        code = decode_anchor(d, &a, read);
      }
  return code;
}

int mafat_boxes_decode_region(struct mafat_decoding *d)
{
  return decode_cells(d, region_box);
}

int mafat_boxes_decode_yolo(struct mafat_decoding *d)
{
  return decode_cells(d, yolo_box);
}
