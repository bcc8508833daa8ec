/* Covers network/constant.c, {network, predictor, runner/engine}/kinds/constant.c,
 * runner/weights/{affine, pack, pack_bytes, pack_floats, pack_halves}.c: weights that are scattered
 * over several files in any order. Each slice of them has the same bytes as from a Darknet file.
 * Also tests maps that are constants. Writes temporary files in /tmp. */
#include "network/constant.h"
#include "predictor/cost/latency.h"
#include "predictor/plan/packing.h"
#include "predictor/planning/planning.h"
#include "runner/kernels/kernels.h"
#include "runner/weights/affine.h"
#include "runner/weights/packer.h"
#include "search/best/best.h"

#include "tests/support/tree.h"
#include "tests/support/weight_files.h"
#include "tests/support/weight_walks.h"

#include <check.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *constants_suite(void);

static struct mafat_diagnostic diagnostic;

/* ---- writing files ---- */

enum { N_FILES = 3, HEADER_BYTES = 20 };

static char paths[N_FILES][64];

static void make_files(void)
{
  test_make_weight_files();
  for (int i = 0; i < N_FILES; i++) {
    strcpy(paths[i], "/tmp/mafat-test-XXXXXX");
    close(mkstemp(paths[i]));
  }
}

static void remove_files(void)
{
  test_remove_weight_files();
  for (int i = 0; i < N_FILES; i++) unlink(paths[i]);
}

struct written {
  char *bytes;
  size_t n;
};

struct writer {
  struct test_rng rng;
  struct written files[N_FILES], values;
};

/* Appends `bytes` bytes of data, or as many filler bytes if data is NULL. */
static void append(struct written *w, const void *data, size_t bytes)
{
  w->bytes = realloc(w->bytes, w->n + bytes + 1);
  if (data) memcpy(w->bytes + w->n, data, bytes);
  else memset(w->bytes + w->n, 0xee, bytes);
  w->n += bytes;
}

static bool all_equal(const float *x, size_t n)
{
  for (size_t i = 1; i < n; i++)
    if (x[i] != x[0]) return false;
  return true;
}

/* Writes numbers after some other bytes to a randomly chosen file, or into the network's own
 * values. If all numbers are equal, sometimes writes them as a fill: one number and their count. */
static struct mafat_constant put(struct writer *w, const float *x, size_t n)
{
  if (n > 0 && all_equal(x, n) && test_random_chance(&w->rng, 50))
    return mafat_constant_fill(x[0], n);
  struct mafat_constant c = {
      .n = n, .type = MAFAT_F32, .file = (uint64_t)test_random_int(&w->rng, 0, N_FILES - 1)};
  struct written *file = &w->files[c.file];
  if (test_random_chance(&w->rng, 20)) {
    c.file = MAFAT_CONSTANT_VALUES;
    file = &w->values;
  } else {
    append(file, NULL,
           (size_t)test_random_int(&w->rng, 0, test_random_chance(&w->rng, 80) ? 40 : 9000));
  }
  c.at = file->n;
  append(file, x, n * sizeof *x);
  return c;
}

/* Writes one value for each filter. If all are equal, sometimes writes only one of them. If they
 * also equal the default, `usual`, sometimes writes none. */
static struct mafat_constant put_values(struct writer *w, const float *x, size_t n, float usual)
{
  bool equal = all_equal(x, n);
  if (equal && x[0] == usual && test_random_chance(&w->rng, 60)) return (struct mafat_constant){0};
  return put(w, x, equal && test_random_chance(&w->rng, 50) ? 1 : n);
}

/* Writes the files to disk and gives the network their names. */
static void finish(struct writer *w, struct mafat_network *n)
{
  n->n_files = N_FILES - 1;
  n->files = calloc(N_FILES, sizeof *n->files);
  for (int i = 0; i < N_FILES; i++) {
    if (i > 0) n->files[i - 1] = strdup(paths[i]);
    append(&w->files[i], NULL, 5);
    test_write_file(paths[i], w->files[i].bytes, w->files[i].n);
    free(w->files[i].bytes);
  }
  n->n_values = w->values.n / sizeof *n->values;
  n->values = (float *)(void *)w->values.bytes;
  n->format.own_weights = true;
}

/* ---- a network's twin ---- */

