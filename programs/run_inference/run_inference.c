/* run_inference: runs a network on pictures inside a memory budget, or predicts what that costs.
 * Called by main.c, video.c and programs/mafat_ranks. The model is opened, then run picture by
 * picture. Uses only the public header of the library. Prints results, reads lists of pictures from
 * standard input, writes the files of --marks and --dump-output, ignores SIGPIPE and SIGXFSZ, and
 * frees what the session has allocated. */
#include "include/mafat.h"
#include "programs/shared/progress.h"
#include "programs/run_inference/output.h"
#include "programs/run_inference/report.h"
#include "programs/run_inference/session.h"
#include "programs/shared/streams.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Opens the file of --marks, truncated. */
static int open_marks(struct mafat_session *s)
{
  const char *path = s->options.marks;
  if (!path) return MAFAT_OK;
  s->marks_fd = mafat_streams_open(path);
  if (s->marks_fd < 0)
    return mafat_fail(&s->d, MAFAT_EIO, "%s: cannot create: %s", path, strerror(errno));
  mafat_marks_begin(&s->marks, s->model, s->marks_fd);
  mafat_model_set_watch(s->model, mafat_marks_step, &s->marks);
  return MAFAT_OK;
}

static int open_session(struct mafat_session *s)
{
  const struct mafat_options *o = &s->options;
  struct mafat_model_options m = mafat_session_model_options(s);
  int code;
  if ((code = mafat_session_check_output(s, "marks", o->marks))) return code;
  if ((code = mafat_session_check_output(s, "overlay", o->overlay))) return code;
  for (int i = 0; i < o->dumps.n; i++)
    if ((code = mafat_session_check_output(s, "dump-output", o->dumps.list[i]))) return code;
  if ((code = mafat_session_read_names(s))) return code;
  s->latencies_ms = calloc((size_t)o->repeat, sizeof *s->latencies_ms);
  s->layers_ms = calloc((size_t)o->repeat, sizeof *s->layers_ms);
  s->dumps = o->dumps.n ? calloc((size_t)o->dumps.n, sizeof *s->dumps) : NULL;
  if (!s->latencies_ms || !s->layers_ms || (o->dumps.n && !s->dumps))
    return mafat_fail(&s->d, MAFAT_ENOMEM, "out of memory");
  if ((code = mafat_session_open_model(s, &m))) return code;
  mafat_session_check_names(s);
  if ((o->mean.n == 3 || o->scale.n == 3) && (code = mafat_session_check_picture(s, NULL)))
    return code;
  if ((code = mafat_inputs_take(s->model, NULL, o, &s->d))) return code;
  if ((code = mafat_dumps_read(s->dumps, s->model, NULL, o, &s->d))) return code;
  for (int i = 0; i < o->dumps.n; i++)
    if ((code = mafat_session_check_output(s, "dump-output", s->dumps[i].path)) ||
        (code = mafat_dump_check(&s->dumps[i], &s->d)))
      return code;
  if ((code = mafat_session_check_dumps_apart(s))) return code;
  return open_marks(s);
}

static void close_session(struct mafat_session *s)
{
  if (s->marks_fd >= 0) close(s->marks_fd);
  mafat_model_close(&s->model);
  mafat_session_close_video();
  mafat_names_close(&s->names);
  free(s->latencies_ms);
  free(s->layers_ms);
  free(s->dumps);
}

/* ---- one picture ---- */

