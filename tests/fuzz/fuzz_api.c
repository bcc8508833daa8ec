/* libFuzzer target: calls functions of include/mafat.h on a small model that stays open. Three
 * input bytes describe a call: the function and two numbers, from which its arguments are made,
 * often extreme ones. Arrays are exactly as long as the call's arguments say, so sanitizers see
 * any access past the end. A failed call must return a code and a one-line message, and must not
 * return an object. Build with clang -fsanitize=fuzzer,address,undefined. */
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/mafat_file.h"
#include "include/mafat_pack.h"
#include "include/mafat_ranks.h"
#include "include/mafat_video.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/networks.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static const char cfg_text[] = "[net]\nheight=6\nwidth=5\nchannels=3\n[convolutional]\nfilters="
                               "4\nsize=3\npad=1\nactivation=leaky\n"
                               "[maxpool]\nsize=2\nstride=2\n[convolutional]\nfilters=14\nsize=1\n["
                               "region]\nanchors=1,2,3,4\nclasses=2\ncoords=4\nnum=2\n";
enum { WEIGHTS = 4 + 4 * 27 + 14 + 14 * 4, INPUTS = 3 * 6 * 5, MOST_CALLS = 24 };

static struct mafat_model *model;
static struct mafat_dry_run *dry_run;
static struct memory_file cfg_file, weights_file;
static const char *cfg_path, *weights_path;
static float weights[5 + WEIGHTS];

/* ---- arguments ---- */

static long long number(uint8_t b)
{
  static const long long numbers[] = {-1,        INT_MIN, INT_MAX,   1LL << 31,
                                      1LL << 32, -2,      1LL << 62, LLONG_MAX,
                                      LLONG_MIN, 255,     65536,     1000000};
  enum { N = sizeof numbers / sizeof *numbers };
  return b < 256 - N ? b % 64 : numbers[b - (256 - N)];
}

static int to_int(uint8_t b)
{
  long long x = number(b);
  return x > INT_MAX ? INT_MAX : x < INT_MIN ? INT_MIN : (int)x;
}

static float real(uint8_t b)
{
  static const float numbers[] = {NAN, INFINITY, -INFINITY, -1, 1e30f, 1e-40f, .5f, 2};
  return b < 248 ? (float)b / 247 : numbers[b - 248];
}

static const char *text(uint8_t b)
{
  static const char *const texts[] = {
      NULL,       "data",         "output",  "",          "x",
      "int8",     "fp16",         "float32", "auto",      "best",
      "layers",   "deeperthings", "direct",  "1x1/NoCut", "rows1:streamed/NoCut",
      "2x2",      "greedy",       "least",   "transfers", "on",
      "portable", "yolov8",       "gray",    "crop"};
  return texts[b % (sizeof texts / sizeof *texts)];
}

/* Allocates n elements; NULL if n is too large for a test. */
static void *allocate(size_t n, size_t size)
{
  void *all = n > 1 << 16 ? NULL : malloc(n * size + (n == 0));
  if (all) memset(all, 0x5a, n * size);
  return all;
}

static bool reported(int code, const struct mafat_diagnostic *d)
{
  require(code >= MAFAT_EINVAL && code <= MAFAT_OK &&
          (code == MAFAT_OK || (d->text[0] && !strchr(d->text, '\n'))));
  return code == MAFAT_OK;
}

/* ---- calls; a and b are the call's two numbers ---- */

static void run_floats(uint8_t a, uint8_t b)
{
  struct mafat_diagnostic d = {""};
  size_t n = b < 128 ? INPUTS : (size_t)number(b);
  float *floats = allocate(n, sizeof *floats);
  for (size_t i = 0; floats && i < n; i++) floats[i] = real(a);
  reported(mafat_model_run_floats(model, floats, n, &d), &d);
  free(floats);
}

static void run_pixels(uint8_t a, uint8_t b)
{
  struct mafat_diagnostic d = {""};
  int w = to_int(a), h = to_int(b), channels = a % 5;
  bool good = w > 0 && h > 0 && w < 100 && h < 100 && channels != 0 && channels != 2;
  size_t stride =
      (size_t)w * (size_t)channels + (size_t)(b & 1 ? number(a) & 15 : 0) - (b % 7 == 0);
  unsigned char *pixels =
      allocate(good ? (size_t)(h - 1) * stride + (size_t)w * (size_t)channels : 1, 1);
  if (good || w <= 0 || h <= 0 || channels == 0 || channels == 2)
    reported(mafat_model_run_pixels(model, a == 7 ? NULL : pixels, w, h, channels, stride, &d), &d);
  free(pixels);
}

