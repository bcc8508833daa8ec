/* Compares mafat's results with libdarknet's, layer by layer. Both get the same input and run the
 * whole network; mafat's layers read mafat's earlier outputs or, with --fed, libdarknet's. All
 * outputs that exist as a whole map are compared, for each kernel level and algorithm. Softmax
 * amplifies differences, so it is compared on libdarknet's input. In these runs no layer is
 * computed inside its reader; at the end, runs with one and two threads check that doing so does
 * not change the output bits. Started by tests/oracle/run.sh. */
#include <getopt.h>
#include <math.h>
#include <string.h>

#include "formats/darknet/darknet.h"
#include "predictor/planning/planning.h"
#include "runner/engine/executor.h" /* before darknet.h, whose short names it would shadow */
#include "tests/oracle/oracle.h"

enum status { AGREES = 0, DIFFERS = 1, CANNOT = 2 };
enum { MOST_LEVELS = 8 };

static const double SOFTMAX_TOLERANCE = 1e-6;

struct options {
  double tolerance;
  const char *plan, *picture, *cpu, *algorithm; /* NULL: default */
  bool each_class, fed, verbose, layout_only;
  const char *cfg, *weights;
};

static const char usage[] =
    "usage: oracle_layers [OPTION]... CFG WEIGHTS\n"
    "       oracle_layers --layout-only [--plan TEXT] CFG\n"
    "Compare the output of every layer with libdarknet's.\n"
    "\n"
    "  --tolerance T   of max|difference| / max|output| in a layer (default: 2e-5; where one is\n"
    "                  computed by winograd-large, 1e-4)\n"
    "  --plan TEXT     run by this plan (default: layer by layer)\n"
    "  --image FILE    feed a picture (default: noise)\n"
    "  --cpu LEVEL     kernels to use (default: every level that this CPU has)\n"
    "  --fed           every layer reads libdarknet's outputs of earlier layers, so that\n"
    "                  differences do not accumulate\n"
    "  --each-class    of the levels the best with fused multiply-adds and the best without: "
    "their\n"
    "                  bits are those of the others (kernel_check)\n"
    "  --algorithm A   of convolutions: direct, winograd, winograd-large, auto (default: all but "
    "auto,\n"
    "                  one after the other; auto for what is computed inside its reader)\n"
    "  --verbose       a line for every layer\n"
    "  --layout-only   run nothing, print weight bytes, multiply-accumulates, arena bytes\n"
    "\n"
    "Exit status: 0 all agree, 1 a layer differs, 2 something could not be loaded.\n";

/* Data shared by all runs. */
struct bench {
  struct options options;
  struct mafat_network *network;
  struct mafat_weights *weights;
  network *darknet; /* after its run */
  float *input;
  bool good;        /* true while everything agrees */
};

/* A run of the network. */
struct run {
  const struct mafat_kernels *kernels;
  struct mafat_plan_options how;
  struct mafat_plan *plan;
  struct mafat_layout *layout;
};

struct worst {
  double ratio;
  int layer; /* -1: none yet */
};

/* A run that is compared with libdarknet's. */
struct comparison {
  const struct bench *bench;
  const struct run *run;
  int *last_step; /* [layer]: the step that completes it; -1: it never runs */
  int step;
  float *values;  /* buffer for the largest output */
  int n_compared, n_hidden; /* hidden: never stored as a whole map */
  struct worst output, softmax;
};

static size_t floats_of(struct mafat_shape s)
{
  return (size_t)s.h * (size_t)s.w * (size_t)s.c;
}

static void describe(const struct mafat_network *n, int index, char *text, size_t capacity)
{
  const struct mafat_layer *l = &n->layers[index];
  int used = snprintf(text, capacity, "layer %d [%s]", index, mafat_layer_type_name(l->type));
  if (l->window.y.size)
    used += snprintf(text + used, capacity - (size_t)used, " %dx%d/%d groups %d %s",
                     l->window.y.size, l->window.x.size, l->window.y.stride, l->groups,
                     mafat_activation_name(l->activation.kind));
  snprintf(text + used, capacity - (size_t)used, " %dx%dx%d -> %dx%dx%d", l->in.h, l->in.w, l->in.c,
           l->out.h, l->out.w, l->out.c);
}

