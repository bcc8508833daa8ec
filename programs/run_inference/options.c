#include "programs/run_inference/options.h"

#include "include/mafat_plan.h"
#include "include/mafat_video.h"
#include "programs/shared/decimal.h"
#include "programs/shared/refused_option.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void mafat_options_defaults(struct mafat_options *o)
{
  *o = (struct mafat_options){.repeat = 1, .threads = 1, .bias_bytes = MAFAT_DEFAULT_BIAS_BYTES,
                              .reserve_bytes = MAFAT_DEFAULT_RESERVE_BYTES, .thresh = .5f, .nms = .45f};
}

static bool read_number(const char *text, long most, int *value)
{
  char *end;
  errno = 0;
  long n = strtol(text, &end, 10);
  if (!isdigit((unsigned char)*text) || errno || *end || n < 1 || n > most) return false;
  *value = (int)n;
  return true;
}

static bool read_count(const char *text, int *value)
{
  return read_number(text, 10000, value);
}

static bool read_fraction(const char *text, float *value)
{
  char *end;
  float x = strtof(text, &end);
  if (!mafat_decimal_begins(text) || *end || !isfinite(x) || x < 0 || x > 1) return false;
  *value = x;
  return true;
}

/* In the order of long_options. */
enum {
  OPTION_MEMORY = 256, OPTION_RESERVE, OPTION_LOCK, OPTION_PLAN, OPTION_SEARCH, OPTION_TILING, OPTION_LAYOUT, OPTION_PLAN_TIME, OPTION_DELTA, OPTION_BEAM, OPTION_CELLS, OPTION_MEASURE, OPTION_FAST_MEMORY, OPTION_OBJECTIVE, OPTION_LAYERS, OPTION_FORK,
  OPTION_SCALING, OPTION_MEAN, OPTION_SCALE, OPTION_CHANNELS, OPTION_RESIZE, OPTION_PAD, OPTION_DECODE,
  OPTION_ALGORITHM, OPTION_THREADS, OPTION_CPU, OPTION_PREDICT, OPTION_PREDICTOR, OPTION_BIAS, OPTION_SWEEP,
  OPTION_PARETO, OPTION_MAP, OPTION_CALIBRATE, OPTION_INPUT, OPTION_CONSTANT, OPTION_VIDEO, OPTION_CAMERA, OPTION_LIVE, OPTION_OVERLAY,
  OPTION_DUMP, OPTION_MARKS, OPTION_REPEAT,
  OPTION_NAMES, OPTION_THRESH, OPTION_NMS, OPTION_BOXES, OPTION_JSON, OPTION_REPORT, OPTION_BEST_EFFORT, OPTION_QUIET,
  OPTION_SANDBOX, OPTION_RANKS, OPTION_LINK, OPTION_SPEED, OPTION_VERSION, OPTION_HELP, OPTION_END
};

