/* Covers predictor/ranks/{rank_parts, schemes}.c: random networks on several ranks give the same
 * bits as on one. Ranks are processes that compute one network together; here they are threads, and
 * send messages through memory. */
#include "predictor/plan/parts.h"
#include "predictor/planning/planning.h"
#include "predictor/ranks/rank_parts.h"
#include "predictor/ranks/schemes.h"
#include "formats/tflite/model.h"
#include "runner/engine/executor.h"

#include "tests/support/imported.h"
#include "tests/support/integer_graph.h"
#include "tests/support/support.h"

#include <check.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *ranks_suite(void);

enum { MOST_RANKS = 6, MOST_MESSAGES = 1 << 14, MOST_SEGMENTS = 1 << 12 };

/* ---- messages between threads ---- */

/* A message of n bytes from one rank to another. values: number of tensor elements in it. */
struct mail {
  char *bytes;
  size_t n;
  int from, to;
  uint64_t values;
};

static struct {
  pthread_mutex_t lock;
  pthread_cond_t came;
  struct mail mails[MOST_MESSAGES];
} post = {.lock = PTHREAD_MUTEX_INITIALIZER, .came = PTHREAD_COND_INITIALIZER};

static size_t move(const struct mafat_executor *e, const struct mafat_step *step, char *mail,
                   bool send, bool adds)
{
  struct mafat_executor_segment *segments = malloc(MOST_SEGMENTS * sizeof *segments);
  int n = mafat_executor_segments(e, step, segments, MOST_SEGMENTS);
  size_t at = 0;
  ck_assert_int_le(n, MOST_SEGMENTS);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < segments[i].n; k++, at += segments[i].bytes) {
      char *place = segments[i].at + (size_t)k * segments[i].stride;
      if (mail && send) memcpy(mail + at, place, segments[i].bytes);
      if (mail && !send && !adds) memcpy(place, mail + at, segments[i].bytes);
      for (size_t f = 0; mail && adds && f < segments[i].bytes; f += sizeof(float))
        *(float *)(void *)(place + f) += *(const float *)(const void *)(mail + at + f);
    }
  free(segments);
  return at;
}

static int exchange(void *context, struct mafat_executor *e, const struct mafat_step *step,
                    struct mafat_diagnostic *d)
{
  const int *rank = context;
  const struct mafat_layer_part *part = mafat_executor_part(e, step);
  struct mail *mail = &post.mails[part->message];
  (void)d;
  ck_assert_int_lt(part->message, MOST_MESSAGES);
  pthread_mutex_lock(&post.lock);
  if (step->kind == MAFAT_STEP_SEND) {
    size_t n = move(e, step, NULL, true, false);
    ck_assert_ptr_null(mail->bytes);
    *mail = (struct mail){malloc(n), n, *rank, part->peer,
                          (uint64_t)mafat_box_area(part->out) *
                              (uint64_t)mafat_span_size(part->filters)};
    move(e, step, mail->bytes, true, false);
    pthread_cond_broadcast(&post.came);
  } else if (step->kind == MAFAT_STEP_RECEIVE) {
    while (!mail->bytes) pthread_cond_wait(&post.came, &post.lock);
    ck_assert_int_eq(mail->from, part->peer);
    ck_assert_int_eq(mail->to, *rank);
    ck_assert_uint_eq(move(e, step, mail->bytes, false, part->adds), mail->n);
  }
  pthread_mutex_unlock(&post.lock);
  return MAFAT_OK;
}

static uint64_t empty_post(void)
{
  uint64_t values = 0;
  for (int i = 0; i < MOST_MESSAGES; i++) {
    values += post.mails[i].values;
    free(post.mails[i].bytes);
    post.mails[i] = (struct mail){0};
  }
  return values;
}

/* ---- running ---- */

