/* Covers search/ranks/sharing.c: DeeperThings' integer programs (Stahl 2024, chapter 5), which
 * divide a network between devices (ranks). The thesis's example by hand, its Table 5.1 for four
 * networks, and the smallest exchange compared with that of all combinations of schemes. */
#include "search/ranks/sharing.h"

#include "tests/support/support.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

Suite *sharing_suite(void);

enum { MOST_LAYERS = 64, N_COUNTS = 8 };

/* ---- networks, layer by layer ---- */

/* A network that is built layer by layer. Convolutions are added to the list; other layers only
 * change the shape of the map. */
struct model {
  struct mafat_rank_layer list[MOST_LAYERS];
  int n, h, w, c;
  bool all; /* pools and fully connected layers are also added */
};

static void add(struct model *m, uint64_t out, uint64_t weights, uint64_t multiplications)
{
  uint64_t in = (uint64_t)m->h * (uint64_t)m->w * (uint64_t)m->c;
  m->list[m->n] = (struct mafat_rank_layer){m->n, in, out, weights, multiplications};
  m->n++;
}

static void conv(struct model *m, int filters, int size, int stride)
{
  int h = (m->h + stride - 1) / stride, w = (m->w + stride - 1) / stride;
  uint64_t weights = (uint64_t)size * (uint64_t)size * (uint64_t)m->c * (uint64_t)filters,
           pixels = (uint64_t)h * (uint64_t)w;
  add(m, pixels * (uint64_t)filters, weights, weights * pixels);
  m->h = h;
  m->w = w;
  m->c = filters;
}

static void pool(struct model *m)
{
  int h = m->h / 2, w = m->w / 2;
  if (m->all) add(m, (uint64_t)h * (uint64_t)w * (uint64_t)m->c, 0, 0);
  m->h = h;
  m->w = w;
}

static void connected(struct model *m, int outputs)
{
  uint64_t weights = (uint64_t)m->h * (uint64_t)m->w * (uint64_t)m->c * (uint64_t)outputs;
  if (m->all) add(m, (uint64_t)outputs, weights, weights);
  m->h = m->w = 1;
  m->c = outputs;
}

static void begin(struct model *m, int side, bool all)
{
  *m = (struct model){.h = side, .w = side, .c = 3, .all = all};
}

/* Adds 3x3 convolutions with `wide` filters and 1x1 ones with `narrow` filters in turn, beginning
 * and ending with 3x3. */
static void wide_narrow(struct model *m, int wide, int narrow, int n_narrow)
{
  conv(m, wide, 3, 1);
  for (int i = 0; i < n_narrow; i++) {
    conv(m, narrow, 1, 1);
    conv(m, wide, 3, 1);
  }
}

static void yolov2(struct model *m, bool all)
{
  begin(m, 608, all);
  conv(m, 32, 3, 1);
  pool(m);
  conv(m, 64, 3, 1);
  pool(m);
  wide_narrow(m, 128, 64, 1);
  pool(m);
  wide_narrow(m, 256, 128, 1);
  pool(m);
  wide_narrow(m, 512, 256, 2);
  pool(m);
  wide_narrow(m, 1024, 512, 2);
  conv(m, 1024, 3, 1);
  conv(m, 1024, 3, 1);
  m->h = m->w = 38; /* the route to an earlier map */
  m->c = 512;
  conv(m, 64, 1, 1);
  m->h = m->w = 19; /* reorganized to 19x19x256, and joined with the 1024 channels */
  m->c = 1280;
  conv(m, 1024, 3, 1);
  conv(m, 425, 1, 1);
}

/* Layers have padding only where the thesis's numbers need it: sides are 227, 55, 27, 13. */
static void alexnet(struct model *m, bool all)
{
  begin(m, 227, all);
  m->h = m->w = 227;
  add(m, 55 * 55 * 96, 11 * 11 * 3 * 96, (uint64_t)55 * 55 * 11 * 11 * 3 * 96);
  m->h = m->w = 55;
  m->c = 96;
  pool(m);
  conv(m, 256, 5, 1);
  pool(m);
  conv(m, 384, 3, 1);
  conv(m, 384, 3, 1);
  conv(m, 256, 3, 1);
  pool(m);
  connected(m, 4096);
  connected(m, 4096);
  connected(m, 1000);
}