static const struct option long_options[] = {
    {"memory", required_argument, NULL, OPTION_MEMORY},
    {"reserve", required_argument, NULL, OPTION_RESERVE},
    {"lock", required_argument, NULL, OPTION_LOCK},
    {"plan", required_argument, NULL, OPTION_PLAN},
    {"search", required_argument, NULL, OPTION_SEARCH},
    {"tiling", required_argument, NULL, OPTION_TILING},
    {"layout", required_argument, NULL, OPTION_LAYOUT},
    {"plan-time", required_argument, NULL, OPTION_PLAN_TIME},
    {"delta", required_argument, NULL, OPTION_DELTA},
    {"beam", required_argument, NULL, OPTION_BEAM},
    {"cells", required_argument, NULL, OPTION_CELLS},
    {"measure", no_argument, NULL, OPTION_MEASURE},
    {"fast-memory", required_argument, NULL, OPTION_FAST_MEMORY},
    {"objective", required_argument, NULL, OPTION_OBJECTIVE},
    {"layers", required_argument, NULL, OPTION_LAYERS},
    {"fork", required_argument, NULL, OPTION_FORK},
    {"image-scaling", required_argument, NULL, OPTION_SCALING},
    {"mean", required_argument, NULL, OPTION_MEAN},
    {"scale", required_argument, NULL, OPTION_SCALE},
    {"channels", required_argument, NULL, OPTION_CHANNELS},
    {"resize", required_argument, NULL, OPTION_RESIZE},
    {"pad", required_argument, NULL, OPTION_PAD},
    {"decode", required_argument, NULL, OPTION_DECODE},
    {"algorithm", required_argument, NULL, OPTION_ALGORITHM},
    {"threads", required_argument, NULL, OPTION_THREADS},
    {"cpu", required_argument, NULL, OPTION_CPU},
    {"predict", no_argument, NULL, OPTION_PREDICT},
    {"predictor", required_argument, NULL, OPTION_PREDICTOR},
    {"bias", required_argument, NULL, OPTION_BIAS},
    {"sweep", optional_argument, NULL, OPTION_SWEEP},
    {"pareto", no_argument, NULL, OPTION_PARETO},
    {"map", required_argument, NULL, OPTION_MAP},
    {"calibrate", no_argument, NULL, OPTION_CALIBRATE},
    {"input", required_argument, NULL, OPTION_INPUT},
    {"constant", required_argument, NULL, OPTION_CONSTANT},
    {"video", required_argument, NULL, OPTION_VIDEO},
    {"camera", required_argument, NULL, OPTION_CAMERA},
    {"live", no_argument, NULL, OPTION_LIVE},
    {"overlay", required_argument, NULL, OPTION_OVERLAY},
    {"dump-output", required_argument, NULL, OPTION_DUMP},
    {"marks", required_argument, NULL, OPTION_MARKS},
    {"repeat", required_argument, NULL, OPTION_REPEAT},
    {"names", required_argument, NULL, OPTION_NAMES},
    {"thresh", required_argument, NULL, OPTION_THRESH},
    {"nms", required_argument, NULL, OPTION_NMS},
    {"max-boxes", required_argument, NULL, OPTION_BOXES},
    {"json", no_argument, NULL, OPTION_JSON},
    {"report", no_argument, NULL, OPTION_REPORT},
    {"best-effort", no_argument, NULL, OPTION_BEST_EFFORT},
    {"quiet", no_argument, NULL, OPTION_QUIET},
    {"sandbox", required_argument, NULL, OPTION_SANDBOX},
    {"ranks", required_argument, NULL, OPTION_RANKS},
    {"link", required_argument, NULL, OPTION_LINK},
    {"speed", required_argument, NULL, OPTION_SPEED},
    {"version", no_argument, NULL, OPTION_VERSION},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

static const char *const predictors[] = {"exact", "paper", NULL},
                  *const whens[] = {"auto", "on", "off", NULL},
                  *const forks[] = {"auto", "darknet", "alexeyab", NULL},
                  *const tilings[] = {"fdt", "ffmt", "both", NULL}, *const layouts[] = {"published", "ours", NULL},
                  *const objectives[] = {"latency", "transfers", NULL},
                  *const scalings[] = {"exact", "fast", NULL}, *const channels[] = {"rgb", "bgr", "gray", NULL},
                  *const fits[] = {"stretch", "letterbox", "corner", "crop", NULL},
                  *const heads[] = {"auto", "darknet", "yolov5", "yolov8", "yolox", "nanodet", "fastestdet", "ssd",
                                    "ultraface", "yunet", "classes", "none", NULL},
                  *const sharings[] = {"deeperthings", "fdto", "layers", "best", NULL},
                  *const algorithms[] = {"auto", "direct", "winograd", "winograd-large", NULL},
                  *const levels[] = {
#define LEVEL(name, ...) #name,
#include "base/levels.def"
                      NULL};

/* "best, least or greedy; on several devices deeperthings, ..." */
static const char *searches_expected(void)
{
  static char text[192];
  struct mafat_search_facts f = {.size = sizeof f}, next = {.size = sizeof next};
  int n = 0;
  for (int i = 0; mafat_search_describe(i, &f) == MAFAT_OK && n < (int)sizeof text; i++)
    n += snprintf(text + n, sizeof text - (size_t)n, "%s%s", i == 0 ? "" : mafat_search_describe(i + 1, &next) == MAFAT_OK ? ", " : " or ", f.name);
  snprintf(text + n, sizeof text - (size_t)n, "; on several devices deeperthings, fdto, layers or best");
  return text;
}

/* What those with a value expect that does not take any. */
static const char *expected(int option)
{
  switch (option) {
  case OPTION_MEMORY: return "a size like 64M, 16384K or bytes";
  case OPTION_RESERVE: return "0 or a size like 512K";
  case OPTION_LOCK: case OPTION_SANDBOX: return "auto, on or off";
  case OPTION_SEARCH: return searches_expected();
  case OPTION_TILING: return "fdt, ffmt or both";
  case OPTION_LAYOUT: return "published or ours";
  case OPTION_RANKS: return "a number from 1 to 64";
  case OPTION_SPEED: return MAFAT_SPEEDS_EXPECTED;
  case OPTION_LINK: return "bits a second and what a message takes, such as 100M:0.2ms";
  case OPTION_DELTA: return "a number from 1 to 1000, such as 1.05";
  case OPTION_BEAM: return "a number from 1 to 64";
  case OPTION_PLAN_TIME: return "seconds, such as 0.5 or 60";
  case OPTION_FAST_MEMORY: return "a size like 64K";
  case OPTION_OBJECTIVE: return "latency or transfers";
  case OPTION_LAYERS: return "a number from 1 on";
  case OPTION_FORK: return "auto, darknet or alexeyab";
  case OPTION_SCALING: return "exact or fast";
  case OPTION_MEAN: return "a number, or three like 123.7,116.3,103.5";
  case OPTION_SCALE: return "a number like 1/255, or three with commas between";
  case OPTION_CHANNELS: return "rgb, bgr or gray";
  case OPTION_RESIZE: return "stretch, letterbox, corner or crop";
  case OPTION_PAD: return "a number from 0 to 255";
  case OPTION_DECODE:
    return "auto, darknet, yolov5, yolov8, yolox, nanodet, fastestdet, ssd, ultraface, yunet, classes or none";
  case OPTION_ALGORITHM: return "auto, direct, winograd or winograd-large";
  case OPTION_THREADS: return "a number from 1 to 64, or auto";
  case OPTION_CPU:
    return "one of"
#define LEVEL(name, ...) " " #name
#include "base/levels.def"
        ;
  case OPTION_PREDICTOR: return "exact or paper";
  case OPTION_BIAS: return "0 or a size like 31M";
  case OPTION_SWEEP: return "up to 64 sizes like 8M,16M,64M";
  case OPTION_INPUT: case OPTION_DUMP: return "to be given 16 times at most";
  case OPTION_CONSTANT: return "NAME=FILE, 16 times at most";
  case OPTION_VIDEO: return "y4m, or frames like 640x480:yuv420p (yuvj420p, nv12, yuyv, rgb24, mjpeg)";
  case OPTION_REPEAT: return "a number from 1 to 10000";
  case OPTION_THRESH: case OPTION_NMS: return "a number from 0 to 1";
  default: return "a number from 1 to 1000000"; /* --max-boxes */
  }
}

static bool read_word(const char *const *words, const char **word)
{
  *word = optarg;
  while (*words && strcmp(optarg, *words) != 0) words++;
  return *words != NULL;
}

/* False: there is none of that name; NULL: what is taken where none is named. */
static bool find_search(const char *name, struct mafat_search_facts *f)
{
  for (int i = 0; mafat_search_describe(i, f) == MAFAT_OK; i++)
    if (!name || strcmp(f->name, name) == 0) return true;
  return false;
}

/* One of one device, or one that shares layers out to several; or either, by the same name. */
static bool read_search(struct mafat_options *o)
{
  struct mafat_search_facts f = {.size = sizeof f};
  if (!read_word(sharings, &o->share)) o->share = NULL;
  o->search = find_search(optarg, &f) ? optarg : NULL;
  return o->share || o->search;
}

static bool read_size_or_none(size_t *bytes)
{
  if (strcmp(optarg, "0") != 0) return mafat_words_size(optarg, bytes);
  *bytes = 0;
  return true;
}

static int compare_sizes(const void *a, const void *b)
{
  size_t x = *(const size_t *)a, y = *(const size_t *)b;
  return (x > y) - (x < y);
}

/* "8M,16M,64M" into o->sweep_bytes; false if it is no such list. */
static bool read_sizes(struct mafat_options *o, const char *list)
{
  if (!mafat_words_sizes(list, o->sweep_bytes, MAFAT_SWEEP_SIZES, &o->n_sweep)) return false;
  qsort(o->sweep_bytes, (size_t)o->n_sweep, sizeof *o->sweep_bytes, compare_sizes);
  return true;
}

/* One size; of several devices, one for each. */
static bool read_memory(struct mafat_options *o)
{
  int n;
  if (!mafat_words_sizes(optarg, o->rank_bytes, MAFAT_WORDS_RANKS, &n)) return false;
  o->n_rank_bytes = n > 1 ? n : 0;
  o->memory_bytes = o->rank_bytes[0];
  return true;
}

static bool add_port(const char **list, int *n)
{
  if (*n == MAFAT_OPTION_PORTS) return false;
  list[(*n)++] = optarg;
  return true;
}

static bool read_input(struct mafat_options *o)
{
  if (!o->input) o->input = optarg;
  return add_port(o->inputs, &o->n_inputs);
}

static bool read_video(struct mafat_options *o)
{
  struct mafat_frame_facts facts = {.size = sizeof facts};
  o->video = optarg;
  return strcmp(optarg, "y4m") == 0 || mafat_frame_describe(optarg, &facts, NULL) == MAFAT_OK;
}

static bool read_pad(struct mafat_options *o)
{
  o->has_pad = true;
  return mafat_options_numbers(optarg, 1, &o->pad) && o->pad >= 0 && o->pad <= 255;
}

static bool read_threads(int *threads)
{
  *threads = MAFAT_THREADS_AUTO;
  return strcmp(optarg, "auto") == 0 || read_number(optarg, MAFAT_MAX_THREADS, threads);
}

static bool read_predictor(bool *paper)
{
  const char *word;
  bool known = read_word(predictors, &word);
  *paper = strcmp(word, "paper") == 0;
  return known;
}

/* The list may be left out: after a space, what is no list is no value of the option. */
static bool read_sweep(struct mafat_options *o)
{
  o->sweep = true;
  return !optarg || read_sizes(o, optarg);
}

static bool read_seconds(const char *text, double *value)
{
  char *end;
  double x = strtod(text, &end);
  if (!mafat_decimal_begins(text) || *end || !(x > 0 && x <= 1e6)) return false;
  *value = x;
  return true;
}

/* False: its value is none that it expects. */
static bool read_option(struct mafat_options *o, int option)
{
  switch (option) {
  case OPTION_MEMORY: return read_memory(o);
  case OPTION_RESERVE: return read_size_or_none(&o->reserve_bytes);
  case OPTION_LOCK: return read_word(whens, &o->lock);
  case OPTION_SANDBOX: return read_word(whens, &o->sandbox);
  case OPTION_PLAN: o->plan = optarg; return true;
  case OPTION_SEARCH: return read_search(o);
  case OPTION_TILING: return read_word(tilings, &o->tiling);
  case OPTION_LAYOUT: return read_word(layouts, &o->layout);
  case OPTION_RANKS: return read_number(optarg, 64, &o->ranks);
  case OPTION_LINK: return mafat_words_link(optarg, &o->link_bits, &o->link_seconds);
  case OPTION_SPEED: return mafat_words_speeds(optarg, o->speeds, &o->n_speeds);
  case OPTION_PLAN_TIME: return read_seconds(optarg, &o->plan_seconds);
  case OPTION_DELTA: return read_seconds(optarg, &o->delta) && o->delta >= 1 && o->delta <= 1000;
  case OPTION_BEAM: return read_number(optarg, 64, &o->beam);
  case OPTION_CELLS: o->cells = optarg; return true;
  case OPTION_MEASURE: return o->measure = true;
  case OPTION_FAST_MEMORY: return mafat_words_size(optarg, &o->fast_bytes);
  case OPTION_OBJECTIVE: return read_word(objectives, &o->objective);
  case OPTION_LAYERS: return read_count(optarg, &o->layers);
  case OPTION_FORK: return read_word(forks, &o->fork);
  case OPTION_SCALING: return read_word(scalings, &o->image_scaling);
  case OPTION_MEAN: return (o->n_mean = mafat_options_numbers(optarg, 3, o->mean)) > 0;
  case OPTION_SCALE: return (o->n_scale = mafat_options_numbers(optarg, 3, o->scale)) > 0;
  case OPTION_CHANNELS: return read_word(channels, &o->channels);
  case OPTION_RESIZE: return read_word(fits, &o->resize);
  case OPTION_PAD: return read_pad(o);
  case OPTION_DECODE: return read_word(heads, &o->decode);
  case OPTION_ALGORITHM: return read_word(algorithms, &o->algorithm);
  case OPTION_THREADS: return read_threads(&o->threads);
  case OPTION_CPU: return read_word(levels, &o->cpu);
  case OPTION_PREDICT: return o->predict = true;
  case OPTION_PREDICTOR: return read_predictor(&o->paper);
  case OPTION_BIAS: return read_size_or_none(&o->bias_bytes);
  case OPTION_SWEEP: return read_sweep(o);
  case OPTION_PARETO: return o->pareto = true;
  case OPTION_MAP: o->map = optarg; return true;
  case OPTION_CALIBRATE: return o->calibrate = true;
  case OPTION_INPUT: return read_input(o);
  case OPTION_CONSTANT: return strchr(optarg, '=') && add_port(o->constants, &o->n_constants);
  case OPTION_VIDEO: return read_video(o);
  case OPTION_CAMERA: o->camera = optarg; return true;
  case OPTION_LIVE: return o->live = true;
  case OPTION_OVERLAY: o->overlay = optarg; return true;
  case OPTION_DUMP: return add_port(o->dumps, &o->n_dumps);
  case OPTION_MARKS: o->marks = optarg; return true;
  case OPTION_REPEAT: return read_count(optarg, &o->repeat);
  case OPTION_NAMES: o->names = optarg; return true;
  case OPTION_THRESH: return read_fraction(optarg, &o->thresh);
  case OPTION_NMS: return read_fraction(optarg, &o->nms);
  case OPTION_BOXES: return read_number(optarg, 1000000, &o->max_boxes);
  case OPTION_JSON: return o->json = true;
  case OPTION_REPORT: return o->report = true;
  case OPTION_BEST_EFFORT: return o->best_effort = true;
  case OPTION_QUIET: return o->quiet = true;
  case OPTION_VERSION: return o->show_version = true;
  default: return o->show_help = true;
  }
}

/* ---- what makes sense together ---- */

static const char *option_name(int option)
{
  return long_options[option - OPTION_MEMORY].name;
}

/* Options that exclude each other, and why. */
static const struct {
  int one, other;
  const char *why;
} exclusions[] = {
    {OPTION_REPEAT, OPTION_PREDICT, "nothing is run"},
    {OPTION_MARKS, OPTION_PREDICT, "nothing is run"},
    {OPTION_NAMES, OPTION_PREDICT, "nothing is run"},
    {OPTION_THRESH, OPTION_PREDICT, "nothing is run"},
    {OPTION_NMS, OPTION_PREDICT, "nothing is run"},
    {OPTION_REPORT, OPTION_PREDICT, "nothing is run"},
    {OPTION_LOCK, OPTION_PREDICT, "nothing is run"},
    {OPTION_SEARCH, OPTION_PLAN, "the plan is given"},
    {OPTION_TILING, OPTION_PLAN, "the plan is given"},
    {OPTION_LAYOUT, OPTION_PLAN, "the plan is given"},
    {OPTION_PLAN_TIME, OPTION_PLAN, "the plan is given"},
    {OPTION_MEASURE, OPTION_PLAN, "the plan is given"},
    {OPTION_SWEEP, OPTION_PLAN, "the plan is given"},
    {OPTION_PARETO, OPTION_PLAN, "the plan is given"},
    {OPTION_SWEEP, OPTION_PARETO, "each is a table of its own"},
    {OPTION_SWEEP, OPTION_MEMORY, "it lists its own budgets"},
    {OPTION_SWEEP, OPTION_BEST_EFFORT, "what does not fit is listed too"},
    {OPTION_PARETO, OPTION_BEST_EFFORT, "all plans are listed"},
    {OPTION_FAST_MEMORY, OPTION_SWEEP, "it is told of one plan"},
    {OPTION_FAST_MEMORY, OPTION_PARETO, "it is told of one plan"},
    {OPTION_MAP, OPTION_SWEEP, "it shows one plan"},
    {OPTION_MAP, OPTION_PARETO, "it shows one plan"},
};

static int check_together(const struct mafat_options *o, const bool *given, struct mafat_diagnostic *d)
{
#define GIVEN(option) given[(option) - OPTION_MEMORY]
  for (size_t i = 0; i < sizeof exclusions / sizeof *exclusions; i++)
    if (GIVEN(exclusions[i].one) && GIVEN(exclusions[i].other))
      return mafat_fail(d, MAFAT_EINVAL, "--%s makes no sense with --%s: %s", option_name(exclusions[i].one),
                        option_name(exclusions[i].other), exclusions[i].why);
  static const int of_pictures[] = {OPTION_REPEAT, OPTION_INPUT, OPTION_DUMP, OPTION_MARKS, OPTION_RANKS, OPTION_LINK};
  const char *video = o->camera ? "camera" : "video";
  for (size_t i = 0; mafat_options_video(o) && i < sizeof of_pictures / sizeof *of_pictures; i++)
    if (GIVEN(of_pictures[i]))
      return mafat_fail(d, MAFAT_EINVAL, "--%s makes no sense with --%s: there are frames, one behind the other", option_name(of_pictures[i]), video);
  if (o->camera && o->video && strcmp(o->video, "y4m") == 0)
    return mafat_fail(d, MAFAT_EINVAL, "--camera expects frames like 640x480:yuyv, found --video y4m");
  if ((o->live || o->overlay) && !mafat_options_video(o))
    return mafat_fail(d, MAFAT_EINVAL, "--%s expects --video or --camera", o->live ? "live" : "overlay");
  struct mafat_search_facts search = {.size = sizeof search};
  find_search(o->search, &search);
  if (o->fast_bytes && !o->predict && !o->report && !o->json && !o->objective)
    return mafat_fail(d, MAFAT_EINVAL, "--fast-memory expects --predict, --report, --json or --objective");
  if (o->objective && o->plan && !(o->predict && o->fast_bytes))
    return mafat_fail(d, MAFAT_EINVAL, "--objective expects --predict and --fast-memory where the plan is given");
  if (o->objective && !o->plan && !search.separable)
    return mafat_fail(d, MAFAT_EINVAL, "--objective makes no sense with --search %s: it expects --search separable", search.name);
  if (o->map && !o->predict) return mafat_fail(d, MAFAT_EINVAL, "--map expects --predict");
  if ((o->ranks || o->link_bits > 0) && !o->predict)
    return mafat_fail(d, MAFAT_EINVAL, "--%s expects --predict: build/mafat_ranks runs on several devices", o->ranks ? "ranks" : "link");
  if ((o->link_bits > 0 || o->n_speeds) && !o->ranks)
    return mafat_fail(d, MAFAT_EINVAL, "--%s expects --ranks", o->n_speeds ? "speed" : "link");
  if (o->n_speeds && o->n_speeds != o->ranks)
    return mafat_fail(d, MAFAT_EINVAL, "--speed expects one number for each of %d ranks, found %d", o->ranks, o->n_speeds);
  if (o->n_rank_bytes && !o->ranks) return mafat_fail(d, MAFAT_EINVAL, "--memory of %d sizes expects --ranks: they are devices'", o->n_rank_bytes);
  if (o->n_rank_bytes && o->n_rank_bytes != o->ranks)
    return mafat_fail(d, MAFAT_EINVAL, "--memory expects one size, or one for each of %d ranks, found %d", o->ranks, o->n_rank_bytes);
  if (o->ranks && o->plan_seconds > 0 && (!o->share || strcmp(o->share, "best") != 0 || o->plan))
    return mafat_fail(d, MAFAT_EINVAL, "--plan-time with --ranks expects --search best: the others try a few plans, whatever the time");
  if (o->ranks && (o->sweep || o->pareto || o->map))
    return mafat_fail(d, MAFAT_EINVAL, "--%s makes no sense with --ranks: it is about one device", o->map ? "map" : o->sweep ? "sweep" : "pareto");
  if ((o->sweep || o->pareto) && !o->predict)
    return mafat_fail(d, MAFAT_EINVAL, "--%s expects --predict", o->sweep ? "sweep" : "pareto");
  if (!search.tiles && (o->tiling || o->layout))
    return mafat_fail(d, MAFAT_EINVAL, "--%s makes no sense with --search %s: it expects --search fdt", o->tiling ? "tiling" : "layout", search.name);
  if (!search.timed && o->plan_seconds > 0)
    return mafat_fail(d, MAFAT_EINVAL, "--plan-time makes no sense with --search %s: it tries a few plans, whatever the time", search.name);
  if (!search.beams && (o->delta > 0 || o->beam || o->cells || o->measure))
    return mafat_fail(d, MAFAT_EINVAL, "--%s expects --search motes", o->measure ? "measure" : o->cells ? "cells" : o->beam ? "beam" : "delta");
  if (o->pareto && (search.by_paper || search.one_plan))
    return mafat_fail(d, MAFAT_EINVAL, "--pareto makes no sense with --search %s: it lists the best plans", search.name);
  if (o->sweep && search.one_plan)
    return mafat_fail(d, MAFAT_EINVAL, "--sweep makes no sense with --search %s: it is one plan for all budgets", search.name);
  if (o->paper && !search.by_paper && !(o->predict && o->plan))
    return mafat_fail(d, MAFAT_EINVAL,
                      "--predictor paper knows tiles only: it expects --search greedy, or --predict and --plan");
  if (GIVEN(OPTION_BIAS) && !o->paper && !search.by_paper)
    return mafat_fail(d, MAFAT_EINVAL, "--bias expects --predictor paper or --search greedy");
#undef GIVEN
  return MAFAT_OK;
}

/* Without a picture. */
static int check_floats(const bool *given, struct mafat_diagnostic *d)
{
  static const int options[] = {OPTION_SCALING, OPTION_MEAN, OPTION_SCALE, OPTION_CHANNELS, OPTION_RESIZE, OPTION_PAD};
  for (size_t i = 0; i < sizeof options / sizeof *options; i++)
    if (given[options[i] - OPTION_MEMORY])
      return mafat_fail(d, MAFAT_EINVAL, "--%s makes no sense with --input alone: floats are taken as they are",
                        option_name(options[i]));
  return MAFAT_OK;
}

/* It measures the machine, whatever is to be run. */
static int check_calibrate(const bool *given, int n, char **rest, struct mafat_diagnostic *d)
{
  for (int option = OPTION_MEMORY; option < OPTION_END; option++) {
    bool allowed = option == OPTION_CALIBRATE || option == OPTION_MEMORY || option == OPTION_CPU ||
                   option == OPTION_QUIET;
    if (given[option - OPTION_MEMORY] && !allowed)
      return mafat_fail(d, MAFAT_EINVAL, "--%s makes no sense with --calibrate: there is no model",
                        option_name(option));
  }
  return n ? mafat_fail(d, MAFAT_EINVAL, "--calibrate expects no model, found %.100s", rest[0]) : MAFAT_OK;
}

/* ---- the command line ---- */

/* The model, where there is one: opened here, once, since its first bytes say what the arguments after it are. A pipe that the process
 * holds is not opened: the library reads that end. Whoever reads a file that cannot be opened reports it. */
static int take_model(struct mafat_options *o, int n, char **rest, struct mafat_diagnostic *d)
{
  struct stat st;
  o->cfg = n > 0 ? rest[0] : NULL;
  o->model = (struct mafat_file){.size = sizeof o->model, .path = o->cfg};
  if (!o->cfg || stat(o->cfg, &st) != 0 || !(S_ISFIFO(st.st_mode) || S_ISREG(st.st_mode))) return MAFAT_OK;
  if (S_ISFIFO(st.st_mode) && (strcmp(o->cfg, "/dev/stdin") == 0 || strncmp(o->cfg, "/dev/fd/", 8) == 0)) return MAFAT_OK;
  o->model.fd = open(o->cfg, O_RDONLY | O_CLOEXEC); /* waits for a pipe's writer */
  o->model.has_fd = o->model.fd >= 0;
  if (o->model.has_fd || S_ISREG(st.st_mode)) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EIO, "%s: cannot open: %s", o->cfg, strerror(errno));
}

