/* Files that tests write: by themselves, and in a folder in which files stand where a system's
 * would: /proc/self/cgroup, /sys/fs/cgroup. One at a time; as the fixture of a test case. */
#ifndef MAFAT_TESTS_SUPPORT_TREE_H
#define MAFAT_TESTS_SUPPORT_TREE_H

#include <stddef.h>

/* All of it, anew. */
void test_write_file(const char *path, const void *bytes, size_t n);

/* With 4 GB, of which 2 GB are available. */
void test_tree_make(void);
void test_tree_remove(void);
const char *test_tree(void);

void test_tree_put(const char *path, const char *text);

#endif
