/* Implements the team of threads that compute a step together. Called by executor.c, and by files
 * of runner/engine/kinds, which take units of work. Creates threads with all signals blocked, sets
 * their processor affinity, and sleeps on a condition variable and a futex. Opening allocates,
 * closing frees. */
#include "runner/engine/team.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Number of times that a thread polls before it sleeps. */
enum {
  /* If there are enough processors, the awaited event (the next step, or another worker's last
   * unit) usually occurs within a millisecond. Waking a thread would take a tenth of that. */
  SPINS = 50000,
  /* If there are fewer processors than workers, polling takes time from the awaited thread. */
  SPINS_CROWDED = 50
};

enum {
  CLOSED = 1 << 30 /* flag in `inside`: no thread may join */
};

/* Counter of one worker. Counters are on separate cache lines, because each worker writes its own
 * all the time. */
struct counter {
  atomic_int taken; /* units taken of the worker's share */
  char apart[124];
};

struct member {
  struct mafat_team *team;
  int worker, cpu; /* cpu: processor to which the thread is bound; -1: none */
  pthread_t thread;
};

struct mafat_team {
  int n_workers, n_started;
  bool crowded;             /* fewer processors than workers */
  bool bound;               /* each worker has its own processor */
  pid_t process;            /* process that created the threads; a child of fork() does not have
                               them */
  cpu_set_t caller_cpu, before; /* processor left for the caller; the caller's affinity before */
  void (*work)(void *context, int worker);
  void *context;
  struct counter counters[MAFAT_TEAM_MOST]; /* [worker] */
  atomic_int inside;        /* threads that joined the call, and the flag CLOSED */
  atomic_bool awaited;      /* the caller sleeps until the threads that joined have left */
  atomic_uint calls;        /* number of calls of mafat_team_run */
  atomic_int sleeping;      /* threads that wait for a call */
  atomic_bool quit;
  pthread_mutex_t mutex;    /* mutex of the condition variables */
  pthread_cond_t wake;
  struct member *members;   /* [n_workers - 1] */
};

static inline void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || (defined(__arm__) && __ARM_ARCH >= 7)
  __asm__ volatile("yield");
#endif
}

static void forget_units(struct mafat_team *t)
{
  for (int w = 0; w < t->n_workers; w++)
    atomic_store_explicit(&t->counters[w].taken, 0, memory_order_relaxed);
}

static void leave(struct mafat_team *t)
{
  atomic_fetch_sub(&t->inside, 1);
  if (atomic_load(&t->awaited))
    syscall(SYS_futex, &t->inside, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Joins the current call. False: the call is over, and the thread must not work. */
static bool join(struct mafat_team *t)
{
  if (!(atomic_fetch_add(&t->inside, 1) & CLOSED)) return true;
  leave(t);
  return false;
}

/* Closes the call and waits for the threads that joined. */
static void finish_call(struct mafat_team *t)
{
  atomic_fetch_or(&t->inside, CLOSED);
  for (int i = 0; i < (t->crowded ? SPINS_CROWDED : SPINS); i++) {
    if (atomic_load(&t->inside) == CLOSED) return;
    pause_briefly();
  }
  atomic_store(&t->awaited, true);
  for (int seen; (seen = atomic_load(&t->inside)) != CLOSED;)
    syscall(SYS_futex, &t->inside, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
  atomic_store(&t->awaited, false);
}

static int share_begin(const struct mafat_team *t, int worker, int n)
{
  return (int)((long long)n * worker / t->n_workers);
}

/* Takes the next part of worker w's share. The share has m units; the last is divided into `parts`.
 * Returns the part's number in the share; -1: none is left. */
static int take_of_share(struct mafat_team *t, int w, int m, int parts)
{
  int n = m > 0 ? m - 1 + parts : 0;
  atomic_int *taken = &t->counters[w].taken;
  if (atomic_load_explicit(taken, memory_order_relaxed) >= n) return -1;
  int next = atomic_fetch_add_explicit(taken, 1, memory_order_relaxed);
  return next < n ? next : -1;
}

bool mafat_team_take_part(struct mafat_team *t, int worker, int n, int parts,
                          struct mafat_team_part *taken)
{
  if (t->n_workers == 1) parts = 1;
  for (int i = 0; i < t->n_workers; i++) {
    int w = (worker + i) % t->n_workers, begin = share_begin(t, w, n),
        m = share_begin(t, w + 1, n) - begin;
    int next = take_of_share(t, w, m, parts);
    if (next < 0) continue;
    *taken = next < m - 1 ? (struct mafat_team_part){begin + next, 0, 1}
                          : (struct mafat_team_part){begin + m - 1, next - (m - 1), parts};
    return true;
  }
  return false;
}

int mafat_team_take(struct mafat_team *t, int worker, int n)
{
  struct mafat_team_part taken;
  return mafat_team_take_part(t, worker, n, 1, &taken) ? taken.unit : -1;
}

/* Waits until there were more than `seen` calls of mafat_team_run: polls, then sleeps. */
static void await_call(struct mafat_team *t, unsigned seen)
{
  for (int i = 0; i < (t->crowded ? SPINS_CROWDED : SPINS); i++) {
    if (atomic_load_explicit(&t->calls, memory_order_acquire) != seen) return;
    pause_briefly();
  }
  pthread_mutex_lock(&t->mutex);
  atomic_fetch_add(&t->sleeping, 1);
  while (atomic_load(&t->calls) == seen) pthread_cond_wait(&t->wake, &t->mutex);
  atomic_fetch_sub(&t->sleeping, 1);
  pthread_mutex_unlock(&t->mutex);
}

/* Binds the calling thread to a processor. Threads bind themselves, because a seccomp filter may
 * forbid binding another thread. */
static void bind_here(int cpu)
{
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one); /* failure only costs speed */
}

/* Main function of a thread. */
static void *live(void *argument)
{
  struct member *m = argument;
  struct mafat_team *t = m->team;
  if (m->cpu >= 0) bind_here(m->cpu);
  for (unsigned seen = 0;;) {
    await_call(t, seen);
    seen = atomic_load(&t->calls);
    if (atomic_load(&t->quit)) return NULL;
    if (!join(t)) continue;
    t->work(t->context, m->worker);
    leave(t);
  }
}

/* Starts a call: wakes the threads. */
static void call(struct mafat_team *t)
{
  atomic_fetch_add(&t->calls, 1);
  if (atomic_load(&t->sleeping) == 0) return;
  pthread_mutex_lock(&t->mutex);
  pthread_cond_broadcast(&t->wake);
  pthread_mutex_unlock(&t->mutex);
}

void mafat_team_run(struct mafat_team *t, void (*work)(void *context, int worker), void *context)
{
  forget_units(t);
  if (t->n_workers == 1) {
    work(context, 0);
    return;
  }
  t->work = work;
  t->context = context;
  atomic_fetch_and(&t->inside, ~CLOSED);
  call(t);
  work(context, 0);
  finish_call(t);
}

void mafat_team_gather(struct mafat_team *t)
{
  if (t->bound && sched_getaffinity(0, sizeof t->before, &t->before) == 0)
    sched_setaffinity(0, sizeof t->caller_cpu, &t->caller_cpu);
}

void mafat_team_disperse(struct mafat_team *t)
{
  if (t->bound) sched_setaffinity(0, sizeof t->before, &t->before);
}

int mafat_team_size(const struct mafat_team *t)
{
  return t->n_workers;
}

bool mafat_team_is_here(const struct mafat_team *t)
{
  return t->n_started == 0 || t->process == getpid();
}

/* If there are exactly as many processors as workers, chooses one for each worker, because some
 * kernels schedule two threads that wait for each other on one processor. The caller's thread is
 * bound only between mafat_team_gather and mafat_team_disperse. */
static void choose_processors(struct mafat_team *t)
{
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) != t->n_workers)
    return;
  int cpu = 0;
  while (!CPU_ISSET(cpu, &allowed)) cpu++; /* the first is the caller's */
  CPU_ZERO(&t->caller_cpu);
  CPU_SET(cpu, &t->caller_cpu);
  t->bound = t->n_workers > 1;
  for (int i = 0; i < t->n_workers - 1; i++) {
    do cpu++;
    while (!CPU_ISSET(cpu, &allowed));
    t->members[i].cpu = cpu;
  }
}