/* What stands behind the options, when nothing is to be run. */
static int read_question(struct mafat_options *o, int n, char **rest, struct mafat_diagnostic *d)
{
  bool alone = n > 0 && mafat_file_holds_weights(&o->model); /* it is cfg and weights */
  if (alone && n > 2)
    return mafat_fail(d, MAFAT_EINVAL, "expected MODEL.packed [IMAGE] with --predict, found %d arguments: see --help",
                      n);
  if (n < 1 || n > 3)
    return mafat_fail(d, MAFAT_EINVAL,
                      "expected MODEL.cfg [MODEL.weights [IMAGE]] with --predict, found %d argument%s: see --help", n,
                      n == 1 ? "" : "s");
  if (o->measure && n == 1 && !alone)
    return mafat_fail(d, MAFAT_EINVAL, "--measure expects MODEL.weights beside %.200s: it runs plans", o->cfg);
  o->weights = n > 1 && !alone ? rest[1] : NULL;
  o->images = rest + (n > 1 && !alone ? 2 : 1);
  o->n_images = alone ? n > 1 : n > 2;
  return MAFAT_OK;
}

/* So much for a run: a model's name may be misspelt. */
static int refuse_few(int n, char **rest, bool alone, struct mafat_diagnostic *d)
{
  if (n > 0 && access(rest[0], R_OK) != 0) return mafat_fail(d, MAFAT_EIO, "%s: cannot open: %s", rest[0], strerror(errno));
  if (alone || n == 2) return mafat_fail(d, MAFAT_EINVAL, "expected an image or --input behind %.200s: see --help", rest[n - 1]);
  return mafat_fail(d, MAFAT_EINVAL, "expected MODEL.cfg MODEL.weights IMAGE..., found %d argument%s: see --help", n, n == 1 ? "" : "s");
}

