/* Covers formats/onnx/{computing, import_quantized, integers, pads, quantized, takes}.c,
 * formats/graph/{integers, scaled_weights}.c, network/kinds/normalize.c,
 * runner/engine/kinds/quantize.c, runner/engine/kinds/integer/{activation, normalize,
 * resample}.c: networks made from quantized .onnx models: which layers compute with integers,
 * invalid scales and zero points are refused, and results differ from those with floats by at most
 * one quantization step. */
#include "formats/onnx/import.h"
#include "formats/onnx/onnx.h"
#include "runner/engine/executor.h"
#include "tests/support/imported.h"
#include "tests/support/onnx_operators.h"
#include "tests/support/support.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

Suite *onnx_quantized_suite(void);

static struct mafat_diagnostic diagnostic;

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

static struct test_imported import(struct test_message model)
{
  return test_import_onnx(model, &diagnostic);
}

static bool is_quantized(const struct test_onnx_operator *o)
{
  return strstr(o->inputs, "q:") != NULL;
}

static bool has(const struct test_onnx_operator *o, const char *op_type, const char *attributes)
{
  return strcmp(o->op_type, op_type) == 0 && strstr(o->attributes, attributes);
}

/* ---- operators as layers ---- */

/* True if no integer kernel computes the operator. */
static bool is_of_floats(const struct test_onnx_operator *o)
{
  return strncmp(o->inputs, "q:", 2) != 0 || has(o, "AveragePool", "count_include_pad=1") ||
         has(o, "Resize", "cubic") || has(o, "ConvTranspose", "");
}

/* Counts the layers that compute with floats or, if `floats` is false, with integers. Constants do
 * not count. */
static int n_layers_of(const struct mafat_network *n, bool floats)
{
  int count = 0;
  for (int l = 0; l < n->n_layers; l++)
    count += !mafat_kind_of(n->layers[l].type)->constant &&
             (n->layers[l].out_type == MAFAT_F32) == floats;
  return count;
}

/* Operators between DequantizeLinear and QuantizeLinear compute with integers if a kernel can. */
START_TEST(operators_compute_with_integers)
{
  const struct test_onnx_operator *o = test_onnx_operator((unsigned)_i);
  if (!is_quantized(o)) return;
  struct test_imported m = import(test_onnx_operator_model(o));
  ck_assert_msg(m.code == MAFAT_OK, "%s %s: %s", o->op_type, o->attributes, diagnostic.text);
  int floats = n_layers_of(m.network, true);
  ck_assert_msg((floats > 0) == is_of_floats(o), "%s %s %s: %d layers of floats", o->op_type,
                o->inputs, o->attributes, floats);
  const struct mafat_layer *last = &m.network->layers[m.network->outputs->sources.list->tensor];
  ck_assert_int_eq(last->out_type, MAFAT_U8);
  ck_assert(last->quantization.scale == .0625f && last->quantization.zero == 121 &&
            !last->quantization.is_signed);
  test_imported_close(&m);
}
END_TEST

START_TEST(a_convolution_has_a_scale_for_each_filter)
{
  static const struct test_onnx_operator conv = {"QLinearConv", "v sx zs qw sw4 z4 sy zs qb", "", 0,
                                                 NULL};
  struct test_imported m = import(test_onnx_operator_model(&conv));
  ck_assert_msg(m.code == MAFAT_OK, "%s", diagnostic.text);
  ck_assert_int_eq(m.network->n_layers, 1);
  const struct mafat_layer *l = m.network->layers,
                           *x = &m.network->layers[l->operands->sources.list->tensor];
  const struct mafat_layer_constants *c = m.network->constants->layers;
  ck_assert(l->weights_type == MAFAT_I8 && l->weights_zero == 0 && c->weights.n == 4 * 4 * 3 * 3);
  ck_assert(c->parts->scales.n == 4 && c->biases.n == 4 && c->biases.type == MAFAT_I32);
  ck_assert(l->quantization.rounding == MAFAT_REQUANTIZE_EVEN && l->quantization.scale == .0625f &&
            l->quantization.zero == 128);
  ck_assert(x->quantization.scale == .03125f && x->quantization.zero == 128 &&
            x->quantization.is_signed);
  ck_assert(m.network->inputs->type == MAFAT_I8 && m.network->outputs->type == MAFAT_I8);
  test_imported_close(&m);
}
END_TEST

