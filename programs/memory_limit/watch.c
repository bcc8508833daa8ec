/* Starts the command, samples it, and reads its counters when it ends. Called by memory_limit.c and
 * report.c. Forks, traces and signals processes; sets the signal mask. */
#include "programs/memory_limit/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

const char *outcome_name(enum limit_outcome outcome)
{
  static const char *const names[] = {"exit", "oom", "timeout", "signal", "interrupted"};
  return names[outcome];
}

/* The kernel sends this signal when the parent's thread that forked us ends, even if the parent
 * lives on. SIGTERM would not do, since it may be ignored. */
#define PARENT_ENDED SIGRTMIN

void signals_block(struct signals *s, pid_t parent)
{
  sigemptyset(&s->watched);
  const int ends[] = {SIGINT, SIGTERM, SIGHUP};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    struct sigaction action;
    /* Signals ignored by nohup or a shell's & stay ignored. */
    if (sigaction(ends[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
      sigaddset(&s->watched, ends[i]);
  }
  signal(SIGCHLD, SIG_DFL);
  sigaddset(&s->watched, SIGCHLD);
  sigaddset(&s->watched, PARENT_ENDED);
  sigset_t blocked = s->watched;
  sigaddset(&blocked, SIGPIPE);
  sigaddset(&blocked, SIGXFSZ);
  sigprocmask(SIG_BLOCK, &blocked, &s->before);
  s->parent = parent;
  prctl(PR_SET_PDEATHSIG, PARENT_ENDED);
  if (getppid() != parent) raise(PARENT_ENDED); /* the parent died before the prctl */
}

static int64_t now_ns(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- the child ---- */

struct child {
  pid_t pid;
  int gate;    /* pipe: one byte starts the command; if closed without it, the child exits */
  int failure; /* pipe: errno of a failed exec; empty if the exec succeeded */
};

/* Makes the process stop at its exit, so that its last counters can be read. False: forbidden, or
 * traced already. */
static bool trace(pid_t pid)
{
  return ptrace(PTRACE_SEIZE, pid, NULL,
                (void *)(intptr_t)(PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL)) == 0;
}

static void become_command(const struct limit_options *o, const char *path, const struct signals *s,
                           int gate, int failure)
{
  char byte;
  ssize_t n;
  sigprocmask(SIG_SETMASK, &s->before, NULL);
  while ((n = read(gate, &byte, 1)) < 0 && errno == EINTR) continue;
  if (n == 1) execv(path, o->command);
  int error = n == 0 ? ECANCELED : errno; /* 0: closed without a byte */
  if (write(failure, &error, sizeof error) < 0) _exit(126);
  _exit(127);
}

static bool start_child(struct child *c, const struct limit_options *o, const char *path,
                        const struct signals *s, struct why *why)
{
  int gate[2], failure[2];
  /* `failure` is read without blocking after the child has ended: all it wrote is there, and
   * another process may still hold the pipe open. */
  if (pipe2(gate, O_CLOEXEC) != 0 || pipe2(failure, O_CLOEXEC | O_NONBLOCK) != 0)
    return why_not(why, "a pipe cannot be made: %s", strerror(errno));
  c->pid = fork();
  if (c->pid < 0) return why_not(why, "a process cannot be made: %s", strerror(errno));
  if (c->pid == 0) {
    close(gate[1]);
    become_command(o, path, s, gate[0], failure[1]);
  }
  close(gate[0]);
  close(failure[1]);
  c->gate = gate[1];
  c->failure = failure[0];
  trace(c->pid);
  return true;
}

/* Kills the child and reaps it. A traced child stops once more at its exit. */
static void abandon(struct child *c)
{
  int status;
  close(c->gate);
  close(c->failure);
  kill(c->pid, SIGKILL);
  for (;;) {
    pid_t who = waitpid(c->pid, &status, __WALL);
    if (who < 0 && errno != EINTR) return;
    if (who == c->pid && !WIFSTOPPED(status)) return;
    if (who == c->pid) ptrace(PTRACE_CONT, c->pid, NULL, NULL);
  }
}

/* ---- samples ---- */

struct sampler {
  const struct limit_group *group;
  struct counters_system system;
  FILE *timeline;
  int64_t start_ns;
  bool over; /* the main thread has exited: later samples mostly show the process being torn
                down */
};

static void put_bytes(FILE *file, int64_t bytes)
{
  if (bytes == NOT_COUNTED) fputc(',', file);
  else fprintf(file, ",%" PRId64, bytes);
}

static void rise(int64_t *peak, int64_t value)
{
  if (value > *peak) *peak = value;
}

static void sample(struct limit_watch *w, struct sampler *s, pid_t pid, struct group_memory *memory)
{
  int64_t at_ns = now_ns() - s->start_ns;
  counters_memory(s->group, memory);
  struct system_swap system = counters_system_read(&s->system, 0);
  rise(&w->anon_peak_bytes, memory->anon_bytes);
  rise(&w->cache_peak_bytes, memory->cache_bytes);
  rise(&w->swap_peak_bytes, memory->swap_bytes);
  w->n_samples++;
  if (!s->timeline) return;
  fprintf(s->timeline, "%.3f", (double)at_ns * 1e-6);
  put_bytes(s->timeline, memory->usage_bytes);
  put_bytes(s->timeline, memory->anon_bytes);
  put_bytes(s->timeline, memory->cache_bytes);
  put_bytes(s->timeline, memory->swap_bytes);
  put_bytes(s->timeline, counters_resident(pid));
  put_bytes(s->timeline, system.in_bytes);
  put_bytes(s->timeline, system.out_bytes);
  fputc('\n', s->timeline);
}

static void begin_timeline(const struct sampler *s)
{
  if (!s->timeline) return;
  fprintf(s->timeline, "# start_ns %" PRId64 "\n", s->start_ns);
  fputs("ms,usage_bytes,anon_bytes,cache_bytes,swap_bytes,resident_bytes,system_swap_in_bytes,"
        "system_swap_out_bytes\n",
        s->timeline);
}

/* ---- waiting ---- */

/* Continues a stopped command; at its exit, first reads its counters. */
static void resume(struct limit_watch *w, struct sampler *s, pid_t pid, int status)
{
  int signal = WSTOPSIG(status), event = status >> 16;
  if (event == PTRACE_EVENT_EXIT) {
    sample(w, s, pid, &w->at_exit);
    counters_process(pid, &w->process);
    s->over = true;
  }
  /* Stopped by a signal such as that of Ctrl-Z: stays stopped until SIGCONT. */
  if (event == PTRACE_EVENT_STOP && signal != SIGTRAP) ptrace(PTRACE_LISTEN, pid, NULL, NULL);
  else ptrace(PTRACE_CONT, pid, NULL, (void *)(intptr_t)(event ? 0 : signal));
}

/* Waits for a signal until `until_ns`. Returns the signal; 0: none came. */
static int wait_for_signal(const struct signals *signals, int64_t until_ns)
{
  int64_t left_ns = until_ns - now_ns();
  if (left_ns < 0) left_ns = 0;
  struct timespec left = {left_ns / 1000000000, left_ns % 1000000000};
  int signal = sigtimedwait(&signals->watched, NULL, &left);
  /* getppid() is 0 for a parent in another PID namespace. */
  if (signal == PARENT_ENDED)
    return signals->parent != 0 && getppid() == signals->parent ? SIGCHLD : SIGTERM;
  return signal > 0 ? signal : 0;
}

static void interrupt(struct limit_watch *w, int signal)
{
  w->outcome = OUTCOME_INTERRUPTED;
  w->interrupted_by = signal;
}

static void forget_exit(struct limit_watch *w)
{
  memset(&w->at_exit, -1, sizeof w->at_exit); /* NOT_COUNTED */
  memset(&w->process, -1, sizeof w->process);
}

/* Takes a sample. After the exit of the main thread, keeps the counters at exit
 * up to date while other threads run. */
static void look(struct limit_watch *w, struct sampler *s, pid_t pid)
{
  struct group_memory memory;
  if (s->over && trace(pid)) { /* another thread has called exec and got this PID */
    s->over = false;
    forget_exit(w);
  }
  if (!s->over) {
    sample(w, s, pid, &memory);
  } else if (counters_resident(pid) > 0) { /* other threads run on */
    sample(w, s, pid, &memory);
    if (counters_resident(pid) > 0) w->at_exit = memory;
  }
}

/* Kills the group and the command, which may have moved itself to another group. */
static void kill_all(const struct limit_group *g, pid_t pid)
{
  kill(pid, SIGKILL);
  group_kill(g);
}

/* Reaps ended orphans of the command, which are our children. */
static void reap_others(pid_t pid)
{
  for (;;) {
    siginfo_t one = {0};
    if (waitid(P_ALL, 0, &one, WEXITED | WNOHANG | WNOWAIT | __WALL) != 0 || one.si_pid == 0 ||
        one.si_pid == pid || waitpid(one.si_pid, NULL, WNOHANG | __WALL) <= 0)
      return;
  }
}

/* Samples, and handles signals and the timeout, until the command has ended. Returns its wait
 * status and resource usage. */
static void follow(struct limit_watch *w, struct sampler *s, const struct child *c,
                   const struct limit_options *o, const struct signals *signals, int *status,
                   struct rusage *usage)
{
  int64_t interval_ns = (int64_t)o->interval_ms * 1000000, next_ns = s->start_ns;
  int64_t late_ns = o->timeout_s > 0 ? s->start_ns + (int64_t)(o->timeout_s * 1e9) : INT64_MAX;
  bool killed = false;
  for (;;) {
    pid_t who = wait4(c->pid, status, WNOHANG | __WALL, usage);
    if (who < 0 && errno != EINTR) return;
    if (who == c->pid && !WIFSTOPPED(*status)) return;
    if (who == c->pid) {
      resume(w, s, c->pid, *status);
      continue;
    }
    int64_t at_ns = now_ns();
    if (at_ns >= late_ns && !killed) {
      w->outcome = OUTCOME_TIMEOUT;
      killed = true;
      kill_all(s->group, c->pid);
    }
    if (at_ns >= next_ns) {
      look(w, s, c->pid);
      next_ns += interval_ns;
      if (next_ns <= now_ns()) next_ns = now_ns() + interval_ns; /* skip missed samples */
    }
    int signal = wait_for_signal(signals, killed || next_ns < late_ns ? next_ns : late_ns);
    if (signal && signal != SIGCHLD && !killed) {
      interrupt(w, signal);
      killed = true;
    }
    reap_others(c->pid); /* also without SIGCHLD: one signal may stand for several ends */
    if (killed) kill_all(s->group, c->pid); /* again: processes may have forked */
  }
}

/* Reads pending signals: Ctrl-C signals the whole group and may have ended the command first. */
static void take_pending(struct limit_watch *w, const struct signals *signals)
{
  for (int signal; (signal = wait_for_signal(signals, 0)) != 0;)
    if (signal != SIGCHLD && w->outcome != OUTCOME_TIMEOUT) interrupt(w, signal);
}

static double ms_of(struct timeval t) { return (double)t.tv_sec * 1e3 + (double)t.tv_usec * 1e-3; }

/* Kills the processes that the command left running, before the counters are read. */
static void end_rest(const struct limit_group *g)
{
  struct timespec pause = {0, 2000000};
  char path[PATH_ROOM], pids[64];
  path_join(path, g->folder, "", "cgroup.procs");
  for (int i = 0; i < 1000 && (!file_read(path, pids, sizeof pids) || *pids); i++) {
    if (i > 0) nanosleep(&pause, NULL);
    group_kill(g);
    while (waitpid(-1, NULL, WNOHANG) > 0) continue;
  }
}

static void decide(struct limit_watch *w, int status, const struct rusage *usage)
{
  w->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  w->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  w->user_ms = ms_of(usage->ru_utime);
  w->system_ms = ms_of(usage->ru_stime);
  w->block_reads = usage->ru_inblock;
  if (w->outcome == OUTCOME_TIMEOUT || w->outcome == OUTCOME_INTERRUPTED) return;
  w->outcome = w->signal ? OUTCOME_SIGNAL : OUTCOME_EXIT;
  if (w->events.oom_kills > 0 && w->exit_status != 0) w->outcome = OUTCOME_OOM;
}

bool watch_run(struct limit_watch *w, const struct limit_group *g, const struct limit_options *o,
               const char *path, const struct signals *signals, FILE *timeline, struct why *why)
{
  struct child child = {0};
  struct sampler s = {.group = g, .timeline = timeline};
  struct rusage usage = {0};
  int status = 0, error = 0;
  *w = (struct limit_watch){.exit_status = -1,
                            .anon_peak_bytes = NOT_COUNTED,
                            .cache_peak_bytes = NOT_COUNTED,
                            .swap_peak_bytes = NOT_COUNTED};
  forget_exit(w);
  if (!start_child(&child, o, path, signals, why)) return false;
  if (!group_join(g, o, child.pid, why)) {
    abandon(&child);
    return false;
  }
  counters_system_open(&s.system);
  s.start_ns = now_ns();
  begin_timeline(&s);
  while (write(child.gate, "", 1) < 0 && errno == EINTR)
    continue; /* it may have been killed already */
  close(child.gate);
  follow(w, &s, &child, o, signals, &status, &usage);
  w->wall_ms = (double)(now_ns() - s.start_ns) * 1e-6;
  take_pending(w, signals);
  end_rest(g);
  w->system_swap = counters_system_read(&s.system, 1);
  counters_system_close(&s.system);
  counters_events(g, &w->events);
  rise(&w->swap_peak_bytes,
       g->place->version == 1 && w->system_swap.out_bytes == 0 ? 0 : w->events.swap_peak_bytes);
  decide(w, status, &usage);
  bool failed = read(child.failure, &error, sizeof error) == (ssize_t)sizeof error;
  close(child.failure);
  if (!failed || w->outcome == OUTCOME_INTERRUPTED || w->outcome == OUTCOME_TIMEOUT) return true;
  if (error == ENOMEM &&
      o->limit_bytes != NO_LIMIT) { /* a limit too small to start in is a result */
    w->outcome = OUTCOME_OOM;
    w->exit_status = -1;
    return true;
  }
  return why_not(why, "%s cannot be run: %s", path, strerror(error));
}
