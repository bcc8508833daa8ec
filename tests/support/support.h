/* Networks from text, and random small networks and plans that are always valid. A seed gives
 * the same texts on every machine. Included by most suites, the oracle and differential tests. */
#ifndef MAFAT_TESTS_SUPPORT_SUPPORT_H
#define MAFAT_TESTS_SUPPORT_SUPPORT_H

#include "predictor/layout/layout.h"
#include "tests/support/random.h"

/* ---- objects from text; failures fail the test; the caller closes the objects ---- */

struct mafat_network *test_network(const char *cfg_text);
/* Recomputes the offsets of the weights in a file after layers were changed. */
void test_constants(struct mafat_network *n);
/* Gives some layers features that no cfg can express: windows with different rows and columns,
 * the larger of two maps, other broadcasts, operands from rows of several tensors, activations
 * with parameters. Some layers get kinds that no cfg has. */
void test_vary(struct mafat_network *n, uint64_t seed);
/* Gives several outputs to `percent` of the layers that can have them. Later layers read these,
 * too; some can be read after a run. Returns the number of these layers. */
int test_several_outputs(struct mafat_network *n, uint64_t seed, int percent);
/* Adds a copy of the operand to a layer, without checking its kind. */
void test_add_operand(struct mafat_layer *l, const struct mafat_operand *operand);
/* Replaces the operand's sources by one to four bands of rows of any earlier tensors. False:
 * they cannot be joined, and nothing changes. */
bool test_weave(struct test_rng *rng, struct mafat_network *n, int layer, int operand);
/* The source of channel c and row y of an operand; c and y become the tensor's. */
const struct mafat_source *test_source_at(const struct mafat_operand *o, int *c, int *y);
/* Plans with default or given options. */
struct mafat_plan *test_plan(const struct mafat_network *n, const char *plan_text);
struct mafat_plan *test_plan_with(const struct mafat_network *n, const char *plan_text,
                                  const struct mafat_plan_options *options);
/* Options as in the paper: direct convolution, every layer's output kept. */
struct mafat_plan_options test_plain_options(void);
/* A spec's text, in one of four static buffers used in turn. */
const char *test_spec_text(const struct mafat_spec *spec);
/* Writes a plan's canonical text (mafat_spec_write). Returns its length. */
size_t test_plan_write(const struct mafat_plan *plan, const struct mafat_network *n, char *text,
                       size_t capacity);
struct mafat_layout *test_layout(const struct mafat_network *n, const struct mafat_plan *plan);

/* Opens the weights of the first n_layers, all kept, from an open file. */
struct mafat_kernels;
struct mafat_weights;
int test_weights_from(struct mafat_weights **w, int fd, const struct mafat_network *n, int n_layers,
                      const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d);
/* The index in CHW order of element `index` of an input, which is in the dimensions' order. */
size_t test_input_place(const struct mafat_port *port, long long index);
struct mafat_executor;
/* The number of floats of all outputs; all outputs after a run, one after the other, each in CHW
 * order. */
size_t test_outputs_floats(const struct mafat_network *n);
void test_read_outputs(const struct mafat_executor *e, const struct mafat_network *n, float *to);

/* Element `index`, in the dimensions' order, of an output after a run. */
float test_output_at(const struct mafat_executor *e, const struct mafat_port *port,
                     long long index);
/* A kernel level of this processor; i counts through them cyclically. */
const struct mafat_kernels *test_level(int i);
/* The expected outputs of a problem, computed by other means. */
struct test_meaning {
  double (*output)(const void *problem, int c, int y, int x);
  const void *problem;
  int number; /* case number for messages */
};

/* Runs the network once from an input in CHW order, and compares the last layer's output within
 * 2e-5 of the larger of the output and 1. */
void test_compare(const struct mafat_network *n, struct mafat_weights *w, const char *plan_text,
                  const struct mafat_kernels *kernels, const float *input,
                  const struct test_meaning *meaning);

/* The same by a plan for which the weights were opened, with the best kernels. */
void test_compare_plan(const struct mafat_plan *plan, const struct mafat_layout *layout,
                       const struct mafat_network *n, struct mafat_weights *w, const float *input,
                       const struct test_meaning *meaning);

