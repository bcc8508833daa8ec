/* Debian's Darknet as a peer: decodes, letterboxes and runs a picture. Started by run.py.
 * Options besides those of peer.h:
 *     --layers N     only the first N layers; the rest of the cfg is not parsed, because parsing
 *                    allocates weights
 *     --marks FILE   writes a line for each step: index, type, start and end in nanoseconds of
 *                    CLOCK_MONOTONIC; reading the picture is "-1 image" */
#include "peer.h"

#include <ctype.h>
#include <sys/mman.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <darknet.h>
#pragma GCC diagnostic pop

char *get_layer_string(LAYER_TYPE type); /* of libdarknet, but in no header */

static int n_layers; /* 0: all */
static FILE *marks;

/* Removes this program's options from the command line. Returns the number of arguments left. */
static int read_options(int argc, char **argv)
{
  int n = 1;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--layers") == 0 && i + 1 < argc) {
      n_layers = atoi(argv[++i]);
      if (n_layers < 1) peer_fail("--layers expects a number from 1");
    } else if (strcmp(argv[i], "--marks") == 0 && i + 1 < argc) {
      marks = fopen(argv[++i], "we");
      if (!marks) peer_fail("cannot write --marks");
    } else {
      argv[n++] = argv[i];
    }
  }
  return n;
}

static int is_key(const char *line, const char *key)
{
  size_t n = strlen(key);
  while (isspace((unsigned char)*line)) line++;
  if (strncmp(line, key, n) != 0) return 0;
  for (line += n; isspace((unsigned char)*line); line++) continue;
  return *line == '=';
}

/* Copies the cfg up to layer n_layers, with batch=1, to a memory file. Returns its path. */
static const char *cut_cfg(const char *path)
{
  static char cut_path[64];
  char *line = NULL;
  size_t size = 0;
  int n_sections = 0, fd = memfd_create("cfg", MFD_CLOEXEC);
  FILE *in = fopen(path, "re"), *out = fd < 0 ? NULL : fdopen(fd, "w");
  if (!in || !out) peer_fail("cannot read the cfg");
  while (getline(&line, &size, in) >= 0) {
    const char *start = line + strspn(line, " \t");
    if (*start == '[' && n_sections++ > n_layers) break; /* [net] is not a layer */
    if (is_key(line, "batch")) fputs("batch=1\n", out);
    else if (is_key(line, "subdivisions")) fputs("subdivisions=1\n", out);
    else fputs(line, out);
  }
  if (n_sections <= n_layers) peer_fail("the cfg has fewer layers than --layers names");
  free(line);
  fclose(in);
  /* `out` stays open: the path refers to it */
  if (fflush(out) != 0) peer_fail("cannot keep the cfg");
  snprintf(cut_path, sizeof cut_path, "/proc/self/fd/%d", fd);
  return cut_path;
}

static void mark(int index, const char *type, double start_ms)
{
  if (!marks) return;
  fprintf(marks, "%d %s %.0f %.0f\n", index, type, start_ms * 1e6, peer_now_ms() * 1e6);
  fflush(marks); /* a run may be killed before its end */
}

/* Runs like network_predict(), with a mark for each layer. */
static void predict_marked(network *net, float *input)
{
  network state = *net;
  state.input = input;
  state.truth = state.delta = NULL;
  state.train = 0;
  for (int i = 0; i < net->n; i++) {
    double start = peer_now_ms();
    layer l = net->layers[i];
    state.index = i;
    if (l.delta) fill_cpu(l.outputs * l.batch, 0, l.delta, 1); /* as in forward_network() */
    l.forward(l, state);
    state.input = l.output;
    if (l.truth) state.truth = l.output;
    mark(i, get_layer_string(l.type), start);
  }
}

static int detects(const network *net)
{
  LAYER_TYPE type = net->layers[net->n - 1].type;
  return type == YOLO || type == REGION || type == DETECTION;
}

static void run(struct peer *p, network *net)
{
  double before = peer_now_ms(), between;
  image loaded = load_image((char *)p->picture, 0, 0, net->c);
  image fitted = letterbox_image(loaded, net->w, net->h);
  mark(-1, "image", before);
  between = peer_now_ms();
  if (marks) predict_marked(net, fitted.data);
  else network_predict(net, fitted.data);
  peer_add_run(p, before, between);
  free_image(fitted);
  free_image(loaded);
}

static int count_detections(network *net)
{
  int n = 0, good = 0, classes = net->layers[net->n - 1].classes;
  detection *found = get_network_boxes(net, net->w, net->h, .5f, .5f, NULL, 1, &n);
  do_nms_sort(found, n, classes, .45f);
  for (int i = 0; i < n; i++)
    for (int c = 0; c < classes; c++) good += found[i].prob[c] > .5f;
  free_detections(found, n);
  return good;
}

int main(int argc, char **argv)
{
  static struct peer p;
  peer_begin(&p, read_options(argc, argv), argv);
  p.version = DARKNET_VERSION; /* of the package: the library does not report one */
  if (!p.idle) {
    double before = peer_now_ms();
    network *net = load_network((char *)(n_layers ? cut_cfg(p.cfg) : p.cfg), (char *)p.weights, 0);
    set_batch_network(net, 1);
    p.load_ms = peer_now_ms() - before;
    for (int i = 0; i < p.repeat; i++) run(&p, net);
    if (detects(net)) p.n_detections = count_detections(net);
    layer last = net->layers[net->n - 1];
    if (p.dump) peer_dump(&p, last.output, (size_t)last.outputs);
  }
  peer_report(&p); /* while the network is in memory */
  return 0;
}
