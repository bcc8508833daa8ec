/* make_weights: deterministic random weights for a .cfg, in Darknet's .weights
 * format, so that any network can be run, timed and compared without a trained
 * file.
 *
 * Weights are uniform with He's scale, sqrt(6 / fan-in), corrected by an
 * estimate of how large the layer's inputs are (energy below), so that
 * activations neither grow nor die on the way down, whatever the depth. The
 * convolutions in front of a detection head are set so that a picture gives
 * some detections rather than none or all. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/darknet/darknet.h"
#include "network/constant.h"
#include "runner/weights/weights.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, ".weights files are little-endian");

/* As in the project's other programs: BAD_INPUT is also the answer to misuse. */
enum status { DONE = 0, FAILED = 1, BAD_INPUT = 2 };

enum {
  BUFFER_FLOATS = 64 * 1024,
  PROGRESS_BYTES = 64 * 1000 * 1000 /* smaller files are written before one could look */
};

struct options {
  uint64_t seed;
  bool quiet;
  const char *cfg, *out;
};

static const char usage[] =
    "usage: make_weights [--seed N] [--quiet] MODEL.cfg OUT.weights\n"
    "Write random weights for MODEL.cfg in Darknet's format; the same seed gives the same file.\n"
    "\n"
    "  --seed N   0 or more (default: 1)\n"
    "  --quiet    no progress bar\n"
    "  --help     this text\n"
    "\n"
    "Exit status: 0 done, 1 the file could not be written, 2 wrong options or a bad cfg.\n";

/* ---- What values a layer gets ---- */

/* Plain data, [operator]. */
struct recipe {
  float energy;  /* estimated mean square of the layer's outputs */
  float limit;   /* weights are uniform in [-limit, limit] */
  float branch;  /* factor of the scales: less than 1 at the end of a shortcut's branch */
  int head;      /* the detection head it feeds, or -1 */
};

/* A filter in front of a detection head: its weights' factor and its bias. */
struct aim {
  float gain, bias;
};

static float mean_energy(const struct mafat_sources *sources, const struct recipe *recipes)
{
  float sum = 0, n = 0;
  for (int i = 0; i < mafat_sources_count(sources); i++) {
    const struct mafat_source *s = &sources->list[i];
    sum += (float)s->n * recipes[s->tensor].energy;
    n += (float)s->n;
  }
  return n > 0 ? sum / n : 1;
}

/* The mean square that a zero-centred input should have for outputs near 1. */
static float wanted_energy(enum mafat_activation a)
{
  switch (a) {
  case MAFAT_LINEAR:
  case MAFAT_TANH:
  case MAFAT_HARDTAN:
  case MAFAT_LOGISTIC:
  case MAFAT_LOGGY:
  case MAFAT_PLSE:
  case MAFAT_STAIR:
  case MAFAT_LHTAN:
  case MAFAT_HARD_SIGMOID: return 1;
  default: return 2; /* half of the inputs become (nearly) zero */
  }
}

/* What `sources` names, when it is a single tensor; else -1. */
static int sole_tensor(const struct mafat_sources *sources)
{
  return mafat_sources_count(sources) == 1 ? sources->list[0].tensor : -1;
}

/* Share of a window's taps that lie in the map, averaged over it, along one axis. */
static double coverage(struct mafat_taps t, int extent)
{
  double padding = ((double)t.before * (t.before + 1) + (double)t.after * (t.after + 1)) / 2;
  double outside = padding / ((double)t.stride * t.dilation);
  return fmax(1 - outside / ((double)t.size * extent), 1. / t.size);
}

static void weigh(const struct mafat_layer *l, float in, struct recipe *r)
{
  struct mafat_matrix m = mafat_layer_matrix(l);
  double fan_in = (double)m.taps * m.inputs;
  if (!mafat_layer_is_flat(l)) fan_in = fan_in * coverage(l->window.y, l->out.h) * coverage(l->window.x, l->out.w);
  r->limit = (float)sqrt(3 * wanted_energy(l->activation.kind) / (fan_in * in));
  r->energy = 1;
}

