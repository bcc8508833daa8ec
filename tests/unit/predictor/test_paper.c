/* Covers predictor/cost/paper.c: the paper's predictor gives the numbers of the paper, and the
 * bytes that its formula gives for tiles that this test finds pixel by pixel. */
#include "predictor/cost/paper.h"

#include "tests/support/failing_malloc.h"
#include "tests/support/support.h"

#include <check.h>
#include <string.h>

Suite *paper_suite(void);

#define MIB (1 << 20)
#define POOL "[maxpool]\nsize=2\nstride=2\n"
#define CONV3(filters) \
  "[convolutional]\nfilters=" #filters "\nsize=3\nstride=1\npad=1\nactivation=leaky\n"
#define CONV1(filters) \
  "[convolutional]\nfilters=" #filters "\nsize=1\nstride=1\npad=1\nactivation=leaky\n"
/* The paper's experiment: the first 16 layers of YOLOv2. */
#define YOLOV2_16 \
  "[net]\nwidth=608\nheight=608\nchannels=3\n" CONV3(32) POOL CONV3(64) POOL CONV3(128) CONV1(64) \
      CONV3(128) POOL CONV3(256) CONV1(128) CONV3(256) POOL CONV3(512) CONV1(256) CONV3(512) \
          CONV1(256)

static struct mafat_paper_prediction *predict(const struct mafat_network *n,
                                              const struct mafat_plan *plan)
{
  struct mafat_paper_prediction *p;
  struct mafat_diagnostic d;
  ck_assert_msg(mafat_paper_predict(&p, n, plan, MAFAT_DEFAULT_BIAS_BYTES, &d) == MAFAT_OK, "%s",
                d.text);
  return p;
}

/* ---- the paper's network ---- */

struct figure {
  const char *plan;
  size_t bytes;    /* without the constant; computed by another program */
  double mib;      /* with the constant */
  int layer, tile; /* layer of the peak, and its tile's row and column, which are equal */
};

static const struct figure figures[] = {
    {"1x1/NoCut", 153780224, 177.7, 2, 0},
    {"2x2/NoCut", 54006016, 82.5, 2, 0},
    {"3x3/NoCut", 42763264, 71.8, 2, 1},
    {"4x4/NoCut", 30917632, 60.5, 2, 1},
    {"5x5/NoCut", 24085504, 54.0, 2, 1},
    {"1x1/12/2x2", 153780224, 177.7, 2, 0},
    {"2x2/12/2x2", 44839168, 73.8, 2, 0},
    {"3x3/12/2x2", 27395072, 57.1, 2, 1},
    {"4x4/12/2x2", 18105344, 48.3, 2, 1},
    {"5x5/12/2x2", 12977152, 43.4, 2, 1},
    {"1x1/8/2x2", 153780224, 177.7, 2, 0},
    {"2x2/8/2x2", 40575232, 69.7, 2, 0},
    {"3x3/8/2x2", 19520512, 49.6, 2, 1},
    {"4x4/8/2x2", 12396032, 42.8, 8, 0},
    {"5x5/8/2x2", 12396032, 42.8, 8, 0},
    {"3x3/4/2x2", 26452736, 56.2, 4, 0},
    {"5x5/8/3x3", 8777728, 39.4, 8, 1},
};

