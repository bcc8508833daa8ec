/* Files of weights for tests: Darknet's and a packed one of the same numbers, under names of their own
 * from the fixture's first to its last line. */
#ifndef MAFAT_TESTS_SUPPORT_WEIGHT_FILES_H
#define MAFAT_TESTS_SUPPORT_WEIGHT_FILES_H

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
/* What a packed file says of itself. */
struct mafat_packed *test_describe(const char *path);

/* Wide enough for several slices and fetches of a layer, with a fan and a connected layer; and both its files. */
extern const char test_wide_cfg[];
void test_write_wide(void);

#endif
