/* Program: compares our detections with libdarknet's; labels, boxes and confidences must agree.
 * Ours come from `run_inference --json`, which it starts, libdarknet's from get_network_boxes() and
 * do_nms_sort(). Started by tests/oracle/run.sh. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <json-c/json.h>

#include "formats/darknet/darknet.h"
#include "tests/oracle/oracle.h"

enum status { AGREES = 0, DIFFERS = 1, CANNOT = 2 };

/* tolerances of edges, in pixels, and of confidences (0 to 1) */
static const double EDGE_TOLERANCE = 1, CONFIDENCE_TOLERANCE = 0.005;
static const float NMS = .45f;

struct options {
  float thresh; /* 0: choose by n_boxes */
  int n_boxes;  /* number of detections before NMS if thresh is 0 */
  const char *program, *cfg, *weights;
  char **pictures;
  int n_pictures;
};

static const char usage[] =
    "usage: oracle_detections [OPTION]... CFG WEIGHTS IMAGE...\n"
    "Compare the detections of run_inference with libdarknet's.\n"
    "\n"
    "  --program FILE  the program (default: build/run_inference)\n"
    "  --thresh T      least confidence (default: 0.3)\n"
    "  --boxes N       instead: choose the threshold so that Darknet has about N before NMS\n"
    "\n"
    "Exit status: 0 all agree, 1 they differ, 2 something could not be loaded or run.\n";

/* A detection, in pixels of the picture. */
struct found {
  int class;
  double confidence, left, top, right, bottom;
  bool paired;
};

struct found_list {
  struct found *list;
  size_t n;
};

static int append(struct found_list *l, struct found f)
{
  struct found *grown = realloc(l->list, (l->n + 1) * sizeof *grown);
  if (!grown) return MAFAT_ENOMEM;
  grown[l->n++] = f;
  l->list = grown;
  return MAFAT_OK;
}

/* ---- libdarknet's detections ---- */

static int descending(const void *a, const void *b)
{
  float x = *(const float *)a, y = *(const float *)b;
  return (x < y) - (x > y);
}

/* Chooses a threshold, from 0.001 to 0.999, above which libdarknet has n_boxes confidences. */
static float choose_thresh(network *net, int n_boxes)
{
  const float least = .001f, most = .999f; /* [detection] may exceed 1 */
  int n = 0, classes = net->layers[net->n - 1].classes;
  size_t used = 0;
  detection *dets = get_network_boxes(net, 1, 1, least, .5f, NULL, 1, &n);
  float *all = malloc(((size_t)n * (size_t)classes + 1) * sizeof *all), thresh = least;
  for (int i = 0; all && i < n; i++)
    for (int k = 0; k < classes; k++)
      if (dets[i].prob[k] > 0) all[used++] = dets[i].prob[k];
  if (all) qsort(all, used, sizeof *all, descending);
  if (all && used > (size_t)n_boxes) thresh = (all[n_boxes - 1] + all[n_boxes]) / 2;
  free(all);
  free_detections(dets, n);
  return thresh < most ? thresh : most;
}

static void predict(network *net, const struct mafat_network *ours, const float *input)
{
  network_predict(net, (float *)input);
  for (int i = 0; i < ours->n_layers; i++)
    if (ours->layers[i].type == MAFAT_YOLO) oracle_update_yolo(net, i, &ours->layers[i]);
}

static int find_theirs(struct found_list *theirs, network *net, const struct mafat_network *ours,
                       int w, int h, float thresh)
{
  int n = 0, code = MAFAT_OK, classes = net->layers[net->n - 1].classes;
  detection *dets = get_network_boxes(net, w, h, thresh, .5f, NULL, 1, &n);
  /* [detection] ignores `relative` and gives pixels. */
  bool pixels = ours->layers[ours->n_layers - 1].type == MAFAT_DETECTION;
  double sx = pixels ? 1 : w, sy = pixels ? 1 : h;
  do_nms_sort(dets, n, classes, NMS);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < classes && code == MAFAT_OK; k++) {
      box b = dets[i].bbox;
      if (!(dets[i].prob[k] > thresh)) continue;
      code =
          append(theirs, (struct found){k, (double)dets[i].prob[k], sx * (double)(b.x - b.w / 2),
                                        sy * (double)(b.y - b.h / 2), sx * (double)(b.x + b.w / 2),
                                        sy * (double)(b.y + b.h / 2), false});
    }
  free_detections(dets, n);
  return code;
}

/* ---- our detections ---- */

