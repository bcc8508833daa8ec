#!/usr/bin/env bash
# Checks integer models. First with one error: invalid scales, zero points and biases are reported
# in one line with the operator's name, in every format and program. Then how pictures become their
# inputs.
set -u
# shellcheck disable=SC2034 # by tests/check.sh
suite=numbers
# shellcheck source=tests/model_files.sh
. tests/model_files.sh
cd "$dir" || exit 1

# write FORMAT [WHAT VALUE]: a convolution of two filters with WHAT changed; VALUE has as many
# scales, zero points or biases as are written.
writer write onnx_writer.c tflite_writer.c <<'C'
#include "tests/support/onnx_writer.h"
#include "tests/support/tflite_writer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { FLOAT = 1, UINT8, INT8, INT32 = 6, TFLITE_INT8 = 9, TFLITE_INT32 = 2 };
static double x_scale = .0371, x_zero = 4, y_scale = .0913, y_zero = -7, w_scale = .0117, w_last = .0234, w_zero = 0;
static double w_scales = 2, w_zeros = 2, biases = 2, x_scales = 1, x_zeros = 1;
static const struct { const char *name; double *value; } all[] = {
  {"x_scale", &x_scale}, {"x_zero", &x_zero}, {"y_scale", &y_scale}, {"y_zero", &y_zero}, {"w_scale", &w_scale}, {"w_last", &w_last},
  {"w_zero", &w_zero}, {"w_scales", &w_scales}, {"w_zeros", &w_zeros}, {"biases", &biases}, {"x_scales", &x_scales}, {"x_zeros", &x_zeros}};
