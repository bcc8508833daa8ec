/* Writes small TFLite files of one to three operators; a number gives the same file on every
 * machine. Most operands are valid, but each has a chance of some percent to be wrong: other
 * extents, lists, options, scales or zero points than its operator expects, or meaningless ones.
 * Most files are refused. A file that runs must give TFLite's outputs. Known gaps of TFLite
 * 2.9.0 are not written: TANH after another operator, activations after a transposed
 * convolution, per-row scales of FULLY_CONNECTED. Nor are divisions, because programs treat NaN
 * differently. Called by random_graphs.c, which frees the file. */
#include "formats/tflite/model.h"
#include "formats/tflite/operators.h"
#include "tests/differential/graph.h"
#include "tests/support/tflite_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  MOST_TENSORS = 48, MOST_OPERATORS = 8, MOST_SCALES = 16, MOST_BYTES = 1 << 14,
  MOST_RANK = 5
};

struct extents {
  int rank;
  int32_t list[TEST_TFLITE_RANK];
};

struct author {
  struct test_rng rng;
  struct test_tflite_tensor tensors[MOST_TENSORS];
  struct test_tflite_operator operators[MOST_OPERATORS];
  char names[MOST_TENSORS][8];
  float scales[MOST_TENSORS][MOST_SCALES];
  int64_t zeros[MOST_TENSORS][MOST_SCALES];
  void *data[MOST_TENSORS];
  int type; /* element type of maps */
  int n_tensors, n_operators;
  int map;              /* tensor that the next operator reads */
  struct extents shape; /* that tensor's extents, as far as they are known */
};

typedef struct author author;

#define PICK(a, ...) \
  pick(a, (const int[]){__VA_ARGS__}, (int)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int)))
#define LIST(...) \
  (int)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int)), (const int[]) \
  { \
    __VA_ARGS__ \
  }

static int pick(author *a, const int *list, int n)
{
  return list[test_random_int(&a->rng, 0, n - 1)];
}
static bool chance(author *a, int percent) { return test_random_chance(&a->rng, percent); }

/* Draws a value that is usually invalid where it is used. */
static int strange(author *a)
{
  return PICK(a, 0, 0, -1, 1, 2, 3, 7, -2, 4096, 1 << 20, INT32_MAX, INT32_MIN);
}

static int channels(const author *a)
{
  return a->shape.rank ? a->shape.list[a->shape.rank - 1] : 1;
}

static int elements(const author *a)
{
  int n = 1;
  for (int i = 0; i < a->shape.rank; i++) n *= a->shape.list[i];
  return n;
}

/* ---- tensors ---- */

static int add_tensor(author *a, int type, int rank, const int32_t *extents)
{
  int tensor = a->n_tensors++;
  if (tensor == MOST_TENSORS) abort();
  snprintf(a->names[tensor], sizeof a->names[tensor], "t%d", tensor);
  a->tensors[tensor] =
      (struct test_tflite_tensor){.name = a->names[tensor], .type = type, .rank = rank};
  memcpy(a->tensors[tensor].shape, extents, (size_t)rank * sizeof *extents);
  return tensor;
}

static void *own(author *a, int tensor, size_t bytes)
{
  if (!(a->data[tensor] = calloc(1, bytes + 1))) abort();
  a->tensors[tensor].data = a->data[tensor];
  a->tensors[tensor].bytes = bytes;
  return a->data[tensor];
}

/* Sets n random scales along a dimension, and zero points: for n > 1, those that weights may
 * have. */