/* As a factor: a gate's lie around a half. */
static float factor_energy(const struct mafat_network *n, const struct mafat_operand *o, const struct recipe *recipes)
{
  int feeder = sole_tensor(&o->sources);
  bool gate = feeder >= 0 && n->layers[feeder].activation.kind == MAFAT_LOGISTIC;
  return gate ? .3f : mean_energy(&o->sources, recipes);
}

static float blended_energy(const struct mafat_network *n, const struct mafat_layer *l, float in,
                            const struct recipe *recipes)
{
  float energy = l->blend == MAFAT_BLEND_ADD ? l->alpha * l->alpha * in : in;
  for (int k = 1; k < l->n_operands; k++) {
    const struct mafat_operand *o = &l->operands[k];
    float from = mean_energy(&o->sources, recipes) * (float)o->shape.c / (float)l->in.c;
    if (l->blend == MAFAT_BLEND_ADD) energy += l->beta * l->beta * from;
    if (l->blend == MAFAT_BLEND_MUL) energy *= factor_energy(n, o, recipes);
  }
  return energy;
}

static void cook_layer(const struct mafat_network *n, int index, struct recipe *recipes)
{
  const struct mafat_layer *l = &n->layers[index];
  struct recipe *r = &recipes[index];
  float in = mean_energy(mafat_layer_sources(l), recipes);
  *r = (struct recipe){.energy = in, .branch = 1, .head = -1};
  if (mafat_layer_matrix(l).filters > 0) weigh(l, in, r);
  if (mafat_layer_pools(l) && mafat_window_area(&l->window) > 1) r->energy = 1.5f * in; /* measured on pictures */
  if (l->type == MAFAT_AVGPOOL) r->energy = in / 2;
  if (l->type == MAFAT_UPSAMPLE) r->energy = in * l->scale * l->scale;
  if (mafat_layer_blends(l)) r->energy = blended_energy(n, l, in, recipes);
}

/* Ends of residual branches, known only when their shortcut is reached. */
static void tame_branch(const struct mafat_network *n, int index, struct recipe *recipes)
{
  const float factor = 0.125f; /* a trunk of some dozen blocks hardly grows */
  const struct mafat_layer *l = &n->layers[index];
  int end = sole_tensor(mafat_layer_sources(l));
  struct mafat_shape from = l->operands[1].shape;
  bool same = from.h == l->in.h && from.w == l->in.w && from.c == l->in.c;
  if (!same || end < 0 || !mafat_layer_convolves(&n->layers[end])) return;
  recipes[end].branch = factor;
  recipes[end].energy = factor * factor;
}

static int make_recipes(struct recipe **out, const struct mafat_network *n, struct mafat_diagnostic *d)
{
  struct recipe *recipes = calloc((size_t)mafat_network_n_operators(n), sizeof *recipes);
  if (!recipes) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", n->path);
  for (int i = n->n_layers; i < mafat_network_n_operators(n); i++)
    recipes[i].energy = 1.f / 3; /* of values spread over 0 ... 1 */
  for (int i = 0; i < n->n_layers; i++) {
    const struct mafat_layer *l = &n->layers[i];
    if (mafat_layer_blends(l)) tame_branch(n, i, recipes);
    cook_layer(n, i, recipes);
    int feeder = sole_tensor(mafat_layer_sources(l));
    if (mafat_layer_is_head(l) && feeder >= 0) recipes[feeder].head = i;
  }
  *out = recipes;
  return MAFAT_OK;
}

/* Boxes near their anchors, objects and classes rarely sure: what is left over a
 * threshold is a matter of luck, but seldom all or nothing. */
static struct aim aim_filter(const struct mafat_layer *head, int filter)
{
  const struct mafat_head *h = &head->head;
  if (h->side > 0) return (struct aim){.3f, 0}; /* plain numbers, no logits */
  bool softmax = h->softmax;
  int entry = filter % (h->coords + 1 + h->classes);
  if (entry < h->coords) return (struct aim){.5f, 0};
  if (entry == h->coords) return softmax ? (struct aim){1.5f, 0} : (struct aim){1.5f, -2.5f};
  return softmax ? (struct aim){4, 0} : (struct aim){1.5f, -3};
}

/* ---- The file ---- */

struct writer {
  FILE *file;
  uint64_t state; /* of the random numbers */
  float *buffer;  /* (BUFFER_FLOATS) */
  size_t n;
  uint64_t done, total; /* floats */
  int percent;    /* shown last; -1: shows nothing */
};