static const enum mafat_order orders[] = {MAFAT_ORDER_FILTERS, MAFAT_ORDER_FILTERS_TAPS,
                                          MAFAT_ORDER_INPUTS, MAFAT_ORDER_TAPS,
                                          MAFAT_ORDER_TRANSPOSED};

/* Index of weight (filter f, input i, tap t) in an order. */
static size_t place_of(const struct mafat_layer *l, enum mafat_order order, int f, int i, int t)
{
  struct mafat_matrix m = mafat_layer_matrix(l);
  int filters = l->groups > 1 ? m.filters / l->groups : m.filters;
  switch (order) {
  case MAFAT_ORDER_FILTERS_TAPS: return (size_t)((f * m.taps + t) * m.inputs + i);
  case MAFAT_ORDER_INPUTS: return (size_t)((i * m.taps + t) * m.filters + f);
  case MAFAT_ORDER_TAPS: return (size_t)((t * m.inputs + i) * m.filters + f);
  case MAFAT_ORDER_TRANSPOSED:
    return (size_t)(((f / filters * m.inputs + i) * filters + f % filters) * m.taps + t);
  default: return (size_t)((f * m.inputs + i) * m.taps + t);
  }
}

static struct mafat_constant put_weights(struct writer *w, const struct mafat_layer *l,
                                         const float *x)
{
  struct mafat_matrix m = mafat_layer_matrix(l);
  size_t n = (size_t)m.filters * (size_t)mafat_matrix_row(m);
  enum mafat_order order = orders[test_random_int(&w->rng, 0, mafat_layer_is_flat(l) ? 3 : 4)];
  bool flipped = test_random_chance(&w->rng, 40);
  float *turned = malloc(n * sizeof *turned);
  for (int f = 0; f < m.filters; f++)
    for (int i = 0; i < m.inputs; i++)
      for (int t = 0; t < m.taps; t++)
        turned[place_of(l, order, f, i, flipped ? m.taps - 1 - t : t)] =
            x[place_of(l, MAFAT_ORDER_FILTERS, f, i, t)];
  struct mafat_constant c = put(w, turned, n);
  c.order = order;
  c.flipped = flipped;
  free(turned);
  return c;
}

/* Writes normalization with means, or with the offsets that have the same effect. */
static void put_normalization(struct writer *w, struct mafat_layer_constants *c, const float *x,
                              size_t n)
{
  struct mafat_normalization_parts *parts = c->parts = calloc(1, sizeof *parts);
  float *negative = malloc(n * sizeof *negative);
  for (size_t i = 0; i < n; i++) negative[i] = -x[n + i];
  parts->epsilon = .00001;
  parts->scales = put_values(w, x, n, 1);
  if (test_random_chance(&w->rng, 30)) parts->offsets = put_values(w, negative, n, 0);
  else parts->means = put_values(w, x + n, n, 0);
  parts->variances = put_values(w, x + 2 * n, n, NAN);
  free(negative);
}

static void put_layer(struct writer *w, const struct mafat_layer *l, const char *file,
                      const struct mafat_layer_constants *from, struct mafat_layer_constants *to)
{
  const float *biases = (const float *)(const void *)(file + from->biases.at);
  if (mafat_layer_copies_weights(l)) { /* weights after biases */
    to->biases = put(w, biases, from->biases.n + from->weights.n);
    to->weights = to->biases;
    to->biases.n = from->biases.n;
    to->weights.n = from->weights.n;
    to->weights.at = mafat_constant_at(&to->biases, from->biases.n);
    return;
  }
  if (!mafat_layer_has_weights(l)) return;
  if (from->normalization.n > 0)
    put_normalization(w, to, (const float *)(const void *)(file + from->normalization.at),
                      from->normalization.n / 3);
  if (from->biases.n > 0) to->biases = put_values(w, biases, from->biases.n, 0);
  if (from->weights.n > 0)
    to->weights = put_weights(w, l, (const float *)(const void *)(file + from->weights.at));
}

/* Sometimes makes all numbers of a list equal (sometimes to `usual`), so that they can be written
 * as one. */
static void level(struct test_rng *rng, float *x, size_t n, float usual)
{
  if (n == 0 || !test_random_chance(rng, 40)) return;
  float value = test_random_chance(rng, 50) ? usual : x[0];
  for (size_t i = 0; i < n; i++) x[i] = value;
}

/* Writes the Darknet file and returns its contents, with some lists of equal numbers; the caller
 * frees them. HEADER_BYTES is a multiple of a float's size, so the numbers are aligned. */
