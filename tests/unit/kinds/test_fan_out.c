/* Covers predictor/plan/{partition, usage}.c, predictor/schedule/{parts_inputs, parts_order}.c:
 * split networks give the same outputs as unsplit ones. Attention is split by queries and by heads,
 * so that its scores are never in memory as a whole. Embeddings, their mean over tokens and a dense
 * layer are split by features. Convolutions and pools are split along channels. */
#include "predictor/plan/parts.h"
#include "predictor/planning/planning.h"
#include "runner/engine/executor.h"
#include "tests/support/support.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *fan_out_suite(void);

/* ---- graphs ---- */

enum { TOKENS = 37, HEADS = 3, TABLE = 50 };

/* Adds an operand to the layer: the first `channels` channels of a tensor, or all if channels is
 * 0. */
static void read_from(struct mafat_network *n, struct mafat_layer *l, int tensor, int channels)
{
  struct mafat_shape s = mafat_network_tensor_shape(n, tensor);
  struct mafat_source source = {tensor, 0, channels ? channels : s.c, 0, s.h};
  struct mafat_operand o = {{&source, 1, 1}, {s.h, s.w, source.n}, false};
  test_add_operand(l, &o);
}

/* Changes a layer's type and removes its operands. The caller adds the new operands. */
static struct mafat_layer *become(struct mafat_network *n, int layer, enum mafat_layer_type type)
{
  struct mafat_layer *l = &n->layers[layer];
  free(l->operands[0].sources.list);
  l->n_operands = 0;
  l->type = type;
  l->activation.kind = MAFAT_LINEAR;
  l->alpha = 1;
  return l;
}

static void infer(struct mafat_network *n, int layer)
{
  struct mafat_diagnostic d = {""};
  const struct mafat_infer_context context = {"test.cfg", 1, layer, "layer", &d};
  ck_assert_msg(mafat_layer_infer(&n->layers[layer], &context) == MAFAT_OK, "%s", d.text);
}

#define POINT "[convolutional]\nfilters=32\nsize=1\nstride=1\nactivation=linear\n"
#define COPY "[activation]\nactivation=linear\n"

/* Attention of three heads: queries, keys and values are maps whose rows are heads and whose
 * columns are tokens; then scores, probabilities, and values weighted by them. */
static struct mafat_network *attention(void)
{
  char cfg[1024];
  snprintf(cfg, sizeof cfg,
           "[net]\nheight=%d\nwidth=%d\nchannels=20\n" POINT POINT POINT COPY COPY COPY POINT,
           HEADS, TOKENS);
  struct mafat_network *n = test_network(cfg);
  struct mafat_layer *l = become(n, 3, MAFAT_MATMUL);
  l->transposed = true;
  l->alpha = .125f;
  read_from(n, l, 0, 0);
  read_from(n, l, 1, 0);
  infer(n, 3);
  l = become(n, 4, MAFAT_NORMALIZE);
  l->normalize = calloc(1, sizeof *l->normalize);
  l->normalize->how = MAFAT_NORMALIZE_SOFTMAX;
  read_from(n, l, 3, 0);
  infer(n, 4);
  l = become(n, 5, MAFAT_MATMUL);
  read_from(n, l, 4, 0);
  read_from(n, l, 2, 0);
  infer(n, 5);
  test_constants(n);
  return n;
}

/* Columns of a table chosen by the input's first channel, their mean, and a dense layer. */
static struct mafat_network *embedding(void)
{
  char cfg[1024];
  snprintf(cfg, sizeof cfg,
           "[net]\nheight=1\nwidth=%d\nchannels=3\n[convolutional]\nfilters=80\nsize=1\nstride="
           "1\nactivation=linear\n" COPY COPY POINT,
           TABLE);
  struct mafat_network *n = test_network(cfg);
  struct mafat_layer *l = become(n, 1, MAFAT_GATHER);
  read_from(n, l, n->n_layers, 1);
  read_from(n, l, 0, 0);
  infer(n, 1);
  l = become(n, 2, MAFAT_REDUCE);
  l->reduce = calloc(1, sizeof *l->reduce);
  *l->reduce = (struct mafat_reduce){.how = MAFAT_REDUCE_MEAN, .cols = true};
  read_from(n, l, 1, 0);
  infer(n, 2);
  l = become(n, 3, MAFAT_CONVOLUTIONAL);
  read_from(n, l, 2, 0);
  l->in = mafat_network_tensor_shape(n, 2);
  infer(n, 3);
  test_constants(n);
  return n;
}