/* A model, and nothing that is to be run by this command line. */
static int read_served(struct mafat_options *o, int n, char **rest, bool alone, struct mafat_diagnostic *d)
{
  int wanted = alone ? 1 : 2;
  if (n != wanted)
    return mafat_fail(d, MAFAT_EINVAL, "expected MODEL.cfg MODEL.weights, or a MODEL that holds both, found %d argument%s: see --help", n,
                      n == 1 ? "" : "s");
  o->weights = alone ? NULL : rest[1];
  o->images = rest + wanted;
  return MAFAT_OK;
}

static int read_run(struct mafat_options *o, int n, char **rest, struct mafat_diagnostic *d)
{
  bool alone = n > 0 && mafat_file_holds_weights(&o->model); /* it is cfg and weights */
  if (o->serves) return read_served(o, n, rest, alone, d);
  if (n < 2 && !alone) return refuse_few(n, rest, alone, d);
  o->weights = alone ? NULL : rest[1];
  o->images = rest + (alone ? 1 : 2);
  o->n_images = n - (alone ? 1 : 2);
  if (o->n_dumps && (o->n_images > 1 || (o->n_images == 1 && strcmp(o->images[0], "-") == 0)))
    return mafat_fail(d, MAFAT_EINVAL, "--dump-output expects one image, found %s",
                      o->n_images > 1 ? "several" : "a list");
  return o->input || o->n_images || mafat_options_video(o) ? MAFAT_OK : refuse_few(n, rest, alone, d);
}

