/* Covers {network, predictor}/kinds/quantize.c, runner/engine/kinds/integer/constant.c: small
 * .tflite models give the outputs of TFLite 2.9.0. They have operators that read only constants,
 * fused activations, quotients of integers, quantized weights that are rearranged before they are
 * used, and quantized values that are rounded from halves. */
#include "formats/tflite/tflite.h"
#include "include/mafat.h"
#include "tests/support/tflite_writer.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <string.h>
#include <unistd.h>

Suite *tflite_meaning_suite(void);

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

enum {
  MOST_TENSORS = 7, MOST_OPERATORS = 3, MOST = 12, F32 = MAFAT_TFLITE_FLOAT32,
  I32 = MAFAT_TFLITE_INT32,
  I8 = MAFAT_TFLITE_INT8
};
enum {
  NO_OPTIONS, DENSE = 8, CONCATENATION = 10, ADDITION = 11, MULTIPLICATION = 21, GATHERING = 23,
  REDUCTION = 27, DIVISION = 29, SPLITTING = 35, CASTING = 37,
  PACKING = 59
};

/* A model whose input is tensor 0 and whose output is the last tensor that an operator writes. */
struct model {
  const char *what;
  struct test_tflite_tensor tensors[MOST_TENSORS];
  struct test_tflite_operator operators[MOST_OPERATORS];
  float input[MOST];
  int n; /* number of outputs */
  float expected[MOST];
  const char *says; /* part of the message with which it is refused; NULL: it runs */
};

static int open_model(struct mafat_model **out, const struct model *m, struct mafat_diagnostic *d)
{
  struct test_tflite_model model = {
      .tensors = m->tensors, .operators = m->operators, .n_inputs = 1, .n_outputs = 1};
  struct mafat_model_options options = {.size = sizeof options};
  char path[64];
  while (model.n_tensors < MOST_TENSORS && m->tensors[model.n_tensors].name) model.n_tensors++;
  while (model.n_operators < MOST_OPERATORS && m->operators[model.n_operators].n_outputs)
    model.n_operators++;
  model.outputs[0] = model.n_tensors - 1;
  int fd = test_tflite_file(&model);
  ck_assert_int_ge(fd, 0);
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  options.memory_bytes = 1 << 30; /* more than needed, for sanitizers */
  options.floats_only = true;
  int code = mafat_model_open(out, path, NULL, &options, d);
  close(fd);
  return code;
}

static void compare(const struct model *m, struct mafat_model *opened)
{
  struct mafat_port_facts in = {.size = sizeof in}, out = {.size = sizeof out};
  struct mafat_diagnostic d;
  float found[MOST];
  ck_assert_int_eq(mafat_model_describe_input(opened, 0, &in), MAFAT_OK);
  ck_assert_int_eq(mafat_model_describe_output(opened, 0, &out), MAFAT_OK);
  ck_assert_msg(out.n == (size_t)m->n, "%s: expected %d numbers, found %zu", m->what, m->n, out.n);
  ck_assert_msg(mafat_model_run_floats(opened, m->input, in.n, &d) == MAFAT_OK, "%s: %s", m->what,
                d.text);
  ck_assert_int_eq(mafat_model_read_output(opened, NULL, found, out.n, &d), MAFAT_OK);
  for (int k = 0; k < m->n; k++)
    ck_assert_msg(fabsf(found[k] - m->expected[k]) <= 1e-5f * fmaxf(1, fabsf(m->expected[k])),
                  "%s: number %d: found %g, expected %g", m->what, k, (double)found[k],
                  (double)m->expected[k]);
}

/* ---- parts of models ---- */

#define DATA(list) .data = (list), .bytes = sizeof(list)
#define SCALE(of) \
  .n_scales = 1, .scales = &(of).scale, .n_zero_points = 1, .zero_points = &(of).zero

static const struct {
  float scale;
  int64_t zero;
} weighted = {.01f, 0}, wider = {.02f, 0}, apart = {.01f, 4}, input = {.05f, 3}, output = {.2f, 0};
/* Small integers times quotients of two of the first four scales are just above a half if the
 * quotient is computed in floats, and just below if it is computed in doubles. */
