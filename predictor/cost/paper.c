/* Computes the paper's memory prediction (paper.h). Called by search/greedy and api/dry_run.c.
 * Allocates from the C library's heap; the caller frees the prediction. */
#include "predictor/cost/paper.h"

#include "predictor/schedule/schedule.h"

#include <stdlib.h>

/* A number of floats or bytes, and whether its computation overflowed. */
struct count {
  uint64_t value;
  bool overflow;
};

static struct count multiply(struct count a, uint64_t factor)
{
  a.overflow |= __builtin_mul_overflow(a.value, factor, &a.value);
  return a;
}

static struct count add(struct count a, struct count b)
{
  a.overflow |= b.overflow | __builtin_add_overflow(a.value, b.value, &a.value);
  return a;
}

/* Number of elements: height * width * channels. */
static struct count volume(struct mafat_span y, struct mafat_span x, int channels)
{
  struct count pixels = {(uint64_t)mafat_span_size(y) * (uint64_t)mafat_span_size(x), false};
  return multiply(pixels, (uint64_t)channels);
}

/* The paper's Darknet has only floats. */
static struct count float_bytes(struct count n)
{
  return multiply(n, sizeof(float));
}

static struct count scratch_floats(const struct mafat_layer *l, struct mafat_box out)
{
  if (l->type != MAFAT_CONVOLUTIONAL && l->type != MAFAT_LOCAL) return (struct count){0, false};
  struct count c = multiply(volume(out.y, out.x, l->in.c), (uint64_t)mafat_window_area(&l->window));
  uint64_t stride = (uint64_t)l->window.x.stride;
  c.value = c.value / stride + (c.value % stride != 0);
  return c;
}

static struct count input_floats(const struct mafat_layer *l, struct mafat_box out)
{
  struct count c = {0, false};
  for (int k = 0; k < l->n_operands; k++)
    c = add(c, volume(mafat_layer_in_span(l, k, true, out.y),
                      mafat_layer_in_span(l, k, false, out.x), l->operands[k].shape.c));
  return c;
}

/* Raises the group's peak if box `out` of a layer needs more; false on overflow. */
static bool consider(struct mafat_paper_group *g, const struct mafat_layer *l, int layer,
                     struct mafat_box out)
{
  struct count scratch = float_bytes(scratch_floats(l, out));
  struct count output = float_bytes(volume(out.y, out.x, l->out.c));
  struct count input = float_bytes(input_floats(l, out));
  struct count all = add(add(scratch, output), multiply(input, 2));
  if (all.overflow || all.value > SIZE_MAX) return false;
  if (g->peak_layer >= 0 && all.value <= g->peak_bytes) return true;
  g->peak_bytes = (size_t)all.value;
  g->scratch_bytes = (size_t)scratch.value;
  g->output_bytes = (size_t)output.value;
  g->input_bytes = (size_t)input.value;
  g->peak_layer = layer;
  return true;
}

/* The plan as the paper runs it: every layer by itself, without Winograd. */
struct plain {
  struct mafat_plan plan; /* shallow copy; its algorithms, inner and outer are the lists below */
  enum mafat_algorithm *algorithms; /* [layer]: MAFAT_DIRECT */
  int *alone;             /* [tensor]: -1, which means no fusion; the plan's inner and outer */
  struct mafat_schedule *schedule;
  struct mafat_box *boxes; /* [layer]: box of the layer's output in the current tile */
};

/* Algorithm 1 of the paper, for one group; false on overflow. */
static bool predict_group(struct mafat_paper_group *p, const struct plain *plain, int group)
{
  const struct mafat_schedule *s = plain->schedule;
  const struct mafat_group *g = &s->plan->groups[group];
  p->peak_layer = -1;
  for (int ty = 0; ty < g->cut.as.grid.n_rows; ty++)
    for (int tx = 0; tx < g->cut.as.grid.n_cols; tx++) {
      size_t before = p->peak_bytes;
      mafat_schedule_tile_boxes(s, group, ty, tx, plain->boxes);
      for (int i = g->at.begin; i < g->at.end; i++) {
        int l = s->plan->members[i];
        struct mafat_box box = plain->boxes[l];
        if (!mafat_box_is_empty(box) && !consider(p, &s->network->layers[l], l, box)) return false;
      }
      if (p->peak_bytes == before) continue;
      p->tile_row = ty;
      p->tile_col = tx;
    }
  return true;
}

