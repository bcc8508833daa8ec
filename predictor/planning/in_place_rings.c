/* Finds in-place rings (in_place_rings.h): walks the schedule and measures, for each output of a
 * group and each map that the group is the last to read, how many rows ahead of the map the output
 * must be stored. Called by lay.c. Fills two lists of the plan, allocated from its heap. */
#include "predictor/planning/in_place_rings.h"

#include "base/blocks.h"
#include "predictor/plan/fusion.h"
#include "predictor/plan/partition.h"
#include "predictor/schedule/schedule.h"

/* Limits for a group: a plan's text must not cause unbounded work. */
enum { MOST_TILES = 256, MOST_PAIRS = 256, MOST_TILED_PAIRS = 16 };

/* An output of a group and a dying map: one that this group is the last to read. overlap_distance:
 * the end of the rows that the output has written, minus the first row of the map that is still
 * needed; the greatest value seen so far. */
struct pair {
  int output, dying, overlap_distance;
  bool clashes;             /* in tiles: part of the map is read after the output overwrote it */
};

/* A box that an output has written. */
struct written {
  int output;
  struct mafat_box box;
};

struct ring_finder {
  struct mafat_plan *plan;
  const struct mafat_network *network;
  struct mafat_schedule *schedule;
  bool *taken;       /* [tensor]: another tensor reuses its buffer */
  int *last_group;   /* [tensor]: group of its last reader; n_groups: it is read after the run */
  int *before;       /* [tensor]: first row of a dying map that the current step or a later step
                        reads */
  int *after;        /* [tensor]: first row of a dying map that steps after the current one read */
  int group;          /* group of the current step */
  struct pair *pairs; /* (n) pairs of the group */
  int n, capacity;
  struct mafat_step whole; /* in groups by rows: the current step, or its first part if the step is
                              divided into panels */
  bool begun;              /* in groups by rows: `whole` is set */
  struct written *written; /* (n_written) in tiled groups: boxes that outputs have written */
  int n_written, written_capacity;
};

/* ---- pairs ---- */

/* True if the tensor is a whole map in one buffer. */
static bool is_map(const struct ring_finder *f, int tensor)
{
  return f->schedule->usage[tensor].external &&
         !(f->plan->parts && f->plan->parts->partitioned[tensor]);
}

/* True if an earlier group or the input made the map, and `group` is the last to read it. */
static bool dies_in(const struct ring_finder *f, int tensor, int group)
{
  return is_map(f, tensor) && f->last_group[tensor] == group && f->plan->group_of[tensor] < group;
}

static bool have_equal_rows(const struct ring_finder *f, int a, int b)
{
  struct mafat_shape s = mafat_network_tensor_shape(f->network, a),
                     t = mafat_network_tensor_shape(f->network, b);
  return s.w == t.w && s.c == t.c &&
         mafat_network_tensor_type(f->network, a) == mafat_network_tensor_type(f->network, b);
}

static int height(const struct ring_finder *f, int tensor)
{
  return mafat_network_tensor_shape(f->network, tensor).h;
}

/* True if the current group has tiles, but not too many. */
static bool is_tiled(const struct ring_finder *f)
{
  const struct mafat_group *g = &f->plan->groups[f->group];
  return mafat_group_is_tiled(g) && g->cut.as.grid.n_rows * g->cut.as.grid.n_cols <= MOST_TILES;
}

static int add_pair(struct ring_finder *f, int output, int dying)
{
  if (f->n == (is_tiled(f) ? MOST_TILED_PAIRS : MOST_PAIRS)) return MAFAT_OK;
  if (f->n == f->capacity) {
    int capacity = 2 * f->capacity + 16;
    struct pair *grown =
        mafat_heap_realloc(f->plan->heap, f->pairs, (size_t)capacity * sizeof *grown);
    if (!grown) return MAFAT_ENOMEM;
    f->pairs = grown;
    f->capacity = capacity;
  }
  f->pairs[f->n++] = (struct pair){.output = output, .dying = dying};
  return MAFAT_OK;
}

/* Lists the pairs of the current group that could share a ring. */
static int list_pairs(struct ring_finder *f)
{
  const struct mafat_group *g = &f->plan->groups[f->group];
  int code = MAFAT_OK;
  f->n = 0;
  bool takes_turns = mafat_group_lifetime(g) == MAFAT_LIFE_GROUP || is_tiled(f);
  for (int i = g->at.begin; i < g->at.end && takes_turns; i++) {
    int output = f->plan->members[i];
    if (!is_map(f, output) || !mafat_schedule_runs(f->schedule, output) ||
        f->network->layers[output].more)
      continue;
    for (int t = 0; t < mafat_network_n_tensors(f->network) && code == MAFAT_OK; t++)
      if (dies_in(f, t, f->group) && have_equal_rows(f, output, t) &&
          (!is_tiled(f) || height(f, t) == height(f, output)))
        code = add_pair(f, output, t);
  }
  for (int i = 0; i < f->n; i++) f->before[f->pairs[i].dying] = f->after[f->pairs[i].dying] = 0;
  return code;
}