static char *write_reference(const struct mafat_network *n, uint64_t seed)
{
  struct test_rng rng = test_rng(seed);
  test_write_darknet(n, seed);
  size_t bytes = HEADER_BYTES + (size_t)mafat_weights_payload_bytes(n);
  char *file = malloc(bytes);
  int fd = open(test_darknet_path, O_RDONLY);
  ck_assert_int_eq(read(fd, file, bytes), (ssize_t)bytes);
  close(fd);
  for (int l = 0; l < n->n_layers; l++) {
    const struct mafat_layer_constants *c = &n->constants->layers[l];
    float *norm = (float *)(void *)(file + c->normalization.at);
    level(&rng, (float *)(void *)(file + c->biases.at), c->biases.n, 0);
    for (size_t k = 0; k < 3; k++)
      level(&rng, norm + k * (c->normalization.n / 3), c->normalization.n / 3, k != 1);
    if (test_random_chance(&rng, 10))
      level(&rng, (float *)(void *)(file + c->weights.at), c->weights.n, .5f);
  }
  test_write_file(test_darknet_path, file, bytes);
  return file;
}

/* Writes the Darknet file of `n` and scatters the same numbers over files of the twin. */
static void scatter(struct mafat_network *twin, const struct mafat_network *n, uint64_t seed)
{
  struct writer w = {.rng = test_rng(seed + 1)};
  char *file = write_reference(n, seed);
  mafat_constants_close(&twin->constants);
  twin->constants = mafat_constants_make(twin->n_layers);
  for (int l = 0; l < n->n_layers; l++)
    put_layer(&w, &n->layers[l], file, &n->constants->layers[l], &twin->constants->layers[l]);
  finish(&w, twin);
  free(file);
}

/* ---- the same bytes ---- */

struct pair {
  struct mafat_network *network, *twin;
  struct mafat_weights *kept; /* weights of `network` */
};

static struct mafat_network *make_network(int i)
{
  char cfg[TEST_CFG_ROOM];
  struct test_rng rng = test_rng((uint64_t)i + 300);
  struct test_network_style style = test_network_style();
  style.whole_maps = true;
  style.max_macs = 300000;
  test_random_network(&rng, &style, cfg, sizeof cfg);
  struct mafat_network *n = test_network(i ? cfg : test_wide_cfg);
  n->fork = MAFAT_FORK_ALEXEYAB; /* other formats use the same epsilon as this fork */
  return n;
}

static struct pair make_pair(int i)
{
  struct pair p = {make_network(i), make_network(i), NULL};
  scatter(p.twin, p.network, (uint64_t)i + 1);
  p.kept = test_open_kept(test_darknet_path, p.network, p.network->n_layers);
  return p;
}

static void close_pair(struct pair *p)
{
  mafat_weights_close(&p->kept);
  mafat_network_close(&p->network);
  mafat_network_close(&p->twin);
}

static void compare_all(const struct pair *p, const char *path)
{
  struct mafat_weights *w = test_open_kept(path, p->twin, p->twin->n_layers);
  for (int l = 0; l < p->twin->n_layers; l++) {
    const struct mafat_layer *layer = &p->twin->layers[l];
    if (mafat_packed_layer_bytes(layer))
      test_compare_layer(p->twin, l, w, p->kept, mafat_span(0, layer->out.c),
                         mafat_span(0, test_inputs_of(layer)));
  }
  mafat_weights_close(&w);
}

START_TEST(scattered_weights_are_kept_as_darknets_are)
{
  struct pair p = make_pair(_i);
  compare_all(&p, paths[0]);
  close_pair(&p);
}
END_TEST

START_TEST(scattered_weights_are_packed_as_darknets_are)
{
  struct pair p = make_pair(_i);
  int fd = open(test_packed_path, O_RDWR | O_TRUNC | O_CREAT, 0600);
  int code = mafat_packer_write(paths[0], p.twin, NULL, fd, test_packed_path, &diagnostic);
  close(fd);
  ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
  compare_all(&p, test_packed_path);
  close_pair(&p);
}
END_TEST

