/* Times plans of a network in turn, each once a round, so that other load affects all alike.
 * Reads lines "ALGORITHM PLAN" from standard input; writes a line of JSON for each:
 *
 *   {"plan": canonical text, "algorithm": ..., "charge_bytes": N, "predicted_ms": X,
 *    "bytes_read": N, "ms": [X, ...], "pace": [X, ...]}
 *
 * ms and pace have a value for each round; pace is the time of a fixed computation just before,
 * which is longer when the machine was slow. --layers-ms adds "layers": [{"layer": N, "ms": median,
 * "terms": {name: count}}], the terms of the latency model. --rounds 0 runs nothing. --warm runs
 * each plan once just before, because the others have evicted its arena from the caches.
 *
 *   time_plans [--layers N] [--threads N] [--rounds N] [--cpu LEVEL] [--layers-ms] [--warm] CFG
 *   WEIGHTS|MODEL
 *
 * Started by check_latency.py, check_search.py and other scripts. */
#include "predictor/cost/latency.h"
#include "predictor/planning/planning.h"
#include "predictor/cost/predict.h"
#include "predictor/cost/work.h"
#include "runner/calibrate/calibrate_file.h"
#include "runner/engine/executor.h"
#include "tests/support/network_files.h"
#include "api/model_files.h"
#include "runner/os/process.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROUNDS = 64, MAX_TEXT = 8192 };

struct entry {
  char *text;
  enum mafat_algorithm algorithm;
  struct mafat_plan *plan;
  struct mafat_layout *layout;
  struct mafat_weights *own; /* NULL: all weights kept, in the shared store */
  struct mafat_executor *executor;
  double charge, predicted;
  double ms[MAX_ROUNDS], pace[MAX_ROUNDS];
  double *layers_ms; /* [round][layer] */
};

struct bench {
  struct mafat_network *network;
  const char *weights_path;
  int n_layers, threads, rounds;
  struct mafat_weights_kind kind;
  bool layers_ms, warm;
  const struct mafat_kernels *kernels;
  struct mafat_calibration calibration;
  struct mafat_weights *shared;
  struct entry *entries;
  int n;
  float *input;
  struct mafat_diagnostic d;
};

static _Noreturn void die(const char *text)
{
  fprintf(stderr, "time_plans: %s\n", text);
  exit(1);
}

static void need(int code, const struct bench *b)
{
  if (code) die(b->d.text);
}

static bool keeps_all(const struct entry *e)
{
  for (int l = 0; l < e->plan->n_layers; l++)
    if (e->plan->placement[l] != MAFAT_KEPT) return false;
  return true;
}

/* Makes the plan's layout and prediction, and opens it. False: the plan does not fit the
 * network. */
static bool open_entry(struct bench *b, struct entry *e)
{
  struct mafat_plan_options options;
  mafat_plan_defaults(&options);
  options.algorithm = e->algorithm;
  options.n_threads = b->threads;
  options.packed = b->kind.packed;
  options.transposed = b->kind.transposed;
  if (mafat_plan_read(&e->plan, e->text, b->network, b->n_layers, &options, &b->d) ||
      mafat_layout_make(&e->layout, b->network, e->plan, &b->d)) {
    fprintf(stderr, "time_plans: %s: %s\n", e->text, b->d.text);
    return false;
  }
  struct mafat_footprint none = {0};
  struct mafat_prediction p;
  struct mafat_latency latency;
  mafat_predict(&p, e->layout, &none);
  need(mafat_latency_predict(&latency, b->network, e->plan, e->layout, &b->calibration), b);
  e->charge = (double)p.charge_bytes;
  e->predicted = latency.total_ms;
  if (b->rounds == 0) return true; /* nothing is run */
  struct mafat_weights **weights = keeps_all(e) ? &b->shared : &e->own;
  if (!*weights && weights == &b->shared)
    need(mafat_weights_open_kept(weights, b->weights_path, b->network, b->n_layers, NULL, &b->d),
         b);
  else if (!*weights)
    need(mafat_weights_open(weights, b->weights_path, b->network, e->plan, e->layout, NULL, NULL,
                            &b->d),
         b);
  struct mafat_executor_options eo;
  mafat_executor_defaults(&eo);
  eo.kernels = b->kernels;
  need(mafat_executor_open(&e->executor, b->network, e->plan, e->layout, *weights, &eo, &b->d), b);
  mafat_executor_set_input(e->executor, b->input);
  if (b->layers_ms)
    e->layers_ms = calloc((size_t)b->rounds * (size_t)b->n_layers, sizeof *e->layers_ms);
  return true;
}

