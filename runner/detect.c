#include "runner/detect.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Centre and size, relative to the picture. */
struct box {
  float x, y, w, h;
};

/* One class of one box, above the threshold. Boxes are numbered in the order in
 * which they are found, so `box` also decides between equals. */
struct entry {
  float confidence;
  int class;
  uint32_t box;
};

/* The picture inside the network's input, pixels. */
struct place {
  int in_w, in_h;
  int w, h;
};

struct search {
  const struct mafat_detect_input *in;
  struct place place;
  enum mafat_nms nms_kind;
  double nms_power; /* of the distance's square */
  struct box *boxes;
  size_t n_boxes, boxes_room;
  struct entry *entries;
  size_t n_entries, entries_room;
  size_t held_bytes; /* of both lists */
};

/* A head while it is read. */
struct head {
  const struct mafat_layer *layer;
  int index;
};

void mafat_detect_defaults(struct mafat_detect_input *in)
{
  *in = (struct mafat_detect_input){.thresh = .5f, .nms = .45f};
}

/* ---- Growing lists ---- */

static bool has_room(const struct search *s, size_t bytes)
{
  size_t room = s->in->room_bytes;
  return room == 0 || (s->held_bytes <= room && bytes <= room - s->held_bytes);
}

static int grow(struct search *s, void **list, size_t *room, size_t item_bytes)
{
  size_t more = *room ? 2 * *room : 64, bytes;
  if (more < *room || __builtin_mul_overflow(more, item_bytes, &bytes)) return MAFAT_ENOMEM;
  size_t added = bytes - *room * item_bytes;
  if (!has_room(s, added)) return MAFAT_ELIMIT;
  void *grown = realloc(*list, bytes);
  if (!grown) return MAFAT_ENOMEM;
  s->held_bytes += added;
  *list = grown;
  *room = more;
  return MAFAT_OK;
}

static int append_box(struct search *s, struct box b)
{
  if (s->n_boxes == UINT32_MAX) return MAFAT_ENOMEM;
  if (s->n_boxes == s->boxes_room) {
    void *list = s->boxes;
    int code = grow(s, &list, &s->boxes_room, sizeof b);
    if (code) return code;
    s->boxes = list;
  }
  s->boxes[s->n_boxes++] = b;
  return MAFAT_OK;
}

static int append_entry(struct search *s, struct entry e)
{
  if (s->n_entries == s->entries_room) {
    void *list = s->entries;
    int code = grow(s, &list, &s->entries_room, sizeof e);
    if (code) return code;
    s->entries = list;
  }
  s->entries[s->n_entries++] = e;
  return MAFAT_OK;
}

/* ---- Boxes ---- */

/* Darknet's letterbox: the comparison in float, the products in integers (wide
 * enough here for every picture). A side of the picture that vanishes counts as
 * one pixel, where Darknet divides by zero. */
static struct place place_picture(const struct mafat_network *n, const struct mafat_detect_input *in)
{
  struct place p = {n->input.w, n->input.h, n->input.w, n->input.h};
  if (!n->letterbox) return p;
  if ((float)p.in_w / (float)in->picture_w < (float)p.in_h / (float)in->picture_h)
    p.h = (int)((int64_t)in->picture_h * p.in_w / in->picture_w);
  else
    p.w = (int)((int64_t)in->picture_w * p.in_h / in->picture_h);
  /* Rounding of the comparison must not push the picture over the edge. */
  if (p.w > p.in_w) p.w = p.in_w;
  if (p.h > p.in_h) p.h = p.in_h;
  if (p.w < 1) p.w = 1;
  if (p.h < 1) p.h = 1;
  return p;
}

/* From shares of the network's input to shares of the picture in it. The mixture
 * of float and double is Darknet's: it decides the last bit of an overlap. */
static struct box remove_letterbox(struct box b, const struct place *p)
{
  double left = (double)(p->in_w - p->w) / 2. / p->in_w;
  double top = (double)(p->in_h - p->h) / 2. / p->in_h;
  b.x = (float)(((double)b.x - left) / (double)((float)p->w / (float)p->in_w));
  b.y = (float)(((double)b.y - top) / (double)((float)p->h / (float)p->in_h));
  b.w *= (float)p->in_w / (float)p->w;
  b.h *= (float)p->in_h / (float)p->h;
  return b;
}

/* May be infinite, as an untrained network's are: that overlaps nothing. */
static bool box_is_number(struct box b)
{
  return !isnan(b.x) && !isnan(b.y) && !isnan(b.w) && !isnan(b.h);
}

static float overlap(float x1, float w1, float x2, float w2)
{
  float left1 = x1 - w1 / 2, left2 = x2 - w2 / 2;
  float right1 = x1 + w1 / 2, right2 = x2 + w2 / 2;
  return (right1 < right2 ? right1 : right2) - (left1 > left2 ? left1 : left2);
}

