/* Covers formats/tflite/quantized.c, formats/graph/integers.c, network/kinds/activation.c: networks
 * made from quantized .tflite models: scales and zero points are read, and invalid ones refused. */
#include "formats/tflite/import.h"
#include "formats/tflite/model.h"
#include "network/constant.h"
#include "tests/support/network_files.h"
#include "tests/support/imported.h"
#include "tests/support/tflite_writer.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

Suite *tflite_quantized_suite(void);

enum { X, WEIGHTS, BIAS, Y, AXES, MEAN, N_TENSORS };

static struct mafat_diagnostic diagnostic;

/* ---- a convolution with a scale for each filter, and a mean ---- */

static signed char weights[2 * 3 * 3 * 3];
static const int32_t bias[] = {7, -7}, axes[] = {1, 2};
static float scales[N_TENSORS][3];
static int64_t zeros[N_TENSORS][3];
static struct test_tflite_tensor tensors[N_TENSORS];
static struct test_tflite_operator operators[2];

static void quantize(int tensor, int type, float scale, int64_t zero)
{
  struct test_tflite_tensor *t = &tensors[tensor];
  scales[tensor][0] = scale, zeros[tensor][0] = zero;
  t->type = type;
  t->n_scales = t->n_zero_points = 1;
  t->scales = scales[tensor];
  t->zero_points = zeros[tensor];
}

static void begin(int type)
{
  bool is_signed = type == MAFAT_TFLITE_INT8;
  tensors[X] = (struct test_tflite_tensor){.name = "x", .rank = 4, .shape = {1, 6, 6, 3}};
  tensors[WEIGHTS] = (struct test_tflite_tensor){
      .name = "w", .rank = 4, .shape = {2, 3, 3, 3}, .data = weights, .bytes = sizeof weights};
  tensors[BIAS] = (struct test_tflite_tensor){.name = "b",
                                              .type = MAFAT_TFLITE_INT32,
                                              .rank = 1,
                                              .shape = {2},
                                              .data = bias,
                                              .bytes = sizeof bias};
  tensors[Y] = (struct test_tflite_tensor){.name = "y", .rank = 4, .shape = {1, 6, 6, 2}};
  tensors[AXES] = (struct test_tflite_tensor){.name = "a",
                                              .type = MAFAT_TFLITE_INT32,
                                              .rank = 1,
                                              .shape = {2},
                                              .data = axes,
                                              .bytes = sizeof axes};
  tensors[MEAN] = (struct test_tflite_tensor){.name = "m", .rank = 2, .shape = {1, 2}};
  quantize(X, type, .5f, is_signed ? -10 : 118);
  quantize(WEIGHTS, type, .25f, is_signed ? 0 : 131);
  quantize(Y, type, .125f, is_signed ? 5 : 133);
  quantize(MEAN, type, .0625f, is_signed ? -128 : 0);
  operators[0] = (struct test_tflite_operator){
      .code = MAFAT_TFLITE_CONV_2D,
      .n_inputs = 3,
      .inputs = {X, WEIGHTS, BIAS},
      .n_outputs = 1,
      .outputs = {Y},
      .options = 1,
      .n_fields = 4,
      .fields = {{.number = 0, .bytes = 1},
                 {.number = 1, .bytes = 4, .value = 1},
                 {.number = 2, .bytes = 4, .value = 1},
                 {.number = 3, .bytes = 1, .value = MAFAT_TFLITE_FUSED_RELU6}}};
  operators[1] = (struct test_tflite_operator){.code = MAFAT_TFLITE_MEAN,
                                               .n_inputs = 2,
                                               .inputs = {Y, AXES},
                                               .n_outputs = 1,
                                               .outputs = {MEAN}};
}

static void scale_each_filter(float first, float second)
{
  scales[WEIGHTS][0] = first, scales[WEIGHTS][1] = second;
  zeros[WEIGHTS][1] = 0;
  tensors[WEIGHTS].n_scales = tensors[WEIGHTS].n_zero_points = 2;
}

