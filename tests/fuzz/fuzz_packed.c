/* libFuzzer target: a cfg, and behind a NUL bytes to be changed in the packed file of version 2 that is made of it,
 * three for each: where, and what. Its weights are zeros. What is changed is sealed again, so that it
 * gets past the checksums. Build with clang -fsanitize=fuzzer,address,undefined. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/networks.h"

#include "formats/packed/identity.h"
#include "predictor/packing.h"
#include "runner/weights/packer.h"
#include "runner/weights/weights.h"
#include "runner/weights/weights_file.h"

/* Larger ones only take longer. */
static const uint64_t MAX_FILE_BYTES = 1 << 20;

/* Places in a header (doc/packed.md). */
enum { INDEX_BYTES_AT = 64, INDEX_CHECKSUM_AT = 72, HEADER_CHECKSUM_AT = 80 };

static void seal_again(char *beginning, uint64_t data_at)
{
  uint64_t index_bytes, sum;
  memcpy(&index_bytes, beginning + INDEX_BYTES_AT, sizeof index_bytes);
  if (index_bytes <= data_at - MAFAT_PACKED_ALIGNMENT) {
    sum = mafat_hash(MAFAT_HASH_START, beginning + MAFAT_PACKED_ALIGNMENT, (size_t)index_bytes);
    memcpy(beginning + INDEX_CHECKSUM_AT, &sum, sizeof sum);
  }
  sum = mafat_hash(MAFAT_HASH_START, beginning, HEADER_CHECKSUM_AT);
  memcpy(beginning + HEADER_CHECKSUM_AT, &sum, sizeof sum);
}

/* Of places the first 128 are the header's, the others the index's. */
static void change(char *beginning, uint64_t data_at, const uint8_t *bytes, size_t n)
{
  for (; n >= 3; bytes += 3, n -= 3) {
    size_t at = bytes[0] + 256 * (size_t)bytes[1];
    if (at >= 128) at += MAFAT_PACKED_ALIGNMENT - 128;
    if (at < data_at) beginning[at] = (char)bytes[2];
  }
  seal_again(beginning, data_at);
}

static void check_file(const char *path, const struct mafat_network *made, bool intact)
{
  struct mafat_diagnostic d = {""};
  struct mafat_network *n;
  struct mafat_weights *w = NULL;
  int code = mafat_packer_check(path, NULL, &d);
  require(code == MAFAT_OK || (!intact && d.text[0]));
  d.text[0] = 0;
  code = mafat_weights_file_network(&n, path, NULL, NULL, &d);
  require((code == MAFAT_OK) == (n != NULL) && (code == MAFAT_OK || (!intact && d.text[0])));
  if (n && intact)
    require(mafat_packed_network_hash(n, MAFAT_PACKED_VERSION) == mafat_packed_network_hash(made, MAFAT_PACKED_VERSION));
  if (n) {
    d.text[0] = 0;
    code = mafat_weights_open_kept(&w, path, n, n->n_layers, NULL, &d);
    require((code == MAFAT_OK) == (w != NULL) && (code == MAFAT_OK || (!intact && d.text[0])));
  }
  mafat_weights_close(&w);
  mafat_network_close(&n);
}

static void write_file(int fd, const char *beginning, const struct mafat_packed *p)
{
  require(ftruncate(fd, (off_t)p->file_bytes) == 0);
  require(pwrite(fd, beginning, (size_t)p->data_at, 0) == (ssize_t)p->data_at);
}

static void try_file(const struct mafat_network *n, const struct mafat_cfg *cfg, const uint8_t *changes, size_t n_changes)
{
  uint64_t *layer_bytes = calloc((size_t)n->n_layers, sizeof *layer_bytes);
  struct mafat_packed *p;
  char *beginning, path[64];
  require(layer_bytes);
  for (int l = 0; l < n->n_layers; l++) layer_bytes[l] = mafat_packed_layer_bytes(&n->layers[l]);
  int code = mafat_packed_make(&p, n, cfg, layer_bytes), fd = memfd_create("fuzz", MFD_CLOEXEC);
  require(fd >= 0 && (code == MAFAT_OK || code == MAFAT_ELIMIT));
  if (p && p->file_bytes <= MAX_FILE_BYTES) {
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    require(mafat_packed_seal(p, n, cfg, &beginning) == MAFAT_OK);
    if (n_changes >= 3) change(beginning, p->data_at, changes, n_changes);
    write_file(fd, beginning, p);
    check_file(path, n, n_changes < 3);
    free(beginning);
  }
  mafat_packed_close(&p);
  close(fd);
  free(layer_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
  struct mafat_cfg *cfg = NULL;
  struct mafat_network *network = NULL;
  const uint8_t *end = memchr(bytes, 0, n);
  size_t text = end ? (size_t)(end - bytes) : n, changes = end ? n - text - 1 : 0;
  if (mafat_cfg_parse(&cfg, "fuzz", (const char *)bytes, text, NULL) == MAFAT_OK &&
      mafat_darknet_make(&network, cfg, NULL, NULL, NULL) == MAFAT_OK)
    try_file(network, cfg, end ? end + 1 : NULL, changes);
  mafat_network_close(&network);
  mafat_cfg_close(&cfg);
  return 0;
}
