/* Covers runner/weights/{narrow, pack_halves, pack_bytes}.c, runner/engine/kinds/widened.c: weights
 * narrower than float. Tests how floats are narrowed, and that a network with narrow weights gives,
 * under any plan, the same bits as one whose float weights are the widened ones. Writes temporary
 * files in /tmp. */
#include "base/half.h"
#include "formats/packed/packed.h"
#include "predictor/planning/planning.h"
#include "runner/engine/executor.h"
#include "runner/weights/narrow.h"
#include "runner/weights/packer.h"
#include "runner/weights/weights.h"
#include "runner/weights/weights_file.h"

#include "tests/support/network_files.h"
#include "tests/kernels/kernel_reference.h"
#include "tests/support/support.h"
#include "tests/support/weight_files.h"
#include "tests/support/weight_walks.h"

#include <check.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *narrow_suite(void);

static const enum mafat_dtype types[] = {MAFAT_F32, MAFAT_F16, MAFAT_I8, MAFAT_I4};
enum { N_TYPES = sizeof types / sizeof *types };

/* ---- halves ---- */

START_TEST(test_every_half_is_itself)
{
  for (unsigned h = 0; h <= UINT16_MAX; h++)
    if ((h & 0x7c00) != 0x7c00)
      ck_assert_uint_eq(mafat_narrow_half(mafat_half_value((uint16_t)h)), h);
}
END_TEST

/* A float between two halves becomes the nearer one; in the middle, the one whose last bit is 0. */
START_TEST(test_floats_become_the_nearest_half)
{
  struct test_rng rng = test_rng(3);
  for (unsigned h = 0; h < 0x7bff; h++) {
    double low = (double)mafat_half_value((uint16_t)h),
           high = (double)mafat_half_value((uint16_t)(h + 1));
    double middle = (low + high) / 2;
    ck_assert_uint_eq(mafat_narrow_half((float)middle), h % 2 ? h + 1 : h);
    ck_assert_uint_eq(mafat_narrow_half(-(float)middle), 0x8000u | (h % 2 ? h + 1 : h));
    float x = (float)(low + (high - low) * (test_random_int(&rng, 1, 999) / 1000.));
    ck_assert_uint_eq(mafat_narrow_half(x), (double)x < middle   ? h
                                            : (double)x > middle ? h + 1
                                            : h % 2              ? h + 1
                                                                 : h);
  }
}
END_TEST

/* ---- panels ---- */

static const char panels_cfg[] =
    "[net]\nwidth=4\nheight=4\nchannels=21\n"
    "[convolutional]\nfilters=24\nsize=3\npad=1\n[convolutional]\nfilters=30\nsize=1\n"
    "[convolutional]\nfilters=30\nsize=3\ngroups=30\npad=1\n[connected]\noutput=17\n";

/* Fills a panel with ordinary filters and some special ones: all zeros, few weights, large or tiny
 * weights. */
static void fill_panel(struct test_rng *rng, float *panel, size_t rows, int width)
{
  for (int lane = 0; lane < width; lane++) {
    double size = pow(10, test_random_int(rng, -12, 6));
    int how = test_random_int(rng, 0, 4);
    for (size_t r = 0; r < rows; r++) {
      double x = (test_random_int(rng, -1000000, 1000000) + .5) / 1000000;
      if (how == 0) x = 0;
      if (how == 1 && !test_random_chance(rng, 10)) x = 0;
      if (how == 2) x *= pow(10, -test_random_int(rng, 0, 9));
      panel[r * (size_t)width + (size_t)lane] = (float)(x * size);
    }
    panel[rows * (size_t)width + (size_t)lane] = (float)test_random_int(rng, -99, 99) / 7;
    panel[(rows + 1) * (size_t)width + (size_t)lane] = (float)test_random_int(rng, -99, 99) / 7;
  }
}

static void widen_panel(const struct mafat_layer *l, int width, const char *from, float *to)
{
  struct mafat_matrix m = mafat_layer_matrix(l);
  size_t lanes = (size_t)width;
  for (int c = 0, end; c < m.inputs; c = end) {
    end = mafat_dtypes[l->weights_type].scaled ? mafat_block_slice_end(l, c) : m.inputs;
    mafat_reference_fused.widen[l->weights_type](from + mafat_panel_offset(l, lanes, c),
                                                 (end - c) * m.taps, width,
                                                 to + (size_t)(c * m.taps) * lanes);
  }
  memcpy(to + (size_t)(m.inputs * m.taps) * lanes, from + mafat_panel_offset(l, lanes, m.inputs),
         mafat_panel_affine_bytes(lanes));
}

