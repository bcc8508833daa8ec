/* Covers predictor/plan/order.c: the execution order of layers, and panel fusions. */
#include "predictor/plan/order.h"

#include "predictor/plan/fusion.h"
#include "predictor/schedule/schedule.h"
#include "tests/support/support.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *order_suite(void);

#define NET "[net]\nheight=14\nwidth=18\nchannels=8\n"
#define CONV "[convolutional]\nfilters=8\nsize=3\npad=1\nactivation=leaky\n"
#define WIDE "[convolutional]\nfilters=80\nsize=3\npad=1\nactivation=leaky\n"
#define NARROW "[convolutional]\nfilters=8\nsize=1\nactivation=leaky\n"
#define POOL "[maxpool]\nsize=2\nstride=2\n"
#define POOL3 "[maxpool]\nsize=3\nstride=1\n"
#define HEAD \
  "[convolutional]\nfilters=18\nsize=1\n[yolo]\nclasses=1\nnum=3\nmask=0,1,2\nanchors=1,2,3,4,5,6\n"

/* Writes a list of numbers; "-" for negative ones. */
static void write_numbers(const int *numbers, int n, char *text, size_t capacity)
{
  size_t used = 0;
  text[0] = '\0';
  for (int i = 0; i < n; i++) {
    const char *space = i ? " " : "";
    used += (size_t)(numbers[i] < 0
                         ? snprintf(text + used, capacity - used, "%s-", space)
                         : snprintf(text + used, capacity - used, "%s%d", space, numbers[i]));
  }
}

/* ---- panel fusions ---- */

struct panel_fusion_row {
  const char *what, *cfg, *plan;
  int n_threads;
  bool keep_all;
  const char *fused; /* expected, for each layer: convolution of its panel fusion, or - */
};

