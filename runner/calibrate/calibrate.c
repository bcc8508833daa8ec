/* Measures this machine: runs small networks under all kinds of plans, fits prices (nanoseconds for
 * each kind of work) to the times, and measures threads, disk and loading. Called through
 * include/mafat.h by programs/run_inference/calibrate.c (`run_inference --calibrate`). Writes
 * temporary files and the result into the cache folder. While it measures, it handles signals that
 * end the program, to remove the temporary files. Allocates and maps memory, and frees it. */
#include "runner/calibrate/calibrate.h"

#include "base/mebibytes.h"

#include "predictor/cost/latency.h"
#include "predictor/planning/planning.h"
#include "predictor/cost/predict.h"
#include "predictor/cost/work.h"
#include "runner/os/budget.h"
#include "runner/os/groups.h"
#include "runner/calibrate/calibrate_file.h"
#include "runner/calibrate/calibrate_fit.h"
#include "runner/calibrate/calibrate_networks.h"
#include "runner/calibrate/disk.h"
#include "runner/engine/executor.h"
#include "runner/weights/packer.h"
#include "runner/os/process.h"
#include "runner/weights/reads.h"
#include "base/sized.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MOST_ROUNDS = 15, LEAST_ROUNDS = 3 };
/* if a run's median time divided by its least time is above this, the machine has other load */
static const double BUSY = 1.1;

/* Plans that each network runs under: every kind of group, and both algorithms (direct,
 * Winograd). */
static const struct {
  enum mafat_algorithm algorithm;
  const char *plan;
} plans[] = {{MAFAT_AUTO, "1x1/NoCut"},     {MAFAT_DIRECT, "1x1/NoCut"},
             {MAFAT_AUTO, "panels/NoCut"},  {MAFAT_AUTO, "rows1/NoCut"},
             {MAFAT_AUTO, "rows4/NoCut"},   {MAFAT_AUTO, "rows16/NoCut"},
             {MAFAT_DIRECT, "rows2/NoCut"}, {MAFAT_AUTO, "2x2/NoCut"},
             {MAFAT_DIRECT, "4x4/NoCut"}};

_Static_assert(sizeof(((struct mafat_calibration_facts *)0)->path) == MAFAT_CALIBRATION_PATH,
               "path has MAFAT_CALIBRATION_PATH bytes");

enum { N_PLANS = sizeof plans / sizeof *plans };

/* ---- temporary files ---- */

enum { DARKNET_FILE, PACKED_FILE, N_FILES };

/* Paths of the temporary files, for the signal handler; "": the file does not exist. */
static char temporary[N_FILES][MAFAT_CALIBRATION_PATH + 32];
static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU};
enum { N_SIGNALS = sizeof ending_signals / sizeof *ending_signals };

static void remove_files(void)
{
  for (int i = 0; i < N_FILES; i++)
    if (temporary[i][0]) unlink(temporary[i]);
}

static void give_up(int signal_number)
{
  remove_files();
  _exit(128 + signal_number);
}

static int open_file(int which, const char *folder, int *fd, struct mafat_diagnostic *d)
{
  char *name = temporary[which];
  snprintf(name, sizeof temporary[which], "%s/calibrating-%ld-%d", folder, (long)getpid(), which);
  unlink(name); /* left by a killed process with the same id */
  *fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (*fd >= 0) return MAFAT_OK;
  int code = mafat_fail(d, MAFAT_EIO, "%s: cannot write: %s", name, strerror(errno));
  name[0] = '\0';
  return code;
}

static void remove_file(int which)
{
  if (temporary[which][0]) unlink(temporary[which]);
  temporary[which][0] = '\0';
}

/* ---- networks and their plans ---- */

/* A plan under which a network is measured, and the measured times. */
struct calibration_run {
  struct mafat_plan *plan;
  struct mafat_layout *layout;
  struct mafat_executor *executor;
  double *layer_ns; /* [round][layer] */
};

/* A network that is measured, with a run for each of its plans. */
struct subject {
  struct mafat_network *network;
  struct mafat_weights *weights;
  struct calibration_run runs[N_PLANS];
  int n_runs;
};

