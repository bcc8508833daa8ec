/* Reduces the arena of a plan by hill climbing (least.h). Called by search/best/best.c and
 * search/least/grouping.c. Replaces the plan in the front (search/common/front.h). Temporary memory
 * is in request->options->heap. Each round changes the fullest group, which decides how large the
 * arena is: runs it in another way, joins it with its neighbors, moves its ends, divides it into
 * two groups, or runs only the layers around its peak in another way. The best change is applied.
 * At the end, each group gets the fastest way that does not enlarge the arena. For networks with
 * branches, the climb is repeated with the best order of layers if that needs fewer bytes. */
#include "search/least/least.h"

#include "predictor/layout/layout.h"
#include "predictor/plan/partition.h"
#include "predictor/planning/planning.h"
#include "search/common/effort.h"
#include "search/common/fullest.h"
#include "search/common/known_arenas.h"
#include "search/least/sequence.h"

#include <stdint.h>
#include <string.h>

enum {
  MOST_CHANGES = 200,    /* greatest number of rounds of a climb */
  MOST_LAYERS = 900000,  /* greatest effort of mafat_least_refine, in layers (common/effort.h) */
  MOST_ASSIGNED = 450000, /* greatest effort of mafat_least_lower, in layers */
  LAID_OUT = 4,          /* additional effort of a plan that is laid out, per layer */
  PARTS_LAID_OUT = 24,   /* additional effort of such a plan, per unit of mafat_effort_of_parts */
  SORTED = 300,          /* effort per layer, if the best order of layers is found */
  FURTHEST = 3,          /* greatest number of layers by which the end of a group moves at once */
  /* if a plan needs less than this share of the arena, the climb continues from it at once */
  ENOUGH_PERCENT = 99,
  /* greatest number of positions at which dividing a group is tried. In larger groups, each of so
   * many ranges gives its position with the fewest live bytes */
  MOST_PARTED = 30
};

/* A cut candidate is a way to run a group. It is coded as one number: WHOLE, PANELS, or n > 0 for
 * "rowsn". EARLY + n, PARTITIONED + n and PARTITIONED + EARLY + n are "rowsn" with the words
 * ":early" and ":bricks" (spec.h). COLUMNS - n is a grid with n tiles in each row of the map, for
 * maps with few rows, such as sequences of tokens. */
enum { WHOLE = 0, PANELS = -1, COLUMNS = -2, EARLY = 1000, PARTITIONED = 2000 };
static const int cut_candidates[] = {
    1, 2, 3, 4, 6, 8, 16, EARLY + 1, EARLY + 2, EARLY + 4, PARTITIONED + 1, PARTITIONED + 2,
    PARTITIONED + EARLY + 1, WHOLE, PANELS, COLUMNS - 8, COLUMNS - 32};
enum { N_CUT_CANDIDATES = sizeof cut_candidates / sizeof *cut_candidates, FEW_ROWS = 4 };

struct group_climb {
  const struct mafat_search_request *request;
  struct mafat_front *front;
  struct mafat_spec *from;         /* canonical spec of the plan that is changed */
  struct mafat_sequence *sequence; /* the layers of `from`, group after group */
  int *ends;                       /* [group of `from`]: its end, as a position in `sequence` */
  struct mafat_group_spec *groups; /* (n_layers) groups of the changed plan; their `end` is a
                                      position in `sequence` until report_layers is called */
  int *group_of;                   /* [layer]: index in `groups` */
  int fullest;                     /* group of `from` that is changed (common/fullest.h) */
  int peak;                        /* position in `sequence` of the layer that runs at the peak */
  bool assigned;    /* `fullest` is by mafat_fullest_assigned; false: by mafat_fullest_alive */
  bool breaks_ties; /* among equal arenas, prefer fewer layers near the peak; false: faster plans */
  long long layers;                /* remaining effort, in layers */
  size_t enough; /* bytes; when the arena is smaller than this, the round ends */
  int parts;                       /* effort of the parts of the plan tried last, in layers */
  uint64_t lives;                  /* hash of the sizes and lifetimes of that plan's buffers */
  struct mafat_known_arenas *known;
  int code;                        /* first failure, which ends the climb */
  struct mafat_diagnostic *d;
};