static int compare_doubles(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Sorts a copy of the values. */
static double median(const double *values, int n)
{
  double *sorted = malloc((size_t)n * sizeof *sorted);
  if (!sorted) return values[0];
  memcpy(sorted, values, (size_t)n * sizeof *sorted);
  qsort(sorted, (size_t)n, sizeof *sorted, compare_doubles);
  double middle = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
  free(sorted);
  return middle;
}

void mafat_session_trim_heap(void)
{
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

/* With a tight budget, returns heap memory that was used to read the model (80 KB) to the system
 * before the first run. */
void mafat_session_make_room(const struct mafat_session *s)
{
  struct mafat_model_facts model = {.size = sizeof model};
  enum { PLENTY = 1 << 20 };
  mafat_model_describe(s->model, &model);
  size_t budget = model.budget_bytes, charge = mafat_model_charge_bytes(s->model);
  if (charge < budget && budget - charge >= PLENTY) return;
  mafat_session_trim_heap();
}

/* Runs the picture --repeat times. *running: an error came from the run, not from the picture. */
static int infer(struct mafat_session *s, const char *path, struct mafat_session_times *t,
                 bool *running)
{
  struct mafat_run_facts run = {.size = sizeof run};
  mafat_session_make_room(s);
  for (int i = 0; i < s->options.repeat; i++) {
    int code = mafat_options_floats_only(&s->options) ? mafat_model_run_inputs(s->model, &s->d)
                                : mafat_model_run_picture(s->model, path, &s->d);
    mafat_model_last_run(s->model, &run);
    *running = code && !run.input_failed;
    if (code) return code;
    t->image_ms = run.image_ms;
    t->stall_some_us += run.stall_some_us;
    t->stall_full_us += run.stall_full_us;
    s->layers_ms[i] = run.layers_ms;
    s->latencies_ms[i] = run.image_ms + run.layers_ms;
  }
  t->layers_ms = median(s->layers_ms, s->options.repeat);
  return MAFAT_OK;
}

/* Converts 0, which means that the system does not report it, to -1. */
static int64_t known(uint64_t bytes)
{
  return bytes ? (int64_t)bytes : -1;
}

/* Fills in the change of memory since `before` was measured. */
static void fill_memory(const struct mafat_session *s, const struct mafat_session_times *t,
                        const struct mafat_process_facts *before, struct mafat_run_report *r)
{
  struct mafat_model_facts model = {.size = sizeof model};
  struct mafat_process_facts process = {.size = sizeof process};
  struct mafat_run_facts run = {.size = sizeof run};
  mafat_model_describe(s->model, &model);
  mafat_process_measure(&process);
  mafat_model_last_run(s->model, &run);
  r->measured_resident_bytes = known(process.resident_bytes);
  r->vm_hwm_bytes = known(process.peak_bytes);
  if (process.resident_bytes) { /* 0: no /proc, which also counts swap */
    r->swap_in_bytes = (int64_t)(process.swap_in_bytes - before->swap_in_bytes);
    r->swap_out_bytes = (int64_t)(process.swap_out_bytes - before->swap_out_bytes);
    r->swap_scope = "system";
  }
  r->major_faults = (int64_t)(process.major_faults - before->major_faults);
  r->weights_read_bytes = (int64_t)run.weights_read_bytes;
  r->lock = model.lock;
  r->lock_reason = model.lock_reason;
  r->locked_bytes = (int64_t)model.locked_bytes;
  r->stall_scope = run.stall_scope;
  r->stall_some_us = run.stall_scope ? (int64_t)t->stall_some_us : -1;
  r->stall_full_us = run.stall_scope ? (int64_t)t->stall_full_us : -1;
}

void mafat_session_fill_report(struct mafat_session *s, const char *path,
                               const struct mafat_session_times *t,
                               const struct mafat_process_facts *before, struct mafat_run_report *r)
{
  struct mafat_model_facts model = {.size = sizeof model};
  struct mafat_plan_facts plan = {.size = sizeof plan};
  mafat_model_describe(s->model, &model);
  mafat_model_describe_plan(s->model, &plan);
  mafat_run_report_defaults(r);
  fill_memory(s, t, before, r);
  r->image = path;
  r->sandbox = mafat_session_sandbox(s);
  r->network_w = model.input_w;
  r->network_h = model.input_h;
  r->fork = model.fork;
  r->fork_sign = model.fork_sign;
  r->decode = model.decode;
  r->decode_sign = model.decode_sign;
  r->n_layers = plan.n_layers;
  r->plan = plan.text;
  r->algorithm = plan.algorithm;
  r->cpu = model.cpu;
  r->threads = plan.threads;
  uint64_t budget = model.budget_bytes;
  r->memory_budget_bytes = budget == SIZE_MAX || budget > INT64_MAX ? -1 : (int64_t)budget;
  r->arena_bytes = (int64_t)plan.arena_bytes;
  r->predicted_charge_bytes = (int64_t)plan.memory.charge_bytes;
  r->predicted_resident_bytes = (int64_t)plan.memory.resident_bytes;
  r->reserve_bytes = (int64_t)model.reserve_bytes;
  r->load_ms = model.load_ms;
  r->image_ms = t->image_ms;
  r->layers_ms = t->layers_ms;
  r->latencies_ms = s->latencies_ms;
  r->n_latencies = s->options.repeat;
  r->latency_ms = median(s->latencies_ms, s->options.repeat);
  r->kind = model.kind;
  r->names = s->names;
  r->model = s->model;
  if (!mafat_options_floats_only(&s->options)) r->picture = model.picture;
}

int mafat_session_find_answers(struct mafat_session *s, struct mafat_run_report *r,
                               struct mafat_detections **detections, struct mafat_class_score *top)
{
  if (r->kind == MAFAT_MODEL_DETECTOR) {
    int code = mafat_model_detect(s->model, s->options.thresh, s->options.nms, detections, &s->d);
    r->detections = *detections;
    return code;
  }
  if (r->kind != MAFAT_MODEL_CLASSIFIER) return MAFAT_OK;
  r->classes = top;
  return mafat_model_classify(s->model, top, MAFAT_SESSION_CLASSES, &r->n_classes, &s->d);
}

static int write_json(struct mafat_session *s, struct mafat_run_report *r)
{
  struct mafat_transfer_report *transfers = NULL;
  int code = s->options.fast_memory
                 ? mafat_model_transfers(&transfers, s->model, s->options.fast_memory, &s->d)
                 : MAFAT_OK;
  if (code) return code;
  r->transfers = transfers;
  r->fast_bytes = s->options.fast_memory;
  r->objective = s->options.plan ? NULL : s->options.objective;
  code = mafat_output_run_json(r, &s->out);
  r->transfers = NULL;
  mafat_transfer_report_close(&transfers);
  return code;
}

/* Writes the dumps that are written before the results, or those that are written after them. Dumps
 * that may go to standard output are written after, except with --json, because an error there must
 * replace the object of results. */
static int write_dumps(struct mafat_session *s, bool after)
{
  int code = MAFAT_OK;
  for (int i = 0; code == MAFAT_OK && i < s->options.dumps.n; i++)
    if ((!s->options.json && mafat_dump_is_direct(&s->dumps[i])) == after)
      code = mafat_dump_write(&s->dumps[i], s->model, &s->d);
  return code;
}

int mafat_session_report(struct mafat_session *s, const char *path,
                         const struct mafat_session_times *times,
                         const struct mafat_process_facts *before)
{
  struct mafat_detections *detections = NULL;
  struct mafat_class_score top[MAFAT_SESSION_CLASSES];
  struct mafat_run_report report;
  int code;
  mafat_progress_erase();
  mafat_session_trim_heap(); /* heap that the decoder has freed */
  mafat_session_fill_report(s, path, times, before, &report);
  if ((code = mafat_session_find_answers(s, &report, &detections, top))) {
    mafat_detections_close(&detections);
    return code == MAFAT_ELIMIT ? EXIT_DOES_NOT_FIT : EXIT_RUNNING;
  }
  report.total_ms = mafat_session_now_ms() - s->start_ms;
  code = write_dumps(s, false);
  if (code == MAFAT_OK && s->options.marks) code = mafat_marks_end(&s->marks, &s->d);
  if (code) {
    mafat_detections_close(&detections);
    return EXIT_RUNNING;
  }
  code = s->options.json ? write_json(s, &report) : mafat_output_run_text(&report, &s->out);
  if (code) mafat_fail(&s->d, code, "cannot write to standard output: %s", strerror(s->out.error));
  if (code == MAFAT_OK && s->options.report) code = mafat_report_print_table(s, &report);
  if (code == MAFAT_OK) code = write_dumps(s, true);
  if (code == MAFAT_OK &&
      (s->options.verbose || (s->options.report && !s->options.json && !s->options.quiet)))
    mafat_report_print_note(s, &report);
  if (code == MAFAT_OK) mafat_report_left_out(s, &report);
  if (code == MAFAT_OK && !s->link)
    mafat_report_check(s, &report); /* MPI's own memory was not predicted */
  if (code == MAFAT_OK) mafat_session_report_fork(s, report.fork_sign);
  if (code == MAFAT_OK) mafat_session_report_decode(s, report.decode, report.decode_sign,
                                                      &report.picture);
  mafat_detections_close(&detections);
  return code ? EXIT_RUNNING : 0;
}

/* Runs and prints one picture; returns an exit status. */
static int run_image(struct mafat_session *s, const char *path)
{
  struct mafat_process_facts before = {.size = sizeof before};
  struct mafat_session_times times = {0};
  bool running = false;
  mafat_process_measure(&before);
  int code = infer(s, path, &times, &running);
  if (code) return running ? EXIT_RUNNING : mafat_session_exit_status(code);
  return mafat_session_report(s, path, &times, &before);
}

/* ---- all pictures ---- */

/* Returns the worse of two statuses. Of several pictures, any failure other than EXIT_RUNNING
 * counts as EXIT_INPUT. */
static int merge_status(int all, int one, bool single)
{
  if (one == 0) return all;
  if (single || one == EXIT_RUNNING) return one;
  return all == EXIT_RUNNING ? all : EXIT_INPUT;
}

static int run_and_report(struct mafat_session *s, const char *path)
{
  int status = run_image(s, path);
  if (status == 0) return 0;
  if (s->options.marks)
    mafat_marks_end(&s->marks, NULL); /* the next picture starts new marks */
  if (s->options.json) mafat_output_error_json(path, s->d.text, status, &s->out);
  mafat_session_complain(s->d.text);
  return status;
}

/* Reads a character of standard input. Another process may have made it non-blocking: then this
 * waits, so that a path is not truncated. */
static int next_char(void)
{
  int c;
  while ((c = getchar()) == EOF && ferror(stdin) && errno == EAGAIN) {
    struct pollfd there = {.fd = STDIN_FILENO, .events = POLLIN};
    if (poll(&there, 1, -1) < 0 && errno != EINTR) break;
    clearerr(stdin);
  }
  return c;
}

/* Reads the next line of standard input, without its newline, truncated to the capacity. False: end
 * of input. *whole is false if the line contains a byte 0. */
static bool read_line(char *line, size_t capacity, bool *whole)
{
  size_t n = 0;
  int c = next_char();
  *whole = true;
  if (c == EOF) return false;
  for (; c != EOF && c != '\n'; c = next_char()) {
    if (c == '\0') *whole = false;
    if (n + 1 < capacity) line[n++] = (char)c;
  }
  line[n] = '\0';
  return true;
}

/* Drops the page cache of a list file from time to time. *dropped: file offset of the last time. */
static void mind_page_cache(off_t *dropped)
{
  enum { PIECE = 32 << 10 };
  off_t at = lseek(STDIN_FILENO, 0, SEEK_CUR);
  if (at - *dropped < PIECE) return;
  posix_fadvise(STDIN_FILENO, 0, 0, POSIX_FADV_DONTNEED);
  *dropped = at;
}

/* Rejects lists of find -print0, since everything after the first path would be lost. */
static int refuse_line(struct mafat_session *s, const char *line)
{
  mafat_fail(&s->d, MAFAT_EFORMAT,
             "standard input: expected a path a line, found a zero byte after %.200s", line);
  if (s->options.json) mafat_output_error_json(line, s->d.text, EXIT_INPUT, &s->out);
  mafat_session_complain(s->d.text);
  return EXIT_INPUT;
}

/* Drops the CR at the end of a line of a list, unless a file has that name. */
static void drop_return(char *line)
{
  size_t n = strlen(line);
  if (n > 0 && line[n - 1] == '\r' && access(line, F_OK) != 0) line[n - 1] = '\0';
}

/* Runs the pictures whose paths are on standard input, one a line. Returns an exit status. */
static int run_list(struct mafat_session *s, int status)
{
  char line[PATH_MAX + 1]; /* opening a longer path fails with a message */
  off_t dropped = 0;
  bool whole;
  posix_fadvise(STDIN_FILENO, 0, 0, POSIX_FADV_RANDOM);
  for (; !s->out.error && read_line(line, sizeof line, &whole); mind_page_cache(&dropped)) {
    drop_return(line);
    if (!whole) status = merge_status(status, refuse_line(s, line), false);
    else if (line[0]) status = merge_status(status, run_and_report(s, line), false);
  }
  if (ferror(stdin)) {
    mafat_fail(&s->d, MAFAT_EIO, "standard input: cannot read the list: %s", strerror(errno));
    mafat_session_complain(s->d.text);
    status = merge_status(status, EXIT_INPUT, false);
  }
  return status;
}

static int run_all(struct mafat_session *s)
{
  const struct mafat_options *o = &s->options;
  if (mafat_options_floats_only(o)) return run_and_report(s, o->inputs.list[0]);
  if (mafat_options_video(o)) return mafat_session_run_video(s);
  int status = 0;
  bool counted = o->n_images > 1 && !o->quiet && isatty(STDERR_FILENO);
  if (counted) mafat_progress_begin("picture", false);
  for (int i = 0; i < o->n_images && !s->out.error; i++) {
    if (counted) mafat_progress_count(i + 1, o->n_images);
    if (strcmp(o->images[i], "-") == 0) status = run_list(s, status);
    else status = merge_status(status, run_and_report(s, o->images[i]), o->n_images == 1);
  }
  mafat_progress_erase();
  return status;
}

/* Prints the command that explains why a model does not fit. */
static void point_on(struct mafat_session *s)
{
  size_t n = strlen(s->d.text);
  if (!s->link && !s->options.plan)
    snprintf(s->d.text + n, sizeof s->d.text - n, "; --predict --sweep lists budgets");
}

int mafat_session_main(int argc, char **argv, const struct mafat_session_ranks *ranks)
{
  static struct mafat_session s; /* large buffers: not on the stack */
  const struct mafat_rank_link *link = s.link = ranks ? ranks->link : NULL;
  mafat_session_name_program(
      mafat_streams_program(argv[0], link ? "mafat_ranks" : "run_inference"));
  mafat_streams_hold();
  s.marks_fd = -1;
  s.start_ms = mafat_session_now_ms();
  signal(SIGPIPE, SIG_IGN); /* a closed pipe is a failed write, with a message; */
  signal(SIGXFSZ, SIG_IGN); /* so is a file larger than is allowed */
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 128 << 10); /* fixed: what a decoder frees goes back at once */
#endif
  mafat_options_defaults(&s.options, link ? MAFAT_RANKS : MAFAT_RUN_INFERENCE);
  mafat_writer_open(&s.out, STDOUT_FILENO);
  int code = mafat_options_read(&s.options, argc, argv, &s.d);
  if (code) {
    mafat_session_complain(s.d.text);
    return EXIT_INPUT;
  }
  if (s.options.show_help || s.options.show_version)
    return mafat_options_answer(&s.options, mafat_session_program(),
                                "run_inference " MAFAT_VERSION "\n");
  mafat_session_note_renamed(&s);
  if (s.options.share && !s.options.search && !link && !s.options.ranks) {
    mafat_fail(&s.d, MAFAT_EINVAL,
               "--search %s shares layers out to several devices: it expects --predict and "
               "--ranks, or build/mafat_ranks",
               s.options.share);
    mafat_session_complain(s.d.text);
    return EXIT_INPUT;
  }
  if (s.options.search && !s.options.share && (link || s.options.ranks)) {
    mafat_fail(&s.d, MAFAT_EINVAL,
               "--search %s makes no sense on several devices: it expects deeperthings, fdto, "
               "layers or best",
               s.options.search);
    mafat_session_complain(s.d.text);
    return EXIT_INPUT;
  }
  if (s.options.calibrate) return mafat_session_calibrate(&s);
  if (mafat_options_video(&s.options) &&
      (code = link ? mafat_fail(&s.d, MAFAT_EINVAL, "--%s makes no sense on several devices",
                                s.options.camera ? "camera" : "video")
                   : mafat_session_prepare_video(&s))) {
    mafat_session_complain(s.d.text);
    return EXIT_INPUT;
  }
  if (mafat_session_confine(&s)) {
    mafat_session_complain(s.d.text);
    return EXIT_RUNNING;
  }
  if (mafat_options_video(&s.options) && (code = mafat_session_begin_video(&s))) {
    mafat_session_complain(s.d.text);
    mafat_session_close_video();
    return mafat_session_exit_status(code);
  }
  if (s.options.predict) return mafat_session_predict(&s);
  int status;
  code = open_session(&s);
  if (code == MAFAT_OK) code = mafat_session_confine_run(&s);
  if (code) {
    status = mafat_session_exit_status(code);
    if (code == MAFAT_ELIMIT) point_on(&s);
    if (s.options.json)
      mafat_output_error_json(s.options.n_images ? s.options.images[0] : s.options.inputs.list[0],
                              s.d.text, status, &s.out);
    mafat_session_complain(s.d.text);
  } else {
    status = ranks && ranks->run_all ? ranks->run_all(&s) : run_all(&s);
    if (ranks && s.options.report) ranks->report(&s);
  }
  close_session(&s);
  return status;
}
