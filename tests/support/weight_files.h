/* Files of weights for tests: Darknet's and a packed one of the same numbers, under names of their
 * own from the fixture's first to its last line. */
#ifndef MAFAT_TESTS_SUPPORT_WEIGHT_FILES_H
#define MAFAT_TESTS_SUPPORT_WEIGHT_FILES_H

#include "formats/graph/given.h"
#include "formats/packed/packed.h"
#include "tests/support/support.h"

#include <stddef.h>

extern char test_darknet_path[64], test_packed_path[64];

/* A checked fixture: makes both files, empty; removes them. */
void test_make_weight_files(void);
void test_remove_weight_files(void);

/* Numbers that are also good as variances. */
void test_write_darknet(const struct mafat_network *n, uint64_t seed);
/* Packs Darknet's file, without a graph: the packer's code. */
int test_pack(const struct mafat_network *n, struct mafat_diagnostic *d);
void test_write_both(const struct mafat_network *n, uint64_t seed);
void test_overwrite(const char *path, long offset, const void *data, size_t bytes);
/* The same as a disk does it that is wrong: the file says that nobody wrote to it. */
void test_damage(const char *path, long offset, const void *data, size_t bytes);
/* Packs an ONNX or TFLite model, its weights as narrow as that type where they can be (MAFAT_F32:
 * as they are). */
void test_pack_graph(const struct mafat_reader *reader, const char *path,
                     const struct mafat_given *given, enum mafat_dtype type, int fd);
/* Description of a packed file. */
struct mafat_packed *test_describe(const char *path);

/* Places in a packed file's header (doc/packed.md); index and header with checksums that are right
 * again. */
enum {
  TEST_INDEX_BYTES_AT = 64,
  TEST_INDEX_CHECKSUM_AT = 72,
  TEST_HEADER_CHECKSUM_AT = 80,
  TEST_HEADER_BYTES = 88
};
void test_seal_packed(char *whole);

/* Wide enough for several slices and fetches of a layer, with a panel fusion and a connected layer;
 * and both its files. */
extern const char test_wide_cfg[];
void test_write_wide(void);

#endif