static bool is_better(const struct mafat_candidate *a, const struct mafat_candidate *b,
                      bool breaks_ties)
{
  if (a->arena_bytes != b->arena_bytes) return a->arena_bytes < b->arena_bytes;
  return breaks_ties ? a->tie_break < b->tie_break * 0.999 : a->ms < b->ms;
}

static bool is_faster(const struct mafat_candidate *a, const struct mafat_candidate *b)
{
  return b->arena_bytes == SIZE_MAX || is_better(a, b, false);
}

static bool breaks_tie(const struct mafat_candidate *a, const struct mafat_candidate *b)
{
  return b->arena_bytes == SIZE_MAX || is_better(a, b, true);
}

/* Replaces the front's plan by this spec if it is better. *arena_bytes: on entry, a known lower
 * bound of the spec's arena, or 0; on return, the arena's bytes or a lower bound of them. */
static int take(struct mafat_front *f, const struct mafat_search_request *r,
                const struct mafat_spec *spec, bool breaks_ties, size_t *arena_bytes,
                struct mafat_diagnostic *d)
{
  const struct mafat_candidate none = {.arena_bytes = SIZE_MAX},
                               *than = f->n > 0 ? &f->list[0] : &none;
  struct mafat_candidate c = {.threads = r->options->n_threads, .arena_bytes = *arena_bytes};
  bool better;
  int code = mafat_candidate_measure_better(&c, r, spec, breaks_ties ? breaks_tie : is_faster, than,
                                            &better, d);
  *arena_bytes = code ? 0 : c.arena_bytes;
  if (code == MAFAT_EINVAL || code == MAFAT_ELIMIT ||
      (code == MAFAT_OK && (!better || c.charge_bytes == SIZE_MAX)))
    return MAFAT_OK;
  if (code || c.redundant_macs) return code;
  if (!f->list && !(f->list = mafat_heap_calloc(f->heap, 1, sizeof *f->list))) return MAFAT_ENOMEM;
  if (mafat_spec_copy(&c.spec, spec, f->heap)) return MAFAT_ENOMEM;
  if (f->n > 0) mafat_spec_close(&f->list[0].spec);
  f->list[0] = c;
  f->n = 1;
  return MAFAT_OK;
}

int mafat_least_take(struct mafat_front *f, const struct mafat_search_request *r,
                     const struct mafat_spec *spec, struct mafat_diagnostic *d)
{
  size_t arena_bytes = 0;
  return take(f, r, spec, false, &arena_bytes, d);
}

/* ---- changes ---- */

static int begin_of(const struct group_climb *c, int group)
{
  return group == 0 ? 0 : c->ends[group - 1];
}

static int end_of(const struct group_climb *c, int group)
{
  return c->ends[group];
}

/* Returns a changed group that ends at position `end` of the sequence. It does not get the old
 * group's algorithm words, which may name layers that are not in this group. If the options leave
 * the algorithm open, it uses the direct one, which needs the fewest bytes. */
static struct mafat_group_spec group_of(const struct group_climb *c, int end, struct mafat_cut cut)
{
  struct mafat_group_spec g = {.end = end, .cut = cut};
  g.algorithms[MAFAT_DIRECT].given = c->request->options->algorithm == MAFAT_AUTO;
  return g;
}

/* Shape of the output of the layer just before position `end` of the sequence. */
static struct mafat_shape shape_before(const struct group_climb *c, int end)
{
  return c->request->network->layers[c->sequence->layers[end - 1]].out;
}

