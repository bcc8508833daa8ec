/* A Darknet and a packed file with the same weights, in temporary files in /tmp, which a fixture
 * makes and removes. Included by the suites in tests/unit/weights and tests/unit/formats. Errors
 * fail the test. */
#ifndef MAFAT_TESTS_SUPPORT_WEIGHT_FILES_H
#define MAFAT_TESTS_SUPPORT_WEIGHT_FILES_H

#include "formats/graph/given.h"
#include "formats/packed/packed.h"
#include "tests/support/support.h"

#include <stddef.h>

extern char test_darknet_path[64], test_packed_path[64];

/* A checked fixture of Check: the first function makes both files, empty; the second removes
 * them. */
void test_make_weight_files(void);
void test_remove_weight_files(void);

/* Writes random weights in .25..1.25 to the Darknet file; as variances they are valid. */
void test_write_darknet(const struct mafat_network *n, uint64_t seed);
/* Packs the Darknet file, without an embedded graph. Returns the packer's code. */
int test_pack(const struct mafat_network *n, struct mafat_diagnostic *d);
/* test_write_both writes and packs random weights. test_overwrite replaces bytes of a file. */
void test_write_both(const struct mafat_network *n, uint64_t seed);
void test_overwrite(const char *path, long offset, const void *data, size_t bytes);
/* Overwrites bytes, but keeps the file's times, as a faulty disk does. */
void test_damage(const char *path, long offset, const void *data, size_t bytes);
/* Packs an ONNX or TFLite model into fd. Layers whose weights can be of `type` get that type
 * (MAFAT_F32: none changes). */
void test_pack_graph(const struct mafat_reader *reader, const char *path,
                     const struct mafat_given *given, enum mafat_dtype type, int fd);
/* Opens the packed file's description; the caller closes it. */
struct mafat_packed *test_describe(const char *path);

/* Offsets in a packed file's header (doc/packed.md). test_seal_packed recomputes the checksums of
 * index and header in a file that is in memory. */
enum {
  TEST_INDEX_BYTES_AT = 64,
  TEST_INDEX_CHECKSUM_AT = 72,
  TEST_HEADER_CHECKSUM_AT = 80,
  TEST_HEADER_BYTES = 88
};
void test_seal_packed(char *whole);

/* A network whose layers need several slices and fetches each, with layers that can be fused in
 * panels and fully connected layers. test_write_wide writes both files for it. */
extern const char test_wide_cfg[];
void test_write_wide(void);

#endif
