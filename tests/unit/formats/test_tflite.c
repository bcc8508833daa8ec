/* Covers formats/tflite/{tflite, model, flat, reader, tensors, values, operators, flex,
 * metadata}.c: reading of .tflite files; invalid and damaged files are refused and do no harm.
 * Reads public models from the folder $MAFAT_MODELS. */
#include "formats/tflite/tflite.h"
#include "formats/tflite/values.h"
#include "tests/support/failing_malloc.h"
#include "tests/support/random.h"
#include "tests/support/tflite_models.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

Suite *tflite_suite(void);

static struct mafat_diagnostic diagnostic;
static struct test_tflite_model whole;

/* ---- reading ---- */

/* A file in memory, and the model read from it. */
struct held {
  struct mafat_model_file *file;
  struct mafat_tflite *model;
  int code;
};

static struct held read_bytes(const char *data, size_t n)
{
  struct held h = {0};
  char path[64];
  int fd = memfd_create("tflite", MFD_CLOEXEC);
  ck_assert_int_eq(write(fd, data, n), (ssize_t)n);
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  diagnostic.text[0] = 0;
  ck_assert_int_eq(mafat_model_file_open(&h.file, path, &diagnostic), MAFAT_OK);
  close(fd);
  h.code = mafat_tflite_read(&h.model, h.file, &diagnostic);
  ck_assert((h.code == MAFAT_OK) == (h.model != NULL) &&
            (h.code == MAFAT_OK || diagnostic.text[0]));
  return h;
}

static struct held read_model(const struct test_tflite_model *m)
{
  size_t n;
  char *data = test_tflite_write(m, &n);
  struct held h = read_bytes(data, n);
  free(data);
  return h;
}

static void release(struct held *h)
{
  mafat_tflite_close(&h->model);
  mafat_model_file_close(&h->file);
}

static struct held read_whole(void)
{
  whole = test_tflite_whole();
  struct held h = read_model(&whole);
  ck_assert_msg(h.code == MAFAT_OK, "%s", diagnostic.text);
  return h;
}

START_TEST(tensors_are_read)
{
  struct held h = read_whole();
  const struct mafat_tflite_tensor *t = h.model->tensors;
  float found;
  ck_assert_int_eq(h.model->n_tensors, WHOLE_TENSORS);
  for (int i = 0; i < WHOLE_TENSORS; i++) {
    ck_assert_str_eq(t[i].name, whole.tensors[i].name);
    ck_assert(t[i].rank == whole.tensors[i].rank &&
              memcmp(t[i].shape, whole.tensors[i].shape, sizeof t[i].shape) == 0);
    ck_assert(t[i].type == (enum mafat_tflite_type)whole.tensors[i].type &&
              t[i].bytes == whole.tensors[i].bytes);
    ck_assert(t[i].constant == (whole.tensors[i].data != NULL || i == WHOLE_EMPTY) &&
              t[i].variable == (i == WHOLE_STATE));
    ck_assert_uint_eq(t[i].unknown, i == WHOLE_INPUT ? 5 : 0);
    ck_assert(t[i].quantization.n_scales == whole.tensors[i].n_scales &&
              t[i].quantization.n_zero_points == (i == WHOLE_WEIGHTS));
  }
  const float *weights = whole.tensors[WHOLE_WEIGHTS].data;
  for (size_t k = 0; k < whole.tensors[WHOLE_WEIGHTS].bytes / sizeof *weights; k++) {
    ck_assert_int_eq(mafat_model_file_read(h.file, t[WHOLE_WEIGHTS].at + k * sizeof found,
                                           sizeof found, &found, &diagnostic),
                     MAFAT_OK);
    ck_assert(found == weights[k]);
  }
  ck_assert_int_eq(mafat_model_file_read(h.file, t[WHOLE_WEIGHTS].quantization.scales_at,
                                         sizeof found, &found, &diagnostic),
                   MAFAT_OK);
  ck_assert(found == .5f);
  release(&h);
}
END_TEST