/* ---- running ---- */

struct answer {
  float *out;
  size_t bytes, bound; /* of the arena; lower bound of the arena */
  int n_buffers[8];    /* [layer]: partition buffers of its output */
};

static struct answer run(const struct mafat_network *n, const char *text, int threads,
                         const struct mafat_kernels *kernels)
{
  struct mafat_plan_options options;
  struct mafat_executor_options e_options;
  struct mafat_executor *e = NULL;
  struct mafat_weights *w = NULL;
  struct mafat_diagnostic d = {""};
  mafat_plan_defaults(&options);
  options.n_threads = threads;
  options.algorithm = MAFAT_DIRECT;
  struct mafat_plan *plan = test_plan_with(n, text, &options);
  struct mafat_layout *layout = test_layout(n, plan);
  int fd = test_weights_file(n, 3);
  ck_assert_msg(test_weights_from(&w, fd, n, n->n_layers, NULL, &d) == MAFAT_OK, "%s", d.text);
  close(fd);
  struct mafat_shape in = mafat_network_picture_shape(n), out = n->layers[n->n_layers - 1].out;
  float *input = malloc((size_t)mafat_shape_elements(in) * sizeof *input);
  struct test_rng rng = test_rng(5);
  for (int i = 0; i < mafat_shape_elements(in); i++)
    input[i] = (float)test_random_int(&rng, 0, TABLE - 1) / (in.h > 1 ? TABLE : 1);
  mafat_executor_defaults(&e_options);
  e_options.kernels = kernels;
  ck_assert_int_eq(mafat_executor_open(&e, n, plan, layout, w, &e_options, NULL), MAFAT_OK);
  memset((void *)(uintptr_t)mafat_executor_arena(e), 0xff, layout->total_bytes);
  mafat_executor_set_input(e, input);
  ck_assert_int_eq(mafat_executor_run(e, NULL), MAFAT_OK);
  struct answer a = {malloc((size_t)mafat_shape_elements(out) * sizeof *a.out),
                     layout->total_bytes,
                     layout->bound_bytes,
                     {0}};
  mafat_executor_read_output(e, n->n_layers - 1, a.out);
  for (int l = 0; l < n->n_layers; l++)
    a.n_buffers[l] =
        layout->tensors[l].partition ? mafat_partition_n_buffers(layout->tensors[l].partition) : 1;
  free(input);
  mafat_executor_close(&e);
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  mafat_weights_close(&w);
  return a;
}

struct fan_out {
  const char *plan;
  int layer, n_buffers; /* the layer's output is in n_buffers partition buffers */
  bool less;            /* the plan needs less memory than without splits */
};

/* Runs the network with and without splits, compares outputs and memory, and checks the number of
 * partition buffers. */
static void check_fan_out(struct mafat_network *n, const struct fan_out *f, int number)
{
  const struct mafat_kernels *level = test_level(number);
  struct answer whole = run(n, "1x1", 1, level), split = run(n, f->plan, 1 + number % 3, level);
  size_t bytes = (size_t)mafat_shape_elements(n->layers[n->n_layers - 1].out) * sizeof(float);
  ck_assert_msg(memcmp(whole.out, split.out, bytes) == 0, "%s: outputs differ from 1x1's", f->plan);
  ck_assert_msg(split.n_buffers[f->layer] == f->n_buffers,
                "%s: layer %d: expected %d partition buffers, found %d", f->plan, f->layer,
                f->n_buffers, split.n_buffers[f->layer]);
  ck_assert_msg(!f->less || number % 3 || split.bytes < whole.bytes,
                "%s: %zu bytes, %zu without splits", f->plan, split.bytes, whole.bytes);
  free(whole.out);
  free(split.out);
  mafat_network_close(&n);
}