static void vgg16(struct model *m, bool all)
{
  static const int filters[5] = {64, 128, 256, 512, 512}, times[5] = {2, 2, 3, 3, 3};
  begin(m, 224, all);
  for (int i = 0; i < 5; i++) {
    for (int k = 0; k < times[i]; k++) conv(m, filters[i], 3, 1);
    pool(m);
  }
  connected(m, 4096);
  connected(m, 4096);
  connected(m, 1000);
}

static void narrow_wide(struct model *m, int narrow, int wide)
{
  conv(m, narrow, 1, 1);
  conv(m, wide, 3, 1);
}

static void extraction(struct model *m, bool all)
{
  begin(m, 224, all);
  conv(m, 64, 7, 2);
  pool(m);
  conv(m, 192, 3, 1);
  pool(m);
  narrow_wide(m, 128, 256);
  narrow_wide(m, 256, 512);
  pool(m);
  for (int i = 0; i < 4; i++) narrow_wide(m, 256, 512);
  narrow_wide(m, 512, 1024);
  pool(m);
  for (int i = 0; i < 2; i++) narrow_wide(m, 512, 1024);
  conv(m, 1000, 1, 1);
}

/* ---- the thesis's example ---- */

/* {number, input values, output values, weights, multiplications} of each layer */
static const struct mafat_rank_layer example[4] = {
    {0, 4, 8, 32, 32}, {1, 8, 16, 128, 128}, {2, 16, 4, 64, 64}, {3, 4, 4, 16, 16}};

START_TEST(exchanges_of_the_example)
{
  static const struct {
    enum mafat_weight_sharing schemes[4];
    uint64_t values;
  } rows[] = {{{MAFAT_FAN_OUT, MAFAT_FAN_OUT, MAFAT_FAN_OUT, MAFAT_FAN_OUT}, 34},
              {{MAFAT_FAN_IN, MAFAT_FAN_IN, MAFAT_FAN_IN, MAFAT_FAN_IN}, 48},
              {{MAFAT_FUSED_OUT, MAFAT_FUSED_IN, MAFAT_FUSED_OUT, MAFAT_FUSED_IN}, 40},
              {{MAFAT_FAN_OUT, MAFAT_FUSED_OUT, MAFAT_FUSED_IN, MAFAT_FAN_OUT}, 22}};
  ck_assert_uint_eq(mafat_schemes_exchange(rows[_i].schemes, example, 4, 2), 2 * rows[_i].values);
}
END_TEST

/* Values exchanged by two ranks for each layer, if its outputs or its inputs are divided.
 * mafat_scheme_exchange returns values times the number of ranks. */
START_TEST(each_layer_of_the_example)
{
  static const uint64_t out[4] = {12, 16, 4, 2}, in[4] = {10, 20, 12, 6};
  for (int i = 0; i < 4; i++) {
    ck_assert_uint_eq(mafat_scheme_exchange(MAFAT_FAN_OUT, &example[i], 2, i > 0, i < 3),
                      2 * out[i]);
    ck_assert_uint_eq(mafat_scheme_exchange(MAFAT_FAN_IN, &example[i], 2, false, false), 2 * in[i]);
  }
}
END_TEST

/* The least exchange for 2, 3, 4 and 6 ranks is 22, 42.667, 63 and 103.333 values; if outputs are
 * divided in all layers, 34, 66.667, 99 and 163.333. The rows have these numbers times the
 * ranks. */