START_TEST(scattered_weights_are_loaded_and_streamed_as_darknets_are)
{
  struct pair p = make_pair(_i);
  for (int text = 0; text < test_slow_rows(TEST_N_PLACEMENTS); text++)
    for (int n_threads = 1; n_threads <= 3; n_threads += 2) {
      struct mafat_plan *plan = test_placement_plan(p.twin, text, n_threads, false);
      if (plan) test_compare_run(p.twin, plan, paths[0], MAFAT_READS_AUTO, p.kept);
      mafat_plan_close(&plan);
    }
  close_pair(&p);
}
END_TEST

START_TEST(any_way_of_reading_reads_several_files)
{
  struct pair p = make_pair(0);
  struct mafat_plan *plan = test_placement_plan(p.twin, 0, 2, false);
  test_compare_run(p.twin, plan, paths[0], (enum mafat_read_queue_method)_i, p.kept);
  mafat_plan_close(&plan);
  close_pair(&p);
}
END_TEST

/* Weights that cannot be read filter by filter are loaded, not streamed. */
START_TEST(only_runs_of_filters_are_streamed)
{
  struct mafat_network *n = test_network("[net]\nwidth=8\nheight=8\nchannels=3\n"
                                         "[convolutional]\nfilters=200\nsize=3\n");
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
    n->constants->layers[0].weights.order = orders[i];
    struct mafat_plan *plan = test_plan(n, "panels:streamed");
    ck_assert_int_eq(plan->placement[0],
                     mafat_order_has_filters(orders[i]) ? MAFAT_STREAMED : MAFAT_LOADED);
    mafat_plan_close(&plan);
  }
  mafat_network_close(&n);
}
END_TEST

/* ---- normalization ---- */

START_TEST(parts_are_folded_in_double)
{
  float rows[5] = {0};
  const float numbers[5] = {3, .75f, 5, .3f, .0625f}; /* scale, bias, offset, mean, variance */
  struct mafat_normalization_parts parts = {.epsilon = .001};
  struct mafat_layer_constants c = {.parts = &parts};
  struct mafat_constant *const places[5] = {&parts.scales, &c.biases, &parts.offsets, &parts.means,
                                            &parts.variances};
  for (unsigned i = 0; i < 5; i++) *places[i] = (struct mafat_constant){.at = 100 + 4 * i, .n = 1};
  ck_assert_int_eq(mafat_fetches_affine_rows(&c), 5);
  struct mafat_stretch s = mafat_constants_stretch(&c, ~0u);
  ck_assert(s.parts == (1u << MAFAT_N_PARTS) - 1 && s.at == 100 && s.bytes == sizeof numbers &&
            s.file == 0);
  struct mafat_fetch fetch = {.kind = MAFAT_FETCH_PARTS,
                              .parts = s.parts,
                              .position = s.at,
                              .bytes = s.bytes,
                              .folds = true};
  ck_assert(mafat_affine_take_parts(&fetch, &c, (const char *)numbers, 1, rows));
  double factor = 3 / sqrt(.0625 + .001);
  ck_assert(rows[0] == (float)factor && rows[1] == (float)(.75 + (5 - (double).3f) * factor));
  parts.variances.n = 0; /* without variances, epsilon is unused */
  ck_assert(mafat_affine_take_parts(&fetch, &c, (const char *)numbers, 1, rows));
  ck_assert(rows[0] == 3 && rows[1] == (float)(.75 + (5 - (double).3f) * 3));
}
END_TEST

/* ---- what is refused ---- */

static void must_fail(const struct mafat_network *n, int code, const char *expected)
{
  struct mafat_weights *w;
  ck_assert_int_eq(mafat_weights_open_kept(&w, paths[0], n, n->n_layers, NULL, &diagnostic), code);
  ck_assert_ptr_null(w);
  ck_assert_msg(strstr(diagnostic.text, expected), "\"%s\" is not in \"%s\"", expected,
                diagnostic.text);
}

/* A convolution with weights at byte 2 of a file. */
static struct mafat_network *small_network(unsigned file)
{
  static const char bytes[2 + 9 * 4];
  struct mafat_network *n =
      test_network("[net]\nwidth=8\nheight=8\nchannels=1\n[convolutional]\nfilters=1\nsize=3\n");
  struct writer w = {0};
  n->constants->layers[0] =
      (struct mafat_layer_constants){.weights = {.at = 2, .n = 9, .file = file}};
  finish(&w, n);
  for (int i = 0; i < N_FILES; i++) test_write_file(paths[i], bytes, sizeof bytes);
  return n;
}

