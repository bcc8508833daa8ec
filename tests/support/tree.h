/* Files that tests write: single ones, and a temporary folder with files of a system, such as
 * /proc/self/cgroup and /sys/fs/cgroup. One folder at a time, as the fixture of a test case.
 * Included by suites. */
#ifndef MAFAT_TESTS_SUPPORT_TREE_H
#define MAFAT_TESTS_SUPPORT_TREE_H

#include <stddef.h>

/* Writes a whole file, replacing an existing one. */
void test_write_file(const char *path, const void *bytes, size_t n);

/* Makes the folder of a system with 4 GB, 2 GB of them available. */
void test_tree_make(void);
void test_tree_remove(void);
const char *test_tree(void);

void test_tree_put(const char *path, const char *text);

#endif