static void set_scales(author *a, int tensor, int n, int dimension)
{
  struct test_tflite_tensor *t = &a->tensors[tensor];
  bool is_signed = t->type == MAFAT_TFLITE_INT8;
  if (n > MOST_SCALES) n = MOST_SCALES;
  for (int i = 0; i < n; i++) {
    a->scales[tensor][i] = (float)test_random_int(&a->rng, 5, 54) / 1000;
    a->zeros[tensor][i] = n > 1           ? (is_signed ? 0 : 128)
                          : chance(a, 97) ? (is_signed ? test_random_int(&a->rng, -10, 9)
                                                       : test_random_int(&a->rng, 0, 199))
                                          : strange(a);
  }
  t->scales = a->scales[tensor];
  t->zero_points = a->zeros[tensor];
  t->n_scales = n;
  t->n_zero_points = chance(a, 95) ? n : PICK(a, 0, 1, 2);
  t->dimension = dimension;
}

/* Adds a tensor for an operator's output. Its extents in the file are arbitrary, because readers
 * infer them. */
static int add_map(author *a)
{
  int tensor = add_tensor(a,
                          chance(a, 98) ? a->type
                                        : PICK(a, MAFAT_TFLITE_FLOAT32, MAFAT_TFLITE_INT32,
                                               MAFAT_TFLITE_INT8, MAFAT_TFLITE_UINT8),
                          1, (const int32_t[]){1});
  if (a->type != MAFAT_TFLITE_FLOAT32) set_scales(a, tensor, chance(a, 98) ? 1 : PICK(a, 0, 2), 0);
  return tensor;
}

/* Adds a random constant of the maps' element type with these extents or, rarely, others. */
static int add_constant(author *a, int rank, const int *extents)
{
  int32_t list[TEST_TFLITE_RANK];
  size_t n = 1, width = a->type == MAFAT_TFLITE_FLOAT32 ? sizeof(float) : 1;
  if (rank > 0 && chance(a, 5)) rank--;
  for (int i = 0; i < rank; i++) {
    list[i] = chance(a, 95) ? extents[i] : PICK(a, 0, 1, 2, 3);
    if (n * (size_t)list[i] * width > MOST_BYTES) list[i] = 1;
    n *= (size_t)list[i];
  }
  int tensor = add_tensor(a, a->type, rank, list);
  unsigned char *to = own(a, tensor, n * width);
  for (size_t i = 0; i < n; i++) {
    float number = graph_constant(&a->rng);
    if (width == 1) to[i] = (unsigned char)test_random_int(&a->rng, 0, 255);
    else memcpy(to + i * width, &number, width);
  }
  if (width == 1) set_scales(a, tensor, 1, 0);
  return tensor;
}

/* Adds a constant as weights. int8 weights may have a scale for each filter. */
static int add_weights(author *a, int dimension, const int extents[4])
{
  int tensor = add_constant(a, 4, extents);
  if (a->type != MAFAT_TFLITE_INT8 || chance(a, 50)) return tensor;
  int n = chance(a, 95) ? extents[dimension] : PICK(a, 2, 3);
  set_scales(a, tensor, n, chance(a, 95) ? dimension : PICK(a, -1, 1, 7));
  return tensor;
}

static int add_ints(author *a, int n, const int *values)
{
  if (n > 0 && chance(a, 3)) n--;
  const int32_t extents[] = {n};
  int tensor = add_tensor(a, MAFAT_TFLITE_INT32, n == 1 && chance(a, 30) ? 0 : 1, extents);
  int32_t *to = own(a, tensor, (size_t)n * sizeof *to);
  for (int i = 0; i < n; i++) to[i] = chance(a, 96) ? values[i] : strange(a);
  return tensor;
}

static int add_bias(author *a, int n)
{
  if (a->type == MAFAT_TFLITE_FLOAT32) return add_constant(a, 1, &n);
  int values[64];
  if (n > 64) n = 64;
  for (int i = 0; i < n; i++) values[i] = test_random_int(&a->rng, -2000, 2000);
  return add_ints(a, n, values);
}

/* ---- operators ---- */

/* Adds an operator and its output, which becomes a->map. options: number of the options' type in
 * TFLite's schema; 0: none. */
static struct test_tflite_operator *add(author *a, int code, int options, int n, const int *inputs)
{
  struct test_tflite_operator *o = &a->operators[a->n_operators++];
  *o = (struct test_tflite_operator){
      .code = code, .options = options, .n_inputs = n, .n_outputs = 1};
  for (int i = 0; i < n; i++) o->inputs[i] = inputs[i];
  o->outputs[0] = a->map = add_map(a);
  return o;
}

