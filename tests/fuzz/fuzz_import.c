/* libFuzzer target: imports an ONNX file. If the input is no ONNX file, its bytes choose a small
 * model (one operator or a chain of operators) and changes of the model's bytes
 * (tests/fuzz/changes.h). tests/fuzz/imported.h checks the resulting network. Build with clang
 * -fsanitize=fuzzer,address,undefined. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/onnx/import.h"
#include "formats/onnx/onnx.h"
#include "tests/support/network_files.h"
#include "tests/fuzz/changes.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/bounded.h"
#include "tests/fuzz/imported.h"
#include "tests/support/onnx_operators.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* ---- chains of operators ---- */

enum { MAX_NODES = 5, SEQUENCES = 3 };

/* Chains of operators. Their input is one picture or a batch of sequences. */
static const struct {
  int rank;
  int64_t dims[4];
  const char *nodes[MAX_NODES][4]; /* operator, inputs, output, attributes */
} chains[] = {
    {4, {1, 4, 6, 6}, {{"Div", "x root", "d", ""}, {"Erf", "d", "e", ""}, {"Add", "e one", "s", ""},
     {"Mul", "x s", "m", ""}, {"Mul", "m half", "y", ""}}},
    {3, {1, 4, 6}, {{"Mul", "x half", "h", ""}, {"Div", "x root", "d", ""}, {"Erf", "d", "e", ""},
     {"Add", "e one", "s", ""}, {"Mul", "s h", "y", ""}}},
    {3, {SEQUENCES, 4, 6}, {{"MaxPool", "x", "p", "kernel_shape=[2]"}, {"Relu", "p", "y", ""}}},
    {4,
     {SEQUENCES, 4, 1, 6},
     {{"Conv", "x w", "c", "pads=[0,1,0,1]"},
      {"AveragePool", "c", "y", "kernel_shape=[1,2] strides=[1,2]"}}},
    {3, {SEQUENCES, 4, 6}, {{"LayerNormalization", "x six", "l", ""}, {"Transpose", "l", "t",
     "perm=[0,2,1]"}, {"MatMul", "x t", "a", ""}, {"Softmax", "a", "y", ""}}},
    {3,
     {SEQUENCES, 4, 6},
     {{"Transpose", "x", "t", "perm=[0,2,1]"},
      {"ReduceMean", "t", "r", "axes=[1] keepdims=1"},
      {"Transpose", "r", "y", "perm=[0,2,1]"}}},
    {4,
     {1, 4, 6, 6},
     {{"Resize", "x - twice", "u", "mode=cubic cubic_coeff_a=-.5"},
      {"Add", "u one", "a", ""},
      {"Resize", "a - less", "y", "mode=cubic"}}},
    {4,
     {1, 4, 6, 6},
     {{"Conv", "x w", "c", "pads=[0,1,0,1]"},
      {"Sigmoid", "c", "s", ""},
      {"Mul", "c s", "m", ""},
      {"Concat", "m x", "y", "axis=1"}}},
};

enum { CHAINS = sizeof chains / sizeof *chains };

static void put_constants(struct test_message *graph)
{
  static const struct {
    const char *name;
    int rank;
    int64_t dims[4];
    double first;
  } floats[] = {{"root", 0, {0}, 1.4142135381698608},
                {"one", 0, {0}, 1},
                {"half", 0, {0}, .5},
                {"six", 1, {6}, .75},
                {"w", 4, {4, 4, 1, 3}, .125},
                {"twice", 1, {4}, 1},
                {"less", 1, {4}, 1}};
  for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
    double values[4 * 4 * 3];
    for (int k = 0; k < 4 * 4 * 3; k++) values[k] = floats[i].first * (1 + k % 5);
    if (strcmp(floats[i].name, "twice") == 0) values[0] = values[1] = 1, values[2] = values[3] = 2;
    if (strcmp(floats[i].name, "less") == 0) values[0] = values[1] = 1, values[2] = values[3] = .75;
    test_onnx_floats(graph, floats[i].name, floats[i].rank, floats[i].dims, values);
  }
}

static void put_node(struct test_message *graph, const char *const node[4])
{
  test_onnx_add(graph, node[0], node[1], node[2], node[3]);
}

static struct test_message chain(int number)
{
  struct test_message graph = {0};
  put_constants(&graph);
  test_onnx_input(&graph, "x", chains[number].rank, chains[number].dims);
  for (int k = 0; k < MAX_NODES && chains[number].nodes[k][0]; k++)
    put_node(&graph, chains[number].nodes[k]);
  test_onnx_output(&graph, "y", -1, NULL);
  return test_onnx_model(&graph, 17);
}

static struct test_message model(unsigned number)
{
  unsigned n = test_onnx_n_operators();
  number %= n + CHAINS;
  return number < n ? test_onnx_operator_model(test_onnx_operator(number))
                    : chain((int)(number - n));
}

static void check_file(const char *bytes, size_t n)
{
  struct mafat_diagnostic d = {""};
  struct mafat_network *network;
  char path[64];
  int fd = memfd_create("fuzz", MFD_CLOEXEC);
  require(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  bounded_begin();
  int code = test_onnx_network_read(&network, path, NULL, &d);
  bounded_end(TEST_READER_ONNX, n);
  require((code == MAFAT_OK) == (network != NULL) && (network || d.text[0]));
  struct way_file f = way_file_make(path, fd);
  if (network) check_imported(network, &f);
  if (way_is_in_turn(n)) check_ways(&f, network, "1x1/NoCut");
  way_file_free(&f);
  mafat_network_close(&network);
  close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
  if (n >= MAFAT_ONNX_BEGINNING && mafat_onnx_begins((const char *)bytes))
    check_file((const char *)bytes, n);
  else if (n > 0) {
    struct test_message m = model(bytes[0]);
    change_message(&m, bytes + 1, n - 1);
    check_file(m.data, m.n);
    free(m.data);
  }
  return 0;
}

/* Mutates an ONNX file field by field. An input whose first byte chooses a model is sometimes
 * replaced by that model's file. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed)
{
  if (n >= MAFAT_ONNX_BEGINNING && mafat_onnx_begins((const char *)data))
    return mutate_wire(data, n, most, seed);
  if (n == 0 || seed % 3) return LLVMFuzzerMutate(data, n, most);
  struct test_message m = model(data[0]);
  size_t size = m.n <= most ? m.n : 0;
  memcpy(data, m.data, size);
  free(m.data);
  return size ? size : LLVMFuzzerMutate(data, n, most);
}