static const struct {
  float scale;
  int64_t zero;
} thirds = {.003f, 0}, halves = {.002f, 0}, fortieth = {.025f, 0}, thousandth = {.001f, 0},
  huge = {2e19f, 0}, hugest = {3e38f, 0};

static const float low[] = {-1, 2, -3}, half[] = {.5f, .5f, .5f}, high[] = {12, 2, -3};
static const int32_t sevens[] = {-7, 7}, two[] = {2}, one[] = {1}, none[] = {0}, from[] = {1, 0},
                     size[] = {2, 3}, places[] = {2, 1}, there_and_back[] = {0, 2, 2, 0, 1},
                     every_other[] = {2, 4};
static const signed char rows[] = {-100, -63, -26, 11, 48, 85, -78, -41, -4, 33, 70, -93},
                         first[] = {11, 48, 85}, second[] = {-78, -41, -4}, ones[] = {1, 1, 1};

#define FLOATS(its_name, n) {.name = (its_name), .type = F32, .rank = 2, .shape = {1, (n)}}
#define INPUT {.name = "x", .type = I8, .rank = 2, .shape = {1, 3}, SCALE(input)}
#define OUTPUT {.name = "y", .type = I8, .rank = 2, .shape = {1, 2}, SCALE(output)}
#define ROWS {.name = "w", .type = I8, .rank = 2, .shape = {4, 3}, DATA(rows), SCALE(weighted)}
#define MOVED(h) {.name = "moved", .type = I8, .rank = 2, .shape = {(h), 3}, SCALE(weighted)}
#define LIST(its_name, list, n) \
  { \
    .name = (its_name), .type = I32, .rank = 1, .shape = {(n)}, DATA(list) \
  }
#define THREE(its_name, list) {.name = (its_name), .type = F32, .rank = 1, .shape = {3}, DATA(list)}

#define NUMBERS(its_name, of) \
  { \
    .name = (its_name), .type = I8, .rank = 4, .shape = {1, 1, 1, 3}, SCALE(of) \
  }
#define ROWS_OF_TWO(its_name, h) \
  { \
    .name = (its_name), .type = I8, .rank = 4, .shape = {1, (h), 2, 2}, SCALE(input) \
  }

/* x, and its products with rows [11, 48, 85] and [-78, -41, -4] of the weights. Scales: .05 with
 * zero point 3 for x, .01 for the weights. */
#define TWO_ROWS .input = {.1f, -1.15f, 4.35f}, .n = 2, .expected = {3.2f, .2f}