/* Quantized weights of a layer that computes with floats stay int8. */
START_TEST(weights_beside_floats_stay_narrow)
{
  static const struct test_onnx_operator operators[] = {{"Conv", "x q:qw c4", "", 0, NULL},
                                                        {"MatMul", "r q:qm", "", 0, NULL},
                                                        {"Gemm", "r q:qmt c5", "transB=1", 0,
                                                         NULL}};
  struct test_imported m = import(test_onnx_operator_model_of_floats(&operators[_i]));
  ck_assert_msg(m.code == MAFAT_OK, "%s", diagnostic.text);
  ck_assert(m.network->layers[0].weights_type == MAFAT_I8 &&
            m.network->layers[0].out_type == MAFAT_F32);
  test_imported_close(&m);
}
END_TEST

/* ---- results ---- */

/* Runs a network and returns all elements of output y; integers are converted to float. */
static float *run(const struct mafat_network *n, const char *path, const char *plan_text,
                  const float *input)
{
  struct mafat_executor_options options;
  struct mafat_executor *e = NULL;
  struct mafat_weights *w = NULL;
  const struct mafat_port *p = n->outputs;
  long long count = mafat_view_elements(&p->view);
  float *out = malloc((size_t)count * sizeof *out);
  ck_assert_msg(mafat_weights_open_kept(&w, path, n, n->n_layers, NULL, &diagnostic) == MAFAT_OK,
                "%s", diagnostic.text);
  struct mafat_plan *plan = test_plan(n, plan_text);
  struct mafat_layout *layout = test_layout(n, plan);
  mafat_executor_defaults(&options);
  ck_assert_int_eq(mafat_executor_open(&e, n, plan, layout, w, &options, &diagnostic), MAFAT_OK);
  mafat_executor_set_input(e, input);
  ck_assert_int_eq(mafat_executor_run(e, &diagnostic), MAFAT_OK);
  for (long long k = 0; k < count; k++) {
    int c, y, x, slice = 0;
    mafat_port_find(p, k, &c, &y, &x);
    for (; c >= p->sources.list[slice].n; slice++) c -= p->sources.list[slice].n;
    const struct mafat_source *s = mafat_sources_at(&p->sources, slice, &y);
    float scale = n->layers[s->tensor].quantization.scale;
    out[k] = mafat_executor_output_at(e, s->tensor, s->first + c, y, x) / (scale > 0 ? scale : 1);
  }
  mafat_executor_close(&e);
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  mafat_weights_close(&w);
  return out;
}

/* Computes each operator with integers, and with floats by making an intermediate value an output,
 * too. */
START_TEST(results_are_within_a_step_of_floats)
{
  const struct test_onnx_operator *o = test_onnx_operator((unsigned)_i);
  static float input[4 * 6 * 6];
  struct test_rng rng = test_rng((uint64_t)_i);
  if (!is_quantized(o)) return;
  for (size_t k = 0; k < sizeof input / sizeof *input; k++)
    input[k] = (float)test_random_int(&rng, -4000, 4000) * .001f;
  struct test_imported whole = import(test_onnx_operator_model(o)),
                       floats = import(test_onnx_operator_model_of_floats(o));
  ck_assert_msg(whole.code == MAFAT_OK && floats.code == MAFAT_OK, "%s: %s", o->op_type,
                diagnostic.text);
  if (whole.network->n_inputs > 1) goto end;
  float *found = run(whole.network, whole.path, "1x1/NoCut", input),
        *rows = run(whole.network, whole.path, "rows1/NoCut", input);
  float *exact = run(floats.network, floats.path, "1x1:direct/NoCut", input);
  long long n = mafat_view_elements(&whole.network->outputs->view), differ = 0;
  for (long long k = 0; k < n; k++) {
    ck_assert_msg(fabsf(found[k] - exact[k]) <= 1.01f,
                  "%s %s: number %lld: found %g, with floats %g",
                  o->op_type, o->inputs, k, (double)found[k], (double)exact[k]);
    ck_assert(found[k] == rows[k]);
    differ += fabsf(found[k] - exact[k]) > .5f;
  }
  ck_assert_msg(differ * 20 <= n, "%s %s: %lld of %lld differ", o->op_type, o->inputs, differ, n);
  free(found);
  free(rows);
  free(exact);
end:
  test_imported_close(&whole);
  test_imported_close(&floats);
}
END_TEST

