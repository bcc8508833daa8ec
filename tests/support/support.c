/* Makes random networks and reads networks from text. Called by suites in tests/unit, the oracle,
 * the differential tests and other files of tests/support. Objects belong to the caller. Files are
 * in memory (memfd); only test_comma_locale writes to /tmp. */
#include "tests/support/support.h"

#include "formats/darknet/constants.h"
#include "formats/darknet/darknet.h"
#include "predictor/planning/planning.h"
#include "runner/weights/weights.h"

#include <check.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- objects from text ---- */

void test_constants(struct mafat_network *n)
{
  mafat_constants_close(&n->constants);
  ck_assert_int_eq(mafat_darknet_constants(&n->constants, n, NULL), MAFAT_OK);
}

struct mafat_network *test_network(const char *cfg_text)
{
  struct mafat_diagnostic d = {""};
  struct mafat_cfg *cfg = NULL;
  struct mafat_network *n = NULL;
  int code = mafat_cfg_parse(&cfg, "test.cfg", cfg_text, strlen(cfg_text), &d);
  if (code == MAFAT_OK) code = mafat_darknet_make(&n, cfg, NULL, NULL, &d);
  mafat_cfg_close(&cfg);
  ck_assert_msg(code == MAFAT_OK, "%s\n%s", d.text, cfg_text);
  unsigned long long seed;
  /* test_random_network writes this line if the network is to be varied */
  if (sscanf(cfg_text, "# windows %llu", &seed) == 1) test_vary(n, seed);
  return n;
}

