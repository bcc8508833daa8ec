/* Compares random networks with libdarknet, many in one process. A number determines a cfg, weights
 * and an input, the same on every machine. Each layer reads libdarknet's earlier outputs and
 * must agree with libdarknet within 2e-5 of the largest value in the outputs of this layer and of
 * the previous one (softmax: somewhat more). Random plans, algorithms, threads, kernel levels and
 * weight placements must give the bits of the untiled network. Features that only AlexeyAB's fork
 * has are left out: libdarknet would ignore them. Started by tests/differential/run.py. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "formats/darknet/darknet.h"
#include "predictor/planning/planning.h"
#include "runner/engine/executor.h" /* before darknet.h, whose short names it would shadow */
#include "tests/differential/graph.h"
#include "tests/oracle/oracle.h"
#include "tests/support/support.h"

enum { PLANS = 3, WORKSPACE_BYTES = 32 << 20 };

/* TOLERANCE: most difference, relative to the largest value in the outputs of the layer and of the
 * previous one: outputs can be small by chance compared with the products they sum. ROUNDING:
 * absolute difference up to which values count as equal. */
static const double TOLERANCE = 2e-5, ROUNDING = 0x1p-22;

struct subject {
  uint64_t number;
  struct test_rng rng;
  char cfg_text[TEST_CFG_ROOM], cfg[32], weights[32];
  int cfg_fd, weights_fd;
  struct mafat_network *network;
  struct mafat_weights *kept;
  network *darknet; /* after its run */
  float *input;
};

struct counts {
  long long graphs, layers, plans, refused, failures;
  double worst;
};

static size_t floats_of(struct mafat_shape s)
{
  return (size_t)mafat_shape_elements(s);
}

static void __attribute__((format(printf, 3, 4)))
fail(struct counts *c, const struct subject *s, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  printf("FAIL graph %" PRIu64 ": ", s->number);
  vprintf(format, args);
  va_end(args);
  printf("\n%s\n", s->cfg_text);
  c->failures++;
}

/* ---- networks that libdarknet supports ---- */

static bool knows_activation(const char *line)
{
  static const char *const known[] = {"logistic", "relu\n", "elu",   "relie", "ramp",
                                      "linear",   "tanh",   "plse",  "leaky", "stair",
                                      "hardtan",  "lhtan",  "loggy", "selu"};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strncmp(line, known[i], strlen(known[i])) == 0) return true;
  return false;
}

/* Replaces activations that libdarknet does not have. */
static void replace_unknown_activations(char *text)
{
  static const char key[] = "activation=";
  for (char *at = text; (at = strstr(at, key));) {
    at += sizeof key - 1;
    char *end = at + strcspn(at, "\n");
    if (knows_activation(at)) continue;
    size_t length = (size_t)(end - at);
    if (length >= 4) memcpy(at, "relu", 4), memmove(at + 4, end, strlen(end) + 1);
    else memcpy(at, "elu", 3), memmove(at + 3, end, strlen(end) + 1);
  }
}

static bool is_known(const char *text)
{
  static const char *const others[] = {
      "dilation=",        "stride_x=", "stride_y=",        "group_id=", "[Gaussian_yolo]",  "[sam]",
      "[scale_channels]", "[local_avgpool]", "[reorg3d]",        "scale_x_y=",
      "scale_wh=",        "[cost]"}; /* [cost] has no output without a truth */
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strstr(text, others[i])) return false;
  for (const char *at = text; (at = strstr(at, "from=")); at++)
    if (memchr(at, ',', strcspn(at, "\n"))) return false; /* a shortcut of more than two layers */
  return true;
}

static bool write_cfg(struct subject *s)
{
  size_t n = strlen(s->cfg_text);
  s->cfg_fd = memfd_create("cfg", MFD_CLOEXEC);
  snprintf(s->cfg, sizeof s->cfg, "/proc/self/fd/%d", s->cfg_fd);
  return s->cfg_fd >= 0 && write(s->cfg_fd, s->cfg_text, n) == (ssize_t)n;
}

