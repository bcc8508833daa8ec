/* Covers predictor/transfers/{tiles, choose}.c, experiments/separable/copying.c: bytes copied
 * between a fast memory and the rest, compared with the figures that Daghero et al. (2024) give for
 * six networks. */
#include "predictor/transfers/transfers.h"

#include "experiments/separable/copying.h"
#include "tests/support/support.h"

#include <check.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *transfers_suite(void);

/* ---- the six networks, with a quarter of the usual channels ---- */

static char cfg[1 << 15];

static void begin(int h, int w, int c)
{
  snprintf(cfg, sizeof cfg, "[net]\nheight=%d\nwidth=%d\nchannels=%d\n", h, w, c);
}

static void add(const char *format, ...)
{
  size_t at = strlen(cfg);
  va_list list;
  va_start(list, format);
  vsnprintf(cfg + at, sizeof cfg - at, format, list);
  va_end(list);
}

static void convolution(int filters, int size, int stride, int groups)
{
  add("[convolutional]\nfilters=%d\nsize=%d\nstride=%d\npad=1\ngroups=%d\nactivation=relu\n",
      filters, size, stride, groups);
}

static void classify(int classes)
{
  add("[avgpool]\n[connected]\noutput=%d\nactivation=linear\n", classes);
}

static void mobilenet_v1(int side, int classes)
{
  static const int out[13][2] = {{16, 1},  {32, 2},  {32, 1},  {64, 2},  {64, 1},
                                 {128, 2}, {128, 1}, {128, 1}, {128, 1}, {128, 1},
                                 {128, 1}, {256, 2}, {256, 1}};
  int c = 8;
  begin(side, side, 3);
  convolution(8, 3, 2, 1);
  for (int i = 0; i < 13; i++) {
    convolution(c, 3, out[i][1], c);
    convolution(c = out[i][0], 1, 1, 1);
  }
  classify(classes);
}

static void mobilenet_v2(int side)
{
  static const int rows[7][4] = {{1, 8, 1, 1},  {6, 8, 2, 2},  {6, 8, 3, 2}, {6, 16, 4, 2},
                                 {6, 24, 3, 1}, {6, 40, 3, 2}, {6, 80, 1, 1}};
  int c = 8;
  begin(side, side, 3);
  convolution(8, 3, 2, 1);
  for (int i = 0; i < 7; i++)
    for (int k = 0; k < rows[i][2]; k++) {
      int wide = c * rows[i][0], stride = k == 0 ? rows[i][3] : 1;
      if (wide > c) convolution(wide, 1, 1, 1);
      convolution(wide, 3, stride, wide);
      convolution(rows[i][1], 1, 1, 1);
      if (stride == 1 && c == rows[i][1])
        add("[shortcut]\nfrom=%d\nactivation=linear\n", wide > c ? -4 : -3);
      c = rows[i][1];
    }
  convolution(1280, 1, 1, 1);
  classify(1000);
}

static void ds_cnn(void)
{
  begin(49, 10, 1);
  convolution(64, 3, 2, 1);
  for (int i = 0; i < 4; i++) {
    convolution(64, 3, 1, 64);
    convolution(64, 1, 1, 1);
  }
  classify(12);
}

enum { N_NETWORKS = 6 };

/* Published figures, with k as 1000 and M as a million. one_pass, best_pairs: exact values of our
 * two lower bounds (transfers.h). */
static const struct published {
  const char *name;
  /* published bytes of activations copied: without fusion; with the best fusion */
  double macs, weights, baseline, least;
  uint64_t one_pass, best_pairs;
} published[N_NETWORKS] = {
    {"MV1-224", 41.0e6, 463.6e3, 2.9e6, 1.64e6, 2676384, 1346720},
    {"MV1-128", 13.57e6, 463.6e3, 879.0e3, 459.4e3, 876960,
     442784}, /* least: the paper prints both 491.9k and -47.74 %, which is 459.4k */
    {"MV1-96", 7.49e6, 208.1e3, 497.03e3, 270.09e3, 491272, 247048},
    {"MV2-224", 37.20e6, 1.51e6, 5.83e6, 3.28e6, 5195072, 2571808},
    {"MV2-128", 13.01e6, 1.51e6, 2.47e6, 1.16e6, 1700768, 844192},
    {"DSCNN", 2.66e6, 22.01e3, 144.67e3, 80.67e3, 144666, 80666},
};