/* xorshift64*, Vigna 2016, "An experimental exploration of Marsaglia's
 * xorshift generators, scrambled": its upper 24 bits as -1 ... 1. */
static inline float next_random(uint64_t *state)
{
  uint64_t x = *state;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  *state = x;
  return (float)(int32_t)(x * 0x2545f4914f6cdd1dULL >> 40) * 0x1p-23f - 1;
}

/* Any seed, 0 too, to a state that is not 0 (splitmix64's mixing). */
static uint64_t seed_state(uint64_t seed)
{
  uint64_t z = seed + 0x9e3779b97f4a7c15ULL;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
  z ^= z >> 31;
  return z ? z : 1;
}

static void show_progress(struct writer *w)
{
  if (w->percent < 0) return; /* also without any weights: total is 0 */
  int percent = (int)(w->done * 100 / w->total);
  if (percent == w->percent) return;
  w->percent = percent;
  fprintf(stderr, "\rwriting weights %3d %%%s", percent, percent == 100 ? "\n" : "");
}

/* Failures stay in the stream and are looked at once, at the end. */
static void flush(struct writer *w)
{
  fwrite(w->buffer, sizeof *w->buffer, w->n, w->file);
  w->done += w->n;
  w->n = 0;
  show_progress(w);
}

/* n numbers, uniform in [centre - spread, centre + spread]. */
static void put(struct writer *w, uint64_t n, float centre, float spread)
{
  while (n > 0 && !ferror(w->file)) {
    size_t room = BUFFER_FLOATS - w->n;
    size_t now = n < room ? (size_t)n : room;
    for (size_t i = 0; i < now; i++)
      w->buffer[w->n + i] = centre + spread * next_random(&w->state);
    w->n += now;
    n -= now;
    if (w->n == BUFFER_FLOATS) flush(w);
  }
}

static void put_biases(struct writer *w, const struct mafat_layer *head, uint64_t n, float branch)
{
  for (uint64_t i = 0; i < n; i++)
    put(w, 1, head ? aim_filter(head, (int)i).bias : 0, .1f * branch);
}

/* Scales, means, variances. */
static void put_normalization(struct writer *w, uint64_t filters, float scale)
{
  put(w, filters, scale, .1f * scale);
  put(w, filters, 0, .1f);
  put(w, filters, 1, .2f);
}

static void put_weights(struct writer *w, const struct mafat_layer *head, uint64_t n,
                        uint64_t filters, float limit)
{
  for (uint64_t i = 0; i < filters; i++)
    put(w, n / filters, 0, limit * (head ? aim_filter(head, (int)i).gain : 1));
}

/* In the order of the file. The branch's factor is in the scales, or else in the weights. */
static void put_layer(struct writer *w, const struct mafat_network *n, int index,
                      const struct recipe *r)
{
  const struct mafat_layer_constants *c = &n->constants->layers[index];
  bool aimed = r->head >= 0 && mafat_layer_has_panels(&n->layers[index]);
  const struct mafat_layer *head = aimed ? &n->layers[r->head] : NULL;
  uint64_t normalized = c->normalization.n / 3;
  bool behind = c->normalization.at > c->weights.at;
  put_biases(w, head, c->biases.n, r->branch);
  if (normalized && !behind) put_normalization(w, normalized, r->branch);
  put_weights(w, head, c->weights.n, c->biases.n, r->limit * (normalized ? 1 : r->branch));
  if (normalized && behind) put_normalization(w, normalized, r->branch);
}

static void put_header(FILE *file)
{
  static const int32_t version[3] = {0, 2, 0}; /* major, minor, revision */
  static const uint64_t seen = 0;              /* training pictures */
  fwrite(version, sizeof version, 1, file);
  fwrite(&seen, sizeof seen, 1, file);
}

