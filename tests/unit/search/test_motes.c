/* Covers search/motes/{acg, apply, cells, motes, schemes, seen, state}.c: the published search
 * MOTES: which axes can only be cut together (the axis connecting graph), cells and partition
 * schemes, the bytes that fine schedules need, and the plans that the search finds. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predictor/plan/parts.h"
#include "predictor/planning/planning.h"
#include "runner/engine/executor.h"
#include "search/motes/acg.h"
#include "search/motes/cells.h"
#include "search/motes/motes.h"
#include "search/motes/schemes.h"
#include "search/motes/seen.h"
#include "tests/support/support.h"
#include "transform/op_schedule.h"

Suite *motes_suite(void);

/* ---- the axis connecting graph ---- */

static struct mafat_acg *make(const struct mafat_network *n)
{
  struct mafat_acg *a;
  ck_assert_int_eq(mafat_acg_make(&a, n, n->n_layers, NULL, NULL), MAFAT_OK);
  return a;
}

#define INVERTED_BOTTLENECK \
  "[net]\nheight=8\nwidth=12\nchannels=4\n[convolutional]\nfilters=24\nsize=1\nactivation=" \
  "linear\n" \
  "[convolutional]\nfilters=24\ngroups=24\nsize=3\npad=1\nactivation=linear\n" \
  "[convolutional]\nfilters=4\nsize=1\nactivation=linear\n"

static void check_map_axis(const struct mafat_acg *a, int input, enum mafat_acg_axis axis)
{
  for (int i = 0; i < 3; i++)
    ck_assert_int_eq(mafat_acg_part(a, i, axis), mafat_acg_part(a, input, axis));
}

/* The graph has four connected parts: rows, columns, channels of the input, channels of the
 * depthwise convolution. */
START_TEST(an_inverted_bottleneck_has_four_parts)
{
  struct mafat_network *n = test_network(INVERTED_BOTTLENECK);
  struct mafat_acg *a = make(n);
  int input = mafat_network_picture(n), wide = mafat_acg_part(a, 0, MAFAT_ACG_C);
  ck_assert_int_eq(mafat_acg_count(a), 4);
  check_map_axis(a, input, MAFAT_ACG_H);
  check_map_axis(a, input, MAFAT_ACG_W);
  ck_assert_int_eq(mafat_acg_part(a, input, MAFAT_ACG_C), mafat_acg_part(a, 0, MAFAT_ACG_REDUCED));
  ck_assert_int_eq(mafat_acg_part(a, 1, MAFAT_ACG_C), wide);
  ck_assert_int_eq(mafat_acg_part(a, 2, MAFAT_ACG_REDUCED), wide);
  ck_assert_int_ne(mafat_acg_part(a, 2, MAFAT_ACG_C), wide);
  ck_assert_int_eq(mafat_acg_part(a, 1, MAFAT_ACG_REDUCED), -1);
  mafat_acg_close(&a);
  mafat_network_close(&n);
}
END_TEST

/* A shortcut around two layers joins the channels of its two inputs and its output. */
START_TEST(a_residual_link_joins_channels)
{
  struct mafat_network *n =
      test_network(INVERTED_BOTTLENECK "[convolutional]\nfilters=4\nsize=1\nactivation=linear\n"
                                       "[shortcut]\nfrom=-2\nactivation=linear\n");
  struct mafat_acg *a = make(n);
  ck_assert_int_eq(mafat_acg_part(a, 4, MAFAT_ACG_C), mafat_acg_part(a, 2, MAFAT_ACG_C));
  ck_assert_int_eq(mafat_acg_part(a, 4, MAFAT_ACG_C), mafat_acg_part(a, 3, MAFAT_ACG_C));
  ck_assert_int_eq(mafat_acg_part(a, 3, MAFAT_ACG_REDUCED), mafat_acg_part(a, 4, MAFAT_ACG_C));
  ck_assert_int_eq(mafat_acg_part(a, 4, MAFAT_ACG_H), mafat_acg_part(a, 0, MAFAT_ACG_H));
  mafat_acg_close(&a);
  mafat_network_close(&n);
}
END_TEST

struct rule {
  const char *layers; /* layers after a layer of 16 channels, 8 rows, 12 columns */
  /* axis of the first layer; axis of the last layer */
  enum mafat_acg_axis from, to;
  bool connected;
};

