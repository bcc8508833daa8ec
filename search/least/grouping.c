/* Finds the grouping with the smallest arena for a sequence of layers (grouping.h). Predicts the
 * bytes of groups by laying out plans; each plan gives the bytes of all its groups. Called by
 * search/best/best.c. Changes the front. Temporary memory is in request->options->heap. */
#include "search/least/grouping.h"

#include "predictor/layout/layout.h"
#include "predictor/planning/planning.h"
#include "predictor/schedule/schedule.h"
#include "search/common/effort.h"
#include "search/least/least.h"

#include <math.h>

enum {
  MOST_PLACES = 64,   /* greatest number of possible cuts */
  MOST_FLAT_ROWS = 4, /* maps with at most this many rows are tiled by columns */
  /* greatest length of a group, in steps from one possible cut to the next; a group of the whole
   * network may be longer */
  MOST_SPAN = 24
};

/* Ways to divide a group, faster ones first. Groups by rows compute one row per step; least.c tries
 * more rows later. */
static const struct cut_candidate {
  enum mafat_cut_kind kind;
  bool early, partitioned;
  int cols;        /* number of tiles along columns; 0: the group is not tiled */
  bool each;       /* one tile for each row, too: the heads of attention are rows */
  double slowness; /* estimated slowdown of a layer; it decides if bytes are equal */
} cut_candidates[] = {{.kind = MAFAT_CUT_GRID},
            {.kind = MAFAT_CUT_PANELS, .slowness = 0.5},
            {.kind = MAFAT_CUT_ROWS, .slowness = 4},
            {.kind = MAFAT_CUT_ROWS, .early = true, .slowness = 4},
            {.kind = MAFAT_CUT_ROWS, .partitioned = true, .slowness = 4.5},
            {.kind = MAFAT_CUT_ROWS, .early = true, .partitioned = true, .slowness = 4.5},
            {.kind = MAFAT_CUT_GRID, .cols = 8, .slowness = 1},
            {.kind = MAFAT_CUT_GRID, .cols = 32, .slowness = 3},
            {.kind = MAFAT_CUT_GRID, .cols = 32, .each = true, .slowness = 4}};
enum { N_CUT_CANDIDATES = sizeof cut_candidates / sizeof *cut_candidates };

/* The best grouping of all layers before a possible cut. */
struct grouping_state {
  float peak;              /* bytes of its largest group */
  double slowness;         /* sum of the slowness of its layers */
  int from, cut_candidate; /* of its last group: number of the possible cut where it begins; index
                              in cut_candidates */
};

static const float TOO_LARGE = 1e30f; /* bytes of groups that are excluded */

struct grouping {
  const struct mafat_search_request *request;
  const struct mafat_sequence *sequence;
  struct mafat_heap *heap;          /* request->options->heap */
  int places[MOST_PLACES + 2], n;   /* (n + 1) possible cuts, as positions in the sequence: 0, ...,
                                       n_layers */
  float *peaks; /* [cut candidate][from][to]: bytes of the group between possible cuts number `from`
                   and `to`; INFINITY: unknown */
  struct grouping_state *states;    /* (n + 1) best grouping before each possible cut */
  int *group_of;                    /* [layer]: its group in the current spec */
  struct mafat_group_spec *groups;  /* (n_groups) groups of the current spec */
  int n_groups;
  long long evaluations;                  /* remaining effort */
  int code;
  struct mafat_diagnostic *d;
};

static float *peak_at(struct grouping *p, int cut_candidate, int from, int to)
{
  return &p->peaks[((size_t)cut_candidate * (size_t)(p->n + 1) + (size_t)from) *
                       (size_t)(p->n + 1) +
                   (size_t)to];
}

/* ---- specs ---- */

