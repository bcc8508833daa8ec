/* Runs Darknet's networks with libmafat; see the header. Called by dropin.c and by the patched
 * Darknet. Opens models, frees buffers of Darknet's layers, ends the process on failures. */
#include "bridge.h"

#include <mafat_plan.h>

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { EXIT_RUNNING = 1, EXIT_INPUT = 2, EXIT_DOES_NOT_FIT = 3 };

/* Identifies the content of a file. Inode numbers are left out, because some file systems change
 * them. */
struct identity {
  off_t bytes;
  struct timespec written;
};

/* libmafat's data for a network. The first layer points to it, in a field that Darknet does not
 * use (state_state_layer). Freed by mafat_bridge_free. */
struct bridge {
  struct mafat_model *model; /* NULL until weights are loaded */
  char *cfg, *weights;       /* absolute paths */
  struct identity of_cfg, of_weights; /* to detect changes: both are read again later */
  int known;                 /* number of leading layers that libmafat runs */
  int batch;                 /* capacity of the output buffers, in pictures */
  int w, h;                  /* input size after resize_network(); 0: the cfg's */
  int *outputs, n_outputs;   /* layers whose output is read, ascending */
  float *temperatures;       /* (known) the cfg's softmax temperatures */
};

static struct {
  bool on, keeps_arena, mixes;
  size_t memory_bytes;
  const char *memory_name, *plan, *outputs, *outputs_name;
  int threads;
} settings;

/* Set while the parser runs in this thread: layers below `known` are made as skeletons, without
 * weights and buffers. */
static _Thread_local struct {
  bool on;
  int known, at;
} skeleton;
static _Thread_local bool left_to_darknet;

/* ---- messages ---- */

/* Prints one line on stderr. */
static void say(const char *format, va_list list)
{
  char line[1024];
  int n = vsnprintf(line, sizeof line, format, list);
  size_t length = n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1;
  for (size_t i = 0; i < length; i++) /* paths may contain control characters */
    if (iscntrl((unsigned char)line[i])) line[i] = '?';
  fprintf(stderr, "mafat: %s\n", line);
}

static void report(const char *format, ...) MAFAT_PRINTF(1, 2);
static void report(const char *format, ...)
{
  va_list list;
  va_start(list, format);
  say(format, list);
  va_end(list);
}

static void stop(int status, const char *format, ...) MAFAT_PRINTF(2, 3) __attribute__((noreturn));
static void stop(int status, const char *format, ...)
{
  va_list list;
  va_start(list, format);
  fflush(stdout);
  say(format, list);
  va_end(list);
  exit(status);
}

static int exit_status(int code)
{
  return code == MAFAT_ELIMIT   ? EXIT_DOES_NOT_FIT
         : code == MAFAT_ENOMEM ? EXIT_RUNNING
                                : EXIT_INPUT;
}

static void warn(void *context, const char *text)
{
  (void)context;
  report("warning: %s", text);
}

static void *allocate(size_t n, size_t size)
{
  void *p = calloc(n, size);
  if (!p && n && size) stop(EXIT_RUNNING, "out of memory");
  return p;
}

/* ---- settings ---- */

static bool read_number(const char *text, char **end, unsigned long long *value)
{
  errno = 0;
  *value = isdigit((unsigned char)*text) ? strtoull(text, end, 10) : 0;
  return *value > 0 && !errno;
}

static bool read_size(const char *text, size_t *bytes)
{
  static const char units[] = "kmg";
  char *end;
  unsigned long long n, unit = 1;
  if (!read_number(text, &end, &n)) return false;
  const char *found = *end ? strchr(units, tolower((unsigned char)*end)) : NULL;
  if (found) {
    unit = 1ULL << (10 * (found - units + 1));
    end++;
    if (strcmp(end, "B") == 0 || strcmp(end, "iB") == 0) end += strlen(end);
  }
  if (*end || __builtin_mul_overflow(n, unit, &n) || n > SIZE_MAX) return false;
  *bytes = (size_t)n;
  return true;
}