static const struct rule rules[] = {
    {"[convolutional]\nfilters=16\nsize=3\npad=1\nactivation=linear\n", MAFAT_ACG_C, MAFAT_ACG_C,
     false},
    {"[convolutional]\nfilters=16\nsize=3\npad=1\nactivation=linear\n", MAFAT_ACG_C,
     MAFAT_ACG_REDUCED, true},
    {"[convolutional]\nfilters=16\nsize=3\npad=1\nstride=2\nactivation=linear\n", MAFAT_ACG_H,
     MAFAT_ACG_H, true},
    {"[maxpool]\nsize=2\nstride=2\n", MAFAT_ACG_H, MAFAT_ACG_H, true},
    {"[maxpool]\nsize=2\nstride=2\n", MAFAT_ACG_C, MAFAT_ACG_C, true},
    {"[avgpool]\n", MAFAT_ACG_C, MAFAT_ACG_C, true},
    {"[avgpool]\n", MAFAT_ACG_H, MAFAT_ACG_H, false},
    {"[avgpool]\n", MAFAT_ACG_H, MAFAT_ACG_REDUCED_H, true},
    {"[avgpool]\n", MAFAT_ACG_W, MAFAT_ACG_REDUCED_W, true},
    {"[activation]\nactivation=relu\n", MAFAT_ACG_C, MAFAT_ACG_C, true},
    {"[activation]\nactivation=relu\n", MAFAT_ACG_W, MAFAT_ACG_W, true},
    {"[upsample]\nstride=2\n", MAFAT_ACG_H, MAFAT_ACG_H, true},
    {"[connected]\noutput=5\nactivation=linear\n", MAFAT_ACG_C, MAFAT_ACG_REDUCED, true},
    {"[connected]\noutput=5\nactivation=linear\n", MAFAT_ACG_H, MAFAT_ACG_REDUCED_H, true},
    {"[connected]\noutput=5\nactivation=linear\n", MAFAT_ACG_H, MAFAT_ACG_H, false},
    {"[softmax]\n", MAFAT_ACG_H, MAFAT_ACG_H, false},
    {"[softmax]\n", MAFAT_ACG_C, MAFAT_ACG_C, false},
    /* The channels of a [route] of two layers are connected to neither layer's; its rows are. */
    {"[convolutional]\nfilters=16\nsize=1\nactivation=linear\n[route]\nlayers=-1,-2\n[activation]"
     "\nactivation=relu\n",
     MAFAT_ACG_C, MAFAT_ACG_C, false},
    {"[convolutional]\nfilters=16\nsize=1\nactivation=linear\n[route]\nlayers=-1,-2\n[activation]"
     "\nactivation=relu\n",
     MAFAT_ACG_H, MAFAT_ACG_H, true},
};

START_TEST(axes_follow_from_kinds)
{
  char cfg[1024];
  const struct rule *r = &rules[_i];
  snprintf(cfg, sizeof cfg,
           "[net]\nheight=8\nwidth=12\nchannels=3\n[convolutional]\nfilters=16\nsize=1\nactivation="
           "linear\n%s",
           r->layers);
  struct mafat_network *n = test_network(cfg);
  struct mafat_acg *a = make(n);
  int from = mafat_acg_part(a, 0, r->from), to = mafat_acg_part(a, n->n_layers - 1, r->to);
  ck_assert_msg((from >= 0 && from == to) == r->connected, "rule %d: %d and %d", _i, from, to);
  mafat_acg_close(&a);
  mafat_network_close(&n);
}
END_TEST

/* ---- what schedules need, by counting ---- */

enum { MOST_OPERATORS = 2048, MOST_USES = 8192 };

/* A graph that is built operator by operator, each with the buffer that it makes. */
struct counting {
  struct mafat_op_use uses[MOST_USES];
  uint64_t bytes[MOST_OPERATORS];
  bool kept[MOST_OPERATORS], in_place[MOST_OPERATORS];
  struct mafat_op_graph graph;
};

static int add_buffer(struct counting *c, uint64_t bytes)
{
  c->bytes[c->graph.n_buffers] = bytes;
  return c->graph.n_buffers++;
}

/* Adds an operator. Returns the buffer that it makes. */
static int add(struct counting *c, uint64_t bytes, bool in_place, const int *reads, int n)
{
  int o = c->graph.n_operators++, made = add_buffer(c, bytes);
  ck_assert_int_lt(c->graph.n_uses + n + 1, MOST_USES);
  for (int i = 0; i < n; i++)
    c->uses[c->graph.n_uses++] = (struct mafat_op_use){.operator= o, .buffer = reads[i]};
  c->uses[c->graph.n_uses++] = (struct mafat_op_use){.operator = o, .buffer = made, .makes = true};
  c->in_place[o] = in_place;
  return made;
}

#define ADD(c, bytes, in_place, ...) \
  add(c, bytes, in_place, (const int[]){__VA_ARGS__}, \
      (int)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int)))

static struct counting *count(void)
{
  struct counting *c = calloc(1, sizeof *c);
  c->graph = (struct mafat_op_graph){
      .uses = c->uses, .bytes = c->bytes, .kept = c->kept, .in_place = c->in_place};
  return c;
}

/* Peak bytes if operators run in the order in which they were added. Frees the graph. */
static uint64_t peak_of(struct counting *c)
{
  struct mafat_op_scheduler *s;
  int order[MOST_OPERATORS];
  for (int i = 0; i < c->graph.n_operators; i++) order[i] = i;
  ck_assert_int_eq(mafat_op_scheduler_open(&s, &c->graph, NULL), MAFAT_OK);
  uint64_t peak = mafat_op_schedule_peak(s, order);
  mafat_op_scheduler_close(&s);
  free(c);
  return peak;
}

/* Peak bytes of the paper's Fig. 2 with whole maps: an input of 8x16 bytes is widened to 8x64, a
 * function is applied, the result is narrowed to 8x16 and added to the input. */
static uint64_t coarse(bool in_place)
{
  struct counting *c = count();
  int input = add_buffer(c, 128), v1 = ADD(c, 512, false, input), v2 = ADD(c, 512, in_place, v1),
      v3 = ADD(c, 128, false, v2);
  ADD(c, 128, in_place, v3, input);
  return peak_of(c);
}

/* Computes Fig. 2 for a slice of rows. The wide columns are computed in two halves, one after the
 * other, and the narrowed results are added. */
