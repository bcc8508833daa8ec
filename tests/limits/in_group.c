/* in_group: the parts of limit.sh that a shell cannot do.
 *
 *   in_group evict FILE...   writes the files back, drops them from the page
 *                            cache, and sees by mincore that nothing stayed
 *   in_group run [--join PROCS]... [--group FOLDER] [--timeout SECONDS]
 *                --report FOLDER -- PROGRAM ARGUMENT...
 *                            the child joins the groups by their cgroup.procs
 *                            files, and only then becomes the program
 *
 * What dies with the process is copied while it stands at its exit, its memory
 * still there (PTRACE_EVENT_EXIT): /proc/PID/status and io, and the group's
 * memory.stat. Into the report's folder go
 *   outcome      "exit N", "signal N" or "timeout"
 *   exit.status, exit.io, exit.stat
 *   usage        elapsed_ms, major_faults, block_reads, swap_seen_bytes: the most
 *                that was seen of the group's swap, looked at every 20 ms
 * Exit status: 0 the program ran, however it ended; 1 it could not be run. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_JOINS = 4, LOOK_NS = 20000000, EVICT_TRIES = 50, NOT_JOINED = 126, NOT_RUN = 127 };

struct request {
  const char *joins[MAX_JOINS];
  int n_joins;
  const char *group, *report;
  double timeout_s; /* 0: none */
  char **command;
};

static int fail(const char *what, const char *path)
{
  fprintf(stderr, "in_group: %s %s: %s\n", path, what, strerror(errno));
  return 1;
}

static double now_ms(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- evict ---- */

/* Pages of the file in the page cache, or -1. */
static long pages_cached(int fd)
{
  struct stat st;
  long page = sysconf(_SC_PAGESIZE), n = 0;
  if (fstat(fd, &st) != 0) return -1;
  if (st.st_size == 0) return 0;
  size_t bytes = (size_t)st.st_size, n_pages = (bytes + (size_t)page - 1) / (size_t)page;
  void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
  unsigned char *resident = malloc(n_pages);
  if (map == MAP_FAILED || !resident || mincore(map, bytes, resident) != 0) n = -1;
  else
    for (size_t i = 0; i < n_pages; i++) n += resident[i] & 1;
  free(resident);
  if (map != MAP_FAILED) munmap(map, bytes);
  return n;
}

static int evict(const char *path)
{
  struct timespec pause = {0, LOOK_NS};
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail("cannot be opened", path);
  long left = -1;
  for (int i = 0; i < EVICT_TRIES && left != 0; i++) {
    if (i > 0) nanosleep(&pause, NULL);
    fsync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    left = pages_cached(fd);
  }
  close(fd);
  if (left == 0) return 0;
  fprintf(stderr, "in_group: %s: %ld pages stay in the page cache (on tmpfs, or mapped by another process?)\n", path, left);
  return 1;
}

/* ---- run ---- */

/* Copies a file of /proc or of the group; one that is not there is left out. */
static void copy_text(const char *from, const char *folder, const char *name)
{
  char to[4096], text[4096];
  if (snprintf(to, sizeof to, "%s/%s", folder, name) >= (int)sizeof to) return;
  FILE *in = fopen(from, "r"), *out = in ? fopen(to, "w") : NULL;
  for (size_t n; out && (n = fread(text, 1, sizeof text, in)) > 0;) fwrite(text, 1, n, out);
  if (out) fclose(out);
  if (in) fclose(in);
}

static void copy_at_exit(const struct request *r, pid_t child)
{
  char path[4096];
  snprintf(path, sizeof path, "/proc/%d/status", (int)child);
  copy_text(path, r->report, "exit.status");
  snprintf(path, sizeof path, "/proc/%d/io", (int)child);
  copy_text(path, r->report, "exit.io");
  if (!r->group) return;
  if (snprintf(path, sizeof path, "%s/memory.stat", r->group) < (int)sizeof path) copy_text(path, r->report, "exit.stat");
  if (snprintf(path, sizeof path, "%s/memory.swap.current", r->group) < (int)sizeof path)
    copy_text(path, r->report, "exit.swap");
}

/* The group's swap now: v2 has a file of it, v1 a line in memory.stat. */
static uint64_t group_swap(const char *group)
{
  char path[4096], line[256];
  unsigned long long bytes = 0;
  snprintf(path, sizeof path, "%s/memory.swap.current", group);
  FILE *file = fopen(path, "r");
  if (file) {
    if (fscanf(file, "%llu", &bytes) != 1) bytes = 0;
    fclose(file);
    return bytes;
  }
  snprintf(path, sizeof path, "%s/memory.stat", group);
  if (!(file = fopen(path, "r"))) return 0;
  while (fgets(line, sizeof line, file))
    if (sscanf(line, "swap %llu", &bytes) == 1) break;
  fclose(file);
  return bytes;
}

static void join_and_become(const struct request *r, int gate)
{
  char byte;
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  if (read(gate, &byte, 1) != 0) _exit(NOT_JOINED);
  for (int i = 0; i < r->n_joins; i++) {
    int fd = open(r->joins[i], O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "0", 1) != 1) _exit(fail("cannot be joined", r->joins[i]) ? NOT_JOINED : 0);
    close(fd);
  }
  execv(r->command[0], r->command);
  _exit(fail("cannot be run", r->command[0]) ? NOT_RUN : 0);
}

