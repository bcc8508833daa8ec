/* Measures a program's exact peak of resident bytes: resident_peak FILE PROGRAM [ARGUMENT...].
 * The kernel's own peak (VmHWM) is summed from counters of each processor. Each counter can be off
 * by 128 KB, and there is one for each kind of page. A program gives up pages only in system calls
 * (unless the kernel reclaims them), so we trace PROGRAM and count its resident bytes when each
 * call begins and ends. Called by tests/cli/sandbox.sh, tests/cli/run_inference.sh and
 * experiments/sandbox_cost.py.
 *
 * Writes the bytes to FILE. Exit status: PROGRAM's, or 128 + the signal that ended it; 125: cannot
 * trace or write; 127: cannot run PROGRAM. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALL_STOP = SIGTRAP | 0x80 };

static int fail(const char *what)
{
  fprintf(stderr, "resident_peak: %s: %s\n", what, strerror(errno));
  return 125;
}

/* Resident bytes of the process; 0: it is ending. */
static unsigned long long resident_bytes(pid_t process)
{
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)process);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (fd >= 0) close(fd);
  text[n > 0 ? n : 0] = '\0';
  const char *found = strstr(text, "\nRss:");
  return found ? strtoull(found + 5, NULL, 10) * 1024 : 0;
}

static pid_t start(char **command)
{
  pid_t process = fork();
  if (process) return process;
  if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(125);
  execv(command[0], command);
  _exit(127);
}

/* Traces all threads until the process ends. Returns its wait() status. */
static int watch(pid_t process, unsigned long long *most)
{
  int status;
  pid_t thread;
  while ((thread = waitpid(-1, &status, __WALL)) > 0) {
    if (!WIFSTOPPED(status)) {
      if (thread == process) return status;
      continue;
    }
    int signal = WSTOPSIG(status);
    if (signal == CALL_STOP) {
      unsigned long long now = resident_bytes(process);
      if (now > *most) *most = now;
    }
    bool own = signal == CALL_STOP || status >> 16 ||
               (signal == SIGSTOP && thread != process); /* a stop caused by tracing */
    ptrace(PTRACE_SYSCALL, thread, NULL, (void *)(long)(own ? 0 : signal));
  }
  return 125 << 8;
}

int main(int argc, char **argv)
{
  int status;
  unsigned long long most = 0;
  if (argc < 3) {
    fputs("usage: resident_peak FILE PROGRAM [ARGUMENT...]\n", stderr);
    return 125;
  }
  pid_t process = start(argv + 2);
  if (process < 0 || waitpid(process, &status, 0) != process) return fail(argv[2]);
  if (!WIFSTOPPED(status)) return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
  if (ptrace(PTRACE_SETOPTIONS, process, NULL,
             (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL)) != 0 ||
      ptrace(PTRACE_SYSCALL, process, NULL, NULL) != 0)
    return fail("tracing");
  status = watch(process, &most);
  FILE *file = fopen(argv[1], "w");
  if (!file || fprintf(file, "%llu\n", most) < 0 || fclose(file) != 0) return fail(argv[1]);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
