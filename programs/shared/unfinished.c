/* Creates a file under a temporary name and renames it when it is complete. Called by
 * programs/annotate, programs/make_weights, programs/pack_weights and programs/run_inference.
 * Creates, renames and removes files, and handles signals; the file's names are static variables,
 * so a program can have only one unfinished file at a time. */
#include "programs/shared/unfinished.h"

#include "programs/shared/streams.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static char temporary[PATH_MAX], own[PATH_MAX]; /* temporary and final name of the file */
static volatile sig_atomic_t unfinished; /* true while the temporary file exists */

/* signals that end the program */
static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU};
enum { N_ENDS = sizeof ends / sizeof *ends };

/* Signal handler: removes the file and ends the process by the same signal, because shells check
 * which signal ended a command. */
static void give_up(int number)
{
  if (unfinished) unlink(temporary);
  signal(number, SIG_DFL);
  raise(number);
}

void mafat_unfinished_mind_signals(void)
{
  for (int i = 0; i < N_ENDS; i++)
    if (signal(ends[i], give_up) == SIG_IGN) signal(ends[i], SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
}

void mafat_unfinished_remember(const char *path)
{
  unfinished = false;
  snprintf(temporary, sizeof temporary, "%s", path);
  unfinished = *path != '\0';
}

/* Creates a new file whose name ends in n random letters. Writes the letters to `capacity`, the
 * last n bytes of `name`. The file gets its final permissions at once, so the sandbox need not
 * allow chmod, which could change the permissions of any file. */
static int create_anew(char *name, char *capacity, size_t n)
{
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345"; /* 32 letters and digits */
  enum { TRIALS = 100 };
  unsigned char chance[16];
  for (int i = 0; i < TRIALS; i++) {
    if (n > sizeof chance || getrandom(chance, n, 0) != (ssize_t)n) return -1;
    for (size_t k = 0; k < n; k++) capacity[k] = letters[chance[k] % 32];
    int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

/* Creates the file while signals are blocked, so that the signal handler always knows the file's
 * name. */
static int create(char *name, char *capacity, size_t n)
{
  sigset_t waiting, before;
  sigemptyset(&waiting);
  for (int i = 0; i < N_ENDS; i++) sigaddset(&waiting, ends[i]);
  sigprocmask(SIG_BLOCK, &waiting, &before);
  int fd = create_anew(name, capacity, n), cause = errno;
  if (fd >= 0) mafat_unfinished_remember(name);
  sigprocmask(SIG_SETMASK, &before, NULL);
  errno = cause;
  return fd;
}

int mafat_unfinished_create(const char *path)
{
  static const char ending[] = ".XXXXXX";
  enum { ROOM = sizeof ending - sizeof "." };
  char name[sizeof temporary];
  if (!realpath(path, own)) snprintf(own, sizeof own, "%s", path); /* the file does not exist yet */
  int length = snprintf(name, sizeof name, "%s%s", own, ending);
  if (length >= (int)sizeof name) {
    errno = ENAMETOOLONG;
    return -1;
  }
  return create(name, name + length - ROOM, ROOM);
}

int mafat_unfinished_open(const char *path)
{
  struct stat st;
  mafat_unfinished_remember("");
  if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode)) return mafat_streams_open(path);
  mafat_unfinished_mind_signals();
  return mafat_unfinished_create(path);
}

/* Flushes the file to disk. This comes before the rename, so that the file is complete even after
 * a power failure. */
static bool is_kept(void)
{
  int fd = open(temporary, O_RDONLY | O_CLOEXEC);
  bool kept = fd >= 0 && fsync(fd) == 0;
  int cause = errno;
  if (fd >= 0) close(fd);
  errno = cause;
  return kept;
}

int mafat_unfinished_finish(void)
{
  if (!unfinished) return 0;
  if (is_kept() && rename(temporary, own) == 0) {
    mafat_unfinished_remember("");
    return 0;
  }
  mafat_unfinished_drop();
  return -1;
}

void mafat_unfinished_drop(void)
{
  int cause = errno;
  if (unfinished) unlink(temporary);
  mafat_unfinished_remember("");
  errno = cause;
}
