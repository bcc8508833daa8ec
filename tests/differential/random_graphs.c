/* Makes random graphs, one for each number. Writes each as an ONNX or TFLite file and runs it
 * untiled. Then runs it by random plans, with random kernels, threads and weight placement, from
 * the file or a packed copy: every run must give the same bits as the untiled run with the same
 * kernels.
 * Writes the file, its input and its outputs to standard output as a frame, so that another
 * program can run the file and compare (experiments/peers/judge_tflite.c, judge_onnxruntime.js).
 * Prints failures on standard error. Started by run.py.
 *       random_graphs FORMAT FIRST COUNT     or     random_graphs FORMAT --print NUMBER [FILE]
 * FORMAT: onnx or tflite (floats); onnx-integers or tflite-integers (8 bits; those of TFLite
 * must give the same outputs at all kernel levels); or tflite-strange (unusual operators, most
 * of which are refused).
 * A frame, in native byte order: "MGRF"; then, each as a uint32, the graph's number, the bytes
 * of the file, the floats of the input and the number of outputs; then the file and the input.
 * Then for each output: the length of its name and its number of floats (both uint32), the name,
 * the allowed difference as a float, the output's floats. */
#include "formats/onnx/import.h"
#include "formats/packed/graph.h"
#include "formats/tflite/import.h"
#include "network/port.h"
#include "predictor/planning/planning.h"
#include "runner/engine/executor.h"
#include "api/model_files.h"
#include "runner/weights/packer.h"
#include "tests/support/network_files.h"
#include "tests/differential/graph.h"
#include "tests/support/support.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PLANS = 3 };

/* Tolerances for other programs' outputs, relative to an output's largest value. LARGE_TOLERANCE is
 * for large Winograd tiles and graphs with square roots. mafat's own fused and plain kernels differ
 * only by rounding. If TIMES times this difference is above the tolerance, that product is the
 * tolerance, because the graph itself amplifies small errors. */
static const double TOLERANCE = 2e-5, LARGE_TOLERANCE = 1e-4, TIMES = 8;
/* Small outputs are usually differences of values of about 1, so an output's largest value
 * counts as at least LEAST. In an output of fewer than FEW values all may be small by chance, so
 * its tolerance is multiplied by TIMES_OF_FEW. */
enum { FEW = 100, TIMES_OF_FEW = 5 };
static const double LEAST = .5;

static const char *const format_names[GRAPH_FORMATS] = {[GRAPH_ONNX] = "onnx",
                                                        [GRAPH_TFLITE] = "tflite",
                                                        [GRAPH_ONNX_INTEGERS] = "onnx-integers",
                                                        [GRAPH_TFLITE_INTEGERS] = "tflite-integers",
                                                        [GRAPH_TFLITE_STRANGE] = "tflite-strange"};

struct subject {
  struct random_graph graph;
  struct test_rng rng;
  enum graph_format format;
  char *file;
  size_t bytes;
  struct copy {
    char path[32];
    int fd;
    struct mafat_network *network;
  } plain, packed; /* packed: made only for even graph numbers; else its network is NULL */
  float *input, *chw; /* the same values: input in the file's order, chw in the executor's */
  long long n_input, n_output; /* floats of the input and of all outputs */
};

struct counts {
  long long graphs, plans, failures, refused;
  long long several; /* graphs that contain a layer with several outputs */
};

static void __attribute__((format(printf, 3, 4)))
fail(struct counts *c, const struct subject *s, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  fprintf(stderr, "FAIL %s %" PRIu64 ": ", format_names[s->format], s->graph.number);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
  c->failures++;
}

/* ---- a graph, its file, a network ---- */

static void close_subject(struct subject *s)
{
  mafat_network_close(&s->plain.network);
  mafat_network_close(&s->packed.network);
  free(s->file);
  free(s->input);
  free(s->chw);
  if (s->plain.fd >= 0) close(s->plain.fd);
  if (s->packed.fd >= 0) close(s->packed.fd);
}

/* Draws a value that the input's quantization represents exactly, so that no program has to
 * round it. */
