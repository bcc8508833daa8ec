/* Writes Darknet's and packed weights files to temporary files. Called by the suites in
 * tests/unit/weights and tests/unit/formats. */
#include "tests/support/network_files.h"
#include "tests/support/weight_files.h"

#include "formats/packed/graph.h"
#include "runner/weights/packer.h"
#include "runner/weights/weights.h"
#include "runner/weights/weights_file.h"

#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char test_darknet_path[64], test_packed_path[64];

void test_make_weight_files(void)
{
  strcpy(test_darknet_path, "/tmp/mafat-test-XXXXXX");
  strcpy(test_packed_path, "/tmp/mafat-test-XXXXXX");
  close(mkstemp(test_darknet_path));
  close(mkstemp(test_packed_path));
}

void test_remove_weight_files(void)
{
  unlink(test_darknet_path);
  unlink(test_packed_path);
}

void test_write_darknet(const struct mafat_network *n, uint64_t seed)
{
  struct test_rng rng = test_rng(seed);
  const int32_t header[5] = {0, 2, 0, 0, 0};
  size_t floats = (size_t)mafat_weights_payload_bytes(n) / sizeof(float),
         bytes = sizeof header + floats * sizeof(float);
  char *file = malloc(bytes);
  memcpy(file, header, sizeof header);
  for (size_t i = 0; i < floats; i++) {
    float x = .25f + (float)(test_random(&rng) >> 8) / 16777216.0f;
    memcpy(file + sizeof header + i * sizeof x, &x, sizeof x);
  }
  int fd = open(test_darknet_path, O_WRONLY | O_TRUNC | O_CREAT, 0600);
  ck_assert_int_eq(write(fd, file, bytes), (ssize_t)bytes);
  close(fd);
  free(file);
}

int test_pack(const struct mafat_network *n, struct mafat_diagnostic *d)
{
  int fd = open(test_packed_path, O_RDWR | O_TRUNC | O_CREAT, 0600);
  int code = mafat_packer_write(test_darknet_path, n, NULL, fd, test_packed_path, d);
  close(fd);
  return code;
}

void test_write_both(const struct mafat_network *n, uint64_t seed)
{
  test_write_darknet(n, seed);
  struct mafat_diagnostic d;
  ck_assert_msg(test_pack(n, &d) == MAFAT_OK, "%s", d.text);
}

void test_pack_graph(const struct mafat_reader *reader, const char *path,
                     const struct mafat_given *given, enum mafat_dtype type, int fd)
{
  struct mafat_network *n;
  struct mafat_embedded_graph *embedded_graph;
  struct mafat_diagnostic d;
  int code = test_packed_graph_read(&n, &embedded_graph, reader, path, given, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  for (int l = 0; l < n->n_layers; l++)
    n->layers[l].weights_type = mafat_layer_narrowest(&n->layers[l], type);
  code = mafat_packer_write(
      path, n, &(struct mafat_packed_origin){.embedded_graph = embedded_graph}, fd, "packed", &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  mafat_embedded_graph_close(&embedded_graph);
  mafat_network_close(&n);
}

void test_overwrite(const char *path, long offset, const void *data, size_t bytes)
{
  int fd = open(path, O_WRONLY);
  ck_assert_int_eq(pwrite(fd, data, bytes, offset), (ssize_t)bytes);
  close(fd);
}

void test_damage(const char *path, long offset, const void *data, size_t bytes)
{
  struct stat before;
  int fd = open(path, O_WRONLY);
  ck_assert_int_eq(fstat(fd, &before), 0);
  ck_assert_int_eq(pwrite(fd, data, bytes, offset), (ssize_t)bytes);
  ck_assert_int_eq(futimens(fd, (const struct timespec[]){before.st_atim, before.st_mtim}), 0);
  close(fd);
}

struct mafat_packed *test_describe(const char *path)
{
  struct mafat_packed *p;
  struct mafat_model_source *source;
  struct mafat_diagnostic d;
  ck_assert_int_eq(mafat_model_source_open(&source, path, NULL), MAFAT_OK);
  int code = mafat_packed_open(&p, source, NULL, false, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  mafat_model_source_close(&source);
  return p;
}

void test_seal_packed(char *whole)
{
  uint64_t index_bytes, sum;
  memcpy(&index_bytes, whole + TEST_INDEX_BYTES_AT, sizeof index_bytes);
  sum = mafat_hash(MAFAT_HASH_START, whole + MAFAT_PACKED_ALIGNMENT, (size_t)index_bytes);
  memcpy(whole + TEST_INDEX_CHECKSUM_AT, &sum, sizeof sum);
  sum = mafat_hash(MAFAT_HASH_START, whole, TEST_HEADER_CHECKSUM_AT);
  memcpy(whole + TEST_HEADER_CHECKSUM_AT, &sum, sizeof sum);
}

const char test_wide_cfg[] =
    "[net]\nwidth=8\nheight=8\nchannels=3\n"
    "[convolutional]\nfilters=200\nsize=3\npad=1\nbatch_normalize=1\n"
    "[convolutional]\nfilters=300\nsize=3\npad=1\n"
    "[convolutional]\nfilters=70\nsize=1\nbatch_normalize=1\n"
    "[maxpool]\nsize=2\nstride=2\n"
    "[convolutional]\nfilters=70\nsize=3\npad=1\ngroups=70\n"
    "[convolutional]\nfilters=400\nsize=1\n"
    "[route]\nlayers=-1,-3\n"
    "[convolutional]\nfilters=100\nsize=3\npad=1\nbatch_normalize=1\n"
    "[connected]\noutput=150\nbatch_normalize=1\n[connected]\noutput=40\n[softmax]\n";

void test_write_wide(void)
{
  struct mafat_network *n = test_network(test_wide_cfg);
  test_write_both(n, 2);
  mafat_network_close(&n);
}
