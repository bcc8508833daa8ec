/* Covers network/sources.c, runner/engine/kinds/{local, norm, rows}.c: operands made of several
 * bands of rows (a join). Every kind of layer computes the same bits from a join as from one map
 * with the same contents, under any plan. A layer split into bands of rows gives the same outputs
 * as the whole layer, and joining them takes no memory. */
#include "predictor/plan/fusion.h"
#include "predictor/plan/packing.h"
#include "runner/engine/executor.h"
#include "runner/weights/weights.h"
#include "tests/support/support.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *joins_suite(void);

#define TOLERANCE 2e-5

/* ---- running ---- */

static size_t floats_of(const struct mafat_network *n, int layer)
{
  return (size_t)mafat_shape_elements(mafat_network_tensor_shape(n, layer));
}

static float *random_floats(struct test_rng *rng, size_t n)
{
  float *x = malloc(n * sizeof *x);
  for (size_t i = 0; i < n; i++) x[i] = (float)(test_random(rng) >> 8) / 8388608.0f - 1;
  return x;
}

static struct mafat_weights *open_weights(const struct mafat_network *n, uint64_t seed)
{
  struct mafat_weights *w = NULL;
  struct mafat_diagnostic d = {""};
  int fd = test_weights_file(n, seed), code = test_weights_from(&w, fd, n, n->n_layers, NULL, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  close(fd);
  return w;
}

/* Output of the last layer, computed in an arena full of NaN. */
static float *run(const struct mafat_network *n, struct mafat_weights *w, const char *plan_text,
                  const struct mafat_plan_options *options, const float *input)
{
  struct mafat_plan *plan = test_plan_with(n, plan_text, options);
  struct mafat_layout *layout = test_layout(n, plan);
  struct mafat_executor_options e_options;
  struct mafat_executor *e = NULL;
  mafat_executor_defaults(&e_options);
  ck_assert_int_eq(mafat_executor_open(&e, n, plan, layout, w, &e_options, NULL), MAFAT_OK);
  memset((void *)(uintptr_t)mafat_executor_arena(e), 0xff, layout->total_bytes);
  mafat_executor_set_input(e, input);
  ck_assert_int_eq(mafat_executor_run(e, NULL), MAFAT_OK);
  float *out = malloc(floats_of(n, n->n_layers - 1) * sizeof *out);
  mafat_executor_read_output(e, n->n_layers - 1, out);
  mafat_executor_close(&e);
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  return out;
}

static struct mafat_plan_options options_of(enum mafat_algorithm algorithm, int threads)
{
  struct mafat_plan_options options;
  mafat_plan_defaults(&options);
  options.algorithm = algorithm;
  options.n_threads = threads;
  options.small_bytes = 0;
  return options;
}

/* ---- a join, and one map with the same contents ---- */

#define CONV "[convolutional]\nbatch_normalize=1\nactivation=leaky\n"

/* Layers of every kind that reads a map; their sizes fit FRONT. */
static const char *const readers[] = {
    CONV "filters=37\nsize=1\n",
    CONV "filters=37\nsize=3\npad=1\n",
    CONV "filters=20\nsize=5\nstride=2\npad=1\n",
    CONV "filters=21\nsize=3\npad=1\ngroups=3\n",
    CONV "filters=42\ngroups=42\nsize=3\npad=1\n",
    CONV "filters=42\ngroups=42\nsize=3\nstride=2\npad=1\n" CONV "filters=9\nsize=1\n",
    CONV "filters=20\nsize=3\npad=1\n[maxpool]\nsize=2\nstride=2\n",
    CONV "filters=200\nsize=3\npad=1\n" CONV "filters=9\nsize=1\n",
    "[maxpool]\nsize=3\nstride=2\n",
    "[local_avgpool]\nsize=2\nstride=1\n",
    "[avgpool]\n",
    "[upsample]\nstride=2\n",
    "[reorg]\nstride=2\n",
    "[reorg]\nstride=2\nreverse=1\n",
    "[reorg3d]\nstride=2\n",
    "[crop]\ncrop_height=8\ncrop_width=9\n",
    "[batchnorm]\n",
    "[activation]\nactivation=logistic\n",
    "[connected]\noutput=40\nactivation=leaky\n",
    "[softmax]\n",
    "[local]\nfilters=3\nsize=3\nstride=2\npad=1\nactivation=leaky\n",
    "[yolo]\nclasses=9\nnum=3\nmask=0,1,2\nanchors=1,2, 3,4, 5,6\n",
    "[region]\nclasses=9\nnum=3\nanchors=1,2, 3,4, 5,6\nsoftmax=1\n",
};

/* The layers before the reader. Together with the input they give maps of one width and two
 * heights: the input, relu(input), and some rows of relu(input). */
#define FRONT "[activation]\nactivation=relu\n[crop]\ncrop_height=10\ncrop_width=12\nnoadjust=1\n"

enum { RELU, CROP, READER, CROPPED = 2, H = 14, W = 12 };

static int channels_of(const char *reader)
{
  if (strncmp(reader, "[reorg]", 7) == 0) return 36;
  return strstr(reader, "classes") || strstr(reader, "groups") ? 42 : 45;
}

static struct mafat_network *network_of(const char *front, const char *reader)
{
  char cfg[1024];
  snprintf(cfg, sizeof cfg, "[net]\nheight=%d\nwidth=%d\nchannels=%d\n%s%s", H, W,
           channels_of(reader), front, reader);
  return test_network(cfg);
}

/* Row y of channel c of a tensor before the reader; computed into `buffer` unless it is the
 * picture. */
static const float *row_of(const struct mafat_network *n, const float *picture, int tensor, int c,
                           int y, float *buffer)
{
  const float *row = picture + (c * H + y + (tensor == CROP ? CROPPED : 0)) * W;
  if (tensor == mafat_network_picture(n)) return row;
  for (int x = 0; x < W; x++) buffer[x] = fmaxf(row[x], 0);
  return buffer;
}

static float *materialise(const struct mafat_network *n, const float *picture)
{
  const struct mafat_operand *o = n->layers[READER].operands;
  float *map = malloc((size_t)mafat_shape_elements(o->shape) * sizeof *map), buffer[W];
  for (int c = 0; c < o->shape.c; c++)
    for (int y = 0; y < o->shape.h; y++) {
      int channel = c, row = y;
      const struct mafat_source *s = test_source_at(o, &channel, &row);
      memcpy(map + (c * o->shape.h + y) * W, row_of(n, picture, s->tensor, channel, row, buffer),
             W * sizeof *map);
    }
  return map;
}

/* Makes the reader read all rows of the picture. */
static void read_picture(struct mafat_network *n)
{
  struct mafat_operand *o = n->layers[READER].operands;
  *o->sources.list =
      (struct mafat_source){mafat_network_picture(n), 0, mafat_network_picture_shape(n).c, 0, H};
  o->shape.h = H;
  for (int l = READER; l < n->n_layers; l++) {
    struct mafat_diagnostic d = {""};
    if (l > READER) n->layers[l].operands[0].shape = n->layers[l - 1].out;
    if (l > READER) n->layers[l].operands[0].sources.list->n_rows = n->layers[l - 1].out.h;
    int code = mafat_layer_infer(&n->layers[l],
                                 &(struct mafat_infer_context){"test.cfg", 1, l, "reader", &d});
    ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  }
  test_constants(n);
}

static void compare(const float *found, const float *expected, size_t n, const char *reader,
                    const char *plan)
{
  for (size_t i = 0; i < n; i++)
    ck_assert_msg(fabsf(found[i] - expected[i]) <= TOLERANCE * fmaxf(1, fabsf(expected[i])),
                  "plan %s: output %zu is %.9g, of the map itself %.9g\n%s", plan, i,
                  (double)found[i], (double)expected[i], reader);
}

static void check_plans(const struct mafat_network *n, struct mafat_weights *w,
                        enum mafat_algorithm algorithm, const float *picture, const float *expected,
                        const char *reader)
{
  static const char *const plans[] = {
      "1x1", "rows1", "rows3:streamed", "panels", "panels:streamed", "2x2/1/rows1/2/1x1",
      "rows2/2/panels:apart:streamed", "1x1/1/3x2"};
  size_t floats = floats_of(n, n->n_layers - 1);
  float *first = NULL;
  for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
    struct mafat_plan_options options = options_of(algorithm, 1 + (int)i % 3);
    float *found = run(n, w, plans[i], &options, picture);
    compare(found, expected, floats, reader, plans[i]);
    if (!first) first = found;
    else if (memcmp(found, first, floats * sizeof *found) != 0)
      ck_abort_msg("plan %s: bits differ from those of the map itself\n%s", plans[i], reader);
    if (found != first) free(found);
  }
  free(first);
}

