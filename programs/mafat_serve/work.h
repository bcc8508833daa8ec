/* The thread that computes: takes jobs from the job queue, one at a time, runs the model, and
 * writes the answer to the file that held the request's body. Allocates and frees memory for
 * reports of plans. Included by connection_pool.c and mafat_serve.c. */
#ifndef MAFAT_PROGRAM_SERVE_WORK_H
#define MAFAT_PROGRAM_SERVE_WORK_H

#include "include/mafat_plan.h"
#include "programs/mafat_serve/job_queue.h"
#include "programs/run_inference/plan_report.h"
#include "programs/run_inference/session.h"

struct mafat_job_worker {
  struct mafat_session *session;    /* with an open model */
  const struct mafat_dry_run *dry_run;  /* of the same model */
  struct mafat_job_queue *job_queue;
  size_t capacity_bytes, /* bytes for bodies of requests */
      server_bytes;      /* bytes of the reserve that are for the server */
};

/* Runs jobs until the job queue ends. */
void mafat_job_worker_run(const struct mafat_job_worker *work);

/* Memory for answering a request about a plan, besides that of the model: heap, and code that
 * nothing else uses. */
enum { MAFAT_WORK_PLAN_BYTES = 512 << 10 };

/* Empties the body's file and opens a writer at its start, with `capacity` bytes. */
void mafat_work_begin(struct mafat_writer *w, int fd, size_t capacity);
/* Returns the bytes written; 0: they did not fit. */
size_t mafat_work_end(struct mafat_writer *w);

#endif
