/* Support for the cases of kernel_check: random values, memory between guard pages, comparison of
 * every kernel level's outputs with double precision, and bit for bit with the reference level of
 * its class (with or without fused multiply-adds). Included by kernel_check.c and the case files. A
 * case fills one struct check_call, with arrays from the functions below, and passes it to
 * check_run, which does the rest. Case i of a run has the seed `seed` + i and depends on nothing
 * else. */
#ifndef MAFAT_TESTS_KERNEL_CHECK_CHECK_H
#define MAFAT_TESTS_KERNEL_CHECK_CHECK_H

#include "runner/kernels/integer.h"
#include "tests/kernels/kernel_exact.h"

#include <stdint.h>
#include <stdio.h>

/* --- random numbers --- */

void random_seed(uint64_t seed);
/* A random integer from least to most, inclusive. */
int random_in(int least, int most);
/* True with a probability of 1/n. */
bool one_in(int n);
/* Uniform in [-1, 1). */
float random_float(void);

enum value_range {
  ORDINARY,  /* uniform in [-1, 1) */
  ZEROS,     /* +0 and -0 */
  SPARSE,    /* some ordinary values, the others +0 and -0 */
  HUGE_ONES, /* ordinary values and some of 1e18 */
  TINY,      /* denormals */
  MIXED,     /* all of the above */
  N_VALUES
};

/* A common activation in half of the cases; none that is steep. */
struct mafat_activating random_activation(void);
enum value_range random_values(void); /* ORDINARY in half of the cases */
static inline bool has_denormals(enum value_range v) { return v == TINY || v == MIXED; }
const char *values_name(enum value_range v);
void fill(float *x, size_t n, enum value_range v);

/* Writes "size 3x3 stride 1x1 dilation 1x1", rows first. Returns `text`. */
const char *window_text(const struct mafat_window *w, char *text, size_t capacity);

/* --- memory --- */

enum {
  MAX_SLOTS = 300,
  SLOT_FLOATS = 1 << 17,
  MAX_WEIGHTS = 1 << 19,
  MAX_OUTPUTS = 1 << 20,
  MAX_VIEW_ROWS = 64,
  MAX_VIEWS = 2
};

/* Releases the last case's inputs. */
void inputs_reset(void);
/* n floats of input: at the beginning or end of a page next to a guard page, or anywhere. At
 * most SLOT_FLOATS; the contents are NaN. */
float *input_floats(size_t n);
/* Like input_floats, for weights: at most MAX_WEIGHTS floats. A case may have one such array. */
float *weight_floats(size_t n);
/* A row of pixels. The first `channels` floats of each have values, the gaps are NaN. The last
 * pixel ends after its channels. */
float *input_pixels(int n_pixels, int channels, int pixel_floats, enum value_range v);

/* Layout of outputs: rows of pixels of n_lanes floats. */
struct check_view {
  float *rows[MAX_VIEW_ROWS];
  int n_rows, n_cols, n_lanes, pixel_floats;
};

/* --- a case --- */

struct check_value {
  double value, tolerance; /* exact value of an output, and its tolerance */
};

struct check_call {
  const char *kernel;
  char text[200];                 /* description of the case, for failure messages */
  void (*run)(const struct mafat_kernels *k, const void *call);
  const void *call;
  struct check_view views[MAX_VIEWS];
  int n_views;
  bool ordinary;                  /* count its error in the table */
  bool denormals; /* has denormals; levels that flush them may differ from the reference's bits */
  struct check_value *exact;      /* [view][row][column][lane]: check_n_outputs() values */
};

/* Places the views' rows between guards and fills them: outputs with random values if `before`
 * (a sum that the call continues), all else with NaN. Sets c->exact to an array for the exact
 * values. */
void check_place_outputs(struct check_call *c, bool before);
size_t check_n_outputs(const struct check_call *c);

/* The error bound of n products and sums in sequence, from the magnitudes of the terms.
 * Activations add 4e-7 times the larger of the value and 1. */
double check_tolerance(struct mafat_exact y, int n_terms, enum mafat_activation a);

/* --- levels and their results --- */

enum { MAX_LEVELS = 8 };

struct check_result {
  const char *name;
  const struct mafat_kernels *level;            /* set for float kernels */
  const struct mafat_integer_kernels *integers; /* set for integer kernels */
  int n_cases, n_failures;
  double worst;           /* largest error, relative to the largest output of its case */
  bool bits, guards;      /* all outputs have the reference's bits; all other bytes are intact */
};

struct kernel_check {
  struct check_result levels[MAX_LEVELS];
  int n_levels;
  uint64_t seed; /* seed of the current case */
};

/* Allocates all memory. Returns 0; -1: out of memory. */
int check_open(void);
/* Runs the call on every level and prints failures on stderr. */
void check_run(struct kernel_check *check, struct check_call *c);

/* --- integers: bytes, compared with the rule (tests/kernels/integer_rule.h) --- */

struct check_bytes_call {
  const char *kernel;
  char text[200];
  void (*run)(const struct mafat_integer_kernels *k, const void *call);
  const void *call;
};

/* n random bytes of input, mostly at a page's end: at most SLOT_FLOATS * 4. */
uint8_t *byte_inputs(size_t n);
/* Like byte_inputs, for weights, in the array of weight_floats. */
uint8_t *byte_weights(size_t n);

/* outputs_reset releases the last case's outputs. byte_outputs allocates an array at a multiple of
 * `alignment`; between arrays are bytes that must not change. Arrays are placed one after another,
 * from a page's end downwards or from a page's beginning upwards. */
void outputs_reset(void);
void *byte_outputs(size_t n, size_t alignment);
/* Address at which the case stores the expected value of an output. All outputs must be allocated
 * before. */
void *expected_of(const void *output);
void check_run_bytes(struct kernel_check *check, const struct check_bytes_call *c);

/* Makes and runs one case from check->seed. */
typedef void check_case(struct kernel_check *check);
check_case check_conv, check_winograd_weights, check_winograd_input, check_winograd_output,
    check_product, check_winograd, check_depthwise, check_maxpool, check_avgpool, check_blend,
    check_scale, check_activate, check_softmax, check_scale_bytes, check_resample, check_widen;
check_case check_integer_conv, check_integer_depthwise, check_integer_maxpool,
    check_integer_avgpool, check_integer_blend, check_integer_table, check_integer_sums,
    check_integer_reals;

#endif