struct rank {
  int number;
  const struct mafat_network *network;
  struct mafat_plan *plan;
  struct mafat_layout *layout;
  /* the rank's own weights, read from a file; NULL: it uses weights that all ranks share */
  struct mafat_weights *weights;
  struct mafat_executor *executor;
};

static void open_rank(struct rank *r, int number, const struct mafat_network *n, const char *text,
                      struct mafat_plan_options options, struct mafat_weights *w, int fd)
{
  struct mafat_executor_options e;
  struct mafat_diagnostic d = {""};
  *r = (struct rank){.number = number, .network = n};
  char path[32];
  options.only_rank = number + 1;
  r->plan = test_plan_with(n, text, &options);
  r->layout = test_layout(n, r->plan);
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  if (fd >= 0) {
    int code = mafat_weights_open(&r->weights, path, n, r->plan, r->layout, NULL, NULL, &d);
    ck_assert_msg(code == MAFAT_OK, "%s: %s", text, d.text);
    ck_assert_uint_eq(mafat_weights_bytes(r->weights), r->layout->kept_bytes);
    w = r->weights;
  }
  mafat_executor_defaults(&e);
  e.exchanger = (struct mafat_exchanger){exchange, &r->number};
  ck_assert_msg(mafat_executor_open(&r->executor, n, r->plan, r->layout, w, &e, &d) == MAFAT_OK,
                "%s", d.text);
}

static void *run_rank(void *context)
{
  struct rank *r = context;
  struct mafat_diagnostic d = {""};
  memset((void *)(uintptr_t)mafat_executor_arena(r->executor), 0xff, r->layout->total_bytes);
  ck_assert_msg(mafat_executor_run(r->executor, &d) == MAFAT_OK, "rank %d: %s", r->number, d.text);
  return NULL;
}

static void close_rank(struct rank *r)
{
  mafat_executor_close(&r->executor);
  mafat_weights_close(&r->weights);
  mafat_layout_close(&r->layout);
  mafat_plan_close(&r->plan);
}

static float *read_outputs(const struct mafat_executor *e, const struct mafat_network *n)
{
  float *out = calloc(test_outputs_floats(n) + 1, sizeof *out);
  test_read_outputs(e, n, out);
  return out;
}

static float *random_input(const struct mafat_network *n)
{
  size_t inputs = (size_t)mafat_shape_elements(mafat_network_picture_shape(n));
  float *input = malloc(inputs * sizeof *input);
  struct test_rng rng = test_rng(99);
  for (size_t i = 0; i < inputs; i++) input[i] = (float)(test_random(&rng) >> 8) / 16777216.0f;
  return input;
}

static float *run_alone(const struct mafat_network *n, const char *text,
                        const struct mafat_plan_options *options, struct mafat_weights *w,
                        const float *input)
{
  struct rank r = {.network = n};
  struct mafat_executor_options e;
  mafat_executor_defaults(&e);
  r.plan = test_plan_with(n, text, options);
  r.layout = test_layout(n, r.plan);
  ck_assert_int_eq(mafat_executor_open(&r.executor, n, r.plan, r.layout, w, &e, NULL), MAFAT_OK);
  mafat_executor_set_input(r.executor, input);
  run_rank(&r);
  float *out = read_outputs(r.executor, n);
  close_rank(&r);
  return out;
}

/* Runs all ranks and returns the outputs that rank 0 has, which the caller frees. fd: file from
 * which each rank reads its own weights; -1: all ranks share w. *values: number of values sent
 * between ranks. */
static float *run_ranks(const struct mafat_network *n, const char *text, int n_ranks,
                        const struct mafat_plan_options *options, struct mafat_weights *w, int fd,
                        const float *input, uint64_t *values)
{
  struct rank ranks[MOST_RANKS];
  pthread_t threads[MOST_RANKS];
  for (int r = 0; r < n_ranks; r++) open_rank(&ranks[r], r, n, text, *options, w, fd);
  mafat_executor_set_input(ranks[0].executor, input);
  for (int r = 0; r < n_ranks; r++)
    ck_assert_int_eq(pthread_create(&threads[r], NULL, run_rank, &ranks[r]), 0);
  for (int r = 0; r < n_ranks; r++) pthread_join(threads[r], NULL);
  float *out = read_outputs(ranks[0].executor, n);
  for (int r = 0; r < n_ranks; r++) close_rank(&ranks[r]);
  *values = empty_post();
  return out;
}

