/* Measures the parts of the time of one picture in a small network, through include/mafat.h:
 *
 *   last_mile [--cpu LEVEL] [--plan TEXT] [--repeat N] MODEL [WEIGHTS] PICTURE
 *
 * Writes CSV: part, microseconds, steps, millions of multiply-adds. Each time is the least of N
 * runs. Started by run.py. */
#include "include/mafat_plan.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { MOST_LAYERS = 4096, MOST_KINDS = 64 };

struct kind {
  char name[64];
  double us, macs;
  int steps;
};

/* Times of a run's steps, and the least over all runs. */
struct watch {
  double run[MOST_LAYERS + 1], least[MOST_LAYERS + 1]; /* [layer + 1] ms; [0]: the picture */
  int steps[MOST_LAYERS + 1];
  double sum;
};

static _Noreturn void die(const char *text)
{
  fprintf(stderr, "last_mile: %s\n", text);
  exit(1);
}

static double now_ms(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static long page_faults(void)
{
  struct rusage r;
  getrusage(RUSAGE_SELF, &r);
  return r.ru_minflt;
}

static void ran(void *context, const struct mafat_step_facts *step)
{
  struct watch *w = context;
  double ms = step->to_ms - step->from_ms;
  w->run[step->layer + 1] += ms;
  w->steps[step->layer + 1]++;
  w->sum += ms;
}

/* Names a layer by its kind and the kinds inside it, like "1x1 + depthwise inside + shortcut". */
static void name_kind(char *name, size_t capacity, const struct mafat_model *m, int layer)
{
  struct mafat_layer_facts own = {.size = sizeof own}, inner = {.size = sizeof inner};
  size_t n = 0;
  mafat_model_layer(m, layer, &own);
  name[0] = '\0';
  for (int l = layer; l >= 0; l--) { /* inner layers precede it */
    if (mafat_model_layer(m, l, &inner) || (l != layer && inner.inside != layer)) continue;
    bool convolves = strcmp(inner.type, "convolutional") == 0;
    uint64_t dense = (uint64_t)inner.out_h * (uint64_t)inner.out_w * (uint64_t)inner.out_c *
                     (uint64_t)inner.in_c * (uint64_t)(inner.kernel_size * inner.kernel_size);
    const char *kind = convolves && inner.kernel_size > 1 && inner.macs * 2 <= dense ? "depthwise"
                       : convolves                                                   ? NULL
                                                                                     : inner.type;
    if (kind) n += (size_t)snprintf(name + n, capacity - n, "%s%s", n ? " + " : "", kind);
    else
      n += (size_t)snprintf(name + n, capacity - n, "%s%dx%d", n ? " + " : "", inner.kernel_size,
                            inner.kernel_size);
    if (l != layer) layer = l; /* continue with layers inside the inner one */
  }
}

static struct kind *find(struct kind *kinds, int *n, const char *name)
{
  for (int i = 0; i < *n; i++)
    if (strcmp(kinds[i].name, name) == 0) return &kinds[i];
  if (*n == MOST_KINDS) die("too many kinds");
  snprintf(kinds[*n].name, sizeof kinds->name, "%s", name);
  return &kinds[(*n)++];
}

static void run(struct mafat_model *m, const char *picture, struct mafat_diagnostic *d)
{
  if (mafat_model_run_picture(m, picture, d)) die(d->text);
}

static void print(const char *what, double us, int steps, double macs)
{
  printf("\"%s\",%.1f,%d,%.3f\n", what, us, steps, macs * 1e-6);
}

/* Reads the file into the page cache, to leave the disk out of the measurement. */
static void keep_in_cache(const char *path)
{
  char buffer[1 << 16];
  FILE *f = fopen(path, "rb");
  while (f && fread(buffer, 1, sizeof buffer, f) > 0) continue;
  if (f) fclose(f);
}

int main(int argc, char **argv)
{
  static const struct option options[] = {
      {"cpu", 1, NULL, 'c'}, {"plan", 1, NULL, 'p'}, {"repeat", 1, NULL, 'n'}, {NULL, 0, NULL, 0}};
  static struct watch w;
  static struct kind kinds[MOST_KINDS];
  struct mafat_model_options o = {.size = sizeof o};
  struct mafat_model *m;
  struct mafat_diagnostic d;
  struct mafat_model_facts facts = {.size = sizeof facts};
  struct mafat_plan_facts plan = {.size = sizeof plan};
  int repeat = 100, n_kinds = 0;
  for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
    if (c == 'c') o.cpu = optarg;
    else if (c == 'p') o.plan = optarg;
    else if (c == 'n') repeat = atoi(optarg);
    else return 2;
  }
  if (argc - optind < 2 || argc - optind > 3) die("expected MODEL [WEIGHTS] PICTURE");
  const char *picture = argv[argc - 1];
  o.picture = picture;
  keep_in_cache(picture);
  if (mafat_model_open(&m, argv[optind], argc - optind == 3 ? argv[optind + 1] : NULL, &o, &d))
    die(d.text);
  if (mafat_model_n_layers(m) > MOST_LAYERS) die("too many layers");
  mafat_model_describe(m, &facts);
  mafat_model_describe_plan(m, &plan);

  long faults = page_faults();
  double began = now_ms();
  run(m, picture, &d);
  double first = now_ms() - began, least = 0, outside = 0, boxes = 0;
  faults = page_faults() - faults;
  run(m, picture, &d);
  long later = page_faults();
  run(m, picture, &d);
  later = page_faults() - later;
  for (int i = 0; i < repeat; i++) { /* without timing of steps */
    began = now_ms();
    run(m, picture, &d);
    double ms = now_ms() - began;
    if (least == 0 || ms < least) least = ms;
  }
  mafat_model_set_watch(m, ran, &w);
  for (int i = 0; i < repeat; i++) {
    struct mafat_detections *found = NULL;
    memset(w.run, 0, sizeof w.run);
    memset(w.steps, 0, sizeof w.steps);
    w.sum = 0;
    began = now_ms();
    run(m, picture, &d);
    double rest = now_ms() - began - w.sum;
    began = now_ms();
    if (facts.kind == MAFAT_MODEL_DETECTOR && mafat_model_detect(m, 0.25f, 0.45f, &found, &d))
      die(d.text);
    double answer = now_ms() - began;
    mafat_detections_close(&found);
    for (int l = 0; l <= mafat_model_n_layers(m); l++)
      if (i == 0 || w.run[l] < w.least[l]) w.least[l] = w.run[l];
    if (i == 0 || rest < outside) outside = rest;
    if (i == 0 || answer < boxes) boxes = answer;
  }
  int steps = 0;
  for (int l = 0; l < mafat_model_n_layers(m); l++) {
    struct mafat_layer_facts layer = {.size = sizeof layer};
    char name[64];
    if (!w.steps[l + 1] || mafat_model_layer(m, l, &layer)) continue;
    name_kind(name, sizeof name, m, l);
    struct kind *k = find(kinds, &n_kinds, name);
    k->us += 1e3 * w.least[l + 1];
    k->steps += w.steps[l + 1];
    k->macs += (double)layer.step_macs;
    steps += w.steps[l + 1];
  }
  printf("what,us,steps,million_macs\n");
  printf("\"plan %s\",,,\n", plan.text);
  print("rows of the picture", 1e3 * w.least[0], w.steps[0], 0);
  for (int i = 0; i < n_kinds; i++)
    print(kinds[i].name, kinds[i].us, kinds[i].steps, kinds[i].macs);
  print("between steps", 1e3 * outside, steps + w.steps[0], 0);
  print("boxes and suppression", 1e3 * boxes, 0, 0);
  print("a picture", 1e3 * (least + boxes), 0, (double)plan.macs);
  print("the first picture", 1e3 * (first + boxes), 0, 0);
  print("page faults of the first picture", 0, (int)faults, 0);
  print("page faults of a later one", 0, (int)later, 0);
  mafat_model_close(&m);
  return 0;
}
