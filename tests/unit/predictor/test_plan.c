/* Covers predictor/plan/{plan, algorithms, weight_placement}.c, predictor/planning/{balance,
 * group_order, in_place, lay, planning}.c: plans made from texts and networks: groups, cuts,
 * algorithms, weight placement. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/planning/planning.h"
#include "predictor/plan/weight_placement.h"
#include "predictor/plan/winograd.h"
#include "tests/support/support.h"

Suite *plan_suite(void);

/* Six layers. Layers 0 and 1 have maps of 24 x 32 pixels, layers 2 to 4 of 12 x 16, layer 5 of
 * 6 x 8. */
static const char chain[] =
    "[net]\nheight=24\nwidth=32\nchannels=3\n"
    "[convolutional]\nfilters=8\nsize=3\npad=1\n[convolutional]\nfilters=8\nsize=1\n"
    "[maxpool]\nsize=2\nstride=2\n[convolutional]\nfilters=16\nsize=3\npad=1\n"
    "[convolutional]\nfilters=8\nsize=1\n[maxpool]\nsize=2\nstride=2\n";

/* A network to split along channels. */
static const char wide[] =
    "[net]\nheight=6\nwidth=8\nchannels=3\n[convolutional]\nfilters=64\nsize=1\n"
    "[convolutional]\nfilters=64\nsize=1\n[convolutional]\nfilters=64\nsize=3\npad=1\n[softmax]\n";

/* Layer 2 (reorg) and layers 5, 6, 7 cannot be tiled. */
static const char mixed[] =
    "[net]\nheight=24\nwidth=32\nchannels=4\n"
    "[convolutional]\nfilters=8\nsize=3\npad=1\n[maxpool]\nsize=2\nstride=2\n"
    "[reorg]\nstride=2\n[convolutional]\nfilters=8\nsize=3\npad=1\n"
    "[maxpool]\nsize=2\nstride=2\n[avgpool]\n[connected]\noutput=5\n[softmax]\n";

/* A convolution after a layer whose map is one pixel. */
static const char single[] =
    "[net]\nheight=8\nwidth=8\nchannels=3\n[convolutional]\n[avgpool]\n[convolutional]\n";

/* 3x3 convolutions of stride 1, and a maxpool (layer 3). Layers 0 and 1 are expected to be faster
 * by Winograd. */
static const char vgg[] =
    "[net]\nheight=64\nwidth=64\nchannels=64\n"
    "[convolutional]\nfilters=64\nsize=3\npad=1\n[convolutional]\nfilters=64\nsize=3\npad=1\n"
    "[convolutional]\nfilters=4\nsize=3\npad=1\n[maxpool]\nsize=2\nstride=2\n"
    "[convolutional]\nfilters=64\nsize=3\npad=1\n";

/* Depthwise layers 0, 2 and 6 can be fused into the 1x1 convolutions that read them. A maxpool
 * reads depthwise layer 4. */
#define SEPARABLE(layer) "[convolutional]\nfilters=16\ngroups=16\nsize=3\npad=1\n" layer
static const char mobile[] =
    "[net]\nheight=16\nwidth=16\nchannels=16\n" SEPARABLE("[convolutional]\nfilters=16\nsize=1\n")
        SEPARABLE("[convolutional]\nfilters=16\nsize=1\n")
            SEPARABLE("[maxpool]\nsize=2\nstride=2\n")
                SEPARABLE("[convolutional]\nfilters=16\nsize=1\n");

/* ---- reading ---- */

struct reading {
  const char *text, *cfg;
  const char *canonical; /* expected text of the plan's spec */
};