static struct test_imported import(void)
{
  const struct test_tflite_model model = {.tensors = tensors,
                                          .n_tensors = N_TENSORS,
                                          .operators = operators,
                                          .n_operators = 2,
                                          .n_inputs = 1,
                                          .inputs = {X},
                                          .n_outputs = 1,
                                          .outputs = {MEAN}};
  return test_import_tflite(&model, &diagnostic);
}

static void check_numbers(const struct mafat_layer *l, float scale, int zero, int least, int most)
{
  const struct mafat_quantization *q = &l->quantization;
  ck_assert_int_eq(l->out_type, MAFAT_U8);
  ck_assert_msg(q->scale == scale && q->zero == zero && q->least == least && q->most == most,
                "found scale %g, zero point %d, bounds %d and %d", (double)q->scale, q->zero,
                q->least, q->most);
}

/* int8 tensors are imported as uint8. Their zero points and bounds become greater by 128. */
START_TEST(signed_integers_become_unsigned)
{
  begin(MAFAT_TFLITE_INT8);
  scale_each_filter(.25f, -.75f);
  struct test_imported m = import();
  ck_assert_msg(m.code == MAFAT_OK, "%s", diagnostic.text);
  const struct mafat_network *n = m.network;
  const struct mafat_layer_constants *c = &n->constants->layers[0];
  ck_assert_int_eq(n->n_layers, 2);
  check_numbers(&n->layers[2], .5f, 118, 0, 255);
  check_numbers(&n->layers[0], .125f, 133, 133, 133 + 48);
  check_numbers(&n->layers[1], .0625f, 0, 0, 255);
  ck_assert(n->layers[0].weights_type == MAFAT_I8 && n->layers[0].weights_zero == 0 &&
            !n->layers[0].single);
  ck_assert(c->weights.type == MAFAT_I8 && c->weights.n == sizeof weights &&
            c->biases.type == MAFAT_I32 && c->biases.n == 2);
  ck_assert(c->parts && c->parts->scales.n == 2 && c->parts->scales.type == MAFAT_F32);
  ck_assert(n->inputs[0].type == MAFAT_I8 && n->outputs[0].type == MAFAT_I8);
  test_imported_close(&m);
}
END_TEST

START_TEST(unsigned_weights_have_a_zero_point)
{
  begin(MAFAT_TFLITE_UINT8);
  struct test_imported m = import();
  ck_assert_msg(m.code == MAFAT_OK, "%s", diagnostic.text);
  const struct mafat_layer *l = &m.network->layers[0];
  check_numbers(l, .125f, 133, 133, 133 + 48);
  ck_assert(l->weights_type == MAFAT_I8 && l->weights_zero == 3 && l->single);
  ck_assert_int_eq(m.network->constants->layers[0].weights.type, MAFAT_U8);
  ck_assert_int_eq(m.network->inputs[0].type, MAFAT_U8);
  test_imported_close(&m);
}
END_TEST

/* ---- operators that move elements, and conversions ---- */

/* Inputs of a CONCATENATION are rescaled to the output's scale, unless they already have it. */
START_TEST(joined_maps_are_rescaled)
{
  begin(MAFAT_TFLITE_UINT8);
  tensors[MEAN].rank = 4;
  memcpy(tensors[MEAN].shape, (int32_t[]){1, 6, 6, 5}, sizeof(int32_t[4]));
  quantize(MEAN, MAFAT_TFLITE_UINT8, .5f, 118);
  operators[1] = (struct test_tflite_operator){.code = MAFAT_TFLITE_CONCATENATION,
                                               .n_inputs = 2,
                                               .inputs = {X, Y},
                                               .n_outputs = 1,
                                               .outputs = {MEAN},
                                               .options = 10,
                                               .n_fields = 1,
                                               .fields = {{.number = 0, .bytes = 4, .value = 3}}};
  struct test_imported m = import();
  ck_assert_msg(m.code == MAFAT_OK, "%s", diagnostic.text);
  const struct mafat_layer *l = &m.network->layers[1];
  ck_assert_str_eq(mafat_layer_type_name(l->type), "quantize");
  check_numbers(l, .5f, 118, 0, 255);
  ck_assert_int_eq(l->quantization.rounding, MAFAT_REQUANTIZE_FLOAT);
  test_imported_close(&m);
}
END_TEST

