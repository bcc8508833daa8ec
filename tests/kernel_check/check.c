/* Runs the cases of kernel_check: memory between guard pages, random values, comparison with the
 * references. Called by kernel_check.c and the case files. Allocates its memory once (check_open),
 * and catches SIGSEGV, SIGBUS and SIGILL while a kernel runs. */
#include "tests/kernel_check/check.h"

#include "tests/kernels/kernel_reference.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- random numbers: xorshift64* --- */

static uint64_t state = 1;

void random_seed(uint64_t seed)
{
  state = (seed + 1) * 0x9e3779b97f4a7c15u;
  if (state == 0) state = 1;
  for (int i = 0; i < 8; i++) random_in(0, 1);
}

static uint32_t random_bits(void)
{
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return (uint32_t)((state * 0x2545f4914f6cdd1du) >> 32);
}

int random_in(int least, int most)
{
  return least + (int)(random_bits() % (uint32_t)(most - least + 1));
}

bool one_in(int n)
{
  return random_in(1, n) == 1;
}

float random_float(void)
{
  return (float)(random_bits() >> 8) / 8388608.0f - 1.0f;
}

struct mafat_activating random_activation(void)
{
  int kind = one_in(2) ? random_in(MAFAT_LINEAR, MAFAT_RELU) : random_in(0, MAFAT_EXACT_GENTLE - 1);
  float p = random_float();
  return mafat_exact_activating((enum mafat_activation)kind, p, random_float());
}

enum value_range random_values(void)
{
  return one_in(2) ? ORDINARY : (enum value_range)random_in(ZEROS, N_VALUES - 1);
}

const char *values_name(enum value_range v)
{
  static const char *const names[N_VALUES] = {"ordinary", "zero",     "sparse",
                                              "huge",     "denormal", "mixed"};
  return names[v];
}

static float random_value(enum value_range v)
{
  switch (v) {
  case ZEROS: return one_in(2) ? 0.0f : -0.0f;
  case SPARSE: return one_in(4) ? random_float() : random_value(ZEROS);
  case HUGE_ONES: return one_in(4) ? 1e18f * random_float() : random_float();
  case TINY: return (float)random_in(-4096, 4096) * FLT_TRUE_MIN;
  case MIXED: return random_value((enum value_range)random_in(ORDINARY, MIXED - 1));
  default: return random_float();
  }
}

void fill(float *x, size_t n, enum value_range v)
{
  for (size_t i = 0; i < n; i++) x[i] = random_value(v);
}

const char *window_text(const struct mafat_window *w, char *text, size_t capacity)
{
  snprintf(text, capacity, "size %dx%d stride %dx%d dilation %dx%d", w->y.size, w->x.size,
           w->y.stride, w->x.stride, w->y.dilation, w->x.dilation);
  return text;
}

/* --- memory --- */

/* n arrays of `bytes` each, with a guard page before and after each. */
struct guarded {
  char *memory;
  size_t bytes, pitch;
  int n;
};

static struct guarded slots, panel, outputs;
static int n_slots;
static size_t output_bytes;             /* bytes of `outputs` used by the case */
/* contents of the used part of `outputs`: before the call, and as expected after it */
static float *initial, *expected;
static struct check_value *exact_values;

static int guarded_open(struct guarded *g, int n, size_t bytes)
{
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  g->bytes = (bytes + page - 1) / page * page;
  g->pitch = g->bytes + page;
  g->n = n;
  size_t all = (size_t)n * g->pitch + page;
  void *p = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return -1;
  g->memory = (char *)p + page;
  for (int i = 0; i < n; i++)
    if (mprotect(g->memory + (size_t)i * g->pitch, g->bytes, PROT_READ | PROT_WRITE)) return -1;
  return 0;
}

int check_open(void)
{
  size_t bytes = MAX_OUTPUTS * sizeof(float);
  initial = malloc(bytes);
  expected = malloc(bytes);
  exact_values = malloc(MAX_OUTPUTS * sizeof *exact_values);
  if (!initial || !expected || !exact_values) return -1;
  if (guarded_open(&slots, MAX_SLOTS, SLOT_FLOATS * sizeof(float)) ||
      guarded_open(&panel, 1, MAX_WEIGHTS * sizeof(float)) || guarded_open(&outputs, 1, bytes))
    return -1;
  return 0;
}

/* Fills with a NaN that no kernel computes. */
static void poison(float *x, size_t n)
{
  const uint32_t bits = 0x7fdeadbe;
  for (size_t i = 0; i < n; i++) memcpy(x + i, &bits, sizeof bits);
}

