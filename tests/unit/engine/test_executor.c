/* Covers runner/engine/{executor, tensors}.c, transform/split.c, runner/weights/weights.c,
 * runner/engine/kinds/{avgpool, boxes, conv, conv_direct, crop, dense, kinds, lanes, local, pool,
 * reorg, reorg3d, resize, rows}.c: random networks give the same bits under random plans, some of
 * which split groups by rows, columns or channels. Writes weights to temporary files in /dev/shm or
 * /tmp. */
#include "predictor/planning/in_place.h"
#include "predictor/planning/planning.h"
#include "predictor/plan/winograd.h"
#include "runner/engine/executor.h"
#include "runner/weights/packer.h"
#include "runner/engine/kinds/kind.h"

#include "tests/support/failing_malloc.h"
#include "tests/support/support.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *executor_suite(void);

/* ---- weights in memory ---- */

static struct mafat_weights *test_weights(const struct mafat_network *n, uint64_t seed)
{
  struct mafat_weights *w;
  struct mafat_diagnostic d;
  int fd = test_weights_file(n, seed);
  int code = test_weights_from(&w, fd, n, n->n_layers, NULL, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  close(fd);
  return w;
}

/* The same weights in two files: a Darknet file and a packed file. */
struct weights_files {
  char darknet[64], packed[64];
};

static int temporary_file(char path[64])
{
  snprintf(path, 64, "%s/mafat-executor-XXXXXX",
           access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
  int fd = mkstemp(path);
  ck_assert_int_ge(fd, 0);
  return fd;
}

static struct weights_files make_files(const struct mafat_network *n, uint64_t seed)
{
  struct weights_files f;
  struct mafat_diagnostic d;
  char chunk[4096];
  int from = test_weights_file(n, seed), fd = temporary_file(f.darknet);
  ck_assert_int_eq(lseek(from, 0, SEEK_SET), 0);
  for (ssize_t got; (got = read(from, chunk, sizeof chunk)) > 0;)
    ck_assert_int_eq(write(fd, chunk, (size_t)got), got);
  close(from);
  close(fd);
  fd = temporary_file(f.packed);
  int code = mafat_packer_write(f.darknet, n, NULL, fd, f.packed, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  close(fd);
  return f;
}

static void remove_files(const struct weights_files *f)
{
  unlink(f->darknet);
  unlink(f->packed);
}

/* ---- running ---- */

static float *random_input(const struct mafat_network *n)
{
  size_t inputs = (size_t)mafat_shape_elements(mafat_network_picture_shape(n));
  float *input = malloc(inputs * sizeof *input);
  struct test_rng rng = test_rng(99);
  for (size_t i = 0; i < inputs; i++) input[i] = (float)(test_random(&rng) >> 8) / 16777216.0f;
  return input;
}

/* Runs a plan `times` times in an arena full of NaN, so that reading values that no step wrote
 * shows in the output. */
static float *run_often(const struct mafat_network *n, const struct mafat_plan *plan,
                        const struct mafat_layout *layout, struct mafat_weights *w,
                        const struct mafat_kernels *kernels, int times)
{
  struct mafat_executor_options options;
  struct mafat_executor *e;
  struct mafat_diagnostic d;
  mafat_executor_defaults(&options);
  options.kernels = kernels;
  int code = mafat_executor_open(&e, n, plan, layout, w, &options, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  float *input = random_input(n);
  mafat_executor_set_input(e, input);
  for (int i = 0; i < times; i++) {
    memset((void *)(uintptr_t)mafat_executor_arena(e), 0xff, layout->total_bytes);
    code = mafat_executor_run(e, &d);
    ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  }
  free(input);
  float *out = malloc(test_outputs_floats(n) * sizeof *out);
  test_read_outputs(e, n, out);
  mafat_executor_close(&e);
  return out;
}

/* Runs a plan with all weights in memory, even if the plan streams them. */
static float *run_plan(const struct mafat_network *n, const struct mafat_plan *plan,
                       struct mafat_weights *w, const struct mafat_kernels *kernels)
{
  struct mafat_layout *layout = test_layout(n, plan);
  float *out = run_often(n, plan, layout, w, kernels, 1);
  mafat_layout_close(&layout);
  return out;
}

/* Runs a plan twice with weights from a file, kept or streamed as the plan says: streamed weights
 * are read again in the second run. */
static float *run_from_file(const struct mafat_network *n, const struct mafat_plan *plan,
                            const struct weights_files *files, const struct mafat_kernels *kernels)
{
  struct mafat_layout *layout = test_layout(n, plan);
  struct mafat_weights *w;
  struct mafat_diagnostic d;
  int code = mafat_weights_open(&w, plan->packed ? files->packed : files->darknet, n, plan, layout,
                                NULL, NULL, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  float *out = run_often(n, plan, layout, w, kernels, 2);
  mafat_weights_close(&w);
  mafat_layout_close(&layout);
  return out;
}

static bool all_finite(const float *x, size_t n)
{
  for (size_t i = 0; i < n; i++)
    if (!isfinite(x[i])) return false;
  return true;
}

/* Returns random options with the given algorithm. */
static struct mafat_plan_options random_options(struct test_rng *rng,
                                                enum mafat_algorithm algorithm)
{
  struct mafat_plan_options options;
  mafat_plan_defaults(&options);
  options.algorithm = algorithm;
  options.keep_all = test_random_chance(rng, 30);
  if (test_random_chance(rng, 80)) options.small_bytes = 0;
  options.n_threads = test_random_chance(rng, 40) ? test_random_int(rng, 2, 4) : 1;
  return options;
}

/* Chooses the algorithm of each layer that has Winograd algorithms from two of the bits, as words
 * after a group in a plan's text can. Keeps the algorithms if bits is 0. Then finds again which
 * outputs reuse an operand's buffer, because in tiled groups that depends on the algorithms. */
static void mix_algorithms(struct mafat_plan *plan, const struct mafat_network *n, uint64_t bits,
                           bool keep_all)
{
  for (int l = 0; bits && l < plan->n_layers; l++)
    if (mafat_winograd_applies(&n->layers[l]))
      plan->algorithms[l] =
          (enum mafat_algorithm)(MAFAT_DIRECT + (bits >> l % 32 & 3) % (MAFAT_N_ALGORITHMS - 1));
  mafat_heap_free(plan->heap, plan->place_of);
  ck_assert_int_eq(mafat_in_place_find(plan, n, plan->in_place && !keep_all), MAFAT_OK);
}

/* Compares the outputs of random plans with those of the untiled plan. The weights are in memory or
 * in files. Closes the network. cfg: text for messages. */
static void check_network(struct mafat_network *n, const char *cfg, struct test_rng *rng,
                          const struct mafat_kernels *kernels, int n_plans)
{
  char text[TEST_PLAN_ROOM];
  uint64_t seed = test_random(rng);
  struct mafat_weights *w = test_weights(n, seed);
  struct weights_files files = make_files(n, seed);
  struct mafat_plan_options options = test_plain_options();
  options.algorithm =
      (enum mafat_algorithm)test_random_int(rng, MAFAT_AUTO, MAFAT_N_ALGORITHMS - 1);
  struct mafat_plan *plan = test_plan_with(n, "1x1/NoCut", &options);
  uint64_t bits = test_random_chance(rng, 40) ? test_random(rng) : 0;
  mix_algorithms(plan, n, bits, options.keep_all);
  size_t floats = test_outputs_floats(n);
  float *reference = run_plan(n, plan, w, kernels);
  mafat_plan_close(&plan);
  if (!all_finite(reference, floats)) test_fail_case(cfg, "1x1/NoCut", "an output is not finite");
  for (int i = 0; i < n_plans; i++) {
    test_random_plan(rng, n, n->n_layers, text, sizeof text);
    options = random_options(rng, options.algorithm);
    options.packed = i % 3 == 2;
    if (bits == 0 && i >= 9 && !test_random_split(rng, n, &options, text, sizeof text))
      snprintf(text, sizeof text, "1x1");
    plan = test_plan_with(n, text, &options);
    mix_algorithms(plan, n, bits, options.keep_all);
    float *out = i % 3 ? run_from_file(n, plan, &files, kernels) : run_plan(n, plan, w, kernels);
    for (size_t f = 0; f < floats; f++)
      if (memcmp(&out[f], &reference[f], sizeof *out) != 0)
        test_fail_case(cfg, text,
                       "%s, %s%s, %d threads, weights %s: output %zu of %zu is %.9g, untiled %.9g",
                       kernels->name, mafat_algorithm_name(options.algorithm),
                       options.keep_all ? "" : ", fused", options.n_threads,
                       i % 3 == 0       ? "kept"
                       : options.packed ? "packed"
                                        : "Darknet's",
                       f, floats, (double)out[f], (double)reference[f]);
    free(out);
    mafat_plan_close(&plan);
  }
  free(reference);
  remove_files(&files);
  mafat_weights_close(&w);
  mafat_network_close(&n);
}

START_TEST(test_any_plan_gives_the_same_bits)
{
  char cfg[TEST_CFG_ROOM];
  struct test_rng rng = test_rng(1000 + (uint64_t)_i);
  struct test_network_style style = test_small_style();
  test_random_network(&rng, &style, cfg, sizeof cfg);
  check_network(test_network(cfg), cfg, &rng, test_level(_i), 14); /* 14 plans, some split */
}
END_TEST

/* A random network in which at least one layer has several outputs. */
static struct mafat_network *random_several_outputs(struct test_rng *rng, char cfg[TEST_CFG_ROOM])
{
  struct test_network_style style = test_small_style();
  struct mafat_network *n;
  for (;;) {
    test_random_network(rng, &style, cfg, TEST_CFG_ROOM);
    n = test_network(cfg);
    if (test_several_outputs(n, test_random(rng), 50) > 0) return n;
    mafat_network_close(&n);
  }
}

START_TEST(test_layers_with_several_outputs)
{
  char cfg[TEST_CFG_ROOM];
  struct test_rng rng = test_rng(70000 + (uint64_t)_i);
  struct mafat_network *n = random_several_outputs(&rng, cfg);
  check_network(n, cfg, &rng, test_level(_i), 12);
}
END_TEST

/* ---- inner layers that can be read ---- */

static size_t floats_of(const struct mafat_layer *l)
{
  return (size_t)l->out.h * (size_t)l->out.w * (size_t)l->out.c;
}

/* Runs the network's layers up to `last`, without tiles, and returns the output of `last`. The
 * caller frees it. */
static float *run_up_to(const struct mafat_network *n, int last, struct mafat_weights *w,
                        enum mafat_algorithm algorithm, const struct mafat_kernels *kernels)
{
  struct mafat_plan_options options = test_plain_options();
  struct mafat_executor_options e_options;
  struct mafat_executor *e;
  struct mafat_plan *plan;
  options.algorithm = algorithm;
  ck_assert_int_eq(mafat_plan_read(&plan, "1x1/NoCut", n, last + 1, &options, NULL), MAFAT_OK);
  struct mafat_layout *layout = test_layout(n, plan);
  mafat_executor_defaults(&e_options);
  e_options.kernels = kernels;
  ck_assert_int_eq(mafat_executor_open(&e, n, plan, layout, w, &e_options, NULL), MAFAT_OK);
  float *input = random_input(n), *out = malloc(floats_of(&n->layers[last]) * sizeof *out);
  mafat_executor_set_input(e, input);
  ck_assert_int_eq(mafat_executor_run(e, NULL), MAFAT_OK);
  mafat_executor_read_output(e, last, out);
  free(input);
  mafat_executor_close(&e);
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  return out;
}

/* Makes the outputs of some layers readable after a run, also of layers that only rename a tensor,
 * and of layers that no other layer reads. */
static void ask_for_some(struct test_rng *rng, struct mafat_network *n)
{
  int layers[64], count = 0;
  for (int l = 0; l < n->n_layers; l++) {
    n->layers[l].output = false;
    if (count < 64 && test_random_chance(rng, 30)) layers[count++] = l;
  }
  ck_assert_int_eq(mafat_network_ask_for(n, n->n_layers, layers, count, NULL), MAFAT_OK);
}

START_TEST(test_inner_layers_that_are_asked_for_have_the_same_bits)
{
  char cfg[TEST_CFG_ROOM], text[TEST_PLAN_ROOM];
  struct test_rng rng = test_rng(13000 + (uint64_t)_i);
  struct test_network_style style = test_small_style();
  const struct mafat_kernels *kernels = test_level(_i);
  test_random_network(&rng, &style, cfg, sizeof cfg);
  struct mafat_network *n = test_network(cfg);
  uint64_t seed = test_random(&rng);
  struct mafat_weights *w = test_weights(n, seed);
  struct weights_files files = make_files(n, seed);
  enum mafat_algorithm algorithm =
      (enum mafat_algorithm)test_random_int(&rng, MAFAT_AUTO, MAFAT_N_ALGORITHMS - 1);
  float **references = calloc((size_t)n->n_layers, sizeof *references);
  for (int l = 0; l < n->n_layers; l++) references[l] = run_up_to(n, l, w, algorithm, kernels);
  for (int i = 0; i < 6; i++) {
    ask_for_some(&rng, n);
    test_random_plan(&rng, n, n->n_layers, text, sizeof text);
    struct mafat_plan_options options = random_options(&rng, algorithm);
    options.packed = i % 3 == 2;
    struct mafat_plan *plan = test_plan_with(n, text, &options);
    float *out = i % 3 ? run_from_file(n, plan, &files, kernels) : run_plan(n, plan, w, kernels),
          *at = out;
    for (int l = 0; l < n->n_layers; l++) {
      if (!mafat_network_is_output(n, n->n_layers, l)) continue;
      if (memcmp(at, references[l], floats_of(&n->layers[l]) * sizeof *at) != 0)
        test_fail_case(cfg, text, "%s: output of layer %d [%s] differs from the untiled run's",
                       kernels->name, l, mafat_layer_type_name(n->layers[l].type));
      at += floats_of(&n->layers[l]);
    }
    free(out);
    mafat_plan_close(&plan);
  }
  for (int l = 0; l < n->n_layers; l++) free(references[l]);
  free(references);
  remove_files(&files);
  mafat_weights_close(&w);
  mafat_network_close(&n);
}
END_TEST

/* A pool of size 2 and stride 2 does not read the last row or column of a map with odd sides.
 * Winograd computes them in its last tile, which must read the same input in any plan. */
START_TEST(test_a_pool_that_leaves_out_a_row_changes_no_bit)
{
  char cfg[512];
  snprintf(cfg, sizeof cfg,
           "[net]\nwidth=%d\nheight=%d\nchannels=3\n[convolutional]\nfilters=4\nsize=3\npad="
           "0\nactivation=linear\n"
           "[maxpool]\nsize=2\nstride=2\npadding=0\n",
           6 + _i, 9 + _i);
  struct mafat_network *n = test_network(cfg);
  struct mafat_weights *w = test_weights(n, 5);
  struct mafat_plan_options options;
  mafat_plan_defaults(&options);
  options.algorithm = _i % 2 ? MAFAT_WINOGRAD_LARGE : MAFAT_WINOGRAD;
  static const char *const texts[] = {"1x1/1/1x1",   "1x1/NoCut",    "2x2/NoCut",
                                      "rows1/NoCut", "panels/NoCut", "rows1:streamed/NoCut"};
  float *reference = NULL;
  for (int i = 0; i < 6; i++) {
    struct mafat_plan *plan = test_plan_with(n, texts[i], &options);
    float *out = run_plan(n, plan, w, mafat_kernels_find(NULL));
    if (!reference) reference = out;
    else if (memcmp(out, reference, test_outputs_floats(n) * sizeof *out) != 0)
      test_fail_case(cfg, texts[i], "bits differ from those of plan 1x1/1/1x1");
    if (out != reference) free(out);
    mafat_plan_close(&plan);
  }
  free(reference);
  mafat_weights_close(&w);
  mafat_network_close(&n);
}
END_TEST

/* Winograd's F(6x6) algorithm adds up blocks of at least 64 input channels separately. Neither
 * slices of streamed weights nor threads may divide such a block, even if the operand's sources end
 * at odd channels. */
START_TEST(test_blocks_of_channels_are_not_parted)
{
  static const char cfg[] =
      "[net]\nwidth=9\nheight=14\nchannels=3\n[convolutional]\nfilters=75\nsize=1\nactivation="
      "linear\n"
      "[convolutional]\nfilters=205\nsize=1\nactivation=leaky\n[route]\nlayers=-1,-2\n"
      "[convolutional]\nfilters=70\nsize=3\npad=1\nactivation=leaky\n";
  static const char *const texts[] = {"1x1/NoCut",          "2x1/NoCut",
                                      "rows1/NoCut",        "rows1:streamed/NoCut",
                                      "panels/NoCut",       "panels:streamed4/NoCut",
                                      "1x1:streamed/NoCut", "panels:apart:streamed/NoCut"};
  struct mafat_network *n = test_network(cfg);
  struct mafat_weights *w = test_weights(n, 5);
  struct weights_files files = make_files(n, 5);
  struct mafat_plan_options options;
  mafat_plan_defaults(&options);
  options.algorithm = MAFAT_WINOGRAD_LARGE;
  float *reference = NULL;
  for (int i = 0; i < 16; i++) {
    options.n_threads = 1 + i / 8 * (1 + _i);
    options.small_bytes = 0;
    options.packed = i % 3 == 2;
    struct mafat_plan *plan = test_plan_with(n, texts[i % 8], &options);
    float *out = i ? run_from_file(n, plan, &files, mafat_kernels_find(NULL))
                   : run_plan(n, plan, w, mafat_kernels_find(NULL));
    if (!reference) reference = out;
    else if (memcmp(out, reference, test_outputs_floats(n) * sizeof *out) != 0)
      test_fail_case(cfg, texts[i % 8], "%d threads: bits differ from those of plan 1x1/NoCut",
                     options.n_threads);
    if (out != reference) free(out);
    mafat_plan_close(&plan);
  }
  free(reference);
  remove_files(&files);
  mafat_weights_close(&w);
  mafat_network_close(&n);
}
END_TEST

/* Networks of plain layers give the bits of an untiled run if the whole network is one group, by
 * rows or in panels. */
START_TEST(test_one_group_gives_the_same_bits)
{
  char cfg[TEST_CFG_ROOM];
  struct test_rng rng = test_rng(5000 + (uint64_t)_i);
  struct test_network_style style = test_network_style();
  style.whole_maps = style.heads = false;
  style.max_macs = 400000;
  test_random_network(&rng, &style, cfg, sizeof cfg);
  struct mafat_network *n = test_network(cfg);
  struct mafat_weights *w = test_weights(n, 3);
  static const char *const texts[] = {"rows2/NoCut", "rows2:streamed/NoCut", "panels/NoCut",
                                      "panels:apart:streamed/NoCut"};
  struct mafat_plan *plan = test_plan(n, "1x1/NoCut");
  float *reference = run_plan(n, plan, w, mafat_kernels_find(NULL));
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    mafat_plan_close(&plan);
    plan = test_plan(n, texts[i]);
    float *out = run_plan(n, plan, w, mafat_kernels_find(NULL));
    if (memcmp(out, reference, test_outputs_floats(n) * sizeof *out) != 0)
      test_fail_case(cfg, texts[i], "bits differ from those of plan 1x1/NoCut");
    free(out);
  }
  free(reference);
  mafat_plan_close(&plan);
  mafat_weights_close(&w);
  mafat_network_close(&n);
}
END_TEST

/* ---- in place ---- */

#define MAP \
  "[net]\nheight=21\nwidth=17\nchannels=3\n[convolutional]\nfilters=41\nsize=3\npad=" \
  "1\nactivation=leaky\n"
#define DEPTHWISE(size, more) \
  "[convolutional]\nfilters=41\ngroups=41\npad=1\nsize=" #size "\nactivation=swish\n" more
#define NARROWER "[convolutional]\nfilters=8\nsize=3\npad=1\n"

/* Networks and, for each layer, the layer whose buffer its output reuses; -1: none. */
static const struct placed {
  const char *cfg;
  int place_of[6], n;
} placed[] = {
    {MAP DEPTHWISE(3, "") NARROWER, {-1, 0, -1}, 3},
    {MAP DEPTHWISE(7, "") NARROWER, {-1, 0, -1}, 3},
    {MAP DEPTHWISE(3, "dilation=4\n") NARROWER, {-1, 0, -1}, 3},
    {MAP DEPTHWISE(3, "stride=2\n") NARROWER, {-1, -1, -1}, 3},
    {MAP "[activation]\nactivation=mish\n[batchnorm]\n" DEPTHWISE(5, "") NARROWER,
     {-1, 0, 1, 2, -1},
     5}, /* all layers share one buffer */
    {MAP "[activation]\nactivation=tanh\n[shortcut]\nfrom=-2\n" NARROWER,
     {-1, -1, 1, -1},
     4}, /* a later layer reads the input again */
    {MAP "[maxpool]\nsize=3\nstride=1\n[shortcut]\nfrom=0\nactivation=relu\n" NARROWER, {-1, -1, 1,
     -1}, 4},
    {MAP "[avgpool]\n[scale_channels]\nfrom=0\n" DEPTHWISE(3, "") NARROWER, {-1, -1, 0, 2, -1}, 5},
};

static void check_placed(const struct placed *p, const char *text, int threads,
                         const float *expected, const struct mafat_network *n,
                         struct mafat_weights *w, const struct mafat_kernels *kernels)
{
  struct mafat_plan_options options = test_plain_options();
  options.algorithm = MAFAT_DIRECT;
  options.n_threads = threads;
  options.keep_all = false;
  struct mafat_plan *plan = test_plan_with(n, text, &options);
  for (int l = 0; l < p->n; l++)
    if (plan->place_of[l] != p->place_of[l])
      test_fail_case(p->cfg, text, "layer %d reuses the buffer of layer %d", l, plan->place_of[l]);
  float *out = run_plan(n, plan, w, kernels);
  if (memcmp(out, expected, test_outputs_floats(n) * sizeof *out) != 0)
    test_fail_case(p->cfg, text, "%s, %d threads: bits differ from those of plan 1x1/NoCut",
                   kernels->name, threads);
  free(out);
  options.keep_all = true;
  mafat_plan_close(&plan);
  plan = test_plan_with(n, text, &options);
  for (int l = 0; l < p->n; l++) ck_assert_int_eq(plan->place_of[l], -1);
  mafat_plan_close(&plan);
}

START_TEST(test_outputs_take_the_place_of_what_dies)
{
  static const char *const texts[] = {"1x1/inplace", "panels/inplace", "1x1/order=best/inplace"};
  const struct placed *p = &placed[_i];
  struct mafat_network *n = test_network(p->cfg);
  struct mafat_weights *w = test_weights(n, 5);
  struct mafat_plan_options options = test_plain_options();
  options.algorithm = MAFAT_DIRECT;
  for (int level = 0; level < 3; level++) {
    struct mafat_plan *plan = test_plan_with(n, "1x1/NoCut", &options);
    float *expected = run_plan(n, plan, w, test_level(level));
    for (int t = 0; t < 9; t++)
      check_placed(p, texts[t % 3], 1 + t / 3, expected, n, w, test_level(level));
    free(expected);
    mafat_plan_close(&plan);
  }
  mafat_weights_close(&w);
  mafat_network_close(&n);
}
END_TEST

/* For layers like yolov2's first ones, a plan by rows needs less than an eighth of the memory of
 * whole maps (the output is not counted), and computes nothing twice. */
START_TEST(test_rows_need_little_memory)
{
  struct mafat_network *n =
      test_network("[net]\nwidth=256\nheight=256\nchannels=3\n"
                   "[convolutional]\nfilters=16\nsize=3\npad=1\nactivation=leaky\n"
                   "[maxpool]\nsize=2\nstride=2\n"
                   "[convolutional]\nfilters=32\nsize=3\npad=1\nactivation=leaky\n"
                   "[maxpool]\nsize=2\nstride=2\n"
                   "[convolutional]\nfilters=8\nsize=3\npad=1\nactivation=leaky\n");
  struct mafat_plan_options options = test_plain_options();
  struct mafat_plan *plan = test_plan_with(n, "1x1/NoCut", &options);
  struct mafat_layout *whole = test_layout(n, plan);
  mafat_plan_close(&plan);
  plan = test_plan_with(n, "rows2/NoCut", &options);
  struct mafat_layout *rows = test_layout(n, plan);
  size_t output = 64 * 64 * 8 * 4; /* bytes of the output, a whole map in both plans */
  ck_assert_uint_lt(rows->total_bytes - output, (whole->total_bytes - output) / 8);
  ck_assert_uint_eq(rows->macs, whole->macs);
  ck_assert_uint_eq(rows->redundant_macs, 0);
  mafat_layout_close(&rows);
  mafat_layout_close(&whole);
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

/* When a 3x3 convolution of 200 filters and the 1x1 after it run by panels of 32 channels, the
 * tensor between them is never in memory whole, and no bit changes. */
START_TEST(test_fused_panels_never_hold_the_wide_tensor)
{
  struct mafat_network *n = test_network(
      "[net]\nwidth=21\nheight=17\nchannels=3\n"
      "[convolutional]\nfilters=24\nsize=3\npad=1\nactivation=leaky\n"
      "[convolutional]\nfilters=200\nsize=3\npad=1\nbatch_normalize=1\nactivation=mish\n"
      "[convolutional]\nfilters=19\nsize=1\nactivation=leaky\n"
      "[maxpool]\nsize=2\nstride=2\n");
  struct mafat_weights *w = test_weights(n, 4);
  struct mafat_plan *plan = test_plan(n, "1x1/1/1x1/3/1x1"),
                    *panels = test_plan(n, "1x1/1/panels/3/1x1");
  struct mafat_layout *whole = test_layout(n, plan), *fused = test_layout(n, panels);
  const struct mafat_kernels *levels[8];
  int n_levels = mafat_kernels_list(levels, 8);
  for (int l = 0; l < n_levels; l++) {
    float *reference = run_plan(n, plan, w, levels[l]), *out = run_plan(n, panels, w, levels[l]);
    ck_assert_mem_eq(out, reference, test_outputs_floats(n) * sizeof *out);
    free(out);
    free(reference);
  }
  ck_assert_uint_eq(whole->buffers[whole->tensors[1].buffer].bytes,
                    (21 * 17 * 200 * 4 + 63) / 64 * 64);
  ck_assert_uint_eq(fused->buffers[fused->tensors[1].buffer].bytes,
                    (21 * 17 * 32 * 4 + 63) / 64 * 64);
  ck_assert_uint_eq(fused->macs, whole->macs);
  mafat_layout_close(&fused);
  mafat_layout_close(&whole);
  mafat_plan_close(&plan);
  mafat_plan_close(&panels);
  mafat_weights_close(&w);
  mafat_network_close(&n);
}
END_TEST

/* The outputs of each kernel level differ from those of the first level by at most 2e-5 of the
 * largest output (2e-5 if that output is below 1). */
START_TEST(test_levels_agree)
{
  char cfg[TEST_CFG_ROOM];
  struct test_rng rng = test_rng(7000 + (uint64_t)_i);
  struct test_network_style style = test_network_style();
  const struct mafat_kernels *levels[8];
  int n_levels = mafat_kernels_list(levels, 8);
  style.max_macs = 400000;
  test_random_network(&rng, &style, cfg, sizeof cfg);
  struct mafat_network *n = test_network(cfg);
  struct mafat_weights *w = test_weights(n, 5);
  struct mafat_plan *plan = test_plan(n, "1x1/NoCut");
  size_t floats = test_outputs_floats(n);
  float *first = run_plan(n, plan, w, levels[0]);
  float largest = 0;
  for (size_t i = 0; i < floats; i++) largest = fmaxf(largest, fabsf(first[i]));
  for (int l = 1; l < n_levels; l++) {
    float *other = run_plan(n, plan, w, levels[l]);
    /* stair is discontinuous: a rounding error may become a whole step, so it is skipped */
    for (size_t i = 0; i < floats && !strstr(cfg, "stair"); i++)
      if (!(fabsf(other[i] - first[i]) <= 2e-5f * fmaxf(largest, 1)))
        test_fail_case(cfg, "1x1/NoCut", "%s and %s differ at %zu: %g and %g", levels[0]->name,
                       levels[l]->name, i, (double)first[i], (double)other[i]);
    free(other);
  }
  free(first);
  mafat_plan_close(&plan);
  mafat_weights_close(&w);
  mafat_network_close(&n);
}
END_TEST

/* ---- memory ---- */

/* A run allocates no memory and maps none. */
START_TEST(test_nothing_is_allocated_while_running)
{
  char cfg[TEST_CFG_ROOM], text[TEST_PLAN_ROOM];
  struct test_rng rng = test_rng(9000 + (uint64_t)_i);
  struct test_network_style style = test_network_style();
  struct mafat_executor_options options;
  struct mafat_executor *e;
  test_random_network(&rng, &style, cfg, sizeof cfg);
  struct mafat_network *n = test_network(cfg);
  struct mafat_weights *w = test_weights(n, 1);
  struct mafat_plan_options plan_options;
  mafat_plan_defaults(&plan_options);
  test_random_plan(&rng, n, n->n_layers, text, sizeof text);
  if (_i % 2 && !test_random_split(&rng, n, &plan_options, text, sizeof text))
    snprintf(text, sizeof text, "1x1");
  struct mafat_plan *plan = test_plan(n, text);
  struct mafat_layout *layout = test_layout(n, plan);
  mafat_executor_defaults(&options);
  ck_assert_int_eq(mafat_executor_open(&e, n, plan, layout, w, &options, NULL), MAFAT_OK);
  float *input =
      calloc((size_t)mafat_shape_elements(mafat_network_picture_shape(n)), sizeof *input);
  mafat_executor_set_input(e, input);
  failing_malloc_arm(-1);
  failing_mmap_arm(-1);
  int code = mafat_executor_run(e, NULL);
  long maps = failing_mmap_disarm();
  long unfreed, allocations = failing_malloc_disarm(&unfreed);
  ck_assert_int_eq(code, MAFAT_OK);
  ck_assert_int_eq(allocations, 0);
  ck_assert_int_eq(maps, 0);
  free(input);
  mafat_executor_close(&e);
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  mafat_weights_close(&w);
  mafat_network_close(&n);
}
END_TEST

/* Opens weights and an executor, and closes both. Returns the code of the first failure. */
static int open_both(const struct mafat_network *n, const struct mafat_plan *plan,
                     const struct mafat_layout *layout, int fd)
{
  struct mafat_weights *w = NULL;
  struct mafat_executor *e = NULL;
  struct mafat_executor_options options;
  mafat_executor_defaults(&options);
  int code = test_weights_from(&w, fd, n, n->n_layers, NULL, NULL);
  if (code == MAFAT_OK) code = mafat_executor_open(&e, n, plan, layout, w, &options, NULL);
  else ck_assert_ptr_null(w);
  mafat_executor_close(&e);
  mafat_weights_close(&w);
  return code;
}

START_TEST(test_every_failed_allocation_is_reported_and_leaks_nothing)
{
  char cfg[TEST_CFG_ROOM];
  struct test_rng rng = test_rng(11000 + (uint64_t)_i);
  struct test_network_style style = test_network_style();
  test_random_network(&rng, &style, cfg, sizeof cfg);
  struct mafat_network *n = test_network(cfg);
  struct mafat_plan *plan = test_plan(n, "1x1/NoCut");
  struct mafat_layout *layout = test_layout(n, plan);
  int fd = test_weights_file(n, 1), code = MAFAT_ENOMEM;
  for (long fail = 0; code != MAFAT_OK; fail++) {
    long unfreed;
    failing_malloc_arm(fail);
    code = open_both(n, plan, layout, fd);
    failing_malloc_disarm(&unfreed);
    ck_assert(code == MAFAT_OK || code == MAFAT_ENOMEM);
    ck_assert_int_eq(unfreed, 0);
  }
  long failing_map = 0;
  for (code = MAFAT_ENOMEM; code != MAFAT_OK; failing_map++) {
    failing_mmap_arm(failing_map);
    code = open_both(n, plan, layout, fd);
    failing_mmap_disarm();
    ck_assert(code == MAFAT_OK || code == MAFAT_ENOMEM);
  }
  ck_assert_int_ge(failing_map, 2); /* at least one mapping failed: the arena */
  close(fd);
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

/* ---- reorg and reorg3d, compared with Darknet's index formula ---- */

/* (c, h, w) is the size of reorg's input, or of reorg3d's output. Copies x[out_index] to
 * out[in_index]; if `reverse`, copies x[in_index] to out[out_index]. */
static void exact_reorg(const float *x, int w, int h, int c, int stride, bool reverse, float *out)
{
  int out_c = c / (stride * stride);
  for (int k = 0; k < c; k++)
    for (int j = 0; j < h; j++)
      for (int i = 0; i < w; i++) {
        int in_index = i + w * (j + h * k);
        int w2 = i * stride + k / out_c % stride, h2 = j * stride + k / out_c / stride;
        int out_index = w2 + w * stride * (h2 + h * stride * (k % out_c));
        if (reverse) out[out_index] = x[in_index];
        else out[in_index] = x[out_index];
      }
}

START_TEST(test_reorgs_have_darknets_index_order)
{
  static const char *const sections[] = {"[reorg]\nstride=2\n", "[reorg]\nstride=2\nreverse=1\n",
                                         "[reorg3d]\nstride=2\n"};
  char cfg[512];
  snprintf(cfg, sizeof cfg, "[net]\nwidth=6\nheight=4\nchannels=36\n%s", sections[_i]);
  struct mafat_network *n = test_network(cfg);
  struct mafat_weights *w = test_weights(n, 1);
  struct mafat_plan *plan = test_plan(n, "1x1/NoCut");
  float *out = run_plan(n, plan, w, mafat_kernels_find(NULL));
  float input[6 * 4 * 36], want[6 * 4 * 36];
  struct test_rng rng = test_rng(99);
  for (int i = 0; i < 6 * 4 * 36; i++) input[i] = (float)(test_random(&rng) >> 8) / 16777216.0f;
  if (_i == 2) exact_reorg(input, 3, 2, 144, 2, false, want);
  else exact_reorg(input, 6, 4, 36, 2, _i == 1, want);
  ck_assert_mem_eq(out, want, sizeof want);
  free(out);
  mafat_plan_close(&plan);
  mafat_weights_close(&w);
  mafat_network_close(&n);
}
END_TEST

Suite *executor_suite(void)
{
  Suite *s = suite_create("executor");
  TCase *t = tcase_create("executor");
  tcase_set_timeout(t, 60);
  tcase_add_loop_test(t, test_any_plan_gives_the_same_bits, 0, test_seeds(500));
  tcase_add_loop_test(t, test_layers_with_several_outputs, 0, test_seeds(500));
  tcase_add_loop_test(t, test_inner_layers_that_are_asked_for_have_the_same_bits, 0,
                      test_seeds(200));
  tcase_add_loop_test(t, test_a_pool_that_leaves_out_a_row_changes_no_bit, 0, 12);
  tcase_add_loop_test(t, test_blocks_of_channels_are_not_parted, 0, 3);
  tcase_add_loop_test(t, test_one_group_gives_the_same_bits, 0, test_seeds(200));
  tcase_add_loop_test(t, test_outputs_take_the_place_of_what_dies, 0,
                      sizeof placed / sizeof *placed);
  tcase_add_test(t, test_rows_need_little_memory);
  tcase_add_test(t, test_fused_panels_never_hold_the_wide_tensor);
  tcase_add_loop_test(t, test_levels_agree, 0, test_seeds(100));
  tcase_add_loop_test(t, test_nothing_is_allocated_while_running, 0, test_seeds(50));
  tcase_add_loop_test(t, test_every_failed_allocation_is_reported_and_leaks_nothing, 0, 10);
  tcase_add_loop_test(t, test_reorgs_have_darknets_index_order, 0, 3);
  suite_add_tcase(s, t);
  return s;
}
