/* For MemorySanitizer: tells it that memory which the kernel wrote is initialized. The sanitizer
 * of clang 14 intercepts stat and its relatives only under the names that they had before glibc
 * 2.33. It does not intercept statx, nor system calls that have no function in the C library.
 * Linked into fuzz targets; empty unless built with MemorySanitizer. */
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <sanitizer/msan_interface.h>
#include <stdarg.h>
#include <stdint.h>
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

int statx(int folder, const char *restrict path, int flags, unsigned mask,
          struct statx *restrict st)
{
  long code = syscall(SYS_statx, folder, path, flags, mask, st);
  if (code == 0) __msan_unpoison(st, sizeof *st);
  return (int)code;
}

#ifdef __x86_64__
/* Marks the events, and the memory that their requests read into, as initialized. */
static void know_events(const struct io_event *events, long n)
{
  for (long i = 0; i < n; i++) {
    __msan_unpoison(&events[i], sizeof events[i]);
    const struct iocb *call = (const struct iocb *)(uintptr_t)events[i].obj;
    if (events[i].res > 0)
      __msan_unpoison((const void *)(uintptr_t)call->aio_buf, (size_t)events[i].res);
  }
}

/* Replaces syscall(), through which Linux AIO is called. Always reads six arguments; the kernel
 * ignores those that a call does not need. */
__attribute__((no_sanitize("memory"))) long syscall(long number, ...)
{
  va_list list;
  long a[6], answer;
  va_start(list, number);
  for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
  va_end(list);
  register long fourth __asm__("r10") = a[3], fifth __asm__("r8") = a[4],
                       sixth __asm__("r9") = a[5];
  __asm__ volatile("syscall"
                   : "=a"(answer)
                   : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(fourth), "r"(fifth),
                     "r"(sixth)
                   : "rcx", "r11", "memory");
  if (answer >= -4095 && answer < 0) {
    errno = (int)-answer;
    return -1;
  }
  if (number == SYS_io_getevents) know_events((const struct io_event *)a[3], answer);
  return answer;
}
#endif
#endif
#endif
typedef int known; /* ISO C forbids an empty translation unit */