static bool read_threads(const char *text, int *threads)
{
  char *end;
  unsigned long long n;
  *threads = MAFAT_THREADS_AUTO;
  if (strcmp(text, "auto") == 0) return true;
  if (!read_number(text, &end, &n) || *end || n > 64) return false;
  *threads = (int)n;
  return true;
}

void mafat_bridge_start(const struct mafat_bridge_settings *s)
{
  settings.memory_name = s->memory_name;
  settings.outputs_name = s->outputs_name;
  settings.threads = 1;
  if (s->memory && !read_size(s->memory, &settings.memory_bytes))
    stop(EXIT_INPUT, "%s: expected a size like 64M, 16384K or bytes, found '%.60s'", s->memory_name,
         s->memory);
  if (s->threads && !read_threads(s->threads, &settings.threads))
    stop(EXIT_INPUT, "%s: expected a number from 1 to 64, or auto, found '%.60s'", s->threads_name,
         s->threads);
  settings.plan = s->plan;
  settings.outputs = s->outputs;
  settings.keeps_arena = s->keeps_arena;
  settings.mixes = s->mixes;
  settings.on = true;
}

/* ---- outputs that are read ---- */

static int output_layer(const network *net)
{
  int i = net->n - 1;
  while (i > 0 && net->layers[i].type == COST) i--;
  return i;
}

/* A dropout layer shares the output of the layer before it. */
static int owner(const network *net, int i)
{
  while (i > 0 && net->layers[i].type == DROPOUT) i--;
  return i;
}

static void mark(const network *net, const struct bridge *b, bool *kept, int i)
{
  i = owner(net, i);
  if (i >= 0 && i < b->known) kept[i] = true;
}

/* Marks outputs of libmafat's layers that Darknet's layers read. */
static void mark_read_by_darknet(const network *net, const struct bridge *b, bool *kept)
{
  if (b->known < net->n) mark(net, b, kept, b->known - 1);
  for (int i = b->known; i < net->n; i++) {
    const layer *l = &net->layers[i];
    if (l->type == SHORTCUT) mark(net, b, kept, l->index);
    for (int k = 0; l->type == ROUTE && k < l->n; k++) mark(net, b, kept, l->input_layers[k]);
  }
}

static void mark_asked_for(const network *net, const struct bridge *b, bool *kept)
{
  const char *text = settings.outputs;
  if (!text) return;
  if (strcmp(text, "all") == 0) {
    for (int i = 0; i < b->known; i++)
      if (net->layers[i].type != COST) mark(net, b, kept, i);
    return;
  }
  for (;;) {
    char *end;
    errno = 0;
    long i = isdigit((unsigned char)*text) ? strtol(text, &end, 10) : -1;
    if (i < 0 || i >= net->n || errno || (*end && *end != ','))
      stop(EXIT_INPUT, "%s: expected all, or layers from 0 to %d as in 3,7, found '%.60s'",
           settings.outputs_name, net->n - 1, text);
    mark(net, b, kept, (int)i);
    if (!*end) return;
    text = end + 1;
  }
}

static bool is_head(const layer *l)
{
  return l->type == YOLO || l->type == REGION || l->type == DETECTION;
}

static void list_outputs(struct bridge *b, const network *net)
{
  bool *kept = allocate((size_t)net->n, sizeof *kept);
  for (int i = 0; i < b->known; i++)
    if (is_head(&net->layers[i])) kept[i] = true;
  mark(net, b, kept, output_layer(net));
  mark_read_by_darknet(net, b, kept);
  mark_asked_for(net, b, kept);
  b->outputs = allocate((size_t)b->known, sizeof *b->outputs);
  for (int i = 0; i < b->known; i++)
    if (kept[i]) b->outputs[b->n_outputs++] = i;
  free(kept);
}

/* ---- running ---- */

static struct bridge *bridge_of(const layer *first)
{
  return (struct bridge *)(void *)first->state_state_layer;
}

static void forward_nothing(layer l, network net)
{
  (void)l;
  (void)net;
}

