/* Finds the k best elements along an axis, best first, and their indices. Inserts the elements of a
 * line along the axis into a heap of k elements whose root is the worst. Among equal elements the
 * first is better. Called by the executor through the tables in kinds.c and integer/kinds.c. Writes
 * the step's outputs and the worker's scratch, in the arena; allocates nothing. */
#include "runner/engine/kinds/kind.h"

#include "network/rearrange.h"

#include <math.h>

enum { VALUES, PLACES, N_OUTPUTS };

struct top_value {
  float value;
  int32_t place; /* index along the axis */
};

_Static_assert(sizeof(struct top_value) == 8, "KEPT_BYTES in predictor/kinds/topk.c");

struct topk {
  const struct mafat_tensors *tensors;
  const struct mafat_layer *layer;
  struct mafat_box box;       /* output rows and columns of the step */
  struct mafat_span channels; /* output channels of the step */
  int outputs[N_OUTPUTS];     /* tensors of the outputs; -1: no layer reads the output */
  struct top_value *kept;     /* heap of the line's best elements so far, in scratch */
  int n;                      /* values in the heap */
  bool bytes;                 /* values are quantized */
};

/* ---- comparison ---- */

/* Every number is better than NaN. */
static bool is_better(const struct topk *t, struct top_value a, struct top_value b)
{
  if (isnan(a.value) || isnan(b.value))
    return isnan(b.value) && (!isnan(a.value) || a.place < b.place);
  if (a.value != b.value) return t->layer->topk.smallest ? a.value < b.value : a.value > b.value;
  return a.place < b.place;
}

/* Replaces the root of the heap of the first n elements, which is the worst of them, by `one`. */
static void sift_down(const struct topk *t, int n, struct top_value one)
{
  int to = 0;
  for (int child; (child = 2 * to + 1) < n; to = child) {
    if (child + 1 < n && is_better(t, t->kept[child], t->kept[child + 1])) child++;
    if (!is_better(t, one, t->kept[child])) break;
    t->kept[to] = t->kept[child];
  }
  t->kept[to] = one;
}

static void sift_up(const struct topk *t, int at, struct top_value one)
{
  for (int parent; at > 0 && is_better(t, t->kept[parent = (at - 1) / 2], one); at = parent)
    t->kept[at] = t->kept[parent];
  t->kept[at] = one;
}

static void take(struct topk *t, float value, int place)
{
  struct top_value one = {value, place};
  if (t->n < t->layer->topk.k) sift_up(t, t->n++, one);
  else if (is_better(t, one, t->kept[0])) sift_down(t, t->n, one);
}

/* Sorts the heap, best first: repeatedly moves the worst of the first elements to their end. */
static void sort(struct topk *t)
{
  for (int left = t->n - 1; left > 0; left--) {
    struct top_value last = t->kept[left];
    t->kept[left] = t->kept[0];
    sift_down(t, left, last);
  }
}

/* ---- a line ---- */

/* Returns the address of an element of the input. *pixel_bytes: bytes from a column to the next. */
static const char *element(const struct topk *t, int c, int y, int x, size_t *pixel_bytes)
{
  const struct mafat_sources *sources = mafat_layer_sources(t->layer);
  int i = 0;
  for (; c >= sources->list[i].n; i++) c -= sources->list[i].n;
  const struct mafat_source *s = mafat_sources_at(sources, i, &y);
  *pixel_bytes =
      mafat_tensors_pixel_bytes(t->tensors, s->tensor, (s->first + c) / MAFAT_CHANNEL_BLOCK);
  return mafat_tensors_lane(t->tensors, s->tensor, s->first + c, y, x);
}

/* Offers n elements, `step` bytes apart, to the heap; `place` is the index of the first element
 * along the axis. */
static void take_some(struct topk *t, const char *at, size_t step, int n, int place)
{
  for (int i = 0; i < n; i++, at += step)
    take(t, t->bytes ? (float)*(const unsigned char *)at : *(const float *)(const void *)at,
         place + i);
}

static void take_channels(struct topk *t, int y, int x)
{
  size_t bytes = t->bytes ? 1 : sizeof(float), pixel;
  struct mafat_runs runs =
      mafat_runs_of(mafat_layer_sources(t->layer), mafat_span(0, t->layer->in.c));
  struct mafat_run run;
  while (mafat_runs_next(&runs, &run)) {
    int c = run.out_block * MAFAT_CHANNEL_BLOCK + run.out_lane;
    take_some(t, element(t, c, y, x, &pixel), bytes, run.n, c);
  }
}

