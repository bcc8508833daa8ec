/* Passes jobs between the thread of connections and the thread that computes. Called by
 * connection.c, connection_pool.c, mafat_serve.c, server.c and work.c. Locks a mutex; opens an
 * eventfd; cancels the model's run. */
#include "programs/mafat_serve/job_queue.h"

#include "programs/run_inference/session.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Costs, in pixels to decode. JOB_COST: what every job costs besides decoding (the network and all
 * else). ORDINARY_COST: highest cost of an ordinary picture. */
enum { JOB_COST = 1 << 20, ORDINARY_COST = 2 << 20 };

bool mafat_job_queue_open(struct mafat_job_queue *job_queue)
{
  *job_queue = (struct mafat_job_queue){.wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC),
                                        .counts.well = true};
  if (job_queue->wake_fd < 0) return false;
  if (pthread_mutex_init(&job_queue->lock, NULL) == 0 &&
      pthread_cond_init(&job_queue->asked, NULL) == 0)
    return true;
  close(job_queue->wake_fd);
  job_queue->wake_fd = -1;
  errno = ENOMEM;
  return false;
}

void mafat_job_queue_close(struct mafat_job_queue *job_queue)
{
  if (job_queue->wake_fd < 0) return;
  pthread_cond_destroy(&job_queue->asked);
  pthread_mutex_destroy(&job_queue->lock);
  close(job_queue->wake_fd);
  job_queue->wake_fd = -1;
}

void mafat_job_queue_wake(struct mafat_job_queue *job_queue)
{
  const uint64_t one = 1;
  const int error = errno;
  ssize_t written;
  do {
    written = write(job_queue->wake_fd, &one, sizeof one);
  } while (written < 0 && errno == EINTR); /* if the counter is full, the reader wakes anyway */
  errno = error;
}

void mafat_job_queue_add(struct mafat_job_queue *job_queue, struct mafat_job *job)
{
  job->asked_ms = mafat_session_now_ms();
  pthread_mutex_lock(&job_queue->lock);
  job->state = MAFAT_JOB_WAITS;
  job->due = job_queue->served + JOB_COST + job->cost;
  job_queue->jobs[job_queue->counts.n_waiting++] = job;
  job_queue->counts.n_plans += job->kind != MAFAT_JOB_PICTURE;
  pthread_cond_signal(&job_queue->asked);
  pthread_mutex_unlock(&job_queue->lock);
}

static void leave_line(struct mafat_job_queue *job_queue, int at)
{
  job_queue->counts.n_waiting--;
  for (int i = at; i < job_queue->counts.n_waiting; i++)
    job_queue->jobs[i] = job_queue->jobs[i + 1];
}

bool mafat_job_queue_drop(struct mafat_job_queue *job_queue, struct mafat_job *job)
{
  bool dropped = false;
  pthread_mutex_lock(&job_queue->lock);
  for (int i = 0; i < job_queue->counts.n_waiting; i++) {
    if (job_queue->jobs[i] != job) continue;
    leave_line(job_queue, i);
    job_queue->counts.n_plans -= job->kind != MAFAT_JOB_PICTURE;
    job->state = MAFAT_JOB_IDLE;
    dropped = true;
    break;
  }
  pthread_mutex_unlock(&job_queue->lock);
  return dropped;
}

enum mafat_job_state mafat_job_queue_state(struct mafat_job_queue *job_queue,
                                           const struct mafat_job *job)
{
  pthread_mutex_lock(&job_queue->lock);
  enum mafat_job_state state = job->state;
  pthread_mutex_unlock(&job_queue->lock);
  return state;
}

struct mafat_job_queue_counts mafat_job_queue_counts(struct mafat_job_queue *job_queue)
{
  pthread_mutex_lock(&job_queue->lock);
  struct mafat_job_queue_counts counts = job_queue->counts;
  for (int i = 0; i < counts.n_waiting; i++)
    counts.n_ahead += job_queue->jobs[i]->due <= job_queue->served + JOB_COST + ORDINARY_COST;
  pthread_mutex_unlock(&job_queue->lock);
  return counts;
}

