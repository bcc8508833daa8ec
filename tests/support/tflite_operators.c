/* Builds .tflite models, one for each variant of an operator, in static memory. Called by suites
 * of TFLite models, packed_models.c and fuzz targets. */
#include "tests/support/tflite_operators.h"

#include "formats/tflite/model.h"

#include <string.h>

enum { MOST_TENSORS = 16, MOST_OPERATORS = 8, MOST_FLOATS = 4096, MOST_INTS = 64 };

static struct {
  struct test_tflite_tensor tensors[MOST_TENSORS];
  struct test_tflite_operator operators[MOST_OPERATORS];
  float floats[MOST_FLOATS];
  int32_t ints[MOST_INTS];
  int n_tensors, n_operators, n_floats, n_ints;
  uint32_t state;
  struct test_tflite_model model;
} made;

float test_tflite_number(uint32_t *state)
{
  *state = *state * 1664525U + 1013904223U;
  return (float)(*state >> 8) / 8388608.0f - 1;
}

/* ---- tensors ---- */

/* The extents of a tensor; 0 ends the list. */
struct dims {
  int32_t list[TEST_TFLITE_RANK];
};

#define DIMS(...) (struct dims){{__VA_ARGS__}}

static int tensor(int type, struct dims dims, const void *data, size_t bytes)
{
  static const char *const names[MOST_TENSORS] = {"t0",  "t1",  "t2",  "t3", "t4",  "t5",
                                                  "t6",  "t7",  "t8",  "t9", "t10", "t11",
                                                  "t12", "t13", "t14", "t15"};
  struct test_tflite_tensor *t = &made.tensors[made.n_tensors];
  *t = (struct test_tflite_tensor){
      .name = names[made.n_tensors], .type = type, .data = data, .bytes = bytes};
  while (t->rank < TEST_TFLITE_RANK && dims.list[t->rank]) t->rank++;
  memcpy(t->shape, dims.list, sizeof t->shape);
  return made.n_tensors++;
}

/* Adds a computed map. */
static int map(struct dims dims)
{
  return tensor(MAFAT_TFLITE_FLOAT32, dims, NULL, 0);
}

/* Adds a float constant. */
static int floats(struct dims dims)
{
  float *to = made.floats + made.n_floats;
  int n = 1;
  for (int i = 0; i < TEST_TFLITE_RANK && dims.list[i]; i++) n *= dims.list[i];
  for (int i = 0; i < n; i++) to[i] = test_tflite_number(&made.state);
  made.n_floats += n;
  return tensor(MAFAT_TFLITE_FLOAT32, dims, to, (size_t)n * sizeof *to);
}

static int ints(struct dims dims, const int32_t *list, int n)
{
  int32_t *to = made.ints + made.n_ints;
  memcpy(to, list, (size_t)n * sizeof *to);
  made.n_ints += n;
  return tensor(MAFAT_TFLITE_INT32, dims, to, (size_t)n * sizeof *to);
}

#define COUNT(...) (int)(sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t))
#define INTS(...) ints(DIMS(COUNT(__VA_ARGS__)), (int32_t[]){__VA_ARGS__}, COUNT(__VA_ARGS__))
#define PADS(...) \
  ints(DIMS(COUNT(__VA_ARGS__) / 2, 2), (int32_t[]){__VA_ARGS__}, COUNT(__VA_ARGS__))
#define NUMBER(value) ints(DIMS(0), (int32_t[]){value}, 1)

/* ---- operators ---- */

static struct test_tflite_operator *operator(int code, int options, int n_inputs,
                                             const int32_t *inputs, int n_outputs,
                                             const int32_t *outputs)
{
  struct test_tflite_operator *o = &made.operators[made.n_operators++];
  *o = (struct test_tflite_operator){
      .code = code, .n_inputs = n_inputs, .n_outputs = n_outputs, .options = options};
  memcpy(o->inputs, inputs, (size_t)n_inputs * sizeof *inputs);
  memcpy(o->outputs, outputs, (size_t)n_outputs * sizeof *outputs);
  return o;
}