static struct mafat_weights *weights_of(const struct mafat_network *n, uint64_t seed)
{
  struct mafat_weights *w;
  struct mafat_diagnostic d = {""};
  int fd = test_weights_file(n, seed);
  ck_assert_msg(test_weights_from(&w, fd, n, n->n_layers, NULL, &d) == MAFAT_OK, "%s", d.text);
  close(fd);
  return w;
}

static void check_plan(const char *cfg, const struct mafat_network *n, const char *text,
                       int n_ranks, const struct mafat_plan_options *options, uint64_t *values)
{
  struct mafat_weights *w = weights_of(n, 7);
  float *input = random_input(n), *expected = run_alone(n, "1x1/NoCut", options, w, input);
  int fd = test_weights_file(n, 7);
  for (int own = 0; own < 2; own++) {
    float *out = run_ranks(n, text, n_ranks, options, w, own ? fd : -1, input, values);
    for (size_t i = 0; i < test_outputs_floats(n); i++)
      if (memcmp(&out[i], &expected[i], sizeof *out) != 0)
        test_fail_case(cfg, text, "output %zu is %.9g, on one device %.9g", i, (double)out[i],
                       (double)expected[i]);
    free(out);
  }
  close(fd);
  free(input);
  free(expected);
  mafat_weights_close(&w);
}

/* ---- random networks ---- */

/* Writes to `text` a random plan for n_ranks ranks in which every group is split. Returns false if
 * none was found. */
static bool random_ranks(struct test_rng *rng, const struct mafat_network *n,
                         const struct mafat_plan_options *options, int n_ranks, char *text,
                         size_t capacity)
{
  struct mafat_plan *plan;
  for (int i = 0; i < 20; i++) {
    if (!test_random_split(rng, n, options, text, capacity)) return false;
    /* the plan option inplace is not allowed with ranks */
    char *in_place = strstr(text, "/inplace");
    if (in_place) *in_place = '\0';
    size_t length = strlen(text);
    snprintf(text + length, capacity - length, "/ranks=%d,%d:%d", n_ranks,
             test_random_int(rng, 0, n->n_layers - 1), test_random_int(rng, 0, n_ranks - 1));
    struct mafat_diagnostic d = {""};
    int code = mafat_plan_read(&plan, text, n, n->n_layers, options, &d);
    if (code == MAFAT_OK) {
      mafat_plan_close(&plan);
      return true;
    }
    /* without ranks, a part may end inside a block of channels; with ranks it may not */
    ck_assert_msg(strstr(d.text, "only split(...) groups") ||
                      strstr(d.text, "channels, in units of 16, which are too few"),
                  "%s", d.text);
  }
  return false;
}

START_TEST(the_same_bits_on_any_number_of_ranks)
{
  char cfg[TEST_CFG_ROOM], text[TEST_PLAN_ROOM];
  struct test_rng rng = test_rng(31000 + (uint64_t)_i);
  struct test_network_style style = test_small_style();
  test_random_network(&rng, &style, cfg, sizeof cfg);
  struct mafat_network *n = test_network(cfg);
  if (_i % 3 == 2) test_several_outputs(n, (uint64_t)_i, 50);
  struct mafat_plan_options options;
  uint64_t values;
  mafat_plan_defaults(&options);
  options.algorithm = test_random_chance(&rng, 50) ? MAFAT_DIRECT : MAFAT_AUTO;
  options.n_threads = test_random_int(&rng, 1, 2);
  for (int i = 0; i < 4; i++) {
    int n_ranks = test_random_int(&rng, 2, MOST_RANKS);
    if (random_ranks(&rng, n, &options, n_ranks, text, sizeof text))
      check_plan(cfg, n, text, n_ranks, &options, &values);
  }
  mafat_network_close(&n);
}
END_TEST