static int fail_row(void *context, unsigned char *rgb, int y, struct mafat_diagnostic *d)
{
  int *left = context;
  memset(rgb, y, 3);
  if (--*left) return MAFAT_OK;
  strcpy(d->text, "enough");
  return MAFAT_ELIMIT;
}

/* The model was not opened for frames, so it must refuse them. */
static void run_frame(uint8_t a, uint8_t b)
{
  static const char *const frames[] = {
      "6x4", "7x3:nv12", "8x2:yuyv", "5x5:rgb24", "9x9:yuvj420p", "4x4:mjpeg", "0x4", "", NULL};
  const char *format = frames[a % (sizeof frames / sizeof *frames)];
  struct mafat_frame_facts facts = {.size = sizeof facts, .bytes = 16};
  struct mafat_diagnostic d = {""};
  int rows = b;
  if (format) mafat_frame_describe(format, &facts, NULL);
  size_t n = b % 3 ? facts.bytes : (size_t)number(b);
  unsigned char *frame = allocate(facts.bytes, 1);
  reported(mafat_model_run_frame_of(model, format, b == 7 ? NULL : frame, n, &d), &d);
  reported(mafat_model_frame_rows(model, frame, n, b & 1 ? fail_row : NULL, &rows, &d), &d);
  free(frame);
}

static void set_input(uint8_t a, uint8_t b)
{
  static float floats[INPUTS];
  struct mafat_diagnostic d = {""};
  reported(mafat_model_set_input(model, text(a), b & 1 ? floats : NULL,
                                 b < 128 ? INPUTS : (size_t)number(b), &d),
           &d);
}

static void set_file(uint8_t a, uint8_t b)
{
  struct mafat_diagnostic d = {""};
  reported(mafat_model_set_input_file(model, text(a), b & 1 ? cfg_path : text(b), &d), &d);
}

static void run_inputs(uint8_t a, uint8_t b)
{
  struct mafat_diagnostic d = {""};
  reported(mafat_model_run_inputs(model, &d), &d);
  if (a == 1) reported(mafat_model_run_raw(model, b & 1 ? weights_path : text(b), &d), &d);
  if (a == 2) reported(mafat_model_run_picture(model, b & 1 ? cfg_path : text(b), &d), &d);
}

static void read_output(uint8_t a, uint8_t b)
{
  struct mafat_diagnostic d = {""};
  size_t n = (size_t)number(b), first = (size_t)number(a);
  float *floats = allocate(n, sizeof *floats);
  reported(mafat_model_read_output(model, text(a), floats, floats ? n : 0, &d), &d);
  if (floats) reported(mafat_model_read_output_part(model, text(a), first, floats, n, &d), &d);
  free(floats);
}

static void read_layer(uint8_t a, uint8_t b)
{
  struct mafat_diagnostic d = {""};
  int h, w, c, layer = to_int(a);
  if (mafat_model_layer_shape(model, layer, &h, &w, &c) != MAFAT_OK) h = w = c = 0;
  float *floats = allocate((size_t)h * (size_t)w * (size_t)c, sizeof *floats),
        *row = allocate((size_t)w, sizeof *row);
  reported(mafat_model_read_layer(model, layer, floats, &d), &d);
  reported(mafat_model_read_row(model, layer, to_int(b), to_int((uint8_t)(b * 7)), row, &d), &d);
  free(floats);
  free(row);
}

static void detect(uint8_t a, uint8_t b)
{
  struct mafat_diagnostic d = {""};
  struct mafat_detections *boxes = NULL;
  bool good = reported(mafat_model_detect(model, real(a), real(b), &boxes, &d), &d);
  require(good == (boxes != NULL));
  for (size_t i = 0; boxes && i < boxes->n; i++)
    require(isfinite(boxes->list[i].x) && isfinite(boxes->list[i].y) &&
            boxes->list[i].class_id >= 0 && boxes->list[i].class_id < 2);
  mafat_detections_close(&boxes);
}