#define LIST(...) COUNT(__VA_ARGS__), (int32_t[]){__VA_ARGS__}

static void option(struct test_tflite_operator *o, int number, int bytes, int value)
{
  o->fields[o->n_fields++] =
      (struct test_tflite_field){.number = number, .bytes = bytes, .value = value};
}

static void real(struct test_tflite_operator *o, int number, float value)
{
  o->fields[o->n_fields++] =
      (struct test_tflite_field){.number = number, .bytes = 4, .real = value};
}

/* Sets padding and strides, which are the first fields in the options of every operator with a
 * window. */
static struct test_tflite_operator *window(struct test_tflite_operator *o, int padding,
                                           int stride_w, int stride_h)
{
  option(o, 0, 1, padding);
  option(o, 1, 4, stride_w);
  option(o, 2, 4, stride_h);
  return o;
}

/* Makes the last n tensors the model's outputs. */
static void put_out(int n)
{
  made.model.n_outputs = n;
  for (int i = 0; i < n; i++) made.model.outputs[i] = made.n_tensors - n + i;
}

/* ---- windows ---- */

static void conv_same(void)
{
  int x = map(DIMS(1, 7, 6, 5)), w = floats(DIMS(9, 3, 2, 5)), b = floats(DIMS(9)),
      y = map(DIMS(1, 4, 3, 9));
  struct test_tflite_operator *o =
      window(operator(MAFAT_TFLITE_CONV_2D, 1, LIST(x, w, b), LIST(y)), MAFAT_TFLITE_SAME, 2, 2);
  option(o, 3, 1, MAFAT_TFLITE_FUSED_RELU6);
}

static void conv_dilated(void)
{
  int x = map(DIMS(1, 9, 8, 3)), w = floats(DIMS(4, 3, 3, 3)), b = floats(DIMS(4)),
      y = map(DIMS(1, 5, 6, 4));
  struct test_tflite_operator *o =
      window(operator(MAFAT_TFLITE_CONV_2D, 1, LIST(x, w, b), LIST(y)), MAFAT_TFLITE_VALID, 1, 1);
  option(o, 3, 1, MAFAT_TFLITE_FUSED_RELU_N1_TO_1);
  option(o, 4, 4, 1);
  option(o, 5, 4, 2);
}

static void conv_padded(void)
{
  int x = map(DIMS(1, 6, 5, 4)), p = PADS(0, 0, 1, 2, 0, 1, 0, 0), m = map(DIMS(1, 9, 6, 4)),
      w = floats(DIMS(5, 3, 3, 4)), b = floats(DIMS(5));
  int y = map(DIMS(1, 7, 4, 5));
  operator(MAFAT_TFLITE_PAD, 22, LIST(x, p), LIST(m));
  window(operator(MAFAT_TFLITE_CONV_2D, 1, LIST(m, w, b), LIST(y)), MAFAT_TFLITE_VALID, 1, 1);
}

/* A model whose maps have channels first, and which a converter therefore surrounds with
 * transpositions. */
static void channels_first(void)
{
  int x = map(DIMS(1, 3, 6, 5)), p = INTS(0, 2, 3, 1), a = map(DIMS(1, 6, 5, 3)),
      w = floats(DIMS(4, 3, 3, 3)), b = floats(DIMS(4));
  int c = map(DIMS(1, 6, 5, 4)), q = INTS(0, 3, 1, 2), d = map(DIMS(1, 4, 6, 5)),
      e = map(DIMS(1, 4, 6, 5)), y = map(DIMS(1, 4, 6, 5));
  operator(MAFAT_TFLITE_TRANSPOSE, 26, LIST(x, p), LIST(a));
  window(operator(MAFAT_TFLITE_CONV_2D, 1, LIST(a, w, b), LIST(c)), MAFAT_TFLITE_SAME, 1, 1);
  operator(MAFAT_TFLITE_TRANSPOSE, 26, LIST(c, q), LIST(d));
  operator(MAFAT_TFLITE_LOGISTIC, 0, LIST(d), LIST(e));
  operator(MAFAT_TFLITE_MUL, 21, LIST(d, e), LIST(y));
}