START_TEST(constants_beyond_their_file_are_refused)
{
  static const uint64_t places[] = {3, 4096, 1ull << 40, UINT64_MAX - 3};
  struct mafat_network *n = small_network((unsigned)_i);
  struct mafat_weights *w = test_open_kept(paths[0], n, 1);
  mafat_weights_close(&w);
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    n->constants->layers[0].weights.at = places[i];
    must_fail(n, MAFAT_EFORMAT, "found a file of 38 bytes");
    ck_assert_ptr_nonnull(strstr(diagnostic.text, "layer 0 [convolutional] expects 9 numbers"));
    ck_assert_ptr_nonnull(strstr(diagnostic.text, paths[_i]));
  }
  n->constants->layers[0].weights.at = 2;
  n->constants->layers[0].weights.file = MAFAT_CONSTANT_VALUES;
  must_fail(n, MAFAT_EFORMAT, "found a file of 0 bytes");
  mafat_network_close(&n);
}
END_TEST

START_TEST(counts_that_do_not_fit_are_refused)
{
  struct mafat_network *n = small_network(0);
  n->constants->layers[0].weights.n = 8;
  must_fail(n, MAFAT_EFORMAT, "expects 9 numbers, found 8");
  n->constants->layers[0].weights.n = 9;
  n->constants->layers[0].biases = (struct mafat_constant){.n = 2};
  must_fail(n, MAFAT_EFORMAT, "expects 1 numbers, found 2");
  mafat_network_close(&n);
}
END_TEST

START_TEST(files_that_are_not_there_are_named)
{
  struct mafat_network *n = small_network(2);
  unlink(paths[2]);
  must_fail(n, MAFAT_EIO, paths[2]);
  mafat_network_close(&n);
}
END_TEST

START_TEST(scattered_weights_that_are_no_numbers_are_refused)
{
  const float strange = NAN;
  struct mafat_network *n = small_network(1);
  test_overwrite(paths[1], 2 + 4 * 3, &strange, sizeof strange);
  must_fail(n, MAFAT_EFORMAT, "not finite");
  n->constants->layers[0].weights = mafat_constant_fill(1, 9);
  n->constants->layers[0].biases = mafat_constant_fill(INFINITY, 1);
  must_fail(n, MAFAT_EFORMAT, "not finite");
  mafat_network_close(&n);
}
END_TEST

/* ---- maps that are constants ---- */

/* A sum of the picture and a constant, which is of the same size or repeats along some axes. */
struct sum {
  struct mafat_network *network;
  float *numbers, *input;
};

enum { CONSTANT = 0, SUM = 1 }; /* layers */

static int64_t clip_index(int extent, int i)
{
  return extent == 1 ? 0 : i;
}

static double exact_sum(const void *problem, int c, int y, int x)
{
  const struct sum *p = problem;
  struct mafat_shape s = mafat_network_picture_shape(p->network);
  const struct mafat_layer *l = &p->network->layers[CONSTANT];
  const struct mafat_strides *t = l->strides;
  int64_t from = t->first + clip_index(l->out.h, y) * t->rows +
                 clip_index(l->out.w, x) * t->columns + clip_index(l->out.c, c) * t->channels;
  return (double)p->input[(c * s.h + y) * s.w + x] + (double)p->numbers[from];
}

/* Strides with axes in any order, some of them backwards, some 0 (repeated), and maybe gaps. */
static struct mafat_strides *random_strides(struct test_rng *rng, struct mafat_shape shape)
{
  struct mafat_strides *s = calloc(1, sizeof *s);
  int64_t *const strides[3] = {&s->rows, &s->columns, &s->channels};
  const int extents[3] = {shape.h, shape.w, shape.c};
  int first = test_random_int(rng, 0, 2), turn = test_random_int(rng, 1, 2);
  int64_t stride = test_random_int(rng, 1, 2);
  s->first = test_random_int(rng, 0, 3);
  s->n = (uint64_t)s->first + 1;
  for (int i = 0; i < 3; i++) {
    int axis = (first + i * turn) % 3, sign = test_random_chance(rng, 20) ? -1 : 1;
    if (test_random_chance(rng, 20)) continue; /* stride 0: repeats along this axis */
    *strides[axis] = sign * stride;
    if (sign < 0) s->first += (extents[axis] - 1) * stride;
    s->n += (uint64_t)((extents[axis] - 1) * stride);
    stride *= extents[axis];
  }
  return s;
}