/* False for cases that libdarknet computes wrongly: 1x1 convolutions ignore stride and padding;
 * a padded [local] allocates an output with as many rows as its input has, but writes all rows that
 * its window gives, which may be more. */
static bool computes_right(const struct mafat_network *n)
{
  for (int l = 0; l < n->n_layers; l++) {
    const struct mafat_window *w = &n->layers[l].window;
    if (n->layers[l].type == MAFAT_CONVOLUTIONAL && w->y.size == 1 && w->x.size == 1 &&
        (w->y.stride > 1 || w->y.before || w->x.before))
      return false;
    if (n->layers[l].type == MAFAT_LOCAL && w->y.before && w->y.size != 1 + 2 * w->y.before)
      return false;
  }
  return true;
}

static void close_subject(struct subject *s)
{
  if (s->darknet) free_network(s->darknet);
  free(s->input);
  mafat_weights_close(&s->kept);
  mafat_network_close(&s->network);
  if (s->weights_fd >= 0) close(s->weights_fd);
  if (s->cfg_fd >= 0) close(s->cfg_fd);
}

static int draw_network(struct subject *s, struct mafat_diagnostic *d)
{
  const struct mafat_darknet_overrides overrides = {.fork = MAFAT_FORK_DARKNET};
  struct test_network_style style = test_small_style();
  for (;;) {
    test_random_network(&s->rng, &style, s->cfg_text, sizeof s->cfg_text);
    if (!is_known(s->cfg_text)) continue;
    replace_unknown_activations(s->cfg_text);
    if (!write_cfg(s)) return mafat_fail(d, MAFAT_EIO, "cannot write a memory file");
    int code = mafat_darknet_read(&s->network, s->cfg, &overrides, NULL, d);
    if (code != MAFAT_OK || computes_right(s->network)) return code;
    mafat_network_close(&s->network);
    close(s->cfg_fd);
  }
}

/* Loads the network with a large workspace: a padded [local] writes past the end of
 * libdarknet's. */
static int load(network **net, const struct subject *s, struct mafat_diagnostic *d)
{
  static float workspace[WORKSPACE_BYTES / sizeof(float)]; /* free_network() does not free it */
  int code = oracle_load(net, s->cfg, s->weights, d);
  if (code != MAFAT_OK) return code;
  free((*net)->workspace);
  (*net)->workspace = workspace;
  return MAFAT_OK;
}

/* True if libdarknet can run the network, tried in a child process: it ends the process for
 * networks that it cannot read or run, such as maps after a vector. */
static bool can_run(const struct subject *s)
{
  struct mafat_diagnostic d = {""};
  network *net;
  int status = -1;
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    bool good = load(&net, s, &d) == MAFAT_OK;
    float *input = good ? oracle_noise(net) : NULL;
    if (input) network_predict(net, input);
    _exit(input ? 0 : 1);
  }
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* Opens the network in both programs and runs libdarknet's. MAFAT_EUNSUPPORTED: libdarknet
 * cannot run it. */
static int open_subject(struct subject *s, struct mafat_diagnostic *d)
{
  int code = draw_network(s, d);
  if (code != MAFAT_OK) return code;
  s->weights_fd = test_random_weights(s->network, s->number);
  snprintf(s->weights, sizeof s->weights, "/proc/self/fd/%d", s->weights_fd);
  if ((code = mafat_weights_open_kept(&s->kept, s->weights, s->network, s->network->n_layers, NULL,
                                      d)))
    return code;
  if (!can_run(s)) return MAFAT_EUNSUPPORTED;
  if ((code = load(&s->darknet, s, d))) return code;
  if (s->darknet->n != s->network->n_layers)
    return mafat_fail(d, MAFAT_EFORMAT, "Darknet sees %d layers", s->darknet->n);
  for (int l = 0; l < s->network->n_layers; l++)
    if (s->darknet->layers[l].outputs == 0)
      return MAFAT_EUNSUPPORTED; /* after a softmax libdarknet has no map */
    else if ((size_t)s->darknet->layers[l].outputs != floats_of(s->network->layers[l].out))
      return mafat_fail(d, MAFAT_EFORMAT, "layer %d: Darknet puts out %d values", l,
                        s->darknet->layers[l].outputs);
  s->input = oracle_noise(s->darknet);
  network_predict(s->darknet, s->input);
  return MAFAT_OK;
}