START_TEST(joins_are_read_as_maps_are)
{
  const char *reader = readers[_i];
  struct test_rng rng = test_rng(63000 + (uint64_t)_i);
  int woven = 0;
  for (int attempt = 0; attempt < 300 && woven < 8; attempt++) {
    struct mafat_network *joined = network_of(FRONT, reader), *whole = network_of("", reader);
    read_picture(joined);
    if (test_weave(&rng, joined, READER, 0) &&
        joined->layers[READER].operands[0].sources.n_bands > 1) {
      enum mafat_algorithm algorithm = woven % 2 ? MAFAT_WINOGRAD : MAFAT_DIRECT;
      struct mafat_plan_options options = options_of(algorithm, 1);
      struct mafat_weights *w = open_weights(joined, 7), *whole_w = open_weights(whole, 7);
      float *picture = random_floats(&rng, floats_of(joined, mafat_network_picture(joined)));
      float *map = materialise(joined, picture),
            *expected = run(whole, whole_w, "1x1", &options, map);
      check_plans(joined, w, algorithm, picture, expected, reader);
      free(picture);
      free(map);
      free(expected);
      mafat_weights_close(&w);
      mafat_weights_close(&whole_w);
      woven++;
    }
    mafat_network_close(&joined);
    mafat_network_close(&whole);
  }
  ck_assert_int_eq(woven, 8);
}
END_TEST

