/* What reading a file may take at most, of memory and of the processor: a function of its size for each reader, held
 * against files of two sizes that are made to take much. Whether they are right is not the question here. SECURITY.md
 * has the functions, too; fuzz targets hold what they read against the same (tests/support/reading.h). */
#include "formats/darknet/darknet.h"
#include "formats/onnx/import.h"
#include "formats/tflite/import.h"
#include "predictor/spec.h"
#include "runner/program/run_inference/names.h"

#include "tests/support/failing_malloc.h"
#include "tests/support/onnx_writer.h"
#include "tests/support/reading.h"
#include "tests/support/support.h"
#include "tests/support/tflite_writer.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

Suite *bounds_suite(void);

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* ---- readers ---- */

static void read_cfg(const char *path, const char *data, size_t n)
{
  struct mafat_cfg *cfg;
  struct mafat_network *network = NULL;
  (void)path;
  if (mafat_cfg_parse(&cfg, "large.cfg", data, n, NULL) == MAFAT_OK) mafat_darknet_make(&network, cfg, NULL, NULL, NULL);
  mafat_network_close(&network);
  mafat_cfg_close(&cfg);
}

static void read_onnx(const char *path, const char *data, size_t n)
{
  struct mafat_network *network;
  (void)data, (void)n;
  mafat_onnx_network_read(&network, path, NULL, NULL);
  mafat_network_close(&network);
}

static void read_tflite(const char *path, const char *data, size_t n)
{
  struct mafat_network *network;
  (void)data, (void)n;
  mafat_tflite_network_read(&network, path, NULL, NULL);
  mafat_network_close(&network);
}

static void read_names(const char *path, const char *data, size_t n)
{
  struct mafat_names *names;
  (void)data, (void)n;
  mafat_names_read(&names, path, NULL);
  mafat_names_close(&names);
}

static void read_plan(const char *path, const char *data, size_t n)
{
  struct mafat_spec *spec;
  (void)path, (void)n;
  mafat_spec_read(&spec, data, NULL);
  mafat_spec_close(&spec);
}

/* ---- files that ask for much ---- */

/* Once and again until there are so many bytes. */
static void repeat(struct test_message *m, const char *piece, size_t n, size_t size)
{
  while (m->n + n <= size) test_put_bytes(m, piece, n);
}

#define AGAIN(message, piece, size) repeat(message, piece, sizeof(piece) - 1, size)

static void put(struct test_message *m, const char *text)
{
  test_put_bytes(m, text, strlen(text));
}

#define NET "[net]\nwidth=8\nheight=8\nchannels=1\n"

static void empty_lines(struct test_message *m, size_t size) { AGAIN(m, "\n", size); }
static void one_line(struct test_message *m, size_t size) { AGAIN(m, "a", size); }
static void short_sections(struct test_message *m, size_t size) { put(m, NET); AGAIN(m, "[c]\n", size); }
static void unknown_keys(struct test_message *m, size_t size) { put(m, NET); AGAIN(m, "a=\n", size); }
static void known_keys(struct test_message *m, size_t size) { put(m, NET "[region]\n"); AGAIN(m, "anchors=1\n", size); }
static void anchors(struct test_message *m, size_t size) { put(m, NET "[region]\nanchors=1"); AGAIN(m, ",1", size); }
static void layers(struct test_message *m, size_t size) { put(m, NET); AGAIN(m, "[avgpool]\n", size < 40000 ? size : 40000); AGAIN(m, "#\n", size); }
static void routes(struct test_message *m, size_t size)
{
  put(m, NET "[avgpool]\n");
  for (int line = 0; m->n + 100 < size && line < 4000; line++) {
    put(m, "[route]\nlayers=-1");
    for (int i = 0; i < 40; i++) put(m, ",-1");
    put(m, "\n[maxpool]\nsize=1\n");
  }
}

/* Of as many columns as there can be: each layer is looked at in a time that does not go by them. */
static void pools(struct test_message *m, size_t size)
{
  put(m, "[net]\nwidth=1048576\nheight=1\nchannels=1\n");
  AGAIN(m, "[maxpool]\nsize=1\n", size < 72000 ? size : 72000); /* 4000 layers */
  AGAIN(m, "#\n", size);
}

