/* The thread that computes: takes jobs from the job queue, one at a time, and writes what is
 * answered where the request's body was. */
#ifndef MAFAT_PROGRAM_SERVE_WORK_H
#define MAFAT_PROGRAM_SERVE_WORK_H

#include "include/mafat_plan.h"
#include "programs/mafat_serve/job_queue.h"
#include "programs/run_inference/plan_report.h"
#include "programs/run_inference/session.h"

struct mafat_job_worker {
  struct mafat_session *session;    /* its model is open */
  const struct mafat_dry_run *dry_run;  /* of the same model */
  struct mafat_job_queue *job_queue;
  size_t capacity_bytes,
      server_bytes; /* as told: for requests; of the reserve, what a server needs */
};

/* Until the job queue ends. */
void mafat_job_worker_run(const struct mafat_job_worker *work);

/* Heap, and code that nothing else enters, of an answer about a plan, beside the model. */
enum { MAFAT_WORK_PLAN_BYTES = 512 << 10 };

/* {"error":TEXT,"status":413} into an emptied fd of at most room bytes; how many they are, 0: there
 * is no room. */
size_t mafat_work_write_error(int fd, size_t capacity, int status, const char *text);
/* Empties a body: the writer begins at its first byte, and has so much room. */
void mafat_work_begin(struct mafat_writer *w, int fd, size_t capacity);
/* Bytes written to it; 0: it had no room for them. */
size_t mafat_work_end(struct mafat_writer *w);

#endif