static void check_run(const struct bridge *b, const layer *l, const network *net)
{
  if (net->train) stop(EXIT_INPUT, "%s: opened for prediction only, it cannot be trained", b->cfg);
  if (!b->model) stop(EXIT_INPUT, "%s: no weights have been loaded", b->cfg);
  if (l->batch > b->batch)
    stop(EXIT_INPUT, "%s: expected a batch of at most %d, as in the cfg, found %d", b->cfg,
         b->batch, l->batch);
  for (int i = 0; i < b->known; i++)
    if (net->layers[i].type == SOFTMAX && net->layers[i].temperature != b->temperatures[i])
      stop(EXIT_INPUT, "%s: layer %d: expected the cfg's temperature, %g, found %g", b->cfg, i,
           b->temperatures[i], net->layers[i].temperature);
}

static void run_picture(const struct bridge *b, const network *net, int picture)
{
  struct mafat_diagnostic d;
  size_t inputs = (size_t)net->inputs;
  int code = mafat_model_run_floats(b->model, net->input + (size_t)picture * inputs, inputs, &d);
  for (int k = 0; code == MAFAT_OK && k < b->n_outputs; k++) {
    const layer *l = &net->layers[b->outputs[k]];
    code = mafat_model_read_layer(b->model, b->outputs[k],
                                  l->output + (size_t)picture * (size_t)l->outputs, &d);
  }
  if (code) stop(code == MAFAT_ELIMIT ? EXIT_DOES_NOT_FIT : EXIT_RUNNING, "%s", d.text);
}

/* The first layer's `forward`: runs all layers that libmafat runs. The arena's pages are given back
 * after the batch: Darknet's picture, as floats, needs several times the network's memory. */
static void forward_known(layer l, network net)
{
  const struct bridge *b = bridge_of(&l);
  check_run(b, &l, &net);
  for (int i = 0; i < l.batch; i++) run_picture(b, &net, i);
  if (!settings.keeps_arena) mafat_model_rest(b->model);
}

static void refuse_backward(layer l, network net)
{
  (void)l;
  stop(EXIT_INPUT, "%s: opened for prediction only, it cannot be trained",
       bridge_of(&net.layers[0])->cfg);
}

static void refuse_update(layer l, update_args a)
{
  (void)l;
  (void)a;
  stop(EXIT_INPUT, "opened for prediction only, it cannot be trained");
}

bool mafat_bridge_owns(const network *net)
{
  return settings.on && net && net->n > 0 && net->layers && net->layers[0].forward == forward_known;
}

void mafat_bridge_refuse(const network *net, const char *what)
{
  if (mafat_bridge_owns(net))
    stop(EXIT_INPUT, "%s: opened for prediction only, without weights for %s",
         bridge_of(&net->layers[0])->cfg, what);
}

void mafat_bridge_refuse_layer(const layer *l, const char *what)
{
  if (settings.on && l->update == refuse_update)
    stop(EXIT_INPUT, "a layer opened for prediction only, without weights for %s", what);
}

/* ---- skeletons ---- */

static void drop(float **p)
{
  free(*p);
  *p = NULL;
}

/* Frees everything as large as weights or maps, except the output. Small arrays stay, such as a
 * head's anchors; Darknet frees them. */
static void strip_layer(layer *l)
{
  float **large[] = {&l->delta,   &l->x,       &l->x_norm, &l->weights,        &l->weight_updates,
                     &l->loss,    &l->squared, &l->norms,  &l->binary_weights, &l->binary_input,
                     &l->rand,    &l->m,       &l->v,      &l->bias_m,         &l->bias_v,
                     &l->scale_m, &l->scale_v};
  for (size_t k = 0; k < sizeof large / sizeof *large; k++) drop(large[k]);
  free(l->indexes);
  l->indexes = NULL;
  free(l->cweights);
  l->cweights = NULL;
}

static void make_output(layer *l, bool kept)
{
  if (!kept) drop(&l->output);
  else if (!l->output) l->output = allocate((size_t)l->batch * (size_t)l->outputs, sizeof(float));
}