START_TEST(integers_on_any_number_of_ranks)
{
  static struct test_integer_graph g;
  char text[TEST_PLAN_ROOM], name[32];
  struct mafat_diagnostic d = {""};
  struct mafat_plan_options options;
  struct mafat_weights *w = NULL;
  uint64_t values;
  test_integer_graph_open(&g, 41000 + (uint64_t)_i);
  struct test_rng rng = test_rng(41000 + (uint64_t)_i);
  struct test_imported m = test_import_tflite(&g.model, &d);
  mafat_plan_defaults(&options);
  options.n_threads = test_random_int(&rng, 1, 2);
  snprintf(name, sizeof name, "graph %d", _i);
  if (m.code == MAFAT_OK) {
    ck_assert_msg(test_weights_from(&w, m.fd, m.network, m.network->n_layers, NULL, &d) == MAFAT_OK,
                  "%s", d.text);
    float *input = random_input(m.network);
    struct mafat_quantization in = m.network->layers[mafat_network_picture(m.network)].quantization;
    for (long long i = 0; i < mafat_shape_elements(mafat_network_picture_shape(m.network)); i++)
      input[i] = in.scale * (float)((int)(input[i] * 256) - in.zero);
    float *expected = run_alone(m.network, "1x1/NoCut", &options, w, input);
    for (int i = 0; i < 4; i++) {
      int n_ranks = test_random_int(&rng, 2, MOST_RANKS);
      if (!random_ranks(&rng, m.network, &options, n_ranks, text, sizeof text)) continue;
      float *out =
          run_ranks(m.network, text, n_ranks, &options, w, i % 2 ? m.fd : -1, input, &values);
      for (size_t k = 0; k < test_outputs_floats(m.network); k++)
        if (memcmp(&out[k], &expected[k], sizeof *out) != 0)
          test_fail_case(name, text, "output %zu is %.9g, on one device %.9g", k, (double)out[k],
                         (double)expected[k]);
      free(out);
    }
    free(input);
    free(expected);
    mafat_weights_close(&w);
  }
  test_imported_close(&m);
  test_integer_graph_close(&g);
}
END_TEST

/* ---- numbers of values sent ---- */

/* Four convolutions with 192, 384, 192 and 192 filters. Maps have 4 x 6 pixels; the input has 64
 * channels. */
static const char chain[] = "[net]\nwidth=6\nheight=4\nchannels=64\n"
                            "[convolutional]\nfilters=192\nsize=1\nactivation=leaky\n"
                            "[convolutional]\nfilters=384\nsize=3\npad=1\nactivation=leaky\n"
                            "[convolutional]\nfilters=192\nsize=1\nactivation=leaky\n"
                            "[convolutional]\nfilters=192\nsize=1\nactivation=linear\n";

