/* libFuzzer target: reads any bytes as the .weights file of three fixed networks, and as part of
 * packed files of format versions 1 and 2, with float and with narrow weights. The packed files'
 * checksums are recomputed so that reading gets past them. Build with clang
 * -fsanitize=fuzzer,address,undefined. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/network_files.h"
#include "tests/fuzz/bounded.h"
#include "tests/fuzz/ways.h"

#include "formats/packed/identity.h"
#include "predictor/plan/packing.h"
#include "runner/weights/packer.h"
#include "runner/weights/weights.h"
#include "runner/weights/weights_file.h"

static const char *const cfgs[] = {
    /* every kind of packed convolution: 3 channels, a route, groups, depthwise */
    "[net]\nheight=8\nwidth=8\nchannels=3\n"
    "[convolutional]\nbatch_normalize=1\nfilters=5\nsize=3\npad=1\n[convolutional]\nfilters="
    "8\nsize=1\n"
    "[route]\nlayers=-1,-2\n[convolutional]\nfilters=12\nsize=1\n"
    "[convolutional]\nbatch_normalize=1\nfilters=12\nsize=3\ngroups=12\n[convolutional]\nfilters="
    "9\nsize=1\ngroups=3\n",
    /* a classifier */
    "[net]\nheight=4\nwidth=4\nchannels=2\n"
    "[batchnorm]\n[local]\nfilters=2\nsize=2\nstride=1\n[connected]\nbatch_normalize=1\noutput=9\n"
    "[connected]\noutput=3\n[softmax]\n",
    /* a detector; for it, bytes past the expected end of the file are an error */
    "[net]\nheight=4\nwidth=4\nchannels=1\n[convolutional]\nfilters=6\nsize=1\n[yolo]\nclasses="
    "1\nnum=1\n",
};

enum { N_CFGS = sizeof cfgs / sizeof *cfgs, N_NETWORKS = 2 * N_CFGS };

/* Networks with float weights, then the same with narrow weights. */
static struct mafat_network *networks[N_NETWORKS];

static void narrow(struct mafat_network *n)
{
  static const enum mafat_dtype types[] = {MAFAT_F16, MAFAT_I8, MAFAT_I4};
  for (int l = 0; l < n->n_layers; l++)
    if (mafat_layer_takes_weights(&n->layers[l], types[l % 3]))
      n->layers[l].weights_type = types[l % 3];
}

/* Reads both ends of every slice of weights, so that sanitizers check the bounds. Returns a hash
 * of the values. */
static uint64_t touch_slices(struct mafat_weights *w, const struct mafat_network *n)
{
  uint64_t hash = MAFAT_HASH_START;
  for (int i = 0; i < n->n_layers; i++) {
    const struct mafat_layer *l = &n->layers[i];
    for (int f = 0; mafat_layer_has_panels(l) && f < l->out.c; f = mafat_panel_end(l, f)) {
      struct mafat_weights_slice slice;
      struct mafat_span filters = {f, mafat_panel_end(l, f)};
      require(mafat_weights_slice(w, i, filters, mafat_span(0, l->in.c), &slice) == MAFAT_OK);
      size_t bytes = mafat_panel_offset(l, (size_t)slice.width, mafat_layer_matrix(l).inputs);
      const size_t row = (size_t)slice.width * sizeof *slice.scale;
      if (slice.narrow) {
        hash = mafat_hash(hash, slice.narrow, 1);
        hash = mafat_hash(hash, slice.narrow + bytes - 1, 1);
      } else {
        hash = mafat_hash(hash, slice.weights, row);
      }
      hash = mafat_hash(hash, slice.scale, row);
      hash = mafat_hash(hash, slice.bias, row);
      mafat_weights_release(w, &slice);
    }
  }
  return hash;
}

/* Weights must be the same by path, by descriptor and in memory. */
static void try_network(const struct way_file *f, const struct mafat_network *n)
{
  struct way_result results[N_WAYS] = {{.code = 0}};
  uint64_t hashes[N_WAYS] = {0};
  for (enum open_way way = WAY_PATH; way < N_WAYS; way++) {
    struct way_result *r = &results[way];
    struct mafat_model_source *s = way_source(f, way);
    struct mafat_weights *w = NULL;
    r->code = mafat_weights_open_kept_source(&w, s, n, n->n_layers, NULL, &r->said);
    require((r->code == MAFAT_OK) == (w != NULL) && (w || r->said.text[0]));
    if (w) hashes[way] = touch_slices(w, n);
    mafat_weights_close(&w);
    mafat_model_source_close(&s);
    require(way_is_same(r, &results[WAY_PATH]) && hashes[way] == hashes[WAY_PATH]);
  }
}

/* Opens the file for every network. */
static void try_file(const char *path, int fd)
{
  struct way_file f = way_file_make(path, fd);
  for (int i = 0; i < N_NETWORKS; i++) try_network(&f, networks[i]);
  way_file_free(&f);
  struct mafat_diagnostic d = {""};
  int code = mafat_packer_check(path, NULL, &d);
  require(code == MAFAT_OK || d.text[0]);
  struct mafat_network *n;
  d.text[0] = 0;
  struct stat file;
  require(stat(path, &file) == 0);
  bounded_begin();
  code = test_packed_network_read(&n, path, NULL, NULL, &d);
  bounded_end(TEST_READER_PACKED, (size_t)file.st_size);
  require((code == MAFAT_OK) == (n != NULL) && (code == MAFAT_OK || d.text[0]));
  mafat_network_close(&n);
}

static void write_at(int fd, const void *data, size_t bytes, long offset)
{
  if (pwrite(fd, data, bytes, offset) != (ssize_t)bytes) abort();
}