START_TEST(operators_are_read)
{
  struct held h = read_whole();
  const struct mafat_tflite_operator *o = h.model->operators;
  char label[MAFAT_TFLITE_LABEL_ROOM];
  ck_assert(h.model->n_operators == WHOLE_OPERATORS && h.model->n_inputs == 1 &&
            h.model->n_outputs == 2);
  ck_assert(h.model->inputs[0] == WHOLE_INPUT && h.model->outputs[0] == WHOLE_FLAT &&
            h.model->outputs[1] == WHOLE_BOXES);
  ck_assert_str_eq(o[WHOLE_CONVOLUTION].name, "CONV_2D");
  ck_assert_str_eq(mafat_tflite_label(h.model, &o[WHOLE_CONVOLUTION], label), "CONV_2D map");
  ck_assert_int_eq(o[WHOLE_CONVOLUTION].n_inputs, 3);
  ck_assert_mem_eq(o[WHOLE_CONVOLUTION].inputs, whole.operators[WHOLE_CONVOLUTION].inputs,
                   3 * sizeof(int32_t));
  struct mafat_tflite_window w = o[WHOLE_CONVOLUTION].options.window;
  ck_assert(w.padding == MAFAT_TFLITE_VALID && w.stride_w == 2 && w.stride_h == 3 &&
            w.fused == MAFAT_TFLITE_FUSED_RELU6);
  ck_assert(w.dilation_h == 1 && w.dilation_w == 1);
  ck_assert(o[WHOLE_RESHAPE].options.dims.n == 2 && o[WHOLE_RESHAPE].options.dims.list[0] == 1 &&
            o[WHOLE_RESHAPE].options.dims.list[1] == -1);
  ck_assert_int_eq(o[WHOLE_RESHAPE].inputs[2], -1);
  ck_assert_str_eq(o[WHOLE_DETECTION].name, "TFLite_Detection_PostProcess");
  ck_assert_int_eq(o[WHOLE_DETECTION].version, 1);
  release(&h);
}
END_TEST

static struct mafat_picture_declared picture_of(int n, const float means[4],
                                                const float deviations[4])
{
  whole = test_tflite_whole();
  whole.n_means = n;
  memcpy(whole.means, means, sizeof whole.means);
  memcpy(whole.deviations, deviations, sizeof whole.deviations);
  struct held h = read_model(&whole);
  ck_assert_msg(h.code == MAFAT_OK, "%s", diagnostic.text);
  struct mafat_picture_declared said = h.model->picture;
  release(&h);
  return said;
}

START_TEST(normalization_of_pictures_is_read)
{
  static const float means[] = {123.5f, 1, 2, 3}, deviations[] = {2, 4, 8, 16},
                     mean[] = {123.5f, 1, 2}, scale[] = {.5f, .25f, .125f};
  struct mafat_picture_declared said = picture_of(3, means, deviations);
  ck_assert(said.normalized && !said.swapped);
  ck_assert_mem_eq(said.mean, mean, sizeof mean);
  ck_assert_mem_eq(said.scale, scale, sizeof scale);
  said = picture_of(1, means, deviations);
  for (int c = 0; c < 3; c++)
    ck_assert(memcmp(&said.mean[c], mean, sizeof *mean) == 0 &&
              memcmp(&said.scale[c], scale, sizeof *scale) == 0);
  ck_assert(!picture_of(0, means, deviations).normalized);
  ck_assert(!picture_of(2, means, deviations).normalized);
  ck_assert(!picture_of(4, means, deviations).normalized);
  ck_assert(!picture_of(1, means, (const float[4]){0}).normalized);
  ck_assert(!picture_of(1, (const float[4]){NAN}, deviations).normalized);
  ck_assert(!picture_of(1, means, (const float[4]){INFINITY}).normalized);
  ck_assert(!picture_of(1, (const float[4]){3e38f}, (const float[4]){1e-38f}).normalized);
}
END_TEST