/* Places n floats in array i of g: at its beginning, at its end, or anywhere between. */
static float *place(const struct guarded *g, int i, size_t n)
{
  assert(n <= g->bytes / sizeof(float));
  float *begin = (float *)(g->memory + (size_t)i * g->pitch);
  size_t capacity = g->bytes / sizeof(float) - n;
  int where = random_in(0, 4);
  if (where == 0) return begin;
  if (where < 4) return begin + capacity;
  return begin + (capacity < 64 ? capacity : (size_t)random_in(0, 63));
}

void inputs_reset(void)
{
  n_slots = 0;
}

float *input_floats(size_t n)
{
  assert(n_slots < MAX_SLOTS);
  float *x = place(&slots, n_slots++, n);
  poison(x, n);
  return x;
}

float *weight_floats(size_t n)
{
  return place(&panel, 0, n);
}

float *input_pixels(int n_pixels, int channels, int pixel_floats, enum value_range v)
{
  float *row = input_floats((size_t)(n_pixels - 1) * (size_t)pixel_floats + (size_t)channels);
  for (int i = 0; i < n_pixels; i++)
    fill(row + (size_t)i * (size_t)pixel_floats, (size_t)channels, v);
  return row;
}

static size_t view_row_floats(const struct check_view *v)
{
  return (size_t)(v->n_cols - 1) * (size_t)v->pixel_floats + (size_t)v->n_lanes;
}

size_t check_n_outputs(const struct check_call *c)
{
  size_t n = 0;
  for (int i = 0; i < c->n_views; i++)
    n += (size_t)c->views[i].n_rows * (size_t)c->views[i].n_cols * (size_t)c->views[i].n_lanes;
  return n;
}

void check_place_outputs(struct check_call *c, bool before)
{
  enum { GUARD = 16 };
  float *begin = (float *)outputs.memory;
  const bool at_end = one_in(2);
  size_t used = at_end || one_in(2) ? GUARD : 0, offsets[MAX_VIEWS][MAX_VIEW_ROWS];
  for (int i = 0; i < c->n_views; i++)
    for (int r = 0; r < c->views[i].n_rows; r++) {
      offsets[i][r] = used;
      used += view_row_floats(&c->views[i]) + (size_t)random_in(GUARD, 2 * GUARD);
    }
  /* At the end means: the last row's last lane is the last float of the page. */
  const struct check_view *last = &c->views[c->n_views - 1];
  size_t end = offsets[c->n_views - 1][last->n_rows - 1] + view_row_floats(last);
  size_t capacity = outputs.bytes / sizeof(float);
  assert(used <= capacity);
  output_bytes = (at_end ? end : used) * sizeof(float);
  if (at_end) begin += capacity - end;
  poison(begin, output_bytes / sizeof(float));
  for (int i = 0; i < c->n_views; i++)
    for (int r = 0; r < c->views[i].n_rows; r++) {
      struct check_view *v = &c->views[i];
      v->rows[r] = begin + offsets[i][r];
      if (!before) continue;
      for (int col = 0; col < v->n_cols; col++)
        fill(v->rows[r] + (size_t)col * (size_t)v->pixel_floats, (size_t)v->n_lanes, ORDINARY);
    }
  c->exact = exact_values;
}

/* The first float of the case's outputs and guards. */
static float *outputs_begin(const struct check_call *c)
{
  float *begin = (float *)outputs.memory, *first = c->views[0].rows[0];
  return first - begin <= 16 ? begin : first - 16;
}

double check_tolerance(struct mafat_exact y, int n_terms, enum mafat_activation a)
{
  const double slope = 1.76; /* the largest slope, selu's */
  double tolerance = (n_terms + 8) * (y.magnitude * 0x1p-24 + FLT_TRUE_MIN) * slope;
  return a == MAFAT_LINEAR ? tolerance : tolerance + 4e-7 * fmax(1, fabs(y.value));
}

/* --- running --- */

static sigjmp_buf after_fault;
static volatile sig_atomic_t fault;

static void on_fault(int number)
{
  fault = number;
  siglongjmp(after_fault, 1);
}

/* Runs a kernel. False: it accessed a guard page or met an unknown instruction. */
static bool run_caught(const struct check_result *r, const struct check_call *c,
                       const struct check_bytes_call *of_bytes)
{
  static const int signals[] = {SIGSEGV, SIGBUS, SIGILL};
  struct sigaction action = {.sa_handler = on_fault}, before[3];
  for (int i = 0; i < 3; i++) sigaction(signals[i], &action, &before[i]);
  fault = 0;
  if (sigsetjmp(after_fault, 1) == 0) {
    if (c) c->run(r->level, c->call);
    else of_bytes->run(r->integers, of_bytes->call);
  }
  for (int i = 0; i < 3; i++) sigaction(signals[i], &before[i], NULL);
  return fault == 0;
}

