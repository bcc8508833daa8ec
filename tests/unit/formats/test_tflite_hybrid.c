/* Covers formats/tflite/model.c, runner/weights/narrow.c: .tflite models that compute with floats
 * but store constants as int8 or float16 give the same outputs as models that store the same values
 * as floats. Writes models to temporary files in /tmp. */
#include "base/half.h"
#include "formats/tflite/import.h"
#include "formats/tflite/model.h"
#include "include/mafat_plan.h"
#include "runner/weights/narrow.h"
#include "tests/support/imported.h"
#include "tests/support/tflite_operators.h"
#include "tests/support/weight_files.h"

#include <check.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *tflite_hybrid_suite(void);

/* How a constant is stored: as int8 with one scale, as int8 with one scale for each filter, or as
 * float16. Its operator reads it directly, or through a DEQUANTIZE. */
enum how {
  INT8_OF_ALL, INT8_OF_FILTERS, INT8_DEQUANTIZED, INT8_OF_FILTERS_DEQUANTIZED, HALVES_DEQUANTIZED,
  N_WAYS
};

enum {
  MOST_TENSORS = 32, MOST_OPERATORS = 24, MOST_NUMBERS = 4096, MOST_SCALES = 64,
  MOST_OUTPUT = 4096
};

static struct mafat_diagnostic diagnostic;

/* ---- pairs of a model with narrow constants and one with the same values as floats ---- */

static struct test_tflite_tensor narrow_tensors[MOST_TENSORS], wide_tensors[MOST_TENSORS];
static struct test_tflite_operator narrow_operators[MOST_OPERATORS];
static struct test_tflite_model narrow, wide;
static union {
  int8_t bytes[2 * MOST_NUMBERS];
  uint16_t halves[MOST_NUMBERS];
} numbers;
static float floats[MOST_NUMBERS], scales[MOST_TENSORS][MOST_SCALES];
static const int64_t zeros[MOST_SCALES];
static int n_numbers;

static bool dequantizes(enum how how)
{
  return how >= INT8_DEQUANTIZED;
}

/* True if the tensor is the weights of an operator. *dimension: the dimension of the weights that
 * counts filters. */
static bool is_weights(const struct test_tflite_model *m, int tensor, int *dimension)
{
  for (int i = 0; i < m->n_operators; i++) {
    const struct test_tflite_operator *o = &m->operators[i];
    bool multiplies =
        o->code == MAFAT_TFLITE_CONV_2D || o->code == MAFAT_TFLITE_DEPTHWISE_CONV_2D ||
        o->code == MAFAT_TFLITE_TRANSPOSE_CONV || o->code == MAFAT_TFLITE_FULLY_CONNECTED;
    if (!multiplies || o->inputs[1] != tensor) continue;
    *dimension = o->code == MAFAT_TFLITE_DEPTHWISE_CONV_2D ? 3 : 0;
    return true;
  }
  return false;
}

/* Quantizes the constant t from n floats. mean: receives the floats that the int8 values stand for;
 * own_scales: receives its scales. */
static void make_bytes(struct test_tflite_tensor *t, const float *from, int n, float *mean,
                       float *own_scales)
{
  int run = 1;
  for (int k = t->dimension + 1; k < t->rank; k++) run *= t->shape[k];
  for (int s = 0; s < t->n_scales; s++) own_scales[s] = (float)(1 + s % 5) / 500;
  int8_t *to = numbers.bytes + 2 * n_numbers;
  for (int i = 0; i < n; i++) {
    float scale = own_scales[i / run % t->n_scales];
    to[i] = (int8_t)fmaxf(-128, fminf(127, rintf(from[i] / scale)));
    mean[i] = (float)to[i] * scale;
  }
  t->data = to;
  t->bytes = (size_t)n;
  t->type = MAFAT_TFLITE_INT8;
  t->scales = own_scales;
  t->zero_points = zeros;
  t->n_zero_points = t->n_scales;
}

static void make_halves(struct test_tflite_tensor *t, const float *from, int n, float *mean)
{
  uint16_t *to = numbers.halves + n_numbers;
  for (int i = 0; i < n; i++) {
    to[i] =
        i % 17 == 3 ? (uint16_t)(i * 31 % 1024) : mafat_narrow_half(from[i]); /* some subnormals */
    mean[i] = mafat_half_value(to[i]);
  }
  t->data = to;
  t->bytes = (size_t)n * sizeof *to;
  t->type = MAFAT_TFLITE_FLOAT16;
}

