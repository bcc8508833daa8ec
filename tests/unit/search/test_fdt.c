/* Covers search/fdt/{climb, critical, fdt, flow, paths, placing, published}.c,
 * search/common/effort.c: fused depthwise tiling (FDT) as published in a thesis: which buffers are
 * critical, which paths of layers around a critical buffer can be tiled, and the flow that chooses
 * paths. Writes models to temporary files in /tmp. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "formats/onnx/import.h"
#include "search/fdt/critical.h"
#include "search/fdt/flow.h"
#include "search/fdt/paths.h"
#include "search/fdt/placing.h"
#include "search/searches.h"
#include "search/fdt/published.h"
#include "tests/support/network_files.h"
#include "tests/support/onnx_writer.h"
#include "tests/support/support.h"
#include "tests/support/tree.h"

Suite *fdt_suite(void);

/* ---- critical buffers ---- */

/* Buffers B1 to B9 of the thesis (begin, end, first step, last step), in a layout of 100 bytes. */
static const struct mafat_allocation example[] = {{40, 100, 0, 0}, {0, 10, 0, 0},   {10, 50, 0, 0},
                                                  {50, 70, 0, 0},  {70, 100, 0, 0}, {30, 50, 0, 0},
                                                  {0, 30, 0, 0},   {80, 100, 0, 0}, {0, 80, 0, 0}};
enum { N_EXAMPLE = sizeof example / sizeof *example };

START_TEST(chains_of_the_thesis_example)
{
  static const int expected[] = {9, 3, 5, 7, 4, 6, 8, 2}; /* sizes 80, 40, 30, 30, 20, 20, 20, 10 */
  int critical[N_EXAMPLE], n;
  ck_assert_int_eq(mafat_critical_find(critical, &n, example, N_EXAMPLE, 100, MAFAT_CRITICAL_CHAIN,
                                       NULL),
                   MAFAT_OK);
  ck_assert_int_eq(n, sizeof expected / sizeof *expected);
  for (int i = 0; i < n; i++) ck_assert_int_eq(critical[i] + 1, expected[i]);
}
END_TEST

/* The example has three chains. No buffer is in all of them. */
START_TEST(no_buffer_of_the_example_is_critical_alone)
{
  int critical[N_EXAMPLE], n;
  ck_assert_int_eq(mafat_critical_find(critical, &n, example, N_EXAMPLE, 100, MAFAT_CRITICAL_ALONE,
                                       NULL),
                   MAFAT_OK);
  ck_assert_int_eq(n, 0);
}
END_TEST

START_TEST(what_all_chains_have_is_critical_alone)
{
  static const struct mafat_allocation fork[] = {
      {60, 100, 0, 1}, {0, 60, 0, 0}, {0, 60, 1, 1}, {0, 59, 2, 2}};
  int critical[4], n;
  ck_assert_int_eq(mafat_critical_find(critical, &n, fork, 4, 100, MAFAT_CRITICAL_ALONE, NULL),
                   MAFAT_OK);
  ck_assert_int_eq(n, 1);
  ck_assert_int_eq(critical[0], 0);
  ck_assert_int_eq(mafat_critical_find(critical, &n, fork, 4, 100, MAFAT_CRITICAL_CHAIN, NULL),
                   MAFAT_OK);
  ck_assert_int_eq(n, 3);
}
END_TEST

/* A buffer with free bytes below it breaks a chain. Settling moves it down, until it touches the
 * buffer below it; then the chain is complete. */
START_TEST(buffers_fall_before_chains_are_sought)
{
  struct mafat_allocation floating[] = {{70, 100, 1, 2}, {10, 50, 0, 1}, {0, 10, 5, 6}};
  int critical[3], n;
  size_t total;
  ck_assert_int_eq(mafat_allocations_settle(&total, floating, 3, NULL), MAFAT_OK);
  ck_assert_uint_eq(total, 70);
  ck_assert_uint_eq(floating[0].begin, 40);
  ck_assert_uint_eq(floating[1].begin, 0);
  ck_assert_int_eq(mafat_critical_find(critical, &n, floating, 3, 70, MAFAT_CRITICAL_CHAIN, NULL),
                   MAFAT_OK);
  ck_assert_int_eq(n, 2);
}
END_TEST