/* 32-bit Arm's vector unit flushes denormals to zero. */
static bool flushes_denormals(const struct mafat_kernels *k)
{
#if defined(__arm__)
  return strcmp(k->name, "neon") == 0;
#else
  (void)k;
  return false;
#endif
}

struct findings {
  bool bits, close, guards;
  double worst, largest;
  char where[200]; /* description of the first wrong output */
};

static void judge_output(const struct check_call *c, const struct mafat_kernels *k, int view,
                         int row, int col, int lane, float found, float wanted,
                         struct check_value exact, struct findings *f)
{
  /* Values too large for a float are infinite. */
  double error = found == (float)exact.value ? 0 : fabs(found - exact.value),
         tolerance = exact.tolerance;
  bool bits = memcmp(&found, &wanted, sizeof found) == 0;
  if (flushes_denormals(k) && fabsf(found) < FLT_MIN && fabsf(wanted) < FLT_MIN) {
    bits = true; /* pooling compares denormals as zeros, so it may keep another one */
    tolerance += FLT_MIN;
  }
  if (c->denormals && flushes_denormals(k)) {
    bits = true;
    tolerance += 1e4 * FLT_MIN;
  }
  bool close = error <= tolerance;
  if ((!bits || !close) && !f->where[0])
    snprintf(
        f->where, sizeof f->where,
        "row %d, column %d, lane %d: expected %.9g (exactly %.9g, at most %.2g off), found %.9g",
        row, col, view * MAFAT_CHANNEL_BLOCK + lane, wanted, exact.value, tolerance, found);
  f->bits &= bits;
  f->close &= close;
  f->largest = fmax(f->largest, fabs(exact.value));
  if (!isnan(error)) f->worst = fmax(f->worst, error);
}

/* Compares the outputs, then sets them to the expected values, so that memcmp can check the
 * guards. */
static void judge_outputs(const struct check_call *c, const struct mafat_kernels *k,
                          struct findings *f)
{
  float *begin = outputs_begin(c);
  size_t n = 0;
  for (int i = 0; i < c->n_views; i++) {
    const struct check_view *v = &c->views[i];
    for (int row = 0; row < v->n_rows; row++)
      for (int col = 0; col < v->n_cols; col++)
        for (int lane = 0; lane < v->n_lanes; lane++, n++) {
          float *y = v->rows[row] + (size_t)col * (size_t)v->pixel_floats + lane;
          judge_output(c, k, i, row, col, lane, *y, expected[y - begin], c->exact[n], f);
          *y = expected[y - begin];
        }
  }
}

static void report(const struct kernel_check *check, const struct check_result *r,
                   const char *kernel, const char *text, const char *what, const char *where)
{
  if (r->n_failures > 3) return; /* the first ones are enough */
  fprintf(stderr,
          "kernel_check: %s, %s: %s: %s%s%s\n"
          "  repeat: kernel_check --kernel %s --cpu %s --seed %llu --cases 1\n",
          kernel, r->name, what, text, where[0] ? "\n  " : "", where, kernel, r->name,
          (unsigned long long)check->seed);
}

static void run_level(const struct kernel_check *check, struct check_result *r,
                      const struct check_call *c)
{
  float *begin = outputs_begin(c);
  struct findings f = {.bits = true, .close = true, .guards = true};
  memcpy(begin, initial, output_bytes);
  r->n_cases++;
  if (!run_caught(r, c, NULL)) {
    r->n_failures++;
    r->guards = false;
    report(check, r, c->kernel, c->text,
           fault == SIGILL ? "unknown instruction" : "accessed memory outside its arrays", "");
    return;
  }
  judge_outputs(c, r->level, &f);
  f.guards = memcmp(begin, expected, output_bytes) == 0;
  if (c->ordinary && f.largest > 0) r->worst = fmax(r->worst, f.worst / f.largest);
  r->bits &= f.bits;
  r->guards &= f.guards;
  if (f.bits && f.close && f.guards) return;
  r->n_failures++;
  report(check, r, c->kernel, c->text,
         !f.guards ? "wrote outside its outputs"
         : !f.bits ? "bits differ from the reference's"
                   : "inexact",
         f.where);
}

