#include "predictor/balance.h"

#include "predictor/layout.h"
#include "predictor/schedule.h"

#include <stdlib.h>

/* One axis at a time: a tile's bytes are a sum over live layers of its extent
 * on this axis times what one row (or column) of the layer costs. */
struct balancer {
  const struct mafat_network *network;
  const struct mafat_plan *plan;
  struct mafat_schedule *schedule;
  struct mafat_group *group;
  bool axis_y;
  double *unit_bytes;         /* [layer]: one row (column) across the other axis' largest tile */
  struct mafat_span *spans;   /* [layer]: working array */
};

static struct mafat_span *span_of(struct mafat_box *b, bool axis_y)
{
  return axis_y ? &b->y : &b->x;
}

/* Bytes of a layer's row (column): the other axis at its largest. */
static void find_units(struct balancer *b)
{
  const struct mafat_group *g = b->group;
  struct mafat_box *boxes = b->schedule->boxes;
  for (int l = g->first; l < g->end; l++) b->unit_bytes[l] = 0;
  for (int part = 0; part < (b->axis_y ? g->n_cols : g->n_rows); part++) {
    mafat_schedule_tile_boxes(b->schedule, g, b->axis_y ? 0 : part, b->axis_y ? part : 0, boxes);
    for (int l = g->first; l < g->end; l++) {
      double bytes = 4.0 * mafat_span_size(*span_of(&boxes[l], !b->axis_y)) *
                     mafat_pixel_floats(b->network->layers[l].out.c);
      if (bytes > b->unit_bytes[l]) b->unit_bytes[l] = bytes;
    }
  }
}

/* Peak bytes of the tile that covers [begin, end) of the output on this axis. */
static double tile_bytes(struct balancer *b, int begin, int end)
{
  struct mafat_group *g = b->group;
  int *bounds = b->axis_y ? g->row_bounds : g->col_bounds;
  int part = 0, saved[2] = {bounds[0], bounds[1]};
  /* Grow back through the group by pretending that part 0 is this tile. */
  bounds[0] = begin;
  bounds[1] = end;
  mafat_schedule_tile_boxes(b->schedule, g, b->axis_y ? part : 0, b->axis_y ? 0 : part,
                            b->schedule->boxes);
  bounds[0] = saved[0];
  bounds[1] = saved[1];
  for (int l = g->first; l < g->end; l++) b->spans[l] = *span_of(&b->schedule->boxes[l], b->axis_y);
  double peak = 0;
  for (int time = g->first; time < g->end; time++) {
    double sum = 0;
    for (int l = g->first; l <= time; l++) {
      const struct mafat_usage *u = &b->schedule->usage[l + 1];
      if (!u->external && u->last_use >= time) sum += mafat_span_size(b->spans[l]) * b->unit_bytes[l];
    }
    if (sum > peak) peak = sum;
  }
  return peak;
}

/* Cuts greedily into tiles of at most `limit` bytes; true when n suffice.
 * A tile's bytes rise with its extent, so the longest tile that fits is right. */
static bool cut_greedily(struct balancer *b, double limit, int n, int extent, int *bounds)
{
  int at = 0;
  for (int part = 0; part < n; part++) {
    bounds[part] = at;
    int least = at + 1, most = extent - (n - 1 - part); /* leave one pixel for each later part */
    if (at >= extent || least > most || tile_bytes(b, at, least) > limit) return false;
    while (least < most) {
      int middle = least + (most - least + 1) / 2;
      if (tile_bytes(b, at, middle) <= limit) least = middle;
      else most = middle - 1;
    }
    at = least;
  }
  bounds[n] = extent;
  return at == extent;
}

/* Bisects for the least bytes that n tiles can stay under; bounds in `best`. */
static void minimise_largest(struct balancer *b, int n, int *best, int *trial)
{
  const int *even = b->axis_y ? b->group->row_bounds : b->group->col_bounds;
  int extent = even[n];
  double low = 0, high = 0;
  for (int part = 0; part < n; part++) { /* the even cut is feasible */
    double bytes = tile_bytes(b, even[part], even[part + 1]);
    if (bytes > high) high = bytes;
  }
  for (int i = 0; i <= n; i++) best[i] = even[i];
  while (high - low > 64) {
    double middle = low + (high - low) / 2;
    if (!cut_greedily(b, middle, n, extent, trial)) {
      low = middle;
      continue;
    }
    for (int i = 0; i <= n; i++) best[i] = trial[i];
    high = middle;
  }
}

/* The group's peak as the layout has it; SIZE_MAX where it cannot be counted. */
static int group_peak(const struct balancer *b, size_t *peak)
{
  struct mafat_layout *layout;
  int code = mafat_layout_make(&layout, b->network, b->plan, NULL);
  *peak = code ? SIZE_MAX : layout->groups[b->group - b->plan->groups].peak_bytes;
  mafat_layout_close(&layout);
  return code == MAFAT_ELIMIT ? MAFAT_OK : code;
}

static void swap_bounds(int *a, int *b, int n)
{
  for (int i = 0; i <= n; i++) {
    int t = a[i];
    a[i] = b[i];
    b[i] = t;
  }
}

/* Every buffer is as large as its largest tile, whichever that is, and scratch
 * counts too: so the layout decides whether the uneven cut is the better one. */
static int balance_axis(struct balancer *b, bool axis_y)
{
  struct mafat_group *g = b->group;
  b->axis_y = axis_y;
  int n = axis_y ? g->n_rows : g->n_cols;
  int *bounds = axis_y ? g->row_bounds : g->col_bounds;
  if (n == 1) return MAFAT_OK;
  size_t even_bytes, uneven_bytes;
  int *trial = malloc((size_t)(n + 1) * sizeof *trial);
  int *best = malloc((size_t)(n + 1) * sizeof *best);
  int code = trial && best ? group_peak(b, &even_bytes) : MAFAT_ENOMEM;
  if (code == MAFAT_OK) {
    find_units(b);
    minimise_largest(b, n, best, trial);
    swap_bounds(bounds, best, n);
    code = group_peak(b, &uneven_bytes);
    if (code || uneven_bytes >= even_bytes) swap_bounds(bounds, best, n);
  }
  free(trial);
  free(best);
  return code;
}

int mafat_balance_group(const struct mafat_network *n, struct mafat_plan *plan, int group,
                        struct mafat_diagnostic *d)
{
  struct balancer b = {.network = n, .plan = plan, .group = &plan->groups[group]};
  int code = mafat_schedule_open(&b.schedule, n, plan);
  b.unit_bytes = calloc((size_t)plan->n_layers, sizeof *b.unit_bytes);
  b.spans = calloc((size_t)plan->n_layers, sizeof *b.spans);
  if (code || !b.unit_bytes || !b.spans) code = MAFAT_ENOMEM;
  if (code == MAFAT_OK) code = balance_axis(&b, true);
  if (code == MAFAT_OK) code = balance_axis(&b, false);
  mafat_schedule_close(&b.schedule);
  free(b.unit_bytes);
  free(b.spans);
  return code ? mafat_fail(d, code, "plan: out of memory") : MAFAT_OK;
}