/* ---- each layer compared with libdarknet's ---- */

struct fed {
  struct subject *subject;
  struct counts *counts;
  const char *how;
  int *last_step; /* [layer]: the step that completes it */
  int step;
  float *values;
};

static double largest_of(const layer *l)
{
  double largest = 0;
  for (int i = 0; i < l->outputs; i++) largest = fmax(largest, fabs((double)l->output[i]));
  return largest;
}

/* Returns the possible rounding error of a softmax, the sum of two parts: the differences of its
 * inputs may be off by one unit in the last place of the largest input, in either direction; and
 * libdarknet rounds the sum of the exponentials after each one that it adds. 0: no softmax. */
static double softmax_rounding(const struct subject *s, int index)
{
  const layer *before = index > 0 ? &s->darknet->layers[index - 1] : NULL;
  if (s->network->layers[index].type != MAFAT_SOFTMAX || !before) return 0;
  return largest_of(before) * 0x1p-22 + before->outputs * 0x1p-25;
}

static void compare_layer(struct fed *f, const struct mafat_executor *e, int index)
{
  const struct mafat_layer *l = &f->subject->network->layers[index];
  const float *theirs = f->subject->darknet->layers[index].output;
  double difference = 0, largest = 0;
  mafat_executor_read_output(e, index, f->values);
  for (size_t i = 0; i < floats_of(l->out); i++) {
    double d = fabs((double)f->values[i] - (double)theirs[i]);
    if (!(d <= difference)) difference = d; /* also true for NaN */
    largest = fmax(largest, fabs((double)theirs[i]));
  }
  if (index > 0) largest = fmax(largest, largest_of(&f->subject->darknet->layers[index - 1]));
  /* differences up to ROUNDING, such as in the result of 2 / (1 + e) - 1, are rounding errors */
  double ratio = difference <= ROUNDING ? 0 : difference / largest;
  f->counts->layers++;
  if (ratio <= TOLERANCE + softmax_rounding(f->subject, index))
    f->counts->worst = fmax(f->counts->worst, ratio);
  else
    fail(f->counts, f->subject, "%s: layer %d [%s] differs by %.2e of its largest", f->how, index,
         mafat_layer_type_name(l->type), ratio);
}

static void observe(void *context, struct mafat_executor *e, const struct mafat_step *step)
{
  struct fed *f = context;
  if (f->step++ != f->last_step[step->layer]) return;
  struct mafat_shape out = f->subject->network->layers[step->layer].out;
  const struct mafat_box *held = &step->held;
  if (held->y.begin > 0 || held->y.end < out.h || held->x.begin > 0 || held->x.end < out.w)
    return; /* incomplete: a later [crop] does not read all of it */
  compare_layer(f, e, step->layer);
  mafat_executor_write_output(e, step->layer, f->subject->darknet->layers[step->layer].output);
}

static void find_last_steps(struct fed *f, const struct mafat_plan *plan)
{
  const struct mafat_network *n = f->subject->network;
  struct mafat_schedule *schedule = NULL;
  struct mafat_step step;
  size_t largest = 0;
  for (int l = 0; l < n->n_layers; l++)
    if (floats_of(n->layers[l].out) > largest) largest = floats_of(n->layers[l].out);
  f->last_step = calloc((size_t)n->n_layers, sizeof *f->last_step);
  f->values = malloc(largest * sizeof *f->values);
  if (!f->last_step || !f->values || mafat_schedule_open(&schedule, n, plan) != MAFAT_OK) abort();
  for (int i = 0; mafat_schedule_next(schedule, &step);)
    if (step.kind == MAFAT_STEP_COMPUTE) f->last_step[step.layer] = i++;
  mafat_schedule_close(&schedule);
}

