/* Covers base/chunks.c: reading a file takes no more memory and processor time than a limit, which
 * is a function of the file's size for each format. Files of two sizes are made to take as much as
 * possible; many of them are refused. SECURITY.md has the same limits, and fuzz targets check them,
 * too (tests/support/reading.h). */
#include "base/tuning.h"
#include "formats/darknet/darknet.h"
#include "formats/graph/given.h"
#include "formats/onnx/import.h"
#include "formats/tflite/import.h"
#include "predictor/plan/spec.h"
#include "runner/calibrate/calibrate_file.h"
#include "runner/image/npy.h"
#include "programs/run_inference/names.h"
#include "programs/shared/video/frames.h"
#include "runner/weights/weights_file.h"

#include "tests/support/network_files.h"
#include "tests/support/failing_malloc.h"
#include "tests/support/onnx_writer.h"
#include "tests/support/reading.h"
#include "tests/support/support.h"
#include "tests/support/tflite_writer.h"
#include "tests/support/weight_files.h"

#include <check.h>
#include <fcntl.h>
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
  if (mafat_cfg_parse(&cfg, "large.cfg", data, n, NULL) == MAFAT_OK)
    mafat_darknet_make(&network, cfg, NULL, NULL, NULL);
  mafat_network_close(&network);
  mafat_cfg_close(&cfg);
}

static void read_onnx(const char *path, const char *data, size_t n)
{
  struct mafat_network *network;
  (void)data, (void)n;
  test_onnx_network_read(&network, path, NULL, NULL);
  mafat_network_close(&network);
}

static void read_tflite(const char *path, const char *data, size_t n)
{
  struct mafat_network *network;
  (void)data, (void)n;
  test_tflite_network_read(&network, path, NULL, NULL);
  mafat_network_close(&network);
}