static const int64_t x[] = {1, 3, 6, 6}, w[] = {2, 3, 3, 3}, y[] = {1, 2, 4, 4};
static double weights[54], bias[4] = {100, -100, 50, 7};
static void fill(double first, double last, double *list, int n)
{
  for (int i = 0; i < 4; i++) list[i] = i == n - 1 && n > 1 ? last : first;
}
static void number(struct test_message *g, const char *name, int type, double n, const double *values)
{
  const int64_t dims[] = {(int64_t)n};
  test_onnx_initializer(g, &(struct test_onnx_tensor){.name = name, .type = type, .rank = n != 1, .dims = dims, .values = values,
                        .style = type == FLOAT ? TEST_ONNX_RAW : TEST_ONNX_TYPED});
}
static void put_constants(struct test_message *g, int linear)
{
  static double list[5][4];
  fill(x_scale, x_scale, list[0], 1), fill(x_zero, x_zero, list[1], 1);
  fill(w_scale, w_last, list[2], (int)w_scales), fill(w_zero, w_zero, list[3], 1);
  number(g, "xs", FLOAT, x_scales, list[0]);
  number(g, "xz", UINT8, x_zeros, list[1]);
  number(g, "ys", FLOAT, 1, &y_scale);
  number(g, "yz", INT8, 1, &y_zero);
  number(g, "ws", FLOAT, w_scales, list[2]);
  number(g, "wz", INT8, w_zeros, list[3]);
  number(g, linear ? "b" : "qb", INT32, biases, bias);
  test_onnx_initializer(g, &(struct test_onnx_tensor){.name = "w", .type = INT8, .rank = 4, .dims = w, .values = weights});
}
static void write_onnx(int linear)
{
  static const double one = .0004, none = 0;
  struct test_message g = {0};
  put_constants(&g, linear);
  test_onnx_add(&g, "QuantizeLinear", "x xs xz", "q", "");
  if (linear) {
    test_onnx_add(&g, "QLinearConv", "q xs xz w ws wz ys yz b", "c", "");
  } else {
    number(&g, "bs", FLOAT, 1, &one);
    number(&g, "bz", INT32, 1, &none);
    test_onnx_add(&g, "DequantizeLinear", "q xs xz", "d", "");
    test_onnx_add(&g, "DequantizeLinear", "w ws wz", "dw", "axis=0");
    test_onnx_add(&g, "DequantizeLinear", "qb bs bz", "db", "");
    test_onnx_add(&g, "Conv", "d dw db", "f", "");
    test_onnx_add(&g, "QuantizeLinear", "f ys yz", "c", "");
  }
  test_onnx_add(&g, "DequantizeLinear", "c ys yz", "y", "");
  test_onnx_input(&g, "x", 4, x);
  test_onnx_output(&g, "y", 4, y);
  struct test_message file = test_onnx_model(&g, 17);
  fwrite(file.data, 1, file.n, stdout);
}
static void write_tflite(void)
{
  static signed char bytes[54];
  static int32_t words[4];
  static float scales[3][4];
  static int64_t zeros[3][4];
  const double *const first[] = {&x_scale, &w_scale, &y_scale}, *const zero[] = {&x_zero, &w_zero, &y_zero};
  for (int i = 0; i < 54; i++) bytes[i] = (signed char)weights[i];
  for (int i = 0; i < 4; i++) words[i] = (int32_t)bias[i];
  for (int t = 0; t < 3; t++)
    for (int i = 0; i < 4; i++) {
      scales[t][i] = (float)(t == 1 && i && i == (int)w_scales - 1 ? w_last : *first[t]);
      zeros[t][i] = (int64_t)*zero[t];
    }
  const struct test_tflite_tensor tensors[] = {
    {.name = "x", .type = TFLITE_INT8, .rank = 4, .shape = {1, 6, 6, 3}, .n_scales = (int)x_scales, .scales = scales[0], .n_zero_points = (int)x_zeros, .zero_points = zeros[0]},
    {.name = "w", .type = TFLITE_INT8, .rank = 4, .shape = {2, 3, 3, 3}, .data = bytes, .bytes = 54, .n_scales = (int)w_scales, .scales = scales[1], .n_zero_points = (int)w_zeros, .zero_points = zeros[1]},
    {.name = "b", .type = TFLITE_INT32, .rank = 1, .shape = {(int)biases}, .data = words, .bytes = 4 * (size_t)biases},
    {.name = "y", .type = TFLITE_INT8, .rank = 4, .shape = {1, 4, 4, 2}, .n_scales = 1, .scales = scales[2], .n_zero_points = 1, .zero_points = zeros[2]}};
  const struct test_tflite_operator conv = {.code = 3, .n_inputs = 3, .inputs = {0, 1, 2}, .n_outputs = 1, .outputs = {3}, .options = 1, .n_fields = 3,
    .fields = {{.number = 0, .bytes = 1, .value = 1}, {.number = 1, .bytes = 4, .value = 1}, {.number = 2, .bytes = 4, .value = 1}}};
  const struct test_tflite_model model = {.tensors = tensors, .n_tensors = 4, .operators = &conv, .n_operators = 1, .n_inputs = 1, .inputs = {0}, .n_outputs = 1, .outputs = {3}};
  size_t n;
  char *data = test_tflite_write(&model, &n);
  fwrite(data, 1, n, stdout);
}
int main(int argc, char **argv)
{
  for (int i = 0; i < 54; i++) weights[i] = i * 37 % 255 - 127;
  for (size_t k = 0; argc > 3 && k < sizeof all / sizeof *all; k++)
    if (strcmp(all[k].name, argv[2]) == 0) *all[k].value = strtod(argv[3], NULL);
  if (strcmp(argv[1], "tflite") == 0) write_tflite();
  else write_onnx(strcmp(argv[1], "qlinear.onnx") == 0);
  return 0;
}
C

program=$build/run_inference
head -c 432 /dev/zero >floats.raw
head -c 108 /dev/zero >numbers.raw
for format in tflite qdq.onnx qlinear.onnx; do
  ./write $format >good.$format
  input=floats.raw
  [ $format != tflite ] || input=numbers.raw
  run --quiet --input $input --dump-output good.raw good.$format
  expect "$format, nothing wrong" 0
  "$build/pack_weights" good.$format good.$format.packed >out 2>err || fail "$format, packed" "$(cat err)"
done

