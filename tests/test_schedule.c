#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/fusion.h"
#include "predictor/schedule.h"
#include "tests/support.h"

Suite *schedule_suite(void);

enum { CASES = 40, NETWORKS_PER_CASE = 40 };

/* ---- brute force: which pixels of its sources one output pixel needs ---- */

/* Pixels of one tensor that a tile needs. */
struct marks {
  bool *pixels; /* (h, w) */
  struct mafat_shape shape;
};

static void mark(struct marks *m, int y, int x)
{
  if (y >= 0 && y < m->shape.h && x >= 0 && x < m->shape.w) m->pixels[y * m->shape.w + x] = true;
}

/* Darknet's loops, a layer at a time: what output (y, x) reads of its input. */
static void mark_inputs(const struct mafat_layer *l, int y, int x, struct marks *m)
{
  switch (l->type) {
  case MAFAT_CONVOLUTIONAL:
  case MAFAT_MAXPOOL:
    for (int ky = 0; ky < l->size; ky++)
      for (int kx = 0; kx < l->size; kx++) mark(m, y * l->stride - l->pad + ky, x * l->stride - l->pad + kx);
    break;
  case MAFAT_UPSAMPLE: mark(m, y / l->stride, x / l->stride); break;
  case MAFAT_CROP: mark(m, y + (l->in.h - l->out.h) / 2, x + (l->in.w - l->out.w) / 2); break;
  case MAFAT_SHORTCUT:
  case MAFAT_BATCHNORM:
  case MAFAT_ACTIVATION_LAYER: mark(m, y, x); break;
  default: memset(m->pixels, true, (size_t)(m->shape.h * m->shape.w)); break;
  }
}

/* shortcut_cpu: input i * stride is added to output i * sample. */
static void mark_added(const struct mafat_layer *l, int y, int x, struct marks *m)
{
  int stride = l->from_shape.w / l->out.w, sample = l->out.w / l->from_shape.w;
  if (stride < 1) stride = 1;
  if (sample < 1) sample = 1;
  if (y % sample == 0 && x % sample == 0) mark(m, y / sample * stride, x / sample * stride);
}

static struct mafat_box hull(const struct marks *m)
{
  struct mafat_box b = {{0, 0}, {0, 0}};
  for (int y = 0; y < m->shape.h; y++)
    for (int x = 0; x < m->shape.w; x++)
      if (m->pixels[y * m->shape.w + x]) {
        b.y = mafat_span_hull(b.y, mafat_span(y, y + 1));
        b.x = mafat_span_hull(b.x, mafat_span(x, x + 1));
      }
  return b;
}

static struct marks *open_marks(const struct mafat_network *n)
{
  struct marks *m = calloc((size_t)n->n_layers + 1, sizeof *m);
  for (int t = MAFAT_INPUT; t < n->n_layers; t++) {
    m[t + 1].shape = mafat_network_tensor_shape(n, t);
    m[t + 1].pixels = calloc((size_t)(m[t + 1].shape.h * m[t + 1].shape.w), sizeof(bool));
  }
  return m;
}

static void clear_marks(struct marks *m, const struct mafat_network *n)
{
  for (int t = 0; t <= n->n_layers; t++)
    memset(m[t].pixels, 0, (size_t)(m[t].shape.h * m[t].shape.w) * sizeof(bool));
}

static void close_marks(struct marks *m, const struct mafat_network *n)
{
  for (int t = 0; t <= n->n_layers; t++) free(m[t].pixels);
  free(m);
}

/* A random network and plan, every other one fused and with Winograd; the seed
 * names the case. */
struct subject {
  char cfg[TEST_CFG_ROOM], text[TEST_PLAN_ROOM];
  struct mafat_network *network;
  struct mafat_plan *plan;
  struct mafat_schedule *schedule;
};

