/* Our results against libdarknet's, layer by layer: both get the same input and
 * run the whole network; every layer's output that exists as a whole map is
 * compared. Softmax, which turns differences of its input into larger ones, is
 * fed with libdarknet's own input instead. */
#include <getopt.h>
#include <math.h>
#include <string.h>

#include "runner/executor.h" /* before darknet.h, whose short names it would shadow */
#include "tests/oracle/oracle.h"

enum status { AGREES = 0, DIFFERS = 1, CANNOT = 2 };

static const double SOFTMAX_TOLERANCE = 1e-6;

struct options {
  double tolerance;
  const char *plan, *picture, *cpu;
  bool verbose, layout_only;
  const char *cfg, *weights;
};

static const char usage[] =
    "usage: oracle_layers [OPTION]... CFG WEIGHTS\n"
    "       oracle_layers --layout-only [--plan TEXT] CFG\n"
    "Compare the output of every layer with libdarknet's.\n"
    "\n"
    "  --tolerance T   of max|difference| / max|output| in a layer (default: 2e-5)\n"
    "  --plan TEXT     run by this plan (default: layer by layer)\n"
    "  --image FILE    feed a picture (default: noise)\n"
    "  --cpu LEVEL     kernels to use (default: the best)\n"
    "  --verbose       a line for every layer\n"
    "  --layout-only   run nothing, print weight bytes, multiply-accumulates, arena bytes\n"
    "\n"
    "Exit status: 0 all agree, 1 a layer differs, 2 something could not be loaded.\n";

/* Everything of ours that a run needs. */
struct ours {
  struct mafat_network *network;
  struct mafat_plan *plan;
  struct mafat_layout *layout;
  struct mafat_weights *weights;
};

struct worst {
  double ratio;
  int layer; /* -1: none yet */
};

struct comparison {
  const struct options *options;
  const struct ours *ours;
  const network *darknet;
  int *last_step; /* [layer]: number of the step that completes it, -1: never runs */
  int step;
  float *values;  /* room for the largest output */
  int n_compared, n_hidden; /* hidden: never whole in this plan */
  struct worst output, softmax;
};

static size_t floats_of(struct mafat_shape s)
{
  return (size_t)s.h * (size_t)s.w * (size_t)s.c;
}

static void describe(const struct mafat_network *n, int index, char *text, size_t room)
{
  const struct mafat_layer *l = &n->layers[index];
  int used = snprintf(text, room, "layer %d [%s]", index, mafat_layer_type_name(l->type));
  if (l->size)
    used += snprintf(text + used, room - (size_t)used, " %dx%d/%d groups %d %s", l->size, l->size,
                     l->stride, l->groups, mafat_activation_name(l->activation));
  snprintf(text + used, room - (size_t)used, " %dx%dx%d -> %dx%dx%d", l->in.h, l->in.w, l->in.c,
           l->out.h, l->out.w, l->out.c);
}

/* Notes how far a layer is off; prints it where it is too far, or when asked. */
static void judge(const struct comparison *c, int index, const char *what, double ratio,
                  double tolerance, struct worst *worst)
{
  bool good = ratio <= tolerance;
  if (!good || c->options->verbose) {
    char text[256];
    describe(c->ours->network, index, text, sizeof text);
    printf("%s%s: %s differs by %.2e of its maximum\n", good ? "  " : "  TOO FAR ", text, what, ratio);
  }
  if (worst->layer < 0 || !(ratio <= worst->ratio)) *worst = (struct worst){ratio, index};
}

/* Infinite where either side is not finite. */
static double ratio_of(double difference, double largest)
{
  if (isnan(difference) || !(largest < INFINITY)) return INFINITY;
  if (difference == 0) return 0;
  return difference / largest;
}