START_TEST(least_exchange_of_the_example)
{
  static const struct {
    int ranks;
    uint64_t nths, outputs;
  } rows[] = {{2, 44, 68}, {3, 128, 200}, {4, 252, 396}, {6, 620, 980}};
  const enum mafat_weight_sharing all[4] = {MAFAT_FAN_OUT, MAFAT_FAN_OUT, MAFAT_FAN_OUT,
                                            MAFAT_FAN_OUT};
  enum mafat_weight_sharing schemes[4];
  uint64_t exchange;
  ck_assert_int_eq(mafat_sharing_schemes(schemes, &exchange, example, 4, rows[_i].ranks, NULL),
                   MAFAT_OK);
  ck_assert_uint_eq(exchange, rows[_i].nths);
  ck_assert_uint_eq(mafat_schemes_exchange(schemes, example, 4, rows[_i].ranks), rows[_i].nths);
  ck_assert_uint_eq(mafat_schemes_exchange(all, example, 4, rows[_i].ranks), rows[_i].outputs);
  ck_assert_int_eq(schemes[0], MAFAT_FAN_OUT);
  ck_assert_int_eq(schemes[1], MAFAT_FUSED_OUT);
  ck_assert_int_eq(schemes[2], MAFAT_FUSED_IN);
  ck_assert_int_eq(schemes[3], MAFAT_FAN_OUT);
}
END_TEST

/* Two layers on each of two devices: 160 and 80 weights, and 16 values sent from one to the
 * other. */
START_TEST(whole_layers_of_the_example)
{
  const int bounds[3] = {0, 2, 4};
  ck_assert_uint_eq(mafat_ranks_hand_on(example, bounds, 2), 16);
  ck_assert_uint_eq(mafat_ranks_hold_whole(example, 0, 2), 160 + 24);
  ck_assert_uint_eq(mafat_ranks_hold_whole(example, 2, 4), 80 + 20);
  ck_assert_uint_eq(mafat_ranks_hold(example, 4, 0, 1), 240 + 24);
}
END_TEST

/* ---- Table 5.1 ---- */

static const int counts[N_COUNTS] = {1, 2, 3, 4, 5, 6, 8, 10};

static const struct {
  void (*build)(struct model *m, bool all);
  /* number of convolutions; the first one whose weights are shared */
  int n, from;
  /* sums over all convolutions; widest: most values of a layer's input and output together */
  uint64_t weights, widest, multiplications;
  /* MB (10^6 bytes) of a rank, for each number of ranks in `counts` */
  double megabytes[N_COUNTS];
  /* the table's SEQ: MB of the rank that needs most, if each layer has a rank of its own */
  double one_by_one;
  /* MB of one rank, and of ten, with pools and fully connected layers; 0: not in the table */
  double all_single, all_shared;
} table[] = {
    {yolov2, 23, 8, 50941792, 12938240, UINT64_C(31469126656), {255.52, 129.36, 87.30, 66.27, 53.66,
     45.25, 34.73, 28.42}, 51.76, 262.91, 29.16},
    {alexnet, 5, 1, 3745824, 444987, UINT64_C(1076634144), {16.76, 8.59, 6.11, 4.88, 4.13, 3.64,
     3.02, 2.65}, 5.83, 251.25, 26.10},
    {vgg16, 13, 4, 14710464, 6422528, UINT64_C(15346630656), {84.53, 42.79, 28.87, 21.91, 19.02,
     17.10, 14.69, 13.24}, 25.84, 579.07, 62.70},
    {extraction, 21, 2, 23418048, 953344, UINT64_C(4259340288), {97.49, 49.48, 33.95, 26.19, 21.53,
     18.42, 14.54, 12.21}, 20.08, 0, 0},
};

/* Returns MB, rounded to 0.01, of values / parts floats. */
static double megabytes(uint64_t values, int parts)
{
  return round((double)values * 4 / parts / 1e4) / 100;
}

START_TEST(sums_of_the_networks)
{
  struct model m;
  table[_i].build(&m, false);
  uint64_t weights = 0, widest = 0, multiplications = 0;
  for (int i = 0; i < m.n; i++) {
    weights += m.list[i].weights;
    multiplications += m.list[i].multiplications;
    if (m.list[i].in + m.list[i].out > widest) widest = m.list[i].in + m.list[i].out;
  }
  ck_assert_int_eq(m.n, table[_i].n);
  ck_assert_uint_eq(weights, table[_i].weights);
  ck_assert_uint_eq(widest, table[_i].widest);
  ck_assert_uint_eq(multiplications, table[_i].multiplications);
}
END_TEST