/* ---- Pad as part of a convolution ---- */

static const struct padding {
  const char *nodes[8][3]; /* operator, inputs, output; the last one makes y from the padded p */
  const char *attributes;  /* of the convolution */
  bool taken;              /* the Pad becomes padding of the convolution's window */
} paddings[] = {
    {{{"Pad", "x pads", "p"}, {"Conv", "p w", "y"}}, "", true},
    {{{"Pad", "x pads", "p"}, {"Conv", "p w", "y"}}, "pads=[1,0,2,1] strides=[2,2]", true},
    {{{"Pad", "x wide", "p"}, {"Conv", "p w", "y"}}, "", true}, /* some windows are all padding */
    {{{"Pad", "x pads", "p"}, {"Conv", "p w", "y"}}, "auto_pad=SAME_UPPER", false},
    {{{"Pad", "x pads two", "p"}, {"Conv", "p w", "y"}}, "", false},
    {{{"Pad", "x pads", "p"}, {"Relu", "p", "r"}, {"Conv", "r w", "y"}}, "", false},
    {{{"Pad", "x channels", "p"}, {"Conv", "p w5", "y"}}, "", false},
    {{{"QuantizeLinear", "x s zu", "q"}, {"DequantizeLinear", "q s zu", "d"}, {"Pad", "d wide",
     "p"}, {"Conv", "p dw", "f"}, {"QuantizeLinear", "f sy zu", "y"}}, "", true},
    {{{"QuantizeLinear", "x s zu", "q"}, {"Pad", "q pads zu", "p"}, {"QLinearConv",
     "p s zu qw sw zs sy zu", "y"}}, "pads=[0,1,1,0]", true},
    {{{"QuantizeLinear", "x s zu", "q"},
      {"Pad", "q pads zu", "p"},
      {"QLinearConv", "p sy zu qw sw zs sy zu", "y"}},
     "",
     true}, /* another scale */
    {{{"QuantizeLinear", "x s zu", "q"},
      {"Pad", "q pads", "p"},
      {"QLinearConv", "p s zu qw sw zs sy zu", "y"}},
     "",
     false}, /* the zero that is padded stands for -121 */
    {{{"Pad", "x pads", "p"}, {"QuantizeLinear", "p s zu", "q"}, {"DequantizeLinear", "q s zu",
     "d"}, {"Conv", "d w", "y"}}, "", true},
    {{{"QuantizeLinear", "x s zu", "q"}, {"DequantizeLinear", "q s zu", "d"}, {"Pad", "d pads",
     "p"}, {"Conv", "p dw", "f"}, {"QuantizeLinear", "f sy zu", "y"}}, "", true},
    {{{"QuantizeLinear", "x s zu", "q"}, {"DequantizeLinear", "q s zu", "d"}, {"Pad", "d pads",
     "p"}, {"QuantizeLinear", "p s zu", "q2"}, {"DequantizeLinear", "q2 s zu", "d2"}, {"Conv",
     "d2 dw", "f"}, {"QuantizeLinear", "f sy zu", "y"}}, "strides=[2,1]", true},
    {{{"QuantizeLinear", "x s zu", "q"}, {"DequantizeLinear", "q s zu", "d"}, {"Pad", "d pads",
     "p"}, {"QuantizeLinear", "p sy zu", "q2"}, {"DequantizeLinear", "q2 sy zu", "d2"}, {"Conv",
     "d2 dw", "f"}, {"QuantizeLinear", "f sy zu", "y"}}, "", true},
};