/* Records a layer's difference. Prints it if it exceeds the tolerance or with --verbose. */
static void judge(const struct comparison *c, int index, const char *what, double ratio,
                  double tolerance, struct worst *worst)
{
  bool good = ratio <= tolerance;
  if (!good || c->bench->options.verbose) {
    char text[256];
    describe(c->bench->network, index, text, sizeof text);
    printf("%s%s: %s differs by %.2e of its maximum\n", good ? "  " : "  TOO FAR ", text, what,
           ratio);
  }
  if (worst->layer < 0 || !(ratio <= worst->ratio)) *worst = (struct worst){ratio, index};
}

/* Relative difference; infinite if a value is not finite. */
static double ratio_of(double difference, double largest)
{
  if (isnan(difference) || !(largest < INFINITY)) return INFINITY;
  if (difference == 0) return 0;
  return difference / largest;
}

/* True if element i of the output is a softmax's; these are compared separately. */
static bool is_softmax(const struct mafat_layer *l, size_t i)
{
  const struct mafat_head *h = &l->head;
  switch (l->type) {
  case MAFAT_SOFTMAX: return true;
  case MAFAT_REGION: {
    int entry = (int)(i / ((size_t)l->out.h * (size_t)l->out.w)) % (h->coords + 1 + h->classes);
    return h->softmax && entry >= h->coords + !h->background;
  }
  case MAFAT_DETECTION:
    return h->softmax && i < (size_t)h->side * (size_t)h->side * (size_t)h->classes;
  default: return false;
  }
}

/* The requested tolerance, or the largest that the plan's algorithms need. */
static double tolerance_of(const struct comparison *c)
{
  const struct mafat_plan *plan = c->run->plan;
  double tolerance = 2e-5;
  if (c->bench->options.tolerance > 0) return c->bench->options.tolerance;
  if (c->bench->options.fed) return tolerance; /* errors do not accumulate */
  for (int l = 0; l < plan->n_layers; l++)
    if (plan->algorithms[l] == MAFAT_WINOGRAD_LARGE) tolerance = 1e-4;
  return tolerance;
}

static void compare_output(struct comparison *c, const struct mafat_executor *e, int index)
{
  const struct mafat_layer *l = &c->bench->network->layers[index];
  const float *reference = c->bench->darknet->layers[index].output;
  double difference = 0, largest = 0;
  if (l->type == MAFAT_SOFTMAX) return;
  mafat_executor_read_output(e, index, c->values);
  for (size_t i = 0; i < floats_of(l->out); i++) {
    if (is_softmax(l, i)) continue;
    double d = fabs((double)c->values[i] - (double)reference[i]), r = fabs((double)reference[i]);
    if (!(d <= difference)) difference = d; /* also true for NaN */
    if (!(r <= largest)) largest = r;
  }
  judge(c, index, "output", ratio_of(difference, largest), tolerance_of(c), &c->output);
  c->n_compared++;
}

static void observe(void *context, struct mafat_executor *e, const struct mafat_step *step)
{
  struct comparison *c = context;
  struct mafat_shape out = c->bench->network->layers[step->layer].out;
  if (c->step++ != c->last_step[step->layer]) return;
  bool whole = step->held.y.begin == 0 && step->held.x.begin == 0 && step->held.y.end == out.h &&
               step->held.x.end == out.w;
  if (whole || c->run->layout->tensors[step->layer].external) compare_output(c, e, step->layer);
  else c->n_hidden++;
  if (whole && c->bench->options.fed)
    mafat_executor_write_output(e, step->layer, c->bench->darknet->layers[step->layer].output);
}

/* Compares one softmax of n values, `stride` apart, computed from libdarknet's input. */
static double softmax_ratio(const struct comparison *c, int index, size_t first, size_t n,
                            size_t stride, float temperature)
{
  const float *in = c->bench->darknet->layers[index - 1].output + first;
  const float *reference = c->bench->darknet->layers[index].output + first;
  double difference = 0, largest = 0;
  for (size_t i = 0; i < n; i++) c->values[i] = in[i * stride];
  c->run->kernels->softmax(c->values, c->values, n, temperature);
  for (size_t i = 0; i < n; i++) {
    double d = fabs((double)c->values[i] - (double)reference[i * stride]);
    if (!(d <= difference)) difference = d;
    largest = fmax(largest, (double)reference[i * stride]);
  }
  return ratio_of(difference, largest);
}