/* A RESHAPE whose output has another scale or zero point than its input copies bytes unchanged. */
START_TEST(reshapes_copy_bytes)
{
  begin(MAFAT_TFLITE_INT8);
  tensors[AXES].rank = 0;
  memcpy(tensors[MEAN].shape, (int32_t[]){1, 72}, sizeof(int32_t[2]));
  operators[1] = (struct test_tflite_operator){.code = MAFAT_TFLITE_RESHAPE,
                                               .n_inputs = 1,
                                               .inputs = {Y},
                                               .n_outputs = 1,
                                               .outputs = {MEAN},
                                               .options = 17,
                                               .n_fields = 1,
                                               .fields = {{.number = 0, .n = 2, .list = {1, 72}}}};
  tensors[AXES].data = NULL, tensors[AXES].bytes = 0;
  struct test_imported m = import();
  ck_assert_msg(m.code == MAFAT_OK, "%s", diagnostic.text);
  const struct mafat_layer *l = &m.network->layers[m.network->n_layers - 1];
  ck_assert_str_eq(mafat_layer_type_name(l->type), "activation");
  check_numbers(l, .0625f, 0, 0, 255);
  test_imported_close(&m);
}
END_TEST

/* PAD and pools whose output has another scale and zero point use those of the output. */
START_TEST(moved_elements_have_the_outputs_quantization)
{
  static const int32_t pads[] = {0, 0, 1, 1, 0, 0, 0, 0};
  begin(MAFAT_TFLITE_INT8);
  tensors[AXES].rank = 2;
  memcpy(tensors[AXES].shape, (int32_t[]){4, 2}, sizeof(int32_t[2]));
  tensors[AXES].data = pads, tensors[AXES].bytes = sizeof pads;
  operators[0] = (struct test_tflite_operator){
      .code = MAFAT_TFLITE_PAD, .n_inputs = 2, .inputs = {X, AXES}, .n_outputs = 1, .outputs = {Y}};
  operators[1] = (struct test_tflite_operator){
      .code = MAFAT_TFLITE_MAX_POOL_2D,
      .n_inputs = 1,
      .inputs = {Y},
      .n_outputs = 1,
      .outputs = {MEAN},
      .options = 5,
      .n_fields = 6,
      .fields = {{.number = 0, .bytes = 1, .value = MAFAT_TFLITE_VALID},
                 {.number = 1, .bytes = 4, .value = 1},
                 {.number = 2, .bytes = 4, .value = 1},
                 {.number = 3, .bytes = 4, .value = 2},
                 {.number = 4, .bytes = 4, .value = 2},
                 {.number = 5, .bytes = 1, .value = MAFAT_TFLITE_FUSED_RELU6}}};
  struct test_imported m = import();
  ck_assert_msg(m.code == MAFAT_OK, "%s", diagnostic.text);
  ck_assert_ptr_nonnull(m.network->layers[0].rearrange);
  ck_assert(m.network->layers[0].rearrange->fill == 133);
  check_numbers(&m.network->layers[m.network->n_layers - 1], .0625f, 0, 0, 96);
  test_imported_close(&m);
}
END_TEST

static int layers_of(const struct mafat_network *n, const char *kind)
{
  int count = 0;
  for (int l = 0; l < n->n_layers; l++)
    count += strcmp(mafat_layer_type_name(n->layers[l].type), kind) == 0;
  return count;
}