static const struct reading readings[] = {
    {"1x1", chain, "1x1/NoCut"},
    {"1x1/NoCut", chain, "1x1/NoCut"},
    {"5x5/4/2x2", chain, "5x5/4/2x2"}, /* the paper's notation */
    {"2x2/NoCut", chain, "2x2/NoCut"},
    {"3x2/1/2x3/2/1x1/5/6x8", chain,
     "3x2/1/2x3/2/1x1/5/6x8"}, /* any number of groups, a cut anywhere */
    {"1x1/1/1x1/2/1x1/3/1x1/4/1x1/5/1x1", chain, "1x1/1/1x1/2/1x1/3/1x1/4/1x1/5/1x1"},
    {"[2,5]x[4]", chain, "[2,5]x[4]/NoCut"},
    {"[1,2,3,4,5]x[]/5/1x1", chain, "[1,2,3,4,5]x[]/5/1x1"},
    {"[]x[]", chain, "1x1/NoCut"},
    {"[2]x2", chain, "[2]x[4]/NoCut"},    /* even boundaries of the other axis are written, too */
    {"1x1:balanced", chain, "1x1/NoCut"}, /* nothing to balance */
    {"2x2:balanced/4/1x1", chain, "2x2:balanced/4/1x1"},
    {"007x08/3/2x1", chain, "7x8/3/2x1"},
    {"24x32/2/1x1", chain, "24x32/2/1x1"}, /* as many tiles as pixels */
    {"2x2", mixed, "2x2/2/1x1/3/2x2/5/1x1"},
    {"1x1", mixed, "1x1/NoCut"},             /* a group of whole maps is not divided */
    {"5x9", mixed, "5x9/2/1x1/3/3x4/5/1x1"}, /* the next group has at most one tile per pixel */
    {"2x2:balanced", single, "2x2:balanced/1/1x1/2/1x1"}, /* one tile cannot be balanced */
    {"[3]x[5]/2/1x1/3/[1]x[2,3]/5/1x1", mixed, "[3]x[5]/2/1x1/3/[1]x[2,3]/5/1x1"},
    {"rows", chain, "rows4/NoCut"},
    {"rows7", mixed, "rows7/2/1x1/3/rows7/5/1x1"},
    {"panels", chain, "panels/NoCut"},
    {"panels/NoCut", chain, "panels/NoCut"},
    {"panels", mixed, "panels/NoCut"}, /* with layers that need whole maps */
    {"panels:apart/3/panels", chain, "panels:apart/3/panels"},
    {"rows4:loaded/2/panels:streamed", chain, "rows4:loaded/2/panels:streamed"},
    {"rows:streamed", mixed, "rows4:streamed/2/panels:streamed/3/rows4:streamed/5/panels:streamed"},
    {"2x2:loaded", mixed, "2x2:loaded/2/1x1:loaded/3/2x2:loaded/5/1x1:loaded"},
    {"1x1:streamed", chain, "1x1:streamed/NoCut"},
    {"1x1:loaded/3/3x4:streamed", chain, "1x1:loaded/3/3x4:streamed"},
    {"[2]x[4]:loaded", chain, "[2]x[4]:loaded/NoCut"},
    {"panels:streamed:apart", chain, "panels:apart:streamed/NoCut"}, /* in any order */
    {"2x2:loaded:balanced/4/1x1", chain, "2x2:balanced:loaded/4/1x1"},
    {"1x1:balanced:loaded", chain, "1x1:loaded/NoCut"},
    {"1x1:winograd", chain, "1x1:winograd/NoCut"}, /* layers 0 and 3; their default is direct */
    {"1x1:direct", chain, "1x1/NoCut"},            /* defaults are not written */
    {"1x1:winograd0", chain, "1x1:winograd0/NoCut"},
    {"1x1:winograd0,3", chain, "1x1:winograd/NoCut"},
    {"1x1:winograd0-5", chain, "1x1:winograd/NoCut"},
    {"rows4:winograd/3/panels:winograd3:direct5", chain, "rows4:winograd/3/panels:winograd"},
    {"2x2:winograd3:balanced/4/1x1:direct", chain, "2x2:balanced:winograd3/4/1x1"},
    {"rows:streamed:winograd3/4/1x1", chain, "rows4:streamed:winograd3/4/1x1"},
    {"1x1:winograd", vgg, "1x1:winograd/NoCut"},
    {"1x1:direct", vgg, "1x1:direct/NoCut"}, /* layers 0, 1: F(6x6) by default */
    {"1x1:direct1:winograd2", vgg, "1x1:direct1:winograd2/NoCut"},
    {"1x1:direct0,4", vgg, "1x1:direct0/NoCut"},
    {"1x1:winograd2-4", vgg, "1x1:winograd2-4/NoCut"},
    {"1x1:winograd-large", vgg, "1x1:winograd-large/NoCut"},
    {"1x1:winograd-large2,4", vgg, "1x1:winograd-large/NoCut"},
    {"1x1:winograd-large2-4:winograd0", vgg, "1x1:winograd0:winograd-large2-4/NoCut"},
    {"rows4:winograd-large4,2:direct1", vgg, "rows4:direct1:winograd-large2-4/NoCut"},
    {"1x1:direct0:winograd2,4", vgg, "1x1:direct0:winograd2-4/NoCut"},
    {"rows:direct0/2/panels:winograd4", vgg, "rows4:direct0/2/panels:winograd4"},
    {"1x1:dw0", chain, "1x1/NoCut"}, /* no depthwise layer */
    {"1x1:dw0", mobile, "1x1:dw0/NoCut"},
    {"1x1:dw(0:0-7)", mobile, "1x1:dw0/NoCut"},
    {"1x1:dw(3:0-1,3:2-4,3:6)", mobile, "1x1:dw3/NoCut"},
    {"1x1:dw(4:4)", mobile, "1x1/NoCut"}, /* layer 4 cannot be fused */
    {"1x1:dw(2:2-6)", mobile, "1x1:dw(2:2-6)/NoCut"},
    {"1x1:dw(2:2-7,0:6)", mobile, "1x1:dw(2:2,0:6)/NoCut"}, /* the last word applies */
    {"rows2:dw5/2/panels:dw(0:6)", mobile, "rows2:dw5/2/panels:dw(0:6)"},
    {"1x1:dw0/1/1x1:dw0", mobile, "1x1/1/1x1:dw0"}, /* another group reads layer 0 */
};

/* True if the bounds increase from 0 to `extent`. */
static bool bounds_cover(const int *bounds, int n, int extent)
{
  bool rising = bounds[0] == 0 && bounds[n] == extent;
  for (int k = 0; k < n; k++) rising = rising && bounds[k] < bounds[k + 1];
  return rising;
}

/* True if each layer is in one group, and the tiles of each grid cover the map. */
static bool covers(const struct mafat_plan *plan, const struct mafat_network *n)
{
  int at = 0;
  for (int i = 0; i < plan->n_groups; i++) {
    const struct mafat_group *g = &plan->groups[i];
    const struct mafat_grid *grid = &g->cut.as.grid;
    struct mafat_shape out = n->layers[plan->members[g->at.end - 1]].out;
    if (g->at.begin != at || g->at.end <= at) return false;
    for (; at < g->at.end; at++) {
      bool rises = at == g->at.begin || plan->members[at - 1] < plan->members[at];
      if (!rises || plan->group_of[plan->members[at]] != i || plan->group_of[plan->order[at]] != i)
        return false;
    }
    if (g->cut.kind == MAFAT_CUT_GRID ? !bounds_cover(g->row_bounds, grid->n_rows, out.h) ||
                                            !bounds_cover(g->col_bounds, grid->n_cols, out.w)
                                      : g->row_bounds || g->col_bounds)
      return false;
  }
  return at == plan->n_layers;
}

static bool same_grids(const struct mafat_group *g, const struct mafat_group *h)
{
  const struct mafat_grid *a = &g->cut.as.grid, *b = &h->cut.as.grid;
  return a->n_rows == b->n_rows && a->n_cols == b->n_cols && a->balanced == b->balanced &&
         !a->rows == !b->rows &&
         !memcmp(g->row_bounds, h->row_bounds, (size_t)(a->n_rows + 1) * sizeof(int)) &&
         !memcmp(g->col_bounds, h->col_bounds, (size_t)(a->n_cols + 1) * sizeof(int));
}

static bool same_cuts(const struct mafat_group *g, const struct mafat_group *h)
{
  if (g->cut.kind != h->cut.kind) return false;
  switch (g->cut.kind) {
  case MAFAT_CUT_ROWS:
    return g->cut.as.rows.least == h->cut.as.rows.least &&
           g->cut.as.rows.early == h->cut.as.rows.early &&
           g->cut.as.rows.partitioned == h->cut.as.rows.partitioned;
  case MAFAT_CUT_PANELS: return g->cut.as.panels.apart == h->cut.as.panels.apart;
  case MAFAT_CUT_SPLIT: return g->cut.as.split.n == h->cut.as.split.n;
  default: return same_grids(g, h);
  }
}

