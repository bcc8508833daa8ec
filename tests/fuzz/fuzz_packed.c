/* libFuzzer target: packs a network, changes bytes of the packed file, and opens it. Weights are
 * zeros. Checksums are recomputed after the changes, so that reading gets past them. Each network
 * is packed twice: with all layers in floats, and with integers in all layers that can use them. If
 * the fuzzer's input has an odd length, options are stored in the packed file, and applied once it
 * is open. Build with clang -fsanitize=fuzzer,address,undefined.
 *
 * The input is a cfg, a NUL byte, and three bytes for each change of the packed file: position (2
 * bytes), value. The file has format version 2, or 4 with integers. Or the input is a byte 255, a
 * byte for the kind of model, the number of changes, the changes, and the model's file; the packed
 * file has version 3, or 5 with integers; the version is 4 more with options. Kinds: 0 ONNX, 1
 * TFLite; for kinds from 4 the model is generated and no file follows (4 * N: a TFLite model, 4 * N
 * + 2: a random integer one). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/network_files.h"
#include "tests/fuzz/bounded.h"
#include "tests/fuzz/imported.h"
#include "tests/fuzz/mutate.h"
#include "tests/support/integer_graph.h"
#include "tests/support/tflite_operators.h"

#include "api/picture.h"
#include "formats/packed/graph.h"
#include "formats/packed/identity.h"
#include "predictor/plan/packing.h"
#include "runner/detect/heads/heads.h"
#include "runner/weights/packer.h"
#include "runner/weights/weights.h"
#include "runner/weights/weights_file.h"

/* Larger files only take longer. */
static const uint64_t MAX_FILE_BYTES = 1 << 20;

static const struct mafat_stored_options all_options = {
    .numbers = MAFAT_STORED_MEAN | MAFAT_STORED_SCALE | MAFAT_STORED_PAD,
    .mean = {1, 2, 3}, .scale = {.5f, 1, 2}, .pad = 7,
    .channels = "bgr", .resize = "corner", .decode = "yolox"};
static const struct mafat_stored_options *options; /* of the file; NULL: none */
static bool in_turn; /* true: also opened by descriptor and in memory (ways.h) */

/* Offsets in the header (doc/packed.md). */
enum { INDEX_BYTES_AT = 64, INDEX_CHECKSUM_AT = 72, HEADER_CHECKSUM_AT = 80 };

/* Recomputes the hashes of the embedded graph, of the index and of the header. */
static void seal_again(char *beginning, const struct mafat_packed *p)
{
  uint64_t index_bytes, sum;
  memcpy(&index_bytes, beginning + INDEX_BYTES_AT, sizeof index_bytes);
  if (mafat_packed_has_embedded_graph(p->version)) { /* the checksum follows the format's name */
    sum = mafat_hash(MAFAT_HASH_START, beginning + p->begin_bytes, (size_t)p->embedded_graph_bytes);
    memcpy(beginning + MAFAT_PACKED_ALIGNMENT + (strcmp(p->format.name, "onnx") == 0 ? 9 : 11),
           &sum, sizeof sum);
  }
  if (index_bytes <= p->begin_bytes - MAFAT_PACKED_ALIGNMENT) {
    sum = mafat_hash(MAFAT_HASH_START, beginning + MAFAT_PACKED_ALIGNMENT, (size_t)index_bytes);
    memcpy(beginning + INDEX_CHECKSUM_AT, &sum, sizeof sum);
  }
  sum = mafat_hash(MAFAT_HASH_START, beginning, HEADER_CHECKSUM_AT);
  memcpy(beginning + HEADER_CHECKSUM_AT, &sum, sizeof sum);
}

/* Applies changes of three bytes: position (2 bytes), value. Positions below 128 are in the
 * header; higher ones are in the index and after it. */
static void change(char *beginning, const struct mafat_packed *p, const uint8_t *bytes, size_t n)
{
  for (; n >= 3; bytes += 3, n -= 3) {
    size_t at = bytes[0] + 256 * (size_t)bytes[1];
    if (at >= 128) at += MAFAT_PACKED_ALIGNMENT - 128;
    if (at < p->data_at) beginning[at] = (char)bytes[2];
  }
  seal_again(beginning, p);
}

/* Applies the options of pictures and outputs that the file stores. */
static void check_options(struct mafat_network *n)
{
  const struct mafat_model_options none = {.size = sizeof none};
  struct mafat_diagnostic d = {""};
  struct mafat_picture picture;
  int code = mafat_heads_choose(n, n->n_layers, *n->stored.decode ? n->stored.decode : NULL, &d);
  require(code == MAFAT_OK || d.text[0]);
  d.text[0] = 0;
  code = mafat_picture_make(&picture, n, &none, mafat_kernels_find(NULL), &d);
  require(code == MAFAT_OK || d.text[0]);
}

