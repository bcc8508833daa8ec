/* Program: run_inference on several devices, started by mpirun -n 2 mafat_ranks ARGUMENT... All
 * ranks get the same arguments: those of run_inference and a few of mafat_ranks alone. Rank 0 reads
 * pictures and prints results. The other ranks compute their parts of the plan, with their parts of
 * the weights. Forks before it opens MPI: the parent waits for the child and reports how it ended
 * (guard.h). */
#include "runner/os/process.h"
#include "api/model.h"
#include "programs/mafat_ranks/guard.h"
#include "programs/mafat_ranks/mpi_link.h"
#include "programs/mafat_ranks/pipeline.h"
#include "programs/run_inference/session.h"
#include "programs/shared/streams.h"

#include <stdio.h>
#include <string.h>

/* Prints this rank's memory and traffic, for --report. */
static void report(const struct mafat_mpi *mpi, const struct mafat_model *m)
{
  char text[240];
  snprintf(text, sizeof text,
           "arena %zu bytes, weights %zu bytes, sent %llu bytes; resident %zu bytes, predicted "
           "%zu, %zu before any work",
           m->choice.layout->total_bytes, mafat_weights_bytes(m->weights),
           (unsigned long long)mafat_mpi_sent_bytes(mpi), mafat_process_resident_bytes(),
           m->choice.prediction.resident_bytes, mafat_mpi_own_bytes(mpi));
  mafat_mpi_say(mpi, text);
}

/* Opens the model on this rank. code: result of reading the options; if it is an error, all ranks
 * learn of it, and the model is not opened. */
static int open_model(struct mafat_session *s, int code)
{
  struct mafat_rank_identity id;
  if (code == MAFAT_OK) {
    struct mafat_model_options o = mafat_session_model_options(s);
    o.picture = NULL;
    o.floats_only = true;
    return mafat_session_open_model(s, &o);
  }
  mafat_rank_identity_find(&id, NULL, NULL, NULL);
  int differs = s->link->opening(s->link->context, &id, &s->d);
  return differs ? differs : s->link->opened(s->link->context, code, 0, &s->d);
}

/* The main loop of ranks other than 0: executes the commands of rank 0. */
static int serve(struct mafat_mpi *mpi, const struct mafat_rank_link *link, int argc, char **argv)
{
  static struct mafat_session s;
  enum mafat_mpi_word word;
  s.link = link;
  mafat_options_defaults(&s.options, MAFAT_RANKS);
  /* rank 0 reads the same arguments and reports their error */
  int bad = mafat_options_read(&s.options, argc, argv, &s.d), code = bad;
  s.options.quiet = true;
  while ((word = mafat_mpi_listen(mpi)) != MAFAT_MPI_END) {
    if (word == MAFAT_MPI_OPEN) code = open_model(&s, bad);
    else if ((code = mafat_executor_run(s.model->executor, &s.d)))
      mafat_mpi_abort(mpi, s.d.text, EXIT_RUNNING);
  }
  if (s.options.report && s.model) report(mpi, s.model);
  mafat_model_close(&s.model);
  return code ? mafat_session_exit_status(code) : 0;
}

static int run_all(struct mafat_session *s)
{
  const char *why = mafat_pipeline_refuses(s);
  if (!why) return mafat_pipeline_run(s);
  mafat_session_complain(why);
  return EXIT_INPUT;
}

static void report_session(const struct mafat_session *s)
{
  report(s->link->context, s->model);
}

static int lead(struct mafat_mpi *mpi, const struct mafat_rank_link *link, int argc, char **argv)
{
  const struct mafat_session_ranks ranks = {link, link->ahead ? run_all : NULL, report_session};
  if (link->sums_apart)
    mafat_session_complain("--reduce fast: sums of floats are added in another order than on one "
                           "device, so the last bits may differ");
  int status = mafat_session_main(argc, argv, &ranks);
  mafat_mpi_end(mpi);
  return status;
}

/* Returns the text that --help or --version asks for; NULL: neither. Rank 0 prints the help itself,
 * and "" is returned. */
static const char *asked(int argc, char **argv)
{
  for (int i = 1; i < argc; i++) {
    bool all = strcmp(argv[i], "--help=all") == 0,
         help = all || strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;
    if (help && mafat_guard_rank() == 0)
      mafat_options_print_help(MAFAT_RANKS, mafat_session_program(), all);
    if (help) return "";
    if (strcmp(argv[i], "--version") == 0 || strcmp(argv[i], "-V") == 0)
      return "mafat_ranks " MAFAT_VERSION "\n";
  }
  return NULL;
}

/* Prints a text before the ranks are connected. All ranks have the same text; rank 0 prints it. */
static int say_alone(const char *text, int status)
{
  if (mafat_guard_rank() != 0) return status;
  if (status) mafat_session_complain(text);
  else if (mafat_streams_say(mafat_session_program(), text) != 0) status = EXIT_RUNNING;
  return status;
}

/* Copies a single budget to all ranks, and checks that budgets and speeds are as many as ranks. */
static int spread(struct mafat_options *own, int n_ranks, struct mafat_diagnostic *d)
{
  struct mafat_option_sizes *budgets = &own->budgets;
  for (int i = 1; i < n_ranks && budgets->n == 1; i++) budgets->list[i] = budgets->list[0];
  if (own->rank_speed.n && own->rank_speed.n != n_ranks)
    return mafat_fail(d, MAFAT_EINVAL, "--speed expects one number for each of %d ranks, found %d",
                      n_ranks, own->rank_speed.n);
  if (budgets->n <= 1 || budgets->n == n_ranks) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EINVAL, "--memory expects one size, or %d for as many ranks, found %d",
                    n_ranks, budgets->n);
}

int main(int argc, char **argv)
{
  struct mafat_mpi *mpi;
  struct mafat_rank_link link;
  static struct mafat_options own; /* options of mafat_ranks alone, taken out of argv */
  struct mafat_diagnostic d = {""};
  mafat_streams_hold();
  mafat_session_name_program(mafat_streams_program(argv[0], "mafat_ranks"));
  const char *text = asked(argc, argv);
  if (text) return say_alone(text, 0);
  mafat_options_defaults(&own, MAFAT_RANKS);
  if (mafat_options_take_own(&own, &argc, argv, &d)) return say_alone(d.text, EXIT_INPUT);
  mafat_guard_begin();
  if (mafat_mpi_open(&mpi, &link, own.ranks_seconds, &d)) {
    mafat_session_complain(d.text);
    mafat_guard_end();
    return EXIT_RUNNING;
  }
  if (spread(&own, link.n_ranks, &d)) {
    say_alone(d.text, EXIT_INPUT);
    mafat_mpi_close(&mpi);
    mafat_guard_end();
    return EXIT_INPUT;
  }
  if (own.pipeline) mafat_mpi_run_ahead(mpi, &link);
  link.sums_apart = own.reduce && strcmp(own.reduce, "fast") == 0;
  const bool linked = own.rank_link.bits > 0;
  link.bits_per_second = linked ? own.rank_link.bits : 1e9;
  link.seconds = linked ? own.rank_link.seconds : 1e-4;
  if (own.budgets.n) link.budgets = own.budgets.list;
  if (own.rank_speed.n) link.speeds = own.rank_speed.list;
  int status = link.rank ? serve(mpi, &link, argc, argv) : lead(mpi, &link, argc, argv);
  mafat_mpi_close(&mpi);
  mafat_guard_end();
  return status;
}