static bool same_plans(const struct mafat_plan *a, const struct mafat_plan *b)
{
  if (a->n_layers != b->n_layers || a->n_groups != b->n_groups) return false;
  for (int i = 0; i < a->n_groups; i++) {
    const struct mafat_group *g = &a->groups[i], *h = &b->groups[i];
    if (g->at.begin != h->at.begin || g->at.end != h->at.end || !same_cuts(g, h) ||
        g->weights.placement != h->weights.placement || g->weights.ring != h->weights.ring ||
        g->weights.loaded_kb != h->weights.loaded_kb)
      return false;
  }
  size_t bytes = (size_t)a->n_layers * sizeof(int);
  for (int l = 0; l < a->n_layers; l++)
    if (mafat_plan_depthwise_rows(a, l) != mafat_plan_depthwise_rows(b, l)) return false;
  return !memcmp(a->panel_producer, b->panel_producer, bytes) &&
         !memcmp(a->inner, b->inner, bytes) && !memcmp(a->order, b->order, bytes) &&
         !memcmp(a->position, b->position, bytes) &&
         !memcmp(a->algorithms, b->algorithms, (size_t)a->n_layers * sizeof *a->algorithms) &&
         !memcmp(a->placement, b->placement, (size_t)a->n_layers * sizeof *a->placement);
}

/* True if the plan's spec gives the same plan again, including boundaries of balanced grids. */
static bool is_made_again(const struct mafat_plan *plan, const struct mafat_network *n)
{
  struct mafat_spec *spec;
  struct mafat_plan *again;
  struct mafat_plan_options options;
  mafat_plan_defaults(&options);
  options.heap = plan->heap;
  ck_assert_int_eq(mafat_plan_spec(&spec, plan, n), MAFAT_OK);
  ck_assert_int_eq(mafat_plan_make(&again, spec, n, plan->n_layers, &options, NULL), MAFAT_OK);
  bool same = same_plans(plan, again);
  mafat_spec_close(&spec);
  mafat_plan_close(&again);
  return same;
}

/* Each text gives a plan with the expected canonical text, which gives the same plan. */
START_TEST(plans_are_read_and_written)
{
  const struct reading *r = &readings[_i];
  char text[TEST_PLAN_ROOM];
  struct mafat_network *n = test_network(r->cfg);
  struct mafat_plan *plan = test_plan(n, r->text), *again;
  ck_assert_msg(covers(plan, n), "%s: groups or boundaries have holes", r->text);
  ck_assert_msg(is_made_again(plan, n), "%s: its spec gives another plan", r->text);
  ck_assert_uint_eq(test_plan_write(plan, n, text, sizeof text), strlen(text));
  ck_assert_msg(strcmp(text, r->canonical) == 0, "%s is written as %s, expected %s", r->text, text,
                r->canonical);
  again = test_plan(n, text);
  ck_assert_msg(same_plans(plan, again), "%s: reading %s back gives another plan", r->text, text);
  mafat_plan_close(&plan);
  mafat_plan_close(&again);
  mafat_network_close(&n);
}
END_TEST

/* A plan in a heap of its own is the same plan. */
START_TEST(plans_may_have_a_heap_of_their_own)
{
  const struct reading *r = &readings[_i];
  struct mafat_network *n = test_network(r->cfg);
  struct mafat_plan *usual = test_plan(n, r->text), *own;
  struct mafat_plan_options options;
  mafat_plan_defaults(&options);
  ck_assert_int_eq(mafat_heap_open(&options.heap), MAFAT_OK);
  ck_assert_int_eq(mafat_plan_read(&own, r->text, n, n->n_layers, &options, NULL), MAFAT_OK);
  ck_assert_msg(same_plans(usual, own) && is_made_again(own, n), "%s: another plan", r->text);
  mafat_plan_close(&own);
  mafat_plan_close(&usual);
  mafat_heap_close(&options.heap);
  mafat_network_close(&n);
}
END_TEST

/* The canonical text of a random plan gives the same plan. */
START_TEST(random_plans_are_read_and_written)
{
  for (int i = 0; i < 100; i++) {
    struct test_rng rng = test_rng((uint64_t)(_i * 100 + i));
    struct test_network_style style = test_network_style();
    char cfg[TEST_CFG_ROOM], text[TEST_PLAN_ROOM], written[2 * TEST_PLAN_ROOM];
    test_random_network(&rng, &style, cfg, sizeof cfg);
    struct mafat_network *n = test_network(cfg);
    test_random_plan(&rng, n, n->n_layers, text, sizeof text);
    struct mafat_plan *plan = test_plan(n, text), *again = NULL;
    if (!covers(plan, n)) test_fail_case(cfg, text, "holes");
    if (!is_made_again(plan, n)) test_fail_case(cfg, text, "its spec gives another plan");
    ck_assert_uint_lt(test_plan_write(plan, n, written, sizeof written), sizeof written);
    struct mafat_diagnostic d = {""};
    if (mafat_plan_read(&again, written, n, n->n_layers, NULL, &d) != MAFAT_OK)
      test_fail_case(cfg, text, "%s", d.text);
    if (!same_plans(plan, again)) test_fail_case(cfg, text, "%s gives another plan", written);
    mafat_plan_close(&plan);
    mafat_plan_close(&again);
    mafat_network_close(&n);
  }
}
END_TEST

/* A plan may have only the first layers of a network. */
START_TEST(a_plan_may_end_before_the_network)
{
  struct mafat_network *n = test_network(mixed);
  struct mafat_plan *plan = NULL;
  ck_assert_int_eq(mafat_plan_read(&plan, "3x4/1/2x2", n, 2, NULL, NULL), MAFAT_OK);
  ck_assert_int_eq(plan->n_layers, 2);
  ck_assert_int_eq(plan->groups[1].row_bounds[1], 6);
  mafat_plan_close(&plan);
  ck_assert_int_eq(mafat_plan_untiled(&plan, n, 5, NULL, NULL), MAFAT_OK);
  ck_assert_int_eq(plan->n_groups, 1);
  ck_assert(!mafat_group_is_tiled(&plan->groups[0]));
  mafat_plan_close(&plan);
  ck_assert_ptr_null(plan);
  mafat_plan_close(&plan);
  mafat_plan_close(NULL);
  mafat_network_close(&n);
}
END_TEST

