/* Computes detections from a detector's anchors, as TFLite_Detection_PostProcess does: boxes whose
 * score is at least a threshold and which do not overlap a better box too much. Among equal scores
 * the first anchor, or class, is better. Called by the executor through the table in kinds.c.
 * Writes the step's output and scratch, in the arena; allocates nothing. */
#include "runner/engine/kinds/kind.h"

#include <math.h>
#include <string.h>

enum { BOXES, SCORES, ANCHORS }; /* operands */
enum { CORNERS = 4, CLASS = 4, SCORE, COUNT }; /* channels of an output column; 0-3: the box */

/* A candidate for the output of run_regular. */
struct kept {
  float score;
  uint32_t anchor;
  int32_t class, unused;
};

_Static_assert(sizeof(struct kept) == 16, "KEPT_BYTES in predictor/kinds/postprocess.c");

struct work {
  const struct mafat_tensors *tensors;
  const struct mafat_layer *layer;
  const struct mafat_postprocess *p;
  float *boxes, *scores; /* (anchors, CORNERS), (anchors) */
  uint32_t *order;       /* (anchors): numbers of anchors, best score first */
  struct kept *kept;     /* (detections + detections_per_class): candidates, best score first */
  int n_kept;
};

static float at(const struct work *w, int operand, int anchor, int c)
{
  return mafat_tensors_value(w->tensors, &w->layer->operands[operand].sources, c, 0, anchor);
}

static float score_of(const struct work *w, int anchor, int class)
{
  return at(w, SCORES, anchor, class + w->layer->operands[SCORES].shape.c - w->p->classes);
}

/* Sets an anchor's element of w->boxes to its top, left, bottom and right. */
static void decode_box(const struct work *w, int anchor)
{
  const struct mafat_postprocess *p = w->p;
  double y = (double)at(w, ANCHORS, anchor, 0), x = (double)at(w, ANCHORS, anchor, 1);
  double h = (double)at(w, ANCHORS, anchor, 2), wide = (double)at(w, ANCHORS, anchor, 3);
  float cy = (float)((double)at(w, BOXES, anchor, 0) / (double)p->y_scale * h + y);
  float cx = (float)((double)at(w, BOXES, anchor, 1) / (double)p->x_scale * wide + x);
  float half_h = (float)(.5 * exp((double)at(w, BOXES, anchor, 2) / (double)p->h_scale) * h);
  float half_w = (float)(.5 * exp((double)at(w, BOXES, anchor, 3) / (double)p->w_scale) * wide);
  float *box = w->boxes + (size_t)anchor * CORNERS;
  box[0] = cy - half_h;
  box[1] = cx - half_w;
  box[2] = cy + half_h;
  box[3] = cx + half_w;
}

static float least(float a, float b)
{
  return a < b ? a : b;
}

static float overlap(const float *a, const float *b)
{
  float area_a = (a[2] - a[0]) * (a[3] - a[1]), area_b = (b[2] - b[0]) * (b[3] - b[1]);
  if (!(area_a > 0) || !(area_b > 0)) return 0;
  float h = least(a[2], b[2]) + least(-a[0], -b[0]), w = least(a[3], b[3]) + least(-a[1], -b[1]);
  float both = (h > 0 ? h : 0) * (w > 0 ? w : 0);
  return both / (area_a + area_b - both);
}

/* ---- descending order: a heap whose root has the lowest score ---- */

static bool comes_after(const struct work *w, uint32_t a, uint32_t b)
{
  return w->scores[a] < w->scores[b] || (!(w->scores[a] > w->scores[b]) && a > b);
}

static void sift_down(const struct work *w, int n, int to, uint32_t value)
{
  for (int child; (child = 2 * to + 1) < n; to = child) {
    if (child + 1 < n && comes_after(w, w->order[child + 1], w->order[child])) child++;
    if (!comes_after(w, w->order[child], value)) break;
    w->order[to] = w->order[child];
  }
  w->order[to] = value;
}

/* Sets w->order to the anchors whose score is at least least_score, best first. Returns their
 * number. */
static int sort_anchors(const struct work *w)
{
  int n = 0;
  for (int anchor = 0; anchor < w->layer->in.w; anchor++)
    if (w->scores[anchor] >= w->p->least_score) w->order[n++] = (uint32_t)anchor;
  for (int i = n / 2; i-- > 0;) sift_down(w, n, i, w->order[i]);
  for (int left = n; left > 1; left--) {
    uint32_t last = w->order[left - 1];
    w->order[left - 1] = w->order[0];
    sift_down(w, left - 1, 0, last);
  }
  return n;
}

/* Keeps those of the first n anchors in w->order that overlap no better anchor by more than
 * most_overlap, and at most `most` of them. Moves them to the front and returns their number. */