static void depthwise(void)
{
  int x = map(DIMS(1, 7, 8, 5)), w = floats(DIMS(1, 3, 4, 10)), b = floats(DIMS(10)),
      y = map(DIMS(1, 4, 4, 10));
  struct test_tflite_operator *o =
      window(operator(MAFAT_TFLITE_DEPTHWISE_CONV_2D, 2, LIST(x, w, b), LIST(y)), MAFAT_TFLITE_SAME,
             2, 2);
  option(o, 3, 4, 2);
  option(o, 4, 1, MAFAT_TFLITE_FUSED_RELU);
}

static void transposed(void)
{
  int s = INTS(1, 7, 10, 6), w = floats(DIMS(6, 3, 4, 3)), b = floats(DIMS(6)),
      x = map(DIMS(1, 4, 5, 3)), y = map(DIMS(1, 7, 10, 6));
  window(operator(MAFAT_TFLITE_TRANSPOSE_CONV, 49, LIST(s, w, x, b), LIST(y)), MAFAT_TFLITE_SAME, 2,
         2);
  made.model.inputs[0] = x;
}

static void pool(int code, int padding, int h, int w)
{
  int x = map(DIMS(1, 8, 7, 6)), y = map(DIMS(1, h, w, 6));
  struct test_tflite_operator *o = window(operator(code, 5, LIST(x), LIST(y)), padding, 2, 3);
  option(o, 3, 4, 3);
  option(o, 4, 4, 2);
  option(o, 5, 1, MAFAT_TFLITE_FUSED_NONE);
}

static void mean_pool(void)
{
  pool(MAFAT_TFLITE_AVERAGE_POOL_2D, MAFAT_TFLITE_SAME, 3, 4);
}

static void max_pool(void)
{
  pool(MAFAT_TFLITE_MAX_POOL_2D, MAFAT_TFLITE_VALID, 3, 3);
}

/* ---- matrices ---- */

static void dense_of_map(void)
{
  int x = map(DIMS(1, 4, 3, 5)), w = floats(DIMS(7, 60)), b = floats(DIMS(7)), y = map(DIMS(1, 7));
  option(operator(MAFAT_TFLITE_FULLY_CONNECTED, 8, LIST(x, w, b), LIST(y)), 0, 1,
         MAFAT_TFLITE_FUSED_RELU);
}

static void dense_of_turned_map(void)
{
  int x = map(DIMS(1, 4, 3, 5)), p = INTS(0, 3, 1, 2), m = map(DIMS(1, 5, 4, 3)),
      w = floats(DIMS(7, 60)), y = map(DIMS(1, 7));
  operator(MAFAT_TFLITE_TRANSPOSE, 26, LIST(x, p), LIST(m));
  operator(MAFAT_TFLITE_FULLY_CONNECTED, 8, LIST(m, w), LIST(y));
}

static void dense_of_rows(void)
{
  int x = map(DIMS(1, 6, 5)), w = floats(DIMS(7, 5)), b = floats(DIMS(7)), y = map(DIMS(1, 6, 7));
  option(operator(MAFAT_TFLITE_FULLY_CONNECTED, 8, LIST(x, w, b), LIST(y)), 2, 1, 1);
}

static void matmul(void)
{
  int x = map(DIMS(3, 4, 5)), m = map(DIMS(3, 4, 5)), y = map(DIMS(3, 4, 4));
  operator(MAFAT_TFLITE_TANH, 0, LIST(x), LIST(m));
  option(operator(MAFAT_TFLITE_BATCH_MATMUL, 101, LIST(x, m), LIST(y)), 1, 1, 1);
}

/* ---- elements ---- */

static void add_constant(void)
{
  int x = map(DIMS(1, 4, 5, 6)), c = floats(DIMS(6)), y = map(DIMS(1, 4, 5, 6));
  option(operator(MAFAT_TFLITE_ADD, 11, LIST(x, c), LIST(y)), 0, 1, MAFAT_TFLITE_FUSED_RELU);
}