static void option(author *a, struct test_tflite_operator *o, int number, int bytes, int value)
{
  if (!chance(a, 96)) value = strange(a);
  o->fields[o->n_fields++] = (struct test_tflite_field){
      .number = number, .bytes = bytes, .value = bytes == 1 ? value & 0xff : value};
}

static int fused(author *a)
{
  return chance(a, 60) ? MAFAT_TFLITE_FUSED_NONE
                       : PICK(a, MAFAT_TFLITE_FUSED_RELU, MAFAT_TFLITE_FUSED_RELU_N1_TO_1,
                              MAFAT_TFLITE_FUSED_RELU6);
}

static struct test_tflite_operator *window(author *a, struct test_tflite_operator *o)
{
  option(a, o, 0, 1, PICK(a, MAFAT_TFLITE_SAME, MAFAT_TFLITE_VALID));
  option(a, o, 1, 4, PICK(a, 1, 1, 2, 3, 40));
  option(a, o, 2, 4, PICK(a, 1, 1, 2, 3, 100));
  return o;
}

static void convolve(author *a)
{
  const int extents[4] = {PICK(a, 1, 2, 4, 8, 5), PICK(a, 1, 2, 3), PICK(a, 1, 3, 7), channels(a)};
  int w = add_weights(a, 0, extents), b = add_bias(a, extents[0]);
  struct test_tflite_operator *o =
      window(a, add(a, MAFAT_TFLITE_CONV_2D, 1, LIST(a->map, w, chance(a, 70) ? b : -1)));
  option(a, o, 3, 1, fused(a));
  option(a, o, 4, 4, PICK(a, 1, 1, 2));
  option(a, o, 5, 4, PICK(a, 1, 1, 3));
}

static void convolve_depthwise(author *a)
{
  int multiplier = PICK(a, 1, 1, 2);
  const int extents[4] = {1, PICK(a, 1, 2, 3), PICK(a, 1, 2, 3), channels(a) * multiplier};
  int w = add_weights(a, 3, extents), b = add_bias(a, extents[3]);
  struct test_tflite_operator *o =
      window(a, add(a, MAFAT_TFLITE_DEPTHWISE_CONV_2D, 2, LIST(a->map, w, chance(a, 70) ? b : -1)));
  option(a, o, 3, 4, multiplier);
  option(a, o, 4, 1, fused(a));
  option(a, o, 5, 4, PICK(a, 1, 1, 2));
  option(a, o, 6, 4, PICK(a, 1, 1, 3));
}

static void convolve_transposed(author *a)
{
  const int extents[4] = {PICK(a, 1, 2, 4), PICK(a, 1, 2, 3), PICK(a, 1, 2, 4), channels(a)};
  const int shape[4] = {1, PICK(a, 4, 8, 12, 16), PICK(a, 4, 8, 15, 16), extents[0]};
  int s = add_ints(a, 4, shape), w = add_weights(a, 0, extents);
  window(a, add(a, MAFAT_TFLITE_TRANSPOSE_CONV, 49, LIST(s, w, a->map)));
}

static void pool(author *a)
{
  struct test_tflite_operator *o = window(
      a, add(a, PICK(a, MAFAT_TFLITE_MAX_POOL_2D, MAFAT_TFLITE_AVERAGE_POOL_2D), 5, LIST(a->map)));
  option(a, o, 3, 4, PICK(a, 1, 2, 3, 9));
  option(a, o, 4, 4, PICK(a, 1, 2, 3, 9));
  option(a, o, 5, 1, fused(a));
}