/* Is element i of the layer's output a softmax's? Those are compared apart. */
static bool is_softmax(const struct mafat_layer *l, size_t i)
{
  const struct mafat_head *h = &l->head;
  switch (l->type) {
  case MAFAT_SOFTMAX: return true;
  case MAFAT_REGION: {
    int entry = (int)(i / ((size_t)l->out.h * (size_t)l->out.w)) % (h->coords + 1 + h->classes);
    return h->softmax && entry >= h->coords + !h->background;
  }
  case MAFAT_DETECTION: return h->softmax && i < (size_t)h->side * (size_t)h->side * (size_t)h->classes;
  default: return false;
  }
}

static void compare_output(struct comparison *c, const struct mafat_executor *e, int index)
{
  const struct mafat_layer *l = &c->ours->network->layers[index];
  const float *reference = c->darknet->layers[index].output;
  double difference = 0, largest = 0;
  if (l->type == MAFAT_SOFTMAX) return;
  mafat_executor_read_output(e, index, c->values);
  for (size_t i = 0; i < floats_of(l->out); i++) {
    if (is_softmax(l, i)) continue;
    double d = fabs((double)c->values[i] - (double)reference[i]), r = fabs((double)reference[i]);
    if (!(d <= difference)) difference = d; /* also when d is no number */
    if (!(r <= largest)) largest = r;
  }
  judge(c, index, "output", ratio_of(difference, largest), c->options->tolerance, &c->output);
  c->n_compared++;
}

static void observe(void *context, struct mafat_executor *e, const struct mafat_step *step)
{
  struct comparison *c = context;
  struct mafat_shape out = c->ours->network->layers[step->layer].out;
  if (c->step++ != c->last_step[step->layer]) return;
  bool whole = step->held.y.begin == 0 && step->held.x.begin == 0 && step->held.y.end == out.h &&
               step->held.x.end == out.w;
  if (whole || c->ours->layout->tensors[step->layer + 1].external) compare_output(c, e, step->layer);
  else c->n_hidden++;
}

/* One softmax: n values, `stride` apart, of what libdarknet's layer read. */
static double softmax_ratio(const struct comparison *c, const struct mafat_kernels *k, int index,
                            size_t first, size_t n, size_t stride, float temperature)
{
  const float *in = c->darknet->layers[index - 1].output + first;
  const float *reference = c->darknet->layers[index].output + first;
  double difference = 0, largest = 0;
  for (size_t i = 0; i < n; i++) c->values[i] = in[i * stride];
  k->softmax(c->values, c->values, n, temperature);
  for (size_t i = 0; i < n; i++) {
    double d = fabs((double)c->values[i] - (double)reference[i * stride]);
    if (!(d <= difference)) difference = d;
    largest = fmax(largest, (double)reference[i * stride]);
  }
  return ratio_of(difference, largest);
}

/* All of a layer's softmaxes: how many, how long each. */
static void compare_softmaxes(struct comparison *c, const struct mafat_kernels *k, int index)
{
  const struct mafat_layer *l = &c->ours->network->layers[index];
  const struct mafat_head *h = &l->head;
  size_t pixels = (size_t)l->out.h * (size_t)l->out.w, per_box = (size_t)(h->coords + 1 + h->classes);
  size_t count = 0, n = 0, stride = 1;
  double worst = 0;
  if (index == 0) return; /* its input is not kept */
  if (l->type == MAFAT_SOFTMAX) {
    count = (size_t)l->groups;
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
    double ratio = softmax_ratio(c, k, index, first, n, stride, l->type == MAFAT_SOFTMAX ? l->temperature : 1);
    if (!(ratio <= worst)) worst = ratio;
  }
  if (count) judge(c, index, "softmax", worst, SOFTMAX_TOLERANCE, &c->softmax);
  if (l->type == MAFAT_SOFTMAX) c->n_compared++;
}