static void subtract_from_constant(void)
{
  int x = map(DIMS(1, 4, 5, 6)), c = floats(DIMS(1, 4, 1, 1)), y = map(DIMS(1, 4, 5, 6));
  operator(MAFAT_TFLITE_SUB, 28, LIST(c, x), LIST(y));
}

/* A squeeze-and-excitation block. */
static void multiply_by_means(void)
{
  int x = map(DIMS(1, 4, 5, 6)), a = INTS(1, 2), m = map(DIMS(1, 1, 1, 6)),
      s = map(DIMS(1, 1, 1, 6)), y = map(DIMS(1, 4, 5, 6));
  option(operator(MAFAT_TFLITE_MEAN, 27, LIST(x, a), LIST(m)), 0, 1, 1);
  operator(MAFAT_TFLITE_LOGISTIC, 0, LIST(m), LIST(s));
  operator(MAFAT_TFLITE_MUL, 21, LIST(x, s), LIST(y));
}

static void swish(void)
{
  int x = map(DIMS(1, 4, 5, 6)), m = map(DIMS(1, 4, 5, 6)), y = map(DIMS(1, 4, 5, 6));
  operator(MAFAT_TFLITE_LOGISTIC, 0, LIST(x), LIST(m));
  operator(MAFAT_TFLITE_MUL, 21, LIST(m, x), LIST(y));
}

static void activations(void)
{
  int x = map(DIMS(1, 4, 5, 6)), a = map(DIMS(1, 4, 5, 6)), b = map(DIMS(1, 4, 5, 6)),
      y = map(DIMS(1, 4, 5, 6));
  real(operator(MAFAT_TFLITE_LEAKY_RELU, 75, LIST(x), LIST(a)), 0, .25f);
  operator(MAFAT_TFLITE_ELU, 0, LIST(a), LIST(b));
  operator(MAFAT_TFLITE_HARD_SWISH, 0, LIST(b), LIST(y));
}

/* Functions that need positive inputs. */
static void functions(void)
{
  int x = map(DIMS(1, 4, 5, 6)), a = map(DIMS(1, 4, 5, 6)), b = map(DIMS(1, 4, 5, 6)),
      c = map(DIMS(1, 4, 5, 6)), y = map(DIMS(1, 4, 5, 6));
  operator(MAFAT_TFLITE_EXP, 0, LIST(x), LIST(a));
  operator(MAFAT_TFLITE_RSQRT, 0, LIST(a), LIST(b));
  operator(MAFAT_TFLITE_LOG, 0, LIST(b), LIST(c));
  operator(MAFAT_TFLITE_ABS, 0, LIST(c), LIST(y));
}

static void gelu(void)
{
  int x = map(DIMS(1, 4, 5, 6)), a = map(DIMS(1, 4, 5, 6)), y = map(DIMS(1, 4, 5, 6));
  option(operator(MAFAT_TFLITE_GELU, 116, LIST(x), LIST(a)), 0, 1, 0);
  operator(MAFAT_TFLITE_SQUARE, 0, LIST(a), LIST(y));
}

static void squares(void)
{
  int x = map(DIMS(1, 4, 5, 6)), c = floats(DIMS(1, 4, 5, 6)), y = map(DIMS(1, 4, 5, 6));
  operator(MAFAT_TFLITE_SQUARED_DIFFERENCE, 76, LIST(x, c), LIST(y));
}

/* ---- across dimensions ---- */

static void softmax(void)
{
  int x = map(DIMS(1, 4, 5, 6)), y = map(DIMS(1, 4, 5, 6));
  real(operator(MAFAT_TFLITE_SOFTMAX, 9, LIST(x), LIST(y)), 0, 2);
}

static void log_softmax(void)
{
  int x = map(DIMS(4, 5, 6)), y = map(DIMS(4, 5, 6));
  operator(MAFAT_TFLITE_LOG_SOFTMAX, 36, LIST(x), LIST(y));
}

static void l2(void)
{
  int x = map(DIMS(1, 4, 5, 6)), y = map(DIMS(1, 4, 5, 6));
  operator(MAFAT_TFLITE_L2_NORMALIZATION, 12, LIST(x), LIST(y));
}

