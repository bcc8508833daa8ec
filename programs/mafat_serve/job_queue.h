/* Between the thread that talks and the one that computes: a line of jobs. Those who ask own a job
 * until it is put in line, and again once it is done; in between it is the job queue's. The one
 * that computes takes them one at a time, in order. */
#ifndef MAFAT_PROGRAM_SERVE_JOB_QUEUE_H
#define MAFAT_PROGRAM_SERVE_JOB_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAFAT_JOB_QUEUE_SIZE = 64 };

enum mafat_job_kind { MAFAT_JOB_PICTURE, MAFAT_JOB_PLAN, MAFAT_JOB_MAP };
enum mafat_job_state { MAFAT_JOB_IDLE, MAFAT_JOB_WAITS, MAFAT_JOB_RUNS, MAFAT_JOB_DONE };

/* Pixels as they are; w 0: a picture in a file's format. */
struct mafat_job_frame {
  int w, h, channels;
  const char
      *format; /* of Y, U and V, by the name that options have: "nv12"; NULL: of so many channels */
};

struct mafat_job {
  enum mafat_job_kind kind;
  int body_fd; /* the request's body; and what is answered, in its place */
  size_t body_bytes;
  size_t most_bytes; /* that an answer may take */
  struct mafat_job_frame frame;
  float thresh, nms;
  size_t memory_bytes; /* of a plan or map; 0: what runs */
  double asked_ms;     /* when it was put in line */
  /* Result of the job. */
  int status;        /* of HTTP */
  const char *type;  /* of what is answered, the first answer_bytes of body_fd */
  size_t answer_bytes;
  enum mafat_job_state state; /* the job queue's lock guards it */
};

/* Counters of finished work. */
struct mafat_job_queue_counts {
  uint64_t pictures, refused_pictures, failed_runs, plans;
  double image_ms, layers_ms, waited_ms; /* of pictures, in all */
  double picture_ms;                     /* that one takes, of late; 0: none was run */
  int n_waiting;                         /* in line */
  int n_plans;                           /* in line, or being found */
  bool runs;                             /* something does */
  bool well;                             /* the last run did not fail for itself */
};

struct mafat_job_queue {
  pthread_mutex_t lock;
  pthread_cond_t asked;
  int wake_fd; /* an eventfd: those who talk hear of what is done */
  bool ends;   /* nothing is put in line any more */
  struct mafat_job *jobs[MAFAT_JOB_QUEUE_SIZE]; /* (counts.n_waiting) */
  struct mafat_job *running;
  struct mafat_job_queue_counts counts;
};

/* False: errno. */
bool mafat_job_queue_open(struct mafat_job_queue *job_queue);
void mafat_job_queue_close(struct mafat_job_queue *job_queue);

void mafat_job_queue_add(struct mafat_job_queue *job_queue, struct mafat_job *job);
/* It is not wanted any more. True: it will not be done; false: it is being done, or is. */
bool mafat_job_queue_drop(struct mafat_job_queue *job_queue, struct mafat_job *job);
enum mafat_job_state mafat_job_queue_state(struct mafat_job_queue *job_queue,
                                           const struct mafat_job *job);
struct mafat_job_queue_counts mafat_job_queue_counts(struct mafat_job_queue *job_queue);
/* All in line are done, none comes. */
void mafat_job_queue_end(struct mafat_job_queue *job_queue);
void mafat_job_queue_wake(struct mafat_job_queue *job_queue); /* also by a signal's handler */

/* The next job, waited for; NULL: it ends, and nothing is in line. */
struct mafat_job *mafat_job_queue_take(struct mafat_job_queue *job_queue);
/* ran: a picture's times and whether it is the run's own failure; NULL: none was run. */
struct mafat_job_queue_run {
  double image_ms, layers_ms;
  bool failed;
};
void mafat_job_queue_done(struct mafat_job_queue *job_queue, const struct mafat_job_queue_run *ran);

#endif