static struct subject open_subject(int seed)
{
  struct subject s;
  struct test_rng rng = test_rng((uint64_t)seed);
  struct test_network_style style = test_network_style();
  style.max_extent = 33;
  test_random_network(&rng, &style, s.cfg, sizeof s.cfg);
  s.network = test_network(s.cfg);
  test_random_plan(&rng, s.network, s.network->n_layers, s.text, sizeof s.text);
  struct mafat_plan_options options = test_plain_options();
  if (seed % 2) options = (struct mafat_plan_options){.algorithm = MAFAT_WINOGRAD, .n_threads = 1};
  s.plan = test_plan_with(s.network, s.text, &options);
  ck_assert_int_eq(mafat_schedule_open(&s.schedule, s.network, s.plan), MAFAT_OK);
  return s;
}

static void close_subject(struct subject *s)
{
  mafat_schedule_close(&s->schedule);
  mafat_plan_close(&s->plan);
  mafat_network_close(&s->network);
}

#define require(holds, s, ...) \
  do { \
    if (!(holds)) test_fail_case((s)->cfg, (s)->text, __VA_ARGS__); \
  } while (0)

static bool contains(struct mafat_box outer, struct mafat_box inner)
{
  return mafat_box_is_empty(inner) || (outer.y.begin <= inner.y.begin && inner.y.end <= outer.y.end &&
                                       outer.x.begin <= inner.x.begin && inner.x.end <= outer.x.end);
}

/* Does a window of this layer lie wholly in its padding? Then the box of what
 * it reads may be wider than needed along the other axis. */
static bool sees_only_padding(const struct mafat_layer *l)
{
  return l->type == MAFAT_CONVOLUTIONAL && l->pad >= l->size;
}

static void check_tile(const struct subject *s, const struct mafat_group *g, int ty, int tx,
                       const struct mafat_box *boxes, struct marks *marks)
{
  bool exact = true;
  clear_marks(marks, s->network);
  for (int l = g->end - 1; l >= g->first; l--) {
    const struct mafat_layer *layer = &s->network->layers[l];
    int outer = s->plan->outer[l];
    if (outer < 0 && !mafat_schedule_runs(s->schedule, l)) continue;
    if (outer >= 0 && !mafat_schedule_runs(s->schedule, outer)) continue;
    if (s->schedule->usage[l + 1].external) {
      struct mafat_span y = mafat_group_share(g, true, ty, layer->out.h);
      struct mafat_span x = mafat_group_share(g, false, tx, layer->out.w);
      for (int i = y.begin; i < y.end; i++)
        for (int j = x.begin; j < x.end; j++) mark(&marks[l + 1], i, j);
      if (mafat_span_is_empty(y) != mafat_span_is_empty(x)) exact = false;
    }
    struct mafat_box needed = hull(&marks[l + 1]), b = outer < 0 ? boxes[l] : needed;
    int granularity = outer < 0 ? mafat_fusion_granularity(s->plan, s->network, l) : 1;
    needed.y = mafat_span_round_out(needed.y, granularity, layer->out.h);
    needed.x = mafat_span_round_out(needed.x, granularity, layer->out.w);
    require(contains(b, needed), s, "tile %d,%d: layer %d lacks pixels that are read", ty, tx, l);
    require(!exact || mafat_box_area(b) == mafat_box_area(needed), s,
            "tile %d,%d: layer %d computes rows %d..%d, columns %d..%d; %d..%d, %d..%d are needed", ty, tx, l,
            b.y.begin, b.y.end, b.x.begin, b.x.end, needed.y.begin, needed.y.end, needed.x.begin, needed.x.end);
    exact = exact && !sees_only_padding(layer);
    for (int y = b.y.begin; y < b.y.end; y++)
      for (int x = b.x.begin; x < b.x.end; x++) {
        for (int i = 0; i < layer->sources.n; i++)
          mark_inputs(layer, y, x, &marks[layer->sources.list[i].tensor + 1]);
        for (int i = 0; i < layer->from.n; i++) mark_added(layer, y, x, &marks[layer->from.list[i].tensor + 1]);
      }
  }
}

