/* libFuzzer target: any bytes, as the .weights file of three fixed networks, and as a
 * packed one, whose header is sealed for the last bytes to get past it.
 * Build with clang -fsanitize=fuzzer,address,undefined. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/networks.h"

#include "runner/weights/packed_file.h"
#include "runner/weights/packer.h"
#include "runner/weights/weights.h"

static const char *const cfgs[] = {
    /* every way of packing a convolution: 3 channels, a route, groups, depthwise */
    "[net]\nheight=8\nwidth=8\nchannels=3\n"
    "[convolutional]\nbatch_normalize=1\nfilters=5\nsize=3\npad=1\n[convolutional]\nfilters=8\nsize=1\n"
    "[route]\nlayers=-1,-2\n[convolutional]\nfilters=12\nsize=1\n"
    "[convolutional]\nbatch_normalize=1\nfilters=12\nsize=3\ngroups=12\n[convolutional]\nfilters=9\nsize=1\ngroups=3\n",
    /* a classifier */
    "[net]\nheight=4\nwidth=4\nchannels=2\n"
    "[batchnorm]\n[local]\nfilters=2\nsize=2\nstride=1\n[connected]\nbatch_normalize=1\noutput=9\n"
    "[connected]\noutput=3\n[softmax]\n",
    /* a detector: a surplus is an error */
    "[net]\nheight=4\nwidth=4\nchannels=1\n[convolutional]\nfilters=6\nsize=1\n[yolo]\nclasses=1\nnum=1\n",
};

enum { N_CFGS = sizeof cfgs / sizeof *cfgs };

static struct mafat_network *networks[N_CFGS];

static bool has_panels(const struct mafat_layer *l)
{
  return l->type == MAFAT_CONVOLUTIONAL || l->type == MAFAT_CONNECTED;
}

/* Reads the ends of every slice, so that the sanitizers see each access. */
static void touch_slices(struct mafat_weights *w, const struct mafat_network *n)
{
  volatile float value; /* a load that no compiler drops */
  for (int i = 0; i < n->n_layers; i++) {
    const struct mafat_layer *l = &n->layers[i];
    for (int f = 0; has_panels(l) && f < l->out.c; f = mafat_panel_end(l, f)) {
      struct mafat_weights_slice slice;
      struct mafat_span filters = {f, mafat_panel_end(l, f)};
      require(mafat_weights_slice(w, i, filters, mafat_span(0, l->in.c), &slice) == MAFAT_OK);
      for (int k = 0; k < slice.width; k++)
        value = slice.scale[k] + slice.bias[k] + slice.weights[k];
      (void)value;
      mafat_weights_release(w, &slice);
    }
  }
}

/* Opens what the file holds now, for every network. */
static void try_file(const char *path)
{
  for (int i = 0; i < N_CFGS; i++) {
    struct mafat_diagnostic d = {""};
    struct mafat_weights *w = NULL;
    int code = mafat_weights_open_kept(&w, path, networks[i], networks[i]->n_layers, NULL, &d);
    require((code == MAFAT_OK) == (w != NULL));
    require(code == MAFAT_OK || d.text[0]);
    if (w) touch_slices(w, networks[i]);
    mafat_weights_close(&w);
  }
  struct mafat_diagnostic d = {""};
  int code = mafat_packer_check(path, NULL, &d);
  require(code == MAFAT_OK || d.text[0]);
}

static void write_at(int fd, const void *data, size_t bytes, long offset)
{
  if (pwrite(fd, data, bytes, offset) != (ssize_t)bytes) abort();
}

/* The bytes behind a packed header that is right for the first network, or nearly:
 * the first byte says which, and whether its table is. */
static void try_packed(int fd, const char *path, const uint8_t *bytes, size_t n)
{
  struct mafat_packed_header h = {.version = 0};
  struct mafat_packed_entry entries[16];
  if (n == 0) return;
  const struct mafat_network *network = networks[bytes[0] % N_CFGS];
  size_t table = (size_t)network->n_layers * sizeof entries[0];
  require(network->n_layers <= 16);
  memset(entries, 0, sizeof entries);
  mafat_packed_lay_out(network, entries);
  if (bytes[0] & 0x80) memcpy(entries, bytes, n < table ? n : table);
  mafat_packed_seal(network, entries, &h);
  if (ftruncate(fd, 0) != 0) abort();
  if (ftruncate(fd, (off_t)mafat_packed_file_bytes(network)) != 0) abort();
  write_at(fd, &h, sizeof h, 0);
  write_at(fd, entries, table, MAFAT_PACKED_ALIGNMENT);
  write_at(fd, bytes, n, (long)mafat_packed_images_at(network->n_layers));
  try_file(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
  char path[64];
  if (!networks[0]) make_networks(cfgs, N_CFGS, networks);
  int fd = memfd_create("fuzz", MFD_CLOEXEC);
  if (fd < 0 || write(fd, bytes, n) != (ssize_t)n) abort();
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  try_file(path);
  try_packed(fd, path, bytes, n);
  close(fd);
  return 0;
}
