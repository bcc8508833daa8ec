/* Files that a test writes. */
#ifndef MAFAT_TESTS_SUPPORT_FILES_H
#define MAFAT_TESTS_SUPPORT_FILES_H

#include <stddef.h>

/* With these bytes and no others. */
void test_write_file(const char *path, const void *bytes, size_t n);

#endif