START_TEST(memory_by_number_of_ranks)
{
  struct model m;
  table[_i].build(&m, false);
  for (int i = 0; i < N_COUNTS; i++)
    ck_assert_double_eq(megabytes(mafat_ranks_hold(m.list, m.n, table[_i].from, counts[i]),
                                  counts[i]),
                        table[_i].megabytes[i]);
}
END_TEST

START_TEST(switch_of_ten_ranks)
{
  struct model m;
  table[_i].build(&m, false);
  ck_assert_int_eq(mafat_sharing_switch(m.list, m.n, 10), table[_i].from);
}
END_TEST

/* With as many devices as layers, the device with the largest layer needs the most memory. */
START_TEST(layers_one_by_one)
{
  struct model m;
  table[_i].build(&m, false);
  int bounds[MOST_LAYERS + 1];
  uint64_t most;
  ck_assert_int_eq(mafat_sharing_layers(bounds, &most, m.list, m.n, m.n,
                                        &(struct mafat_sharing_measure){.by_work = false}, NULL),
                   MAFAT_OK);
  ck_assert_double_eq(megabytes(most, 1), table[_i].one_by_one);
}
END_TEST

START_TEST(memory_with_all_layers)
{
  struct model m;
  table[_i].build(&m, true);
  if (table[_i].all_single == 0) return;
  ck_assert_double_eq(megabytes(mafat_ranks_hold(m.list, m.n, 0, 1), 1), table[_i].all_single);
  ck_assert_double_eq(
      megabytes(mafat_ranks_hold(m.list, m.n, mafat_sharing_switch(m.list, m.n, 10), 10), 10),
      table[_i].all_shared);
}
END_TEST

/* YOLOv2 on ten devices, switched by hand at layer 17, the last convolution before the fifth pool:
 * 37.86 MB. On six devices the best switch is after the third pool: 43.42 MB. */
START_TEST(other_switches_of_yolov2)
{
  struct model m;
  yolov2(&m, false);
  ck_assert_double_eq(megabytes(mafat_ranks_hold(m.list, m.n, 12, 10), 10), 37.86);
  int best = mafat_sharing_switch(m.list, m.n, 6);
  ck_assert_int_eq(best, 5);
  ck_assert_double_eq(megabytes(mafat_ranks_hold(m.list, m.n, best, 6), 6), 43.42);
}
END_TEST

/* Values exchanged by six ranks, from the layer `from` of the table on. */
START_TEST(exchange_on_six_ranks)
{
  static const uint64_t outputs[] = {30163054, 1968053, 21157547, 10577793},
                        least[] = {21868778, 1215200, 16558080, 6893320};
  enum mafat_weight_sharing schemes[MOST_LAYERS], all[MOST_LAYERS] = {MAFAT_FAN_OUT};
  struct model m;
  uint64_t exchange;
  table[_i].build(&m, false);
  const struct mafat_rank_layer *list = m.list + table[_i].from;
  int n = m.n - table[_i].from;
  ck_assert_int_eq(mafat_sharing_schemes(schemes, &exchange, list, n, 6, NULL), MAFAT_OK);
  ck_assert_double_eq(round((double)mafat_schemes_exchange(all, list, n, 6) / 6),
                      (double)outputs[_i]);
  ck_assert_double_eq(round((double)exchange / 6), (double)least[_i]);
}
END_TEST

/* ---- compared with all combinations of schemes ---- */

static bool allowed(const enum mafat_weight_sharing *s, int n)
{
  for (int i = 0; i < n; i++)
    if ((s[i] == MAFAT_FUSED_IN) != (i > 0 && s[i - 1] == MAFAT_FUSED_OUT)) return false;
  return s[n - 1] != MAFAT_FUSED_OUT;
}

