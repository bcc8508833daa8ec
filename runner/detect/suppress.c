/* Non-maximum suppression: drops boxes that overlap a more confident box of their class. The time
 * is nearly linear, because only boxes in nearby cells are compared. Called by
 * runner/detect/detect.c. Touches only its arguments. */
#include "runner/detect/suppress.h"

#include <math.h>
#include <string.h>

/* ---- a pair of boxes ---- */

/* Returns the length of the intersection of two intervals, given by center and size; negative if
 * they are apart. */
static float overlap(float x1, float w1, float x2, float w2)
{
  float left1 = x1 - w1 / 2, left2 = x2 - w2 / 2;
  float right1 = x1 + w1 / 2, right2 = x2 + w2 / 2;
  return (right1 < right2 ? right1 : right2) - (left1 > left2 ? left1 : left2);
}

/* Returns the length of the smallest interval that contains both. */
static float extent(float x1, float w1, float x2, float w2)
{
  float left1 = x1 - w1 / 2, left2 = x2 - w2 / 2;
  float right1 = x1 + w1 / 2, right2 = x2 + w2 / 2;
  return (right1 > right2 ? right1 : right2) - (left1 < left2 ? left1 : left2);
}

/* Returns the DIoU penalty: (squared distance of the centers / squared diagonal of the smallest box
 * that contains both)^power. */
static float distance(struct mafat_rectangle a, struct mafat_rectangle b, double power)
{
  float w = extent(a.x, a.w, b.x, b.w), h = extent(a.y, a.h, b.y, b.h);
  float diagonal = w * w + h * h;
  if (diagonal == 0) return 0;
  float between = (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y);
  return (float)pow((double)(between / diagonal), power);
}

/* The overlap of two boxes without area is 0 / 0, a NaN, which exceeds no threshold. */
bool mafat_suppression_overlaps(const struct mafat_suppression *s, struct mafat_rectangle a,
                                struct mafat_rectangle b)
{
  float w = overlap(a.x, a.w, b.x, b.w);
  if (w < 0) return false; /* most pairs end here */
  float h = overlap(a.y, a.h, b.y, b.h);
  if (h < 0) return false;
  float both = w * h;
  float share = both / (a.w * a.h + b.w * b.h - both);
  if (!(share > s->most) || s->kind == MAFAT_NMS_IOU) return share > s->most;
  return share - distance(a, b, s->power) > s->most;
}

/* ---- nearby boxes ---- */

/* Kept boxes of a class, in grids (levels) of 1 x 1, 2 x 2, 4 x 4 ... cells over the picture. A box
 * is stored in the finest grid whose cells are wider and higher than the box, in the cell that
 * contains its upper left corner, or the nearest cell. Boxes larger than all cells are in the first
 * grid.
 *
 * If a stored box overlaps another box, its left edge is before the right edge of the other box,
 * and at most one cell width before the left edge of the other box; so only these cells are
 * searched. Edges are computed as in overlap(). Differences are rounded, but rounding is monotonic
 * and cell sizes are powers of two, so no overlapping pair is missed. An edge is NaN only if a side
 * is infinite; the overlap is then 0 or NaN, so no pair is missed either. */
struct grids {
  const struct mafat_suppression *s;
  struct mafat_scored_box *list;
  size_t first, n; /* kept boxes of the class: list[first ... n) */
  int n_levels;
  size_t n_in_level[MAFAT_BOXES_LEVELS];
};

static const uint32_t NONE = UINT32_MAX; /* empty cell */

static float cell_side(int level)
{
  return 1.f / (float)(1 << level);
}

/* Returns the index of the cell along an axis that contains an edge, or of the nearest cell. */
static int cell_at(float edge, int level)
{
  int n = 1 << level;
  float at = edge * (float)n;
  return !(at > 0) ? 0 : at >= (float)n ? n - 1 : (int)at;
}

static int level_of(const struct grids *g, struct mafat_rectangle b)
{
  float w = (b.x + b.w / 2) - (b.x - b.w / 2), h = (b.y + b.h / 2) - (b.y - b.h / 2);
  int level = 0;
  while (level + 1 < g->n_levels && w < cell_side(level + 1) && h < cell_side(level + 1)) level++;
  return level;
}

static uint32_t *cell(const struct grids *g, int level, int y, int x)
{
  return &g->s->cells[mafat_boxes_cells(level) + ((size_t)y << level) + (size_t)x];
}