static const struct panel_fusion_row panel_fusion_rows[] = {
    {"a 1x1", NET WIDE NARROW, "panels", 1, false, "0 0"},
    {"the producer is a 1x1",
     NET "[convolutional]\nfilters=80\nsize=1\n" NARROW, "panels", 1, false,
     "0 0"},
    {"in the second group", NET CONV WIDE NARROW, "1x1/1/panels", 1, false, "- 1 1"},
    {"two 1x1s", NET WIDE NARROW "[route]\nlayers=0\n" NARROW "[route]\nlayers=1,3\n", "panels", 1,
     false, "0 0 - 0 -"},
    {"a 1x1 and a maxpool", NET WIDE NARROW "[route]\nlayers=0\n" POOL3 "[route]\nlayers=1,3\n",
     "panels", 1, false, "0 0 - 0 -"},
    {"a maxpool, then a 1x1, as in yolov2",
     NET WIDE POOL CONV "[route]\nlayers=0\n" NARROW
                        "[reorg]\nstride=2\n[route]\nlayers=-1,2\n" CONV,
     "panels", 1, false, "0 0 - - 0 - - -"},
    {"after dropout", NET WIDE "[dropout]\nprobability=.5\n" NARROW, "panels", 1, false, "0 - 0"},
    {"a 1x1 inside a shortcut", NET CONV WIDE NARROW "[shortcut]\nfrom=0\n", "panels", 1, false,
     "- 1 - 1"},
    {"a shortcut that adds a map of an earlier group", NET CONV WIDE NARROW "[shortcut]\nfrom=0\n",
     "2x2/1/panels", 1, false, "- 1 - 1"},
    {"two panel fusions", NET WIDE NARROW WIDE NARROW, "panels", 1, false, "0 0 2 2"},
    {"a reader in a panel fusion begins no other",
     NET WIDE "[convolutional]\nfilters=80\nsize=1\n" NARROW,
     "panels", 1, false, "0 0 -"},
    {"nobody needs the other reader",
     NET WIDE NARROW "[route]\nlayers=0\n" CONV "[route]\nlayers=1\n", "panels", 1, false,
     "0 0 - - -"},
    {"more filters than a panel", NET "[convolutional]\nfilters=33\nsize=3\npad=1\n" NARROW,
     "panels", 1, false, "0 0"},
    {"more than two threads' panels", NET WIDE NARROW, "panels", 2, false, "0 0"},
    {"streamed", NET WIDE NARROW, "panels:streamed", 1, false, "0 0"},

    {"no more filters than a panel", NET "[convolutional]\nfilters=32\nsize=3\npad=1\n" NARROW,
     "panels", 1, false, "- -"},
    {"no more than three threads' panels", NET WIDE NARROW, "panels", 3, false, "- -"},
    {"the plan says apart", NET WIDE NARROW, "panels:apart", 1, false, "- -"},
    {"all maps are kept", NET WIDE NARROW, "panels", 1, true, "- -"},
    {"whole maps", NET WIDE NARROW, "1x1", 1, false, "- -"},
    {"rows", NET WIDE NARROW, "rows", 1, false, "- -"},
    {"tiles", NET WIDE NARROW, "2x2", 1, false, "- -"},
    {"a cut between them", NET WIDE NARROW, "panels/1/panels", 1, false, "- -"},
    {"a later group reads it, too",
     NET WIDE NARROW "[route]\nlayers=0\n" NARROW "[route]\nlayers=1,3\n", "panels/2/panels", 1,
     false, "- - - - -"},
    {"a 3x3", NET WIDE CONV, "panels", 1, false, "- -"},
    {"a 1x1 and a 3x3", NET WIDE NARROW "[route]\nlayers=0\n" CONV "[route]\nlayers=1,3\n",
     "panels", 1, false, "- - - - -"},
    {"a maxpool alone", NET WIDE POOL3, "panels", 1, false, "- -"},
    {"the producer is pooled where it is stored",
     NET WIDE POOL NARROW, "panels", 1, false, "- - -"},
    {"the 1x1 is pooled where it is stored", NET WIDE NARROW POOL, "panels", 1, false, "- - -"},
    {"a 1x1 of stride 2", NET WIDE "[convolutional]\nfilters=8\nsize=1\nstride=2\n", "panels", 1,
     false, "- -"},
    {"a 1x1 with padding", NET WIDE "[convolutional]\nfilters=8\nsize=1\npadding=1\n", "panels", 1,
     false, "- -"},
    {"a 1x1 with groups", NET WIDE "[convolutional]\nfilters=8\nsize=1\ngroups=2\n", "panels", 1,
     false, "- -"},
    {"a 1x1 with a depthwise convolution inside",
     NET WIDE "[convolutional]\nfilters=80\ngroups=80\nsize=3\npad=1\n" NARROW, "panels", 1, false,
     "- - -"},
    {"the producer has groups", NET "[convolutional]\nfilters=80\nsize=3\npad=1\ngroups=2\n" NARROW,
     "panels", 1, false, "- -"},
    {"half of the channels", NET WIDE "[route]\nlayers=-1\ngroups=2\ngroup_id=0\n" NARROW, "panels",
     1, false, "- - -"},
    {"a concatenation", NET CONV WIDE "[route]\nlayers=0,1\n" NARROW, "panels", 1, false,
     "- - - -"},
    {"a concatenation with itself", NET WIDE "[route]\nlayers=0,0\n" NARROW, "panels", 1, false,
     "- - -"},
    {"an upsample",
     NET WIDE NARROW "[route]\nlayers=0\n[upsample]\nstride=2\n" POOL "[route]\nlayers=1,4\n",
     "panels", 1, false, "- - - - - -"},
    {"the producer is an output of the network",
     NET WIDE NARROW HEAD "[route]\nlayers=0\n", "panels", 1, false,
     "- - - - -"},
    {"a detection head",
     NET "[convolutional]\nfilters=48\nsize=1\n[yolo]\nclasses=11\nnum=3\nmask=0,1,2\n"
         "anchors=1,2,3,4,5,6\n[route]\nlayers=0\n" NARROW,
     "panels", 1, false, "- - - -"},
    {"a shortcut that adds the wide map",
     NET WIDE "[convolutional]\nfilters=80\nsize=1\n[shortcut]\nfrom=0\n", "panels", 1, false,
     "- - -"},
    {"a shortcut that adds the output of another reader",
     NET WIDE NARROW "[route]\nlayers=0\n" NARROW "[shortcut]\nfrom=1\n", "panels", 1, false,
     "- - - - -"},
};