/* With each scheme, ranks send exactly as many values as predictor/ranks/schemes.h says. */
START_TEST(what_crosses_is_the_formula)
{
  static const struct {
    const char *text; /* %d: number of parts of each layer */
    enum mafat_weight_sharing schemes[4];
  } rows[] = {{"split(c%1$d:0,c%1$d:1,c%1$d:2,c%1$d:3)",
               {MAFAT_FAN_OUT, MAFAT_FAN_OUT, MAFAT_FAN_OUT, MAFAT_FAN_OUT}},
              {"split(c%1$d:0-1,c%1$d:2-3)",
               {MAFAT_FUSED_OUT, MAFAT_FUSED_IN, MAFAT_FUSED_OUT, MAFAT_FUSED_IN}},
              {"split(c%1$d:0,c%1$d:1-2,c%1$d:3)",
               {MAFAT_FAN_OUT, MAFAT_FUSED_OUT, MAFAT_FUSED_IN, MAFAT_FAN_OUT}}};
  static const int counts[] = {2, 3, 4, 6};
  char text[TEST_PLAN_ROOM];
  struct mafat_network *n = test_network(chain);
  struct mafat_plan_options options;
  struct mafat_rank_layers layers;
  mafat_plan_defaults(&options);
  options.algorithm = MAFAT_DIRECT;
  ck_assert_int_eq(mafat_rank_layers_find(&layers, n, n->n_layers, true, NULL), MAFAT_OK);
  for (int i = 0; i < 4; i++) {
    uint64_t values;
    size_t length = (size_t)snprintf(text, sizeof text, rows[_i].text, counts[i]);
    snprintf(text + length, sizeof text - length, "/NoCut/ranks=%d", counts[i]);
    check_plan(chain, n, text, counts[i], &options, &values);
    ck_assert_uint_eq(values * (uint64_t)counts[i],
                      mafat_schemes_exchange(rows[_i].schemes, layers.list, 4, counts[i]));
  }
  mafat_rank_layers_close(&layers);
  mafat_network_close(&n);
}
END_TEST

/* Three convolutions with windows of 3, 3 and 5 pixels and 16, 32 and 8 filters. Maps have 12 rows
 * and 8 columns. */
static const char windows[] = "[net]\nwidth=8\nheight=12\nchannels=3\n"
                              "[convolutional]\nfilters=16\nsize=3\npad=1\nactivation=leaky\n"
                              "[convolutional]\nfilters=32\nsize=3\npad=1\nactivation=leaky\n"
                              "[convolutional]\nfilters=8\nsize=5\npad=1\nactivation=linear\n";

/* If layers are split by rows, neighbouring ranks exchange only the rows that the windows of one
 * rank read from the other's part. */
START_TEST(neighbours_exchange_rows)
{
  struct mafat_network *n = test_network(windows);
  struct mafat_plan_options options;
  uint64_t values, picture = 3 * 8, first = 16 * 8, second = 32 * 8, last = 8 * 8;
  mafat_plan_defaults(&options);
  options.algorithm = MAFAT_DIRECT;
  check_plan(windows, n, "split(h3:0-2)/NoCut/ranks=3", 3, &options, &values);
  /* Each rank has 4 of the 12 rows. Rank 0 has the picture, and sends rows 3-8 to rank 1 and rows
   * 7-11 to rank 2. At both borders between parts, the ranks exchange one row of the first map in
   * each direction, and two rows of the second. Ranks 1 and 2 send their rows of the output to rank
   * 0. */
  ck_assert_uint_eq(values, (5 + 6) * picture + 4 * first + 8 * second + 8 * last);
  mafat_network_close(&n);
}
END_TEST

/* If layers are split in a grid, a rank gets columns from the neighbour left or right, rows from
 * the neighbour above or below, and a corner from the diagonal neighbour. */
START_TEST(neighbours_exchange_borders_of_a_grid)
{
  struct mafat_network *n = test_network(windows);
  struct mafat_plan_options options;
  uint64_t values, picture = 3, first = 16, second = 32, last = 8;
  mafat_plan_defaults(&options);
  options.algorithm = MAFAT_DIRECT;
  check_plan(windows, n, "split(h2:0-2,w2:0-2)/NoCut/ranks=4", 4, &options, &values);
  /* Each of four ranks has 6 x 4 pixels. Rank 0 sends 7 x 5 pixels of the picture to each other
   * rank. Each rank gets a border of the first map, one pixel wide, and of the second map, two
   * pixels wide. Three ranks send their part of the output to rank 0. */
  ck_assert_uint_eq(values, 3 * 7 * 5 * picture + 4 * (6 + 4 + 1) * first +
                                4 * (6 * 2 + 4 * 2 + 2 * 2) * second + 3 * 6 * 4 * last);
  mafat_network_close(&n);
}
END_TEST