/* Largest error of one weight of a filter whose largest magnitude is `most`; a weight also carries
 * the rounding error of the weight before. most_lost: largest error of the filter's sum. */
static double most_error(enum mafat_dtype type, double most)
{
  return most / (type == MAFAT_F16 ? 1023 : type == MAFAT_I8 ? 126.99 : 4);
}

static double most_lost(enum mafat_dtype type, double most)
{
  return type == MAFAT_I4 ? INFINITY : most_error(type, most) / 2 * 1.01;
}

static void check_filter(const struct mafat_layer *l, int width, int lane, const float *wide,
                         const float *narrow)
{
  struct mafat_matrix m = mafat_layer_matrix(l);
  size_t rows = (size_t)(m.inputs * m.taps), lanes = (size_t)width;
  double scale = (double)wide[rows * lanes + (size_t)lane], most = 0, squares = 0, errors = 0,
         lost = 0;
  double narrow_scale = (double)narrow[rows * lanes + (size_t)lane];
  for (size_t r = 0; r < rows; r++)
    most = fmax(most, fabs((double)wide[r * lanes + (size_t)lane] * scale));
  for (size_t r = 0; r < rows; r++) {
    double is = (double)narrow[r * lanes + (size_t)lane] * narrow_scale,
           was = (double)wide[r * lanes + (size_t)lane] * scale;
    ck_assert_msg(fabs(is - was) <= most_error(l->weights_type, most),
                  "%s, lane %d, row %zu: %g instead of %g, most %g",
                  mafat_dtype_name(l->weights_type), lane, r, is, was, most);
    if (was == 0) ck_assert(is == 0);
    lost += is - was;
    errors += (is - was) * (is - was);
    squares += was * was;
  }
  if (most == 0) ck_assert(narrow_scale == scale);
  ck_assert(errors <= squares / 50);
  ck_assert_msg(fabs(lost) <= most_lost(l->weights_type, most), "%s: %g lost, most %g",
                mafat_dtype_name(l->weights_type), lost, most);
  ck_assert(wide[(rows + 1) * lanes + (size_t)lane] == narrow[(rows + 1) * lanes + (size_t)lane]);
}

START_TEST(test_panels_lose_no_more_than_their_type_says)
{
  struct test_rng rng = test_rng((uint64_t)_i);
  struct mafat_network *n = test_network(panels_cfg);
  for (int i = 0; i < n->n_layers; i++)
    for (int t = 1; t < N_TYPES; t++) {
      struct mafat_layer *l = &n->layers[i];
      if (!mafat_layer_takes_weights(l, types[t])) continue;
      l->weights_type = types[t];
      struct mafat_matrix m = mafat_layer_matrix(l);
      int width = mafat_panel_width(mafat_panel_end(l, 0));
      size_t rows = (size_t)(m.inputs * m.taps), floats = (rows + 2) * (size_t)width;
      size_t bytes =
          mafat_panel_offset(l, (size_t)width, m.inputs) + mafat_panel_affine_bytes((size_t)width);
      float *wide = malloc(floats * sizeof *wide), *narrow = malloc(floats * sizeof *narrow);
      char *packed = calloc(bytes, 1);
      fill_panel(&rng, wide, rows, width);
      ck_assert(mafat_narrow_panel(l, width, wide, packed));
      widen_panel(l, width, packed, narrow);
      for (int lane = 0; lane < width; lane++) check_filter(l, width, lane, wide, narrow);
      for (int lane = 0; lane < width; lane++)
        wide[lane] = wide[rows * (size_t)width + (size_t)lane] = 1e38f;
      memset(packed, 0, bytes);
      ck_assert(!mafat_narrow_panel(l, width, wide, packed));
      free(wide);
      free(narrow);
      free(packed);
    }
  mafat_network_close(&n);
}
END_TEST

