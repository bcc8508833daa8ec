/* Forks the process that ends the processes in the cgroup and removes it if memory_limit is killed
 * (guard.h). Called by memory_limit.c. */
#include "programs/memory_limit/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Points standard input, output and error to /dev/null, and closes all other descriptors but
 * `keep`. Otherwise, the reader of a pipe that memory_limit writes would wait until the guard
 * ends. */
static void let_go(int keep)
{
  int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; fd++) dup2(null, fd);
  if (null > 2) close(null);
  /* close_range needs Linux 5.9. On older kernels, all descriptors from 3 on stay open. */
  if (keep > 3) close_range(3, (unsigned)keep - 1, 0);
  close_range((unsigned)keep + 1, ~0U, 0);
  if (chdir("/") != 0) _exit(1);
}

static void keep_watch(int line, const struct limit_group *g)
{
  char byte;
  ssize_t n;
  setsid();
  prctl(PR_SET_NAME, "mafat-guard");
  const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
  for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) signal(ignored[i], SIG_IGN);
  let_go(line);
  if (write(line, "", 1) != 1) _exit(0); /* the parent died before it made anything */
  while ((n = read(line, &byte, 1)) < 0 && errno == EINTR) continue;
  if (n == 1) _exit(0);
  group_remove(g);
  place_restore(g->place);
  _exit(0);
}

bool guard_start(struct guard *guard, const struct limit_group *g, struct why *why)
{
  int ends[2];
  char byte;
  *guard = (struct guard){0};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return why_not(why, "a socket cannot be made: %s", strerror(errno));
  guard->pid = fork();
  if (guard->pid == 0) {
    close(ends[1]);
    keep_watch(ends[0], g);
  }
  close(ends[0]);
  guard->line = ends[1];
  /* Wait until the guard has its own session: a signal to our process group then spares it. */
  ssize_t n = -1;
  while (guard->pid > 0 && (n = read(guard->line, &byte, 1)) < 0 && errno == EINTR) continue;
  if (n == 1) return true;
  int error = errno;
  close(ends[1]);
  guard->pid = 0;
  return why_not(why, "a process cannot be made: %s", strerror(error));
}

void guard_end(struct guard *guard)
{
  if (!guard->pid) return;
  while (write(guard->line, "", 1) < 0 && errno == EINTR) continue;
  close(guard->line);
  while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR) continue;
  guard->pid = 0;
}