static struct test_message graph_of(const char *piece, size_t n, size_t size)
{
  static const int64_t map[] = {1, 1, 4, 4};
  struct test_message graph = {0};
  test_onnx_add(&graph, "Relu", "x", "y", "");
  test_onnx_input(&graph, "x", 4, map);
  test_onnx_output(&graph, "y", 4, map);
  repeat(&graph, piece, n, size);
  return test_onnx_model(&graph, 13);
}

#define GRAPH_OF(piece) *m = graph_of(piece, sizeof(piece) - 1, size)

static void onnx_nodes(struct test_message *m, size_t size) { GRAPH_OF("\x0a\x00"); }
static void onnx_initializers(struct test_message *m, size_t size) { GRAPH_OF("\x2a\x00"); }
static void onnx_inputs(struct test_message *m, size_t size) { GRAPH_OF("\x5a\x00"); }
static void onnx_outputs(struct test_message *m, size_t size) { GRAPH_OF("\x62\x00"); }
static void onnx_values(struct test_message *m, size_t size) { GRAPH_OF("\x6a\x00"); }
static void onnx_annotations(struct test_message *m, size_t size) { GRAPH_OF("\x72\x00"); }

/* Each with a name of its own. */
static void named(struct test_message *m, size_t size, int kind)
{
  static const int64_t map[] = {1, 1, 4, 4}, one[] = {1};
  struct test_message graph = {0};
  char name[16];
  test_onnx_input(&graph, "x", 4, map);
  for (unsigned i = 0; graph.n + 64 < size; i++) {
    snprintf(name, sizeof name, "%x", i);
    if (kind == 0) test_onnx_add(&graph, "Relu", "x", name, "");
    if (kind == 1) test_onnx_int64s(&graph, name, 0, one);
    if (kind == 2) test_onnx_input(&graph, name, -1, NULL);
    if (kind == 3) test_onnx_add(&graph, "Identity", "x", name, "");
    if (kind == 4) test_onnx_add(&graph, "Shape", "x", name, "");
    if (kind == 5) test_onnx_add(&graph, "Add", "x x", name, "");
    if (kind == 6) test_onnx_add(&graph, "Softmax", "x", name, "");
  }
  test_onnx_add(&graph, "Relu", "x", "y", "");
  test_onnx_output(&graph, "y", -1, NULL);
  *m = test_onnx_model(&graph, 13);
}
static void onnx_named_nodes(struct test_message *m, size_t size) { named(m, size, 0); }
static void onnx_named_initializers(struct test_message *m, size_t size) { named(m, size, 1); }
static void onnx_named_inputs(struct test_message *m, size_t size) { named(m, size, 2); }
static void onnx_identities(struct test_message *m, size_t size) { named(m, size, 3); }
static void onnx_shapes(struct test_message *m, size_t size) { named(m, size, 4); }
static void onnx_sums(struct test_message *m, size_t size) { named(m, size, 5); }
static void onnx_softmaxes(struct test_message *m, size_t size) { named(m, size, 6); }

/* In one node. */
static void in_node(struct test_message *m, size_t size, const char *piece, size_t n)
{
  static const int64_t map[] = {1, 1, 4, 4};
  struct test_message graph = {0}, node = test_onnx_node("Concat", "n", "x", "y");
  repeat(&node, piece, n, size);
  test_onnx_input(&graph, "x", 4, map);
  test_onnx_output(&graph, "y", -1, NULL);
  test_onnx_add_node(&graph, &node);
  *m = test_onnx_model(&graph, 13);
}
#define IN_NODE(piece) in_node(m, size, piece, sizeof(piece) - 1)
static void onnx_attributes(struct test_message *m, size_t size) { IN_NODE("\x2a\x00"); }
static void onnx_node_inputs(struct test_message *m, size_t size) { IN_NODE("\x0a\x00"); }
static void onnx_node_names(struct test_message *m, size_t size) { IN_NODE("\x0a\x01x"); }
static void onnx_node_outputs(struct test_message *m, size_t size) { IN_NODE("\x12\x00"); }

static void attribute(struct test_message *m, size_t size, const char *piece, size_t n, int type)
{
  static const int64_t map[] = {1, 1, 4, 4};
  struct test_message graph = {0}, node = test_onnx_node("Concat", "n", "x", "y"), a = {0};
  test_put_text(&a, 1, "axes");
  test_put_int(&a, 20, type);
  repeat(&a, piece, n, size);
  test_put_message(&node, 5, &a);
  test_onnx_input(&graph, "x", 4, map);
  test_onnx_output(&graph, "y", -1, NULL);
  test_onnx_add_node(&graph, &node);
  *m = test_onnx_model(&graph, 13);
}
static void onnx_ints(struct test_message *m, size_t size) { attribute(m, size, "\x40\x00", 2, 7); }
static void onnx_strings(struct test_message *m, size_t size) { attribute(m, size, "\x4a\x00", 2, 8); }

