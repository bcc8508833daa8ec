/* --bench: kernels, oneDNN and OpenBLAS timed in turn on layers of real
 * networks. */
#ifndef MAFAT_TESTS_KERNEL_CHECK_BENCH_H
#define MAFAT_TESTS_KERNEL_CHECK_BENCH_H

#include "runner/kernels/kernels.h"

struct bench_options {
  const struct mafat_kernels *const *levels;
  int n_levels;              /* at most 8 */
  const char *kernel, *shape; /* NULL: all; else an equal name, a part of the name */
  int runs;                   /* medians of so many */
  bool json;
  bool once;                  /* untimed: for those who count, between bench_begin and bench_end */
};

/* 0; -1 where memory is short; -2 where no shape bears the names. */
int bench_run(const struct bench_options *o);

/* Benches kernels named integer_KERNEL: integer levels next to the float levels, and the peak of
 * the latter in GFLOP/s. Without JSON and `once`. */
struct mafat_integer_kernels;
int bench_integers(const struct bench_options *o, const struct mafat_integer_kernels *const *list,
                   int n);
double bench_peak(const struct mafat_kernels *k);

/* A layer is computed between these, with `once`: who counts instructions looks for their names. */
void bench_begin(void);
void bench_end(void);

/* A layer. depthwise: filters = c; maxpool, blend, scale: channels only; winograd_weights: of a
 * convolution, transformed as Winograd's products want them. */
struct bench_shape {
  const char *name, *kernel;
  int h, w, c, filters, size, stride;
};

/* The layer's outputs are (h - 1) / stride + 1 rows and as many columns: padding
 * is size / 2 before, and what it takes behind. */
static inline int bench_out(int extent, int stride) { return (extent - 1) / stride + 1; }

/* Weights as Darknet has them (filters, channels, size, size), input and output
 * as planes (channels, rows, columns); y = leaky(sum + bias). */
struct bench_data {
  float *input, *weights, *bias;
};

/* One way of computing a shape. `state` is its own. */
struct bench_contender {
  char name[40];
  const struct mafat_kernels *level; /* NULL: somebody else's */
  void *state;
  void (*run)(void *state);
  void (*read)(void *state, float *planes); /* the output; NULL if not compared */
  void (*close)(void *state);
};

enum { BENCH_MAX_CONTENDERS = 24 };

/* Append contenders that can compute the shape; return the new number of them,
 * -1 where memory is short. */
int bench_ours(const struct bench_shape *s, const struct bench_data *d,
               const struct mafat_kernels *k, struct bench_contender *list, int n);
int bench_dnnl(const struct bench_shape *s, const struct bench_data *d,
               struct bench_contender *list, int n);
int bench_openblas(const struct bench_shape *s, const struct bench_data *d,
                   struct bench_contender *list, int n);

extern const struct bench_shape bench_shapes[];
extern const int bench_n_shapes;

#endif