/* Which step completes each layer: the schedule, walked dry. */
static int find_last_steps(struct comparison *c, struct mafat_diagnostic *d)
{
  struct mafat_schedule *s = NULL;
  struct mafat_step step;
  int n_layers = c->ours->network->n_layers;
  size_t largest = 0;
  for (int i = 0; i < n_layers; i++) {
    size_t n = floats_of(c->ours->network->layers[i].out);
    if (n > largest) largest = n;
  }
  c->last_step = malloc((size_t)n_layers * sizeof *c->last_step);
  c->values = malloc(largest * sizeof *c->values);
  if (!c->last_step || !c->values || mafat_schedule_open(&s, c->ours->network, c->ours->plan))
    return mafat_fail(d, MAFAT_ENOMEM, "out of memory");
  for (int i = 0; i < n_layers; i++) c->last_step[i] = -1;
  for (int i = 0; mafat_schedule_next(s, &step); i++) c->last_step[step.layer] = i;
  mafat_schedule_close(&s);
  return MAFAT_OK;
}

static void close_ours(struct ours *o)
{
  mafat_weights_close(&o->weights);
  mafat_layout_close(&o->layout);
  mafat_plan_close(&o->plan);
  mafat_network_close(&o->network);
}

/* Up to the layout; the weights when there are any. */
static int open_ours(struct ours *o, const struct options *options, struct mafat_diagnostic *d)
{
  int code = mafat_network_read(&o->network, options->cfg, NULL, d);
  if (code) return code;
  int n = o->network->n_layers;
  code = options->plan ? mafat_plan_read(&o->plan, options->plan, o->network, n, NULL, d)
                       : mafat_plan_untiled(&o->plan, o->network, n, NULL, d);
  if (code == MAFAT_OK) code = mafat_layout_make(&o->layout, o->network, o->plan, d);
  if (code == MAFAT_OK && options->weights)
    code = mafat_weights_open(&o->weights, options->weights, o->network, n, NULL, d);
  return code;
}

static int run_ours(struct comparison *c, const struct mafat_kernels *kernels, const float *input,
                    struct mafat_diagnostic *d)
{
  const struct ours *o = c->ours;
  struct mafat_executor *e = NULL;
  struct mafat_executor_options options;
  mafat_executor_defaults(&options);
  options.kernels = kernels;
  options.observe = observe;
  options.observe_context = c;
  int code = mafat_executor_open(&e, o->network, o->plan, o->layout, o->weights, &options, d);
  if (code) return code;
  mafat_executor_set_input(e, input);
  code = mafat_executor_run(e, d);
  int last = o->network->n_layers - 1;
  if (code == MAFAT_OK && o->network->layers[last].type == MAFAT_ROUTE) compare_output(c, e, last);
  mafat_executor_close(&e);
  return code;
}

static int compare_shapes(const struct comparison *c, struct mafat_diagnostic *d)
{
  const struct mafat_network *n = c->ours->network;
  if (c->darknet->n != n->n_layers)
    return mafat_fail(d, MAFAT_EFORMAT, "Darknet sees %d layers, ours %d", c->darknet->n, n->n_layers);
  if ((size_t)c->darknet->inputs != floats_of(n->input))
    return mafat_fail(d, MAFAT_EFORMAT, "Darknet takes %d inputs, ours %zu", c->darknet->inputs,
                      floats_of(n->input));
  for (int i = 0; i < n->n_layers; i++)
    if ((size_t)c->darknet->layers[i].outputs != floats_of(n->layers[i].out))
      return mafat_fail(d, MAFAT_EFORMAT, "layer %d [%s]: Darknet puts out %d values, ours %zu", i,
                        mafat_layer_type_name(n->layers[i].type), c->darknet->layers[i].outputs,
                        floats_of(n->layers[i].out));
  return MAFAT_OK;
}

