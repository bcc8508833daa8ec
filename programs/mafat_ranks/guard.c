/* Forks the working process of a rank and reports how it ended. Called by mafat_ranks.c before MPI
 * is initialized, and by mpi_link.c and mpi_watch.c for time limits and names of hosts. Sets signal
 * handlers and a timer; prints to standard error. */
#include "programs/mafat_ranks/guard.h"

#include "programs/run_inference/session.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static char host[64], late[200], orphaned[200];
static pid_t guard, child;
static volatile sig_atomic_t asked_to_end, seconds_left;

/* Reads the rank from the variables that the launchers set. */
int mafat_guard_rank(void)
{
  static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK",
                                      "SLURM_PROCID"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (getenv(names[i])) return atoi(getenv(names[i]));
  return 0;
}

const char *mafat_guard_host(void)
{
  if (!host[0] && gethostname(host, sizeof host - 1)) strcpy(host, "unknown");
  return host;
}

/* Prints a line and ends the process. Safe in signal handlers. */
static void say_and_end(const char *line)
{
  ssize_t written = write(STDERR_FILENO, line, strlen(line));
  (void)written;
  _exit(EXIT_RUNNING);
}

/* ---- the parent, which waits ---- */

static void pass_on(int number)
{
  asked_to_end = 1;
  kill(child, number);
}

static void complain(const char *how, int number)
{
  char text[200];
  snprintf(text, sizeof text, "rank %d (%s): %s %d (%s)", mafat_guard_rank(), mafat_guard_host(),
           how, number, strsignal(number));
  mafat_session_complain(text);
}

static _Noreturn void wait_for_child(void)
{
  static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
  struct sigaction action = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
  int status;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    sigaction(numbers[i], &action, NULL);
  while (waitpid(child, &status, 0) != child) continue;
  if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
  if (!asked_to_end) complain("ended by signal", WTERMSIG(status));
  _exit(EXIT_RUNNING);
}

/* ---- the child, which works ---- */

static void hang_up(int number)
{
  (void)number;
  if (getppid() != guard) say_and_end(orphaned);
  _exit(EXIT_RUNNING);
}

/* Handler of a timer, once a second. The time while the process is stopped (SIGSTOP) counts as one
 * second at most. */
static void be_late(int number)
{
  (void)number;
  if (--seconds_left <= 0) say_and_end(late);
}

static void watch_guard(void)
{
  snprintf(orphaned, sizeof orphaned,
           "mafat_ranks: rank %d (%s): ended by the loss of the process that mpirun started\n",
           mafat_guard_rank(), mafat_guard_host());
  signal(SIGHUP, hang_up);
  prctl(PR_SET_PDEATHSIG, SIGHUP);
  if (getppid() != guard) say_and_end(orphaned);
}

void mafat_guard_begin(void)
{
  mafat_guard_host();
  guard = getpid();
  child = fork();
  if (child > 0) wait_for_child();
  if (child == 0) watch_guard();
  else guard = 0; /* cannot fork: this process works without a guard */
}

void mafat_guard_limit(double seconds, const char *text)
{
  snprintf(late, sizeof late, "mafat_ranks: rank %d (%s): %s\n", mafat_guard_rank(),
           mafat_guard_host(), text);
  const struct itimerval tick = {{1, 0}, {1, 0}}, none = {{0, 0}, {0, 0}};
  const struct sigaction action = {.sa_handler = be_late, .sa_flags = SA_RESTART};
  setitimer(ITIMER_REAL, &none, NULL);
  seconds_left = (sig_atomic_t)ceil(seconds);
  sigaction(SIGALRM, &action, NULL);
  if (seconds > 0) setitimer(ITIMER_REAL, &tick, NULL);
}

void mafat_guard_end(void)
{
  if (guard) kill(guard, SIGCONT);
}