START_TEST(small_constants_are_read)
{
  struct held h = read_whole();
  int64_t i[3];
  float f[3];
  int n;
  ck_assert_int_eq(mafat_tflite_ints(h.model, h.file, WHOLE_SHAPE, 3, i, &n, &diagnostic),
                   MAFAT_OK);
  ck_assert(n == 2 && i[0] == 1 && i[1] == -1);
  ck_assert_int_eq(mafat_tflite_ints(h.model, h.file, WHOLE_WIDE, 3, i, &n, &diagnostic), MAFAT_OK);
  ck_assert(n == 2 && i[0] == INT64_MAX && i[1] == INT64_MIN);
  ck_assert_int_eq(mafat_tflite_ints(h.model, h.file, WHOLE_BYTES, 3, i, &n, &diagnostic),
                   MAFAT_OK);
  ck_assert(n == 3 && i[0] == -128 && i[1] == 0 && i[2] == 127);
  ck_assert_int_eq(mafat_tflite_floats(h.model, h.file, WHOLE_UNSIGNED, 3, f, &n, &diagnostic),
                   MAFAT_OK);
  ck_assert(n == 3 && f[0] == 128 && f[1] == 0 && f[2] == 127);
  ck_assert_int_eq(mafat_tflite_ints(h.model, h.file, WHOLE_FLAGS, 3, i, &n, &diagnostic),
                   MAFAT_OK);
  ck_assert(n == 2 && i[0] == 0 && i[1] == 1);
  ck_assert_int_eq(mafat_tflite_floats(h.model, h.file, WHOLE_BIASES, 3, f, &n, &diagnostic),
                   MAFAT_OK);
  ck_assert(n == 2 && f[0] == .25f && f[1] == -8);
  ck_assert_int_eq(mafat_tflite_ints(h.model, h.file, WHOLE_EMPTY, 3, i, &n, &diagnostic),
                   MAFAT_OK);
  ck_assert_int_eq(n, 0);
  ck_assert_int_eq(mafat_tflite_ints(h.model, h.file, WHOLE_BIASES, 3, i, &n, &diagnostic),
                   MAFAT_EUNSUPPORTED);
  ck_assert_int_eq(mafat_tflite_ints(h.model, h.file, WHOLE_BYTES, 2, i, &n, &diagnostic),
                   MAFAT_EUNSUPPORTED);
  ck_assert_int_eq(mafat_tflite_floats(h.model, h.file, WHOLE_MAP, 3, f, &n, &diagnostic),
                   MAFAT_EUNSUPPORTED);
  ck_assert_ptr_nonnull(strstr(diagnostic.text, "tensor map: expected a constant"));
  release(&h);
}
END_TEST

START_TEST(options_of_detection_are_read)
{
  struct held h = read_whole();
  struct mafat_tflite_detection found;
  int code = mafat_tflite_detection_read(&found, h.model, h.file,
                                         &h.model->operators[WHOLE_DETECTION], &diagnostic);
  ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
  ck_assert(found.max_detections == 10 && found.max_classes_per_detection == 1 &&
            found.detections_per_class == 100 && found.num_classes == 90);
  ck_assert(found.use_regular_nms && found.nms_iou_threshold == .6f &&
            found.nms_score_threshold == 1e-8f);
  ck_assert(found.y_scale == 10.5f && found.x_scale == 10 && found.h_scale == 5 &&
            found.w_scale == 5);
  release(&h);
}
END_TEST

/* Options with any byte changed, or cut anywhere, are read or refused without harm. */
START_TEST(damaged_options_of_detection_do_no_harm)
{
  struct held h = read_whole();
  struct mafat_tflite_operator o = h.model->operators[WHOLE_DETECTION];
  struct mafat_tflite_detection found;
  int n_refused = 0, n_bytes = (int)o.custom_bytes;
  struct test_rng rng = test_rng(1);
  release(&h);
  for (int i = 0; i < 4000; i++) {
    struct test_tflite_operator altered[WHOLE_OPERATORS];
    char options[512];
    whole = test_tflite_whole();
    memcpy(altered, whole.operators, sizeof altered);
    memcpy(options, altered[WHOLE_DETECTION].custom_options, (size_t)n_bytes);
    if (i < n_bytes) altered[WHOLE_DETECTION].custom_bytes = (size_t)i;
    else
      options[test_random_int(&rng, i % 2 ? 0 : n_bytes - 80, n_bytes - 1)] ^=
          (char)test_random(&rng);
    altered[WHOLE_DETECTION].custom_options = options;
    whole.operators = altered;
    h = read_model(&whole);
    ck_assert_int_eq(h.code, MAFAT_OK);
    diagnostic.text[0] = 0;
    int code = mafat_tflite_detection_read(&found, h.model, h.file,
                                           &h.model->operators[WHOLE_DETECTION], &diagnostic);
    ck_assert(code == MAFAT_OK || (code == MAFAT_EFORMAT && diagnostic.text[0]));
    n_refused += code != MAFAT_OK;
    release(&h);
  }
  ck_assert_int_gt(n_refused, n_bytes);
}
END_TEST

/* ---- what is refused ---- */