static float draw_number(const struct subject *s, struct test_rng *rng)
{
  struct graph_numbers numbers[GRAPH_NODES];
  graph_quantize(&s->graph, numbers);
  return numbers[0].scale * (float)(test_random_int(rng, -128, 127) - numbers[0].zero);
}

static void make_input(struct subject *s)
{
  const struct mafat_port *port = &s->plain.network->inputs[0];
  struct test_rng rng = graph_random(0x1a9b000000 + s->graph.number);
  s->n_input = mafat_view_elements(&port->view);
  s->input = malloc((size_t)s->n_input * sizeof *s->input);
  s->chw = calloc((size_t)mafat_shape_elements(port->shape), sizeof *s->chw);
  if (!s->input || !s->chw) abort();
  for (long long i = 0; i < s->n_input; i++)
    s->chw[test_input_place(port, i)] = s->input[i] =
        s->graph.integers ? draw_number(s, &rng) : graph_constant(&rng);
  for (int i = 0; i < s->plain.network->n_outputs; i++)
    s->n_output += mafat_view_elements(&s->plain.network->outputs[i].view);
}

static bool make_file(struct copy *c)
{
  c->fd = memfd_create("model", MFD_CLOEXEC);
  snprintf(c->path, sizeof c->path, "/proc/self/fd/%d", c->fd);
  return c->fd >= 0;
}

static struct random_graph draw_graph(uint64_t number, enum graph_format format)
{
  return format == GRAPH_TFLITE_STRANGE
             ? (struct random_graph){.number = number, .for_tflite = true}
             : graph_make(number, format);
}

static char *write_file(const struct random_graph *g, enum graph_format format, size_t *n)
{
  if (format == GRAPH_TFLITE_STRANGE) return graph_write_strange(g->number, n);
  return g->for_tflite ? graph_write_tflite(g, n) : graph_write_onnx(g, n);
}

static int open_subject(struct subject *s, struct mafat_diagnostic *d)
{
  s->file = write_file(&s->graph, s->format, &s->bytes);
  if (!make_file(&s->plain) || write(s->plain.fd, s->file, s->bytes) != (ssize_t)s->bytes)
    return mafat_fail(d, MAFAT_EIO, "cannot write a memory file");
  int code = (s->graph.for_tflite ? test_tflite_network_read : test_onnx_network_read)(
      &s->plain.network, s->plain.path, NULL, d);
  if (code == MAFAT_OK) make_input(s);
  return code;
}

/* Packs the file into a second memory file, as pack_weights does. */
static int pack(struct subject *s, struct mafat_diagnostic *d)
{
  struct mafat_network *n = NULL;
  struct mafat_embedded_graph *embedded_graph = NULL;
  if (!make_file(&s->packed)) return mafat_fail(d, MAFAT_EIO, "cannot write a memory file");
  int code = test_packed_graph_read(&n, &embedded_graph, NULL, s->plain.path, NULL, d);
  if (code == MAFAT_OK)
    code = mafat_packer_write(s->plain.path, n,
                              &(struct mafat_packed_origin){.embedded_graph = embedded_graph},
                              s->packed.fd, "packed", d);
  mafat_embedded_graph_close(&embedded_graph);
  mafat_network_close(&n);
  return code ? code : mafat_model_network(&s->packed.network, s->packed.path, NULL, NULL, NULL, d);
}

/* ---- runs ---- */

/* Runs a plan. Returns all outputs, one after the other, in memory that the caller frees; NULL:
 * failed. The arena is filled with NaN first, so that a read of unwritten memory shows in the
 * outputs. */