/* A memory file of random weights (test_random_weights). The caller closes it. */
int test_weights_file(const struct mafat_network *n, uint64_t seed);

/* A cfg and random weights for it, both in memory files with paths. */
struct test_model_files {
  int cfg_fd, weights_fd;
  char cfg[32], weights[32];
};

struct test_model_files test_model_files(const char *cfg_text, uint64_t seed);
void test_model_files_close(const struct test_model_files *files);

/* A network of the Darknet package; NULL if it is not installed. */
struct mafat_network *test_darknet_network(const char *cfg_name);

/* Fails the test with the reason, the plan and the network's cfg. */
void test_fail_case(const char *cfg_text, const char *plan_text, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sets a locale with another decimal point, and makes one with localedef if there is none.
 * Undone by setlocale(LC_ALL, "C"). False: not possible. */
bool test_comma_locale(void);

/* ---- numbers of cases, time limits ---- */

/* Number of the n random cases to run: all; half, a quarter or a tenth if MAFAT_TEST_SIZE is
 * gate, test or check (set by tests/run.sh). At least one. */
int test_seeds(int n);
/* A time limit in seconds of CPU time: the given one, longer with a sanitizer or an emulated
 * processor (CK_TIMEOUT_MULTIPLIER). */
double test_patience(double seconds);
/* Number of the n slow rows of a table to run: all; a sixth if MAFAT_TEST_SIZE is check. */
int test_slow_rows(int n);

/* ---- random networks and plans ---- */

struct test_network_style {
  int min_layers, max_layers; /* 4, 14; groups of several layers may exceed it by 6 */
  int max_extent;             /* 40: rows and columns of any map */
  int max_channels;           /* 192: of any layer */
  long long max_macs;         /* 3000000: of one layer */
  bool windows; /* true: windows with different rows and columns, beyond what a cfg can express */
  bool edges;                 /* true: routes, shortcuts; false: a chain */
  bool whole_maps; /* true: also layers that cannot be tiled, in the middle and at the end */
  bool heads;                 /* true: sometimes a detection head or two */
};

enum { TEST_CFG_ROOM = 16384, TEST_PLAN_ROOM = 2048 };

struct test_network_style test_network_style(void);
/* A style for networks that are run often: layers of 400,000 MACs, maps of 28 x 28. */
struct test_network_style test_small_style(void);

/* Writes a cfg that mafat_darknet_make accepts. `capacity`: at least TEST_CFG_ROOM. */
void test_random_network(struct test_rng *rng, const struct test_network_style *style,
                         char *cfg_text, size_t capacity);

/* The same with depthwise and 1x1 layers: pairs and bottlenecks, some with shortcuts. Maps have
 * 5 to most_side rows and columns. */
void test_random_blocks(struct test_rng *rng, int most_side, char *cfg_text, size_t capacity);

/* Writes a random plan for the first n_layers: one to five groups; grids of up to 6 x 6, even,
 * balanced or with given boundaries, sometimes one tile per row; or rows, or panels; weights
 * kept, loaded or streamed; depthwise layers as in the plan's text or by default. `capacity`: at
 * least TEST_PLAN_ROOM. */
void test_random_plan(struct test_rng *rng, const struct mafat_network *n, int n_layers,
                      char *plan_text, size_t capacity);
/* A plan that fuses depthwise and 1x1 layers in random ways (predictor/transfers/units_spec.h),
 * with any extent. */
void test_random_units(struct test_rng *rng, const struct mafat_network *n, char *plan_text,
                       size_t capacity);
/* Random options for plans of a packed file: one to four threads, weights of small layers
 * streamed or not. */
struct mafat_plan_options test_random_packed_options(struct test_rng *rng,
                                                     enum mafat_algorithm algorithm);
/* A random plan with a split group, divided by rows, columns or channels, nested or not, in any
 * order, or with rows in partition buffers. Its bits equal those of undivided layers. False:
 * none was found for this network. */
bool test_random_split(struct test_rng *rng, const struct mafat_network *n,
                       const struct mafat_plan_options *options, char *text, size_t capacity);

#endif