/* Layer 3 computes the scores, 3 x 37 x 37. */
static const struct fan_out attentions[] = {
    {"split(w4:3-5)/order=postorder", 3, 4, false},
    {"split(w4:3-5)/order=best", 4, 4, true},
    {"split(h3:3-5)/order=postorder", 3, 3, true},
    {"split(h3:3-5,w5:3-5)/order=postorder", 3, 15, true},
    {"split(h3:0-5)/order=best", 1, 3, true},    /* splits queries, keys and values by heads, too */
    {"split(h3:0-5,w5:3-5)/order=best", 0, 3, true},
    {"split(w37:3-5):streamed/order=sp", 4, 37, false},
    {"split(w4:3-6)/order=forward", 5, 4, false},
    {"split(c2:3)", 3, 1, false},                /* layer 4 needs all scores of a query */
    {"split(c2:5)", 5, 2, false},                /* parts of 16 channels: a product has no panels */
    {"split(w3:3)/4/split(h3:4-6)/order=best", 4, 3, false},
};

START_TEST(attention_is_split_by_queries_and_heads)
{
  check_fan_out(attention(), &attentions[_i], _i);
}
END_TEST

static const struct fan_out embeddings[] = {
    {"split(c5:1-2)/order=postorder", 1, 5, true}, /* 16 of 80 features each */
    {"split(c2:0-2)/order=best", 0, 2, true},
    {"split(c[32,64]:0-3)/order=postorder", 2, 3, true}, /* fan-out, gather, mean, fan-in */
    {"split(c5:1-3)/order=postorder", 2, 5, true},
    {"split(c10:1-2)/order=postorder", 1, 10, true}, /* parts of a channel block: 8 features, */
    {"split(c20:1-2)/order=best", 1, 20, true},      /* 4, */
    {"split(c40:1-2)/order=postorder", 1, 40, true}, /* 2, */
    {"split(c80:1-2)", 1, 80, false},                /* 1 */
    {"split(c80:1-2)/order=postorder", 1, 80, true},
    {"split(c5:1-3):loaded", 1, 5, false},
    {"split(c10:0-2)/order=postorder", 0, 10, true}, /* the table is split, too: 8 features, */
    {"split(c20:0-2)", 0, 20, false},                /* 4 */
    {"split(w7:1)", 1, 1, false}, /* the mean reads across tokens */
};

START_TEST(embedding_mean_and_dense_are_split_by_features)
{
  check_fan_out(embedding(), &embeddings[_i], _i);
}
END_TEST

/* Convolutions, whose parts may begin in the middle of a panel, each followed by a pool; the last
 * layer reads whole maps. */
static struct mafat_network *narrow(void)
{
  return test_network("[net]\nheight=23\nwidth=19\nchannels=3\n"
                      "[convolutional]\nfilters=8\nsize=3\nstride=1\npad=1\nactivation=leaky\n["
                      "maxpool]\nsize=3\nstride=2\n"
                      "[convolutional]\nfilters=24\nsize=3\nstride=1\npad=1\nactivation=leaky\n["
                      "maxpool]\nsize=2\nstride=2\n"
                      "[convolutional]\nfilters=8\nsize=1\nstride=1\nactivation=linear\n");
}

static const struct fan_out narrows[] = {
    {"split(c2:0-1)/order=postorder", 0, 2, true},
    {"split(c4:0-1)/order=best", 0, 4, true},
    {"split(c8:0-1)/order=postorder", 0, 8, true},
    {"split(c8:0-1)", 1, 1, false}, /* layer 2, a convolution, needs all channels */
    {"split(c3:2-3)/order=postorder", 2, 3, false},
    {"split(c6:2-3)/order=postorder", 2, 6, false},
    {"split(c24:2-3)/order=sp", 2, 24, false},
    {"split(c4:0-1,c12:2-3)/order=best", 2, 12, true},
    {"split(h3:0-1,c4:0-1)/order=best", 0, 12, true},
    {"split(c4:0)", 0, 1, false}, /* the pool, which is not split, reads whole blocks */
};