static double member_number(struct json_object *o, const char *key)
{
  struct json_object *value;
  return json_object_object_get_ex(o, key, &value) ? json_object_get_double(value) : NAN;
}

static int read_found(struct found_list *ours, struct json_object *o)
{
  struct json_object *b;
  if (!json_object_object_get_ex(o, "box", &b)) return MAFAT_EFORMAT;
  double x = member_number(b, "x"), y = member_number(b, "y");
  return append(ours, (struct found){(int)member_number(o, "class"), member_number(o, "confidence"),
                                     x, y, x + member_number(b, "width"),
                                     y + member_number(b, "height"), false});
}

/* Runs the program. Returns its standard output, one line; the caller frees it. */
static char *run_program(const struct options *o, float thresh, const char *picture)
{
  char threshold[32], *line = NULL;
  size_t capacity = 0;
  int ends[2], status = 0;
  snprintf(threshold, sizeof threshold, "%.9g", (double)thresh);
  const char *argv[] = {o->program, "--json", "--quiet",  "--fork", "darknet", "--thresh",
                        threshold,  o->cfg,   o->weights, picture,  NULL};
  if (pipe(ends) != 0) return NULL;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    execv(o->program, (char *const *)argv);
    fprintf(stderr, "oracle_detections: %s: %s\n", o->program, strerror(errno));
    _exit(127);
  }
  close(ends[1]);
  FILE *in = fdopen(ends[0], "r");
  bool read = in && getline(&line, &capacity, in) > 0;
  if (in) fclose(in);
  if (child > 0) waitpid(child, &status, 0);
  if (read && child > 0 && status == 0) return line;
  free(line);
  return NULL;
}

static int find_ours(struct found_list *ours, const struct options *o, float thresh,
                     const char *picture, struct mafat_diagnostic *d)
{
  struct json_object *entries;
  char *line = run_program(o, thresh, picture);
  if (!line) return mafat_fail(d, MAFAT_EIO, "%s failed on %s", o->program, picture);
  struct json_object *root = json_tokener_parse(line);
  int code = json_object_object_get_ex(root, "detections", &entries) ? MAFAT_OK : MAFAT_EFORMAT;
  for (size_t i = 0; code == MAFAT_OK && i < json_object_array_length(entries); i++)
    code = read_found(ours, json_object_array_get_idx(entries, i));
  if (code) mafat_fail(d, code, "%s: %s says: %.200s", picture, o->program, line);
  json_object_put(root);
  free(line);
  return code;
}

/* ---- comparison ---- */

static double overlap(double a0, double a1, double b0, double b1)
{
  return fmax(0, fmin(a1, b1) - fmax(a0, b0));
}

static double iou(const struct found *a, const struct found *b)
{
  double both =
      overlap(a->left, a->right, b->left, b->right) * overlap(a->top, a->bottom, b->top, b->bottom);
  double either =
      (a->right - a->left) * (a->bottom - a->top) + (b->right - b->left) * (b->bottom - b->top);
  return either > both ? both / (either - both) : 0;
}

static double edge_distance(const struct found *a, const struct found *b)
{
  return fmax(fmax(fabs(a->left - b->left), fabs(a->right - b->right)),
              fmax(fabs(a->top - b->top), fabs(a->bottom - b->bottom)));
}

static struct found *find_partner(const struct found *f, struct found_list *among)
{
  struct found *best = NULL;
  double best_iou = .5; /* boxes with a smaller IoU are different objects */
  for (size_t i = 0; i < among->n; i++) {
    struct found *g = &among->list[i];
    if (g->paired || g->class != f->class || !(iou(f, g) > best_iou)) continue;
    best = g;
    best_iou = iou(f, g);
  }
  return best;
}

static void print_found(const char *what, const struct found *f)
{
  printf("  %s: class %d, confidence %.4f, (%.1f, %.1f) - (%.1f, %.1f)\n", what, f->class,
         f->confidence, f->left, f->top, f->right, f->bottom);
}

/* Detections without a partner are allowed only close to the threshold. */
static bool accept_unpaired(const struct found_list *l, const char *what, float thresh)
{
  bool good = true;
  for (size_t i = 0; i < l->n; i++) {
    if (l->list[i].paired || l->list[i].confidence - (double)thresh < CONFIDENCE_TOLERANCE)
      continue;
    print_found(what, &l->list[i]);
    good = false;
  }
  return good;
}