struct bench {
  const struct mafat_kernels *kernels;
  const struct mafat_calibrate_options *options;
  struct mafat_calibration *calibration;
  struct mafat_calibrate_scale scale;
  struct subject subjects[MAFAT_CALIBRATE_NETWORKS];
  float *input; /* for the largest network */
  int n_rounds;
  char folder[MAFAT_CALIBRATION_PATH];
};

static void show_progress(const struct bench *b, double share)
{
  if (b->options->progress) b->options->progress(b->options->context, share);
}

static void close_run(struct calibration_run *r)
{
  mafat_executor_close(&r->executor);
  mafat_layout_close(&r->layout);
  mafat_plan_close(&r->plan);
  free(r->layer_ns);
  *r = (struct calibration_run){0};
}

static void close_subject(struct subject *s)
{
  for (int i = 0; i < s->n_runs; i++) close_run(&s->runs[i]);
  mafat_weights_close(&s->weights);
  mafat_network_close(&s->network);
  *s = (struct subject){0};
}

static int plan_run(struct calibration_run *r, const struct mafat_network *n, const char *text,
                    const struct mafat_plan_options *options, struct mafat_diagnostic *d)
{
  int code = mafat_plan_read(&r->plan, text, n, n->n_layers, options, d);
  return code ? code : mafat_layout_make(&r->layout, n, r->plan, d);
}

static int open_executor(const struct bench *b, struct calibration_run *r,
                         const struct mafat_network *n, struct mafat_weights *weights,
                         struct mafat_diagnostic *d)
{
  struct mafat_executor_options options;
  mafat_executor_defaults(&options);
  options.kernels = b->kernels;
  int code = mafat_executor_open(&r->executor, n, r->plan, r->layout, weights, &options, d);
  if (code == MAFAT_OK) mafat_executor_set_input(r->executor, b->input);
  return code;
}

static int plan_subject(struct bench *b, struct subject *s, int number, struct mafat_diagnostic *d)
{
  int code = mafat_calibrate_network(&s->network, number, b->scale, d);
  for (int i = 0; code == MAFAT_OK && i < N_PLANS; i++) {
    struct mafat_plan_options options;
    mafat_plan_defaults(&options);
    options.algorithm = plans[i].algorithm;
    code = plan_run(&s->runs[s->n_runs++], s->network, plans[i].plan, &options, d);
    if (code == MAFAT_EINVAL) { /* more tiles than the smallest map has pixels */
      close_run(&s->runs[--s->n_runs]);
      code = MAFAT_OK;
    }
  }
  return code;
}

/* Returns the bytes that all networks need together, because all are open while one after the other
 * runs. */
static size_t bytes_of(const struct bench *b)
{
  size_t bytes = 0, input = 0;
  for (int i = 0; i < MAFAT_CALIBRATE_NETWORKS; i++) {
    const struct subject *s = &b->subjects[i];
    bytes += s->runs[0].layout->kept_bytes;
    for (int r = 0; r < s->n_runs; r++) bytes += s->runs[r].layout->total_bytes;
    size_t floats = (size_t)mafat_shape_elements(mafat_network_picture_shape(s->network));
    if (input < floats) input = floats;
  }
  return bytes + input * sizeof(float);
}

static void close_subjects(struct bench *b)
{
  for (int i = 0; i < MAFAT_CALIBRATE_NETWORKS; i++) close_subject(&b->subjects[i]);
}

static int plan_subjects(struct bench *b, struct mafat_diagnostic *d)
{
  int code = MAFAT_OK;
  for (int i = 0; code == MAFAT_OK && i < MAFAT_CALIBRATE_NETWORKS; i++)
    code = plan_subject(b, &b->subjects[i], i, d);
  return code;
}

/* Chooses the largest networks that leave half of the memory free, with sides divided by at least
 * least_extent. */
