/* Decodes the outputs of a network into boxes or classes. Called by api/model.c after a run, by
 * api/facts.c for facts, by the heads (runner/detect/heads, runner/engine/kinds) to report boxes,
 * and by programs/ to free detections. Allocates the result, which the caller frees by
 * mafat_detections_close; collects boxes in the caller's memory. */
#include "runner/detect/detect.h"

#include "runner/detect/best_boxes.h"
#include "runner/detect/heads/head.h"
#include "runner/engine/kinds/kind.h"
#include "runner/detect/suppress.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct mafat_detection_search {
  const struct mafat_detect_input *in;
  enum mafat_nms nms_kind;
  double nms_power;
  struct mafat_best_boxes best;
  struct mafat_scored_box next; /* box whose classes are being reported */
  uint32_t n_emitted; /* number of boxes that heads have reported so far */
  /* the cfg requests a letterbox, and the picture has one: [detection] layers then give boxes
   * relative to the picture */
  bool letterboxed;
};

void mafat_detect_defaults(struct mafat_detect_input *in)
{
  *in = (struct mafat_detect_input){.thresh = .5f, .nms = .45f};
}

/* ---- boxes ---- */

/* Returns the pixels between the input's edge and the picture. For a letterbox it is Darknet's
 * value, which may have a fraction of 1/2 although the picture is at a whole pixel. */
static double margin(const struct mafat_placement *p, int at, int in, int size)
{
  return p->fit == MAFAT_FIT_LETTERBOX ? (double)(in - size) / 2. : at;
}

/* Converts a box from fractions of the network's input to fractions of the picture. Mixes float and
 * double as Darknet does, because the types decide the last bit of two boxes' overlap. If the
 * picture is scaled to a side of 0 pixels, computes with 1 pixel; Darknet would divide by zero. */
static struct mafat_rectangle remove_letterbox(struct mafat_rectangle b,
                                               const struct mafat_placement *p)
{
  int w = p->w < 1 ? 1 : p->w, h = p->h < 1 ? 1 : p->h;
  double left = margin(p, p->left, p->in_w, w) / p->in_w;
  double top = margin(p, p->top, p->in_h, h) / p->in_h;
  b.x = (float)(((double)b.x - left) / (double)((float)w / (float)p->in_w));
  b.y = (float)(((double)b.y - top) / (double)((float)h / (float)p->in_h));
  b.w *= (float)p->in_w / (float)w;
  b.h *= (float)p->in_h / (float)h;
  return b;
}

/* True if no value is NaN. Untrained networks may give infinite boxes, which are allowed, because
 * they overlap no other box. */
static bool box_is_number(struct mafat_rectangle b)
{
  return !isnan(b.x) && !isnan(b.y) && !isnan(b.w) && !isnan(b.h);
}

/* ---- heads ---- */

bool mafat_decoding_box(struct mafat_decoding *d, struct mafat_rectangle box, bool of_picture)
{
  struct mafat_detection_search *s = d->search;
  s->next.box = of_picture && s->letterboxed ? box : remove_letterbox(box, &s->in->placement);
  s->next.number = s->n_emitted;
  if (s->n_emitted < UINT32_MAX) s->n_emitted++;
  return box_is_number(s->next.box);
}

bool mafat_decoding_numbered(struct mafat_decoding *d, uint32_t number, struct mafat_rectangle box)
{
  d->search->n_emitted = number;
  return mafat_decoding_box(d, box, false);
}

void mafat_decoding_class(struct mafat_decoding *d, int class, float confidence)
{
  struct mafat_detection_search *s = d->search;
  if (!(confidence > s->in->thresh) || isinf(confidence)) return;
  s->next.class = class;
  s->next.confidence = confidence;
  mafat_best_boxes_add(&s->best, &s->next);
}

/* Uses the options of the last head's suppression for the boxes of all heads, as AlexeyAB's
 * programs do. */
static void choose_suppression(struct mafat_detection_search *s, const struct mafat_head *last)
{
  s->nms_kind = last->nms;
  s->nms_power = last->nms == MAFAT_NMS_DIOU ? (double)last->beta_nms : .6;
}

static struct mafat_decoding decoding_of(struct mafat_detection_search *s,
                                         const struct mafat_network *n)
{
  return (struct mafat_decoding){.in_w = s->in->placement.in_w,
                                 .in_h = s->in->placement.in_h,
                                 .thresh = s->in->thresh,
                                 .at = s->in->at,
                                 .context = s->in->context,
                                 .search = s,
                                 .decoded = &n->decoded,
                                 .read = s->in->read};
}

