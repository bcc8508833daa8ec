/* Finds the boundaries of balanced grids (balance.h). Called by predictor/planning/planning.c.
 * Writes the boundaries to the spec, allocated from the spec's heap. To compare boundaries, it
 * makes plans and layouts and frees them before it returns. */
#include "predictor/planning/balance.h"

#include "predictor/layout/layout.h"
#include "predictor/schedule/schedule.h"

#include <stdlib.h>
#include <string.h>

/* State of the search, which balances the rows, then the columns of each group. The bytes of a tile
 * are estimated: for each layer whose output is still needed, the tile's rows (columns) times the
 * bytes of one row (column). */
struct balancer {
  struct mafat_spec *spec;
  const struct mafat_ground *ground;
  int index;                         /* number of the group in the spec and in the plan */
  struct mafat_plan *plan;           /* made from the spec */
  struct mafat_schedule *schedule;
  const struct mafat_group *group;
  bool axis_y;              /* true: rows are balanced; false: columns */
  double *unit_bytes;       /* [layer]: bytes of one row (column) of the tile that is largest along
                               the other axis */
  struct mafat_box *boxes;  /* [layer]: working array */
};

static void close_plan(struct balancer *b)
{
  mafat_schedule_close(&b->schedule);
  mafat_plan_close(&b->plan);
}

/* Makes a plan and a schedule of the spec with its current boundaries, instead of the old ones. */
static int make_plan(struct balancer *b)
{
  close_plan(b);
  int code = mafat_lay(&b->plan, b->spec, b->ground, NULL);
  if (code == MAFAT_OK) code = mafat_schedule_open(&b->schedule, b->ground->network, b->plan);
  if (code == MAFAT_OK) b->group = &b->plan->groups[b->index];
  return code;
}

static int *bounds_of(const struct balancer *b)
{
  return b->axis_y ? b->group->row_bounds : b->group->col_bounds;
}

static struct mafat_span *span_of(struct mafat_box *b, bool axis_y)
{
  return axis_y ? &b->y : &b->x;
}

/* Fills unit_bytes for the group's layers. */
static void find_units(struct balancer *b)
{
  const struct mafat_group *g = b->group;
  const struct mafat_grid *grid = &g->cut.as.grid;
  for (int i = g->at.begin; i < g->at.end; i++) b->unit_bytes[b->plan->members[i]] = 0;
  for (int part = 0; part < (b->axis_y ? grid->n_cols : grid->n_rows); part++) {
    mafat_schedule_tile_boxes(b->schedule, b->index, b->axis_y ? 0 : part, b->axis_y ? part : 0,
                              b->boxes);
    for (int i = g->at.begin; i < g->at.end; i++) {
      int l = b->plan->members[i];
      const struct mafat_layer *layer = &b->ground->network->layers[l];
      double bytes = mafat_dtype_size(layer->out_type) *
                     mafat_span_size(*span_of(&b->boxes[l], !b->axis_y)) *
                     mafat_pixel_width(layer->out.c);
      if (bytes > b->unit_bytes[l]) b->unit_bytes[l] = bytes;
    }
  }
}

/* Estimated peak bytes of a tile that covers rows (columns) [begin, end) of the group's output. */
static double tile_bytes(struct balancer *b, int begin, int end)
{
  const struct mafat_group *g = b->group;
  const int *members = b->plan->members;
  int *bounds = bounds_of(b), saved[2] = {bounds[0], bounds[1]};
  /* Pretend that tile 0 is this tile, to find its boxes in all layers. */
  bounds[0] = begin;
  bounds[1] = end;
  mafat_schedule_tile_boxes(b->schedule, b->index, 0, 0, b->boxes);
  bounds[0] = saved[0];
  bounds[1] = saved[1];
  double peak = 0;
  for (int time = g->at.begin; time < g->at.end; time++) {
    double sum = 0;
    for (int i = g->at.begin; i <= time; i++) {
      const struct mafat_usage *u = &b->schedule->usage[members[i]];
      if (!u->external && u->last_use >= members[time])
        sum +=
            mafat_span_size(*span_of(&b->boxes[members[i]], b->axis_y)) * b->unit_bytes[members[i]];
    }
    if (sum > peak) peak = sum;
  }
  return peak;
}

/* Divides the axis into n tiles, each as long as possible with at most `limit` bytes. Fills
 * bounds[n + 1]. False: one row (column) needs more than `limit` bytes, or n tiles do not cover the
 * extent. */
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