static void opsets(struct test_message *m, size_t size)
{
  struct test_message all = {0}, model = graph_of("", 1, 0);
  const size_t version = 2;
  test_put_bytes(&all, model.data, version);
  AGAIN(&all, "\x42\x00", size);
  test_put_bytes(&all, model.data + version, model.n - version);
  free(model.data);
  *m = all;
}

/* Few bytes that ask for many numbers, again and again: a file of so many such nodes. */
static void folding(struct test_message *m, size_t size, const char *op, int64_t n)
{
  static const int64_t map[] = {1, 1, 4, 4};
  const int64_t dims[] = {n};
  struct test_message graph = {0};
  char name[16] = "n0", both[32], next[16];
  test_onnx_input(&graph, "x", 4, map);
  test_onnx_int64s(&graph, "dims", 1, dims);
  test_onnx_add(&graph, "ConstantOfShape", "dims", "n0", "");
  for (unsigned i = 1; graph.n + 64 < size; i++) {
    snprintf(next, sizeof next, "n%u", i);
    snprintf(both, sizeof both, strcmp(op, "Add") ? "%s" : "%s %s", name, name);
    test_onnx_add(&graph, op, both, next, strcmp(op, "Concat") ? "" : "axis=0");
    strcpy(name, next);
  }
  test_onnx_add(&graph, "Relu", "x", "y", "");
  test_onnx_output(&graph, "y", -1, NULL);
  *m = test_onnx_model(&graph, 13);
}
static void onnx_folded_sums(struct test_message *m, size_t size) { folding(m, size, "Add", 1 << 16); }
static void onnx_folded_large_sums(struct test_message *m, size_t size) { folding(m, size, "Add", 1 << 21); }
static void onnx_folded_identities(struct test_message *m, size_t size) { folding(m, size, "Identity", 1 << 18); }
static void onnx_folded_signs(struct test_message *m, size_t size) { folding(m, size, "Neg", 1 << 20); }
static void onnx_huge_constant(struct test_message *m, size_t size) { folding(m, size, "Neg", 1LL << 33); }

/* Windows of the widest maps that there are. */
static void onnx_pools(struct test_message *m, size_t size)
{
  static const int64_t map[] = {1, 1, 1, 1 << 20};
  struct test_message graph = {0};
  char name[16] = "x", next[16];
  test_onnx_input(&graph, "x", 4, map);
  for (unsigned i = 0; i < 4000 && graph.n + 128 < size; i++) {
    snprintf(next, sizeof next, "n%u", i);
    test_onnx_add(&graph, "MaxPool", name, next, "kernel_shape=[1,3] pads=[0,1,0,1]");
    strcpy(name, next);
  }
  test_onnx_add(&graph, "Relu", name, "y", "");
  test_onnx_output(&graph, "y", -1, NULL);
  *m = test_onnx_model(&graph, 13);
}

/* Joins of joins: parts of maps. */
static void onnx_joins(struct test_message *m, size_t size)
{
  static const int64_t map[] = {1, 1, 1, 1};
  struct test_message graph = {0};
  char inputs[2200] = "", name[16] = "x", next[16];
  test_onnx_input(&graph, "x", 4, map);
  for (unsigned i = 0; graph.n + 2600 < size; i++) {
    inputs[0] = '\0';
    for (int k = 0; k < 200; k++) strcat(strcat(inputs, k ? " " : ""), i % 2 && k ? "x" : name);
    snprintf(next, sizeof next, "n%u", i);
    test_onnx_add(&graph, "Concat", inputs, next, "axis=1");
    if (i % 2 == 0) strcpy(name, next);
  }
  test_onnx_add(&graph, "Relu", "x", "y", "");
  test_onnx_output(&graph, "y", -1, NULL);
  *m = test_onnx_model(&graph, 13);
}

/* ---- .tflite ---- */