static int choose_scale(struct bench *b, int least_extent, struct mafat_diagnostic *d)
{
  static const struct mafat_calibrate_scale scales[] = {{1, 1}, {2, 1}, {2, 2}, {4, 2}, {4, 4}};
  struct mafat_budget found = {.bytes = b->options->memory_bytes};
  if (!found.bytes) mafat_budget_find(&found, "");
  size_t budget = found.bytes, bytes = 0;
  for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
    if (scales[i].extent < least_extent) continue;
    close_subjects(b);
    b->scale = scales[i];
    int code = plan_subjects(b, d);
    if (code) return code;
    if ((bytes = bytes_of(b)) > budget / 2) continue;
    if (scales[i].channels > 1 || scales[i].extent > least_extent)
      mafat_warn(&b->options->warnings,
                 "little memory: measured with smaller networks, in %.1f MiB",
                 mafat_mebibytes(bytes));
    return MAFAT_OK;
  }
  return mafat_fail(d, MAFAT_ELIMIT, "calibrating needs %.1f MiB of memory, available are %.1f MiB",
                    mafat_mebibytes_up(2 * bytes), mafat_mebibytes_down(budget));
}

static int write_darknet(struct bench *b, const struct mafat_network *n, struct mafat_diagnostic *d)
{
  int fd, code = open_file(DARKNET_FILE, b->folder, &fd, d);
  if (code) return code;
  code = mafat_calibrate_write_weights(n, fd, d);
  if (close(fd) != 0 && code == MAFAT_OK)
    code =
        mafat_fail(d, MAFAT_EIO, "%s: cannot write: %s", temporary[DARKNET_FILE], strerror(errno));
  return code;
}

static int open_subject(struct bench *b, struct subject *s, struct mafat_diagnostic *d)
{
  int code = write_darknet(b, s->network, d);
  if (code == MAFAT_OK)
    code = mafat_weights_open_kept(&s->weights, temporary[DARKNET_FILE], s->network,
                                   s->network->n_layers, NULL, d);
  remove_file(DARKNET_FILE);
  for (int i = 0; code == MAFAT_OK && i < s->n_runs; i++) {
    struct calibration_run *r = &s->runs[i];
    r->layer_ns = calloc((size_t)MOST_ROUNDS * (size_t)s->network->n_layers, sizeof *r->layer_ns);
    code = r->layer_ns ? open_executor(b, r, s->network, s->weights, d)
                       : mafat_fail(d, MAFAT_ENOMEM, "calibration: out of memory");
  }
  return code;
}

static int open_subjects(struct bench *b, struct mafat_diagnostic *d)
{
  size_t most = 0;
  for (int i = 0; i < MAFAT_CALIBRATE_NETWORKS; i++) {
    struct mafat_shape in = mafat_network_picture_shape(b->subjects[i].network);
    size_t floats = (size_t)in.h * (size_t)in.w * (size_t)in.c;
    if (most < floats) most = floats;
  }
  b->input = malloc(most * sizeof *b->input);
  if (!b->input) return mafat_fail(d, MAFAT_ENOMEM, "calibration: out of memory");
  for (size_t i = 0; i < most; i++)
    b->input[i] = (float)((uint32_t)i * 2654435761u >> 8) / 16777216.0f;
  int code = MAFAT_OK;
  for (int i = 0; code == MAFAT_OK && i < MAFAT_CALIBRATE_NETWORKS; i++)
    code = open_subject(b, &b->subjects[i], d);
  return code;
}

/* ---- kernels ---- */

/* Runs every network under every plan once, and records the layers' times. Round -1 is a warm-up,
 * which is not recorded. */
static int run_round(struct bench *b, int round, struct mafat_diagnostic *d)
{
  for (int i = 0; i < MAFAT_CALIBRATE_NETWORKS; i++) {
    struct subject *s = &b->subjects[i];
    size_t n = (size_t)s->network->n_layers;
    for (int r = 0; r < s->n_runs; r++) {
      int code = mafat_executor_run(s->runs[r].executor, d);
      if (code) return code;
      const double *ms = mafat_executor_layer_ms(s->runs[r].executor);
      for (size_t l = 0; round >= 0 && l < n; l++)
        s->runs[r].layer_ns[(size_t)round * n + l] = ms[l] * 1e6;
    }
  }
  return MAFAT_OK;
}