static float *compute(struct subject *s, const struct copy *copy, struct counts *counts,
                      const char *text, const struct mafat_plan_options *how,
                      const struct mafat_kernels *kernels, bool kept)
{
  struct mafat_network *n = copy->network;
  struct mafat_executor_options options;
  struct mafat_executor *e = NULL;
  struct mafat_weights *w = NULL;
  struct mafat_diagnostic d = {""};
  struct mafat_plan_options of_copy = *how;
  of_copy.packed = copy == &s->packed;
  struct mafat_plan *plan = test_plan_with(n, text, &of_copy);
  struct mafat_layout *layout = test_layout(n, plan);
  float *outputs = malloc((size_t)s->n_output * sizeof *outputs), *at = outputs;
  mafat_executor_defaults(&options);
  options.kernels = kernels;
  int code = kept ? mafat_weights_open_kept(&w, copy->path, n, n->n_layers, NULL, &d)
                  : mafat_weights_open(&w, copy->path, n, plan, layout, NULL, NULL, &d);
  if (code == MAFAT_OK) code = mafat_executor_open(&e, n, plan, layout, w, &options, &d);
  if (code == MAFAT_OK) {
    mafat_executor_set_input(e, s->chw);
    memset((void *)(uintptr_t)mafat_executor_arena(e), 0xff, layout->total_bytes);
    code = mafat_executor_run(e, &d);
  }
  for (int k = 0; code == MAFAT_OK && k < n->n_outputs; k++)
    for (long long i = 0; i < mafat_view_elements(&n->outputs[k].view); i++)
      *at++ = test_output_at(e, &n->outputs[k], i);
  if (code != MAFAT_OK)
    fail(counts, s, "%s, %s%s: %s", text, kernels->name, copy == &s->packed ? ", packed" : "",
         d.text);
  mafat_executor_close(&e);
  mafat_weights_close(&w);
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  if (code == MAFAT_OK) return outputs;
  free(outputs);
  return NULL;
}

static void draw_plan(struct subject *s, const struct mafat_plan_options *options, char *text)
{
  int dice = test_random_int(&s->rng, 0, 99);
  if (dice < 25 && test_random_split(&s->rng, s->plain.network, options, text, TEST_PLAN_ROOM))
    return;
  if (dice < 35) test_random_units(&s->rng, s->plain.network, text, TEST_PLAN_ROOM);
  else
    test_random_plan(&s->rng, s->plain.network, s->plain.network->n_layers, text, TEST_PLAN_ROOM);
}

/* Runs a random plan and compares its outputs with those of the untiled run. references: outputs
 * of the untiled runs with fused and with plain kernels. */
static void compare_plan(struct subject *s, struct counts *counts, float *const references[2],
                         enum mafat_algorithm algorithm)
{
  char text[TEST_PLAN_ROOM];
  struct mafat_plan_options options;
  const struct mafat_kernels *kernels = test_level(test_random_int(&s->rng, 0, 59));
  mafat_plan_defaults(&options);
  options.algorithm = algorithm;
  options.n_threads = test_random_int(&s->rng, 1, 3);
  options.keep_all = test_random_chance(&s->rng, 20);
  if (test_random_chance(&s->rng, 50)) options.small_bytes = 0;
  draw_plan(s, &options, text);
  const bool kept = test_random_chance(&s->rng, 50);
  const struct copy *copy =
      s->packed.network && test_random_chance(&s->rng, 50) ? &s->packed : &s->plain;
  float *found = compute(s, copy, counts, text, &options, kernels, kept);
  const float *reference = references[!kernels->fused];
  counts->plans++;
  for (long long i = 0; found && i < s->n_output; i++)
    if (memcmp(&found[i], &reference[i], sizeof *found) != 0) {
      fail(counts, s, "%s, %s, %s%s, %d threads: output %lld is %.9g, untiled %.9g", text,
           mafat_algorithm_name(algorithm), kernels->name, copy == &s->packed ? ", packed" : "",
           options.n_threads, i, (double)found[i], (double)reference[i]);
      break;
    }
  free(found);
}

/* ---- output ---- */

static void put(const void *data, size_t n)
{
  if (fwrite(data, 1, n, stdout) != n) exit(3); /* the reader has closed the pipe */
}

static void put_word(size_t word)
{
  uint32_t w = (uint32_t)word;
  put(&w, sizeof w);
}

/* True if the graph has a square root, which amplifies the error of an argument near zero. */
static bool has_roots(const struct random_graph *g)
{
  for (int i = 0; i < g->n; i++)
    if (g->nodes[i].kind == GRAPH_SQRT) return true;
  return false;
}