static void sum(void)
{
  int x = map(DIMS(1, 4, 5, 6)), a = INTS(-1, 1), y = map(DIMS(1, 5));
  operator(MAFAT_TFLITE_SUM, 27, LIST(x, a), LIST(y));
}

static void largest(void)
{
  int x = map(DIMS(1, 4, 5, 6)), a = INTS(2), y = map(DIMS(1, 4, 1, 6));
  option(operator(MAFAT_TFLITE_REDUCE_MAX, 27, LIST(x, a), LIST(y)), 0, 1, 1);
}

static void gather(void)
{
  int x = map(DIMS(1, 6, 5, 4)), p = INTS(5, 0, 2, 4), y = map(DIMS(1, 4, 5, 4));
  option(operator(MAFAT_TFLITE_GATHER, 23, LIST(x, p), LIST(y)), 0, 4, 1);
}

static void resize(int code, int options, int align, int half)
{
  int x = map(DIMS(1, 4, 5, 6)), s = INTS(7, 12), y = map(DIMS(1, 7, 12, 6)),
      first = code == MAFAT_TFLITE_RESIZE_BILINEAR ? 2 : 0;
  struct test_tflite_operator *o = operator(code, options, LIST(x, s), LIST(y));
  option(o, first, 1, align);
  option(o, first + 1, 1, half);
}

static void bilinear(void)
{
  resize(MAFAT_TFLITE_RESIZE_BILINEAR, 15, 0, 1);
}

static void bilinear_corners(void)
{
  resize(MAFAT_TFLITE_RESIZE_BILINEAR, 15, 1, 0);
}

static void nearest(void)
{
  resize(MAFAT_TFLITE_RESIZE_NEAREST_NEIGHBOR, 74, 0, 0);
}

/* ---- shapes and parts ---- */

static void reshape(void)
{
  int x = map(DIMS(1, 4, 9, 20)), s = INTS(9, -1, 8), y = map(DIMS(9, 10, 8));
  operator(MAFAT_TFLITE_RESHAPE, 17, LIST(x, s), LIST(y));
}

static void transpose(void)
{
  int x = map(DIMS(1, 4, 5, 6)), p = INTS(0, 2, 3, 1), y = map(DIMS(1, 5, 6, 4));
  operator(MAFAT_TFLITE_TRANSPOSE, 26, LIST(x, p), LIST(y));
}

static void shuffle(void)
{
  int x = map(DIMS(1, 3, 4, 12)), s = INTS(1, 3, 4, 3, 4), a = map(DIMS(1, 3, 4, 3, 4)),
      p = INTS(0, 1, 2, 4, 3), b = map(DIMS(1, 3, 4, 4, 3));
  int t = INTS(1, 3, 4, 12), y = map(DIMS(1, 3, 4, 12));
  operator(MAFAT_TFLITE_RESHAPE, 17, LIST(x, s), LIST(a));
  operator(MAFAT_TFLITE_TRANSPOSE, 26, LIST(a, p), LIST(b));
  operator(MAFAT_TFLITE_RESHAPE, 17, LIST(b, t), LIST(y));
}

static void concatenation(void)
{
  int x = map(DIMS(1, 4, 5, 6)), m = map(DIMS(1, 4, 5, 6)), y = map(DIMS(1, 4, 10, 6));
  operator(MAFAT_TFLITE_RELU, 0, LIST(x), LIST(m));
  option(operator(MAFAT_TFLITE_CONCATENATION, 10, LIST(m, x), LIST(y)), 0, 4, -2);
}

static void split(void)
{
  int x = map(DIMS(1, 4, 5, 6)), s = INTS(1, -1, 2), a = NUMBER(3), y = map(DIMS(1, 4, 5, 1)),
      z = map(DIMS(1, 4, 5, 3)), u = map(DIMS(1, 4, 5, 2));
  option(operator(MAFAT_TFLITE_SPLIT_V, 79, LIST(x, s, a), LIST(y, z, u)), 0, 4, 3);
  put_out(3);
}