static void make_constant(struct test_rng *rng, struct sum *p, struct mafat_shape shape)
{
  struct mafat_layer *l = &p->network->layers[CONSTANT];
  free(l->operands[0].sources.list);
  l->operands[0] = (struct mafat_operand){.shape = shape};
  l->type = MAFAT_CONSTANT_LAYER;
  l->strides = random_strides(rng, shape);
  int code = mafat_layer_infer(l, &(struct mafat_infer_context){"test.onnx", 1, CONSTANT,
                                                                "constant", &diagnostic});
  ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
  p->numbers = malloc(l->strides->n * sizeof *p->numbers);
  for (uint64_t i = 0; i < l->strides->n; i++)
    p->numbers[i] = (float)(test_random(rng) >> 8) / 8388608.0f - 1;
}

static void make_sum(struct sum *p)
{
  struct mafat_layer *l = &p->network->layers[SUM];
  struct mafat_shape picture = mafat_network_picture_shape(p->network),
                     shape = p->network->layers[CONSTANT].out;
  struct mafat_source all = {CONSTANT, 0, shape.c, 0, shape.h};
  struct mafat_source input = {mafat_network_picture(p->network), 0, picture.c, 0, picture.h};
  struct mafat_operand operands[2] = {
      {{&input, 1, 1}, picture, false},
      {{&all, 1, 1}, shape, memcmp(&shape, &picture, sizeof shape) != 0}};
  for (int k = 0; k < l->n_operands; k++) free(l->operands[k].sources.list);
  l->n_operands = 0;
  for (int k = 0; k < 2; k++) test_add_operand(l, &operands[k]);
  int code =
      mafat_layer_infer(l, &(struct mafat_infer_context){"test.onnx", 1, SUM, "add", &diagnostic});
  ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
}

static struct sum random_sum(struct test_rng *rng)
{
  char cfg[256];
  struct sum p = {0};
  struct writer w = {.rng = *rng};
  struct mafat_shape s = {test_random_int(rng, 1, 13), test_random_int(rng, 1, 17),
                          test_random_int(rng, 1, 50)};
  snprintf(cfg, sizeof cfg,
           "[net]\nheight=%d\nwidth=%d\nchannels=%d\n[activation]\nactivation=relu\n"
           "[shortcut]\nfrom=-1\n",
           s.h, s.w, s.c);
  p.network = test_network(cfg);
  p.input = malloc((size_t)(s.h * s.w * s.c) * sizeof *p.input);
  for (int i = 0; i < s.h * s.w * s.c; i++)
    p.input[i] = (float)(test_random(rng) >> 8) / 8388608.0f - 1;
  if (test_random_chance(rng, 30)) s.h = s.w = 1;
  else if (test_random_chance(rng, 30)) s.c = 1;
  make_constant(rng, &p, s);
  make_sum(&p);
  mafat_constants_close(&p.network->constants);
  p.network->constants = mafat_constants_make(2);
  p.network->constants->layers[CONSTANT].weights =
      put(&w, p.numbers, p.network->layers[CONSTANT].strides->n);
  finish(&w, p.network);
  return p;
}

static void release_sum(struct sum *p)
{
  free(p->numbers);
  free(p->input);
  mafat_network_close(&p->network);
}

static const char *const sum_plans[] = {
    "1x1", "rows1", "rows4", "2x3", "panels", "1x1:loaded", "rows2:loaded", "rows1:streamed",
    "panels:streamed", "1x1:loaded/1/rows1", "1x1/1/panels:loaded"};

/* Runs the sum by a plan, with weights opened for it, and compares the output with exact_sum. */
static void compare_sum(const struct sum *p, const char *text, int i)
{
  struct mafat_plan *plan;
  struct mafat_weights *w;
  if (mafat_plan_read(&plan, text, p->network, 2, NULL, &diagnostic) != MAFAT_OK)
    return; /* the plan's grid is too fine for the map */
  struct mafat_layout *layout = test_layout(p->network, plan);
  int code = mafat_weights_open(&w, paths[0], p->network, plan, layout, NULL, NULL, &diagnostic);
  ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
  const struct test_meaning meaning = {exact_sum, p, i};
  test_compare_plan(plan, layout, p->network, w, p->input, &meaning);
  mafat_weights_close(&w);
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
}

