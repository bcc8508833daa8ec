/* Covers runner/kernels/{kernels, portable, integer, integer_portable}.c,
 * runner/kernels/x86/{avx2, avx512, integer_avx2, integer_avx512, integer_avx512vnni,
 * integer_avxvnni}.c, runner/kernels/arm/{neon, integer_neon, integer_neondot}.c:
 * every kernel of every level runs on random shapes and extreme values, with guard pages around its
 * arrays. Its output must have the bits of the reference of its class, and a small error compared
 * with double precision. --bench times kernels, oneDNN and OpenBLAS. */
#include "tests/kernel_check/bench.h"
#include "tests/kernel_check/check.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum status { DONE = 0, FAILED = 1, MISUSE = 2 };

static const char usage[] =
    "usage: kernel_check [options]\n"
    "Compare every kernel of every level that this CPU runs with the reference of its class.\n"
    "\n"
    "  --kernel NAME  this kernel only: conv, winograd_weights, winograd_input,\n"
    "                 winograd_output, product, winograd (a whole convolution), depthwise,\n"
    "                 maxpool, avgpool, blend, scale, activate, softmax, scale_bytes,\n"
    "                 resample, widen; of integers: integer_conv, integer_depthwise,\n"
    "                 integer_maxpool, integer_avgpool, integer_blend, integer_table,\n"
    "                 integer_sums, integer_reals\n"
    "  --cpu LEVEL    this level only:"
#define LEVEL(name, ...) " " #name
#include "base/levels.def"
    ";\n"
    "                 of integers:"
#define INTEGERS(name, ...) " " #name
#include "base/levels.def"
    "\n"
    "  --seed N       the first case's seed; each case has the next (default: 1)\n"
    "  --cases N      of every kernel and level (default: 200 to 3000)\n"
    "  --bench        time layers of real networks instead\n"
    "  --shape TEXT   with --bench: layers whose name has TEXT in it\n"
    "  --runs N       with --bench: medians of N runs (default: 5)\n"
    "  --json         with --bench: one JSON object\n"
    "  --once         with --bench: compute some rows of each layer once, for counting\n"
    "                 instructions under an emulator (make count-arm)\n"
    "  -h, --help     this text\n"
    "  -V, --version  the version\n"
    "\n"
    "Exit status: 0 all is well, 1 a kernel failed (how to repeat it is printed), 2 misuse.\n";

struct options {
  const char *kernel, *cpu, *shape;
  uint64_t seed;
  int cases; /* 0: the kernel's default */
  int runs;
  bool bench, json, once, version;
};

static const struct {
  const char *name;
  check_case *run;
  int n_cases;
} kernels[] = {
    {"conv", check_conv, 3000},
    {"winograd_weights", check_winograd_weights, 300},
    {"winograd_input", check_winograd_input, 600},
    {"winograd_output", check_winograd_output, 600},
    {"product", check_product, 800},
    {"winograd", check_winograd, 200},
    {"depthwise", check_depthwise, 1500},
    {"maxpool", check_maxpool, 1500},
    {"avgpool", check_avgpool, 1000},
    {"blend", check_blend, 1500},
    {"scale", check_scale, 1500},
    {"activate", check_activate, 1500},
    {"softmax", check_softmax, 300},
    {"scale_bytes", check_scale_bytes, 300},
    {"resample", check_resample, 1500},
    {"integer_conv", check_integer_conv, 2000},
    {"integer_depthwise", check_integer_depthwise, 1500},
    {"integer_maxpool", check_integer_maxpool, 1000},
    {"integer_avgpool", check_integer_avgpool, 1000},
    {"integer_blend", check_integer_blend, 2000},
    {"integer_table", check_integer_table, 300},
    {"integer_sums", check_integer_sums, 300},
    {"integer_reals", check_integer_reals, 1000},
    {"widen", check_widen, 600},
};

enum { N_KERNELS = sizeof kernels / sizeof *kernels };

static bool is_integer(const char *kernel)
{
  return strncmp(kernel, "integer_", 8) == 0;
}

/* --- options --- */

