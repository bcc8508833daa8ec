/* Covers formats/packed/activations.c, runner/weights/{equalize, ranges}.c: activations as
 * integers. Tests the ranges chosen for floats, the layers that a table of activations gives a
 * network, and the tables that are refused. The packed network computes the float results up to
 * rounding, and the same bits under any plan. Writes temporary files in /tmp. */
#include "formats/packed/activations.h"
#include "formats/darknet/darknet.h"
#include "predictor/planning/planning.h"
#include "runner/engine/executor.h"
#include "runner/weights/equalize.h"
#include "runner/weights/pack_integers.h"
#include "runner/weights/packer.h"
#include "runner/weights/ranges.h"
#include "runner/weights/weights_file.h"

#include "tests/support/network_files.h"
#include "tests/support/support.h"
#include "tests/support/weight_files.h"
#include "tests/support/weight_walks.h"

#include <check.h>
#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *activations_suite(void);

/* ---- ranges ---- */

static struct mafat_histogram *count(const float *x, size_t n)
{
  struct mafat_histogram *h = calloc(1, sizeof *h);
  mafat_range_see(&h->seen, x, n);
  mafat_histogram_add(h, x, n);
  return h;
}

/* Counts numbers spread evenly from -1 to 3, one of which is replaced by `far`. */
static struct mafat_histogram *count_even(float far)
{
  enum { N = 40001 };
  static float x[N];
  for (int i = 0; i < N; i++) x[i] = -1 + 4 * (float)i / (N - 1);
  x[N / 2] = far;
  return count(x, N);
}

START_TEST(test_even_numbers_keep_their_range)
{
  struct mafat_histogram *h = count_even(1);
  for (int m = 0; m < MAFAT_N_RANGE_METHODS; m++) {
    struct mafat_range r = mafat_histogram_range(h, (enum mafat_range_method)m);
    ck_assert_msg(fabs(r.least + 1) < .04 && fabs(r.most - 3) < .04, "%d: %g to %g", m, r.least,
                  r.most);
  }
  free(h);
}
END_TEST

START_TEST(test_what_lies_far_away_is_cut_off)
{
  struct mafat_histogram *h = count_even(100);
  struct mafat_range squares = mafat_histogram_range(h, MAFAT_RANGE_SQUARES),
                     percentile = mafat_histogram_range(h, MAFAT_RANGE_PERCENTILE);
  ck_assert_msg(fabs(percentile.most - 3) < .05, "%g", percentile.most);
  ck_assert_msg(squares.most > 30 && squares.most < 100, "%g",
                squares.most); /* cutting off costs as much squared error as rounding the rest */
  free(h);
}
END_TEST

/* The least-squares range has at most the error of the whole range, and at most about that of the
 * percentile range (5% more, because only some ends are tried). */
START_TEST(test_least_squares_are_the_least)
{
  enum { N = 5000 };
  static float x[N];
  struct test_rng rng = test_rng((uint64_t)_i);
  int shape = test_random_int(&rng, 1, 9);
  for (int i = 0; i < N; i++)
    x[i] = (float)pow(test_random_int(&rng, -1000, 1000) / 1000., 2 * shape - 1) * 7;
  for (int i = 0; i < N && _i % 2; i++) x[i] = x[i] < 0 ? 0 : x[i];
  struct mafat_histogram *h = count(x, N);
  struct mafat_range squares = mafat_histogram_range(h, MAFAT_RANGE_SQUARES),
                     percentile = mafat_histogram_range(h, MAFAT_RANGE_PERCENTILE);
  double error = mafat_histogram_error(h, squares);
  ck_assert(error <= mafat_histogram_error(h, h->seen));
  ck_assert(error <= mafat_histogram_error(h, percentile) * 1.05);
  ck_assert(squares.least <= 0 && squares.most >= 0 && percentile.least <= 0 &&
            percentile.most >= 0);
  free(h);
}
END_TEST

START_TEST(test_zero_is_a_number_of_every_range)
{
  static const struct mafat_range ranges[] = {{0, 0},       {0, 5},          {-3, 0},   {-1, 2},
                                              {-.001, 1e9}, {-1e-20, 1e-20}, {-1e30, 1}};
  static const unsigned char zeros[] = {0, 0, 255, 85, 0, 0, 255};
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    float scale;
    unsigned char zero;
    mafat_range_numbers(ranges[i], &scale, &zero);
    ck_assert_int_eq(zero, zeros[i]);
    ck_assert(mafat_activations_is_scale(scale));
  }
  ck_assert(!mafat_activations_is_scale(0) && !mafat_activations_is_scale(-1) &&
            !mafat_activations_is_scale((float)INFINITY) &&
            !mafat_activations_is_scale((float)NAN));
}
END_TEST

/* ---- tables ---- */

