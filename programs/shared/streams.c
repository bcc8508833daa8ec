/* Checks the standard streams, opens output files, and prints texts and messages. Called by all
 * programs except swap_cost. In each of them, it also checks the size of the stack before main. May
 * open /dev/null; allocates messages, which it frees. */
#include "programs/shared/streams.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/part.h"
#include "base/utf8.h"

/* Ends the program with a message if its stack is too small, because otherwise it would be killed
 * somewhere later. Runs before main, because main's own variables may already exceed the stack. The
 * programs use up to 60 KiB. */
MAFAT_PART(opening) __attribute__((constructor)) static void check_stack(void)
{
  enum { NEEDED = 128 << 10, ROOM = 160 };
  struct rlimit limit;
  char line[ROOM];
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= NEEDED) return;
  int n = snprintf(line, sizeof line,
                   "%.40s: expected a stack of at least %d KiB, found a limit of %d (ulimit -s)\n",
                   program_invocation_short_name, NEEDED >> 10, (int)(limit.rlim_cur >> 10));
  if (write(STDERR_FILENO, line, (size_t)n) < 0) _exit(2);
  _exit(1);
}

/* Opens /dev/null for each standard stream that is closed: open() returns the lowest free
 * descriptor, which is the missing one. */
MAFAT_PART(opening) void mafat_streams_hold(void)
{
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
      return;
}

/* Parses the number of a descriptor. Returns -1 if the text is anything else. Does not use sscanf,
 * because its code is large, and nothing else needs it while a model is open. */
static int read_descriptor(const char *text)
{
  enum { MOST = 1 << 20 };
  int fd = 0;
  if (!*text) return -1;
  for (; *text >= '0' && *text <= '9' && fd < MOST; text++) fd = fd * 10 + (*text - '0');
  return *text ? -1 : fd;
}

/* Returns the descriptor that a path such as /dev/stdout names, or -1. */
static int find_stream(const char *path)
{
  static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
  if (strcmp(path, "/dev/stdout") == 0) return STDOUT_FILENO;
  if (strcmp(path, "/dev/stderr") == 0) return STDERR_FILENO;
  for (int i = 0; i < 2; i++)
    if (strncmp(path, folders[i], strlen(folders[i])) == 0)
      return read_descriptor(path + strlen(folders[i]));
  return -1;
}

int mafat_streams_open(const char *path)
{
  int stream = find_stream(path);
  return stream >= 0 ? fcntl(stream, F_DUPFD_CLOEXEC, 0)
                     : open(path, O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC, 0666);
}

MAFAT_PART(opening) const char *mafat_streams_program(const char *called, const char *name)
{
  enum { PREFIX = sizeof "mafat " - 1 };
  if (!called || strncmp(called, "mafat ", PREFIX) != 0) return name;
  size_t length = strlen(called + PREFIX);
  return length < 16 && strspn(called + PREFIX, "abcdefghijklmnopqrstuvwxyz") == length ? called
                                                                                        : name;
}

const char *mafat_streams_installed(const char *called, const char *installed, const char *name)
{
  const char *slash = called ? strrchr(called, '/') : NULL;
  if (called && strcmp(slash ? slash + 1 : called, installed) == 0) return installed;
  return mafat_streams_program(called, name);
}

MAFAT_PART(opening) int mafat_streams_finish(void)
{
  errno = 0;
  if (fflush(stdout) == 0 && !ferror(stdout)) return 0;
  if (errno == 0) errno = EIO; /* an earlier write failed, and its errno is lost */
  return -1;
}

int mafat_streams_say(const char *program, const char *text)
{
  fputs(text, stdout);
  if (mafat_streams_finish() == 0) return 0;
  mafat_streams_complain(program, "cannot write to standard output: %s", strerror(errno));
  return -1;
}

void mafat_streams_put_named(const char *text, const char *name)
{
  for (; *text; text++) {
    if (*text == '%') fputs(name, stdout);
    else putchar(*text);
  }
}

int mafat_streams_say_version(const char *program)
{
  char line[64];
  snprintf(line, sizeof line, "%.40s " MAFAT_VERSION "\n", program);
  return mafat_streams_say(program, line);
}

void mafat_streams_complain(const char *program, const char *format, ...)
{
  char *text = NULL;
  va_list values;
  va_start(values, format);
  if (vasprintf(&text, format, values) < 0) text = NULL;
  va_end(values);
  if (text) mafat_utf8_keep_to_one_line(text);
  fprintf(stderr, "%s: %s\n", program, text ? text : "out of memory");
  free(text);
}