static const struct model models[] = {
    {.what = "a fused activation of two constants",
     .tensors = {FLOATS("x", 3),
                 THREE("a", low),
                 THREE("b", half),
                 {.name = "c", .type = F32, .rank = 1, .shape = {3}},
                 FLOATS("y", 3)},
     .operators = {{.code = MAFAT_TFLITE_ADD,
                    .n_inputs = 2,
                    .n_outputs = 1,
                    .inputs = {1, 2},
                    .outputs = {3},
                    .options = ADDITION,
                    .n_fields = 1,
                    .fields = {{0, 1, MAFAT_TFLITE_FUSED_RELU, 0, 0, {0}}}},
                   {.code = MAFAT_TFLITE_ADD,
                    .n_inputs = 2,
                    .n_outputs = 1,
                    .inputs = {0, 3},
                    .outputs = {4},
                    .options = ADDITION}},
     .input = {1, 1, 1},
     .n = 3,
     .expected = {1, 3.5f, 1}},
    {.what = "a fused activation of two constants with an upper bound",
     .tensors = {FLOATS("x", 3),
                 THREE("a", high),
                 THREE("b", half),
                 {.name = "c", .type = F32, .rank = 1, .shape = {3}},
                 FLOATS("y", 3)},
     .operators = {{.code = MAFAT_TFLITE_ADD,
                    .n_inputs = 2,
                    .n_outputs = 1,
                    .inputs = {1, 2},
                    .outputs = {3},
                    .options = ADDITION,
                    .n_fields = 1,
                    .fields = {{0, 1, MAFAT_TFLITE_FUSED_RELU6, 0, 0, {0}}}},
                   {.code = MAFAT_TFLITE_ADD,
                    .n_inputs = 2,
                    .n_outputs = 1,
                    .inputs = {0, 3},
                    .outputs = {4},
                    .options = ADDITION}},
     .input = {1, 1, 1},
     .n = 3,
     .expected = {7, 3.5f, 1}},

    {.what = "the largest values",
     .tensors = {FLOATS("x", 4),
                 LIST("k", two, 1),
                 {.name = "places", .type = I32, .rank = 2, .shape = {1, 2}},
                 FLOATS("y", 2)},
     .operators = {{.code = MAFAT_TFLITE_TOPK_V2,
                    .n_inputs = 2,
                    .n_outputs = 2,
                    .inputs = {0, 1},
                    .outputs = {3, 2}}},
     .input = {1, 7, 3, 7},
     .n = 2,
     .expected = {7, 7}},
    {.what = "the indices of the largest values",
     .tensors = {FLOATS("x", 4),
                 LIST("k", two, 1),
                 FLOATS("values", 2),
                 {.name = "y", .type = I32, .rank = 2, .shape = {1, 2}}},
     .operators = {{.code = MAFAT_TFLITE_TOPK_V2,
                    .n_inputs = 2,
                    .n_outputs = 2,
                    .inputs = {0, 1},
                    .outputs = {2, 3}}},
     .input = {1, 7, 3, 7},
     .n = 2,
     .expected = {1, 3}},
    {.what = "the largest int8 values",
     .tensors = {INPUT,
                 LIST("k", two, 1),
                 {.name = "places", .type = I32, .rank = 2, .shape = {1, 2}},
                 {.name = "y", .type = I8, .rank = 2, .shape = {1, 2}, SCALE(input)}},
     .operators = {{.code = MAFAT_TFLITE_TOPK_V2,
                    .n_inputs = 2,
                    .n_outputs = 2,
                    .inputs = {0, 1},
                    .outputs = {3, 2}}},
     .input = {.1f, -1.15f, 4.35f},
     .n = 2,
     .expected = {4.35f, .1f}},

    {.what = "quotients of constant integers are truncated towards 0",
     .tensors = {FLOATS("x", 2),
                 LIST("a", sevens, 2),
                 LIST("b", two, 1),
                 {.name = "q", .type = I32, .rank = 1, .shape = {2}},
                 {.name = "f", .type = F32, .rank = 1, .shape = {2}},
                 FLOATS("y", 2)},
     .operators = {{.code = MAFAT_TFLITE_DIV,
                    .n_inputs = 2,
                    .n_outputs = 1,
                    .inputs = {1, 2},
                    .outputs = {3},
                    .options = DIVISION},
                   {.code = MAFAT_TFLITE_CAST,
                    .n_inputs = 1,
                    .n_outputs = 1,
                    .inputs = {3},
                    .outputs = {4},
                    .options = CASTING},
                   {.code = MAFAT_TFLITE_MUL,
                    .n_inputs = 2,
                    .n_outputs = 1,
                    .inputs = {0, 4},
                    .outputs = {5},
                    .options = MULTIPLICATION}},
     .input = {1, 1},
     .n = 2,
     .expected = {-3, 3}},
    {.what = "quotients of integers computed in the run are refused",
     .says = "divides integers",
     .tensors = {{.name = "x", .type = I32, .rank = 2, .shape = {1, 2}},
                 LIST("b", two, 1),
                 {.name = "y", .type = I32, .rank = 2, .shape = {1, 2}}},
     .operators = {{.code = MAFAT_TFLITE_DIV,
                    .n_inputs = 2,
                    .n_outputs = 1,
                    .inputs = {0, 1},
                    .outputs = {2},
                    .options = DIVISION}}},
    {.what = "a mean of integers computed in the run is refused",
     .says = "found integers",
     .tensors = {{.name = "x", .type = I32, .rank = 2, .shape = {1, 2}},
                 LIST("b", one, 1),
                 {.name = "y", .type = I32, .rank = 1, .shape = {1}}},
     .operators = {{.code = MAFAT_TFLITE_MEAN,
                    .n_inputs = 2,
                    .n_outputs = 1,
                    .inputs = {0, 1},
                    .outputs = {2},
                    .options = REDUCTION}}},

    {.what = "quantized weights that are a slice",
     .tensors = {INPUT, ROWS, LIST("from", from, 2), LIST("size", size, 2), MOVED(2), OUTPUT},
     .operators = {{.code = MAFAT_TFLITE_SLICE,
                    .n_inputs = 3,
                    .n_outputs = 1,
                    .inputs = {1, 2, 3},
                    .outputs = {4}},
                   {.code = MAFAT_TFLITE_FULLY_CONNECTED,
                    .n_inputs = 3,
                    .n_outputs = 1,
                    .inputs = {0, 4, -1},
                    .outputs = {5},
                    .options = DENSE}},
     TWO_ROWS},
    {.what = "quantized weights that are gathered",
     .tensors = {INPUT, ROWS, LIST("places", places, 2), MOVED(2), OUTPUT},
     .operators = {{.code = MAFAT_TFLITE_GATHER,
                    .n_inputs = 2,
                    .n_outputs = 1,
                    .inputs = {1, 2},
                    .outputs = {3},
                    .options = GATHERING},
                   {.code = MAFAT_TFLITE_FULLY_CONNECTED,
                    .n_inputs = 3,
                    .n_outputs = 1,
                    .inputs = {0, 3, -1},
                    .outputs = {4},
                    .options = DENSE}},
     .input = {.1f, -1.15f, 4.35f},
     .n = 2,
     .expected = {.2f, 3.2f}},
    {.what = "quantized weights that are concatenated",
     .tensors =
         {INPUT,
          {.name = "a", .type = I8, .rank = 2, .shape = {1, 3}, DATA(first), SCALE(weighted)},
          {.name = "b", .type = I8, .rank = 2, .shape = {1, 3}, DATA(second), SCALE(weighted)},
          MOVED(2),
          OUTPUT},
     .operators = {{.code = MAFAT_TFLITE_CONCATENATION,
                    .n_inputs = 2,
                    .n_outputs = 1,
                    .inputs = {1, 2},
                    .outputs = {3},
                    .options = CONCATENATION},
                   {.code = MAFAT_TFLITE_FULLY_CONNECTED,
                    .n_inputs = 3,
                    .n_outputs = 1,
                    .inputs = {0, 3, -1},
                    .outputs = {4},
                    .options = DENSE}},
     TWO_ROWS},
    {.what = "quantized weights that are packed",
     .tensors = {INPUT,
                 {.name = "a", .type = I8, .rank = 1, .shape = {3}, DATA(first), SCALE(weighted)},
                 {.name = "b", .type = I8, .rank = 1, .shape = {3}, DATA(second), SCALE(weighted)},
                 MOVED(2),
                 OUTPUT},
     .operators = {{.code = MAFAT_TFLITE_PACK,
                    .n_inputs = 2,
                    .n_outputs = 1,
                    .inputs = {1, 2},
                    .outputs = {3},
                    .options = PACKING,
                    .n_fields = 1,
                    .fields = {{0, 4, 2, 0, 0, {0}}}},
                   {.code = MAFAT_TFLITE_FULLY_CONNECTED,
                    .n_inputs = 3,
                    .n_outputs = 1,
                    .inputs = {0, 3, -1},
                    .outputs = {4},
                    .options = DENSE}},
     TWO_ROWS},
    {.what = "quantized weights that are half of a split",
     .tensors = {INPUT,
                 ROWS,
                 LIST("axis", none, 1),
                 MOVED(2),
                 {.name = "other", .type = I8, .rank = 2, .shape = {2, 3}, SCALE(weighted)},
                 OUTPUT},
     .operators = {{.code = MAFAT_TFLITE_SPLIT,
                    .n_inputs = 2,
                    .n_outputs = 2,
                    .inputs = {2, 1},
                    .outputs = {3, 4},
                    .options = SPLITTING,
                    .n_fields = 1,
                    .fields = {{0, 4, 2, 0, 0, {0}}}},
                   {.code = MAFAT_TFLITE_FULLY_CONNECTED,
                    .n_inputs = 3,
                    .n_outputs = 1,
                    .inputs = {0, 4, -1},
                    .outputs = {5},
                    .options = DENSE}},
     .input = {.1f, -1.15f, 4.35f},
     .n = 2,
     .expected = {.2f, -4.8f}},
    {.what = "a slice of quantized weights, for a float input",
     .tensors = {FLOATS("x", 3), ROWS, LIST("from", from, 2), LIST("size", size, 2), MOVED(2),
                 FLOATS("y", 2)},
     .operators = {{.code = MAFAT_TFLITE_SLICE,
                    .n_inputs = 3,
                    .n_outputs = 1,
                    .inputs = {1, 2, 3},
                    .outputs = {4}},
                   {.code = MAFAT_TFLITE_FULLY_CONNECTED,
                    .n_inputs = 3,
                    .n_outputs = 1,
                    .inputs = {0, 4, -1},
                    .outputs = {5},
                    .options = DENSE}},
     .input = {1, 2, 4},
     .n = 2,
     .expected = {4.47f, -1.76f}},
    {.what = "a slice of quantized weights with a zero point, dequantized",
     .tensors = {FLOATS("x", 3),
                 {.name = "w", .type = I8, .rank = 2, .shape = {4, 3}, DATA(rows), SCALE(apart)},
                 LIST("from", from, 2),
                 LIST("size", size, 2),
                 {.name = "moved", .type = I8, .rank = 2, .shape = {2, 3}, SCALE(apart)},
                 {.name = "f", .type = F32, .rank = 2, .shape = {2, 3}},
                 FLOATS("y", 2)},
     .operators = {{.code = MAFAT_TFLITE_SLICE,
                    .n_inputs = 3,
                    .n_outputs = 1,
                    .inputs = {1, 2, 3},
                    .outputs = {4}},
                   {.code = MAFAT_TFLITE_DEQUANTIZE,
                    .n_inputs = 1,
                    .n_outputs = 1,
                    .inputs = {4},
                    .outputs = {5}},
                   {.code = MAFAT_TFLITE_FULLY_CONNECTED,
                    .n_inputs = 3,
                    .n_outputs = 1,
                    .inputs = {0, 5, -1},
                    .outputs = {6},
                    .options = DENSE}},
     .input = {1, 2, 4},
     .n = 2,
     .expected = {4.19f, -2.04f}},
    {.what = "a concatenation of constants of two scales is refused",
     .says = "a constant with another scale",
     .tensors =
         {INPUT,
          {.name = "a", .type = I8, .rank = 2, .shape = {1, 3}, DATA(first), SCALE(weighted)},
          {.name = "b", .type = I8, .rank = 2, .shape = {1, 3}, DATA(second), SCALE(wider)},
          MOVED(2),
          OUTPUT},
     .operators = {{.code = MAFAT_TFLITE_CONCATENATION,
                    .n_inputs = 2,
                    .n_outputs = 1,
                    .inputs = {1, 2},
                    .outputs = {3},
                    .options = CONCATENATION},
                   {.code = MAFAT_TFLITE_FULLY_CONNECTED,
                    .n_inputs = 3,
                    .n_outputs = 1,
                    .inputs = {0, 3, -1},
                    .outputs = {4},
                    .options = DENSE}}},
    {.what = "a sum of two quantized constants is refused",
     .says = "two quantized constants",
     .tensors =
         {INPUT,
          {.name = "a", .type = I8, .rank = 2, .shape = {1, 3}, DATA(first), SCALE(weighted)},
          {.name = "b", .type = I8, .rank = 2, .shape = {1, 3}, DATA(second), SCALE(weighted)},
          MOVED(1),
          OUTPUT},
     .operators = {{.code = MAFAT_TFLITE_ADD,
                    .n_inputs = 2,
                    .n_outputs = 1,
                    .inputs = {1, 2},
                    .outputs = {3},
                    .options = ADDITION},
                   {.code = MAFAT_TFLITE_FULLY_CONNECTED,
                    .n_inputs = 3,
                    .n_outputs = 1,
                    .inputs = {0, 3, -1},
                    .outputs = {4},
                    .options = DENSE}}},

    {.what = "RELU rounds halves up",
     .tensors = {NUMBERS("x", thirds), NUMBERS("y", halves)},
     .operators = {{.code = MAFAT_TFLITE_RELU,
                    .n_inputs = 1,
                    .n_outputs = 1,
                    .inputs = {0},
                    .outputs = {1}}},
     .input = {.003f, .009f, .015f},
     .n = 3,
     .expected = {.004f, .010f, .016f}},
    {.what = "PRELU rounds halves up",
     .tensors =
         {NUMBERS("x", thirds),
          {.name = "a", .type = I8, .rank = 3, .shape = {1, 1, 3}, DATA(ones), SCALE(weighted)},
          NUMBERS("y", halves)},
     .operators = {{.code = MAFAT_TFLITE_PRELU,
                    .n_inputs = 2,
                    .n_outputs = 1,
                    .inputs = {0, 1},
                    .outputs = {2}}},
     .input = {.003f, .009f, .015f},
     .n = 3,
     .expected = {.004f, .010f, .016f}},
    {.what = "products round halves up",
     .tensors =
         {NUMBERS("x", fortieth),
          {.name = "a", .type = I8, .rank = 4, .shape = {1, 1, 1, 3}, DATA(ones), SCALE(weighted)},
          NUMBERS("y", thousandth)},
     .operators = {{.code = MAFAT_TFLITE_MUL,
                    .n_inputs = 2,
                    .n_outputs = 1,
                    .inputs = {0, 1},
                    .outputs = {2},
                    .options = MULTIPLICATION}},
     .input = {.025f, .125f, .225f},
     .n = 3,
     .expected = {.001f, .002f, .003f}},
    {.what = "a product of scales above the largest float is refused",
     .says = "scales",
     .tensors =
         {NUMBERS("x", huge),
          {.name = "a", .type = I8, .rank = 4, .shape = {1, 1, 1, 3}, DATA(ones), SCALE(huge)},
          NUMBERS("y", hugest)},
     .operators = {{.code = MAFAT_TFLITE_MUL,
                    .n_inputs = 2,
                    .n_outputs = 1,
                    .inputs = {0, 1},
                    .outputs = {2},
                    .options = MULTIPLICATION}}},
    {.what = "QUANTIZE to another scale rounds these halves down",
     .tensors = {NUMBERS("x", thirds), NUMBERS("y", halves)},
     .operators = {{.code = MAFAT_TFLITE_QUANTIZE,
                    .n_inputs = 1,
                    .n_outputs = 1,
                    .inputs = {0},
                    .outputs = {1}}},
     .input = {.003f, .009f, .015f},
     .n = 3,
     .expected = {.002f, .008f, .014f}},

    {.what = "rows of a map whose first rows are not read",
     .tensors = {ROWS_OF_TWO("x", 3), LIST("places", there_and_back, 5), ROWS_OF_TWO("longer", 5),
                 LIST("again", every_other, 2), ROWS_OF_TWO("y", 2)},
     .operators = {{.code = MAFAT_TFLITE_GATHER,
                    .n_inputs = 2,
                    .n_outputs = 1,
                    .inputs = {0, 1},
                    .outputs = {2},
                    .options = GATHERING,
                    .n_fields = 1,
                    .fields = {{0, 4, 1, 0, 0, {0}}}},
                   {.code = MAFAT_TFLITE_GATHER,
                    .n_inputs = 2,
                    .n_outputs = 1,
                    .inputs = {2, 3},
                    .outputs = {4},
                    .options = GATHERING,
                    .n_fields = 1,
                    .fields = {{0, 4, 1, 0, 0, {0}}}}},
     .input = {.05f, .1f, .15f, .2f, .25f, .3f, .35f, .4f, .45f, .5f, .55f, .6f},
     .n = 8,
     .expected = {.45f, .5f, .55f, .6f, .25f, .3f, .35f, .4f}},
};

START_TEST(models_give_tflites_outputs)
{
  const struct model *m = &models[_i];
  struct mafat_model *opened;
  struct mafat_diagnostic d;
  int code = open_model(&opened, m, &d);
  if (m->says) {
    ck_assert_msg(code == MAFAT_EUNSUPPORTED, "%s: %d", m->what, code);
    ck_assert_msg(strstr(d.text, m->says) != NULL, "%s: %s", m->what, d.text);
    return;
  }
  ck_assert_msg(code == MAFAT_OK, "%s: %s", m->what, d.text);
  compare(m, opened);
  mafat_model_close(&opened);
}
END_TEST

Suite *tflite_meaning_suite(void)
{
  Suite *s = suite_create("tflite_meaning");
  TCase *c = tcase_create("numbers");
  tcase_add_loop_test(c, models_give_tflites_outputs, 0, COUNT(models));
  suite_add_tcase(s, c);
  return s;
}