/* Exactly the panel fusions of each row are found, with any algorithm. */
START_TEST(panel_fusions_are_these)
{
  const struct panel_fusion_row *r = &panel_fusion_rows[_i];
  struct mafat_network *n = test_network(r->cfg);
  for (int a = MAFAT_AUTO; a <= MAFAT_WINOGRAD; a++) {
    struct mafat_plan_options options = {
        .algorithm = (enum mafat_algorithm)a, .n_threads = r->n_threads, .keep_all = r->keep_all};
    struct mafat_plan *plan = test_plan_with(n, r->plan, &options);
    char fused[256];
    write_numbers(plan->panel_producer, plan->n_layers, fused, sizeof fused);
    ck_assert_msg(strcmp(fused, r->fused) == 0, "%s: %s, expected %s", r->what, fused, r->fused);
    for (int l = 0; l < plan->n_layers; l++) {
      ck_assert_int_eq(mafat_order_is_panel_producer(plan, l), plan->panel_producer[l] == l);
      ck_assert_int_eq(mafat_order_is_panel_consumer(plan, l),
                       plan->panel_producer[l] >= 0 && plan->panel_producer[l] < l);
      ck_assert_msg(plan->panel_producer[l] < 0 ||
                        plan->position[l] == plan->position[plan->panel_producer[l]],
                    "%s: layer %d", r->what, l);
    }
    mafat_plan_close(&plan);
  }
  mafat_network_close(&n);
}
END_TEST

/* A panel fusion stores only one panel of the wide map. */
START_TEST(a_panel_fusion_saves_the_wide_map)
{
  struct mafat_network *n = test_network("[net]\nheight=32\nwidth=32\nchannels=8\n"
                                         "[convolutional]\nfilters=256\nsize=3\npad=1\n" NARROW);
  struct mafat_plan *fused = test_plan(n, "panels"), *apart = test_plan(n, "panels:apart");
  struct mafat_layout *a = test_layout(n, fused), *b = test_layout(n, apart);
  size_t pixels = 32 * 32 * sizeof(float);
  ck_assert_uint_eq(a->buffers[a->tensors[0].buffer].bytes, pixels * 32);
  ck_assert_uint_eq(b->buffers[b->tensors[0].buffer].bytes, pixels * 256);
  ck_assert_uint_lt(a->total_bytes + pixels * 100, b->total_bytes);
  ck_assert_uint_eq(a->macs, b->macs);
  mafat_layout_close(&a);
  mafat_layout_close(&b);
  mafat_plan_close(&fused);
  mafat_plan_close(&apart);
  mafat_network_close(&n);
}
END_TEST

/* ---- order ---- */

struct order_row {
  const char *what, *cfg, *plan;
  const char *order;
};