# The change, and the messages for TFLite, QDQ and QLinear.
while IFS='|' read -r what value tflite qdq qlinear; do
  for format in tflite qdq.onnx qlinear.onnx; do
    case $format in
    tflite) says=$tflite ;;
    qdq.onnx) says=${qdq:-$tflite} ;;
    *) says=${qlinear:-${qdq:-$tflite}} ;;
    esac
    [ "$says" != - ] || continue # not expressible in this format, or valid
    ./write $format "$what" "$value" >bad.$format
    rm -f bad.packed
    for command in "run_inference --predict --decode none" "run_inference --quiet --input floats.raw" "pack_weights"; do
      read -ra words <<<"$command"
      program=$build/${words[0]}
      [ "$command" != pack_weights ] || words+=(--force)
      if [ "$command" = pack_weights ]; then run --force bad.$format bad.packed; else run "${words[@]:1}" bad.$format; fi
      expect "$format, $what $value: ${words[0]} ${words[1]-}" 2 "$says"
      case $format in
      tflite) grep -q "'y'\|tensor x\|tensor y" err || fail "$format, $what $value" "no name: $(cat err)" ;;
      *) grep -q "node [0-9]\|tensor \"[xyw]z\"" err || fail "$format, $what $value" "no node: $(cat err)" ;;
      esac
    done
    [ ! -e bad.packed ] || fail "$format, $what $value" 'a packed file is there'
  done
done <<'END'
x_scale|0|scale 0: expected a finite number above 0, found 0
x_scale|-0.5|scale 0: expected a finite number above 0, found -0.5
x_scale|nan|scale 0: expected a finite number above 0, found nan
x_scale|inf|scale 0: expected a finite number above 0, found inf
y_scale|0|scale 0: expected a finite number above 0, found 0
y_scale|-1|scale 0: expected a finite number above 0, found -1
y_scale|nan|expected a finite number above 0, found nan
y_scale|-inf|expected a finite number above 0, found -inf
w_scale|0|scale 0: expected a finite number above 0, found 0
w_last|0|scale 1: expected a finite number above 0, found 0
w_last|nan|scale 1: expected a finite number above 0, found nan
w_last|inf|scale 1: expected a finite number above 0, found inf
w_last|-1|-|scale 1: expected a finite number above 0, found -1
w_last|1e30|a multiplier of 2^30 or more|a multiplier of 2^30 or more
y_scale|1e-30|a multiplier of 2^30 or more|-|its scales and zero points: not run by this version
x_zero|300|zero point 0: expected -128 to 127, found 300|300 is out of range of type uint8
x_zero|-129|zero point 0: expected -128 to 127, found -129|-129 is out of range of type uint8
y_zero|128|zero point 0: expected -128 to 127, found 128|128 is out of range of type int8
w_zero|-129|zero point 0: expected -128 to 127, found -129|-129 is out of range of type int8
w_zero|1|expected a zero point of 0, found 1|-
w_scales|3|expected as many zero points as scales, found 2 and 3|expected as many zero points as scales, found 2 and 3
w_scales|1|expected as many zero points as scales, found 2 and 1|expected as many zero points as scales, found 2 and 1
w_zeros|3|expected as many zero points as scales, found 3 and 2
x_scales|2|expected one scale, found 2|expected as many zero points as scales, found 1 and 2
x_scales|0|expected a scale, found none|-
biases|3|expected 2 biases, found 3
biases|4|expected 2 biases, found 4
END

# A packed file has them in its embedded graph, so changes are noticed.
program=$build/run_inference
for format in tflite qdq.onnx qlinear.onnx; do
  for scale in '\x2b\xf6\x17\x3d' '\x7f\xfb\xba\x3d' '\x5b\xb1\xbf\x3c'; do # .0371, .0913, .0234
    at=$(LC_ALL=C grep -obUaP "$scale" good.$format.packed | head -n 1)
    [ -n "$at" ] || { fail "$format, packed" "has no scale $scale"; continue; }
    for bytes in '\0\0\0\0' '\0\0\300\177' '\0\0\200\277'; do # 0, not a number, -1
      cp good.$format.packed bad.packed
      # shellcheck disable=SC2059 # octal numbers
      printf "$bytes" | dd of=bad.packed bs=1 seek="${at%%:*}" conv=notrunc 2>dd.log
      run --predict --decode none bad.packed
      expect "$format, packed, a scale is changed" 2 bad.packed
    done
  done
done