static void close_plain(struct plain *p)
{
  mafat_schedule_close(&p->schedule);
  free(p->algorithms);
  free(p->alone);
  free(p->boxes);
}

static int open_plain(struct plain *p, const struct mafat_network *n, const struct mafat_plan *plan)
{
  *p = (struct plain){.plan = *plan};
  p->plan.algorithms = p->algorithms = malloc((size_t)plan->n_layers * sizeof *p->algorithms);
  p->plan.inner = p->plan.outer = p->alone =
      malloc((size_t)mafat_network_n_tensors(n) * sizeof *p->alone);
  p->boxes = malloc((size_t)plan->n_layers * sizeof *p->boxes);
  if (!p->algorithms || !p->alone || !p->boxes) return MAFAT_ENOMEM;
  for (int l = 0; l < plan->n_layers; l++) p->algorithms[l] = MAFAT_DIRECT;
  for (int i = 0; i < mafat_network_n_tensors(n); i++) p->alone[i] = -1;
  return mafat_schedule_open(&p->schedule, n, &p->plan);
}

static int predict_groups(struct mafat_paper_prediction *p, const struct plain *plain,
                          size_t bias_bytes)
{
  for (int g = 0; g < p->n_groups; g++) {
    if (!predict_group(&p->groups[g], plain, g)) return MAFAT_ELIMIT;
    if (p->groups[g].peak_bytes > p->groups[p->peak_group].peak_bytes) p->peak_group = g;
  }
  bool overflow =
      __builtin_add_overflow(p->groups[p->peak_group].peak_bytes, bias_bytes, &p->bytes);
  return overflow ? MAFAT_ELIMIT : MAFAT_OK;
}

int mafat_paper_predict(struct mafat_paper_prediction **out, const struct mafat_network *n,
                        const struct mafat_plan *plan, size_t bias_bytes,
                        struct mafat_diagnostic *d)
{
  *out = NULL;
  for (const struct mafat_group *g = plan->groups; g < plan->groups + plan->n_groups; g++)
    if (g->cut.kind != MAFAT_CUT_GRID)
      return mafat_fail(d, MAFAT_EUNSUPPORTED,
                        "the paper's predictor knows grids only, and layers %d..%d run in %s",
                        plan->members[g->at.begin], plan->members[g->at.end - 1],
                        g->cut.kind == MAFAT_CUT_ROWS     ? "rows"
                        : g->cut.kind == MAFAT_CUT_PANELS ? "panels"
                                                          : "parts");
  struct plain plain = {.schedule = NULL};
  struct mafat_paper_prediction *p = calloc(1, sizeof *p);
  int code = MAFAT_ENOMEM;
  if (p) p->groups = calloc((size_t)plan->n_groups, sizeof *p->groups);
  if (p && p->groups) {
    p->n_groups = plan->n_groups;
    code = open_plain(&plain, n, plan);
  }
  if (code == MAFAT_OK) code = predict_groups(p, &plain, bias_bytes);
  close_plain(&plain);
  if (code == MAFAT_OK) {
    *out = p;
    return MAFAT_OK;
  }
  mafat_paper_prediction_close(&p);
  return mafat_fail(d, code,
                    code == MAFAT_ENOMEM ? "%s: out of memory"
                                         : "%s: the paper's prediction exceeds the address space",
                    n->path);
}

void mafat_paper_prediction_close(struct mafat_paper_prediction **p)
{
  if (!p || !*p) return;
  free((*p)->groups);
  free(*p);
  *p = NULL;
}