static void read_heads(struct mafat_detection_search *s, const struct mafat_network *n)
{
  struct mafat_decoding d = decoding_of(s, n);
  if (n->decoded.head && n->decoded.head->decode) n->decoded.head->decode(&d);
  for (int i = 0; i < s->in->n_layers && !n->decoded.nothing; i++) {
    d.layer = &n->layers[i];
    d.index = i;
    if (!mafat_layer_is_head(d.layer)) continue;
    choose_suppression(s, &d.layer->head);
    mafat_runner_kind(d.layer->type)->decode(&d);
  }
}

/* Drops boxes that overlap better boxes, and sorts the others. The memory of the suppression's
 * cells is after that of the boxes (boxes_room.h). */
static void choose_boxes(struct mafat_detection_search *s)
{
  const struct mafat_suppression suppression = {.most = s->in->nms,
                                                .kind = s->nms_kind,
                                                .power = s->nms_power,
                                                .cells = (uint32_t *)(s->best.list + s->best.most)};
  if (s->in->nms > 0) mafat_suppress(&s->best, &suppression);
  mafat_best_boxes_sort(&s->best, mafat_box_order_results);
}

/* ---- results ---- */

/* Clamps a coordinate in pixels; `value` must not be NaN. */
static float clamp_pixels(double value)
{
  enum { MOST_PIXELS = 1000000000 };
  return (float)(value < -MOST_PIXELS ? -MOST_PIXELS : value > MOST_PIXELS ? MOST_PIXELS : value);
}

static struct mafat_detection to_pixels(const struct mafat_detection_search *s,
                                        const struct mafat_scored_box *e)
{
  struct mafat_rectangle b = e->box;
  double width = s->in->placement.picture_w, height = s->in->placement.picture_h;
  struct mafat_detection result = {.class_id = e->class, .confidence = e->confidence};
  /* A [detection] layer without sqrt can give negative sizes. */
  result.w = clamp_pixels(b.w > 0 ? (double)b.w * width : 0);
  result.h = clamp_pixels(b.h > 0 ? (double)b.h * height : 0);
  /* Uses the clamped size: an infinite one would give infinity minus infinity. */
  result.x = clamp_pixels((double)b.x * width - (double)result.w / 2);
  result.y = clamp_pixels((double)b.y * height - (double)result.h / 2);
  return result;
}

/* Sets the points (such as eyes) of the boxes that are kept; the head reads them by a box's
 * number. */
static void fill_points(struct mafat_detections *made, struct mafat_detection_search *s,
                        const struct mafat_network *n)
{
  const struct mafat_decoding d = decoding_of(s, n);
  float *to = made->points;
  for (size_t i = 0; i < s->best.n; i++)
    for (int p = 0; p < made->n_points; p++, to += 2) {
      float x = 0, y = 0;
      n->decoded.head->point(&d, s->best.list[i].number, p, &x, &y);
      to[0] = isnan(x)
                  ? 0
                  : clamp_pixels(mafat_placement_picture_x(&s->in->placement, (double)x * d.in_w));
      to[1] = isnan(y)
                  ? 0
                  : clamp_pixels(mafat_placement_picture_y(&s->in->placement, (double)y * d.in_h));
    }
}

static int make_results(struct mafat_detections **out, struct mafat_detection_search *s,
                        const struct mafat_network *n)
{
  struct mafat_detections *made = malloc(sizeof *made);
  size_t n_boxes = s->best.n, n_points = n_boxes * (size_t)n->decoded.points;
  struct mafat_detection *list = n_boxes ? malloc(n_boxes * sizeof *list) : NULL;
  float *points = n_points ? malloc(n_points * 2 * sizeof *points) : NULL;
  if (!made || (n_boxes && !list) || (n_points && !points)) {
    free(points);
    free(list);
    free(made);
    return MAFAT_ENOMEM;
  }
  for (size_t i = 0; i < n_boxes; i++) list[i] = to_pixels(s, &s->best.list[i]);
  *made = (struct mafat_detections){list, n_boxes, s->best.n_left_out, points, n->decoded.points};
  if (points) fill_points(made, s, n);
  *out = made;
  return MAFAT_OK;
}

static int check_input(const struct mafat_network *n, const struct mafat_detect_input *in,
                       struct mafat_diagnostic *d)
{
  if (!(in->thresh >= 0) || !(in->nms >= 0))
    return mafat_fail(d, MAFAT_EINVAL, "expected thresholds of 0 or more, found %g and %g",
                      (double)in->thresh, (double)in->nms);
  if (in->placement.picture_w < 1 || in->placement.picture_h < 1)
    return mafat_fail(d, MAFAT_EINVAL, "expected a picture with pixels, found %d x %d",
                      in->placement.picture_w, in->placement.picture_h);
  if (in->n_layers < 0 || in->n_layers > n->n_layers)
    return mafat_fail(d, MAFAT_EINVAL, "expected at most %d layers, found %d", n->n_layers,
                      in->n_layers);
  return MAFAT_OK;
}