/* Frees the buffers that Darknet's parser or resize_network() allocated. */
static void strip_network(struct bridge *b, network *net)
{
  int k = 0;
  for (int i = 0; i < b->known; i++) {
    layer *l = &net->layers[i];
    bool kept = k < b->n_outputs && b->outputs[k] == i;
    if (l->type == DROPOUT)
      l->output = l->delta = NULL; /* shared with the layer before, which frees its own */
    strip_layer(l);
    if (l->type == DROPOUT && i > 0) l->output = net->layers[i - 1].output;
    else make_output(l, kept);
    k += kept;
    l->forward = i == 0 ? forward_known : forward_nothing;
    l->backward = refuse_backward;
    l->update = refuse_update;
  }
  net->layers[0].state_state_layer = (layer *)(void *)b;
  net->output = net->layers[output_layer(net)].output;
  b->batch = net->batch;
  if (b->known == net->n) drop(&net->workspace);
}

static void close_bridge(struct bridge *b)
{
  mafat_model_close(&b->model);
  free(b->cfg);
  free(b->weights);
  free(b->outputs);
  free(b->temperatures);
  free(b);
}

static char *absolute(const char *path)
{
  char *copy = realpath(path, NULL);
  if (!copy) copy = strdup(path); /* opening it reports the error */
  if (!copy) stop(EXIT_RUNNING, "out of memory");
  return copy;
}

/* All zero if this is no file; opening it reports the error. */
static struct identity identify(const char *path)
{
  struct stat st;
  if (stat(path, &st) != 0) return (struct identity){0};
  return (struct identity){st.st_size, st.st_mtim};
}

/* Fails if the file changed since the network was made from it. */
static void check_identity(const char *path, const struct identity *was)
{
  struct identity is = identify(path);
  bool same = is.bytes == was->bytes && is.written.tv_sec == was->written.tv_sec &&
              is.written.tv_nsec == was->written.tv_nsec;
  if (!same)
    stop(EXIT_INPUT,
         "%s: changed since the network was made from it; do not replace it while it is in use",
         path);
}

/* A cfg is read three times: by libmafat, by Darknet's parser and when weights are loaded. A pipe
 * or a device can be read only once. */
static void check_cfg(const char *path)
{
  struct stat st;
  if (stat(path, &st) != 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) return;
  stop(EXIT_INPUT, "%s: expected a regular file, found a %s: a cfg is read more than once", path,
       S_ISFIFO(st.st_mode) ? "pipe" : "device");
}

static void make_bridge(network *net, const char *cfg, const struct identity *of_cfg, int known)
{
  struct bridge *b = allocate(1, sizeof *b);
  b->cfg = absolute(cfg);
  b->of_cfg = *of_cfg;
  b->known = known;
  b->temperatures = allocate((size_t)known, sizeof *b->temperatures);
  for (int i = 0; i < known; i++) b->temperatures[i] = net->layers[i].temperature;
  list_outputs(b, net);
  strip_network(b, net);
}

/* Number of leading layers that libmafat will run; 0: Darknet runs the network. */
static int layers_to_run(const char *cfg)
{
  struct mafat_diagnostic d;
  int known, all;
  int code = mafat_cfg_known_layers(cfg, &known, &all, &d);
  if (code) stop(exit_status(code), "%s", d.text);
  if (known == all) return known;
  if (!settings.mixes || known == 0) {
    report("%s: Darknet runs this network", d.text);
    return 0;
  }
  report("%s: Darknet runs this layer and those after it", d.text);
  return known;
}

void mafat_bridge_expect(const char *weights)
{
  left_to_darknet = settings.on && !(weights && *weights);
  if (left_to_darknet) report("no weights are loaded: Darknet runs this network");
}

/* Linker symbols around the program's code and constants; NULL in a library. */
extern const char __executable_start[] __attribute__((weak)), __data_start[] __attribute__((weak));

/* Splits the program's code into short mappings. A page fault in code maps the pages around it
 * (64 KB, or since Linux 6.16 all cached ones), but only within one mapping. Most code of
 * Darknet and libmafat is used in few places, so this keeps it from becoming resident. The
 * alternating advice has no other effect on code. */
static void cut_code_mapping(void)
{
  static const uintptr_t span = 8 << 10;
  static bool done;
  if (done || !__executable_start || !__data_start) return;
  done = true;
  uintptr_t from = (uintptr_t)__executable_start / span * span + span;
  for (; from + span < (uintptr_t)__data_start; from += 2 * span)
    madvise((void *)from, span, MADV_DONTDUMP);
}

