/* run_inference: runs a Darknet network on pictures inside a memory budget, or says
 * what that would cost. Read top to bottom: the model is opened, then run picture by
 * picture. */
#include "runner/calibrate.h"
#include "runner/calibrate_file.h"
#include "runner/detect.h"
#include "runner/marks.h"
#include "runner/model.h"
#include "runner/options.h"
#include "runner/output.h"
#include "runner/process.h"
#include "runner/query.h"
#include "runner/trim_code.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EXIT_RUNNING = 1, EXIT_INPUT = 2, EXIT_DOES_NOT_FIT = 3 };

struct session {
  struct mafat_options options;
  struct mafat_model *model;
  struct mafat_names *names;
  double *latencies_ms; /* (repeat) */
  double *layers_ms;    /* (repeat) */
  double start_ms;
  bool answered; /* --predict: on standard output */
  struct mafat_writer out;
  struct mafat_marks marks;
  int marks_fd; /* -1: no --marks */
  struct mafat_diagnostic d;
};

static int exit_status(int code)
{
  switch (code) {
  case MAFAT_OK: return 0;
  case MAFAT_ELIMIT: return EXIT_DOES_NOT_FIT;
  case MAFAT_ENOMEM: return EXIT_RUNNING;
  default: return EXIT_INPUT;
  }
}

/* Paths may hold anything: control characters do not reach the terminal. At once, and
 * not through stdio, whose code no other message needs. */