static int fine_rows(struct counting *c, int slice)
{
  int sums[2];
  for (int i = 0; i < 2; i++) {
    int linear = ADD(c, 128, false, slice), function = ADD(c, 128, true, linear);
    sums[i] = ADD(c, 64, false, function);
  }
  int sum = ADD(c, 64, true, sums[0], sums[1]);
  return ADD(c, 64, true, sum, slice);
}

/* Peak bytes of Fig. 2 computed in two slices of rows. late: each slice is copied just before it is
 * used. */
static uint64_t fine(bool late)
{
  struct counting *c = count();
  int input = add_buffer(c, 128), slices[2], outs[2];
  slices[0] = ADD(c, 64, false, input);
  if (!late) slices[1] = ADD(c, 64, false, input);
  outs[0] = fine_rows(c, slices[0]);
  if (late) slices[1] = ADD(c, 64, false, input);
  outs[1] = fine_rows(c, slices[1]);
  ADD(c, 128, false, outs[0], outs[1]);
  return peak_of(c);
}

START_TEST(the_worked_example)
{
  ck_assert_uint_eq(coarse(true), 768);
  ck_assert_uint_eq(coarse(false), 1152);
  ck_assert_uint_eq(fine(false), 384);
  ck_assert_uint_eq(fine(true), 448);
}
END_TEST

/* An input of `rows` rows of one byte, in n blocks, which passes through `layers` 3x3 layers. made:
 * [layer][block]: buffer with the block's rows; -1: not made yet. */
struct windows {
  struct counting *c;
  int n, layers, rows;
  int made[16][64];
};

static int begin_windows(struct windows *w, int n, int layers, int rows)
{
  *w = (struct windows){.c = count(), .n = n, .layers = layers, .rows = rows};
  for (int l = 0; l <= layers; l++)
    for (int i = 0; i < n; i++) w->made[l][i] = -1;
  for (int i = 0; i < n; i++) w->made[0][i] = add_buffer(w->c, (uint64_t)(rows / n));
  return rows / n;
}

/* The paper's picture (e): a BlockConcat gathers a block and a row of each neighbor. */
static void make_block(struct windows *w, int layer, int i)
{
  int reads[3], n = 0, block = w->rows / w->n;
  if (w->made[layer][i] >= 0) return;
  for (int k = i - 1; k <= i + 1; k++) {
    if (k < 0 || k >= w->n) continue;
    make_block(w, layer - 1, k);
    reads[n++] = w->made[layer - 1][k];
  }
  int gathered = add(w->c, (uint64_t)(block + n - 1), false, reads, n);
  w->made[layer][i] = ADD(w->c, (uint64_t)block, false, gathered);
  w->c->kept[w->made[layer][i]] = layer == w->layers;
}

/* The paper's picture (c): each part copies a slice of the input that has, on both sides, one more
 * row for each layer. Overlap is computed again. */
static void make_part(struct windows *w, int i)
{
  int reads[64], n = 0, block = w->rows / w->n, last = -1;
  for (int l = 0; l <= w->layers; l++) {
    int reach = w->layers - l, first = i * block - reach, end = (i + 1) * block + reach;
    struct mafat_span rows = mafat_span_clip(mafat_span(first, end), w->rows);
    for (int k = 0; l == 0 && k < w->n; k++)
      if (k * block < rows.end && (k + 1) * block > rows.begin) reads[n++] = w->made[0][k];
    last = l == 0 ? add(w->c, (uint64_t)mafat_span_size(rows), false, reads, n)
                  : ADD(w->c, (uint64_t)mafat_span_size(rows), false, last);
  }
  w->c->kept[last] = true;
}

static const struct {
  int n, layers, rows;
} pyramids[] = {{8, 2, 64},   {8, 4, 64}, {16, 4, 128}, {6, 3, 48},
                {16, 6, 128}, {4, 2, 32}, {12, 5, 96}};

/* Published peaks for n blocks, L layers and H rows, relative to 2H: 1/2 + 1/n + (2L - 1)/H if each
 * part computes overlap again, and (n + L + 1)/(2n) + 1/H with BlockConcat. */
START_TEST(overlapped_windows_by_counting)
{
  struct windows w;
  int n = pyramids[_i].n, l = pyramids[_i].layers, h = pyramids[_i].rows;
  begin_windows(&w, n, l, h);
  for (int i = 0; i < n; i++) make_part(&w, i);
  ck_assert_uint_eq(peak_of(w.c), (uint64_t)(h + 2 * h / n + 2 * (2 * l - 1)));
  begin_windows(&w, n, l, h);
  for (int i = 0; i < n; i++) make_block(&w, l, i);
  ck_assert_uint_eq(peak_of(w.c), (uint64_t)(h / n * (n + l + 1) + 2));
}
END_TEST

/* A block of b output rows reads (b - 1) * stride + k input rows, fewer at the map's edges. In a
 * 3x3 layer these are in the block itself and in its neighbors: up to nine blocks if columns are
 * cut, too. */