static void unpack_and_pack(void)
{
  int x = map(DIMS(3, 4, 5)), a = map(DIMS(4, 5)), b = map(DIMS(4, 5)), c = map(DIMS(4, 5)),
      y = map(DIMS(4, 2, 5));
  option(operator(MAFAT_TFLITE_UNPACK, 64, LIST(x), LIST(a, b, c)), 0, 4, 3);
  struct test_tflite_operator *o = operator(MAFAT_TFLITE_PACK, 59, LIST(c, a), LIST(y));
  option(o, 0, 4, 2);
  option(o, 1, 4, 1);
}

static void strided_slice(void)
{
  int x = map(DIMS(1, 6, 5, 4)), b = INTS(0, -1, 1, 2), e = INTS(1, 0, 5, 0), s = INTS(1, -2, 1, 1),
      y = map(DIMS(1, 3, 4));
  struct test_tflite_operator *o = operator(MAFAT_TFLITE_STRIDED_SLICE, 32, LIST(x, b, e, s),
                                            LIST(y));
  option(o, 1, 4, 4);
  option(o, 4, 4, 8);
}

static void slice(void)
{
  int x = map(DIMS(1, 6, 5, 4)), b = INTS(0, 2, 1, 1), s = INTS(1, 3, -1, 2),
      y = map(DIMS(1, 3, 4, 2));
  operator(MAFAT_TFLITE_SLICE, 48, LIST(x, b, s), LIST(y));
}

static void pad(void)
{
  int x = map(DIMS(1, 4, 5, 6)), p = PADS(0, 0, 1, 2, 0, 3, 2, 1), y = map(DIMS(1, 7, 8, 9));
  operator(MAFAT_TFLITE_PAD, 22, LIST(x, p), LIST(y));
}

static void mirror(void)
{
  int x = map(DIMS(1, 4, 5, 6)), p = PADS(0, 0, 3, 2, 1, 4, 0, 0), y = map(DIMS(1, 9, 10, 6));
  option(operator(MAFAT_TFLITE_MIRROR_PAD, 77, LIST(x, p), LIST(y)), 0, 1, 0);
}

static void depth_to_space(void)
{
  int x = map(DIMS(1, 3, 4, 12)), y = map(DIMS(1, 6, 8, 3));
  option(operator(MAFAT_TFLITE_DEPTH_TO_SPACE, 94, LIST(x), LIST(y)), 0, 4, 2);
}

static void space_to_depth(void)
{
  int x = map(DIMS(1, 6, 4, 3)), y = map(DIMS(1, 3, 2, 12));
  option(operator(MAFAT_TFLITE_SPACE_TO_DEPTH, 19, LIST(x), LIST(y)), 0, 4, 2);
}

/* A reshape to a shape that is computed from the input's shape, as in files with a batch of any
 * size. */
static void reshape_by_shape(void)
{
  int x = map(DIMS(1, 4, 5, 6)), n = tensor(MAFAT_TFLITE_INT32, DIMS(4), NULL, 0), b = INTS(0),
      e = INTS(1), s = INTS(1);
  int first = tensor(MAFAT_TFLITE_INT32, DIMS(0), NULL, 0), rest = NUMBER(120);
  int shape = tensor(MAFAT_TFLITE_INT32, DIMS(2), NULL, 0), y = map(DIMS(1, 120));
  option(operator(MAFAT_TFLITE_SHAPE, 55, LIST(x), LIST(n)), 0, 1, MAFAT_TFLITE_INT32);
  option(operator(MAFAT_TFLITE_STRIDED_SLICE, 32, LIST(n, b, e, s), LIST(first)), 4, 4, 1);
  option(operator(MAFAT_TFLITE_PACK, 59, LIST(first, rest), LIST(shape)), 0, 4, 2);
  operator(MAFAT_TFLITE_RESHAPE, 0, LIST(x, shape), LIST(y));
}

