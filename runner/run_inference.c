/* run_inference: runs a Darknet network on pictures inside a memory budget.
 * Read top to bottom: options, network, plan, weights, then picture by picture. */
#include "predictor/predict.h"
#include "runner/detect.h"
#include "runner/executor.h"
#include "runner/image.h"
#include "runner/options.h"
#include "runner/output.h"
#include "runner/process.h"
#include "search/coarse.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EXIT_RUNNING = 1, EXIT_INPUT = 2, EXIT_DOES_NOT_FIT = 3, PLAN_TEXT = 8192 };

/* Everything a run owns, from the options to the executor. */
struct session {
  struct mafat_options options;
  struct mafat_network *network;
  int n_layers;
  struct mafat_names *names;
  struct mafat_surroundings around;
  size_t budget_bytes;
  const char *budget_source;
  struct mafat_plan *plan;
  struct mafat_layout *layout;
  char plan_text[PLAN_TEXT];
  struct mafat_weights *weights;
  struct mafat_executor *executor;
  const struct mafat_kernels *kernels;
  double *latencies_ms; /* (repeat) */
  double start_ms, load_ms;
  struct mafat_writer out;
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

static void complain(const char *text)
{
  fprintf(stderr, "run_inference: %s\n", text);
}

static void print_warning(void *context, const char *text)
{
  const struct session *s = context;
  if (!s->options.quiet) fprintf(stderr, "run_inference: warning: %s\n", text);
}

/* ---- before the first picture ---- */

static struct mafat_image_input image_input(const struct mafat_network *n)
{
  return (struct mafat_image_input){n->input.w, n->input.h, n->input.c,
                                    n->letterbox ? MAFAT_FIT_LETTERBOX : MAFAT_FIT_STRETCH};
}

static size_t file_bytes(const char *path)
{
  struct stat st;
  return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? (size_t)st.st_size : 0;
}

static void surround_with_image(struct mafat_surroundings *around, const struct mafat_image *image,
                                const char *path)
{
  around->image_bytes = mafat_image_bytes(image);
  around->file_bytes = file_bytes(path);
}

/* The first picture's header says what decoding costs; a list that is still to
 * be read is taken for upright baseline JPEGs. A picture that cannot be opened
 * is only fatal where it is the only one. */
static int look_at_first_image(struct session *s)
{
  const struct mafat_options *o = &s->options;
  if (o->input) return MAFAT_OK;
  int channels = s->network->input.c;
  if (channels != 1 && channels != 3)
    return mafat_fail(&s->d, MAFAT_EUNSUPPORTED, "%s: expected a network of 1 or 3 input channels for pictures, found %d: use --input",
                      s->network->path, channels);
  struct mafat_image_input input = image_input(s->network);
  s->around.image_bytes = mafat_image_bytes_assumed(&input);
  if (strcmp(o->images[0], "-") == 0) return MAFAT_OK;
  struct mafat_image *image;
  int code = mafat_image_open(&image, o->images[0], &input, &s->d);
  if (code) return o->n_images == 1 ? code : MAFAT_OK;
  surround_with_image(&s->around, image, o->images[0]);
  mafat_image_close(&image);
  return MAFAT_OK;
}

static size_t charge_of(const struct session *s, const struct mafat_surroundings *around)
{
  struct mafat_prediction p;
  mafat_predict(&p, s->network, s->layout, around);
  return p.charge_bytes;
}

static int choose_plan(struct session *s)
{
  const struct mafat_options *o = &s->options;
  bool fits = true;
  int code;
  if (o->plan) {
    if ((code = mafat_plan_read(&s->plan, o->plan, s->network, s->n_layers, &s->d)) ||
        (code = mafat_layout_make(&s->layout, s->network, s->plan, &s->d)))
      return code;
  } else if ((code = mafat_search_coarse(&s->plan, &s->layout, &fits, s->network, s->n_layers,
                                         &s->around, s->budget_bytes, &s->d))) {
    return code;
  }
  size_t length = mafat_plan_write(s->plan, s->plan_text, sizeof s->plan_text);
  if (length >= sizeof s->plan_text) strcpy(s->plan_text + sizeof s->plan_text - 4, "...");
  size_t charge = charge_of(s, &s->around);
  if (charge <= s->budget_bytes || o->best_effort) return MAFAT_OK;
  return mafat_fail(&s->d, MAFAT_ELIMIT, "does not fit: plan %.80s needs %zu bytes, the budget (%s) is %zu bytes%s",
                    s->plan_text, charge, s->budget_source, s->budget_bytes,
                    o->plan ? "" : "; it is the smallest of the plans tried");
}

static int open_session(struct session *s)
{
  const struct mafat_options *o = &s->options;
  struct mafat_warning_sink warnings = {print_warning, s};
  int code;
  s->around.process_bytes = mafat_process_resident_bytes();
  s->kernels = mafat_kernels_find(o->cpu);
  if ((code = mafat_network_read(&s->network, o->cfg, &warnings, &s->d))) return code;
  s->n_layers = o->layers ? o->layers : s->network->n_layers;
  if (s->n_layers > s->network->n_layers)
    return mafat_fail(&s->d, MAFAT_EINVAL, "--layers expects at most %d for %s, found %d",
                      s->network->n_layers, o->cfg, s->n_layers);
  if (o->names && (code = mafat_names_read(&s->names, o->names, &s->d))) return code;
  if ((code = look_at_first_image(s))) return code;
  s->budget_bytes = o->memory_bytes;
  s->budget_source = "--memory";
  if (!s->budget_bytes) s->budget_bytes = mafat_process_budget(&s->budget_source);
  if ((code = choose_plan(s))) return code;
  double before = mafat_process_now_ms();
  if ((code = mafat_weights_open(&s->weights, o->weights, s->network, s->n_layers, &warnings, &s->d)))
    return code;
  s->load_ms = mafat_process_now_ms() - before;
  struct mafat_executor_options options;
  mafat_executor_defaults(&options);
  options.kernels = s->kernels;
  s->latencies_ms = calloc((size_t)o->repeat, sizeof *s->latencies_ms);
  if (!s->latencies_ms) return mafat_fail(&s->d, MAFAT_ENOMEM, "out of memory");
  return mafat_executor_open(&s->executor, s->network, s->plan, s->layout, s->weights, &options, &s->d);
}

static void close_session(struct session *s)
{
  mafat_executor_close(&s->executor);
  mafat_weights_close(&s->weights);
  mafat_layout_close(&s->layout);
  mafat_plan_close(&s->plan);
  mafat_names_close(&s->names);
  mafat_network_close(&s->network);
  free(s->latencies_ms);
}

/* ---- one picture ---- */

/* Raw floats, channel by channel, row by row, straight into the arena. */
static int read_raw_input(struct session *s)
{
  const char *path = s->options.input;
  struct mafat_shape in = s->network->input;
  size_t row_bytes = (size_t)in.w * sizeof(float), expected = row_bytes * (size_t)in.h * (size_t)in.c;
  int code = MAFAT_OK;
  float *row = malloc(row_bytes);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat st;
  if (!row) {
    code = mafat_fail(&s->d, MAFAT_ENOMEM, "%s: out of memory", path);
    goto done;
  }
  if (fd < 0 || fstat(fd, &st) != 0) {
    code = mafat_fail(&s->d, MAFAT_EIO, "%s: cannot open: %s", path, strerror(errno));
    goto done;
  }
  if (!S_ISREG(st.st_mode) || (size_t)st.st_size != expected) {
    code = mafat_fail(&s->d, MAFAT_EFORMAT, "%s: expected a file of %zu bytes (%d x %d x %d floats), found %lld",
                      path, expected, in.c, in.h, in.w, (long long)st.st_size);
    goto done;
  }
  for (int c = 0; c < in.c; c++)
    for (int y = 0; y < in.h; y++) {
      for (size_t got = 0; got < row_bytes;) {
        ssize_t n = read(fd, (char *)row + got, row_bytes - got);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
          code = mafat_fail(&s->d, MAFAT_EIO, "%s: cannot read: %s", path, n ? strerror(errno) : "it became shorter");
          goto done;
        }
        got += (size_t)n;
      }
      mafat_executor_set_input_row(s->executor, c, y, row);
    }
done:
  free(row);
  if (fd >= 0) close(fd);
  return code;
}