/* The first window of the keyword network (DSCNN) has 10 x 4 taps, which no cfg can express. */
static struct mafat_network *open_network(int index)
{
  if (index < 3) mobilenet_v1(index == 0 ? 224 : index == 1 ? 128 : 96, index == 2 ? 2 : 1000);
  else if (index < 5) mobilenet_v2(index == 3 ? 224 : 128);
  else ds_cnn();
  struct mafat_network *n = test_network(cfg);
  if (index == 5)
    n->layers[0].window = (struct mafat_window){{10, 2, 1, 4, 5}, {4, 2, 1, 1, 1}};
  return n;
}

/* Options for int8 networks whose last layer has 32-bit outputs. */
static struct mafat_transfers_options options_of(size_t fast)
{
  return (struct mafat_transfers_options){.fast_bytes = fast, .element_bytes = 1, .logit_bytes = 4};
}

/* The networks have the published numbers of multiply-accumulates and weights. */
START_TEST(test_macs_and_weights_are_the_published)
{
  struct mafat_network *n = open_network(_i);
  struct mafat_transfers_options o = options_of(65536);
  const struct published *p = &published[_i];
  uint64_t macs = 0, weights = 0;
  for (int l = 0; l < n->n_layers; l++) {
    macs += mafat_layer_macs(&n->layers[l],
                             (uint64_t)n->layers[l].out.h * (uint64_t)n->layers[l].out.w);
    weights += mafat_transfers_weight_bytes(n, &o, l);
  }
  ck_assert_double_le(fabs((double)macs / p->macs - 1), .002);
  ck_assert_double_le(fabs((double)weights / p->weights - 1), .004);
  mafat_network_close(&n);
}
END_TEST

/* The two lower bounds have known values. */
START_TEST(test_one_pass_and_best_pairs)
{
  struct mafat_network *n = open_network(_i);
  struct mafat_transfers_options o = options_of(65536);
  uint64_t best;
  ck_assert_uint_eq(mafat_transfers_one_pass(n, n->n_layers, &o), published[_i].one_pass);
  ck_assert_int_eq(mafat_transfers_best_pairs(&best, n, n->n_layers, &o), MAFAT_OK);
  ck_assert_uint_eq(best, published[_i].best_pairs);
  mafat_network_close(&n);
}
END_TEST

/* Price of a unit: the bytes that it copies, or infinity for a fused unit that is not one of the
 * first *context pairs of a depthwise and a 1x1 layer. */
static double price_of_some(const void *context, const struct mafat_unit *u)
{
  const int *blocks = context;
  if (u->how == MAFAT_FUSED_NONE) return (double)mafat_unit_moved(u);
  return u->how == MAFAT_FUSED_DW_PW_ROWS && u->layers[1] <= 2 * *blocks
             ? (double)mafat_unit_moved(u)
             : INFINITY;
}

/* The keyword network copies the published bytes with 0, 1 and 4 fused pairs. */
START_TEST(test_keywords_move_what_is_published)
{
  static const struct {
    int blocks;
    uint64_t bytes;
  } cases[] = {{0, 144666}, {1, 128666}, {4, 80666}};
  struct mafat_network *n = open_network(5);
  struct mafat_transfers_options o = options_of(65536);
  struct mafat_transfers t;
  ck_assert_int_eq(
      mafat_transfers_choose(&t, n, n->n_layers, &o,
                             &(struct mafat_unit_price){price_of_some, &cases[_i].blocks}),
      MAFAT_OK);
  ck_assert_uint_eq(t.activation_bytes, cases[_i].bytes);
  ck_assert_uint_eq(t.again_bytes, 0);
  ck_assert_uint_eq(t.weight_bytes, 22016);
  mafat_transfers_close(&t);
  mafat_network_close(&n);
}
END_TEST