/* The smallest interval that holds both. */
static float extent(float x1, float w1, float x2, float w2)
{
  float left1 = x1 - w1 / 2, left2 = x2 - w2 / 2;
  float right1 = x1 + w1 / 2, right2 = x2 + w2 / 2;
  return (right1 > right2 ? right1 : right2) - (left1 < left2 ? left1 : left2);
}

/* The square of the centres' distance beside that of the diagonal around both, to a power. */
static float distance(struct box a, struct box b, double power)
{
  float w = extent(a.x, a.w, b.x, b.w), h = extent(a.y, a.h, b.y, b.h);
  float diagonal = w * w + h * h;
  if (diagonal == 0) return 0;
  float between = (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y);
  return (float)pow((double)(between / diagonal), power);
}

/* Two boxes of no area overlap by 0 / 0, which is above no threshold. */
static bool overlaps_more(const struct search *s, struct box a, struct box b)
{
  float w = overlap(a.x, a.w, b.x, b.w);
  if (w < 0) return false; /* most pairs end here */
  float h = overlap(a.y, a.h, b.y, b.h);
  if (h < 0) return false;
  float both = w * h;
  float share = both / (a.w * a.h + b.w * b.h - both);
  if (!(share > s->in->nms) || s->nms_kind == MAFAT_NMS_IOU) return share > s->in->nms;
  return share - distance(a, b, s->nms_power) > s->in->nms;
}

/* ---- Heads ---- */

static float head_at(const struct search *s, const struct head *h, int c, int y, int x)
{
  return s->in->at(s->in->context, h->index, c, y, x);
}

static int append_if_above(struct search *s, float confidence, int class)
{
  if (!(confidence > s->in->thresh) || isinf(confidence)) return MAFAT_OK;
  return append_entry(s, (struct entry){confidence, class, (uint32_t)(s->n_boxes - 1)});
}

/* x, y, w, h of one anchor, which begins at channel `c`, before the letterbox is
 * taken off. */
static struct box read_box(const struct search *s, const struct head *h, int anchor, int c, int y,
                           int x)
{
  const struct mafat_layer *l = h->layer;
  float w = head_at(s, h, c + 2, y, x), height = head_at(s, h, c + 3, y, x);
  const float *size = &l->head.anchors[2 * anchor];
  bool is_yolo = l->type == MAFAT_YOLO;
  /* Anchors are pixels of the input in [yolo], cells of the map in [region]. */
  int whole_w = is_yolo ? s->place.in_w : l->out.w, whole_h = is_yolo ? s->place.in_h : l->out.h;
  struct box b;
  b.x = ((float)x + head_at(s, h, c, y, x)) / (float)l->out.w;
  b.y = ((float)y + head_at(s, h, c + 1, y, x)) / (float)l->out.h;
  if (is_yolo && l->head.new_coords) {
    b.w = w * w * 4 * size[0] / (float)whole_w;
    b.h = height * height * 4 * size[1] / (float)whole_h;
  } else {
    b.w = (float)(exp((double)w) * (double)size[0] / whole_w);
    b.h = (float)(exp((double)height) * (double)size[1] / whole_h);
  }
  return b;
}

/* One anchor of one cell of a [region] or [yolo]. */
static int read_anchor(struct search *s, const struct head *h, int anchor, int y, int x)
{
  const struct mafat_head *params = &h->layer->head;
  int c = anchor * (params->coords + 1 + params->classes);
  bool background = h->layer->type == MAFAT_REGION && params->background;
  float objectness = background ? 1 : head_at(s, h, c + params->coords, y, x);
  if (!(objectness > s->in->thresh)) return MAFAT_OK;

  struct box b = remove_letterbox(read_box(s, h, anchor, c, y, x), &s->place);
  if (!box_is_number(b)) return MAFAT_OK;
  int code = append_box(s, b);
  size_t before = s->n_entries;
  for (int class = 0; class < params->classes && code == MAFAT_OK; class++)
    code = append_if_above(
        s, objectness * head_at(s, h, c + params->coords + 1 + class, y, x), class);
  if (code == MAFAT_OK && s->n_entries == before) s->n_boxes--;
  return code;
}

static int read_cells(struct search *s, const struct head *h)
{
  const struct mafat_layer *l = h->layer;
  int code = MAFAT_OK;
  for (int y = 0; y < l->out.h; y++)
    for (int x = 0; x < l->out.w; x++)
      for (int anchor = 0; anchor < l->head.n_anchors && code == MAFAT_OK; anchor++)
        code = read_anchor(s, h, anchor, y, x);
  return code;
}