/* Decodes a picture into the arena; *info tells its size as seen. */
static int read_image(struct session *s, const char *path, struct mafat_image_info *info)
{
  struct mafat_image_input input = image_input(s->network);
  struct mafat_image *image;
  int code = mafat_image_open(&image, path, &input, &s->d);
  if (code) return code;
  struct mafat_surroundings around = s->around;
  surround_with_image(&around, image, path);
  *info = *mafat_image_describe(image);
  size_t charge = charge_of(s, &around);
  if (charge > s->budget_bytes && !s->options.best_effort) {
    code = mafat_fail(&s->d, MAFAT_ELIMIT, "%.200s: does not fit: decoding this picture needs %zu bytes in all, the budget (%s) is %zu bytes",
                      path, charge, s->budget_source, s->budget_bytes);
  } else if (s->layout->tensors[0].buffer >= 0) {
    struct mafat_image_target target;
    target.pixels = mafat_executor_input(s->executor, &target.row_stride);
    code = mafat_image_read(image, &target, &s->d);
  }
  mafat_image_close(&image);
  return code;
}

static float output_at(const void *context, int layer, int c, int y, int x)
{
  return mafat_executor_output_at(context, layer, c, y, x);
}

/* Writes the last layer's output; a failed file is removed. */
static int dump_output(struct session *s)
{
  const char *path = s->options.dump_output;
  int layer = s->n_layers - 1;
  struct mafat_shape out = s->network->layers[layer].out;
  FILE *file = fopen(path, "wb");
  if (!file) return mafat_fail(&s->d, MAFAT_EIO, "%s: cannot create: %s", path, strerror(errno));
  bool good = true;
  for (int c = 0; c < out.c && good; c++)
    for (int y = 0; y < out.h && good; y++)
      for (int x = 0; x < out.w && good; x++) {
        float value = mafat_executor_output_at(s->executor, layer, c, y, x);
        good = fwrite(&value, sizeof value, 1, file) == 1;
      }
  if (fclose(file) == 0 && good) return MAFAT_OK;
  int code = mafat_fail(&s->d, MAFAT_EIO, "%s: cannot write: %s", path, strerror(errno));
  unlink(path);
  return code;
}