/* Walks all chains of buffers that touch each other. True if one leads from offset `at` down to
 * 0. */
static bool leads_down(const struct mafat_allocation *e, int n, size_t at)
{
  if (at == 0) return true;
  for (int i = 0; i < n; i++)
    if (e[i].end == at && leads_down(e, n, e[i].begin)) return true;
  return false;
}

static bool leads_up(const struct mafat_allocation *e, int n, size_t at, size_t total)
{
  if (at == total) return true;
  for (int i = 0; i < n; i++)
    if (e[i].begin == at && leads_up(e, n, e[i].end, total)) return true;
  return false;
}

START_TEST(chains_are_those_that_walking_finds)
{
  struct test_rng rng = test_rng((uint64_t)_i);
  struct mafat_allocation e[10];
  int critical[10], n_critical, n = test_random_int(&rng, 1, 10);
  size_t total = 0;
  for (int i = 0; i < n; i++) {
    size_t begin = (size_t)test_random_int(&rng, 0, 6), size = (size_t)test_random_int(&rng, 1, 4);
    e[i] = (struct mafat_allocation){begin, begin + size, 0, 0};
    if (e[i].end > total) total = e[i].end;
  }
  ck_assert_int_eq(mafat_critical_find(critical, &n_critical, e, n, total, MAFAT_CRITICAL_CHAIN,
                                       NULL),
                   MAFAT_OK);
  for (int i = 0; i < n; i++) {
    bool found = false;
    for (int k = 0; k < n_critical; k++) found |= critical[k] == i;
    ck_assert_int_eq(found, leads_down(e, n, e[i].begin) && leads_up(e, n, e[i].end, total));
  }
}
END_TEST

/* ---- placing ---- */

static bool are_apart(const struct mafat_allocation *e, int n)
{
  for (int i = 0; i < n; i++)
    for (int k = 0; k < i; k++)
      if (e[i].first <= e[k].last && e[k].first <= e[i].last && e[i].begin < e[k].end &&
          e[k].begin < e[i].end)
        return false;
  return true;
}

/* The published check: buffers of 5, 3, 2 and 4 bytes, each of which lives until the next one is
 * made. Placed by falling size only, they need 10 bytes. */
START_TEST(climbing_places_the_published_chain_in_8)
{
  static const size_t sizes[] = {5, 3, 2, 4};
  struct mafat_allocation chain[4];
  size_t total;
  for (int i = 0; i < 4; i++) chain[i] = (struct mafat_allocation){0, sizes[i], i, i + 1};
  ck_assert_int_eq(mafat_allocations_climb(&total, chain, 4, NULL), MAFAT_OK);
  ck_assert_uint_eq(total, 8);
  ck_assert(are_apart(chain, 4));
}
END_TEST

/* Tries all orders in which the buffers can be placed, each at the lowest free offset. Returns the
 * bytes of the smallest layout. */
static size_t least_of_orders(struct mafat_allocation *e, int n, int placed)
{
  size_t least = SIZE_MAX;
  if (placed == n) {
    least = 0;
    for (int i = 0; i < n; i++) least = e[i].end > least ? e[i].end : least;
    return least;
  }
  for (int i = placed; i < n; i++) {
    struct mafat_allocation first = e[placed], chosen = e[i];
    e[i] = first;
    size_t size = chosen.end - chosen.begin, at = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (int k = 0; k < placed; k++)
        if (e[k].first <= chosen.last && chosen.first <= e[k].last && e[k].begin < at + size &&
            at < e[k].end) {
          at = e[k].end;
          moved = true;
        }
    }
    e[placed] = (struct mafat_allocation){at, at + size, chosen.first, chosen.last};
    size_t found = least_of_orders(e, n, placed + 1);
    least = found < least ? found : least;
    e[i] = chosen;
    e[placed] = first;
  }
  return least;
}

/* For up to six buffers, climbing finds the smallest layout. */
START_TEST(climbing_finds_the_least_of_a_few)
{
  struct test_rng rng = test_rng((uint64_t)_i);
  struct mafat_allocation e[6], tried[6];
  int n = test_random_int(&rng, 1, 6);
  size_t total;
  for (int i = 0; i < n; i++) {
    int first = test_random_int(&rng, 0, 6);
    e[i] = tried[i] = (struct mafat_allocation){0, (size_t)test_random_int(&rng, 1, 9), first,
                                                first + test_random_int(&rng, 0, 3)};
  }
  ck_assert_int_eq(mafat_allocations_climb(&total, e, n, NULL), MAFAT_OK);
  ck_assert(are_apart(e, n));
  ck_assert_uint_eq(total, least_of_orders(tried, n, 0));
}
END_TEST