START_TEST(boxes_are_the_hull_of_what_is_read)
{
  for (int i = 0; i < NETWORKS_PER_CASE; i++) {
    struct subject s = open_subject(_i * NETWORKS_PER_CASE + i);
    struct marks *marks = open_marks(s.network);
    struct mafat_box *boxes = calloc((size_t)s.network->n_layers, sizeof *boxes);
    for (int g = 0; g < s.plan->n_groups; g++)
      for (int ty = 0; ty < s.plan->groups[g].n_rows; ty++)
        for (int tx = 0; tx < s.plan->groups[g].n_cols; tx++) {
          mafat_schedule_tile_boxes(s.schedule, &s.plan->groups[g], ty, tx, boxes);
          check_tile(&s, &s.plan->groups[g], ty, tx, boxes, marks);
        }
    free(boxes);
    close_marks(marks, s.network);
    close_subject(&s);
  }
}
END_TEST

/* ---- the steps of a run ---- */

/* What has been computed of each tensor: whole maps, and the tile at hand. */
struct progress {
  struct marks *computed;
  int *at_tile; /* [tensor + 1]: number of the tile that computed it last */
  struct mafat_box *boxes;
};

static void check_reads(const struct subject *s, const struct progress *p, const struct mafat_step *step, int tile)
{
  const struct mafat_layer *l = &s->network->layers[step->layer];
  const struct mafat_sources *lists[] = {mafat_fusion_sources(s->plan, s->network, step->layer), &l->from};
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < lists[k]->n; i++) {
      int tensor = lists[k]->list[i].tensor;
      struct mafat_box read = {
          k ? mafat_layer_from_span(l, true, step->out.y)
            : mafat_fusion_in_span(s->plan, s->network, step->layer, true, step->out.y),
          k ? mafat_layer_from_span(l, false, step->out.x)
            : mafat_fusion_in_span(s->plan, s->network, step->layer, false, step->out.x)};
      if (tensor == MAFAT_INPUT || mafat_box_is_empty(read)) continue;
      if (tensor >= s->plan->groups[step->group].first) {
        require(p->at_tile[tensor + 1] == tile && contains(p->boxes[tensor + 1], read), s,
                "layer %d reads what its tile has not computed of layer %d", step->layer, tensor);
        continue;
      }
      for (int y = read.y.begin; y < read.y.end; y++)
        for (int x = read.x.begin; x < read.x.end; x++)
          require(p->computed[tensor + 1].pixels[y * p->computed[tensor + 1].shape.w + x], s,
                  "layer %d reads pixel %d,%d of layer %d, which no step has computed", step->layer, y, x, tensor);
    }
}

static void check_run(const struct subject *s, struct progress *p)
{
  struct mafat_step step;
  int tile = 0, previous = -1, group = 0;
  mafat_schedule_rewind(s->schedule);
  while (mafat_schedule_next(s->schedule, &step)) {
    const struct mafat_layer *l = &s->network->layers[step.layer];
    bool takes_turns = s->plan->groups[step.group].rows > 0;
    if (step.group != group || (step.layer <= previous && !takes_turns)) tile++;
    require(step.group >= group, s, "group %d runs after group %d", step.group, group);
    require(!mafat_layer_is_alias(l), s, "layer %d only renames, yet it is run", step.layer);
    require(step.filters.begin == 0 && step.filters.end == l->out.c && step.channels.begin == 0 &&
                step.channels.end == s->network->layers[mafat_fusion_reader(s->plan, step.layer)].in.c,
            s, "layer %d is run in parts", step.layer);
    require(!mafat_box_is_empty(step.out) && contains(step.held, step.out) &&
                contains(mafat_box_full(l->out.h, l->out.w), step.out),
            s, "layer %d computes a box outside its map", step.layer);
    check_reads(s, p, &step, tile);
    for (int y = step.out.y.begin; y < step.out.y.end; y++)
      for (int x = step.out.x.begin; x < step.out.x.end; x++) mark(&p->computed[step.layer + 1], y, x);
    p->boxes[step.layer + 1] = step.held;
    p->at_tile[step.layer + 1] = tile;
    group = step.group;
    previous = step.layer;
  }
  for (int t = 0; t < s->plan->n_layers; t++)
    if (mafat_schedule_runs(s->schedule, t) && s->schedule->usage[t + 1].external) {
      const struct marks *m = &p->computed[t + 1];
      for (int i = 0; i < m->shape.h * m->shape.w; i++)
        require(m->pixels[i], s, "the tiles leave a hole in layer %d", t);
    }
}