START_TEST(test_layers_without_panels_stay_wide)
{
  struct mafat_network *n = test_network(
      "[net]\nwidth=4\nheight=4\nchannels=6\n[batchnorm]\n[local]\nfilters=2\nsize=2\nstride=1\n"
      "[convolutional]\nfilters=4\nsize=1\ngroups=2\n[connected]\noutput=3\n[softmax]\n");
  static const bool takes[][4] = {
      {1, 0, 0, 0}, {1, 0, 0, 0}, {1, 1, 1, 0}, {1, 1, 1, 1}, {1, 0, 0, 0}};
  for (int l = 0; l < n->n_layers; l++) {
    for (int t = 0; t < N_TYPES; t++)
      ck_assert_int_eq(mafat_layer_takes_weights(&n->layers[l], types[t]), takes[l][t]);
    ck_assert(!mafat_layer_takes_weights(&n->layers[l], MAFAT_U8) &&
              !mafat_layer_takes_weights(&n->layers[l], MAFAT_I32));
  }
  mafat_network_close(&n);
}
END_TEST

/* ---- files ---- */

static char wide_path[64];

static void make_files(void)
{
  test_make_weight_files();
  strcpy(wide_path, "/tmp/mafat-test-XXXXXX");
  close(mkstemp(wide_path));
}

static void remove_files(void)
{
  test_remove_weight_files();
  unlink(wide_path);
}

/* Gives each layer a random type of weights that it can have. */
static void choose_types(struct test_rng *rng, struct mafat_network *n)
{
  for (int l = 0; l < n->n_layers; l++)
    do n->layers[l].weights_type = types[test_random_int(rng, 0, N_TYPES - 1)];
    while (!mafat_layer_takes_weights(&n->layers[l], n->layers[l].weights_type));
}

static void write_packed(const struct mafat_network *n, uint64_t seed)
{
  struct mafat_diagnostic d;
  char chunk[4096];
  int from = test_weights_file(n, seed), fd = open(test_darknet_path, O_WRONLY | O_TRUNC, 0600);
  ck_assert_int_eq(lseek(from, 0, SEEK_SET), 0);
  for (ssize_t got; (got = read(from, chunk, sizeof chunk)) > 0;)
    ck_assert_int_eq(write(fd, chunk, (size_t)got), got);
  close(from);
  close(fd);
  ck_assert_msg(test_pack(n, &d) == MAFAT_OK, "%s", d.text);
}

static void put_bytes(int fd, struct mafat_packed *p, int layer, size_t at, const void *bytes,
                      size_t n)
{
  p->entries[layer].checksum += mafat_packed_checksum(bytes, at, n);
  ck_assert_int_eq(pwrite(fd, bytes, n, (off_t)(p->entries[layer].offset + at)), (ssize_t)n);
}

/* Writes a layer's weights as floats; narrow ones are widened. */
static void put_layer(int fd, struct mafat_packed *p, int layer, const struct mafat_layer *narrow,
                      const struct mafat_layer *wide, const struct mafat_weights *w)
{
  struct mafat_weights_slice s;
  struct mafat_matrix m = mafat_layer_matrix(narrow);
  if (!mafat_layer_has_panels(narrow)) {
    ck_assert_int_eq(mafat_weights_slice(w, layer, mafat_span(0, narrow->out.c),
                                         mafat_span(0, narrow->in.c), &s),
                     MAFAT_OK);
    put_bytes(fd, p, layer, 0, s.scale ? s.scale : s.bias, mafat_packed_layer_bytes(wide));
    return;
  }
  for (int f = 0, end; f < narrow->out.c; f = end) {
    end = mafat_panel_end(narrow, f);
    ck_assert_int_eq(mafat_weights_slice(w, layer, mafat_span(f, end), mafat_span(0, m.inputs), &s),
                     MAFAT_OK);
    size_t bytes = mafat_packed_offset(wide, end) - mafat_packed_offset(wide, f);
    float *panel = malloc(bytes);
    if (s.narrow) widen_panel(narrow, s.width, s.narrow, panel);
    else memcpy(panel, s.weights, bytes);
    put_bytes(fd, p, layer, mafat_packed_offset(wide, f), panel, bytes);
    free(panel);
  }
}