static const char small_cfg[] =
    "[net]\nwidth=12\nheight=12\nchannels=3\n"
    "[convolutional]\nfilters=8\nsize=3\npad=1\nactivation=leaky\n"           /* 0: floats */
    "[convolutional]\nfilters=8\nsize=3\npad=1\nactivation=relu\n"            /* 1 */
    "[convolutional]\nfilters=8\nsize=1\nactivation=mish\n"                   /* 2: by a table */
    "[shortcut]\nfrom=-2\nactivation=linear\n"                                /* 3 */
    "[maxpool]\nsize=2\nstride=2\n"                                           /* 4 */
    "[convolutional]\nfilters=8\nsize=3\npad=1\ngroups=8\nactivation=leaky\n" /* 5 */
    "[upsample]\nstride=2\n"                                                  /* 6 */
    "[route]\nlayers=-1,3\n"                                                  /* 7 */
    "[convolutional]\nfilters=6\nsize=1\nactivation=linear\n";                /* 8: floats */

static struct mafat_activation_numbers entry(int operator, bool computes)
{
  return (struct mafat_activation_numbers){.tensor = operator,
                                           .scale = .03f,
                                           .zero = 40,
                                           .before_scale = .05f,
                                           .before_zero = 128,
                                           .computes = computes};
}

/* A table in which layers 1 to 6 compute with integers; layer 0's floats are quantized. */
static struct mafat_activations *small_table(void)
{
  struct mafat_activations *a = mafat_activations_make(9, 16);
  for (int l = 0; l < 7; l++) a->list[a->n++] = entry(l, l > 0);
  return a;
}

static int apply(struct mafat_network *n, const struct mafat_activations *a,
                 struct mafat_diagnostic *d)
{
  struct mafat_activations_places *places =
      calloc((size_t)mafat_network_n_tensors(n), sizeof *places);
  int code = mafat_activations_apply(n, a, true, places, "x.packed", d);
  free(places);
  return code;
}