static int compare_doubles(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Sorts a copy in place of the caller's order being kept: n is small. */
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
  double image_ms, layers_ms; /* of the last inference */
};

/* repeat times: picture, layers. MAFAT_EIO from here on is a failure of running. */
static int infer(struct session *s, const char *path, struct mafat_image_info *info,
                 struct measurement *m, bool *running)
{
  for (int i = 0; i < s->options.repeat; i++) {
    double before = mafat_process_now_ms();
    int code = s->options.input ? read_raw_input(s) : read_image(s, path, info);
    if (code) return code;
    *running = true;
    double between = mafat_process_now_ms();
    if ((code = mafat_executor_run(s->executor, &s->d))) return code;
    double after = mafat_process_now_ms();
    m->image_ms = between - before;
    m->layers_ms = after - between;
    s->latencies_ms[i] = after - before;
    *running = false;
  }
  return MAFAT_OK;
}

static void fill_report(const struct session *s, const char *path, const struct measurement *m,
                        struct mafat_run_report *r)
{
  struct mafat_prediction predicted;
  uint64_t swap_in, swap_out;
  mafat_predict(&predicted, s->network, s->layout, &s->around);
  mafat_process_swap_bytes(&swap_in, &swap_out);
  mafat_run_report_defaults(r);
  r->image = path;
  r->network_w = s->network->input.w;
  r->network_h = s->network->input.h;
  r->n_layers = s->n_layers;
  r->plan = s->plan_text;
  r->algorithm = "direct";
  r->cpu = s->kernels->name;
  r->threads = 1;
  r->memory_budget_bytes = s->budget_bytes > INT64_MAX ? -1 : (int64_t)s->budget_bytes;
  r->arena_bytes = (int64_t)s->layout->total_bytes;
  r->predicted_charge_bytes = (int64_t)predicted.charge_bytes;
  r->predicted_resident_bytes = (int64_t)predicted.resident_bytes;
  r->measured_resident_bytes = (int64_t)mafat_process_resident_bytes();
  r->vm_hwm_bytes = (int64_t)mafat_process_peak_bytes();
  r->load_ms = s->load_ms;
  r->image_ms = m->image_ms;
  r->layers_ms = m->layers_ms;
  r->latencies_ms = s->latencies_ms;
  r->n_latencies = s->options.repeat;
  r->latency_ms = median(s->latencies_ms, s->options.repeat);
  r->swap_in_bytes = (int64_t)(swap_in - m->swap_in);
  r->swap_out_bytes = (int64_t)(swap_out - m->swap_out);
  r->swap_scope = "system";
  r->major_faults = mafat_process_major_faults() - m->faults;
  r->weights_read_bytes = (int64_t)mafat_weights_bytes_read(s->weights);
  r->names = s->names;
}