START_TEST(windows_of_blocks)
{
  struct mafat_network *n =
      test_network("[net]\nheight=32\nwidth=32\nchannels=3\n[convolutional]\nfilters=8\nsize="
                   "3\npad=1\nactivation=linear\n"
                   "[convolutional]\nfilters=8\nsize=3\npad=1\nactivation=linear\n"
                   "[convolutional]\nfilters=8\nsize=5\npad=1\nstride=2\nactivation=linear\n");
  struct mafat_plan *plan = test_plan(n, "split(h4:0-1,w4:0-1)/2/1x1");
  const struct mafat_partition *c = &plan->parts->partitions[0];
  for (int i = 0; i < 4; i++) {
    struct mafat_span wide =
        mafat_layer_in_span(&n->layers[2], 0, true, mafat_span(4 * i, 4 * i + 4));
    ck_assert_int_eq(mafat_span_size(wide), 3 * 2 + 5 - (i == 0 || i == 3 ? i == 0 ? 2 : 1 : 0));
    struct mafat_span in =
        mafat_layer_in_span(&n->layers[1], 0, true, mafat_partition_part(c, MAFAT_ALONG_H, i, 32));
    ck_assert_int_eq(mafat_span_size(in), 10 - (i == 0) - (i == 3));
    struct mafat_span met = mafat_partition_span(c, MAFAT_ALONG_H, in),
                      beside = mafat_partition_span(c, MAFAT_ALONG_W, in);
    ck_assert_int_eq(met.begin, i == 0 ? 0 : i - 1);
    ck_assert_int_eq(met.end, i == 3 ? 4 : i + 2);
    ck_assert_int_eq(mafat_span_size(met) * mafat_span_size(beside), i == 0 || i == 3 ? 4 : 9);
  }
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

/* ---- cells ---- */

/* A cell ends at a narrow map through which all data pass; here there is one in the middle. */
START_TEST(blocks_are_cells)
{
  static const int cells[] = {0, 0, 0, 0, 1, 1, 1, 1};
  struct mafat_network *n =
      test_network("[net]\nheight=8\nwidth=8\nchannels=16\n"
                   "[convolutional]\nfilters=64\nsize=1\nactivation=linear\n[convolutional]"
                   "\nfilters=64\ngroups=64\nsize=3\npad=1\nactivation=linear\n"
                   "[convolutional]\nfilters=8\nsize=1\nactivation=linear\n[convolutional]"
                   "\nfilters=8\nsize=1\nactivation=linear\n"
                   "[convolutional]\nfilters=64\nsize=1\nactivation=linear\n[convolutional]"
                   "\nfilters=64\ngroups=64\nsize=3\npad=1\nactivation=linear\n"
                   "[convolutional]\nfilters=8\nsize=1\nactivation=linear\n[shortcut]\nfrom="
                   "3\nactivation=linear\n");
  struct mafat_cells *c;
  ck_assert_int_eq(mafat_cells_find(&c, n, n->n_layers, NULL), MAFAT_OK);
  for (int l = 0; l < n->n_layers; l++)
    if (l != 3)
      ck_assert_int_eq(c->cell_of[l] > c->cell_of[0],
                       /* layers 2 and 3 are equally narrow: the first cell may end at either, so 3
                        * is not checked */
                       cells[l]);
  mafat_cells_close(&c);
  mafat_network_close(&n);
}
END_TEST

/* Each layer is in one cell, except aliases, which are in none. */
START_TEST(cells_hold_all_layers)
{
  char cfg[TEST_CFG_ROOM];
  struct test_rng rng = test_rng(500 + (uint64_t)_i);
  struct test_network_style style = test_network_style();
  struct mafat_cells *c;
  test_random_network(&rng, &style, cfg, sizeof cfg);
  struct mafat_network *n = test_network(cfg);
  ck_assert_int_eq(mafat_cells_find(&c, n, n->n_layers, NULL), MAFAT_OK);
  for (int l = 0; l < n->n_layers; l++)
    ck_assert(mafat_layer_is_alias(&n->layers[l]) ? c->cell_of[l] == -1
                                                  : c->cell_of[l] >= 0 && c->cell_of[l] < c->n);
  mafat_cells_close(&c);
  mafat_network_close(&n);
}
END_TEST

/* ---- schemes, and plans of them ---- */

struct ground {
  struct mafat_network *network;
  bool *within, *bottlenecks;
  struct mafat_scheme_families *families;
};

static struct ground find_schemes(struct mafat_network *n)
{
  struct ground g = {.network = n};
  size_t operators = (size_t)mafat_network_n_tensors(n);
  g.within = malloc(operators * sizeof *g.within);
  g.bottlenecks = malloc(operators * sizeof *g.bottlenecks);
  for (size_t i = 0; i < operators; i++) g.within[i] = g.bottlenecks[i] = true;
  g.families = calloc(1, sizeof *g.families);
  ck_assert_int_eq(mafat_schemes_find(g.families, n, n->n_layers, g.within, g.bottlenecks),
                   MAFAT_OK);
  return g;
}

static void close_ground(struct ground *g)
{
  mafat_schemes_free(g->families);
  free(g->families);
  free(g->within);
  free(g->bottlenecks);
  mafat_network_close(&g->network);
}

/* The three families of schemes: rows of all three layers; the wide channels of all three, where
 * the last layer sums over them; and the wide channels of the first two. No scheme cuts the input's
 * channels. */
START_TEST(schemes_of_an_inverted_bottleneck)
{
  struct ground g = find_schemes(
      test_network("[net]\nheight=8\nwidth=12\nchannels=4\n[convolutional]\nfilters=64\nsize="
                   "1\nactivation=linear\n"
                   "[convolutional]\nfilters=64\ngroups=64\nsize=3\npad=1\nactivation=linear\n"
                   "[convolutional]\nfilters=4\nsize=1\nactivation=linear\n"));
  ck_assert_int_eq(g.families->n, 3);
  static const struct { enum mafat_split_axis axis; int layers, numbers, last; } expected[] = {
      {MAFAT_ALONG_H, 3, 3, 8}, {MAFAT_ALONG_C, 3, 2, 4}, {MAFAT_ALONG_C, 2, 2, 4}};
  for (int i = 0; i < 3; i++) {
    const struct mafat_scheme_family *f = &g.families->list[i];
    ck_assert_int_eq(f->scheme.axis, expected[i].axis);
    ck_assert_int_eq(f->scheme.n_layers, expected[i].layers);
    for (int k = 0; k < f->scheme.n_layers; k++) ck_assert_int_eq(f->scheme.layers[k], k);
    ck_assert_int_eq(f->n_numbers, expected[i].numbers);
    ck_assert_int_eq(f->numbers[f->n_numbers - 1], expected[i].last);
  }
  close_ground(&g);
}
END_TEST

/* Each layer of a scheme is cut along an axis that is connected to the scheme's axis in the axis
 * connecting graph. Only the scheme's last layer may sum over that axis instead. */
START_TEST(schemes_meet_both_conditions)
{
  char cfg[TEST_CFG_ROOM];
  struct test_rng rng = test_rng(600 + (uint64_t)_i);
  struct test_network_style style = test_network_style();
  test_random_network(&rng, &style, cfg, sizeof cfg);
  struct ground g = find_schemes(test_network(cfg));
  struct mafat_acg *a = make(g.network);
  for (int i = 0; i < g.families->n; i++) {
    const struct mafat_scheme *s = &g.families->list[i].scheme;
    enum mafat_acg_axis axis = s->axis == MAFAT_ALONG_H   ? MAFAT_ACG_H
                               : s->axis == MAFAT_ALONG_W ? MAFAT_ACG_W
                                                          : MAFAT_ACG_C;
    int part = mafat_acg_part(a, s->layers[0], axis);
    for (int k = 0; k < s->n_layers; k++) {
      bool own = mafat_acg_part(a, s->layers[k], axis) == part;
      ck_assert(own || (k == s->n_layers - 1 &&
                        mafat_acg_part(a, s->layers[k], MAFAT_ACG_REDUCED) == part));
    }
  }
  mafat_acg_close(&a);
  close_ground(&g);
}
END_TEST

static float *run(const struct mafat_network *n, const struct mafat_plan *plan,
                  struct mafat_weights *w, size_t *floats)
{
  struct mafat_executor_options options;
  struct mafat_executor *e;
  struct mafat_diagnostic d;
  struct mafat_layout *layout = test_layout(n, plan);
  struct test_rng rng = test_rng(7);
  size_t inputs = (size_t)mafat_shape_elements(mafat_network_picture_shape(n));
  float *input = malloc(inputs * sizeof *input);
  for (size_t i = 0; i < inputs; i++) input[i] = (float)(test_random(&rng) >> 8) / 16777216.0f;
  *floats = (size_t)mafat_shape_elements(n->layers[n->n_layers - 1].out);
  float *out = malloc(*floats * sizeof *out);
  mafat_executor_defaults(&options);
  ck_assert_int_eq(mafat_executor_open(&e, n, plan, layout, w, &options, &d), MAFAT_OK);
  mafat_executor_set_input(e, input);
  memset((void *)(uintptr_t)mafat_executor_arena(e), 0xff, layout->total_bytes);
  ck_assert_int_eq(mafat_executor_run(e, &d), MAFAT_OK);
  mafat_executor_read_output(e, n->n_layers - 1, out);
  mafat_executor_close(&e);
  mafat_layout_close(&layout);
  free(input);
  return out;
}

static void compare(const struct mafat_network *n, const char *cfg, const char *text)
{
  struct mafat_plan_options options = test_plain_options();
  struct mafat_weights *w;
  struct mafat_diagnostic d;
  size_t floats;
  int fd = test_weights_file(n, 1);
  ck_assert_int_eq(test_weights_from(&w, fd, n, n->n_layers, NULL, &d), MAFAT_OK);
  close(fd);
  struct mafat_plan *whole = test_plan_with(n, "1x1/NoCut", &options),
                    *plan = test_plan_with(n, text, &options);
  float *expected = run(n, whole, w, &floats), *out = run(n, plan, w, &floats);
  if (memcmp(expected, out, floats * sizeof *out) != 0)
    test_fail_case(cfg, text, "bits differ from those of whole maps");
  free(expected);
  free(out);
  mafat_plan_close(&plan);
  mafat_plan_close(&whole);
  mafat_weights_close(&w);
}

/* Chooses at most four schemes of different families that do not clash, each with a random number
 * of parts that its family allows. Returns their number. */
static int choose_schemes(struct mafat_scheme *schemes, const struct mafat_scheme **list,
                          struct test_rng *rng, const struct mafat_scheme_families *all)
{
  int n = 0;
  for (int i = 0; i < all->n && n < 4; i++) {
    const struct mafat_scheme_family *f = &all->list[test_random_int(rng, 0, all->n - 1)];
    bool clash = false;
    for (int k = 0; k < n; k++) clash = clash || mafat_schemes_clash(&schemes[k], &f->scheme);
    if (clash) continue;
    schemes[n] = f->scheme;
    schemes[n].n = f->numbers[test_random_int(rng, 0, f->n_numbers - 1)];
    list[n] = &schemes[n];
    n++;
  }
  return n;
}

/* Random schemes give a plan whose text reads back and whose outputs have the bits of whole maps;
 * or the plan's reader says what is wrong. */
START_TEST(schemes_give_the_same_bits)
{
  char cfg[TEST_CFG_ROOM];
  struct mafat_scheme schemes[4];
  const struct mafat_scheme *list[4];
  struct mafat_cells *cells;
  struct mafat_spec *spec;
  struct mafat_plan *plan;
  struct mafat_diagnostic d;
  struct test_rng rng = test_rng(700 + (uint64_t)_i);
  struct test_network_style style = test_small_style();
  style.heads = false;
  test_random_network(&rng, &style, cfg, sizeof cfg);
  struct ground g = find_schemes(test_network(cfg));
  ck_assert_int_eq(mafat_cells_find(&cells, g.network, g.network->n_layers, NULL), MAFAT_OK);
  int n = choose_schemes(schemes, list, &rng, g.families);
  int code = mafat_schemes_apply(&spec, g.network, g.network->n_layers, list, n,
                                 test_random_chance(&rng, 50) ? cells->cell_of : NULL,
                                 test_random_chance(&rng, 50), false, NULL);
  if (code == MAFAT_OK) {
    spec->op_order = (enum mafat_op_order)test_random_int(&rng, 0, MAFAT_N_SORTINGS - 1);
    spec->in_place = test_random_chance(&rng, 50);
    char *text = mafat_spec_text(spec);
    struct mafat_plan_options options = test_plain_options();
    if (mafat_plan_read(&plan, text, g.network, g.network->n_layers, &options, &d) == MAFAT_OK) {
      mafat_plan_close(&plan);
      compare(g.network, cfg, text);
    }
    free(text);
    mafat_spec_close(&spec);
  }
  mafat_cells_close(&cells);
  close_ground(&g);
}
END_TEST

/* ---- the search ---- */

/* Cells are given by the layers that they begin with, in ascending order. */
START_TEST(cells_are_as_given)
{
  static const struct { const char *text, *says;
  } faults[] = {{"", "expected a layer between 1 and 2 (cells), found nothing"},
                {"1,", "expected a layer between 2 and 2 (cells), found nothing"},
                {",1", "found ,1"},
                {"1,,2", "found ,2"},
                {"2,1", "expected a layer between 3 and 2 (cells), found 1"},
                {"1,3", "expected a layer between 2 and 2 (cells), found 3"},
                {"1 ", "found 1 "},
                {"-1", "found -1"},
                {"1,1", "found 1"}};
  struct mafat_network *n = test_network("[net]\nheight=8\nwidth=8\nchannels=3\n[maxpool]\nsize="
                                         "1\n[maxpool]\nsize=1\n[maxpool]\nsize=1\n");
  struct mafat_diagnostic d = {""};
  struct mafat_cells *cells;
  ck_assert_int_eq(mafat_cells_read(&cells, "1,2", n, 3, NULL, &d), MAFAT_OK);
  ck_assert_int_eq(cells->n, 3);
  for (int l = 0; l < 3; l++) ck_assert_int_eq(cells->cell_of[l], l);
  mafat_cells_close(&cells);
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    int code = mafat_cells_read(&cells, faults[i].text, n, 3, NULL, &d);
    ck_assert_int_eq(code, faults[i].says ? MAFAT_EINVAL : MAFAT_OK);
    if (faults[i].says) ck_assert_msg(strstr(d.text, faults[i].says) != NULL, "%s", d.text);
    mafat_cells_close(&cells);
  }
  mafat_network_close(&n);
}
END_TEST