/* ---- cuts that leave the contents the same ---- */

/* Splits an operand's sources into bands with the same contents. */
static void cut_rows(struct test_rng *rng, struct mafat_operand *o)
{
  struct mafat_sources upper, lower;
  int channels = 0;
  if (o->shape.h < 2) return;
  for (int i = 0; i < o->sources.n; i++) channels += o->sources.list[i].n;
  int y = test_random_int(rng, 1, o->shape.h - 1);
  mafat_sources_part(&upper, &o->sources, mafat_span(0, y), mafat_span(0, channels));
  mafat_sources_part(&lower, &o->sources, mafat_span(y, o->shape.h), mafat_span(0, channels));
  if (mafat_sources_join_rows(&upper, &lower) == MAFAT_OK) {
    free(o->sources.list);
    o->sources = upper;
  } else {
    free(upper.list);
  }
  free(lower.list);
}

START_TEST(cuts_between_rows_change_no_bit)
{
  char cfg[TEST_CFG_ROOM], text[TEST_PLAN_ROOM];
  struct test_rng rng = test_rng(64000 + (uint64_t)_i);
  struct test_network_style style = test_small_style();
  test_random_network(&rng, &style, cfg, sizeof cfg);
  struct mafat_network *n = test_network(cfg), *cut = test_network(cfg);
  struct mafat_weights *w = open_weights(n, 3), *cut_w = open_weights(cut, 3);
  float *input = random_floats(&rng, floats_of(n, mafat_network_picture(n)));
  struct mafat_plan_options options = options_of((enum mafat_algorithm)(_i % 3), 1);
  float *expected = run(n, w, "1x1/NoCut", &options, input);
  for (int l = 0; l < cut->n_layers; l++)
    for (int k = 0; k < cut->layers[l].n_operands; k++)
      for (int cuts = test_random_int(&rng, 0, 2); cuts > 0; cuts--)
        cut_rows(&rng, &cut->layers[l].operands[k]);
  for (int i = 0; i < 6; i++) {
    test_random_plan(&rng, n, n->n_layers, text, sizeof text);
    options.n_threads = 1 + i % 3;
    float *found = run(cut, cut_w, text, &options, input);
    if (memcmp(found, expected, floats_of(n, n->n_layers - 1) * sizeof *found) != 0)
      test_fail_case(cfg, text, "%d threads: bits differ from those with operands that are not cut",
                     options.n_threads);
    free(found);
  }
  free(input);
  free(expected);
  mafat_weights_close(&w);
  mafat_weights_close(&cut_w);
  mafat_network_close(&n);
  mafat_network_close(&cut);
}
END_TEST

/* ---- a layer that is split in rows ---- */

/* Layers 1 and 2 are the upper and lower half of one convolution of layer 0, with the same weights.
 * Each half also reads one row of the other half's input. Layer 3 reads their outputs, joined. */