static struct mafat_cut cut_of(const struct group_climb *c, int cut_candidate, int end)
{
  if (cut_candidate < COLUMNS)
    return mafat_cut_grid(shape_before(c, end).h, COLUMNS - cut_candidate);
  if (cut_candidate > PARTITIONED)
    return mafat_cut_rows_partitioned((cut_candidate - PARTITIONED) % EARLY,
                                      cut_candidate > PARTITIONED + EARLY);
  if (cut_candidate > EARLY) return mafat_cut_rows_early(cut_candidate - EARLY);
  return cut_candidate == WHOLE    ? mafat_cut_grid(1, 1)
         : cut_candidate == PANELS ? mafat_cut_panels(false)
                                   : mafat_cut_rows(cut_candidate);
}

/* True if the candidate is possible for a group that ends at position `end`. Tiles are only for
 * maps with few rows and many columns. */
static bool applies(const struct group_climb *c, int cut_candidate, int end)
{
  struct mafat_shape out = shape_before(c, end);
  return cut_candidate >= COLUMNS || (out.h <= FEW_ROWS && out.w >= 2 * (COLUMNS - cut_candidate));
}

/* True if the plan cannot be better, because its live bytes or its cached arena bytes exceed the
 * arena of the front's plan. Sets c->parts and c->lives. */
static bool is_too_large(struct group_climb *c, const struct mafat_spec *spec)
{
  const struct mafat_search_request *r = c->request;
  struct mafat_plan *plan = NULL;
  struct mafat_layout *layout = NULL;
  int code = mafat_plan_make(&plan, spec, r->network, r->n_layers, r->options, c->d);
  c->parts = code == MAFAT_OK ? mafat_effort_of_parts(plan) : 0;
  c->layers -= c->parts;
  if (code == MAFAT_OK) code = mafat_layout_outline(&layout, r->network, plan, c->d);
  bool large = code || layout->total_bytes > c->front->list[0].arena_bytes;
  if (!large) {
    c->lives = mafat_known_arenas_hash(layout, plan);
    if (!c->lives) c->code = MAFAT_ENOMEM;
    large = c->code || mafat_known_arenas_find(c->known, c->lives) > c->front->list[0].arena_bytes;
  }
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  if (code == MAFAT_ENOMEM) c->code = code;
  return large;
}

/* Returns a group of `from`, with its end in the sequence instead of its list of layers. */
static struct mafat_group_spec unchanged(const struct group_climb *c, int group)
{
  struct mafat_group_spec g = c->from->groups[group];
  g.more = NULL;
  g.n_more = 0;
  g.end = c->ends[group];
  return g;
}

/* Replaces the ends of c->groups, which are positions in the sequence, by lists of layers. */
static void report_layers(struct group_climb *c, int n_groups)
{
  for (int g = 0, at = 0; g < n_groups; g++)
    for (; at < c->groups[g].end; at++) c->group_of[c->sequence->layers[at]] = g;
  for (int g = 0; g < n_groups && !c->code; g++) {
    c->groups[g].end = 0;
    c->code = mafat_group_spec_set_layers(c->request->options->heap, &c->groups[g], g, c->group_of,
                                          c->request->n_layers);
  }
}

/* Tries a plan that has these n groups instead of the n_old groups of `from` that begin with group
 * number `first`. */
static void try(struct group_climb *c, int first, int n_old, const struct mafat_group_spec *groups,
                int n)
{
  int n_groups = 0, evaluations = c->from->op_order == MAFAT_OP_ORDER_FILE ? 1 : SORTED;
  if (c->code || c->front->list[0].arena_bytes < c->enough) return;
  c->layers -= evaluations * c->request->n_layers;
  if (!mafat_effort_left(c->request, c->layers) ||
      c->from->n_groups - n_old + n > c->request->n_layers)
    return;
  for (int g = 0; g < first; g++) c->groups[n_groups++] = unchanged(c, g);
  for (int g = 0; g < n; g++) c->groups[n_groups++] = groups[g];
  for (int g = first + n_old; g < c->from->n_groups; g++) c->groups[n_groups++] = unchanged(c, g);
  report_layers(c, n_groups);
  struct mafat_spec spec = {.groups = c->groups,
                            .n_groups = n_groups,
                            .op_order = c->from->op_order,
                            .in_place = c->from->in_place};
  if (!c->code && !is_too_large(c, &spec)) {
    size_t arena_bytes = mafat_known_arenas_find(c->known, c->lives);
    c->layers -= LAID_OUT * evaluations * c->request->n_layers + PARTS_LAID_OUT * c->parts;
    c->code = take(c->front, c->request, &spec, c->breaks_ties, &arena_bytes, c->d);
    mafat_known_arenas_note(c->known, c->lives, arena_bytes);
  }
  for (int g = 0; g < n_groups; g++) mafat_heap_free(c->request->options->heap, c->groups[g].more);
}