START_TEST(no_schemes_exchange_less)
{
  struct test_rng rng = test_rng((uint64_t)_i);
  struct mafat_rank_layer list[6];
  enum mafat_weight_sharing schemes[6], found[6];
  int n = test_random_int(&rng, 1, 6), n_ranks = test_random_int(&rng, 2, 9), all = 1;
  uint64_t least = UINT64_MAX, exchange;
  for (int i = 0; i < n; i++, all *= MAFAT_N_SCHEMES)
    list[i] = (struct mafat_rank_layer){.in = (uint64_t)test_random_int(&rng, 1, 50),
                                        .out = (uint64_t)test_random_int(&rng, 1, 50)};
  for (int code = 0; code < all; code++) {
    for (int i = 0, rest = code; i < n; i++, rest /= MAFAT_N_SCHEMES)
      schemes[i] = (enum mafat_weight_sharing)(rest % MAFAT_N_SCHEMES);
    if (allowed(schemes, n) &&
        (exchange = mafat_schemes_exchange(schemes, list, n, n_ranks)) < least)
      least = exchange;
  }
  ck_assert_int_eq(mafat_sharing_schemes(found, &exchange, list, n, n_ranks, NULL), MAFAT_OK);
  ck_assert(allowed(found, n));
  ck_assert_uint_eq(exchange, least);
  ck_assert_uint_eq(mafat_schemes_exchange(found, list, n, n_ranks), least);
}
END_TEST

/* ---- runs of whole layers ---- */

/* Values sent if layer i is on rank[i]. UINT64_MAX: a rank exceeds its capacity, or ranks do not
 * ascend. */
static uint64_t crossing(const int *rank, const struct mafat_rank_layer *list, const bool *shared,
                         int n, const uint64_t *capacity)
{
  uint64_t sum = 0;
  for (int begin = 0, end, before = -1; begin < n; begin = end) {
    uint64_t weights = 0, widest = 0;
    for (end = begin; end < n && rank[end] == rank[begin]; end++) {
      if (shared[end]) continue;
      weights += list[end].weights;
      widest = list[end].in + list[end].out > widest ? list[end].in + list[end].out : widest;
    }
    if (rank[begin] <= before || weights + widest > capacity[rank[begin]]) return UINT64_MAX;
    before = rank[begin];
    if (before == 0) continue;
    sum += list[begin].in + (end == n ? list[end - 1].out : 0);
  }
  return sum;
}

static uint64_t least_crossing(int *rank, int at, const struct mafat_rank_layer *list,
                               const bool *shared, int n, int n_ranks, const uint64_t *capacity)
{
  uint64_t least = UINT64_MAX;
  if (at == n) return crossing(rank, list, shared, n, capacity);
  for (rank[at] = at ? rank[at - 1] : 0; rank[at] < n_ranks; rank[at]++) {
    uint64_t rest = least_crossing(rank, at + 1, list, shared, n, n_ranks, capacity);
    least = rest < least ? rest : least;
  }
  return least;
}

/* The assignment of layers to ranks sends no more values than any other with ascending ranks. A
 * shared layer takes no capacity. */
START_TEST(runs_cross_least)
{
  enum { N = 7 };
  struct test_rng rng = test_rng((uint64_t)_i);
  struct mafat_rank_layer list[N];
  bool shared[N];
  int rank[N], all[N], n_ranks = test_random_int(&rng, 1, 4);
  uint64_t capacity[4], crosses, in = (uint64_t)test_random_int(&rng, 1, 50);
  for (int i = 0; i < 4; i++) capacity[i] = (uint64_t)test_random_int(&rng, 20, 300);
  for (int i = 0; i < N; i++) {
    uint64_t out = (uint64_t)test_random_int(&rng, 1, 50);
    list[i] = (struct mafat_rank_layer){
        .layer = i, .in = in, .out = out, .weights = (uint64_t)test_random_int(&rng, 1, 60)};
    shared[i] = test_random_chance(&rng, 20);
    in = out;
  }
  uint64_t least = least_crossing(all, 0, list, shared, N, n_ranks, capacity);
  int code = mafat_sharing_runs(rank, &crosses, list, shared, N, n_ranks, capacity, NULL);
  ck_assert_int_eq(code, least == UINT64_MAX ? MAFAT_ELIMIT : MAFAT_OK);
  if (code) return;
  ck_assert_uint_eq(crosses, least);
  for (int i = 0; i < N; i++) ck_assert_int_eq(rank[i] < 0, shared[i]);
}
END_TEST