#define NET "[net]\nheight=20\nwidth=17\nchannels=5\n"
#define THICK "[convolutional]\nfilters=24\nsize=3\npad=1\nactivation=leaky\n"
#define NARROW "[convolutional]\nfilters=9\nsize=3\npad=1\nactivation=relu\n"

static void read_rows(struct mafat_network *n, int layer, int first, int n_rows, int before,
                      int after)
{
  struct mafat_layer *l = &n->layers[layer];
  struct mafat_diagnostic d = {""};
  *l->operands[0].sources.list = (struct mafat_source){0, 0, 24, first, n_rows};
  l->operands[0].shape = (struct mafat_shape){n_rows, 17, 24};
  l->window.y.before = before;
  l->window.y.after = after;
  ck_assert_int_eq(
      mafat_layer_infer(l, &(struct mafat_infer_context){"test.cfg", 1, layer, "half", &d}),
      MAFAT_OK);
}

static struct mafat_network *split_network(int at)
{
  struct mafat_network *n = test_network(NET THICK THICK THICK NARROW);
  struct mafat_source upper = {1, 0, 24, 0, at}, lower = {2, 0, 24, 0, 20 - at};
  struct mafat_operand *o = n->layers[3].operands;
  read_rows(n, 1, 0, at + 1, 1, 0);
  read_rows(n, 2, at - 1, 20 - at + 1, 0, 1);
  *o->sources.list = upper;
  o->shape = (struct mafat_shape){20, 17, 24};
  ck_assert_int_eq(mafat_sources_join_rows(&o->sources, &(struct mafat_sources){&lower, 1, 1}),
                   MAFAT_OK);
  for (int l = 1; l < 4; l++)
    ck_assert_int_eq(mafat_network_check_operand(
                         n, l, 0, &(struct mafat_infer_context){"test.cfg", 1, l, "half", NULL}),
                     MAFAT_OK);
  test_constants(n);
  return n;
}

/* Weights of the whole network, with those of layer 1 twice. */
static struct mafat_weights *split_weights(const struct mafat_network *n, int whole_fd)
{
  enum {
    HEADER = 20,
    FIRST = 4 * (24 + 24 * 5 * 9),
    HALF = 4 * (24 + 24 * 24 * 9),
    LAST = 4 * (9 + 9 * 24 * 9)
  };
  static char bytes[HEADER + FIRST + 2 * HALF + LAST];
  struct mafat_weights *w = NULL;
  struct mafat_diagnostic d = {""};
  FILE *file = tmpfile();
  ck_assert_int_eq(pread(whole_fd, bytes, HEADER + FIRST + HALF, 0), HEADER + FIRST + HALF);
  ck_assert_int_eq(pread(whole_fd, bytes + HEADER + FIRST + HALF, HALF + LAST, HEADER + FIRST),
                   HALF + LAST);
  ck_assert_uint_eq(fwrite(bytes, 1, sizeof bytes, file), sizeof bytes);
  ck_assert_int_eq(fflush(file), 0);
  int code = test_weights_from(&w, fileno(file), n, n->n_layers, NULL, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  fclose(file);
  return w;
}

START_TEST(halves_of_a_layer_are_the_layer)
{
  static const char *const plans[] = {
      "1x1/NoCut",   "rows1/NoCut",          "3x2/NoCut", "panels/NoCut", "rows2:streamed/NoCut",
      "1x1/2/rows1", "rows1/1/1x1/2/panels", "1x2/3/1x1"};
  struct mafat_network *whole = test_network(NET THICK THICK NARROW), *split = split_network(_i);
  struct test_rng rng = test_rng(5);
  int fd = test_weights_file(whole, 11);
  struct mafat_weights *w = open_weights(whole, 11), *split_w = split_weights(split, fd);
  struct mafat_plan_options options = options_of(MAFAT_DIRECT, 1);
  float *input = random_floats(&rng, floats_of(whole, mafat_network_picture(whole)));
  float *expected = run(whole, w, "1x1/NoCut", &options, input);
  close(fd);
  for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
    options.n_threads = 1 + (int)i % 3;
    float *found = run(split, split_w, plans[i], &options, input);
    if (memcmp(found, expected, floats_of(whole, 2) * sizeof *found) != 0)
      ck_abort_msg("plan %s: bits differ from those of the whole layer", plans[i]);
    free(found);
  }
  free(input);
  free(expected);
  mafat_weights_close(&w);
  mafat_weights_close(&split_w);
  mafat_network_close(&whole);
  mafat_network_close(&split);
}
END_TEST