static const struct order_row order_rows[] = {
    {"a chain", NET CONV CONV POOL3 CONV, "1x1", "0 1 2 3"},
    {"a narrow reader of a wide map runs once it is the last reader",
     NET WIDE POOL3 WIDE "[route]\nlayers=0\n" NARROW "[route]\nlayers=2,4\n", "1x1",
     "0 1 4 2 3 5"},
    {"the same in panels, apart",
     NET WIDE POOL3 WIDE "[route]\nlayers=0\n" NARROW "[route]\nlayers=2,4\n", "panels:apart",
     "0 1 4 2 3 5"},
    {"as a panel fusion", NET WIDE POOL3 WIDE "[route]\nlayers=0\n" NARROW "[route]\nlayers=2,4\n",
     "panels", "0 1 4 2 3 5"},
    {"not in tiles", NET WIDE POOL3 WIDE "[route]\nlayers=0\n" NARROW "[route]\nlayers=2,4\n",
     "2x2", "0 1 2 3 4 5"},
    {"not in rows", NET WIDE POOL3 WIDE "[route]\nlayers=0\n" NARROW "[route]\nlayers=2,4\n",
     "rows", "0 1 2 3 4 5"},
    {"not across a cut", NET WIDE POOL3 WIDE "[route]\nlayers=0\n" NARROW "[route]\nlayers=2,4\n",
     "1x1/3/1x1", "0 1 2 3 4 5"},
    {"not if it frees no more than it allocates",
     NET CONV POOL3 CONV "[route]\nlayers=0\n" NARROW "[route]\nlayers=2,4\n", "1x1",
     "0 1 2 3 4 5"},
    {"the last of several readers runs early",
     NET WIDE POOL3 WIDE "[route]\nlayers=0\n" NARROW "[route]\nlayers=0\n" CONV
                         "[route]\nlayers=2,4,6\n",
     "1x1", "0 1 2 3 4 6 5 7"},
    {"not if the map is an output of the network",
     NET WIDE POOL3 WIDE HEAD "[route]\nlayers=0\n" NARROW "[route]\nlayers=0\n", "1x1",
     "0 1 2 3 4 5 6 7"},
    {"a layer that runs early lets another run early",
     NET WIDE POOL3 WIDE "[route]\nlayers=0\n[convolutional]\nfilters=40\nsize=1\n" NARROW
                         "[route]\nlayers=2,5\n",
     "1x1", "0 1 4 5 2 3 6"},
    {"a fused layer comes just before its outer layer",
     NET CONV "[route]\nlayers=0\n" POOL CONV, "1x1",
     "1 0 2 3"},
    {"the same in rows", NET CONV "[route]\nlayers=0\n" POOL CONV, "rows", "1 0 2 3"},
    {"a panel fusion's 1x1 inside a shortcut", NET CONV WIDE NARROW "[shortcut]\nfrom=0\n" CONV,
     "panels", "0 1 2 3 4"},
    {"two branches with order=file: as numbered",
     NET CONV WIDE NARROW "[route]\nlayers=0\n" WIDE CONV "[route]\nlayers=2,5\n", "1x1/order=file",
     "0 1 2 3 4 5 6"},
    {"postorder: branches in the order of operands, renaming layers last",
     NET CONV WIDE NARROW "[route]\nlayers=0\n" WIDE CONV "[route]\nlayers=5,2\n" CONV,
     "1x1/order=postorder", "0 4 5 1 2 7 3 6"},
    {"postorder within each group",
     NET CONV WIDE NARROW "[route]\nlayers=0\n" WIDE CONV "[route]\nlayers=5,2\n" CONV,
     "1x1/3/2x2/order=postorder", "0 1 2 4 5 7 3 6"},
    {"no postorder in rows",
     NET CONV WIDE NARROW "[route]\nlayers=0\n" WIDE CONV "[route]\nlayers=5,2\n" CONV,
     "rows/7/1x1/order=postorder", "0 1 2 3 4 5 6 7"},
    {"a panel fusion stays together",
     NET CONV WIDE NARROW "[route]\nlayers=0\n" WIDE CONV "[route]\nlayers=5,2\n" CONV,
     "panels/order=postorder", "0 4 5 1 2 7 3 6"},
    {"nobody needs the reader",
     NET WIDE POOL3 WIDE "[route]\nlayers=0\n" NARROW "[route]\nlayers=2\n", "1x1", "0 1 2 3 4 5"},
};