/* Compares all softmaxes of a layer. */
static void compare_softmaxes(struct comparison *c, int index)
{
  const struct mafat_layer *l = &c->bench->network->layers[index];
  const struct mafat_head *h = &l->head;
  size_t pixels = (size_t)l->out.h * (size_t)l->out.w,
         per_box = (size_t)(h->coords + 1 + h->classes);
  size_t count = 0, n = 0, stride = 1;
  double worst = 0;
  if (index == 0) return; /* the network's input is not stored */
  if (l->type == MAFAT_SOFTMAX) {
    count = (size_t)l->n_softmaxes;
    n = floats_of(l->in) / count;
  } else if (l->type == MAFAT_REGION && h->softmax) {
    count = (size_t)h->n_anchors * pixels;
    n = (size_t)h->classes + h->background;
    stride = pixels;
  } else if (l->type == MAFAT_DETECTION && h->softmax) {
    count = (size_t)h->side * (size_t)h->side;
    n = (size_t)h->classes;
  }
  for (size_t i = 0; i < count; i++) {
    size_t first = i * n;
    if (l->type == MAFAT_REGION)
      first = (i / pixels * per_box + (size_t)h->coords + !h->background) * pixels + i % pixels;
    double ratio =
        softmax_ratio(c, index, first, n, stride, l->type == MAFAT_SOFTMAX ? l->temperature : 1);
    if (!(ratio <= worst)) worst = ratio;
  }
  if (count) judge(c, index, "softmax", worst, SOFTMAX_TOLERANCE, &c->softmax);
  if (l->type == MAFAT_SOFTMAX) c->n_compared++;
}

/* Finds the step that completes each layer, by a dry walk of the schedule. */
static int find_last_steps(struct comparison *c, struct mafat_diagnostic *d)
{
  struct mafat_schedule *s = NULL;
  struct mafat_step step;
  int n_layers = c->bench->network->n_layers;
  size_t largest = 0;
  for (int i = 0; i < n_layers; i++) {
    size_t n = floats_of(c->bench->network->layers[i].out);
    if (n > largest) largest = n;
  }
  c->last_step = malloc((size_t)n_layers * sizeof *c->last_step);
  c->values = malloc(largest * sizeof *c->values);
  if (!c->last_step || !c->values || mafat_schedule_open(&s, c->bench->network, c->run->plan))
    return mafat_fail(d, MAFAT_ENOMEM, "out of memory");
  for (int i = 0; i < n_layers; i++) c->last_step[i] = -1;
  for (int i = 0; mafat_schedule_next(s, &step);)
    if (step.kind == MAFAT_STEP_COMPUTE) c->last_step[step.layer] = i++;
  mafat_schedule_close(&s);
  return MAFAT_OK;
}

static void close_run(struct run *r)
{
  mafat_layout_close(&r->layout);
  mafat_plan_close(&r->plan);
}

static int open_run(struct run *r, const struct bench *b, struct mafat_diagnostic *d)
{
  const struct mafat_network *n = b->network;
  const char *plan = b->options.plan;
  int code = plan ? mafat_plan_read(&r->plan, plan, n, n->n_layers, &r->how, d)
                  : mafat_plan_untiled(&r->plan, n, n->n_layers, &r->how, d);
  return code ? code : mafat_layout_make(&r->layout, n, r->plan, d);
}

static struct mafat_plan_options how_to_run(enum mafat_algorithm algorithm, bool keep_all,
                                            int n_threads)
{
  struct mafat_plan_options how;
  mafat_plan_defaults(&how);
  how.algorithm = algorithm;
  how.keep_all = keep_all;
  how.n_threads = n_threads;
  return how;
}