static void connect(author *a)
{
  const int extents[2] = {PICK(a, 1, 2, 10, 7), chance(a, 60)   ? channels(a)
                                                : chance(a, 70) ? elements(a)
                                                                : PICK(a, 1, 2)};
  int w = add_constant(a, 2, extents), b = add_bias(a, extents[0]);
  struct test_tflite_operator *o =
      add(a, MAFAT_TFLITE_FULLY_CONNECTED, 8, LIST(a->map, w, chance(a, 60) ? b : -1));
  option(a, o, 0, 1, fused(a));
  option(a, o, 2, 1, PICK(a, 0, 1));
}

/* Adds an operator that combines a->map with a constant or with itself, with broadcasting. */
static void combine(author *a)
{
  static const struct {
    int code, options;
  } kinds[] = {{MAFAT_TFLITE_ADD, 11},
               {MAFAT_TFLITE_SUB, 28},
               {MAFAT_TFLITE_MUL, 21},
               {MAFAT_TFLITE_MAXIMUM, 0},
               {MAFAT_TFLITE_MINIMUM, 0},
               {MAFAT_TFLITE_PRELU, 0},
               {MAFAT_TFLITE_SQUARED_DIFFERENCE, 0}};
  int k = test_random_int(&a->rng, 0, (int)(sizeof kinds / sizeof *kinds) - 1),
      extents[TEST_TFLITE_RANK], rank = PICK(a, 0, 1, a->shape.rank, a->shape.rank);
  for (int i = 0; i < rank; i++)
    extents[i] = chance(a, 60) ? a->shape.list[a->shape.rank - rank + i] : 1;
  int other = chance(a, 25) ? a->map : add_constant(a, rank, extents);
  bool turned = kinds[k].code != MAFAT_TFLITE_PRELU && chance(a, 25);
  struct test_tflite_operator *o = add(a, kinds[k].code, kinds[k].options,
                                       LIST(turned ? other : a->map, turned ? a->map : other));
  if (kinds[k].options) option(a, o, 0, 1, fused(a));
}

static void compute(author *a)
{
  static const struct {
    int code, options;
  } kinds[] = {{MAFAT_TFLITE_LOGISTIC, 0},   {MAFAT_TFLITE_RELU, 0},
               {MAFAT_TFLITE_RELU6, 0},      {MAFAT_TFLITE_RELU_N1_TO_1, 0},
               {MAFAT_TFLITE_TANH, 0},       {MAFAT_TFLITE_ELU, 0},
               {MAFAT_TFLITE_HARD_SWISH, 0}, {MAFAT_TFLITE_ABS, 0},
               {MAFAT_TFLITE_NEG, 0},        {MAFAT_TFLITE_SQUARE, 0},
               {MAFAT_TFLITE_SOFTMAX, 9},    {MAFAT_TFLITE_QUANTIZE, 0}};
  int k = test_random_int(&a->rng, 0, (int)(sizeof kinds / sizeof *kinds) - 1);
  struct test_tflite_operator *o = add(a, kinds[k].code, kinds[k].options, LIST(a->map));
  if (kinds[k].code == MAFAT_TFLITE_SOFTMAX)
    o->fields[o->n_fields++] =
        (struct test_tflite_field){.number = 0, .bytes = 4, .real = chance(a, 95) ? 1 : -1};
}

static void resize(author *a)
{
  bool nearest = chance(a, 50);
  int size = add_ints(a, LIST(PICK(a, 1, 4, 8, 20, 3), PICK(a, 1, 4, 8, 17, 5)));
  struct test_tflite_operator *o =
      nearest ? add(a, MAFAT_TFLITE_RESIZE_NEAREST_NEIGHBOR, 74, LIST(a->map, size))
              : add(a, MAFAT_TFLITE_RESIZE_BILINEAR, 15, LIST(a->map, size));
  option(a, o, nearest ? 0 : 2, 1, PICK(a, 0, 0, 1));
  option(a, o, nearest ? 1 : 3, 1, PICK(a, 0, 0, 1));
}

