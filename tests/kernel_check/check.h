/* The ground that the cases of kernel_check stand on: random numbers, memory
 * between pages that fault, and the comparison of every level with the
 * reference of its class and with double precision.
 *
 * A case fills one struct check_call in check.memory's arrays and hands it to
 * check_run, which does the rest. Case i of a run has the seed `seed` + i and
 * is made from it alone. */
#ifndef MAFAT_TESTS_KERNEL_CHECK_CHECK_H
#define MAFAT_TESTS_KERNEL_CHECK_CHECK_H

#include "runner/kernels/integer.h"
#include "tests/kernels/kernel_exact.h"

#include <stdint.h>
#include <stdio.h>

/* --- random numbers --- */

void random_seed(uint64_t seed);
/* least ... most */
int random_in(int least, int most);
bool one_in(int n);
/* Uniform in [-1, 1). */
float random_float(void);

enum value_range {
  ORDINARY,  /* uniform in [-1, 1) */
  ZEROS,     /* +0 and -0 */
  SPARSE,    /* ordinary ones among +0 and -0 */
  HUGE_ONES, /* ordinary ones and some of 1e18 */
  TINY,      /* denormals */
  MIXED,     /* all of these */
  N_VALUES
};
struct mafat_activating random_activation(
    void);                            /* the usual ones half of the time; none that is steep */
enum value_range random_values(void); /* ordinary ones half of the time */
static inline bool has_denormals(enum value_range v) { return v == TINY || v == MIXED; }
const char *values_name(enum value_range v);
void fill(float *x, size_t n, enum value_range v);

/* "size 3x3 stride 1x1 dilation 1x1", rows first; returns `text`. */
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

/* Forgets the last case's inputs. */
void inputs_reset(void);
/* n floats that are read: at a page's begin or end beside a page that faults,
 * or at any multiple of four bytes. At most SLOT_FLOATS; the contents are NaN. */
float *input_floats(size_t n);
/* The same for the one array that is larger: at most MAX_WEIGHTS. */
float *weight_floats(size_t n);
/* A row of pixels of which the first `channels` floats may be read: filled with
 * values there and with NaN between them. The last pixel ends with its channels. */
float *input_pixels(int n_pixels, int channels, int pixel_floats, enum value_range v);

/* Layout of outputs: rows of pixels of n_lanes floats. */
struct check_view {
  float *rows[MAX_VIEW_ROWS];
  int n_rows, n_cols, n_lanes, pixel_floats;
};

/* --- a case --- */

struct check_value {
  double value, tolerance; /* of an output */
};

struct check_call {
  const char *kernel;
  char text[200];                 /* what is special about it, for the message of a failure */
  void (*run)(const struct mafat_kernels *k, const void *call);
  const void *call;
  struct check_view views[MAX_VIEWS];
  int n_views;
  bool ordinary;                  /* its error counts for the table */
  bool denormals; /* a level that flushes them may differ from the reference's bits */
  struct check_value *exact;      /* [view][row][column][lane], check_outputs() of them */
};

/* Lays the views' rows out between guards, fills them: with random numbers where
 * an output is (`before`: a sum that the call continues), else with NaN. Sets
 * c->exact to an array for the values. */
void check_place_outputs(struct check_call *c, bool before);
size_t check_n_outputs(const struct check_call *c);

/* Relative to the magnitudes of the terms, the bound of n products and sums one
 * after the other; activations add 4e-7 of the value or of 1. */
double check_tolerance(struct mafat_exact y, int n_terms, enum mafat_activation a);

/* --- levels and their results --- */

enum { MAX_LEVELS = 8 };

struct check_result {
  const char *name;
  const struct mafat_kernels *level;            /* of kernels of floats */
  const struct mafat_integer_kernels *integers; /* of kernels of integers */
  int n_cases, n_failures;
  double worst;           /* error relative to the largest output of its case */
  bool bits, guards;      /* all as the reference has them; all bytes beside the outputs intact */
};

struct kernel_check {
  struct check_result levels[MAX_LEVELS];
  int n_levels;
  uint64_t seed; /* of the case being run */
};

/* 0, or -1 where memory is short. */
int check_open(void);
/* Runs the call on every level; prints what fails on stderr. */
void check_run(struct kernel_check *check, struct check_call *c);

/* --- integers: the same of bytes, against the rule (tests/kernels/integer_rule.h) --- */

struct check_bytes_call {
  const char *kernel;
  char text[200];
  void (*run)(const struct mafat_integer_kernels *k, const void *call);
  const void *call;
};

/* n bytes that are read, at a page's end most of the time: at most SLOT_FLOATS * 4; random. */
uint8_t *byte_inputs(size_t n);
/* Weights, in the one array that is larger. */
uint8_t *byte_weights(size_t n);

/* Outputs of the next case: none so far. Then arrays of them, which begin at a multiple of
 * `alignment`, with others' bytes between them; the first ends where a page does, or all begin
 * where one does. */
void outputs_reset(void);
void *byte_outputs(size_t n, size_t alignment);
/* Address of the expected output, which is compared. Allocate all outputs before. */
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