/* So many tensors for so many operators, each of which reads the one before; names as long. */
static void flat(struct test_message *m, size_t size, int tensors, int operators, int name, int code)
{
  int n = (int)(size / (size_t)(tensors * 100 + operators * 80 + name)); /* about */
  int n_tensors = n * tensors + 2, n_operators = n * operators + 1;
  if (n_tensors > 65000) n_tensors = 65000;
  if (n_operators > n_tensors - 1) n_operators = n_tensors - 1;
  struct test_tflite_tensor *all = calloc((size_t)n_tensors, sizeof *all);
  struct test_tflite_operator *each = calloc((size_t)n_operators, sizeof *each);
  char *text = malloc((size_t)name + 1);
  if (!all || !each || !text) abort();
  memset(text, 'a', (size_t)name);
  text[name] = '\0';
  for (int i = 0; i < n_tensors; i++) all[i] = (struct test_tflite_tensor){.name = text, .rank = 4, .shape = {1, 4, 4, 1}};
  for (int i = 0; i < n_operators; i++) each[i] = (struct test_tflite_operator){.code = code, .n_inputs = 1, .n_outputs = 1, .inputs = {i}, .outputs = {i + 1}};
  const struct test_tflite_model model = {.tensors = all, .operators = each, .n_tensors = n_tensors, .n_operators = n_operators,
                                          .n_inputs = 1, .n_outputs = 1, .inputs = {0}, .outputs = {n_operators}, .codes = &code, .n_codes = 1};
  m->data = test_tflite_write(&model, &m->n);
  free(all);
  free(each);
  free(text);
}
static void tflite_tensors(struct test_message *m, size_t size) { flat(m, size, 1, 0, 0, 19); }
static void tflite_operators(struct test_message *m, size_t size) { flat(m, size, 1, 1, 0, 19); } /* RELU */
static void tflite_softmaxes(struct test_message *m, size_t size) { flat(m, size, 1, 1, 0, 25); }
static void tflite_names(struct test_message *m, size_t size) { flat(m, size, 1, 0, 4000, 19); }

/* Of a flatbuffer: a number, and the place that an offset leads to. */
static uint32_t number_at(const struct test_message *m, size_t at)
{
  uint32_t n;
  memcpy(&n, m->data + at, sizeof n);
  return n;
}

static size_t follow(const struct test_message *m, size_t at)
{
  return at + number_at(m, at);
}

static size_t field_of(const struct test_message *m, size_t table, int field)
{
  uint16_t offset;
  size_t list = table - (size_t)(int32_t)number_at(m, table);
  memcpy(&offset, m->data + list + 4 + 2 * (size_t)field, sizeof offset);
  return table + offset;
}

static void put_number(struct test_message *m, uint32_t n)
{
  test_put_bytes(m, &n, sizeof n);
}

/* A list of tensors, all of which are one that has the longest name: what a file may share, and a list of ours may not. */
static void tflite_shared(struct test_message *m, size_t size)
{
  enum { TENSORS_OF_SUBGRAPH = 0, SUBGRAPHS_OF_MODEL = 2, NAME = 4000, MOST = 65536 };
  static const struct test_tflite_tensor both[] = {{.name = "x", .rank = 1, .shape = {1}}, {.name = "y", .rank = 1, .shape = {1}}};
  static const struct test_tflite_operator relu = {.code = 19, .n_inputs = 1, .n_outputs = 1, .inputs = {0}, .outputs = {1}};
  const struct test_tflite_model model = {.tensors = both, .operators = &relu, .n_tensors = 2, .n_operators = 1, .n_inputs = 1, .n_outputs = 1, .outputs = {1}};
  m->data = test_tflite_write(&model, &m->n);
  m->room = m->n;
  while (m->n % 4) test_put_bytes(m, "", 1);
  size_t subgraphs = follow(m, field_of(m, follow(m, 0), SUBGRAPHS_OF_MODEL)), tensors = field_of(m, follow(m, subgraphs + 4), TENSORS_OF_SUBGRAPH);
  uint32_t lies = (uint32_t)(m->n - tensors), n = (uint32_t)((size - m->n - NAME) / 4);
  memcpy(m->data + tensors, &lies, sizeof lies);
  if (n > MOST) n = MOST;
  put_number(m, n);
  const uint16_t list[] = {12, 8, 0, 0, 0, 4}; /* of a table of 8 bytes, whose field 3, the name, is at 4 */
  size_t table = m->n + 4 * (size_t)n + sizeof list;
  while (n-- > 0) put_number(m, (uint32_t)(table - m->n));
  test_put_bytes(m, list, sizeof list);
  put_number(m, sizeof list);
  put_number(m, 4);
  put_number(m, NAME);
  for (int i = 0; i <= NAME; i++) test_put_bytes(m, i < NAME ? "a" : "", 1);
}