/* padded: the padded map is an output, too, so the Pad must remain a layer. */
static struct test_imported import_padding(const struct padding *p, bool padded)
{
  static const int64_t map[] = {1, 4, 6, 6}, pads[] = {0, 0, 1, 2, 0, 0, 2, 1},
                       channels[] = {0, 1, 0, 0, 0, 0, 0, 0}, wide[] = {0, 0, 5, 4, 0, 0, 3, 6},
                       kernel[] = {3, 4, 3, 3}, kernel_of_five[] = {3, 5, 3, 3};
  static const double s = .03125, sy = .25, sw = .015625, two = 2, zero = 121, zero_of_weights = 0;
  static double weights[3 * 5 * 9];
  static const struct test_onnx_tensor zu = {.name = "zu",
                                             .type = MAFAT_ONNX_UINT8,
                                             .values = &zero},
                                       zs = {.name = "zs",
                                             .type = MAFAT_ONNX_INT8,
                                             .values = &zero_of_weights};
  struct test_message graph = {0};
  for (size_t k = 0; k < sizeof weights / sizeof *weights; k++)
    weights[k] = (double)((int)(k * 37 % 101) - 50) / 64;
  test_onnx_floats(&graph, "w", 4, kernel, weights);
  test_onnx_floats(&graph, "w5", 4, kernel_of_five, weights);
  test_onnx_floats(&graph, "s", 0, NULL, &s);
  test_onnx_floats(&graph, "sy", 0, NULL, &sy);
  test_onnx_floats(&graph, "sw", 0, NULL, &sw);
  test_onnx_floats(&graph, "two", 0, NULL, &two);
  test_onnx_initializer(&graph, &zu);
  test_onnx_initializer(&graph, &zs);
  test_onnx_int64s(&graph, "pads", 8, pads);
  test_onnx_int64s(&graph, "channels", 8, channels);
  test_onnx_int64s(&graph, "wide", 8, wide);
  test_onnx_add(&graph, "QuantizeLinear", "w sw zs", "qw", "");
  test_onnx_add(&graph, "DequantizeLinear", "qw sw zs", "dw", "");
  for (int k = 0; k < 8 && p->nodes[k][0]; k++)
    test_onnx_add(&graph, p->nodes[k][0], p->nodes[k][1], p->nodes[k][2],
                  strstr(p->nodes[k][0], "Conv") ? p->attributes : "");
  test_onnx_input(&graph, "x", 4, map);
  test_onnx_output(&graph, "y", -1, NULL);
  if (padded) test_onnx_output(&graph, "p", -1, NULL);
  return import(test_onnx_model(&graph, 17));
}

static int n_of_type(const struct mafat_network *n, enum mafat_layer_type type)
{
  int count = 0;
  for (int l = 0; l < n->n_layers; l++) count += n->layers[l].type == type;
  return count;
}

START_TEST(pads_become_padding_of_windows)
{
  static float input[4 * 6 * 6];
  struct test_imported m = import_padding(&paddings[_i], false),
                       whole = import_padding(&paddings[_i], true);
  ck_assert_msg(m.code == MAFAT_OK && whole.code == MAFAT_OK, "%s", diagnostic.text);
  for (size_t k = 0; k < sizeof input / sizeof *input; k++)
    input[k] = (float)((int)(k * 29 % 97) - 48) / 16;
  ck_assert_int_eq(n_of_type(m.network, MAFAT_REARRANGE), !paddings[_i].taken);
  ck_assert_int_eq(n_of_type(whole.network, MAFAT_REARRANGE), 1);
  long long n = mafat_view_elements(&m.network->outputs->view);
  ck_assert_int_eq(n, mafat_view_elements(&whole.network->outputs->view));
  float *found = run(m.network, m.path, "rows1:direct/NoCut", input),
        *expected = run(whole.network, whole.path, "1x1:direct/NoCut", input);
  ck_assert_mem_eq(found, expected, (size_t)n * sizeof *found);
  free(found);
  free(expected);
  test_imported_close(&m);
  test_imported_close(&whole);
}
END_TEST