bool mafat_bridge_parse(const struct mafat_bridge_darknet *darknet, char *cfg, network **out)
{
  if (!settings.on || skeleton.on || left_to_darknet) return false;
  cut_code_mapping();
  check_cfg(cfg);
  struct identity of_cfg = identify(cfg);
  int known = layers_to_run(cfg);
  if (!known) return false;
  skeleton.on = true;
  skeleton.known = known;
  skeleton.at = 0;
  network *net = darknet->parse_network_cfg(cfg);
  skeleton.on = false;
  make_bridge(net, cfg, &of_cfg, known < net->n ? known : net->n);
  *out = net;
  return true;
}

/* ---- weights ---- */

/* Bytes that Darknet uses during a run: the input, and the outputs and workspace of its own
 * layers. They are made resident while the plan is chosen, so that libmafat counts them as part
 * of the process. */
static size_t capacity_bytes(const struct bridge *b, const network *net)
{
  size_t bytes = (size_t)net->inputs * sizeof(float), workspace = 0;
  for (int i = b->known; i < net->n; i++) {
    const layer *l = &net->layers[i];
    bytes += (size_t)l->outputs * sizeof(float);
    if (l->workspace_size > workspace) workspace = l->workspace_size;
  }
  return bytes + workspace;
}

static int open_model(struct bridge *b, const network *net, struct mafat_diagnostic *d)
{
  struct mafat_model_options o = {.size = sizeof o};
  o.memory_bytes = settings.memory_bytes;
  o.memory_name = settings.memory_name;
  o.fork = "darknet"; /* not detected from the cfg's keys: this program is pjreddie's fork */
  o.plan = settings.plan;
  o.threads = settings.threads;
  o.layers = b->known;
  o.outputs = b->outputs;
  o.n_outputs = b->n_outputs;
  o.width = b->w;
  o.height = b->h;
  o.floats_only = true;
  o.warnings = (struct mafat_warning_sink){warn, NULL};
  size_t bytes = capacity_bytes(b, net);
  void *capacity =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  int code = mafat_model_open(&b->model, b->cfg, b->weights, &o, d);
  if (capacity != MAP_FAILED) munmap(capacity, bytes);
  return code;
}

/* Fails if the two Darknets read different shapes from the cfg. */
static void check_shapes(const struct bridge *b, const network *net)
{
  for (int k = 0; k < b->n_outputs; k++) {
    const layer *l = &net->layers[b->outputs[k]];
    int h, w, c;
    if (mafat_model_layer_shape(b->model, b->outputs[k], &h, &w, &c)) h = w = c = 0;
    if ((size_t)h * (size_t)w * (size_t)c != (size_t)l->outputs)
      stop(EXIT_INPUT, "%s: layer %d: expected %d x %d x %d outputs, found %d in this Darknet",
           b->cfg, b->outputs[k], w, h, c, l->outputs);
  }
}

static void open_bridge(struct bridge *b, const network *net)
{
  struct mafat_diagnostic d;
  char budget[80] = "";
  mafat_model_close(&b->model);
  int code = open_model(b, net, &d);
  if (code) stop(exit_status(code), "%s", d.text);
  check_identity(b->cfg, &b->of_cfg);
  check_identity(b->weights, &b->of_weights);
  check_shapes(b, net);
  const double mib = 1 << 20;
  if (settings.memory_bytes)
    snprintf(budget, sizeof budget, ", the budget (%s) is %.1f MiB", settings.memory_name,
             (double)settings.memory_bytes / mib);
  report("%s: plan %s needs %.1f MiB%s", b->cfg, mafat_model_plan(b->model),
       (double)mafat_model_charge_bytes(b->model) / mib, budget);
}

/* Reads `seen` like Darknet: 8 bytes since version 0.2, 4 before. A packed file has none. */
static void read_seen(const char *path, size_t *seen)
{
  int32_t version[3], old;
  uint64_t now;
  FILE *f = fopen(path, "rb");
  if (!f) return;
  if (fread(version, sizeof version, 1, f) == 1 && memcmp(version, "MAFATPK", 7) != 0) {
    bool is_old = version[0] > 1000 || version[1] > 1000 || version[0] * 10 + version[1] < 2;
    if (is_old && fread(&old, sizeof old, 1, f) == 1) *seen = (size_t)old;
    if (!is_old && fread(&now, sizeof now, 1, f) == 1) *seen = (size_t)now;
  }
  fclose(f);
}