static void lines(struct test_message *m, size_t size) { AGAIN(m, "\n", size); }
static void one_label(struct test_message *m, size_t size) { AGAIN(m, "a", size); }

static void groups(struct test_message *m, size_t size) { AGAIN(m, "1x1/1/", size); put(m, "1x1"); test_put_bytes(m, "", 1); }
static void bounds_of_tiles(struct test_message *m, size_t size) { put(m, "[1"); AGAIN(m, ",1", size); put(m, "]x[1]"); test_put_bytes(m, "", 1); }
static void digits(struct test_message *m, size_t size) { AGAIN(m, "1", size); test_put_bytes(m, "", 1); }

static const struct {
  const char *name;
  enum test_reader reader;
  void (*read)(const char *path, const char *data, size_t n);
  void (*make)(struct test_message *m, size_t size);
} files[] = {
#define CFG(make) {#make, TEST_READER_CFG, read_cfg, make}
    CFG(empty_lines), CFG(one_line), CFG(short_sections), CFG(unknown_keys), CFG(known_keys), CFG(anchors), CFG(layers), CFG(routes), CFG(pools),
#define ONNX(make) {#make, TEST_READER_ONNX, read_onnx, make}
    ONNX(onnx_nodes), ONNX(onnx_initializers), ONNX(onnx_inputs), ONNX(onnx_outputs), ONNX(onnx_values), ONNX(onnx_annotations),
    ONNX(onnx_named_nodes), ONNX(onnx_named_initializers), ONNX(onnx_named_inputs), ONNX(onnx_identities), ONNX(onnx_shapes), ONNX(onnx_sums),
    ONNX(onnx_softmaxes), ONNX(onnx_attributes), ONNX(onnx_node_inputs), ONNX(onnx_node_names), ONNX(onnx_node_outputs), ONNX(onnx_ints),
    ONNX(onnx_strings), ONNX(opsets), ONNX(onnx_folded_sums), ONNX(onnx_folded_large_sums), ONNX(onnx_folded_identities),
    ONNX(onnx_folded_signs), ONNX(onnx_huge_constant), ONNX(onnx_pools), ONNX(onnx_joins),
#define TFLITE(make) {#make, TEST_READER_TFLITE, read_tflite, make}
    TFLITE(tflite_tensors), TFLITE(tflite_operators), TFLITE(tflite_softmaxes), TFLITE(tflite_names), TFLITE(tflite_shared),
#define LABELS(make) {#make, TEST_READER_LABELS, read_names, make}
    LABELS(lines), LABELS(one_label),
#define PLAN(make) {#make, TEST_READER_PLAN, read_plan, make}
    PLAN(groups), PLAN(bounds_of_tiles), PLAN(digits),
};

/* ---- held against ---- */

static void hold(int file, size_t size)
{
  struct test_message m = {0};
  char path[64];
  long unfreed;
  files[file].make(&m, size);
  int fd = memfd_create("large", MFD_CLOEXEC);
  ck_assert(fd >= 0 && write(fd, m.data, m.n) == (ssize_t)m.n);
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  failing_malloc_arm(-1);
  clock_t begin = clock();
  files[file].read(path, m.data, m.n);
  double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC, most = test_patience(test_reading_seconds(files[file].reader, m.n));
  failing_malloc_disarm(&unfreed);
  ck_assert_msg(failing_malloc_most_bytes() <= test_reading_bytes(files[file].reader, m.n), "%s, %zu bytes: %zu bytes of memory, expected at most %zu",
                files[file].name, m.n, failing_malloc_most_bytes(), test_reading_bytes(files[file].reader, m.n));
  ck_assert_msg(seconds <= most, "%s, %zu bytes: %.2f seconds of the processor, expected at most %.2f", files[file].name, m.n, seconds, most);
  ck_assert_int_eq(unfreed, 0);
  close(fd);
  free(m.data);
}

START_TEST(reading_takes_no_more)
{
  hold(_i, 1 << 16);
  hold(_i, 1 << 20);
}
END_TEST

Suite *bounds_suite(void)
{
  Suite *suite = suite_create("bounds");
  TCase *t = tcase_create("bounds");
  tcase_set_timeout(t, 120);
  tcase_add_loop_test(t, reading_takes_no_more, 0, COUNT(files));
  suite_add_tcase(suite, t);
  return suite;
}
