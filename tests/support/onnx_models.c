/* Builds small ONNX models. Called by test_onnx.c and fuzz_onnx.c. The caller frees a message's
 * data. */
#include "tests/support/onnx_models.h"

static const int64_t map[] = {1, 2, 4, 4}, batch[] = {-1, 6}, weights[] = {3, 2, 3, 3},
                     three[] = {3}, two_by_three[] = {2, 3}, nothing[] = {0};
static const double six[] = {1, -2, 3, -4, 5, 127}, zeros[54];

struct test_message test_onnx_whole(void)
{
  struct test_message graph = {0}, node = test_onnx_node("Conv", "stem/conv", "x w b", "c");
  test_onnx_attributes(&node, "pads=[1,1,1,1] group=1 auto_pad=NOTSET kernel_shape=[3,3]");
  test_onnx_add_node(&graph, &node);
  test_onnx_add(&graph, "Clip", "c - most", "d", "");
  test_onnx_add(&graph, "LeakyRelu", "d", "e", "alpha=.125");
  test_onnx_add(&graph, "Upsample", "e", "f", "scales=[1.,1.,2.,2.] mode=nearest empty=[]");
  node = test_onnx_node("Constant", "shape", "", "s");
  test_onnx_tensor_attribute(
      &node, "value",
      &(struct test_onnx_tensor){
          .type = 7, .rank = 1, .dims = three, .values = six, .style = TEST_ONNX_TYPED});
  test_onnx_add_node(&graph, &node);
  test_onnx_add(&graph, "Reshape", "f s", "y", "allowzero=-1");
  test_onnx_floats(&graph, "w", 4, weights, zeros);
  test_onnx_initializer(&graph, &(struct test_onnx_tensor){.name = "b",
                                                           .type = 1,
                                                           .rank = 1,
                                                           .dims = three,
                                                           .values = six,
                                                           .style = TEST_ONNX_TYPED});
  test_onnx_initializer(&graph,
                        &(struct test_onnx_tensor){.name = "most", .type = 1, .values = six + 4});
  test_onnx_initializer(
      &graph, &(struct test_onnx_tensor){
                  .name = "nothing", .type = 1, .rank = 1, .dims = nothing, .values = six});
  test_onnx_input(&graph, "x", 4, map);
  /* the weights are listed as an input, too, as the first versions of ONNX require */
  test_onnx_input(&graph, "w", 4, weights);
  test_onnx_output(&graph, "y", 2, batch);
  return test_onnx_model(&graph, 13);
}

struct test_message test_onnx_of_tensor(const struct test_onnx_tensor *t)
{
  struct test_message graph = {0};
  test_onnx_add(&graph, "Identity", "t", "y", "");
  test_onnx_initializer(&graph, t);
  test_onnx_output(&graph, "y", -1, NULL);
  return test_onnx_model(&graph, 17);
}

struct test_message test_onnx_sample(unsigned number)
{
  static const int types[] = {1, 2, 3, 4, 5, 6, 7, 9, 11, 12, 13};
  enum { N_TYPES = sizeof types / sizeof *types, N_STYLES = TEST_ONNX_EXTERNAL + 1 };
  if (number % 2) return test_onnx_whole();
  number /= 2;
  return test_onnx_of_tensor(
      &(struct test_onnx_tensor){.name = "t",
                                 .type = types[number % N_TYPES],
                                 .rank = 2,
                                 .dims = two_by_three,
                                 .values = six,
                                 .style = (enum test_onnx_style)(number / N_TYPES % N_STYLES),
                                 .location = "weights/a.bin",
                                 .offset = "64"});
}