static void join(author *a)
{
  int extents[TEST_TFLITE_RANK];
  for (int i = 0; i < a->shape.rank; i++) extents[i] = a->shape.list[i];
  int other = chance(a, 60) ? a->map : add_constant(a, a->shape.rank, extents);
  bool packs = chance(a, 30);
  struct test_tflite_operator *o =
      packs ? add(a, MAFAT_TFLITE_PACK, 59, LIST(a->map, other))
            : add(a, MAFAT_TFLITE_CONCATENATION, 10, LIST(a->map, other));
  if (packs) option(a, o, 0, 4, 2);
  option(a, o, packs, 4, PICK(a, 0, 1, 2, 3, -1, -2));
  if (!packs) option(a, o, 1, 1, fused(a));
}

static void reshape(author *a)
{
  int extents[MOST_RANK], rank = PICK(a, 1, 2, 3, 4), left = elements(a);
  for (int i = 0; i < rank; i++) {
    extents[i] = i == rank - 1 ? left : left % 2 == 0 && chance(a, 50) ? 2 : 1;
    left /= extents[i] ? extents[i] : 1;
  }
  if (chance(a, 30)) extents[test_random_int(&a->rng, 0, rank - 1)] = -1;
  int to = add_ints(a, rank, extents);
  add(a, MAFAT_TFLITE_RESHAPE, 17, LIST(a->map, to));
  a->shape.rank = rank;
  for (int i = 0; i < rank; i++) a->shape.list[i] = extents[i] > 0 ? extents[i] : 1;
}

static void name_dimensions(author *a)
{
  int axis = PICK(a, 0, 1, 2, -1, 4, a->shape.rank);
  if (chance(a, 50)) {
    int place = add_ints(a, 1, &axis);
    add(a, MAFAT_TFLITE_EXPAND_DIMS, 0, LIST(a->map, place));
    return;
  }
  struct test_tflite_operator *o = add(a, MAFAT_TFLITE_SQUEEZE, 30, LIST(a->map));
  if (chance(a, 60))
    o->fields[o->n_fields++] = (struct test_tflite_field){.number = 0, .n = 2, .list = {0, axis}};
}

static void transpose(author *a)
{
  int order[TEST_TFLITE_RANK], n = a->shape.rank;
  for (int i = 0; i < n; i++) order[i] = i;
  for (int i = n - 1; i > 0; i--) {
    int k = test_random_int(&a->rng, 0, i), kept = order[i];
    order[i] = order[k];
    order[k] = kept;
  }
  int list = add_ints(a, n, order);
  add(a, MAFAT_TFLITE_TRANSPOSE, 0, LIST(a->map, list));
}

static void surround(author *a)
{
  int pads[2 * TEST_TFLITE_RANK], n = a->shape.rank,
                                  code = PICK(a, MAFAT_TFLITE_PAD, MAFAT_TFLITE_PAD,
                                              MAFAT_TFLITE_PADV2, MAFAT_TFLITE_MIRROR_PAD);
  for (int i = 0; i < 2 * n; i++) pads[i] = chance(a, 60) ? 0 : PICK(a, 1, 1, 2, 3, 9);
  int list = add_ints(a, 2 * n, pads);
  struct test_tflite_tensor *t = &a->tensors[list];
  if (t->rank == 1 && t->shape[0] % 2 == 0) t->rank = 2, t->shape[0] /= 2, t->shape[1] = 2;
  int fill = code == MAFAT_TFLITE_PADV2 ? add_constant(a, 0, NULL) : -1;
  struct test_tflite_operator *o = add(a, code, code == MAFAT_TFLITE_MIRROR_PAD ? 77 : 0,
                                       fill < 0 ? 2 : 3, (const int[]){a->map, list, fill});
  if (fill >= 0 && a->type != MAFAT_TFLITE_FLOAT32 && chance(a, 80)) {
    memcpy(a->scales[fill], a->scales[a->map], sizeof *a->scales);
    memcpy(a->zeros[fill], a->zeros[a->map], sizeof *a->zeros);
  }
  if (code == MAFAT_TFLITE_MIRROR_PAD) option(a, o, 0, 1, PICK(a, 0, 1));
}