/* Tolerance of output k of a float graph. `at`: index of its first value in each reference. */
static float tolerance_of(const struct subject *s, float *const references[2], int k, long long at,
                        double tolerance)
{
  const long long n = mafat_view_elements(&s->plain.network->outputs[k].view);
  double largest = 0, difference = 0;
  for (long long i = at; i < at + n; i++) {
    largest = fmax(largest, fabs((double)references[0][i]));
    difference = fmax(difference, fabs((double)references[0][i] - (double)references[1][i]));
  }
  return (float)fmax(tolerance * fmax(largest, LEAST) * (n < FEW ? TIMES_OF_FEW : 1),
                     TIMES * difference);
}

/* Tolerance of tflite-strange graphs, whose float outputs come from integers: 8 steps of the
 * last integer layer. TFLite's products can differ by one step, and later weights amplify that. */
static float tolerance_of_strange(const struct subject *s)
{
  const double steps = 8;
  const struct mafat_network *n = s->plain.network;
  float scale = 0;
  for (int l = 0; l < n->n_layers; l++)
    if (n->layers[l].out_type == MAFAT_U8) scale = n->layers[l].quantization.scale;
  return (float)steps * scale;
}

/* Tolerance of output k of an integer graph, as a float: a number of quantization steps
 * (graph_count_steps) times the output's scale. */
static float tolerance_of_integers(const struct subject *s, int k)
{
  const double part = .01;
  struct graph_numbers numbers[GRAPH_NODES];
  double steps[GRAPH_NODES];
  int node = 0;
  graph_quantize(&s->graph, numbers);
  graph_count_steps(&s->graph, numbers, steps);
  for (int i = 0; i <= k; i++)
    while (!graph_is_output(&s->graph, ++node)) {}
  return (float)((floor(steps[node]) + part) * (double)numbers[node].scale);
}

static void put_frame(const struct subject *s, float *const references[2], double tolerance)
{
  const struct mafat_network *n = s->plain.network;
  long long at = 0;
  put("MGRF", 4);
  put_word((size_t)s->graph.number);
  put_word(s->bytes);
  put_word((size_t)s->n_input);
  put_word((size_t)n->n_outputs);
  put(s->file, s->bytes);
  put(s->input, (size_t)s->n_input * sizeof *s->input);
  for (int k = 0; k < n->n_outputs; k++) {
    long long floats = mafat_view_elements(&n->outputs[k].view);
    float off =
        s->graph.integers ? tolerance_of_integers(s, k)
                          : tolerance_of(s, references, k, at, tolerance);
    if (s->format == GRAPH_TFLITE_STRANGE) off = fmaxf(off, tolerance_of_strange(s));
    put_word(strlen(n->outputs[k].name));
    put_word((size_t)floats);
    put(n->outputs[k].name, strlen(n->outputs[k].name));
    put(&off, sizeof off);
    put(references[0] + at, (size_t)floats * sizeof(float));
    at += floats;
  }
}

/* True if the graph is too large to be worth the time. */
static bool is_large(const struct mafat_network *n)
{
  const long long most = 1 << 16;
  long long floats = 0;
  for (int l = 0; l < n->n_layers && floats <= most; l++)
    floats += mafat_shape_elements(n->layers[l].out);
  return floats > most;
}

static bool is_finite(const struct subject *s, const float *outputs)
{
  for (long long i = 0; i < s->n_output; i++)
    if (!isfinite(outputs[i])) return false;
  return true;
}

static bool has_several_outputs(const struct mafat_network *n)
{
  for (int l = 0; l < n->n_layers; l++)
    if (mafat_layer_n_outputs(&n->layers[l]) > 1) return true;
  return false;
}