/* The best choice copies no more than the published bytes, and all its units fit. */
START_TEST(test_least_transfers_are_no_more_than_published)
{
  struct mafat_network *n = open_network(_i);
  struct mafat_transfers_options o = options_of(65536);
  struct mafat_transfers base, least;
  ck_assert_int_eq(mafat_transfers_unfused(&base, n, n->n_layers, &o), MAFAT_OK);
  ck_assert_int_eq(mafat_transfers_choose(&least, n, n->n_layers, &o, NULL), MAFAT_OK);
  if (getenv("MAFAT_TEST_TELL"))
    printf("%s: base %llu (again %llu) least %llu (again %llu) weights %llu\n", published[_i].name,
           (unsigned long long)base.activation_bytes, (unsigned long long)base.again_bytes,
           (unsigned long long)least.activation_bytes, (unsigned long long)least.again_bytes,
           (unsigned long long)least.weight_bytes);
  for (int u = 0; u < least.n; u++)
    ck_assert_msg(least.units[u].fits && least.units[u].capacity_bytes <= o.fast_bytes, "unit %d",
                  u);
  ck_assert_double_le((double)least.activation_bytes, published[_i].least);
  ck_assert_uint_le(least.weight_bytes, base.weight_bytes);
  mafat_transfers_close(&base);
  mafat_transfers_close(&least);
  mafat_network_close(&n);
}
END_TEST

/* ---- kernels ---- */

static struct mafat_network *open_pair(bool depthwise_first, int side, int stride, int c, int k)
{
  begin(side, side, c);
  if (depthwise_first) convolution(c, 3, stride, c);
  convolution(k, 1, 1, 1);
  if (!depthwise_first) convolution(k, 3, stride, k);
  return test_network(cfg);
}

enum { N_SHAPES = 36 };

/* The 36 shapes of the published analysis, in the order of its loops. */
static struct mafat_network *open_shape(bool depthwise_first, int i, int *side, int *stride, int *c,
                                        int *k)
{
  *side = 32 << i % 3;
  *stride = 1 + i / 3 % 2;
  *c = 32 << i / 6 % 3;
  *k = *c << i / 18;
  return open_pair(depthwise_first, *side, *stride, *c, *k);
}

/* Intermediate maps need `extent` times the bytes of a row or channel. */
START_TEST(test_buffers_between)
{
  int side, stride, c, k;
  struct mafat_transfers_options o = options_of(1 << 30);
  struct mafat_network *n = open_shape(true, _i, &side, &stride, &c, &k);
  for (int fd = 1; fd <= side / stride; fd++) {
    struct mafat_unit u = {.how = MAFAT_FUSED_DW_PW_ROWS, .layers = {0, 1}, .n = 2, .extent = fd};
    ck_assert(mafat_unit_count_at(&u, n, &o));
    ck_assert_uint_eq(u.mid_bytes, (uint64_t)c * (uint64_t)(side / stride) * (uint64_t)fd);
  }
  mafat_network_close(&n);
  n = open_shape(false, _i, &side, &stride, &c, &k);
  for (int fd = 1; fd <= k; fd++) {
    struct mafat_unit u = {
        .how = MAFAT_FUSED_PW_DW_CHANNELS, .layers = {0, 1}, .n = 2, .extent = fd};
    ck_assert(mafat_unit_count_at(&u, n, &o));
    ck_assert_uint_eq(u.mid_bytes, (uint64_t)fd * (uint64_t)side * (uint64_t)side);
  }
  for (int fd = 1; fd <= side; fd++) {
    struct mafat_unit u = {.how = MAFAT_FUSED_PW_DW_ROWS, .layers = {0, 1}, .n = 2, .extent = fd};
    ck_assert_int_eq(mafat_unit_count_at(&u, n, &o), fd >= 3);
    if (fd >= 3) ck_assert_uint_eq(u.mid_bytes, (uint64_t)k * (uint64_t)side * (uint64_t)fd);
  }
  mafat_network_close(&n);
}
END_TEST