static void complain(const char *text)
{
  char line[1200];
  int n = snprintf(line, sizeof line, "run_inference: %s", text);
  size_t length = n < 0 ? 0 : (size_t)n < sizeof line - 1 ? (size_t)n : sizeof line - 2;
  for (size_t i = 0; i < length; i++)
    if ((unsigned char)line[i] < ' ' || line[i] == 127) line[i] = '?';
  line[length++] = '\n';
  for (size_t done = 0; done < length;) {
    ssize_t got = write(STDERR_FILENO, line + done, length - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    done += (size_t)got;
  }
}

static void print_warning(void *context, const char *text)
{
  const struct session *s = context;
  char line[600];
  snprintf(line, sizeof line, "warning: %s", text);
  if (!s->options.quiet) complain(line);
}

/* Its header decides what decoding costs. A list that is still to be read is
 * taken for ordinary JPEGs. */
static const char *picture_to_look_at(const struct mafat_options *o)
{
  return o->input || !o->n_images || strcmp(o->images[0], "-") == 0 ? NULL : o->images[0];
}

static struct mafat_model_options model_options(struct session *s)
{
  const struct mafat_options *o = &s->options;
  struct mafat_model_options m;
  mafat_model_defaults(&m);
  m.memory_bytes = o->memory_bytes;
  m.plan = o->plan;
  m.search = o->search;
  m.bias_bytes = o->bias_bytes;
  m.layers = o->layers;
  m.algorithm = o->algorithm;
  m.threads = o->threads;
  m.cpu = o->cpu;
  m.best_effort = o->best_effort;
  m.picture = picture_to_look_at(o);
  m.picture_may_fail = o->n_images > 1;
  m.floats_only = o->input != NULL;
  m.warnings = (struct mafat_warning_sink){print_warning, s};
  return m;
}

static int check_output_file(struct session *s, const char *option, const char *path);

/* --marks: into a file that is emptied first. */
static int open_marks(struct session *s)
{
  const char *path = s->options.marks;
  if (!path) return MAFAT_OK;
  s->marks_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (s->marks_fd < 0) return mafat_fail(&s->d, MAFAT_EIO, "%s: cannot create: %s", path, strerror(errno));
  mafat_marks_begin(&s->marks, s->model->network, s->marks_fd);
  mafat_executor_set_watch(s->model->executor, (struct mafat_step_watch){mafat_marks_step, &s->marks});
  return MAFAT_OK;
}

static int open_session(struct session *s)
{
  const struct mafat_options *o = &s->options;
  struct mafat_model_options m = model_options(s);
  int code;
  if ((code = check_output_file(s, "dump-output", o->dump_output)) || (code = check_output_file(s, "marks", o->marks)))
    return code;
  if (o->names && (code = mafat_names_read(&s->names, o->names, &s->d))) return code;
  s->latencies_ms = calloc((size_t)o->repeat, sizeof *s->latencies_ms);
  s->layers_ms = calloc((size_t)o->repeat, sizeof *s->layers_ms);
  if (!s->latencies_ms || !s->layers_ms) return mafat_fail(&s->d, MAFAT_ENOMEM, "out of memory");
  if ((code = mafat_model_open(&s->model, o->cfg, o->weights, &m, &s->d))) return code;
  return open_marks(s);
}

static void close_session(struct session *s)
{
  if (s->marks_fd >= 0) close(s->marks_fd);
  mafat_model_close(&s->model);
  mafat_names_close(&s->names);
  free(s->latencies_ms);
  free(s->layers_ms);
}

/* ---- one picture ---- */

static bool write_output(struct session *s, FILE *file)
{
  int layer = s->model->n_layers - 1;
  struct mafat_shape out = s->model->network->layers[layer].out;
  for (int c = 0; c < out.c; c++)
    for (int y = 0; y < out.h; y++)
      for (int x = 0; x < out.w; x++) {
        float value = mafat_executor_output_at(s->model->executor, layer, c, y, x);
        if (fwrite(&value, sizeof value, 1, file) != 1) return false;
      }
  return true;
}

/* Writes the last layer's output beside its place and renames it, so that a
 * failure leaves nothing half-written; devices and links are written directly. */
static int dump_output(struct session *s)
{
  const char *path = s->options.dump_output;
  struct stat st;
  bool direct = lstat(path, &st) == 0 && !S_ISREG(st.st_mode);
  char beside[4096];
  int n = snprintf(beside, sizeof beside, "%s%s", path, direct ? "" : ".part");
  if (n < 0 || (size_t)n >= sizeof beside)
    return mafat_fail(&s->d, MAFAT_EINVAL, "--dump-output: the path is too long");
  FILE *file = fopen(beside, "wb");
  if (!file) return mafat_fail(&s->d, MAFAT_EIO, "%s: cannot create: %s", path, strerror(errno));
  bool good = write_output(s, file);
  if (fclose(file) != 0) good = false;
  if (good && (direct || rename(beside, path) == 0)) return MAFAT_OK;
  int code = mafat_fail(&s->d, MAFAT_EIO, "%s: cannot write: %s", path, strerror(errno));
  if (!direct) unlink(beside);
  return code;
}

static bool is_same_file(const char *path, const struct stat *st)
{
  struct stat other;
  return path && stat(path, &other) == 0 && other.st_dev == st->st_dev && other.st_ino == st->st_ino;
}

/* Nothing is written over what it is made from. path: NULL where the option is not given. */
static int check_output_file(struct session *s, const char *option, const char *path)
{
  const struct mafat_options *o = &s->options;
  struct stat st;
  if (!path || stat(path, &st) != 0 || !S_ISREG(st.st_mode)) return MAFAT_OK;
  const char *inputs[] = {o->cfg, o->weights, o->names, o->input, o->n_images ? o->images[0] : NULL};
  for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
    if (is_same_file(inputs[i], &st))
      return mafat_fail(&s->d, MAFAT_EINVAL, "--%s expects a file of its own, found %.200s, which is read", option,
                        inputs[i]);
  return MAFAT_OK;
}

static int compare_doubles(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Sorts a copy: the caller's order stays. */
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

/* What is being measured around the inferences of one picture. */
struct measurement {
  uint64_t swap_in, swap_out;
  long faults;
  double image_ms, layers_ms; /* median of the repetitions */
};

static bool is_tight(const struct session *s)
{
  enum { PLENTY = 1 << 20 };
  size_t budget = s->model->budget_bytes, charge = mafat_model_charge_bytes(s->model);
  return charge >= budget || budget - charge < PLENTY;
}

/* Where the budget is tight, what reading the model left in the heap (80 KB) goes
 * back before the first run. */
static void make_room(const struct session *s)
{
  if (!is_tight(s)) return;
  mafat_trim_code();
  mafat_process_trim_heap();
}

/* repeat times. MAFAT_EIO while *running is a failure of running. */
static int infer(struct session *s, const char *path, struct measurement *m, bool *running)
{
  struct mafat_model *model = s->model;
  make_room(s);
  for (int i = 0; i < s->options.repeat; i++) {
    int code = s->options.input ? mafat_model_run_raw(model, s->options.input, &s->d)
                                : mafat_model_run_picture(model, path, &s->d);
    *running = code && !model->input_failed;
    if (code) return code;
    m->image_ms = model->image_ms;
    s->layers_ms[i] = model->layers_ms;
    s->latencies_ms[i] = model->image_ms + model->layers_ms;
  }
  m->layers_ms = median(s->layers_ms, s->options.repeat);
  return MAFAT_OK;
}

static void fill_report(const struct session *s, const char *path, const struct measurement *m,
                        struct mafat_run_report *r)
{
  struct mafat_prediction predicted;
  uint64_t swap_in, swap_out;
  mafat_model_predict(s->model, &predicted);
  mafat_process_swap_bytes(&swap_in, &swap_out);
  mafat_run_report_defaults(r);
  r->image = path;
  r->network_w = s->model->network->input.w;
  r->network_h = s->model->network->input.h;
  r->n_layers = s->model->n_layers;
  r->plan = s->model->choice.text;
  r->algorithm = mafat_algorithm_name(s->model->algorithm);
  r->cpu = s->model->kernels->name;
  r->threads = s->model->choice.plan->n_threads;
  uint64_t budget = s->model->budget_bytes;
  r->memory_budget_bytes = budget == SIZE_MAX || budget > INT64_MAX ? -1 : (int64_t)budget;
  r->arena_bytes = (int64_t)s->model->choice.layout->total_bytes;
  r->predicted_charge_bytes = (int64_t)predicted.charge_bytes;
  r->predicted_resident_bytes = (int64_t)predicted.resident_bytes;
  r->measured_resident_bytes = (int64_t)mafat_process_resident_bytes();
  r->vm_hwm_bytes = (int64_t)mafat_process_peak_bytes();
  r->load_ms = s->model->load_ms;
  r->image_ms = m->image_ms;
  r->layers_ms = m->layers_ms;
  r->latencies_ms = s->latencies_ms;
  r->n_latencies = s->options.repeat;
  r->latency_ms = median(s->latencies_ms, s->options.repeat);
  r->swap_in_bytes = (int64_t)(swap_in - m->swap_in);
  r->swap_out_bytes = (int64_t)(swap_out - m->swap_out);
  r->swap_scope = "system";
  r->major_faults = mafat_process_major_faults() - m->faults;
  r->weights_read_bytes = (int64_t)mafat_weights_bytes_read(s->model->weights);
  r->names = s->names;
}

static int find_answers(struct session *s, struct mafat_run_report *r,
                        struct mafat_detections **detections, struct mafat_class_score *top)
{
  const struct mafat_network *n = s->model->network;
  struct mafat_detect_input in = mafat_model_detect_input(s->model);
  in.thresh = s->options.thresh;
  in.nms = s->options.nms;
  if (mafat_detect_has_head(n, in.n_layers)) {
    r->kind = MAFAT_RUN_DETECTS;
    int code = mafat_detect(detections, n, &in, &s->d);
    r->detections = *detections;
    return code;
  }
  if (mafat_classify_layer(n, in.n_layers) < 0) return MAFAT_OK;
  r->kind = MAFAT_RUN_CLASSIFIES;
  r->classes = top;
  return mafat_classify(top, MAFAT_CLASSIFY_TOP, &r->n_classes, n, &in, &s->d);
}

/* ---- --report ---- */

static int64_t tensor_bytes(const struct session *s, int layer)
{
  const struct mafat_layout *l = s->model->choice.layout;
  int tensor = l->tensors[layer + 1].buffer, scratch = l->scratch_buffers[layer];
  return (int64_t)((tensor < 0 ? 0 : l->buffers[tensor].bytes) + (scratch < 0 ? 0 : l->buffers[scratch].bytes));
}

/* The arena beyond the largest sum of live buffers, percent. */
static double arena_excess(const struct session *s)
{
  const struct mafat_layout *l = s->model->choice.layout;
  return l->bound_bytes ? 100 * ((double)l->total_bytes / (double)l->bound_bytes - 1) : 0;
}

/* "convolutional 3x3 winograd", "convolutional 3x3 (in 7)", "maxpool 2x2" */
static void describe_layer(const struct session *s, int l, char *text, size_t room)
{
  const struct mafat_layer *layer = &s->model->network->layers[l];
  const struct mafat_plan *plan = s->model->choice.plan;
  char size[32] = "", where[32] = "";
  if (layer->size > 0) snprintf(size, sizeof size, " %dx%d", layer->size, layer->size);
  if (plan->outer[l] >= 0) snprintf(where, sizeof where, " (in %d)", plan->outer[l]);
  snprintf(text, room, "%s%s%s%s", mafat_layer_type_name(layer->type), size,
           plan->algorithms[l] == MAFAT_WINOGRAD ? " winograd" : "", where);
}

/* What is computed inside another layer's step counts there. */
static uint64_t step_macs(const struct session *s, int l)
{
  const struct mafat_plan *plan = s->model->choice.plan;
  const uint64_t *macs = s->model->choice.layout->layer_macs;
  uint64_t sum = 0;
  if (plan->outer[l] >= 0) return 0;
  for (; l >= 0; l = plan->inner[l]) sum += macs[l];
  return sum;
}

static int print_table(struct session *s)
{
  size_t n = 0, room = (size_t)s->model->n_layers + (size_t)s->model->choice.plan->n_groups + 1;
  struct mafat_report_row *rows = calloc(room, sizeof *rows);
  char(*texts)[96] = calloc(room, sizeof *texts);
  if (!rows || !texts) {
    free(rows);
    free(texts);
    return mafat_fail(&s->d, MAFAT_ENOMEM, "out of memory");
  }
  const double *ms = mafat_executor_layer_ms(s->model->executor);
  double total_ms = 0;
  for (int g = 0; g < s->model->choice.plan->n_groups; g++) {
    const struct mafat_group *group = &s->model->choice.plan->groups[g];
    struct mafat_report_row *head = &rows[n];
    if (group->rows) snprintf(texts[n], sizeof *texts, "rows, at least %d", group->rows);
    else if (group->panels) snprintf(texts[n], sizeof *texts, "panels of filters");
    else snprintf(texts[n], sizeof *texts, "%dx%d tiles", group->n_rows, group->n_cols);
    *head = (struct mafat_report_row){MAFAT_ROW_GROUP, group->first, group->end - 1, texts[n], 0,
                                      (int64_t)s->model->choice.layout->groups[g].macs,
                                      (int64_t)s->model->choice.layout->groups[g].peak_bytes};
    n++;
    for (int l = group->first; l < group->end; l++) {
      describe_layer(s, l, texts[n], sizeof *texts);
      rows[n] = (struct mafat_report_row){MAFAT_ROW_LAYER, l, l, texts[n], ms[l],
                                          (int64_t)step_macs(s, l), tensor_bytes(s, l)};
      head->ms += ms[l];
      n++;
    }
    total_ms += head->ms;
  }
  snprintf(texts[n], sizeof *texts, "arena, +%.1f %% of bound", arena_excess(s));
  rows[n] = (struct mafat_report_row){MAFAT_ROW_TOTAL, 0, s->model->n_layers - 1, texts[n], total_ms,
                                        (int64_t)s->model->choice.layout->macs, (int64_t)s->model->choice.layout->total_bytes};
  n++;
  struct mafat_writer table;
  mafat_writer_open(&table, s->options.json ? STDERR_FILENO : STDOUT_FILENO);
  int code = mafat_output_table(rows, n, &table);
  free(rows);
  free(texts);
  return code ? mafat_fail(&s->d, code, "cannot write the report") : MAFAT_OK;
}

static void print_memory_note(const struct session *s, const struct mafat_run_report *r)
{
  struct mafat_prediction p;
  char peak[96];
  mafat_model_predict(s->model, &p);
  mafat_peak_describe(&p.peak, s->model->network, peak, sizeof peak);
  fprintf(stderr, "plan %.120s, arena %.2f MB (%.1f %% above the least possible), weights %.2f MB; resident: predicted %.2f MB, measured %.2f MB, of which %s %.2f MB; budget %.2f MB (%s)\n",
          s->model->choice.text, (double)s->model->choice.layout->total_bytes / 1048576, arena_excess(s), (double)mafat_weights_bytes(s->model->weights) / 1048576,
          (double)r->predicted_resident_bytes / 1048576, (double)r->measured_resident_bytes / 1048576,
          peak, (double)p.peak.bytes / 1048576, (double)s->model->budget_bytes / 1048576, s->model->budget_source);
  fprintf(stderr, "%s, %d thread%s, kernels %s; multiply-adds: %.1f million as direct convolution, %.1f million with padding as computed\n",
          mafat_algorithm_name(s->model->algorithm), s->model->choice.plan->n_threads,
          s->model->choice.plan->n_threads == 1 ? "" : "s", s->model->kernels->name,
          (double)s->model->choice.layout->macs * 1e-6, (double)s->model->choice.layout->padded_macs * 1e-6);
  const struct mafat_weights *w = s->model->weights;
  if (mafat_weights_reads_in_runs(w))
    fprintf(stderr, "%.2f MB of weights read for every picture, by %s, %s\n",
            (double)s->model->choice.layout->bytes_read / 1048576, mafat_weights_reads_method(w),
            mafat_weights_reads_directly(w) ? "past the page cache (O_DIRECT)" : "dropped from the page cache behind");
}

/* What was measured is compared with what was predicted: the arena page by page, and the
 * rest. Less of the process is no mistake where the budget is tight, for the kernel may
 * have taken code back, nor where shared libraries' code was guessed. */
static void check_prediction(struct session *s, const struct mafat_run_report *r)
{
#ifdef __SANITIZE_ADDRESS__
  return; /* its shadow grows with every access */
#endif
  const struct mafat_model *m = s->model;
  size_t predicted = (size_t)r->predicted_resident_bytes, measured = (size_t)r->measured_resident_bytes;
  if (measured == 0 || mafat_predict_holds(predicted, measured)) return;
  size_t arena = m->choice.layout->total_bytes;
  long long off = (long long)predicted - (long long)measured;
  long long arena_off = (long long)arena - (long long)mafat_process_resident_bytes_of(mafat_executor_arena(m->executor), arena);
  bool below = off < 0, in_arena = !below && 2 * arena_off > off;
  if (!below && !in_arena && (is_tight(s) || !mafat_process_is_static())) return;
  if (in_arena && m->choice.plan->n_threads > mafat_process_processors()) return; /* threads that found no work */
  char text[200];
  snprintf(text, sizeof text, "%zu bytes are resident, %zu were predicted: the %s takes %lld bytes %s than predicted", measured,
           predicted, in_arena ? "arena" : "process", below ? -off : in_arena ? arena_off : off - arena_off, below ? "more" : "less");
  print_warning(s, text);
}

/* Runs and prints one picture; returns an exit status. */
static int run_image(struct session *s, const char *path)
{
  struct mafat_detections *detections = NULL;
  struct mafat_class_score top[MAFAT_CLASSIFY_TOP];
  struct mafat_run_report report;
  struct measurement m = {.faults = mafat_process_major_faults()};
  bool running = false;
  mafat_process_swap_bytes(&m.swap_in, &m.swap_out);
  int code = infer(s, path, &m, &running);
  if (code) return running ? EXIT_RUNNING : exit_status(code);
  mafat_process_trim_heap(); /* of what the picture's decoder left */
  fill_report(s, path, &m, &report);
  if ((code = find_answers(s, &report, &detections, top))) {
    mafat_detections_close(&detections);
    return code == MAFAT_ELIMIT ? EXIT_DOES_NOT_FIT : EXIT_RUNNING;
  }
  report.total_ms = mafat_process_now_ms() - s->start_ms;
  code = s->options.json ? mafat_output_run_json(&report, &s->out) : mafat_output_run_text(&report, &s->out);
  if (code) mafat_fail(&s->d, code, "cannot write to standard output: %s", strerror(s->out.error));
  if (code == MAFAT_OK && s->options.report) code = print_table(s);
  if (code == MAFAT_OK && s->options.dump_output) code = dump_output(s);
  if (code == MAFAT_OK && s->options.marks) code = mafat_marks_end(&s->marks, &s->d);
  if (code == MAFAT_OK && !s->options.json && !s->options.quiet) print_memory_note(s, &report);
  if (code == MAFAT_OK) check_prediction(s, &report);
  mafat_detections_close(&detections);
  return code ? EXIT_RUNNING : 0;
}

/* ---- all pictures ---- */

/* The worst of several pictures' statuses: a bad picture is bad input. */
static int merge_status(int all, int one, bool single)
{
  if (one == 0) return all;
  if (single || one == EXIT_RUNNING) return one;
  return all == EXIT_RUNNING ? all : EXIT_INPUT;
}

static int run_and_tell(struct session *s, const char *path)
{
  int status = run_image(s, path);
  if (status == 0) return 0;
  if (s->options.json) mafat_output_error_json(path, s->d.text, status, &s->out);
  complain(s->d.text);
  return status;
}

/* Paths from standard input, one a line. */
static int run_list(struct session *s, int status)
{
  char *line = NULL;
  size_t room = 0;
  ssize_t length;
  while ((length = getline(&line, &room, stdin)) > 0) {
    if (line[length - 1] == '\n') line[--length] = '\0';
    if (length > 0) status = merge_status(status, run_and_tell(s, line), false);
    if (s->out.error) break;
  }
  if (ferror(stdin)) {
    fprintf(stderr, "run_inference: standard input: cannot read the list: %s\n", strerror(errno));
    status = merge_status(status, EXIT_INPUT, false);
  }
  free(line);
  return status;
}

static int run_all(struct session *s)
{
  const struct mafat_options *o = &s->options;
  if (o->input) return run_and_tell(s, o->input);
  int status = 0;
  for (int i = 0; i < o->n_images && !s->out.error; i++) {
    if (o->n_images > 1 && !o->quiet && isatty(STDERR_FILENO))
      fprintf(stderr, "\r[%d/%d] ", i + 1, o->n_images);
    if (strcmp(o->images[i], "-") == 0) status = run_list(s, status);
    else status = merge_status(status, run_and_tell(s, o->images[i]), o->n_images == 1);
  }
  return status;
}

/* ---- --predict: nothing is run ---- */

/* What does not fit is told, and why the exit status is not 0. */
static int answer_one(struct session *s, const struct mafat_query *q)
{
  struct mafat_answer a;
  int code = mafat_query_answer(&a, q, s->options.paper, &s->d);
  if (code == MAFAT_OK) {
    s->answered = true;
    code = s->options.json ? mafat_query_write_json(q, &a, &s->out) : mafat_query_write_text(q, &a, &s->out);
    if (code == MAFAT_OK && !a.choice.fits && !s->options.best_effort)
      code = mafat_choice_refuse(&a.choice, &q->request, &s->d); /* the answer stands */
  }
  mafat_answer_close(&a);
  return code;
}

static int answer_table(struct session *s, const struct mafat_query *q)
{
  struct mafat_options *o = &s->options;
  const struct mafat_candidate *least = &q->front->list[0];
  bool any;
  if (o->sweep && !o->n_sweep) o->n_sweep = mafat_query_budgets(q, o->sweep_bytes, MAFAT_SWEEP_SIZES);
  int code = o->sweep ? mafat_query_write_sweep(q, o->sweep_bytes, o->n_sweep, o->json, &s->out, &any, &s->d)
                      : mafat_query_write_front(q, o->json, &s->out, &any);
  if (code || any) return code;
  s->answered = true;
  size_t budget = o->sweep ? o->sweep_bytes[o->n_sweep - 1] : q->request.budget_bytes;
  return mafat_fail(&s->d, MAFAT_ELIMIT, "does not fit: plan %.160s needs %zu bytes, the %s is %zu bytes", least->text,
                    least->charge_bytes, o->sweep ? "largest budget" : "budget", budget);
}

/* Returns an exit status. */
static int predict(struct session *s)
{
  const struct mafat_options *o = &s->options;
  struct mafat_model_options m = model_options(s);
  struct mafat_query *query;
  int code = mafat_query_open(&query, o->cfg, o->weights, &m, &s->d);
  if (code == MAFAT_OK) code = o->sweep || o->pareto ? answer_table(s, query) : answer_one(s, query);
  mafat_query_close(&query);
  if (code == MAFAT_OK) return 0;
  int status = exit_status(code);
  if (s->out.error) {
    mafat_fail(&s->d, MAFAT_EIO, "cannot write to standard output: %s", strerror(s->out.error));
    status = EXIT_RUNNING;
  } else if (o->json && !s->answered) {
    mafat_output_error_json(picture_to_look_at(o), s->d.text, status, &s->out);
  }
  complain(s->d.text);
  return status;
}

/* ---- --calibrate ---- */

static void print_progress(void *context, double share)
{
  (void)context;
  fprintf(stderr, "\r[%3.0f %%] ", 100 * share);
}

/* Returns an exit status. */
static int calibrate(struct session *s)
{
  const struct mafat_options *o = &s->options;
  struct mafat_calibrate_options c;
  struct mafat_calibration found;
  char text[2048], path[MAFAT_CALIBRATION_PATH];
  mafat_calibrate_defaults(&c);
  c.memory_bytes = o->memory_bytes;
  c.progress = !o->quiet && isatty(STDERR_FILENO) ? print_progress : NULL;
  c.warnings = (struct mafat_warning_sink){print_warning, s};
  int code = mafat_calibrate(&found, mafat_kernels_find(o->cpu), &c, &s->d);
  if (c.progress) fputs("\r        \r", stderr);
  if (code == MAFAT_OK) code = mafat_calibration_store(&found, path, &s->d);
  if (code) {
    complain(s->d.text);
    return code == MAFAT_ELIMIT ? EXIT_DOES_NOT_FIT : EXIT_RUNNING;
  }
  mafat_calibrate_describe(&found, text, sizeof text);
  mafat_writer_put(&s->out, text);
  mafat_writer_put(&s->out, "kept in ");
  mafat_writer_put_plain(&s->out, path);
  mafat_writer_put(&s->out, "\n");
  if (mafat_writer_flush(&s->out, &s->d) == MAFAT_OK) return 0;
  complain(s->d.text);
  return EXIT_RUNNING;
}

int main(int argc, char **argv)
{
  static struct session s; /* large buffers: not on the stack */
  s.marks_fd = -1;
  s.start_ms = mafat_process_now_ms();
  signal(SIGPIPE, SIG_IGN); /* a closed pipe is a failed write, with a message */
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 128 << 10); /* fixed: what a decoder frees goes back at once */
#endif
  mafat_options_defaults(&s.options);
  mafat_writer_open(&s.out, STDOUT_FILENO);
  int code = mafat_options_read(&s.options, argc, argv, &s.d);
  if (code) {
    complain(s.d.text);
    return EXIT_INPUT;
  }
  if (s.options.show_help || s.options.show_version) {
    int said = fputs(s.options.show_help ? mafat_options_help : "run_inference " MAFAT_VERSION "\n", stdout);
    return said >= 0 && fflush(stdout) == 0 && !ferror(stdout) ? 0 : EXIT_RUNNING;
  }
  if (s.options.calibrate) return calibrate(&s);
  if (s.options.predict) return predict(&s);
  int status;
  code = open_session(&s);
  if (code) {
    status = exit_status(code);
    if (s.options.json) mafat_output_error_json(s.options.n_images ? s.options.images[0] : s.options.input, s.d.text, status, &s.out);
    complain(s.d.text);
  } else {
    status = run_all(&s);
  }
  close_session(&s);
  return status;
}
