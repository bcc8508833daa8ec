/* Uses include/mafat.h for a long time: endless MODEL WEIGHTS OTHER OTHER-WEIGHTS RUNS OPENS. Runs
 * a model on floats RUNS times. Opens, runs and closes it OPENS times, alone and together with the
 * other model in one arena, by plans that keep, load and stream weights. All outputs must have the
 * bits of the first run. After the first BEGINNING runs, mappings, descriptors, threads, heap and
 * resident bytes must not grow. Prints a line for each test; exit status 1: one failed. Started by
 * endless.py. */
#include "include/mafat_plan.h"

#include <dirent.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Runs before the first measurement; growth allowed for the ends of the heap and page tables. */
enum { BEGINNING = 200, SLACK_KB = 64 };

static struct mafat_diagnostic d;

static void fail(const char *what)
{
  fprintf(stderr, "endless: %s: %s\n", what, d.text);
  exit(1);
}

static void require(int code, const char *what)
{
  if (code) fail(what);
}

/* ---- resources of the process ---- */

struct holdings {
  long resident_kb, heap_bytes, mappings, descriptors, threads;
};

/* True for io_uring's kernel threads, which come and go. */
static bool is_kernel_thread(const char *thread)
{
  char path[300], name[32] = "";
  snprintf(path, sizeof path, "/proc/self/task/%s/comm", thread);
  FILE *file = fopen(path, "r");
  bool read = file && fgets(name, sizeof name, file);
  if (file) fclose(file);
  return read && strncmp(name, "iou-", 4) == 0;
}

static long count_entries(const char *path)
{
  long n = 0;
  DIR *folder = opendir(path);
  if (!folder) return -1;
  for (struct dirent *entry; (entry = readdir(folder));) n += !is_kernel_thread(entry->d_name);
  closedir(folder);
  return n;
}

static struct holdings measure(void)
{
  struct holdings h = {0};
  char line[512];
  FILE *file = fopen("/proc/self/smaps_rollup",
                     "r"); /* exact: VmRSS may be off by 64 pages a CPU */
  /* Anonymous memory only: pages of code come and go 64 KB at a time, and are bounded by the
   * program. */
  while (file && fgets(line, sizeof line, file)) sscanf(line, "Anonymous: %ld", &h.resident_kb);
  if (file) fclose(file);
  file = fopen("/proc/self/maps", "r");
  while (file && fgets(line, sizeof line, file)) h.mappings++;
  if (file) fclose(file);
  h.descriptors = count_entries("/proc/self/fd");
  h.threads = count_entries("/proc/self/task");
  h.heap_bytes = (long)mallinfo2().uordblks;
  return h;
}

static bool check(const char *what, long n, const struct holdings *a, const struct holdings *b)
{
  bool same = b->mappings <= a->mappings && b->descriptors <= a->descriptors &&
              b->threads <= a->threads && b->heap_bytes <= a->heap_bytes &&
              b->resident_kb <= a->resident_kb + SLACK_KB;
  printf("%s endless %s: %ld; resident %ld -> %ld KB, heap %ld -> %ld bytes, mappings %ld -> %ld, "
         "descriptors %ld -> %ld, threads %ld -> %ld\n",
         same ? "ok" : "FAIL", what, n, a->resident_kb, b->resident_kb, a->heap_bytes,
         b->heap_bytes, a->mappings, b->mappings, a->descriptors, b->descriptors, a->threads,
         b->threads);
  fflush(stdout);
  return same;
}

/* ---- a model ---- */

struct subject {
  const char *cfg, *weights;
  float *input, *output, *expected;
  size_t n_input, n_output;
};

static void open_by(struct mafat_model **model, const struct subject *s, const char *plan,
                    int threads, struct mafat_arena *arena)
{
  struct mafat_model_options options = {.size = sizeof options};
  options.plan = plan;
  options.threads = threads;
  options.algorithm = "direct"; /* one order of summation, whatever the plan */
  options.arena = arena;
  options.lock = "off";
  require(mafat_model_open(model, s->cfg, s->weights, &options, &d), "open");
}