static void begin_file(int fd, const char *beginning, size_t bytes, uint64_t file_bytes)
{
  if (ftruncate(fd, 0) != 0 || ftruncate(fd, (off_t)file_bytes) != 0) abort();
  write_at(fd, beginning, bytes, 0);
}

static struct mafat_packed *lay_out(const struct mafat_network *n)
{
  struct mafat_packed *p;
  uint64_t layer_bytes[16];
  require(n->n_layers <= 16);
  for (int l = 0; l < n->n_layers; l++) layer_bytes[l] = mafat_packed_layer_bytes(&n->layers[l]);
  require(mafat_packed_make(&p, n, NULL, layer_bytes) == MAFAT_OK);
  return p;
}

/* Offsets in a header (doc/packed.md). */
enum {
  VERSION_AT = 12, N_LAYERS_AT = 16, NETWORK_HASH_AT = 24, TABLE_CHECKSUM_AT = 48,
  HEADER_CHECKSUM_1_AT = 56, INDEX_BYTES_AT = 64, INDEX_CHECKSUM_AT = 72,
  HEADER_CHECKSUM_2_AT = 80
};

static void put_number(char *beginning, size_t at, uint64_t number)
{
  memcpy(beginning + at, &number, sizeof number);
}

/* Tries a packed file of version 2 that contains the input's bytes as weights or, with as_index,
 * as the index. */
static void try_version_2(int fd, const char *path, const struct mafat_network *network,
                          bool as_index, const uint8_t *bytes, size_t n)
{
  struct mafat_packed *p = lay_out(network);
  char *beginning;
  require(mafat_packed_seal(p, network, NULL, &beginning) == MAFAT_OK);
  if (as_index) {
    size_t there = n < MAFAT_PACKED_ALIGNMENT ? n : MAFAT_PACKED_ALIGNMENT;
    memcpy(beginning + MAFAT_PACKED_ALIGNMENT, bytes, there);
    put_number(beginning, INDEX_BYTES_AT, there);
    put_number(beginning, INDEX_CHECKSUM_AT, mafat_hash(MAFAT_HASH_START, bytes, there));
    put_number(beginning, HEADER_CHECKSUM_2_AT,
               mafat_hash(MAFAT_HASH_START, beginning, HEADER_CHECKSUM_2_AT));
  }
  begin_file(fd, beginning, (size_t)p->data_at, p->file_bytes);
  if (!as_index) write_at(fd, bytes, n, (long)p->data_at);
  free(beginning);
  try_file(path, fd);
  mafat_packed_close(&p);
}

/* Tries a packed file of version 1 that contains the input's bytes as weights or, with as_table,
 * as the table and as weights. */
static void try_version_1(int fd, const char *path, const struct mafat_network *network,
                          bool as_table, const uint8_t *bytes, size_t n)
{
  static char beginning[2 * MAFAT_PACKED_ALIGNMENT];
  const uint32_t version = 1, byte_order = 0x01020304;
  struct mafat_packed *p = lay_out(network);
  size_t table = (size_t)network->n_layers * sizeof *p->entries;
  /* for these networks the header, and the table or index, occupy one aligned block each */
  require(p->data_at == sizeof beginning);
  memset(beginning, 0, sizeof beginning);
  memcpy(beginning, "MAFATPK1", 8);
  memcpy(beginning + 8, &byte_order, sizeof byte_order);
  memcpy(beginning + VERSION_AT, &version, sizeof version);
  put_number(beginning, N_LAYERS_AT, (uint64_t)network->n_layers);
  put_number(beginning, NETWORK_HASH_AT, mafat_packed_network_hash(network, version));
  memcpy(beginning + MAFAT_PACKED_ALIGNMENT, p->entries, table);
  if (as_table) memcpy(beginning + MAFAT_PACKED_ALIGNMENT, bytes, n < table ? n : table);
  put_number(beginning, TABLE_CHECKSUM_AT,
             mafat_hash(MAFAT_HASH_START, beginning + MAFAT_PACKED_ALIGNMENT, table));
  put_number(beginning, HEADER_CHECKSUM_1_AT,
             mafat_hash(MAFAT_HASH_START, beginning, HEADER_CHECKSUM_1_AT));
  begin_file(fd, beginning, sizeof beginning, p->file_bytes);
  write_at(fd, bytes, n, (long)p->data_at);
  try_file(path, fd);
  mafat_packed_close(&p);
}

/* Tries a packed file. The first byte chooses its version, its network, its type of weights, and
 * which part of it the other bytes become. */
static void try_packed(int fd, const char *path, const uint8_t *bytes, size_t n)
{
  if (n == 0) return;
  bool is_narrow = (bytes[0] & 0x60) == 0x20; /* version 1 knows floats only */
  const struct mafat_network *network = networks[bytes[0] % N_CFGS + (is_narrow ? N_CFGS : 0)];
  bool flagged = bytes[0] & 0x80;
  if (bytes[0] & 0x40) try_version_1(fd, path, network, flagged, bytes + 1, n - 1);
  else try_version_2(fd, path, network, flagged, bytes + 1, n - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
  char path[64];
  if (!networks[0]) {
    make_networks(cfgs, N_CFGS, networks);
    make_networks(cfgs, N_CFGS, networks + N_CFGS);
    for (int i = N_CFGS; i < N_NETWORKS; i++) narrow(networks[i]);
  }
  int fd = memfd_create("fuzz", MFD_CLOEXEC);
  if (fd < 0 || write(fd, bytes, n) != (ssize_t)n) abort();
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  try_file(path, fd);
  try_packed(fd, path, bytes, n);
  close(fd);
  return 0;
}
