/* Builds small .tflite models in static memory. Called by suites of TFLite models and
 * fuzz_tflite.c. */
#include "tests/support/tflite_models.h"

#include "formats/tflite/tflite.h"
#include "tests/support/tflite_operators.h"

static const float weights[2 * 3 * 3 * 1] = {1,  2,  3,  4,  5,  6,  7,  8,  9,
                                             -1, -2, -3, -4, -5, -6, -7, -8, -9.5f};
static const float biases[2] = {.25f, -8};
static const int32_t flat[2] = {1, -1};
static const int64_t wide[2] = {INT64_MAX, INT64_MIN};
static const signed char bytes[3] = {-128, 0, 127};
static const unsigned char flags[2] = {0, 7};
static const int32_t signature[4] = {-1, 4, -1, 1};

static const struct test_tflite_tensor tensors[WHOLE_TENSORS] = {
    [WHOLE_INPUT] = {.name = "picture", .rank = 4, .shape = {1, 4, 4, 1}, .signature = signature},
    [WHOLE_WEIGHTS] = {.name = "weights",
                       .rank = 4,
                       .shape = {2, 3, 3, 1},
                       .data = weights,
                       .bytes = sizeof weights,
                       .n_scales = 2},
    [WHOLE_BIASES] =
        {.name = "biases", .rank = 1, .shape = {2}, .data = biases, .bytes = sizeof biases},
    [WHOLE_MAP] = {.name = "map", .rank = 4, .shape = {1, 4, 2, 2}},
    [WHOLE_SHAPE] = {.name = "shape",
                     .type = MAFAT_TFLITE_INT32,
                     .rank = 1,
                     .shape = {2},
                     .data = flat,
                     .bytes = sizeof flat},
    [WHOLE_FLAT] = {.name = "flat", .rank = 2, .shape = {1, 16}},
    [WHOLE_BOXES] = {.name = "boxes", .rank = 0},
    [WHOLE_WIDE] = {.name = "wide",
                    .type = MAFAT_TFLITE_INT64,
                    .rank = 1,
                    .shape = {2},
                    .data = wide,
                    .bytes = sizeof wide},
    [WHOLE_BYTES] = {.name = "bytes",
                     .type = MAFAT_TFLITE_INT8,
                     .rank = 1,
                     .shape = {3},
                     .data = bytes,
                     .bytes = sizeof bytes},
    [WHOLE_UNSIGNED] = {.name = "unsigned",
                        .type = MAFAT_TFLITE_UINT8,
                        .rank = 1,
                        .shape = {3},
                        .data = bytes,
                        .bytes = sizeof bytes},
    [WHOLE_FLAGS] = {.name = "flags",
                     .type = MAFAT_TFLITE_BOOL,
                     .rank = 1,
                     .shape = {2},
                     .data = flags,
                     .bytes = sizeof flags},
    [WHOLE_EMPTY] = {.name = "empty", .type = MAFAT_TFLITE_INT32, .rank = 1, .shape = {0}},
    [WHOLE_STATE] = {.name = "state", .rank = 1, .shape = {5}, .variable = 1}};

static char detection[512];

static const struct test_flex_entry entries[] = {{"h_scale", 5, 0},
                                                 {"max_classes_per_detection", 1, 0},
                                                 {"max_detections", 10, 0},
                                                 {"nms_iou_threshold", 0, .6f},
                                                 {"nms_score_threshold", 0, 1e-8f},
                                                 {"num_classes", 90, 0},
                                                 {"use_regular_nms", 1, 0},
                                                 {"w_scale", 5, 0},
                                                 {"x_scale", 10, 0},
                                                 {"y_scale", 0, 10.5f}};

static struct test_tflite_operator operators[WHOLE_OPERATORS] = {
    [WHOLE_CONVOLUTION] =
        {.code = MAFAT_TFLITE_CONV_2D,
         .n_inputs = 3,
         .inputs = {WHOLE_INPUT, WHOLE_WEIGHTS, WHOLE_BIASES},
         .n_outputs = 1,
         .outputs = {WHOLE_MAP},
         .options = 1,
         .n_fields = 4,
         .fields = {{.number = 0, .bytes = 1, .value = 1},
                    {.number = 1, .bytes = 4, .value = 2},
                    {.number = 2, .bytes = 4, .value = 3},
                    {.number = 3, .bytes = 1, .value = MAFAT_TFLITE_FUSED_RELU6}}},
    [WHOLE_RESHAPE] = {.code = MAFAT_TFLITE_RESHAPE,
                       .n_inputs = 3,
                       .inputs = {WHOLE_MAP, WHOLE_SHAPE, -1},
                       .n_outputs = 1,
                       .outputs = {WHOLE_FLAT},
                       .options = 17,
                       .n_fields = 1,
                       .fields = {{.number = 0, .n = 2, .list = {1, -1}}}},
    [WHOLE_DETECTION] = {.code = MAFAT_TFLITE_CUSTOM,
                         .custom = "TFLite_Detection_PostProcess",
                         .n_inputs = 2,
                         .inputs = {WHOLE_FLAT, WHOLE_STATE},
                         .n_outputs = 1,
                         .outputs = {WHOLE_BOXES},
                         .custom_options = detection}};

struct test_tflite_model test_tflite_whole(void)
{
  operators[WHOLE_DETECTION].custom_bytes =
      test_flex_write(entries, sizeof entries / sizeof *entries, detection);
  return (struct test_tflite_model){.tensors = tensors,
                                    .n_tensors = WHOLE_TENSORS,
                                    .operators = operators,
                                    .n_operators = WHOLE_OPERATORS,
                                    .n_inputs = 1,
                                    .inputs = {WHOLE_INPUT},
                                    .n_outputs = 2,
                                    .outputs = {WHOLE_FLAT, WHOLE_BOXES},
                                    .n_means = 3,
                                    .means = {127.5f, 1, 2},
                                    .deviations = {127.5f, 2, 4}};
}

const struct test_tflite_model *test_tflite_model(unsigned number)
{
  static struct test_tflite_model whole;
  int n = (int)(number % (unsigned)(test_tflite_n_operators() + 1));
  whole = test_tflite_whole();
  return n ? test_tflite_operator_model(n - 1) : &whole;
}
