/* mafat_serve: answers pictures over HTTP inside a memory budget. One thread serves connections
 * (server.h), the main thread runs jobs (work.h), and the job queue connects them. All files are
 * opened and all memory is made resident before the first request is read. Started by the shell or
 * by programs/mafat. Opens sockets, starts a thread, handles signals; prints to standard error. */
#include "programs/mafat_serve/server.h"
#include "programs/mafat_serve/token.h"
#include "programs/mafat_serve/work.h"
#include "programs/shared/streams.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static struct serving {
  struct mafat_session session;
  struct mafat_server server;
  struct mafat_job_queue job_queue;
  struct mafat_dry_run *dry_run;
  char token[MAFAT_TOKEN_ROOM];
  size_t reserve_bytes; /* part of the session's reserve that the server needs */
} serving; /* large buffers: not on the stack */

/* ---- memory of the server ---- */

static size_t choose_room(const struct serving *s)
{
  enum { LEAST = 256 << 10, MOST = 8 << 20, USUAL = 4 << 20, SHARE = 8 };
  const size_t share = s->session.options.memory.list[0] / SHARE;
  if (s->session.options.capacity) return s->session.options.capacity;
  if (!share) return USUAL;
  return share < LEAST ? LEAST : share > MOST ? MOST : share;
}

/* Reserves the part of the budget that is not resident when the model is opened: bodies, kernel
 * records of connections, a thread's stack, and an answer about a plan. */
static void reserve(struct serving *s)
{
  s->server.pool.room.capacity = choose_room(s);
  s->reserve_bytes = mafat_server_bytes(s->server.pool.room.capacity) + MAFAT_WORK_PLAN_BYTES;
  s->session.options.reserve += s->reserve_bytes;
}

/* ---- opening ---- */

/* Without a token, other machines are served only if the user asked for it. */
static int open_listener(struct serving *s, const char *address)
{
  struct mafat_diagnostic *d = &s->session.d;
  int code = mafat_listeners_open(&s->server.listeners, address, d);
  if (code || s->server.listeners.local || s->token[0] || s->session.options.no_token) return code;
  return mafat_fail(d, MAFAT_EINVAL,
                    "--listen %.100s: expected a token, since others can reach this address: give "
                    "--token-file FILE, or --no-token to serve everybody",
                    address);
}

/* Bodies are files in memory, so the process's limit of a file's size (ulimit -f) applies to them.
 * Raises the soft limit if that is permitted. */
static int raise_file_limit(struct serving *s)
{
  struct rlimit limit;
  const size_t room = s->server.pool.room.capacity;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= room) return MAFAT_OK;
  limit.rlim_cur = limit.rlim_max;
  if (limit.rlim_max >= room && setrlimit(RLIMIT_FSIZE, &limit) == 0) return MAFAT_OK;
  return mafat_fail(&s->session.d, MAFAT_EINVAL,
                    "--room: bodies are kept in files in memory, of up to %.1f MiB, and the limit "
                    "of a file's size is %.1f MiB: raise it (ulimit -f), or give a smaller --room",
                    (double)room / 1048576, (double)limit.rlim_max / 1048576);
}

static int open_listeners(struct serving *s)
{
  static const char usual[] = "127.0.0.1:8080";
  struct mafat_diagnostic *d = &s->session.d;
  int code = mafat_server_open(&s->server, d);
  if (s->session.options.predict) return code;
  if (code == MAFAT_OK) code = raise_file_limit(s);
  if (code == MAFAT_OK && s->session.options.listen.n == 0)
    code = mafat_listeners_open(&s->server.listeners, usual, d);
  for (int i = 0; code == MAFAT_OK && i < s->session.options.listen.n; i++)
    code = open_listener(s, s->session.options.listen.list[i]);
  if (code == MAFAT_OK && !mafat_job_queue_open(&s->job_queue))
    code = mafat_fail(d, MAFAT_EIO, "cannot make an eventfd: %s", strerror(errno));
  return code;
}

static int check_kind(const struct serving *s, const struct mafat_model_facts *f,
                      struct mafat_diagnostic *d)
{
  if (f->kind != MAFAT_MODEL_OTHER) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EUNSUPPORTED,
                    "%.200s: expected a network that finds boxes or classes: see --decode",
                    s->session.options.cfg);
}

/* Milliseconds that the layers are assumed to take until runs have been measured. The prediction
 * may be far off. */
static double usual_ms(const struct mafat_model *model)
{
  static const double unsure = 4;
  struct mafat_plan_facts plan = {.size = sizeof plan};
  mafat_model_describe_plan(model, &plan);
  return unsure * plan.latency_ms;
}

static struct mafat_model_options model_options(struct mafat_session *s)
{
  struct mafat_model_options m = mafat_session_model_options(s);
  m.runs = 1e6; /* assumed number of requests before the server ends */
  return m;
}

static int open_model(struct serving *s)
{
  struct mafat_session *session = &s->session;
  struct mafat_model_facts facts = {.size = sizeof facts};
  struct mafat_model_options m = model_options(session);
  int code = mafat_session_read_names(session);
  if (code == MAFAT_OK) code = mafat_session_open_dry_run(session, &s->dry_run, &m, &session->d);
  m.warnings = (struct mafat_warning_sink){NULL, NULL}; /* the dry run printed them */
  if (code == MAFAT_OK) code = mafat_session_open_model(session, &m);
  if (code) return code;
  mafat_session_check_names(session);
  mafat_model_describe(session->model, &facts);
  s->server.pool.budget_bytes = facts.budget_bytes;
  s->server.pool.charge_bytes = mafat_model_charge_bytes(session->model);
  s->server.model = session->model;
  s->server.usual_ms = usual_ms(session->model);
  mafat_session_report_fork(session, facts.fork_sign);
  mafat_session_report_decode(session, facts.decode, facts.decode_sign, &facts.picture);
  return check_kind(s, &facts, &session->d);
}