/* ---- the running example of the thesis ---- */

static void add_weights(struct test_message *graph, const char *name, int filters, int inputs,
                        int rows, int cols)
{
  static const double zeros[64 * 32 * 9];
  const int64_t dims[] = {filters, inputs, rows, cols};
  test_onnx_floats(graph, name, rows ? 4 : 2, dims, zeros);
}

/* The thesis's network: an input of 32x8x1, a convolution to 16x4x32, a depthwise convolution, a
 * 1x1 convolution to 16x4x64, the mean of each channel's map, and a fully connected layer to 6. */
static struct mafat_network *running_example(void)
{
  static const int64_t in[] = {1, 1, 32, 8}, out[] = {1, 6};
  static const char *const nodes[][4] = {
      {"Conv", "in w1", "c1", "kernel_shape=[6,2] strides=[2,2] pads=[2,0,2,0]"},
      {"Relu", "c1", "r1", ""},
      {"Conv", "r1 w2", "c2", "kernel_shape=[3,3] pads=[1,1,1,1] group=32"},
      {"Relu", "c2", "r2", ""},
      {"Conv", "r2 w3", "c3", "kernel_shape=[1,1]"},
      {"Relu", "c3", "r3", ""},
      {"AveragePool", "r3", "p", "kernel_shape=[16,4]"},
      {"Flatten", "p", "f", "axis=1"},
      {"Gemm", "f w4", "d", "transB=1"},
      {"Relu", "d", "out", ""}};
  char path[] = "/tmp/mafat-test-XXXXXX";
  struct test_message graph = {0};
  struct mafat_network *n;
  struct mafat_diagnostic d = {""};
  for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
    test_onnx_add(&graph, nodes[i][0], nodes[i][1], nodes[i][2], nodes[i][3]);
  add_weights(&graph, "w1", 32, 1, 6, 2);
  add_weights(&graph, "w2", 32, 1, 3, 3);
  add_weights(&graph, "w3", 64, 32, 1, 1);
  add_weights(&graph, "w4", 6, 64, 0, 0);
  test_onnx_input(&graph, "in", 4, in);
  test_onnx_output(&graph, "out", 2, out);
  struct test_message file = test_onnx_model(&graph, 13);
  int descriptor = mkstemp(path);
  ck_assert_int_ge(descriptor, 0);
  close(descriptor);
  test_write_file(path, file.data, file.n);
  free(file.data);
  ck_assert_msg(test_onnx_network_read(&n, path, NULL, &d) == MAFAT_OK, "%s", d.text);
  unlink(path);
  return n;
}

/* Flatten is no layer here: it only renames its input */
enum { CONV1, CONV2, CONV3, POOL, DENSE, N_RUNNING };

static struct mafat_sole_readers *lines_of(struct mafat_network *n)
{
  struct mafat_sole_readers *lines;
  ck_assert_int_eq(mafat_sole_readers_make(&lines, n, n->n_layers, NULL), MAFAT_OK);
  return lines;
}

static struct mafat_published account(const struct mafat_sole_readers *lines,
                                      const struct mafat_path *path)
{
  struct mafat_published p;
  ck_assert_int_eq(mafat_published_find(&p, lines, path), MAFAT_OK);
  return p;
}

START_TEST(the_running_example_untiled)
{
  struct mafat_network *n = running_example();
  struct mafat_sole_readers *lines = lines_of(n);
  ck_assert_int_eq(n->n_layers, N_RUNNING);
  struct mafat_published p = account(lines, NULL);
  ck_assert_uint_eq(p.bytes, 24576);
  ck_assert_uint_eq(p.macs, 174464);
  mafat_sole_readers_close(&lines);
  mafat_network_close(&n);
}
END_TEST