static bool compare(struct found_list *theirs, struct found_list *ours, const char *picture,
                    float thresh)
{
  double worst_edge = 0, worst_confidence = 0;
  size_t n_paired = 0;
  bool good = true;
  for (size_t i = 0; i < theirs->n; i++) {
    struct found *f = &theirs->list[i], *g = find_partner(f, ours);
    if (!g) continue;
    f->paired = g->paired = true;
    n_paired++;
    double edge = edge_distance(f, g), confidence = fabs(f->confidence - g->confidence);
    worst_edge = fmax(worst_edge, edge);
    worst_confidence = fmax(worst_confidence, confidence);
    if (edge <= EDGE_TOLERANCE && confidence <= CONFIDENCE_TOLERANCE) continue;
    print_found("Darknet's", f);
    print_found("is ours  ", g);
    good = false;
  }
  good &= accept_unpaired(theirs, "only Darknet", thresh);
  good &= accept_unpaired(ours, "only ours", thresh);
  const char *slash = strrchr(picture, '/');
  printf("%s: %zu of %zu detections over %.3f found, edges within %.2g pixels, confidences within "
         "%.1e\n",
         slash ? slash + 1 : picture, n_paired, theirs->n, (double)thresh, worst_edge,
         worst_confidence);
  return good;
}

static int compare_picture(network *net, const struct mafat_network *n, const struct options *o,
                           const char *picture, bool *good, struct mafat_diagnostic *d)
{
  struct found_list theirs = {NULL, 0}, ours = {NULL, 0};
  int w, h;
  float *input = oracle_picture(net, picture, &w, &h);
  if (!input) return mafat_fail(d, MAFAT_ENOMEM, "out of memory");
  predict(net, n, input);
  float thresh = o->n_boxes ? choose_thresh(net, o->n_boxes) : o->thresh;
  int code = find_theirs(&theirs, net, n, w, h, thresh);
  if (code == MAFAT_OK) code = find_ours(&ours, o, thresh, picture, d);
  if (code == MAFAT_OK) *good &= compare(&theirs, &ours, picture, thresh);
  free(theirs.list);
  free(ours.list);
  free(input);
  return code;
}

/* Returns -1 to continue, else the exit status. */
static int read_options(int argc, char **argv, struct options *o)
{
  static const struct option names[] = {{"program", required_argument, NULL, 'p'},
                                        {"thresh", required_argument, NULL, 't'},
                                        {"boxes", required_argument, NULL, 'b'},
                                        {"help", no_argument, NULL, 'h'},
                                        {NULL, 0, NULL, 0}};
  for (int c; (c = getopt_long(argc, argv, "", names, NULL)) != -1;) {
    switch (c) {
    case 'p': o->program = optarg; break;
    case 't': o->thresh = strtof(optarg, NULL); break;
    case 'b': o->n_boxes = (int)strtol(optarg, NULL, 10); break;
    case 'h': fputs(usage, stdout); return AGREES;
    default: return CANNOT;
    }
  }
  if (argc - optind < 3 || !(o->thresh > 0) || o->n_boxes < 0) {
    fputs("oracle_detections: expected CFG WEIGHTS IMAGE...; --help lists the options\n", stderr);
    return CANNOT;
  }
  o->cfg = argv[optind];
  o->weights = argv[optind + 1];
  o->pictures = argv + optind + 2;
  o->n_pictures = argc - optind - 2;
  return -1;
}

int main(int argc, char **argv)
{
  struct options o = {.program = "build/run_inference", .thresh = .3f};
  struct mafat_diagnostic d = {""};
  struct mafat_network *n = NULL;
  network *net = NULL;
  bool good = true;
  int status = read_options(argc, argv, &o);
  if (status >= 0) return status;
  const struct mafat_darknet_overrides overrides = {.fork = MAFAT_FORK_DARKNET};
  int code = mafat_darknet_read(&n, o.cfg, &overrides, NULL, &d);
  if (code == MAFAT_OK && access(o.weights, R_OK) != 0)
    code = mafat_fail(&d, MAFAT_EIO, "%s: %s", o.weights, strerror(errno));
  if (code == MAFAT_OK) code = oracle_load(&net, o.cfg, o.weights, &d);
  for (int i = 0; i < o.n_pictures && code == MAFAT_OK; i++)
    code = compare_picture(net, n, &o, o.pictures[i], &good, &d);
  if (code != MAFAT_OK) fprintf(stderr, "oracle_detections: %s\n", d.text);
  if (net) free_network(net);
  mafat_network_close(&n);
  return code != MAFAT_OK ? CANNOT : good ? AGREES : DIFFERS;
}