# Pictures: a network that returns its input gets each byte converted as the options say, rounded
# once to the input's scale; the same as from a raw file. pictures TYPE SCALE ZERO CHANNELS: the
# model, picture.ppm, and the expected values for MEAN FACTOR ORDER.
writer pictures tflite_writer.c <<'C'
#include "tests/support/tflite_writer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { H = 5, W = 7, RGB = 3, UINT8 = 3, INT8 = 9, MAX_POOL = 17 };
static unsigned char byte(int y, int x, int c) { return (unsigned char)(y * 71 + x * 37 + c * 101 + (y * x) % 5); }
static int nearest(float x) { return (int)((double)x + (x < 0 ? -.5 : .5)); }
static void write_model(int type, float scale, int64_t zero, int channels)
{
  const struct test_tflite_tensor one = {.name = "x", .type = type, .rank = 4, .shape = {1, H, W, channels}, .n_scales = 1, .scales = &scale, .n_zero_points = 1, .zero_points = &zero};
  struct test_tflite_tensor tensors[] = {one, one};
  tensors[1].name = "y";
  const struct test_tflite_operator pool = {.code = MAX_POOL, .n_inputs = 1, .inputs = {0}, .n_outputs = 1, .outputs = {1}, .options = 5, .n_fields = 5,
    .fields = {{.number = 0, .bytes = 1, .value = 1}, {.number = 1, .bytes = 4, .value = 1}, {.number = 2, .bytes = 4, .value = 1}, {.number = 3, .bytes = 4, .value = 1}, {.number = 4, .bytes = 4, .value = 1}}};
  const struct test_tflite_model model = {.tensors = tensors, .n_tensors = 2, .operators = &pool, .n_operators = 1, .n_inputs = 1, .inputs = {0}, .n_outputs = 1, .outputs = {1}};
  size_t n;
  char *data = test_tflite_write(&model, &n);
  fwrite(data, 1, n, stdout);
}
static void write_picture(void)
{
  printf("P6\n%d %d\n255\n", W, H);
  for (int i = 0; i < H * W * RGB; i++) putchar(byte(i / RGB / W, i / RGB % W, i % RGB));
}
int main(int argc, char **argv)
{
  int is_signed = argc > 4 && strcmp(argv[2], "int8") == 0, channels = argc > 5 ? atoi(argv[5]) : 0;
  float scale = argc > 3 ? strtof(argv[3], NULL) : 1;
  if (strcmp(argv[1], "picture") == 0) write_picture();
  if (strcmp(argv[1], "model") == 0) write_model(is_signed ? INT8 : UINT8, scale, atoi(argv[4]), channels);
  for (int i = 0; strcmp(argv[1], "numbers") == 0 && i < H * W * channels; i++) {
    int c = strcmp(argv[8], "bgr") == 0 ? RGB - 1 - i % channels : i % channels, zero = atoi(argv[4]);
    float real = ((float)byte(i / channels / W, i / channels % W, c) - strtof(argv[6], NULL)) * strtof(argv[7], NULL);
    int least = is_signed ? -128 : 0, number = zero + nearest(real / scale);
    putchar(number < least ? least : number > least + 255 ? least + 255 : number);
  }
  return 0;
}
C
./pictures picture >picture.ppm
while read -r type scale zero mean factor order; do
  name="a picture as $type of $scale from $zero, $mean $factor $order"
  ./pictures model "$type" "$scale" "$zero" 3 >identity.tflite
  ./pictures numbers "$type" "$scale" "$zero" 3 "$mean" "$factor" "$order" >numbers.raw
  run --quiet --decode none --input numbers.raw --dump-output from_numbers.raw identity.tflite
  expect "$name: its numbers" 0
  for options in '' '--plan rows1/NoCut' '--threads 2 --cpu portable'; do
    read -ra words <<<"$options"
    run --quiet --decode none --mean "$mean" --scale "$factor" --channels "$order" --dump-output from_picture.raw ${words+"${words[@]}"} identity.tflite picture.ppm
    expect "$name $options" 0
    check "$name $options: the same" 'they differ' cmp from_numbers.raw from_picture.raw
  done
  check "$name: not all alike" 'they are' test "$(od -An -v -tx4 -w4 from_numbers.raw | sort -u | wc -l)" -gt 8
done <<'END'
uint8 0.0078125 128 127.5 0.0078125 rgb
uint8 0.00390625 0 0 0.00390625 bgr
int8 0.00390625 -128 0 0.00390625 rgb
int8 0.0186584 -14 123.675 0.0171 bgr
int8 0.5 3 0 1 rgb
uint8 3 7 100 2 rgb
END
exit $failed
