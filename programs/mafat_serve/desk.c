#include "programs/mafat_serve/desk.h"

#include "programs/run_inference/session.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

bool mafat_desk_open(struct mafat_desk *desk)
{
  *desk = (struct mafat_desk){.wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), .counts.well = true};
  if (desk->wake_fd < 0) return false;
  if (pthread_mutex_init(&desk->lock, NULL) == 0 && pthread_cond_init(&desk->asked, NULL) == 0) return true;
  close(desk->wake_fd);
  desk->wake_fd = -1;
  errno = ENOMEM;
  return false;
}

void mafat_desk_close(struct mafat_desk *desk)
{
  if (desk->wake_fd < 0) return;
  pthread_cond_destroy(&desk->asked);
  pthread_mutex_destroy(&desk->lock);
  close(desk->wake_fd);
  desk->wake_fd = -1;
}

void mafat_desk_wake(struct mafat_desk *desk)
{
  const uint64_t one = 1;
  const int error = errno;
  ssize_t written;
  do {
    written = write(desk->wake_fd, &one, sizeof one);
  } while (written < 0 && errno == EINTR); /* full: somebody is to wake anyway */
  errno = error;
}

void mafat_desk_ask(struct mafat_desk *desk, struct mafat_job *job)
{
  job->asked_ms = mafat_session_now_ms();
  pthread_mutex_lock(&desk->lock);
  job->state = MAFAT_JOB_WAITS;
  desk->line[desk->counts.n_waiting++] = job;
  desk->counts.n_plans += job->kind != MAFAT_JOB_PICTURE;
  pthread_cond_signal(&desk->asked);
  pthread_mutex_unlock(&desk->lock);
}

static void leave_line(struct mafat_desk *desk, int at)
{
  desk->counts.n_waiting--;
  for (int i = at; i < desk->counts.n_waiting; i++) desk->line[i] = desk->line[i + 1];
}

bool mafat_desk_drop(struct mafat_desk *desk, struct mafat_job *job)
{
  bool dropped = false;
  pthread_mutex_lock(&desk->lock);
  for (int i = 0; i < desk->counts.n_waiting; i++) {
    if (desk->line[i] != job) continue;
    leave_line(desk, i);
    desk->counts.n_plans -= job->kind != MAFAT_JOB_PICTURE;
    job->state = MAFAT_JOB_IDLE;
    dropped = true;
    break;
  }
  pthread_mutex_unlock(&desk->lock);
  return dropped;
}

enum mafat_job_state mafat_desk_state(struct mafat_desk *desk, const struct mafat_job *job)
{
  pthread_mutex_lock(&desk->lock);
  enum mafat_job_state state = job->state;
  pthread_mutex_unlock(&desk->lock);
  return state;
}

struct mafat_desk_counts mafat_desk_counts(struct mafat_desk *desk)
{
  pthread_mutex_lock(&desk->lock);
  struct mafat_desk_counts counts = desk->counts;
  pthread_mutex_unlock(&desk->lock);
  return counts;
}

void mafat_desk_end(struct mafat_desk *desk)
{
  pthread_mutex_lock(&desk->lock);
  desk->ends = true;
  pthread_cond_signal(&desk->asked);
  pthread_mutex_unlock(&desk->lock);
}

struct mafat_job *mafat_desk_take(struct mafat_desk *desk)
{
  pthread_mutex_lock(&desk->lock);
  while (desk->counts.n_waiting == 0 && !desk->ends) pthread_cond_wait(&desk->asked, &desk->lock);
  desk->running = NULL;
  if (desk->counts.n_waiting > 0) {
    desk->running = desk->line[0];
    leave_line(desk, 0);
    desk->running->state = MAFAT_JOB_RUNS;
    desk->counts.runs = true;
  }
  pthread_mutex_unlock(&desk->lock);
  return desk->running;
}

/* Of what is measured one by one, the newer the more. */
static double follow(double average, double value)
{
  return average > 0 ? average + (value - average) / 8 : value;
}

static void count(struct mafat_desk_counts *c, const struct mafat_job *job, const struct mafat_desk_run *ran)
{
  if (job->kind != MAFAT_JOB_PICTURE) {
    c->plans++;
    return;
  }
  c->waited_ms += mafat_session_now_ms() - job->asked_ms - (ran ? ran->image_ms + ran->layers_ms : 0);
  if (job->status == 200) c->pictures++;
  else c->refused_pictures++;
  if (!ran) return;
  c->image_ms += ran->image_ms;
  c->layers_ms += ran->layers_ms;
  c->failed_runs += ran->failed;
  c->well = !ran->failed;
  if (!ran->failed) c->picture_ms = follow(c->picture_ms, ran->image_ms + ran->layers_ms);
}

void mafat_desk_done(struct mafat_desk *desk, const struct mafat_desk_run *ran)
{
  pthread_mutex_lock(&desk->lock);
  count(&desk->counts, desk->running, ran);
  desk->counts.n_plans -= desk->running->kind != MAFAT_JOB_PICTURE;
  desk->running->state = MAFAT_JOB_DONE;
  desk->running = NULL;
  desk->counts.runs = false;
  pthread_mutex_unlock(&desk->lock);
  mafat_desk_wake(desk);
}