/* A set of schemes counts as seen in any order of its schemes. It is another set if the number of
 * parts, an axis or a layer differs. */
START_TEST(states_are_seen_once)
{
  struct mafat_motes_seen all = {NULL, 0, 0};
  int some[] = {1, 2, 3}, others[] = {1, 2, 4};
  struct mafat_motes_state state = {.n = 2}, turned = {.n = 2};
  bool seen;
  for (int n = 2; n < 2000; n++) {
    for (int k = 0; k < 4; k++) {
      state.schemes[0] = (struct mafat_scheme){MAFAT_ALONG_H, n, some, 3};
      state.schemes[1] =
          (struct mafat_scheme){k & 1 ? MAFAT_ALONG_W : MAFAT_ALONG_C, 4, k & 2 ? some : others, 3};
      ck_assert_int_eq(mafat_motes_see(&all, &state, &seen, NULL), MAFAT_OK);
      ck_assert(!seen);
      turned.schemes[0] = state.schemes[1];
      turned.schemes[1] = state.schemes[0];
      ck_assert_int_eq(mafat_motes_see(&all, &turned, &seen, NULL), MAFAT_OK);
      ck_assert(seen);
    }
  }
  mafat_motes_forget(&all, NULL);
}
END_TEST

static const struct mafat_footprint footprint = {.process_bytes = 900 << 10,
                                                 .image_bytes = 200 << 10};