/* How a group is divided. out: shape of the output of its last layer. */
static struct mafat_cut cut_of(int cut_candidate, struct mafat_shape out)
{
  bool tiled = cut_candidates[cut_candidate].cols && out.h <= MOST_FLAT_ROWS &&
               out.w >= 2 * cut_candidates[cut_candidate].cols;
  if (cut_candidates[cut_candidate].cols)
    return tiled ? mafat_cut_grid(cut_candidates[cut_candidate].each ? out.h : 1,
                                  cut_candidates[cut_candidate].cols)
                 : mafat_cut_grid(1, 1);
  if (cut_candidates[cut_candidate].partitioned)
    return mafat_cut_rows_partitioned(1, cut_candidates[cut_candidate].early);
  if (cut_candidates[cut_candidate].kind == MAFAT_CUT_ROWS)
    return cut_candidates[cut_candidate].early ? mafat_cut_rows_early(1) : mafat_cut_rows(1);
  return cut_candidates[cut_candidate].kind == MAFAT_CUT_PANELS ? mafat_cut_panels(false)
                                                                : mafat_cut_grid(1, 1);
}

static void begin_spec(struct grouping *p)
{
  for (int g = 0; g < p->n_groups; g++) mafat_heap_free(p->heap, p->groups[g].more);
  p->n_groups = 0;
}

/* Adds to the current spec the group between possible cuts number `from` and `to`. */
static void add_group(struct grouping *p, int from, int to, int cut_candidate)
{
  int last = 0;
  for (int i = p->places[from]; i < p->places[to]; i++) {
    p->group_of[p->sequence->layers[i]] = p->n_groups;
    last = mafat_max(last, p->sequence->layers[i]);
  }
  struct mafat_group_spec g = {.cut = cut_of(cut_candidate, p->request->network->layers[last].out)};
  g.algorithms[MAFAT_DIRECT].given =
      p->request->options->algorithm == MAFAT_AUTO && !p->request->options->algorithms;
  p->groups[p->n_groups++] = g;
}

/* Completes the spec, once all groups are added. */
static struct mafat_spec end_spec(struct grouping *p)
{
  for (int g = 0; g < p->n_groups && !p->code; g++)
    p->code =
        mafat_group_spec_set_layers(p->heap, &p->groups[g], g, p->group_of, p->sequence->n_layers);
  return (struct mafat_spec){.groups = p->groups, .n_groups = p->n_groups, .in_place = true};
}

/* ---- memory of groups ---- */

/* Index of the group of the spec that a group of the plan comes from. The plan can have more
 * groups, because layers that cannot be tiled get groups of their own. */
static int spec_group(const struct grouping *p, const struct mafat_plan *plan, int group)
{
  return p->group_of[plan->members[plan->groups[group].at.begin]];
}

/* True if tiles of the group overlap, so that pixels are computed twice. area, boxes: working
 * arrays, [tensor]. */
static bool overlaps(const struct mafat_plan *plan, struct mafat_schedule *s, int group,
                     double *area, struct mafat_box *boxes)
{
  const struct mafat_group *g = &plan->groups[group];
  bool twice = false;
  for (int i = g->at.begin; i < g->at.end; i++) area[plan->members[i]] = 0;
  for (int y = 0; y < g->cut.as.grid.n_rows; y++)
    for (int x = 0; x < g->cut.as.grid.n_cols; x++) {
      mafat_schedule_tile_boxes(s, group, y, x, boxes);
      for (int i = g->at.begin; i < g->at.end; i++)
        area[plan->members[i]] += (double)mafat_box_area(boxes[plan->members[i]]);
    }
  for (int i = g->at.begin; i < g->at.end; i++) {
    const struct mafat_layer *l = &s->network->layers[plan->members[i]];
    twice = twice ||
            (mafat_layer_macs(l, 1) > 0 && area[plan->members[i]] > (double)l->out.h * l->out.w);
  }
  return twice;
}

/* Sets twice[group] for every group of the plan. */
static int find_overlaps(struct grouping *p, const struct mafat_plan *plan, bool *twice)
{
  size_t n = (size_t)mafat_network_n_tensors(p->request->network);
  struct mafat_schedule *s = NULL;
  double *area = mafat_heap_calloc(plan->heap, n, sizeof *area);
  struct mafat_box *boxes = mafat_heap_calloc(plan->heap, n, sizeof *boxes);
  int code = area && boxes ? mafat_schedule_open(&s, p->request->network, plan) : MAFAT_ENOMEM;
  for (int g = 0; g < plan->n_groups && code == MAFAT_OK; g++)
    twice[g] = mafat_group_is_tiled(&plan->groups[g]) && overlaps(plan, s, g, area, boxes);
  mafat_schedule_close(&s);
  mafat_heap_free(plan->heap, area);
  mafat_heap_free(plan->heap, boxes);
  return code;
}