/* ---- walk over tiles ---- */

static bool meet(struct mafat_box a, struct mafat_box b)
{
  return a.y.begin < b.y.end && b.y.begin < a.y.end && a.x.begin < b.x.end && b.x.begin < a.x.end;
}

/* True if the output has written a pixel of the box. */
static bool is_written(const struct ring_finder *f, int output, struct mafat_box box)
{
  for (int i = 0; i < f->n_written; i++)
    if (f->written[i].output == output && meet(f->written[i].box, box)) return true;
  return false;
}

/* Marks pairs that clash: the step reads pixels of the map that the pair's output may have
 * overwritten, or the step itself computes that output from the map. */
static void note_tile_reads(struct ring_finder *f, const struct mafat_step *step)
{
  for (struct mafat_reads r = mafat_plan_reads(f->plan, f->network, step->layer);
       mafat_reads_next(&r);) {
    struct mafat_span y =
        mafat_fusion_in_span(f->plan, f->network, step->layer, r.operand, true, step->out.y);
    struct mafat_box box = {mafat_reads_rows(&r, y),
                            mafat_fusion_in_span(f->plan, f->network, step->layer, r.operand, false,
                                                 step->out.x)};
    for (int i = 0; i < f->n; i++) {
      struct pair *p = &f->pairs[i];
      if (p->dying == r.source->tensor &&
          (p->output == step->layer || is_written(f, p->output, box)))
        p->clashes = true;
    }
  }
}

static bool is_output(const struct ring_finder *f, int layer)
{
  for (int i = 0; i < f->n; i++)
    if (f->pairs[i].output == layer) return true;
  return false;
}

static int note_tile(struct ring_finder *f, const struct mafat_step *step)
{
  note_tile_reads(f, step);
  if (!is_output(f, step->layer)) return MAFAT_OK;
  if (f->n_written == f->written_capacity) {
    int capacity = 2 * f->written_capacity + MOST_TILES;
    struct written *grown =
        mafat_heap_realloc(f->plan->heap, f->written, (size_t)capacity * sizeof *grown);
    if (!grown) return MAFAT_ENOMEM;
    f->written = grown;
    f->written_capacity = capacity;
  }
  f->written[f->n_written++] = (struct written){step->layer, step->out};
  return MAFAT_OK;
}

/* ---- walk over rows ---- */

/* Sets `after` for the maps that the step reads. Call it right after the schedule has returned the
 * step or, if the step is divided, its first part. */
static void begin_step(struct ring_finder *f, const struct mafat_step *step)
{
  for (struct mafat_reads r = mafat_plan_reads(f->plan, f->network, step->layer);
       mafat_reads_next(&r);) {
    int t = r.source->tensor;
    if (dies_in(f, t, step->group)) f->after[t] = mafat_schedule_first_row(f->schedule, t);
  }
}

static void end_step(struct ring_finder *f, const struct mafat_step *step)
{
  for (struct mafat_reads r = mafat_plan_reads(f->plan, f->network, step->layer);
       mafat_reads_next(&r);)
    f->before[r.source->tensor] = f->after[r.source->tensor];
}

/* Raises the overlap distance of the pairs whose output the step writes, if needed. */
static void note_output(struct ring_finder *f, const struct mafat_step *step)
{
  for (int i = 0; i < f->n; i++) {
    struct pair *p = &f->pairs[i];
    if (p->output != step->layer || f->before[p->dying] >= height(f, p->dying)) continue;
    p->overlap_distance = mafat_max(p->overlap_distance, step->out.y.end - f->before[p->dying]);
  }
}

static void note_rows(struct ring_finder *f, const struct mafat_step *step)
{
  /* a later part of the same step */
  if (f->begun && step->layer == f->whole.layer && step->out.y.begin == f->whole.out.y.begin)
    return;
  if (f->begun) end_step(f, &f->whole);
  f->begun = true;
  f->whole = *step;
  begin_step(f, step);
  note_output(f, step);
}

static int note_step(struct ring_finder *f, const struct mafat_step *step)
{
  if (is_tiled(f)) return note_tile(f, step);
  note_rows(f, step);
  return MAFAT_OK;
}

/* ---- choice ---- */

