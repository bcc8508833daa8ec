/* Networks from text, and random small networks and plans, which are always valid. A seed gives
 * the same texts on every machine. Included by suites in tests/unit, the oracle, the differential
 * tests and other files of tests/support. */
#ifndef MAFAT_TESTS_SUPPORT_SUPPORT_H
#define MAFAT_TESTS_SUPPORT_SUPPORT_H

#include "predictor/layout/layout.h"
#include "tests/support/random.h"

/* ---- objects from text; failures fail the test; the caller closes the objects ---- */

struct mafat_network *test_network(const char *cfg_text);
/* Recomputes where in a weights file each layer's weights are. Call it when layers were changed. */
void test_constants(struct mafat_network *n);
/* Gives some layers features that no cfg can express: windows with different rows and columns,
 * blends by maximum or minimum, other broadcasts, operands from rows of several tensors, and
 * activations with parameters. Some layers become normalizations over channels. */
void test_vary(struct mafat_network *n, uint64_t seed);
/* Gives several outputs to `percent` percent of the layers that can have them. Later layers read
 * some of these outputs, and some are outputs of the network. Returns how many layers changed. */
int test_several_outputs(struct mafat_network *n, uint64_t seed, int percent);
/* Adds a copy of the operand to the layer. Whether the layer's kind can have it is not checked. */
void test_add_operand(struct mafat_layer *l, const struct mafat_operand *operand);
/* Replaces the operand's sources by one to four bands of rows of any earlier tensors. Returns
 * false, and changes nothing, if the bands found cannot be an operand of this layer. */
bool test_weave(struct test_rng *rng, struct mafat_network *n, int layer, int operand);
/* Returns the source that has channel c and row y of the operand. c and y become those of the
 * source's tensor. */
const struct mafat_source *test_source_at(const struct mafat_operand *o, int *c, int *y);
/* Make a plan from its text, with default options or the given ones. */
struct mafat_plan *test_plan(const struct mafat_network *n, const char *plan_text);
struct mafat_plan *test_plan_with(const struct mafat_network *n, const char *plan_text,
                                  const struct mafat_plan_options *options);
/* Options as in the paper: direct convolution, and the output of every layer is stored in the
 * arena. */
struct mafat_plan_options test_plain_options(void);
/* Returns the text of a spec, in one of four static buffers that are used in turn. */
const char *test_spec_text(const struct mafat_spec *spec);
/* Writes the plan's text as mafat_spec_write does. Returns its length. */
size_t test_plan_write(const struct mafat_plan *plan, const struct mafat_network *n, char *text,
                       size_t capacity);
struct mafat_layout *test_layout(const struct mafat_network *n, const struct mafat_plan *plan);

/* Opens the weights of the first n_layers from an open file of Darknet's format, all kept in
 * memory. */
struct mafat_kernels;
struct mafat_weights;
int test_weights_from(struct mafat_weights **w, int fd, const struct mafat_network *n, int n_layers,
                      const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d);
/* Returns the index in CHW order of the input's element `index`, which counts in the order of the
 * model's dimensions. */
size_t test_input_place(const struct mafat_port *port, long long index);
struct mafat_executor;
/* test_outputs_floats returns the number of floats of all outputs together. test_read_outputs
 * copies the outputs after a run, one after the other, each in CHW order. */
size_t test_outputs_floats(const struct mafat_network *n);
void test_read_outputs(const struct mafat_executor *e, const struct mafat_network *n, float *to);

/* Returns element `index` of an output after a run; the index counts in the order of the model's
 * dimensions. */
float test_output_at(const struct mafat_executor *e, const struct mafat_port *port,
                     long long index);
/* Returns kernel level i of this processor, modulo the number of levels. */
const struct mafat_kernels *test_level(int i);
/* The expected outputs of the last layer, computed without the executor. */
struct test_meaning {
  double (*output)(const void *problem, int c, int y, int x);
  const void *problem;
  int number; /* case number for messages */
};

/* Runs the network once by the plan, from an input in CHW order. Each element of the last layer's
 * output must match the expected one within 2e-5 times the larger of 1 and its absolute value. */
void test_compare(const struct mafat_network *n, struct mafat_weights *w, const char *plan_text,
                  const struct mafat_kernels *kernels, const float *input,
                  const struct test_meaning *meaning);

/* Like test_compare, by a plan and layout for which the weights were opened, with the best
 * kernels. */
void test_compare_plan(const struct mafat_plan *plan, const struct mafat_layout *layout,
                       const struct mafat_network *n, struct mafat_weights *w, const float *input,
                       const struct test_meaning *meaning);