static int suppress(const struct work *w, int n, int most)
{
  int chosen = 0;
  for (int i = 0; i < n && chosen < most; i++) {
    const float *box = w->boxes + (size_t)w->order[i] * CORNERS;
    bool covered = false;
    for (int k = 0; k < chosen && !covered; k++)
      covered = overlap(w->boxes + (size_t)w->order[k] * CORNERS, box) > w->p->most_overlap;
    if (!covered) w->order[chosen++] = w->order[i];
  }
  return chosen;
}

/* ---- output ---- */

static void put(const struct work *w, int column, const float *box, int class, float score)
{
  int tensor = (int)(w->layer - w->tensors->network->layers);
  float *to = mafat_tensors_element(w->tensors, tensor, 0, 0, column);
  memcpy(to, box, CORNERS * sizeof *to);
  to[CLASS] = (float)class;
  to[SCORE] = score;
}

/* Returns the class that comes after class `before` in descending order of the anchor's scores; the
 * best class if `before` is -1. -1: none is left. */
static int next_class(const struct work *w, int anchor, int before)
{
  int best = -1;
  float than = before < 0 ? 0 : score_of(w, anchor, before), most = 0;
  for (int c = 0; c < w->p->classes; c++) {
    float score = score_of(w, anchor, c);
    if (isnan(score)) continue;
    bool taken = before >= 0 && (score > than || (!(score < than) && c <= before));
    if (taken || (best >= 0 && !(score > most))) continue;
    best = c;
    most = score;
  }
  return best;
}

/* Suppresses overlapping anchors, which it compares by their best class. Outputs each remaining
 * anchor once for each of its best classes. Returns the number of remaining anchors. */
static int run_fast(struct work *w)
{
  int per_anchor = w->p->classes_per_detection;
  for (int anchor = 0; anchor < w->layer->in.w; anchor++) {
    int class = next_class(w, anchor, -1);
    w->scores[anchor] = class < 0 ? NAN : score_of(w, anchor, class);
  }
  int n = suppress(w, sort_anchors(w), w->p->detections);
  for (int i = 0; i < n; i++)
    for (int k = 0, class = -1; k < per_anchor && k < w->p->classes; k++) {
      int anchor = (int)w->order[i];
      class = next_class(w, anchor, class);
      if (class < 0) break;
      put(w, i * per_anchor + k, w->boxes + (size_t)anchor * CORNERS, class,
          score_of(w, anchor, class));
    }
  return n;
}

/* Inserts a candidate into w->kept, after candidates with the same score. If the list would be
 * longer than the output, drops the last candidate. */
static void keep(struct work *w, struct kept candidate)
{
  int to = w->n_kept;
  while (to > 0 && candidate.score > w->kept[to - 1].score) to--;
  if (to >= w->p->detections) return;
  int moved = mafat_min(w->n_kept, w->p->detections - 1) - to;
  memmove(&w->kept[to + 1], &w->kept[to], (size_t)moved * sizeof *w->kept);
  w->kept[to] = candidate;
  if (w->n_kept < w->p->detections) w->n_kept++;
}

/* Suppresses overlapping anchors in each class separately, and outputs the best candidates of all
 * classes. Returns their number. */
static int run_regular(struct work *w)
{
  for (int class = 0; class < w->p->classes; class++) {
    for (int anchor = 0; anchor < w->layer->in.w; anchor++)
      w->scores[anchor] = score_of(w, anchor, class);
    int n = suppress(w, sort_anchors(w), w->p->detections_per_class);
    for (int i = 0; i < n; i++)
      keep(w, (struct kept){w->scores[w->order[i]], w->order[i], class, 0});
  }
  for (int i = 0; i < w->n_kept; i++)
    put(w, i, w->boxes + (size_t)w->kept[i].anchor * CORNERS, w->kept[i].class, w->kept[i].score);
  return w->n_kept;
}

static int run_postprocess(const struct mafat_worker *worker, const struct mafat_step *step)
{
  const struct mafat_scratch *s = worker->scratch;
  const struct mafat_layer *l = &worker->tensors->network->layers[step->layer];
  struct work w = {.tensors = worker->tensors, .layer = l, .p = l->postprocess,
                   .boxes = (float *)(worker->shared_memory + s->boxes_offset),
                   .scores = (float *)(worker->shared_memory + s->scores_offset),
                   .order = (uint32_t *)(worker->shared_memory + s->order_offset),
                   .kept = (struct kept *)(worker->shared_memory + s->kept_offset)};
  for (int column = 0; column < l->out.w; column++)
    memset(mafat_tensors_element(w.tensors, step->layer, 0, 0, column), 0,
           (size_t)l->out.c * sizeof(float));
  for (int anchor = 0; anchor < l->in.w; anchor++) decode_box(&w, anchor);
  int n = l->postprocess->regular ? run_regular(&w) : run_fast(&w);
  for (int column = 0; column < l->out.w; column++)
    *mafat_tensors_element(w.tensors, step->layer, COUNT, 0, column) = (float)n;
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_runner_postprocess = {.run = run_postprocess,
                                                           .sharing = MAFAT_ALONE};