static const char *describe(char text[TEST_PLAN_ROOM + 100], const char *plan,
                            const struct mafat_plan_options *o, const struct mafat_kernels *k)
{
  snprintf(text, TEST_PLAN_ROOM + 100, "%s, %s, %s, %d threads", plan,
           mafat_algorithm_name(o->algorithm), k->name, o->n_threads);
  return text;
}

static void compare_fed(struct subject *s, struct counts *counts, enum mafat_algorithm algorithm,
                        const struct mafat_kernels *kernels)
{
  char how[TEST_PLAN_ROOM + 100];
  struct mafat_executor_options options;
  struct mafat_executor *e = NULL;
  struct mafat_diagnostic d = {""};
  struct mafat_plan_options plain;
  mafat_plan_defaults(&plain);
  plain.algorithm = algorithm;
  plain.keep_all = true;
  struct fed f = {.subject = s, .counts = counts, .how = describe(how, "fed", &plain, kernels)};
  struct mafat_plan *plan = test_plan_with(s->network, "1x1/NoCut", &plain);
  struct mafat_layout *layout = test_layout(s->network, plan);
  find_last_steps(&f, plan);
  mafat_executor_defaults(&options);
  options.kernels = kernels;
  options.observe = observe;
  options.observe_context = &f;
  int code = mafat_executor_open(&e, s->network, plan, layout, s->kept, &options, &d);
  if (code == MAFAT_OK) {
    mafat_executor_set_input(e, s->input);
    code = mafat_executor_run(e, &d);
  }
  if (code != MAFAT_OK) fail(counts, s, "%s: %s", how, d.text);
  mafat_executor_close(&e);
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  free(f.last_step);
  free(f.values);
}

/* ---- any plan, the same bits ---- */

static size_t output_floats(const struct mafat_network *n)
{
  size_t floats = 0;
  for (int l = 0; l < n->n_layers; l++)
    floats += mafat_network_is_output(n, n->n_layers, l) ? floats_of(n->layers[l].out) : 0;
  return floats;
}

/* Runs a plan. Returns the outputs, which the caller frees; NULL: failed. The arena is filled
 * with NaN first, so that reads of unwritten memory show in the outputs. */
static float *compute(struct subject *s, struct counts *counts, const char *text,
                      const struct mafat_plan_options *how, const struct mafat_kernels *kernels,
                      bool from_file)
{
  char name[TEST_PLAN_ROOM + 100];
  struct mafat_network *n = s->network;
  struct mafat_executor_options options;
  struct mafat_executor *e = NULL;
  struct mafat_weights *streamed = NULL;
  struct mafat_diagnostic d = {""};
  struct mafat_plan *plan = test_plan_with(n, text, how);
  struct mafat_layout *layout = test_layout(n, plan);
  float *outputs = malloc(output_floats(n) * sizeof *outputs), *at = outputs;
  mafat_executor_defaults(&options);
  options.kernels = kernels;
  int code = from_file ? mafat_weights_open(&streamed, s->weights, n, plan, layout, NULL, NULL, &d)
                       : MAFAT_OK;
  if (code == MAFAT_OK)
    code = mafat_executor_open(&e, n, plan, layout, from_file ? streamed : s->kept, &options, &d);
  if (code == MAFAT_OK) {
    mafat_executor_set_input(e, s->input);
    memset((void *)(uintptr_t)mafat_executor_arena(e), 0xff, layout->total_bytes);
    code = mafat_executor_run(e, &d);
  }
  for (int l = 0; code == MAFAT_OK && l < n->n_layers; l++)
    if (mafat_network_is_output(n, n->n_layers, l)) {
      mafat_executor_read_output(e, l, at);
      at += floats_of(n->layers[l].out);
    }
  if (code != MAFAT_OK) fail(counts, s, "%s: %s", describe(name, text, how, kernels), d.text);
  mafat_executor_close(&e);
  mafat_weights_close(&streamed);
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  if (code == MAFAT_OK) return outputs;
  free(outputs);
  return NULL;
}