/* Rank 0 computes the first two layers, rank 1 the others. The picture is not sent; the second
 * layer's map is sent to rank 1, and the last map is sent back. */
START_TEST(whole_layers_hand_on)
{
  struct mafat_network *n = test_network(chain);
  struct mafat_plan_options options;
  uint64_t values;
  mafat_plan_defaults(&options);
  check_plan(chain, n, "split(whole)/NoCut/ranks=2,2-3:1", 2, &options, &values);
  ck_assert_uint_eq(values, 24 * (384 + 192));
  mafat_network_close(&n);
}
END_TEST

/* Every rank that computes some outputs of a connected layer lists the layer's whole input itself,
 * whichever outputs it computes first. */
START_TEST(outputs_of_a_connected_layer)
{
  static const char cfg[] = "[net]\nwidth=4\nheight=4\nchannels=3\n"
                            "[convolutional]\nfilters=8\nsize=3\npad=1\nactivation=leaky\n"
                            "[connected]\noutput=77\nactivation=linear\n";
  static const char *const texts[] = {"split(c3:1-1)/NoCut/ranks=3",
                                      "split(c3:1-1):loaded/NoCut/ranks=3",
                                      "split(c3:1-1):streamed/NoCut/ranks=3"};
  struct mafat_network *n = test_network(cfg);
  struct mafat_plan_options options;
  uint64_t values;
  mafat_plan_defaults(&options);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    check_plan(cfg, n, texts[i], 3, &options, &values);
    ck_assert_uint_eq(values,
                      /* the map to two ranks, and 32 outputs back from one rank, 32 from the
                       * other */
                      2 * 4 * 4 * 8 + 32 + 32);
  }
  mafat_network_close(&n);
}
END_TEST

/* With sums_apart, a rank does not continue the sums of the rank before it, but begins its own, and
 * sends them to the last rank, which adds them up. The number of values sent stays the same.
 * Results differ from those of one device only by rounding. With two ranks they are equal, because
 * the values are added in the same order. */
START_TEST(sums_apart)
{
  static const int counts[] = {2, 3, 4, 6};
  char text[TEST_PLAN_ROOM];
  struct mafat_network *n = test_network(chain);
  struct mafat_plan_options options;
  uint64_t values;
  mafat_plan_defaults(&options);
  options.algorithm = MAFAT_DIRECT;
  int n_ranks = counts[_i];
  snprintf(text, sizeof text, "split(c%d:0-1,c%d:2-3)/NoCut/ranks=%d", n_ranks, n_ranks, n_ranks);
  struct mafat_weights *w = weights_of(n, 7);
  float *input = random_input(n), *expected = run_alone(n, "1x1/NoCut", &options, w, input);
  float *exact = run_ranks(n, text, n_ranks, &options, w, -1, input, &values);
  uint64_t in_order = values;
  options.sums_apart = true;
  int fd = test_weights_file(n, 7);
  float *out = run_ranks(n, text, n_ranks, &options, w, fd, input, &values);
  close(fd);
  ck_assert_uint_eq(values, in_order);
  bool same = true;
  for (size_t i = 0; i < test_outputs_floats(n); i++) {
    ck_assert_float_eq(exact[i], expected[i]);
    ck_assert_float_eq_tol(out[i], expected[i], 1e-4f * fmaxf(1, fabsf(expected[i])));
    same = same && out[i] == expected[i];
  }
  ck_assert_int_eq(same, n_ranks == 2);
  free(out);
  free(exact);
  free(input);
  free(expected);
  mafat_weights_close(&w);
  mafat_network_close(&n);
}
END_TEST

/* Sums of integers are stored in panels of filters. All panels must reach the rank that continues
 * the sums, even if the filters do not fill the last panel. */