START_TEST(convolutions_and_pools_are_split_within_blocks)
{
  check_fan_out(narrow(), &narrows[_i], _i);
}
END_TEST

/* Plans that are refused because their parts are not whole channel blocks. Smaller parts are
 * allowed only if no weights are read past their end, all weights stay in memory, and all parts
 * have the same size. */
static const char *const coarse[] = {
    "split(c2:4)",   "split(c2:0-1):loaded", "split(c2:0-1):streamed",
    "split(c3:0-1)", "split(c[4]:0-1)",      "split(c5:2-3)"};

START_TEST(other_parts_are_of_whole_blocks)
{
  struct mafat_network *n = narrow();
  struct mafat_plan *plan;
  struct mafat_diagnostic d = {""};
  ck_assert_int_eq(mafat_plan_read(&plan, coarse[_i], n, n->n_layers, NULL, &d), MAFAT_EINVAL);
  ck_assert_msg(strstr(d.text, "channels, in units of 16") ||
                    strstr(d.text, "channels, in units of 32"),
                "%s", d.text);
  mafat_network_close(&n);
}
END_TEST

/* Two convolutions and a 1x1. If the first two are split along channels, each part of the second
 * adds its products to the sums of the part before. */
static struct mafat_network *chained(int size)
{
  char cfg[400];
  snprintf(cfg, sizeof cfg,
           "[net]\nheight=9\nwidth=11\nchannels=3\n[convolutional]\nfilters=16\nsize=3\nstride="
           "2\npad=1\nactivation=leaky\n"
           "[convolutional]\nfilters=16\nsize=%d\nstride=1\nactivation=linear\n"
           "[convolutional]\nfilters=8\nsize=1\nstride=1\nactivation=linear\n",
           size);
  return test_network(cfg);
}

START_TEST(sums_are_continued_within_a_block)
{
  static const struct fan_out pixels = {"split(c4:0-1)/2/1x1", 0, 1, false};
  check_fan_out(chained(1), &pixels, _i);
}
END_TEST

/* A convolution takes the taps of its window one after the other, and for each tap adds all
 * channels of a block. Parts of a block would add in another order, so parts must be whole
 * blocks. */
START_TEST(sums_of_taps_are_continued_by_whole_blocks)
{
  struct mafat_network *n = chained(2);
  struct mafat_plan *plan;
  struct mafat_diagnostic d = {""};
  ck_assert_int_eq(mafat_plan_read(&plan, "split(c4:0-1)/2/1x1", n, n->n_layers, NULL, &d),
                   MAFAT_EINVAL);
  ck_assert_msg(strstr(d.text, "channels, in units of "), "%s", d.text);
  mafat_network_close(&n);
}
END_TEST

/* A pool that reads rows of the layer before it and, below them, rows of the input, whose pixels
 * have a whole block of channels. */
static struct mafat_network *joined(void)
{
  enum { ROWS = 9, COLUMNS = 7, CHANNELS = 16 };
  struct mafat_network *n =
      test_network("[net]\nheight=9\nwidth=7\nchannels=16\n[maxpool]\nsize=3\nstride=1\n[maxpool]"
                   "\nsize=3\nstride=2\n"
                   "[convolutional]\nfilters=8\nsize=1\nstride=1\nactivation=linear\n");
  struct mafat_source rows[] = {{0, 0, CHANNELS, 0, ROWS},
                                {mafat_network_picture(n), 0, CHANNELS, 0, ROWS}};
  const struct mafat_operand both = {{rows, 1, 2}, {2 * ROWS, COLUMNS, CHANNELS}, false};
  test_add_operand(become(n, 1, MAFAT_MAXPOOL), &both);
  infer(n, 1);
  struct mafat_layer *last = become(n, 2, MAFAT_CONVOLUTIONAL);
  read_from(n, last, 1, 0);
  infer(n, 2);
  test_constants(n);
  return n;
}

