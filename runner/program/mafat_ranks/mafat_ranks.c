/* run_inference on several devices: mpirun -n 2 mafat_ranks ARGUMENT..., the arguments of run_inference, all ranks the same. Rank 0
 * reads pictures and prints; the others have their parts of the plan, and of the weights. */
#include "runner/memory/process.h"
#include "runner/model.h"
#include "runner/program/mafat_ranks/mpi_link.h"
#include "runner/program/run_inference/session.h"
#include "runner/program/streams.h"

#include <stdio.h>
#include <string.h>

/* What this rank had and sent, with --report. */
static void report(const struct mafat_mpi *mpi, const struct mafat_model *m)
{
  char text[200];
  snprintf(text, sizeof text, "arena %zu bytes, weights %zu bytes, sent %llu bytes; resident %zu bytes, %zu before any work",
           m->choice.layout->total_bytes, mafat_weights_bytes(m->weights), (unsigned long long)mafat_mpi_sent_bytes(mpi),
           mafat_process_resident_bytes(), mafat_mpi_own_bytes(mpi));
  mafat_mpi_say(mpi, text);
}

static int open_model(struct mafat_session *s)
{
  struct mafat_model_options o = mafat_session_model_options(s);
  o.picture = NULL;
  o.floats_only = true;
  return mafat_model_open(&s->model, s->options.model, s->options.weights, &o, &s->d);
}

/* A rank that is not 0: whatever rank 0 does. */
static int serve(struct mafat_mpi *mpi, const struct mafat_rank_link *link, int argc, char **argv)
{
  static struct mafat_session s;
  enum mafat_mpi_word word;
  int code = MAFAT_OK;
  s.link = link;
  mafat_options_defaults(&s.options);
  if (mafat_options_read(&s.options, argc, argv, &s.d)) code = MAFAT_EINVAL; /* rank 0 says so */
  s.options.quiet = true;
  while ((word = mafat_mpi_listen()) != MAFAT_MPI_END) {
    if (word == MAFAT_MPI_OPEN) code = open_model(&s);
    else if ((code = mafat_executor_run(s.model->executor, &s.d))) mafat_mpi_abort(mpi, s.d.text, EXIT_RUNNING);
  }
  if (s.options.report && s.model) report(mpi, s.model);
  mafat_model_close(&s.model);
  return code ? mafat_session_exit_status(code) : 0;
}

static int lead(const struct mafat_rank_link *link, int argc, char **argv)
{
  int status = mafat_session_main(argc, argv, link);
  mafat_mpi_end();
  return status;
}

int main(int argc, char **argv)
{
  struct mafat_mpi *mpi;
  struct mafat_rank_link link;
  mafat_streams_hold();
  if (mafat_mpi_open(&mpi, &link, &argc, &argv)) {
    fputs("mafat_ranks: cannot start MPI\n", stderr);
    return EXIT_RUNNING;
  }
  mafat_session_name_program("mafat_ranks");
  int status = link.rank ? serve(mpi, &link, argc, argv) : lead(&link, argc, argv);
  mafat_mpi_close(&mpi);
  return status;
}