/* Chooses pairs of the current group, the least overlap distance first. The distance is the number
 * of rows by which the ring is longer than a map; it may be at most half of the rows that sharing
 * saves. */
static void choose(struct ring_finder *f)
{
  for (;;) {
    const struct pair *best = NULL;
    for (int i = 0; i < f->n; i++) {
      const struct pair *p = &f->pairs[i];
      if (p->clashes || f->plan->ring_shared_with[p->output] >= 0 ||
          f->plan->place_of[p->output] >= 0 || f->taken[p->dying])
        continue;
      int spared = mafat_min(height(f, p->output), height(f, p->dying));
      if (2 * p->overlap_distance <= spared &&
          (!best || p->overlap_distance < best->overlap_distance))
        best = p;
    }
    if (!best) return;
    f->plan->ring_shared_with[best->output] = best->dying;
    f->plan->overlap_distance[best->output] = best->overlap_distance;
    f->taken[best->dying] = true;
  }
}

static void find_last_groups(struct ring_finder *f)
{
  const struct mafat_plan *plan = f->plan;
  for (int t = 0; t < mafat_network_n_tensors(f->network); t++)
    f->last_group[t] = f->schedule->usage[t].last_use == plan->n_layers ? plan->n_groups : -1;
  for (int l = 0; l < plan->n_layers; l++) {
    if (!mafat_schedule_runs(f->schedule, l)) continue;
    for (struct mafat_reads r = mafat_plan_reads(plan, f->network, l); mafat_reads_next(&r);)
      f->last_group[r.source->tensor] =
          mafat_max(f->last_group[r.source->tensor], plan->group_of[l]);
  }
}

/* True for a step that reads a whole input of the network before the first group. */
static bool is_ahead(const struct ring_finder *f, const struct mafat_step *step)
{
  return step->kind == MAFAT_STEP_INPUT && f->plan->group_of[step->layer] < 0;
}

/* Ends the current group by choosing among its pairs, and begins another. */
static int begin_group(struct ring_finder *f, int group)
{
  choose(f);
  f->group = group;
  f->begun = false;
  f->n_written = 0;
  return list_pairs(f);
}

static int find(struct ring_finder *f)
{
  struct mafat_step step;
  int code = MAFAT_OK;
  f->group = -1;
  find_last_groups(f);
  while (code == MAFAT_OK && mafat_schedule_next(f->schedule, &step)) {
    if (is_ahead(f, &step)) continue;
    if (step.group != f->group) code = begin_group(f, step.group);
    if (code == MAFAT_OK && f->n > 0) code = note_step(f, &step);
  }
  choose(f);
  return code;
}

/* True if a group is by rows or tiled. */
static bool has_turns(const struct mafat_plan *plan)
{
  for (int g = 0; g < plan->n_groups; g++)
    if (mafat_group_lifetime(&plan->groups[g]) == MAFAT_LIFE_GROUP ||
        mafat_group_is_tiled(&plan->groups[g]))
      return true;
  return false;
}

int mafat_in_place_rings_find(struct mafat_plan *plan, const struct mafat_network *n, bool place)
{
  size_t n_tensors = (size_t)mafat_network_n_tensors(n);
  struct ring_finder f = {.plan = plan, .network = n};
  plan->ring_shared_with =
      mafat_heap_calloc(plan->heap, 2 * n_tensors, sizeof *plan->ring_shared_with);
  if (!plan->ring_shared_with) return MAFAT_ENOMEM;
  plan->overlap_distance = plan->ring_shared_with + n_tensors;
  for (size_t t = 0; t < n_tensors; t++) plan->ring_shared_with[t] = -1;
  if (!place || !has_turns(plan)) return MAFAT_OK;
  int code = mafat_schedule_open(&f.schedule, n, plan);
  f.last_group = mafat_heap_calloc(plan->heap, 3 * n_tensors, sizeof *f.last_group);
  f.before = f.last_group + n_tensors;
  f.after = f.before + n_tensors;
  f.taken = mafat_heap_calloc(plan->heap, n_tensors, sizeof *f.taken);
  for (int l = 0; l < plan->n_layers && f.taken; l++)
    if (plan->place_of[l] >= 0) f.taken[plan->place_of[l]] = true;
  if (code == MAFAT_OK) code = f.last_group && f.taken ? find(&f) : MAFAT_ENOMEM;
  mafat_heap_free(plan->heap, f.last_group);
  mafat_heap_free(plan->heap, f.taken);
  mafat_heap_free(plan->heap, f.pairs);
  mafat_heap_free(plan->heap, f.written);
  mafat_schedule_close(&f.schedule);
  return code;
}