START_TEST(rows_of_several_maps_are_of_whole_blocks)
{
  static const struct fan_out pool = {"split(c2:0-1)/2/1x1", 0, 1, false};
  check_fan_out(joined(), &pool, _i);
}
END_TEST

/* A pool that reads the second half of a convolution's channels, then the first half. */
static struct mafat_network *halves(int filters)
{
  char cfg[600];
  snprintf(cfg, sizeof cfg,
           "[net]\nheight=9\nwidth=7\nchannels=4\n[convolutional]\nfilters=%d\nsize=1\nstride="
           "1\nactivation=linear\n"
           "[route]\nlayers=0\ngroups=2\ngroup_id=1\n[route]\nlayers=0\ngroups=2\ngroup_id=0\n["
           "route]\nlayers=1,2\n"
           "[maxpool]\nsize=3\nstride=1\n[convolutional]\nfilters=8\nsize=1\nstride=1\nactivation="
           "linear\n",
           filters);
  return test_network(cfg);
}

static const struct {
  int filters;
  struct fan_out fan_out;
} slices[] = {
    {16, {"split(c2:0-4)/5/1x1", 0, 2, false}},
    {16, {"split(c4:0-4)/5/1x1", 0, 4, false}},
    {24, {"split(c6:0-4)/5/1x1", 0, 6, false}},
    /* 8 channels that are read together would be in two parts. */
    {24, {"split(c3:0-4)/5/1x1", 0, 1, false}}};

START_TEST(parts_of_blocks_are_read_from_where_they_begin)
{
  check_fan_out(halves(slices[_i].filters), &slices[_i].fan_out, _i);
}
END_TEST

/* A mean over channels cannot be split along channels. */
START_TEST(means_over_channels_are_not_split)
{
  struct mafat_network *n = embedding();
  struct mafat_plan *plan;
  struct mafat_diagnostic d = {""};
  n->layers[2].reduce->channels = true;
  ck_assert_int_eq(mafat_plan_read(&plan, "split(c2:1-2)", n, n->n_layers, NULL, &d), MAFAT_EINVAL);
  ck_assert_ptr_nonnull(strstr(
      d.text,
      "layer 2 [reduce] cannot be split along channels: it can only compute all of them at once"));
  mafat_network_close(&n);
}
END_TEST

Suite *fan_out_suite(void)
{
  Suite *s = suite_create("fan_out");
  TCase *t = tcase_create("fan_out");
  tcase_set_timeout(t, 60);
  tcase_add_loop_test(t, attention_is_split_by_queries_and_heads, 0,
                      (int)(sizeof attentions / sizeof *attentions));
  tcase_add_loop_test(t, embedding_mean_and_dense_are_split_by_features, 0,
                      (int)(sizeof embeddings / sizeof *embeddings));
  tcase_add_loop_test(t, sums_are_continued_within_a_block, 0, 6);
  tcase_add_loop_test(t, rows_of_several_maps_are_of_whole_blocks, 0, 6);
  tcase_add_loop_test(t, parts_of_blocks_are_read_from_where_they_begin, 0,
                      (int)(sizeof slices / sizeof *slices));
  tcase_add_test(t, sums_of_taps_are_continued_by_whole_blocks);
  tcase_add_loop_test(t, convolutions_and_pools_are_split_within_blocks, 0,
                      (int)(sizeof narrows / sizeof *narrows));
  tcase_add_loop_test(t, other_parts_are_of_whole_blocks, 0, (int)(sizeof coarse / sizeof *coarse));
  tcase_add_test(t, means_over_channels_are_not_split);
  suite_add_tcase(s, t);
  return s;
}
