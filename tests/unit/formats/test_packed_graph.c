/* Covers base/{embedded_graph, model_file, open_file}.c, formats/packed/{graph, identity}.c,
 * api/model_files.c, base/model_source.c, formats/{readers, packed/network}.c,
 * runner/weights/packer.c: a packed ONNX model replaces all files of the model, and is refused if
 * any byte was changed; which bytes of the model's files an embedded graph holds; files that change
 * after a network was read from them; models with several outputs, opened from memory and from
 * descriptors. Writes the models to folders in /tmp. */
#include "base/model_file.h"
#include "formats/onnx/import.h"
#include "formats/packed/graph.h"
#include "formats/packed/identity.h"
#include "include/mafat_pack.h"
#include "api/model_files.h"
#include "runner/weights/packer.h"
#include "runner/weights/weights.h"
#include "runner/weights/weights_file.h"

#include "tests/support/network_files.h"
#include "tests/support/failing_malloc.h"
#include "tests/support/tree.h"
#include "tests/support/onnx_writer.h"
#include "tests/support/random.h"
#include "tests/support/weight_files.h"

#include <check.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

Suite *packed_graph_suite(void);

static struct mafat_diagnostic diagnostic;

/* ---- files ---- */

static char folder[64], elsewhere[80], model_path[80], weights_path[80], packed_path[96];
static char matrix_path[80], matrix_text[96];
static const char *const given_list[] = {matrix_text};
static struct mafat_given given; /* filled by write_model */

static void make_folder(void)
{
  strcpy(folder, "/tmp/mafat-test-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", folder);
  ck_assert_int_eq(mkdir(elsewhere, 0700), 0);
  snprintf(model_path, sizeof model_path, "%s/model.onnx", folder);
  snprintf(weights_path, sizeof weights_path, "%s/numbers.bin", folder);
  snprintf(packed_path, sizeof packed_path, "%s/elsewhere/packed", folder);
  snprintf(matrix_path, sizeof matrix_path, "%s/matrix", folder);
  snprintf(matrix_text, sizeof matrix_text, "matrix=%s", matrix_path);
  given = (struct mafat_given){given_list, 0};
}

static void remove_folder(void)
{
  unlink(model_path);
  unlink(weights_path);
  unlink(packed_path);
  unlink(matrix_path);
  rmdir(elsewhere);
  rmdir(folder);
}

enum { FILTERS = 10, TAPS = 27, FLAT = FILTERS * 64, CLASSES = 5, LIMITS_AT = FILTERS * TAPS * 4 };

/* Makes the matrix an input of the model, and writes its values to a file, so that the input can be
 * given as a constant. */
static void write_matrix(struct test_message *graph, const int64_t *dims, const double *numbers)
{
  static float floats[FLAT * CLASSES];
  for (int i = 0; i < FLAT * CLASSES; i++) floats[i] = (float)numbers[i];
  test_onnx_input(graph, "matrix", 2, dims);
  test_write_file(matrix_path, floats, sizeof floats);
  given.n = 1;
}

/* Writes a model: a convolution, batch normalization, a clip, and a product with a matrix. The
 * convolution's weights and the clip's limits are in another file. gives: the matrix is an input
 * that is given as a constant; else it is an initializer. */
static void write_model_with(bool gives)
{
  static const int64_t picture[] = {1, 3, 8, 8}, kernels[] = {FILTERS, 3, 3, 3},
                       filters[] = {FILTERS}, flat[] = {1, -1}, matrix[] = {FLAT, CLASSES},
                       out[] = {1, CLASSES};
  static double numbers[FLAT * CLASSES];
  static float weights[FILTERS * TAPS + 2];
  struct test_message graph = {0};
  struct test_rng rng = test_rng(1);
  for (int i = 0; i < FLAT * CLASSES; i++)
    numbers[i] = .5 + (double)(test_random(&rng) >> 8) / 16777216;
  for (int i = 0; i < FILTERS * TAPS; i++) weights[i] = (float)(i % 7 - 3);
  weights[FILTERS * TAPS] = -2, weights[FILTERS * TAPS + 1] = 5;
  test_onnx_add(&graph, "Conv", "x w", "c", "pads=[1,1,1,1]");
  test_onnx_add(&graph, "BatchNormalization", "c s b m v", "n", "");
  test_onnx_add(&graph, "Clip", "n least most", "a", "");
  test_onnx_add(&graph, "Reshape", "a flat", "f", "");
  test_onnx_add(&graph, "MatMul", "f matrix", "y", "");
  test_onnx_initializer(&graph, &(struct test_onnx_tensor){.name = "w",
                                                           .type = 1,
                                                           .rank = 4,
                                                           .dims = kernels,
                                                           .values = numbers,
                                                           .style = TEST_ONNX_EXTERNAL,
                                                           .location = "numbers.bin"});
  test_onnx_initializer(&graph, &(struct test_onnx_tensor){.name = "least",
                                                           .type = 1,
                                                           .values = numbers,
                                                           .style = TEST_ONNX_EXTERNAL,
                                                           .location = "numbers.bin",
                                                           .offset = "1080"});
  test_onnx_initializer(&graph, &(struct test_onnx_tensor){.name = "most",
                                                           .type = 1,
                                                           .values = numbers,
                                                           .style = TEST_ONNX_EXTERNAL,
                                                           .location = "numbers.bin",
                                                           .offset = "1084"});
  for (const char *name = "sbmv"; *name; name++)
    test_onnx_floats(&graph, (char[]){*name, '\0'}, 1, filters, numbers + *name);
  test_onnx_int64s(&graph, "flat", 2, flat);
  test_onnx_input(&graph, "x", 4, picture);
  if (gives) write_matrix(&graph, matrix, numbers);
  else test_onnx_floats(&graph, "matrix", 2, matrix, numbers);
  test_onnx_output(&graph, "y", 2, out);
  struct test_message m = test_onnx_model(&graph, 13);
  ck_assert_int_eq(LIMITS_AT, 1080);
  test_write_file(model_path, m.data, m.n);
  test_write_file(weights_path, weights, sizeof weights);
  free(m.data);
}