/* The layers run in the order of each row. */
START_TEST(layers_run_in_this_order)
{
  const struct order_row *r = &order_rows[_i];
  struct mafat_network *n = test_network(r->cfg);
  struct mafat_plan *plan = test_plan(n, r->plan);
  char order[256];
  write_numbers(plan->order, plan->n_layers, order, sizeof order);
  ck_assert_msg(strcmp(order, r->order) == 0, "%s: %s, expected %s", r->what, order, r->order);
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

/* Checks that a layer runs after all layers whose outputs it reads. */
static void check_reads(const struct mafat_network *n, const struct mafat_plan *plan, const int *at,
                        int layer, const char *cfg, const char *text)
{
  for (struct mafat_reads r = mafat_plan_reads(plan, n, layer); mafat_reads_next(&r);)
    if (at[r.source->tensor] >= at[layer])
      test_fail_case(cfg, text, "layer %d of %d runs before its source %d", layer, plan->n_layers,
                     r.source->tensor);
}

/* Checks any plan's order: each layer of a group once, after its sources; a fused layer just before
 * its outer layer; the readers of a panel fusion just after its convolution. */
static void check_order(const struct mafat_network *n, const struct mafat_plan *plan,
                        const char *cfg, const char *text)
{
  size_t n_operators = (size_t)mafat_network_n_tensors(n);
  int *at = malloc(n_operators * sizeof *at), last = -1;
  struct mafat_usage *usage = calloc(n_operators, sizeof *usage);
  mafat_usage_find(n, plan, usage);
  for (size_t i = 0; i < n_operators; i++) at[i] = -1; /* inputs keep -1: they exist before all
                                                          layers */
  for (int i = 0; i < n->n_layers; i++) {
    int layer = plan->order[i];
    const struct mafat_group *g = mafat_plan_group(plan, layer);
    if (i == g->at.begin)
      last = -1; /* a group is any set of layers: an earlier group may have layers with higher
                    numbers */
    if (at[layer] >= 0 || i < g->at.begin || i >= g->at.end)
      test_fail_case(cfg, text, "layer %d is misplaced", layer);
    at[layer] = i;
    bool sorted = plan->op_order != MAFAT_OP_ORDER_FILE && g->cut.kind != MAFAT_CUT_ROWS;
    if (!sorted && mafat_group_lifetime(g) != MAFAT_LIFE_ONCE) {
      if (plan->outer[layer] < 0 && layer < last)
        test_fail_case(cfg, text, "layer %d runs before its turn", layer);
      last = plan->outer[layer] < 0 ? layer : last;
    }
  }
  for (int l = 0; l < n->n_layers; l++) {
    int wide = plan->panel_producer[l], outer = plan->outer[l];
    int place = mafat_order_is_panel_consumer(plan, l) ? at[wide] : at[l];
    if (plan->position[l] != place)
      test_fail_case(cfg, text, "layer %d has position %d", l, plan->position[l]);
    if (outer >= 0 && at[outer] != at[l] + 1)
      test_fail_case(cfg, text, "layer %d is not beside layer %d", l, outer);
    for (int i = place + 1; i < at[l]; i++) { /* all layers between belong to the panel fusion */
      int between = plan->order[i];
      while (plan->outer[between] >= 0) between = plan->outer[between];
      if (plan->panel_producer[between] != wide)
        test_fail_case(cfg, text, "layer %d parts a panel fusion", between);
    }
    if (outer >= 0 || !usage[l].needed || mafat_layer_is_alias(&n->layers[l])) continue;
    check_reads(n, plan, at, l, cfg, text);
  }
  free(at);
  free(usage);
}

START_TEST(orders_of_random_plans_are_sound)
{
  for (int i = 0; i < 100; i++) {
    char cfg[TEST_CFG_ROOM], text[TEST_PLAN_ROOM];
    struct test_rng rng = test_rng(31000 + (uint64_t)(_i * 100 + i));
    struct test_network_style style = test_network_style();
    struct mafat_plan_options options = {
        .algorithm = (enum mafat_algorithm)(i % 3), .n_threads = 1 + i % 2, .keep_all = i % 5 == 4};
    test_random_network(&rng, &style, cfg, sizeof cfg);
    struct mafat_network *n = test_network(cfg);
    test_random_plan(&rng, n, n->n_layers, text, sizeof text);
    if (i % 4 == 0) strcpy(text, "panels");
    struct mafat_plan *plan = test_plan_with(n, text, &options);
    check_order(n, plan, cfg, text);
    mafat_plan_close(&plan);
    mafat_network_close(&n);
  }
}
END_TEST

static size_t bound_of(const struct mafat_network *n, const char *group, const char *order)
{
  char text[64];
  snprintf(text, sizeof text, "%s/order=%s", group, order);
  struct mafat_plan *plan = test_plan(n, text);
  struct mafat_layout *layout = test_layout(n, plan);
  size_t bound = layout->bound_bytes;
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  return bound;
}

/* order=best needs no more bytes than each of the other four orders. */
START_TEST(the_best_order_needs_least)
{
  static const char *const orders[] = {"file", "postorder", "forward", "sp"};
  for (int i = 0; i < 30; i++) {
    char cfg[TEST_CFG_ROOM];
    struct test_rng rng = test_rng(47000 + (uint64_t)(_i * 100 + i));
    struct test_network_style style = test_network_style();
    test_random_network(&rng, &style, cfg, sizeof cfg);
    struct mafat_network *n = test_network(cfg);
    const char *group = i % 3 == 0 ? "1x1" : i % 3 == 1 ? "panels" : "panels:apart";
    size_t best = bound_of(n, group, "best");
    for (int k = 0; k < 4; k++) {
      size_t other = bound_of(n, group, orders[k]);
      if (best > other)
        test_fail_case(cfg, group, "%zu bytes by %s, %zu by the best", other, orders[k], best);
    }
    mafat_network_close(&n);
  }
}
END_TEST

/* ---- yolov2 ---- */

/* Layers 17 and 26 read layer 16. Layer 26 runs just after 17, so that the wide map of layer 16
 * dies before the deepest layers. */
START_TEST(yolov2_lets_go_of_its_wide_map)
{
  static const char *const texts[] = {"1x1", "panels:apart", "panels", "rows/12/panels",
                                      "rows/12/1x1"};
  struct mafat_network *n = test_darknet_network("yolov2.cfg");
  if (!n) return; /* Debian's darknet package is not installed */
  struct mafat_plan *plan = test_plan(n, texts[_i]);
  struct mafat_layout *layout = test_layout(n, plan);
  const int *order = plan->order;
  int i = 0;
  while (order[i] != 16) i++;
  ck_assert_msg(order[i + 1] == 17 && order[i + 2] == 26 && order[i + 3] == 18, "%s: 16 %d %d %d",
                texts[_i], order[i + 1], order[i + 2], order[i + 3]);
  bool fused = _i == 2 || _i == 3;
  ck_assert_int_eq(plan->panel_producer[16], fused ? 16 : -1);
  ck_assert_int_eq(plan->panel_producer[17], fused ? 16 : -1);
  ck_assert_int_eq(plan->panel_producer[26], fused ? 16 : -1);
  const struct mafat_buffer *wide = &layout->buffers[layout->tensors[16].buffer];
  ck_assert_int_lt(wide->last, 2 * plan->position[18]);
  ck_assert_uint_eq(wide->bytes, layout->tensors[16].row_bytes * 38);
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

Suite *order_suite(void)
{
  Suite *suite = suite_create("order");
  TCase *panel_fusions = tcase_create("panel_fusions");
  tcase_add_loop_test(panel_fusions, panel_fusions_are_these, 0,
                      sizeof panel_fusion_rows / sizeof *panel_fusion_rows);
  tcase_add_test(panel_fusions, a_panel_fusion_saves_the_wide_map);
  suite_add_tcase(suite, panel_fusions);
  TCase *order = tcase_create("order");
  tcase_set_timeout(order, 60);
  tcase_add_loop_test(order, layers_run_in_this_order, 0, sizeof order_rows / sizeof *order_rows);
  tcase_add_loop_test(order, orders_of_random_plans_are_sound, 0, test_seeds(10));
  tcase_add_loop_test(order, the_best_order_needs_least, 0, test_seeds(10));
  tcase_add_loop_test(order, yolov2_lets_go_of_its_wide_map, 0, 5);
  suite_add_tcase(suite, order);
  return suite;
}
