/* Tables of costs (costs.h) are near, and know few places to cut at. From the plan that they lead to the
 * search climbs on: the group where the arena is fullest is cut in another way, joined with its neighbour,
 * parted, or begins and ends elsewhere, and of all these changes the best is made. In the end groups go
 * the fastest way that the arena has room for. */
#include "search/least.h"

#include "predictor/planning.h"

#include <string.h>

enum {
  MOST_CHANGES = 60,   /* that are made */
  MOST_LAYERS = 80000, /* that are laid out: plans times their layers */
  FURTHEST = 3         /* layers that an end is moved by */
};

/* What groups are changed to. */
enum { WHOLE = 0, PANELS = -1 }; /* else rows */
static const int ways[] = {1, 2, 3, 4, 6, 8, 16, WHOLE, PANELS};
enum { N_WAYS = sizeof ways / sizeof *ways };

struct climb {
  const struct mafat_search_request *request;
  struct mafat_front *front;
  struct mafat_spec *from;         /* what is changed, with all the groups that it is run in */
  struct mafat_group_spec *groups; /* (n_layers): of a change */
  int fullest;                     /* group of it */
  int layers;                      /* of MOST_LAYERS, left */
  int code;                        /* of the first failure: then nothing is tried any more */
  struct mafat_diagnostic *d;
};

static bool is_better(const struct mafat_candidate *a, const struct mafat_candidate *b)
{
  return a->arena_bytes != b->arena_bytes ? a->arena_bytes < b->arena_bytes : a->ms < b->ms;
}

int mafat_least_take(struct mafat_front *f, const struct mafat_search_request *r, const struct mafat_spec *spec,
                     struct mafat_diagnostic *d)
{
  struct mafat_candidate c = {.threads = r->options->n_threads};
  int code = mafat_candidate_measure(&c, r, spec, d);
  if (code == MAFAT_EINVAL || code == MAFAT_ELIMIT || (code == MAFAT_OK && c.charge_bytes == SIZE_MAX)) return MAFAT_OK;
  if (code || (f->n > 0 && !is_better(&c, &f->list[0]))) return code;
  if (!f->list && !(f->list = mafat_heap_calloc(f->heap, 1, sizeof *f->list))) return MAFAT_ENOMEM;
  if (mafat_spec_copy(&c.spec, spec, f->heap)) return MAFAT_ENOMEM;
  if (f->n > 0) mafat_spec_close(&f->list[0].spec);
  f->list[0] = c;
  f->n = 1;
  return MAFAT_OK;
}

/* ---- a change ---- */

static int begin_of(const struct climb *c, int group)
{
  return group == 0 ? 0 : c->from->groups[group - 1].end;
}

static int end_of(const struct climb *c, int group)
{
  return group + 1 < c->from->n_groups ? c->from->groups[group].end : c->request->n_layers;
}

/* Of a group that is changed. Words of its layers' algorithms may be of others now: direct takes least. */
static struct mafat_group_spec group_of(const struct climb *c, int end, struct mafat_cut cut)
{
  struct mafat_group_spec g = {.end = end < c->request->n_layers ? end : 0, .cut = cut};
  g.algorithms[MAFAT_DIRECT].given = c->request->options->algorithm == MAFAT_AUTO;
  return g;
}

static struct mafat_cut cut_of(int way)
{
  return way == WHOLE ? mafat_cut_grid(1, 1) : way == PANELS ? mafat_cut_panels(false) : mafat_cut_rows(way);
}

/* These groups in place of some from `first` on. */
static void try(struct climb *c, int first, int n_old, const struct mafat_group_spec *groups, int n)
{
  int n_before = c->from->n_groups, behind = n_before - first - n_old;
  c->layers -= c->request->n_layers;
  if (c->code || c->layers < 0 || first + n + behind > c->request->n_layers) return;
  memcpy(c->groups, c->from->groups, (size_t)first * sizeof *groups);
  memcpy(c->groups + first, groups, (size_t)n * sizeof *groups);
  memcpy(c->groups + first + n, c->from->groups + first + n_old, (size_t)behind * sizeof *groups);
  struct mafat_spec spec = {.groups = c->groups, .n_groups = first + n + behind};
  c->code = mafat_least_take(c->front, c->request, &spec, c->d);
}

