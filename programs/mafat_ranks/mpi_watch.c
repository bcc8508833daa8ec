/* Implements the watch thread, which keeps messages moving and detects lost ranks (mpi_watch.h).
 * Called by mpi_link.c. Starts the thread and allocates its state, which mafat_mpi_watch_close
 * frees; sends messages to the next rank; ends all ranks if one is lost. */
#include "programs/mafat_ranks/mpi_watch.h"

#include "programs/mafat_ranks/guard.h"
#include "programs/run_inference/session.h"

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HOST = 64 };

struct mafat_mpi_watch {
  MPI_Comm comm; /* only for the messages of this thread */
  int rank, n_ranks, before, after; /* before, after: neighbours in the ring */
  char host[HOST]; /* host of rank `before` */
  /* too_long_ms: timeout, 0: none; beat_ms: interval between messages to the next rank */
  double too_long_ms, beat_ms;
  clockid_t work; /* clock of the CPU time of the thread that opened the watch */
  pthread_t thread;
  /* done: the thread has to end; rests: the watched thread waits for other ranks */
  atomic_bool done, rests;
};

/* In milliseconds. silent_ms: time since the previous rank was heard; stuck_ms: time in which the
 * watched thread made no progress. Neither counts time in which this process was stopped (SIGSTOP).
 * last_ms: clock at the last judge(); beaten_ms: clock at the last beat(); worked_ms: CPU time of
 * the watched thread at the last judge(). */
struct waiting {
  double silent_ms, stuck_ms, last_ms, beaten_ms, worked_ms;
};

enum { BEAT, GOODBYE };

static double clock_ms(clockid_t clock)
{
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void end_all(struct mafat_mpi_watch *w, int rank, const char *host, const char *what)
{
  char text[200];
  snprintf(text, sizeof text, "rank %d (%s): %s for %g s", rank, host, what, w->too_long_ms * 1e-3);
  mafat_session_complain(text);
  mafat_guard_limit(5, "MPI does not end");
  MPI_Abort(MPI_COMM_WORLD, EXIT_RUNNING);
}

/* Receives all pending messages of the previous rank; sets *heard if there were any. Returns true
 * if the last one was a goodbye. The calls also let MPI make progress with messages of other
 * threads. */
static bool hear(const struct mafat_mpi_watch *w, bool *heard)
{
  int there = 1, what = BEAT;
  *heard = false;
  while (what == BEAT) {
    MPI_Iprobe(w->before, MPI_ANY_TAG, w->comm, &there, MPI_STATUS_IGNORE);
    if (!there) return false;
    MPI_Recv(&what, 1, MPI_INT, w->before, 0, w->comm, MPI_STATUS_IGNORE);
    *heard = true;
  }
  return true;
}

/* Sends a message to the next rank, unless the previous one is still pending. */
static void beat(const struct mafat_mpi_watch *w, const int *what, MPI_Request *request)
{
  int sent;
  MPI_Test(request, &sent, MPI_STATUS_IGNORE);
  if (sent) MPI_Isend(what, 1, MPI_INT, w->after, 0, w->comm, request);
}

static void judge(struct mafat_mpi_watch *w, struct waiting *t, bool heard)
{
  const double most_ms = 50; /* a turn of the loop takes less, unless the process was stopped */
  double now = clock_ms(CLOCK_MONOTONIC), worked = clock_ms(w->work), passed = now - t->last_ms;
  if (passed > most_ms) passed = most_ms;
  t->silent_ms = heard ? 0 : t->silent_ms + passed;
  t->stuck_ms = worked > t->worked_ms || atomic_load(&w->rests) ? 0 : t->stuck_ms + passed;
  t->last_ms = now;
  t->worked_ms = worked;
  if (w->too_long_ms <= 0) return;
  if (t->silent_ms > w->too_long_ms) end_all(w, w->before, w->host, "was not heard of");
  if (t->stuck_ms > w->too_long_ms) end_all(w, w->rank, mafat_guard_host(), "did not get on");
}

static void *run(void *context)
{
  struct mafat_mpi_watch *w = context;
  const struct timespec pause = {0, 100000};
  const int goodbye = GOODBYE, here = BEAT;
  struct waiting t = {.last_ms = clock_ms(CLOCK_MONOTONIC)};
  MPI_Request request = MPI_REQUEST_NULL;
  bool heard, last = false;
  while (!atomic_load(&w->done)) {
    if (!last) last = hear(w, &heard);
    judge(w, &t, heard || last);
    if (t.last_ms - t.beaten_ms >= w->beat_ms) {
      beat(w, &here, &request);
      t.beaten_ms = t.last_ms;
    }
    nanosleep(&pause, NULL);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Isend(&goodbye, 1, MPI_INT, w->after, 0, w->comm, &request);
  while (!last && !(last = hear(w, &heard))) nanosleep(&pause, NULL);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return NULL;
}

struct mafat_mpi_watch *mafat_mpi_watch_open(double seconds)
{
  struct mafat_mpi_watch *w = calloc(1, sizeof *w);
  char host[HOST] = "";
  if (!w) return NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &w->comm);
  MPI_Comm_rank(w->comm, &w->rank);
  MPI_Comm_size(w->comm, &w->n_ranks);
  w->before = (w->rank + w->n_ranks - 1) % w->n_ranks;
  w->after = (w->rank + 1) % w->n_ranks;
  strcpy(host, mafat_guard_host());
  MPI_Sendrecv(host, HOST, MPI_CHAR, w->after, 0, w->host, HOST, MPI_CHAR, w->before, 0, w->comm,
               MPI_STATUS_IGNORE);
  w->too_long_ms = seconds * 1e3;
  w->beat_ms = seconds > 0 && seconds < 4 ? seconds * 250 : 1000;
  if (pthread_getcpuclockid(pthread_self(), &w->work) == 0 &&
      pthread_create(&w->thread, NULL, run, w) == 0)
    return w;
  free(w);
  return NULL;
}

void mafat_mpi_watch_close(struct mafat_mpi_watch **watch)
{
  struct mafat_mpi_watch *w = *watch;
  if (!w) return;
  atomic_store(&w->done, true);
  pthread_join(w->thread, NULL);
  MPI_Comm_free(&w->comm);
  free(w);
  *watch = NULL;
}

void mafat_mpi_watch_rests(struct mafat_mpi_watch *w, bool rests)
{
  if (w) atomic_store(&w->rests, rests);
}