/* A random level of the same class, whose bits must be equal. */
static const struct mafat_kernels *other_level(struct subject *s,
                                               const struct mafat_kernels *kernels)
{
  const struct mafat_kernels *other;
  do other = test_level(test_random_int(&s->rng, 0, 59));
  while (other->fused != kernels->fused);
  return other;
}

static void compare_plan(struct subject *s, struct counts *counts, const float *reference,
                         enum mafat_algorithm algorithm, const struct mafat_kernels *kernels)
{
  char text[TEST_PLAN_ROOM], how[TEST_PLAN_ROOM + 100];
  struct mafat_plan_options options;
  mafat_plan_defaults(&options);
  options.algorithm = algorithm;
  options.n_threads = test_random_int(&s->rng, 1, 3);
  options.keep_all = test_random_chance(&s->rng, 20);
  if (test_random_chance(&s->rng, 50)) options.small_bytes = 0;
  test_random_plan(&s->rng, s->network, s->network->n_layers, text, sizeof text);
  if (test_random_chance(&s->rng, 25) &&
      !test_random_split(&s->rng, s->network, &options, text, sizeof text))
    snprintf(text, sizeof text, "rows1");
  const struct mafat_kernels *level = other_level(s, kernels);
  float *found = compute(s, counts, text, &options, level, test_random_chance(&s->rng, 50));
  counts->plans++;
  if (found && memcmp(found, reference, output_floats(s->network) * sizeof *found) != 0)
    fail(counts, s, "%s: bits differ from the untiled run's", describe(how, text, &options, level));
  free(found);
}

static void try_graph(uint64_t number, struct counts *counts)
{
  struct subject s = {
      .number = number, .rng = graph_random(0xda4c000000 + number), .cfg_fd = -1, .weights_fd = -1};
  struct mafat_diagnostic d = {""};
  int code = open_subject(&s, &d);
  if (code == MAFAT_EUNSUPPORTED && !d.text[0]) counts->refused++;
  else if (code != MAFAT_OK) fail(counts, &s, "%s", d.text);
  else {
    const struct mafat_kernels *kernels = test_level(test_random_int(&s.rng, 0, 59));
    enum mafat_algorithm algorithm =
        (enum mafat_algorithm)test_random_int(&s.rng, MAFAT_DIRECT, MAFAT_N_ALGORITHMS - 1);
    struct mafat_plan_options untiled;
    mafat_plan_defaults(&untiled);
    untiled.algorithm = algorithm;
    compare_fed(&s, counts, algorithm, kernels);
    float *reference = compute(&s, counts, "1x1/NoCut", &untiled, kernels, false);
    for (int i = 0; i < PLANS && reference; i++)
      compare_plan(&s, counts, reference, algorithm, kernels);
    free(reference);
    counts->graphs++;
  }
  close_subject(&s);
}

int main(int argc, char **argv)
{
  struct counts counts = {0};
  char *end;
  uint64_t first = argc == 3 ? strtoull(argv[1], &end, 10) : 0,
           n = argc == 3 ? strtoull(argv[2], &end, 10) : 0;
  if (n == 0) {
    fputs("usage: oracle_random FIRST COUNT\nCompare random networks, number by number, with "
          "libdarknet's results.\n",
          stderr);
    return 2;
  }
  for (uint64_t i = first; i < first + n; i++) try_graph(i, &counts);
  printf("%s %lld graphs: %lld layers differ from libdarknet's by %.1e at most, "
         "%lld plans give the same bits; libdarknet cannot run %lld, %lld failures\n",
         counts.failures ? "FAIL" : "ok", counts.graphs, counts.layers, counts.worst, counts.plans,
         counts.refused, counts.failures);
  return counts.failures != 0;
}