static uint32_t *cell_of(const struct grids *g, int level, struct mafat_rectangle b)
{
  return cell(g, level, cell_at(b.y - b.h / 2, level), cell_at(b.x - b.w / 2, level));
}

/* Adds the kept box list[number] to its cell. */
static void enter(struct grids *g, size_t number)
{
  struct mafat_scored_box *e = &g->list[number];
  int level = level_of(g, e->box);
  uint32_t *first = cell_of(g, level, e->box);
  e->next = *first;
  *first = (uint32_t)number;
  g->n_in_level[level]++;
}

/* Empties the cells of all kept boxes, for the next class. */
static void leave(struct grids *g)
{
  for (size_t i = g->first; i < g->n; i++)
    *cell_of(g, level_of(g, g->list[i].box), g->list[i].box) = NONE;
  memset(g->n_in_level, 0, sizeof g->n_in_level);
}

/* Returns the columns or rows of a level that may contain boxes that overlap an interval of this
 * size around `centre`. */
static struct mafat_span cells_near(float centre, float size, int level)
{
  int begin = cell_at(centre - size / 2 - cell_side(level), level),
      end = cell_at(centre + size / 2, level) + 1;
  return mafat_span(begin, end > begin ? end : begin); /* a negative size overlaps nothing */
}

static bool is_covered_in_level(const struct grids *g, struct mafat_rectangle b, int level)
{
  struct mafat_span rows = cells_near(b.y, b.h, level), cols = cells_near(b.x, b.w, level);
  for (int y = rows.begin; y < rows.end; y++)
    for (int x = cols.begin; x < cols.end; x++)
      for (uint32_t i = *cell(g, level, y, x); i != NONE; i = g->list[i].next)
        if (mafat_suppression_overlaps(g->s, g->list[i].box, b)) return true;
  return false;
}

/* True if a kept box overlaps b. Compares b with every kept box. */
static bool is_covered_plainly(const struct grids *g, struct mafat_rectangle b)
{
  for (size_t i = g->first; i < g->n; i++)
    if (mafat_suppression_overlaps(g->s, g->list[i].box, b)) return true;
  return false;
}

/* True if a kept box overlaps b. Compares b with the kept boxes in nearby cells, or with all kept
 * boxes if there are fewer of them than nearby cells. */
static bool is_covered(const struct grids *g, struct mafat_rectangle b)
{
  size_t n_cells = 0;
  for (int level = 0; level < g->n_levels; level++) {
    if (!g->n_in_level[level]) continue;
    struct mafat_span rows = cells_near(b.y, b.h, level), cols = cells_near(b.x, b.w, level);
    n_cells += (size_t)mafat_span_size(rows) * (size_t)mafat_span_size(cols);
  }
  if (n_cells >= g->n - g->first) return is_covered_plainly(g, b);
  for (int level = g->n_levels - 1; level >= 0; level--)
    if (g->n_in_level[level] && is_covered_in_level(g, b, level)) return true;
  return false;
}

/* ---- classes ---- */

enum { FEW = 64 }; /* in a class with fewer boxes, all pairs are compared, which is faster */

/* Suppresses boxes list[begin ... end), which are all the boxes of one class. Moves the boxes that
 * it keeps to list[g->n] and after. */
static void suppress_class(struct grids *g, size_t begin, size_t end)
{
  bool few = end - begin < FEW;
  g->first = g->n;
  for (size_t i = begin; i < end; i++) {
    if (few ? is_covered_plainly(g, g->list[i].box) : is_covered(g, g->list[i].box)) continue;
    g->list[g->n] = g->list[i];
    if (!few) enter(g, g->n);
    g->n++;
  }
  if (!few) leave(g);
}

void mafat_suppress(struct mafat_best_boxes *b, const struct mafat_suppression *s)
{
  struct grids g = {.s = s, .list = b->list, .n_levels = mafat_boxes_levels(b->most)};
  size_t end;
  mafat_best_boxes_sort(b, mafat_box_order_classes);
  if (b->n >= FEW)
    memset(s->cells, 0xff, mafat_boxes_cells(g.n_levels) * sizeof *s->cells); /* NONE */
  for (size_t begin = 0; begin < b->n; begin = end) {
    for (end = begin + 1; end < b->n && b->list[end].class == b->list[begin].class;) end++;
    suppress_class(&g, begin, end);
  }
  b->n = g.n;
}
