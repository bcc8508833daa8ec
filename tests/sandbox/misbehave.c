/* Imitates a decoder under an attacker's control. Preloaded (LD_PRELOAD) into a program, it tries
 * forbidden calls when libjpeg reads the first row of a JPEG, or when rows of a PPM are read, and
 * then decodes as usual. Prints the results on stderr, for tests/cli/sandbox.sh and
 * tests/sandbox/inside.sh. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t parent; /* stored early: the sandbox forbids getppid() */

__attribute__((constructor)) static void remember_parent(void) { parent = getppid(); }

static void report(const char *what, bool done)
{
  char line[128];
  int n = snprintf(line, sizeof line, "misbehave: %s: %s\n", what, done ? "done" : strerror(errno));
  if (write(STDERR_FILENO, line, (size_t)n) != n) abort();
}

static bool opened(int fd)
{
  if (fd >= 0) close(fd);
  return fd >= 0;
}

static void *nothing(void *none) { return none; }

static bool made_thread(void)
{
  pthread_t thread;
  errno = pthread_create(&thread, NULL, nothing, NULL);
  return errno == 0;
}

static bool forked(void)
{
  pid_t child = fork();
  if (child == 0) _exit(0);
  return child > 0 && waitpid(child, NULL, 0) == child;
}

static bool made_code(void)
{
  void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return page != MAP_FAILED && mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0;
}

static bool made_ring(void)
{
  struct io_uring_params p = {0};
  return opened((int)syscall(SYS_io_uring_setup, 4, &p));
}

/* Opens a readable file and changes its mode. */
static bool changed_open_file(const char *path)
{
  int fd = open(path, O_RDONLY);
  bool done = fd >= 0 && fchmod(fd, 0755) == 0;
  int error = errno;
  if (fd >= 0) close(fd);
  errno = error;
  return done;
}

/* Binds the process to the CPUs that it may already use. */
static bool bound(pid_t process)
{
  cpu_set_t where;
  return sched_getaffinity(process, sizeof where, &where) == 0 &&
         sched_setaffinity(process, sizeof where, &where) == 0;
}

/* If O_ASYNC is set on a terminal, the kernel sends signals to the process that owns the terminal,
 * even if another process set the flag. */
static bool asked_for_signals(int fd)
{
  return fcntl(fd, F_SETFL, O_ASYNC) == 0 && fcntl(fd, F_SETFL, 0) == 0;
}

static bool opened_memory(pid_t process)
{
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/mem", (int)process);
  return opened(open(path, O_RDONLY));
}

static void try_everything(void)
{
  const char *old = getenv("MISBEHAVE_FILE"), *made = getenv("MISBEHAVE_NEW");
  char *arguments[] = {"true", NULL};
  report("read a file", opened(open("/etc/passwd", O_RDONLY)));
  report("change an open file's rights", changed_open_file(old));
  report("make a program", opened(open(made, O_WRONLY | O_CREAT, 04755)));
  report("bind another", bound(parent));
  report("have others signalled", asked_for_signals(STDERR_FILENO));
  report("open another's memory", opened_memory(parent));
  report("write to a file", opened(open(old, O_WRONLY)));
  report("append to a file", opened(open(old, O_WRONLY | O_APPEND)));
  report("make a file", opened(open(made, O_WRONLY | O_CREAT, 0600)));
  report("make a file without a name",
         opened(open(getenv("MISBEHAVE_FOLDER"), O_TMPFILE | O_RDWR, 0600)));
  report("empty a file", truncate(old, 0) == 0);
  report("remove a file", unlink(old) == 0);
  report("rename a file", rename(old, made) == 0);
  report("link a file", symlink(old, made) == 0);
  report("make a folder", mkdir(made, 0700) == 0);
  report("change rights", chmod(old, 0777) == 0);
  report("connect", opened(socket(AF_INET, SOCK_STREAM, 0)));
  report("connect locally", opened(socket(AF_UNIX, SOCK_STREAM, 0)));
  report("fork", forked());
  report("make a thread", made_thread());
  /* Outside the sandbox this fails with ESRCH. Attaching would stop the parent. */
  report("trace", ptrace(PTRACE_PEEKDATA, parent, NULL, NULL) == 0);
  report("signal", kill(parent, 0) == 0);
  report("make code", made_code());
  report("map code",
         mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
  report("make a ring", made_ring());
  report("open by handle", opened((int)syscall(SYS_openat2, AT_FDCWD, old, NULL, 0)));
  report("read another's memory", syscall(SYS_process_vm_readv, parent, NULL, 0, NULL, 0, 0) == 0);
  /* Outside the sandbox this fails with ENOENT. */
  report("mount", syscall(SYS_mount, "none", "/nowhere", "tmpfs", 0, NULL) == 0);
  report("execute", execv("/bin/true", arguments) == 0);
}

static void try_once(void)
{
  static bool tried;
  if (!tried) {
    tried = true;
    try_everything();
  }
}

/* Replaces libjpeg's function. */
unsigned jpeg_read_scanlines(void *cinfo, void *rows, unsigned n);
unsigned jpeg_read_scanlines(void *cinfo, void *rows, unsigned n)
{
  static unsigned (*real)(void *, void *, unsigned);
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "jpeg_read_scanlines");
  try_once();
  return real(cinfo, rows, n);
}

/* Tries the calls once a PPM is read past its beginning. The beginning is read before the model
 * is open, when making a thread or a ring is still allowed (SECURITY.md). */
static void note_read(int fd, ssize_t got, const void *bytes, off64_t at)
{
  static ino_t picture; /* an inode: descriptors are reused */
  struct stat st;
  if (fstat(fd, &st) != 0) return;
  if (at == 0 && got > 2 && memcmp(bytes, "P6\n", 3) == 0) picture = st.st_ino;
  if (at > 0 && st.st_ino == picture) try_once();
}

/* These functions replace the C library's: preadv64v2 reads files that are in the page cache,
 * pread64 other files. */
ssize_t preadv64v2(int fd, const struct iovec *pieces, int n, off64_t at, int flags)
{
  static ssize_t (*real)(int, const struct iovec *, int, off64_t, int);
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "preadv64v2");
  ssize_t got = real(fd, pieces, n, at, flags);
  if (got > 0) note_read(fd, got, pieces->iov_base, at);
  return got;
}

ssize_t pread64(int fd, void *to, size_t n, off64_t at)
{
  static ssize_t (*real)(int, void *, size_t, off64_t);
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "pread64");
  ssize_t got = real(fd, to, n, at);
  if (got > 0) note_read(fd, got, to, at);
  return got;
}