static bool read_number(const char *option, const char *text, unsigned long long most,
                        unsigned long long *n)
{
  char *end;
  errno = 0;
  *n = strtoull(text, &end, 10);
  if (text[0] >= '0' && text[0] <= '9' && !*end && !errno && *n <= most) return true;
  fprintf(stderr, "kernel_check: --%s expects an integer up to %llu, not '%s'\n", option, most,
          text);
  return false;
}

static bool is_kernel(const char *name)
{
  for (int i = 0; i < N_KERNELS; i++)
    if (strcmp(kernels[i].name, name) == 0) return true;
  fprintf(stderr, "kernel_check: --kernel expects a kernel (--help lists them), not '%s'\n", name);
  return false;
}

/* Returns DONE, or MISUSE after a message. *help: only help was requested. */
static enum status read_options(struct options *o, int argc, char **argv, bool *help)
{
  enum { KERNEL = 256, CPU, SEED, CASES, BENCH, SHAPE, RUNS, JSON, ONCE };
  static const struct option list[] = {
      {"kernel", required_argument, NULL, KERNEL}, {"cpu", required_argument, NULL, CPU},
      {"seed", required_argument, NULL, SEED},     {"cases", required_argument, NULL, CASES},
      {"bench", no_argument, NULL, BENCH},         {"shape", required_argument, NULL, SHAPE},
      {"runs", required_argument, NULL, RUNS},     {"json", no_argument, NULL, JSON},
      {"once", no_argument, NULL, ONCE},           {"help", optional_argument, NULL, 'h'},
      {"version", no_argument, NULL, 'V'},         {0}};
  int c;
  unsigned long long n = 0;
  *o = (struct options){.seed = 1, .runs = 5};
  *help = false;
  while ((c = getopt_long(argc, argv, "hV", list, NULL)) != -1) {
    switch (c) {
    case KERNEL: o->kernel = optarg; break;
    case CPU: o->cpu = optarg; break;
    case SHAPE: o->shape = optarg; break;
    case BENCH: o->bench = true; break;
    case JSON: o->json = true; break;
    case ONCE: o->once = true; break;
    case 'h': *help = true; return DONE;
    case 'V': o->version = true; return DONE;
    case SEED:
      if (!read_number("seed", optarg, UINT64_MAX / 2, &n)) return MISUSE;
      o->seed = n;
      break;
    case CASES:
      if (!read_number("cases", optarg, 1000000000, &n)) return MISUSE;
      o->cases = (int)n;
      break;
    case RUNS:
      if (!read_number("runs", optarg, 1000, &n)) return MISUSE;
      o->runs = n > 0 ? (int)n : 1;
      break;
    default: return MISUSE; /* getopt_long has printed the reason */
    }
  }
  if (optind < argc) {
    fprintf(stderr, "kernel_check: expects options only, not '%s'\n", argv[optind]);
    return MISUSE;
  }
  if (!o->bench && (o->json || o->shape || o->once)) {
    fprintf(stderr, "kernel_check: --json, --shape and --once go with --bench\n");
    return MISUSE;
  }
  if (o->bench && o->kernel && is_integer(o->kernel) && (o->json || o->once)) {
    fprintf(stderr, "kernel_check: --bench of integers has neither --json nor --once\n");
    return MISUSE;
  }
  return !o->kernel || is_kernel(o->kernel) ? DONE : MISUSE;
}

/* Levels of float and integer kernels. */
struct levels {
  const struct mafat_kernels *floats[MAX_LEVELS];
  const struct mafat_integer_kernels *integers[MAX_LEVELS];
  int n_floats, n_integers;
};

static void keep_level(struct levels *l, const char *cpu)
{
  int n_floats = l->n_floats, n_integers = l->n_integers;
  l->n_floats = l->n_integers = 0;
  for (int i = 0; i < n_floats; i++)
    if (strcmp(l->floats[i]->name, cpu) == 0) l->floats[l->n_floats++] = l->floats[i];
  for (int i = 0; i < n_integers; i++)
    if (strcmp(l->integers[i]->name, cpu) == 0) l->integers[l->n_integers++] = l->integers[i];
}

