/* libFuzzer target: the input is a plan, a newline and a cfg. A small network is run twice with
 * random weights: by the plan, and untiled. Both runs use the portable kernels, because
 * the sanitizers check those. The outputs must have equal bits if both plans use the same
 * algorithms; any two NaNs count as equal. If the plan begins with "!", the network's input has
 * values that no picture has (NaN, infinity); the outputs are then decoded but not compared. A
 * third of the models are also opened by descriptor and in memory (ways.h). Build with clang
 * -fsanitize=fuzzer,address,undefined. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/ways.h"
#include "tests/support/random.h"

#include "predictor/planning/planning.h"
#include "runner/detect/detect.h"
#include "runner/engine/executor.h"

/* Larger networks are skipped: they take longer, but test nothing more. */
enum { MAX_MACS = 1 << 20, MAX_BYTES = 8 << 20, MAX_FLOATS = 1 << 17, MAX_TAPS = 1 << 21 };

/* ---- plans and inputs ---- */

struct run {
  const struct mafat_network *network;
  struct mafat_plan *plan;
  struct mafat_layout *layout;
  float *output; /* of the last layer, CHW */
};

static void close_run(struct run *r)
{
  free(r->output);
  mafat_layout_close(&r->layout);
  mafat_plan_close(&r->plan);
}

/* False: the plan does not fit this network, or needs too much work. */
static bool open_run(struct run *r, const struct mafat_network *n, const char *text)
{
  struct mafat_plan_options options;
  struct mafat_diagnostic d = {""};
  mafat_plan_defaults(&options);
  options.algorithm = MAFAT_DIRECT;
  *r = (struct run){.network = n};
  int code = mafat_plan_read(&r->plan, text, n, n->n_layers, &options, &d);
  if (code == MAFAT_OK) code = mafat_layout_make(&r->layout, n, r->plan, &d);
  require(code == MAFAT_OK || d.text[0]);
  if (code == MAFAT_OK && r->layout->padded_macs <= MAX_MACS && r->layout->total_bytes <= MAX_BYTES)
    return true;
  close_run(r);
  return false;
}

static bool is_small(const struct mafat_network *n)
{
  long long floats = mafat_shape_elements(mafat_network_picture_shape(n)), taps = 0;
  for (int l = 0; l < n->n_layers && floats <= MAX_FLOATS && taps <= MAX_TAPS; l++) {
    const struct mafat_layer *layer = &n->layers[l];
    struct mafat_weight_counts c = mafat_layer_weight_counts(layer);
    long long out = mafat_shape_elements(layer->out),
              window = (long long)layer->window.y.size * layer->window.x.size;
    if (c.weights > MAX_FLOATS || out > MAX_FLOATS) return false;
    floats += out + (long long)c.weights;
    taps += out * (window > 1 ? window : 1);
  }
  return floats <= MAX_FLOATS && taps <= MAX_TAPS;
}

static float input_at(struct test_rng *rng, bool hostile)
{
  static const float numbers[] = {NAN,    INFINITY, -INFINITY, 3e38f,        -3e38f,
                                  1e-45f, -0.0f,    88.8f,     2147483648.0f};
  float usual = (float)(test_random(rng) >> 8) / 16777216.0f;
  if (!hostile) return usual;
  return test_random_chance(rng, 50)
             ? numbers[test_random(rng) % (sizeof numbers / sizeof *numbers)]
             : 100 * usual;
}

static float *make_input(const struct mafat_network *n, bool hostile)
{
  size_t floats = (size_t)mafat_shape_elements(mafat_network_picture_shape(n));
  float *input = malloc(floats * sizeof *input);
  struct test_rng rng = test_rng(99);
  require(input);
  for (size_t i = 0; i < floats; i++) input[i] = input_at(&rng, hostile);
  return input;
}

/* ---- boxes ---- */

static float read_at(const void *context, int layer, int c, int y, int x)
{
  return mafat_executor_output_at(context, layer, c, y, x);
}

static void check_boxes(const struct run *r, const struct mafat_executor *e)
{
  const struct mafat_network *n = r->network;
  struct mafat_detect_input in;
  struct mafat_detections *boxes = NULL;
  struct mafat_diagnostic d = {""};
  struct mafat_class_score top[5];
  int n_top;
  mafat_detect_defaults(&in);
  in.at = read_at;
  in.context = e;
  in.placement =
      mafat_placement_make(n->letterbox ? MAFAT_FIT_LETTERBOX : MAFAT_FIT_STRETCH, 640, 427,
                           mafat_network_picture_shape(n).w, mafat_network_picture_shape(n).h);
  in.thresh = .1f;
  in.n_layers = n->n_layers;
  in.capacity = mafat_executor_boxes_room(e);
  in.most_boxes = r->layout->most_boxes;
  int code = mafat_detect(&boxes, n, &in, &d);
  require((code == MAFAT_OK) == (boxes != NULL) && (code == MAFAT_OK || d.text[0]));
  mafat_detections_close(&boxes);
  if (mafat_classify_layer(n, n->n_layers) >= 0)
    require(mafat_classify(top, 5, &n_top, n, &in, &d) == MAFAT_OK);
}