/* Finds the bounds of n tiles such that the largest tile has the fewest bytes, by bisection of the
 * limit of cut_greedily, to 64 bytes. Fills best[n + 1]; trial is a working array of that size. */
static void minimise_largest(struct balancer *b, int n, int *best, int *trial)
{
  const int *even = bounds_of(b);
  int extent = even[n];
  double low = 0, high = 0;
  for (int part = 0; part < n; part++) { /* even bounds are feasible */
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

/* Finds the peak bytes of the group in a layout of the current plan; SIZE_MAX if the layout is too
 * large. */
static int group_peak(const struct balancer *b, size_t *peak)
{
  struct mafat_layout *layout;
  int code = mafat_layout_make(&layout, b->ground->network, b->plan, NULL);
  *peak = code ? SIZE_MAX : layout->groups[b->index].peak_bytes;
  mafat_layout_close(&layout);
  return code == MAFAT_ELIMIT ? MAFAT_OK : code;
}

/* Bounds of one axis. */
struct bounds {
  int n, *even, *best, *trial; /* number of tiles; lists of n + 1 bounds */
  int *inner; /* the spec's list of inner boundaries, (n - 1) */
};

/* Sets boundaries in the spec and makes its plan. */
static int cut_at(struct balancer *b, struct bounds *at, const int *bounds)
{
  memcpy(at->inner, bounds + 1, (size_t)(at->n - 1) * sizeof *bounds);
  return make_plan(b);
}

/* Sets balanced bounds in the spec, or even bounds if these are no worse. Compares the peaks of
 * real layouts, which include scratch and the true size of each buffer. */
static int choose_bounds(struct balancer *b, struct bounds *at)
{
  size_t even_bytes, uneven_bytes;
  int code = group_peak(b, &even_bytes);
  if (code) return code;
  memcpy(at->even, bounds_of(b), (size_t)(at->n + 1) * sizeof *at->even);
  find_units(b);
  minimise_largest(b, at->n, at->best, at->trial);
  code = cut_at(b, at, at->best);
  if (code == MAFAT_OK) code = group_peak(b, &uneven_bytes);
  return code || uneven_bytes < even_bytes ? code : cut_at(b, at, at->even);
}

static int balance_axis(struct balancer *b, bool axis_y)
{
  struct mafat_grid *grid = &b->spec->groups[b->index].cut.as.grid;
  struct bounds at = {.n = axis_y ? grid->n_rows : grid->n_cols};
  size_t bytes = (size_t)(at.n + 1) * sizeof *at.even;
  b->axis_y = axis_y;
  if (at.n == 1) return MAFAT_OK;
  at.inner = mafat_heap_calloc(b->spec->heap, (size_t)at.n, sizeof *at.inner);
  if (!at.inner) return MAFAT_ENOMEM;
  *(axis_y ? &grid->rows : &grid->cols) = at.inner;
  at.even = malloc(bytes);
  at.best = malloc(bytes);
  at.trial = malloc(bytes);
  int code = at.even && at.best && at.trial ? choose_bounds(b, &at) : MAFAT_ENOMEM;
  free(at.even);
  free(at.best);
  free(at.trial);
  return code;
}

bool mafat_balance_applies(const struct mafat_cut *cut)
{
  return mafat_cut_is_tiled(cut) && cut->as.grid.balanced && !cut->as.grid.rows &&
         !cut->as.grid.cols;
}

int mafat_balance(struct mafat_spec *spec, const struct mafat_ground *ground)
{
  struct balancer b = {.spec = spec, .ground = ground};
  b.unit_bytes = calloc((size_t)ground->n_layers, sizeof *b.unit_bytes);
  b.boxes = calloc((size_t)ground->n_layers, sizeof *b.boxes);
  int code = b.unit_bytes && b.boxes ? MAFAT_OK : MAFAT_ENOMEM;
  for (; b.index < spec->n_groups && code == MAFAT_OK; b.index++) {
    if (!mafat_balance_applies(&spec->groups[b.index].cut)) continue;
    code = make_plan(&b);
    if (code == MAFAT_OK) code = balance_axis(&b, true);
    if (code == MAFAT_OK) code = balance_axis(&b, false);
  }
  close_plan(&b);
  free(b.unit_bytes);
  free(b.boxes);
  return code;
}