START_TEST(steps_compute_what_later_steps_read)
{
  for (int i = 0; i < NETWORKS_PER_CASE; i++) {
    struct subject s = open_subject(_i * NETWORKS_PER_CASE + i);
    struct progress p = {.computed = open_marks(s.network)};
    p.at_tile = calloc((size_t)s.network->n_layers + 1, sizeof *p.at_tile);
    p.boxes = calloc((size_t)s.network->n_layers + 1, sizeof *p.boxes);
    for (int t = 0; t <= s.network->n_layers; t++) p.at_tile[t] = -1;
    check_run(&s, &p);
    free(p.at_tile);
    free(p.boxes);
    close_marks(p.computed, s.network);
    close_subject(&s);
  }
}
END_TEST

START_TEST(a_rewound_schedule_repeats_itself)
{
  struct subject s = open_subject(7);
  struct mafat_step first[4096], step;
  int n = 0, again = 0;
  memset(first, 0, sizeof first);
  while (n < 4096 && mafat_schedule_next(s.schedule, &first[n])) n++;
  ck_assert(n > 0 && n < 4096);
  ck_assert(!mafat_schedule_next(s.schedule, &step));
  mafat_schedule_rewind(s.schedule);
  for (; mafat_schedule_next(s.schedule, &step); again++) {
    ck_assert_int_eq(step.layer, first[again].layer);
    ck_assert_int_eq(step.out.y.begin, first[again].out.y.begin);
    ck_assert_int_eq(step.out.x.end, first[again].out.x.end);
  }
  ck_assert_int_eq(again, n);
  close_subject(&s);
}
END_TEST

START_TEST(outputs_are_the_last_layer_and_every_head)
{
  struct mafat_network *n = test_network("[net]\nheight=8\nwidth=8\nchannels=3\n"
                                         "[convolutional]\nfilters=6\nsize=1\n[yolo]\nclasses=1\nnum=1\n"
                                         "[route]\nlayers=0\n[convolutional]\nfilters=9\nsize=1\n"
                                         "[route]\nlayers=0\n[dropout]\n");
  struct mafat_plan *plan = test_plan(n, "1x1/1/1x1");
  struct mafat_usage usage[7];
  mafat_usage_find(n, plan, usage);
  ck_assert_msg(usage[1 + 1].needed && usage[1 + 1].external, "the head");
  ck_assert_msg(usage[0 + 1].needed && usage[0 + 1].external, "behind the last dropout");
  ck_assert_msg(!usage[3 + 1].needed, "nobody reads layer 3");
  ck_assert_int_eq(usage[0 + 1].last_use, n->n_layers);
  ck_assert_msg(usage[MAFAT_INPUT + 1].external && usage[MAFAT_INPUT + 1].last_use == 0, "the input");
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

Suite *schedule_suite(void)
{
  Suite *suite = suite_create("schedule");
  TCase *geometry = tcase_create("geometry");
  tcase_set_timeout(geometry, 60);
  tcase_add_loop_test(geometry, boxes_are_the_hull_of_what_is_read, 0, CASES);
  tcase_add_loop_test(geometry, steps_compute_what_later_steps_read, 0, CASES);
  suite_add_tcase(suite, geometry);
  TCase *order = tcase_create("order");
  tcase_add_test(order, a_rewound_schedule_repeats_itself);
  tcase_add_test(order, outputs_are_the_last_layer_and_every_head);
  suite_add_tcase(suite, order);
  return suite;
}