/* ---- what is refused ---- */

static const struct test_onnx_refusal refusals[] = {
    {{"QuantizeLinear", "x s0 zu", "", 0, NULL}, MAFAT_EFORMAT,
     "node 0, QuantizeLinear: scale 0: expected a finite number above 0, found 0"},
    {{"QuantizeLinear", "x s- zu", "", 0, NULL}, MAFAT_EFORMAT,
     "scale 0: expected a finite number above 0, found -0.5"},
    {{"DequantizeLinear", "u snan zu", "", 0, NULL}, MAFAT_EFORMAT,
     "scale 0: expected a finite number above 0, found nan"},
    {{"DequantizeLinear", "u sinf zu", "", 0, NULL}, MAFAT_EFORMAT,
     "expected a finite number above 0, found inf"},
    {{"QLinearConv", "u sx zu qw s4- z4 sy zu", "", 0, NULL}, MAFAT_EFORMAT,
     "scale 2: expected a finite number above 0, found -0.5"},
    {{"QLinearAdd", "u sx zu u s0 zu sy zu", "", 0, NULL}, MAFAT_EFORMAT,
     "expected a finite number above 0, found 0"},
    {{"DequantizeLinear", "u sx zs", "", 0, NULL}, MAFAT_EFORMAT,
     "zero point: expected one of type uint8, as its numbers are, found int8"},
    {{"QLinearConv", "u sx zu qw sw zu sy zu", "", 0, NULL}, MAFAT_EFORMAT,
     "zero point: expected one of type int8, as its numbers are, found uint8"},
    {{"QuantizeLinear", "x sx z16", "", 0, NULL}, MAFAT_EUNSUPPORTED,
     "expected numbers of type int8 or uint8, found int16"},
    {{"QuantizeLinear", "x sx z2", "", 0, NULL}, MAFAT_EFORMAT,
     "expected as many zero points as scales, found 2 and 1"},
    {{"DequantizeLinear", "u s2 zu", "", 0, NULL}, MAFAT_EFORMAT,
     "expected as many zero points as scales, found 1 and 2"},
    {{"DequantizeLinear", "u s2 z2", "", 0, NULL}, MAFAT_EFORMAT,
     "dimension 1: one input has 4 elements, the other 2"},
    {{"DequantizeLinear", "u s2 z2", "axis=7", 0, NULL}, MAFAT_EFORMAT,
     "attribute axis: expected a dimension of 4, found 7"},
    {{"QLinearConv", "u s2 z2 qw sw zs sy zu", "", 0, NULL}, MAFAT_EUNSUPPORTED,
     "expected one scale of a tensor computed at run time, found 2"},
    {{"QLinearConv", "u sx zu qw sw5 z4 sy zu", "", 0, NULL}, MAFAT_EFORMAT,
     "expected as many zero points as scales, found 4 and 5"},
    {{"QLinearConv", "u sx zu qw sw5 - sy zu", "", 0, NULL}, MAFAT_EFORMAT,
     "expected 4 scales along dimension 0, found 5"},
    {{"QLinearConv", "u sx zu qw sw zs sy zu c4", "", 0, NULL}, MAFAT_EUNSUPPORTED,
     "bias: expected a constant of type int32"},
    {{"QLinearConv", "u sx zu qw sw zs sy zu qb5", "", 0, NULL}, MAFAT_EFORMAT,
     "expected 4 biases, found 5"},
    {{"QLinearConv", "u shuge zu qw shuge zs sy zu qb", "", 0, NULL}, MAFAT_EUNSUPPORTED,
     "its scales and zero points"},
    {{"QLinearConv", "x sx zu qw sw zs sy zu", "", 0, NULL}, MAFAT_EFORMAT,
     "input 0 is of type float: expected int8 or uint8"},
    {{"QLinearConv", "u sx zu x sw zs sy zu", "", 0, NULL}, MAFAT_EFORMAT,
     "input 3 is of type float: expected int8 or uint8"},
    {{"QLinearConv", "u sx zu", "", 0, NULL}, MAFAT_EFORMAT, "its scale is left out"},
    {{"QLinearConcat", "sy zu u sx", "axis=1", 0, NULL}, MAFAT_EFORMAT,
     "expected 5, 8, 11 ... inputs, found 4"},
    {{"QLinearGlobalAveragePool", "u sx zu sy zu", "channels_last=1", 0, NULL}, MAFAT_EUNSUPPORTED,
     "channels_last: expected 0, found 1"},
    {{"QuantizeLinear", "u sx zu", "", 0, NULL}, MAFAT_EFORMAT,
     "input 0 is of type uint8: expected float"},
    {{"QuantizeLinear", "x sx", "output_dtype=5", 0, NULL}, MAFAT_EUNSUPPORTED,
     "expected numbers of type int8 or uint8, found int16"},
    {{"QuantizeLinear", "x sx zu", "block_size=2", 0, NULL}, MAFAT_EUNSUPPORTED,
     "attribute block_size: expected 0, found 2"},
    {{"Sigmoid", "u", "", 0, NULL}, MAFAT_EUNSUPPORTED, "input 0 is of type uint8: expected float"},
    {{"QLinearConv", "u sx zu qw sw4 z4 sy zu qb5", "", 0, NULL}, MAFAT_EFORMAT,
     "expected 4 biases, found 5"},
    {{"MatMulInteger", "u qm z2", "", 0, NULL}, MAFAT_EFORMAT,
     "zero point: expected one number, found 2"},
};