static void recut(struct group_climb *c, int group)
{
  int end = end_of(c, group);
  for (int w = 0; w < N_CUT_CANDIDATES; w++) {
    if (!applies(c, cut_candidates[w], end)) continue;
    struct mafat_group_spec g = group_of(c, end, cut_of(c, cut_candidates[w], end));
    try(c, group, 1, &g, 1);
  }
}

/* Tries joining n groups, the first of which is `group`. */
static void join(struct group_climb *c, int group, int n)
{
  if (group < 0 || group + n > c->from->n_groups) return;
  int end = end_of(c, group + n - 1);
  for (int w = 0; w < N_CUT_CANDIDATES; w++) {
    if (!applies(c, cut_candidates[w], end)) continue;
    struct mafat_group_spec g = group_of(c, end, cut_of(c, cut_candidates[w], end));
    try(c, group, n, &g, 1);
  }
}

/* Tries two groups that end at the positions `cut` and `end`, instead of n_old groups. Tries each
 * cut candidate twice: for the first group, with `right` for the second one; and for the second
 * group, with `left` for the first one. */
static void try_pair(struct group_climb *c, int group, int n_old, int cut, int end,
                     struct mafat_cut left, struct mafat_cut right)
{
  for (int w = 0; w < 2 * N_CUT_CANDIDATES; w++) {
    int changed = w % 2 ? end : cut;
    if (!applies(c, cut_candidates[w / 2], changed)) continue;
    struct mafat_cut other = cut_of(c, cut_candidates[w / 2], changed);
    struct mafat_group_spec pair[] = {group_of(c, cut, w % 2 ? left : other),
                                      group_of(c, end, w % 2 ? other : right)};
    try(c, group, n_old, pair, 2);
  }
}

/* The position from `first` to `last` with the fewest live bytes (sequence.h: crossing). */
static int narrowest(const struct group_climb *c, int first, int last)
{
  int best = first;
  for (int at = first; at <= last; at++)
    if (c->sequence->crossing[at] < c->sequence->crossing[best]) best = at;
  return best;
}

/* Tries dividing a group into two. */
static void part(struct group_climb *c, int group)
{
  struct mafat_cut cut = c->from->groups[group].cut;
  int begin = begin_of(c, group), end = end_of(c, group);
  for (int at = begin + 1, next; at < end; at = next) {
    next = mafat_min(at + (end - begin) / MOST_PARTED + 1, end);
    try_pair(c, group, 1, narrowest(c, at, next - 1), end, cut, cut);
  }
}

/* ---- layers around the peak ---- */

enum { MOST_PLACES = 10 };

/* Lists positions for cuts between `from`, which is at the peak, and `border`, the group's end (by
 * = 1) or beginning (by = -1). The lengths of the ranges double; each range gives its position with
 * the fewest live bytes. The last one is `border`. Returns their number. */
static int find_places(const struct group_climb *c, int from, int border, int by, int *places)
{
  int n = 0;
  for (int near = 0, far = 2; n < MOST_PLACES - 1; near = far, far *= 2) {
    int a = from + by * near, b = from + by * (far - 1);
    if ((border - a) * by <= 0) break;
    if ((border - b) * by <= 0) b = border - by;
    places[n++] = by > 0 ? narrowest(c, a, b) : narrowest(c, b, a);
  }
  places[n++] = border;
  return n;
}