/* Around Conv3's output there are two paths, FDTO PART and FDTO PART FDTI, each in 2 to 25 parts.
 * None cuts rows or columns, because the pool's output is a single pixel. Around the outputs of
 * Conv1 and Conv2 there is no path: wherever one could end, the output is no smaller. */
START_TEST(candidates_of_the_running_example)
{
  struct mafat_network *n = running_example();
  struct mafat_sole_readers *lines = lines_of(n);
  static struct mafat_path p[MAFAT_MOST_PATHS];
  ck_assert_int_eq(mafat_paths_find(p, MAFAT_MOST_PATHS, lines, CONV3), 2);
  for (int i = 0; i < 2; i++) {
    ck_assert_int_eq(p[i].tiling, MAFAT_TILE_DEPTH);
    ck_assert_int_eq(p[i].length, 2 + i);
    for (int k = 0; k < p[i].length; k++) ck_assert_int_eq(p[i].layers[k], CONV3 + k);
    ck_assert(p[i].fan_out);
    ck_assert_int_eq(p[i].fan_in, i == 1);
    ck_assert_int_eq(mafat_path_most_parts(lines, &p[i], CONV3), 25);
  }
  ck_assert_int_eq(mafat_paths_find(p, MAFAT_MOST_PATHS, lines, CONV1), 0);
  ck_assert_int_eq(mafat_paths_find(p, MAFAT_MOST_PATHS, lines, CONV2), 0);
  mafat_sole_readers_close(&lines);
  mafat_network_close(&n);
}
END_TEST

/* A path that cuts rows or columns has a version that stops (upwards) before each layer whose
 * windows overlap along a cut axis. The 3x3 windows of Conv2 overlap along both axes; those of
 * Conv1, 6x2 with strides of 2, along rows only. */
START_TEST(versions_stop_before_overlap)
{
  static const struct { enum mafat_tiling tiling; int n, lengths[3];
  } expected[] = {{MAFAT_TILE_ROWS, 3, {1, 2, 3}},
                  {MAFAT_TILE_COLS, 2, {1, 3}},
                  {MAFAT_TILE_BOTH, 3, {1, 2, 3}}};
  struct mafat_network *n = running_example();
  struct mafat_sole_readers *lines = lines_of(n);
  int lengths[MAFAT_MOST_VERSIONS];
  for (int i = 0; i < 3; i++) {
    ck_assert_int_eq(mafat_path_lengths(lengths, lines, CONV3, expected[i].tiling, -1),
                     expected[i].n);
    for (int k = 0; k < expected[i].n; k++) ck_assert_int_eq(lengths[k], expected[i].lengths[k]);
    ck_assert_int_eq(mafat_path_lengths(lengths, lines, CONV3, expected[i].tiling, 1), 0);
  }
  mafat_sole_readers_close(&lines);
  mafat_network_close(&n);
}
END_TEST

/* Two tiles of columns read columns 1 to 6 and 3 to 8 of the input, counted from 1. */
START_TEST(overlap_of_the_running_example)
{
  struct mafat_network *n = running_example();
  struct mafat_sole_readers *lines = lines_of(n);
  struct mafat_path p = {
      .tiling = MAFAT_TILE_COLS, .n = 2, .layers = {CONV1, CONV2, CONV3}, .length = 3};
  for (int part = 0; part < 2; part++) {
    struct mafat_span made = mafat_path_span(lines, &p, 0, false, part);
    struct mafat_span read = mafat_layer_in_span(&n->layers[CONV1], 0, false, made);
    ck_assert_int_eq(read.begin + 1, part ? 3 : 1);
    ck_assert_int_eq(read.end, part ? 8 : 6);
  }
  mafat_sole_readers_close(&lines);
  mafat_network_close(&n);
}
END_TEST

/* Two parts need 16512 bytes. In three parts (22, 21 and 21 channels) the outputs of Conv1 and
 * Conv2 are the peak, so more parts do not lower it. Nothing is computed twice. */