static size_t maps_bytes(const struct mafat_layout *layout)
{
  size_t bytes = 0;
  for (int b = 0; b < layout->n_buffers; b++)
    if (layout->buffers[b].tag == MAFAT_TAG_ACTIVATIONS) bytes += layout->buffers[b].bytes;
  return bytes;
}

/* A join has no buffer of its own: only the halves have. In a group by rows, each half has a window
 * of a few rows and is computed once. */
START_TEST(a_join_takes_no_memory)
{
  struct mafat_network *whole = test_network(NET THICK THICK NARROW), *split = split_network(10);
  struct mafat_plan_options options = options_of(MAFAT_DIRECT, 1);
  static const char *const plans[] = {"1x1/NoCut", "rows1/NoCut", "panels/NoCut"};
  for (int i = 0; i < 3; i++) {
    struct mafat_plan *a = test_plan_with(whole, plans[i], &options),
                      *b = test_plan_with(split, plans[i], &options);
    struct mafat_layout *one = test_layout(whole, a), *two = test_layout(split, b);
    ck_assert_uint_eq(two->macs, one->macs);
    ck_assert_uint_eq(two->redundant_macs, 0);
    if (strcmp(plans[i], "rows1/NoCut") == 0)
      ck_assert_int_le(two->tensors[1].rows + two->tensors[2].rows, 14);
    else ck_assert_uint_eq(maps_bytes(two), maps_bytes(one));
    mafat_layout_close(&one);
    mafat_layout_close(&two);
    mafat_plan_close(&a);
    mafat_plan_close(&b);
  }
  mafat_network_close(&whole);
  mafat_network_close(&split);
}
END_TEST

/* ---- layers computed inside their reader ---- */

/* A layer is computed inside its reader, or by panels, only if the reader reads all of its rows as
 * one band. */
START_TEST(readers_of_some_rows_are_not_fused)
{
  static const char *const cfgs[] = {
      NET THICK "[maxpool]\nsize=2\nstride=2\n",
      NET "[convolutional]\nfilters=5\ngroups=5\nsize=3\npad=1\n[convolutional]\nfilters=9\n",
      NET "[convolutional]\nfilters=5\n[shortcut]\nfrom=-1\n",
      NET "[convolutional]\nfilters=200\n[convolutional]\nfilters=9\n"};
  struct test_rng rng = test_rng(3);
  struct mafat_plan_options options = options_of(MAFAT_DIRECT, 1);
  struct mafat_network *n = test_network(cfgs[_i]);
  if (_i == 2)
    /* the map that the shortcut adds */
    n->layers[1].operands[1].sources.list->tensor = mafat_network_picture(n);
  for (int banded = 0; banded < 2; banded++) {
    if (banded) cut_rows(&rng, n->layers[1].operands);
    struct mafat_plan *plan = test_plan_with(n, "panels", &options);
    bool fused = plan->inner[1] == 0 || plan->panel_producer[1] == 0;
    ck_assert_msg(fused == !banded, "%s", cfgs[_i]);
    mafat_plan_close(&plan);
  }
  mafat_network_close(&n);
}
END_TEST

Suite *joins_suite(void)
{
  Suite *s = suite_create("joins");
  TCase *kinds = tcase_create("kinds"), *cuts = tcase_create("cuts"),
        *halves = tcase_create("halves");
  tcase_set_timeout(kinds, 60);
  tcase_add_loop_test(kinds, joins_are_read_as_maps_are, 0, sizeof readers / sizeof *readers);
  suite_add_tcase(s, kinds);
  tcase_set_timeout(cuts, 60);
  tcase_add_loop_test(cuts, cuts_between_rows_change_no_bit, 0, test_seeds(150));
  suite_add_tcase(s, cuts);
  tcase_add_loop_test(halves, halves_of_a_layer_are_the_layer, 1, 20);
  tcase_add_test(halves, a_join_takes_no_memory);
  tcase_add_loop_test(halves, readers_of_some_rows_are_not_fused, 0, 4);
  suite_add_tcase(s, halves);
  return s;
}