static void read_entries(struct bench *b)
{
  char line[MAX_TEXT], name[32], text[MAX_TEXT];
  size_t capacity = 0;
  while (fgets(line, sizeof line, stdin)) {
    if (sscanf(line, "%31s %8191s", name, text) != 2) continue;
    if ((size_t)b->n == capacity)
      b->entries = realloc(b->entries, (capacity = 2 * capacity + 64) * sizeof *b->entries);
    struct entry *e = &b->entries[b->n++];
    *e = (struct entry){.text = strdup(text)};
    if (!mafat_algorithm_find(&e->algorithm, name))
      die("expected auto, direct, winograd or winograd-large");
  }
}

/* Milliseconds of a fixed chain of multiplications: constant while the clock is. */
static double pace(void)
{
  double before = mafat_process_now_ms();
  volatile double x = 1;
  for (int i = 0; i < 400000; i++) x = x * 1.0000001;
  return mafat_process_now_ms() - before;
}

static void run(struct bench *b, struct entry *e, int round)
{
  double slow = pace(), before = mafat_process_now_ms();
  need(mafat_executor_run(e->executor, &b->d), b);
  if (round < 0) return;
  e->pace[round] = slow;
  e->ms[round] = mafat_process_now_ms() - before - mafat_executor_input_ms(e->executor);
  if (b->layers_ms)
    memcpy(e->layers_ms + (size_t)round * (size_t)b->n_layers, mafat_executor_layer_ms(e->executor),
           (size_t)b->n_layers * sizeof(double));
}