void check_run(struct kernel_check *check, struct check_call *c)
{
  float *begin = outputs_begin(c);
  c->ordinary = c->ordinary && check_n_outputs(c) >= 64;
  memcpy(initial, begin, output_bytes);
  for (int fused = 0; fused < 2; fused++) {
    bool has_reference = false;
    for (int i = 0; i < check->n_levels; i++) {
      struct check_result *r = &check->levels[i];
      if (r->level->fused != fused) continue;
      if (!has_reference) {
        memcpy(begin, initial, output_bytes);
        c->run(mafat_reference_of(r->level), c->call);
        memcpy(expected, begin, output_bytes);
        has_reference = true;
      }
      run_level(check, r, c);
    }
  }
}

/* --- integers --- */

enum { BYTES_BETWEEN = 24 };

static struct {
  bool at_end, copied; /* copied: the contents before the case were saved */
  size_t used;         /* bytes allocated, from the region's beginning or end */
} bytes;

static void fill_bytes(uint8_t *x, size_t n)
{
  for (size_t i = 0; i < n; i++) x[i] = (uint8_t)random_bits();
}

static uint8_t *place_bytes(const struct guarded *g, int i, size_t n)
{
  assert(n <= g->bytes);
  uint8_t *begin = (uint8_t *)g->memory + (size_t)i * g->pitch;
  size_t capacity = g->bytes - n;
  int where = random_in(0, 4);
  uint8_t *x = begin + (where == 0      ? 0
                        : where < 4     ? capacity
                        : capacity < 64 ? capacity
                                        : (size_t)random_in(0, 63));
  fill_bytes(x, n);
  return x;
}

uint8_t *byte_inputs(size_t n)
{
  assert(n_slots < MAX_SLOTS);
  return place_bytes(&slots, n_slots++, n);
}

uint8_t *byte_weights(size_t n)
{
  return place_bytes(&panel, 0, n);
}

void outputs_reset(void)
{
  bytes.at_end = one_in(2);
  bytes.copied = false;
  bytes.used = 0;
}

void *byte_outputs(size_t n, size_t alignment)
{
  size_t all = outputs.bytes, between = (size_t)random_in(BYTES_BETWEEN, 2 * BYTES_BETWEEN);
  uint8_t *begin = (uint8_t *)outputs.memory;
  if (bytes.used == 0) fill_bytes(begin + (bytes.at_end ? all - all / 32 : 0), all / 32);
  size_t from = (bytes.used + alignment - 1) / alignment * alignment;
  bytes.used = from + (n + alignment - 1) / alignment * alignment + between;
  assert(bytes.used <= all / 32);
  return begin + (bytes.at_end ? (all - from - n) / alignment * alignment : from);
}

/* Start of the compared region. */
static uint8_t *bytes_begin(void)
{
  return (uint8_t *)outputs.memory + (bytes.at_end ? outputs.bytes - outputs.bytes / 32 : 0);
}

void *expected_of(const void *output)
{
  if (!bytes.copied) {
    memcpy(initial, bytes_begin(), outputs.bytes / 32);
    memcpy(expected, initial, outputs.bytes / 32);
    bytes.copied = true;
  }
  return (uint8_t *)expected + ((const uint8_t *)output - bytes_begin());
}

static void run_bytes_level(const struct kernel_check *check, struct check_result *r,
                            const struct check_bytes_call *c)
{
  const uint8_t *found = bytes_begin(), *wanted = (const uint8_t *)expected;
  const size_t n = outputs.bytes / 32;
  char where[100] = "";
  memcpy(bytes_begin(), initial, n);
  r->n_cases++;
  if (!run_caught(r, NULL, c)) {
    r->n_failures++;
    r->guards = false;
    report(check, r, c->kernel, c->text,
           fault == SIGILL ? "unknown instruction" : "accessed memory outside its arrays", "");
    return;
  }
  if (memcmp(found, wanted, n) == 0) return;
  size_t i = 0;
  while (found[i] == wanted[i]) i++;
  bool outside = wanted[i] == ((const uint8_t *)initial)[i];
  snprintf(where, sizeof where, "byte %zu: expected %d, found %d%s", i, wanted[i], found[i],
           outside ? ", perhaps outside the outputs" : "");
  r->bits = false;
  r->n_failures++;
  report(check, r, c->kernel, c->text, "differs from integer_rule.h", where);
}

void check_run_bytes(struct kernel_check *check, const struct check_bytes_call *c)
{
  for (int i = 0; i < check->n_levels; i++) run_bytes_level(check, &check->levels[i], c);
}