START_TEST(floats_are_quantized_and_dequantized)
{
  begin(MAFAT_TFLITE_INT8);
  tensors[X].type = tensors[MEAN].type = MAFAT_TFLITE_FLOAT32;
  tensors[X].n_scales = tensors[MEAN].n_scales = 0;
  tensors[MEAN].rank = 4;
  memcpy(tensors[MEAN].shape, tensors[X].shape, sizeof tensors[X].shape);
  memcpy(tensors[Y].shape, tensors[X].shape, sizeof tensors[X].shape);
  operators[0] = (struct test_tflite_operator){
      .code = MAFAT_TFLITE_QUANTIZE, .n_inputs = 1, .inputs = {X}, .n_outputs = 1, .outputs = {Y}};
  operators[1] = (struct test_tflite_operator){.code = MAFAT_TFLITE_DEQUANTIZE,
                                               .n_inputs = 1,
                                               .inputs = {Y},
                                               .n_outputs = 1,
                                               .outputs = {MEAN}};
  struct test_imported m = import();
  ck_assert_msg(m.code == MAFAT_OK, "%s", diagnostic.text);
  ck_assert_int_eq(layers_of(m.network, "quantize"), 2);
  check_numbers(&m.network->layers[0], .125f, 133, 0, 255);
  ck_assert_int_eq(m.network->layers[1].out_type, MAFAT_F32);
  test_imported_close(&m);
}
END_TEST

/* ---- invalid models ---- */

static void scale_zero(void) { scales[Y][0] = 0; }
static void scale_negative(void) { scales[Y][0] = -1; }
static void scale_nan(void) { scales[X][0] = NAN; }
static void scale_infinite(void) { scales[MEAN][0] = INFINITY; }
static void weights_scale_zero(void) { scale_each_filter(.5f, 0); }
static void weights_scale_nan(void) { scale_each_filter(.5f, NAN); }
static void zero_point_low(void) { zeros[X][0] = -129; }
static void zero_point_high(void) { zeros[Y][0] = 128; }
static void zero_point_far(void) { zeros[Y][0] = INT64_MIN; }
static void weights_zero(void) { zeros[WEIGHTS][0] = 1; }

static void multiplier_large(void)
{
  scales[X][0] = 1e20f, scales[Y][0] = 1e-20f;
}

static void three_scales(void)
{
  scales[WEIGHTS][0] = scales[WEIGHTS][1] = scales[WEIGHTS][2] = 1;
  tensors[WEIGHTS].n_scales = 3;
}

static void two_of_a_map(void)
{
  scales[X][1] = 1;
  tensors[X].n_scales = 2;
}

static void other_dimension(void)
{
  scales[WEIGHTS][0] = scales[WEIGHTS][1] = scales[WEIGHTS][2] = 1;
  tensors[WEIGHTS].n_scales = 3;
  tensors[WEIGHTS].dimension = 3;
}

static void dimension_outside(void)
{
  scale_each_filter(1, 1);
  tensors[WEIGHTS].dimension = 4;
}

static void three_biases(void)
{
  static const int32_t three[] = {1, 2, 3};
  tensors[BIAS].shape[0] = 3;
  tensors[BIAS].data = three, tensors[BIAS].bytes = sizeof three;
}

static void float_bias(void) { tensors[BIAS].type = MAFAT_TFLITE_FLOAT32; }

static void unsigned_output(void) { quantize(MEAN, MAFAT_TFLITE_UINT8, .0625f, 0); }

static void unsigned_weights(void) { quantize(WEIGHTS, MAFAT_TFLITE_UINT8, .25f, 131); }

static void fused_tanh(void) { operators[0].fields[3].value = MAFAT_TFLITE_FUSED_TANH; }

static void floats_of_joined(void)
{
  tensors[MEAN].type = MAFAT_TFLITE_FLOAT32;
  tensors[MEAN].n_scales = 0;
  operators[1] = (struct test_tflite_operator){.code = MAFAT_TFLITE_CONCATENATION,
                                               .n_inputs = 1,
                                               .inputs = {Y},
                                               .n_outputs = 1,
                                               .outputs = {MEAN},
                                               .options = 10,
                                               .n_fields = 1,
                                               .fields = {{.number = 0, .bytes = 4, .value = 3}}};
}

static void numbers_of_numbers(void)
{
  operators[1] = (struct test_tflite_operator){.code = MAFAT_TFLITE_DEQUANTIZE,
                                               .n_inputs = 1,
                                               .inputs = {Y},
                                               .n_outputs = 1,
                                               .outputs = {MEAN}};
}

static void float_output(void)
{
  tensors[Y].type = tensors[MEAN].type = MAFAT_TFLITE_FLOAT32;
  tensors[Y].n_scales = tensors[MEAN].n_scales = 0;
}

