#include "tests/support/files.h"

#include <check.h>
#include <fcntl.h>
#include <unistd.h>

void test_write_file(const char *path, const void *bytes, size_t n)
{
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(write(fd, bytes, n), (ssize_t)n);
  ck_assert_int_eq(close(fd), 0);
}