static const char *base_name(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static void report(const struct comparison *c, const struct mafat_kernels *kernels)
{
  char text[256] = "none";
  if (c->output.layer >= 0) describe(c->ours->network, c->output.layer, text, sizeof text);
  printf("%s (%s, %dx%d, plan %s): %d layers compared", base_name(c->options->cfg), kernels->name,
         c->ours->network->input.w, c->ours->network->input.h,
         c->options->plan ? c->options->plan : "1x1/NoCut", c->n_compared);
  if (c->n_hidden) printf(" (%d are never whole)", c->n_hidden);
  if (c->softmax.layer >= 0) printf(", softmax %.1e", c->softmax.ratio);
  printf(", worst %.1e at %s\n", c->output.ratio, text);
}

static int compare_networks(struct comparison *c, struct mafat_diagnostic *d)
{
  const struct options *o = c->options;
  const struct mafat_network *n = c->ours->network;
  const struct mafat_kernels *kernels = mafat_kernels_find(o->cpu);
  network *darknet = NULL;
  float *input = NULL;
  int w, h, code;
  if (!kernels) return mafat_fail(d, MAFAT_EINVAL, "--cpu: unknown level '%s'", o->cpu);
  if ((code = oracle_load(&darknet, o->cfg, o->weights, d))) return code;
  c->darknet = darknet;
  if ((code = compare_shapes(c, d)) || (code = find_last_steps(c, d))) goto done;
  bool shows = o->picture && (n->input.c == 1 || n->input.c == 3);
  input = shows ? oracle_picture(darknet, o->picture, &w, &h) : oracle_noise(darknet);
  if (!input) {
    code = mafat_fail(d, MAFAT_ENOMEM, "out of memory");
    goto done;
  }
  network_predict(darknet, input);
  for (int i = 0; i < n->n_layers; i++)
    if (n->layers[i].type == MAFAT_YOLO) oracle_update_yolo(darknet, i, &n->layers[i]);
  if ((code = run_ours(c, kernels, input, d))) goto done;
  for (int i = 0; i < n->n_layers; i++) compare_softmaxes(c, kernels, i);
  report(c, kernels);
done:
  free(input);
  free(c->last_step);
  free(c->values);
  free_network(darknet);
  return code;
}

static int print_layout(const struct ours *o)
{
  printf("%llu %llu %zu\n", (unsigned long long)mafat_weights_payload_bytes(o->network),
         (unsigned long long)o->layout->macs, o->layout->total_bytes);
  return AGREES;
}

/* -1: go on; else the exit status. */
static int read_options(int argc, char **argv, struct options *o)
{
  static const struct option names[] = {
      {"tolerance", required_argument, NULL, 't'}, {"plan", required_argument, NULL, 'p'},
      {"image", required_argument, NULL, 'i'},     {"cpu", required_argument, NULL, 'c'},
      {"verbose", no_argument, NULL, 'v'},         {"layout-only", no_argument, NULL, 'l'},
      {"help", no_argument, NULL, 'h'},            {NULL, 0, NULL, 0}};
  char *end;
  for (int c; (c = getopt_long(argc, argv, "", names, NULL)) != -1;) {
    switch (c) {
    case 't':
      o->tolerance = strtod(optarg, &end);
      if (*end || !(o->tolerance > 0)) {
        fprintf(stderr, "oracle_layers: --tolerance expects a number above 0, found '%s'\n", optarg);
        return CANNOT;
      }
      break;
    case 'p': o->plan = optarg; break;
    case 'i': o->picture = optarg; break;
    case 'c': o->cpu = optarg; break;
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
  struct options options = {.tolerance = 2e-5};
  struct ours ours = {NULL, NULL, NULL, NULL};
  struct mafat_diagnostic d = {""};
  int status = read_options(argc, argv, &options);
  if (status >= 0) return status;
  struct comparison c = {.options = &options, .ours = &ours, .output = {0, -1}, .softmax = {0, -1}};
  int code = open_ours(&ours, &options, &d);
  if (code == MAFAT_OK && options.layout_only) status = print_layout(&ours);
  else if (code == MAFAT_OK) code = compare_networks(&c, &d);
  if (code != MAFAT_OK) {
    fprintf(stderr, "oracle_layers: %s\n", d.text);
    status = CANNOT;
  } else if (!options.layout_only) {
    bool good = c.n_compared > 0 && c.output.ratio <= options.tolerance &&
                c.softmax.ratio <= SOFTMAX_TOLERANCE;
    status = good ? AGREES : DIFFERS;
  }
  close_ours(&ours);
  return status;
}