/* Notes the bytes of the current spec's groups in p->peaks. ends: [group]: number of the possible
 * cut at which it ends. */
static void measure(struct grouping *p, const int *ends, int cut_candidate)
{
  const struct mafat_search_request *r = p->request;
  struct mafat_plan *plan = NULL;
  struct mafat_layout *layout = NULL;
  struct mafat_spec spec = end_spec(p);
  int code =
      p->code ? p->code : mafat_plan_make(&plan, &spec, r->network, r->n_layers, r->options, p->d);
  if (code == MAFAT_OK) code = mafat_layout_outline(&layout, r->network, plan, p->d);
  bool *twice =
      code == MAFAT_OK ? mafat_heap_calloc(p->heap, (size_t)plan->n_groups, sizeof *twice) : NULL;
  if (code == MAFAT_OK) code = twice ? find_overlaps(p, plan, twice) : MAFAT_ENOMEM;
  p->evaluations -= p->sequence->n_layers + (plan ? mafat_effort_of_parts(plan) : 0);
  for (int g = 0; code == MAFAT_OK && g < plan->n_groups; g++) {
    int of = spec_group(p, plan, g);
    float *peak = peak_at(p, cut_candidate, of ? ends[of - 1] : 0, ends[of]),
          bytes = (float)layout->groups[g].peak_bytes;
    if (twice[g]) bytes = TOO_LARGE;
    if (isinf(*peak) || *peak < bytes) *peak = bytes;
  }
  mafat_heap_free(p->heap, twice);
  if (code == MAFAT_ENOMEM) p->code = code;
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
}

/* Measures a plan whose groups have the length `span`. Its first group ends at possible cut number
 * `first`, and the last one may be shorter. */
static void measure_spans(struct grouping *p, int first, int span, int cut_candidate)
{
  int ends[MOST_PLACES + 1], n = 0;
  begin_spec(p);
  for (int from = 0, to = first; from < p->n; from = to, to = mafat_min(to + span, p->n)) {
    if (to == from) to = mafat_min(span, p->n);
    add_group(p, from, to, cut_candidate);
    ends[n++] = to;
  }
  measure(p, ends, cut_candidate);
}

bool mafat_grouping_tiles(const struct mafat_network *network)
{
  return mafat_network_picture_shape(network).h <= MOST_FLAT_ROWS;
}

static bool applies(const struct grouping *p, int cut_candidate)
{
  bool flat = mafat_grouping_tiles(p->request->network);
  return cut_candidates[cut_candidate].cols
             ? flat
             : cut_candidates[cut_candidate].kind != MAFAT_CUT_ROWS || !flat;
}

/* True if some group of this length is known to need fewer bytes than `limit`. */
static bool has_smaller(struct grouping *p, int span, int cut_candidate, double limit)
{
  for (int from = 0; from + span <= p->n; from++)
    if (*peak_at(p, cut_candidate, from, from + span) < limit) return true;
  return false;
}

/* Measures groups of growing length in each way. A way ends at the first length of which no group
 * is below `limit`. */
static void measure_all(struct grouping *p, double limit)
{
  bool open[N_CUT_CANDIDATES];
  for (int w = 0; w < N_CUT_CANDIDATES; w++) {
    open[w] = applies(p, w);
    if (open[w] && !p->code) measure_spans(p, p->n, p->n, w); /* the whole network as one group */
  }
  for (int span = 1; span <= mafat_min(MOST_SPAN, p->n); span++)
    for (int w = 0; w < N_CUT_CANDIDATES; w++) {
      for (int first = 1;
           first <= span && open[w] && mafat_effort_left(p->request, p->evaluations) && !p->code;
           first++)
        measure_spans(p, first, span, w);
      open[w] = open[w] && has_smaller(p, span, w, limit);
    }
}

/* ---- best grouping ---- */

/* Finds the grouping whose largest group has the fewest bytes. If `limited`, finds the fastest
 * grouping whose groups have at most `limit` bytes. Returns false if there is no such grouping. */
