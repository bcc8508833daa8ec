/* Reads with a helper thread and pread, if the kernel offers no asynchronous reads. Called by
 * runner/weights/reads.c through struct mafat_read_queue_how (reads_method.h). Starts one thread
 * for each read queue, with all signals blocked; closing ends it. */
#include "runner/weights/reads.h"
#include "runner/weights/reads_method.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

/* size of the thread's stack, of which it touches one or two pages */
enum { STACK_BYTES = 64 << 10 };

struct job {
  int fd;
  char *memory;
  size_t bytes;
  uint64_t offset;
  ssize_t result;
};

/* Circular queue of slots; it cannot overflow. */
struct queue {
  unsigned first, n;
  unsigned slots[MAFAT_READS_DEPTH];
};

struct thread_ring {
  pid_t process; /* process that started the thread; a child of fork() does not have it */
  pthread_t thread;
  pthread_mutex_t mutex; /* protects everything below */
  pthread_cond_t work, results;
  bool quit;
  struct queue asked, done; /* asked: slots to be read; done: slots whose read is done */
  struct job jobs[MAFAT_READS_DEPTH]; /* [slot] */
};

static void put(struct queue *q, unsigned slot)
{
  q->slots[(q->first + q->n++) % MAFAT_READS_DEPTH] = slot;
}

static unsigned get(struct queue *q)
{
  unsigned slot = q->slots[q->first];
  q->first = (q->first + 1) % MAFAT_READS_DEPTH;
  q->n--;
  return slot;
}

/* The thread's main function. */
static void *read_jobs(void *memory)
{
  struct thread_ring *r = memory;
  pthread_mutex_lock(&r->mutex);
  for (;;) {
    while (r->asked.n == 0 && !r->quit) pthread_cond_wait(&r->work, &r->mutex);
    if (r->asked.n == 0) break;
    unsigned slot = get(&r->asked);
    struct job *job = &r->jobs[slot];
    pthread_mutex_unlock(&r->mutex);
    job->result = pread(job->fd, job->memory, job->bytes, (off_t)job->offset);
    if (job->result < 0) job->result = -errno;
    pthread_mutex_lock(&r->mutex);
    put(&r->done, slot);
    pthread_cond_signal(&r->results);
  }
  pthread_mutex_unlock(&r->mutex);
  return NULL;
}

/* Blocks all signals in the new thread, because its stack may be too small for the program's signal
 * handlers. Returns 0 or an error number. */
static int start_thread(struct thread_ring *r)
{
  size_t least = (size_t)PTHREAD_STACK_MIN, stack = STACK_BYTES > least ? STACK_BYTES : least;
  pthread_attr_t attributes;
  int error = pthread_attr_init(&attributes);
  if (error) return error;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  error = pthread_attr_setstacksize(&attributes, stack);
  if (!error) error = pthread_create(&r->thread, &attributes, read_jobs, r);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  return error;
}

static void destroy(struct thread_ring *r)
{
  pthread_cond_destroy(&r->results);
  pthread_cond_destroy(&r->work);
  pthread_mutex_destroy(&r->mutex);
}

static int open_ring(void *memory)
{
  struct thread_ring *r = memory;
  r->process = getpid();
  pthread_mutex_init(&r->mutex, NULL);
  pthread_cond_init(&r->work, NULL);
  pthread_cond_init(&r->results, NULL);
  int error = start_thread(r);
  if (error) destroy(r);
  return error;
}

static void close_ring(void *memory)
{
  struct thread_ring *r = memory;
  if (r->process != getpid()) return;
  pthread_mutex_lock(&r->mutex);
  r->quit = true;
  pthread_cond_signal(&r->work);
  pthread_mutex_unlock(&r->mutex);
  pthread_join(r->thread, NULL);
  destroy(r);
}

static int start(void *memory, unsigned slot, int fd, void *to, size_t bytes, uint64_t offset)
{
  struct thread_ring *r = memory;
  pthread_mutex_lock(&r->mutex);
  r->jobs[slot] = (struct job){.fd = fd, .memory = to, .bytes = bytes, .offset = offset};
  put(&r->asked, slot);
  pthread_cond_signal(&r->work);
  pthread_mutex_unlock(&r->mutex);
  return 0;
}

static int next(void *memory, unsigned *slot, ssize_t *result)
{
  struct thread_ring *r = memory;
  pthread_mutex_lock(&r->mutex);
  while (r->done.n == 0) pthread_cond_wait(&r->results, &r->mutex);
  *slot = get(&r->done);
  *result = r->jobs[*slot].result;
  pthread_mutex_unlock(&r->mutex);
  return 0;
}

const struct mafat_read_queue_how mafat_read_queue_thread = {.name = "thread",
                                                             .ring_bytes =
                                                                 sizeof(struct thread_ring),
                                                             .open = open_ring,
                                                             .close = close_ring,
                                                             .start = start,
                                                             .next = next};