/* A tensor read as one list in CHW order. */
static float flat_at(const struct search *s, const struct head *h, int64_t i)
{
  struct mafat_shape out = h->layer->out;
  int64_t row = i / out.w;
  return head_at(s, h, (int)(row / out.h), (int)(row % out.h), (int)(i % out.w));
}

/* One box of one cell of a [detection]. Unlike the others it has no threshold
 * for the objectness alone, and Darknet takes no letterbox off its boxes. */
static int read_flat_box(struct search *s, const struct head *h, int cell, int box)
{
  const struct mafat_head *params = &h->layer->head;
  int64_t n_cells = (int64_t)params->side * params->side;
  int64_t number = (int64_t)cell * params->n_anchors + box;
  float objectness = flat_at(s, h, n_cells * params->classes + number);
  int64_t at = n_cells * (params->classes + params->n_anchors) + number * 4;
  double w = (double)flat_at(s, h, at + 2), height = (double)flat_at(s, h, at + 3);
  struct box b;
  b.x = (flat_at(s, h, at) + (float)(cell % params->side)) / (float)params->side;
  b.y = (flat_at(s, h, at + 1) + (float)(cell / params->side)) / (float)params->side;
  b.w = (float)(params->sqrt ? w * w : w);
  b.h = (float)(params->sqrt ? height * height : height);
  if (!box_is_number(b)) return MAFAT_OK;
  int code = append_box(s, b);
  size_t before = s->n_entries;
  for (int class = 0; class < params->classes && code == MAFAT_OK; class++)
    code = append_if_above(s, objectness * flat_at(s, h, (int64_t)cell * params->classes + class),
                           class);
  if (code == MAFAT_OK && s->n_entries == before) s->n_boxes--;
  return code;
}

static int read_flat(struct search *s, const struct head *h)
{
  const struct mafat_head *params = &h->layer->head;
  int code = MAFAT_OK;
  for (int cell = 0; cell < params->side * params->side; cell++)
    for (int box = 0; box < params->n_anchors && code == MAFAT_OK; box++)
      code = read_flat_box(s, h, cell, box);
  return code;
}

/* As AlexeyAB's programs, which suppress the boxes of all heads at once. */
static void choose_suppression(struct search *s, const struct mafat_head *last)
{
  s->nms_kind = last->nms;
  s->nms_power = last->nms == MAFAT_NMS_DIOU ? (double)last->beta_nms : .6;
}

static int read_heads(struct search *s, const struct mafat_network *n)
{
  int code = MAFAT_OK;
  for (int i = 0; i < s->in->n_layers && code == MAFAT_OK; i++) {
    const struct head h = {&n->layers[i], i};
    if (mafat_layer_is_head(h.layer)) choose_suppression(s, &h.layer->head);
    if (h.layer->type == MAFAT_DETECTION)
      code = read_flat(s, &h);
    else if (mafat_layer_is_head(h.layer))
      code = read_cells(s, &h);
  }
  return code;
}

/* ---- Suppression and order ---- */

static int compare_confidences(const struct entry *a, const struct entry *b)
{
  return (a->confidence < b->confidence) - (a->confidence > b->confidence);
}

static int compare_boxes(const struct entry *a, const struct entry *b)
{
  return (a->box > b->box) - (a->box < b->box);
}

static int compare_within_class(const void *left, const void *right)
{
  const struct entry *a = left, *b = right;
  int order = (a->class > b->class) - (a->class < b->class);
  if (!order) order = compare_confidences(a, b);
  return order ? order : compare_boxes(a, b);
}

static int compare_results(const void *left, const void *right)
{
  const struct entry *a = left, *b = right;
  int order = compare_confidences(a, b);
  if (!order) order = (a->class > b->class) - (a->class < b->class);
  return order ? order : compare_boxes(a, b);
}

/* Keeps of every class what overlaps no more confident box that is kept. The
 * survivors move to the front of the list. */
static void suppress(struct search *s)
{
  size_t n_kept = 0, first_of_class = 0;
  qsort(s->entries, s->n_entries, sizeof *s->entries, compare_within_class);
  for (size_t i = 0; i < s->n_entries; i++) {
    struct entry e = s->entries[i];
    if (n_kept > first_of_class && s->entries[first_of_class].class != e.class)
      first_of_class = n_kept;
    bool keep = true;
    for (size_t j = first_of_class; j < n_kept && keep; j++)
      keep = !overlaps_more(s, s->boxes[s->entries[j].box], s->boxes[e.box]);
    if (keep) s->entries[n_kept++] = e;
  }
  s->n_entries = n_kept;
}

/* ---- Results ---- */

/* The far end of what a picture's coordinates can be; NaN cannot come here. */
static float clamp_pixels(double value)
{
  enum { FAR = 1000000000 };
  return (float)(value < -FAR ? -FAR : value > FAR ? FAR : value);
}