START_TEST(every_layer_has_its_group)
{
  struct mafat_network *n = test_network(chain);
  struct mafat_plan *plan = test_plan(n, "3x2/1/2x3/2/1x1/5/6x8");
  static const int groups[] = {0, 1, 2, 2, 2, 3};
  for (int l = 0; l < 6; l++) ck_assert_int_eq(plan->group_of[l], groups[l]);
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

/* Scaled to a map of any size, a grid's shares cover the map once. */
START_TEST(shares_cover_maps_of_any_size)
{
  struct mafat_network *n = test_network(chain);
  struct mafat_plan *plan = test_plan(n, "[1,2,5]x[3]");
  for (int extent = 1; extent < 60; extent++) {
    int at = 0;
    for (int part = 0; part < plan->groups[0].cut.as.grid.n_rows; part++) {
      struct mafat_span s = mafat_group_share(&plan->groups[0], true, part, extent);
      ck_assert_msg(s.begin == at && s.end >= at, "extent %d, part %d", extent, part);
      at = s.end;
    }
    ck_assert_int_eq(at, extent);
  }
  struct mafat_span x = mafat_group_share(&plan->groups[0], false, 1, 8);
  ck_assert(x.begin == 3 && x.end == 8);
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

/* ---- refusing ---- */

struct refusal {
  const char *text, *cfg, *message; /* message: expected part of the diagnostic */
};

static const struct refusal refusals[] = {
    {"", chain, "expected a grid like 5x5 at its end"},
    {"x5", chain, "expected a grid like 5x5 at character 1, found x5"},
    {"-1x1", chain, "expected a grid like 5x5 at character 1"},
    {" 1x1", chain, "expected a grid like 5x5 at character 1"},
    {"rows0", chain, "expected at least 1 row per step, found 0"},
    {"rows-1", chain, "expected / before a cut at character 5, found -1"},
    {"rows4x4", chain, "expected / before a cut at character 6, found x4"},
    {"rows99999999999", chain, "expected a smaller number"},
    {"5", chain, "expected x between the sides of a grid at its end"},
    {"5*5", chain, "expected x between the sides of a grid at character 2, found *5"},
    {"5x", chain, "expected a grid like 5x5 at its end"},
    {"5xy", chain, "expected a grid like 5x5 at character 3, found y"},
    {"0x1", chain, "expected 1 to 65536 tiles per axis, found 0"},
    {"1x65537", chain, "expected 1 to 65536 tiles per axis, found 65537"},
    {"99999999999999999999x1", chain, "expected a smaller number at character 1"},
    {"1048577x1", chain, "expected a smaller number"},
    {"65536x65536", chain, "has more tiles than the output map has pixels (6 x 8, height x width)"},
    {"7x8", chain, "the 7x8 group over layers 0..5 has more tiles"},
    {"6x9", chain, "the 6x9 group over layers 0..5 has more tiles"},
    {"2x2 /4/1x1", chain, "expected / before a cut at character 4"},
    {"2x2/", chain, "expected a cut (a layer number) or NoCut at its end"},
    {"2x2/nocut", chain, "expected a cut (a layer number) or NoCut at character 5, found nocut"},
    {"2x2/0/1x1", chain, "expected a cut between 1 and 5, found 0"},
    {"2x2/6/1x1", chain, "expected a cut between 1 and 5, found 6"},
    {"2x2/4/1x1/4/1x1", chain, "expected a cut between 5 and 5, found 4"},
    {"2x2/4/1x1/3/1x1", chain, "expected a cut between 5 and 5, found 3"},
    {"2x2/4", chain, "expected / and a grid after a cut at its end"},
    {"2x2/4x", chain, "expected / and a grid after a cut at character 6, found x"},
    {"2x2/4/", chain, "expected a grid like 5x5 at its end"},
    {"2x2/4/2x2/NoCut", chain, "expected a cut (a layer number) or NoCut"},
    {"2x2/NoCut/4", chain, "expected a cut (a layer number) or NoCut"},
    {"2x2:even", chain,
     "expected balanced, loaded, streamed, direct, winograd, winograd-large or dw at character 5, "
     "found even"},
    {"2x2:", chain,
     "expected balanced, loaded, streamed, direct, winograd, winograd-large or dw at its end"},
    {"2x2:apart", chain,
     "expected balanced, loaded, streamed, direct, winograd, winograd-large or dw at character 5, "
     "found apart"},
    {"2x2:kept", chain,
     "expected balanced, loaded, streamed, direct, winograd, winograd-large or dw at character 5, "
     "found kept"},
    {"2x2:loadedly", chain, "expected / before a cut at character 11, found ly"},
    {"2x2loaded", chain, "expected / before a cut at character 4, found loaded"},
    {":loaded", chain, "expected a grid like 5x5 at character 1, found :loaded"},
    {"panel", chain, "expected a grid like 5x5 at character 1, found panel"},
    {"panels4", chain, "expected / before a cut at character 7, found 4"},
    {"panelsx2", chain, "expected / before a cut at character 7, found x2"},
    {"panels:", chain,
     "expected apart, loaded, streamed, direct, winograd, winograd-large or dw at its end"},
    {"panels:balanced", chain,
     "expected apart, loaded, streamed, direct, winograd, winograd-large or dw at character 8, "
     "found balanced"},
    {"panels:apart:balanced", chain,
     "expected apart, loaded, streamed, direct, winograd, winograd-large or dw at character 14, "
     "found balanced"},
    {"rows:", chain,
     "expected early, bricks, loaded, streamed, direct, winograd, winograd-large or dw at its end"},
    {"rows:apart", chain,
     "expected early, bricks, loaded, streamed, direct, winograd, winograd-large or dw at "
     "character 6, found apart"},
    {"rows4:balanced", chain,
     "expected early, bricks, loaded, streamed, direct, winograd, winograd-large or dw at "
     "character 7, found balanced"},
    {"rows4:streamed3", chain, "expected a ring of 4 to 64 reads, found 3"},
    {"1x1:direct:winograd", chain,
     "expected layers after :winograd, because the group has another algorithm, too"},
    {"1x1:direct1:winograd", chain,
     "expected layers after :winograd, because the group has another algorithm, too"},
    {"1x1:winograd:winograd-large0", chain,
     "expected layers after :winograd, because the group has another algorithm, too"},
    {"1x1:winograd-large1", chain,
     "expected a 3x3 convolution of stride 1 after :winograd-large, found layer 1 "
     "[convolutional]"},
    {"1x1:direct3:direct4", chain, "each word may be given once"},
    {"rows:early:early", chain, "each word may be given once"},
    {"rows:bricks:early:bricks", chain, "each word may be given once"},
    {"1x1:bricks", chain,
     "expected balanced, loaded, streamed, direct, winograd, winograd-large or dw at character 5, "
     "found bricks"},
    {"1x1/2,/1x1", chain, "expected a layer at character 7, found /1x1"},
    {"1x1/2,4-3/1x1", chain, "expected layers in rising order, found 4-3"},
    {"1x1/2,1/1x1", chain,
     "expected layers below 6 that are in no group yet after the cut at 2, found 1"},
    {"1x1/2,6/1x1", chain,
     "expected layers below 6 that are in no group yet after the cut at 2, found 6"},
    {"1x1/2,3,3/1x1", chain,
     "expected layers below 6 that are in no group yet after the cut at 2, found 3"},
    {"1x1/2,3/1x1", chain,
     "layer 3 [convolutional] reads layer 2 [maxpool], which is in a later group"},
    {"1x1/0,0-5/1x1", chain, "no layer is left for the last group"},
    {"1x1/0/1x1", chain, "expected a cut between 1 and 5, found 0"},
    {"1x1:direct6", chain, "expected layers 0 to 5 after :direct, found 6"},
    {"1x1/2/1x1:direct1-3", chain, "expected layers 2 to 5 after :direct, found 1"},
    {"1x1:winograd1", chain,
     "expected a 3x3 convolution of stride 1 after :winograd, found layer 1 [convolutional]"},
    {"1x1:direct3-1", chain, "expected layers in rising order, found 3-1"},
    {"1x1:direct3,", chain, "expected a layer at character 13, found its end"},
    {"1x1:direct3-x", chain, "expected a layer at character 13, found x"},
    {"1x1:direct99999", chain, "expected a smaller layer number at character 14"},
    {"1x1:direct-3", chain, "expected / before a cut at character 11, found -3"},
    {"1x1/order=", chain,
     "expected file, postorder, forward, sp or best, followed by /inplace, /ranks= or nothing, at "
     "its end"},
    {"1x1/order=random", chain,
     "followed by /inplace, /ranks= or nothing, at character 11, found random"},
    {"1x1/order=best/2/1x1", chain,
     "followed by /inplace, /ranks= or nothing, at character 11, found best/2/1x1"},
    {"1x1/inplace/order=best", chain,
     "expected /inplace, and nothing after it, at character 4, found /inplace/order=best"},
    {"1x1/order=best/inplace/", chain, "at character 11, found best/inplace/"},
    {"1x1/2/inplace", chain, "expected a grid like 5x5 at character 7"},
    {"1x1/order=best/order=best", chain, "expected file, postorder"},
    {"1x1/2/order=best", chain, "expected a grid like 5x5 at character 7"},
    {"1x1/NoCutorder=best", chain, "expected a cut (a layer number) or NoCut at character 5"},
    {"rows/order=sp", chain, "order=sp has no effect: layers of groups by rows run on demand"},
    {"split", chain, "expected a grid like 5x5 at character 1, found split"},
    {"split()", chain, "expected the axis of a split (h, w or c) at character 7, found )"},
    {"split(x2:1)", chain,
     "expected the axis of a split (h, w or c) at character 7, found x2:1)"},
    {"split(h:1)", chain, "expected a number of parts, or [ at character 8, found :1)"},
    {"split(h1:1)", chain, "expected 2 to 4096 parts, found 1"},
    {"split(h4097:1)", chain, "expected 2 to 4096 parts, found 4097"},
    {"split(h2)", chain, "expected a colon and layers at character 9, found )"},
    {"split(h2:)", chain, "expected a layer at character 10, found )"},
    {"split(h2:3-1)", chain, "expected layers in rising order, found 3-1"},
    {"split(h2:1", chain, "expected a comma or ) at its end"},
    {"split(h[3,2]:1)", chain, "expected rising boundaries above 0, found 2"},
    {"split(h2:4-6)", chain, "expected layers 0 to 5 after h2, found 6"},
    {"1x1/2/split(h2:1)", chain, "expected layers 2 to 5 after h2, found 1"},
    {"split(h2:1,h2:0-3)", chain,
     "layer 1 [convolutional] cannot be split along rows: it is split twice"},
    {"split(c2:0-2)", wide,
     "layer 1 [convolutional] cannot be split along channels: it sums over the channels "
     "that are split, which only the split's last layer may"},
    {"split(c5:0-1)", wide,
     "layer 0 [convolutional] has 64 channels, in units of 16, which are too few for 5 parts"},
    {"split(c3:0-1):streamed", wide,
     "layer 0 [convolutional] has 64 channels, in units of 32, which are too few for 3 parts"},
    {"split(c[15]:0)", wide, "which are too few for 2 parts at these bounds"},
    {"split(h2:0-3)", wide,
     "layer 3 [softmax] cannot be split along rows: it can only compute all of them at once"},
    {"split(c2:2-3)", wide, "layer 3 [softmax] cannot be split along channels"},
    {"split(c2:0-1):winograd1", wide, "expected a 3x3 convolution of stride 1 after :winograd"},
    {"split(h99:1)", chain, "which are too few for 99 parts"},
    {"split(h2:0-5:loaded)", chain, "expected a comma or ) at character 13, found :loaded)"},
    {"1x1:dw", chain, "expected rows or ( after dw at its end"},
    {"1x1:dw(3)", chain, "expected a colon and layers at character 9, found )"},
    {"1x1:dw(:3)", chain, "expected rows, a colon and layers at character 8, found :3)"},
    {"1x1:dw(0:1", chain, "expected a comma or ) at its end"},
    {"1x1:dw(0:1-2,)", chain, "expected rows, a colon and layers at character 14, found )"},
    {"1x1:dw2:dw(0:1-2)", chain, "each word may be given once"},
    {"1x1:dw(0:4-6)", chain, "expected layers of its group, from 0 to 5, after :dw, found 4-6"},
    {"1x1/2/1x1:dw(0:1-3)", chain,
     "expected layers of its group, from 2 to 5, after :dw, found 1-3"},
    {"1x1:dw(0:2)", chain, "expected a depthwise convolution after :dw, found layer 2 [maxpool]"},
    {"2x2:loaded:streamed", chain,
     "each word may be given once, and weights are loaded or streamed, not both"},
    {"rows:loaded:loaded", chain, "each word may be given once"},
    {"2x2:balanced:balanced", chain, "each word may be given once"},
    {"panels:apart:streamed:apart", chain, "each word may be given once"},
    {"[2]x[2]:loaded:balanced", chain, "boundaries are given or balanced, not both"},
    {"panels/NoCut:loaded", chain, "expected a cut (a layer number) or NoCut"},
    {"panels/4/panels/NoCut", chain, "expected a cut (a layer number) or NoCut"},
    {"[2]x[2]:balanced", chain, "boundaries are given or balanced, not both"},
    {"[2", chain, "expected a comma or ] at its end"},
    {"[2;3]x1", chain, "expected a comma or ] at character 3"},
    {"[2,]x1", chain, "expected a boundary at character 4"},
    {"[,2]x1", chain, "expected a boundary at character 2"},
    {"[0]x1", chain, "expected rising boundaries above 0, found 0"},
    {"[3,3]x1", chain, "expected rising boundaries above 0, found 3"},
    {"[3,2]x1", chain, "expected rising boundaries above 0, found 2"},
    {"[6]x[4]", chain, "has a row boundary outside the output map (6 x 8, height x width)"},
    {"[3]x[4,8]", chain, "has a column boundary outside the output map"},
    {"[3]x[5]", mixed,
     "given boundaries over layers 0..7, but layer 2 [reorg] cannot be tiled: cut there"},
    {"1x1/2/[3]x[4]", mixed,
     "given boundaries over layers 2..7, but layer 2 [reorg] cannot be tiled: cut there"},
};

/* Each text is rejected with its message. */
START_TEST(other_texts_are_refused)
{
  const struct refusal *r = &refusals[_i];
  struct mafat_network *n = test_network(r->cfg);
  struct mafat_plan *plan = NULL;
  struct mafat_diagnostic d = {""};
  int code = mafat_plan_read(&plan, r->text, n, n->n_layers, NULL, &d);
  ck_assert_msg(code == MAFAT_EINVAL, "\"%s\": %s: %s", r->text, mafat_error_name(code), d.text);
  ck_assert_msg(plan == NULL, "\"%s\"", r->text);
  ck_assert_msg(strstr(d.text, r->message) && strncmp(d.text, "plan ", 5) == 0, "\"%s\": %s",
                r->text, d.text);
  ck_assert_int_eq(mafat_plan_read(&plan, r->text, n, n->n_layers, NULL, NULL), MAFAT_EINVAL);
  mafat_network_close(&n);
}
END_TEST

/* A wrong number of layers, and a text that is too long, are rejected. */
START_TEST(layers_and_lengths_are_checked)
{
  struct mafat_network *n = test_network(chain);
  struct mafat_plan *plan = NULL;
  struct mafat_diagnostic d = {""};
  ck_assert_int_eq(mafat_plan_read(&plan, "1x1", n, 0, NULL, &d), MAFAT_EINVAL);
  ck_assert_str_eq(d.text, "expected 1 to 6 layers, found 0");
  ck_assert_int_eq(mafat_plan_read(&plan, "1x1", n, 7, NULL, &d), MAFAT_EINVAL);
  ck_assert_str_eq(d.text, "expected 1 to 6 layers, found 7");
  char *long_text = calloc(1 << 17, 1);
  memset(long_text, '1', (1 << 17) - 1);
  ck_assert_int_eq(mafat_plan_read(&plan, long_text, n, 6, NULL, &d), MAFAT_EINVAL);
  ck_assert_str_eq(d.text, "plan: the text is too long");
  free(long_text);
  mafat_network_close(&n);
}
END_TEST

/* ---- options ---- */

/* Without options, a plan has the default options. */
START_TEST(the_defaults_are_auto_on_one_thread)
{
  struct mafat_network *n = test_network(chain);
  struct mafat_plan_options options;
  memset(&options, 0xff, sizeof options);
  mafat_plan_defaults(&options);
  ck_assert_int_eq(options.algorithm, MAFAT_AUTO);
  ck_assert_int_eq(options.n_threads, 1);
  ck_assert(!options.keep_all);
  struct mafat_plan *by_none = test_plan(n, "2x2/4/1x1"),
                    *by_default = test_plan_with(n, "2x2/4/1x1", &options);
  ck_assert(same_plans(by_none, by_default));
  ck_assert_int_eq(by_none->n_threads, by_default->n_threads);
  ck_assert_mem_eq(by_none->algorithms, by_default->algorithms, 6 * sizeof *by_none->algorithms);
  ck_assert_mem_eq(by_none->inner, by_default->inner, 6 * sizeof *by_none->inner);
  mafat_plan_close(&by_none);
  mafat_plan_close(&by_default);
  mafat_network_close(&n);
}
END_TEST

/* Numbers of threads other than 1 to 64 are rejected. */
START_TEST(threads_are_1_to_64)
{
  static const int counts[] = {1, 2, 64, 0, -1, 65, 1 << 30};
  struct mafat_network *n = test_network(chain);
  struct mafat_plan_options options;
  mafat_plan_defaults(&options);
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    struct mafat_plan *plan = NULL;
    struct mafat_diagnostic d = {""};
    char message[64];
    options.n_threads = counts[i];
    int code = mafat_plan_read(&plan, "1x1", n, n->n_layers, &options, &d);
    if (counts[i] >= 1 && counts[i] <= MAFAT_MAX_THREADS) {
      ck_assert_msg(code == MAFAT_OK && plan->n_threads == counts[i], "%d threads: %s", counts[i],
                    d.text);
    } else {
      snprintf(message, sizeof message, "expected 1 to 64 threads, found %d", counts[i]);
      ck_assert_msg(code == MAFAT_EINVAL && !plan, "%d threads: %s", counts[i],
                    mafat_error_name(code));
      ck_assert_str_eq(d.text, message);
      ck_assert_int_eq(mafat_plan_untiled(&plan, n, n->n_layers, &options, NULL), MAFAT_EINVAL);
    }
    mafat_plan_close(&plan);
  }
  mafat_network_close(&n);
}
END_TEST

/* Names of algorithms are found, and other names are not. */
START_TEST(algorithms_are_found_by_their_names)
{
  static const char *const strangers[] = {"",          "Auto", "direc", "directly",
                                          "winograd ", "gemm", "0"};
  enum mafat_algorithm found;
  for (int a = MAFAT_AUTO; a < MAFAT_N_ALGORITHMS; a++) {
    found = (enum mafat_algorithm)((a + 1) % 3);
    ck_assert(mafat_algorithm_find(&found, mafat_algorithm_name((enum mafat_algorithm)a)));
    ck_assert_int_eq(found, a);
  }
  ck_assert_str_eq(mafat_algorithm_name(MAFAT_AUTO), "auto");
  ck_assert_str_eq(mafat_algorithm_name(MAFAT_DIRECT), "direct");
  ck_assert_str_eq(mafat_algorithm_name(MAFAT_WINOGRAD), "winograd");
  for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
    found = MAFAT_DIRECT;
    ck_assert_msg(!mafat_algorithm_find(&found, strangers[i]), "\"%s\"", strangers[i]);
    ck_assert_int_eq(found, MAFAT_DIRECT);
  }
}
END_TEST

