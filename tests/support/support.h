/* Shared by the suites: networks from text, and random small networks and plans that are always
 * valid. The same seed gives the same texts on every machine. */
#ifndef MAFAT_TESTS_SUPPORT_SUPPORT_H
#define MAFAT_TESTS_SUPPORT_SUPPORT_H

#include "predictor/layout/layout.h"
#include "tests/support/random.h"

/* ---- objects from text; a failure fails the test with the diagnostic ---- */

struct mafat_network *test_network(const char *cfg_text);
/* Recomputes the offsets of the weights in a file after layers were changed. */
void test_constants(struct mafat_network *n);
/* Gives some layers what no cfg can say: windows whose rows and columns differ, the larger of two
 * maps, operands that are broadcast otherwise, or made of rows of several tensors, activations with
 * parameters; some become of kinds that no cfg has. */
void test_vary(struct mafat_network *n, uint64_t seed);
/* Makes so many percent of the layers that can be it layers with several outputs, which those
 * behind read, too; some can be read after a run. Returns how many. */
int test_several_outputs(struct mafat_network *n, uint64_t seed, int percent);
/* Gives a layer an operand more, a copy; its kind is not asked. */
void test_add_operand(struct mafat_layer *l, const struct mafat_operand *operand);
/* Makes the operand of rows of any tensors before the layer, one to four bands of them; false: not
 * all can be joined, and it stays what it was. */
bool test_weave(struct test_rng *rng, struct mafat_network *n, int layer, int operand);
/* The source of channel c and row y of an operand; c and y become the tensor's. */
const struct mafat_source *test_source_at(const struct mafat_operand *o, int *c, int *y);
/* By the default options; or by given ones. */
struct mafat_plan *test_plan(const struct mafat_network *n, const char *plan_text);
struct mafat_plan *test_plan_with(const struct mafat_network *n, const char *plan_text,
                                  const struct mafat_plan_options *options);
/* Direct convolution, every layer's output kept: the paper's way. */
struct mafat_plan_options test_plain_options(void);
/* A spec's text; there are four of them at a time. */
const char *test_spec_text(const struct mafat_spec *spec);
/* A plan's canonical text, as mafat_spec_write has it. */
size_t test_plan_write(const struct mafat_plan *plan, const struct mafat_network *n, char *text,
                       size_t capacity);
struct mafat_layout *test_layout(const struct mafat_network *n, const struct mafat_plan *plan);

/* Weights of the first n_layers, all kept, from an open file. */
struct mafat_kernels;
struct mafat_weights;
int test_weights_from(struct mafat_weights **w, int fd, const struct mafat_network *n, int n_layers,
                      const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d);
/* Element `index` of an input, in its dimensions' order: where it is in Darknet's CHW order; of an
 * output after a run: what it is. */
size_t test_input_place(const struct mafat_port *port, long long index);
struct mafat_executor;
/* All outputs of the network, one after the other, each in Darknet's CHW order: how many floats,
 * and what they are after a run. */
size_t test_outputs_floats(const struct mafat_network *n);
void test_read_outputs(const struct mafat_executor *e, const struct mafat_network *n, float *to);
float test_output_at(const struct mafat_executor *e, const struct mafat_port *port,
                     long long index);
/* The levels that this processor has, in turn. */
const struct mafat_kernels *test_level(int i);
/* Outputs of a problem, computed by other means. */
struct test_meaning {
  double (*output)(const void *problem, int c, int y, int x);
  const void *problem;
  int number; /* for messages */
};

/* Runs the network once, from an input in Darknet's CHW order, and compares what its last layer
 * puts out: to 2e-5, of the larger of the output and 1. */
void test_compare(const struct mafat_network *n, struct mafat_weights *w, const char *plan_text,
                  const struct mafat_kernels *kernels, const float *input,
                  const struct test_meaning *meaning);

/* The same under a plan for which the weights were opened, by the best kernels. */
void test_compare_plan(const struct mafat_plan *plan, const struct mafat_layout *layout,
                       const struct mafat_network *n, struct mafat_weights *w, const float *input,
                       const struct test_meaning *meaning);