static void block(author *a)
{
  struct test_tflite_operator *o = chance(a, 50)
                                       ? add(a, MAFAT_TFLITE_DEPTH_TO_SPACE, 94, LIST(a->map))
                                       : add(a, MAFAT_TFLITE_SPACE_TO_DEPTH, 19, LIST(a->map));
  option(a, o, 0, 4, PICK(a, 1, 2, 2, 4));
}

static void reduce(author *a)
{
  int axes[3], n = PICK(a, 1, 1, 2, 3);
  for (int i = 0; i < n; i++) axes[i] = PICK(a, 0, 1, 2, 3, -1, -2);
  int list = add_ints(a, n, axes);
  struct test_tflite_operator *o =
      add(a,
          PICK(a, MAFAT_TFLITE_MEAN, MAFAT_TFLITE_MEAN, MAFAT_TFLITE_SUM, MAFAT_TFLITE_REDUCE_MAX,
               MAFAT_TFLITE_REDUCE_MIN),
          27, LIST(a->map, list));
  option(a, o, 0, 1, PICK(a, 0, 1));
}

static void gather(author *a)
{
  int places[5], n = PICK(a, 1, 2, 3, 5);
  for (int i = 0; i < n; i++) places[i] = PICK(a, 0, 1, 0, channels(a) - 1);
  int list = add_ints(a, n, places);
  struct test_tflite_operator *o = add(a, MAFAT_TFLITE_GATHER, 23, LIST(a->map, list));
  option(a, o, 0, 4, PICK(a, 0, 1, 2, 3, -1));
}

static void slice(author *a)
{
  int begins[TEST_TFLITE_RANK], ends[TEST_TFLITE_RANK], steps[TEST_TFLITE_RANK], n = a->shape.rank;
  bool strided = chance(a, 50);
  for (int i = 0; i < n; i++) {
    begins[i] = chance(a, 60) ? 0 : PICK(a, 1, 2, -1);
    ends[i] = chance(a, 50) ? (strided ? a->shape.list[i] : -1) : PICK(a, 1, 2, a->shape.list[i]);
    steps[i] = chance(a, 70) ? 1 : PICK(a, 2, -1, 3);
  }
  int b = add_ints(a, n, begins), e = add_ints(a, n, ends), s = add_ints(a, n, steps);
  struct test_tflite_operator *o =
      add(a, strided ? MAFAT_TFLITE_STRIDED_SLICE : MAFAT_TFLITE_SLICE, strided ? 32 : 48,
          strided ? 4 : 3, (const int[]){a->map, b, e, s});
  if (!strided) return;
  option(a, o, 0, 4, PICK(a, 0, 0, 1, 15));
  option(a, o, 1, 4, PICK(a, 0, 0, 1, 15));
  option(a, o, 4, 4, PICK(a, 0, 0, 1, 2));
}

static void split(author *a)
{
  int axis = PICK(a, 0, 1, 2, 3, -1), n = PICK(a, 1, 2, 3, 4), sizes[4],
      how = test_random_int(&a->rng, 0, 2), in = a->map;
  for (int i = 0; i < n; i++) sizes[i] = PICK(a, 1, 2, 4, -1);
  int place = add_ints(a, 1, &axis), list = add_ints(a, n, sizes);
  struct test_tflite_operator *o = how == 0 ? add(a, MAFAT_TFLITE_SPLIT, 35, LIST(place, in))
                                   : how == 1
                                       ? add(a, MAFAT_TFLITE_SPLIT_V, 79, LIST(in, list, place))
                                       : add(a, MAFAT_TFLITE_UNPACK, 64, LIST(in));
  option(a, o, 0, 4, n);
  if (how == 2) option(a, o, 1, 4, axis);
  for (o->n_outputs = 1; o->n_outputs < n; o->n_outputs++) o->outputs[o->n_outputs] = add_map(a);
  a->map = o->outputs[test_random_int(&a->rng, 0, n - 1)];
}

