/* Measures how long a command takes from exec to its first byte of output, and to its end. Called
 * by run.py. Runs the command; writes "FIRST_MS END_MS" to standard error and drops its output.
 *     first_byte COMMAND... */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static double now_ms(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int fail(const char *what)
{
  perror(what);
  return 125;
}

/* Reads to the end; returns when the first byte came. */
static double read_all(int fd)
{
  char bytes[4096];
  double first = 0;
  for (ssize_t got; (got = read(fd, bytes, sizeof bytes)) > 0 || (got < 0 && errno == EINTR);)
    if (!first && got > 0) first = now_ms();
  return first;
}

int main(int argc, char **argv)
{
  int ends[2], status;
  pid_t child;
  posix_spawn_file_actions_t actions;
  if (argc < 2 || pipe2(ends, O_CLOEXEC) != 0) return fail("first_byte COMMAND...");
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  double begin = now_ms();
  int error = posix_spawnp(&child, argv[1], &actions, NULL, argv + 1, environ);
  close(ends[1]);
  if (error) return errno = error, fail(argv[1]);
  double first = read_all(ends[0]);
  if (waitpid(child, &status, 0) != child) return fail("waitpid");
  fprintf(stderr, "%.3f %.3f\n", first - begin, now_ms() - begin);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 124;
}