START_TEST(test_a_table_makes_a_network)
{
  static const struct {
    const char *kind;
    enum mafat_dtype type;
    int reads[2]; /* tensors read; -1: end of list */
  } expected[] = {{"convolutional", MAFAT_F32, {14, -1}}, {"quantize", MAFAT_U8, {0, -1}},
                  {"convolutional", MAFAT_U8, {1, -1}},   {"convolutional", MAFAT_U8, {2, -1}},
                  {"activation", MAFAT_U8, {3, -1}},      {"shortcut", MAFAT_U8, {4, -1}},
                  {"quantize", MAFAT_F32, {5, -1}},       {"maxpool", MAFAT_U8, {5, -1}},
                  {"convolutional", MAFAT_U8, {7, -1}},   {"upsample", MAFAT_U8, {8, -1}},
                  {"quantize", MAFAT_F32, {9, -1}},       {"route", MAFAT_F32, {10, 6}},
                  {"convolutional", MAFAT_F32, {10, 6}}};
  enum { N = sizeof expected / sizeof *expected };
  struct mafat_network *n = test_network(small_cfg);
  struct mafat_activations *a = small_table();
  struct mafat_diagnostic d = {""};
  ck_assert_msg(apply(n, a, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_int_eq(n->n_layers, N);
  for (int l = 0; l < N; l++) {
    ck_assert_str_eq(mafat_layer_type_name(n->layers[l].type), expected[l].kind);
    ck_assert_int_eq(n->layers[l].out_type, expected[l].type);
    const struct mafat_sources *s = mafat_layer_sources(&n->layers[l]);
    int tensor = expected[l].reads[0] == 14 ? N : expected[l].reads[0];
    ck_assert_int_eq(s->list[0].tensor, tensor);
    if (expected[l].reads[1] >= 0) ck_assert_int_eq(s->list[1].tensor, expected[l].reads[1]);
  }
  ck_assert_int_eq(n->layers[2].quantization.least, 40); /* relu: least output is the zero point */
  ck_assert_int_eq(n->layers[3].quantization.zero, 128); /* zero point before the activation */
  ck_assert_int_eq(n->layers[8].activation.kind, MAFAT_SLOPED);
  free(a);
  mafat_network_close(&n);
}
END_TEST

/* An output of the network stays float if its layer computes with integers, also if a table
 * computes its activation. */
START_TEST(test_outputs_are_floats)
{
  const int layer = _i + 1;
  struct mafat_network *n = test_network(small_cfg);
  struct mafat_activations *a = small_table();
  struct mafat_source *source = malloc(sizeof *source);
  struct mafat_diagnostic d = {""};
  *source = (struct mafat_source){layer, 0, 8, 0, 12};
  n->outputs = calloc(1, sizeof *n->outputs);
  n->outputs[0] = (struct mafat_port){.sources = {source, 1, 1}, .shape = {12, 12, 8}};
  n->n_outputs = 1;
  mafat_network_keep(n, layer);
  ck_assert_msg(apply(n, a, &d) == MAFAT_OK, "%s", d.text);
  for (int l = 0; l < n->n_layers - 1; l++)
    ck_assert_int_eq(mafat_network_is_output(n, n->n_layers, l), l == source->tensor);
  ck_assert_int_eq(n->layers[source->tensor].out_type, MAFAT_F32);
  free(a);
  mafat_network_close(&n);
}
END_TEST

START_TEST(test_tables_that_cannot_be_are_refused)
{
  struct {
    int operator;
    float scale, before;
    bool computes;
    const char *message;
  } rows[] = {{1, 0, 1, true, "has an invalid scale"},
              {1, -1, 1, true, "has an invalid scale"},
              {1, (float)NAN, 1, true, "has an invalid scale"},
              {1, (float)INFINITY, 1, true, "has an invalid scale"},
              {2, 1, 0, true, "has an invalid scale before its activation"},
              {3, .5f, 1, true,
               /* operator 4 is a maxpool of layer 3 */
               "operator 4 has another scale than tensors that are read with it"},
              {7, 1, 1, false, "has no output that could become integers"},
              {44, 1, 1, false, "is not in the network"},
              {9, 1, 1, true, "cannot compute in integers"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct mafat_network *n = test_network(small_cfg);
    struct mafat_activations *a = small_table();
    struct mafat_diagnostic d = {""};
    struct mafat_activation_numbers *at =
        rows[i].operator<7 ? &a->list[rows[i].operator] : & a->list[a->n++];
    *at = entry(rows[i].operator, rows[i].computes);
    at->scale = rows[i].scale;
    at->before_scale = rows[i].before;
    int code = apply(n, a, &d);
    ck_assert_msg(code != MAFAT_OK && !strchr(d.text, '\n'), "row %zu", i);
    ck_assert_msg(!rows[i].message || strstr(d.text, rows[i].message), "row %zu: %s", i, d.text);
    free(a);
    mafat_network_close(&n);
  }
}
END_TEST

START_TEST(test_what_is_read_as_numbers_has_a_scale)
{
  struct mafat_network *n = test_network(small_cfg);
  struct mafat_activations *a = small_table();
  struct mafat_diagnostic d = {""};
  memmove(a->list, a->list + 1, (size_t)--a->n * sizeof *a->list);
  ck_assert_int_eq(apply(n, a, &d), MAFAT_EFORMAT);
  ck_assert_msg(strstr(d.text, "operator 0 is read as integers"), "%s", d.text);
  a->n_layers = 8;
  ck_assert_int_eq(apply(n, a, &d), MAFAT_EFORMAT);
  ck_assert_msg(strstr(d.text, "activations of 8 layers, expected 9"), "%s", d.text);
  free(a);
  mafat_network_close(&n);
}
END_TEST

/* ---- files ---- */

static void write_weights(const struct mafat_network *n, uint64_t seed)
{
  char chunk[4096];
  int from = test_weights_file(n, seed), fd = open(test_darknet_path, O_WRONLY | O_TRUNC, 0600);
  ck_assert_int_eq(lseek(from, 0, SEEK_SET), 0);
  for (ssize_t got; (got = read(from, chunk, sizeof chunk)) > 0;)
    ck_assert_int_eq(write(fd, chunk, (size_t)got), got);
  close(from);
  close(fd);
}

/* Packs the cfg with a table and factors of channels (NULL: none); returns the packed network. */
static struct mafat_network *pack_with(const char *cfg_text, const struct mafat_activations *a,
                                       uint64_t seed, float *const *factors)
{
  struct test_model_files files = test_model_files(cfg_text, 1);
  struct mafat_cfg *cfg;
  struct mafat_network *n;
  struct mafat_diagnostic d = {""};
  ck_assert_int_eq(mafat_cfg_read(&cfg, files.cfg, &d), MAFAT_OK);
  ck_assert_int_eq(mafat_darknet_make(&n, cfg, NULL, NULL, &d), MAFAT_OK);
  write_weights(n, seed);
  struct mafat_activations_places *places =
      calloc((size_t)mafat_network_n_tensors(n), sizeof *places);
  int code = mafat_activations_apply(n, a, true, places, "x", &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  int fd = open(test_packed_path, O_RDWR | O_TRUNC, 0600);
  code = mafat_packer_write(test_darknet_path, n,
                            &(struct mafat_packed_origin){
                                .cfg = cfg, .activations = a, .places = places, .factors = factors},
                            fd, test_packed_path, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  close(fd);
  free(places);
  mafat_cfg_close(&cfg);
  test_model_files_close(&files);
  return n;
}

static struct mafat_network *pack(const char *cfg_text, const struct mafat_activations *a,
                                  uint64_t seed)
{
  return pack_with(cfg_text, a, seed, NULL);
}

static struct mafat_network *open_packed(void)
{
  struct mafat_network *n;
  struct mafat_diagnostic d = {""};
  int code = test_packed_network_read(&n, test_packed_path, NULL, NULL, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  return n;
}

START_TEST(test_a_file_holds_its_table)
{
  struct mafat_activations *a = small_table();
  struct mafat_network *packed = pack(small_cfg, a, 3), *read = open_packed(),
                       *other = test_network(small_cfg);
  struct mafat_diagnostic d = {""};
  ck_assert_int_eq(packed->n_layers, read->n_layers);
  for (int l = 0; l < read->n_layers; l++) {
    const struct mafat_layer *x = &packed->layers[l], *y = &read->layers[l];
    ck_assert_int_eq(x->type, y->type);
    ck_assert_int_eq(x->out_type, y->out_type);
    ck_assert_int_eq(x->weights_type, y->weights_type);
    ck_assert(memcmp(&x->quantization, &y->quantization, sizeof x->quantization) == 0);
  }
  ck_assert_int_eq(mafat_packer_check(test_packed_path, NULL, &d), MAFAT_OK);
  /* The file does not open for the float network, and the message says why. */
  struct mafat_weights *w = NULL;
  ck_assert_int_eq(mafat_weights_open_kept(&w, test_packed_path, other, other->n_layers, NULL, &d),
                   MAFAT_EFORMAT);
  ck_assert_msg(strstr(d.text, "with activations as integers: it is run by itself"), "%s", d.text);
  free(a);
  mafat_network_close(&packed);
  mafat_network_close(&read);
  mafat_network_close(&other);
}
END_TEST

/* ---- runs ---- */

/* Outputs of all layers, as whole maps. */
struct outputs {
  float **of; /* [layer] */
  const struct mafat_network *network;
};

static void keep_output(void *context, struct mafat_executor *e, const struct mafat_step *step)
{
  struct outputs *o = context;
  if (step->kind == MAFAT_STEP_COMPUTE && step->layer < o->network->n_layers)
    mafat_executor_read_output(e, step->layer, o->of[step->layer]);
}

static float *random_input(const struct mafat_network *n, uint64_t seed)
{
  size_t inputs = (size_t)mafat_shape_elements(mafat_network_picture_shape(n));
  float *input = malloc(inputs * sizeof *input);
  struct test_rng rng = test_rng(seed);
  for (size_t i = 0; i < inputs; i++) input[i] = (float)(test_random(&rng) >> 8) / 16777216.0f;
  return input;
}

static float *run(const struct mafat_network *n, const struct mafat_plan *plan, const char *path,
                  const struct mafat_kernels *kernels, struct outputs *watched)
{
  struct mafat_layout *layout = test_layout(n, plan);
  struct mafat_executor_options options;
  struct mafat_weights *w;
  struct mafat_executor *e;
  struct mafat_diagnostic d;
  int code = mafat_weights_open(&w, path, n, plan, layout, NULL, NULL, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  mafat_executor_defaults(&options);
  options.kernels = kernels;
  if (watched) options.observe = keep_output, options.observe_context = watched;
  code = mafat_executor_open(&e, n, plan, layout, w, &options, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  float *input = random_input(n, 99),
        *out = malloc((size_t)mafat_shape_elements(n->layers[n->n_layers - 1].out) * sizeof *out);
  mafat_executor_set_input(e, input);
  for (int i = 0; i < 2; i++) {
    memset((void *)(uintptr_t)mafat_executor_arena(e), 0xff, layout->total_bytes);
    code = mafat_executor_run(e, &d);
    ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  }
  mafat_executor_read_output(e, n->n_layers - 1, out);
  free(input);
  mafat_executor_close(&e);
  mafat_weights_close(&w);
  mafat_layout_close(&layout);
  return out;
}

static float slope_of(const struct mafat_layer *l)
{
  return l->activation.kind == MAFAT_SLOPED ? l->activation.a : 1;
}

/* Compares outputs with a float convolution of the packed layer's inputs. Allowed errors: half a
 * step of the output, and for each input one step of its filter's weights. */
static void check_layer(const struct mafat_network *n, int layer, const float *in, const float *out,
                        const float *weights, const float *bias)
{
  const struct mafat_layer *l = &n->layers[layer];
  int taps = l->window.y.size, inputs = l->in.c / l->groups;
  for (int f = 0; f < l->out.c; f++) {
    float most = 0;
    const float *filter = weights + f * inputs * taps * taps;
    for (int i = 0; i < inputs * taps * taps; i++) most = fmaxf(most, fabsf(filter[i]));
    for (int y = 0; y < l->out.h; y++)
      for (int x = 0; x < l->out.w; x++) {
        double sum = (double)bias[f], loss = (double)l->quantization.scale / 2;
        for (int c = 0; c < inputs; c++)
          for (int t = 0; t < taps * taps; t++) {
            int iy = y * l->window.y.stride - l->window.y.before + t / taps,
                ix = x * l->window.x.stride - l->window.x.before + t % taps;
            if (iy < 0 || ix < 0 || iy >= l->in.h || ix >= l->in.w) continue;
            double value = (double)
                in[((f / (l->filters / l->groups) * inputs + c) * l->in.h + iy) * l->in.w + ix];
            sum += value * (double)filter[c * taps * taps + t];
            loss += fabs(value) * (double)most / 127;
          }
        if (sum < 0) sum *= (double)slope_of(l);
        const struct mafat_quantization *q = &l->quantization;
        double least = (double)q->scale * (q->least - q->zero),
               largest = (double)q->scale * (q->most - q->zero);
        sum = fmin(fmax(sum, least), largest);
        double is = (double)out[(f * l->out.h + y) * l->out.w + x];
        ck_assert_msg(fabs(is - sum) <= loss * 1.001 + 1e-6,
                      "layer %d, filter %d, (%d, %d): %g, expected %g within %g", layer, f, y, x,
                      is, sum, loss);
      }
  }
}

/* Multiplies weights and biases of a layer of the packed network by its maps' factors. */
static void apply_factors(const struct mafat_network *n, int layer, float *const *factors,
                          float *weights, float *bias)
{
  const struct mafat_layer *l = &n->layers[layer];
  const float *in = factors[mafat_layer_sources(l)->list[0].tensor], *out = factors[layer];
  int taps = l->window.y.size * l->window.x.size, inputs = l->in.c / l->groups;
  for (int f = 0; f < l->out.c; f++) {
    bias[f] *= out[f];
    for (int i = 0; i < inputs * taps; i++)
      weights[f * inputs * taps + i] *=
          out[f] / in[f / (l->filters / l->groups) * inputs + i / taps];
  }
}

static float **random_factors(int n_layers, int channels, uint64_t seed)
{
  struct test_rng rng = test_rng(seed);
  float **factors = calloc((size_t)n_layers, sizeof *factors);
  for (int l = 0; l < n_layers; l++) {
    factors[l] = malloc((size_t)channels * sizeof **factors);
    for (int c = 0; c < channels; c++)
      factors[l][c] = exp2f((float)test_random_int(&rng, -300, 300) / 100);
  }
  return factors;
}

/* Layers 2 (relu), 3 (before mish) and 8 (depthwise, leaky) of the packed network compute what a
 * float convolution with the file's weights does. For every second seed, channels have factors. */
START_TEST(test_convolutions_are_those_of_floats)
{
  enum { N_PACKED = 13, CHANNELS = 16 };
  struct mafat_activations *a = small_table();
  float **factors = random_factors(N_PACKED, CHANNELS, (uint64_t)_i);
  struct mafat_network *n = pack_with(small_cfg, a, 3 + (uint64_t)_i, _i % 2 ? factors : NULL),
                       *wide = test_network(small_cfg);
  ck_assert_int_eq(n->n_layers, N_PACKED);
  struct mafat_plan_options options = test_plain_options();
  options.packed = true;
  struct outputs o = {calloc((size_t)n->n_layers, sizeof *o.of), n};
  for (int l = 0; l < n->n_layers; l++)
    o.of[l] = malloc((size_t)mafat_shape_elements(n->layers[l].out) * sizeof **o.of);
  struct mafat_plan *plan = test_plan_with(n, "1x1/NoCut", &options);
  free(run(n, plan, test_packed_path, mafat_kernels_find(NULL), &o));
  static const int made[] = {2, 3, 8}, was[] = {1, 2, 5};
  FILE *file = fopen(test_darknet_path, "rb");
  for (int i = 0; i < 3; i++) {
    const struct mafat_layer_constants *c = &wide->constants->layers[was[i]];
    float *bias = malloc(c->biases.n * sizeof *bias),
          *weights = malloc(c->weights.n * sizeof *weights);
    fseek(file, (long)c->biases.at, SEEK_SET);
    ck_assert_int_eq(fread(bias, sizeof *bias, c->biases.n, file), c->biases.n);
    fseek(file, (long)c->weights.at, SEEK_SET);
    ck_assert_int_eq(fread(weights, sizeof *weights, c->weights.n, file), c->weights.n);
    if (_i % 2) apply_factors(n, made[i], factors, weights, bias);
    check_layer(n, made[i], o.of[mafat_layer_sources(&n->layers[made[i]])->list[0].tensor],
                o.of[made[i]], weights, bias);
    free(bias);
    free(weights);
  }
  fclose(file);
  for (int l = 0; l < n->n_layers; l++) {
    free(o.of[l]);
    free(factors[l]);
  }
  free(factors);
  free(o.of);
  mafat_plan_close(&plan);
  free(a);
  mafat_network_close(&n);
  mafat_network_close(&wide);
}
END_TEST

/* The product of a small scale and the smallest slope rounds to 0. In a file, 0 means that negative
 * sums have the same factor as positive ones, so a tiny other number is stored. */
START_TEST(test_slopes_that_have_no_factor_are_none)
{
  enum { LAYER = 8, FILTERS = 8, TAPS = 9 };
  struct mafat_activations *a = small_table();
  struct mafat_network *n = test_network(small_cfg);
  struct mafat_diagnostic d = {""};
  ck_assert_msg(apply(n, a, &d) == MAFAT_OK, "%s", d.text);
  struct mafat_layer *l = &n->layers[LAYER];
  l->activation = mafat_activating_sloped(FLT_MIN);
  ck_assert_int_eq(l->activation.kind, MAFAT_SLOPED);
  struct { signed char weights[TAPS * FILTERS]; float scale[FILTERS], bias[FILTERS]; } narrow;
  struct {
    signed char weights[TAPS * FILTERS];
    int32_t bias[FILTERS];
    float above[FILTERS], below[FILTERS];
  } packed;
  struct mafat_block_slice pieces[FILTERS];
  ck_assert_uint_eq(mafat_packed_layer_bytes(l), sizeof packed);
  memset(narrow.weights, 1, sizeof narrow.weights);
  for (int f = 0; f < FILTERS; f++) narrow.scale[f] = 1e-9f, narrow.bias[f] = 0;
  mafat_pack_integers_narrowed(n, LAYER, 0, (const char *)&narrow, pieces, (char *)&packed);
  for (int f = 0; f < FILTERS; f++) {
    int32_t bits;
    memcpy(&bits, &packed.below[f], sizeof bits);
    ck_assert_float_gt(packed.above[f], 1e-10f);
    ck_assert_int_ne(bits, 0);
    ck_assert_float_lt(fabsf(packed.below[f]), 1e-30f);
  }
  free(a);
  mafat_network_close(&n);
}
END_TEST

/* ---- channels whose ranges become equal ---- */

static const char mobile_cfg[] =
    "[net]\nwidth=12\nheight=12\nchannels=3\n"
    "[convolutional]\nfilters=8\nsize=3\npad=1\nactivation=leaky\n" /* 0: floats */
    "[convolutional]\nfilters=8\nsize=1\nactivation=leaky\n"        /* 1: read by a depthwise one */
    "[convolutional]\nfilters=8\nsize=3\npad=1\ngroups=8\nactivation=relu\n" /* 2: by a 1x1 one */
    "[convolutional]\nfilters=8\nsize=1\nactivation=linear\n" /* 3: read by a shortcut, too */
    "[convolutional]\nfilters=8\nsize=1\nactivation=relu6\n"  /* 4: has a bound */
    "[convolutional]\nfilters=8\nsize=1\nactivation=leaky\n"  /* 5: by a convolution in groups */
    "[convolutional]\nfilters=8\nsize=1\ngroups=2\nactivation=leaky\n" /* 6: by a shortcut */
    "[shortcut]\nfrom=-4\nactivation=linear\n"                         /* 7 */
    "[convolutional]\nfilters=8\nsize=1\nactivation=leaky\n"           /* 8: by a float layer */
    "[convolutional]\nfilters=6\nsize=1\nactivation=linear\n";         /* 9: floats */

static void open_mobile(struct mafat_equalized *e, struct mafat_network **n)
{
  struct mafat_activations *a = mafat_activations_make(10, 16);
  *n = test_network(mobile_cfg);
  for (int l = 0; l < 9; l++) a->list[a->n++] = entry(l, l > 0);
  ck_assert_int_eq(mafat_equalized_open(e, *n, a), MAFAT_OK);
  free(a);
}

START_TEST(test_maps_that_only_convolutions_read_can_have_factors)
{
  struct mafat_network *n;
  struct mafat_equalized e;
  open_mobile(&e, &n);
  for (int l = 0; l < n->n_layers; l++)
    ck_assert_msg(!e.factors[l] == (l != 1 && l != 2), "layer %d", l);
  ck_assert(e.depthwise[1] && !e.depthwise[2]);
  mafat_equalized_close(&e);
  mafat_network_close(&n);
}
END_TEST

/* Factors make the ranges of channels equal. Channel c has values from -2^-c to 2^(2 - c); the last
 * channel is 0 everywhere. */
START_TEST(test_channels_become_alike)
{
  struct mafat_network *n;
  struct mafat_equalized e;
  struct mafat_shape shape = {12, 12, 8};
  static float map[12 * 12 * 8], same[12 * 12 * 8];
  open_mobile(&e, &n);
  for (int i = 0; i < 12 * 12 * 8; i++)
    map[i] = i / 144 == 7
                 ? 0
                 : exp2f((float)(i % 144 == 1 ? 2 - i / 144 : -i / 144)) * (i % 144 == 0 ? -1 : 1);
  for (int l = 0; l < n->n_layers; l++) mafat_equalized_see(&e, l, shape, map);
  mafat_equalized_choose(&e, n, 0);
  for (int c = 0; c < 8; c++) ck_assert(e.factors[1][c] == 1 && e.factors[2][c] == 1);
  mafat_equalized_choose(&e, n, .5f);
  for (int c = 0; c < 7; c++)
    ck_assert(fabsf(e.factors[1][c] / exp2f((float)c) - 1) < 1e-6f &&
              fabsf(e.factors[2][c] / exp2f((float)c / 2) - 1) < 1e-6f);
  ck_assert(isfinite(e.factors[1][7]) && isfinite(e.factors[2][7]));
  struct mafat_range alike = mafat_equalized_range(&e, 1, 8);
  ck_assert(fabs(alike.least + 1) < 1e-6 && fabs(alike.most - 4) < 1e-6);
  memcpy(same, map, sizeof map);
  mafat_equalized_multiply(e.factors[1], shape, same);
  for (int c = 0; c < 7; c++)
    ck_assert(fabsf(same[c * 144] + 1) < 1e-6f && fabsf(same[c * 144 + 1] - 4) < 1e-5f);
  mafat_equalized_divide(e.factors[1], shape, same);
  for (int i = 0; i < 12 * 12 * 8; i++) ck_assert(fabsf(same[i] - map[i]) <= 1e-6f * fabsf(map[i]));
  mafat_equalized_multiply(NULL, shape, same);
  mafat_equalized_close(&e);
  mafat_network_close(&n);
}
END_TEST

/* ---- any plan ---- */

/* A table in which some of the possible layers compute with integers; scales are equal where they
 * have to be. */
static struct mafat_activations *random_table(struct test_rng *rng, const struct mafat_network *n)
{
  int n_tensors = mafat_network_n_tensors(n), *same = calloc((size_t)n_tensors, sizeof *same);
  bool *listed = calloc(2 * (size_t)n_tensors, sizeof *listed), *computes = listed + n_tensors;
  struct mafat_activations *a = mafat_activations_make(n->n_layers, n_tensors);
  for (int l = 0; l < n->n_layers; l++) {
    computes[l] = mafat_activations_can_compute(n, l) && test_random_chance(rng, 85);
    if (!computes[l]) continue;
    listed[l] = true;
    for (struct mafat_reads r = mafat_layer_reads(&n->layers[l]); mafat_reads_next(&r);)
      listed[r.source->tensor] = true;
  }
  for (int i = 0; i < n_tensors; i++)
    if (listed[i]) a->list[a->n++] = entry(i, computes[i]);
  mafat_activations_find_classes(a, n, same);
  struct mafat_activation_numbers *of = calloc((size_t)n_tensors, sizeof *of);
  for (int i = 0; i < n_tensors; i++)
    of[i].scale = (float)test_random_int(rng, 1, 100) / 1000,
    of[i].zero = (unsigned char)test_random_int(rng, 0, 255);
  for (int i = 0; i < a->n; i++)
    a->list[i].scale = of[same[a->list[i].tensor]].scale,
    a->list[i].zero = of[same[a->list[i].tensor]].zero;
  free(of);
  free(listed);
  free(same);
  return a;
}

static void check_plans(const char *cfg, struct test_rng *rng)
{
  char text[TEST_PLAN_ROOM];
  const struct mafat_kernels *levels[8];
  int n_levels = mafat_kernels_list(levels, 8);
  struct mafat_network *wide = test_network(cfg);
  struct mafat_activations *a = random_table(rng, wide);
  struct mafat_network *made = pack(cfg, a, test_random(rng)), *n = open_packed();
  struct mafat_plan_options options = test_plain_options();
  const struct mafat_kernels *level = levels[test_random_int(rng, 0, n_levels - 1)];
  options.packed = true;
  struct mafat_plan *plan = test_plan_with(n, "1x1/NoCut", &options);
  size_t bytes = (size_t)mafat_shape_elements(n->layers[n->n_layers - 1].out) * sizeof(float);
  float *reference = run(n, plan, test_packed_path, level, NULL);
  mafat_plan_close(&plan);
  for (int i = 0; i < 6; i++) {
    test_random_plan(rng, n, n->n_layers, text, sizeof text);
    options = test_random_packed_options(rng, MAFAT_DIRECT);
    plan = test_plan_with(n, text, &options);
    float *out = run(n, plan, test_packed_path, level, NULL);
    if (memcmp(out, reference, bytes) != 0)
      test_fail_case(cfg, text, "%s, %d threads: outputs differ", level->name, options.n_threads);
    free(out);
    mafat_plan_close(&plan);
  }
  free(reference);
  free(a);
  mafat_network_close(&wide);
  mafat_network_close(&made);
  mafat_network_close(&n);
}

START_TEST(test_any_plan_gives_the_same_bits)
{
  char cfg[TEST_CFG_ROOM];
  struct test_rng rng = test_rng(1500 + (uint64_t)_i);
  struct test_network_style style = test_network_style();
  style.max_macs = 400000;
  style.max_extent = 28;
  style.heads = false;
  style.windows = false;
  test_random_network(&rng, &style, cfg, sizeof cfg);
  check_plans(cfg, &rng);
}
END_TEST

START_TEST(test_wide_layers_give_the_same_bits)
{
  struct test_rng rng = test_rng(1900 + (uint64_t)_i);
  check_plans(test_wide_cfg, &rng);
}
END_TEST

/* A network that computes with integers, except in its first and last layer, has the same results
 * at every kernel level. */
START_TEST(test_levels_give_the_same_numbers)
{
  const struct mafat_kernels *levels[8];
  int n_levels = mafat_kernels_list(levels, 8);
  struct mafat_activations *a = small_table();
  struct mafat_network *n = pack(small_cfg, a, 11);
  struct mafat_plan_options options = test_plain_options();
  options.packed = true;
  struct mafat_plan *plan = test_plan_with(n, "1x1/NoCut", &options);
  size_t elements = (size_t)mafat_shape_elements(n->layers[n->n_layers - 1].out);
  float *reference = run(n, plan, test_packed_path, levels[0], NULL);
  for (int i = 1; i < n_levels; i++) {
    float *out = run(n, plan, test_packed_path, levels[i], NULL);
    for (size_t k = 0; k < elements; k++)
      ck_assert_msg(fabsf(out[k] - reference[k]) <= .05f * fmaxf(1, fabsf(reference[k])),
                    "%s: %g, expected %g", levels[i]->name, (double)out[k], (double)reference[k]);
    free(out);
  }
  free(reference);
  mafat_plan_close(&plan);
  free(a);
  mafat_network_close(&n);
}
END_TEST

/* ---- damage ---- */

/* If a byte of the table is changed and the checksums are recomputed, the file is refused with one
 * line, or runs. */
START_TEST(test_damaged_tables_are_refused_or_harmless)
{
  enum {
    INDEX_BYTES_AT = 64,
    INDEX_CHECKSUM_AT = 72,
    HEADER_CHECKSUM_AT = 80,
    TABLE_BYTES = 8 + 7 * 24
  };
  struct mafat_activations *a = small_table();
  struct mafat_network *made = pack(small_cfg, a, 3);
  static char beginning[3 * MAFAT_PACKED_ALIGNMENT];
  int fd = open(test_packed_path, O_RDWR), refused = 0;
  ck_assert_int_eq(pread(fd, beginning, sizeof beginning, 0), sizeof beginning);
  uint64_t index_bytes, sum;
  memcpy(&index_bytes, beginning + INDEX_BYTES_AT, sizeof index_bytes);
  char *index = beginning + MAFAT_PACKED_ALIGNMENT;
  struct test_rng rng = test_rng((uint64_t)_i);
  for (int at = 0; at < TABLE_BYTES; at++) {
    char *byte = index + index_bytes - TABLE_BYTES + at, was = *byte;
    *byte = (char)(was ^ (1 << test_random_int(&rng, 0, 7)));
    sum = mafat_hash(MAFAT_HASH_START, index, (size_t)index_bytes);
    memcpy(beginning + INDEX_CHECKSUM_AT, &sum, sizeof sum);
    sum = mafat_hash(MAFAT_HASH_START, beginning, HEADER_CHECKSUM_AT);
    memcpy(beginning + HEADER_CHECKSUM_AT, &sum, sizeof sum);
    ck_assert_int_eq(pwrite(fd, beginning, sizeof beginning, 0), sizeof beginning);
    *byte = was;
    struct mafat_network *n;
    struct mafat_weights *w = NULL;
    struct mafat_diagnostic d = {""};
    int code = test_packed_network_read(&n, test_packed_path, NULL, NULL, &d);
    if (code == MAFAT_OK)
      code = mafat_weights_open_kept(&w, test_packed_path, n, n->n_layers, NULL, &d);
    ck_assert((code == MAFAT_OK) == (w != NULL) &&
              (code == MAFAT_OK || (d.text[0] && !strchr(d.text, '\n'))));
    refused += code != MAFAT_OK;
    mafat_weights_close(&w);
    mafat_network_close(&n);
  }
  ck_assert_int_ge(refused, TABLE_BYTES / 4);
  close(fd);
  free(a);
  mafat_network_close(&made);
}
END_TEST

Suite *activations_suite(void)
{
  Suite *s = suite_create("activations");
  TCase *ranges = tcase_create("ranges");
  tcase_add_test(ranges, test_even_numbers_keep_their_range);
  tcase_add_test(ranges, test_what_lies_far_away_is_cut_off);
  tcase_add_loop_test(ranges, test_least_squares_are_the_least, 0, 12);
  tcase_add_test(ranges, test_zero_is_a_number_of_every_range);
  tcase_set_timeout(ranges, 60);
  suite_add_tcase(s, ranges);
  TCase *tables = tcase_create("tables");
  tcase_add_test(tables, test_a_table_makes_a_network);
  tcase_add_test(tables, test_tables_that_cannot_be_are_refused);
  tcase_add_loop_test(tables, test_outputs_are_floats, 0, 2);
  tcase_add_test(tables, test_what_is_read_as_numbers_has_a_scale);
  tcase_add_test(tables, test_maps_that_only_convolutions_read_can_have_factors);
  tcase_add_test(tables, test_channels_become_alike);
  suite_add_tcase(s, tables);
  TCase *files = tcase_create("files");
  tcase_add_checked_fixture(files, test_make_weight_files, test_remove_weight_files);
  tcase_add_test(files, test_a_file_holds_its_table);
  tcase_add_loop_test(files, test_convolutions_are_those_of_floats, 0, 4);
  tcase_add_test(files, test_slopes_that_have_no_factor_are_none);
  tcase_add_loop_test(files, test_any_plan_gives_the_same_bits, 0, test_seeds(120));
  tcase_add_loop_test(files, test_wide_layers_give_the_same_bits, 0, test_seeds(10));
  tcase_add_test(files, test_levels_give_the_same_numbers);
  tcase_add_loop_test(files, test_damaged_tables_are_refused_or_harmless, 0, 4);
  tcase_set_timeout(files, 120);
  suite_add_tcase(s, files);
  return s;
}