/* Writes the float file with the widened weights of the narrow file. */
static void write_wide(const struct mafat_network *narrow, const struct mafat_network *wide)
{
  struct mafat_weights *w = test_open_kept(test_packed_path, narrow, narrow->n_layers);
  uint64_t *bytes = calloc((size_t)wide->n_layers, sizeof *bytes);
  struct mafat_packed *p;
  char *beginning;
  int fd = open(wide_path, O_RDWR | O_TRUNC, 0600);
  for (int l = 0; l < wide->n_layers; l++) bytes[l] = mafat_packed_layer_bytes(&wide->layers[l]);
  ck_assert_int_eq(mafat_packed_make(&p, wide, NULL, bytes), MAFAT_OK);
  for (int l = 0; l < wide->n_layers; l++)
    if (bytes[l]) put_layer(fd, p, l, &narrow->layers[l], &wide->layers[l], w);
  ck_assert_int_eq(mafat_packed_seal(p, wide, NULL, &beginning), MAFAT_OK);
  ck_assert_int_eq(pwrite(fd, beginning, (size_t)p->begin_bytes, 0), (ssize_t)p->begin_bytes);
  ck_assert_int_eq(ftruncate(fd, (off_t)p->file_bytes), 0);
  close(fd);
  free(beginning);
  free(bytes);
  mafat_packed_close(&p);
  mafat_weights_close(&w);
}

/* ---- runs ---- */

