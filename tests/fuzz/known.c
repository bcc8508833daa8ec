/* Under MemorySanitizer: what the kernel writes is known. clang 14 watches the names that stat had in glibc before 2.33. */
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#include <fcntl.h>
#include <sanitizer/msan_interface.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int ask(int folder, const char *path, struct stat *st, int flags)
{
  long code = syscall(SYS_newfstatat, folder, path, st, flags);
  if (code == 0) __msan_unpoison(st, sizeof *st);
  return (int)code;
}

int stat(const char *restrict path, struct stat *restrict st)
{
  return ask(AT_FDCWD, path, st, 0);
}

int lstat(const char *restrict path, struct stat *restrict st)
{
  return ask(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}

int fstat(int fd, struct stat *st)
{
  return ask(fd, "", st, AT_EMPTY_PATH);
}
#endif
#endif
typedef int known; /* elsewhere the file is empty */