/* Dividing 4000 layers takes less time than an algorithm that is cubic in their number would. */
START_TEST(many_layers_are_shared_out_soon)
{
  enum { LAYERS = 4000, RANKS = 4 };
  struct mafat_rank_layer *list = calloc(LAYERS, sizeof *list);
  struct test_rng rng = test_rng(41);
  int bounds[RANKS + 1];
  uint64_t most, fullest = 0;
  for (int i = 0; i < LAYERS; i++)
    list[i] = (struct mafat_rank_layer){.layer = i,
                                        .in = (uint64_t)test_random_int(&rng, 1, 5000),
                                        .out = (uint64_t)test_random_int(&rng, 1, 5000),
                                        .weights = (uint64_t)test_random_int(&rng, 1, 90000)};
  clock_t begin = clock();
  ck_assert_int_eq(mafat_sharing_layers(bounds, &most, list, LAYERS, RANKS,
                                        &(struct mafat_sharing_measure){.by_work = false}, NULL),
                   MAFAT_OK);
  double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
  for (int r = 0; r < RANKS; r++) {
    uint64_t own = mafat_ranks_hold_whole(list, bounds[r], bounds[r + 1]);
    if (own > fullest) fullest = own;
  }
  ck_assert_uint_eq(fullest, most);
  ck_assert_msg(seconds < test_patience(1.5), "%g s", seconds);
  free(list);
}
END_TEST

/* The convolutions of a network, and with `all` its connected layers, are listed with their
 * weights and multiplications. A pool is not. */
START_TEST(layers_of_a_network)
{
  struct mafat_network *n =
      test_network("[net]\nwidth=16\nheight=12\nchannels=3\n"
                   "[convolutional]\nfilters=8\nsize=3\nstride=2\npad=1\nactivation=linear\n"
                   "[maxpool]\nsize=2\nstride=2\n[connected]\noutput=10\nactivation=linear\n");
  struct mafat_rank_layers layers;
  for (int all = 0; all < 2; all++) {
    ck_assert_int_eq(mafat_rank_layers_find(&layers, n, n->n_layers, all, NULL), MAFAT_OK);
    ck_assert_int_eq(layers.n, 1 + all);
    ck_assert_uint_eq(layers.list[0].in, 16 * 12 * 3);
    ck_assert_uint_eq(layers.list[0].out, 8 * 6 * 8);
    ck_assert_uint_eq(layers.list[0].weights, 9 * 3 * 8);
    ck_assert_uint_eq(layers.list[0].multiplications, 9 * 3 * 8 * 8 * 6);
    if (all) ck_assert_uint_eq(layers.list[1].weights, 4 * 3 * 8 * 10);
    mafat_rank_layers_close(&layers);
  }
  mafat_network_close(&n);
}
END_TEST

Suite *sharing_suite(void)
{
  Suite *s = suite_create("sharing");
  TCase *c = tcase_create("sharing");
  const int n = sizeof table / sizeof *table;
  tcase_add_loop_test(c, exchanges_of_the_example, 0, 4);
  tcase_add_test(c, each_layer_of_the_example);
  tcase_add_loop_test(c, least_exchange_of_the_example, 0, 4);
  tcase_add_test(c, whole_layers_of_the_example);
  tcase_add_loop_test(c, sums_of_the_networks, 0, n);
  tcase_add_loop_test(c, memory_by_number_of_ranks, 0, n);
  tcase_add_loop_test(c, switch_of_ten_ranks, 0, n);
  tcase_add_loop_test(c, layers_one_by_one, 0, n);
  tcase_add_loop_test(c, memory_with_all_layers, 0, n);
  tcase_add_test(c, other_switches_of_yolov2);
  tcase_add_loop_test(c, exchange_on_six_ranks, 0, n);
  tcase_add_loop_test(c, no_schemes_exchange_less, 0, test_seeds(200));
  tcase_add_loop_test(c, runs_cross_least, 0, test_seeds(200));
  tcase_add_test(c, many_layers_are_shared_out_soon);
  tcase_add_test(c, layers_of_a_network);
  suite_add_tcase(s, c);
  return s;
}