static struct test_tflite_tensor changed_tensors[WHOLE_TENSORS];
static struct test_tflite_operator changed_operators[WHOLE_OPERATORS];
static struct test_tflite_model changed;

static void another_version(void)
{
  changed.version = 2;
}

static void two_subgraphs(void)
{
  changed.n_subgraphs = 2;
}

static void a_loop(void)
{
  changed.n_subgraphs = 2;
  changed_operators[WHOLE_RESHAPE].code = MAFAT_TFLITE_WHILE;
}

static void a_sparse_tensor(void)
{
  changed_tensors[WHOLE_WEIGHTS].sparse = 1;
}

static void an_unknown_type(void)
{
  changed_tensors[WHOLE_WEIGHTS].type = 77;
}

static void a_negative_dimension(void)
{
  changed_tensors[WHOLE_MAP].shape[2] = -2;
}

static void too_many_elements(void)
{
  for (int i = 0; i < 4; i++) changed_tensors[WHOLE_MAP].shape[i] = INT32_MAX;
}

static void too_many_beside_none(void)
{
  changed_tensors[WHOLE_EMPTY].rank = 4;
  for (int i = 1; i < 4; i++) changed_tensors[WHOLE_EMPTY].shape[i] = INT32_MAX;
}

static void short_weights(void)
{
  changed_tensors[WHOLE_WEIGHTS].bytes = 68;
}

static void no_such_tensor(void)
{
  changed_operators[WHOLE_CONVOLUTION].inputs[1] = WHOLE_TENSORS;
}

static void no_such_output(void)
{
  changed_operators[WHOLE_CONVOLUTION].outputs[0] = -1;
}

static void read_too_early(void)
{
  changed_operators[WHOLE_CONVOLUTION].inputs[0] = WHOLE_FLAT;
}

static void made_twice(void)
{
  changed_operators[WHOLE_RESHAPE].outputs[0] = WHOLE_MAP;
}

static void a_constant_made(void)
{
  changed_operators[WHOLE_RESHAPE].outputs[0] = WHOLE_BIASES;
}

static void an_output_that_nothing_makes(void)
{
  changed.operators = NULL;
  changed.n_operators = 0;
}

static void no_outputs(void)
{
  changed.n_outputs = 0;
}

static void others_options(void)
{
  changed_operators[WHOLE_CONVOLUTION].options = 5;
}

static void no_stride(void)
{
  changed_operators[WHOLE_CONVOLUTION].fields[2].value = 0;
}

static void an_unknown_padding(void)
{
  changed_operators[WHOLE_CONVOLUTION].fields[0].value = 2;
}

static const struct {
  void (*change)(void);
  int code;
  const char *text;
} refusals[] = {
    {another_version, MAFAT_EUNSUPPORTED, "expected version 3 of the TFLite schema, found 2"},
    {two_subgraphs, MAFAT_EUNSUPPORTED, "expected one subgraph, found 2"},
    {a_loop, MAFAT_EUNSUPPORTED, "WHILE flat: control flow is not supported"},
    {a_sparse_tensor, MAFAT_EUNSUPPORTED, "tensor weights: is sparse"},
    {an_unknown_type, MAFAT_EUNSUPPORTED, "tensor weights: type 77 is not known"},
    {a_negative_dimension, MAFAT_EFORMAT, "tensor map: dimension 2 is -2"},
    {too_many_elements, MAFAT_EFORMAT, "tensor map: dimension"},
    {too_many_beside_none, MAFAT_EFORMAT, "tensor empty: dimension"},
    {short_weights, MAFAT_EFORMAT,
     "tensor weights: expected 72 bytes by its shape and type FLOAT32, found 68"},
    {no_such_tensor, MAFAT_EFORMAT, "CONV_2D map: expected a tensor below 13, found 13"},
    {no_such_output, MAFAT_EFORMAT, "CONV_2D : expected a tensor below 13, found -1"},
    {read_too_early, MAFAT_EFORMAT, "CONV_2D map: reads tensor 5, flat, which nothing has made"},
    {made_twice, MAFAT_EFORMAT, "RESHAPE map: makes tensor 3, map, which is there already"},
    {a_constant_made, MAFAT_EFORMAT,
     "RESHAPE biases: makes tensor 2, biases, which is there already"},
    {an_output_that_nothing_makes, MAFAT_EFORMAT,
     "the network's outputs: reads tensor 5, flat, which nothing has made"},
    {no_outputs, MAFAT_EFORMAT, "expected an output, found none"},
    {others_options, MAFAT_EFORMAT, "CONV_2D map: expected options of kind 1, found 5"},
    {no_stride, MAFAT_EFORMAT, "CONV_2D map: stride_h: expected 1 to 1048576, found 0"},
    {an_unknown_padding, MAFAT_EFORMAT, "CONV_2D map: padding: expected 0 to 1, found 2"}};