static float *run(const struct mafat_network *n, const struct mafat_plan *plan, const char *path,
                  const struct mafat_kernels *kernels, size_t *floats)
{
  struct mafat_layout *layout = test_layout(n, plan);
  struct mafat_executor_options options;
  struct mafat_weights *w;
  struct mafat_executor *e;
  struct mafat_diagnostic d;
  int code = mafat_weights_open(&w, path, n, plan, layout, NULL, NULL, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  mafat_executor_defaults(&options);
  options.kernels = kernels;
  code = mafat_executor_open(&e, n, plan, layout, w, &options, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  size_t inputs = (size_t)mafat_shape_elements(mafat_network_picture_shape(n));
  float *input = malloc(inputs * sizeof *input);
  struct test_rng rng = test_rng(99);
  for (size_t i = 0; i < inputs; i++) input[i] = (float)(test_random(&rng) >> 8) / 16777216.0f;
  mafat_executor_set_input(e, input);
  for (int i = 0; i < 2; i++) {
    memset((void *)(uintptr_t)mafat_executor_arena(e), 0xff, layout->total_bytes);
    code = mafat_executor_run(e, &d);
    ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  }
  *floats = (size_t)mafat_shape_elements(n->layers[n->n_layers - 1].out);
  float *out = malloc(*floats * sizeof *out);
  mafat_executor_read_output(e, n->n_layers - 1, out);
  free(input);
  mafat_executor_close(&e);
  mafat_weights_close(&w);
  mafat_layout_close(&layout);
  return out;
}

static void check_plans(const char *cfg, struct test_rng *rng, const struct mafat_kernels *kernels)
{
  char text[TEST_PLAN_ROOM];
  struct mafat_network *narrow = test_network(cfg), *wide = test_network(cfg);
  struct mafat_plan_options options = test_plain_options();
  size_t floats;
  choose_types(rng, narrow);
  write_packed(narrow, test_random(rng));
  write_wide(narrow, wide);
  options.packed = true;
  options.algorithm =
      (enum mafat_algorithm)test_random_int(rng, MAFAT_AUTO, MAFAT_N_ALGORITHMS - 1);
  enum mafat_algorithm algorithm = options.algorithm;
  struct mafat_plan *plan = test_plan_with(wide, "1x1/NoCut", &options);
  float *reference = run(wide, plan, wide_path, kernels, &floats);
  mafat_plan_close(&plan);
  for (int i = 0; i < 8; i++) {
    test_random_plan(rng, narrow, narrow->n_layers, text, sizeof text);
    options = test_random_packed_options(rng, algorithm);
    if (i > 5 && !test_random_split(rng, narrow, &options, text, sizeof text)) break;
    plan = test_plan_with(narrow, text, &options);
    float *out = run(narrow, plan, test_packed_path, kernels, &floats);
    for (size_t f = 0; f < floats; f++)
      if (memcmp(&out[f], &reference[f], sizeof *out) != 0)
        test_fail_case(cfg, text, "%s, %s, %d threads: output %zu of %zu is %.9g, with floats %.9g",
                       kernels->name, mafat_algorithm_name(algorithm), options.n_threads, f, floats,
                       (double)out[f], (double)reference[f]);
    free(out);
    mafat_plan_close(&plan);
  }
  free(reference);
  mafat_network_close(&narrow);
  mafat_network_close(&wide);
}

START_TEST(test_any_plan_gives_the_bits_of_widened_weights)
{
  char cfg[TEST_CFG_ROOM];
  struct test_rng rng = test_rng(500 + (uint64_t)_i);
  struct test_network_style style = test_small_style();
  style.heads = false;
  test_random_network(&rng, &style, cfg, sizeof cfg);
  check_plans(cfg, &rng, test_level(_i));
}
END_TEST

/* Wide layers also give the same bits as their widened weights: they have several slices of a
 * panel, panel fusions, and connected layers of several groups of rows. */
START_TEST(test_wide_layers_give_the_bits_of_widened_weights)
{
  struct test_rng rng = test_rng(700 + (uint64_t)_i);
  check_plans(test_wide_cfg, &rng, test_level(_i));
}
END_TEST

/* ---- reading them ---- */

START_TEST(test_slices_are_those_of_kept_weights)
{
  struct test_rng rng = test_rng(900 + (uint64_t)_i);
  struct mafat_network *n = test_network(test_wide_cfg);
  choose_types(&rng, n);
  write_packed(n, 7);
  struct mafat_weights *kept = test_open_kept(test_packed_path, n, n->n_layers);
  for (int text = 0; text < TEST_N_PLACEMENTS; text++) {
    struct mafat_plan *plan = test_placement_plan(n, text, 1 + _i % 3, true);
    if (plan) test_compare_run(n, plan, test_packed_path, MAFAT_READS_AUTO, kept);
    mafat_plan_close(&plan);
  }
  mafat_weights_close(&kept);
  mafat_network_close(&n);
}
END_TEST

START_TEST(test_a_network_takes_the_types_of_its_file)
{
  struct test_rng rng = test_rng(950 + (uint64_t)_i);
  struct mafat_network *n = test_network(test_wide_cfg), *other = test_network(test_wide_cfg);
  struct mafat_diagnostic d;
  choose_types(&rng, n);
  write_packed(n, 7);
  ck_assert_msg(test_packed_types(other, test_packed_path, &d) == MAFAT_OK, "%s", d.text);
  for (int l = 0; l < n->n_layers; l++)
    if (mafat_layer_has_panels(&n->layers[l]))
      ck_assert_int_eq(n->layers[l].weights_type, other->layers[l].weights_type);
  mafat_network_close(&n);
  mafat_network_close(&other);
}
END_TEST

/* Expects that opening the file for this network fails with a message that contains `what`. */
static void check_refused(const struct mafat_network *n, const char *what)
{
  struct mafat_weights *w = NULL;
  struct mafat_diagnostic d = {""};
  ck_assert_int_eq(mafat_weights_open_kept(&w, test_packed_path, n, n->n_layers, NULL, &d),
                   MAFAT_EFORMAT);
  ck_assert_msg(strstr(d.text, what), "%s", d.text);
}

START_TEST(test_other_types_are_refused)
{
  struct mafat_network *n = test_network(test_wide_cfg), *other = test_network(test_wide_cfg);
  struct mafat_diagnostic d = {""};
  n->layers[0].weights_type = MAFAT_I8;
  n->layers[4].weights_type = MAFAT_F16; /* depthwise */
  write_packed(n, 7);
  check_refused(other, "layer 0 [convolutional] has weights of type int8, expected float32");
  struct mafat_packed *p = test_describe(test_packed_path);
  for (int l = 0; l < n->n_layers; l++) ck_assert_int_eq(p->types[l], n->layers[l].weights_type);
  p->types[4] = MAFAT_I4;
  ck_assert_int_eq(mafat_packed_give_types(p, other, "x", &d), MAFAT_EFORMAT);
  ck_assert_msg(strstr(d.text, "layer 4 [convolutional] cannot have weights of type int4"), "%s",
                d.text);
  mafat_packed_close(&p);
  mafat_network_close(&n);
  mafat_network_close(&other);
}
END_TEST

/* Narrowing needs a panel as floats. On 32-bit machines the floats may exceed the address space
 * although the narrow panel and the file do not; this is refused. */
START_TEST(test_floats_that_no_address_reaches_are_refused)
{
  static const char cfg[] =
      "[net]\nwidth=8192\nheight=1366\nchannels=3\n[connected]\noutput=1\n"; /* over 2^25 inputs */
  if (SIZE_MAX > UINT32_MAX) return; /* 64-bit machines can address them all */
  struct mafat_network *n = test_network(cfg);
  struct mafat_diagnostic d = {""};
  struct mafat_packer *p = NULL;
  const int32_t header[5] = {0, 2, 0, 0, 0};
  const off_t bytes = (off_t)(sizeof header + mafat_weights_payload_bytes(n));
  n->layers[0].weights_type = types[_i];
  int weights = open(test_darknet_path, O_WRONLY | O_TRUNC, 0600),
      out = open(test_packed_path, O_RDWR | O_TRUNC, 0600);
  ck_assert(write(weights, header, sizeof header) == sizeof header &&
            ftruncate(weights, bytes) == 0);
  struct mafat_model_source *source;
  ck_assert_int_eq(mafat_model_source_open(&source, test_darknet_path, NULL), MAFAT_OK);
  int code = mafat_packer_open(&p, source, n, NULL, out, test_packed_path, NULL, &d);
  ck_assert_int_eq(code, MAFAT_ELIMIT);
  ck_assert_ptr_nonnull(strstr(d.text, "has more weights than can be addressed"));
  mafat_packer_close(&p);
  mafat_model_source_close(&source);
  close(weights);
  close(out);
  mafat_network_close(&n);
}
END_TEST

START_TEST(test_damaged_weights_are_seen)
{
  static const enum mafat_dtype narrow[] = {MAFAT_F16, MAFAT_I8, MAFAT_I4};
  struct mafat_network *n = test_network(test_wide_cfg);
  for (int l = 0; l < n->n_layers; l++)
    if (mafat_layer_takes_weights(&n->layers[l], narrow[_i]))
      n->layers[l].weights_type = narrow[_i];
  write_packed(n, 7);
  struct mafat_packed *p = test_describe(test_packed_path);
  uint64_t at = p->entries[1].offset + p->entries[1].bytes / 2;
  struct mafat_weights *kept = test_open_kept(test_packed_path, n, n->n_layers);
  mafat_weights_close(&kept);
  test_overwrite(test_packed_path, (long)at, "\x5a\xa5\x11", 3);
  check_refused(n, "layer 1 [convolutional] is damaged");
  mafat_packed_close(&p);
  mafat_network_close(&n);
}
END_TEST

Suite *narrow_suite(void)
{
  Suite *s = suite_create("narrow");
  TCase *t = tcase_create("panels"), *files = tcase_create("files");
  tcase_add_test(t, test_every_half_is_itself);
  tcase_add_test(t, test_floats_become_the_nearest_half);
  tcase_add_loop_test(t, test_panels_lose_no_more_than_their_type_says, 0, test_seeds(40));
  tcase_add_test(t, test_layers_without_panels_stay_wide);
  suite_add_tcase(s, t);
  tcase_set_timeout(files, 60);
  tcase_add_checked_fixture(files, make_files, remove_files);
  tcase_add_loop_test(files, test_any_plan_gives_the_bits_of_widened_weights, 0, test_seeds(150));
  tcase_add_loop_test(files, test_wide_layers_give_the_bits_of_widened_weights, 0, test_seeds(40));
  tcase_add_loop_test(files, test_slices_are_those_of_kept_weights, 0, test_seeds(12));
  tcase_add_loop_test(files, test_a_network_takes_the_types_of_its_file, 0, 4);
  tcase_add_test(files, test_other_types_are_refused);
  tcase_add_loop_test(files, test_floats_that_no_address_reaches_are_refused, 1, N_TYPES);
  tcase_add_loop_test(files, test_damaged_weights_are_seen, 0, 3);
  suite_add_tcase(s, files);
  return s;
}