static void float_input(void)
{
  tensors[X].type = MAFAT_TFLITE_FLOAT32;
  tensors[X].n_scales = 0;
}

static void wide_activations(void) { tensors[X].type = MAFAT_TFLITE_INT16; }
/* The int8 operator has an int16 output. */
static void wide_inside(void) { tensors[Y].type = MAFAT_TFLITE_INT16, zeros[Y][0] = 0; }
/* The bias is int64, wider than the int32 sums to which it is added. */
static void wide_bias(void)
{
  static const int64_t wide[] = {7, -7};
  tensors[BIAS].type = MAFAT_TFLITE_INT64, tensors[BIAS].data = wide,
  tensors[BIAS].bytes = sizeof wide;
}
static void exponential(void)
{
  operators[1] = (struct test_tflite_operator){
      .code = MAFAT_TFLITE_EXP, .n_inputs = 1, .inputs = {Y}, .n_outputs = 1, .outputs = {MEAN}};
}

/* ---- quantizations for which operators have no rule: the second operator is replaced ---- */

static void second(int code, int type, float scale, int64_t zero)
{
  tensors[MEAN].rank = 4;
  memcpy(tensors[MEAN].shape, tensors[Y].shape, sizeof tensors[Y].shape);
  quantize(MEAN, type, scale, zero);
  operators[1] = (struct test_tflite_operator){
      .code = code, .n_inputs = 1, .inputs = {Y}, .n_outputs = 1, .outputs = {MEAN}};
}

static void with_constant(int code)
{
  static const signed char number[2] = {1, 2};
  second(code, MAFAT_TFLITE_INT8, .5f, 0);
  operators[1].n_inputs = 2;
  operators[1].inputs[1] = AXES;
  tensors[AXES] =
      (struct test_tflite_tensor){.name = "c", .rank = 1, .shape = {2}, .data = number, .bytes = 2};
  quantize(AXES, MAFAT_TFLITE_INT8, .5f, 0);
}

static void logistic_of_other_steps(void)
{
  second(MAFAT_TFLITE_LOGISTIC, MAFAT_TFLITE_INT8, 1 / 255.0f, -128);
}
static void logistic_of_another_zero(void)
{
  second(MAFAT_TFLITE_LOGISTIC, MAFAT_TFLITE_INT8, 1 / 256.0f, 0);
}
static void tangent_of_other_steps(void)
{
  second(MAFAT_TFLITE_TANH, MAFAT_TFLITE_INT8, 1 / 127.0f, 0);
}
static void hard_swish_far(void) { second(MAFAT_TFLITE_HARD_SWISH, MAFAT_TFLITE_INT8, 1e-9f, 0); }
static void leaky_far(void)
{
  second(MAFAT_TFLITE_LEAKY_RELU, MAFAT_TFLITE_INT8, .5f, 0);
  operators[1].options = 75, operators[1].n_fields = 1;
  operators[1].fields[0] = (struct test_tflite_field){.number = 0, .bytes = 4, .real = 1e10f};
}
static void softmax_of_other_steps(void)
{
  second(MAFAT_TFLITE_SOFTMAX, MAFAT_TFLITE_INT8, 1 / 128.0f, -128);
  operators[1].options = 9, operators[1].n_fields = 1;
  operators[1].fields[0] = (struct test_tflite_field){.number = 0, .bytes = 4, .real = 1};
}
static void floats_out(void)
{
  second(MAFAT_TFLITE_TANH, MAFAT_TFLITE_INT8, 1, 0);
  tensors[MEAN].type = MAFAT_TFLITE_FLOAT32, tensors[MEAN].n_scales = 0;
}
static void mean_far(void) { scales[MEAN][0] = 1e-12f; }
static void sum_far(void) { with_constant(MAFAT_TFLITE_SUB), scales[MEAN][0] = 1e-18f; }
static void product_far(void) { with_constant(MAFAT_TFLITE_MUL), scales[AXES][0] = 1e12f; }
static void slope_far(void) { with_constant(MAFAT_TFLITE_PRELU), scales[MEAN][0] = 1e-12f; }
static void two_scales_of_an_operand(void)
{
  with_constant(MAFAT_TFLITE_ADD);
  scales[AXES][1] = 1, zeros[AXES][1] = 0;
  tensors[AXES].n_scales = tensors[AXES].n_zero_points = 2;
}
static void float_operand(void)
{
  static const float two[] = {1, 2};
  with_constant(MAFAT_TFLITE_ADD);
  tensors[AXES] = (struct test_tflite_tensor){
      .name = "c", .rank = 1, .shape = {2}, .data = two, .bytes = sizeof two};
}

