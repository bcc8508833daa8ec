/* Writes single files, and a temporary folder with files of a system, such as /proc/self/cgroup
 * and /sys/fs/cgroup. There is one folder at a time, which a test case makes and removes as its
 * fixture. Included by suites and by api.c, which fail if a file cannot be written. */
#ifndef MAFAT_TESTS_SUPPORT_TREE_H
#define MAFAT_TESTS_SUPPORT_TREE_H

#include <stddef.h>

/* Writes a whole file, replacing an existing one. */
void test_write_file(const char *path, const void *bytes, size_t n);

/* test_tree_make makes the folder, with a /proc/meminfo of 4 GiB, 2 GiB of which are available.
 * test_tree returns its path. */
void test_tree_make(void);
void test_tree_remove(void);
const char *test_tree(void);

void test_tree_put(const char *path, const char *text);

#endif