START_TEST(invalid_models_are_refused)
{
  whole = test_tflite_whole();
  memcpy(changed_tensors, whole.tensors, sizeof changed_tensors);
  memcpy(changed_operators, whole.operators, sizeof changed_operators);
  changed = whole;
  changed.tensors = changed_tensors;
  changed.operators = changed_operators;
  refusals[_i].change();
  struct held h = read_model(&changed);
  ck_assert_msg(h.code == refusals[_i].code && strstr(diagnostic.text, refusals[_i].text), "%d: %s",
                h.code, diagnostic.text);
  release(&h);
}
END_TEST

START_TEST(invalid_files_are_refused)
{
  struct held h = read_bytes("", 0);
  ck_assert_int_eq(h.code, MAFAT_EFORMAT);
  release(&h);
  h = read_bytes("\x20\0\0\0TFL2abcdefghijklmnopqrstuvwxyz", 34);
  ck_assert_int_eq(h.code, MAFAT_EFORMAT);
  ck_assert_ptr_nonnull(strstr(diagnostic.text, "expected a TFLite model"));
  release(&h);
  ck_assert(mafat_tflite_begins("\x20\0\0\0TFL3") && !mafat_tflite_begins("TFL3\0\0\0"));
}
END_TEST

/* ---- damage ---- */

/* Checks that all that was read of a damaged file is inside the file and consistent. */
static void check_sound(const struct held *h)
{
  const struct mafat_tflite *m = h->model;
  struct mafat_tflite_detection found;
  for (int i = 0; i < m->n_tensors; i++)
    ck_assert_uint_le(m->tensors[i].at + m->tensors[i].bytes, h->file->bytes);
  for (int i = 0; i < m->n_operators; i++) {
    const struct mafat_tflite_operator *o = &m->operators[i];
    for (int k = 0; k < o->n_inputs; k++)
      ck_assert(o->inputs[k] >= -1 && o->inputs[k] < m->n_tensors);
    for (int k = 0; k < o->n_outputs; k++)
      ck_assert(o->outputs[k] >= 0 && o->outputs[k] < m->n_tensors);
    mafat_tflite_detection_read(&found, m, h->file, o, &diagnostic);
  }
}

START_TEST(files_cut_anywhere_do_no_harm)
{
  size_t n;
  whole = test_tflite_whole();
  char *data = test_tflite_write(&whole, &n);
  for (size_t i = 0; i < n; i++) {
    struct held h = read_bytes(data, i);
    ck_assert(h.code == MAFAT_EFORMAT || n - i < 16); /* the last bytes may be padding */
    release(&h);
  }
  free(data);
}
END_TEST

/* Files with changed bits, offsets or bytes are read or refused without harm. */
START_TEST(damaged_files_do_no_harm)
{
  static const uint32_t lies[] = {0,          1,          2,          4,       0x7fffffff,
                                  0x80000000, 0xffffffff, 0xfffffffc, 0x10000, 0x1000};
  size_t n;
  whole = test_tflite_whole();
  char *data = test_tflite_write(&whole, &n), *copy = malloc(n);
  struct test_rng rng = test_rng((uint64_t)_i);
  for (size_t i = 0; i + 4 <= n; i++) {
    memcpy(copy, data, n);
    if (_i == 0) copy[i] ^= (char)(1 << (i % 8));
    else if (_i == 1) memcpy(copy + i / 4 * 4, &lies[i % 10], sizeof *lies);
    else
      for (int k = test_random_int(&rng, 1, 8); k > 0; k--)
        copy[test_random(&rng) % n] = (char)test_random(&rng);
    struct held h = read_bytes(copy, n);
    if (h.model) check_sound(&h);
    release(&h);
  }
  free(copy);
  free(data);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
  whole = test_tflite_whole();
  int fd = test_tflite_file(&whole);
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  for (long fail_at = 0;; fail_at++) {
    struct mafat_model_file *file;
    struct mafat_tflite *m;
    long unfreed;
    ck_assert_int_eq(mafat_model_file_open(&file, path, &diagnostic), MAFAT_OK);
    failing_malloc_arm(fail_at);
    int code = mafat_tflite_read(&m, file, &diagnostic);
    mafat_tflite_close(&m);
    long asked = failing_malloc_disarm(&unfreed);
    mafat_model_file_close(&file);
    ck_assert_int_eq(unfreed, 0);
    ck_assert_int_eq(code, asked > fail_at ? MAFAT_ENOMEM : MAFAT_OK);
    if (asked <= fail_at) break;
  }
  close(fd);
}
END_TEST