static const struct {
  void (*change)(void);
  int code;
  const char *text;
} refusals[] = {
    {scale_zero, MAFAT_EFORMAT,
     ": CONV_2D 'y': tensor y: scale 0: expected a finite number above 0, found 0"},
    {scale_negative, MAFAT_EFORMAT,
     ": CONV_2D 'y': tensor y: scale 0: expected a finite number above 0, found -1"},
    {scale_nan, MAFAT_EFORMAT, ": tensor x: scale 0: expected a finite number above 0, found nan"},
    {scale_infinite, MAFAT_EFORMAT,
     ": MEAN 'm': tensor m: scale 0: expected a finite number above 0, found inf"},
    {weights_scale_zero, MAFAT_EFORMAT,
     ": CONV_2D 'y': tensor w: scale 1: expected a finite number above 0, found 0"},
    {weights_scale_nan, MAFAT_EFORMAT,
     ": CONV_2D 'y': tensor w: scale 1: expected a finite number above 0, found nan"},
    {zero_point_low, MAFAT_EFORMAT, ": tensor x: zero point 0: expected -128 to 127, found -129"},
    {zero_point_high, MAFAT_EFORMAT,
     ": CONV_2D 'y': tensor y: zero point 0: expected -128 to 127, found 128"},
    {zero_point_far, MAFAT_EFORMAT,
     ": CONV_2D 'y': tensor y: zero point 0: expected -128 to 127, found -9223372036854775808"},
    {weights_zero, MAFAT_EUNSUPPORTED,
     ": CONV_2D 'y': weights of int8: expected a zero point of 0, found 1"},
    {multiplier_large, MAFAT_EFORMAT,
     ": CONV_2D 'y': filter 0: scales 1e+20 * 0.25 / 1e-20: would need a multiplier of "
     "2^30 or more"},
    {three_scales, MAFAT_EFORMAT,
     ": CONV_2D 'y': tensor w: expected 2 scales along dimension 0, found 3"},
    {two_of_a_map, MAFAT_EUNSUPPORTED, ": tensor x: expected one scale, found 2"},
    {other_dimension, MAFAT_EUNSUPPORTED,
     ": CONV_2D 'y': scales of its weights: expected dimension 0, found 3"},
    {dimension_outside, MAFAT_EFORMAT,
     ": CONV_2D 'y': tensor w: expected 0 scales along dimension 4, found 2"},
    {three_biases, MAFAT_EFORMAT, ": CONV_2D 'y': expected 2 biases, found 3"},
    {float_bias, MAFAT_EUNSUPPORTED,
     ": CONV_2D 'y': tensor b: expected a bias of INT32 in the file, found one of FLOAT32"},
    {unsigned_output, MAFAT_EFORMAT,
     ": MEAN 'm': output m is of type UINT8: expected that of its input y, INT8"},
    {unsigned_weights, MAFAT_EFORMAT,
     ": CONV_2D 'y': output y is of type INT8: expected that of its input w, UINT8"},
    {fused_tanh, MAFAT_EUNSUPPORTED,
     ": CONV_2D 'y': fused_activation_function: TANH is not run on quantized tensors"},
    {floats_of_joined, MAFAT_EFORMAT,
     ": CONCATENATION 'm': inputs of integers: expected an output of their type, found floats"},
    {numbers_of_numbers, MAFAT_EFORMAT, ": DEQUANTIZE 'm': expected an output of FLOAT32"},
    {float_output, MAFAT_EUNSUPPORTED,
     ": CONV_2D 'y': integers as input and floats as output: not run by this version"},
    {float_input, MAFAT_EUNSUPPORTED,
     ": CONV_2D 'y': weights of int8, floats as input and integers as output: not run by this "
     "version"},
    {wide_activations, MAFAT_EUNSUPPORTED,
     ": input x is of type INT16: expected FLOAT32, INT8 or UINT8"},
    {wide_inside, MAFAT_EUNSUPPORTED,
     ": CONV_2D 'y': tensor y is INT16: that is not run by this version"},
    {wide_bias, MAFAT_EUNSUPPORTED,
     ": CONV_2D 'y': tensor b: expected a bias of INT32 in the file, found one of INT64"},
    {exponential, MAFAT_EUNSUPPORTED,
     ": EXP 'm': tensor y is INT8: that is not run by this version"},
    {logistic_of_other_steps, MAFAT_EUNSUPPORTED,
     ": layer 1 [activation] of integers: expected an output scale of 1/256 and the "
     "lowest zero point"},
    {logistic_of_another_zero, MAFAT_EUNSUPPORTED,
     ": layer 1 [activation] of integers: expected an output scale of 1/256 and the "
     "lowest zero point"},
    {tangent_of_other_steps, MAFAT_EUNSUPPORTED,
     ": layer 1 [activation] of integers: expected an output scale of 1/128 and the "
     "middle zero point"},
    {hard_swish_far, MAFAT_EUNSUPPORTED,
     ": layer 1 [activation] has scales that are too different"},
    {leaky_far, MAFAT_EUNSUPPORTED, ": layer 1 [activation] has scales that are too different"},
    {softmax_of_other_steps, MAFAT_EUNSUPPORTED,
     ": layer 1 [normalize] of integers: expected an output scale of 1/256 and the "
     "lowest zero point"},
    {floats_out, MAFAT_EUNSUPPORTED,
     ": layer 1 [activation] mixes integers and floats"},
    {mean_far, MAFAT_EUNSUPPORTED, ": layer 1 [reduce] has scales that are too different"},
    {sum_far, MAFAT_EUNSUPPORTED, ": layer 2 [shortcut] has scales that are too different"},
    {product_far, MAFAT_EUNSUPPORTED, ": layer 2 [shortcut] has scales that are too different"},
    {slope_far, MAFAT_EUNSUPPORTED, ": layer 2 [shortcut] has scales that are too different"},
    {two_scales_of_an_operand, MAFAT_EUNSUPPORTED,
     ": ADD 'm': an integer constant combined with a map: expected one scale, found 2"},
    {float_operand, MAFAT_EUNSUPPORTED,
     ": layer 2 [shortcut] mixes integers and floats"}};

