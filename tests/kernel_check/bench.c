/* Runs --bench: times our kernels and other libraries' in turn and prints tables. Called by
 * kernel_check.c. */
#include "tests/kernel_check/bench.h"

#include "tests/kernel_check/peak.h"

#include "predictor/plan/packing.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

enum { MAX_LEVELS = 8 };

/* CPU time of this thread in ms: other programs and idle threads of libraries do not count. All
 * contenders use one thread. */
static double now_ms(void)
{
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* --- peaks --- */

static const struct {
  const char *level;
  peak_function *run;
} peaks[] = {
    {"portable", peak_portable},
#if defined(__x86_64__)
    {"avx2", peak_avx2},
    {"avx512", peak_avx512},
#endif
#if defined(__arm__) || defined(__aarch64__)
    {"neon", peak_neon},
#endif
};

/* Peak in GFLOP/s: the best of n_trials trials of a few ms each; 0 if peak.h has no loop for the
 * level. */
static double measure_peak(const struct mafat_kernels *k, int n_trials)
{
  enum { LOOPS = 1000000 };
  float start[1024];
  double best = 0;
  for (size_t i = 0; i < sizeof peaks / sizeof *peaks; i++) {
    if (strcmp(peaks[i].level, k->name) != 0) continue;
    for (int t = 0; t < n_trials; t++) {
      for (int f = 0; f < 1024; f++) start[f] = 1.0f / (float)(f + 1);
      double before = now_ms(), operations = peaks[i].run(start, LOOPS);
      best = fmax(best, operations / (now_ms() - before) * 1e-6);
    }
  }
  return best;
}

double bench_peak(const struct mafat_kernels *k)
{
  return measure_peak(k, 30);
}

/* --- a shape --- */

static bool is_kernel(const struct bench_shape *s, const char *name)
{
  return strcmp(s->kernel, name) == 0;
}

static double shape_outputs(const struct bench_shape *s)
{
  return (double)bench_out(s->h, s->stride) * bench_out(s->w, s->stride) * s->filters;
}

static double shape_weights(const struct bench_shape *s)
{
  const double taps = (double)s->size * s->size;
  if (is_kernel(s, "conv") || is_kernel(s, "winograd_weights")) return taps * s->c * s->filters;
  return is_kernel(s, "depthwise") ? taps * s->c : 0;
}

/* Number of multiplications and additions. A maxpool counts comparisons instead, and
 * winograd_weights counts 2 per weight. */
static double shape_operations(const struct bench_shape *s)
{
  double taps = (double)s->size * s->size;
  if (is_kernel(s, "conv")) return shape_outputs(s) * 2 * taps * s->c;
  if (is_kernel(s, "depthwise")) return shape_outputs(s) * 2 * taps;
  if (is_kernel(s, "winograd_weights")) return 2 * shape_weights(s);
  if (is_kernel(s, "maxpool")) return shape_outputs(s) * taps;
  return shape_outputs(s) * (is_kernel(s, "blend") ? 3 : 2);
}

/* Bytes of input, weights and output. */
static double shape_bytes(const struct bench_shape *s)
{
  const double input = (double)s->h * s->w * s->c;
  return 4 * (is_kernel(s, "blend") ? 2 * input : input) +
         4 * (shape_weights(s) + shape_outputs(s));
}

static int data_open(struct bench_data *d, const struct bench_shape *s)
{
  size_t n_input = (size_t)s->h * (size_t)s->w * (size_t)s->c;
  size_t n_weights = (size_t)shape_weights(s);
  uint32_t state = 1;
  d->input = malloc(n_input * sizeof(float));
  d->weights = malloc((n_weights + 1) * sizeof(float));
  d->bias = malloc((size_t)s->filters * sizeof(float));
  if (!d->input || !d->weights || !d->bias) return -1;
  struct {
    float *x;
    size_t n;
  } arrays[] = {{d->input, n_input}, {d->weights, n_weights}, {d->bias, (size_t)s->filters}};
  for (int a = 0; a < 3; a++)
    for (size_t i = 0; i < arrays[a].n; i++) {
      state = state * 1664525u + 1013904223u;
      arrays[a].x[i] = (float)(state >> 8) / 8388608.0f - 1.0f;
    }
  return 0;
}

static void data_close(struct bench_data *d)
{
  free(d->input);
  free(d->weights);
  free(d->bias);
}

/* --- timing --- */

struct timing {
  int repeats; /* calls in a run, so that it lasts a few ms */
  double *ms, median;
  /* largest difference from the first contender's output, relative to that output's largest value;
   * NAN: not compared */
  double difference;
};

static double time_once(const struct bench_contender *c, int repeats)
{
  double before = now_ms();
  for (int i = 0; i < repeats; i++) c->run(c->state);
  return (now_ms() - before) / repeats;
}

static int compare(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Times all contenders in turn, `runs` times. */
static int time_all(const struct bench_contender *list, int n, int runs, struct timing *t)
{
  enum { WARM_UPS = 2 };
  for (int i = 0; i < n; i++) {
    double ms = 0;
    t[i].ms = malloc((size_t)runs * sizeof *t[i].ms);
    if (!t[i].ms) return -1;
    for (int w = 0; w < WARM_UPS; w++) ms = time_once(&list[i], 1);
    t[i].repeats = ms < 5 ? (int)(5 / fmax(ms, 1e-3)) + 1 : 1;
  }
  for (int r = 0; r < runs; r++)
    for (int i = 0; i < n; i++) t[i].ms[r] = time_once(&list[i], t[i].repeats);
  for (int i = 0; i < n; i++) {
    qsort(t[i].ms, (size_t)runs, sizeof *t[i].ms, compare);
    t[i].median = t[i].ms[runs / 2];
  }
  return 0;
}

static int compare_outputs(const struct bench_shape *s, const struct bench_contender *list, int n,
                           struct timing *t)
{
  size_t n_outputs = (size_t)shape_outputs(s);
  float *first = malloc(2 * n_outputs * sizeof *first), *other = first + n_outputs;
  if (!first) return -1;
  double largest = 0;
  list[0].read(list[0].state, first);
  for (size_t i = 0; i < n_outputs; i++) largest = fmax(largest, fabs(first[i]));
  for (int c = 0; c < n; c++) {
    double most = 0;
    list[c].read(list[c].state, other);
    for (size_t i = 0; i < n_outputs; i++) {
      double off = fabs((double)other[i] - first[i]);
      most = off <= most ? most : off; /* a NaN counts as the largest */
    }
    t[c].difference = largest > 0 ? most / largest : most;
  }
  free(first);
  return 0;
}

/* --- printing --- */

struct printer {
  const struct bench_options *options;
  double peaks[MAX_LEVELS];
  bool first; /* no result has been printed yet */
};

/* The peak to compare a contender with: its level's; for other libraries the highest. */
static double peak_of(const struct printer *p, const struct mafat_kernels *level)
{
  double highest = 0;
  for (int i = 0; i < p->options->n_levels; i++) {
    if (p->options->levels[i] == level) return p->peaks[i];
    highest = fmax(highest, p->peaks[i]);
  }
  return highest;
}

/* Measures again: the clock may rise after a while of work. */
static void raise_peaks(struct printer *p, int n_trials)
{
  for (int i = 0; i < p->options->n_levels; i++)
    p->peaks[i] = fmax(p->peaks[i], measure_peak(p->options->levels[i], n_trials));
}

static void cpu_name(char *name, size_t capacity)
{
  char line[256], *at;
  struct utsname u;
  FILE *f = fopen("/proc/cpuinfo", "r");
  snprintf(name, capacity, "%s", uname(&u) == 0 ? u.machine : "unknown");
  while (f && fgets(line, sizeof line, f))
    if (strncmp(line, "model name", 10) == 0 && (at = strchr(line, ':'))) {
      at += strspn(at, ": \t");
      at[strcspn(at, "\n\"\\")] = 0;
      snprintf(name, capacity, "%s", at);
      break;
    }
  if (f) fclose(f);
}

static void print_peaks(const struct printer *p)
{
  const struct bench_options *o = p->options;
  for (int i = 0; i < o->n_levels; i++)
    printf(o->json ? "%s\"%s\": %.2f" : "%s%s %.1f", i ? ", " : "", o->levels[i]->name,
           p->peaks[i]);
}

static void print_head(const struct printer *p)
{
  char cpu[256];
  cpu_name(cpu, sizeof cpu);
  if (p->options->json) {
    printf("{\"machine\": {\"cpu\": \"%s\"}, \"runs\": %d, \"results\": [", cpu, p->options->runs);
  } else {
    printf("%s; medians of %d runs; peaks in GFLOP/s: ", cpu, p->options->runs);
    print_peaks(p);
    printf("\n");
  }
  fflush(stdout);
}

static void print_tail(const struct printer *p)
{
  if (!p->options->json) return;
  printf("],\n\"peak_gflops\": {");
  print_peaks(p);
  printf("}}\n");
}

static void print_shape(const struct bench_shape *s)
{
  printf("\n%s: %s, %d x %d x %d -> %d, size %d stride %d, %.1f MFLOP\n", s->name, s->kernel, s->h,
         s->w, s->c, s->filters, s->size, s->stride, shape_operations(s) * 1e-6);
  printf("  %-20s %10s %9s %8s %8s %11s\n", "", "ms", "GFLOP/s", "% peak", "GB/s", "difference");
}

static void print_json_result(struct printer *p, const struct bench_shape *s,
                              const struct bench_contender *c, const struct timing *t)
{
  double gflops = shape_operations(s) / t->median * 1e-6, peak = peak_of(p, c->level);
  printf("%s\n  {\"layer\": \"%s\", \"kernel\": \"%s\", \"height\": %d, \"width\": %d, "
         "\"channels\": %d, "
         "\"filters\": %d, \"size\": %d, \"stride\": %d, \"contender\": \"%s\", \"ms\": %.6g, "
         "\"gflops\": %.5g, "
         "\"percent_of_peak\": ",
         p->first ? "" : ",", s->name, s->kernel, s->h, s->w, s->c, s->filters, s->size, s->stride,
         c->name, t->median, gflops);
  printf(peak > 0 ? "%.4g" : "null", 100 * gflops / peak);
  printf(", \"gigabytes_per_second\": %.4g, \"difference\": ", shape_bytes(s) / t->median * 1e-6);
  printf(isfinite(t->difference) ? "%.3g}" : "null}", t->difference);
  p->first = false;
}

static void print_result(struct printer *p, const struct bench_shape *s,
                         const struct bench_contender *c, const struct timing *t)
{
  double gflops = shape_operations(s) / t->median * 1e-6, peak = peak_of(p, c->level);
  if (p->options->json) {
    print_json_result(p, s, c, t);
    return;
  }
  printf("  %-20s %10.3f %9.2f %8.1f %8.2f %11.2g\n", c->name, t->median, gflops,
         peak > 0 ? 100 * gflops / peak : NAN, shape_bytes(s) / t->median * 1e-6, t->difference);
}

/* --- a bench --- */

static int list_contenders(const struct bench_options *o, const struct bench_shape *s,
                           const struct bench_data *d, struct bench_contender *list)
{
  int n = 0;
  for (int i = 0; i < o->n_levels && n >= 0; i++) n = bench_ours(s, d, o->levels[i], list, n);
  if (n >= 0) n = bench_dnnl(s, d, list, n);
  if (n >= 0) n = bench_openblas(s, d, list, n);
  return n;
}

/* --- once --- */

__attribute__((noinline)) void bench_begin(void)
{
  __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void bench_end(void)
{
  __asm__ volatile("" ::: "memory");
}

/* The shape with fewer rows, so that counting under an emulator takes seconds. Their number is a
 * multiple of the heights of both Winograd tiles. */
static struct bench_shape few_rows(const struct bench_shape *s)
{
  enum { OPERATIONS = 1 << 26, ROWS = 12 };
  struct bench_shape few = *s;
  const int rows = (int)(OPERATIONS / (shape_operations(s) / bench_out(s->h, s->stride)));
  const int h = (rows > ROWS ? rows / ROWS * ROWS : ROWS) * s->stride;
  if (h < s->h) few.h = h;
  return few;
}

/* Prints a line: layer, contender, operations, and what the emulator's plugin counts. */
static int bench_once(const struct bench_options *o, const struct bench_shape *shape)
{
  const struct bench_shape s = few_rows(shape);
  struct bench_data data = {0};
  struct bench_contender list[BENCH_MAX_CONTENDERS] = {0};
  const int n = data_open(&data, &s) ? -1 : list_contenders(o, &s, &data, list);
  for (int i = 0; i < n; i++) {
    const char *algorithm = strchr(list[i].name, ' ');
    printf("%s %s%s %.0f", s.name, is_kernel(&s, "winograd_weights") ? "weights-of-" : "",
           algorithm ? algorithm + 1 : s.kernel, shape_operations(&s));
    fflush(stdout);
    bench_begin();
    list[i].run(list[i].state);
    bench_end();
    printf("\n");
    list[i].close(list[i].state);
  }
  data_close(&data);
  return n < 0 ? -1 : 0;
}

static int bench_shape(struct printer *p, const struct bench_shape *s)
{
  struct bench_data data = {0};
  struct bench_contender list[BENCH_MAX_CONTENDERS] = {0};
  struct timing timings[BENCH_MAX_CONTENDERS] = {0};
  int code = -1, n = data_open(&data, s) ? -1 : list_contenders(p->options, s, &data, list);
  raise_peaks(p, 5);
  if (n < 0 || time_all(list, n, p->options->runs, timings) || compare_outputs(s, list, n, timings))
    goto out;
  if (!p->options->json) print_shape(s);
  for (int i = 0; i < n; i++) print_result(p, s, &list[i], &timings[i]);
  fflush(stdout);
  code = 0;
out:
  for (int i = 0; i < BENCH_MAX_CONTENDERS; i++) {
    if (i < n || n < 0)
      if (list[i].state && list[i].close) list[i].close(list[i].state);
    free(timings[i].ms);
  }
  data_close(&data);
  return code;
}

static bool is_wanted(const struct bench_options *o, const struct bench_shape *s)
{
  /* Winograd contenders belong to convolutions. */
  bool kernel = !o->kernel || is_kernel(s, o->kernel) ||
                (strncmp(o->kernel, "winograd", 8) == 0 && is_kernel(s, "conv") && s->size == 3 &&
                 s->stride == 1);
  return kernel && (!o->shape || strstr(s->name, o->shape));
}

int bench_run(const struct bench_options *o)
{
  struct printer p = {.options = o, .first = true};
  int n = 0;
  for (int i = 0; i < bench_n_shapes; i++) n += is_wanted(o, &bench_shapes[i]);
  if (n == 0) return -2;
  if (o->once) {
    for (int i = 0; i < bench_n_shapes; i++)
      if (is_wanted(o, &bench_shapes[i]) && bench_once(o, &bench_shapes[i])) return -1;
    return 0;
  }
  raise_peaks(&p, 30);
  print_head(&p);
  for (int i = 0; i < bench_n_shapes; i++)
    if (is_wanted(o, &bench_shapes[i]) && bench_shape(&p, &bench_shapes[i])) return -1;
  print_tail(&p);
  return 0;
}