int mafat_detect(struct mafat_detections **out, const struct mafat_network *n,
                 const struct mafat_detect_input *in, struct mafat_diagnostic *d)
{
  *out = NULL;
  int code = check_input(n, in, d);
  if (code) return code;
  struct mafat_detection_search s = {.in = in,
                                     .best = {.list = in->capacity, .most = in->most_boxes},
                                     .letterboxed =
                                         n->letterbox && in->placement.fit == MAFAT_FIT_LETTERBOX};
  read_heads(&s, n);
  choose_boxes(&s);
  code = make_results(out, &s, n);
  return code ? mafat_fail(d, code, "out of memory for %zu detections", s.best.n) : MAFAT_OK;
}

void mafat_detections_close(struct mafat_detections **detections)
{
  if (!detections || !*detections) return;
  free((*detections)->list);
  free((*detections)->points);
  free(*detections);
  *detections = NULL;
}

bool mafat_detect_has_head(const struct mafat_network *n, int n_layers)
{
  if (n->decoded.nothing || n->decoded.boxes) return n->decoded.boxes > 0;
  for (int i = 0; i < n_layers; i++)
    if (mafat_layer_is_head(&n->layers[i])) return true;
  return false;
}

/* ---- classification ---- */

int mafat_classify_layer(const struct mafat_network *n, int n_layers)
{
  int last = n->decoded.nothing ? -1 : n_layers - 1;
  /* Routes are not skipped: a route may read any layer, so a [softmax] before it may be unused. */
  while (last >= 0 && mafat_layer_is_inert(&n->layers[last])) last--;
  return last >= 0 && mafat_layer_classifies(&n->layers[last]) ? last : -1;
}

bool mafat_classify_is_able(const struct mafat_network *n, int n_layers)
{
  return (n->decoded.head && n->decoded.head->classify) || mafat_classify_layer(n, n_layers) >= 0;
}

int mafat_detect_classes(const struct mafat_network *n, int n_layers)
{
  /* an SSD outputs one class for each box, so the number of classes is unknown */
  if (n->decoded.head) return n->decoded.best && n->decoded.classes == 1 ? 0 : n->decoded.classes;
  int layer = mafat_classify_layer(n, n_layers), most = 0;
  for (int i = 0; i < n_layers && !n->decoded.nothing; i++)
    if (mafat_layer_is_head(&n->layers[i]) && n->layers[i].head.classes > most)
      most = n->layers[i].head.classes;
  int64_t all = layer >= 0 ? mafat_shape_elements(n->layers[layer].out) : 0;
  return most ? most : all <= INT_MAX ? (int)all : 0;
}

void mafat_class_scores_insert(struct mafat_class_score *top, int k, int *n_top,
                               struct mafat_class_score score)
{
  int at = *n_top;
  while (at > 0 && score.confidence > top[at - 1].confidence) at--;
  if (at == k) return;
  int moved = (*n_top < k ? *n_top : k - 1) - at;
  memmove(&top[at + 1], &top[at], (size_t)moved * sizeof *top);
  top[at] = score;
  if (*n_top < k) ++*n_top;
}

int mafat_classify(struct mafat_class_score *top, int k, int *n_top, const struct mafat_network *n,
                   const struct mafat_detect_input *in, struct mafat_diagnostic *d)
{
  *n_top = 0;
  if (in->n_layers > n->n_layers)
    return mafat_fail(d, MAFAT_EINVAL, "expected at most %d layers, found %d", n->n_layers,
                      in->n_layers);
  int layer = mafat_classify_layer(n, in->n_layers);
  if (!mafat_classify_is_able(n, in->n_layers))
    return mafat_fail(
        d, MAFAT_EINVAL,
        "expected a network that ends in [softmax], or outputs that are decoded as classes");
  if (k < 1) return mafat_fail(d, MAFAT_EINVAL, "expected room for 1 class or more, found %d", k);
  if (n->decoded.head && n->decoded.head->classify) {
    const struct mafat_decoding decoding = {
        .decoded = &n->decoded, .read = in->read, .context = in->context};
    n->decoded.head->classify(&decoding, top, k, n_top);
    return MAFAT_OK;
  }
  struct mafat_shape out = n->layers[layer].out;
  if ((int64_t)out.c * out.h * out.w > INT_MAX)
    return mafat_fail(d, MAFAT_ELIMIT, "layer %d [softmax] has too many classes", layer);
  int class = 0;
  for (int c = 0; c < out.c; c++)
    for (int y = 0; y < out.h; y++)
      for (int x = 0; x < out.w; x++, class++) {
        float confidence = in->at(in->context, layer, c, y, x);
        if (isfinite(confidence))
          mafat_class_scores_insert(top, k, n_top, (struct mafat_class_score){class, confidence});
      }
  return MAFAT_OK;
}