/* ---- runs ---- */

/* Runs the plan. The arena is filled with NaN first, so that reads of unwritten memory show in
 * the output. */
static void run(struct run *r, const char *weights_path, const float *input)
{
  struct mafat_executor_options options;
  struct mafat_executor *e;
  struct mafat_weights *w;
  mafat_executor_defaults(&options);
  options.kernels = mafat_kernels_find("portable");
  r->output =
      malloc((size_t)mafat_shape_elements(r->network->layers[r->network->n_layers - 1].out) *
             sizeof(float));
  require(r->output);
  require(mafat_weights_open(&w, weights_path, r->network, r->plan, r->layout, NULL, NULL, NULL) ==
          MAFAT_OK);
  require(mafat_executor_open(&e, r->network, r->plan, r->layout, w, &options, NULL) == MAFAT_OK);
  memset((void *)(uintptr_t)mafat_executor_arena(e), 0xff, r->layout->total_bytes);
  mafat_executor_set_input(e, input);
  require(mafat_executor_run(e, NULL) == MAFAT_OK);
  mafat_executor_read_output(e, r->network->n_layers - 1, r->output);
  check_boxes(r, e);
  mafat_executor_close(&e);
  mafat_weights_close(&w);
}

static void check_same(const struct run *a, const struct run *b)
{
  const struct mafat_network *n = a->network;
  long long floats = mafat_shape_elements(n->layers[n->n_layers - 1].out);
  if (memcmp(a->plan->algorithms, b->plan->algorithms,
             (size_t)n->n_layers * sizeof *a->plan->algorithms))
    return;
  for (long long i = 0; i < floats; i++)
    require(!memcmp(&a->output[i], &b->output[i], sizeof(float)) ||
            (isnan(a->output[i]) && isnan(b->output[i])));
}

struct cfg_text {
  const char *text;
  size_t n;
};

static void check_ways(const struct cfg_text *cfg, int weights, const char *weights_path,
                       const char *plan)
{
  static struct memory_file file;
  memory_file_write(&file, cfg->text, cfg->n);
  struct way_file model = way_file_make(file.path, file.fd);
  struct way_file other = way_file_make(weights_path, weights);
  way_check_networks(&model);
  way_check_queries(&model, &other);
  way_check_runs(&model, &other, plan);
  way_file_free(&model);
  way_file_free(&other);
}

static void compare_plans(const struct mafat_network *n, const char *plan,
                          const struct cfg_text *cfg)
{
  struct run whole, other;
  bool hostile = plan[0] == '!';
  char path[64];
  if (!open_run(&other, n, plan + hostile)) return;
  if (open_run(&whole, n, "1x1/NoCut")) {
    int fd = test_random_weights(n, 7);
    float *input = make_input(n, hostile);
    require(fd >= 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    run(&whole, path, input);
    run(&other, path, input);
    if (!hostile) check_same(&whole, &other);
    if (!hostile && way_is_in_turn(cfg->n)) check_ways(cfg, fd, path, plan);
    free(input);
    close(fd);
    close_run(&whole);
  }
  close_run(&other);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
  struct mafat_cfg *cfg = NULL;
  struct mafat_network *network = NULL;
  const uint8_t *end = memchr(bytes, '\n', n);
  char plan[200];
  if (!end || (size_t)(end - bytes) >= sizeof plan) return 0;
  memcpy(plan, bytes, (size_t)(end - bytes));
  plan[end - bytes] = '\0';
  const struct cfg_text text = {(const char *)end + 1, n - (size_t)(end + 1 - bytes)};
  if (mafat_cfg_parse(&cfg, "fuzz", text.text, text.n, NULL) == MAFAT_OK &&
      mafat_darknet_make(&network, cfg, NULL, NULL, NULL) == MAFAT_OK && is_small(network))
    compare_plans(network, plan, &text);
  mafat_network_close(&network);
  mafat_cfg_close(&cfg);
  return 0;
}

/* Mutates the plan, or the cfg after it. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed)
{
  const uint8_t *newline = memchr(data, '\n', n);
  size_t begin = newline ? (size_t)(newline - data) + 1 : 0;
  if (begin == 0 || seed % 8 == 0) return LLVMFuzzerMutate(data, n, most);
  if (seed % 3) return begin + mutate_cfg(data + begin, n - begin, most - begin, seed);
  uint8_t plan[200];
  if (begin > sizeof plan) return LLVMFuzzerMutate(data, n, most);
  memcpy(plan, data, begin - 1);
  size_t length = mutate_plan(plan, begin - 1, sizeof plan, seed);
  struct mutation m = {data, n, most, seed};
  mutation_splice(&m, 0, begin - 1, plan, length);
  return m.n;
}