static void replace_inputs(struct test_tflite_operator *o, int tensor, int by)
{
  for (int i = 0; i < o->n_inputs; i++)
    if (o->inputs[i] == tensor) o->inputs[i] = by;
}

static void narrow_constant(int tensor, enum how how, int filters_dimension)
{
  struct test_tflite_tensor *t = &narrow_tensors[tensor];
  const float *from = t->data;
  int n = (int)(t->bytes / sizeof *from);
  bool filters =
      filters_dimension >= 0 && (how == INT8_OF_FILTERS || how == INT8_OF_FILTERS_DEQUANTIZED);
  t->dimension = filters ? filters_dimension : 0;
  t->n_scales = filters ? t->shape[t->dimension] : 1;
  if (how == HALVES_DEQUANTIZED) t->n_scales = 0;
  ck_assert(n_numbers + n <= MOST_NUMBERS && t->n_scales <= MOST_SCALES);
  if (how == HALVES_DEQUANTIZED) make_halves(t, from, n, floats + n_numbers);
  else make_bytes(t, from, n, floats + n_numbers, scales[tensor]);
  wide_tensors[tensor].data = floats + n_numbers;
  n_numbers += n;
  if (!dequantizes(how)) return;
  int real = narrow.n_tensors++;
  ck_assert(real < MOST_TENSORS);
  narrow_tensors[real] = wide_tensors[tensor];
  narrow_tensors[real].name = "real";
  narrow_tensors[real].data = NULL;
  for (int i = 0; i < narrow.n_operators; i++) replace_inputs(&narrow_operators[i], tensor, real);
  memmove(narrow_operators + 1, narrow_operators,
          (size_t)narrow.n_operators * sizeof *narrow_operators);
  narrow_operators[0] = (struct test_tflite_operator){.code = MAFAT_TFLITE_DEQUANTIZE,
                                                      .n_inputs = 1,
                                                      .inputs = {tensor},
                                                      .n_outputs = 1,
                                                      .outputs = {real}};
  ck_assert(++narrow.n_operators < MOST_OPERATORS);
}

/* Makes a narrow and a wide version of a model. All its weights become narrow and, if there is a
 * DEQUANTIZE, its other float constants, too. False: it has no such constants. */
static bool make_twins(const struct test_tflite_model *of, enum how how)
{
  bool any = false;
  memcpy(narrow_tensors, of->tensors, (size_t)of->n_tensors * sizeof *of->tensors);
  memcpy(wide_tensors, of->tensors, (size_t)of->n_tensors * sizeof *of->tensors);
  memcpy(narrow_operators, of->operators, (size_t)of->n_operators * sizeof *of->operators);
  narrow = wide = *of;
  narrow.tensors = narrow_tensors;
  narrow.operators = narrow_operators;
  wide.tensors = wide_tensors;
  n_numbers = 0;
  for (int t = 0; t < of->n_tensors; t++) {
    int dimension = -1;
    bool weights = is_weights(of, t, &dimension);
    if (!of->tensors[t].data || of->tensors[t].type != MAFAT_TFLITE_FLOAT32 ||
        (!weights && !dequantizes(how)))
      continue;
    narrow_constant(t, how, dimension);
    any = true;
  }
  return any;
}

/* ---- running ---- */

struct file {
  char path[32];
};

static struct file write_model(const struct test_tflite_model *model)
{
  struct file f = {"/tmp/mafat-test-XXXXXX"};
  size_t n;
  char *data = test_tflite_write(model, &n);
  int fd = mkstemp(f.path);
  ck_assert_int_eq(write(fd, data, n), (ssize_t)n);
  close(fd);
  free(data);
  return f;
}

/* Packs the model and returns the new file. type: narrowest type of the packed weights, where
 * layers allow it; MAFAT_F32 keeps the types that the weights have. */
static struct file pack(const char *path, enum mafat_dtype type)
{
  struct file f = {"/tmp/mafat-test-XXXXXX"};
  int fd = mkstemp(f.path);
  test_pack_graph(&mafat_tflite_reader, path, &(struct mafat_given){NULL, 0}, type, fd);
  close(fd);
  return f;
}