static void check_file(const char *path, int fd, const struct mafat_network *made, bool intact)
{
  struct mafat_diagnostic d = {""};
  struct mafat_network *n;
  struct mafat_weights *w = NULL;
  struct stat file;
  int code = mafat_packer_check(path, NULL, &d);
  require(code == MAFAT_OK || (!intact && d.text[0]));
  d.text[0] = 0;
  require(stat(path, &file) == 0);
  bounded_begin();
  code = test_packed_network_read(&n, path, NULL, NULL, &d);
  bounded_end(!made->format.own_weights ? TEST_READER_PACKED : TEST_READER_PACKED_GRAPH,
              (size_t)file.st_size);
  require((code == MAFAT_OK) == (n != NULL) && (code == MAFAT_OK || (!intact && d.text[0])));
  if (n && intact)
    require(mafat_packed_network_hash(n, MAFAT_PACKED_GRAPH_VERSION) ==
            mafat_packed_network_hash(made, MAFAT_PACKED_GRAPH_VERSION));
  if (n) {
    require(!intact || mafat_stored_any(&n->stored) == (options != NULL));
    check_options(n);
    d.text[0] = 0;
    code = mafat_weights_open_kept(&w, path, n, n->n_layers, NULL, &d);
    require((code == MAFAT_OK) == (w != NULL) && (code == MAFAT_OK || (!intact && d.text[0])));
  }
  mafat_weights_close(&w);
  if (in_turn) {
    struct way_file f = way_file_make(path, fd);
    check_ways(&f, n, "1x1:streamed/NoCut");
    way_file_free(&f);
  }
  mafat_network_close(&n);
}

static void write_file(int fd, const char *beginning, const struct mafat_packed *p)
{
  require(ftruncate(fd, (off_t)p->file_bytes) == 0);
  require(pwrite(fd, beginning, (size_t)p->data_at, 0) == (ssize_t)p->data_at);
}

/* Copies the embedded graph into its space in the packed file. It consists of byte ranges of the
 * model's only file. */
static void fill_embedded_graph(char *to, const struct mafat_embedded_graph *e,
                                const uint8_t *model)
{
  require(e->n_files == 1);
  for (size_t k = 0; k < e->files[0].n; k++)
    memcpy(to + e->files[0].ranges[k].offset, model + e->files[0].ranges[k].at,
           (size_t)e->files[0].ranges[k].bytes);
}

static char *begin_file(struct mafat_packed *p, const struct mafat_network *n,
                        const struct mafat_packed_origin *origin, const uint8_t *model)
{
  char *beginning, *all = calloc(1, (size_t)p->data_at);
  require(all);
  if (origin->embedded_graph) {
    fill_embedded_graph(all + p->begin_bytes, origin->embedded_graph, model);
    p->embedded_graph_hash =
        mafat_hash(MAFAT_HASH_START, all + p->begin_bytes, (size_t)p->embedded_graph_bytes);
  }
  require(mafat_packed_seal(p, n, origin, &beginning) == MAFAT_OK);
  memcpy(all, beginning, (size_t)p->begin_bytes);
  free(beginning);
  return all;
}

static void try_file(const struct mafat_network *n, const struct mafat_packed_origin *origin,
                     const uint8_t *model, const uint8_t *changes, size_t n_changes)
{
  uint64_t *layer_bytes = calloc((size_t)n->n_layers, sizeof *layer_bytes);
  struct mafat_packed *p;
  char *beginning, path[64];
  require(layer_bytes);
  for (int l = 0; l < n->n_layers; l++) layer_bytes[l] = mafat_packed_layer_bytes(&n->layers[l]);
  int code = mafat_packed_make(&p, n, origin, layer_bytes), fd = memfd_create("fuzz", MFD_CLOEXEC);
  require(fd >= 0 && (code == MAFAT_OK || code == MAFAT_ELIMIT));
  if (p && p->file_bytes <= MAX_FILE_BYTES) {
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    beginning = begin_file(p, n, origin, model);
    if (n_changes >= 3) change(beginning, p, changes, n_changes);
    write_file(fd, beginning, p);
    check_file(path, fd, n, n_changes < 3);
    free(beginning);
  }
  mafat_packed_close(&p);
  close(fd);
  free(layer_bytes);
}

static char *write_made(unsigned which, size_t *n)
{
  if (which & 2) return test_integer_graph_write(which, n);
  return test_tflite_write(test_tflite_operator_model((int)(which / 4) % test_tflite_n_operators()),
                           n);
}

/* Lists all layers that can compute with integers, and their inputs, all with the same scale. */
static struct mafat_activations *list_all(const struct mafat_network *n)
{
  int n_operators = mafat_network_n_tensors(n);
  struct mafat_activations *a = mafat_activations_make(n->n_layers, n_operators);
  bool *listed = calloc((size_t)n_operators, sizeof *listed);
  require(a && listed);
  for (int l = 0; l < n->n_layers; l++) {
    if (!mafat_activations_can_compute(n, l)) continue;
    listed[l] = true;
    for (struct mafat_reads r = mafat_layer_reads(&n->layers[l]); mafat_reads_next(&r);)
      listed[r.source->tensor] = true;
  }
  for (int i = 0; i < n_operators; i++)
    if (listed[i])
      a->list[a->n++] = (struct mafat_activation_numbers){
          .tensor = i,
          .scale = 1,
          .zero = 128,
          .before_scale = 1,
          .computes = i < n->n_layers && mafat_activations_can_compute(n, i)};
  free(listed);
  return a;
}