START_TEST(a_pipe_is_read)
{
  size_t n;
  int ends[2];
  char path[64];
  struct mafat_model_file *file;
  struct mafat_tflite *m;
  whole = test_tflite_whole();
  char *data = test_tflite_write(&whole, &n);
  ck_assert_int_eq(pipe(ends), 0);
  ck_assert_int_eq(write(ends[1], data, n), (ssize_t)n);
  close(ends[1]);
  snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
  ck_assert_int_eq(mafat_model_file_open(&file, path, &diagnostic), MAFAT_OK);
  ck_assert_int_eq(mafat_tflite_read(&m, file, &diagnostic), MAFAT_OK);
  ck_assert_int_eq(m->n_operators, WHOLE_OPERATORS);
  mafat_tflite_close(&m);
  mafat_model_file_close(&file);
  close(ends[0]);
  free(data);
}
END_TEST

/* ---- options of all operators ---- */

static const struct {
  int code, options, n;
  struct test_tflite_field fields[TEST_TFLITE_FIELDS];
  size_t place;
  int expected; /* the integer at `place`, or the bits of the float */
} choices[] = {
#define AT(member) offsetof(union mafat_tflite_options, member)
#define F1(number, value) {number, 1, value, 0, 0, {0}}
#define F4(number, value) {number, 4, value, 0, 0, {0}}
#define FR(number, real) {number, 4, 0, real, 0, {0}}
    {MAFAT_TFLITE_DEPTHWISE_CONV_2D, 2, 4, {F1(0, 1), F4(1, 1), F4(2, 2), F4(5, 9)},
     AT(window.dilation_w), 9},
    {MAFAT_TFLITE_TRANSPOSE_CONV, 49, 2, {F4(1, 4), F4(2, 5)}, AT(window.stride_h), 5},
    {MAFAT_TFLITE_MAX_POOL_2D, 5, 4, {F4(1, 1), F4(2, 1), F4(3, 7), F4(4, 8)}, AT(window.filter_h),
     8},
    {MAFAT_TFLITE_FULLY_CONNECTED, 8, 2, {F1(0, 1), F1(2, 1)}, AT(dense.keep_num_dims), 1},
    {MAFAT_TFLITE_SOFTMAX, 9, 1, {FR(0, 1.f)}, AT(beta), 0x3f800000},
    {MAFAT_TFLITE_CONCATENATION, 10, 1, {F4(0, -1)}, AT(axis.axis), -1},
    {MAFAT_TFLITE_SUB, 28, 1, {F1(0, 3)}, AT(fused), 3},
    {MAFAT_TFLITE_RESIZE_BILINEAR, 15, 1, {F1(3, 1)}, AT(resize.half_pixel_centers), 1},
    {MAFAT_TFLITE_RESIZE_NEAREST_NEIGHBOR, 74, 1, {F1(0, 1)}, AT(resize.align_corners), 1},
    {MAFAT_TFLITE_SQUEEZE, 30, 1, {{0, 0, 0, 0, 2, {1, 2}}}, AT(dims.list[1]), 2},
    {MAFAT_TFLITE_SQUEEZE, 30, 0, {{0}}, AT(dims.n), -1},
    {MAFAT_TFLITE_DEPTH_TO_SPACE, 94, 1, {F4(0, 2)}, AT(block_size), 2},
    {MAFAT_TFLITE_MEAN, 27, 1, {F1(0, 1)}, AT(keep_dims), 1},
    {MAFAT_TFLITE_STRIDED_SLICE, 32, 1, {F4(4, 3)}, AT(strided.shrink_axis_mask), 3},
    {MAFAT_TFLITE_CAST, 37, 1, {F1(1, 2)}, AT(types.out), 2},
    {MAFAT_TFLITE_LEAKY_RELU, 75, 1, {FR(0, .25f)}, AT(alpha), 0x3e800000},
    {MAFAT_TFLITE_MIRROR_PAD, 77, 1, {F1(0, 1)}, AT(symmetric), 1},
    {MAFAT_TFLITE_UNPACK, 64, 2, {F4(0, 4), F4(1, -2)}, AT(axis.axis), -2},
    {MAFAT_TFLITE_BATCH_MATMUL, 101, 1, {F1(1, 1)}, AT(matmul.adj_y), 1},
    {MAFAT_TFLITE_GELU, 116, 1, {F1(0, 1)}, AT(approximate), 1}};