/* Runs a model and reads its output. Returns the number of floats. */
static size_t run(const char *path, const char *plan, int threads, float *out)
{
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_model *m;
  int h, w, c;
  uint32_t state = 7;
  options.plan = plan;
  options.threads = threads;
  options.algorithm = "direct";
  options.decode = "none";
  options.floats_only = true;
  ck_assert_msg(mafat_model_open(&m, path, NULL, &options, &diagnostic) == MAFAT_OK, "%s",
                diagnostic.text);
  mafat_model_input_shape(m, &h, &w, &c);
  size_t n = (size_t)h * (size_t)w * (size_t)c;
  float *in = malloc(n * sizeof *in);
  for (size_t i = 0; i < n; i++) in[i] = test_tflite_number(&state);
  ck_assert_msg(mafat_model_run_floats(m, in, n, &diagnostic) == MAFAT_OK, "%s", diagnostic.text);
  free(in);
  mafat_model_output_shape(m, &h, &w, &c);
  n = (size_t)h * (size_t)w * (size_t)c;
  ck_assert_uint_le(n, MOST_OUTPUT);
  ck_assert_int_eq(mafat_model_read_layer(m, mafat_model_n_layers(m) - 1, out, NULL), MAFAT_OK);
  mafat_model_close(&m);
  return n;
}

static void check_near(const char *name, const float *is, const float *expected, size_t n)
{
  float most = 0;
  for (size_t i = 0; i < n; i++) most = fmaxf(most, fabsf(expected[i]));
  for (size_t i = 0; i < n; i++)
    ck_assert_msg(fabsf(is[i] - expected[i]) <= 2e-5f * most,
                  "%s: number %zu: expected %g, found %g", name, i, (double)expected[i],
                  (double)is[i]);
}

/* A packed model gives the same outputs. Packed with four-bit weights, it gives similar outputs. */
static void check_packed(const char *name, const char *path, const float *expected, size_t n)
{
  static float found[MOST_OUTPUT];
  struct file same = pack(path, MAFAT_F32), less = pack(path, MAFAT_I4);
  static const char *const plans[] = {"1x1", "rows2:streamed"};
  for (size_t p = 0; p < sizeof plans / sizeof *plans; p++) {
    ck_assert_uint_eq(run(same.path, plans[p], 1, found), n);
    ck_assert_msg(memcmp(found, expected, n * sizeof *found) == 0,
                  "%s, packed, plan %s: outputs differ", name, plans[p]);
  }
  ck_assert_uint_eq(run(less.path, "1x1", 1, found), n);
  double squares = 0, errors = 0;
  for (size_t i = 0; i < n; i++) {
    squares += (double)expected[i] * (double)expected[i];
    errors += pow((double)found[i] - (double)expected[i], 2);
  }
  ck_assert_msg(errors <= squares / 4, "%s, packed with four bits: squared error %g of %g", name,
                errors, squares);
  unlink(same.path);
  unlink(less.path);
}

/* Each model gives the same outputs with all ways of storing its constants and all plans. */
START_TEST(narrow_constants_compute_the_same)
{
  static const char *const plans[] = {"1x1:loaded", "rows1", "rows2:streamed", "panels:streamed"};
  static float expected[MOST_OUTPUT], first[MOST_OUTPUT], found[MOST_OUTPUT];
  const char *name = test_tflite_operator_name(_i);
  for (int how = 0; how < N_WAYS; how++) {
    if (!make_twins(test_tflite_operator_model(_i), (enum how)how)) continue;
    struct file narrow_file = write_model(&narrow), wide_file = write_model(&wide);
    size_t n = run(wide_file.path, "1x1", 1, expected);
    ck_assert_uint_eq(run(narrow_file.path, "1x1", 1, first), n);
    check_near(name, first, expected, n);
    if (how == HALVES_DEQUANTIZED)
      ck_assert_msg(memcmp(first, expected, n * sizeof *first) == 0, "%s: outputs differ", name);
    for (size_t p = 0; p < sizeof plans / sizeof *plans; p++) {
      ck_assert_uint_eq(run(narrow_file.path, plans[p], 1 + (int)p % 2, found), n);
      ck_assert_msg(memcmp(first, found, n * sizeof *first) == 0,
                    "%s, way %d, plan %s: outputs differ", name, how, plans[p]);
    }
    if (_i % 3 == how % 3) check_packed(name, narrow_file.path, first, n);
    unlink(narrow_file.path);
    unlink(wide_file.path);
  }
}
END_TEST

/* ---- types of weights ---- */

static const struct test_tflite_model *find(const char *name)
{
  for (int i = 0; i < test_tflite_n_operators(); i++)
    if (strcmp(test_tflite_operator_name(i), name) == 0) return test_tflite_operator_model(i);
  ck_abort_msg("no model %s", name);
}