static void run(struct subject *s, struct mafat_model *model)
{
  require(mafat_model_run_floats(model, s->input, s->n_input, &d), "run");
  mafat_model_read_layer(model, mafat_model_n_layers(model) - 1, s->output, NULL);
  if (memcmp(s->output, s->expected, s->n_output * sizeof *s->output)) fail("other bits");
}

/* Makes the input and the expected output. */
static void begin(struct subject *s)
{
  struct mafat_model *model;
  int h, w, c;
  open_by(&model, s, "1x1/NoCut", 1, NULL);
  mafat_model_input_shape(model, &h, &w, &c);
  s->n_input = (size_t)h * (size_t)w * (size_t)c;
  mafat_model_output_shape(model, &h, &w, &c);
  s->n_output = (size_t)h * (size_t)w * (size_t)c;
  s->input = malloc(s->n_input * sizeof *s->input);
  s->output = malloc(s->n_output * sizeof *s->output);
  s->expected = malloc(s->n_output * sizeof *s->expected);
  if (!s->input || !s->output || !s->expected) fail("out of memory");
  for (size_t i = 0; i < s->n_input; i++) s->input[i] = (float)(i * 7 % 255) / 255;
  require(mafat_model_run_floats(model, s->input, s->n_input, &d), "run");
  mafat_model_read_layer(model, mafat_model_n_layers(model) - 1, s->expected, NULL);
  mafat_model_close(&model);
}

static bool run_often(struct subject *s, long n)
{
  struct mafat_model *model;
  struct holdings first = {0}, last;
  open_by(&model, s, "rows1:streamed/NoCut", 1, NULL);
  for (long i = 0; i < n; i++) {
    run(s, model);
    if (i == BEGINNING) first = measure();
  }
  last = measure();
  mafat_model_close(&model);
  return check("runs", n, &first, &last);
}

/* Two models in one arena, run one after the other. */
static void open_two(struct subject *s, struct subject *other)
{
  struct mafat_arena *arena;
  struct mafat_model *a, *b;
  require(mafat_arena_open(&arena, &d), "arena");
  open_by(&a, s, "1x1/NoCut", 1, arena);
  open_by(&b, other, "rows/NoCut", 1, arena);
  run(s, a);
  run(other, b);
  run(s, a);
  mafat_model_close(&b);
  mafat_model_close(&a);
  mafat_arena_close(&arena);
}

static bool open_often(struct subject *s, struct subject *other, long n)
{
  static const char *const plans[] = {"1x1/NoCut", "rows1:streamed/NoCut", "1x1:loaded/NoCut",
                                      "2x2/NoCut"};
  struct holdings first = {0}, last;
  for (long i = 0; i < n; i++) {
    struct mafat_model *model;
    if (i % 8 == 7) open_two(s, other);
    else {
      open_by(&model, s, plans[i % 4], 1 + i % 16 / 15, NULL); /* sometimes two threads */
      run(s, model);
      mafat_model_close(&model);
    }
    if (i == BEGINNING) first = measure();
  }
  last = measure();
  return check("opens", n, &first, &last);
}

int main(int argc, char **argv)
{
  if (argc != 7) {
    fprintf(stderr, "usage: endless MODEL WEIGHTS OTHER OTHER-WEIGHTS RUNS OPENS\n");
    return 2;
  }
  mallopt(M_MXFAST, 0); /* no fast bins: blocks in them would count as used */
  struct subject one = {.cfg = argv[1], .weights = argv[2]},
                 other = {.cfg = argv[3], .weights = argv[4]};
  begin(&one);
  begin(&other);
  bool good = run_often(&one, atol(argv[5]));
  good &= open_often(&one, &other, atol(argv[6]));
  free(one.input), free(one.output), free(one.expected);
  free(other.input), free(other.output), free(other.expected);
  return good ? 0 : 1;
}