/* With 512 channels on 16 x 16 pixels not even the smallest window fits into 65,536 bytes: its rows
 * need 57,344 bytes, and there are weights, too. */
START_TEST(test_the_smallest_window_may_not_fit)
{
  struct mafat_network *n = open_pair(false, 16, 1, 512, 512);
  struct mafat_transfers_options o = options_of(65536);
  struct mafat_unit u = {.how = MAFAT_FUSED_PW_DW_ROWS, .layers = {0, 1}, .n = 2};
  mafat_unit_count(&u, n, &o);
  ck_assert(!u.fits);
  mafat_network_close(&n);
}
END_TEST

/* ---- the choice ---- */

/* Random price that depends only on the unit and the seed in `context`. */
static double random_price(const void *context, const struct mafat_unit *u)
{
  uint64_t seed = *(const uint64_t *)context * 977 + (uint64_t)u->how * 101 + (uint64_t)u->n;
  for (int i = 0; i < u->n; i++) seed = seed * 31 + (uint64_t)u->layers[i];
  struct test_rng rng = test_rng(seed);
  return (double)test_random_int(&rng, 1, 1000) * u->n;
}

/* Least total price over all sequences of units from layer `l` on. */
static double try_all(const struct mafat_network *n, const struct mafat_transfers_options *o,
                      const struct mafat_unit_price *price, int l)
{
  double least = INFINITY;
  if (l == n->n_layers) return 0;
  for (int how = 0; how < MAFAT_N_FUSED; how++)
    for (int count = 1; count <= MAFAT_UNIT_MOST && l + count <= n->n_layers; count++) {
      struct mafat_unit u = {.how = (enum mafat_fused)how, .n = count};
      for (int i = 0; i < count; i++) u.layers[i] = l + i;
      if (!mafat_unit_can(&u, n)) continue;
      mafat_unit_count(&u, n, o);
      double sum = price->of(price->context, &u) + try_all(n, o, price, l + count);
      if (sum < least) least = sum;
    }
  return least;
}

/* The choice has the least total price of all sequences of units. */
START_TEST(test_the_choice_is_the_least_of_all)
{
  uint64_t seed = (uint64_t)_i;
  struct mafat_unit_price price = {random_price, &seed};
  struct mafat_transfers_options o = options_of(65536);
  struct mafat_transfers t;
  begin(8, 8, 8);
  if (_i % 2) { /* an inverted bottleneck with a shortcut around it */
    convolution(8, 3, 1, 1);
    convolution(24, 1, 1, 1);
    convolution(24, 3, 1, 24);
    convolution(8, 1, 1, 1);
    add("[shortcut]\nfrom=-4\nactivation=linear\n");
  }
  for (int i = 0; i < 4; i++) {
    convolution(8, 3, 1, 8);
    convolution(8, 1, 1, 1);
  }
  struct mafat_network *n = test_network(cfg);
  double sum = 0;
  ck_assert_int_eq(mafat_transfers_choose(&t, n, n->n_layers, &o, &price), MAFAT_OK);
  for (int u = 0; u < t.n; u++) sum += random_price(&seed, &t.units[u]);
  ck_assert_double_eq_tol(sum, try_all(n, &o, &price, 0), 1e-6);
  mafat_transfers_close(&t);
  mafat_network_close(&n);
}
END_TEST