static void multiply(author *a)
{
  const int extents[2] = {channels(a), PICK(a, 1, 3, 4)};
  int other = chance(a, 40) ? a->map : add_constant(a, 2, extents);
  struct test_tflite_operator *o = add(a, MAFAT_TFLITE_BATCH_MATMUL, 101, LIST(a->map, other));
  option(a, o, 0, 1, PICK(a, 0, 0, 1));
  option(a, o, 1, 1, PICK(a, 0, 0, 1));
}

/* Adds x * LOGISTIC(x), which importers fuse into one layer. */
static void swish(author *a)
{
  int x = a->map;
  add(a, MAFAT_TFLITE_LOGISTIC, 0, LIST(x));
  struct test_tflite_operator *o = add(a, MAFAT_TFLITE_MUL, 21, LIST(x, a->map));
  option(a, o, 0, 1, fused(a));
}

/* ---- files ---- */

/* Puts QUANTIZE after a float input, or DEQUANTIZE before a float output, so that random_graphs'
 * frames contain only floats. Returns the float tensor. */
static int with_floats(author *a, bool in, int map)
{
  int floats = add_tensor(a, MAFAT_TFLITE_FLOAT32, a->tensors[map].rank, a->tensors[map].shape);
  struct test_tflite_operator *o = &a->operators[a->n_operators++];
  *o = (struct test_tflite_operator){
      .code = in ? MAFAT_TFLITE_QUANTIZE : MAFAT_TFLITE_DEQUANTIZE, .n_inputs = 1, .n_outputs = 1};
  o->inputs[0] = in ? floats : map;
  o->outputs[0] = in ? map : floats;
  return floats;
}

char *graph_write_strange(uint64_t number, size_t *n)
{
  static void (*const kinds[])(author *) = {
      convolve,      convolve, convolve_depthwise, convolve_transposed, pool,          pool,
      connect,       combine, combine,       compute, resize,        join,
      reshape,       name_dimensions, transpose,     surround, surround,      block,
      reduce,        gather, slice,         slice, split,         multiply, swish};
  static const struct extents inputs[] = {{4, {1, 8, 8, 4}}, {4, {1, 5, 6, 3}},  {2, {1, 12}},
                                          {3, {1, 6, 8}},    {4, {1, 1, 1, 16}}, {4, {1, 7, 3, 1}}};
  author a = {.rng = graph_random(0x57a6000000 + number)};
  a.type = PICK(&a, MAFAT_TFLITE_FLOAT32, MAFAT_TFLITE_FLOAT32, MAFAT_TFLITE_INT8,
                MAFAT_TFLITE_INT8, MAFAT_TFLITE_UINT8);
  a.shape = inputs[test_random_int(&a.rng, 0, (int)(sizeof inputs / sizeof *inputs) - 1)];
  a.map = add_tensor(&a, a.type, a.shape.rank, a.shape.list);
  if (a.type != MAFAT_TFLITE_FLOAT32) set_scales(&a, a.map, 1, 0);
  int in = a.type == MAFAT_TFLITE_FLOAT32 ? a.map : with_floats(&a, true, a.map),
      operators = PICK(&a, 1, 1, 2, 3);
  for (int i = 0; i < operators; i++)
    kinds[test_random_int(&a.rng, 0, (int)(sizeof kinds / sizeof *kinds) - 1)](&a);
  int out = a.type == MAFAT_TFLITE_FLOAT32 ? a.map : with_floats(&a, false, a.map);
  const struct test_tflite_model m = {.tensors = a.tensors,
                                      .operators = a.operators,
                                      .n_tensors = a.n_tensors,
                                      .n_operators = a.n_operators,
                                      .n_inputs = 1,
                                      .inputs = {in},
                                      .n_outputs = 1,
                                      .outputs = {out}};
  char *data = test_tflite_write(&m, n);
  for (int i = 0; i < MOST_TENSORS; i++) free(a.data[i]);
  return data;
}