static void classify(uint8_t a, uint8_t b)
{
  struct mafat_diagnostic d = {""};
  int n = 0, k = to_int(a);
  struct mafat_class_score *top = allocate(k > 0 ? (size_t)k : 0, sizeof *top);
  if (top) reported(mafat_model_classify(model, top, k, &n, &d), &d);
  free(top);
  if (b == 3) mafat_model_rest(model);
}

/* Has the library fill its structs, given any number as a struct's size. */
static void describe(uint8_t a, uint8_t b)
{
  size_t bytes = (size_t)a * 3;
  void *facts = allocate(bytes < sizeof bytes ? sizeof bytes : bytes, 1);
  int index = to_int(b);
  memcpy(facts, &bytes, sizeof bytes);
  switch (b % 11) {
  case 0: mafat_model_describe(model, facts); break;
  case 1: mafat_model_layer(model, index, facts); break;
  case 2: mafat_model_group(model, index, facts); break;
  case 3: mafat_model_last_run(model, facts); break;
  case 4: mafat_process_measure(facts); break;
  case 5: mafat_model_check(model, (size_t)number(b), facts); break;
  case 6: mafat_model_describe_input(model, index, facts); break;
  case 7: mafat_model_describe_output(model, index, facts); break;
  case 8: mafat_dry_run_describe(dry_run, facts); break;
  case 9: mafat_dry_run_front(dry_run, index, facts); break;
  default: mafat_search_describe(index, facts); break;
  }
  free(facts);
}

static void ask(uint8_t a, uint8_t b)
{
  struct mafat_diagnostic d = {""};
  struct mafat_plan_report *report = NULL;
  struct mafat_dry_run *packed = NULL;
  struct mafat_ranks_report *ranks = NULL;
  size_t budgets[64];
  require(mafat_dry_run_budgets(dry_run, budgets, a % 64) <= a % 64);
  require(reported(mafat_dry_run_report(&report, dry_run, (size_t)number(b), &d), &d) ==
          (report != NULL));
  for (int i = -1; report && i < 5; i++) {
    struct mafat_layer_facts layer = {.size = sizeof layer};
    struct mafat_group_facts group = {.size = sizeof group};
    mafat_plan_report_layer(report, i, &layer);
    mafat_plan_report_group(report, i, &group);
  }
  mafat_plan_report_close(&report);
  if (a & 1)
    require(reported(mafat_dry_run_pack(&packed, dry_run, text(b) ? text(b) : "int4", &d), &d) ==
            (packed != NULL));
  mafat_dry_run_close(&packed);
  const struct mafat_ranks_request request = {.size = sizeof request,
                                              .n_ranks = to_int(b),
                                              .search = text(a),
                                              .link_bits_per_second = (double)number(a),
                                              .link_seconds = (double)real(b),
                                              .plan_seconds = (double)real(a)};
  if (a & 2)
    require(reported(mafat_dry_run_ranks(&ranks, dry_run, &request, &d), &d) == (ranks != NULL));
  mafat_ranks_report_close(&ranks);
}

/* Opens a model. In some calls, its options claim another size; bytes past that size must not be
 * read. */