/* Darknet's file of random numbers that keep activations in range, in memory: a descriptor. */
int test_weights_file(const struct mafat_network *n, uint64_t seed);

/* A cfg and such weights for it, both in memory, by paths that can be opened. */
struct test_model_files {
  int cfg_fd, weights_fd;
  char cfg[32], weights[32];
};

struct test_model_files test_model_files(const char *cfg_text, uint64_t seed);
void test_model_files_close(const struct test_model_files *files);

/* A network file of the Darknet distribution, NULL when it is not installed. */
struct mafat_network *test_darknet_network(const char *cfg_name);

/* Fails the test with what went wrong, the plan, and the network's cfg. */
void test_fail_case(const char *cfg_text, const char *plan_text, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sets a locale that has another decimal point, made for the occasion where it can be, until
 * setlocale(LC_ALL, "C"). False where there is none. */
bool test_comma_locale(void);

/* ---- how many of them ---- */

/* Number of the n random cases to run: all; half if MAFAT_TEST_SIZE is gate, a quarter if test,
 * a tenth if check (set by tests/run.sh). At least one. */
int test_seeds(int n);
/* Seconds of the processor for what takes so many at most: tens of times as many where a sanitizer
 * watches, CK_TIMEOUT_MULTIPLIER times where the processor is emulated. */
double test_patience(double seconds);
/* Number of the n slow rows of a table to run: all; a sixth if MAFAT_TEST_SIZE is check. */
int test_slow_rows(int n);

/* ---- random networks and plans ---- */

struct test_network_style {
  int min_layers, max_layers; /* 4, 14; motifs of several layers may go past by 6 */
  int max_extent;             /* 40: of any map, pixels a side */
  int max_channels;           /* 192: of any layer */
  long long max_macs;         /* 3000000: of one layer */
  bool windows; /* true: of rows and columns by themselves, beyond what a cfg can say */
  bool edges;                 /* true: routes, shortcuts; false: a chain */
  bool whole_maps; /* true: also layers that cannot be tiled, in the middle and at the end */
  bool heads;                 /* true: sometimes a detection head or two */
};

enum { TEST_CFG_ROOM = 16384, TEST_PLAN_ROOM = 2048 };

struct test_network_style test_network_style(void);
/* Whose networks are run many times: layers of 400000 MACs, of 28 pixels a side. */
struct test_network_style test_small_style(void);

/* Writes the text of a cfg that mafat_darknet_make accepts; `capacity` of at least
 * TEST_CFG_ROOM. */
void test_random_network(struct test_rng *rng, const struct test_network_style *style,
                         char *cfg_text, size_t capacity);

/* The same of depthwise and 1x1 layers: pairs and bottlenecks as they come, with shortcuts around
 * some. Maps of 5 to so many pixels a side. */
void test_random_blocks(struct test_rng *rng, int most_side, char *cfg_text, size_t capacity);

/* Writes a plan for the first n_layers of n: one to five groups, cuts anywhere,
 * grids of up to 6 x 6, even, balanced or with given boundaries, sometimes one
 * tile per pixel row; or rolling windows of rows, or panels; weights kept, loaded or
 * streamed; depthwise layers as words say, or as usual. `capacity` of at least TEST_PLAN_ROOM. */
void test_random_plan(struct test_rng *rng, const struct mafat_network *n, int n_layers,
                      char *plan_text, size_t capacity);
/* A plan of depthwise and 1x1 layers together, some so and some so
 * (predictor/transfers/units_spec.h), of any FD. */
void test_random_units(struct test_rng *rng, const struct mafat_network *n, char *plan_text,
                       size_t capacity);
/* Options for such plans of a packed file: one to four threads, weights of small layers streamed
 * or not. */
struct mafat_plan_options test_random_packed_options(struct test_rng *rng,
                                                     enum mafat_algorithm algorithm);
/* A plan with a split group, of layers in parts by rows, columns and channels, nested or not, in
 * any order, or rows in partition buffers; by any algorithm as the same layers are whole. False:
 * none was found that the network can have. */
bool test_random_split(struct test_rng *rng, const struct mafat_network *n,
                       const struct mafat_plan_options *options, char *text, size_t capacity);

#endif