START_TEST(invalid_models_are_refused)
{
  begin(MAFAT_TFLITE_INT8);
  refusals[_i].change();
  struct test_imported m = import();
  ck_assert_msg(m.code == refusals[_i].code && strstr(diagnostic.text, refusals[_i].text), "%d: %s",
                m.code, diagnostic.text);
  test_imported_close(&m);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
  begin(MAFAT_TFLITE_INT8);
  scale_each_filter(.5f, 1);
  struct test_imported m = import();
  test_import_without_memory(test_tflite_network_read, m.path, NULL, "quantized");
  test_imported_close(&m);
}
END_TEST

Suite *tflite_quantized_suite(void)
{
  Suite *suite = suite_create("tflite_quantized");
  TCase *meaning = tcase_create("meaning"), *refusing = tcase_create("refusing");
  tcase_add_test(meaning, signed_integers_become_unsigned);
  tcase_add_test(meaning, unsigned_weights_have_a_zero_point);
  tcase_add_test(meaning, joined_maps_are_rescaled);
  tcase_add_test(meaning, reshapes_copy_bytes);
  tcase_add_test(meaning, moved_elements_have_the_outputs_quantization);
  tcase_add_test(meaning, floats_are_quantized_and_dequantized);
  tcase_add_loop_test(refusing, invalid_models_are_refused, 0, sizeof refusals / sizeof *refusals);
  tcase_add_test(refusing, every_allocation_may_fail);
  suite_add_tcase(suite, meaning);
  suite_add_tcase(suite, refusing);
  return suite;
}