static void open_another(uint8_t a, uint8_t b)
{
  struct mafat_diagnostic d = {""};
  struct mafat_model_options *o;
  struct mafat_model *other = NULL;
  /* in every version of the library, this struct's size is a multiple of 8 */
  size_t bytes = b % 5 == 0 ? (size_t)a * 2 / 8 * 8 : sizeof *o;
  const size_t bytes_of = (size_t)number(b);
  struct mafat_model_options usual = {.size = bytes};
  switch (a % 16) {
  case 0: usual.memory_bytes = (size_t)number(b); break;
  case 1: usual.plan = text(b); break;
  case 2: usual.search = text(b); break;
  case 3: usual.layers = to_int(b); break;
  case 4: usual.width = to_int(b), usual.height = to_int(a); break;
  case 5: usual.algorithm = text(b); break;
  case 6: usual.threads = to_int(b) > 2 && to_int(b) <= 64 ? 2 : to_int(b); break;
  case 7: usual.cpu = text(b); break;
  case 8: usual.max_boxes = to_int(b); break;
  case 9: usual.reserve_bytes = &bytes_of; break;
  case 10: usual.n_outputs = to_int(b) > 0 ? 0 : to_int(b); break;
  case 11: usual.lock = text(b), usual.channels = text(a); break;
  case 12: usual.resize = text(b), usual.decode = text(a); break;
  case 13: usual.plan_seconds = to_int(b) > 0 ? -1 : (double)real(b), usual.search = text(a); break;
  case 14: usual.n_constants = to_int(b) > 0 ? 0 : to_int(b), usual.fork = text(a); break;
  default: usual.search = b & 1 ? "motes:beam=1,delta=1" : "fdt:tiling=ffmt"; break;
  }
  o = allocate(bytes < sizeof bytes ? sizeof bytes : bytes, 1);
  memset(o, 0, bytes);
  memcpy(o, &usual,
         bytes < sizeof bytes   ? sizeof bytes
         : bytes < sizeof usual ? bytes
                                : sizeof usual);
  if (bytes > sizeof usual && b & 1) ((char *)o)[bytes - 1] = 1;
  require(reported(mafat_model_open(&other, a == 3 ? NULL : cfg_path, a == 4 ? NULL : weights_path,
                                    o, &d),
                   &d) == (other != NULL));
  mafat_model_close(&other);
  free(o);
}

/* One of the model's two files, and a copy of its bytes. */
struct source {
  const struct memory_file *file;
  const void *bytes;
  size_t n;
};

/* Fills *f to describe the source: complete, truncated or in an invalid way, as chosen by `how`.
 * Returns a block of memory that *f may point into; the caller frees it. */
static char *give(struct mafat_file *f, const struct source *s, uint8_t how)
{
  const size_t n = s->n;
  size_t part = how / 8 % 4 ? n : n * (how / 32) / 8;
  char *block = malloc(part + 1);
  require(block != NULL);
  memcpy(block + 1, s->bytes, part); /* misaligned on purpose */
  *f = (struct mafat_file){.size = sizeof *f};
  switch (how % 8) {
  case 0: f->path = s->file->path; break;
  case 1: f->has_fd = true, f->fd = s->file->fd; break;
  case 2: f->has_fd = true, f->fd = how & 8 ? INT_MAX : -1; break; /* not open */
  case 3: f->data = block + 1, f->bytes = part, f->has_fd = true, f->fd = -1; break;
  case 4: f->size = part % (sizeof *f + 16), f->path = s->file->path; break;
  case 5: f->bytes = n; break;
  default: f->data = block + 1, f->bytes = part; break;
  }
  return block;
}

static bool is_whole(const struct mafat_file *f, const struct source *s)
{
  if (f->size != sizeof *f) return false;
  return f->data ? f->bytes == s->n : f->has_fd ? f->fd == s->file->fd : f->path != NULL;
}

enum { OUTPUTS = 3 * 3 * 14 };

static void run_once(struct mafat_model *m, float outputs[OUTPUTS])
{
  float floats[INPUTS];
  for (int i = 0; i < INPUTS; i++) floats[i] = (float)(i % 7) / 7;
  require(mafat_model_run_floats(m, floats, INPUTS, NULL) == MAFAT_OK);
  require(mafat_model_read_output(m, NULL, outputs, OUTPUTS, NULL) == MAFAT_OK);
}

/* Runs both models: their outputs must have the same bits. */
static void compare_outputs(struct mafat_model *other)
{
  float a[OUTPUTS], b[OUTPUTS];
  run_once(model, a);
  run_once(other, b);
  require(memcmp(a, b, sizeof a) == 0);
}

