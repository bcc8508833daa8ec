/* Queue of jobs between the thread of connections and the thread that computes. The connection owns
 * a job before it is added and after it is done or dropped; in between the queue owns it. The
 * computing thread takes jobs one at a time, by fair queueing. Each job is due at the sum of its
 * own cost and the costs of all jobs that had been taken when it was added. The job with the least
 * sum is next. So a job waits for jobs that came before it, except for much costlier ones. A mutex
 * guards the queue; nothing is allocated.
 * Included by programs/mafat_serve. */
#ifndef MAFAT_PROGRAM_SERVE_JOB_QUEUE_H
#define MAFAT_PROGRAM_SERVE_JOB_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mafat_model;

enum { MAFAT_JOB_QUEUE_SIZE = 64 };

enum mafat_job_kind { MAFAT_JOB_PICTURE, MAFAT_JOB_PLAN, MAFAT_JOB_MAP };
enum mafat_job_state { MAFAT_JOB_IDLE, MAFAT_JOB_WAITS, MAFAT_JOB_RUNS, MAFAT_JOB_DONE };

/* Size and format of raw pixels; w 0: the body is a picture file. */
struct mafat_job_frame {
  int w, h, channels;
  const char
      *format; /* YUV format, named as in options: "nv12"; NULL: `channels` bytes for each pixel */
};

struct mafat_job {
  enum mafat_job_kind kind;
  int body_fd; /* file with the request's body, which the response overwrites */
  size_t body_bytes;
  size_t most_bytes; /* largest size of the response */
  struct mafat_job_frame frame;
  bool form;         /* the body was sent with a form's content type: it may have lost bytes */
  float thresh, nms;
  size_t memory_bytes; /* plan or map: memory budget; 0: that of the running plan */
  double cost;         /* estimated pixels to decode; picture_cost.h */
  double asked_ms;     /* time when it was added */
  double due;          /* the queue's `served` when the job was added, plus its cost */
  /* Result of the job. */
  int status;        /* HTTP status */
  const char *type;  /* content type of the response */
  size_t answer_bytes; /* size of the response, at the start of body_fd */
  enum mafat_job_state state; /* guarded by the job queue's lock */
};

/* Counters of finished work, and the jobs that wait or run now. */
struct mafat_job_queue_counts {
  uint64_t pictures, refused_pictures, failed_runs, plans;
  uint64_t runs_measured; /* runs that `layers_ms` sums up */
  double image_ms, layers_ms, waited_ms; /* total times of all pictures */
  double picture_ms;                     /* moving average of one picture; 0: none has run */
  int n_waiting;                         /* jobs in the queue */
  int n_ahead;                           /* of these, jobs that run before an ordinary picture */
  int n_plans;                           /* plans and maps in the queue or running */
  bool runs;                             /* a job is running */
  bool well;                             /* the last run did not fail; bad requests do not count */
};

struct mafat_job_queue {
  pthread_mutex_t lock;
  pthread_cond_t asked;
  int wake_fd; /* eventfd that wakes the thread of connections when a job is done */
  bool ends;   /* no more jobs are added */
  struct mafat_job *jobs[MAFAT_JOB_QUEUE_SIZE]; /* (counts.n_waiting) */
  struct mafat_job *running;
  double running_since_ms;
  double served; /* total cost of all jobs taken from the queue */
  struct mafat_job_queue_counts counts;
};

/* Opens the eventfd. Returns false, with errno, on failure. */
bool mafat_job_queue_open(struct mafat_job_queue *job_queue);
void mafat_job_queue_close(struct mafat_job_queue *job_queue);

void mafat_job_queue_add(struct mafat_job_queue *job_queue, struct mafat_job *job);
/* Cancels a job. True: it is removed from the queue; false: it is already running or done. */
bool mafat_job_queue_drop(struct mafat_job_queue *job_queue, struct mafat_job *job);
enum mafat_job_state mafat_job_queue_state(struct mafat_job_queue *job_queue,
                                           const struct mafat_job *job);
struct mafat_job_queue_counts mafat_job_queue_counts(struct mafat_job_queue *job_queue);
/* Cancels the model's run if other jobs wait and it has run longer than layers usually take plus a
 * second: its picture takes long to decode. usual_ms: predicted time of the layers, used until runs
 * have been measured. */
void mafat_job_queue_hurry(struct mafat_job_queue *job_queue, struct mafat_model *model,
                           double usual_ms);
/* Declares that no job will be added. Jobs in the queue are still done. */
void mafat_job_queue_end(struct mafat_job_queue *job_queue);
void mafat_job_queue_wake(struct mafat_job_queue *job_queue); /* safe in a signal handler */

/* Waits for a job, and removes the next one from the queue. NULL: the queue is empty and has
 * ended. */
struct mafat_job *mafat_job_queue_take(struct mafat_job_queue *job_queue);
/* Times of a picture's run. */
struct mafat_job_queue_run {
  double image_ms, layers_ms;
  bool failed; /* the run itself failed, not the request */
};
/* Ends the running job and wakes the thread of connections. ran: NULL if no picture was run. */
void mafat_job_queue_done(struct mafat_job_queue *job_queue, const struct mafat_job_queue_run *ran);

#endif