void mafat_job_queue_hurry(struct mafat_job_queue *job_queue, struct mafat_model *model,
                           double usual_ms)
{
  static const double patience_ms = 1000;
  pthread_mutex_lock(&job_queue->lock); /* so that no other job runs when the model is canceled */
  const struct mafat_job_queue_counts *c = &job_queue->counts;
  const double layers_ms = c->runs_measured ? c->layers_ms / (double)c->runs_measured : usual_ms;
  if (c->n_waiting > 0 && job_queue->running && job_queue->running->kind == MAFAT_JOB_PICTURE &&
      mafat_session_now_ms() - job_queue->running_since_ms > layers_ms + patience_ms)
    mafat_model_cancel(model);
  pthread_mutex_unlock(&job_queue->lock);
}

void mafat_job_queue_end(struct mafat_job_queue *job_queue)
{
  pthread_mutex_lock(&job_queue->lock);
  job_queue->ends = true;
  pthread_cond_signal(&job_queue->asked);
  pthread_mutex_unlock(&job_queue->lock);
}

/* Returns the index of the job to take next. */
static int find_first(const struct mafat_job_queue *job_queue)
{
  int first = 0;
  for (int i = 1; i < job_queue->counts.n_waiting; i++)
    if (job_queue->jobs[i]->due < job_queue->jobs[first]->due) first = i;
  return first;
}

/* Starts the next job. The caller holds the lock. */
static void start(struct mafat_job_queue *job_queue)
{
  const int first = find_first(job_queue);
  job_queue->running = job_queue->jobs[first];
  leave_line(job_queue, first);
  job_queue->served += JOB_COST + job_queue->running->cost;
  job_queue->running_since_ms = mafat_session_now_ms();
  job_queue->running->state = MAFAT_JOB_RUNS;
  job_queue->counts.runs = true;
}

struct mafat_job *mafat_job_queue_take(struct mafat_job_queue *job_queue)
{
  pthread_mutex_lock(&job_queue->lock);
  while (job_queue->counts.n_waiting == 0 && !job_queue->ends)
    pthread_cond_wait(&job_queue->asked, &job_queue->lock);
  job_queue->running = NULL;
  if (job_queue->counts.n_waiting > 0) start(job_queue);
  pthread_mutex_unlock(&job_queue->lock);
  return job_queue->running;
}

/* Updates a moving average, in which newer values weigh more. A value above four averages counts as
 * four averages. */
static double follow(double average, double value)
{
  const double most = 4 * average;
  return average > 0 ? average + ((value < most ? value : most) - average) / 8 : value;
}

static void count(struct mafat_job_queue_counts *c, const struct mafat_job *job,
                  const struct mafat_job_queue_run *ran)
{
  if (job->kind != MAFAT_JOB_PICTURE) {
    c->plans++;
    return;
  }
  c->waited_ms +=
      mafat_session_now_ms() - job->asked_ms - (ran ? ran->image_ms + ran->layers_ms : 0);
  if (job->status == 200) c->pictures++;
  else c->refused_pictures++;
  if (!ran) return;
  c->image_ms += ran->image_ms;
  c->layers_ms += ran->layers_ms;
  c->runs_measured += ran->layers_ms > 0;
  c->failed_runs += ran->failed;
  c->well = !ran->failed;
  if (!ran->failed) c->picture_ms = follow(c->picture_ms, ran->image_ms + ran->layers_ms);
}

void mafat_job_queue_done(struct mafat_job_queue *job_queue, const struct mafat_job_queue_run *ran)
{
  pthread_mutex_lock(&job_queue->lock);
  count(&job_queue->counts, job_queue->running, ran);
  job_queue->counts.n_plans -= job_queue->running->kind != MAFAT_JOB_PICTURE;
  job_queue->running->state = MAFAT_JOB_DONE;
  job_queue->running = NULL;
  job_queue->counts.runs = false;
  pthread_mutex_unlock(&job_queue->lock);
  mafat_job_queue_wake(job_queue);
}
