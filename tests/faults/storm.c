/* Preloaded library: sends the process SIGALRM every 0.5 ms, with a handler that does nothing,
 * so that waiting system calls keep failing with EINTR. Only this process has the timer: its
 * children, and programs that it executes, do not. Used by tests/faults/kills.py. */
#include <signal.h>
#include <stddef.h>
#include <time.h>

static void do_nothing(int number)
{
  (void)number;
}

__attribute__((constructor)) static void begin(void)
{
  struct sigaction action = {.sa_handler = do_nothing}; /* no SA_RESTART */
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
  const struct itimerspec every = {{0, 500000}, {0, 500000}};
  timer_t timer;
  sigaction(SIGALRM, &action, NULL);
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0) timer_settime(timer, 0, &every, NULL);
}