/* Tries other ways for the layers of the group at positions [first, last). */
static void try_island(struct group_climb *c, int group, int first, int last)
{
  static const int island[] = {1, PARTITIONED + 1, PARTITIONED + EARLY + 1, 2, 4, COLUMNS - 32};
  int begin = begin_of(c, group), end = end_of(c, group), n;
  struct mafat_cut cut = c->from->groups[group].cut;
  for (size_t w = 0; w < sizeof island / sizeof *island; w++) {
    struct mafat_group_spec groups[3];
    if (!applies(c, island[w], last)) continue;
    n = 0;
    if (first > begin) groups[n++] = group_of(c, first, cut);
    groups[n++] = group_of(c, last, cut_of(c, island[w], last));
    if (last < end) groups[n++] = group_of(c, end, cut);
    try(c, group, 1, groups, n);
  }
}

/* In a group that is not by rows, tries other ways for the layers around the peak, such as rows for
 * one block of the network. */
static void part_around_peak(struct group_climb *c, int group)
{
  int begin = begin_of(c, group), end = end_of(c, group);
  int before[MOST_PLACES], after[MOST_PLACES];
  if (c->from->groups[group].cut.kind == MAFAT_CUT_ROWS || c->peak < begin || c->peak >= end)
    return;
  int n_before = find_places(c, c->peak, begin, -1, before),
      n_after = find_places(c, c->peak + 1, end, 1, after);
  for (int i = 0; i < n_before; i++)
    for (int k = 0; k < n_after; k++)
      if (before[i] < after[k]) try_island(c, group, before[i], after[k]);
}

/* Tries moving the end of a group by up to FURTHEST layers. */
static void move(struct group_climb *c, int group)
{
  if (group < 0 || group + 1 >= c->from->n_groups) return;
  int begin = begin_of(c, group), cut = end_of(c, group), end = end_of(c, group + 1);
  for (int at = cut - FURTHEST; at <= cut + FURTHEST; at++)
    if (at > begin && at < end)
      try_pair(c, group, 2, at, end, c->from->groups[group].cut, c->from->groups[group + 1].cut);
}

/* Tries moving the end of a group further: in each of several ranges, whose lengths double, to the
 * position with the fewest live bytes. */
static void move_far(struct group_climb *c, int group)
{
  if (group < 0 || group + 1 >= c->from->n_groups) return;
  int begin = begin_of(c, group), cut = end_of(c, group), end = end_of(c, group + 1);
  struct mafat_cut left = c->from->groups[group].cut, right = c->from->groups[group + 1].cut;
  for (int near = FURTHEST + 1; near < end - begin; near *= 2) {
    if (cut + near < end)
      try_pair(c, group, 2, narrowest(c, cut + near, mafat_min(cut + 2 * near, end) - 1), end, left,
               right);
    if (cut - near > begin)
      try_pair(c, group, 2, narrowest(c, mafat_max(cut - 2 * near, begin) + 1, cut - near), end,
               left, right);
  }
}

/* ---- climb ---- */

/* Position in the sequence (plan->members) of the layer that runs at position `position` in time.
 * If that step only reads a part of an input, the first position of its group. */
static int place_at(const struct mafat_plan *plan, int position)
{
  int g = 0;
  while (position >= plan->groups[g].positions.end) g++;
  const struct mafat_group *group = &plan->groups[g];
  int at = group->at.begin, step = position - group->positions.begin;
  int layer = mafat_cut_has_parts(&group->cut) ? plan->parts->list[plan->parts->at[g] + step].layer
                                               : plan->order[at + step];
  for (int i = at; i < group->at.end; i++)
    if (plan->members[i] == layer) return i;
  return at;
}

/* Makes the front's plan the one that is changed: sets `from`, `sequence`, `ends`, `fullest` and
 * `peak`. */