int mafat_options_read(struct mafat_options *o, int argc, char **argv, struct mafat_diagnostic *d)
{
  bool given[OPTION_END - OPTION_MEMORY] = {false};
  int option, code;
  opterr = 0; /* the message is ours */
  optind = 1;
  while ((option = getopt_long(argc, argv, ":h", long_options, NULL)) != -1) {
    if (option == 'h') option = OPTION_HELP;
    if (option == ':' || option == '?') {
      char refused[MAFAT_REFUSED_ROOM];
      mafat_refused_option(refused, option, long_options, argv);
      return mafat_fail(d, MAFAT_EINVAL, "%s: see --help", refused);
    }
    if (!read_option(o, option))
      return mafat_fail(d, MAFAT_EINVAL, "--%s expects %s, found %.100s", option_name(option), expected(option),
                        optarg);
    if (o->show_help || o->show_version) return MAFAT_OK;
    given[option - OPTION_MEMORY] = true;
    /* "--sweep 8M,16M": getopt would take an optional value behind = only. */
    if (option == OPTION_SWEEP && !optarg && optind < argc && read_sizes(o, argv[optind])) optind++;
    else if (option == OPTION_SWEEP && !optarg) o->n_sweep = 0;
  }
  int n = argc - optind;
  if (o->calibrate) return check_calibrate(given, n, argv + optind, d);
  if (o->objective && !o->search && !o->plan) o->search = "separable";
  if ((code = check_together(o, given, d))) return code;
  if ((code = take_model(o, n, argv + optind, d))) return code;
  code = o->predict ? read_question(o, n, argv + optind, d) : read_run(o, n, argv + optind, d);
  if (code == MAFAT_OK && o->input && o->n_images && !mafat_file_holds_weights(&o->model))
    code = mafat_fail(d, MAFAT_EINVAL, MAFAT_INPUT_AND_IMAGE, o->images[0]); /* Darknet's have one input */
  if (code == MAFAT_OK && mafat_options_video(o) && o->n_images)
    code = mafat_fail(d, MAFAT_EINVAL, "--%s takes the place of images, found %.100s too", o->camera ? "camera" : "video", o->images[0]);
  if (code == MAFAT_OK && mafat_options_floats_only(o)) code = check_floats(given, d);
  return code;
}