static void read_packed(const char *path, const char *data, size_t n)
{
  struct mafat_network *network;
  (void)data, (void)n;
  test_packed_network_read(&network, path, NULL, NULL, NULL);
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

/* Reads an array as a constant of a model with unknown dimensions, and as an input. */
static void read_array(const char *path, const char *data, size_t n)
{
  struct mafat_array a = {.type = "<f4", .type_bytes = sizeof(float), .rank = -1};
  struct mafat_model_file *file;
  struct mafat_view view;
  enum mafat_dtype type = MAFAT_F32;
  uint64_t begin;
  (void)data, (void)n;
  mafat_view_linear(&view, 1, (const long long[]){1}, MAFAT_AXIS_NUMBERS);
  mafat_npy_read(path, &view, &type, &begin, NULL);
  ck_assert_int_eq(mafat_model_file_open(&file, path, NULL), MAFAT_OK);
  mafat_array_read(&a, file, NULL);
  mafat_model_file_close(&file);
}

static void read_calibration(const char *path, const char *data, size_t n)
{
  struct mafat_calibration c;
  (void)path;
  mafat_calibration_parse(&c, "portable", "large", data, n, NULL);
}

/* Reads all frames, into a buffer that does not count as the reader's memory. */
static void read_frames(const char *path, const char *data, size_t n, const char *video)
{
  static struct mafat_frames f;
  static unsigned char frame[1 << 20];
  size_t got = 1;
  int fd = open(path, O_RDONLY);
  (void)data, (void)n;
  if (mafat_frames_open(&f, fd, video, NULL) == MAFAT_OK && f.frame_bytes <= sizeof frame)
    while (got > 0 && mafat_frames_next(&f, frame, &got, NULL, NULL) == MAFAT_OK) continue;
  close(fd);
}
static void read_y4m(const char *path, const char *data, size_t n)
{
  read_frames(path, data, n, "y4m");
}
static void read_jpegs(const char *path, const char *data, size_t n)
{
  read_frames(path, data, n, "64x48:mjpeg");
}
static void read_raw(const char *path, const char *data, size_t n)
{
  read_frames(path, data, n, "1x1:rgb24");
}

/* ---- files that take much to read ---- */

/* A file made by repeating a piece up to a length. */
struct file {
  const char *name;
  enum test_reader reader;
  void (*read)(const char *path, const char *data, size_t n);
  void (*make)(struct test_message *m, size_t size, const struct file *f);
  const char *piece; /* what is repeated; for some functions, a word that selects it */
  size_t piece_bytes;
  const char *head, *tail;
  int64_t number;
};

#define PIECE(bytes) .piece = bytes, .piece_bytes = sizeof bytes - 1

static void repeat(struct test_message *m, const struct file *f, size_t size)
{
  while (m->n + f->piece_bytes <= size) test_put_bytes(m, f->piece, f->piece_bytes);
}

static void put(struct test_message *m, const char *text)
{
  if (text) test_put_bytes(m, text, strlen(text));
}

/* Head, repeated pieces and tail, with a NUL after them that is not part of the file. */
static void pieces(struct test_message *m, size_t size, const struct file *f)
{
  put(m, f->head);
  repeat(m, f, size);
  put(m, f->tail);
  test_put_bytes(m, "", 1);
  m->n--;
}

/* ---- cfgs ---- */

#define NET "[net]\nwidth=8\nheight=8\nchannels=1\n"

/* The most sections that a network may have, then empty lines up to the size. */
static void layers(struct test_message *m, size_t size, const struct file *f)
{
  const size_t most = 4000 * f->piece_bytes;
  put(m, f->head ? f->head : NET);
  repeat(m, f, size < most ? size : most);
  while (m->n + 2 <= size) put(m, "#\n");
}

static void routes(struct test_message *m, size_t size, const struct file *f)
{
  (void)f;
  put(m, NET "[avgpool]\n");
  for (int line = 0; m->n + 100 < size && line < 4000; line++) {
    put(m, "[route]\nlayers=-1");
    for (int i = 0; i < 40; i++) put(m, ",-1");
    put(m, "\n[maxpool]\nsize=1\n");
  }
}

/* ---- .onnx ---- */

static const int64_t map[] = {1, 1, 4, 4};

static void in_graph(struct test_message *m, size_t size, const struct file *f)
{
  struct test_message graph = {0};
  test_onnx_add(&graph, "Relu", "x", "y", "");
  test_onnx_input(&graph, "x", 4, map);
  test_onnx_output(&graph, "y", 4, map);
  repeat(&graph, f, size);
  *m = test_onnx_model(&graph, 13);
}

/* Nodes, or other messages of a graph, each with another name. */
static void named(struct test_message *m, size_t size, const struct file *f)
{
  static const int64_t one[] = {1};
  struct test_message graph = {0};
  char name[16];
  test_onnx_input(&graph, "x", 4, map);
  for (unsigned i = 0; graph.n + 64 < size; i++) {
    snprintf(name, sizeof name, "%x", i);
    if (strcmp(f->piece, "initializer") == 0) test_onnx_int64s(&graph, name, 0, one);
    else if (strcmp(f->piece, "input") == 0) test_onnx_input(&graph, name, -1, NULL);
    else test_onnx_add(&graph, f->piece, strcmp(f->piece, "Add") ? "x" : "x x", name, "");
  }
  test_onnx_add(&graph, "Relu", "x", "y", "");
  test_onnx_output(&graph, "y", -1, NULL);
  *m = test_onnx_model(&graph, 13);
}

static void end_node(struct test_message *m, struct test_message *node)
{
  struct test_message graph = {0};
  test_onnx_input(&graph, "x", 4, map);
  test_onnx_output(&graph, "y", -1, NULL);
  test_onnx_add_node(&graph, node);
  *m = test_onnx_model(&graph, 13);
}

static void in_node(struct test_message *m, size_t size, const struct file *f)
{
  struct test_message node = test_onnx_node("Concat", "n", "x", "y");
  repeat(&node, f, size);
  end_node(m, &node);
}

/* The pieces are values of an attribute, whose type is f->number. */
static void in_attribute(struct test_message *m, size_t size, const struct file *f)
{
  struct test_message node = test_onnx_node("Concat", "n", "x", "y"), a = {0};
  test_put_text(&a, 1, "axes");
  test_put_int(&a, 20, f->number);
  repeat(&a, f, size);
  test_put_message(&node, 5, &a);
  end_node(m, &node);
}

static void in_model(struct test_message *m, size_t size, const struct file *f)
{
  const size_t version = 2;
  struct test_message all = {0}, model;
  in_graph(&model, 0, f);
  test_put_bytes(&all, model.data, version);
  repeat(&all, f, size);
  test_put_bytes(&all, model.data + version, model.n - version);
  free(model.data);
  *m = all;
}

/* Nodes of few bytes, each of which needs f->number elements to be computed while reading. */
static void folded(struct test_message *m, size_t size, const struct file *f)
{
  const int64_t dims[] = {f->number};
  struct test_message graph = {0};
  char name[16] = "n0", both[32], next[16];
  test_onnx_input(&graph, "x", 4, map);
  test_onnx_int64s(&graph, "dims", 1, dims);
  test_onnx_add(&graph, "ConstantOfShape", "dims", "n0", "");
  for (unsigned i = 1; graph.n + 64 < size; i++) {
    snprintf(next, sizeof next, "n%u", i);
    snprintf(both, sizeof both, strcmp(f->piece, "Add") ? "%s" : "%s %s", name, name);
    test_onnx_add(&graph, f->piece, both, next, "");
    strcpy(name, next);
  }
  test_onnx_add(&graph, "Relu", "x", "y", "");
  test_onnx_output(&graph, "y", -1, NULL);
  *m = test_onnx_model(&graph, 13);
}

/* Pools over maps of the largest width. */
static void wide_pools(struct test_message *m, size_t size, const struct file *f)
{
  static const int64_t wide[] = {1, 1, 1, 1 << 20};
  struct test_message graph = {0};
  char name[16] = "x", next[16];
  (void)f;
  test_onnx_input(&graph, "x", 4, wide);
  for (unsigned i = 0; i < 4000 && graph.n + 128 < size; i++) {
    snprintf(next, sizeof next, "n%u", i);
    test_onnx_add(&graph, "MaxPool", name, next, "kernel_shape=[1,3] pads=[0,1,0,1]");
    strcpy(name, next);
  }
  test_onnx_add(&graph, "Relu", name, "y", "");
  test_onnx_output(&graph, "y", -1, NULL);
  *m = test_onnx_model(&graph, 13);
}

/* Concatenations of concatenations. */
static void joins(struct test_message *m, size_t size, const struct file *f)
{
  static const int64_t pixel[] = {1, 1, 1, 1};
  struct test_message graph = {0};
  char inputs[2200] = "", name[16] = "x", next[16];
  (void)f;
  test_onnx_input(&graph, "x", 4, pixel);
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

/* A chain of operators, `operators` for each tensor, each reading the output of the one before.
 * Names have `name` characters. */
static void flat(struct test_message *m, size_t size, int operators, int name, int code)
{
  int n = (int)(size / (size_t)(100 + operators * 80 + name)); /* the file has about `size` bytes */
  int n_tensors = n + 2, n_operators = n * operators + 1;
  if (n_tensors > 65000) n_tensors = 65000;
  if (n_operators > n_tensors - 1) n_operators = n_tensors - 1;
  struct test_tflite_tensor *all = calloc((size_t)n_tensors, sizeof *all);
  struct test_tflite_operator *each = calloc((size_t)n_operators, sizeof *each);
  char *text = malloc((size_t)name + 1);
  if (!all || !each || !text) abort();
  memset(text, 'a', (size_t)name);
  text[name] = '\0';
  for (int i = 0; i < n_tensors; i++)
    all[i] = (struct test_tflite_tensor){.name = text, .rank = 4, .shape = {1, 4, 4, 1}};
  for (int i = 0; i < n_operators; i++)
    each[i] = (struct test_tflite_operator){
        .code = code, .n_inputs = 1, .n_outputs = 1, .inputs = {i}, .outputs = {i + 1}};
  const struct test_tflite_model model = {.tensors = all,
                                          .operators = each,
                                          .n_tensors = n_tensors,
                                          .n_operators = n_operators,
                                          .n_inputs = 1,
                                          .n_outputs = 1,
                                          .inputs = {0},
                                          .outputs = {n_operators},
                                          .codes = &code,
                                          .n_codes = 1};
  m->data = test_tflite_write(&model, &m->n);
  free(all);
  free(each);
  free(text);
}
static void flat_tensors(struct test_message *m, size_t size, const struct file *f)
{
  enum { RELU = 19 };
  flat(m, size, 0, (int)f->number, RELU);
}

static void flat_operators(struct test_message *m, size_t size, const struct file *f)
{
  flat(m, size, 1, 0, (int)f->number);
}

/* The integer at a position of a flatbuffer. */
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

/* A list of tensors that are all the same table of the file, with the longest name. The reader must
 * copy the name for each. */
static void shared(struct test_message *m, size_t size, const struct file *f)
{
  (void)f;
  enum { TENSORS_OF_SUBGRAPH = 0, SUBGRAPHS_OF_MODEL = 2, NAME = 4000, MOST = 65536 };
  static const struct test_tflite_tensor both[] = {{.name = "x", .rank = 1, .shape = {1}},
                                                   {.name = "y", .rank = 1, .shape = {1}}};
  static const struct test_tflite_operator relu = {
      .code = 19, .n_inputs = 1, .n_outputs = 1, .inputs = {0}, .outputs = {1}};
  const struct test_tflite_model model = {.tensors = both,
                                          .operators = &relu,
                                          .n_tensors = 2,
                                          .n_operators = 1,
                                          .n_inputs = 1,
                                          .n_outputs = 1,
                                          .outputs = {1}};
  m->data = test_tflite_write(&model, &m->n);
  m->capacity = m->n;
  while (m->n % 4) test_put_bytes(m, "", 1);
  size_t subgraphs = follow(m, field_of(m, follow(m, 0), SUBGRAPHS_OF_MODEL)),
         tensors = field_of(m, follow(m, subgraphs + 4), TENSORS_OF_SUBGRAPH);
  uint32_t lies = (uint32_t)(m->n - tensors), n = (uint32_t)((size - m->n - NAME) / 4);
  memcpy(m->data + tensors, &lies, sizeof lies);
  if (n > MOST) n = MOST;
  put_number(m, n);
  const uint16_t list[] = {12, 8, 0,
                           0,  0, 4}; /* for a table of 8 bytes; field 3, the name, is at byte 4 */
  size_t table = m->n + 4 * (size_t)n + sizeof list;
  while (n-- > 0) put_number(m, (uint32_t)(table - m->n));
  test_put_bytes(m, list, sizeof list);
  put_number(m, sizeof list);
  put_number(m, 4);
  put_number(m, NAME);
  for (int i = 0; i <= NAME; i++) test_put_bytes(m, i < NAME ? "a" : "", 1);
}

/* ---- packed ---- */

/* Makes a packed file of header, index with its hash, and `after`. Frees index and after. */
static void seal(struct test_message *m, uint32_t version, uint64_t n_layers,
                 struct test_message *index, struct test_message *after)
{
  static const char zeros[MAFAT_PACKED_ALIGNMENT];
  const uint32_t byte_order = 0x01020304, kernels[] = {MAFAT_CHANNEL_BLOCK, MAFAT_PANEL,
                                                       MAFAT_PANEL_STEP, MAFAT_PACKED_ALIGNMENT};
  const uint64_t hashes[3] = {0}, index_bytes = index->n;
  put(m, "MAFATPK1");
  put_number(m, byte_order);
  put_number(m, version);
  test_put_bytes(m, &n_layers, sizeof n_layers);
  test_put_bytes(m, hashes, sizeof hashes);
  test_put_bytes(m, kernels, sizeof kernels);
  test_put_bytes(m, &index_bytes, sizeof index_bytes);
  test_put_bytes(m, zeros, MAFAT_PACKED_ALIGNMENT - m->n);
  test_put_bytes(m, index->data, index->n);
  test_put_bytes(m, zeros,
                 (MAFAT_PACKED_ALIGNMENT - m->n % MAFAT_PACKED_ALIGNMENT) % MAFAT_PACKED_ALIGNMENT);
  test_put_bytes(m, after->data, after->n);
  test_put_bytes(m, zeros,
                 (MAFAT_PACKED_ALIGNMENT - m->n % MAFAT_PACKED_ALIGNMENT) % MAFAT_PACKED_ALIGNMENT);
  test_seal_packed(m->data);
  free(index->data);
  free(after->data);
}

static void put_word(struct test_message *m, const char *word)
{
  put_number(m, (uint32_t)strlen(word) + 1);
  test_put_bytes(m, word, strlen(word) + 1);
}

/* Adds an operator with n parameters of the same name and value. */
static void put_operator(struct test_message *m, const char *type, uint32_t n, const char *key,
                         const char *value)
{
  put_word(m, type);
  put_number(m, 1);
  put_number(m, n);
  for (; n > 0; n--) {
    put_word(m, key);
    put_word(m, value);
  }
}

/* A network of Darknet's operators: avgpools with f->number parameters, each followed by another
 * operator, at most as many as a network may have. Maxpools compute with integers. */
static void packed_cfg(struct test_message *m, size_t size, const struct file *f)
{
  enum { NUMBERS = 24, PLAIN = 2, ACTIVATIONS = PLAIN + MAFAT_PACKED_ACTIVATIONS };
  static const char *const sides[] = {"height", "width", "channels"};
  struct test_message index = {0}, after = {0};
  const bool computes = strcmp(f->piece, "maxpool") == 0;
  const uint32_t parameters = (uint32_t)f->number;
  const size_t each = 13 + strlen(f->piece) +
                      parameters * (10 + strlen(f->head) + strlen(f->tail)) +
                      (computes ? NUMBERS : 0);
  const uint32_t n =
      (uint32_t)(size / each < MAFAT_MAX_LAYERS - 1 ? size / each : MAFAT_MAX_LAYERS - 1);
  put_word(&index, "darknet");
  put_number(&index, n + 1);
  put_number(&index, 3 + (n - 1) * parameters);
  put_word(&index, "net");
  put_number(&index, 1);
  put_number(&index, 3);
  for (int i = 0; i < 3; i++) {
    put_word(&index, sides[i]);
    put_word(&index, "8");
  }
  put_operator(&index, "avgpool", 0, NULL, NULL);
  for (uint32_t i = 1; i < n; i++) put_operator(&index, f->piece, parameters, f->head, f->tail);
  put_number(&index, 0); /* no weights */
  if (computes) {
    put_number(&index, n);
    put_number(&index, n + 1); /* one more for the input */
    for (uint32_t i = 0; i <= n; i++) {
      const uint32_t one[] = {i,   i > 0 && i < n, 0x3f800000,
                              128, 0x3f800000,     128}; /* scale 1 */
      test_put_bytes(&index, one, sizeof one);
    }
  }
  seal(m, computes ? ACTIVATIONS : PLAIN, computes ? n + 1 : n, &index, &after);
}

static void begin_embedded_graph(struct test_message *index,
                                 const struct test_message *embedded_graph, uint32_t n_files)
{
  const uint64_t hash = mafat_hash(MAFAT_HASH_START, embedded_graph->data, embedded_graph->n);
  put_word(index, "onnx");
  test_put_bytes(index, &hash, sizeof hash);
  put_number(index, n_files);
}

static void put_pieces(struct test_message *index, const char *name, uint64_t file_bytes,
                       uint32_t n, uint64_t apart, uint64_t bytes)
{
  put_word(index, name);
  test_put_bytes(index, &file_bytes, sizeof file_bytes);
  put_number(index, n);
  for (uint64_t i = 0; i < n; i++) {
    const uint64_t piece[] = {i * apart, bytes};
    test_put_bytes(index, piece, sizeof piece);
  }
}

/* A packed model that contains all bytes of its file. */
static void packed_model(struct test_message *m, size_t size, const struct file *f)
{
  struct test_message index = {0}, model = {0};
  (f->number ? folded : named)(&model, size, f);
  begin_embedded_graph(&index, &model, 1);
  put_pieces(&index, "", model.n, 1, 0, model.n);
  put_number(&index, 0);
  seal(m, 3, 0, &index, &model);
}

/* A packed model that contains single bytes of its file. */
static void packed_pieces(struct test_message *m, size_t size, const struct file *f)
{
  enum { APART = 64 };
  struct test_message index = {0}, bytes = {0};
  const uint32_t n = (uint32_t)(size / 17);
  while (bytes.n < n) test_put_bytes(&bytes, f->piece, 1);
  begin_embedded_graph(&index, &bytes, 1);
  put_pieces(&index, "", (uint64_t)n * APART, n, APART, 1);
  put_number(&index, 0);
  seal(m, 3, 0, &index, &bytes);
}

/* A packed model with the most files allowed, whose names differ only in their last bytes. */
static void packed_files(struct test_message *m, size_t size, const struct file *f)
{
  struct test_message index = {0}, bytes = {0};
  const size_t n = size / 64 < MAFAT_EMBEDDED_GRAPH_MAX_FILES ? size / 64
                                                              : MAFAT_EMBEDDED_GRAPH_MAX_FILES,
               length = size / n - 30;
  char *name = malloc(length + 24);
  if (!name) abort();
  memset(name, *f->piece, length);
  begin_embedded_graph(&index, &bytes, (uint32_t)n);
  put_pieces(&index, "", 0, 0, 0, 0);
  for (size_t i = n - 1; i > 0; i--) { /* in falling order, so that each sorts before the others */
    snprintf(name + length, 24, "%04zu", i);
    put_pieces(&index, name, 0, 0, 0, 0);
  }
  put_number(&index, 0);
  free(name);
  seal(m, 3, 0, &index, &bytes);
}

/* ---- all files ---- */

#define CFG TEST_READER_CFG, read_cfg
#define ONNX TEST_READER_ONNX, read_onnx
#define TFLITE TEST_READER_TFLITE, read_tflite
#define PACKED TEST_READER_PACKED, read_packed
#define PACKED_GRAPH TEST_READER_PACKED_GRAPH, read_packed
#define LABELS TEST_READER_LABELS, read_names
#define PLAN TEST_READER_PLAN, read_plan
#define ARRAY TEST_READER_ARRAY, read_array
#define VIDEO(kind) TEST_READER_VIDEO, read_##kind

static const struct file files[] = {
    {"empty lines", CFG, pieces, PIECE("\n")},
    {"a line", CFG, pieces, PIECE("a")},
    {"short sections", CFG, pieces, PIECE("[c]\n"), .head = NET},
    {"unknown keys", CFG, pieces, PIECE("a=\n"), .head = NET},
    {"known keys", CFG, pieces, PIECE("anchors=1\n"), .head = NET "[region]\n"},
    {"anchors", CFG, pieces, PIECE(",1"), .head = NET "[region]\nanchors=1"},
    {"layers", CFG, layers, PIECE("[avgpool]\n")},
    /* The largest width: the time for a layer must not depend on it. */
    {"wide pools", CFG, layers, PIECE("[maxpool]\nsize=1\n"),
     .head = "[net]\nwidth=1048576\nheight=1\nchannels=1\n"},
    {"routes", CFG, routes, PIECE("")},

    {"nodes", ONNX, in_graph, PIECE("\x0a\x00")},
    {"initializers", ONNX, in_graph, PIECE("\x2a\x00")},
    {"inputs", ONNX, in_graph, PIECE("\x5a\x00")},
    {"outputs", ONNX, in_graph, PIECE("\x62\x00")},
    {"values", ONNX, in_graph, PIECE("\x6a\x00")},
    {"annotations", ONNX, in_graph, PIECE("\x72\x00")},
    {"operator sets", ONNX, in_model, PIECE("\x42\x00")},
    {"nodes with names", ONNX, named, PIECE("Relu")},
    {"initializers with names", ONNX, named, PIECE("initializer")},
    {"inputs with names", ONNX, named, PIECE("input")},
    {"identities", ONNX, named, PIECE("Identity")},
    {"shapes", ONNX, named, PIECE("Shape")},
    {"sums", ONNX, named, PIECE("Add")},
    {"softmaxes", ONNX, named, PIECE("Softmax")},
    {"attributes", ONNX, in_node, PIECE("\x2a\x00")},
    {"a node's inputs", ONNX, in_node, PIECE("\x0a\x00")},
    {"the same with a name", ONNX, in_node, PIECE("\x0a\x01x")},
    {"a node's outputs", ONNX, in_node, PIECE("\x12\x00")},
    {"integers", ONNX, in_attribute, PIECE("\x40\x00"), .number = 7},
    {"texts", ONNX, in_attribute, PIECE("\x4a\x00"), .number = 8},
    {"folded sums", ONNX, folded, PIECE("Add"), .number = 1 << 16},
    {"large folded sums", ONNX, folded, PIECE("Add"), .number = 1 << 21},
    {"folded identities", ONNX, folded, PIECE("Identity"), .number = 1 << 18},
    {"folded signs", ONNX, folded, PIECE("Neg"), .number = 1 << 20},
    {"a huge constant", ONNX, folded, PIECE("Neg"), .number = 1LL << 33},
    {"wide pools", ONNX, wide_pools, PIECE("")},
    {"joins", ONNX, joins, PIECE("")},

    {"tensors", TFLITE, flat_tensors, PIECE("")},
    {"long names", TFLITE, flat_tensors, PIECE(""), .number = 4000},
    {"operators (RELU)", TFLITE, flat_operators, PIECE(""), .number = 19},
    {"operators (SOFTMAX)", TFLITE, flat_operators, PIECE(""), .number = 25},
    {"a tensor that is many", TFLITE, shared, PIECE("")},

    {"packed layers", PACKED, packed_cfg, PIECE("max"), .head = "", .tail = ""},
    {"packed layers with a parameter", PACKED, packed_cfg, PIECE("route"), .head = "layers",
     .tail = "-1", .number = 1},
    {"packed routes", PACKED, packed_cfg, PIECE("route"), .head = "layers",
     .tail = "-1,-1,-1,-1,-1,-1,-1,-1,-1,-1", .number = 1},
    {"packed parameters", PACKED, packed_cfg, PIECE("avgpool"), .head = "", .tail = "",
     .number = MAFAT_CFG_MAX_KEYS},
    {"packed maxpools of integers", PACKED, packed_cfg, PIECE("maxpool"), .head = "size",
     .tail = "1", .number = 1},
    {"packed sections", PACKED, packed_cfg, PIECE(""), .head = "", .tail = ""},
    {"packed nodes", PACKED_GRAPH, packed_model, PIECE("Softmax")},
    {"packed folded sums", PACKED_GRAPH, packed_model, PIECE("Add"), .number = 1 << 16},
    {"pieces of an embedded graph", PACKED_GRAPH, packed_pieces, PIECE("\x00")},
    {"files of an embedded graph", PACKED_GRAPH, packed_files, PIECE("a")},

    {"labels", LABELS, pieces, PIECE("\n")},
    {"a label", LABELS, pieces, PIECE("a")},

    {"groups", PLAN, pieces, PIECE("1x1/1/"), .tail = "1x1"},
    {"bounds of tiles", PLAN, pieces, PIECE(",1"), .head = "[1", .tail = "]x[1]"},
    {"digits", PLAN, pieces, PIECE("1")},

    {"an array", ARRAY, pieces, PIECE(","),
     .head =
         "\x93NUMPY\x02\x01\xf4\xff\x0f\x01{'descr': '<f4', 'fortran_order': False, 'shape': ("},
    {"numbers", ARRAY, pieces, PIECE("1")},

    {"terms", TEST_READER_CALIBRATION, read_calibration, pieces, PIECE("cpu portable\n"),
     .head = "mafat calibration 3\n"},
    {"a term", TEST_READER_CALIBRATION, read_calibration, pieces, PIECE("1"),
     .head = "mafat calibration 3\ncpu portable\nfit_error "},

    {"a header of y4m", VIDEO(y4m), pieces, PIECE(" W1"), .head = "YUV4MPEG2"},
    {"frames of y4m", VIDEO(y4m), pieces, PIECE("FRAME\nabc"), .head = "YUV4MPEG2 W1 H1\n"},
    {"frames of y4m with words", VIDEO(y4m), pieces, PIECE("FRAME a b\nabc"),
     .head = "YUV4MPEG2 W1 H1\n"},
    {"raw frames", VIDEO(raw), pieces, PIECE("1")},
    {"JPEGs", VIDEO(jpegs), pieces, PIECE("\xff\xd8\xff\xd9")},
};

/* ---- tests ---- */

/* Reads the file of this size, and compares memory and time with the limits. */
static void check_limits(const struct file *f, size_t size)
{
  struct test_message m = {0};
  char path[64];
  long unfreed;
  f->make(&m, size, f);
  int fd = memfd_create("large", MFD_CLOEXEC);
  ck_assert(fd >= 0 && write(fd, m.data, m.n) == (ssize_t)m.n);
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  failing_malloc_arm(-1);
  clock_t begin = clock();
  f->read(path, m.data, m.n);
  double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC,
         most = test_patience(test_reading_seconds(f->reader, m.n));
  failing_malloc_disarm(&unfreed);
  if (getenv("BOUNDS_SHOW"))
    fprintf(stderr, "%-32s %8zu: %9zu bytes %7.1f a byte, %.3f s\n", f->name, m.n,
            failing_malloc_most_bytes(), (double)failing_malloc_most_bytes() / (double)m.n,
            seconds);
  else
    ck_assert_msg(failing_malloc_most_bytes() <= test_reading_bytes(f->reader, m.n),
                  "%s, %zu bytes: took %zu bytes of memory, expected at most %zu", f->name, m.n,
                  failing_malloc_most_bytes(), test_reading_bytes(f->reader, m.n));
  ck_assert_msg(seconds <= most,
                "%s, %zu bytes: took %.2f processor seconds, expected at most %.2f", f->name, m.n,
                seconds, most);
  ck_assert_int_eq(unfreed, 0);
  close(fd);
  free(m.data);
}

START_TEST(reading_keeps_to_its_limits)
{
  check_limits(&files[_i], 1 << 16);
  check_limits(&files[_i], 1 << 20);
}
END_TEST

Suite *bounds_suite(void)
{
  Suite *suite = suite_create("bounds");
  TCase *t = tcase_create("bounds");
  tcase_set_timeout(t, 120);
  tcase_add_loop_test(t, reading_keeps_to_its_limits, 0, COUNT(files));
  suite_add_tcase(suite, t);
  return suite;
}
