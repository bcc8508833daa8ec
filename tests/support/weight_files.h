/* A Darknet and a packed file with the same weights, in temporary files that exist from the
 * fixture's setup to its teardown. Included by the suites in tests/unit/weights. */
#ifndef MAFAT_TESTS_SUPPORT_WEIGHT_FILES_H
#define MAFAT_TESTS_SUPPORT_WEIGHT_FILES_H

#include "formats/graph/given.h"
#include "formats/packed/packed.h"
#include "tests/support/support.h"

#include <stddef.h>

extern char test_darknet_path[64], test_packed_path[64];

/* A checked fixture: makes both files, empty, and removes them. */
void test_make_weight_files(void);
void test_remove_weight_files(void);

/* Writes random weights that are valid as variances. */
void test_write_darknet(const struct mafat_network *n, uint64_t seed);
/* Packs Darknet's file, without an embedded graph. Returns the packer's code. */
int test_pack(const struct mafat_network *n, struct mafat_diagnostic *d);
void test_write_both(const struct mafat_network *n, uint64_t seed);
void test_overwrite(const char *path, long offset, const void *data, size_t bytes);
/* Changes bytes like a faulty disk: the file's times do not change. */
void test_damage(const char *path, long offset, const void *data, size_t bytes);
/* Packs an ONNX or TFLite model into fd. Weights become as narrow as `type` where possible
 * (MAFAT_F32: unchanged). */
void test_pack_graph(const struct mafat_reader *reader, const char *path,
                     const struct mafat_given *given, enum mafat_dtype type, int fd);
/* Description of a packed file; the caller closes it. */
struct mafat_packed *test_describe(const char *path);

/* Offsets in a packed file's header (doc/packed.md). test_seal_packed recomputes the checksums
 * of index and header. */
enum {
  TEST_INDEX_BYTES_AT = 64,
  TEST_INDEX_CHECKSUM_AT = 72,
  TEST_HEADER_CHECKSUM_AT = 80,
  TEST_HEADER_BYTES = 88
};
void test_seal_packed(char *whole);

/* A network wide enough for several slices and fetches a layer, with a panel fusion and a
 * connected layer. test_write_wide writes both files for it. */
extern const char test_wide_cfg[];
void test_write_wide(void);

#endif