/* With a larger fast memory no more bytes are copied. */
START_TEST(test_more_fast_memory_never_copies_more)
{
  struct mafat_network *n = open_network(_i);
  uint64_t before = UINT64_MAX;
  for (size_t fast = 40 << 10; fast <= 1 << 20; fast *= 2) {
    struct mafat_transfers_options o = options_of(fast);
    struct mafat_transfers t;
    ck_assert_int_eq(mafat_transfers_choose(&t, n, n->n_layers, &o, NULL), MAFAT_OK);
    ck_assert_uint_le(t.activation_bytes, before);
    before = t.activation_bytes;
    mafat_transfers_close(&t);
  }
  mafat_network_close(&n);
}
END_TEST

/* ---- copies ---- */

/* Executes the copies of a unit and compares the counted bytes with the prediction. */
static void check_copies(const struct mafat_network *n, const struct mafat_transfers_options *o,
                         const struct mafat_unit *u)
{
  struct copy_counters c = {0};
  ck_assert_int_eq(copy_unit(&c, n, o, u), MAFAT_OK);
  ck_assert_msg(!c.wrong, "layer %d, %s, %d: %s", u->layers[0], mafat_fused_name(u->how), u->extent,
                c.wrong ? c.wrong : "");
  ck_assert_uint_eq(c.in, u->input_bytes);
  ck_assert_uint_eq(c.out, u->output_bytes);
  ck_assert_uint_eq(c.weights, u->weight_bytes);
  ck_assert_uint_eq(c.most, u->capacity_bytes);
}

/* For the units of the six networks, the counted copies equal the prediction. */
START_TEST(test_counters_are_the_formula)
{
  static const size_t sizes[] = {36700, 48 << 10, 65536, 256 << 10};
  struct mafat_network *n = open_network(_i / 4);
  struct mafat_transfers_options o = options_of(sizes[_i % 4]);
  for (int fused = 0; fused < 2; fused++) {
    struct mafat_transfers t;
    int code = fused ? mafat_transfers_choose(&t, n, n->n_layers, &o, NULL)
                     : mafat_transfers_unfused(&t, n, n->n_layers, &o);
    ck_assert_int_eq(code, MAFAT_OK);
    for (int u = 0; u < t.n; u++)
      if (t.units[u].fits) check_copies(n, &o, &t.units[u]);
    mafat_transfers_close(&t);
  }
  mafat_network_close(&n);
}
END_TEST

/* Counted copies equal the prediction for every kind of fused unit and every extent, with windows
 * of 3 to 7 rows, two strides, and maps of several sizes. */
START_TEST(test_counters_are_the_formula_at_every_extent)
{
  int size = 3 + 2 * (_i % 3), stride = 1 + _i / 3 % 2, side = 7 + 4 * (_i / 6);
  struct mafat_transfers_options o = options_of(1 << 20);
  for (int how = MAFAT_FUSED_DW_PW_ROWS; how < MAFAT_N_FUSED; how++) {
    begin(side, side + 2, 5);
    if (how != MAFAT_FUSED_DW_PW_ROWS) convolution(7, 1, 1, 1);
    int c = how == MAFAT_FUSED_DW_PW_ROWS ? 5 : 7;
    convolution(c, size, stride, c);
    if (how == MAFAT_FUSED_DW_PW_ROWS || how == MAFAT_FUSED_BOTTLENECK_ROWS)
      convolution(5, 1, 1, 1);
    struct mafat_network *n = test_network(cfg);
    for (int extent = 1; extent <= side; extent++) {
      struct mafat_unit u = {
          .how = (enum mafat_fused)how, .layers = {0, 1, 2}, .n = n->n_layers, .extent = extent};
      if (mafat_unit_count_at(&u, n, &o)) check_copies(n, &o, &u);
    }
    mafat_network_close(&n);
  }
}
END_TEST

/* Counted copies equal the prediction for a bottleneck with a shortcut around it, which keeps input
 * rows. */