/* Runs the network. The executor stays open, so that its outputs can be read. */
static int execute(struct mafat_executor **e, const struct bench *b, const struct run *r,
                   struct comparison *c, struct mafat_diagnostic *d)
{
  struct mafat_executor_options options;
  mafat_executor_defaults(&options);
  options.kernels = r->kernels;
  if (c) {
    options.observe = observe;
    options.observe_context = c;
  }
  int code = mafat_executor_open(e, b->network, r->plan, r->layout, b->weights, &options, d);
  if (code) return code;
  mafat_executor_set_input(*e, b->input);
  return mafat_executor_run(*e, d);
}

static int compare_shapes(const struct mafat_network *n, const network *darknet,
                          struct mafat_diagnostic *d)
{
  if (darknet->n != n->n_layers)
    return mafat_fail(d, MAFAT_EFORMAT, "Darknet sees %d layers, ours %d", darknet->n, n->n_layers);
  size_t inputs = floats_of(mafat_network_picture_shape(n));
  if ((size_t)darknet->inputs != inputs)
    return mafat_fail(d, MAFAT_EFORMAT, "Darknet takes %d inputs, ours %zu", darknet->inputs,
                      inputs);
  for (int i = 0; i < n->n_layers; i++)
    if ((size_t)darknet->layers[i].outputs != floats_of(n->layers[i].out))
      return mafat_fail(d, MAFAT_EFORMAT, "layer %d [%s]: Darknet puts out %d values, ours %zu", i,
                        mafat_layer_type_name(n->layers[i].type), darknet->layers[i].outputs,
                        floats_of(n->layers[i].out));
  return MAFAT_OK;
}