static void try_graph(uint64_t number, enum graph_format format, struct counts *counts)
{
  struct subject s = {.graph = draw_graph(number, format),
                      .rng = graph_random(0xd1ff000000 + number),
                      .format = format,
                      .plain = {.fd = -1},
                      .packed = {.fd = -1}};
  struct mafat_diagnostic d = {""};
  int code = open_subject(&s, &d);
  bool strange = format == GRAPH_TFLITE_STRANGE;
  if (strange && (code == MAFAT_EFORMAT || (code == MAFAT_OK && is_large(s.plain.network))))
    code = MAFAT_EUNSUPPORTED;
  bool packs = code == MAFAT_OK && number % 2 == 0;
  if (packs && pack(&s, &d)) fail(counts, &s, "packing: %s", d.text);
  if (code == MAFAT_EUNSUPPORTED) {
    counts->refused++;
    if (!strange)
      fprintf(stderr, "refused %s %" PRIu64 ": %s\n", format_names[format], number, d.text);
  } else if (code != MAFAT_OK) fail(counts, &s, "%s", d.text);
  else {
    struct mafat_plan_options untiled;
    mafat_plan_defaults(&untiled);
    untiled.algorithm =
        (enum mafat_algorithm)test_random_int(&s.rng, MAFAT_DIRECT, MAFAT_N_ALGORITHMS - 1);
    float *references[2] = {
        compute(&s, &s.plain, counts, "1x1/NoCut", &untiled, mafat_kernels_find("avx2"), true),
        compute(&s, &s.plain, counts, "1x1/NoCut", &untiled, mafat_kernels_find("portable"), true)};
    /* Not for ONNX, where operators without an integer form are computed in floats. */
    if (s.graph.integers && s.graph.for_tflite && references[0] && references[1] &&
        memcmp(references[0], references[1], (size_t)s.n_output * sizeof(float)) != 0)
      fail(counts, &s, "avx2 and portable kernels give different outputs");
    for (int i = 0; i < PLANS && references[0] && references[1]; i++)
      compare_plan(&s, counts, references, untiled.algorithm);
    if (references[0] && references[1] && (!strange || is_finite(&s, references[0])))
      put_frame(&s, references,
                untiled.algorithm == MAFAT_WINOGRAD_LARGE || has_roots(&s.graph) ? LARGE_TOLERANCE
                                                                                 : TOLERANCE);
    free(references[0]);
    free(references[1]);
    counts->graphs++;
    counts->several += has_several_outputs(s.plain.network);
  }
  close_subject(&s);
}

/* Prints a graph and, if a path is given, writes its file, to examine a failure. */
static int print_graph(uint64_t number, enum graph_format format, const char *path)
{
  struct random_graph g = draw_graph(number, format);
  size_t n;
  char *data = write_file(&g, format, &n);
  FILE *file = path ? fopen(path, "wb") : NULL;
  bool good = !path || (file && fwrite(data, 1, n, file) == n);
  if (file) good &= fclose(file) == 0;
  graph_print(&g);
  free(data);
  return good ? 0 : 1;
}

int main(int argc, char **argv)
{
  enum graph_format format = GRAPH_ONNX;
  struct counts counts = {0};
  while (argc > 3 && format < GRAPH_FORMATS && strcmp(argv[1], format_names[format]) != 0) format++;
  if (argc < 4 || format == GRAPH_FORMATS) {
    fputs("usage: random_graphs onnx|tflite|onnx-integers|tflite-integers|tflite-strange FIRST "
          "COUNT | random_graphs FORMAT --print NUMBER [FILE]\n",
          stderr);
    return 2;
  }
  if (strcmp(argv[2], "--print") == 0)
    return print_graph(strtoull(argv[3], NULL, 10), format, argc > 4 ? argv[4] : NULL);
  uint64_t first = strtoull(argv[2], NULL, 10), n = strtoull(argv[3], NULL, 10);
  for (uint64_t i = first; i < first + n; i++) try_graph(i, format, &counts);
  if (fflush(stdout) != 0) return 3;
  fprintf(stderr,
          "%s %lld graphs: %lld plans compared; %lld refused, %lld failures; %lld have "
          "layers of several outputs\n",
          counts.failures ? "FAIL" : "ok", counts.graphs, counts.plans, counts.refused,
          counts.failures, counts.several);
  return counts.failures != 0;
}
