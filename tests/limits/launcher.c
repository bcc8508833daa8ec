/* Joins a memory cgroup and executes a program: launcher GROUP-FOLDER PROGRAM [ARGUMENT...].
 * Only few of its pages are charged to the group, unlike those of a shell. Used by tests/limits,
 * tests/soak and others.
 *
 * Exit status: the program's; 125: cannot join the group; 127: cannot run the program. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int fail(const char *what, int status)
{
  fprintf(stderr, "launcher: %s: %s\n", what, strerror(errno));
  return status;
}

int main(int argc, char **argv)
{
  char path[PATH_MAX];
  if (argc < 3) {
    fputs("usage: launcher GROUP-FOLDER PROGRAM [ARGUMENT...]\n", stderr);
    return 125;
  }
  snprintf(path, sizeof path, "%s/cgroup.procs", argv[1]);
  int group = open(path, O_WRONLY | O_CLOEXEC);
  if (group < 0 || write(group, "0", 1) != 1) return fail(path, 125);
  execv(argv[2], argv + 2);
  return fail(argv[2], 127);
}