START_TEST(constants_are_maps_in_any_plan)
{
  struct test_rng rng = test_rng(900 + (uint64_t)_i);
  struct sum p = random_sum(&rng);
  for (size_t i = 0; i < sizeof sum_plans / sizeof *sum_plans; i++)
    compare_sum(&p, sum_plans[i], _i);
  release_sum(&p);
}
END_TEST

static void check_plan(const struct mafat_search_request *r, const struct mafat_candidate *c)
{
  struct mafat_latency latency;
  struct mafat_plan *plan;
  ck_assert_int_eq(
      mafat_plan_make(&plan, c->spec, r->network, r->n_layers, r->options, &diagnostic), MAFAT_OK);
  struct mafat_layout *layout = test_layout(r->network, plan);
  ck_assert_int_eq(mafat_latency_predict(&latency, r->network, plan, layout, r->calibration),
                   MAFAT_OK);
  ck_assert(isfinite(latency.total_ms) && latency.total_ms > 0);
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
}

START_TEST(plans_are_found_that_have_constants)
{
  static const struct mafat_footprint footprint;
  struct mafat_calibration calibration;
  struct mafat_plan_options options;
  struct mafat_front *front;
  struct test_rng rng = test_rng(950 + (uint64_t)_i);
  struct sum p = random_sum(&rng);
  mafat_calibration_defaults(&calibration, "avx2");
  mafat_plan_defaults(&options);
  const struct mafat_search_request request = {.network = p.network,
                                               .n_layers = 2,
                                               .options = &options,
                                               .footprint = &footprint,
                                               .calibration = &calibration};
  ck_assert_int_eq(mafat_search_front(&front, &request, &diagnostic), MAFAT_OK);
  for (int i = 0; i < front->n; i++) check_plan(&request, &front->list[i]);
  mafat_front_close(&front);
  release_sum(&p);
}
END_TEST

START_TEST(strides_beyond_the_numbers_are_refused)
{
  struct mafat_operand operand = {.shape = {2, 3, 4}};
  static const struct mafat_strides good = {24, 0, 12, 4, 1};
  static const struct mafat_strides bad[] = {{23, 0, 12, 4, 1},        {24, 1, 12, 4, 1},
                                             {24, 0, -12, 4, 1},       {24, -1, 12, 4, 1},
                                             {24, 0, INT64_MAX, 4, 1}, {24, INT64_MAX, 12, 4, 1}};
  struct mafat_strides strides = good;
  struct mafat_layer l = {
      .type = MAFAT_CONSTANT_LAYER, .operands = &operand, .n_operands = 1, .strides = &strides};
  const struct mafat_infer_context context = {"test.onnx", 1, 0, "constant", &diagnostic};
  ck_assert_int_eq(mafat_layer_infer(&l, &context), MAFAT_OK);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    strides = bad[i];
    ck_assert_int_eq(mafat_layer_infer(&l, &context), MAFAT_EFORMAT);
  }
}
END_TEST

Suite *constants_suite(void)
{
  Suite *s = suite_create("constants");
  TCase *t = tcase_create("constants");
  tcase_set_timeout(t, 60);
  tcase_add_checked_fixture(t, make_files, remove_files);
  tcase_add_loop_test(t, scattered_weights_are_kept_as_darknets_are, 0, test_seeds(30));
  tcase_add_loop_test(t, scattered_weights_are_packed_as_darknets_are, 0, test_seeds(20));
  tcase_add_loop_test(t, scattered_weights_are_loaded_and_streamed_as_darknets_are, 0,
                      test_seeds(10));
  tcase_add_loop_test(t, any_way_of_reading_reads_several_files, MAFAT_READS_AUTO,
                      MAFAT_READS_THREAD + 1);
  tcase_add_test(t, only_runs_of_filters_are_streamed);
  tcase_add_test(t, parts_are_folded_in_double);
  tcase_add_loop_test(t, constants_beyond_their_file_are_refused, 0, N_FILES);
  tcase_add_test(t, counts_that_do_not_fit_are_refused);
  tcase_add_test(t, files_that_are_not_there_are_named);
  tcase_add_test(t, scattered_weights_that_are_no_numbers_are_refused);
  tcase_add_loop_test(t, constants_are_maps_in_any_plan, 0, test_seeds(60));
  tcase_add_loop_test(t, plans_are_found_that_have_constants, 0, test_seeds(10));
  tcase_add_test(t, strides_beyond_the_numbers_are_refused);
  suite_add_tcase(s, t);
  return s;
}