/* If the text names no algorithm for a layer, the options' algorithm applies, and the plan's text
 * contains it. */
START_TEST(options_may_give_each_layer_its_algorithm)
{
  static const enum mafat_algorithm given[] = {MAFAT_WINOGRAD_LARGE, MAFAT_DIRECT, MAFAT_DIRECT,
                                               MAFAT_DIRECT, MAFAT_WINOGRAD};
  struct mafat_network *n = test_network(vgg);
  struct mafat_plan_options options;
  struct mafat_plan *plan, *again;
  struct mafat_spec *spec;
  mafat_plan_defaults(&options);
  options.algorithms = given;
  ck_assert_int_eq(mafat_plan_read(&plan, "1x1:winograd1", n, n->n_layers, &options, NULL),
                   MAFAT_OK);
  for (int l = 0; l < n->n_layers; l++)
    ck_assert_int_eq(plan->algorithms[l], l == 1 ? MAFAT_WINOGRAD : given[l]);
  ck_assert_int_eq(mafat_plan_spec(&spec, plan, n), MAFAT_OK);
  ck_assert_int_eq(mafat_plan_make(&again, spec, n, n->n_layers, NULL, NULL), MAFAT_OK);
  ck_assert_mem_eq(again->algorithms, plan->algorithms,
                   (size_t)n->n_layers * sizeof *plan->algorithms);
  mafat_spec_close(&spec);
  mafat_plan_close(&again);
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

/* An algorithm for all layers, threads and keep_all do not change a plan's text. */
START_TEST(options_leave_the_text_alone)
{
  struct mafat_network *n = test_network(chain);
  char text[TEST_PLAN_ROOM];
  for (int a = MAFAT_AUTO; a < MAFAT_N_ALGORITHMS; a++)
    for (int keep_all = 0; keep_all < 2; keep_all++) {
      struct mafat_plan_options options = {.algorithm = (enum mafat_algorithm)a,
                                           .n_threads = 1 + 3 * keep_all,
                                           .keep_all = keep_all};
      struct mafat_plan *plan = test_plan_with(n, "3x2/4/[1,2]x[3]", &options);
      test_plan_write(plan, n, text, sizeof text);
      ck_assert_str_eq(text, "3x2/4/[1,2]x[3]");
      mafat_plan_close(&plan);
    }
  mafat_network_close(&n);
}
END_TEST

/* ---- weight placement, and which layers are divided ---- */

/* A convolution (0), a depthwise one fused into a 1x1 (1, 2), one with groups (3), batchnorm (4), a
 * wide convolution and the 1x1 that reads it (5, 6), a convolution fused into a maxpool (7, 8), a
 * convolution fused into a shortcut (9, 10), a local layer (11), a convolution (12), two connected
 * layers (13, 14). */
static const char weighty[] =
    "[net]\nheight=12\nwidth=16\nchannels=3\n[convolutional]\nfilters=16\nsize=3\npad=1\n"
    "[convolutional]\nfilters=16\ngroups=16\nsize=3\npad=1\n[convolutional]\nfilters=24\nsize=1\n"
    "[convolutional]\nfilters=24\ngroups=2\nsize=3\npad=1\n[batchnorm]\n"
    "[convolutional]\nfilters=64\nsize=3\npad=1\n[convolutional]\nfilters=8\nsize=1\n"
    "[convolutional]\nfilters=8\nsize=3\npad=1\n[maxpool]\nsize=2\nstride=2\n"
    "[convolutional]\nfilters=8\nsize=3\npad=1\n[shortcut]\nfrom=-2\n"
    "[local]\nfilters=5\nsize=3\npad=1\n[convolutional]\nfilters=9\nsize=3\npad=1\n"
    "[connected]\noutput=40\n[connected]\noutput=7\n";

struct placement_row {
  const char *plan;
  int n_threads;
  bool keep_all;
  const char *placement; /* expected, for each layer: k(ept), l(oaded), s(treamed), or - */
  const char *divided;   /* expected, for each layer: d if its steps are panels */
};

static const struct placement_row placement_rows[] = {
    {"1x1", 1, false, "kkkkkkkk-k-kkkk", "..............."},
    {"1x1:loaded", 1, false, "llllllll-l-llll", "..............."},
    {"1x1:streamed", 1, false, "llllllll-l-llll", "..............."},
    {"2x2:streamed", 1, false, "llllllll-l-llll", "..............."},
    {"2x2:balanced:streamed/5/1x1", 1, false, "lllllkkk-k-kkkk", "..............."},
    {"rows", 1, false, "kkkkkkkk-k-kkkk", "..............."},
    {"rows:loaded", 1, false, "llllllll-l-llll", "..............."},
    /* the local layer and the connected ones become groups in panels */
    {"rows:streamed", 1, false, "sllllsss-s-lsss", "d....dd.d.d.ddd"},
    {"rows:streamed", 1, true, "slsllsss-s-lsss", "d.d..ddd.d..ddd"},
    {"panels", 1, false, "kkkkkkkk-k-kkkk", "d....d..d.d.ddd"},
    {"panels:loaded", 1, false, "llllllll-l-llll", "d....d..d.d.ddd"},
    {"panels:streamed", 1, false, "sllllsls-s-lsss",
     "d....d..d.d.ddd"}, /* 5 and 6 are a panel fusion */
    {"panels:apart:streamed", 1, false, "sllllsss-s-lsss", "d....dd.d.d.ddd"},
    {"panels:streamed", 2, false, "sllllsss-s-lsss",
     "d....dd.d.d.ddd"}, /* 64 filters are one panel for each of two threads: no panel fusion */
    {"panels:streamed", 1, true, "slsllsss-s-lsss", "d.d..ddd.d..ddd"},
    {"panels:streamed/6/rows:streamed/11/panels", 1, false, "sllllsss-s-kkkk", "d....dd.d.d.ddd"},
    {"rows:loaded/5/panels/7/1x1:streamed", 1, false, "lllllkkl-l-llll", ".....d........."},
};

/* Weights are placed, and layers divided, as each row says, with any algorithm. */
START_TEST(weights_are_where_they_can_be)
{
  const struct placement_row *r = &placement_rows[_i];
  struct mafat_network *n = test_network(weighty);
  for (int a = MAFAT_AUTO; a < MAFAT_N_ALGORITHMS; a++) {
    struct mafat_plan_options options = {
        .algorithm = (enum mafat_algorithm)a, .n_threads = r->n_threads, .keep_all = r->keep_all};
    struct mafat_plan *plan = test_plan_with(n, r->plan, &options);
    char placement[16] = "", divided[16] = "";
    for (int l = 0; l < n->n_layers; l++) {
      bool has_weights = mafat_packed_layer_bytes(&n->layers[l]) > 0;
      bool divides = plan->outer[l] < 0 && mafat_plan_divides(plan, n, l);
      placement[l] = has_weights ? "kls"[plan->placement[l]] : '-';
      divided[l] = divides ? 'd' : '.';
      bool winograd = mafat_plan_winograd(plan, l) != NULL;
      if (plan->outer[l] < 0)
        ck_assert_int_eq(mafat_plan_transforms(plan, n, l), divides && winograd);
    }
    ck_assert_msg(strcmp(placement, r->placement) == 0 && strcmp(divided, r->divided) == 0,
                  "%s: %s, expected %s; divided %s, expected %s", r->plan, placement, r->placement,
                  divided, r->divided);
    mafat_plan_close(&plan);
  }
  mafat_network_close(&n);
}
END_TEST

/* ---- balanced boundaries ---- */

static size_t plan_bytes(const struct mafat_network *n, const char *format, int rows, int cols)
{
  char text[64];
  snprintf(text, sizeof text, format, rows, cols);
  struct mafat_plan *plan = test_plan(n, text);
  struct mafat_layout *layout = test_layout(n, plan);
  size_t bytes = layout->total_bytes;
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  return bytes;
}

/* A balanced grid needs no more bytes than an even one. */
START_TEST(balanced_is_never_worse_than_even)
{
  for (int i = 0; i < 300; i++) {
    struct test_rng rng = test_rng((uint64_t)(_i * 300 + i));
    struct test_network_style style = test_network_style();
    char cfg[TEST_CFG_ROOM];
    style.edges = i % 2;
    style.whole_maps = style.heads = false;
    test_random_network(&rng, &style, cfg, sizeof cfg);
    struct mafat_network *n = test_network(cfg);
    struct mafat_shape out = n->layers[n->n_layers - 1].out;
    int rows = test_random_int(&rng, 1, mafat_min(out.h, 6)),
        cols = test_random_int(&rng, 1, mafat_min(out.w, 6));
    size_t even = plan_bytes(n, "%dx%d", rows, cols),
           balanced = plan_bytes(n, "%dx%d:balanced", rows, cols);
    if (balanced > even)
      test_fail_case(cfg, "balanced", "seed %d, %dx%d: %zu bytes balanced, %zu even", _i * 300 + i,
                     rows, cols, balanced, even);
    mafat_network_close(&n);
  }
}
END_TEST

/* In a balanced grid, tiles at the map's edge are larger, because they overlap on one side only. */
START_TEST(balanced_gives_the_edges_more)
{
  struct mafat_network *n = test_network(
      "[net]\nheight=60\nwidth=60\nchannels=3\n"
      "[convolutional]\nfilters=16\nsize=5\npad=1\n[convolutional]\nfilters=16\nsize=5\npad=1\n"
      "[convolutional]\nfilters=16\nsize=5\npad=1\n");
  struct mafat_plan *plan = test_plan(n, "4x1:balanced");
  const int *b = plan->groups[0].row_bounds;
  ck_assert_msg(b[1] - b[0] > b[2] - b[1] && b[4] - b[3] >= b[3] - b[2], "%d %d %d %d %d", b[0],
                b[1], b[2], b[3], b[4]);
  ck_assert_uint_lt(plan_bytes(n, "%dx%d:balanced", 4, 1), plan_bytes(n, "%dx%d", 4, 1));
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

Suite *plan_suite(void)
{
  Suite *suite = suite_create("plan");
  TCase *reading = tcase_create("reading");
  tcase_set_timeout(reading, 60);
  tcase_add_loop_test(reading, plans_are_read_and_written, 0, sizeof readings / sizeof *readings);
  tcase_add_loop_test(reading, plans_may_have_a_heap_of_their_own, 0,
                      sizeof readings / sizeof *readings);
  tcase_add_loop_test(reading, random_plans_are_read_and_written, 0, test_seeds(10));
  tcase_add_test(reading, a_plan_may_end_before_the_network);
  tcase_add_test(reading, every_layer_has_its_group);
  tcase_add_test(reading, shares_cover_maps_of_any_size);
  suite_add_tcase(suite, reading);
  TCase *refusing = tcase_create("refusing");
  tcase_add_loop_test(refusing, other_texts_are_refused, 0, sizeof refusals / sizeof *refusals);
  tcase_add_test(refusing, layers_and_lengths_are_checked);
  suite_add_tcase(suite, refusing);
  TCase *options = tcase_create("options");
  tcase_add_test(options, the_defaults_are_auto_on_one_thread);
  tcase_add_test(options, threads_are_1_to_64);
  tcase_add_test(options, algorithms_are_found_by_their_names);
  tcase_add_test(options, options_may_give_each_layer_its_algorithm);
  tcase_add_test(options, options_leave_the_text_alone);
  suite_add_tcase(suite, options);
  TCase *weights = tcase_create("weights");
  tcase_add_loop_test(weights, weights_are_where_they_can_be, 0,
                      sizeof placement_rows / sizeof *placement_rows);
  suite_add_tcase(suite, weights);
  TCase *balancing = tcase_create("balancing");
  tcase_set_timeout(balancing, 60);
  tcase_add_loop_test(balancing, balanced_is_never_worse_than_even, 0, test_seeds(10));
  tcase_add_test(balancing, balanced_gives_the_edges_more);
  suite_add_tcase(suite, balancing);
  return suite;
}