static int compare(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median_layer(const struct bench *b, const struct entry *e, int layer)
{
  double ms[MAX_ROUNDS];
  if (b->rounds == 0) return 0;
  for (int r = 0; r < b->rounds; r++)
    ms[r] = e->layers_ms[(size_t)r * (size_t)b->n_layers + (size_t)layer];
  qsort(ms, (size_t)b->rounds, sizeof *ms, compare);
  return ms[b->rounds / 2];
}

static void print_layers(const struct bench *b, const struct entry *e)
{
  struct mafat_work *work = calloc((size_t)b->n_layers, sizeof *work);
  struct mafat_work_context c;
  struct mafat_schedule *schedule;
  struct mafat_step step;
  mafat_work_open(&c, b->network, e->plan, e->layout, &b->calibration);
  if (!work || mafat_schedule_open(&schedule, b->network, e->plan)) die("out of memory");
  mafat_schedule_rewind(schedule);
  while (mafat_schedule_next(schedule, &step))
    if (step.kind != MAFAT_STEP_INPUT) mafat_work_add_step(&c, &step, &work[step.layer]);
  mafat_schedule_close(&schedule);
  printf(", \"layers\": [");
  const char *comma = "";
  for (int l = 0; l < b->n_layers; l++) {
    if (work[l].n[MAFAT_TERM_STEP] == 0) continue;
    printf("%s{\"layer\": %d, \"type\": \"%s\", \"ms\": %.6f, \"terms\": {", comma, l,
           mafat_layer_type_name(b->network->layers[l].type), median_layer(b, e, l));
    comma = "";
    for (int t = 0; t < MAFAT_N_TERMS; t++)
      if (work[l].n[t] != 0) {
        printf("%s\"%s\": %.10g", comma, mafat_term_name(t), work[l].n[t]);
        comma = ", ";
      }
    printf("}}");
    comma = ", ";
  }
  printf("]");
  free(work);
}

static void print_entry(const struct bench *b, const struct entry *e)
{
  char text[MAX_TEXT];
  struct mafat_spec *spec;
  if (mafat_plan_spec(&spec, e->plan, b->network)) die("out of memory");
  mafat_spec_write(spec, text, sizeof text);
  mafat_spec_close(&spec);
  printf("{\"plan\": \"%s\", \"algorithm\": \"%s\", \"charge_bytes\": %.0f, \"predicted_ms\": "
         "%.4f, \"bytes_read\": %.0f, \"ms\": [",
         text, mafat_algorithm_name(e->algorithm), e->charge, e->predicted,
         (double)e->layout->bytes_read);
  for (int r = 0; r < b->rounds; r++) printf("%s%.4f", r ? ", " : "", e->ms[r]);
  printf("], \"pace\": [");
  for (int r = 0; r < b->rounds; r++) printf("%s%.4f", r ? ", " : "", e->pace[r]);
  printf("]");
  if (b->layers_ms) print_layers(b, e);
  printf("}\n");
}

int main(int argc, char **argv)
{
  static struct bench b = {.threads = 1, .rounds = 5};
  static const struct option options[] = {{"layers", required_argument, NULL, 'l'},
                                          {"threads", required_argument, NULL, 't'},
                                          {"rounds", required_argument, NULL, 'r'},
                                          {"cpu", required_argument, NULL, 'c'},
                                          {"layers-ms", no_argument, NULL, 'm'},
                                          {"warm", no_argument, NULL, 'w'},
                                          {NULL, 0, NULL, 0}};
  const char *cpu = NULL;
  for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;)
    switch (o) {
    case 'l': b.n_layers = atoi(optarg); break;
    case 't': b.threads = atoi(optarg); break;
    case 'r': b.rounds = atoi(optarg); break;
    case 'c': cpu = optarg; break;
    case 'm': b.layers_ms = true; break;
    case 'w': b.warm = true; break;
    default: die("see the head of time_plans.c");
    }
  if (argc - optind < 1 || argc - optind > 2 || b.rounds < 0 || b.rounds > MAX_ROUNDS)
    die("expected CFG WEIGHTS, or an ONNX or TFLite MODEL");
  need(mafat_model_network(&b.network, argv[optind], NULL, NULL, NULL, &b.d), &b);
  b.weights_path = argv[argc - 1];
  need(test_weights_kind(b.weights_path, &b.kind, &b.d), &b);
  if (!b.n_layers) b.n_layers = b.network->n_layers;
  b.kernels = mafat_kernels_find(cpu);
  if (!b.kernels) die("no such kernel level");
  mafat_calibration_load(&b.calibration, b.kernels->name, NULL);
  struct mafat_shape in = mafat_network_picture_shape(b.network);
  size_t n = (size_t)in.h * (size_t)in.w * (size_t)in.c;
  b.input = malloc(n * sizeof *b.input);
  for (size_t i = 0; i < n; i++) b.input[i] = (float)((i * 2654435761u >> 8) % 1000) / 1000.0f;
  read_entries(&b);
  int n_open = 0;
  for (int i = 0; i < b.n; i++)
    if (open_entry(&b, &b.entries[i])) b.entries[n_open++] = b.entries[i];
  b.n = n_open;
  for (int round = -1; b.rounds && round < b.rounds; round++)
    for (int i = 0; i < b.n; i++) {
      if (b.warm && round >= 0) run(&b, &b.entries[i], -1);
      run(&b, &b.entries[i], round);
    }
  for (int i = 0; i < b.n; i++) print_entry(&b, &b.entries[i]);
  return 0;
}