static int find_answers(struct session *s, const struct mafat_image_info *info,
                        struct mafat_run_report *r, struct mafat_detections **detections,
                        struct mafat_class_score *top)
{
  struct mafat_detect_input in;
  mafat_detect_defaults(&in);
  in.at = output_at;
  in.context = s->executor;
  in.picture_w = info->width;
  in.picture_h = info->height;
  in.thresh = s->options.thresh;
  in.nms = s->options.nms;
  in.n_layers = s->n_layers;
  if (mafat_detect_has_head(s->network, s->n_layers)) {
    r->kind = MAFAT_RUN_DETECTS;
    int code = mafat_detect(detections, s->network, &in, &s->d);
    r->detections = *detections;
    return code;
  }
  if (mafat_classify_layer(s->network, s->n_layers) < 0) return MAFAT_OK;
  r->kind = MAFAT_RUN_CLASSIFIES;
  r->classes = top;
  return mafat_classify(top, MAFAT_CLASSIFY_TOP, &r->n_classes, s->network, &in, &s->d);
}

/* ---- --report ---- */

static int64_t tensor_bytes(const struct session *s, int layer)
{
  const struct mafat_layout *l = s->layout;
  int tensor = l->tensors[layer + 1].buffer, scratch = l->scratch_buffers[layer];
  return (int64_t)((tensor < 0 ? 0 : l->buffers[tensor].bytes) + (scratch < 0 ? 0 : l->buffers[scratch].bytes));
}

static uint64_t whole_macs(const struct mafat_layer *l)
{
  return mafat_layer_macs(l, (uint64_t)l->out.h * (uint64_t)l->out.w);
}