START_TEST(options_are_read)
{
  struct test_tflite_model m = test_tflite_whole();
  struct test_tflite_operator o = m.operators[WHOLE_CONVOLUTION];
  m.operators = &o;
  m.n_operators = m.n_outputs = 1;
  m.outputs[0] = WHOLE_MAP;
  o.code = choices[_i].code;
  o.options = choices[_i].options;
  o.n_fields = choices[_i].n;
  memcpy(o.fields, choices[_i].fields, sizeof o.fields);
  struct held h = read_model(&m);
  ck_assert_msg(h.code == MAFAT_OK, "%s", diagnostic.text);
  ck_assert_int_eq(h.model->operators[0].code, choices[_i].code);
  int found;
  memcpy(&found, (const char *)&h.model->operators[0].options + choices[_i].place, sizeof found);
  ck_assert_int_eq(found, choices[_i].expected);
  release(&h);
}
END_TEST

/* ---- public models ---- */

static const struct {
  const char *name;
  int tensors, operators;
} models[] = {{"ad01_fp32", 31, 10},
              {"hello_world_int8", 10, 3},
              {"mobilenet_v1_0.25_128_float", 88, 31},
              {"ssd_mobilenet_v1_quant", 176, 64},
              {"vww_96_float", 89, 31},
              {"yolox_nano_dynamic_range", 859, 615}};

START_TEST(public_models_are_read)
{
  struct mafat_model_file *file;
  struct mafat_tflite *m;
  const char *folder = getenv("MAFAT_MODELS");
  char path[1024];
  snprintf(path, sizeof path, "%s/tflite/%s.tflite", folder ? folder : "", models[_i].name);
  if (!folder || access(path, R_OK) != 0) {
    printf("test_tflite: skipped %s: MAFAT_MODELS names no folder that has it\n", models[_i].name);
    return;
  }
  ck_assert_int_eq(mafat_model_file_open(&file, path, &diagnostic), MAFAT_OK);
  ck_assert_msg(mafat_tflite_read(&m, file, &diagnostic) == MAFAT_OK, "%s", diagnostic.text);
  ck_assert(m->n_tensors == models[_i].tensors && m->n_operators == models[_i].operators);
  mafat_tflite_close(&m);
  mafat_model_file_close(&file);
}
END_TEST

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

Suite *tflite_suite(void)
{
  Suite *suite = suite_create("tflite");
  TCase *reading = tcase_create("reading");
  tcase_add_test(reading, tensors_are_read);
  tcase_add_test(reading, operators_are_read);
  tcase_add_test(reading, normalization_of_pictures_is_read);
  tcase_add_test(reading, small_constants_are_read);
  tcase_add_test(reading, options_of_detection_are_read);
  tcase_add_loop_test(reading, options_are_read, 0, COUNT(choices));
  tcase_add_test(reading, a_pipe_is_read);
  tcase_add_loop_test(reading, public_models_are_read, 0, COUNT(models));
  suite_add_tcase(suite, reading);
  TCase *refusing = tcase_create("refusing");
  tcase_set_timeout(refusing, 60);
  tcase_add_loop_test(refusing, invalid_models_are_refused, 0, COUNT(refusals));
  tcase_add_test(refusing, invalid_files_are_refused);
  tcase_add_test(refusing, files_cut_anywhere_do_no_harm);
  tcase_add_loop_test(refusing, damaged_files_do_no_harm, 0, 6);
  tcase_add_test(refusing, damaged_options_of_detection_do_no_harm);
  tcase_add_test(refusing, every_allocation_may_fail);
  suite_add_tcase(suite, refusing);
  return suite;
}