/* Takes every other column of every other row, by two slices. */
static void slice_of_slice(void)
{
  int x = map(DIMS(1, 8, 6, 3)), b = INTS(0, 1, 0, 0), e = INTS(1, 8, 6, 3), s = INTS(1, 2, 1, 1),
      m = map(DIMS(1, 4, 6, 3));
  int c = INTS(0, 0, 1, 0), f = INTS(1, 4, 6, 3), t = INTS(1, 1, 2, 1), y = map(DIMS(1, 4, 3, 3));
  operator(MAFAT_TFLITE_STRIDED_SLICE, 32, LIST(x, b, e, s), LIST(m));
  operator(MAFAT_TFLITE_STRIDED_SLICE, 32, LIST(m, c, f, t), LIST(y));
}

/* A softmax between two transpositions that exchange rows and columns. */
static void softmax_turned(void)
{
  int x = map(DIMS(1, 4, 5, 6)), p = INTS(0, 2, 1, 3), a = map(DIMS(1, 5, 4, 6)),
      b = map(DIMS(1, 5, 4, 6)), y = map(DIMS(1, 4, 5, 6));
  operator(MAFAT_TFLITE_TRANSPOSE, 26, LIST(x, p), LIST(a));
  real(operator(MAFAT_TFLITE_SOFTMAX, 9, LIST(a), LIST(b)), 0, 1);
  operator(MAFAT_TFLITE_TRANSPOSE, 26, LIST(b, p), LIST(y));
}

/* Concatenates one channel and six channels in a model whose maps have channels first. */
static void concatenation_with_one(void)
{
  int x = map(DIMS(1, 4, 5, 6)), m = map(DIMS(1, 4, 5, 6)), a = INTS(3),
      one = map(DIMS(1, 4, 5, 1)), p = INTS(0, 3, 1, 2);
  int u = map(DIMS(1, 1, 4, 5)), v = map(DIMS(1, 6, 4, 5)), y = map(DIMS(1, 7, 4, 5));
  operator(MAFAT_TFLITE_RELU, 0, LIST(x), LIST(m));
  option(operator(MAFAT_TFLITE_SUM, 27, LIST(m, a), LIST(one)), 0, 1, 1);
  operator(MAFAT_TFLITE_TRANSPOSE, 26, LIST(one, p), LIST(u));
  operator(MAFAT_TFLITE_TRANSPOSE, 26, LIST(m, p), LIST(v));
  option(operator(MAFAT_TFLITE_CONCATENATION, 10, LIST(u, v), LIST(y)), 0, 4, 1);
}

/* ---- detections ---- */

/* Adds a detection of 5 classes and background among 30 anchors, whose boxes and scores come from
 * the input. The anchors are random numbers that start with `seed`. */
static void put_detections(uint32_t seed, const struct test_flex_entry *entries, int n, int columns)
{
  static char options[512];
  made.state = seed;
  int x = map(DIMS(1, 30, 10)), first = INTS(0, 0, 0), four = INTS(1, 30, 4), after = INTS(0, 0, 4),
      rest = INTS(1, 30, 6);
  int boxes = map(DIMS(1, 30, 4)), scores = map(DIMS(1, 30, 6)), anchors = floats(DIMS(30, 4));
  float *sizes = made.floats + made.n_floats - 120;
  for (int i = 0; i < 30; i++)
    for (int k = 2; k < 4; k++) sizes[4 * i + k] = sizes[4 * i + k] * .4f + .6f;
  int corners = map(DIMS(1, columns, 4)), classes = map(DIMS(1, columns)),
      best = map(DIMS(1, columns)), count = map(DIMS(1));
  operator(MAFAT_TFLITE_SLICE, 48, LIST(x, first, four), LIST(boxes));
  operator(MAFAT_TFLITE_SLICE, 48, LIST(x, after, rest), LIST(scores));
  struct test_tflite_operator *o = operator(MAFAT_TFLITE_CUSTOM, 0, LIST(boxes, scores, anchors),
                                            LIST(corners, classes, best, count));
  o->custom = "TFLite_Detection_PostProcess";
  o->custom_options = options;
  o->custom_bytes = test_flex_write(entries, n, options);
  put_out(4);
}