/* Chooses the levels to check: all, or level `cpu`. */
static enum status choose_levels(const char *cpu, struct levels *l)
{
  l->n_floats = mafat_kernels_list(l->floats, MAX_LEVELS);
  l->n_integers = mafat_integer_kernels_list(l->integers, MAX_LEVELS);
  if (l->n_floats > MAX_LEVELS) l->n_floats = MAX_LEVELS;
  if (l->n_integers > MAX_LEVELS) l->n_integers = MAX_LEVELS;
  if (!cpu) return DONE;
  struct levels all = *l;
  keep_level(l, cpu);
  if (l->n_floats || l->n_integers) return DONE;
  fprintf(stderr, "kernel_check: --cpu expects a level of this machine (");
  for (int i = 0; i < all.n_integers; i++)
    fprintf(stderr, "%s%s", i ? ", " : "", all.integers[i]->name);
  fprintf(stderr, "), not '%s'\n", cpu);
  return MISUSE;
}

/* --- the check --- */

static void print_result(const char *kernel, const struct check_result *r)
{
  printf("%-17s %-10s %6d   %11.2g   %-4s  %s\n", kernel, r->name, r->n_cases, r->worst,
         r->bits ? "yes" : "NO", r->guards ? "intact" : "BROKEN");
  fflush(stdout);
}

/* Checks a kernel on all levels. Returns the number of failed calls. */
static int check_kernel(int kernel, const struct options *o, const struct levels *l)
{
  const bool integer = is_integer(kernels[kernel].name);
  const int n_levels = integer ? l->n_integers : l->n_floats;
  struct kernel_check check = {.n_levels = n_levels};
  int n = o->cases ? o->cases : kernels[kernel].n_cases, n_failures = 0;
  for (int i = 0; i < n_levels; i++)
    check.levels[i] =
        (struct check_result){.name = integer ? l->integers[i]->name : l->floats[i]->name,
                              .level = integer ? NULL : l->floats[i],
                              .integers = integer ? l->integers[i] : NULL,
                              .bits = true,
                              .guards = true};
  for (int i = 0; n_levels && i < n; i++) {
    check.seed = o->seed + (uint64_t)i;
    random_seed(check.seed);
    kernels[kernel].run(&check);
  }
  for (int i = 0; i < n_levels; i++) {
    print_result(kernels[kernel].name, &check.levels[i]);
    n_failures += check.levels[i].n_failures;
  }
  return n_failures;
}

static enum status check_all(const struct options *o, const struct levels *levels)
{
  int n_failures = 0;
  if (check_open()) {
    fprintf(stderr, "kernel_check: not enough memory\n");
    return FAILED;
  }
  printf("kernel            level       cases   worst error   bits  guards\n");
  for (int i = 0; i < N_KERNELS; i++)
    if (!o->kernel || strcmp(o->kernel, kernels[i].name) == 0)
      n_failures += check_kernel(i, o, levels);
  if (n_failures) fprintf(stderr, "kernel_check: %d calls failed, seeds from %llu on\n", n_failures,
                          (unsigned long long)o->seed);
  return n_failures ? FAILED : DONE;
}

static enum status bench_all(const struct options *o, const struct levels *levels)
{
  const struct bench_options options = {.levels = levels->floats,
                                        .n_levels = levels->n_floats,
                                        .kernel = o->kernel,
                                        .shape = o->shape,
                                        .runs = o->runs,
                                        .json = o->json,
                                        .once = o->once};
  const bool integers = o->kernel && is_integer(o->kernel);
  int code = integers ? bench_integers(&options, levels->integers, levels->n_integers)
                      : bench_run(&options);
  if (code == -1) fprintf(stderr, "kernel_check: not enough memory\n");
  if (code == -2) fprintf(stderr, "kernel_check: --bench has no such layer of that kernel\n");
  return code == 0 ? DONE : code == -2 ? MISUSE : FAILED;
}

int main(int argc, char **argv)
{
  struct options o;
  struct levels levels;
  bool help;
  enum status status = read_options(&o, argc, argv, &help);
  if (status == DONE && o.version) {
    puts("kernel_check " MAFAT_VERSION);
    return DONE;
  }
  if (status == DONE && help) {
    fputs(usage, stdout);
    return DONE;
  }
  if (status == DONE) status = choose_levels(o.cpu, &levels);
  if (status != DONE) return status;
  return o.bench ? bench_all(&o, &levels) : check_all(&o, &levels);
}