START_TEST(invalid_quantizations_are_refused)
{
  test_onnx_is_refused(&refusals[_i]);
}
END_TEST

/* Scales of input and output whose quotient is too large are refused. */
START_TEST(scales_too_far_apart_are_refused)
{
  static const int64_t map[] = {1, 4, 6, 6};
  static const double huge = 1e30, tiny = 1e-30;
  struct test_message graph = {0};
  test_onnx_floats(&graph, "huge", 0, NULL, &huge);
  test_onnx_floats(&graph, "tiny", 0, NULL, &tiny);
  test_onnx_add(&graph, "QuantizeLinear", "x huge", "a", "");
  test_onnx_add(&graph, "DequantizeLinear", "a huge", "b", "");
  test_onnx_add(&graph, "QuantizeLinear", "b tiny", "y", "");
  test_onnx_input(&graph, "x", 4, map);
  test_onnx_output(&graph, "y", -1, NULL);
  struct test_imported m = import(test_onnx_model(&graph, 17));
  ck_assert_msg(m.code == MAFAT_EFORMAT && strstr(diagnostic.text, "a multiplier of 2^30 or more"),
                "%d, %s", m.code, diagnostic.text);
  test_imported_close(&m);
}
END_TEST

/* ONNX ignores the axis of a constant with one scale. */
START_TEST(the_axis_of_one_scale_is_ignored)
{
  static const char *const axes[] = {"axis=0",  "axis=3",          "axis=7",
                                     "axis=-5", "axis=-100000000", "axis=2000000000"};
  static const int64_t map[] = {1, 4, 6, 6}, beside[] = {1, 4, 1, 1};
  static const double scale = .25, reals[] = {1, -2, 3.1, .3};
  struct test_message graph = {0};
  test_onnx_floats(&graph, "c", 4, beside, reals);
  test_onnx_floats(&graph, "s", 0, NULL, &scale);
  test_onnx_add(&graph, "QuantizeLinear", "c s", "q", axes[_i]);
  test_onnx_add(&graph, "DequantizeLinear", "q s", "d", axes[_i]);
  test_onnx_add(&graph, "Add", "x d", "y", "");
  test_onnx_input(&graph, "x", 4, map);
  test_onnx_output(&graph, "y", -1, NULL);
  struct test_imported m = import(test_onnx_model(&graph, 17));
  ck_assert_msg(m.code == MAFAT_OK, "%s: %s", axes[_i], diagnostic.text);
  test_imported_close(&m);
}
END_TEST