/* Like test_random_weights, but failing fails the test. The caller closes the descriptor. */
int test_weights_file(const struct mafat_network *n, uint64_t seed);

/* A cfg and random weights for it, in memory files (memfd) that also have paths. */
struct test_model_files {
  int cfg_fd, weights_fd;
  char cfg[32], weights[32];
};

struct test_model_files test_model_files(const char *cfg_text, uint64_t seed);
void test_model_files_close(const struct test_model_files *files);

/* Reads a cfg in /usr/share/darknet/cfg. NULL: it is not installed. */
struct mafat_network *test_darknet_network(const char *cfg_name);

/* Fails the test and prints the reason, the plan and the network's cfg. */
void test_fail_case(const char *cfg_text, const char *plan_text, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sets a locale whose decimal point is a comma, and makes one with localedef if none is
 * installed. setlocale(LC_ALL, "C") undoes it. Returns false if that is not possible. */
bool test_comma_locale(void);

/* ---- numbers of cases, time limits ---- */

/* Returns how many of n random cases to run: all; half, a quarter or a tenth, rounded up, if the
 * environment variable MAFAT_TEST_SIZE is gate, test or check (set by tests/run.sh). */
int test_seeds(int n);
/* Returns a time limit in seconds of CPU time: the given one, or more with a sanitizer or on an
 * emulated processor (environment variable CK_TIMEOUT_MULTIPLIER). */
double test_patience(double seconds);
/* Returns how many of the n slow rows of a table to run: all; a sixth, rounded up, if
 * MAFAT_TEST_SIZE is check. */
int test_slow_rows(int n);

/* ---- random networks and plans ---- */

struct test_network_style {
  /* default: 4, 14; a group of layers that is begun may exceed it by 6 */
  int min_layers, max_layers;
  int max_extent;             /* default: 40; rows and columns of any map */
  int max_channels;           /* default: 192; of any layer */
  long long max_macs;         /* default: 3000000; multiply-accumulates of one layer */
  bool windows; /* true: windows with different rows and columns, as no cfg can have */
  bool edges;                 /* true: routes, shortcuts; false: a chain */
  bool whole_maps; /* true: also layers that cannot be tiled, anywhere in the network */
  bool heads;                 /* true: sometimes a detection head or two */
};

enum { TEST_CFG_ROOM = 16384, TEST_PLAN_ROOM = 2048 };

/* Returns the defaults. */
struct test_network_style test_network_style(void);
/* Returns a style for networks that are run often: at most 400,000 multiply-accumulates a layer,
 * and maps of at most 28 x 28. */
struct test_network_style test_small_style(void);

/* Writes a cfg that mafat_darknet_make accepts. `capacity`: at least TEST_CFG_ROOM. */
void test_random_network(struct test_rng *rng, const struct test_network_style *style,
                         char *cfg_text, size_t capacity);

/* Writes a cfg of depthwise and 1x1 layers: pairs and bottlenecks, some with shortcuts. Maps have
 * 5 to most_side rows and columns. `capacity`: at least TEST_CFG_ROOM. */
void test_random_blocks(struct test_rng *rng, int most_side, char *cfg_text, size_t capacity);

/* Writes a random plan for the first n_layers, with one to five groups. A group runs by a grid of
 * up to 6 x 6 (even, balanced, with given boundaries, or sometimes of one row a tile), by rows,
 * or in panels. Its weights are kept, loaded or streamed. `capacity`: at least TEST_PLAN_ROOM. */
void test_random_plan(struct test_rng *rng, const struct mafat_network *n, int n_layers,
                      char *plan_text, size_t capacity);
/* Writes a plan that fuses depthwise and 1x1 layers in random units
 * (predictor/transfers/units_spec.h), each with a random extent. */
void test_random_units(struct test_rng *rng, const struct mafat_network *n, char *plan_text,
                       size_t capacity);
/* Returns random options for plans of a packed file: one to four threads; weights of small layers
 * are either streamed like others or loaded instead (small_bytes). */
struct mafat_plan_options test_random_packed_options(struct test_rng *rng,
                                                     enum mafat_algorithm algorithm);
/* Writes a random plan in which a group is split by rows, columns or channels, nested or not, in
 * any order, or has its rows in partition buffers. Its outputs have the bits of an unsplit plan.
 * Returns false if no such plan was found for this network. */
bool test_random_split(struct test_rng *rng, const struct mafat_network *n,
                       const struct mafat_plan_options *options, char *text, size_t capacity);

#endif