START_TEST(three_parts_of_the_running_example)
{
  static const uint64_t bytes[] = {16512, 16384, 16384, 16384};
  struct mafat_network *n = running_example();
  struct mafat_sole_readers *lines = lines_of(n);
  static struct mafat_path p[MAFAT_MOST_PATHS];
  ck_assert_int_eq(mafat_paths_find(p, MAFAT_MOST_PATHS, lines, CONV3), 2);
  for (p->n = 2; p->n <= 25; p->n++) {
    struct mafat_published whole = account(lines, p);
    ck_assert_uint_eq(whole.bytes, bytes[p->n < 5 ? p->n - 2 : 3]);
    ck_assert_uint_eq(whole.macs, 174464);
  }
  for (int i = 0; i < 3; i++)
    ck_assert_int_eq(mafat_span_size(mafat_path_part(64, 3, i)), i ? 21 : 22);
  ck_assert_int_eq(mafat_path_part(64, 3, 2).end, 64);
  mafat_sole_readers_close(&lines);
  mafat_network_close(&n);
}
END_TEST

/* ---- the flow on the running example, by the accounting of the publications ---- */

struct example {
  struct mafat_sole_readers *lines;
  /* the path measured last; the path of the best plan since the current one; the path of the
   * current plan */
  struct mafat_path measured, kept, stands; /* paths with length 0 mean no tiling */
  int n_measured, n_taken;
};

static int measure_example(void *user, size_t *bytes, const struct mafat_path *paths, int n,
                           long long n_evaluations)
{
  struct example *e = user;
  (void)n_evaluations;
  memset(&e->measured, 0, sizeof e->measured);
  if (n == 1) e->measured = *paths;
  *bytes = n > 1 ? SIZE_MAX : (size_t)account(e->lines, n ? paths : NULL).bytes;
  e->n_measured++;
  return MAFAT_OK;
}

static int keep_example(void *user)
{
  struct example *e = user;
  e->kept = e->measured;
  return MAFAT_OK;
}

static int take_example(void *user)
{
  struct example *e = user;
  e->stands = e->kept;
  e->n_taken++;
  return MAFAT_OK;
}

/* Places the outputs as a chain, in which each lives until the next one is made. An output inside
 * the tiled path has the bytes of its largest part. */
static int find_critical_of_example(void *user, int **tensors, int *n)
{
  struct example *e = user;
  struct mafat_allocation extents[N_RUNNING];
  size_t total;
  for (int t = 0; t < N_RUNNING; t++) {
    size_t bytes = (size_t)mafat_tensor_bytes(e->lines->network, t);
    for (int i = 0; i + 1 < e->stands.length; i++) {
      int c = e->lines->network->layers[t].out.c;
      if (e->stands.layers[i] == t)
        bytes = bytes / (size_t)c * (size_t)mafat_span_size(mafat_path_part(c, e->stands.n, 0));
    }
    extents[t] = (struct mafat_allocation){0, bytes, t, t + 1};
  }
  ck_assert_int_eq(mafat_allocations_climb(&total, extents, N_RUNNING, NULL), MAFAT_OK);
  ck_assert_uint_eq(total, e->stands.length ? 16384 : 24576);
  *tensors = calloc(N_RUNNING, sizeof **tensors);
  return mafat_critical_find(*tensors, n, extents, N_RUNNING, total, MAFAT_CRITICAL_CHAIN, NULL);
}

static bool always(const void *user)
{
  (void)user;
  return true;
}

/* FDTO PART in three parts (22, 21 and 21 channels) lowers the peak from 24576 to 16384 bytes. Of
 * equally good candidates the flow takes the shortest path, in the fewest parts. Then Conv1 and
 * Conv2 are critical, and there is no path around them. */
START_TEST(the_flow_of_the_running_example)
{
  static const struct mafat_flow_callbacks callbacks = {measure_example, keep_example, take_example,
                                                        find_critical_of_example, always};
  struct mafat_network *n = running_example();
  static struct mafat_flow flow;
  static struct example e;
  e = (struct example){.lines = lines_of(n)};
  flow =
      (struct mafat_flow){.lines = e.lines, .callbacks = &callbacks, .user = &e, .bytes = SIZE_MAX};
  ck_assert_int_eq(mafat_flow_begin(&flow, NULL, 0), MAFAT_OK);
  ck_assert_uint_eq(flow.bytes, 24576);
  ck_assert_int_eq(mafat_flow_run(&flow), MAFAT_OK);
  ck_assert_uint_eq(flow.bytes, 16384);
  ck_assert_int_eq(flow.n_applied, 1);
  ck_assert_int_eq(flow.applied->tiling, MAFAT_TILE_DEPTH);
  ck_assert_int_eq(flow.applied->length, 2);
  ck_assert_int_eq(flow.applied->layers[0], CONV3);
  ck_assert_int_eq(flow.applied->layers[1], POOL);
  ck_assert(flow.applied->fan_out && !flow.applied->fan_in);
  ck_assert_int_eq(flow.applied->n, 3);
  for (int i = 0; i < 3; i++)
    ck_assert_int_eq(mafat_span_size(mafat_path_part(64, flow.applied->n, i)), i ? 21 : 22);
  ck_assert_uint_eq(account(e.lines, flow.applied).macs, account(e.lines, NULL).macs);
  ck_assert_int_eq(e.n_taken, 2); /* the untiled network and the tiled one */
  ck_assert_int_eq(e.n_measured, 1 + 2 * 24);
  mafat_sole_readers_close(&e.lines);
  mafat_network_close(&n);
}
END_TEST