static int write_weights(FILE *file, const struct mafat_network *n, const struct options *o,
                         struct mafat_diagnostic *d)
{
  struct writer w = {.file = file, .state = seed_state(o->seed), .total = mafat_weights_payload_bytes(n) / sizeof(float)};
  struct recipe *recipes = NULL;
  bool silent = o->quiet || w.total < PROGRESS_BYTES / sizeof(float) || !isatty(STDERR_FILENO);
  w.percent = silent ? -1 : 0;
  int code = make_recipes(&recipes, n, d);
  if (code) return code;
  w.buffer = malloc(BUFFER_FLOATS * sizeof *w.buffer);
  if (w.buffer) {
    put_header(file);
    for (int i = 0; i < n->n_layers; i++) put_layer(&w, n, i, &recipes[i]);
    flush(&w);
  } else {
    code = mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", o->out);
  }
  free(w.buffer);
  free(recipes);
  return code;
}

/* The temporary name, for the signal handler; "" when there is no such file. */
static char temporary[4096];

static void give_up(int signal_number)
{
  if (temporary[0]) unlink(temporary);
  _exit(128 + signal_number);
}

/* Under its own name only when it is whole. */
static int write_file(const struct mafat_network *n, const struct options *o,
                      struct mafat_diagnostic *d)
{
  char name[sizeof temporary];
  if (snprintf(name, sizeof name, "%s.XXXXXX", o->out) >= (int)sizeof name)
    return mafat_fail(d, MAFAT_EIO, "%.60s...: the name is too long", o->out);
  int fd = mkstemp(name);
  if (fd < 0) return mafat_fail(d, MAFAT_EIO, "%s: %s", o->out, strerror(errno));
  memcpy(temporary, name, sizeof temporary);
  mode_t mask = umask(0);
  umask(mask);
  fchmod(fd, 0666 & ~mask);
  FILE *file = fdopen(fd, "wb");
  int code = MAFAT_OK;
  if (file) code = write_weights(file, n, o, d);
  bool failed = !file || ferror(file);
  if (file ? fclose(file) != 0 : close(fd) != 0) failed = true;
  if (code == MAFAT_OK && (failed || rename(name, o->out) != 0))
    code = mafat_fail(d, MAFAT_EIO, "%s: %s", o->out, strerror(errno));
  if (code != MAFAT_OK) unlink(name);
  temporary[0] = 0;
  return code;
}

/* ---- The command line ---- */

static int misused(const char *what, const char *value)
{
  fprintf(stderr, "make_weights: %s%s%s%s; --help lists the options\n", what, value ? " '" : "",
          value ? value : "", value ? "'" : "");
  return BAD_INPUT;
}

/* -1: go on; else the exit status. */
static int read_options(int argc, char **argv, struct options *o)
{
  static const struct option names[] = {{"seed", required_argument, NULL, 's'},
                                        {"quiet", no_argument, NULL, 'q'},
                                        {"help", no_argument, NULL, 'h'},
                                        {NULL, 0, NULL, 0}};
  char *end;
  opterr = 0;
  for (int c; (c = getopt_long(argc, argv, ":", names, NULL)) != -1;) {
    switch (c) {
    case 's':
      errno = 0;
      o->seed = strtoull(optarg, &end, 10);
      if (optarg[0] < '0' || optarg[0] > '9' || *end || errno)
        return misused("--seed expects a number from 0 to 2^64 - 1, found", optarg);
      break;
    case 'q': o->quiet = true; break;
    case 'h': fputs(usage, stdout); return DONE;
    case ':': return misused("a value is missing after", argv[optind - 1]);
    default: return misused("unknown option", argv[optind - 1]);
    }
  }
  if (argc - optind != 2) return misused("expected MODEL.cfg and OUT.weights", NULL);
  o->cfg = argv[optind];
  o->out = argv[optind + 1];
  return -1;
}

int main(int argc, char **argv)
{
  struct options o = {.seed = 1};
  struct mafat_diagnostic d = {""};
  struct mafat_network *n = NULL;
  int status = read_options(argc, argv, &o);
  if (status >= 0) return status;
  signal(SIGINT, give_up);
  signal(SIGTERM, give_up);
  signal(SIGHUP, give_up);
  status = DONE;
  int code = mafat_darknet_read(&n, o.cfg, NULL, NULL, &d);
  if (code != MAFAT_OK) {
    status = BAD_INPUT;
  } else {
    code = write_file(n, &o, &d);
    if (code != MAFAT_OK) status = FAILED;
  }
  if (code != MAFAT_OK) fprintf(stderr, "make_weights: %s\n", d.text);
  mafat_network_close(&n);
  return status;
}