static int stand(struct group_climb *c)
{
  const struct mafat_search_request *r = c->request;
  struct mafat_plan *plan = NULL;
  struct mafat_layout *layout = NULL;
  mafat_spec_close(&c->from);
  mafat_sequence_close(&c->sequence);
  int code =
      mafat_plan_make(&plan, c->front->list[0].spec, r->network, r->n_layers, r->options, c->d);
  if (code == MAFAT_OK)
    code =
        (c->assigned ? mafat_layout_make : mafat_layout_outline)(&layout, r->network, plan, c->d);
  if (code == MAFAT_OK) code = mafat_plan_spec(&c->from, plan, r->network);
  if (code == MAFAT_OK)
    code =
        mafat_sequence_of(&c->sequence, r->network, plan->members, r->n_layers, r->options->heap);
  for (int g = 0; code == MAFAT_OK && g < plan->n_groups; g++) c->ends[g] = plan->groups[g].at.end;
  if (code == MAFAT_OK) {
    struct mafat_fullest f =
        (c->assigned ? mafat_fullest_assigned : mafat_fullest_alive)(layout, plan);
    c->fullest = f.group;
    c->peak = place_at(plan, f.time / 2);
  }
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  return code;
}

/* Tries kinds of changes of the fullest group until one reduces the arena. The kinds that need the
 * fewest plans come first. */
static void change_fullest(struct group_climb *c)
{
  const size_t before = c->front->list[0].arena_bytes;
  const int g = c->fullest;
  for (int kind = 0; kind < 10 && c->front->list[0].arena_bytes == before; kind++)
    switch (kind) {
    case 0: recut(c, g); break;
    case 1: join(c, g - 1, 2); break;
    case 2: join(c, g, 2); break;
    case 3: join(c, g - 1, 3); break;
    case 4: move(c, g - 1); break;
    case 5: move(c, g); break;
    case 6: move_far(c, g - 1); break;
    case 7: move_far(c, g); break;
    case 8: part_around_peak(c, g); break;
    default: part(c, g);
    }
}

/* Tries other ways for each group, and joining it with the next one. */
static void change_any(struct group_climb *c)
{
  for (int g = 0; g < c->from->n_groups; g++) {
    recut(c, g);
    join(c, g, 2);
  }
}

/* Repeats changes of one kind as long as they improve the plan. */
static void climb(struct group_climb *c, void (*change)(struct group_climb *c), bool breaks_ties)
{
  c->breaks_ties = breaks_ties;
  for (int i = 0; (i < MOST_CHANGES || c->request->plan_ends) &&
                  mafat_effort_left(c->request, c->layers) && c->code == MAFAT_OK;
       i++) {
    struct mafat_candidate before = c->front->list[0];
    if ((c->code = stand(c))) return;
    c->enough = before.arena_bytes / 100 * ENOUGH_PERCENT;
    change(c);
    if (c->code || !is_better(&c->front->list[0], &before, breaks_ties)) return;
  }
}

/* Tries the groups of `spec` with the best order of layers. Not for Darknet's networks: the order
 * of their files is good. */
static void try_sorted(struct group_climb *c, const struct mafat_spec *spec)
{
  struct mafat_spec sorted = *spec;
  sorted.op_order = MAFAT_OP_ORDER_BEST;
  if (c->code || !c->request->network->format.any_order) return;
  c->code = mafat_least_take(c->front, c->request, &sorted, c->d);
}

/* Tries the best order of layers with three plans: the current plan, the plan with which the search
 * started, and the whole network as one group. If one of them is better than the current plan,
 * climbs from it. */
static void climb_sorted(struct group_climb *c, const struct mafat_spec *start)
{
  struct mafat_group_spec group = {.cut = mafat_cut_grid(1, 1)};
  struct mafat_spec whole = {.groups = &group, .n_groups = 1}, *end = NULL;
  c->code =
      c->code ? c->code : mafat_spec_copy(&end, c->front->list[0].spec, c->request->options->heap);
  if (c->code == MAFAT_OK) try_sorted(c, end);
  mafat_spec_close(&end);
  try_sorted(c, start);
  try_sorted(c, &whole);
  c->layers = MOST_LAYERS;
  if (c->code == MAFAT_OK && c->front->list[0].spec->op_order != MAFAT_OP_ORDER_FILE)
    climb(c, change_fullest, true);
}

