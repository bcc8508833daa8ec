/* Writes small picture models into a folder, for check.py: picture.onnx, picture.tflite,
 * integers.tflite (integer layers), boxes.onnx (with a detection head). */
#include "tests/support/onnx_writer.h"
#include "tests/support/tflite_writer.h"

#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 32, FILTERS = 8, TAPS = 9 * 3 * FILTERS, FLOAT32 = 0, INT32 = 2, INT8 = 9 };

static double numbers[TAPS];

static int write_file(const char *folder, const char *name, const void *data, size_t n)
{
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "wb");
  size_t written = file ? fwrite(data, 1, n, file) : 0;
  return file && fclose(file) == 0 && written == n ? 0 : 1;
}

static int write_onnx(const char *folder)
{
  static const int64_t x[] = {1, 3, SIDE, SIDE}, w[] = {FILTERS, 3, 3, 3}, d[] = {FILTERS, 1, 3, 3},
                       y[] = {1, FILTERS, 1, 1};
  struct test_message g = {0};
  test_onnx_input(&g, "x", 4, x);
  test_onnx_floats(&g, "w", 4, w, numbers);
  test_onnx_floats(&g, "d", 4, d, numbers);
  test_onnx_add(&g, "Conv", "x w", "c", "pads=[1,1,1,1]");
  test_onnx_add(&g, "Relu", "c", "r", "");
  test_onnx_add(&g, "Conv", "r d", "e", "pads=[1,1,1,1] group=8");
  test_onnx_add(&g, "Sigmoid", "e", "s", "");
  test_onnx_add(&g, "ReduceMean", "s", "m", "axes=[2,3]");
  test_onnx_add(&g, "Softmax", "m", "y", "axis=1");
  test_onnx_output(&g, "y", 4, y);
  struct test_message file = test_onnx_model(&g, 13);
  return write_file(folder, "picture.onnx", file.data, file.n);
}

static int write_boxes(const char *folder)
{
  static const int64_t x[] = {1, 3, 7};
  struct test_message g = {0};
  test_onnx_input(&g, "x", 3, x);
  test_onnx_add(&g, "Relu", "x", "y", "");
  test_onnx_output(&g, "y", 3, x);
  struct test_message file = test_onnx_model(&g, 13);
  return write_file(folder, "boxes.onnx", file.data, file.n);
}

/* A convolution, a 2 x 2 maxpool and a logistic function. */
static int write_tflite(const char *folder, const char *name, int type)
{
  static float floats[TAPS], scales[] = {.0371f, .0117f, .0913f, 1.f / 256};
  static signed char bytes[TAPS];
  static int32_t zeros[FILTERS];
  static int64_t points[] = {4, 0, -7, -128};
  for (int i = 0; i < TAPS; i++)
    floats[i] = (float)numbers[i], bytes[i] = (signed char)(i * 37 % 255 - 127);
#define SCALE(i) \
  .n_scales = type == INT8, .scales = &scales[i], .n_zero_points = type == INT8, \
  .zero_points = &points[i]
  const struct test_tflite_tensor tensors[] = {
      {.name = "x", .type = type, .rank = 4, .shape = {1, SIDE, SIDE, 3}, SCALE(0)},
      {.name = "w",
       .type = type,
       .rank = 4,
       .shape = {FILTERS, 3, 3, 3},
       .data = type == INT8 ? (void *)bytes : floats,
       .bytes = type == INT8 ? sizeof bytes : sizeof floats,
       SCALE(1)},
      {.name = "b",
       .type = type == INT8 ? INT32 : FLOAT32,
       .rank = 1,
       .shape = {FILTERS},
       .data = zeros,
       .bytes = sizeof zeros},
      {.name = "c", .type = type, .rank = 4, .shape = {1, SIDE, SIDE, FILTERS}, SCALE(2)},
      {.name = "p", .type = type, .rank = 4, .shape = {1, SIDE / 2, SIDE / 2, FILTERS}, SCALE(2)},
      {.name = "y", .type = type, .rank = 4, .shape = {1, SIDE / 2, SIDE / 2, FILTERS}, SCALE(3)}};
#define FIELD(n, size, v) {.number = n, .bytes = size, .value = v}
  const struct test_tflite_operator operators[] = {
      {.code = 3,
       .n_inputs = 3,
       .inputs = {0, 1, 2},
       .n_outputs = 1,
       .outputs = {3},
       .options = 1,
       .n_fields = 3,
       .fields = {FIELD(0, 1, 0), FIELD(1, 4, 1), FIELD(2, 4, 1)}},
      {.code = 17,
       .n_inputs = 1,
       .inputs = {3},
       .n_outputs = 1,
       .outputs = {4},
       .options = 5,
       .n_fields = 5,
       .fields = {FIELD(0, 1, 1), FIELD(1, 4, 2), FIELD(2, 4, 2), FIELD(3, 4, 2), FIELD(4, 4, 2)}},
      {.code = 14, .n_inputs = 1, .inputs = {4}, .n_outputs = 1, .outputs = {5}}};
  const struct test_tflite_model model = {.tensors = tensors,
                                          .n_tensors = 6,
                                          .operators = operators,
                                          .n_operators = 3,
                                          .n_inputs = 1,
                                          .inputs = {0},
                                          .n_outputs = 1,
                                          .outputs = {5}};
  size_t n;
  char *data = test_tflite_write(&model, &n);
  int failed = data ? write_file(folder, name, data, n) : 1;
  free(data);
  return failed;
}

int main(int argc, char **argv)
{
  if (argc != 2) {
    fputs("usage: parts_models FOLDER\n", stderr);
    return 2;
  }
  for (int i = 0; i < TAPS; i++) numbers[i] = (i * 37 % 64 - 32) / 64.;
  return write_onnx(argv[1]) | write_boxes(argv[1]) |
         write_tflite(argv[1], "picture.tflite", FLOAT32) |
         write_tflite(argv[1], "integers.tflite", INT8);
}