static void recut(struct climb *c, int group)
{
  for (int w = 0; w < N_WAYS; w++) {
    struct mafat_group_spec g = group_of(c, end_of(c, group), cut_of(ways[w]));
    try(c, group, 1, &g, 1);
  }
}

/* With the next one. */
static void join(struct climb *c, int group)
{
  if (group < 0 || group + 1 >= c->from->n_groups) return;
  for (int w = 0; w < N_WAYS; w++) {
    struct mafat_group_spec g = group_of(c, end_of(c, group + 1), cut_of(ways[w]));
    try(c, group, 2, &g, 1);
  }
}

/* Two groups of which one is cut as before, the other in every way. */
static void try_pair(struct climb *c, int group, int n_old, int cut, int end, struct mafat_cut left, struct mafat_cut right)
{
  for (int w = 0; w < 2 * N_WAYS; w++) {
    struct mafat_cut other = cut_of(ways[w / 2]);
    struct mafat_group_spec pair[] = {group_of(c, cut, w % 2 ? left : other), group_of(c, end, w % 2 ? other : right)};
    try(c, group, n_old, pair, 2);
  }
}

static void part(struct climb *c, int group)
{
  struct mafat_cut cut = c->from->groups[group].cut;
  int end = end_of(c, group);
  for (int at = begin_of(c, group) + 1; at < end; at++) try_pair(c, group, 1, at, end, cut, cut);
}

/* The cut behind a group. */
static void move(struct climb *c, int group)
{
  if (group < 0 || group + 1 >= c->from->n_groups) return;
  int begin = begin_of(c, group), cut = end_of(c, group), end = end_of(c, group + 1);
  for (int at = cut - FURTHEST; at <= cut + FURTHEST; at++)
    if (at > begin && at < end)
      try_pair(c, group, 2, at, end, c->from->groups[group].cut, c->from->groups[group + 1].cut);
}

/* ---- the climb ---- */

/* From the plan as it stands now: its groups, as it is run, and the fullest of them. */
static int stand(struct climb *c)
{
  const struct mafat_search_request *r = c->request;
  struct mafat_plan *plan = NULL;
  struct mafat_layout *layout = NULL;
  mafat_spec_close(&c->from);
  int code = mafat_plan_make(&plan, c->front->list[0].spec, r->network, r->n_layers, r->options, c->d);
  if (code == MAFAT_OK) code = mafat_layout_outline(&layout, r->network, plan, c->d);
  if (code == MAFAT_OK) code = mafat_plan_spec(&c->from, plan, r->network);
  c->fullest = 0;
  for (int g = 1; code == MAFAT_OK && g < plan->n_groups; g++)
    if (layout->groups[g].peak_bytes > layout->groups[c->fullest].peak_bytes) c->fullest = g;
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  return code;
}

static void change_fullest(struct climb *c)
{
  int g = c->fullest;
  recut(c, g);
  join(c, g - 1);
  join(c, g);
  move(c, g - 1);
  move(c, g);
  part(c, g);
}

static void change_any(struct climb *c)
{
  for (int g = 0; g < c->from->n_groups; g++) recut(c, g);
}

/* As long as changes of this kind make it better. */
static void climb(struct climb *c, void (*change)(struct climb *c))
{
  for (int i = 0; i < MOST_CHANGES && c->layers >= 0; i++) {
    struct mafat_candidate before = c->front->list[0];
    if ((c->code = c->code ? c->code : stand(c))) return;
    change(c);
    if (c->code || !is_better(&c->front->list[0], &before)) return;
  }
}

int mafat_least_refine(struct mafat_front *f, const struct mafat_search_request *r, struct mafat_diagnostic *d)
{
  struct climb c = {.request = r, .front = f, .layers = MOST_LAYERS, .d = d};
  if (f->n == 0) return MAFAT_OK;
  c.groups = mafat_heap_calloc(r->options->heap, (size_t)r->n_layers, sizeof *c.groups);
  if (!c.groups) return MAFAT_ENOMEM;
  climb(&c, change_fullest);
  climb(&c, change_any);
  mafat_spec_close(&c.from);
  mafat_heap_free(r->options->heap, c.groups);
  return c.code;
}