static bool solve(struct grouping *p, double limit, bool limited)
{
  p->states[0] = (struct grouping_state){0, 0, 0, 0};
  for (int to = 1; to <= p->n; to++) {
    struct grouping_state best = {.peak = INFINITY};
    for (int from = 0; from < to; from++)
      for (int w = 0; w < N_CUT_CANDIDATES; w++) {
        struct grouping_state *before = &p->states[from];
        float peak = fmaxf(before->peak, *peak_at(p, w, from, to));
        double slowness = before->slowness +
                          cut_candidates[w].slowness * (p->places[to] - p->places[from]) + 0.01;
        if (peak >= TOO_LARGE || peak > limit) continue;
        bool better = limited && !isinf(best.peak)
                          ? slowness < best.slowness
                          : peak < best.peak || (peak <= best.peak && slowness < best.slowness);
        if (better) best = (struct grouping_state){peak, slowness, from, w};
      }
    p->states[to] = best;
  }
  return p->states[p->n].peak < TOO_LARGE;
}

static void write_groups(struct grouping *p, int to)
{
  if (to == 0) return;
  write_groups(p, p->states[to].from);
  add_group(p, p->states[to].from, to, p->states[to].cut_candidate);
}

static void take(struct grouping *p, struct mafat_front *front)
{
  struct mafat_spec spec = end_spec(p);
  if (!p->code) p->code = mafat_least_take(front, p->request, &spec, p->d);
}

/* Replaces the front's plan by the grouping that was found, if that is better. Then tries the whole
 * network as one group in each way, because the bytes of groups are approximate: groups are not
 * quite independent, and offsets leave gaps. */
static void take_all(struct grouping *p, struct mafat_front *front)
{
  begin_spec(p);
  write_groups(p, p->n);
  take(p, front);
  for (int w = 0; w < N_CUT_CANDIDATES; w++) {
    if (!applies(p, w)) continue;
    begin_spec(p);
    add_group(p, 0, p->n, w);
    take(p, front);
  }
}

static int find_places(struct grouping *p)
{
  p->places[0] = 0;
  int n = mafat_sequence_places(p->sequence, p->places + 1, MOST_PLACES);
  p->places[n + 1] = p->sequence->n_layers;
  return n + 1;
}

static void search(struct grouping *p, struct mafat_front *front)
{
  double limit = front->n > 0 ? (double)front->list[0].arena_bytes : INFINITY;
  size_t n_peaks = N_CUT_CANDIDATES * (size_t)(p->n + 1) * (size_t)(p->n + 1);
  for (size_t i = 0; i < n_peaks; i++) p->peaks[i] = INFINITY;
  measure_all(p, limit);
  if (p->code || !solve(p, INFINITY, false)) return;
  double least = p->states[p->n].peak;
  if (solve(p, least, true)) take_all(p, front);
}

int mafat_grouping_least(struct mafat_front *front, const struct mafat_search_request *request,
                         const struct mafat_sequence *sequence, long long evaluations,
                         struct mafat_diagnostic *d)
{
  struct grouping p = {.request = request,
                       .sequence = sequence,
                       .heap = request->options->heap,
                       .evaluations = evaluations,
                       .d = d};
  p.n = find_places(&p);
  size_t n = (size_t)p.n + 1;
  p.peaks = mafat_heap_calloc(p.heap, N_CUT_CANDIDATES * n * n, sizeof *p.peaks);
  p.states = mafat_heap_calloc(p.heap, n, sizeof *p.states);
  p.group_of = mafat_heap_calloc(p.heap, (size_t)sequence->n_layers, sizeof *p.group_of);
  p.groups = mafat_heap_calloc(p.heap, n, sizeof *p.groups);
  if (p.peaks && p.states && p.group_of && p.groups) {
    search(&p, front);
    begin_spec(&p);
  } else {
    p.code = MAFAT_ENOMEM;
  }
  mafat_heap_free(p.heap, p.peaks);
  mafat_heap_free(p.heap, p.states);
  mafat_heap_free(p.heap, p.group_of);
  mafat_heap_free(p.heap, p.groups);
  return p.code;
}