/* Quantized operators whose inputs are all constants are computed in each run, or refused. */
START_TEST(operators_of_constants_do_no_harm)
{
  static const char *const operators[][3] = {{"QLinearMul", "q s z q s z s z", ""},
                                             {"QLinearAdd", "q s z q s z s z", ""},
                                             {"QLinearSigmoid", "q s z s z", ""},
                                             {"QLinearLeakyRelu", "q s z s z", ""},
                                             {"QLinearConcat", "s z q s z q s z", "axis=1"},
                                             {"QLinearGlobalAveragePool", "q s z s z", ""},
                                             {"QLinearAveragePool", "q s z s z",
                                              "kernel_shape=[1,1]"},
                                             {"QLinearSoftmax", "q s z s z", "opset=13"},
                                             {"QLinearConv", "q s z q s z s z", ""},
                                             {"QLinearMatMul", "m s z m s z s z", ""},
                                             {"MatMulInteger", "m m", ""},
                                             {"ConvInteger", "q q", ""},
                                             {"DynamicQuantizeLinear", "s", ""}};
  static const int64_t input[] = {1, 4, 6, 6}, map[] = {1, 1, 2, 2}, matrix[] = {2, 2};
  static const double numbers[] = {3, -4, 100, 7}, scale = .25, zero = 2;
  const char *const *o = operators[_i];
  struct test_message graph = {0};
  test_onnx_initializer(
      &graph, &(struct test_onnx_tensor){
                  .name = "q", .type = MAFAT_ONNX_INT8, .rank = 4, .dims = map, .values = numbers});
  test_onnx_initializer(
      &graph,
      &(struct test_onnx_tensor){
          .name = "m", .type = MAFAT_ONNX_INT8, .rank = 2, .dims = matrix, .values = numbers});
  test_onnx_initializer(
      &graph, &(struct test_onnx_tensor){.name = "z", .type = MAFAT_ONNX_INT8, .values = &zero});
  test_onnx_floats(&graph, "s", 0, NULL, &scale);
  test_onnx_add(&graph, o[0], o[1], strcmp(o[0], "DynamicQuantizeLinear") == 0 ? "y ys yz" : "y",
                o[2]);
  test_onnx_add(&graph, "Relu", "x", "r", "");
  test_onnx_input(&graph, "x", 4, input);
  test_onnx_output(&graph, "y", -1, NULL);
  test_onnx_output(&graph, "r", -1, NULL);
  struct test_imported m = import(test_onnx_model(&graph, 17));
  ck_assert_msg(m.code == MAFAT_OK ||
                    (m.code == MAFAT_EUNSUPPORTED &&
                     strstr(diagnostic.text, "computed at run time")),
                "%s: %d, %s", o[0], m.code, diagnostic.text);
  test_imported_close(&m);
}
END_TEST

Suite *onnx_quantized_suite(void)
{
  Suite *suite = suite_create("onnx_quantized");
  TCase *numbers = tcase_create("numbers");
  tcase_set_timeout(numbers, 60);
  tcase_add_loop_test(numbers, operators_compute_with_integers, 0, (int)test_onnx_n_operators());
  tcase_add_loop_test(numbers, weights_beside_floats_stay_narrow, 0, 3);
  tcase_add_loop_test(numbers, operators_of_constants_do_no_harm, 0, 13);
  tcase_add_test(numbers, a_convolution_has_a_scale_for_each_filter);
  tcase_add_loop_test(numbers, results_are_within_a_step_of_floats, 0,
                      (int)test_onnx_n_operators());
  tcase_add_loop_test(numbers, pads_become_padding_of_windows, 0, COUNT(paddings));
  tcase_add_loop_test(numbers, invalid_quantizations_are_refused, 0, COUNT(refusals));
  tcase_add_test(numbers, scales_too_far_apart_are_refused);
  tcase_add_loop_test(numbers, the_axis_of_one_scale_is_ignored, 0, 6);
  suite_add_tcase(suite, numbers);
  return suite;
}