/* ---- the search, on plans ---- */

/* A layer of a chain of 1x1 and 3x3 convolutions and pools over a square map. */
struct link {
  const char *operator; /* "conv3", "conv1", "stride2", "mean" */
  int channels;
};

static struct mafat_network *chain_of(int side, int channels, const struct link *links, int n_links)
{
  const int64_t in[] = {1, channels, side, side};
  char path[] = "/tmp/mafat-test-XXXXXX", from[16] = "in", to[16], inputs[40], weights[16];
  struct test_message graph = {0};
  struct mafat_network *n;
  struct mafat_diagnostic d = {""};
  int64_t out[] = {1, channels, side, side};
  for (int i = 0; i < n_links; i++) {
    const char *o = links[i].operator;
    bool mean = strcmp(o, "mean") == 0, wide = strcmp(o, "conv1") != 0,
         strided = strcmp(o, "stride2") == 0;
    snprintf(to, sizeof to, "t%d", i);
    snprintf(weights, sizeof weights, "w%d", i);
    snprintf(inputs, sizeof inputs, mean ? "%s" : "%s %s", from, weights);
    test_onnx_add(&graph, mean ? "GlobalAveragePool" : "Conv", inputs, to,
                  mean      ? ""
                  : !wide   ? "kernel_shape=[1,1]"
                  : strided ? "kernel_shape=[3,3] pads=[1,1,1,1] strides=[2,2]"
                            : "kernel_shape=[3,3] pads=[1,1,1,1]");
    if (!mean)
      add_weights(&graph, weights, links[i].channels, (int)out[1], wide ? 3 : 1, wide ? 3 : 1);
    out[1] = links[i].channels;
    if (strided) out[2] = out[3] = (out[2] + 1) / 2;
    if (mean) out[2] = out[3] = 1;
    strcpy(from, to);
  }
  test_onnx_input(&graph, "in", 4, in);
  test_onnx_output(&graph, from, 4, out);
  struct test_message file = test_onnx_model(&graph, 13);
  int descriptor = mkstemp(path);
  ck_assert_int_ge(descriptor, 0);
  close(descriptor);
  test_write_file(path, file.data, file.n);
  free(file.data);
  ck_assert_msg(test_onnx_network_read(&n, path, NULL, &d) == MAFAT_OK, "%s", d.text);
  unlink(path);
  return n;
}

struct found {
  size_t bytes;
  uint64_t redundant_macs;
  char text[400];
};