/* Opens the model from two files. This must succeed if both are given completely. */
static void open_files(uint8_t a, uint8_t b)
{
  static const struct source sources[2] = {{&cfg_file, cfg_text, sizeof cfg_text - 1},
                                           {&weights_file, weights, sizeof weights}};
  const struct mafat_model_options o = {.size = sizeof o, .memory_bytes = (size_t)1 << 40,
                                        .plan = "1x1/NoCut"};
  const struct mafat_pack_options p = {.size = sizeof p};
  struct mafat_diagnostic d = {""};
  struct mafat_model *other = NULL;
  struct mafat_dry_run *asked = NULL;
  struct mafat_pack *packed = NULL;
  struct mafat_file f[2];
  char *blocks[] = {give(&f[0], &sources[0], a), give(&f[1], &sources[1], b)};
  bool good = is_whole(&f[0], &sources[0]), both = good && is_whole(&f[1], &sources[1]);
  require(!good || !mafat_file_holds_weights(&f[0]));
  require(reported(mafat_model_open_files(&other, &f[0], &f[1], &o, &d), &d) == (other != NULL));
  int code = mafat_dry_run_open_files(&asked, &f[0], b & 1 ? &f[1] : NULL, &o, &d);
  require(reported(code, &d) == (asked != NULL));
  code = mafat_pack_open_files(&packed, &f[0], &f[1], "/proc/nowhere/out", &p, &d);
  require(reported(code, &d) == (packed != NULL) && (!both || (other && asked && packed)));
  if (both) compare_outputs(other);
  mafat_pack_close(&packed);
  mafat_dry_run_close(&asked);
  mafat_model_close(&other);
  for (int i = 0; i < 2; i++) free(blocks[i]);
}

/* Packs into a folder that does not exist, so that no file is written. */
static void pack(uint8_t a, uint8_t b)
{
  const char *const pictures[] = {cfg_path};
  struct mafat_diagnostic d = {""};
  const double most_error = (double)real(b);
  struct mafat_pack_options o = {.size =
                                     b % 5 == 0 ? (size_t)a % (sizeof o + 1) / 8 * 8 : sizeof o};
  struct mafat_pack *file = NULL;
  o.weights = text(a);
  o.activations = a & 1 ? "int8" : text(b);
  o.calibrate = pictures;
  o.n_calibrate = a & 2 ? 1 : to_int(b) > 1 ? 0 : to_int(b);
  o.keep_above = a & 4 ? &most_error : NULL;
  o.measure = a & 8 ? cfg_path : NULL;
  o.n_constants = b == 9 ? -1 : 0;
  bool good =
      reported(mafat_pack_open(&file, b == 3 ? NULL : cfg_path, a == 5 ? NULL : weights_path,
                               b == 5 ? NULL : "/proc/nowhere/out", &o, &d),
               &d);
  require(good == (file != NULL));
  bool done = false;
  struct mafat_pack_facts facts = {.size = sizeof facts};
  struct mafat_pack_layer_facts layer = {.size = sizeof layer};
  if (file) {
    mafat_pack_describe(file, &facts);
    require(mafat_pack_layer(file, to_int(a), &layer) == MAFAT_EINVAL);
    require(!reported(mafat_pack_step(file, &done, &d), &d) && !done);
  }
  mafat_pack_close(&file);
}

static void open_all(void)
{
  struct mafat_diagnostic d;
  struct mafat_model_options o = {.size = sizeof o};
  int32_t version[5] = {0, 2, 0, 0, 0};
  memcpy(weights, version, sizeof version);
  for (int i = 5; i < 5 + WEIGHTS; i++) weights[i] = (float)(i % 13 - 6) / 8;
  cfg_path = memory_file_write(&cfg_file, cfg_text, sizeof cfg_text - 1);
  weights_path = memory_file_write(&weights_file, weights, sizeof weights);
  o.memory_bytes = (size_t)1 << 40;
  require(mafat_model_open(&model, cfg_path, weights_path, &o, &d) == MAFAT_OK);
  require(mafat_dry_run_open(&dry_run, cfg_path, weights_path, &o, &d) == MAFAT_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
  static void (*const calls[])(uint8_t, uint8_t) = {run_floats,   run_pixels, run_frame,
                                                    set_input,    set_file,   run_inputs,
                                                    read_output,  read_layer, detect,
                                                    classify,     describe,   ask,
                                                    open_another, pack,       open_files};
  if (!model) open_all();
  for (size_t i = 0; i + 2 < n && i < 3 * MOST_CALLS; i += 3)
    calls[bytes[i] % (sizeof calls / sizeof *calls)](bytes[i + 1], bytes[i + 2]);
  mafat_model_set_input(model, NULL, NULL, 0, NULL); /* the input is unset again */
  return 0;
}