static void take_columns(struct topk *t, int c, int y)
{
  size_t pixel;
  const char *first = element(t, c, y, 0, &pixel);
  take_some(t, first, pixel, t->layer->in.w, 0);
}

static void take_rows(struct topk *t, int c, int x)
{
  size_t pixel;
  for (int y = 0; y < t->layer->in.h; y++) take_some(t, element(t, c, y, x, &pixel), 0, 1, y);
}

static void put(const struct topk *t, struct top_value one, int c, int y, int x)
{
  if (t->outputs[VALUES] >= 0) {
    char *to = mafat_tensors_lane(t->tensors, t->outputs[VALUES], c, y, x);
    if (t->bytes) *(unsigned char *)to = (unsigned char)one.value;
    else *(float *)(void *)to = one.value;
  }
  if (t->outputs[PLACES] >= 0)
    *(float *)(void *)mafat_tensors_lane(t->tensors, t->outputs[PLACES], c, y, x) =
        (float)one.place;
}

/* ---- lines of a step ---- */

static struct mafat_span along(const struct topk *t, int axis)
{
  return axis == MAFAT_AXIS_H ? t->box.y : axis == MAFAT_AXIS_W ? t->box.x : t->channels;
}

/* For each axis, the other two axes: first that of the outer loop over lines, then the inner
 * one. */
static const signed char across[MAFAT_N_AXES][2] = {[MAFAT_AXIS_H] = {MAFAT_AXIS_W, MAFAT_AXIS_C},
                                                    [MAFAT_AXIS_W] = {MAFAT_AXIS_H, MAFAT_AXIS_C},
                                                    [MAFAT_AXIS_C] = {MAFAT_AXIS_H, MAFAT_AXIS_W}};

static int n_lines(const struct topk *t)
{
  const signed char *other = across[t->layer->topk.axis];
  return mafat_span_size(along(t, other[0])) * mafat_span_size(along(t, other[1]));
}

static void run_line(struct topk *t, int line)
{
  const int axis = t->layer->topk.axis;
  const struct mafat_span outer = along(t, across[axis][0]), inner = along(t, across[axis][1]),
                          own = along(t, axis);
  int at[MAFAT_N_AXES];
  at[across[axis][0]] = outer.begin + line / mafat_span_size(inner);
  at[across[axis][1]] = inner.begin + line % mafat_span_size(inner);
  t->n = 0;
  if (axis == MAFAT_AXIS_C) take_channels(t, at[MAFAT_AXIS_H], at[MAFAT_AXIS_W]);
  else if (axis == MAFAT_AXIS_W) take_columns(t, at[MAFAT_AXIS_C], at[MAFAT_AXIS_H]);
  else take_rows(t, at[MAFAT_AXIS_C], at[MAFAT_AXIS_W]);
  sort(t);
  for (int i = own.begin; i < own.end; i++) {
    at[axis] = i;
    put(t, t->kept[i], at[MAFAT_AXIS_C], at[MAFAT_AXIS_H], at[MAFAT_AXIS_W]);
  }
}

enum { SHARES = 4 }; /* a step's lines are divided into this many shares for each worker */

static int run_topk(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_network *n = w->tensors->network;
  const struct mafat_layer *l = &n->layers[step->layer];
  struct topk t = {.tensors = w->tensors, .layer = l, .box = step->out, .channels = step->filters,
                   .kept = (struct top_value *)(void *)(w->slot_memory + w->scratch->pixel_offset),
                   .bytes = l->out_type != MAFAT_F32};
  for (int k = 0; k < N_OUTPUTS; k++) {
    int tensor = mafat_network_output(n, step->layer, k);
    t.outputs[k] = mafat_tensors_has(w->tensors, tensor) ? tensor : -1;
  }
  int lines = n_lines(&t), n_workers = mafat_team_size(w->team);
  int shares = n_workers == 1 ? 1 : mafat_min(lines, SHARES * n_workers);
  for (int unit; (unit = mafat_team_take(w->team, w->index, shares)) >= 0;) {
    struct mafat_span share = mafat_span_share(lines, shares, unit);
    for (int i = share.begin; i < share.end; i++) run_line(&t, i);
  }
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_runner_topk = {.run = run_topk,
                                                    .sharing = MAFAT_SHARED_BY_UNITS};