/* Lets a stopped child go on; at its exit, looks at what it has. */
static void resume(const struct request *r, pid_t child, int status)
{
  int signal = WSTOPSIG(status), event = status >> 16;
  if (event == PTRACE_EVENT_EXIT) copy_at_exit(r, child);
  ptrace(PTRACE_CONT, child, NULL, (void *)(intptr_t)(event ? 0 : signal));
}

static void write_report(const struct request *r, const char *outcome, double elapsed_ms, const struct rusage *usage,
                         uint64_t swap_seen)
{
  char path[4096];
  snprintf(path, sizeof path, "%s/outcome", r->report);
  FILE *file = fopen(path, "w");
  if (file) {
    fprintf(file, "%s\n", outcome);
    fclose(file);
  }
  snprintf(path, sizeof path, "%s/usage", r->report);
  if (!(file = fopen(path, "w"))) return;
  fprintf(file, "elapsed_ms %.3f\nmajor_faults %ld\nblock_reads %ld\nswap_seen_bytes %llu\n", elapsed_ms, usage->ru_majflt,
          usage->ru_inblock, (unsigned long long)swap_seen);
  fclose(file);
}

static int run(const struct request *r)
{
  struct timespec look = {0, LOOK_NS};
  struct rusage usage;
  sigset_t child_signal;
  uint64_t swap_seen = 0;
  int gate[2], status;
  bool late = false;
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* and with this process goes the child: PTRACE_O_EXITKILL */
  sigemptyset(&child_signal);
  sigaddset(&child_signal, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child_signal, NULL);
  if (pipe2(gate, O_CLOEXEC) != 0) return fail("cannot be made", "a pipe");
  pid_t child = fork();
  if (child < 0) return fail("cannot be made", "a process");
  if (child == 0) {
    close(gate[1]);
    join_and_become(r, gate[0]);
  }
  close(gate[0]);
  /* Where tracing is forbidden, only what outlives the process is reported. */
  ptrace(PTRACE_SEIZE, child, NULL, (void *)(intptr_t)(PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL));
  double start_ms = now_ms();
  close(gate[1]);
  for (;;) {
    pid_t who = wait4(child, &status, WNOHANG, &usage);
    if (who < 0) return fail("cannot be waited for", r->command[0]);
    if (who == child && !WIFSTOPPED(status)) break;
    if (who == child) {
      resume(r, child, status);
      continue;
    }
    if (r->group) {
      uint64_t bytes = group_swap(r->group);
      if (bytes > swap_seen) swap_seen = bytes;
    }
    if (!late && r->timeout_s > 0 && now_ms() - start_ms > r->timeout_s * 1e3) {
      late = true;
      kill(child, SIGKILL);
    }
    sigtimedwait(&child_signal, NULL, &look);
  }
  double elapsed_ms = now_ms() - start_ms;
  char outcome[32];
  if (late) snprintf(outcome, sizeof outcome, "timeout");
  else if (WIFSIGNALED(status)) snprintf(outcome, sizeof outcome, "signal %d", WTERMSIG(status));
  else snprintf(outcome, sizeof outcome, "exit %d", WEXITSTATUS(status));
  write_report(r, outcome, elapsed_ms, &usage, swap_seen);
  return WIFEXITED(status) && (WEXITSTATUS(status) == NOT_JOINED || WEXITSTATUS(status) == NOT_RUN) ? 1 : 0;
}

static int misuse(void)
{
  fputs("usage: in_group evict FILE...\n"
        "       in_group run [--join PROCS]... [--group FOLDER] [--timeout SECONDS] --report FOLDER -- PROGRAM ARGUMENT...\n",
        stderr);
  return 2;
}

int main(int argc, char **argv)
{
  struct request r = {0};
  if (argc > 2 && strcmp(argv[1], "evict") == 0) {
    int failed = 0;
    for (int i = 2; i < argc; i++) failed |= evict(argv[i]);
    return failed;
  }
  if (argc < 2 || strcmp(argv[1], "run") != 0) return misuse();
  int i = 2;
  for (; i + 1 < argc && strcmp(argv[i], "--") != 0; i += 2) {
    if (strcmp(argv[i], "--join") == 0 && r.n_joins < MAX_JOINS) r.joins[r.n_joins++] = argv[i + 1];
    else if (strcmp(argv[i], "--group") == 0) r.group = argv[i + 1];
    else if (strcmp(argv[i], "--timeout") == 0) r.timeout_s = strtod(argv[i + 1], NULL);
    else if (strcmp(argv[i], "--report") == 0) r.report = argv[i + 1];
    else return misuse();
  }
  if (!r.report || i + 1 >= argc) return misuse();
  r.command = argv + i + 1;
  return run(&r);
}