static struct mafat_detection to_pixels(const struct search *s, const struct entry *e)
{
  struct box b = s->boxes[e->box];
  double width = s->in->picture_w, height = s->in->picture_h;
  struct mafat_detection result = {.class_id = e->class, .confidence = e->confidence};
  /* A [detection] without sqrt can put out sizes below zero. */
  result.w = clamp_pixels(b.w > 0 ? (double)b.w * width : 0);
  result.h = clamp_pixels(b.h > 0 ? (double)b.h * height : 0);
  /* From the cut size: an infinite one would leave infinity minus infinity. */
  result.x = clamp_pixels((double)b.x * width - (double)result.w / 2);
  result.y = clamp_pixels((double)b.y * height - (double)result.h / 2);
  return result;
}

static int make_results(struct mafat_detections **out, const struct search *s)
{
  size_t bytes;
  struct mafat_detections *made = calloc(1, sizeof *made);
  if (!made) return MAFAT_ENOMEM;
  int code = MAFAT_ENOMEM;
  if (__builtin_mul_overflow(s->n_entries, sizeof *made->list, &bytes)) goto fail;
  if (!has_room(s, bytes)) {
    code = MAFAT_ELIMIT;
    goto fail;
  }
  if (bytes && !(made->list = malloc(bytes))) goto fail;
  for (; made->n < s->n_entries; made->n++)
    made->list[made->n] = to_pixels(s, &s->entries[made->n]);
  *out = made;
  return MAFAT_OK;
fail:
  mafat_detections_close(&made);
  return code;
}

static int check_input(const struct mafat_network *n, const struct mafat_detect_input *in,
                       struct mafat_diagnostic *d)
{
  if (!(in->thresh >= 0) || !(in->nms >= 0))
    return mafat_fail(d, MAFAT_EINVAL, "expected thresholds of 0 or more, found %g and %g",
                      (double)in->thresh, (double)in->nms);
  if (in->picture_w < 1 || in->picture_h < 1)
    return mafat_fail(d, MAFAT_EINVAL, "expected a picture with pixels, found %d x %d",
                      in->picture_w, in->picture_h);
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
  struct search s = {.in = in, .place = place_picture(n, in)};
  code = read_heads(&s, n);
  if (code == MAFAT_OK && s.n_entries > 0) {
    if (in->nms > 0) suppress(&s);
    qsort(s.entries, s.n_entries, sizeof *s.entries, compare_results);
  }
  if (code == MAFAT_OK) code = make_results(out, &s);
  if (code == MAFAT_ELIMIT)
    mafat_fail(d, code, "does not fit: more than %zu boxes above the threshold %g, %zu bytes are left for them: raise --thresh",
               s.n_entries, (double)in->thresh, in->room_bytes);
  else if (code) mafat_fail(d, code, "out of memory for %zu detections", s.n_entries);
  free(s.entries);
  free(s.boxes);
  return code;
}

void mafat_detections_close(struct mafat_detections **detections)
{
  if (!detections || !*detections) return;
  free((*detections)->list);
  free(*detections);
  *detections = NULL;
}

bool mafat_detect_has_head(const struct mafat_network *n, int n_layers)
{
  for (int i = 0; i < n_layers; i++)
    if (mafat_layer_is_head(&n->layers[i])) return true;
  return false;
}

/* ---- Classification ---- */

int mafat_classify_layer(const struct mafat_network *n, int n_layers)
{
  int last = n_layers - 1;
  /* Not routes: they may name any layer, and the [softmax] above one may be dead. */
  while (last >= 0 && (n->layers[last].type == MAFAT_DROPOUT || n->layers[last].type == MAFAT_COST))
    last--;
  return last >= 0 && n->layers[last].type == MAFAT_SOFTMAX ? last : -1;
}

/* Inserts into a list of at most k, most confident first; an equal goes behind. */
static void insert_score(struct mafat_class_score *top, int k, int *n_top,
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
  if (layer < 0) return mafat_fail(d, MAFAT_EINVAL, "expected a network that ends in [softmax]");
  if (k < 1) return mafat_fail(d, MAFAT_EINVAL, "expected room for 1 class or more, found %d", k);
  struct mafat_shape out = n->layers[layer].out;
  if ((int64_t)out.c * out.h * out.w > INT_MAX)
    return mafat_fail(d, MAFAT_ELIMIT, "layer %d [softmax] has too many classes", layer);
  int class = 0;
  for (int c = 0; c < out.c; c++)
    for (int y = 0; y < out.h; y++)
      for (int x = 0; x < out.w; x++, class++) {
        float confidence = in->at(in->context, layer, c, y, x);
        if (isfinite(confidence))
          insert_score(top, k, n_top, (struct mafat_class_score){class, confidence});
      }
  return MAFAT_OK;
}