static void write_model(void)
{
  write_model_with(false);
}

static void pack_model(void)
{
  int fd = open(packed_path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  test_pack_graph(&mafat_onnx_reader, model_path, &given, MAFAT_F32, fd);
  close(fd);
}

/* Opens the network and the weights of a file. False, with a diagnostic: the file is refused. */
static bool opens(const char *path, struct mafat_network **n, struct mafat_weights **w)
{
  diagnostic.text[0] = 0;
  *w = NULL;
  int code = mafat_model_network(n, path, NULL, strcmp(path, model_path) == 0 ? &given : NULL, NULL,
                                 &diagnostic);
  ck_assert((code == MAFAT_OK) == (*n != NULL));
  if (code == MAFAT_OK)
    code = mafat_weights_open_kept(w, path, *n, (*n)->n_layers, NULL, &diagnostic);
  ck_assert(code == MAFAT_OK || (diagnostic.text[0] && !strchr(diagnostic.text, '\n')));
  return code == MAFAT_OK;
}

static bool is_refused(const char *path)
{
  struct mafat_network *n;
  struct mafat_weights *w;
  bool refused = !opens(path, &n, &w);
  mafat_weights_close(&w);
  mafat_network_close(&n);
  return refused;
}

/* ---- contents ---- */

static void same_weights(const struct mafat_network *n, const struct mafat_weights *a,
                         const struct mafat_weights *b)
{
  for (int l = 0; l < n->n_layers; l++) {
    if (!mafat_layer_has_panels(&n->layers[l])) continue;
    struct mafat_weights_slice x, y;
    struct mafat_matrix m = mafat_layer_matrix(&n->layers[l]);
    struct mafat_span filters = {0, 1}, channels = {0, m.inputs};
    ck_assert_int_eq(mafat_weights_slice(a, l, filters, channels, &x), MAFAT_OK);
    ck_assert_int_eq(mafat_weights_slice(b, l, filters, channels, &y), MAFAT_OK);
    ck_assert_int_eq(x.width, y.width);
    ck_assert_mem_eq(x.weights, y.weights,
                     (size_t)m.inputs * (size_t)m.taps * (size_t)x.width * sizeof(float));
    ck_assert_mem_eq(x.scale, y.scale, (size_t)x.width * sizeof(float));
    ck_assert_mem_eq(x.bias, y.bias, (size_t)x.width * sizeof(float));
  }
}

/* A packed model can be opened, with equal weights, after all files of the model are removed. */
START_TEST(a_packed_model_replaces_all_files)
{
  struct mafat_network *model, *packed;
  struct mafat_weights *of_model, *of_packed;
  write_model_with(_i);
  pack_model();
  ck_assert(mafat_is_packed(packed_path) && mafat_holds_weights(packed_path));
  ck_assert_int_eq(mafat_packer_check(packed_path, NULL, &diagnostic), MAFAT_OK);
  ck_assert_msg(opens(model_path, &model, &of_model), "%s", diagnostic.text);
  unlink(model_path);
  unlink(weights_path);
  unlink(matrix_path);
  ck_assert_msg(opens(packed_path, &packed, &of_packed), "%s", diagnostic.text);
  ck_assert_str_eq(packed->format.name, "onnx");
  ck_assert_str_eq(packed->path, packed_path);
  ck_assert_str_eq(packed->inputs[0].name, "x");
  ck_assert_str_eq(packed->outputs[0].name, "y");
  ck_assert_uint_eq(mafat_packed_network_hash(packed, 3), mafat_packed_network_hash(model, 3));
  ck_assert_int_eq(packed->layers[0].activation.kind, model->layers[0].activation.kind);
  ck_assert(packed->layers[0].activation.a == -2 && packed->layers[0].activation.b == 5);
  same_weights(model, of_model, of_packed);
  mafat_weights_close(&of_model);
  mafat_weights_close(&of_packed);
  mafat_network_close(&model);
  mafat_network_close(&packed);
}
END_TEST

/* If this version reads another network from the embedded graph than the version that packed it,
 * the packed weights would be wrong, so they are refused. */
START_TEST(a_network_read_differently_is_refused)
{
  struct mafat_network *n;
  struct mafat_weights *w;
  write_model();
  pack_model();
  ck_assert_msg(opens(packed_path, &n, &w), "%s", diagnostic.text);
  mafat_weights_close(&w);
  struct mafat_layer_constants *c = &n->constants->layers[0], before = *c;
  for (int i = 0; i < 5; i++) {
    double epsilon = c->parts->epsilon;
    if (i == 0) c->weights.at += 4;
    if (i == 1) c->weights.flipped = 1;
    if (i == 2) c->parts->epsilon *= 2;
    if (i == 3) c->weights.order = MAFAT_ORDER_FILTERS_TAPS;
    if (i == 4) c->parts->scales.file++;
    ck_assert_int_eq(mafat_weights_open_kept(&w, packed_path, n, n->n_layers, NULL, &diagnostic),
                     MAFAT_EFORMAT);
    ck_assert_msg(strstr(diagnostic.text, "read the model differently"), "%s", diagnostic.text);
    *c = before;
    c->parts->epsilon = epsilon;
    c->parts->scales.file = 0;
  }
  ck_assert_int_eq(mafat_weights_open_kept(&w, packed_path, n, n->n_layers, NULL, &diagnostic),
                   MAFAT_OK);
  mafat_weights_close(&w);
  mafat_network_close(&n);
}
END_TEST

/* ---- damage ---- */

static char *read_file(const char *path, size_t *n)
{
  struct stat st;
  int fd = open(path, O_RDONLY);
  ck_assert_int_eq(fstat(fd, &st), 0);
  char *bytes = malloc((size_t)st.st_size);
  ck_assert_int_eq(read(fd, bytes, (size_t)st.st_size), st.st_size);
  close(fd);
  *n = (size_t)st.st_size;
  return bytes;
}

static char *read_packed(size_t *n)
{
  return read_file(packed_path, n);
}

static void check_bytes(char *whole, size_t n, size_t from, size_t bytes, size_t step)
{
  for (size_t at = from; at < from + bytes; at += step) {
    whole[at] ^= 0x10;
    test_write_file(packed_path, whole, n);
    ck_assert_msg(is_refused(packed_path) &&
                      mafat_packer_check(packed_path, NULL, &diagnostic) != MAFAT_OK,
                  "byte %zu", at);
    whole[at] ^= 0x10;
  }
}

/* The hash of a network does not depend on uninitialized memory: here a constant of single bytes
 * ends in the middle of a float's four bytes. */
START_TEST(equal_networks_have_one_hash)
{
  enum { N = 4003 }; /* too large for glibc's small cached blocks */
  static const int64_t map[] = {1, N}, one[] = {1};
  static const double reals[N], scale[] = {.5};
  const struct test_onnx_tensor zero = {
      .name = "zero", .type = 2, .rank = 1, .dims = one, .values = (const double[]){4}};
  struct test_message graph = {0};
  struct mafat_diagnostic d;
  uint64_t hashes[2];
  char path[64];
  test_onnx_add(&graph, "QuantizeLinear", "c scale zero", "q", "");
  test_onnx_add(&graph, "DequantizeLinear", "q scale zero", "f", "");
  test_onnx_add(&graph, "Add", "x f", "y", "");
  test_onnx_floats(&graph, "c", 2, map, reals);
  test_onnx_floats(&graph, "scale", 1, one, scale);
  test_onnx_initializer(&graph, &zero);
  test_onnx_input(&graph, "x", 2, map);
  test_onnx_output(&graph, "y", -1, NULL);
  struct test_message model = test_onnx_model(&graph, 13);
  int fd = memfd_create("model", MFD_CLOEXEC);
  ck_assert_int_eq(write(fd, model.data, model.n), (ssize_t)model.n);
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  for (int i = 0; i < 2; i++) {
    struct mafat_network *n;
    mallopt(M_PERTURB, i ? 0x55 : 0xaa); /* glibc fills new memory with a value made of this */
    ck_assert_msg(test_onnx_network_read(&n, path, NULL, &d) == MAFAT_OK, "%s", d.text);
    mallopt(M_PERTURB, 0);
    hashes[i] = mafat_packed_graph_hash(0, n);
    mafat_network_close(&n);
  }
  ck_assert(hashes[0] == hashes[1]);
  close(fd);
  free(model.data);
}
END_TEST

START_TEST(every_changed_byte_is_noticed)
{
  size_t n;
  uint64_t index_bytes;
  write_model_with(_i);
  pack_model();
  char *whole = read_packed(&n);
  memcpy(&index_bytes, whole + TEST_INDEX_BYTES_AT, sizeof index_bytes);
  check_bytes(whole, n, 0, TEST_HEADER_BYTES, 1);
  check_bytes(whole, n, MAFAT_PACKED_ALIGNMENT, (size_t)index_bytes, 1);
  check_bytes(whole, n, 2 * MAFAT_PACKED_ALIGNMENT, 400,
              7); /* not every byte, because the embedded graph is long */
  check_bytes(whole, n, (size_t)(3 + _i) * MAFAT_PACKED_ALIGNMENT, 900,
              31); /* the constant's page */
  for (size_t bytes = n - 1; bytes > 0; bytes -= bytes > 4096 ? 4096 : bytes) {
    test_write_file(packed_path, whole, bytes);
    ck_assert_msg(is_refused(packed_path), "cutting to %zu bytes was not noticed", bytes);
  }
  free(whole);
}
END_TEST

/* Invalid values in the index, with hashes that match them, as an attacker could write them. Each
 * row writes the low `bytes` bytes of `number` at byte `at` of the index. The index of this model
 * consists of a word, a hash and the number of files; then the first file's name, length and number
 * of ranges; then that file's first range. */
static const struct {
  size_t at;
  uint64_t number;
  size_t bytes;
  const char *text;
} claims[] = {
    {4, 'x', 1, "its graph is of an unknown format"},
    {0, 500000, 4, "its graph is of an unknown format"},
    {9, 1, 8, "the graph is damaged"},
    {17, 0, 4, "no files of the model, or too many"},
    {17, 5000, 4, "no files of the model, or too many"},
    {17, 1, 4, "damaged"},
    {26, 10, 8, "not in its file"},
    {26, UINT64_MAX, 8, ""},
    {34, UINT32_MAX, 4, "more ranges than the index has"},
    {34, 0, 4, "no name"},
    {38, 1, 8, ""},
    {38, UINT64_MAX, 8, "not in its file"},
    {46, UINT64_MAX, 8, "not in its file"},
    {46, 0, 8, "not in its file"},
    {46, 8, 8, ""},
};

START_TEST(invalid_indices_are_refused)
{
  size_t n;
  write_model();
  pack_model();
  char *whole = read_packed(&n);
  memcpy(whole + MAFAT_PACKED_ALIGNMENT + claims[_i].at, &claims[_i].number, claims[_i].bytes);
  test_seal_packed(whole);
  test_write_file(packed_path, whole, n);
  ck_assert(is_refused(packed_path));
  ck_assert_msg(strstr(diagnostic.text, claims[_i].text), "%s", diagnostic.text);
  free(whole);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
  long unfreed;
  write_model_with(_i);
  pack_model();
  for (int packed = 0; packed < 2; packed++) {
    for (long i = 0, n = 1; i < n; i++) {
      struct mafat_network *network = NULL;
      struct mafat_embedded_graph *embedded_graph = NULL;
      failing_malloc_arm(i);
      int code = packed ? test_packed_network_read(&network, packed_path, NULL, NULL, &diagnostic)
                        : test_packed_graph_read(&network, &embedded_graph, NULL, model_path,
                                                 &given, &diagnostic);
      bool there = network != NULL;
      mafat_network_close(&network);
      mafat_embedded_graph_close(&embedded_graph);
      n = failing_malloc_disarm(&unfreed) + (code != MAFAT_OK);
      ck_assert_int_eq(code == MAFAT_OK, there);
      ck_assert_msg(unfreed == 0, "allocation %ld failed: %ld not freed", i, unfreed);
      ck_assert_int_lt(i, 10000);
    }
  }
}
END_TEST

/* ---- files that change ---- */

/* Changes the file's modification time, even if the clock is coarse. */
static void touch(const char *path)
{
  struct stat st;
  ck_assert_int_eq(stat(path, &st), 0);
  ck_assert_int_eq(utimensat(AT_FDCWD, path,
                             (const struct timespec[]){st.st_atim, {st.st_mtim.tv_sec + 1, 0}}, 0),
                   0);
}

static const struct {
  char *changed;
  bool packed;
} changes[] = {
    {model_path, false}, {weights_path, false}, {matrix_path, false}, {packed_path, true}};

/* The network has only positions of weights in files. If a file is changed after the network was
 * read, its weights are refused. */
START_TEST(weights_of_changed_files_are_refused)
{
  struct mafat_network *n;
  struct mafat_weights *w;
  write_model_with(true);
  pack_model();
  const char *path = changes[_i].packed ? packed_path : model_path;
  int code = changes[_i].packed ? test_packed_network_read(&n, path, NULL, NULL, &diagnostic)
                                : test_onnx_network_read(&n, path, &given, &diagnostic);
  ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
  ck_assert_int_eq(mafat_weights_open_kept(&w, path, n, n->n_layers, NULL, &diagnostic), MAFAT_OK);
  mafat_weights_close(&w);
  touch(changes[_i].changed);
  ck_assert_int_eq(mafat_weights_open_kept(&w, path, n, n->n_layers, NULL, &diagnostic), MAFAT_EIO);
  ck_assert_str_eq(diagnostic.text + strlen(changes[_i].changed),
                   ": was written to or replaced after its network was read");
  mafat_network_close(&n);
}
END_TEST

/* A network's weights may be opened only from its model file or from the packed model. Another name
 * of the same file is allowed. */
START_TEST(weights_of_other_files_are_refused)
{
  struct mafat_network *n;
  struct mafat_weights *w;
  char other[128];
  static const char zeros[1 << 16];
  write_model_with(true);
  pack_model();
  const char *path = _i ? packed_path : model_path;
  int code = _i ? test_packed_network_read(&n, path, NULL, NULL, &diagnostic)
                : test_onnx_network_read(&n, path, &given, &diagnostic);
  ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
  snprintf(other, sizeof other, "%s.zeros", model_path);
  test_write_file(other, zeros, sizeof zeros);
  ck_assert_int_eq(mafat_weights_open_kept(&w, other, n, n->n_layers, NULL, &diagnostic),
                   MAFAT_EFORMAT);
  ck_assert_msg(strstr(diagnostic.text, "which contains its weights, or a file "), "%s",
                diagnostic.text);
  ck_assert_ptr_null(w);
  unlink(other);
  ck_assert_int_eq(link(path, other), 0);
  code = mafat_weights_open_kept(&w, other, n, n->n_layers, NULL, &diagnostic);
  ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
  mafat_weights_close(&w);
  unlink(other);
  code = mafat_weights_open_kept(&w, packed_path, n, n->n_layers, NULL, &diagnostic);
  ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
  mafat_weights_close(&w);
  mafat_network_close(&n);
}
END_TEST

/* If a file is changed between reading the graph and packing it, packing is refused. */
START_TEST(packing_of_changed_files_is_refused)
{
  struct mafat_network *n;
  struct mafat_embedded_graph *embedded_graph;
  write_model_with(true);
  ck_assert_int_eq(
      test_packed_graph_read(&n, &embedded_graph, NULL, model_path, &given, &diagnostic), MAFAT_OK);
  touch(changes[_i].changed);
  int fd = open(packed_path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  ck_assert_int_eq(
      mafat_packer_write(model_path, n,
                         &(struct mafat_packed_origin){.embedded_graph = embedded_graph}, fd,
                         "packed", &diagnostic),
      MAFAT_EIO);
  ck_assert_msg(strstr(diagnostic.text, ": was written to or replaced "), "%s", diagnostic.text);
  close(fd);
  mafat_embedded_graph_close(&embedded_graph);
  mafat_network_close(&n);
}
END_TEST

/* ---- embedded graphs ---- */

enum { LENGTH = 3000 };

/* An embedded graph holds all bytes that were added, and locates them. It may hold short gaps
 * between them, but does not begin or end a range with bytes that were not added. */
START_TEST(an_embedded_graph_holds_the_added_bytes)
{
  struct test_rng rng = test_rng((uint64_t)_i);
  struct mafat_embedded_graph *e = mafat_embedded_graph_make();
  bool asked[2][LENGTH] = {{false}};
  ck_assert_int_eq(mafat_embedded_graph_add_file(e, "", LENGTH), 0);
  ck_assert_int_eq(mafat_embedded_graph_add_file(e, "beside", LENGTH), 1);
  ck_assert_int_eq(mafat_embedded_graph_add_file(e, "", LENGTH), 0);
  for (int k = test_random_int(&rng, 0, 2000); k > 0; k--) {
    int file = test_random_chance(&rng, 30), at = test_random_int(&rng, 0, LENGTH),
        n = test_random_int(&rng, 0, _i % 2 ? 3 : 20);
    if (n > LENGTH - at) n = LENGTH - at;
    mafat_embedded_graph_add(e, file, (uint64_t)at, (uint64_t)n);
    memset(asked[file] + at, true, (size_t)n);
  }
  mafat_embedded_graph_settle(e);
  uint64_t sum = 0, offset, next;
  for (int file = 0; file < 2; file++) {
    const struct mafat_embedded_graph_file *f = &e->files[file];
    for (size_t k = 0; k < f->n; k++) {
      ck_assert(f->ranges[k].offset == sum && f->ranges[k].bytes > 0);
      ck_assert(k == 0 || f->ranges[k].at > f->ranges[k - 1].at + f->ranges[k - 1].bytes);
      ck_assert(asked[file][f->ranges[k].at] &&
                asked[file][f->ranges[k].at + f->ranges[k].bytes - 1]);
      sum += f->ranges[k].bytes;
    }
    for (uint64_t at = 0; at < LENGTH; at++) {
      bool there = mafat_embedded_graph_locate(f, at, 1, &offset);
      ck_assert(there || !asked[file][at]);
      if (there && mafat_embedded_graph_locate(f, at, 2, &offset))
        ck_assert(mafat_embedded_graph_locate(f, at + 1, 1, &next) && next == offset + 1);
    }
    ck_assert(!mafat_embedded_graph_locate(f, LENGTH - 1, 2, &offset) &&
              !mafat_embedded_graph_locate(f, 5, UINT64_MAX, &offset));
  }
  ck_assert_uint_eq(e->bytes, sum);
  mafat_embedded_graph_close(&e);
}
END_TEST

/* Files are found fast even if there are as many as allowed, with long names that differ only at
 * the end. */
START_TEST(files_with_long_names_are_found_fast)
{
  enum { ALIKE = 4000, N = MAFAT_EMBEDDED_GRAPH_MAX_FILES };
  static char name[ALIKE + 8];
  struct mafat_embedded_graph *e = mafat_embedded_graph_make();
  memset(name, 'a', ALIKE);
  clock_t begin = clock();
  for (int i = 0; i < N; i++) {
    snprintf(name + ALIKE, 8, "%d", i * 1031 % N);
    ck_assert_int_eq(mafat_embedded_graph_find_file(e, name), -1);
    ck_assert_int_eq(mafat_embedded_graph_add_file(e, name, (uint64_t)i), i);
  }
  for (int i = 0; i < N; i++) {
    snprintf(name + ALIKE, 8, "%d", i * 1031 % N);
    ck_assert_int_eq(mafat_embedded_graph_find_file(e, name), i);
    ck_assert_int_eq(mafat_embedded_graph_add_file(e, name, 0), i);
  }
  double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
  ck_assert_msg(seconds < test_patience(1), "took %.2f processor seconds", seconds);
  ck_assert_int_eq(mafat_embedded_graph_add_file(e, "another", 0), -1);
  mafat_embedded_graph_close(&e);
}
END_TEST

/* A model file opened with an embedded graph gives the bytes at their positions in the original
 * file, and refuses to read others. */
START_TEST(an_embedded_graph_stands_for_its_file)
{
  static char bytes[50000];
  struct mafat_embedded_graph *e = mafat_embedded_graph_make();
  struct mafat_model_file *f;
  const char *found;
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)(i % 251);
  test_write_file(model_path, bytes, sizeof bytes);
  ck_assert_int_eq(mafat_model_file_open(&f, model_path, &diagnostic), MAFAT_OK);
  ck_assert_int_eq(mafat_model_file_note(f, e, &diagnostic), MAFAT_OK);
  static char some[20000];
  ck_assert_int_eq(mafat_model_file_peek(f, 100, 10, &found, &diagnostic), MAFAT_OK);
  ck_assert_int_eq(mafat_model_file_read(f, 29990, sizeof some, some, &diagnostic), MAFAT_OK);
  mafat_model_file_close(&f);
  mafat_embedded_graph_settle(e);
  ck_assert_uint_eq(e->bytes, 10 + sizeof some);
  memmove(bytes + 7, bytes + 100, 10);
  memcpy(bytes + 17, some, sizeof some);
  test_write_file(model_path, bytes, 17 + sizeof some);
  ck_assert_int_eq(mafat_model_file_open(&f, model_path, &diagnostic), MAFAT_OK);
  mafat_model_file_embedded_graph(f, e, 7);
  ck_assert_uint_eq(f->bytes, 50000);
  ck_assert_int_eq(mafat_model_file_peek(f, 103, 7, &found, &diagnostic), MAFAT_OK);
  ck_assert_int_eq(found[0], 103);
  static char again[sizeof some];
  ck_assert_int_eq(mafat_model_file_read(f, 29990, sizeof again, again, &diagnostic), MAFAT_OK);
  ck_assert_mem_eq(again, some, sizeof some);
  ck_assert_int_eq(mafat_model_file_peek(f, 103, 8, &found, &diagnostic), MAFAT_EFORMAT);
  ck_assert_int_eq(mafat_model_file_peek(f, 200, 1, &found, &diagnostic), MAFAT_EFORMAT);
  ck_assert_int_eq(mafat_model_file_peek(f, 49990, 1, &found, &diagnostic), MAFAT_EFORMAT);
  ck_assert_int_eq(mafat_model_file_peek(f, 50000, 1, &found, &diagnostic), MAFAT_EFORMAT);
  ck_assert_int_eq(mafat_model_file_peek(f, 50000, 0, &found, &diagnostic), MAFAT_OK);
  struct mafat_model_file *beside;
  ck_assert_int_eq(mafat_model_file_open_beside(&beside, f, weights_path, &diagnostic),
                   MAFAT_EFORMAT);
  mafat_model_file_close(&f);
  mafat_embedded_graph_close(&e);
}
END_TEST

/* Files that a model names must be regular files, although the model itself may be a pipe. */
START_TEST(other_files_of_a_model_must_be_regular)
{
  struct mafat_model_file *f, *beside;
  test_write_file(model_path, "model", 5);
  ck_assert_int_eq(mafat_model_file_open(&f, model_path, &diagnostic), MAFAT_OK);
  for (int kind = 0; kind < 3; kind++) {
    int made = kind == 0   ? mkfifo(weights_path, 0600)
               : kind == 1 ? symlink("/dev/zero", weights_path)
                           : symlink(elsewhere, weights_path);
    ck_assert_int_eq(made, 0);
    ck_assert_int_eq(mafat_model_file_open_beside(&beside, f, weights_path, &diagnostic),
                     MAFAT_EIO);
    ck_assert_msg(strstr(diagnostic.text,
                         kind == 2 ? "found a directory" : "expected a regular file"),
                  "%s", diagnostic.text);
    ck_assert_ptr_null(beside);
    unlink(weights_path);
  }
  mafat_model_file_close(&f);
}
END_TEST

/* ---- several outputs ---- */

enum { ROWS = 6, COLUMNS = 10, BEST = 5, OUTPUTS = 4 };

/* Writes a model of a convolution, a TopK over its columns and a Split of its columns. */
static void write_model_of_several_outputs(void)
{
  static const int64_t picture[] = {1, 3, ROWS, COLUMNS}, kernels[] = {FILTERS, 3, 3, 3},
                       best[] = {BEST}, sizes[] = {4, 6};
  static const char *const outputs[OUTPUTS] = {"values", "floats", "left", "sum"};
  static double numbers[FILTERS * TAPS];
  struct test_message graph = {0};
  struct test_rng rng = test_rng(2);
  for (int i = 0; i < FILTERS * TAPS; i++)
    numbers[i] = (double)(test_random(&rng) >> 8) / 16777216 - .5;
  test_onnx_add(&graph, "Conv", "x w", "c", "pads=[1,1,1,1]");
  test_onnx_add(&graph, "TopK", "c best", "values places", "axis=3");
  test_onnx_add(&graph, "Cast", "places", "floats", "to=1");
  test_onnx_add(&graph, "Split", "c sizes", "left right", "axis=3");
  test_onnx_add(&graph, "ReduceMax", "right", "largest", "axes=[3]");
  test_onnx_add(&graph, "Add", "left largest", "sum", "");
  test_onnx_floats(&graph, "w", 4, kernels, numbers);
  test_onnx_int64s(&graph, "best", 1, best);
  test_onnx_int64s(&graph, "sizes", 2, sizes);
  test_onnx_input(&graph, "x", 4, picture);
  for (int i = 0; i < OUTPUTS; i++) test_onnx_output(&graph, outputs[i], -1, NULL);
  struct test_message m = test_onnx_model(&graph, 13);
  test_write_file(model_path, m.data, m.n);
  free(m.data);
}

static int count_layers_of_several_outputs(const char *path)
{
  struct mafat_network *n;
  struct mafat_weights *w;
  int count = 0;
  ck_assert_msg(opens(path, &n, &w), "%s", diagnostic.text);
  for (int l = 0; l < n->n_layers; l++) count += mafat_layer_n_outputs(&n->layers[l]) > 1;
  mafat_weights_close(&w);
  mafat_network_close(&n);
  return count;
}

/* Runs the model and reads all outputs, one after the other. Returns the number of floats. */
static size_t run_outputs(const char *path, const char *plan, float *to)
{
  const struct mafat_model_options o = {
      .size = sizeof o, .memory_bytes = (size_t)1 << 30, .plan = plan, .floats_only = true};
  static float input[3 * ROWS * COLUMNS];
  struct mafat_model *m;
  size_t n = 0;
  for (int i = 0; i < 3 * ROWS * COLUMNS; i++) input[i] = (float)(i * 37 % 101) / 101;
  ck_assert_msg(mafat_model_open(&m, path, NULL, &o, &diagnostic) == MAFAT_OK, "%s: %s", plan,
                diagnostic.text);
  ck_assert_int_eq(mafat_model_run_floats(m, input, 3 * ROWS * COLUMNS, &diagnostic), MAFAT_OK);
  for (int i = 0; i < OUTPUTS; i++) {
    struct mafat_port_facts f = {.size = sizeof f};
    ck_assert_int_eq(mafat_model_describe_output(m, i, &f), MAFAT_OK);
    ck_assert_int_eq(mafat_model_read_output(m, f.name, to + n, f.n, &diagnostic), MAFAT_OK);
    n += f.n;
  }
  mafat_model_close(&m);
  return n;
}

START_TEST(packed_layers_of_several_outputs_compute_the_same)
{
  static const char *const plans[] = {"1x1/NoCut", "rows1:streamed/NoCut", "2x3:loaded/NoCut",
                                      "panels:streamed/NoCut"};
  enum { FLOATS = FILTERS * ROWS * (BEST + BEST + 4 + 4) };
  static float reference[FLOATS], found[FLOATS];
  write_model_of_several_outputs();
  pack_model();
  ck_assert_int_eq(count_layers_of_several_outputs(model_path), 2);
  ck_assert_int_eq(count_layers_of_several_outputs(packed_path), 2);
  ck_assert_uint_eq(run_outputs(model_path, plans[0], reference), FLOATS);
  for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
    ck_assert_uint_eq(run_outputs(packed_path, plans[i], found), FLOATS);
    ck_assert_msg(memcmp(found, reference, sizeof found) == 0, "plan %s: outputs differ", plans[i]);
  }
}
END_TEST