#define DETECTIONS(most, of_class, classes, score, regular) \
  {"detections_per_class", of_class, 0}, {"h_scale", 5, 0}, \
      {"max_classes_per_detection", classes, 0}, {"max_detections", most, 0}, \
      {"nms_iou_threshold", 0, .4f}, {"nms_score_threshold", 0, score}, {"num_classes", 5, 0}, \
      {"use_regular_nms", regular, 0}, {"w_scale", 5, 0}, {"x_scale", 10, 0}, \
  { \
    "y_scale", 0, 10.5f \
  }

static void detections(void)
{
  static const struct test_flex_entry entries[] = {DETECTIONS(4, 9, 2, .3f, 0)};
  put_detections(43, entries, sizeof entries / sizeof *entries, 8);
}

static void detections_by_class(void)
{
  static const struct test_flex_entry entries[] = {DETECTIONS(20, 3, 1, .25f, 1)};
  put_detections(44, entries, sizeof entries / sizeof *entries, 20);
}

/* Adds two maps after a depth-to-space: their rows and columns consist of several axes, their
 * channels of one. */
static void add_after_depth_to_space(void)
{
  int x = map(DIMS(1, 3, 4, 12)), m = map(DIMS(1, 6, 8, 3)), c = floats(DIMS(3)),
      y = map(DIMS(1, 6, 8, 3));
  option(operator(MAFAT_TFLITE_DEPTH_TO_SPACE, 94, LIST(x), LIST(m)), 0, 4, 2);
  operator(MAFAT_TFLITE_ADD, 11, LIST(m, c), LIST(y));
}

/* Concatenates the first 9 of 16 channels with 9 of 12 channels. So 9 channels end inside a
 * block. */
static void concatenation_of_slices(void)
{
  int x = map(DIMS(1, 4, 5, 16)), b = INTS(0, 0, 0, 0), s = INTS(1, 2, 5, 9),
      m = map(DIMS(1, 2, 5, 9)), r = map(DIMS(1, 2, 5, 9)), y = map(DIMS(1, 4, 5, 9));
  operator(MAFAT_TFLITE_SLICE, 48, LIST(x, b, s), LIST(m));
  operator(MAFAT_TFLITE_RELU, 0, LIST(m), LIST(r));
  option(operator(MAFAT_TFLITE_CONCATENATION, 10, LIST(m, r), LIST(y)), 0, 4, 1);
}

/* ---- list of models ---- */

#define MODELS(X) \
  X(conv_same) \
  X(conv_dilated) X(conv_padded) X(channels_first) X(depthwise) X(transposed) X(mean_pool) \
      X(max_pool) X(dense_of_map) X(dense_of_turned_map) X(dense_of_rows) X(matmul) \
          X(add_constant) X(subtract_from_constant) X(multiply_by_means) X(swish) X(activations) \
              X(functions) X(gelu) X(squares) X(softmax) X(log_softmax) X(l2) X(sum) X(largest) \
                  X(gather) X(bilinear) X(bilinear_corners) X(nearest) X(reshape) X(transpose) \
                      X(shuffle) X(concatenation) X(split) X(unpack_and_pack) X(strided_slice) \
                          X(slice) X(pad) X(mirror) X(depth_to_space) X(space_to_depth) \
                              X(reshape_by_shape) X(slice_of_slice) X(softmax_turned) \
                                  X(concatenation_with_one) X(detections) X(detections_by_class) \
                                      X(add_after_depth_to_space) X(concatenation_of_slices)

static const struct {
  const char *name;
  void (*make)(void);
} models[] = {
#define ENTRY(name) {#name, name},
    MODELS(ENTRY)
};

int test_tflite_n_operators(void)
{
  return (int)(sizeof models / sizeof *models);
}

const char *test_tflite_operator_name(int number)
{
  return models[number].name;
}

const struct test_tflite_model *test_tflite_operator_model(int number)
{
  memset(&made, 0, sizeof made);
  made.state = (uint32_t)number + 1;
  made.model = (struct test_tflite_model){
      .tensors = made.tensors, .operators = made.operators, .n_inputs = 1};
  models[number].make();
  made.model.n_tensors = made.n_tensors;
  made.model.n_operators = made.n_operators;
  if (!made.model.n_outputs) put_out(1);
  return &made.model;
}