static int print_table(struct session *s)
{
  size_t n = 0, room = (size_t)s->n_layers + (size_t)s->plan->n_groups + 1;
  struct mafat_report_row *rows = calloc(room, sizeof *rows);
  char(*texts)[64] = calloc(room, sizeof *texts);
  if (!rows || !texts) {
    free(rows);
    free(texts);
    return mafat_fail(&s->d, MAFAT_ENOMEM, "out of memory");
  }
  const double *ms = mafat_executor_layer_ms(s->executor);
  double total_ms = 0;
  for (int g = 0; g < s->plan->n_groups; g++) {
    const struct mafat_group *group = &s->plan->groups[g];
    struct mafat_report_row *head = &rows[n];
    snprintf(texts[n], sizeof *texts, "%dx%d tiles", group->n_rows, group->n_cols);
    *head = (struct mafat_report_row){MAFAT_ROW_GROUP, group->first, group->end - 1, texts[n], 0,
                                      (int64_t)s->layout->groups[g].macs,
                                      (int64_t)s->layout->groups[g].peak_bytes};
    n++;
    for (int l = group->first; l < group->end; l++) {
      const struct mafat_layer *layer = &s->network->layers[l];
      int length = snprintf(texts[n], sizeof *texts, "%s", mafat_layer_type_name(layer->type));
      if (layer->size > 0)
        snprintf(texts[n] + length, sizeof *texts - (size_t)length, " %dx%d", layer->size, layer->size);
      rows[n] = (struct mafat_report_row){MAFAT_ROW_LAYER, l, l, texts[n], ms[l],
                                          (int64_t)whole_macs(layer), tensor_bytes(s, l)};
      head->ms += ms[l];
      n++;
    }
    total_ms += head->ms;
  }
  rows[n++] = (struct mafat_report_row){MAFAT_ROW_TOTAL, 0, s->n_layers - 1, "arena", total_ms,
                                        (int64_t)s->layout->macs, (int64_t)s->layout->total_bytes};
  int code = mafat_output_table(rows, n, &s->out);
  free(rows);
  free(texts);
  return code ? mafat_fail(&s->d, code, "cannot write the report") : MAFAT_OK;
}

static void print_memory_note(const struct session *s, const struct mafat_run_report *r)
{
  fprintf(stderr, "plan %.120s, arena %.2f MB, weights %.2f MB; resident: predicted %.2f MB, measured %.2f MB; budget %.2f MB (%s)\n",
          s->plan_text, (double)s->layout->total_bytes / 1048576, (double)mafat_weights_bytes(s->weights) / 1048576,
          (double)r->predicted_resident_bytes / 1048576, (double)r->measured_resident_bytes / 1048576,
          (double)s->budget_bytes / 1048576, s->budget_source);
}

/* Runs and prints one picture; returns an exit status. */
static int run_image(struct session *s, const char *path)
{
  struct mafat_image_info info = {.width = s->network->input.w, .height = s->network->input.h};
  struct mafat_detections *detections = NULL;
  struct mafat_class_score top[MAFAT_CLASSIFY_TOP];
  struct mafat_run_report report;
  struct measurement m = {.faults = mafat_process_major_faults()};
  bool running = false;
  mafat_process_swap_bytes(&m.swap_in, &m.swap_out);
  int code = infer(s, path, &info, &m, &running);
  if (code) return running ? EXIT_RUNNING : exit_status(code);
  fill_report(s, path, &m, &report);
  if ((code = find_answers(s, &info, &report, &detections, top))) {
    mafat_detections_close(&detections);
    return EXIT_RUNNING;
  }
  report.total_ms = mafat_process_now_ms() - s->start_ms;
  code = s->options.json ? mafat_output_run_json(&report, &s->out) : mafat_output_run_text(&report, &s->out);
  if (code) mafat_fail(&s->d, code, "cannot write to standard output: %s", strerror(s->out.error));
  if (code == MAFAT_OK && s->options.report) code = print_table(s);
  if (code == MAFAT_OK && s->options.dump_output) code = dump_output(s);
  if (code == MAFAT_OK && !s->options.json && !s->options.quiet) print_memory_note(s, &report);
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

int main(int argc, char **argv)
{
  static struct session s; /* large buffers: not on the stack */
  s.start_ms = mafat_process_now_ms();
  signal(SIGPIPE, SIG_IGN); /* a closed pipe is a failed write, with a message */
  mafat_options_defaults(&s.options);
  mafat_writer_open(&s.out, STDOUT_FILENO);
  int code = mafat_options_read(&s.options, argc, argv, &s.d);
  if (code) {
    complain(s.d.text);
    return EXIT_INPUT;
  }
  if (s.options.show_help || s.options.show_version) {
    fputs(s.options.show_help ? mafat_options_help : "run_inference " MAFAT_VERSION "\n", stdout);
    return fflush(stdout) == 0 ? 0 : EXIT_RUNNING;
  }
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