struct mafat_plan *test_plan_with(const struct mafat_network *n, const char *plan_text,
                                  const struct mafat_plan_options *options)
{
  struct mafat_diagnostic d = {""};
  struct mafat_plan *plan = NULL;
  int code = mafat_plan_read(&plan, plan_text, n, n->n_layers, options, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  return plan;
}

struct mafat_plan *test_plan(const struct mafat_network *n, const char *plan_text)
{
  return test_plan_with(n, plan_text, NULL);
}

const char *test_spec_text(const struct mafat_spec *spec)
{
  static char texts[4][16384];
  static int next;
  char *text = texts[next++ % 4];
  ck_assert_uint_lt(mafat_spec_write(spec, text, sizeof texts[0]), sizeof texts[0]);
  return text;
}

size_t test_plan_write(const struct mafat_plan *plan, const struct mafat_network *n, char *text,
                       size_t capacity)
{
  struct mafat_spec *spec;
  ck_assert_int_eq(mafat_plan_spec(&spec, plan, n), MAFAT_OK);
  size_t length = mafat_spec_write(spec, text, capacity);
  mafat_spec_close(&spec);
  return length;
}

struct mafat_plan_options test_plain_options(void)
{
  struct mafat_plan_options options;
  mafat_plan_defaults(&options);
  options.algorithm = MAFAT_DIRECT;
  options.keep_all = true;
  /* else no weights of a test would be streamed: all its layers are small */
  options.small_bytes = 0;
  return options;
}

struct mafat_plan_options test_random_packed_options(struct test_rng *rng,
                                                     enum mafat_algorithm algorithm)
{
  struct mafat_plan_options options;
  mafat_plan_defaults(&options);
  options.packed = true;
  options.algorithm = algorithm;
  options.keep_all = test_random_chance(rng, 30);
  if (test_random_chance(rng, 80)) options.small_bytes = 0;
  options.n_threads = test_random_chance(rng, 40) ? test_random_int(rng, 2, 4) : 1;
  return options;
}

struct mafat_layout *test_layout(const struct mafat_network *n, const struct mafat_plan *plan)
{
  struct mafat_diagnostic d = {""};
  struct mafat_layout *layout = NULL;
  int code = mafat_layout_make(&layout, n, plan, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  return layout;
}

int test_weights_from(struct mafat_weights **w, int fd, const struct mafat_network *n, int n_layers,
                      const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d)
{
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return mafat_weights_open_kept(w, path, n, n_layers, warnings, d);
}

/* ---- files in memory ---- */

int test_weights_file(const struct mafat_network *n, uint64_t seed)
{
  int fd = test_random_weights(n, seed);
  ck_assert_int_ge(fd, 0);
  return fd;
}

struct test_model_files test_model_files(const char *cfg_text, uint64_t seed)
{
  struct mafat_network *n = test_network(cfg_text);
  struct test_model_files f = {.cfg_fd = memfd_create("cfg", 0),
                               .weights_fd = test_weights_file(n, seed)};
  mafat_network_close(&n);
  ck_assert_int_ge(f.cfg_fd, 0);
  ck_assert_int_eq(write(f.cfg_fd, cfg_text, strlen(cfg_text)), (ssize_t)strlen(cfg_text));
  snprintf(f.cfg, sizeof f.cfg, "/proc/self/fd/%d", f.cfg_fd);
  snprintf(f.weights, sizeof f.weights, "/proc/self/fd/%d", f.weights_fd);
  return f;
}

void test_model_files_close(const struct test_model_files *f)
{
  close(f->cfg_fd);
  close(f->weights_fd);
}

struct mafat_network *test_darknet_network(const char *cfg_name)
{
  char path[256];
  struct mafat_diagnostic d = {""};
  struct mafat_network *n = NULL;
  snprintf(path, sizeof path, "/usr/share/darknet/cfg/%s", cfg_name);
  if (access(path, R_OK) != 0) return NULL;
  int code = mafat_darknet_read(&n, path, NULL, NULL, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  return n;
}

void test_fail_case(const char *cfg_text, const char *plan_text, const char *format, ...)
{
  char why[512];
  va_list args;
  va_start(args, format);
  vsnprintf(why, sizeof why, format, args);
  va_end(args);
  ck_abort_msg("%s\nplan %s\n%s", why, plan_text, cfg_text);
}

/* ---- locales ---- */

static bool set_comma_locale(void)
{
  static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_AT.UTF-8",
                                      "nl_NL.UTF-8", "ps_AF.UTF-8", "ps_AF"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (setlocale(LC_ALL, names[i]) && strcmp(localeconv()->decimal_point, ".") != 0) return true;
  return false;
}

/* Makes a locale that has only LC_NUMERIC, because making a whole one is slow. */
static void make_comma_locale(const char *folder)
{
  static const char source[] =
      "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\ngrouping 3;3\nEND LC_NUMERIC\n";
  char path[64], command[256];
  snprintf(path, sizeof path, "%s/source", folder);
  FILE *file = fopen(path, "w");
  if (!file) return;
  fputs(source, file);
  fclose(file);
  snprintf(command, sizeof command, "localedef -c -i %s -f ANSI_X3.4-1968 %s/comma >/dev/null 2>&1",
           path, folder);
  /* warnings, or no localedef; the caller sees that it fails to set the locale */
  if (system(command) != 0) return;
}

bool test_comma_locale(void)
{
  char folder[] = "/tmp/mafat_locale_XXXXXX", command[64];
  if (set_comma_locale()) return true;
  if (!mkdtemp(folder)) return false;
  make_comma_locale(folder);
  setenv("LOCPATH", folder, 1);
  bool set = setlocale(LC_NUMERIC, "comma") != NULL;
  unsetenv("LOCPATH");
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command) == 0 && set;
}

static bool size_is(const char *name)
{
  const char *size = getenv("MAFAT_TEST_SIZE");
  return size && strcmp(size, name) == 0;
}

int test_seeds(int n)
{
  if (size_is("check")) return (n + 9) / 10;
  if (size_is("test")) return (n + 3) / 4;
  return size_is("gate") ? (n + 1) / 2 : n;
}

double test_patience(double seconds)
{
  const char *multiplier = getenv("CK_TIMEOUT_MULTIPLIER");
  double times = multiplier ? fmax(strtod(multiplier, NULL), 1) : 1;
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
  times = fmax(times, 20);
#endif
  return times * seconds;
}

int test_slow_rows(int n)
{
  return size_is("check") ? (n + 5) / 6 : n;
}

/* ---- random networks ---- */

enum { MAX_GENERATED = 64 };

struct author {
  struct test_rng *rng;
  const struct test_network_style *style;
  char *text;
  size_t capacity, length;
  struct mafat_shape shapes[MAX_GENERATED]; /* output of each layer written so far */
  struct mafat_shape input;
  int n;
};

struct test_network_style test_network_style(void)
{
  return (struct test_network_style){.min_layers = 4,
                                     .max_layers = 14,
                                     .max_extent = 40,
                                     .max_channels = 192,
                                     .max_macs = 3000000,
                                     .windows = true,
                                     .edges = true,
                                     .whole_maps = true,
                                     .heads = true};
}

struct test_network_style test_small_style(void)
{
  struct test_network_style style = test_network_style();
  style.max_macs = 400000;
  style.max_extent = 28;
  return style;
}

__attribute__((format(printf, 2, 3))) static void write_cfg(struct author *a, const char *format,
                                                            ...)
{
  va_list args;
  va_start(args, format);
  a->length += (size_t)vsnprintf(a->text + a->length, a->capacity - a->length, format, args);
  va_end(args);
  ck_assert_uint_lt(a->length, a->capacity);
}

static struct mafat_shape here(const struct author *a)
{
  return a->n ? a->shapes[a->n - 1] : a->input;
}

static void put(struct author *a, int h, int w, int c)
{
  ck_assert_int_lt(a->n, MAX_GENERATED);
  a->shapes[a->n++] = (struct mafat_shape){h, w, c};
}

static bool same_map(struct mafat_shape a, struct mafat_shape b)
{
  return a.h == b.h && a.w == b.w;
}

static const char *any_activation(struct author *a)
{
  static const enum mafat_activation common[] = {MAFAT_LINEAR, MAFAT_LEAKY, MAFAT_RELU, MAFAT_MISH,
                                                 MAFAT_SWISH, MAFAT_LOGISTIC};
  if (test_random_chance(a->rng, 70)) return mafat_activation_name(TEST_PICK(a->rng, common));
  return mafat_activation_name(
      (enum mafat_activation)test_random_int(a->rng, 0, MAFAT_N_DARKNET_ACTIVATIONS - 1));
}

struct conv {
  int filters, size, stride, groups;
  int padding;
  bool half_pad; /* pad=1: padding is half the size */
  int dilation;  /* 0: not written */
  bool any_shape; /* no later layer depends on the output's shape */
};

/* Writes the stride and, if `vary`, sometimes another one for one axis (stride_x=2). Returns
 * both. */
static void write_strides(struct author *a, int stride, bool vary, int *down, int *across)
{
  *down = *across = stride;
  write_cfg(a, "stride=%d\n", stride);
  if (!vary || !test_random_chance(a->rng, 15)) return;
  int *other = test_random_chance(a->rng, 50) ? down : across;
  *other = test_random_int(a->rng, 1, 3);
  write_cfg(a, "stride_%c=%d\n", other == down ? 'y' : 'x', *other);
}

static bool add_conv(struct author *a, const struct conv *c)
{
  struct mafat_shape in = here(a);
  int pad = c->half_pad ? c->size / 2 : c->padding;
  int h = in.h + 2 * pad - c->size, w = in.w + 2 * pad - c->size, down, across;
  if (h < 0 || w < 0 || in.c % c->groups || c->filters % c->groups) return false;
  long long macs =
      (long long)(h + 1) * (w + 1) * c->filters * (in.c / c->groups) * c->size * c->size;
  if (macs > a->style->max_macs || h >= a->style->max_extent || w >= a->style->max_extent ||
      c->filters > a->style->max_channels)
    return false;
  write_cfg(a, "[convolutional]\nfilters=%d\nsize=%d\n", c->filters, c->size);
  write_strides(a, c->stride, c->any_shape, &down, &across);
  if (c->dilation) write_cfg(a, "dilation=%d\n", c->dilation);
  h = h / down + 1;
  w = w / across + 1;
  if (c->half_pad) write_cfg(a, "pad=1\n");
  else if (c->padding) write_cfg(a, "padding=%d\n", c->padding);
  if (c->groups > 1) write_cfg(a, "groups=%d\n", c->groups);
  if (test_random_chance(a->rng, 60)) write_cfg(a, "batch_normalize=1\n");
  write_cfg(a, "activation=%s\n\n", any_activation(a));
  put(a, h, w, c->filters);
  return true;
}

static bool random_conv(struct author *a)
{
  static const int filters[] = {1, 3, 5, 8, 16, 16, 17, 24, 32, 33, 40, 64};
  static const int sizes[] = {1, 1, 1, 2, 3, 3, 3, 3, 5, 7}, strides[] = {1, 1, 1, 1, 2, 2, 3};
  struct conv c = {.filters = TEST_PICK(a->rng, filters),
                   .size = TEST_PICK(a->rng, sizes),
                   .stride = TEST_PICK(a->rng, strides),
                   .groups = 1,
                   .any_shape = true};
  c.half_pad = test_random_chance(a->rng, 60);
  if (!c.half_pad && test_random_chance(a->rng, 50)) c.padding = test_random_int(a->rng, 0, c.size);
  if (c.half_pad && c.size % 2 && test_random_chance(a->rng, 15))
    c.dilation = test_random_int(a->rng, 1, 3);
  return add_conv(a, &c);
}

static bool grouped_conv(struct author *a)
{
  static const int sizes[] = {1, 3, 3, 3, 5};
  int channels = here(a).c;
  struct conv c = {.size = TEST_PICK(a->rng, sizes),
                   .stride = test_random_int(a->rng, 1, 2),
                   .half_pad = true,
                   .any_shape = true};
  switch (test_random_int(a->rng, 0, 4)) {
  case 0:
  case 1: /* depthwise */
    c.groups = c.filters = channels;
    break;
  case 2: /* depthwise with a multiplier */
    c.groups = channels;
    c.filters = 2 * channels;
    break;
  case 3: /* four channels a group, as in ResNeXt */
    if (channels % 4) return false;
    c.groups = channels / 4;
    c.filters = c.groups * test_random_int(a->rng, 1, 5);
    break;
  default: /* any divisor */
    c.groups = test_random_int(a->rng, 2, 8);
    c.filters = c.groups * test_random_int(a->rng, 1, 12);
    break;
  }
  return c.groups > 1 && add_conv(a, &c);
}

/* Adds a concatenation whose inputs end inside a block of 16 channels, such as 24 + 96. */
static bool concatenation(struct author *a)
{
  static const int first[] = {24, 24, 3, 17, 20}, second[] = {96, 33, 8, 40};
  int size = test_random_chance(a->rng, 50) ? 3 : 1;
  if (!add_conv(a, &(struct conv){TEST_PICK(a->rng, first), 1, 1, 1, 0, false, 0, false}))
    return false;
  if (!add_conv(a, &(struct conv){TEST_PICK(a->rng, second), size, 1, 1, 0, true, 0, false}))
    return true;
  struct mafat_shape one = a->shapes[a->n - 2], two = here(a);
  if (one.c + two.c > a->style->max_channels) return true;
  bool newest_first = test_random_chance(a->rng, 50);
  write_cfg(a, "[route]\nlayers=%s\n\n", newest_first ? "-1,-2" : "-2, -1");
  put(a, one.h, one.w, one.c + two.c);
  random_conv(a);
  return true;
}

static bool pool(struct author *a, const char *kind)
{
  static const int sizes[] = {2, 2, 3, 5};
  struct mafat_shape in = here(a);
  int size = TEST_PICK(a->rng, sizes), stride = test_random_int(a->rng, 1, 2), padding = size - 1;
  bool written = test_random_chance(a->rng, 35);
  if (written) padding = test_random_int(a->rng, 0, size);
  int h = in.h + padding - size, w = in.w + padding - size, pad = padding / 2;
  if (h < 0 || w < 0) return false;
  /* With stride 1, no window may be completely outside the map. */
  if (h - pad >= in.h || w - pad >= in.w) return false;
  int down, across;
  write_cfg(a, "[%s]\nsize=%d\n", kind, size);
  write_strides(a, stride, true, &down, &across);
  h = h / down + 1;
  w = w / across + 1;
  if (written) write_cfg(a, "padding=%d\n", padding);
  write_cfg(a, "\n");
  put(a, h, w, in.c);
  return true;
}

/* Returns the number by which a layer refers to layer `index`: absolute, or relative to itself. */
static int layer_number(struct author *a, int index)
{
  return test_random_chance(a->rng, 50) ? index : index - a->n;
}

static bool route(struct author *a)
{
  if (a->n == 0) return false;
  int first = test_random_int(a->rng, 0, a->n - 1), wanted = test_random_int(a->rng, 1, 4), n = 1;
  int list[4] = {first}, groups = 1, channels = a->shapes[first].c;
  for (int i = a->n - 1; i >= 0 && n < wanted; i--)
    if (same_map(a->shapes[i], a->shapes[first]) && test_random_chance(a->rng, 60) &&
        channels + a->shapes[i].c <= a->style->max_channels) {
      list[n++] = i;
      channels += a->shapes[i].c;
    }
  if (test_random_chance(a->rng, 40)) {
    groups = test_random_int(a->rng, 2, 4);
    for (int i = 0; i < n; i++)
      if (a->shapes[list[i]].c % groups) groups = 1;
  }
  write_cfg(a, "[route]\nlayers=");
  for (int i = 0; i < n; i++) write_cfg(a, "%s%d", i ? "," : "", layer_number(a, list[i]));
  write_cfg(a, "\n");
  if (groups > 1)
    write_cfg(a, "groups=%d\ngroup_id=%d\n", groups, test_random_int(a->rng, 0, groups - 1));
  write_cfg(a, "\n");
  put(a, a->shapes[first].h, a->shapes[first].w, channels / groups);
  return true;
}

/* Darknet's condition for a shortcut: rows and columns differ by one integer factor. */
static bool factors_agree(struct mafat_shape from, struct mafat_shape to)
{
  return from.w / to.w == from.h / to.h && to.w / from.w == to.h / from.h &&
         (from.w / to.w || to.w / from.w);
}

/* Sometimes writes one or two more inputs of the shortcut, of the same shape. */
static void add_addends(struct author *a)
{
  int wanted = test_random_int(a->rng, 1, 2);
  for (int i = a->n - 1; i >= 0 && wanted > 0; i--)
    if (same_map(a->shapes[i], here(a)) && test_random_chance(a->rng, 60)) {
      write_cfg(a, ",%d", layer_number(a, i));
      wanted--;
    }
}

static bool shortcut(struct author *a)
{
  struct mafat_shape in = here(a);
  for (int attempt = 0; attempt < 8 && a->n > 0; attempt++) {
    int from = test_random_int(a->rng, 0, a->n - 1);
    if (!factors_agree(a->shapes[from], in)) continue;
    if (!same_map(a->shapes[from], in) && attempt < 6) continue; /* unequal shapes are rare */
    write_cfg(a, "[shortcut]\nactivation=%s\nfrom=%d", any_activation(a), layer_number(a, from));
    if (same_map(a->shapes[from], in) && test_random_chance(a->rng, 30)) add_addends(a);
    write_cfg(a, "\n");
    if (test_random_chance(a->rng, 15)) write_cfg(a, "alpha=.5\nbeta=-2\n");
    write_cfg(a, "\n");
    put(a, in.h, in.w, in.c);
    return true;
  }
  return false;
}

/* Adds a convolution with many filters, and 1x1 convolutions and maxpools that read it and can be
 * fused with it in panels. Sometimes they are inside a shortcut, or the convolution has a second
 * reader. */
static bool wide_and_readers(struct author *a)
{
  static const int wide[] = {33, 48, 64, 96}, narrow[] = {3, 16, 24, 40};
  int before = a->n - 1, channels = here(a).c, filters = TEST_PICK(a->rng, wide);
  int size = test_random_chance(a->rng, 60) ? 3 : 1;
  if (!add_conv(a, &(struct conv){filters, size, 1, 1, 0, true, 0, false}) &&
      !add_conv(a, &(struct conv){filters, 1, 1, 1, 0, false, 0, false}))
    return false;
  int first = a->n - 1;
  bool adds = a->style->edges && before >= 0 && test_random_chance(a->rng, 30);
  if (!add_conv(a, &(struct conv){adds ? channels : TEST_PICK(a->rng, narrow), 1, 1, 1, 0, false, 0,
                                  false}))
    return true;
  if (adds) {
    write_cfg(a, "[shortcut]\nfrom=%d\nactivation=%s\n\n", layer_number(a, before),
              any_activation(a));
    put(a, here(a).h, here(a).w, channels);
  }
  if (!a->style->edges || test_random_chance(a->rng, 40)) return true;
  struct mafat_shape one = here(a), two = a->shapes[first];
  write_cfg(a, "[route]\nlayers=%d\n\n", layer_number(a, first));
  put(a, two.h, two.w, two.c);
  if (test_random_chance(a->rng, 60)) {
    write_cfg(a, "[maxpool]\nsize=3\nstride=1\n\n");
    put(a, two.h, two.w, two.c);
  } else if (!add_conv(a, &(struct conv){TEST_PICK(a->rng, narrow), 1, 1, 1, 0, false, 0, false})) {
    return true;
  }
  if (one.c + here(a).c > a->style->max_channels) return true;
  write_cfg(a, "[route]\nlayers=-1,-3\n\n");
  put(a, one.h, one.w, one.c + here(a).c);
  return true;
}

static bool upsample(struct author *a)
{
  struct mafat_shape in = here(a);
  int stride = test_random_chance(a->rng, 80) ? 2 : 3;
  if (in.h * stride > a->style->max_extent || in.w * stride > a->style->max_extent) return false;
  write_cfg(a, "[upsample]\nstride=%d\n%s\n", stride,
            test_random_chance(a->rng, 20) ? "scale=.5\n" : "");
  put(a, in.h * stride, in.w * stride, in.c);
  return true;
}

static bool elementwise(struct author *a)
{
  struct mafat_shape in = here(a);
  switch (test_random_int(a->rng, 0, 3)) {
  case 0: write_cfg(a, "[dropout]\nprobability=.5\n\n"); break;
  case 1: write_cfg(a, "[batchnorm]\n\n"); break;
  case 2: write_cfg(a, "[activation]\nactivation=%s\n\n", any_activation(a)); break;
  default: write_cfg(a, "[cost]\ntype=sse\n\n"); break;
  }
  put(a, in.h, in.w, in.c);
  return true;
}

static bool crop(struct author *a)
{
  struct mafat_shape in = here(a);
  if (in.h < 4 || in.w < 4) return false;
  int h = test_random_int(a->rng, in.h - 3, in.h), w = test_random_int(a->rng, in.w - 3, in.w);
  write_cfg(a, "[crop]\ncrop_height=%d\ncrop_width=%d\n%s\n", h, w,
            test_random_chance(a->rng, 50) ? "noadjust=1\n" : "");
  put(a, h, w, in.c);
  return true;
}

static bool reorg(struct author *a)
{
  struct mafat_shape in = here(a);
  if (in.c % 4) return false;
  bool reverse = test_random_chance(a->rng, 40);
  if (reverse) {
    if (2 * in.h > a->style->max_extent || 2 * in.w > a->style->max_extent) return false;
    write_cfg(a, "[reorg]\nstride=2\nreverse=1\n\n");
    put(a, 2 * in.h, 2 * in.w, in.c / 4);
    return true;
  }
  if (in.h % 2 || in.w % 2 || in.c * 4 > a->style->max_channels) return false;
  write_cfg(a, "[reorg]\nstride=2\n\n");
  put(a, in.h / 2, in.w / 2, in.c * 4);
  return true;
}

static bool reorg3d(struct author *a)
{
  struct mafat_shape in = here(a);
  int stride = test_random_chance(a->rng, 70) ? 2 : 3;
  if (in.h % stride || in.w % stride || in.c * stride * stride > a->style->max_channels)
    return false;
  write_cfg(a, "[reorg3d]\nstride=%d\n\n", stride);
  put(a, in.h / stride, in.w / stride, in.c * stride * stride);
  return true;
}

static bool local(struct author *a)
{
  struct mafat_shape in = here(a);
  int size = test_random_int(a->rng, 1, 3), pad = test_random_int(a->rng, 0, size / 2);
  int filters = test_random_int(a->rng, 1, 6), stride = test_random_int(a->rng, 1, 2),
      less = pad ? 1 : size;
  if (in.h < less || in.w < less) return false;
  int h = (in.h - less) / stride + 1, w = (in.w - less) / stride + 1;
  if ((long long)h * w * filters * in.c * size * size > 100000) return false;
  write_cfg(a, "[local]\nfilters=%d\nsize=%d\nstride=%d\npad=%d\nactivation=%s\n\n", filters, size,
            stride, pad, any_activation(a));
  put(a, h, w, filters);
  return true;
}

static long long floats(struct mafat_shape s)
{
  return (long long)s.h * s.w * s.c;
}

static bool connected(struct author *a)
{
  static const int outputs[] = {1, 7, 10, 32, 45, 64};
  int output = TEST_PICK(a->rng, outputs);
  if (floats(here(a)) > 6000) return false;
  write_cfg(a, "[connected]\noutput=%d\n%sactivation=%s\n\n", output,
            test_random_chance(a->rng, 40) ? "batch_normalize=1\n" : "", any_activation(a));
  put(a, 1, 1, output);
  return true;
}

static bool softmax(struct author *a)
{
  struct mafat_shape in = here(a);
  int groups = test_random_int(a->rng, 1, 3);
  if (floats(in) % groups) groups = 1;
  write_cfg(a, "[softmax]\ngroups=%d\n%s\n", groups,
            test_random_chance(a->rng, 20) ? "temperature=2\n" : "");
  put(a, in.h, in.w, in.c);
  return true;
}

static bool avgpool(struct author *a)
{
  int channels = here(a).c;
  write_cfg(a, "[avgpool]\n\n");
  put(a, 1, 1, channels);
  return true;
}

/* Reduces a map to 1 x 1, by its mean or by a maxpool window over the whole map. The maxpool can
 * run by rows. */
static void squeeze(struct author *a)
{
  struct mafat_shape in = here(a);
  int side = mafat_max(in.h, in.w);
  if (a->style->whole_maps && test_random_chance(a->rng, 60)) {
    avgpool(a);
    return;
  }
  write_cfg(a, "[maxpool]\nsize=%d\nstride=%d\n\n", side, side);
  put(a, 1, 1, in.c);
}

/* Multiplies a map by values computed from it: for each channel, each pixel, or both. */
static bool attention(struct author *a)
{
  static const int narrow[] = {1, 3, 8, 16, 24};
  struct mafat_shape in = here(a);
  int map = a->n - 1, kind = test_random_int(a->rng, 0, 2);
  if (map < 0) return false;
  if (kind == 0) {
    squeeze(a);
    if (!add_conv(a, &(struct conv){TEST_PICK(a->rng, narrow), 1, 1, 1, 0, false, 0, false}))
      return true;
  }
  if (!add_conv(a, &(struct conv){kind == 1 ? 1 : in.c, 1, 1, 1, 0, false, 0, false}))
    return kind == 0;
  write_cfg(a, "[%s]\nfrom=%d\n%sactivation=%s\n\n", kind == 2 ? "sam" : "scale_channels",
            layer_number(a, map), kind == 1 ? "scale_wh=1\n" : "", any_activation(a));
  put(a, in.h, in.w, in.c);
  return true;
}

static bool map_head(struct author *a)
{
  int boxes = test_random_int(a->rng, 1, 3), classes = test_random_int(a->rng, 1, 6);
  bool yolo = test_random_chance(a->rng, 60), gaussian = yolo && classes % 3 == 0;
  int channels = boxes * (classes + (gaussian ? 9 : 5));
  if (!add_conv(a, &(struct conv){channels, 1, 1, 1, 0, false, 0, false})) return false;
  write_cfg(a, "[%s]\nclasses=%d\nnum=%d\nanchors=%s\n",
            gaussian ? "Gaussian_yolo"
            : yolo   ? "yolo"
                     : "region",
            classes, yolo ? 3 : boxes,
            yolo || boxes == 3 ? "1,2, 3,4, 5,6"
            : boxes == 2       ? "1.5,2.25,3,2"
                               : "1.5,2.25");
  if (yolo) write_cfg(a, "mask=%s\n%s\n", boxes == 1 ? "1" : boxes == 2 ? "0,2" : "0,1,2",
                      test_random_chance(a->rng, 30) ? "scale_x_y=1.1\n" : "");
  else write_cfg(a, "coords=4\nsoftmax=%d\n\n", test_random_int(a->rng, 0, 1));
  put(a, here(a).h, here(a).w, channels);
  return true;
}

static bool vector_head(struct author *a)
{
  int side = test_random_int(a->rng, 1, 3), boxes = test_random_int(a->rng, 1, 2);
  int classes = test_random_int(a->rng, 1, 4), outputs = side * side * (5 * boxes + classes);
  if (floats(here(a)) > 6000) return false;
  write_cfg(a, "[connected]\noutput=%d\nactivation=linear\n\n", outputs);
  put(a, 1, 1, outputs);
  write_cfg(a, "[detection]\nclasses=%d\ncoords=4\nside=%d\nnum=%d\nsqrt=1\n\n", classes, side,
            boxes);
  put(a, 1, 1, outputs);
  return true;
}

static void add_layer(struct author *a)
{
  const struct test_network_style *style = a->style;
  int dice = test_random_int(a->rng, 0, 99);
  bool added = false;
  if (dice < 12) added = pool(a, "maxpool");
  else if (dice < 24) added = grouped_conv(a);
  else if (dice < 31) added = elementwise(a);
  else if (dice < 34) added = crop(a);
  else if (dice < 40) added = upsample(a);
  else if (dice < 62 && style->edges) {
    if (dice < 47) added = concatenation(a);
    else if (dice < 54) added = route(a);
    else added = shortcut(a);
  } else if (dice < 70 && style->whole_maps) {
    if (dice < 65) added = reorg(a);
    else if (dice < 66) added = softmax(a);
    else if (dice < 67) added = local(a);
    else if (dice < 68 && style->heads && style->edges && a->n > 0) {
      added = map_head(a) && route(a); /* continue from an earlier layer, as in yolov3 */
    }
  } else if (dice >= 70 && dice < 82) {
    added = wide_and_readers(a);
  } else if (dice >= 82 && dice < 84) {
    added = pool(a, "local_avgpool");
  } else if (dice >= 84 && dice < 86) {
    added = reorg3d(a);
  } else if (dice >= 86 && dice < 91 && style->edges) {
    added = attention(a);
  }
  if (!added && !random_conv(a)) add_conv(a, &(struct conv){8, 1, 1, 1, 0, false, 0, false});
}

static void finish(struct author *a)
{
  int dice = test_random_int(a->rng, 0, 99);
  if (a->style->heads && dice < 20) map_head(a);
  else if (a->style->heads && a->style->whole_maps && dice < 25) vector_head(a);
  else if (a->style->whole_maps && dice < 50) {
    if (test_random_chance(a->rng, 60)) avgpool(a);
    if (test_random_chance(a->rng, 60)) connected(a);
    if (test_random_chance(a->rng, 60)) softmax(a);
  }
}

void test_random_network(struct test_rng *rng, const struct test_network_style *style,
                         char *cfg_text, size_t capacity)
{
  static const int channels[] = {1, 3, 3, 3, 5, 17}, sides[] = {13, 17, 16, 19, 24, 32, 33};
  struct author a = {.rng = rng, .style = style, .text = cfg_text, .capacity = capacity};
  int layers = test_random_int(rng, style->min_layers, style->max_layers);
  ck_assert_int_le(layers + 8, MAX_GENERATED);
  a.input = (struct mafat_shape){mafat_min(TEST_PICK(rng, sides), style->max_extent),
                                 mafat_min(TEST_PICK(rng, sides), style->max_extent),
                                 TEST_PICK(rng, channels)};
  if (style->windows && test_random_chance(rng, 40))
    write_cfg(&a, "# windows %u\n", test_random(rng));
  write_cfg(&a, "[net]\nheight=%d\nwidth=%d\nchannels=%d\n\n", a.input.h, a.input.w, a.input.c);
  while (a.n < layers) add_layer(&a);
  finish(&a);
}

/* ---- depthwise and 1x1 layers ---- */

static void add_block_conv(struct author *a, int filters, int size, int stride, int groups)
{
  write_cfg(
      a,
      "[convolutional]\nfilters=%d\nsize=%d\nstride=%d\npadding=%d\ngroups=%d\nactivation=relu\n",
      filters, size, stride, size / 2, groups);
}

void test_random_blocks(struct test_rng *rng, int most_side, char *cfg_text, size_t capacity)
{
  struct author a = {.rng = rng, .text = cfg_text, .capacity = capacity};
  int c = 4 * test_random_int(rng, 1, 6);
  write_cfg(&a, "[net]\nheight=%d\nwidth=%d\nchannels=3\n", test_random_int(rng, 5, most_side),
            test_random_int(rng, 5, most_side));
  add_block_conv(&a, c, 3, 1, 1);
  for (int blocks = test_random_int(rng, 1, 4); blocks > 0; blocks--) {
    int size = 3 + 2 * test_random_int(rng, 0, 1), wide = c * test_random_int(rng, 1, 4),
        stride = test_random_int(rng, 1, 2);
    bool around = test_random_chance(rng, 50), widens = test_random_chance(rng, 70);
    if (around) stride = 1;
    if (!widens) wide = c;
    if (widens) add_block_conv(&a, wide, 1, 1, 1);
    add_block_conv(&a, wide, size, stride, wide);
    if (!around) c = 4 * test_random_int(rng, 1, 10);
    add_block_conv(&a, c, 1, 1, 1);
    if (around) write_cfg(&a, "[shortcut]\nfrom=-%d\nactivation=linear\n", 3 + widens);
  }
}