/* Result of the search with this name. */
static struct found search_by(const char *name, const struct mafat_network *n, const char *words,
                              double seconds)
{
  const struct mafat_search *by;
  const char *none;
  static const struct mafat_footprint footprint = {.process_bytes = 3 << 20,
                                                   .program_bytes = 4 << 20};
  struct mafat_plan_options options;
  struct mafat_calibration calibration;
  struct mafat_front *front;
  struct mafat_diagnostic d = {""};
  struct found f;
  mafat_plan_defaults(&options);
  options.algorithm = MAFAT_DIRECT;
  mafat_calibration_defaults(&calibration, "avx2");
  struct mafat_search_request r = {.network = n,
                                   .n_layers = n->n_layers,
                                   .options = &options,
                                   .footprint = &footprint,
                                   .calibration = &calibration,
                                   .words = words,
                                   .plan_seconds = seconds};
  ck_assert_int_eq(mafat_search_find(&by, &none, name, &d), MAFAT_OK);
  ck_assert_msg(by->find(&front, &r, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_int_eq(front->n, 1);
  f.bytes = front->list[0].arena_bytes;
  f.redundant_macs = front->list[0].redundant_macs;
  mafat_spec_write(front->list[0].spec, f.text, sizeof f.text);
  mafat_front_close(&front);
  return f;
}

static struct found search_in(const struct mafat_network *n, const char *words, double seconds)
{
  return search_by("fdt", n, words, seconds);
}

/* Bytes that the search "least" finds, which also considers plans of fused tiling that compute
 * nothing twice. */
static size_t search_least(const struct mafat_network *n)
{
  struct found f = search_by("least", n, NULL, 0);
  ck_assert_uint_eq(f.redundant_macs, 0);
  return f.bytes;
}

static bool has_tiles(const char *text)
{
  for (const char *x = strchr(text, 'x'); x; x = strchr(x + 1, 'x'))
    if (x > text &&
        (x[-1] != '1' || x[1] != '1' || (x - 1 > text && x[-2] != '/') || (x[2] && x[2] != '/')))
      return true;
  return strstr(text, "split(h") != NULL;
}

/* Checks whether tiling by channels (FDT) and by rows and columns (FFMT) need fewer bytes than
 * whole maps, and that the search with both tilings needs no more than either. Frees the
 * network. */
static void check_winner(struct mafat_network *n, bool fdt_wins, bool ffmt_wins)
{
  struct found fdt = search_in(n, "tiling=fdt", 0), ffmt = search_in(n, "tiling=ffmt", 0);
  struct found both = search_in(n, NULL, 0),
               climbed = search_in(n, "tiling=both,layout=published", 0);
  bool fdt_cuts = strstr(fdt.text, "split(c"), ffmt_cuts = has_tiles(ffmt.text);
  ck_assert_msg(fdt_cuts == fdt_wins, "fdt: %s", fdt.text);
  ck_assert_msg(ffmt_cuts == ffmt_wins, "ffmt: %s", ffmt.text);
  ck_assert_uint_eq(fdt.redundant_macs, 0);
  if (fdt_wins) ck_assert_uint_lt(fdt.bytes, ffmt.bytes);
  else if (ffmt_wins) ck_assert_uint_lt(ffmt.bytes, fdt.bytes);
  else ck_assert_uint_eq(fdt.bytes, ffmt.bytes);
  ck_assert_uint_le(both.bytes, fdt.bytes);
  ck_assert_uint_le(both.bytes, ffmt.bytes);
  /* both ways of placing buffers give the same for a chain */
  ck_assert_uint_eq(climbed.bytes, both.bytes);
  ck_assert_uint_le(search_least(n), fdt.bytes);
  mafat_network_close(&n);
}

/* The mean's output is a single pixel: only channels can be cut. */
START_TEST(channels_alone_win)
{
  static const struct link links[] = {{"conv1", 64}, {"mean", 64}, {"conv1", 8}};
  check_winner(chain_of(16, 16, links, 3), true, false);
}
END_TEST

/* All maps have at most one block of channels (16), so channels cannot be cut. */
START_TEST(rows_and_columns_alone_win)
{
  static const struct link links[] = {{"conv3", 16}, {"stride2", 16}, {"stride2", 16}};
  check_winner(chain_of(32, 3, links, 3), false, true);
}
END_TEST

/* All maps have the same size, so that no path ends in a smaller one. */
START_TEST(nothing_helps)
{
  static const struct link links[] = {{"conv1", 16}, {"conv1", 16}, {"conv1", 16}};
  check_winner(chain_of(16, 16, links, 3), false, false);
}
END_TEST

/* ---- wide graphs ---- */

/* A network of n_branches branches, each a few convolutions of random width. A last layer reads all
 * of them. The number of possible orders is very large. */
static struct mafat_network *wide_network(struct test_rng *rng, int n_branches)
{
  static const int64_t in[] = {1, 16, 16, 16}, out[] = {1, 8, 16, 16};
  char path[] = "/tmp/mafat-test-XXXXXX", inputs[64], name[24], weights[24], from[24],
       *joined = calloc((size_t)n_branches, 24);
  struct test_message graph = {0};
  struct mafat_network *n;
  struct mafat_diagnostic d = {""};
  int n_joined = 0;
  ck_assert_ptr_nonnull(joined);
  for (int b = 0; b < n_branches; b++) {
    int channels = 16, length = test_random_int(rng, 1, 4);
    strcpy(from, "in");
    for (int i = 0; i < length; i++) {
      int wide = 16 * test_random_int(rng, 1, 4);
      snprintf(name, sizeof name, "b%d_%d", b, i);
      snprintf(weights, sizeof weights, "w%d_%d", b, i);
      snprintf(inputs, sizeof inputs, "%s %s", from, weights);
      test_onnx_add(&graph, "Conv", inputs, name, "kernel_shape=[1,1]");
      add_weights(&graph, weights, wide, channels, 1, 1);
      channels = wide;
      strcpy(from, name);
    }
    snprintf(name, sizeof name, "last%d", b);
    snprintf(weights, sizeof weights, "v%d", b);
    snprintf(inputs, sizeof inputs, "%s %s", from, weights);
    test_onnx_add(&graph, "Conv", inputs, name, "kernel_shape=[1,1]");
    add_weights(&graph, weights, 8, channels, 1, 1);
    n_joined += snprintf(joined + n_joined, 24, "%s%s", b ? " " : "", name);
  }
  test_onnx_add(&graph, "Sum", joined, "out", "");
  free(joined);
  test_onnx_input(&graph, "in", 4, in);
  test_onnx_output(&graph, "out", 4, out);
  struct test_message file = test_onnx_model(&graph, 13);
  int descriptor = mkstemp(path);
  ck_assert_int_ge(descriptor, 0);
  close(descriptor);
  test_write_file(path, file.data, file.n);
  free(file.data);
  ck_assert_msg(test_onnx_network_read(&n, path, NULL, &d) == MAFAT_OK, "%s", d.text);
  unlink(path);
  return n;
}

/* Processor time of a search in seconds; other processes do not count. The plan that the search
 * begins with is measured even if `seconds` is too short. */
static double seconds_of(const struct mafat_network *n, double seconds, struct found *found)
{
  clock_t begin = clock();
  *found = search_in(n, NULL, seconds);
  return (double)(clock() - begin) / CLOCKS_PER_SEC;
}

START_TEST(time_to_plan_is_kept_on_wide_graphs)
{
  struct test_rng rng = test_rng((uint64_t)_i);
  struct mafat_network *n = wide_network(&rng, 24);
  struct found little, more;
  ck_assert_double_lt(seconds_of(n, 1e-3, &little), test_patience(.5));
  ck_assert_double_lt(seconds_of(n, .5, &more), test_patience(1));
  ck_assert_uint_le(more.bytes, little.bytes);
  mafat_network_close(&n);
}
END_TEST

Suite *fdt_suite(void)
{
  Suite *suite = suite_create("fdt");
  TCase *t = tcase_create("fdt");
  tcase_set_timeout(t, 120);
  tcase_add_test(t, chains_of_the_thesis_example);
  tcase_add_test(t, no_buffer_of_the_example_is_critical_alone);
  tcase_add_test(t, what_all_chains_have_is_critical_alone);
  tcase_add_test(t, buffers_fall_before_chains_are_sought);
  tcase_add_loop_test(t, chains_are_those_that_walking_finds, 0, test_seeds(500));
  tcase_add_test(t, climbing_places_the_published_chain_in_8);
  tcase_add_loop_test(t, climbing_finds_the_least_of_a_few, 0, test_seeds(300));
  tcase_add_test(t, the_running_example_untiled);
  tcase_add_test(t, candidates_of_the_running_example);
  tcase_add_test(t, versions_stop_before_overlap);
  tcase_add_test(t, overlap_of_the_running_example);
  tcase_add_test(t, three_parts_of_the_running_example);
  tcase_add_test(t, the_flow_of_the_running_example);
  tcase_add_test(t, channels_alone_win);
  tcase_add_test(t, rows_and_columns_alone_win);
  tcase_add_test(t, nothing_helps);
  tcase_add_loop_test(t, time_to_plan_is_kept_on_wide_graphs, 0, test_seeds(3));
  suite_add_tcase(suite, t);
  return suite;
}