/* A model in memory whose constants are in other files is refused. The packed model, which contains
 * them, can be opened from memory. */
START_TEST(a_model_in_memory_must_hold_its_constants)
{
  struct mafat_model *m;
  write_model_with(false);
  pack_model();
  for (int packed = 0; packed < 2; packed++) {
    size_t n;
    char *data = read_file(packed ? packed_path : model_path, &n);
    const struct mafat_file file = {.size = sizeof file, .data = data, .bytes = n};
    const struct mafat_model_options o = {
        .size = sizeof o, .memory_bytes = (size_t)1 << 30, .floats_only = true};
    int code = mafat_model_open_files(&m, &file, NULL, &o, &diagnostic);
    ck_assert_int_eq(code, packed ? MAFAT_OK : MAFAT_EUNSUPPORTED);
    if (!packed)
      ck_assert_msg(
          strstr(diagnostic.text,
                 "expected a model in memory to hold all its constants, found external data"),
          "%s", diagnostic.text);
    mafat_model_close(&m);
    free(data);
  }
}
END_TEST

/* If a model is opened from a descriptor, the files that the model names are looked for in the
 * folder of the given path. Without a path they are not found. */
START_TEST(a_descriptors_folder_is_that_of_its_path)
{
  static const float input[3 * 8 * 8] = {1, 2, 3, 4, 5, 6, 7, 8};
  const struct mafat_model_options o = {
      .size = sizeof o, .memory_bytes = (size_t)1 << 30, .plan = "1x1/NoCut", .floats_only = true};
  float outputs[2][CLASSES];
  struct mafat_model *m;
  write_model();
  struct mafat_file file = {.size = sizeof file, .path = model_path};
  int fd = open(model_path, O_RDONLY | O_CLOEXEC);
  for (int i = 0; i < 2; i++) {
    ck_assert_msg(mafat_model_open_files(&m, &file, NULL, &o, &diagnostic) == MAFAT_OK, "%s",
                  diagnostic.text);
    ck_assert_int_eq(mafat_model_run_floats(m, input, sizeof input / sizeof *input, NULL),
                     MAFAT_OK);
    ck_assert_int_eq(mafat_model_read_output(m, NULL, outputs[i], CLASSES, NULL), MAFAT_OK);
    mafat_model_close(&m);
    file.has_fd = true;
    file.fd = fd;
  }
  ck_assert_mem_eq(outputs[0], outputs[1], sizeof outputs[0]);
  file.path = NULL;
  ck_assert_int_eq(mafat_model_open_files(&m, &file, NULL, &o, &diagnostic), MAFAT_EIO);
  ck_assert_msg(strstr(diagnostic.text, "numbers.bin"), "%s", diagnostic.text);
  close(fd);
}
END_TEST