/* The search finds one plan. It takes at most 1.25 times as long as whole maps (delta is 1.2),
 * computes nothing twice and gives the same bits. */
START_TEST(the_search_finds_a_plan_within_delta)
{
  char cfg[TEST_CFG_ROOM];
  struct test_rng rng = test_rng(800 + (uint64_t)_i);
  struct test_network_style style = test_small_style();
  struct mafat_plan_options options = test_plain_options();
  struct mafat_calibration calibration;
  struct mafat_diagnostic d = {""};
  struct mafat_front *f;
  style.heads = false;
  test_random_network(&rng, &style, cfg, sizeof cfg);
  struct mafat_network *n = test_network(cfg);
  mafat_calibration_defaults(&calibration, "avx2");
  char words[32];
  snprintf(words, sizeof words, "delta=1.2,beam=%d", test_random_int(&rng, 1, 8));
  struct mafat_search_request request = {.network = n,
                                         .n_layers = n->n_layers,
                                         .options = &options,
                                         .footprint = &footprint,
                                         .calibration = &calibration,
                                         .words = words};
  ck_assert_msg(mafat_search_motes(&f, &request, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_int_eq(f->n, 1);
  struct mafat_candidate whole = {.threads = 1};
  struct mafat_spec *spec;
  ck_assert_int_eq(mafat_spec_read(&spec, "1x1/NoCut/order=postorder", &d), MAFAT_OK);
  ck_assert_int_eq(mafat_candidate_measure(&whole, &request, spec, &d), MAFAT_OK);
  mafat_spec_close(&spec);
  if (f->list[0].ms > whole.ms * 1.25 || f->list[0].redundant_macs > 0)
    test_fail_case(cfg, test_spec_text(f->list[0].spec), "%g ms, whole maps %g", f->list[0].ms,
                   whole.ms);
  compare(n, cfg, test_spec_text(f->list[0].spec));
  mafat_front_close(&f);
  mafat_network_close(&n);
}
END_TEST

/* ---- milliseconds by a timer ---- */

/* A timer that returns the times that a test sets, and counts its calls. */
struct fake_timer {
  double whole_ms, parts_ms; /* milliseconds of plans without parts, and of plans with parts */
  int fails_at, code;        /* the first call (from 0) that fails, and all later ones; -1: none */
  int asked;
};

static bool has_parts(const struct mafat_plan *plan)
{
  for (int g = 0; g < plan->n_groups; g++)
    if (mafat_cut_has_parts(&plan->groups[g].cut)) return true;
  return false;
}

static int say_ms(void *context, const struct mafat_plan *plan, const struct mafat_layout *layout,
                  double *ms, struct mafat_diagnostic *d)
{
  struct fake_timer *t = context;
  ck_assert_uint_gt(layout->total_bytes, 0);
  if (t->fails_at >= 0 && t->asked >= t->fails_at) return mafat_fail(d, t->code, "the timer fails");
  t->asked++;
  *ms = has_parts(plan) ? t->parts_ms : t->whole_ms;
  return MAFAT_OK;
}

/* Result of a search for a wide map between narrow ones, where plans with parts need fewer
 * bytes. */
struct found {
  int code;
  size_t arena_bytes;
  bool parts;
  struct mafat_diagnostic d;
};

static struct found search_with(struct mafat_search_timer timer, double delta, double plan_seconds)
{
  struct found f = {.d = {""}};
  char words[32] = "";
  if (delta > 0) snprintf(words, sizeof words, "delta=%g", delta);
  struct mafat_plan_options options = test_plain_options();
  struct mafat_calibration calibration;
  struct mafat_network *n =
      test_network("[net]\nheight=32\nwidth=32\nchannels=16\n[convolutional]\nfilters=96\nsize="
                   "1\nactivation=relu\n"
                   "[convolutional]\nfilters=96\ngroups=96\nsize=3\npad=1\nactivation=relu\n"
                   "[convolutional]\nfilters=16\nsize=1\nactivation=linear\n");
  mafat_calibration_defaults(&calibration, "avx2");
  struct mafat_search_request request = {.network = n,
                                         .n_layers = n->n_layers,
                                         .options = &options,
                                         .footprint = &footprint,
                                         .calibration = &calibration,
                                         .words = words,
                                         .plan_seconds = plan_seconds,
                                         .timer = timer};
  struct mafat_front *front;
  f.code = mafat_search_motes(&front, &request, &f.d);
  if (f.code == MAFAT_OK) {
    struct mafat_plan *plan = test_plan_with(n, test_spec_text(front->list[0].spec), &options);
    f.arena_bytes = front->list[0].arena_bytes;
    f.parts = has_parts(plan);
    mafat_plan_close(&plan);
    mafat_front_close(&front);
  }
  mafat_network_close(&n);
  return f;
}

static struct found search_timed(struct fake_timer *timer, double delta, double plan_seconds)
{
  return search_with((struct mafat_search_timer){say_ms, timer}, delta, plan_seconds);
}

static const struct {
  double whole_ms, parts_ms, delta;
  bool parts;
} verdicts[] = {
    {1, 1, 1, true},       /* parts take no more time */
    {1, 1.2, 1.3, true},   {1, 1.2, 1.1, false},
    {1, 1.04, 0, true},    {1, 1.06, 0, false}, /* no delta given: 1.05 */
    {1, .5, 1, true},      {1e-3, 50, 1000, false},
};

/* The timer's times decide whether a plan is within delta, not the predicted times. */
START_TEST(the_timer_decides_what_is_in_time)
{
  struct fake_timer timer = {verdicts[_i].whole_ms, verdicts[_i].parts_ms, -1, 0, 0};
  struct found whole = search_timed(&(struct fake_timer){1, 1e6, -1, 0, 0}, 1, 0),
               f = search_timed(&timer, verdicts[_i].delta, 0);
  ck_assert_msg(f.code == MAFAT_OK, "%s", f.d.text);
  ck_assert_int_eq(f.parts, verdicts[_i].parts);
  ck_assert(!whole.parts);
  ck_assert_msg(f.parts ? f.arena_bytes < whole.arena_bytes : f.arena_bytes == whole.arena_bytes,
                "%zu bytes, whole maps %zu", f.arena_bytes, whole.arena_bytes);
}
END_TEST

enum { WHOLE_TIMES = 5 }; /* how often whole maps are timed, before any other plan */

START_TEST(what_the_timer_says_of_failures)
{
  struct fake_timer counts = {1, 1, -1, 0, 0};
  struct found all = search_timed(&counts, 1, 0);
  ck_assert_int_gt(counts.asked, WHOLE_TIMES);
  ck_assert(all.parts);
  /* the timer has no memory even for whole maps */
  struct found f = search_timed(&(struct fake_timer){1, 1, 0, MAFAT_ELIMIT, 0}, 1, 0);
  ck_assert_int_eq(f.code, MAFAT_ELIMIT);
  ck_assert_str_eq(f.d.text, "the timer fails");
  /* it has memory only for whole maps: the search takes them */
  f = search_timed(&(struct fake_timer){1, 1, WHOLE_TIMES, MAFAT_ELIMIT, 0}, 1, 0);
  ck_assert_msg(f.code == MAFAT_OK, "%s", f.d.text);
  ck_assert(!f.parts);
  /* any other error ends the search, at whichever call */
  for (int at = 0; at < counts.asked; at += 1 + at / 4) {
    f = search_timed(&(struct fake_timer){1, 1, at, MAFAT_EIO, 0}, 1, 0);
    ck_assert_int_eq(f.code, MAFAT_EIO);
    ck_assert_str_eq(f.d.text, "the timer fails");
  }
}
END_TEST

/* Whole maps take twice as long in their first WHOLE_TIMES runs, except in run `fast_at`. Plans
 * with parts take 1.2 times as long as fast whole maps: with a delta of 1 they are in time only if
 * all these runs were slow. */
struct slow_timer {
  struct fake_timer fake;
  int fast_at;
};

static int say_slowly(void *context, const struct mafat_plan *plan,
                      const struct mafat_layout *layout, double *ms, struct mafat_diagnostic *d)
{
  struct slow_timer *t = context;
  int code = say_ms(&t->fake, plan, layout, ms, d);
  if (t->fake.asked <= WHOLE_TIMES && t->fake.asked != t->fast_at) *ms *= 2;
  return code;
}

START_TEST(of_whole_maps_the_least_of_several_counts)
{
  for (int at = 1; at <= WHOLE_TIMES + 1; at++) {
    struct slow_timer timer = {.fake = {1, 1.2, -1, 0, 0}, .fast_at = at};
    struct found f = search_with((struct mafat_search_timer){say_slowly, &timer}, 1, 0);
    ck_assert_msg(f.code == MAFAT_OK, "%s", f.d.text);
    ck_assert_int_eq(f.parts, at > WHOLE_TIMES);
  }
}
END_TEST

/* A search whose time is over times only the plans that it needs for a result. */
START_TEST(plan_time_bounds_what_is_timed)
{
  struct fake_timer all = {1, 1, -1, 0, 0}, few = all;
  search_timed(&all, 1, 0);
  struct found f = search_timed(&few, 1, 1e-9);
  ck_assert_msg(f.code == MAFAT_OK, "%s", f.d.text);
  ck_assert_int_le(few.asked, WHOLE_TIMES + 1);
  ck_assert_int_gt(all.asked, few.asked);
}
END_TEST

Suite *motes_suite(void)
{
  Suite *suite = suite_create("motes");
  TCase *t = tcase_create("motes");
  tcase_set_timeout(t, 300);
  tcase_add_test(t, an_inverted_bottleneck_has_four_parts);
  tcase_add_test(t, a_residual_link_joins_channels);
  tcase_add_loop_test(t, axes_follow_from_kinds, 0, (int)(sizeof rules / sizeof *rules));
  tcase_add_test(t, the_worked_example);
  tcase_add_loop_test(t, overlapped_windows_by_counting, 0,
                      (int)(sizeof pyramids / sizeof *pyramids));
  tcase_add_test(t, windows_of_blocks);
  tcase_add_test(t, blocks_are_cells);
  tcase_add_loop_test(t, cells_hold_all_layers, 0, test_seeds(60));
  tcase_add_test(t, schemes_of_an_inverted_bottleneck);
  tcase_add_loop_test(t, schemes_meet_both_conditions, 0, test_seeds(60));
  tcase_add_loop_test(t, schemes_give_the_same_bits, 0, test_seeds(200));
  tcase_add_test(t, cells_are_as_given);
  tcase_add_test(t, states_are_seen_once);
  tcase_add_loop_test(t, the_search_finds_a_plan_within_delta, 0, test_seeds(20));
  tcase_add_loop_test(t, the_timer_decides_what_is_in_time, 0,
                      test_slow_rows((int)(sizeof verdicts / sizeof *verdicts)));
  tcase_add_test(t, what_the_timer_says_of_failures);
  tcase_add_test(t, of_whole_maps_the_least_of_several_counts);
  tcase_add_test(t, plan_time_bounds_what_is_timed);
  suite_add_tcase(suite, t);
  return suite;
}