static void prepare_pool(struct serving *s)
{
  struct mafat_connection_pool *h = &s->server.pool;
  h->job_queue = &s->job_queue;
  h->token = s->token[0] ? s->token : NULL;
  h->thresh = s->session.options.thresh;
  h->nms = s->session.options.nms;
  h->timeout_ms = s->session.options.request_seconds * 1e3;
  h->wait_ms = s->session.options.wait_seconds * 1e3;
}

static void report(const struct serving *s)
{
  char line[240];
  const struct mafat_connection_pool *h = &s->server.pool;
  if (s->session.options.quiet) return;
  for (int i = 0; i < s->server.listeners.n; i++) {
    snprintf(line, sizeof line, "listens at %s", s->server.listeners.names[i]);
    mafat_session_complain(line);
  }
  snprintf(line, sizeof line, "needs at most %.1f MiB, %.1f MiB of it for requests and answers",
           (double)h->charge_bytes / 1048576, (double)h->room.capacity / 1048576);
  mafat_session_complain(line);
}

/* ---- ending ---- */

/* Signal handler. The first signal ends the server after its requests. A second one ends it at
 * once: by the default action if it is the same signal, else by raise() here. */
static void end(int signal)
{
  static volatile sig_atomic_t ends;
  if (ends) raise(signal);
  ends = true;
  mafat_server_end();
}

static int listen_to_signals(struct mafat_diagnostic *d)
{
  struct sigaction action = {.sa_handler = end, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
  sigemptyset(&action.sa_mask);
  if (sigaction(SIGTERM, &action, NULL) == 0 && sigaction(SIGINT, &action, NULL) == 0)
    return MAFAT_OK;
  return mafat_fail(d, MAFAT_EIO, "cannot listen to signals: %s", strerror(errno));
}

static void close_all(struct serving *s)
{
  mafat_model_close(&s->session.model);
  mafat_dry_run_close(&s->dry_run);
  mafat_names_close(&s->session.names);
  mafat_server_close(&s->server);
  mafat_job_queue_close(&s->job_queue);
}

/* ---- all ---- */

static int serve(struct serving *s)
{
  pthread_t thread;
  struct mafat_session *session = &s->session;
  const struct mafat_job_worker work = {session, s->dry_run, &s->job_queue,
                                        s->server.pool.room.capacity, s->reserve_bytes};
  prepare_pool(s);
  int code = listen_to_signals(&session->d);
  if (code == MAFAT_OK) code = mafat_server_start(&s->server, &thread, &session->d);
  if (code) return code;
  code = mafat_session_confine_run(session);
  if (code) mafat_job_queue_end(&s->job_queue), mafat_server_end();
  else report(s);
  mafat_job_worker_run(&work);
  pthread_join(thread, NULL);
  return code;
}

/* Implements --predict: reports the plan that the server would open. */
static int predict(struct serving *s)
{
  struct mafat_model_options m = model_options(&s->session);
  m.warnings = (struct mafat_warning_sink){NULL, NULL};
  mafat_session_open_dry_run(&s->session, &s->dry_run, &m,
                             NULL); /* the next call reports a failure */
  return mafat_session_predict(&s->session);
}

static int read_command_line(struct serving *s, int argc, char **argv)
{
  struct mafat_session *session = &s->session;
  mafat_options_defaults(&session->options, MAFAT_SERVE);
  int code = mafat_options_read(&session->options, argc, argv, &session->d);
  if (code || session->options.show_help || session->options.show_version) return code;
  if (session->options.json && !session->options.predict)
    return mafat_fail(&session->d, MAFAT_EINVAL,
                      "--json makes no sense with mafat_serve: see --help");
  return session->options.predict ? MAFAT_OK
                                  : mafat_token_read(s->token, &session->options, &session->d);
}

int main(int argc, char **argv)
{
  struct serving *s = &serving;
  struct mafat_session *session = &s->session;
  mafat_streams_hold();
  mafat_session_name_program(mafat_streams_program(argv[0], "mafat_serve"));
  session->marks_fd = s->job_queue.wake_fd = -1;
  session->start_ms = mafat_session_now_ms();
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN); /* a body that exceeds the limit of files fails with EFBIG */
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 128 << 10); /* as in run_inference */
#endif
  mafat_writer_open(&session->out, STDOUT_FILENO);
  if (read_command_line(s, argc, argv)) {
    mafat_session_complain(session->d.text);
    return EXIT_INPUT;
  }
  if (session->options.show_help || session->options.show_version)
    return mafat_options_answer(&session->options, mafat_session_program(),
                                "mafat_serve " MAFAT_VERSION "\n");
  mafat_session_note_renamed(session);
  reserve(s);
  int code = open_listeners(s), status = 0;
  if (code == MAFAT_OK) code = mafat_session_confine(session);
  if (code == MAFAT_OK && session->options.predict) status = predict(s);
  else if (code == MAFAT_OK && (code = open_model(s)) == MAFAT_OK) code = serve(s);
  if (code) mafat_session_complain(session->d.text);
  close_all(s);
  return code ? mafat_session_exit_status(code) : status;
}