/* Climbs twice. Among equal arenas, the first climb prefers the faster plan, and the second climb
 * the plan with fewer layers near the peak, which can lead to a smaller arena. If it does not, the
 * plan of the first climb is tried again, and replaces a slower one of the second. */
static void climb_unsorted(struct group_climb *c)
{
  struct mafat_spec *before = NULL;
  climb(c, change_fullest, false);
  climb(c, change_any, false);
  c->code = c->code ? c->code
                    : mafat_spec_copy(&before, c->front->list[0].spec, c->request->options->heap);
  climb(c, change_fullest, true);
  if (c->code == MAFAT_OK) c->code = mafat_least_take(c->front, c->request, before, c->d);
  climb(c, change_any, false);
  mafat_spec_close(&before);
}

/* Tries the whole network as one group by rows with partition buffers, because the cost tables of
 * the search "best" do not have such groups. */
static void try_partitioned_rows(struct group_climb *c)
{
  for (int early = 0; early < 2 && c->code == MAFAT_OK; early++) {
    struct mafat_group_spec group = {.cut = mafat_cut_rows_partitioned(1, early)};
    struct mafat_spec spec = {.groups = &group, .n_groups = 1};
    c->code = mafat_least_take(c->front, c->request, &spec, c->d);
  }
}

static void climb_all(struct group_climb *c)
{
  struct mafat_spec *start = NULL;
  c->code = mafat_spec_copy(&start, c->front->list[0].spec, c->request->options->heap);
  if (c->code == MAFAT_OK) try_partitioned_rows(c);
  if (c->code == MAFAT_OK) climb_unsorted(c);
  if (c->code == MAFAT_OK) climb_sorted(c, start);
  mafat_spec_close(&start);
}

/* Climbs by changing, in turns, the group whose buffer is at the end of the arena, and the group
 * with the most live bytes. They can differ, because offsets leave gaps. */
static void climb_assigned(struct group_climb *c)
{
  size_t before;
  c->layers = MOST_ASSIGNED;
  do {
    before = c->front->list[0].arena_bytes;
    c->assigned = !c->assigned;
    climb(c, change_fullest, false);
  } while (c->code == MAFAT_OK && c->front->list[0].arena_bytes < before);
}

static int climb_from(struct mafat_front *f, const struct mafat_search_request *r,
                      void (*all)(struct group_climb *c), struct mafat_diagnostic *d)
{
  struct group_climb c = {.request = r, .front = f, .layers = MOST_LAYERS, .d = d};
  if (f->n == 0) return MAFAT_OK;
  c.groups = mafat_heap_calloc(r->options->heap, (size_t)r->n_layers, sizeof *c.groups);
  c.ends = mafat_heap_calloc(r->options->heap, 2 * (size_t)r->n_layers, sizeof *c.ends);
  c.known = mafat_heap_calloc(r->options->heap, 1, sizeof *c.known);
  c.group_of = c.ends + r->n_layers;
  c.code = c.groups && c.ends && c.known ? MAFAT_OK : MAFAT_ENOMEM;
  if (c.code == MAFAT_OK) all(&c);
  mafat_spec_close(&c.from);
  mafat_heap_free(r->options->heap, c.groups);
  mafat_heap_free(r->options->heap, c.known);
  mafat_sequence_close(&c.sequence);
  mafat_heap_free(r->options->heap, c.ends);
  return c.code;
}

int mafat_least_refine(struct mafat_front *f, const struct mafat_search_request *r,
                       struct mafat_diagnostic *d)
{
  return climb_from(f, r, climb_all, d);
}

int mafat_least_lower(struct mafat_front *f, const struct mafat_search_request *r,
                      struct mafat_diagnostic *d)
{
  return climb_from(f, r, climb_assigned, d);
}