static int compare(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Runs as many rounds as the given seconds allow, but at least LEAST_ROUNDS. */
static int run_rounds(struct bench *b, struct mafat_diagnostic *d)
{
  double begin = mafat_process_now_ms(), end = begin + b->options->seconds * 1e3, longest;
  int code = run_round(b, -1, d);
  longest = mafat_process_now_ms() - begin;
  for (b->n_rounds = 0; code == MAFAT_OK && b->n_rounds < MOST_ROUNDS; b->n_rounds++) {
    double now = mafat_process_now_ms();
    show_progress(b, 0.1 + 0.7 * (now < end ? (now - begin) / (end - begin) : 1));
    if (b->n_rounds >= LEAST_ROUNDS && now + longest > end) break;
    code = run_round(b, b->n_rounds, d);
  }
  return code;
}

/* Returns the median. */
static double typical(const double *values, int n)
{
  double sorted[MOST_ROUNDS];
  memcpy(sorted, values, (size_t)n * sizeof *sorted);
  qsort(sorted, (size_t)n, sizeof *sorted, compare);
  return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/* Chooses the fastest third of a run's rounds, because other load only makes runs slower. Returns
 * their number. *busy: the median time divided by the least time. */
static int choose_rounds(const struct calibration_run *r, int n_rounds, size_t n_layers,
                         int *chosen, double *busy)
{
  double sums[MOST_ROUNDS], sorted[MOST_ROUNDS];
  int n = 0, wanted = (n_rounds + 2) / 3;
  for (int i = 0; i < n_rounds; i++) {
    sums[i] = 0;
    for (size_t l = 0; l < n_layers; l++) sums[i] += r->layer_ns[(size_t)i * n_layers + l];
    sorted[i] = sums[i];
  }
  qsort(sorted, (size_t)n_rounds, sizeof *sorted, compare);
  for (int i = 0; i < n_rounds && n < wanted; i++)
    if (sums[i] <= sorted[wanted - 1]) chosen[n++] = i;
  *busy = sorted[n_rounds / 2] / sorted[0];
  return n;
}

/* Measurements for the fit: a sample for each layer of each run. */
struct samples {
  double *counts, *ns; /* (n, MAFAT_N_TERMS): amounts of work; (n): nanoseconds */
  size_t n;
  double busy[MAFAT_CALIBRATE_NETWORKS * N_PLANS]; /* (n_runs): median time / least time */
  int n_runs;
};

/* Adds a sample for each layer of a run: its amounts of work, and its median time in the rounds
 * that choose_rounds chooses. */
static int add_samples(struct samples *samples, const struct bench *b, const struct subject *s,
                       const struct calibration_run *r)
{
  size_t n_layers = (size_t)s->network->n_layers;
  struct mafat_work *work = calloc(n_layers, sizeof *work);
  struct mafat_work_context context;
  struct mafat_schedule *schedule = NULL;
  struct mafat_step step;
  int chosen[MOST_ROUNDS], n_chosen;
  double values[MOST_ROUNDS];
  int code = work ? mafat_schedule_open(&schedule, s->network, r->plan) : MAFAT_ENOMEM;
  if (code == MAFAT_OK) {
    mafat_work_open(&context, s->network, r->plan, r->layout, b->calibration);
    mafat_schedule_rewind(schedule);
    while (mafat_schedule_next(schedule, &step))
      if (step.kind != MAFAT_STEP_INPUT) mafat_work_add_step(&context, &step, &work[step.layer]);
    n_chosen = choose_rounds(r, b->n_rounds, n_layers, chosen, &samples->busy[samples->n_runs++]);
    for (size_t l = 0; l < n_layers; l++) {
      if (work[l].n[MAFAT_TERM_STEP] == 0) continue;
      memcpy(samples->counts + samples->n * MAFAT_N_TERMS, work[l].n, sizeof work[l].n);
      for (int i = 0; i < n_chosen; i++) values[i] = r->layer_ns[(size_t)chosen[i] * n_layers + l];
      samples->ns[samples->n++] = typical(values, n_chosen);
    }
  }
  mafat_schedule_close(&schedule);
  free(work);
  return code;
}

static int fit(struct bench *b, struct mafat_diagnostic *d)
{
  struct samples samples = {.n = 0};
  size_t most = 0;
  for (int i = 0; i < MAFAT_CALIBRATE_NETWORKS; i++)
    most += (size_t)b->subjects[i].n_runs * (size_t)b->subjects[i].network->n_layers;
  samples.counts = malloc(most * MAFAT_N_TERMS * sizeof *samples.counts);
  samples.ns = malloc(most * sizeof *samples.ns);
  int code = samples.counts && samples.ns ? MAFAT_OK : MAFAT_ENOMEM;
  for (int i = 0; code == MAFAT_OK && i < MAFAT_CALIBRATE_NETWORKS; i++)
    for (int r = 0; code == MAFAT_OK && r < b->subjects[i].n_runs; r++)
      code = add_samples(&samples, b, &b->subjects[i], &b->subjects[i].runs[r]);
  if (code == MAFAT_OK)
    code = mafat_fit_prices(samples.n, MAFAT_N_TERMS, samples.counts, samples.ns,
                            b->calibration->ns, &b->calibration->fit_error);
  qsort(samples.busy, (size_t)samples.n_runs, sizeof *samples.busy, compare);
  if (code == MAFAT_OK && samples.busy[samples.n_runs / 2] > BUSY)
    mafat_warn(
        &b->options->warnings,
        "the machine was busy: typical runs took %.0f %% longer than the fastest ones",
        (samples.busy[samples.n_runs / 2] - 1) * 100);
  free(samples.counts);
  free(samples.ns);
  return code ? mafat_fail(d, code, "calibration: out of memory") : MAFAT_OK;
}

/* ---- threads ---- */

/* Measures how much longer a step takes because several threads share it: runs small steps with two
 * threads, and subtracts the predicted time. Does nothing if there is one processor. */
static int measure_threads(struct bench *b, struct mafat_diagnostic *d)
{
  enum { NETWORK = 3 };
  struct subject *s = &b->subjects[NETWORK];
  struct calibration_run r = {0};
  struct mafat_latency latency;
  struct mafat_plan_options options;
  struct mafat_schedule *schedule = NULL;
  struct mafat_step step;
  double ms[MOST_ROUNDS], n_steps = 0;
  if (mafat_groups_processors(mafat_process_processors(), "") < 2) return MAFAT_OK;
  mafat_plan_defaults(&options);
  options.n_threads = 2;
  int code = plan_run(&r, s->network, "rows2/NoCut", &options, d);
  if (code == MAFAT_OK) code = open_executor(b, &r, s->network, s->weights, d);
  for (int i = -2; code == MAFAT_OK && i < MOST_ROUNDS; i++) {
    double before = mafat_process_now_ms();
    code = mafat_executor_run(r.executor, d);
    if (i >= 0) ms[i] = mafat_process_now_ms() - before - mafat_executor_input_ms(r.executor);
  }
  b->calibration->thread_step_ns = 0;
  if (code == MAFAT_OK &&
      (mafat_schedule_open(&schedule, s->network, r.plan) ||
       mafat_latency_predict(&latency, s->network, r.plan, r.layout, b->calibration)))
    code = mafat_fail(d, MAFAT_ENOMEM, "calibration: out of memory");
  if (code == MAFAT_OK) {
    mafat_schedule_rewind(schedule);
    while (mafat_schedule_next(schedule, &step)) n_steps += step.kind != MAFAT_STEP_INPUT;
    double more = (typical(ms, MOST_ROUNDS) - latency.total_ms) * 1e6 / n_steps;
    b->calibration->thread_step_ns = more > 0 ? more : 0;
  }
  mafat_schedule_close(&schedule);
  close_run(&r);
  return code;
}

/* ---- disk ---- */

enum { READ_BYTES = MAFAT_DISK_READ_BYTES, LONE_READS = 24, DISK_PASSES = 4 };

/* Measures the nanoseconds of a read that is submitted when no other is pending. Reads at scattered
 * offsets; *ns is the median. */
static int read_alone(struct mafat_read_queue *reads, char *memory, double *ns,
                      struct mafat_diagnostic *d)
{
  uint64_t n = mafat_read_queue_file_bytes(reads) / READ_BYTES;
  double all[LONE_READS];
  for (uint64_t i = 0; i < LONE_READS; i++) {
    double before = mafat_process_now_ms();
    int code = mafat_read_queue_submit(reads, 0, memory, READ_BYTES, i * 7 % n * READ_BYTES, d);
    if (code == MAFAT_OK) code = mafat_read_queue_wait(reads, 0, d);
    if (code) return code;
    all[i] = (mafat_process_now_ms() - before) * 1e6;
  }
  qsort(all, LONE_READS, sizeof *all, compare);
  *ns = all[LONE_READS / 2];
  return MAFAT_OK;
}

static int measure_disk(struct bench *b, const char *path, struct mafat_diagnostic *d)
{
  struct mafat_read_queue *reads = NULL;
  struct mafat_calibration *c = b->calibration;
  struct mafat_disk_pass pass;
  double byte_ns[DISK_PASSES], read_ns[DISK_PASSES], alone = 0;
  int code = mafat_read_queue_open(&reads, path, MAFAT_READS_AUTO, d);
  if (code) return code;
  char *memory =
      mmap(NULL, MAFAT_DISK_ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) code = mafat_fail(d, MAFAT_ENOMEM, "calibration: out of memory");
  bool enough = mafat_read_queue_file_bytes(reads) >= MAFAT_DISK_LEAST_BYTES;
  for (int i = 0; code == MAFAT_OK && enough && i < DISK_PASSES; i++) {
    code = mafat_disk_read_in_a_row(&pass, reads, memory, UINT64_MAX, INFINITY, d);
    byte_ns[i] = pass.byte_ns;
    read_ns[i] = pass.read_ns;
  }
  if (code == MAFAT_OK && enough) code = read_alone(reads, memory, &alone, d);
  if (code == MAFAT_OK && enough) {
    c->disk_ns = typical(byte_ns, DISK_PASSES);
    c->read_ns = typical(read_ns, DISK_PASSES);
    c->disk_wait_ns = alone > READ_BYTES * c->disk_ns ? alone - READ_BYTES * c->disk_ns : 0;
  }
  mafat_read_queue_close(&reads); /* before munmap: it waits for pending reads into the memory */
  if (memory != MAP_FAILED) munmap(memory, MAFAT_DISK_ROOM);
  return code;
}

/* Measures the processor time, in nanoseconds, of loading a byte of weights: the processor time of
 * a run that loads all weights, minus that of a run with kept weights and that of the reads. */
static int measure_loading(struct bench *b, struct subject *s, const char *path, bool packed,
                           double *ns, struct mafat_diagnostic *d)
{
  enum { RUNS = 5 };
  struct calibration_run r = {0};
  struct mafat_weights *weights = NULL;
  struct mafat_plan_options options;
  double loaded[RUNS], kept[RUNS];
  mafat_plan_defaults(&options);
  options.packed = packed;
  int code = plan_run(&r, s->network, "1x1:loaded/NoCut", &options, d);
  if (code == MAFAT_OK)
    code = mafat_weights_open(&weights, path, s->network, r.plan, r.layout, NULL, NULL, d);
  if (code == MAFAT_OK) code = open_executor(b, &r, s->network, weights, d);
  for (int i = -1; code == MAFAT_OK && i < RUNS; i++) {
    double begin = mafat_disk_processor_ns();
    code = mafat_executor_run(r.executor, d);
    double middle = mafat_disk_processor_ns();
    if (code == MAFAT_OK) code = mafat_executor_run(s->runs[0].executor, d);
    if (i < 0) continue;
    loaded[i] = middle - begin;
    kept[i] = mafat_disk_processor_ns() - middle;
  }
  if (code == MAFAT_OK && r.layout->bytes_read > 0) {
    double bytes = (double)r.layout->bytes_read, more = typical(loaded, RUNS) - typical(kept, RUNS);
    more -= bytes / READ_BYTES * b->calibration->read_ns;
    *ns = more > 0 ? more / bytes : 0;
  }
  close_run(&r);
  mafat_weights_close(&weights);
  return code;
}

/* Measures reading and loading of files. If this fails, for example because the disk is full, the
 * caller keeps the built-in values. */
static int measure_files(struct bench *b, struct mafat_diagnostic *d)
{
  struct subject *s = &b->subjects[0];
  int fd, code = write_darknet(b, s->network, d);
  if (code == MAFAT_OK && (code = open_file(PACKED_FILE, b->folder, &fd, d)) == MAFAT_OK) {
    code = mafat_packer_write(temporary[DARKNET_FILE], s->network, NULL, fd, temporary[PACKED_FILE],
                              d);
    fsync(fd);
    close(fd);
  }
  if (code == MAFAT_OK) code = measure_disk(b, temporary[PACKED_FILE], d);
  show_progress(b, 0.9);
  if (code == MAFAT_OK)
    code = measure_loading(b, s, temporary[PACKED_FILE], true, &b->calibration->copy_ns, d);
  if (code == MAFAT_OK)
    code = measure_loading(b, s, temporary[DARKNET_FILE], false, &b->calibration->pack_ns, d);
  remove_file(DARKNET_FILE);
  remove_file(PACKED_FILE);
  return code;
}

/* ---- complete calibration ---- */

/* Sets the sizes of the processor's caches; keeps the built-in sizes if the system reports none. */
static void find_caches(struct mafat_calibration *c)
{
  long near = 0, far = 0;
#ifdef _SC_LEVEL2_CACHE_SIZE
  near = sysconf(_SC_LEVEL2_CACHE_SIZE);
  far = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
  if (near >= 128 << 10 && near <= 4 << 20) c->near_bytes = (double)near;
  /* counts only 3/8 of the third level, because other processes share it */
  if (far >= 1 << 20) c->far_bytes = (double)far * 3 / 8;
  if (c->far_bytes > 12 << 20) c->far_bytes = 12 << 20;
  if (c->far_bytes < c->near_bytes) c->far_bytes = c->near_bytes;
}

/* Finds by how much the sides of the networks' pictures must be divided at least: 1, or more for a
 * slow processor. Makes a trial run, which takes 2 ms on an ordinary machine. */
static int find_speed(struct bench *b, int *least_extent, struct mafat_diagnostic *d)
{
  enum { NETWORK = 3 };
  struct subject s = {0};
  b->scale = (struct mafat_calibrate_scale){1, 1};
  int code = plan_subject(b, &s, NETWORK, d);
  if (code == MAFAT_OK) {
    struct mafat_shape in = mafat_network_picture_shape(s.network);
    b->input = calloc((size_t)in.h * (size_t)in.w * (size_t)in.c, sizeof *b->input);
    code = b->input ? open_subject(b, &s, d)
                    : mafat_fail(d, MAFAT_ENOMEM, "calibration: out of memory");
  }
  double ms = 0;
  for (int i = 0; code == MAFAT_OK && i < 2; i++) {
    double before = mafat_process_now_ms();
    code = mafat_executor_run(s.runs[1].executor, d);
    ms = mafat_process_now_ms() - before;
  }
  *least_extent = ms < 5 ? 1 : ms < 20 ? 2 : 4;
  close_subject(&s);
  free(b->input);
  b->input = NULL;
  return code;
}

static int measure(struct bench *b, struct mafat_diagnostic *d)
{
  int least_extent = 1, code = mafat_calibration_folder(b->folder, sizeof b->folder, true, d);
  find_caches(b->calibration);
  if (code == MAFAT_OK) code = find_speed(b, &least_extent, d);
  if (code == MAFAT_OK) code = choose_scale(b, least_extent, d);
  show_progress(b, 0.05);
  if (code == MAFAT_OK) code = open_subjects(b, d);
  show_progress(b, 0.1);
  if (code == MAFAT_OK) code = run_rounds(b, d);
  if (code == MAFAT_OK) code = fit(b, d);
  show_progress(b, 0.8);
  if (code == MAFAT_OK) code = measure_threads(b, d);
  if (code == MAFAT_OK && measure_files(b, d) != MAFAT_OK)
    mafat_warn(&b->options->warnings, "%s; using the built-in values for the disk", d->text);
  show_progress(b, 1);
  return code;
}

int mafat_calibrate_measure(struct mafat_calibration *out, const struct mafat_kernels *kernels,
                            const struct mafat_calibrate_options *options,
                            struct mafat_diagnostic *d)
{
  struct mafat_diagnostic own;
  struct sigaction ending = {.sa_handler = give_up}, before[N_SIGNALS];
  mafat_calibration_defaults(out, kernels->name);
  mafat_calibration_choose_integers(out);
  struct bench *b = calloc(1, sizeof *b);
  if (!b) return mafat_fail(d, MAFAT_ENOMEM, "calibration: out of memory");
  b->kernels = kernels;
  b->options = options;
  b->calibration = out;
  for (int i = 0; i < N_SIGNALS; i++) sigaction(ending_signals[i], &ending, &before[i]);
  int code = measure(b, d ? d : &own);
  remove_file(DARKNET_FILE);
  remove_file(PACKED_FILE);
  for (int i = 0; i < N_SIGNALS; i++) sigaction(ending_signals[i], &before[i], NULL);
  close_subjects(b);
  free(b->input);
  free(b);
  out->measured = code == MAFAT_OK;
  if (code) mafat_calibration_defaults(out, kernels->name);
  return code;
}

/* ---- report ---- */

static double per(double ns, double n)
{
  return ns > 0 ? n / ns : 0;
}

/* Returns the nanoseconds of a multiply-add in a large layer, whose register tiles are full. taps:
 * multiply-adds for each sum; run: multiply-adds of a sum in each inner loop. */
static double product_ns(const struct mafat_calibration *c, enum mafat_term macs, double taps,
                         double run)
{
  double sums = (double)c->tile_pixels * c->tile_vectors * c->lanes;
  return c->ns[macs] +
         (c->ns[MAFAT_TERM_TAPS] + c->ns[MAFAT_TERM_RUNS] / run + c->ns[MAFAT_TERM_TILES] / taps) /
             sums;
}

void mafat_calibrate_describe(struct mafat_calibration_facts *f, const struct mafat_calibration *c)
{
  const double *ns = c->ns;
  double winograd = product_ns(c, MAFAT_TERM_WINOGRAD_MACS, 256, 16);
  *f = (struct mafat_calibration_facts){
      .conv_gflops = per(product_ns(c, MAFAT_TERM_CONV_MACS, 9 * 256, 48), 2),
      .point_gflops = per(product_ns(c, MAFAT_TERM_POINT_MACS, 256, 16), 2),
      .winograd_gflops = per(winograd, 2),
      .winograd_direct_gflops = per(winograd, 8),
      .depthwise_gflops = per(ns[MAFAT_TERM_DEPTHWISE_MACS], 2),
      .map_read_gbs = per(ns[MAFAT_TERM_READ_FAR] + ns[MAFAT_TERM_READ_COLD], 1),
      .map_write_gbs = per(ns[MAFAT_TERM_WRITTEN_FAR] + ns[MAFAT_TERM_WRITTEN_COLD], 1),
      .weights_gbs = per(ns[MAFAT_TERM_WEIGHTS_FAR] + ns[MAFAT_TERM_WEIGHTS_COLD], 1),
      .disk_gbs = per(c->disk_ns, 1),
      .disk_wait_us = c->disk_wait_ns * 1e-3,
      .read_us = c->read_ns * 1e-3,
      .packed_gbs = per(c->copy_ns, 1),
      .darknet_gbs = per(c->pack_ns, 1),
      .thread_step_us = c->thread_step_ns * 1e-3,
      .fit_error = c->fit_error};
  snprintf(f->cpu, sizeof f->cpu, "%s", c->cpu);
}

int mafat_calibrate(struct mafat_calibration_facts *out,
                    const struct mafat_calibrate_options *options, struct mafat_diagnostic *d)
{
  struct mafat_calibration found;
  struct mafat_calibration_facts f = {.fit_error = 0};
  struct mafat_calibrate_options o;
  int code = mafat_sized_take(&o, sizeof o, options, d);
  if (code) return code;
  if (mafat_sized_give(out, &f, sizeof f)) /* fail before the long measurement */
    return mafat_fail(d, MAFAT_EINVAL, "facts: expected .size = sizeof of their struct, found %zu",
                      out->size);
  const double usual_seconds = 20;
  if (o.seconds == 0) o.seconds = usual_seconds;
  const struct mafat_kernels *kernels = mafat_kernels_find(o.cpu);
  char path[MAFAT_CALIBRATION_PATH];
  if (!kernels)
    return mafat_fail(d, MAFAT_EINVAL, "expected a kernel level (%s), found %.60s",
                      mafat_kernels_names(), o.cpu);
  code = mafat_calibrate_measure(&found, kernels, &o, d);
  if (code == MAFAT_OK) code = mafat_calibration_store(&found, path, d);
  if (code) return code;
  mafat_calibrate_describe(&f, &found);
  memcpy(f.path, path, sizeof path);
  return mafat_sized_give(out, &f, sizeof f);
}