START_TEST(test_counters_are_the_formula_around)
{
  int size = 3 + 2 * (_i % 3), side = 7 + 4 * (_i / 3);
  struct mafat_transfers_options o = options_of(1 << 20);
  begin(side, side + 2, 5);
  convolution(5, 3, 1, 5);
  convolution(20, 1, 1, 1);
  convolution(20, size, 1, 20);
  convolution(5, 1, 1, 1);
  add("[shortcut]\nfrom=-4\nactivation=linear\n");
  struct mafat_network *n = test_network(cfg);
  for (int extent = 1; extent <= side; extent++) {
    struct mafat_unit u = {
        .how = MAFAT_FUSED_BOTTLENECK_ROWS, .layers = {1, 2, 3, 4}, .n = 4, .extent = extent};
    ck_assert(mafat_unit_can(&u, n));
    if (mafat_unit_count_at(&u, n, &o)) check_copies(n, &o, &u);
    else ck_assert_int_lt(extent, size);
  }
  mafat_network_close(&n);
}
END_TEST

/* ---- plans ---- */

/* mafat_transfers_of_plan finds the units that a plan's groups compute together. */
START_TEST(test_a_plan_fuses_what_its_groups_say)
{
  static const struct { const char *plan; enum mafat_fused how[3]; int n; } cases[] = {
      {"1x1", {MAFAT_FUSED_NONE, MAFAT_FUSED_DW_PW_ROWS}, 2},
      {"rows2", {MAFAT_FUSED_BOTTLENECK_ROWS}, 1},
      {"split(c3:0-1)/2/1x1", {MAFAT_FUSED_PW_DW_CHANNELS, MAFAT_FUSED_NONE}, 2},
      {"split(h4:0-1)/2/1x1", {MAFAT_FUSED_NONE, MAFAT_FUSED_NONE, MAFAT_FUSED_NONE}, 3},
  };
  begin(32, 32, 8);
  convolution(48, 1, 1, 1);
  convolution(48, 3, 1, 48);
  convolution(8, 1, 1, 1);
  struct mafat_network *n = test_network(cfg);
  struct mafat_plan *plan = test_plan(n, cases[_i].plan);
  struct mafat_transfers_options o = options_of(65536);
  struct mafat_transfers t;
  ck_assert_int_eq(mafat_transfers_of_plan(&t, n, plan, &o), MAFAT_OK);
  ck_assert_int_eq(t.n, cases[_i].n);
  for (int u = 0; u < t.n; u++) ck_assert_int_eq(t.units[u].how, cases[_i].how[u]);
  mafat_transfers_close(&t);
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

Suite *transfers_suite(void)
{
  Suite *suite = suite_create("transfers");
  TCase *tcase = tcase_create("transfers");
  tcase_set_timeout(tcase, 60);
  tcase_add_loop_test(tcase, test_macs_and_weights_are_the_published, 0, N_NETWORKS);
  tcase_add_loop_test(tcase, test_one_pass_and_best_pairs, 0, N_NETWORKS);
  tcase_add_loop_test(tcase, test_keywords_move_what_is_published, 0, 3);
  tcase_add_loop_test(tcase, test_least_transfers_are_no_more_than_published, 0, N_NETWORKS);
  tcase_add_loop_test(tcase, test_buffers_between, 0, N_SHAPES);
  tcase_add_test(tcase, test_the_smallest_window_may_not_fit);
  tcase_add_loop_test(tcase, test_the_choice_is_the_least_of_all, 0, 20);
  tcase_add_loop_test(tcase, test_more_fast_memory_never_copies_more, 0, N_NETWORKS);
  tcase_add_loop_test(tcase, test_counters_are_the_formula, 0, 4 * N_NETWORKS);
  tcase_add_loop_test(tcase, test_counters_are_the_formula_at_every_extent, 0, 24);
  tcase_add_loop_test(tcase, test_counters_are_the_formula_around, 0, 12);
  tcase_add_loop_test(tcase, test_a_plan_fuses_what_its_groups_say, 0, 4);
  suite_add_tcase(suite, tcase);
  return suite;
}