Suite *packed_graph_suite(void)
{
  Suite *s = suite_create("packed_graph");
  TCase *t = tcase_create("packed_graph");
  tcase_set_timeout(t, 60);
  tcase_add_checked_fixture(t, make_folder, remove_folder);
  tcase_add_loop_test(t, a_packed_model_replaces_all_files, 0, 2);
  tcase_add_test(t, a_network_read_differently_is_refused);
  tcase_add_test(t, equal_networks_have_one_hash);
  tcase_add_loop_test(t, every_changed_byte_is_noticed, 0, 2);
  tcase_add_loop_test(t, invalid_indices_are_refused, 0, sizeof claims / sizeof *claims);
  tcase_add_loop_test(t, every_allocation_may_fail, 0, 2);
  tcase_add_loop_test(t, weights_of_changed_files_are_refused, 0,
                      sizeof changes / sizeof *changes);
  tcase_add_loop_test(t, weights_of_other_files_are_refused, 0, 2);
  tcase_add_loop_test(t, packing_of_changed_files_is_refused, 0,
                      sizeof changes / sizeof *changes - 1);
  tcase_add_loop_test(t, an_embedded_graph_holds_the_added_bytes, 0, 40);
  tcase_add_test(t, files_with_long_names_are_found_fast);
  tcase_add_test(t, an_embedded_graph_stands_for_its_file);
  tcase_add_test(t, other_files_of_a_model_must_be_regular);
  tcase_add_test(t, packed_layers_of_several_outputs_compute_the_same);
  tcase_add_test(t, a_model_in_memory_must_hold_its_constants);
  tcase_add_test(t, a_descriptors_folder_is_that_of_its_path);
  suite_add_tcase(s, t);
  return s;
}
