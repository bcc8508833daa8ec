/* Writes files and a folder tree for tests. Called by suites, and as the fixture of test cases
 * that need a system's /proc and /sys. The folder's path is a static variable. */
#include "tests/support/tree.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char tree[64];

const char *test_tree(void)
{
  return tree;
}

static void make_folders(char *path)
{
  for (char *at = path + 1; (at = strchr(at, '/')); at++) {
    *at = '\0';
    ck_assert(mkdir(path, 0777) == 0 || errno == EEXIST);
    *at = '/';
  }
}

void test_tree_put(const char *path, const char *text)
{
  char name[512];
  snprintf(name, sizeof name, "%s%s", tree, path);
  make_folders(name);
  FILE *file = fopen(name, "w");
  ck_assert_ptr_nonnull(file);
  ck_assert_int_ge(fputs(text, file), 0);
  fclose(file);
}

void test_tree_make(void)
{
  strcpy(tree, "/tmp/mafat-tree-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(tree));
  test_tree_put(
      "/proc/meminfo",
      "MemTotal:        4194304 kB\nMemFree:          100000 kB\nMemAvailable:    2097152 kB\n");
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
  (void)st;
  (void)type;
  (void)at;
  return remove(path);
}

void test_tree_remove(void)
{
  nftw(tree, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

void test_write_file(const char *path, const void *bytes, size_t n)
{
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(write(fd, bytes, n), (ssize_t)n);
  ck_assert_int_eq(close(fd), 0);
}