bool mafat_bridge_load(network *net, char *weights, int start, int cutoff)
{
  if (!mafat_bridge_owns(net)) return false;
  struct bridge *b = bridge_of(&net->layers[0]);
  if (start > 0 || cutoff < net->n)
    stop(EXIT_INPUT,
         "%s: opened for prediction only: expected weights for %d layers, from the first on, found "
         "%d to %d",
         b->cfg, net->n, start, cutoff - 1);
  free(b->weights);
  b->weights = absolute(weights);
  b->of_weights = identify(b->weights);
  open_bridge(b, net);
  if (b->known < net->n) return false; /* Darknet reads the weights of its layers */
  read_seen(b->weights, net->seen);
  return true;
}

/* Number of floats that a weights file has for the layer. */
static long layer_floats(const layer *l)
{
  long norms = l->batch_normalize ? 3 : 0;
  switch (l->type) {
  case CONVOLUTIONAL: return l->n * (1 + norms) + (long)l->nweights;
  case CONNECTED: return l->outputs * (1 + norms) + (long)l->outputs * l->inputs;
  case LOCAL: return l->outputs + (long)l->size * l->size * l->c * l->n * l->out_w * l->out_h;
  case BATCHNORM: return 3L * l->c;
  default: return 0;
  }
}

bool mafat_bridge_skip(const network *net, int i, FILE *weights)
{
  if (!mafat_bridge_owns(net) || i >= bridge_of(&net->layers[0])->known) return false;
  fseek(weights, layer_floats(&net->layers[i]) * (long)sizeof(float), SEEK_CUR);
  return true;
}

/* ---- resizing, closing ---- */

bool mafat_bridge_resize(const struct mafat_bridge_darknet *darknet, network *net, int w, int h)
{
  if (!mafat_bridge_owns(net) || skeleton.on) return false;
  struct bridge *b = bridge_of(&net->layers[0]);
  if (w == net->w && h == net->h && net->batch == b->batch) return true;
  skeleton.on = true;
  darknet->resize_network(net, w, h);
  skeleton.on = false;
  strip_network(b, net);
  b->w = w;
  b->h = h;
  if (b->model) open_bridge(b, net);
  return true;
}

/* Frees what Debian's free_network() forgets. */
static void free_forgotten(network *net)
{
  free(net->seen);
  free(net->t);
  free(net->cost);
  free(net->workspace);
  free(net->scales);
  free(net->steps);
  for (int i = 0; i < net->n; i++) {
    free(net->layers[i].mask);
    free(net->layers[i].loss);
  }
}

bool mafat_bridge_free(const struct mafat_bridge_darknet *darknet, network *net)
{
  if (!mafat_bridge_owns(net) || skeleton.on) return false;
  struct bridge *b = bridge_of(&net->layers[0]);
  if (!darknet->frees_all) free_forgotten(net);
  skeleton.on = true;
  darknet->free_network(net);
  skeleton.on = false;
  close_bridge(b);
  return true;
}

/* ---- layers ---- */

void mafat_bridge_layer(int i)
{
  skeleton.at = i;
}

static bool makes_skeleton(void)
{
  return skeleton.on && skeleton.at < skeleton.known;
}

struct size {
  int w, h, c;
};

/* Prints a row of the table that Darknet's parser prints. `work` is in 10^9 operations; 0:
 * omitted. */
static void print_row(const char *name, struct size in, struct size out, double work)
{
  fprintf(stderr, "%-19s%4d x%4d x%4d   ->  %4d x%4d x%4d", name, in.w, in.h, in.c, out.w, out.h,
          out.c);
  if (work > 0) fprintf(stderr, "  %5.3f BFLOPs", work);
  fputc('\n', stderr);
}