/* Returns 0 or an error number. Signals are blocked in the new threads, because their stacks may be
 * too small for the program's signal handlers. */
static int start_threads(struct mafat_team *t)
{
  pthread_attr_t attributes;
  sigset_t all, before;
  int refused = pthread_attr_init(&attributes);
  if (refused) return refused;
  refused = pthread_attr_setstacksize(&attributes, MAFAT_TEAM_STACK_BYTES);
  sigfillset(&all);
  for (int i = 0; i < t->n_workers - 1; i++)
    t->members[i] = (struct member){.team = t, .worker = i + 1, .cpu = -1};
  choose_processors(t);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (int i = 0; i < t->n_workers - 1 && !refused; i++) {
    refused = pthread_create(&t->members[i].thread, &attributes, live, &t->members[i]);
    if (!refused) t->n_started++;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  return refused;
}

int mafat_team_open(struct mafat_team **out, int n_workers, struct mafat_diagnostic *d)
{
  *out = NULL;
  struct mafat_team *t = calloc(1, sizeof *t);
  if (!t) return mafat_fail(d, MAFAT_ENOMEM, "threads: out of memory");
  t->n_workers = n_workers;
  t->process = getpid();
  atomic_init(&t->inside, CLOSED);
  cpu_set_t allowed;
  t->crowded =
      sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) < n_workers;
  pthread_mutex_init(&t->mutex, NULL);
  pthread_cond_init(&t->wake, NULL);
  t->members = calloc((size_t)n_workers, sizeof *t->members);
  int refused = t->members ? start_threads(t) : 0;
  if (!t->members || refused) {
    mafat_team_close(&t);
    return mafat_fail(d, MAFAT_ENOMEM, "cannot start %d threads: %s", n_workers,
                      refused ? strerror(refused) : "out of memory");
  }
  *out = t;
  return MAFAT_OK;
}

void mafat_team_close(struct mafat_team **team)
{
  if (!team || !*team) return;
  struct mafat_team *t = *team;
  if (mafat_team_is_here(t)) {
    atomic_store(&t->quit, true);
    if (t->n_started) call(t);
    for (int i = 0; i < t->n_started; i++) pthread_join(t->members[i].thread, NULL);
    pthread_cond_destroy(&t->wake);
    pthread_mutex_destroy(&t->mutex);
  }
  free(t->members);
  free(t);
  *team = NULL;
}