static const char *base_name(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static void print_run(const struct bench *b, const struct run *r)
{
  struct mafat_shape in = mafat_network_picture_shape(b->network);
  printf("%s (%dx%d, plan %s, %s, %s): ", base_name(b->options.cfg), in.w, in.h,
         b->options.plan ? b->options.plan : "1x1/NoCut", r->kernels->name,
         mafat_algorithm_name(r->how.algorithm));
}

static void report(const struct comparison *c)
{
  char text[256] = "none";
  if (c->output.layer >= 0) describe(c->bench->network, c->output.layer, text, sizeof text);
  print_run(c->bench, c->run);
  printf("%d layers compared", c->n_compared);
  if (c->n_hidden) printf(" (%d are never whole)", c->n_hidden);
  if (c->softmax.layer >= 0) printf(", softmax %.1e", c->softmax.ratio);
  printf(", worst %.1e at %s\n", c->output.ratio, text);
}

/* Compares every layer of a run with libdarknet's. */
static int compare_layers(struct bench *b, struct run run, struct mafat_diagnostic *d)
{
  struct comparison c = {.bench = b, .run = &run, .output = {0, -1}, .softmax = {0, -1}};
  struct mafat_executor *e = NULL;
  int last = b->network->n_layers - 1;
  int code = open_run(&run, b, d);
  if (code == MAFAT_OK) code = find_last_steps(&c, d);
  if (code == MAFAT_OK) code = execute(&e, b, &run, &c, d);
  if (code == MAFAT_OK) {
    double tolerance = tolerance_of(&c);
    if (b->network->layers[last].type == MAFAT_ROUTE) compare_output(&c, e, last);
    for (int i = 0; i <= last; i++) compare_softmaxes(&c, i);
    report(&c);
    b->good &=
        c.n_compared > 0 && c.output.ratio <= tolerance && c.softmax.ratio <= SOFTMAX_TOLERANCE;
  }
  mafat_executor_close(&e);
  close_run(&run);
  free(c.last_step);
  free(c.values);
  return code;
}

/* True for outputs of the network: heads and the last layer. */
static bool is_output(const struct mafat_network *n, int layer)
{
  return layer == n->n_layers - 1 || mafat_layer_is_head(&n->layers[layer]);
}

static size_t output_floats(const struct mafat_network *n)
{
  size_t floats = 0;
  for (int i = 0; i < n->n_layers; i++) floats += is_output(n, i) ? floats_of(n->layers[i].out) : 0;
  return floats;
}

static int compute_outputs(const struct bench *b, struct run run, float *outputs,
                           struct mafat_diagnostic *d)
{
  struct mafat_executor *e = NULL;
  int code = open_run(&run, b, d);
  if (code == MAFAT_OK) code = execute(&e, b, &run, NULL, d);
  for (int i = 0; code == MAFAT_OK && i < b->network->n_layers; i++)
    if (is_output(b->network, i)) {
      mafat_executor_read_output(e, i, outputs);
      outputs += floats_of(b->network->layers[i].out);
    }
  mafat_executor_close(&e);
  close_run(&run);
  return code;
}

/* Checks that layers computed inside their readers, on one and two threads, give the same bits. */
static int compare_fused(struct bench *b, const struct mafat_kernels *kernels,
                         enum mafat_algorithm algorithm, struct mafat_diagnostic *d)
{
  size_t bytes = output_floats(b->network) * sizeof(float);
  const char *bits[3] = {NULL};
  float *kept = malloc(bytes), *fused = malloc(bytes);
  int code = kept && fused ? MAFAT_OK : mafat_fail(d, MAFAT_ENOMEM, "out of memory");
  struct run run = {.kernels = kernels, .how = how_to_run(algorithm, true, 1)};
  if (code == MAFAT_OK) code = compute_outputs(b, run, kept, d);
  for (int n_threads = 1; n_threads <= 2 && code == MAFAT_OK; n_threads++) {
    run.how = how_to_run(algorithm, false, n_threads);
    code = compute_outputs(b, run, fused, d);
    bool same = code == MAFAT_OK && memcmp(fused, kept, bytes) == 0;
    bits[n_threads] = same ? "the same" : "OTHER";
    b->good &= same;
  }
  if (code == MAFAT_OK) {
    print_run(b, &run);
    printf("fused on one thread: %s bits, on two: %s\n", bits[1], bits[2]);
  }
  free(kept);
  free(fused);
  return code;
}

/* True if a later level in the list gives the same bits. */
static bool has_better(const struct mafat_kernels *const *levels, int n_levels, int level)
{
  for (int i = level + 1; i < n_levels; i++)
    if (levels[i]->fused == levels[level]->fused) return true;
  return false;
}

/* Compares all requested levels and algorithms. */
static int compare_runs(struct bench *b, struct mafat_diagnostic *d)
{
  const struct mafat_kernels *levels[MOST_LEVELS];
  enum mafat_algorithm algorithms[] = {MAFAT_DIRECT, MAFAT_WINOGRAD, MAFAT_WINOGRAD_LARGE},
                       when_fused = MAFAT_AUTO;
  int n_levels = mafat_kernels_list(levels, MOST_LEVELS), n_algorithms = 3, code = MAFAT_OK;
  if (b->options.cpu) {
    levels[0] = mafat_kernels_find(b->options.cpu);
    n_levels = 1;
  }
  if (b->options.algorithm) {
    mafat_algorithm_find(&when_fused, b->options.algorithm);
    algorithms[0] = when_fused;
    n_algorithms = 1;
  }
  for (int l = n_levels - 1; l >= 0 && code == MAFAT_OK; l--) {
    if (b->options.each_class && has_better(levels, n_levels, l)) continue;
    for (int a = 0; a < n_algorithms && code == MAFAT_OK; a++)
      code = compare_layers(
          b, (struct run){.kernels = levels[l], .how = how_to_run(algorithms[a], true, 1)}, d);
    if (code == MAFAT_OK) code = compare_fused(b, levels[l], when_fused, d);
  }
  return code;
}

static int compare_networks(struct bench *b, struct mafat_diagnostic *d)
{
  const struct mafat_network *n = b->network;
  int w, h, code;
  if ((code = oracle_load(&b->darknet, b->options.cfg, b->options.weights, d))) return code;
  if ((code = compare_shapes(n, b->darknet, d))) goto done;
  int channels = mafat_network_picture_shape(n).c;
  bool shows = b->options.picture && (channels == 1 || channels == 3);
  b->input =
      shows ? oracle_picture(b->darknet, b->options.picture, &w, &h) : oracle_noise(b->darknet);
  if (!b->input) {
    code = mafat_fail(d, MAFAT_ENOMEM, "out of memory");
    goto done;
  }
  network_predict(b->darknet, b->input);
  for (int i = 0; i < n->n_layers; i++)
    if (n->layers[i].type == MAFAT_YOLO) oracle_update_yolo(b->darknet, i, &n->layers[i]);
  code = compare_runs(b, d);
done:
  free(b->input);
  free_network(b->darknet);
  return code;
}

static int print_layout(const struct bench *b, struct mafat_diagnostic *d)
{
  struct run run = {.how = how_to_run(MAFAT_AUTO, false, 1)};
  int code = open_run(&run, b, d);
  if (code == MAFAT_OK)
    printf("%llu %llu %zu\n", (unsigned long long)mafat_weights_payload_bytes(b->network),
           (unsigned long long)run.layout->macs, run.layout->total_bytes);
  close_run(&run);
  return code;
}

/* Returns -1 to continue, else the exit status. */
static int read_options(int argc, char **argv, struct options *o)
{
  static const struct option names[] = {
      {"tolerance", required_argument, NULL, 't'}, {"plan", required_argument, NULL, 'p'},
      {"image", required_argument, NULL, 'i'},     {"cpu", required_argument, NULL, 'c'},
      {"algorithm", required_argument, NULL, 'a'}, {"each-class", no_argument, NULL, 'e'},
      {"fed", no_argument, NULL, 'f'},
      {"verbose", no_argument, NULL, 'v'},         {"layout-only", no_argument, NULL, 'l'},
      {"help", no_argument, NULL, 'h'},            {NULL, 0, NULL, 0}};
  enum mafat_algorithm algorithm;
  char *end;
  for (int c; (c = getopt_long(argc, argv, "", names, NULL)) != -1;) {
    switch (c) {
    case 't':
      o->tolerance = strtod(optarg, &end);
      if (*end || !(o->tolerance > 0)) {
        fprintf(stderr, "oracle_layers: --tolerance expects a number above 0, found '%s'\n",
                optarg);
        return CANNOT;
      }
      break;
    case 'p': o->plan = optarg; break;
    case 'i': o->picture = optarg; break;
    case 'c':
      if (!mafat_kernels_find(optarg)) {
        fprintf(stderr, "oracle_layers: --cpu: unknown level '%s'\n", optarg);
        return CANNOT;
      }
      o->cpu = optarg;
      break;
    case 'a':
      if (!mafat_algorithm_find(&algorithm, optarg)) {
        fprintf(stderr,
                "oracle_layers: --algorithm expects auto, direct, winograd or winograd-large, "
                "found '%s'\n",
                optarg);
        return CANNOT;
      }
      o->algorithm = optarg;
      break;
    case 'e': o->each_class = true; break;
    case 'f': o->fed = true; break;
    case 'v': o->verbose = true; break;
    case 'l': o->layout_only = true; break;
    case 'h': fputs(usage, stdout); return AGREES;
    default: return CANNOT;
    }
  }
  if (argc - optind != (o->layout_only ? 1 : 2)) {
    fputs("oracle_layers: expected CFG WEIGHTS; --help lists the options\n", stderr);
    return CANNOT;
  }
  o->cfg = argv[optind];
  o->weights = o->layout_only ? NULL : argv[optind + 1];
  return -1;
}

int main(int argc, char **argv)
{
  struct bench b = {.options = {.tolerance = 0}, .good = true};
  struct mafat_diagnostic d = {""};
  int status = read_options(argc, argv, &b.options);
  if (status >= 0) return status;
  const struct mafat_darknet_overrides overrides = {.fork = MAFAT_FORK_DARKNET};
  int code = mafat_darknet_read(&b.network, b.options.cfg, &overrides, NULL, &d);
  if (code == MAFAT_OK && b.options.weights)
    code = mafat_weights_open_kept(&b.weights, b.options.weights, b.network, b.network->n_layers,
                                   NULL, &d);
  if (code == MAFAT_OK)
    code = b.options.layout_only ? print_layout(&b, &d) : compare_networks(&b, &d);
  if (code != MAFAT_OK) fprintf(stderr, "oracle_layers: %s\n", d.text);
  mafat_weights_close(&b.weights);
  mafat_network_close(&b.network);
  return code != MAFAT_OK ? CANNOT : b.good ? AGREES : DIFFERS;
}