static void set_sizes(layer *l, LAYER_TYPE type, int batch, struct size in, struct size out)
{
  *l = (layer){.type = type,
               .batch = batch,
               .w = in.w,
               .h = in.h,
               .c = in.c,
               .out_w = out.w,
               .out_h = out.h,
               .out_c = out.c};
  l->inputs = in.w * in.h * in.c;
  l->outputs = out.w * out.h * out.c;
}

bool mafat_bridge_convolutional(layer *l, int batch, int h, int w, int c, int n, int groups,
                                int size, int stride, int padding, ACTIVATION activation,
                                int batch_normalize)
{
  if (!makes_skeleton()) return false;
  char name[64];
  struct size in = {w, h, c}, out = {(w + 2 * padding - size) / stride + 1,
                                     (h + 2 * padding - size) / stride + 1, n};
  set_sizes(l, CONVOLUTIONAL, batch, in, out);
  l->n = n;
  l->groups = groups;
  l->size = size;
  l->stride = stride;
  l->pad = padding;
  l->activation = activation;
  l->batch_normalize = batch_normalize;
  l->nbiases = n;
  l->nweights = c / groups * n * size * size;
  snprintf(name, sizeof name, "conv  %5d %2d x%2d /%2d", n, size, size, stride);
  print_row(name, in, out, 2e-9 * l->nweights * out.w * out.h);
  return true;
}

bool mafat_bridge_connected(layer *l, int batch, int inputs, int outputs, ACTIVATION activation,
                            int batch_normalize)
{
  if (!makes_skeleton()) return false;
  set_sizes(l, CONNECTED, batch, (struct size){1, 1, inputs}, (struct size){1, 1, outputs});
  l->learning_rate_scale = 1;
  l->activation = activation;
  l->batch_normalize = batch_normalize;
  fprintf(stderr, "%-36s %4d  ->  %4d\n", "connected", inputs, outputs);
  return true;
}

static int local_size(int in, int size, int stride, int pad)
{
  return (in - (pad ? 1 : size)) / stride + 1;
}

bool mafat_bridge_local(layer *l, int batch, int h, int w, int c, int n, int size, int stride,
                        int pad, ACTIVATION activation)
{
  if (!makes_skeleton()) return false;
  struct size in = {w, h, c},
              out = {local_size(w, size, stride, pad), local_size(h, size, stride, pad), n};
  set_sizes(l, LOCAL, batch, in, out);
  l->n = n;
  l->size = size;
  l->stride = stride;
  l->pad = pad;
  l->activation = activation;
  print_row("local", in, out, 0);
  return true;
}

bool mafat_bridge_maxpool(layer *l, int batch, int h, int w, int c, int size, int stride,
                          int padding)
{
  if (!makes_skeleton()) return false;
  char name[64];
  struct size in = {w, h, c},
              out = {(w + padding - size) / stride + 1, (h + padding - size) / stride + 1, c};
  set_sizes(l, MAXPOOL, batch, in, out);
  l->size = size;
  l->stride = stride;
  l->pad = padding;
  snprintf(name, sizeof name, "max          %d x %d / %d", size, size, stride);
  print_row(name, in, out, 0);
  return true;
}

/* The parser sets the output's shape. */
bool mafat_bridge_route(layer *l, int batch, int n, int *input_layers, int *input_sizes)
{
  if (!makes_skeleton()) return false;
  *l = (layer){.type = ROUTE,
               .batch = batch,
               .n = n,
               .input_layers = input_layers,
               .input_sizes = input_sizes};
  fputs("route ", stderr);
  for (int i = 0; i < n; i++) {
    l->outputs += input_sizes[i];
    fprintf(stderr, " %d", input_layers[i]);
  }
  l->inputs = l->outputs;
  fputc('\n', stderr);
  return true;
}

bool mafat_bridge_shortcut(layer *l, int batch, int index, int w, int h, int c, int w2, int h2,
                           int c2)
{
  if (!makes_skeleton()) return false;
  char name[64];
  struct size in = {w2, h2, c2}, out = {w, h, c};
  set_sizes(l, SHORTCUT, batch, in, out);
  l->inputs = l->outputs;
  l->index = index;
  snprintf(name, sizeof name, "res  %3d", index);
  print_row(name, in, out, 0);
  return true;
}