/* For each row's plan, YOLOv2 needs the row's bytes. */
START_TEST(yolov2_as_the_formula_has_it)
{
  const struct figure *f = &figures[_i];
  struct mafat_network *n = test_network(YOLOV2_16);
  struct mafat_plan *plan = test_plan(n, f->plan);
  struct mafat_paper_prediction *p = predict(n, plan);
  const struct mafat_paper_group *g = &p->groups[p->peak_group];
  double mib = (double)p->bytes / MIB;
  ck_assert_msg(g->peak_bytes == f->bytes, "%s: %zu bytes, expected %zu", f->plan, g->peak_bytes,
                f->bytes);
  ck_assert_uint_eq(p->bytes, f->bytes + MAFAT_DEFAULT_BIAS_BYTES);
  ck_assert_msg(mib > f->mib - .05 && mib < f->mib + .05, "%s: %.2f MiB, expected %.1f", f->plan,
                mib, f->mib);
  ck_assert_msg(g->peak_layer == f->layer, "%s: layer %d, expected %d", f->plan, g->peak_layer,
                f->layer);
  ck_assert_msg(g->tile_row == f->tile && g->tile_col == f->tile, "%s: tile %d,%d", f->plan,
                g->tile_row, g->tile_col);
  mafat_paper_prediction_close(&p);
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

/* Layer 2 needs the paper's "at least 135 MB": 304 x 304 pixels with 32 * 9 taps, 64 outputs and 32
 * inputs. */
START_TEST(the_papers_largest_layer)
{
  struct mafat_network *n = test_network(YOLOV2_16);
  struct mafat_plan *plan = test_plan(n, "1x1/NoCut");
  struct mafat_paper_prediction *p = predict(n, plan);
  const struct mafat_paper_group *g = &p->groups[0];
  ck_assert_uint_eq(g->scratch_bytes, 304 * 304 * 32 * 9 * 4);
  ck_assert_uint_eq(g->output_bytes, 304 * 304 * 64 * 4);
  ck_assert_uint_eq(g->input_bytes, 304 * 304 * 32 * 4);
  ck_assert_double_eq_tol((double)(g->scratch_bytes + g->output_bytes + g->input_bytes) / MIB,
                          135.4, .05);
  ck_assert_uint_eq(g->peak_bytes, g->scratch_bytes + g->output_bytes + 2 * g->input_bytes);
  mafat_paper_prediction_close(&p);
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

/* ---- layers that the paper does not have ---- */

struct layer_row {
  const char *what, *cfg;
  int layer; /* expected layer of the peak, in the plan 1x1/NoCut */
  size_t scratch, output, input; /* expected floats */
};

#define NET "[net]\nheight=8\nwidth=10\nchannels=6\n"

static const struct layer_row layer_rows[] = {
    {"a maxpool has no scratch", NET POOL, 0, 0, 4 * 5 * 6, 480},
    {"a stride divides the im2col matrix",
     NET "[convolutional]\nfilters=4\nsize=3\nstride=2\npad=1\n", 0, 4 * 5 * 6 * 9 / 2, 4 * 5 * 4,
     480},
    {"a fraction of a float is rounded up",
     "[net]\nheight=5\nwidth=5\nchannels=1\n[convolutional]\nfilters=1\nsize=3\nstride=2\npad=1\n",
     0, 41, 9, 25},
    {"groups of a convolution are ignored",
     NET "[convolutional]\nfilters=6\ngroups=6\nsize=3\npad=1\n", 0, 480 * 9, 480, 480},
    {"local layers have an im2col matrix", NET "[local]\nfilters=2\nsize=3\nstride=1\npad=1\n", 0,
     480 * 9, 160, 480},
    {"connected layers do not", NET "[connected]\noutput=7\n", 0, 0, 7, 480},
    {"a route's readers read its sources", NET CONV1(40) CONV1(40) "[route]\nlayers=0,1\n" CONV1(1),
     3, 80 * 80, 80, 80 * 80},
    {"a shortcut from a smaller map",
     "[net]\nheight=4\nwidth=5\nchannels=6\n[activation]\nactivation=relu\n[upsample]\nstride=2\n["
     "shortcut]\nfrom=0\n",
     2, 0, 480, 480 + 120},
    {"a shortcut reads two maps", NET "[activation]\nactivation=relu\n[shortcut]\nfrom=0\n", 1, 0,
     480, 960},
    {"the first of equals", NET "[activation]\nactivation=relu\n[activation]\nactivation=relu\n", 0,
     0, 480, 480},
    {"layers that no output depends on count nothing",
     NET "[activation]\nactivation=relu\n" CONV3(64) "[route]\nlayers=0\n" POOL, 0, 0, 480, 480},
};

/* The peak has the floats of each row. */
START_TEST(floats_of_a_layer)
{
  const struct layer_row *r = &layer_rows[_i];
  struct mafat_network *n = test_network(r->cfg);
  struct mafat_plan *plan = test_plan(n, "1x1/NoCut");
  struct mafat_paper_prediction *p = predict(n, plan);
  const struct mafat_paper_group *g = &p->groups[0];
  ck_assert_int_eq(p->n_groups, 1);
  ck_assert_msg(g->peak_layer == r->layer && g->scratch_bytes == 4 * r->scratch &&
                    g->output_bytes == 4 * r->output && g->input_bytes == 4 * r->input,
                "%s: layer %d: %zu + %zu + 2 * %zu floats", r->what, g->peak_layer,
                g->scratch_bytes / 4, g->output_bytes / 4, g->input_bytes / 4);
  mafat_paper_prediction_close(&p);
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

/* A group of aliases needs no bytes. */
START_TEST(a_group_that_only_renames_counts_nothing)
{
  struct mafat_network *n =
      test_network(NET CONV3(4) CONV1(5) "[route]\nlayers=0,1\n[dropout]\nprobability=.5\n");
  struct mafat_plan *plan = test_plan(n, "2x2/2/1x1");
  struct mafat_paper_prediction *p = predict(n, plan);
  ck_assert_int_eq(p->n_groups, 2);
  ck_assert_int_eq(p->peak_group, 0);
  ck_assert_int_eq(p->groups[1].peak_layer, -1);
  ck_assert_uint_eq(p->groups[1].peak_bytes, 0);
  mafat_paper_prediction_close(&p);
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

/* ---- tiles, pixel by pixel ---- */

enum { MOST_EXTENT = 256, MOST_TENSORS = 64, MOST_OPERANDS = 8};

/* Rows (or columns) of every tensor that a tile needs. */
struct marks {
  bool on[MOST_TENSORS][MOST_EXTENT]; /* [tensor] */
};

static void mark(bool *on, int extent, int pixel, bool padding_touches)
{
  if (pixel >= 0 && pixel < extent) on[pixel] = true;
  else if (padding_touches) on[pixel < 0 ? 0 : extent - 1] = true;
}

/* Marks the inputs of output pixel `o` of a layer. */
static void mark_input(const struct mafat_layer *l, bool axis_y, int o, bool *on)
{
  int extent = axis_y ? l->in.h : l->in.w;
  struct mafat_taps t = mafat_window_along(&l->window, axis_y);
  switch (l->type) {
  case MAFAT_CONVOLUTIONAL:
  case MAFAT_MAXPOOL:
  case MAFAT_LOCAL_AVGPOOL:
    for (int k = 0; k < mafat_taps_reach(t); k++) /* pixels between dilated taps are held, too */
      mark(on, extent, mafat_taps_first(t, o) + k, l->type == MAFAT_CONVOLUTIONAL);
    break;
  case MAFAT_UPSAMPLE:
    on[o / l->factor] = true;
    break;
  case MAFAT_REORG3D:
    for (int k = 0; k < l->factor; k++) on[o * l->factor + k] = true;
    break;
  case MAFAT_CROP:
    on[o + (axis_y ? l->crop_y : l->crop_x)] = true;
    break;
  case MAFAT_SHORTCUT:
  case MAFAT_SCALE_CHANNELS:
  case MAFAT_SAM:
  case MAFAT_BATCHNORM:
  case MAFAT_ACTIVATION_LAYER:
  case MAFAT_NORMALIZE:
    on[o] = true;
    break;
  default:
    for (int i = 0; i < extent; i++) on[i] = true;
  }
}

/* Marks the pixels of a shortcut's other operand, by Darknet's loop: output i * sample reads input
 * i * stride, while both exist. */
static void mark_other(const struct mafat_layer *l, int operand, bool axis_y, int o, bool *on)
{
  struct mafat_shape shape = l->operands[operand].shape;
  int from = axis_y ? shape.h : shape.w, to = axis_y ? l->out.h : l->out.w;
  int stride = from / to > 1 ? from / to : 1, sample = to / from > 1 ? to / from : 1;
  if (l->operands[operand].broadcast) {
    on[from == 1 ? 0 : o] = true;
    return;
  }
  for (int i = 0; i < from && i < to; i++)
    if (i * sample == o) on[i * stride] = true;
}

/* Marks all pixels from the first to the last marked one; returns their number. */
static int fill(bool *on)
{
  int first = 0, last = MOST_EXTENT - 1;
  while (first < MOST_EXTENT && !on[first]) first++;
  while (last > first && !on[last]) last--;
  for (int i = first; i <= last && first < MOST_EXTENT; i++) on[i] = true;
  return first < MOST_EXTENT ? last - first + 1 : 0;
}

static bool any(const bool *on, int n)
{
  for (int i = 0; i < n; i++)
    if (on[i]) return true;
  return false;
}

/* Marks the pixels of an operand's sources along both axes. */
static void mark_sources(struct marks m[2], const struct mafat_sources *sources,
                         bool on[2][MOST_EXTENT])
{
  for (int i = 0, row = 0; i < mafat_sources_count(sources); i++) {
    const struct mafat_source *s = &sources->list[i];
    bool read = any(on[0], MOST_EXTENT) && any(on[1] + row, s->n_rows);
    for (int p = 0; p < MOST_EXTENT && read; p++) m[0].on[s->tensor][p] |= on[0][p];
    for (int p = 0; p < s->n_rows && read; p++)
      m[1].on[s->tensor][s->first_row + p] |= on[1][row + p];
    if ((i + 1) % sources->n == 0) row += s->n_rows;
  }
}

static bool reads(const struct mafat_sources *sources, int tensor)
{
  for (int i = 0; i < mafat_sources_count(sources); i++)
    if (sources->list[i].tensor == tensor) return true;
  return false;
}

/* True if a layer from `end` on needs this layer's output, or if this layer is an output of the
 * network. */
static bool leaves(const struct mafat_network *n, const bool *needed, int layer, int end)
{
  struct mafat_source self;
  struct mafat_sources out = mafat_network_output_sources(n, n->n_layers - 1, &self);
  if (reads(&out, layer) || mafat_layer_is_head(&n->layers[layer])) return true;
  for (int l = end; l < n->n_layers; l++)
    if (needed[l] && mafat_reads_meet(mafat_layer_reads(&n->layers[l]), layer)) return true;
  return false;
}

static void find_needed(const struct mafat_network *n, bool *needed)
{
  for (int l = n->n_layers - 1; l >= 0; l--) {
    needed[l] = false;
    if (!mafat_layer_is_alias(&n->layers[l])) needed[l] = leaves(n, needed, l, l + 1);
  }
}

/* Extents of a tile along one axis: of each layer's output, and of each operand. */
struct extents {
  int out[MOST_TENSORS], in[MOST_TENSORS][MOST_OPERANDS];
};

/* Marks the rows (or columns) of a tensor that the tiles in row (or column) `part` of the group
 * compute. The tensor is used outside of the group. */
static void mark_share(const struct mafat_group *g, bool axis_y, int part, int extent, bool *on)
{
  const int *bounds = axis_y ? g->row_bounds : g->col_bounds;
  int whole = bounds[axis_y ? g->cut.as.grid.n_rows : g->cut.as.grid.n_cols];
  for (int p = bounds[part] * extent / whole; p < bounds[part + 1] * extent / whole; p++)
    on[p] = true;
}

static void mark_reads(struct marks m[2], struct extents e[2], const struct mafat_network *n, int l)
{
  const struct mafat_layer *layer = &n->layers[l];
  ck_assert_int_le(layer->n_operands, MOST_OPERANDS);
  for (int k = 0; k < layer->n_operands; k++) {
    bool in[2][MOST_EXTENT] = {{false}};
    for (int y = 0; y < 2; y++) {
      for (int p = 0; p < MOST_EXTENT; p++) {
        if (m[y].on[l][p] && k == 0) mark_input(layer, y, p, in[y]);
        if (m[y].on[l][p] && k > 0) mark_other(layer, k, y, p, in[y]);
      }
      e[y].in[l][k] = fill(in[y]);
    }
    mark_sources(m, &layer->operands[k].sources, in);
  }
}

/* Finds the extents of tile (ty, tx) along columns (e[0]) and rows (e[1]). A box that is empty
 * along one axis is not computed. Layers of a group are consecutive. */
static void find_extents(struct extents e[2], const struct mafat_network *n, const bool *needed,
                         const struct mafat_group *g, int ty, int tx)
{
  static struct marks m[2];
  memset(m, 0, sizeof m);
  memset(e, 0, 2 * sizeof *e);
  for (int l = g->at.end - 1; l >= g->at.begin; l--) {
    const struct mafat_layer *layer = &n->layers[l];
    int extents[2] = {layer->out.w, layer->out.h};
    if (!needed[l]) continue;
    for (int y = 0; y < 2; y++) {
      if (leaves(n, needed, l, g->at.end)) mark_share(g, y, y ? ty : tx, extents[y], m[y].on[l]);
      e[y].out[l] = fill(m[y].on[l]);
    }
    if (!e[0].out[l] || !e[1].out[l]) {
      e[0].out[l] = e[1].out[l] = 0;
      continue;
    }
    for (int y = 0; y < 2 && !mafat_layer_is_tileable(layer); y++) {
      m[y].on[l][0] = m[y].on[l][extents[y] - 1] = true;
      e[y].out[l] = fill(m[y].on[l]);
    }
    mark_reads(m, e, n, l);
  }
}

static size_t tile_bytes(const struct mafat_layer *l, const struct extents *y,
                         const struct extents *x, int i)
{
  size_t out = (size_t)y->out[i] * (size_t)x->out[i], in = 0;
  for (int k = 0; k < l->n_operands; k++)
    in += (size_t)y->in[i][k] * (size_t)x->in[i][k] * (size_t)l->operands[k].shape.c;
  size_t taps = l->type == MAFAT_CONVOLUTIONAL || l->type == MAFAT_LOCAL
                    ? (size_t)mafat_window_area(&l->window)
                    : 0;
  size_t stride = taps ? (size_t)l->window.x.stride : 1;
  if (out == 0) return 0;
  return 4 *
         ((out * (size_t)l->in.c * taps + stride - 1) / stride + out * (size_t)l->out.c + 2 * in);
}

static size_t group_bytes(const struct mafat_network *n, const struct mafat_group *g)
{
  static struct extents e[2];
  bool needed[MOST_TENSORS];
  size_t most = 0;
  find_needed(n, needed);
  for (int ty = 0; ty < g->cut.as.grid.n_rows; ty++)
    for (int tx = 0; tx < g->cut.as.grid.n_cols; tx++) {
      find_extents(e, n, needed, g, ty, tx);
      for (int l = g->at.begin; l < g->at.end; l++) {
        size_t bytes = tile_bytes(&n->layers[l], &e[1], &e[0], l);
        if (bytes > most) most = bytes;
      }
    }
  return most;
}

/* True if all groups are grids of consecutive layers, as in the paper. */
static bool is_grids(const struct mafat_plan *plan)
{
  for (int g = 0; g < plan->n_groups; g++)
    if (plan->groups[g].cut.kind != MAFAT_CUT_GRID) return false;
  for (int i = 0; i < plan->n_layers; i++)
    if (plan->members[i] != i) return false;
  return true;
}

/* For random plans, with any algorithm and with or without fusion, the prediction equals the
 * formula for tiles that are found pixel by pixel. In odd cases the network is a chain. */
START_TEST(tiles_are_those_found_pixel_by_pixel)
{
  static char cfg[TEST_CFG_ROOM], text[TEST_PLAN_ROOM];
  struct test_network_style style = test_network_style();
  struct test_rng rng = test_rng(5000 + (uint64_t)_i);
  int n_grids = 0;
  if (_i % 2) style.edges = style.whole_maps = style.heads = false;
  for (int repeat = 0; repeat < 30; repeat++) {
    test_random_network(&rng, &style, cfg, sizeof cfg);
    struct mafat_network *n = test_network(cfg);
    ck_assert_int_le(mafat_network_n_tensors(n), MOST_TENSORS);
    for (int i = 0; i < 4; i++) {
      struct mafat_plan_options options;
      mafat_plan_defaults(&options);
      options.algorithm = (enum mafat_algorithm)test_random_int(&rng, MAFAT_AUTO, MAFAT_WINOGRAD);
      options.keep_all = test_random_chance(&rng, 30);
      test_random_plan(&rng, n, n->n_layers, text, sizeof text);
      struct mafat_plan *plan = test_plan_with(n, text, &options);
      if (is_grids(plan)) {
        struct mafat_paper_prediction *p = predict(n, plan);
        size_t most = 0;
        for (int g = 0; g < plan->n_groups; g++) {
          size_t bytes = group_bytes(n, &plan->groups[g]);
          if (p->groups[g].peak_bytes != bytes)
            test_fail_case(cfg, text, "group %d: %zu bytes, expected %zu", g,
                           p->groups[g].peak_bytes, bytes);
          if (bytes > most) most = bytes;
        }
        ck_assert_uint_eq(p->bytes, most + MAFAT_DEFAULT_BIAS_BYTES);
        mafat_paper_prediction_close(&p);
        n_grids++;
      }
      mafat_plan_close(&plan);
    }
    mafat_network_close(&n);
  }
  ck_assert_int_ge(n_grids, 10);
}
END_TEST

/* Algorithm and threads do not change the paper's prediction. */
START_TEST(the_algorithm_changes_nothing)
{
  static const char *const texts[] = {"5x5/8/2x2", "2x3/4/4x1/12/1x1",
                                      "[100,204]x[152]/2/[20,21]x[9]"};
  struct mafat_network *n = test_network(YOLOV2_16);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    struct mafat_plan_options plain = test_plain_options(), other;
    mafat_plan_defaults(&other);
    other.algorithm = MAFAT_WINOGRAD;
    other.n_threads = 2;
    struct mafat_plan *a = test_plan_with(n, texts[i], &plain),
                      *b = test_plan_with(n, texts[i], &other);
    struct mafat_paper_prediction *p = predict(n, a), *q = predict(n, b);
    ck_assert_uint_eq(p->bytes, q->bytes);
    ck_assert_mem_eq(p->groups, q->groups, (size_t)p->n_groups * sizeof *p->groups);
    mafat_paper_prediction_close(&p);
    mafat_paper_prediction_close(&q);
    mafat_plan_close(&a);
    mafat_plan_close(&b);
  }
  mafat_network_close(&n);
}
END_TEST

/* Balanced boundaries make the largest tile smaller. */
START_TEST(balanced_tiles_need_less)
{
  struct mafat_network *n = test_network(YOLOV2_16);
  struct mafat_plan_options plain = test_plain_options();
  struct mafat_plan *even = test_plan_with(n, "3x3/NoCut", &plain);
  struct mafat_plan *balanced = test_plan_with(n, "3x3:balanced/NoCut", &plain);
  struct mafat_paper_prediction *p = predict(n, even), *q = predict(n, balanced);
  ck_assert_uint_lt(q->bytes, p->bytes);
  mafat_paper_prediction_close(&p);
  mafat_paper_prediction_close(&q);
  mafat_plan_close(&even);
  mafat_plan_close(&balanced);
  mafat_network_close(&n);
}
END_TEST

/* ---- refusals ---- */

/* Groups by rows or panels are rejected, and the diagnostic names their layers. */
START_TEST(rows_and_panels_are_refused)
{
  static const char *const texts[] = {"rows4/NoCut", "panels/NoCut", "2x2/4/rows", "2x2/4/panels"};
  struct mafat_network *n = test_network(YOLOV2_16);
  struct mafat_plan *plan = test_plan(n, texts[_i]);
  struct mafat_paper_prediction *p = NULL;
  struct mafat_diagnostic d = {""};
  ck_assert_int_eq(mafat_paper_predict(&p, n, plan, 0, &d), MAFAT_EUNSUPPORTED);
  ck_assert_ptr_null(p);
  ck_assert_msg(strstr(d.text, _i % 2 ? "in panels" : "in rows") &&
                    strstr(d.text, _i < 2 ? "0..15" : "4..15"),
                "%s", d.text);
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

/* A sum of bytes that overflows is rejected. */
START_TEST(bytes_beyond_the_address_space_are_refused)
{
  struct mafat_network *n = test_network(NET POOL);
  struct mafat_plan *plan = test_plan(n, "1x1");
  struct mafat_paper_prediction *p = NULL;
  struct mafat_diagnostic d = {""};
  size_t pool = 4 * (120 + 2 * 480);
  ck_assert_int_eq(mafat_paper_predict(&p, n, plan, SIZE_MAX - pool, &d), MAFAT_OK);
  ck_assert_uint_eq(p->bytes, SIZE_MAX);
  mafat_paper_prediction_close(&p);
  ck_assert_int_eq(mafat_paper_predict(&p, n, plan, SIZE_MAX - pool + 1, &d), MAFAT_ELIMIT);
  ck_assert_ptr_null(p);
  ck_assert_msg(strstr(d.text, "address space") != NULL, "%s", d.text);
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

/* An im2col matrix of 2^65 bytes is rejected: 2^28 pixels, 2^11 channels, 2^24 taps. */
START_TEST(a_matrix_beyond_counting_is_refused)
{
  struct mafat_network *n = test_network("[net]\nheight=16384\nwidth=16384\nchannels=2048\n"
                                         "[convolutional]\nfilters=1\nsize=4096\npad=1\n");
  struct mafat_plan *plan = test_plan(n, "1x1");
  struct mafat_paper_prediction *p = NULL;
  struct mafat_diagnostic d = {""};
  ck_assert_int_eq(mafat_paper_predict(&p, n, plan, 0, &d), MAFAT_ELIMIT);
  ck_assert_ptr_null(p);
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

/* If any allocation fails, MAFAT_ENOMEM is returned and all memory is freed. */
START_TEST(refused_memory_is_reported_and_nothing_leaks)
{
  struct mafat_network *n = test_network(YOLOV2_16);
  struct mafat_plan *plan = test_plan(n, "2x2/8/2x2");
  struct mafat_paper_prediction *p;
  struct mafat_diagnostic d = {""};
  long unfreed;
  failing_malloc_arm(-1);
  int code = mafat_paper_predict(&p, n, plan, 0, &d);
  mafat_paper_prediction_close(&p);
  const long n_asked = failing_malloc_disarm(&unfreed);
  ck_assert_int_eq(code, MAFAT_OK);
  ck_assert_int_eq(unfreed, 0);
  ck_assert_int_ge(n_asked, 5);
  for (long i = 0; i < n_asked; i++) {
    d.text[0] = '\0';
    failing_malloc_arm(i);
    code = mafat_paper_predict(&p, n, plan, 0, &d);
    failing_malloc_disarm(&unfreed);
    ck_assert_msg(code == MAFAT_ENOMEM && !p && unfreed == 0, "allocation %ld: %d, %ld blocks leak",
                  i, code, unfreed);
    ck_assert_msg(strstr(d.text, "out of memory") != NULL, "allocation %ld: %s", i, d.text);
  }
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

#define COUNT(list) ((int)(sizeof list / sizeof *list))

Suite *paper_suite(void)
{
  Suite *s = suite_create("paper");
  TCase *figure = tcase_create("figures");
  tcase_add_loop_test(figure, yolov2_as_the_formula_has_it, 0, COUNT(figures));
  tcase_add_test(figure, the_papers_largest_layer);
  tcase_add_test(figure, the_algorithm_changes_nothing);
  tcase_add_test(figure, balanced_tiles_need_less);
  suite_add_tcase(s, figure);
  TCase *layers = tcase_create("layers");
  tcase_add_loop_test(layers, floats_of_a_layer, 0, COUNT(layer_rows));
  tcase_add_test(layers, a_group_that_only_renames_counts_nothing);
  suite_add_tcase(s, layers);
  TCase *tiles = tcase_create("tiles");
  tcase_set_timeout(tiles, 60);
  tcase_add_loop_test(tiles, tiles_are_those_found_pixel_by_pixel, 0, 16);
  suite_add_tcase(s, tiles);
  TCase *refusals = tcase_create("refusals");
  tcase_add_loop_test(refusals, rows_and_panels_are_refused, 0, 4);
  tcase_add_test(refusals, bytes_beyond_the_address_space_are_refused);
  tcase_add_test(refusals, a_matrix_beyond_counting_is_refused);
  tcase_add_test(refusals, refused_memory_is_reported_and_nothing_leaks);
  suite_add_tcase(s, refusals);
  return s;
}