static struct test_imported import(void)
{
  return test_import_tflite(&narrow, &diagnostic);
}

START_TEST(weights_keep_their_types)
{
  static const enum mafat_dtype types[N_WAYS] = {MAFAT_I8, MAFAT_I8, MAFAT_I8, MAFAT_I8, MAFAT_F16};
  ck_assert(make_twins(find("conv_same"), (enum how)_i));
  struct test_imported m = import();
  ck_assert_msg(m.code == MAFAT_OK, "%s", diagnostic.text);
  const struct mafat_layer_constants *c = &m.network->constants->layers[0];
  ck_assert(m.network->layers[0].weights_type == types[_i] &&
            m.network->layers[0].out_type == MAFAT_F32);
  ck_assert(c->weights.type == types[_i] && mafat_constant_is_read(&c->weights) &&
            c->weights.n == 9 * 3 * 2 * 5);
  if (types[_i] == MAFAT_I8) ck_assert_uint_eq(c->parts->scales.n, narrow_tensors[1].n_scales);
  else ck_assert(!c->parts && c->biases.n == 9 && !mafat_constant_is_read(&c->biases));
  test_imported_close(&m);
}
END_TEST

/* ---- what is refused ---- */

static void check_refused(int code, const char *what)
{
  struct test_imported m = import();
  ck_assert_msg(m.code == code && strstr(diagnostic.text, what), "expected %s, found %d, %s", what,
                m.code, diagnostic.text);
  test_imported_close(&m);
}

START_TEST(unsupported_hybrids_are_refused_by_name)
{
  static const int64_t three[] = {3};
  ck_assert(make_twins(find("conv_same"), INT8_OF_ALL));
  narrow_tensors[1].zero_points = three;
  check_refused(MAFAT_EUNSUPPORTED,
                "weights of a float layer: expected int8 with a zero point of 0, "
                "found int8 with 3");
  narrow_tensors[1].type = MAFAT_TFLITE_UINT8;
  check_refused(MAFAT_EUNSUPPORTED, "found uint8 with 3");
  ck_assert(make_twins(find("conv_same"), INT8_OF_FILTERS));
  narrow_tensors[1].dimension = 3;
  narrow_tensors[1].n_scales = narrow_tensors[1].n_zero_points = 5;
  check_refused(MAFAT_EUNSUPPORTED, "scales of its weights: expected dimension 0, found 3");
  scales[1][2] = NAN;
  check_refused(MAFAT_EFORMAT, "scale 2: expected a finite number");
  ck_assert(make_twins(find("conv_same"), HALVES_DEQUANTIZED));
  replace_inputs(&narrow_operators[narrow.n_operators - 1], 3, 1);
  for (int i = 0; i < narrow.n_operators; i++)
    if (narrow_operators[i].code == MAFAT_TFLITE_CONV_2D) narrow_operators[i].inputs[1] = 1;
  check_refused(MAFAT_EUNSUPPORTED, "is FLOAT16: that is not run by this version");
}
END_TEST

/* A float16 weight that is infinite or NaN is refused when weights are read. */
START_TEST(infinite_halves_are_refused)
{
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_model *m;
  ck_assert(make_twins(find("conv_same"), HALVES_DEQUANTIZED));
  numbers.halves[5] = 0x7c00;
  struct file f = write_model(&narrow);
  options.floats_only = true;
  ck_assert_int_eq(mafat_model_open(&m, f.path, NULL, &options, &diagnostic), MAFAT_EFORMAT);
  ck_assert_ptr_nonnull(
      strstr(diagnostic.text, "layer 0 [convolutional] has weights that are not finite numbers"));
  unlink(f.path);
}
END_TEST

Suite *tflite_hybrid_suite(void)
{
  Suite *suite = suite_create("tflite_hybrid");
  TCase *running = tcase_create("running"), *reading = tcase_create("reading");
  tcase_set_timeout(running, 60);
  tcase_add_loop_test(running, narrow_constants_compute_the_same, 0, test_tflite_n_operators());
  suite_add_tcase(suite, running);
  tcase_add_loop_test(reading, weights_keep_their_types, 0, N_WAYS);
  tcase_add_test(reading, unsupported_hybrids_are_refused_by_name);
  tcase_add_test(reading, infinite_halves_are_refused);
  suite_add_tcase(suite, reading);
  return suite;
}