START_TEST(sums_of_integers_go_on)
{
  enum { SIDE = 5, IN = 8, MIDDLE = 64 };
  static const int filters[] = {8, 12, 32, 33, 36, 44, 60, 68, 96};
  static const char *const texts[] = {"split(c2:0-1)/NoCut/ranks=2", "split(c4:0-1)/NoCut/ranks=3",
                                      "split(h2:0-1,c2:0-1)/NoCut/ranks=2"};
  static const float scales[] = {.02f, .01f, .05f, .6f};
  static const int64_t zero = 0, zeros[] = {3, -7};
  signed char first[MIDDLE * IN], second[100 * MIDDLE];
  const int n = filters[_i];
  struct test_rng rng = test_rng(17 + (uint64_t)_i);
  for (int i = 0; i < MIDDLE * IN; i++) first[i] = (signed char)test_random_int(&rng, -127, 127);
  for (int i = 0; i < n * MIDDLE; i++) second[i] = (signed char)test_random_int(&rng, -127, 127);
  const struct test_tflite_tensor tensors[] = {{.name = "in",
                                                .type = MAFAT_TFLITE_INT8,
                                                .rank = 4,
                                                .shape = {1, SIDE, SIDE, IN},
                                                .n_scales = 1,
                                                .scales = &scales[0],
                                                .n_zero_points = 1,
                                                .zero_points = &zeros[0]},
                                               {.name = "first",
                                                .type = MAFAT_TFLITE_INT8,
                                                .rank = 4,
                                                .shape = {MIDDLE, 1, 1, IN},
                                                .data = first,
                                                .bytes = sizeof first,
                                                .n_scales = 1,
                                                .scales = &scales[1],
                                                .n_zero_points = 1,
                                                .zero_points = &zero},
                                               {.name = "middle",
                                                .type = MAFAT_TFLITE_INT8,
                                                .rank = 4,
                                                .shape = {1, SIDE, SIDE, MIDDLE},
                                                .n_scales = 1,
                                                .scales = &scales[2],
                                                .n_zero_points = 1,
                                                .zero_points = &zeros[1]},
                                               {.name = "second",
                                                .type = MAFAT_TFLITE_INT8,
                                                .rank = 4,
                                                .shape = {n, 1, 1, MIDDLE},
                                                .data = second,
                                                .bytes = (size_t)n * MIDDLE,
                                                .n_scales = 1,
                                                .scales = &scales[1],
                                                .n_zero_points = 1,
                                                .zero_points = &zero},
                                               {.name = "out",
                                                .type = MAFAT_TFLITE_INT8,
                                                .rank = 4,
                                                .shape = {1, SIDE, SIDE, n},
                                                .n_scales = 1,
                                                .scales = &scales[3],
                                                .n_zero_points = 1,
                                                .zero_points = &zeros[0]}};
  const struct test_tflite_field once[] = {{.number = 1, .bytes = 4, .value = 1},
                                           {.number = 2, .bytes = 4, .value = 1}};
  struct test_tflite_operator operators[2];
  for (int i = 0; i < 2; i++)
    operators[i] = (struct test_tflite_operator){.code = MAFAT_TFLITE_CONV_2D,
                                                 .n_inputs = 2,
                                                 .n_outputs = 1,
                                                 .inputs = {2 * i, 2 * i + 1},
                                                 .outputs = {2 * i + 2},
                                                 .options = 1,
                                                 .n_fields = 2,
                                                 .fields = {once[0], once[1]}};
  const struct test_tflite_model model = {.tensors = tensors,
                                          .operators = operators,
                                          .n_tensors = 5,
                                          .n_operators = 2,
                                          .n_inputs = 1,
                                          .n_outputs = 1,
                                          .inputs = {0},
                                          .outputs = {4}};
  struct mafat_plan_options options;
  struct mafat_diagnostic d = {""};
  mafat_plan_defaults(&options);
  struct test_imported m = test_import_tflite(&model, &d);
  ck_assert_msg(m.code == MAFAT_OK, "%s", d.text);
  struct mafat_weights *w = NULL;
  int code = test_weights_from(&w, m.fd, m.network, m.network->n_layers, NULL, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  float *input = random_input(m.network),
        *expected = run_alone(m.network, "1x1/NoCut", &options, w, input);
  for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
    for (int own = 0; own < 2; own++) {
      uint64_t values;
      float *out = run_ranks(m.network, texts[t], t == 1 ? 3 : 2, &options, w, own ? m.fd : -1,
                             input, &values);
      for (size_t i = 0; i < test_outputs_floats(m.network); i++)
        ck_assert_msg(out[i] == expected[i], "%s: output %zu is %g, on one device %g", texts[t], i,
                      (double)out[i], (double)expected[i]);
      free(out);
    }
  free(input);
  free(expected);
  mafat_weights_close(&w);
  test_imported_close(&m);
}
END_TEST

START_TEST(ranks_that_cannot_be)
{
  static const struct {
    const char *text, *why;
  } rows[] = {{"1x1/NoCut/ranks=2", "expected only split(...) groups in a plan with ranks"},
              {"split(h2:0)/ranks=0", "expected 1 to 64 ranks, found 0"},
              {"split(h2:0)/ranks=65", "expected 1 to 64 ranks, found 65"},
              {"split(h2:0)/ranks=2,1-2:2", "expected a rank below 2, found 2"},
              {"split(h2:0)/ranks=2,1-2", "expected a colon and a rank at its end"},
              {"split(h2:0)/ranks=2,7:1", "expected layers below 4 on rank 1, found 7"},
              {"split(h2:0)/ranks=2/inplace",
               "expected a comma, or nothing after the ranks, at character 20, found /inplace"}};
  struct mafat_network *n = test_network(chain);
  struct mafat_plan *plan;
  struct mafat_diagnostic d = {""};
  ck_assert_int_eq(mafat_plan_read(&plan, rows[_i].text, n, n->n_layers, NULL, &d), MAFAT_EINVAL);
  ck_assert_msg(strstr(d.text, rows[_i].why), "%s", d.text);
  mafat_network_close(&n);
}
END_TEST

/* The text written for ranks reads back as the same ranks. */
START_TEST(ranks_in_a_text)
{
  struct mafat_network *n = test_network(chain);
  static const char *const texts[] = {"split(c2:2-3)/NoCut/ranks=2",
                                      "split(whole)/NoCut/ranks=3,1:1,2-3:2",
                                      "split(c2:2-3)/NoCut/order=best/ranks=2"};
  char written[256];
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    struct mafat_plan *plan = test_plan(n, texts[i]);
    test_plan_write(plan, n, written, sizeof written);
    ck_assert_str_eq(written, texts[i]);
    mafat_plan_close(&plan);
  }
  mafat_network_close(&n);
}
END_TEST

Suite *ranks_suite(void)
{
  Suite *s = suite_create("ranks");
  TCase *c = tcase_create("ranks");
  tcase_set_timeout(c, 60);
  tcase_add_loop_test(c, the_same_bits_on_any_number_of_ranks, 0, test_seeds(120));
  tcase_add_loop_test(c, integers_on_any_number_of_ranks, 0, test_seeds(300));
  tcase_add_loop_test(c, what_crosses_is_the_formula, 0, 3);
  tcase_add_test(c, neighbours_exchange_rows);
  tcase_add_test(c, neighbours_exchange_borders_of_a_grid);
  tcase_add_test(c, whole_layers_hand_on);
  tcase_add_test(c, outputs_of_a_connected_layer);
  tcase_add_loop_test(c, sums_apart, 0, 4);
  tcase_add_loop_test(c, sums_of_integers_go_on, 0, 9);
  tcase_add_loop_test(c, ranks_that_cannot_be, 0, 7);
  tcase_add_test(c, ranks_in_a_text);
  suite_add_tcase(s, c);
  return s;
}