/* Packs the network with integer layers, and changes and opens the file. Modifies the network. */
static void try_activations(struct mafat_network *n, const struct mafat_packed_origin *origin,
                            const uint8_t *model, const uint8_t *changes, size_t n_changes)
{
  struct mafat_diagnostic d = {""};
  struct mafat_packed_origin with = *origin;
  struct mafat_activations *a = list_all(n);
  struct mafat_activations_places *places =
      calloc((size_t)mafat_network_n_tensors(n), sizeof *places);
  require(places);
  with.activations = a;
  with.places = places;
  if (mafat_activations_apply(n, a, true, places, "fuzz", &d) == MAFAT_OK)
    try_file(n, &with, model, changes, n_changes);
  else require(d.text[0]);
  free(places);
  free(a);
}

/* Packs a model, and changes and opens the file. Models that consist of several files are not
 * packed. */
static void try_graph(const uint8_t *bytes, size_t n)
{
  struct mafat_network *network;
  struct mafat_embedded_graph *embedded_graph;
  struct mafat_diagnostic d = {""};
  char path[64];
  if (n < 2 || n < 2 + 3 * (size_t)bytes[1]) return;
  const uint8_t *changes = bytes + 2, *model = changes + 3 * bytes[1];
  size_t n_model = n - (size_t)(model - bytes);
  bool is_made = bytes[0] >= 4;
  char *made = is_made ? write_made(bytes[0], &n_model) : NULL;
  if (is_made) model = (const uint8_t *)made;
  int fd = memfd_create("model", MFD_CLOEXEC);
  require(fd >= 0 && write(fd, model, n_model) == (ssize_t)n_model);
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  const struct mafat_reader *reader =
      is_made || bytes[0] % 2 ? &mafat_tflite_reader : &mafat_onnx_reader;
  int code = test_packed_graph_read(&network, &embedded_graph, reader, path, NULL, &d);
  require((code == MAFAT_OK) == (network && embedded_graph) && (code == MAFAT_OK || d.text[0]));
  if (network && embedded_graph->n_files == 1)
  {
    const struct mafat_packed_origin origin = {.embedded_graph = embedded_graph,
                                               .options = options};
    try_file(network, &origin, model, changes, 3 * (size_t)bytes[1]);
    try_activations(network, &origin, model, changes, 3 * (size_t)bytes[1]);
  }
  mafat_embedded_graph_close(&embedded_graph);
  mafat_network_close(&network);
  close(fd);
  free(made);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
  in_turn = way_is_in_turn(n);
  options = n % 2 ? &all_options : NULL;
  if (n > 0 && bytes[0] == 255) {
    try_graph(bytes + 1, n - 1);
    return 0;
  }
  struct mafat_cfg *cfg = NULL;
  struct mafat_network *network = NULL;
  const uint8_t *end = memchr(bytes, 0, n);
  size_t text = end ? (size_t)(end - bytes) : n, changes = end ? n - text - 1 : 0;
  if (mafat_cfg_parse(&cfg, "fuzz", (const char *)bytes, text, NULL) == MAFAT_OK &&
      mafat_darknet_make(&network, cfg, NULL, NULL, NULL) == MAFAT_OK) {
    const struct mafat_packed_origin origin = {.cfg = cfg, .options = options};
    try_file(network, &origin, NULL, end ? end + 1 : NULL, changes);
    try_activations(network, &origin, NULL, end ? end + 1 : NULL, changes);
  }
  mafat_network_close(&network);
  mafat_cfg_close(&cfg);
  return 0;
}

/* Mutates the cfg, the model at the end, or any byte. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed)
{
  enum { GRAPH = 255, BEFORE = 3 };
  if (seed % 3 == 0 || n == 0) return LLVMFuzzerMutate(data, n, most);
  if (data[0] == GRAPH) {
    size_t begin = n > BEFORE ? BEFORE + 3 * (size_t)data[2] : n;
    if (begin >= n || data[1] >= 4) return LLVMFuzzerMutate(data, n, most);
    return begin +
           (data[1] % 2 ? mutate_flat : mutate_wire)(data + begin, n - begin, most - begin, seed);
  }
  struct mutation m = {data, n, most, seed};
  const uint8_t *end = memchr(data, 0, n);
  size_t text = end ? (size_t)(end - data) : n, after = n - text;
  uint8_t *copy = malloc(most);
  require(copy != NULL);
  memcpy(copy, data, text);
  size_t length = mutate_cfg(copy, text, most - after, seed);
  mutation_splice(&m, 0, text, copy, length);
  free(copy);
  return m.n;
}
